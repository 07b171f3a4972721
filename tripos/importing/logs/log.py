"""The content of a log of another tool, in one form for all formats: who replied to which item, who scored it how.

Prompts in logs: a text, or the turns of a chat, as the item that they ask about.

Logs that `tripos export` wrote: the statuses of their replies and scores, which other tools have no words for.

Values in logs that somebody else made: of any type in any place.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from tripos.files import read_json
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.plan import FUNCTION_ERROR
from tripos_compiler.plan.outcomes import NOT_ASKED, OK, PARSE_FAILURE, PROVIDER_ERROR, REFUSED, TRUNCATED
from tripos_warehouse.views.benchmark_views import NOT_GIVEN

Turn = tuple[str, str]
"""A speaker and a text."""


@dataclass(frozen=True)
class LoggedScore:
    """A score of a reply. `name` is the metric, `rater` who gave it, such as `inspect/match`; `said` is the score as it
    stands in the log, JSON, and `value` the number that it is worth, where it is worth one. Without a value it has the
    `status` that the log tells, and an `error`."""

    name: str
    rater: str
    value: float | None
    said: str | None = None
    reason: str | None = None
    status: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class LoggedItem:
    """The messages that were sent: the last in `question`, with a system message and earlier turns where there are
    any."""

    item: str
    question: str
    system: str = ""
    history: tuple[Turn, ...] = ()
    target: str | None = None


@dataclass
class LoggedSample:
    """A reply to an item, with its scores. `place` is where it stands in the log, `number` which of the replies to the
    item it is, from 0, where the log says so. `told` are columns of `samples`; without a `reply` there is an `error`.
    With `further` it came before, and has more scores here."""

    place: str
    task: str
    model: str
    item: LoggedItem
    number: int | None
    told: dict[str, Any]
    scores: list[LoggedScore] = field(default_factory=list)
    further: bool = False


@dataclass(frozen=True)
class OwnFigure:
    """A figure that the log itself has: of a score by name, such as the `accuracy` of `match`. `reducer` is what made
    one score of an item's epochs; `whole` is a figure of the whole set, which is no mean of scores."""

    task: str
    score: str
    name: str
    value: float
    reducer: str = "mean"
    whole: bool = False


@dataclass(frozen=True)
class LogHeader:
    """The log as a whole. `identity` is the same for a log that is read again, and another for another one; `about` is
    kept with the run: versions, times, settings."""

    tool: str
    name: str
    identity: str
    about: Mapping[str, Any]
    figures: Sequence[OwnFigure] = ()
    lower: frozenset[tuple[str, str]] = frozenset()
    """The scores of which lower values are better, each with its task."""
    reducers: tuple[str, ...] = ()
    """What makes one score of an item's epochs, by the words of Inspect; empty if it is the mean."""
    whole: frozenset[tuple[str, str]] = frozenset()
    """The scores whose mean is no figure of the log, each with its task: its figure is of the whole set."""
    status: str = "finished"
    message: str | None = None


@dataclass
class LeftOut:
    """A part of a log that is not imported, with how often it stands there and where first."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def note(self, what: str, place: str, times: int = 1) -> None:
        """Count something that does not fit."""
        self.counts[what] += times
        self.first.setdefault(what, place)

    def to_json(self) -> list[dict[str, Any]]:
        """Return every kind with its count and the first place."""
        return [{"what": what, "count": count, "first": self.first[what]} for what, count in self.counts.items()]


@dataclass(frozen=True)
class Log:
    """A log that was opened. `samples` yields its samples, and is given where to note what does not fit. `part` names
    it where its file has several."""

    path: str
    header: LogHeader
    samples: Callable[[LeftOut], Iterator[LoggedSample]]
    part: str = ""

    @property
    def shown(self) -> str:
        """The file, and which part of it."""
        return f"{self.path} ({self.part})" if self.part else self.path


def mapping(value: Any) -> dict[str, Any]:
    """Return a value that is an object, and an empty one for any other."""
    return value if isinstance(value, dict) else {}


def entries(value: Any) -> list[Any]:
    """Return a value that is a list, and an empty one for any other."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str | None:
    """Return a value that is a text, and a number as one; none for any other."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def count(value: Any) -> int | None:
    """Return a value that is a whole number from 0 on and that the store can keep; none for any other."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def amount(value: Any) -> float | None:
    """Return a value that is a finite number from 0 on; none for any other."""
    found = finite(value)
    return found if found is not None and found >= 0 else None


