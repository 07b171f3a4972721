"""Edits that change the meaning of a measure break its line and say why; edits that cannot touch it leave it whole."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.over_time.edits import HARMLESS, MEANINGFUL, ROLES, Edit, write
from tripos.cli.main import run_command
from tripos_compiler.errors import ExitCode
from tripos_warehouse.report.history import history_of
from tripos_warehouse.store.store import Store

MODEL = "mock/careful"


def run(folder: Path, store: Path, edit: Edit) -> None:
    """Run the benchmark of a folder."""
    roles = ROLES | dict(edit.roles)
    given = [part for role, model in roles.items() for part in ("--role", f"{role}={model}")]
    model = [] if "--model" in edit.options else ["--model", MODEL]
    code = run_command(["run", str(folder), *model, *given, *edit.options, "--json", "--store", str(store)])
    assert code in (ExitCode.SUCCESS, ExitCode.EXPECTATION_FAILED), edit.name


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the benchmark, and a store in which it ran once."""
    folder = tmp_path_factory.mktemp("before")
    write(folder / "spec")
    run(folder / "spec", folder / "store", Edit("none", ()))
    return folder


def lines_after(edit: Edit, before: Path, to: Path) -> dict[str, list[Any]]:
    """Return the lines of the measures that an edit names, once the edited benchmark ran."""
    shutil.copytree(before, to, dirs_exist_ok=True)
    edit.act(to / "spec")
    run(to / "spec", to / "store", edit)
    found = {}
    for measure in edit.measures:
        every = history_of(Store.open(to / "store", create=False), measure).lines
        found[measure] = [line for line in every if line.model == MODEL]
        assert any(len(line.points) == 2 for line in found[measure]) or edit.name in SHORT, measure
    return found


SHORT = ("one level only", "group of a value", "dimension of a metric")
"""The edits that may leave a cell with one value alone."""


@pytest.mark.parametrize("edit", MEANINGFUL, ids=[each.name for each in MEANINGFUL])
def test_a_change_of_meaning_breaks_the_line(
    edit: Edit, before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for measure, lines in lines_after(edit, before, tmp_path).items():
        for line in lines:
            assert line.breaks == len(line.points) - 1, (edit.name, measure, line.by)
        told = [cause.text for line in lines for point in line.points for cause in point.causes]
        assert told, (edit.name, measure)
        assert all("otherwise" not in each for each in told), told
        assert any(edit.said in each for each in told), (edit.said, told)


@pytest.mark.parametrize("edit", HARMLESS, ids=[each.name for each in HARMLESS])
def test_a_change_that_cannot_touch_a_score_leaves_the_line_whole(
    edit: Edit, before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for measure, lines in lines_after(edit, before, tmp_path).items():
        for line in lines:
            told = [cause.text for point in line.points for cause in point.causes]
            assert (told, {point.segment for point in line.points}) == ([], {1}), (edit.name, measure, line.by)
