"""Logs of Inspect: `.eval`, a zip file with a member for each sample, and `.json`, one value.

Inspect reduces the scores of an item's epochs before it computes metrics. A reducer that the language can express
becomes a measure of the spec; figures of other reducers are only recorded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from tripos.importing.logs.log import (
    MEAN as LOG_MEAN,
    Importer,
    Log,
    LoggedFigure,
    LoggedItem,
    LoggedSample,
    LoggedScore,
    LogHeader,
    Skipped,
    Turn,
    as_amount,
    as_dict,
    as_float,
    as_list,
    as_messages,
    count,
    is_own_log,
    item_of,
    reply_status,
    score_status,
    task_of,
    text,
    to_json_text,
)
from tripos.source_files import SourceFile
from tripos_compiler.plan import FUNCTION_ERROR, Ending, ending_of
from tripos_compiler.plan.outcomes import PARSE_FAILURE, REFUSED

MEAN = "mean"
_PLAIN = (MEAN, "max", "median")
_COUNTED = re.compile(r"(pass_at|pass_k|at_least)_([1-9][0-9]*)")


def is_reducer(name: str) -> bool:
    """Return true if a measure may express a reducer of booleans with this name."""
    return name in _PLAIN or _COUNTED.fullmatch(name) is not None


def reduced_measure(score: str, reducer: str, *, truth: bool, samples: int) -> str | None:
    """Return the measure that is the mean of an item's reduced scores, or None if the language cannot express it.
    `truth` says that the score is boolean, and `samples` is the number of replies to an item.

    >>> reduced_measure("match", "max", truth=True, samples=2)
    'mean(max(match) by item.id)'
    >>> reduced_measure("match", "pass_at_1", truth=True, samples=2)
    'pass_at(1, match)'
    >>> reduced_measure("match", "mode", truth=True, samples=2) is None
    True
    """
    if reducer == MEAN:
        return f"mean({score})"
    if reducer in _PLAIN:
        return f"mean({reducer}({score}) by item.id)"
    counted = _COUNTED.fullmatch(reducer)
    if counted is None or not truth:
        return None
    name, k = counted[1], int(counted[2])
    if name == "at_least":
        whole = f"pass_all({k}, {score})" if k == samples else None
        return f"mean(max({score}) by item.id)" if k == 1 else whole
    if k > samples:
        return None
    return f"pass_at({k}, {score})" if name == "pass_at" else f"pass_all({k}, {score})"


def reduced_value(reducer: str, right: int, count: int) -> float | None:
    """Return the reduced value of an item with `right` true scores among `count`, or None for an unknown reducer.

    >>> [reduced_value(name, 1, 2) for name in ("mean", "max", "median", "pass_at_1", "pass_k_2", "at_least_2", "mode")]
    [0.5, 1.0, 0.5, 0.5, 0.0, 0.0, None]
    """
    if reducer == MEAN:
        return right / count
    if reducer == "max":
        return float(right > 0)
    if reducer == "median":
        return 0.5 if 2 * right == count else float(2 * right > count)
    counted = _COUNTED.fullmatch(reducer)
    if counted is None:
        return None
    k = int(counted[2])
    if counted[1] == "at_least":
        return float(right >= k)
    if k > count:
        return None
    if counted[1] == "pass_at":
        return 1 - math.comb(count - right, k) / math.comb(count, k)
    return math.comb(right, k) / math.comb(count, k)


TOOL = "inspect"
HEADER, STARTED = "header.json", "_journal/start.json"
SAMPLES = "samples/"
ARCHIVE = ".eval"
LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
WORDS = {"yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}
"""The values of letters and words, as in Inspect's `value_to_float`."""
RUN_STATUSES = {"success": "finished", "error": "interrupted", "cancelled": "interrupted", "started": "interrupted"}
REASONS = {
    "refusal": REFUSED,
    "no_response": PARSE_FAILURE,
    "invalid_response_format": PARSE_FAILURE,
    "grader_failed": PARSE_FAILURE,
    "scoring_failed": FUNCTION_ERROR,
}
"""Statuses of scores without a value, by Inspect's reason."""
ATTACHMENT_PREFIX = "attachment://"


def is_archive(file: SourceFile) -> bool:
    """Return true if the name of a file is that of an archive of Inspect."""
    return file.path.suffix == ARCHIVE


def is_inspect(value: Any) -> bool:
    """Return true if a JSON value is a log of Inspect."""
    head = as_dict(value)
    return isinstance(head.get("eval"), dict) and "task" in head["eval"]


def open_inspect(file: SourceFile, value: Any) -> list[Log]:
    """Return the log of an archive, or of a JSON file with its value."""
    return [open_eval(file) if is_archive(file) else open_json(file, value)]


