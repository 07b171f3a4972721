"""Checks for the tests of plug-ins: what Tripos expects of an importer and of an exporter.

The tests of the built-in ones call the same functions. They raise `AssertionError`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tripos.api.spec import compile as compile_spec
from tripos.cli.parser import build_parser
from tripos.exporting import Exporter, OpenRun, Written
from tripos.importing.logs.log import Importer, Log, LoggedSample, Skipped
from tripos.importing.logs.opening import first_value
from tripos.settings.options import ExportParameters
from tripos.source_files import SourceFile, SourceFolder
from tripos_warehouse.store.schemas import SAMPLES
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import get_selected

CANARY = "the-secret-answer-41976"
SPEC = """\
benchmark exported "1.0.0" {
  languages en
}
role candidate compared
role judge
dataset item from "items.jsonl" {
  question text
  answer   text secret
}
scorer rubric(task: text, response: text) by judge {
  prompt "Task: {{ task }} Reply: {{ response }}"
  gives 1..10
}
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = reply.text == item.answer
  score clear = rubric(task: item.question, response: reply.text)
}
measure right = mean(right)
measure clear = mean(clear)
"""


def check_importer(importer: Importer, path: Path) -> list[Log]:
    """Check an importer of logs with a file, or with a folder of files, and return the logs.

    It must accept the file, read it twice in the same way, name the tool, the model and the item of each sample, give
    every score a value or the reason why it has none, and report only figures of tasks that have samples.
    """
    files = _log_files(importer, path)
    logs = [log for file in files for log in _read(importer, file)]
    assert logs, f"the importer accepts no file of {path}"
    again = [log for file in files for log in _read(importer, file)]
    assert [log.header for log in logs] == [log.header for log in again], "the header differs if the log is read again"
    assert len({log.header.identity for log in logs}) == len(logs), "two logs have the same identity"
    for log, repeated in zip(logs, again, strict=True):
        samples = list(log.samples(Skipped()))
        assert samples == list(repeated.samples(Skipped())), f"{log.shown}: the samples differ if they are read again"
        _check_log(log, samples)
    return logs


def _log_files(importer: Importer, path: Path) -> list[SourceFile]:
    folder = SourceFolder.around(path)
    if not path.is_dir():
        return [folder.file(path)]
    return [file for file in folder.files("**/*") if file.path.suffix in importer.suffixes]


def _read(importer: Importer, file: SourceFile) -> list[Log]:
    if importer.has_name(file):
        return importer.read(file, None)
    value = first_value(file)
    return importer.read(file, value) if importer.has_value(value) else []


def _check_log(log: Log, samples: Sequence[LoggedSample]) -> None:
    header = log.header
    assert header.tool and header.name and header.identity, f"{log.shown}: tool, name or identity is empty"
    json.dumps(dict(header.about))
    tasks = {sample.task for sample in samples}
    for sample in samples:
        where = f"{log.shown}, {sample.place}"
        assert sample.task and sample.model and sample.item.item, f"{where}: task, model or item is empty"
        unknown = sample.columns.keys() - {*SAMPLES.schema.names, "refused"}
        assert not unknown, f"{where}: `samples` has no column {', '.join(sorted(unknown))}"
        reply, error = sample.columns.get("reply"), sample.columns.get("error")
        assert sample.further or reply is not None or error, f"{where}: there is no reply, and no error says why"
        for score in sample.scores:
            assert score.name and score.rater, f"{where}: a score has no name or no rater"
            assert score.value is None or isinstance(score.value, float), f"{where}: `{score.name}` is not a float"
    for figure in header.figures:
        assert not samples or figure.task in tasks, f"{log.shown}: `{figure.name}` is a figure of an unknown task"


def check_exporter(exporter: Exporter, folder: Path, *options: str) -> Written:
    """Check an exporter with a small run that has a secret field, and return what it says. `folder` is for its files,
    and `options` are further words of `tripos export`.

    It must write files of the same names twice, give a summary as JSON and lines for people, and write no secret unless
    the options ask for it.
    """
    with tempfile.TemporaryDirectory() as place:
        store = _sample_store(Path(place))
        connection, record = connect_run(store)
        with connection:
            run = OpenRun(store, connection, get_selected(connection, record), record)
            written = _export(exporter, run, folder, options)
            first = _contents(folder)
            _export(exporter, run, folder, options)
        assert first.keys() == _contents(folder).keys(), "the names of the files differ if they are written again"
        json.dumps(dict(written.summary), default=str)
        assert written.lines, "there is no line for people"
        if ExportParameters.secrets.flag not in options:
            leaks = [name for name, content in first.items() if CANARY.encode() in content]
            assert not leaks, f"a secret is in {', '.join(leaks)} without {ExportParameters.secrets}"
    return written


def _export(exporter: Exporter, run: OpenRun, folder: Path, options: Sequence[str]) -> Written:
    output = [ExportParameters.output.flag, str(folder)] if ExportParameters.output in exporter.options else []
    parsed = build_parser("export").parse_args(["export", "checked", *output, *options])
    return exporter.write(run, parsed)


def _contents(folder: Path) -> dict[str, bytes]:
    files = folder.rglob("*") if folder.is_dir() else [folder]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files if path.is_file()}


def _sample_store(folder: Path) -> Store:
    """Run a small benchmark with mock models, and return its store."""
    (folder / "exported.tripos").write_text(SPEC, "utf-8")
    rows = [{"question": f"{number} + {number}", "answer": f"{CANARY} {number}"} for number in range(3)]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    models = ("mock/careful", "mock/careless")
    compile_spec(folder / "exported.tripos").run(models, roles={"judge": "mock/fair"}, store=folder / "results")
    return Store.open(folder / "results", create=False)
