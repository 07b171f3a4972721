"""Logs of Every Eval Ever: a file of results, and the file of samples that it names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

from tripos.importing.logs.log import (
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
    item_of,
    prompt_turns,
    text,
    to_json_text,
)
from tripos.source_files import SourceFile, read_json

TOOL = "every-eval-ever"
SAMPLES = "_samples.jsonl"
UNKNOWN = -1.0
"""The score of a sample whose level is unknown, in a result that has such a level."""


def is_samples_file(file: SourceFile) -> bool:
    """Return true if a file has the samples of the results beside it."""
    name = file.path.name
    return name.endswith(SAMPLES) and file.sibling(name.removesuffix(SAMPLES) + ".json").is_there


def is_every_eval_ever(value: Any) -> bool:
    """Return true if a JSON value is a results file of Every Eval Ever."""
    head = as_dict(value)
    return isinstance(head.get("evaluation_results"), list) and "evaluation_id" in head


def find_samples_file(results: SourceFile, head: Mapping[str, Any]) -> SourceFile | None:
    """Return the file of samples in the folder of a results file: the file that it names, or one with a matching
    name.
    """
    named = text(as_dict(head.get("detailed_evaluation_results")).get("file_path"))
    names = [*([named.rpartition("/")[2]] if named else []), f"{results.path.stem}{SAMPLES}"]
    names.append(f"{results.path.stem}.jsonl")
    files = (results.sibling(name) for name in names if name)
    return next((file for file in files if file.is_there), None)


def open_every_eval_ever(file: SourceFile, value: Any) -> list[Log]:
    """Return the log of a results file. It has no samples if their file is missing."""
    if is_samples_file(file):
        return []
    head = as_dict(value)
    model = text(as_dict(head.get("model_info")).get("id")) or "unknown"
    name = text(head.get("evaluation_id")) or file.path.stem
    library = as_dict(head.get("eval_library"))
    results = [as_dict(each) for each in as_list(head.get("evaluation_results"))]
    benchmark = name.partition("/")[0]
    samples = find_samples_file(file, head)
    rows = set() if samples is None else _results_with_rows(samples)
    about = {
        "created": head.get("evaluation_timestamp") or head.get("retrieved_timestamp"),
        "source": head.get("source_metadata"),
        "versions": {text(library.get("name")) or "library": text(library.get("version"))},
        "settings": next((result["generation_config"] for result in results if result.get("generation_config")), None),
    }
    titles = _titles(benchmark, results)
    header = LogHeader(
        TOOL,
        benchmark,
        f"{TOOL}:{name}",
        {key: each for key, each in about.items() if each is not None},
        tuple(
            figure
            for result in results
            if {_id_of(result), text(result.get("evaluation_name"))} & rows
            for figure in _figures(result, *titles[_id_of(result)])
        ),
        frozenset(titles[_id_of(result)] for result in results if _is_lower(result)),
    )
    unknown = frozenset(titles[_id_of(result)] for result in results if _has_unknown_level(result))
    return [Log(str(file.path), header, partial(_samples, samples, titles, unknown, benchmark, model))]


def _results_with_rows(samples: SourceFile) -> set[str]:
    return {_id_of(as_dict(row)) for row, _ in samples.json_lines()}


def _id_of(said: Mapping[str, Any]) -> str:
    return text(said.get("evaluation_result_id")) or text(said.get("evaluation_name")) or ""


def _titles(benchmark: str, results: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Return the task and the score of each result, by its id, and by its name if no other result has it. If several
    results have the same score of one task, such as the accuracy of each subject, each is a task by its name.

    >>> results = [{"evaluation_name": name, "metric_config": {"metric_name": "accuracy"}} for name in ("law", "art")]
    >>> _titles("mmlu", results)
    {'law': ('law', 'accuracy'), 'art': ('art', 'accuracy')}
    """
    titles = {_id_of(result): (_task(benchmark, result), _title(result)) for result in results}
    names = {_id_of(result): text(result.get("evaluation_name")) for result in results}
    counts = Counter(titles.values())
    found = {key: (names[key] or title[0], title[1]) if counts[title] > 1 else title for key, title in titles.items()}
    uses = Counter(names.values())
    by_name = {name: found[key] for key, name in names.items() if name is not None and uses[name] == 1}
    return by_name | found


def _task(benchmark: str, result: Mapping[str, Any]) -> str:
    """Return the task of a result: the middle of a name such as `quiz/sums/RIGHT`, or else the benchmark."""
    parts = (text(result.get("evaluation_name")) or "").split("/")
    return parts[1] if len(parts) > 2 and parts[0] == benchmark else benchmark


def _title(result: Mapping[str, Any]) -> str:
    config = as_dict(result.get("metric_config"))
    name = text(config.get("metric_name")) or text(config.get("metric_id"))
    return name or (text(result.get("evaluation_name")) or "score").rpartition("/")[2]


