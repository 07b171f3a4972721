"""What is asked after an edit is what a fresh store would send and this one has not been sent, no more and no less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lengths import sized
from tests.reuse.counting import Bench, Ran, difference, results
from tests.reuse.edits import EDITS
from tests.reuse.quiz import MODELS, ROLES, files

NAMES = tuple(EDITS)
SAMPLED = NAMES[:: sized(39, 8)]
"""All are tried by `tests/bench/reuse.py`."""
NAMED = ("step", "scorer")
"""What a result was called when it was made: its name does not hold it."""


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A store in which the benchmark was run once."""
    return ran(tmp_path_factory.mktemp("reuse") / "first", files())[0]


def ran(folder: Path, spec: Mapping[str, str], most_samples: int = 1) -> tuple[Bench, Ran]:
    """Return a run in a store of its own."""
    folder.mkdir()
    bench = Bench(folder, MODELS, ROLES, most_samples)
    bench.write(spec)
    return bench, bench.run()


def check(bench: Bench, before: Counter[str], edited: Ran, fresh: tuple[Bench, Ran]) -> None:
    """Hold a run after an edit to what a fresh store did."""
    other, wanted = fresh
    assert difference(before, edited, wanted) == (0, 0)
    foreseen = edited.foreseen
    assert foreseen.certain <= edited.asked <= foreseen.certain + foreseen.perhaps
    there = results(bench)
    for name, row in results(other).items():
        assert plain(there[name]) == plain(row), name


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result without what its step was called."""
    return {name: value for name, value in row.items() if name not in NAMED}


@pytest.mark.parametrize("name", SAMPLED)
def test_after_an_edit_what_was_never_sent_is_asked_and_nothing_else(first: Bench, name: str, tmp_path: Path) -> None:
    changed = EDITS[name](files())
    bench = first.copy(tmp_path / "edited")
    bench.write(changed)
    before = bench.past.copy()
    check(bench, before, bench.run(), ran(tmp_path / "fresh", changed))
