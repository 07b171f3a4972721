"""Logs for Inspect AI: an `.eval` file for each compared model, readable by `inspect log` and `inspect view`.

Such a file is a zip: `header.json` with the figures, `summaries.json` for the list of samples, and a file for each
sample. A sample of Inspect is a unit: an item in a scenario and its arms; its epoch is the sample number, from 1. The
figures in the header are the measures and means of Tripos, not computed by Inspect.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

from tripos_compiler.files import ZIP_EPOCH
from tripos_compiler.plan import REFUSED, Ask, Ending, Plan, ending_of
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports.units import (
    SECRET,
    ChatCall,
    ChatMessage,
    ExportedFigure,
    RunUnit,
    ScoreMeans,
    UnitScore,
    arms_text,
    chat_of,
    left_out,
    measure_figures,
    named_scores,
    read_units,
    scored_steps,
    usage_of,
)
from tripos_warehouse.files import export_path
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.views.runs import RunRecord, tool_version

# Samples
LONGEST = 1000
"""The longest text in a summary, in characters, as in Inspect."""
ROLES = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
"""Inspect's message roles; any other role becomes `user`, with the original in the metadata."""
REASONS = {
    "refused": "refusal",
    "truncated": "invalid_response_format",
    "parse_failure": "invalid_response_format",
    "not_applicable": "not_applicable",
}
"""Inspect's reasons for missing scores, by status; for any other status the scoring failed."""
STOPS = {
    Ending.STOP: "stop",
    Ending.LENGTH: "max_tokens",
    Ending.TOOL_CALLS: "tool_calls",
    Ending.CONTENT_FILTER: "content_filter",
}
"""Inspect's stop reasons."""
JSON_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


SCORE_METADATA = (
    *("metric", "scorer", "evaluator", "round", "element_place", "choice", "status", "error"),
    *("score_id", "judgement_id", "sample_id", "step"),
)
"""The fields in the metadata of a score."""


def sample_of(
    unit: RunUnit, model: str, run: RunRecord, steps: Mapping[str, Sequence[str]], prefix: bool
) -> dict[str, Any]:
    """Return a unit as a sample. `steps` are the scored steps of its scenario; with `prefix` names begin with the
    scenario.
    """
    scores = {name: _score(unit, named_score) for name, named_score in named_scores(unit, steps, prefix).items()}
    last = unit.replies[-1] if unit.replies else None
    asked = [] if last is None else _messages(last)
    first = _messages(unit.replies[0]) if unit.replies else []
    target = SECRET if unit.target is None else unit.target[0] if len(unit.target) == 1 else list(unit.target)
    sample: dict[str, Any] = {
        "id": f"{f'{unit.scenario}: ' if prefix else ''}{unit.item_id}{arms_text(unit.arms)}",
        "epoch": unit.number + 1,
        "input": first[0]["content"] if len(first) == 1 else first,
        "target": target or "",
        "messages": asked if last is None or last["reply"] is None else [*asked, _replied(last, model)],
        "output": _output(last, model),
        "scores": scores,
        "metadata": _metadata(unit),
        "store": {},
        "events": [*(_called(reply, model, run) for reply in unit.replies), *_scored(unit, scores)],
        **_usage(unit, model, run),
        **_times(unit),
    }
    if last is not None:
        sample["uuid"] = last["sample_id"]
        if last["status"] == "provider_error":
            error = last["error"] or "no reply came"
            sample["error"] = {"message": error, "traceback": "", "traceback_ansi": ""}
    return sample