def open_eval(file: SourceFile) -> Log:
    """Open an `.eval` file. Raises `OSError` and `ValueError` if it cannot be read."""
    archive = file.archive()
    names = archive.names()
    header = next((name for name in (HEADER, STARTED) if name in names), None)
    if header is None:
        archive.close()
        raise ValueError(f"it has neither `{HEADER}` nor `{STARTED}`")
    head = as_dict(archive.json(header))
    if not is_inspect(head):
        archive.close()
        raise ValueError(f"its `{header}` is no header of a log")
    members = [name for name in names if name.startswith(SAMPLES) and name.endswith(".json")]

    def samples(skipped: Skipped) -> Iterator[LoggedSample]:
        for name in members:
            try:
                said = archive.json(name)
            except ValueError as error:
                skipped.note(f"sample that cannot be read: {error}", name)
                continue
            yield from _samples(said, head, name, skipped)
        archive.close()

    return Log(str(file.path), _header(head, file.path.name), samples)


def open_json(file: SourceFile, value: Any) -> Log:
    """Return the log of a `.json` file, given its content."""
    head = as_dict(value)
    said = as_list(head.pop("samples", None))

    def samples(skipped: Skipped) -> Iterator[LoggedSample]:
        for number, each in enumerate(said, 1):
            yield from _samples(each, head, f"sample {number}", skipped)

    return Log(str(file.path), _header(head, file.path.name), samples)


def _header(head: Mapping[str, Any], file: str) -> LogHeader:
    told, plan = as_dict(head.get("eval")), as_dict(head.get("plan"))
    settings = {**as_dict(told.get("model_generate_config")), **as_dict(plan.get("config"))}
    config = as_dict(told.get("config"))
    own = {name: told.get(name) for name in ("task", "task_version", "task_args", "created", "eval_id", "model_roles")}
    steps = [text(as_dict(step).get("solver")) for step in as_list(plan.get("steps"))]
    versions = as_dict(told.get("packages"))
    about = {
        **{name: value for name, value in own.items() if value not in (None, {}, [])},
        "settings": {name: value for name, value in settings.items() if value is not None},
        "solvers": [step for step in steps if step],
        "epochs": config.get("epochs"),
        "epochs_reducer": config.get("epochs_reducer"),
        "limits": {name: value for name, value in config.items() if name.endswith("_limit") and value is not None},
        "versions": {str(name): str(value) for name, value in versions.items()},
        "usage": as_dict(as_dict(head.get("stats")).get("model_usage")),
    }
    status = text(head.get("status")) or "started"
    error = text(as_dict(head.get("error")).get("message"))
    name = _task_name(told)
    own_log = is_own_log(head)
    return LogHeader(
        TOOL,
        name,
        f"{TOOL}:{text(told.get('eval_id')) or text(told.get('task_id')) or file}",
        about,
        tuple(_own_figures(as_dict(head.get("results"))) if own_log else _figures(name, head)),
        frozenset(_own_lower(as_dict(head.get("results")))) if own_log else frozenset(),
        () if own_log else tuple(_reducers(head)),
        status=RUN_STATUSES.get(status, "interrupted"),
        message=None if status == "success" else f"{status}: {error}" if error else status,
    )


def _task_name(told: Mapping[str, Any]) -> str:
    return (text(told.get("task_display_name")) or text(told.get("task")) or "task").rpartition("/")[2]


def _figures(task: str, head: Mapping[str, Any]) -> Iterator[LoggedFigure]:
    results, several = as_dict(head.get("results")), set(_reducers(head))
    for each in _results_of_scorers(results):
        scorer, name = text(each.get("scorer")), text(each.get("name"))
        if scorer is None or name is None:
            continue
        reducer = (text(each.get("reducer")) if several else None) or MEAN
        score = scorer if name == scorer else f"{scorer}_{name}"
        for metric, said in as_dict(each.get("metrics")).items():
            value = as_float(as_dict(said).get("value"))
            if value is not None:
                yield LoggedFigure(task, score, str(metric), value, reducer)


