"""Results of promptfoo: the JSON of `promptfoo eval -o FILE.json`, from version 3 on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from tripos.importing.logs.log import (
    Importer,
    Log,
    LoggedFigure,
    LoggedSample,
    LoggedScore,
    LogHeader,
    Skipped,
    as_amount,
    as_dict,
    as_float,
    as_list,
    as_messages,
    count,
    item_of,
    prompt_turns,
    text,
    to_json_text,
)
from tripos.source_files import SourceFile

TOOL = "promptfoo"
CALL_FAILED = 2
"""The failure reason of a failed call."""
PASSED, SCORED = "pass", "score"


def is_promptfoo(value: Any) -> bool:
    """Return true if a JSON value is the result of an evaluation by promptfoo."""
    results = as_dict(as_dict(value).get("results"))
    return isinstance(results.get("results"), list) and isinstance(results.get("prompts"), list)


def open_promptfoo(file: SourceFile, value: Any) -> list[Log]:
    """Return the logs of a file: one for each provider."""
    head = as_dict(value)
    results = as_dict(head.get("results"))
    rows = as_list(results.get("results"))
    names = _names_of_columns(results)
    models: dict[str, list[_TestResult]] = {}
    for number, (row, test) in enumerate(zip(rows, _tests(rows), strict=True), 1):
        model = names.get(count(as_dict(row).get("promptIdx")), _model(row))
        models.setdefault(model, []).append(_TestResult(f"result {number}", as_dict(row), *test))
    told = dict.fromkeys(model for model in (*names.values(), *models) if model in models)
    return [_log(file, head, results, names, models[model], model) for model in told]


class _TestResult(NamedTuple):
    """A result with the name of its test and the number of the repetition."""

    place: str
    row: Mapping[str, Any]
    test: str
    repeat: int


def _model(row: Any) -> str:
    provider = as_dict(row).get("provider")
    told = as_dict(provider)
    return text(told.get("label")) or text(told.get("id")) or text(provider) or "unknown"


def _names_of_columns(results: Mapping[str, Any]) -> dict[int | None, str]:
    """Return the model name of each column, which is a provider with a prompt. Providers that share a name, such as
    those that differ in settings, are numbered.

    >>> column = {"provider": "a", "raw": "x"}
    >>> _names_of_columns({"prompts": [column, {"provider": "a", "raw": "y"}, column]})
    {0: 'a', 1: 'a', 2: 'a:2'}
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    names: dict[int | None, str] = {}
    for column, each in enumerate(map(as_dict, as_list(results.get("prompts")))):
        provider = text(each.get("provider"))
        if provider:
            key = provider, to_json_text(each.get("raw")), to_json_text(each.get("label"))
            seen[key] += 1
            names[column] = provider if seen[key] == 1 else f"{provider}:{seen[key]}"
    return names


def _tests(rows: Sequence[Any]) -> list[tuple[str, int]]:
    """Return the test name and the repetition of each result. With `--repeat`, promptfoo gives each repetition its own
    test number."""
    numbers: dict[str, dict[int, None]] = {}
    found = []
    for row in map(as_dict, rows):
        test, number = to_json_text(row.get("testCase")), count(row.get("testIdx"))
        found.append((test, number))
        if number is not None:
            numbers.setdefault(test, {})[number] = None
    placed = {test: sorted(some) for test, some in numbers.items()}
    return [("", 0) if number is None else (str(placed[test][0]), placed[test].index(number)) for test, number in found]


def _log(
    file: SourceFile,
    head: Mapping[str, Any],
    results: Mapping[str, Any],
    names: Mapping[int | None, str],
    rows: Sequence[_TestResult],
    model: str,
) -> Log:
    config = as_dict(head.get("config"))
    task = text(config.get("description")) or TOOL
    about = {
        "created": results.get("timestamp"),
        "versions": {
            TOOL: text(as_dict(head.get("metadata")).get("promptfooVersion")),
            "format": results.get("version"),
        },
        "prompts": [text(as_dict(each).get("raw")) for each in as_list(results.get("prompts"))],
    }
    identity = f"{TOOL}:{text(head.get('evalId')) or text(results.get('timestamp')) or file.path.name}:{model}"
    columns = [each for number, each in enumerate(as_list(results.get("prompts"))) if names.get(number) == model]
    figures = tuple(_figures(task, columns))
    header = LogHeader(TOOL, task, identity, {name: each for name, each in about.items() if each}, figures)
    return Log(str(file.path), header, partial(_samples, rows, task, model), model)