def finite(value: Any) -> float | None:
    """Return a number that figures can be made of, also of true and false; none for any other value.

    >>> finite(True), finite(float("nan")), finite("1"), finite(10**400), finite(1.7e308)
    (1.0, None, None, None, None)
    """
    if not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if in_bounds(found) else None


def said_as_json(value: Any) -> str:
    """Return a value as JSON text; NaN is written as Python writes it."""
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


def item_of(name: Any, turns: Sequence[Turn], target: Any) -> LoggedItem:
    """Return what turns ask: the last one is the question, unless an assistant has it."""
    spoken = [turn for turn in turns if turn[0] != "system"]
    question = spoken.pop()[1] if spoken and spoken[-1][0] != "assistant" else ""
    system = "\n\n".join(said for role, said in turns if role == "system")
    gold = target if isinstance(target, str) else None if target is None else said_as_json(target)
    return LoggedItem(text(name) or said_as_json(name), question, system, tuple(spoken), gold)


def prompt_turns(said: Any) -> list[Turn]:
    """Return the turns of a prompt: those of a chat, also of one that is JSON text, or one of a whole text.

    >>> prompt_turns('[{"role": "system", "content": "Be brief."}]'), prompt_turns("[a]")
    ([('system', 'Be brief.')], [('user', '[a]')])
    """
    messages = said
    if isinstance(said, str) and said.lstrip().startswith("[{"):
        try:
            messages = read_json(said.encode("utf-8", "surrogatepass"))
        except ValueError:
            messages = said
    told = [mapping(each) for each in entries(messages)]
    if told and all(isinstance(each.get("content"), str) for each in told):
        return [(text(each.get("role")) or "user", str(each["content"])) for each in told]
    return [("user", said if isinstance(said, str) else "" if said is None else said_as_json(said))]


def as_messages(turns: Sequence[Turn]) -> list[dict[str, str]]:
    """Return turns as messages of a request."""
    return [{"role": role, "content": said} for role, said in turns]


MEAN = "mean of scores"
"""The kind of a figure that is the mean of a score, and no measure."""
OF_REPLIES = frozenset({OK, PARSE_FAILURE, TRUNCATED, REFUSED, PROVIDER_ERROR, *NOT_ASKED})
OF_SCORES = OF_REPLIES - {OK} | {FUNCTION_ERROR, NOT_GIVEN}
"""The statuses of scores without a value."""


def reply_status(said: Any, reply: str | None) -> str | None:
    """Return the status that a log has of a reply, where it may have that.

    >>> reply_status("refused", None), reply_status("ok", None), reply_status("fine", "yes")
    ('refused', None, None)
    """
    status = text(said)
    return status if status in OF_REPLIES and (reply is not None or status != OK) else None


def score_status(about: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the status and the error of a score without a value, given what the log says of it.

    >>> score_status({"status": "undefined", "error": "no number"}), score_status({"status": "scored"})
    (('undefined', 'no number'), (None, None))
    """
    status = text(about.get("status"))
    return (status, text(about.get("error"))) if status in OF_SCORES else (None, None)


def task_of(about: Mapping[str, Any]) -> str | None:
    """Return the task that a sample of Inspect belongs to: its scenario, apart for each of its arms.

    >>> task_of({"scenario": "sums", "arm hint": "none"}), task_of({"scenario": "sums"}), task_of({})
    ('sums [hint: none]', 'sums', None)
    """
    scenario = text(about.get("scenario"))
    arms = [f"{name.removeprefix('arm ')}: {value}" for name, value in about.items() if name.startswith("arm ")]
    return f"{scenario} [{', '.join(arms)}]" if scenario and arms else scenario


def is_own_log(head: Mapping[str, Any]) -> bool:
    """Return true if Tripos wrote a log of Inspect, given its header."""
    told = mapping(head.get("eval"))
    return "tripos" in mapping(told.get("packages")) and "tripos_run" in mapping(told.get("metadata"))


def are_own_results(head: Mapping[str, Any]) -> bool:
    """Return true if Tripos wrote results of lm-eval."""
    return "run_id" in mapping(head.get("tripos"))
