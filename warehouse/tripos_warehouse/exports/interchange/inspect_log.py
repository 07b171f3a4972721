"""Logs of Inspect: a file `.eval` for each compared model, as `inspect log` and `inspect view` of Inspect AI read them.

Such a file is a zip: `header.json` with the figures, `summaries.json` for the list of samples, and a file for each
sample. A sample of Inspect is a unit of ours: an item in a scenario and its arms; its epoch is the sample number, from
1. The figures in the header are those of our measures and means, and not ones that Inspect would compute.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

from tripos_compiler.plan import Ask, Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports.files import appearing
from tripos_warehouse.exports.interchange.figures import ExportedFigure, ScoreMeans, measure_figures
from tripos_warehouse.exports.interchange.inspect_sample import InspectUsage, sample_of, summary_of
from tripos_warehouse.exports.interchange.units import left_out, read_units, scored_steps
from tripos_warehouse.query import Connection
from tripos_warehouse.views import RunRecord

VERSION = 2
"""The version of the log's form, which Inspect AI 0.3 reads."""
EPOCH_OF_ZIP = (1980, 1, 1, 0, 0, 0)
"""The time of every entry, so that the same run gives the same bytes."""
ENDS = {"finished": "success", "failed": "error", "stopped": "cancelled"}
"""How a run ended, in the words of Inspect; a run without an end was cancelled."""


@dataclass(frozen=True)
class ExportedLog:
    """The log of one model: how many samples, scores and figures it has, and how many scores have no value."""

    model: str
    path: Path
    samples: int
    scores: int
    without_value: int
    figures: int


def write_inspect(
    connection: Connection, plan: Plan, run: RunRecord, path: Path, secrets: bool
) -> tuple[list[ExportedLog], dict[str, int]]:
    """Write a log for every compared model into the folder `path`, or that of the only one into `path` where it ends in
    `.eval`. Return them with what belongs to none, by its kind.

    With `secrets` targets, secret fields and the reasons of judges are written too. Raises `StoreError`: S0603 where
    there is no reply, S0604 where the disk refuses, S0202 where one file is named for several logs.
    """
    single = path.suffix == ".eval"
    if single and len(run.models) > 1:
        raise StoreError("S0202", f"{len(run.models)} logs do not fit into `{path}`", "name a folder")
    tool = connection.execute("select tool_version from main.runs where run_id = ?", [run.run_id]).fetchall()[0][0]
    found = [
        log
        for model in run.models
        if (log := _InspectWriter(connection, plan, run, model, secrets, str(tool)).write(path, single)) is not None
    ]
    if not found:
        raise StoreError("S0603", "nothing to export: the run has no replies", "`tripos report` says why")
    return found, left_out(connection, plan, run)


class _InspectWriter:
    """The log of one model, written sample by sample."""

    def __init__(
        self, connection: Connection, plan: Plan, run: RunRecord, model: str, secrets: bool, tool: str
    ) -> None:
        self.connection, self.plan, self.run, self.model = connection, plan, run, model
        self.secrets, self.tool = secrets, tool
        self.prefix = len(plan.scenarios) > 1
        self.steps = {each.name: scored_steps(plan, each.name) for each in plan.scenarios}
        self.means = ScoreMeans(run, model, self.steps, self.prefix)
        self.usage = InspectUsage()
        self.samples = self.scores = self.without = self.failed = 0
        self.epochs = 1
        self.ids: set[str] = set()

    def write(self, path: Path, single: bool) -> ExportedLog | None:
        place = path if single else path / self._file_name()
        measures = measure_figures(self.connection, self.plan, self.run, self.model)
        with (
            appearing(place) as new,
            tempfile.TemporaryFile() as summaries,
            zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            self._write_samples(archive, summaries)
            figures = [*measures, *self.means.figures(self.plan)]
            header = self._header(figures)
            start = {name: header[name] for name in ("version", "eval", "plan")}
            _put(archive, "_journal/start.json", _json(start))
            summaries.seek(0)
            info = zipfile.ZipInfo("summaries.json", EPOCH_OF_ZIP)
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
        told = self.run.message or self.run.status
        ended = self.run.finished_at
        error = {"error": {"message": told, "traceback": "", "traceback_ansi": ""}} if status == "error" else {}
        results = {
            "total_samples": self.samples,
            "completed_samples": self.samples - self.failed,
            "scores": [_score(each) for each in figures],
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
        data = {each.dataset for scenario in self.plan.scenarios if (each := scenario.rows) is not None}
        # Inspect takes the product of both for the samples that a log is to have.
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
        found: dict[str, dict[str, Any]] = {}
        for scenario in self.plan.scenarios:
            for step in scenario.steps:
                if isinstance(step, Ask) and step.role == self.run.compared_role:
                    name = f"{scenario.name}.{step.name}"
                    found[name] = {"solver": name, "params": {"samples": step.samples, **step.settings.given}}
        return list(found.values())


def _score(figure: ExportedFigure) -> dict[str, Any]:
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
    """Return a time in UTC in the form of ISO 8601.

    >>> moment(datetime(2026, 1, 2, 3, 4, 5))
    '2026-01-02T03:04:05+00:00'
    """
    return of.replace(tzinfo=UTC).isoformat()


def _put(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, EPOCH_OF_ZIP)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content)


def _json(value: Mapping[str, Any]) -> bytes:
    """Return JSON in which a number that is none is `NaN`, as Inspect writes scores without a value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode()
