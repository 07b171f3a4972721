"""Logs of OpenAI Evals: JSON Lines of events, from the `spec` to the `final_report`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from tripos.importing.logs.log import (
    Importer,
    Log,
    LoggedFigure,
    LoggedSample,
    LoggedScore,
    LogHeader,
    Skipped,
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

TOOL = "openai-evals"
SAMPLING, ERROR = "sampling", "error"
ABOUT = ("spec", "final_report")


def is_openai_evals(first: Any) -> bool:
    """Return true if the first line of a file is the spec of a run of OpenAI Evals."""
    spec = as_dict(as_dict(first).get("spec"))
    return "completion_fns" in spec or "eval_name" in spec


def open_openai_evals(file: SourceFile, _: Any = None) -> list[Log]:
    """Return the log of a file of events."""
    spec: dict[str, Any] = {}
    report: dict[str, Any] = {}
    events: dict[str, list[int]] = {}
    broken: list[tuple[int, str]] = []
    others = 0
    for number, (at, line) in enumerate(file.lines_at(), 1):
        try:
            said = as_dict(read_json(line))
        except ValueError as error:
            broken.append((number, str(error)))
            continue
        spec = as_dict(said.get("spec")) or spec
        report = as_dict(said.get("final_report")) or report
        name = text(said.get("sample_id"))
        if name is not None:
            events.setdefault(name, []).append(at)
        elif not any(each in said for each in ABOUT):
            others += 1
    task = text(spec.get("base_eval")) or text(spec.get("eval_name")) or TOOL
    model = text(next(iter(as_list(spec.get("completion_fns"))), None)) or "unknown"
    about = {
        "created": spec.get("created_at"),
        "eval": spec.get("eval_name"),
        "split": spec.get("split"),
        "settings": as_dict(spec.get("run_config")) or None,
        "report": report or None,
    }
    header = LogHeader(
        TOOL,
        task,
        f"{TOOL}:{text(spec.get('run_id')) or file.path.name}",
        {name: each for name, each in about.items() if each is not None},
        tuple(_figures(task, report)),
        status="finished" if report else "interrupted",
        message=None if report else "it has no final report",
    )
    return [Log(str(file.path), header, partial(_samples, file, events, broken, others, task, model))]


def _figures(task: str, report: Mapping[str, Any]) -> Iterator[LoggedFigure]:
    value = as_float(report.get("accuracy"))
    if value is not None:
        yield LoggedFigure(task, "match", "accuracy", value)


def _samples(
    source: SourceFile,
    events: Mapping[str, list[int]],
    broken: list[tuple[int, str]],
    others: int,
    task: str,
    model: str,
    skipped: Skipped,
) -> Iterator[LoggedSample]:
    for number, reason in broken:
        skipped.note(f"line that is no event: {reason}", f"line {number}")
    if others:
        skipped.note("events of no sample", "the whole log", others)
    with source.opened() as file:
        for name, places in events.items():
            told = []
            for at in places:
                file.seek(at)
                told.append(as_dict(read_json(file.readline())))
            yield from _sample(name, told, task, model, skipped)


def _sample(name: str, events: list[dict[str, Any]], task: str, model: str, skipped: Skipped) -> Iterator[LoggedSample]:
    """Yield the reply of a sample, from its first sampling event, with all of its scores."""
    sampled = [as_dict(event.get("data")) for event in events if event.get("type") == SAMPLING]
    if len(sampled) > 1:
        skipped.note("further calls for a sample, as of a model that grades", name, len(sampled) - 1)
    first = sampled[0] if sampled else {}
    scores = [score for event in events if event.get("type") != SAMPLING for score in _scores(event, name, skipped)]
    expected = next((data["expected"] for event in events if "expected" in (data := as_dict(event.get("data")))), None)
    usage = as_dict(first.get("usage"))
    turns = prompt_turns(first.get("prompt"))
    said = first.get("sampled")
    replies = [each for each in (said if isinstance(said, list) else [said]) if each is not None]
    columns = {
        "reply": None if not replies else replies[0] if isinstance(replies[0], str) else to_json_text(replies[0]),
        "error": None if replies else _error(events),
        "messages": as_messages(turns),
        "model_served": text(first.get("model")),
        "tokens_in": count(usage.get("prompt_tokens")),
        "tokens_out": count(usage.get("completion_tokens")),
    }
    yield LoggedSample(name, task, model, item_of(name, turns, expected), None, columns, scores)


def _error(events: list[dict[str, Any]]) -> str:
    told = [as_dict(event.get("data")) for event in events if event.get("type") == ERROR]
    return next((said for each in told if (said := text(each.get("message"))) is not None), "the log has no reply")


def _scores(event: Mapping[str, Any], place: str, skipped: Skipped) -> Iterator[LoggedScore]:
    kind, data = text(event.get("type")) or "event", as_dict(event.get("data"))
    said = to_json_text(data)
    if kind == "match":
        yield LoggedScore("match", f"{TOOL}/match", as_float(data.get("correct")), said)
    elif kind == "metrics":
        for name, part in data.items():
            if (value := as_float(part)) is not None:
                yield LoggedScore(str(name), f"{TOOL}/{name}", value, said)
            elif name not in ("sampled", "expected"):
                skipped.note(f"metric `{name}` that is no number", place)
    elif kind != ERROR:
        skipped.note(f"event `{kind}`", place)


IMPORTER = Importer("OpenAI evals", open_openai_evals, has_value=is_openai_evals, suffixes=(".jsonl",))