def summary_of(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return the summary of a sample, with long texts cut as in Inspect."""
    same = ("id", "epoch", "model_usage", "role_usage", "started_at", "completed_at", "total_time", "uuid")
    summary = {name: sample[name] for name in same if name in sample}
    inputs = sample["input"]
    summary["input"] = _short(inputs if isinstance(inputs, str) else inputs[-1]["content"] if inputs else "")
    target = sample["target"]
    summary["target"] = _short(target) if isinstance(target, str) else [_short(text) for text in target]
    summary["metadata"] = _thin(sample["metadata"])
    summary["scores"] = {
        name: {key: _short(value) if isinstance(value, str) else value for key, value in score.items()}
        for name, score in sample["scores"].items()
    }
    if "error" in sample:
        summary["error"] = sample["error"]["message"]
    return summary | {"completed": True, "message_count": len(sample["messages"])}


class InspectUsage:
    """The tokens of a whole log, by model and by role. Replies that several arms share count once. `unknown`: calls
    without reported tokens.
    """

    def __init__(self) -> None:
        self.unknown = 0
        self.by_model: dict[str, dict[str, Any]] = {}
        self.by_role: dict[str, dict[str, Any]] = {}
        self._counted: set[str] = set()

    def add(self, unit: RunUnit, model: str, run: RunRecord) -> None:
        """Add the usage of a unit."""
        fresh = [reply for reply in unit.replies if reply["sample_id"] not in self._counted]
        self._counted.update(row["sample_id"] for row in fresh)
        self.unknown += sum(usage_of([row]) is None for row in fresh)
        _add(self.by_model, model, usage_of(fresh))
        _add(self.by_role, run.compared_role, usage_of(fresh))
        for judge, judged in _judgements(unit).items():
            scores = [score for score in judged if score.judgement_id not in self._counted]
            self._counted.update(score.judgement_id for score in scores if score.judgement_id is not None)
            self.unknown += sum(usage_of([score]) is None for score in scores)
            _add(self.by_model, judge, usage_of(scores))


def _add(to: dict[str, dict[str, Any]], name: str, usage: Mapping[str, Any] | None) -> None:
    if usage is not None:
        known = to.setdefault(name, {})
        for key, value in usage.items():
            known[key] = known.get(key, 0) + value


def _judgements(unit: RunUnit) -> dict[str, list[UnitScore]]:
    """Return one score of each judgement, by evaluator: several metrics may share a judgement."""
    by_evaluator: dict[str, dict[str, UnitScore]] = {}
    for score in unit.scores:
        if score.evaluator is not None and score.judgement_id is not None:
            by_evaluator.setdefault(score.evaluator, {}).setdefault(score.judgement_id, score)
    return {name: list(judged.values()) for name, judged in by_evaluator.items()}


def _usage(unit: RunUnit, model: str, run: RunRecord) -> dict[str, Any]:
    own = usage_of(unit.replies)
    judges = {name: usage_of(judged) for name, judged in _judgements(unit).items()}
    every: dict[str, dict[str, Any]] = {}
    _add(every, model, own)
    for name, usage in judges.items():
        _add(every, name, usage)
    return {"model_usage": every, "role_usage": {} if own is None else {run.compared_role: own}}


def _times(unit: RunUnit) -> dict[str, Any]:
    """Return the start of the first request, the time of the last reply, and the duration."""
    if not unit.replies:
        return {}
    spent = [reply["latency_s"] for reply in unit.replies]
    begun = min(reply["created_at"] - timedelta(seconds=reply["latency_s"] or 0) for reply in unit.replies)
    ended = max(reply["created_at"] for reply in unit.replies)
    times: dict[str, Any] = {name: _moment(at) for name, at in (("started_at", begun), ("completed_at", ended))}
    if all(seconds is not None for seconds in spent):
        times |= {"total_time": sum(spent), "working_time": sum(spent)}
    return times


def _moment(at: Any) -> str:
    return str(at.replace(tzinfo=UTC).isoformat())


def _metadata(unit: RunUnit) -> dict[str, Any]:
    place: dict[str, Any] = {"scenario": unit.scenario, "item_id": unit.item_id}
    if unit.language is not None:
        place["language"] = unit.language
    place |= {**unit.axes} | {f"arm {name}": value for name, value in unit.arms.items()}
    place |= {f"item.{name}": value for name, value in unit.fields.items()}
    if unit.replies:
        place["status"] = unit.replies[-1]["status"]
        place["sample_ids"] = {reply["step"]: reply["sample_id"] for reply in unit.replies}
    return place


def _score(unit: RunUnit, score: UnitScore) -> dict[str, Any]:
    entry: dict[str, Any] = {"value": math.nan if score.value is None else score.value}
    answered = next((reply["parsed"] for reply in unit.replies if reply["sample_id"] == score.sample_id), None)
    if score.choice is not None:
        entry["answer"] = score.choice
    elif score.evaluator is None and answered is not None:
        entry["answer"] = answered
    if score.value is None:
        failed = "grader_failed" if score.evaluator is not None and score.status == "parse_failure" else None
        entry["reason"] = failed or REASONS.get(score.status, "scoring_failed")
    if explained := score.reason or score.error:
        entry["explanation"] = explained
    entry["metadata"] = {name: value for name in SCORE_METADATA if (value := getattr(score, name)) is not None}
    return entry | {"history": []}


def _messages(reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [_message(message, f"{reply['sample_id']}-{n}") for n, message in enumerate(chat_of(reply).messages)]


def _message(kept: ChatMessage, name: str) -> dict[str, Any]:
    role = ROLES.get(kept.role, "user")
    entry: dict[str, Any] = {"id": name, "content": kept.content, "role": role}
    if role != kept.role:
        entry["metadata"] = {"role": kept.role}
    if kept.calls:
        entry["tool_calls"] = [_call(call) for call in kept.calls]
    if kept.answers is not None:
        entry |= {"tool_call_id": kept.answers.id, "function": kept.answers.call.name}
    return entry


def _call(made: ChatCall) -> dict[str, Any]:
    entry = {"id": made.id, "function": made.call.name, "arguments": made.arguments, "type": "function"}
    return entry if made.fault is None else entry | {"parse_error": made.fault}


def _tool(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool description in Inspect's form. What it has no field for, such as another schema form, becomes part
    of the text.
    """
    schema = described.get("parameters") or {}
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    entry = {"name": str(described["name"]), "description": str(described.get("description") or "")}
    parameters: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    for name, property_ in (properties or {}).items():
        kind = property_.get("type") if isinstance(property_, Mapping) else None
        about = property_.get("description") if isinstance(property_, Mapping) else None
        parameters["properties"][name] = {"description": str(about or json.dumps(property_, ensure_ascii=False))} | (
            {"type": kind} if kind in JSON_TYPES else {}
        )
    if properties:
        parameters["required"] = [name for name in schema.get("required") or () if name in properties]
    return entry | {"parameters": parameters}


def _replied(reply: Mapping[str, Any], model: str) -> dict[str, Any]:
    message = chat_of(reply).reply
    assert message is not None
    return _message(message, f"{reply['sample_id']}-reply") | {"source": "generate", "model": model}


def _output(reply: Mapping[str, Any] | None, model: str) -> dict[str, Any]:
    if reply is None:
        return {"model": model, "choices": [], "completion": ""}
    output: dict[str, Any] = {"model": reply["model_served"] or model, "choices": [], "completion": ""}
    if reply["reply"] is not None:
        ending = Ending.CONTENT_FILTER if reply["status"] == REFUSED else ending_of(reply["finish_reason"])
        stopped = STOPS.get(ending, "unknown")
        message = _replied(reply, model)
        output |= {
            "choices": [{"message": message, "stop_reason": stopped}],
            "completion": message["content"],
        }
    if (usage := usage_of([reply])) is not None:
        output["usage"] = usage
    if reply["latency_s"] is not None:
        output["time"] = reply["latency_s"]
    if reply["error"] is not None:
        output["error"] = reply["error"]
    return output


def _called(reply: Mapping[str, Any], model: str, run: RunRecord) -> dict[str, Any]:
    """Return the call of a step as a transcript event."""
    begun = reply["created_at"] - timedelta(seconds=reply["latency_s"] or 0)
    tools = chat_of(reply).tools
    event = {
        "event": "model",
        "uuid": reply["sample_id"],
        "timestamp": _moment(begun),
        "working_start": 0.0,
        "model": model,
        "role": run.compared_role,
        "input": _messages(reply),
        "tools": [_tool(tool) for tool in tools],
        "tool_choice": "auto" if tools else "none",
        "config": {},
        "output": _output(reply, model),
        "completed": _moment(reply["created_at"]),
        "metadata": {"step": reply["step"], "status": reply["status"]},
    }
    if reply["attempts"] is not None and reply["attempts"] > 1:
        event["retries"] = reply["attempts"] - 1
    if reply["error"] is not None:
        event["error"] = reply["error"]
    return event


def _scored(unit: RunUnit, scores: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    if not unit.replies:
        return []
    at = _moment(max(reply["created_at"] for reply in unit.replies))
    return [
        {"event": "score", "timestamp": at, "working_start": 0.0, "score": score, "scorer": name}
        for name, score in scores.items()
    ]


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _thin(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata with long texts cut and long values omitted."""
    thinned: dict[str, Any] = {}
    for name, value in metadata.items():
        if isinstance(value, str):
            thinned[name] = _short(value)
        elif len(json.dumps(value, default=str)) < LONGEST:
            thinned[name] = value
    return thinned


# Logs
VERSION = 2
"""The version of the log format, which Inspect AI 0.3 reads."""
ENDS = {"finished": "success", "failed": "error", "stopped": "cancelled"}
"""Inspect's status for the end of a run; a run without an end counts as cancelled."""


@dataclass(frozen=True)
class ExportedLog:
    """The log of one model: the numbers of samples, scores and figures, and of scores without a value."""

    model: str
    path: Path
    samples: int
    scores: int
    without_value: int
    figures: int


def write_inspect(
    connection: Connection, plan: Plan, run: RunRecord, path: Path, secrets: bool
) -> tuple[list[ExportedLog], dict[str, int]]:
    """Write a log for every compared model into the folder `path`, or for a single model into `path` itself if it ends
    in `.eval`. Return the logs, and the numbers of results that belong to no unit, by kind.

    With `secrets` targets, secret fields and the reasons of judges are included. Raises `StoreError`: S0603 if there is
    no reply, S0604 if the disk refuses, S0202 if one file is named for several logs.
    """
    single = path.suffix == ".eval"
    if single and len(run.models) > 1:
        raise StoreError("S0202", f"{len(run.models)} logs do not fit into `{path}`", "name a folder")
    tool = tool_version(connection, run.run_id)
    logs = [
        log
        for model in run.models
        if (log := _InspectWriter(connection, plan, run, model, secrets, tool).write(path, single)) is not None
    ]
    if not logs:
        raise StoreError("S0603", "nothing to export: the run has no replies", "`tripos report` says why")
    return logs, left_out(connection, plan, run)


class _InspectWriter:
    """The writer of one model's log, sample by sample."""

    def __init__(
        self, connection: Connection, plan: Plan, run: RunRecord, model: str, secrets: bool, tool: str
    ) -> None:
        self.connection, self.plan, self.run, self.model = connection, plan, run, model
        self.secrets, self.tool = secrets, tool
        self.prefix = len(plan.scenarios) > 1
        self.steps = {scenario.name: scored_steps(plan, scenario.name) for scenario in plan.scenarios}
        self.means = ScoreMeans(run, model, self.steps, self.prefix)
        self.usage = InspectUsage()
        self.samples = self.scores = self.without = self.failed = 0
        self.epochs = 1
        self.ids: set[str] = set()

    def write(self, path: Path, single: bool) -> ExportedLog | None:
        place = path if single else path / self._file_name()
        measures = measure_figures(self.connection, self.plan, self.run, self.model)
        with (
            export_path(place) as new,
            tempfile.TemporaryFile() as summaries,
            zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            self._write_samples(archive, summaries)
            figures = [*measures, *self.means.figures(self.plan)]
            header = self._header(figures)
            start = {name: header[name] for name in ("version", "eval", "plan")}
            _put(archive, "_journal/start.json", _json(start))
            summaries.seek(0)
            info = zipfile.ZipInfo("summaries.json", ZIP_EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(info, "w") as file:
                file.write(b"[")
                shutil.copyfileobj(summaries, file)
                file.write(b"]")
            _put(archive, "header.json", _json(header))
        if not self.samples:
            place.unlink()
            return None
        return ExportedLog(self.model, place, self.samples, self.scores, self.without, len(figures))

    def _write_samples(self, archive: zipfile.ZipFile, summaries: IO[bytes]) -> None:
        for unit in read_units(self.connection, self.plan, self.run, self.model, self.secrets):
            sample = sample_of(unit, self.model, self.run, self.steps[unit.scenario], self.prefix)
            _put(archive, f"samples/{sample['id']}_epoch_{sample['epoch']}.json", _json(sample))
            summaries.write(b"," if self.samples else b"")
            summaries.write(_json(summary_of(sample)))
            self.means.add(unit)
            self.usage.add(unit, self.model, self.run)
            self.samples += 1
            self.scores += len(unit.scores)
            self.without += sum(score.value is None for score in unit.scores)
            self.failed += "error" in sample
            self.epochs = max(self.epochs, unit.number + 1)
            self.ids.add(sample["id"])

    def _file_name(self) -> str:
        task = re.sub(r"[^\w-]+", "-", f"{self.run.benchmark}-{self.model}")
        return f"{self.run.started_at:%Y-%m-%dT%H-%M-%S}-00-00_{task}_{self._id('log')}.eval"

    def _id(self, of: str) -> str:
        return blake2b(f"{of}\n{self.run.run_id}\n{self.model}".encode(), digest_size=11).hexdigest()

    def _header(self, figures: list[ExportedFigure]) -> dict[str, Any]:
        status = ENDS.get(self.run.status, "cancelled")
        text = self.run.message or self.run.status
        ended = self.run.finished_at
        error = {"error": {"message": text, "traceback": "", "traceback_ansi": ""}} if status == "error" else {}
        results = {
            "total_samples": self.samples,
            "completed_samples": self.samples - self.failed,
            "scores": [_header_score(figure) for figure in figures],
            "metadata": {
                "figures": "of Tripos: measures of the spec, and means of scores with errors by item",
                "calls_without_usage": self.usage.unknown,
            },
        }
        if figures:
            first = figures[0]
            results["headline"] = {"scorer": first.name, "score": first.name, "metric": "value"}
        stats = {
            "started_at": moment(self.run.started_at),
            "completed_at": "" if ended is None else moment(ended),
            "model_usage": self.usage.by_model,
            "role_usage": self.usage.by_role,
        }
        return {
            "version": VERSION,
            "status": status,
            "eval": self._spec(),
            "plan": {"name": "plan", "steps": self._steps(), "config": {}},
            "results": results,
            "stats": stats,
            **error,
        }

    def _spec(self) -> dict[str, Any]:
        roles = {
            role: [{"model": name, "config": {}, "args": {}} for name in names]
            for role, names in self.run.evaluators.items()
            if names
        }
        data = {rows.dataset for scenario in self.plan.scenarios if (rows := scenario.rows) is not None}
        # Inspect expects the product of both as the number of samples.
        whole = self.samples == len(self.ids) * self.epochs
        samples = len(self.ids) if whole else self.samples
        title = self.plan.title_of("benchmark", self.run.benchmark, self.plan.benchmark.languages[0])
        return {
            "eval_id": self._id("eval"),
            "run_id": self.run.run_id,
            "created": moment(self.run.started_at),
            "task": self.run.benchmark,
            "task_id": self._id("log"),
            "task_version": self.run.version,
            "task_display_name": title or self.run.benchmark,
            "task_attribs": {},
            "task_args": {},
            "dataset": {"name": ", ".join(sorted(data)) or None, "samples": samples, "shuffled": False},
            "model": self.model,
            "model_generate_config": {},
            "model_args": {},
            **({"model_roles": roles} if roles else {}),
            "config": {"epochs": self.epochs, "epochs_reducer": ["mean"]} if whole else {},
            "packages": {"tripos": self.tool},
            "metadata": {
                "tripos_run": self.run.run_id,
                "plan_digest": self.run.plan_digest,
                "release": self.run.release,
                "secrets": "written" if self.secrets else "left out",
            },
            "scorers": [],
        }

    def _steps(self) -> list[dict[str, Any]]:
        solvers: dict[str, dict[str, Any]] = {}
        for scenario in self.plan.scenarios:
            for step in scenario.steps:
                if isinstance(step, Ask) and step.role == self.run.compared_role:
                    name = f"{scenario.name}.{step.name}"
                    solvers[name] = {"solver": name, "params": {"samples": step.samples, **step.settings.given}}
        return list(solvers.values())


def _header_score(figure: ExportedFigure) -> dict[str, Any]:
    details = figure.details()
    metrics: dict[str, Any] = {}
    if figure.value is not None:
        metrics["value"] = {"name": "value", "value": figure.value, "params": {}, "metadata": details}
        if figure.standard_error is not None:
            metrics["stderr"] = {"name": "stderr", "value": figure.standard_error, "params": {}}
    return {
        "name": figure.name,
        "scorer": figure.name,
        "scored_samples": figure.n,
        "unscored_samples": figure.without_value,
        "params": {},
        "metrics": metrics,
        "metadata": details,
    }


def moment(of: datetime) -> str:
    """Return a UTC time in ISO 8601.

    >>> moment(datetime(2026, 1, 2, 3, 4, 5))
    '2026-01-02T03:04:05+00:00'
    """
    return of.replace(tzinfo=UTC).isoformat()


def _put(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, ZIP_EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content)


def _json(value: Mapping[str, Any]) -> bytes:
    """Return JSON with `NaN` for missing scores, as Inspect writes them."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode()