def _figures(task: str, columns: Sequence[Any]) -> Iterator[LoggedFigure]:
    """Yield the share of passed tests of a provider and its mean score, over all prompts."""
    told = [as_dict(as_dict(column).get("metrics")) for column in columns]
    counts = [[count(each.get(f"test{kind}Count")) for kind in ("Pass", "Fail", "Error")] for each in told]
    if not told or any(None in each for each in counts):
        return
    tests = sum(number or 0 for each in counts for number in each)
    scores = [as_float(each.get("score")) for each in told]
    if tests:
        yield LoggedFigure(task, PASSED, "mean", sum(each[0] or 0 for each in counts) / tests)
        if None not in scores:
            yield LoggedFigure(task, SCORED, "mean", sum(score or 0.0 for score in scores) / tests)


def _samples(rows: Sequence[_TestResult], task: str, model: str, skipped: Skipped) -> Iterator[LoggedSample]:
    for place, row, name, repeat in rows:
        if "prompt" not in row:
            skipped.note("result that is none", place)
            continue
        turns = prompt_turns(as_dict(row["prompt"]).get("raw", row["prompt"]))
        test = as_dict(row.get("testCase"))
        wanted = [as_dict(each).get("value") for each in as_list(test.get("assert"))]
        target = next((each for each in wanted if isinstance(each, str)), None)
        item = item_of(name, turns, target)
        yield LoggedSample(place, task, model, item, repeat, _columns(row, turns), list(_scores(row, place, skipped)))


def _columns(row: Mapping[str, Any], turns: Sequence[tuple[str, str]]) -> dict[str, Any]:
    response, usage = as_dict(row.get("response")), as_dict(row.get("tokenUsage"))
    output = response.get("output")
    broken = count(row.get("failureReason")) == CALL_FAILED or output is None
    latency = as_amount(row.get("latencyMs"))
    details = as_dict(usage.get("completionDetails"))
    return {
        "reply": None if broken else output if isinstance(output, str) else to_json_text(output),
        "error": (text(row.get("error")) or text(response.get("error"))) if broken else None,
        "messages": as_messages(turns),
        "finish_reason": text(response.get("finishReason")),
        "tokens_in": count(usage.get("prompt")),
        "tokens_out": count(usage.get("completion")),
        "tokens_reasoning": count(details.get("reasoning")),
        "cost_usd": as_amount(row.get("cost")),
        "latency_s": None if latency is None else latency / 1000,
    }


def _scores(row: Mapping[str, Any], place: str, skipped: Skipped) -> Iterator[LoggedScore]:
    """Yield whether the test passed, its score, and the score of each assertion, named by its metric or else its
    type.
    """
    grading = as_dict(row.get("gradingResult"))
    reason = text(grading.get("reason")) or None
    yield LoggedScore(
        PASSED, f"{TOOL}/{PASSED}", as_float(row.get("success")), to_json_text(row.get("success")), reason
    )
    yield LoggedScore(SCORED, f"{TOOL}/{SCORED}", as_float(row.get("score")), to_json_text(row.get("score")), reason)
    seen: Counter[str] = Counter()
    for part in map(as_dict, as_list(grading.get("componentResults"))):
        assertion = as_dict(part.get("assertion"))
        kind = text(assertion.get("type")) or "assertion"
        title = text(assertion.get("metric")) or kind
        seen[title] += 1
        name = title if seen[title] == 1 else f"{title}_{seen[title]}"
        value = as_float(part.get("score"))
        if value is None:
            skipped.note(f"score of `{title}` without a value", place)
        yield LoggedScore(name, f"{TOOL}/{kind}", value, to_json_text(part), text(part.get("reason")) or None)
    for title, said in as_dict(row.get("namedScores")).items():
        if title not in seen:
            yield LoggedScore(str(title), f"{TOOL}/named", as_float(said), to_json_text(said))


IMPORTER = Importer("promptfoo", open_promptfoo, has_value=is_promptfoo)
