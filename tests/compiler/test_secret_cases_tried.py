"""The cases by which the proof of secrecy is judged, tried in pairs of worlds, which know nothing of the proof."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiling import plan_of, read
from stand_in_releases import StandInReleases
from test_secret_cases import HONEST, LEAKS, case_name

from tests.each import each
from tests.lengths import sized, spread
from tripos_compiler.compile import compile_spec
from tripos_runtime.datasets.data_files import DataFolders
from tripos_runtime.secrecy_trial.trial import WorldTrial, run_trial


def of_case(path: Path, pairs: int) -> WorldTrial:
    compilation = compile_spec(path.as_posix(), read, DataFolders(), releases=StandInReleases(), secrecy=False)
    files = tuple(source.path for source in compilation.sources)
    return run_trial(plan_of(compilation), DataFolders(), files, pairs)


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


NAMED = ("file_layouts", "joins_on_secrets", "narrow_doors")
NOT_SEEN = {
    "rows_of_one_file_in_another_format",  # a trial moves rows between files, and not out of copies of files
    "all_files_in_another_format",
    "file_that_is_named_by_an_answer",  # nor between files that are named by a secret which no braces capture
    "files_that_are_named_by_answers",
    "files_that_say_the_kind",
    "one_file_that_says_the_kind",
    "joined_file_that_is_named_by_an_answer",
    "key_that_says_the_answer",  # a column that no field reads stays as it is
    "files_with_joins_that_are_named_alike",  # a row of another file finds no row in the file of that name
    "shots_with_tips",  # of the row itself nothing is shown
}


@each("path", spread([path for path in LEAKS if path.parent.name in NAMED and path.stem not in NOT_SEEN], 6))
def test_a_leak_by_a_layout_a_join_or_a_narrow_door_is_seen_in_worlds(path: Path) -> None:
    assert of_case(path, 4).leaks


@pytest.mark.long
def test_most_leaks_are_seen_in_worlds() -> None:
    assert sum(bool(of_case(path, 4).leaks) for path in LEAKS) >= 330