def _is_lower(result: Mapping[str, Any]) -> bool:
    return as_dict(result.get("metric_config")).get("lower_is_better") is True


def _has_unknown_level(result: Mapping[str, Any]) -> bool:
    return as_dict(result.get("metric_config")).get("has_unknown_level") is True


def _figures(result: Mapping[str, Any], task: str, title: str) -> Iterator[LoggedFigure]:
    details = as_dict(result.get("score_details"))
    error = as_dict(as_dict(details.get("uncertainty")).get("standard_error")).get("value")
    for name, said in (("mean", details.get("score")), ("stderr", error)):
        if (value := as_float(said)) is not None:
            yield LoggedFigure(task, title, name, value)


def _samples(
    file: SourceFile | None,
    titles: Mapping[str, tuple[str, str]],
    unknown: Set[tuple[str, str]],
    benchmark: str,
    model: str,
    skipped: Skipped,
) -> Iterator[LoggedSample]:
    """Yield the samples of a file. `unknown` are the scores for which -1 is no value."""
    if file is None:
        skipped.note("results without a file of samples", "the whole log", len(set(titles.values())))
        return
    before: set[tuple[str, str, int]] = set()
    times: Counter[tuple[str, str, str]] = Counter()
    for number, (said, reason) in enumerate(file.json_lines(), 1):
        place = f"{file.path.name}, line {number}"
        row = as_dict(said)
        if reason is not None or "evaluation" not in row:
            skipped.note(f"line that is no sample{f': {reason}' if reason else ''}", place)
            continue
        told = as_dict(row.get("metadata"))
        task, title = titles.get(_id_of(row), (benchmark, _title(row)))
        name = text(row.get("sample_id")) or ""
        sample = _whole(told.get("sample_number"))
        if sample is None:  # the lines of a result about one item are its samples
            sample = times[task, name, _id_of(row)]
            times[task, name, _id_of(row)] += 1
        key = task, name, sample
        score = _score(row, title, place, skipped, has_unknown=(task, title) in unknown)
        yield LoggedSample(place, task, model, _item(row), sample, _columns(row), [score], key in before)
        before.add(key)


def _item(row: Mapping[str, Any]) -> LoggedItem:
    asked = as_dict(row.get("input"))
    references = as_list(asked.get("reference"))
    target = references[0] if len(references) == 1 else references or None
    return item_of(row.get("sample_id"), _prompt(row), target)


def _prompt(row: Mapping[str, Any]) -> list[Turn]:
    asked = as_dict(row.get("input"))
    return prompt_turns(asked.get("formatted") or asked.get("raw"))


def _transcript(row: Mapping[str, Any]) -> list[Turn]:
    """Return the turns of a conversation or an agent, up to the last one of the assistant. Calls of tools are JSON."""
    turns = []
    for message in map(as_dict, as_list(row.get("messages"))):
        calls = message.get("tool_calls")
        parts = (text(message.get("content")) or "", to_json_text(calls) if calls else "")
        turns.append((text(message.get("role")) or "user", "\n".join(part for part in parts if part)))
    while turns and turns[-1][0] != "assistant":
        turns.pop()
    return turns


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    usage = as_dict(row.get("token_usage"))
    said = as_dict(row.get("output")).get("raw")
    replies = [each for each in (said if isinstance(said, list) else [said]) if isinstance(each, str)]
    turns = _transcript(row)
    last = turns.pop()[1] if turns else None  # the reply, also of a line that has it as its output
    if not replies and last is not None:
        replies = [last]
    status = text(as_dict(row.get("metadata")).get("status"))
    failed = status == "provider_error" or not replies
    latency = as_amount(as_dict(row.get("performance")).get("latency_ms"))
    return {
        "reply": None if failed else replies[-1],
        "error": text(row.get("error")),
        "refused": status == "refused",
        "messages": as_messages(turns or _prompt(row)),
        "tokens_in": count(usage.get("input_tokens")),
        "tokens_out": count(usage.get("output_tokens")),
        "tokens_reasoning": count(usage.get("reasoning_tokens")),
        "latency_s": None if latency is None else latency / 1000,
    }


def _score(row: Mapping[str, Any], title: str, place: str, skipped: Skipped, *, has_unknown: bool) -> LoggedScore:
    told = as_dict(row.get("evaluation"))
    value = as_float(told.get("score"))
    if has_unknown and value == UNKNOWN:
        value = None
    if value is None:
        skipped.note(f"score of `{title}` without a value", place)
    return LoggedScore(title, f"{TOOL}/{title}", value, to_json_text(told))


def _whole(said: Any) -> int | None:
    """Return a whole number, also from a text, as metadata has it."""
    if isinstance(said, str):
        try:
            said = read_json(said.encode("utf-8", "replace"))
        except ValueError:
            return None
    return count(said)


IMPORTER = Importer(
    "Every Eval Ever", open_every_eval_ever, is_samples_file, is_every_eval_ever, suffixes=(".json", ".jsonl")
)
