"""Logs of evaluations by other tools, in one form for all formats: items, replies, scores and the log's own figures.

A log is untrusted: any value can have any type, so readers convert each value with the functions here. Logs that
`tripos export` wrote also carry statuses of replies and scores that other tools do not have.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from tripos.source_files import SourceFile, read_json
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.plan import FUNCTION_ERROR
from tripos_compiler.plan.outcomes import NOT_ASKED, OK, PARSE_FAILURE, PROVIDER_ERROR, REFUSED, TRUNCATED
from tripos_warehouse.views.benchmark_views import NOT_GIVEN

Turn = tuple[str, str]
"""A role and a text."""


@dataclass(frozen=True)
class LoggedScore:
    """A score of a reply. `name` is the metric and `rater` its source, such as `inspect/match`. `raw_value` is the raw
    score as JSON, and `value` its number. A score without a value has the `status` and the `error` of the log."""

    name: str
    rater: str
    value: float | None
    raw_value: str | None = None
    reason: str | None = None
    status: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class LoggedItem:
    """The messages of a request: the last one in `question`, and the system message and earlier turns, if any."""

    item: str
    question: str
    system: str = ""
    history: tuple[Turn, ...] = ()
    target: str | None = None

    @property
    def messages(self) -> list[dict[str, str]]:
        """The messages of the request."""
        first = [("system", self.system)] if self.system else []
        return as_messages([*first, *self.history, *([("user", self.question)] if self.question else [])])


@dataclass
class LoggedSample:
    """A reply to an item, with its scores. `place` is its position in the log. `number` counts the replies to the item
    from 0, or is None if the log has no numbers. `columns` are columns of `samples`. A reply of None has an `error`.
    `messages` are those of the item if the log does not have others. With `further`, the reply occurred before, and
    these are more scores of it."""

    place: str
    task: str
    model: str
    item: LoggedItem
    number: int | None
    columns: dict[str, Any]
    scores: list[LoggedScore] = field(default_factory=list)
    further: bool = False


@dataclass(frozen=True)
class LoggedFigure:
    """A figure that the log reports for a score, such as the `accuracy` of `match`. `reducer` combines the scores of an
    item's epochs. With `of_whole_set`, the figure is computed from the whole set and is not a mean of scores."""

    task: str
    score: str
    name: str
    value: float
    reducer: str = "mean"
    of_whole_set: bool = False


@dataclass(frozen=True)
class LogHeader:
    """The facts about a log as a whole. `identity` is the same if a log is read again, and distinct between logs.
    `about` is stored with the run: versions, times, settings."""

    tool: str
    name: str
    identity: str
    about: Mapping[str, Any]
    figures: Sequence[LoggedFigure] = ()
    lower: frozenset[tuple[str, str]] = frozenset()
    """Scores for which lower is better, each with its task."""
    reducers: tuple[str, ...] = ()
    """Inspect's reducers of the scores of an item's epochs; empty if it is the mean."""
    whole_set_figures: frozenset[tuple[str, str]] = frozenset()
    """Scores, with their tasks, whose figure is computed from the whole set, so that their mean is not a figure of the
    log."""
    status: str = "finished"
    message: str | None = None


@dataclass
class Skipped:
    """Parts of a log that are not imported, with their counts and first positions."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def note(self, what: str, place: str, times: int = 1) -> None:
        """Count a part that is skipped."""
        self.counts[what] += times
        self.first.setdefault(what, place)

    def to_json(self) -> list[dict[str, Any]]:
        """Return every kind with its count and first position."""
        return [{"what": what, "count": count, "first": self.first[what]} for what, count in self.counts.items()]


@dataclass(frozen=True)
class Log:
    """An opened log. `samples` yields its samples and notes skipped parts. `part` names the log if its file has
    several."""

    path: str
    header: LogHeader
    samples: Callable[[Skipped], Iterator[LoggedSample]]
    part: str = ""

    @property
    def shown(self) -> str:
        """The file, and the part if there are several."""
        return f"{self.path} ({self.part})" if self.part else self.path


def nothing(_: Any) -> bool:
    """Return false for every file and value."""
    return False


@dataclass(frozen=True)
class Importer:
    """A log format of a tool, named `tool` in texts.

    A file is a log if `has_name` accepts it by its name and its neighbours, or `has_value` accepts its content: the
    value of a JSON file, or of the first line of a `.jsonl` file. `read` gets the file and that value, or None if it
    was accepted by its name. It returns the logs, none for a file that belongs to another one, and raises `OSError` and
    `ValueError` if it cannot be read. `suffixes` are those of files that are logs in a folder. `identified_by` returns
    the file whose digest identifies the log.
    """

    tool: str
    read: Callable[[SourceFile, Any], list[Log]]
    has_name: Callable[[SourceFile], bool] = nothing
    has_value: Callable[[Any], bool] = nothing
    suffixes: tuple[str, ...] = (".json",)
    identified_by: Callable[[SourceFile], SourceFile] = lambda file: file


# Untrusted values
def as_dict(value: Any) -> dict[str, Any]:
    """Return a JSON object, or an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a list, or an empty one for any other value."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str | None:
    """Return a text, or a number as text; None for any other value."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def count(value: Any) -> int | None:
    """Return a whole number from 0 to 2**63 - 1; None for any other value."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def as_amount(value: Any) -> float | None:
    """Return a finite number from 0; None for any other value."""
    found = as_float(value)
    return found if found is not None and found >= 0 else None


