"""Nothing is paid twice: an edit asks for the requests that it changes, whatever kind of step sends them."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from tests.lengths import sized
from tests.reuse.counting import Bench, Ran, difference, results
from tests.reuse.drawn_specs import ROLES, DrawnEdit, DrawnSpec, drawn_edit, drawn_spec
from tests.reuse.test_reuse import plain

FIRST = int(os.environ.get("TESTS_FIRST_SEED") or 0)
SEEDS = range(FIRST, FIRST + sized(3, 120))
EDITS_OF_EACH = sized(2, 3)


def run(folder: Path, spec: DrawnSpec) -> tuple[Bench, Ran]:
    """Run a benchmark in a store of its own, by models that say the same to the same."""
    folder.mkdir()
    bench = Bench(folder, spec.models, ROLES, fixed=True)
    bench.write(spec.files)
    return bench, bench.run()


@pytest.mark.parametrize("seed", SEEDS)
def test_an_edit_asks_for_the_requests_that_it_changes(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    spec = drawn_spec(random)
    bench, _ = run(tmp_path / "edited", spec)
    for number in range(EDITS_OF_EACH):
        edit = drawn_edit(random, spec)
        bench.write(edit.spec.files)
        before = bench.past.copy()
        edited = bench.run()
        fresh, wanted = run(tmp_path / f"fresh{number}", edit.spec)
        assert difference(before, edited, wanted) == (0, 0), edit.name
        held_to_forecast(edited, edit)
        if edit.fields is not None and edit.fields.isdisjoint(spec.shown):
            assert not edited.sent, edit.name
        there = results(bench)
        for name, row in results(fresh).items():
            assert plain(there[name]) == plain(row), (edit.name, name)
        spec = edit.spec


def held_to_forecast(edited: Ran, edit: DrawnEdit) -> None:
    """Hold a run to what was foreseen of it."""
    least, most = edited.foreseen.certain, edited.foreseen.certain + edited.foreseen.perhaps
    assert least <= edited.asked <= most, edit.name
    for where, line in edited.foreseen.lines.items():
        assert line.certain <= line.most, (edit.name, where)
    if not edited.asked:
        assert most == 0, edit.name
