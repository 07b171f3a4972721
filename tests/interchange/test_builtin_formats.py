"""The built-in importers and exporters pass the checks that Tripos offers for those of plug-ins."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.interchange.test_telemetry_export import Receiver
from tripos.exporting import Exporter
from tripos.exporting.exporters import EXPORTERS
from tripos.importing.logs.log import Importer, Log, LoggedItem, LoggedSample, LoggedScore, LogHeader
from tripos.importing.logs.opening import IMPORTERS
from tripos.source_files import SourceFile
from tripos.testing import check_exporter, check_importer

LOGS = Path(__file__).parents[1] / "data" / "logs"
OPTIONS = {
    "distillation": ("--by", "clear"),
    "preferences": ("--by", "clear"),
    "hub": ("--dataset", "lab/exported"),
}
FILES = {"distillation": "chats.jsonl", "preferences": "pairs.jsonl", "xlsx": "tables.xlsx"}


@pytest.mark.parametrize("name", IMPORTERS)
def test_a_builtin_importer_passes(name: str, tmp_path: Path) -> None:
    importer = IMPORTERS.get(name)
    assert importer is not None
    folder = LOGS / name
    if not folder.is_dir():  # no log is kept of this tool, but there is an exporter
        folder = tmp_path
        exporter = EXPORTERS.get("eee")
        assert exporter is not None
        check_exporter(exporter, folder, "--secrets")
    assert {log.header.tool for log in check_importer(importer, folder)} == {name}


@pytest.mark.parametrize("name", EXPORTERS)
def test_a_builtin_exporter_passes(name: str, tmp_path: Path) -> None:
    exporter = EXPORTERS.get(name)
    assert exporter is not None
    receiver = Receiver()
    with receiver.open() as address:
        more = OPTIONS.get(name, ()) if name != "otel" else ("--to", address)
        written = check_exporter(exporter, tmp_path / FILES.get(name, "out"), *more)
    assert written.summary and (receiver.spans if name == "otel" else [*tmp_path.iterdir()])


def header(identity: str = "x:1") -> LogHeader:
    return LogHeader("x", "quiz", identity, {})


def sample(score: float | None = 1.0, **columns: object) -> LoggedSample:
    scores = [LoggedScore("right", "x/right", score)]
    return LoggedSample("line 1", "quiz", "a/b", LoggedItem("1", "?"), None, {"reply": "yes", **columns}, scores)


def importer_of(*logs: LogHeader, samples: list[LoggedSample]) -> Importer:
    def read(file: SourceFile, _: object) -> list[Log]:
        return [Log(str(file.path), each, lambda skipped: iter(samples)) for each in logs]

    return Importer("x", read, has_value=lambda value: "quiz" in value)


WRONG = {
    "the importer accepts no file": importer_of(samples=[]),
    "two logs have the same identity": importer_of(header(), header(), samples=[sample()]),
    "tool, name or identity is empty": importer_of(header(""), samples=[sample()]),
    "no reply, and no error": importer_of(header(), samples=[sample(reply=None)]),
    "`samples` has no column colour": importer_of(header(), samples=[sample(colour="red")]),
    "is not a float": importer_of(header(), samples=[sample("1")]),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_importer_is_named(message: str, tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text('{"quiz": 1}', "utf-8")
    with pytest.raises(AssertionError, match=re.escape(message)):
        check_importer(WRONG[message], tmp_path / "log.json")


def test_an_exporter_that_writes_secrets_is_named(tmp_path: Path) -> None:
    real = EXPORTERS.get("csv")
    assert real is not None
    told = real.write

    def write(run: object, options: object) -> object:
        options.secrets = True  # type: ignore[attr-defined]
        return told(run, options)  # type: ignore[arg-type]

    leaking = Exporter("x", write, real.options)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match=r"a secret is in items\.csv"):
        check_exporter(leaking, tmp_path / "out")
