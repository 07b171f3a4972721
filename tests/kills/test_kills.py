"""A run that is killed at any instant and started again asks only what is left, and leaves the same tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kills.proof import Peace, Scene, disturbed, peace, scene, together
from tests.kills.proving import prove
from tests.kills.work import VERDICT_ROLES, VERDICTS
from tests.lengths import ALL, sized

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
KILLS = sized(2, 200)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Scene, Peace]]:
    """A server and three starters, or two where none needs a third, and what a run in peace asks and leaves."""
    with scene(tmp_path_factory.mktemp("kills"), starters=sized(2, 3)) as ready:
        yield ready, peace(ready)


def test_kills_at_any_instant_cost_no_reply_and_change_no_table(tmp_path: Path) -> None:
    tally = prove(tmp_path, kills=KILLS, seed=1, workers=sized(2, 3))
    assert not tally.complaints, "\n".join(tally.complaints[:10])
    assert tally.kills == KILLS
    instants = {"any time", "a reply", "the end"}
    assert set(tally.instants) == instants if ALL else set(tally.instants) <= instants  # a few kills may miss one


def test_two_processes_at_once_share_the_work_and_do_nothing_twice(three: tuple[Scene, Peace]) -> None:
    ready, expected = three
    two = Scene(ready.folder, ready.server, ready.starters[:2], ready.work)
    for seed in range(sized(1, 3)):
        tally = together(two, expected, f"two{seed}", seed, kills=0)
        assert not tally.complaints, "\n".join(tally.complaints[:10])
        assert tally.replies == expected.wanted.total()


@pytest.mark.long
def test_three_processes_of_which_any_is_killed_at_any_time_do_nothing_twice(three: tuple[Scene, Peace]) -> None:
    ready, expected = three
    for seed in range(3):
        tally = together(ready, expected, f"three{seed}", seed, kills=8)
        assert not tally.complaints, "\n".join(tally.complaints[:10])


def test_a_process_that_is_killed_as_often_as_it_starts_gets_on_all_the_same(three: tuple[Scene, Peace]) -> None:
    ready, expected = three
    tally = disturbed(ready, expected, "often", seed=7, most=sized(6, 12))
    assert not tally.complaints, "\n".join(tally.complaints[:10])


@pytest.mark.long
def test_judges_inside_expressions_are_asked_once_however_often_a_run_is_killed(tmp_path: Path) -> None:
    with scene(tmp_path, spec=VERDICTS, roles=VERDICT_ROLES) as ready:
        expected = peace(ready)
        assert len(expected.contents["judgements"]) == 2 * (8 + 2 * 2 * 8)
        for number in range(sized(1, 2)):
            tally = disturbed(ready, expected, f"verdicts{number}", seed=3, most=8)
            assert not tally.complaints, "\n".join(tally.complaints[:10])