def _results_of_scorers(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the results of each scorer. The first versions of Inspect have only one, and its metrics beside it.

    >>> _results_of_scorers({"scorer": {"name": "match"}, "metrics": {"accuracy": {"value": 1}}})
    [{'name': 'match', 'scorer': 'match', 'metrics': {'accuracy': {'value': 1}}}]
    """
    name = text(as_dict(results.get("scorer")).get("name"))
    if name is not None and "scores" not in results:
        return [{"name": name, "scorer": name, "metrics": results.get("metrics")}]
    return [as_dict(each) for each in as_list(results.get("scores"))]


def _with_scores(sample: dict[str, Any], results: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sample with its scores by name. The first versions of Inspect have one score without a name."""
    if "scores" in sample or not isinstance(sample.get("score"), dict):
        return sample
    name = next((text(each.get("name")) for each in _results_of_scorers(results)), None)
    return {**sample, "scores": {name or "score": sample["score"]}}


def _reducers(head: Mapping[str, Any]) -> Iterator[str]:
    """Yield the reducers of an item's epochs, unless it is only the mean."""
    config = as_dict(as_dict(head.get("eval")).get("config"))
    if (count(config.get("epochs")) or 1) < 2:
        return
    said = config.get("epochs_reducer")
    told = [as_dict(each).get("reducer") for each in as_list(as_dict(head.get("results")).get("scores"))]
    found = dict.fromkeys(each for each in map(text, [*(as_list(said) or [said]), *told]) if each)
    if found.keys() - {MEAN}:
        yield from found


def _own_figures(results: Mapping[str, Any]) -> Iterator[LoggedFigure]:
    """Yield the means of scores in a log that Tripos wrote, whose names contain the scenario and the arms."""
    for task, score, each in _own_means(results):
        metrics = as_dict(each.get("metrics"))
        for figure, here in (("value", "mean"), ("stderr", "stderr")):
            value = as_float(as_dict(metrics.get(figure)).get("value"))
            if value is not None:
                yield LoggedFigure(task, score, here, value)


def _own_lower(results: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the scores for which lower is better in a log that Tripos wrote."""
    for task, score, each in _own_means(results):
        if as_dict(each.get("metadata")).get("lower_is_better") is True:
            yield task, score


def _own_means(results: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the means of scores in a log that Tripos wrote, each with its task and score."""
    for each in map(as_dict, as_list(results.get("scores"))):
        about = as_dict(each.get("metadata"))
        task, name = task_of(about), text(each.get("name"))
        if task is not None and name is not None and about.get("kind") == LOG_MEAN:
            scenario, _, arms = task.partition(" [")
            yield task, name.removeprefix(f"{scenario}: ").removesuffix(f" [{arms}" if arms else ""), each


def _samples(said: Any, head: Mapping[str, Any], place: str, skipped: Skipped) -> Iterator[LoggedSample]:
    """Yield the sample of a value, if it is one."""
    if not isinstance(said, dict) or "id" not in said:
        skipped.note("sample that is none", place)
        return
    told = as_dict(head.get("eval"))
    said = _with_scores(said, as_dict(head.get("results")))
    reader = _SampleReader(said, place, skipped, own=is_own_log(head))
    model = text(told.get("model")) or "unknown"
    epoch = count(said.get("epoch"))
    number = None if epoch is None or epoch < 1 else epoch - 1
    columns = reader.columns(model)
    task = (reader.by_tripos and task_of(reader.about)) or _task_name(told)
    sample = LoggedSample(place, task, model, reader.item(), number, columns, list(reader.scores()))
    if said.get("invalidation"):
        skipped.note("invalidation of samples, which count as others do", place)
    for name in ("events", "store"):
        if said.get(name):
            skipped.note(f"`{name}` of samples", place)
    yield sample


class _SampleReader:
    """Reader of one sample. `by_tripos` says that Tripos wrote the log."""

    def __init__(self, sample: dict[str, Any], place: str, skipped: Skipped, *, own: bool) -> None:
        self.sample, self.place, self.skipped, self.by_tripos = sample, place, skipped, own
        self.attached = as_dict(sample.get("attachments"))
        self.about = as_dict(sample.get("metadata"))

    def item(self) -> LoggedItem:
        """Return the item of the sample. Content other than text becomes JSON."""
        turns = self._prompt_turns()
        choices = [self._text(each) for each in as_list(self.sample.get("choices")) if isinstance(each, str)]
        if choices and turns:
            texts = [turns[-1][1], *(f"{chr(65 + number)}) {choice}" for number, choice in enumerate(choices))]
            turns[-1] = (turns[-1][0], "\n".join(texts))
        name = self.about.get("item_id") if self.by_tripos else None
        return item_of(self.sample.get("id") if name is None else name, turns, self.sample.get("target"))

    def _prompt_turns(self) -> list[Turn]:
        given = self.sample.get("input")
        return [("user", self._text(given))] if isinstance(given, str) else self._turns(given)

    def _turns(self, messages: Any) -> list[Turn]:
        found = []
        for message in map(as_dict, as_list(messages)):
            found.append((text(message.get("role")) or "user", self._message(message)))
        return found

    def _message(self, message: Mapping[str, Any]) -> str:
        said = self._text(message.get("content"))
        calls = message.get("tool_calls")
        return "\n".join(each for each in (said, to_json_text(calls) if calls else "") if each)

    def _text(self, content: Any) -> str:
        """Return the text of a content, with attachments of the sample filled in."""
        if isinstance(content, str):
            if content.startswith(ATTACHMENT_PREFIX):
                return text(self.attached.get(content.removeprefix(ATTACHMENT_PREFIX))) or content
            return content
        parts = []
        for part in map(as_dict, as_list(content)):
            kind = text(part.get("type")) or "part"
            if kind == "text":
                parts.append(self._text(part.get("text") or ""))
            elif kind == "reasoning":
                self.skipped.note("reasoning in messages", self.place)
            else:
                self.skipped.note(f"{kind} in messages", self.place)
                parts.append(f"[{kind}]")
        return "\n".join(parts)

    def columns(self, model: str) -> dict[str, Any]:
        """Return the facts about the reply as columns of `samples`."""
        output = as_dict(self.sample.get("output"))
        choice = as_dict(next(iter(as_list(output.get("choices"))), None))
        message = as_dict(choice.get("message"))
        reply = None
        if message:
            reply = self._message(message)
        elif text(output.get("completion")):
            reply = text(output.get("completion"))
        turns = self._turns(self.sample.get("messages")) or self._prompt_turns()
        while turns and turns[-1][0] == "assistant":
            turns.pop()
        usage = self._usage(model)
        cached = [count(usage.get(f"input_tokens_cache_{kind}")) or 0 for kind in ("write", "read")]
        fresh = count(usage.get("input_tokens"))
        stopped = text(choice.get("stop_reason"))
        return {
            "reply": reply,
            "error": self._error(),
            "refused": ending_of(stopped) is Ending.CONTENT_FILTER,
            "status": reply_status(self.about.get("status"), reply) if self.by_tripos else None,
            "messages": as_messages(turns),
            "model_served": text(output.get("model")),
            "finish_reason": stopped,
            "tokens_in": None if fresh is None else fresh + sum(cached),
            "tokens_out": count(usage.get("output_tokens")),
            "tokens_reasoning": count(usage.get("reasoning_tokens")),
            "cost_usd": as_amount(usage.get("total_cost")),
            "latency_s": as_amount(output.get("time")),
        }

    def _usage(self, model: str) -> Mapping[str, Any]:
        """Return the token usage of the sample's own model. Usage by other models is recorded for the log as a
        whole.
        """
        usage = as_dict(self.sample.get("model_usage"))
        if others := usage.keys() - {model}:
            self.skipped.note("tokens of other models, by sample", self.place, len(others))
        return as_dict(usage.get(model))

    def _error(self) -> str | None:
        error = text(as_dict(self.sample.get("error")).get("message"))
        if self.by_tripos and error is None:
            error = text(as_dict(self.sample.get("output")).get("error"))
        limit = as_dict(self.sample.get("limit"))
        if error is None and limit:
            return f"the limit of {text(limit.get('type')) or 'the sample'} was reached"
        return error

    def scores(self) -> Iterator[LoggedScore]:
        """Yield the scores, one for each part of a score with several parts."""
        for key, said in as_dict(self.sample.get("scores")).items():
            scorer = key.removeprefix(f"{self.about.get('scenario')}: ") if self.by_tripos else key
            told = as_dict(said) if isinstance(said, dict) else {"value": said}
            value = told.get("value")
            reason = text(told.get("explanation")) or None
            kept = to_json_text({name: told.get(name) for name in ("value", "answer", "explanation", "metadata")})
            status, error = score_status(as_dict(told.get("metadata"))) if self.by_tripos else (None, None)
            if status is None and (word := REASONS.get(text(told.get("reason")) or "")) is not None:
                status, error = word, reason
            rater = f"{TOOL}/{scorer}"
            if isinstance(value, dict):
                parts = [(f"{scorer}_{name}", part) for name, part in value.items()]
            elif isinstance(value, list):
                parts = [(f"{scorer}_{number}", part) for number, part in enumerate(value)]
            else:
                parts = [(scorer, value)]
            for name, part in parts:
                worth = self._worth(part)
                if worth is None and status is None:
                    plain = part is None or (isinstance(part, float) and not math.isfinite(part))
                    kind = "without a value" if plain else "that is no number, or one past ±1e70"
                    self.skipped.note(f"score of `{scorer}` {kind}", self.place)
                failed = (status, error) if worth is None else (None, None)
                yield LoggedScore(name, rater, worth, kept, reason, *failed)

    @staticmethod
    def _worth(value: Any) -> float | None:
        if isinstance(value, str):
            worth = LETTERS.get(value, WORDS.get(value.lower()))
            if worth is not None:
                return worth
            with suppress(ValueError):
                value = float(value)
        return as_float(value)


IMPORTER = Importer("Inspect", open_inspect, is_archive, is_inspect, suffixes=(ARCHIVE, ".json"))
