"""Ctrl-C: once finishes what is under way, twice stops at once, and the same command goes on with the rest."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import pytest

from tests.kills.counting_server import CountingServer
from tests.kills.lives import LONGEST_S, Life
from tests.kills.proof import Peace, Scene, Tally, hold, peace, scene

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and signals")
INTERRUPTED = 130
FINISHING = "finishing the calls under way"


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Scene, Peace]]:
    """A server and a starter, and what a run in peace asks and leaves."""
    with scene(tmp_path_factory.mktemp("interrupts")) as made:
        yield made, peace(made)


def begun(ready: Scene, store: str) -> Life:
    """Return a process some of whose calls were answered, and others are under way for as long as the server holds
    them."""
    server = ready.server
    life = ready.starters[0].start("interrupted", server, ready.work, ready.store(store))
    assert server.wait_for(lambda: server.answered[store] >= 10, LONGEST_S), life.told()
    server.hold()
    assert server.wait_for(lambda: under_way(server, store) > 1, LONGEST_S), life.told()
    return life


def under_way(server: CountingServer, store: str) -> int:
    """Return how many requests wait for a reply."""
    return sum(each.handed_s is None for each in server.of(store))


def interrupt(life: Life) -> None:
    """Presses Ctrl-C, and waits until the process has said that it heard."""
    life.interrupt()
    latest_s = time.monotonic() + LONGEST_S
    while FINISHING not in life.told():
        assert not life.wait(0.01), life.told()
        assert time.monotonic() < latest_s, life.told()


def finish(ready: Scene, peace: Peace, store: str, life: Life) -> Tally:
    """Run the rest, and hold everything to the run in peace."""
    tally = Tally()
    last = ready.starters[0].start("last", ready.server, ready.work, ready.store(store))
    assert last.end() == 0, last.told()
    hold(ready, peace, ready.store(store), [life, last], tally)
    return tally


def test_ctrl_c_finishes_what_is_under_way_and_the_same_command_asks_the_rest(ready: tuple[Scene, Peace]) -> None:
    made, expected = ready
    life = begun(made, "once")
    interrupt(life)
    made.server.let_go()
    assert life.end() == INTERRUPTED, life.told()
    asked = made.server.of("once")
    assert all(each.handed_s is not None for each in asked)
    assert len(asked) < expected.wanted.total()
    tally = finish(made, expected, "once", life)
    assert not tally.complaints, "\n".join(tally.complaints)
    assert tally.again == 0


@pytest.mark.long
def test_ctrl_c_twice_stops_at_once_and_the_same_command_asks_the_rest(ready: tuple[Scene, Peace]) -> None:
    made, expected = ready
    life = begun(made, "twice")
    interrupt(life)
    life.stopped_s = time.monotonic()
    life.interrupt()
    assert life.end() == INTERRUPTED, life.told()  # while the server still holds its replies
    cut_off = sum(each.replies for each in made.server.of("twice") if each.handed_s is None and each.status == 200)
    made.server.let_go()
    tally = finish(made, expected, "twice", life)
    assert not tally.complaints, "\n".join(tally.complaints)
    assert tally.again == cut_off
