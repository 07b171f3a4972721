"""The cases by which the proof of secrecy is judged, tried in pairs of worlds, which know nothing of the proof."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiling import plan_of, read
from stand_in_releases import StandInReleases
from test_secret_cases import HONEST, LEAKS, case_name

from tests.lengths import sized
from tripos_compiler.compile import compile_spec
from tripos_runtime.datasets.data_folders import DataFolders
from tripos_runtime.worlds.trial import WorldTrial, try_worlds


def of_case(path: Path, pairs: int) -> WorldTrial:
    compilation = compile_spec(path.as_posix(), read, DataFolders(), releases=StandInReleases(), secrecy=False)
    files = tuple(source.path for source in compilation.sources)
    return try_worlds(plan_of(compilation), DataFolders(), files, pairs)


@pytest.mark.parametrize(
    "path",
    [path if number % 36 == 0 else pytest.param(path, marks=pytest.mark.long) for number, path in enumerate(HONEST)],
    ids=case_name,
)
def test_an_honest_spec_tells_no_secret_in_any_world(path: Path) -> None:
    trial = of_case(path, 4)
    assert trial.leaks == [], [(leak.difference.unit, leak.difference.part, leak.alone) for leak in trial.leaks]


def test_leaks_are_seen_in_worlds() -> None:
    """A few of every class; of shots and retrieval from the rows that are asked, trials see no secret of the item."""
    some = LEAKS[:: sized(60, 15)]
    assert sum(bool(of_case(path, 4).leaks) for path in some) >= 0.8 * len(some)


@pytest.mark.long
def test_most_leaks_are_seen_in_worlds() -> None:
    assert sum(bool(of_case(path, 4).leaks) for path in LEAKS) >= 330