def as_float(value: Any) -> float | None:
    """Return a finite number within the bounds of figures, with booleans as 1 and 0; None for any other value.

    >>> as_float(True), as_float(float("nan")), as_float("1"), as_float(10**400), as_float(1.7e308)
    (1.0, None, None, None, None)
    """
    if not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if in_bounds(found) else None


def to_json_text(value: Any) -> str:
    """Return a value as JSON text, with NaN in Python's notation."""
    try:
        return orjson.dumps(value).decode() if not _has_nan(value) else json.dumps(value, ensure_ascii=False)
    except (TypeError, orjson.JSONEncodeError):
        return json.dumps(value, ensure_ascii=True, default=str)


def _has_nan(value: Any) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case dict():
            return any(map(_has_nan, value.values()))
        case list():
            return any(map(_has_nan, value))
    return False


# Prompts
def item_of(name: Any, turns: Sequence[Turn], target: Any) -> LoggedItem:
    """Return the item of a prompt. The last turn is the question, unless an assistant wrote it."""
    spoken = [turn for turn in turns if turn[0] != "system"]
    question = spoken.pop()[1] if spoken and spoken[-1][0] != "assistant" else ""
    system = "\n\n".join(said for role, said in turns if role == "system")
    gold = target if isinstance(target, str) else None if target is None else to_json_text(target)
    return LoggedItem(text(name) or to_json_text(name), question, system, tuple(spoken), gold)


def prompt_turns(said: Any) -> list[Turn]:
    """Return the turns of a prompt: the messages of a chat, also if it is JSON text, or one user turn.

    >>> prompt_turns('[{"role": "system", "content": "Be brief."}]'), prompt_turns("[a]")
    ([('system', 'Be brief.')], [('user', '[a]')])
    """
    messages = said
    if isinstance(said, str) and said.lstrip().startswith("[{"):
        try:
            messages = read_json(said.encode("utf-8", "surrogatepass"))
        except ValueError:
            messages = said
    told = [as_dict(each) for each in as_list(messages)]
    if told and all(isinstance(each.get("content"), str) for each in told):
        return [(text(each.get("role")) or "user", str(each["content"])) for each in told]
    return [("user", said if isinstance(said, str) else "" if said is None else to_json_text(said))]


def as_messages(turns: Sequence[Turn]) -> list[dict[str, str]]:
    """Return turns as messages of a request."""
    return [{"role": role, "content": said} for role, said in turns]


# Logs that Tripos wrote
MEAN = "mean of scores"
"""The kind of a figure that is the mean of a score and not of a measure."""
REPLY_STATUSES = frozenset({OK, PARSE_FAILURE, TRUNCATED, REFUSED, PROVIDER_ERROR, *NOT_ASKED})
SCORE_STATUSES = REPLY_STATUSES - {OK} | {FUNCTION_ERROR, NOT_GIVEN}
"""Statuses of scores without a value."""


def reply_status(said: Any, reply: str | None) -> str | None:
    """Return the status of a reply in a log, if it is valid for that reply.

    >>> reply_status("refused", None), reply_status("ok", None), reply_status("fine", "yes")
    ('refused', None, None)
    """
    status = text(said)
    return status if status in REPLY_STATUSES and (reply is not None or status != OK) else None


def score_status(about: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the status and the error of a score without a value.

    >>> score_status({"status": "undefined", "error": "no number"}), score_status({"status": "scored"})
    (('undefined', 'no number'), (None, None))
    """
    status = text(about.get("status"))
    return (status, text(about.get("error"))) if status in SCORE_STATUSES else (None, None)


def task_of(about: Mapping[str, Any]) -> str | None:
    """Return the task of a sample in a log of Inspect: its scenario with its arms.

    >>> task_of({"scenario": "sums", "arm hint": "none"}), task_of({"scenario": "sums"}), task_of({})
    ('sums [hint: none]', 'sums', None)
    """
    scenario = text(about.get("scenario"))
    arms = [f"{name.removeprefix('arm ')}: {value}" for name, value in about.items() if name.startswith("arm ")]
    return f"{scenario} [{', '.join(arms)}]" if scenario and arms else scenario


def is_own_log(head: Mapping[str, Any]) -> bool:
    """Return true if Tripos wrote this log of Inspect, given its header."""
    told = as_dict(head.get("eval"))
    return "tripos" in as_dict(told.get("packages")) and "tripos_run" in as_dict(told.get("metadata"))


def are_own_results(head: Mapping[str, Any]) -> bool:
    """Return true if Tripos wrote these results of lm-eval."""
    return "run_id" in as_dict(head.get("tripos"))
