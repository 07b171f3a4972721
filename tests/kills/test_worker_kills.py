"""A run of several workers, of which any may be killed at any time, and the run itself too: nothing is asked twice."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.kills.accounts import settle
from tests.kills.contents import contents, differences, doubles
from tests.kills.counting_server import Asked
from tests.kills.lives import LONGEST_S, Life
from tests.kills.proof import Peace, Scene, peace, scene
from tests.lengths import sized

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs SIGKILL and /proc")
WORKERS = 3
KILLS = sized(3, 40)
OFTEN_THE_RUN = 0.25
"""So often the run itself is killed, and not one of its workers."""
OFTEN_STILL, STILL_S = 0.3, 0.6
"""So often a worker stands still before it is killed, and for so long, as one does that gets no processor: the replies
that arrive meanwhile are paid, and nobody has read them."""


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Scene, Peace]]:
    """A server and a starter, and what a run of one process in peace asks and leaves."""
    with scene(tmp_path_factory.mktemp("workers")) as made:
        larger = replace(made, work=replace(made.work, rows=24))
        larger.work.write()
        yield larger, peace(larger)


def children(pid: int) -> list[int]:
    """Return the workers of a run."""
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def kill_one(rng: random.Random, life: Life) -> bool:
    """Kill the run or one of its workers; whether it was the run."""
    workers = children(life.pid)
    if not workers or rng.random() < OFTEN_THE_RUN:
        life.kill()
        return True
    worker = rng.choice(workers)
    if rng.random() < OFTEN_STILL:
        os.kill(worker, signal.SIGSTOP)
        time.sleep(STILL_S)
    os.kill(worker, signal.SIGKILL)
    return False


def accounted(scene: Scene, name: str) -> tuple[list[Asked], dict[str, float | None]]:
    """Return the requests of a store, each under its connection, and when every connection was closed: at the latest
    when its process was killed."""
    asked = [replace(each, place=f"/{name}/{each.connection}") for each in scene.server.of(name)]
    return asked, {str(each.connection): scene.server.closed_s.get(each.connection) for each in asked}


def test_workers_leave_what_one_process_leaves_and_ask_it_once(ready: tuple[Scene, Peace]) -> None:
    made, expected = ready
    store, work = made.store("calm"), replace(made.work, workers=2)
    life = made.starters[0].start("calm", made.server, work, store)
    assert life.end() == 0, life.told()
    assert not differences(contents(store), expected.contents)
    assert sum(each.replies for each in made.server.of("calm") if each.status == 200) == expected.wanted.total()


def test_kills_of_workers_and_of_their_run_cost_no_reply_and_change_no_table(ready: tuple[Scene, Peace]) -> None:
    made, expected = ready
    whole, complaints, kills = expected.wanted.total(), [], 0
    for seed in range(sized(1, 10)):
        rng, name = random.Random(seed), f"kills{seed}"
        store, work = made.store(name), replace(made.work, workers=WORKERS, connections=6)
        made.server.latency_s = rng.choice((0.1, 0.4))
        life = made.starters[0].start("life0", made.server, work, store)
        left, lives = -(-KILLS // sized(1, 10)), 1
        while left:
            count = made.server.answered[name] + rng.randint(1, max(1, (whole - made.server.answered[name]) // left))
            latest_s = time.monotonic() + LONGEST_S
            while made.server.answered[name] < count and not life.wait(0.004):
                assert time.monotonic() < latest_s, f"the run hangs:\n{life.told()}"
            if life.code is not None:
                break
            left, kills = left - 1, kills + 1
            if kill_one(rng, life):
                life = made.starters[0].start(f"life{lives}", made.server, work, store)
                lives += 1
        assert life.end() == 0, life.told()
        account = settle(*accounted(made, name), expected.wanted)
        # Of a reply that was kept and asked for again, the parts would have two rows.
        told = (*account.complaints, *differences(contents(store), expected.contents), *doubles(store))
        complaints += [f"{name}: {each}" for each in told]
    assert not complaints, "\n".join(complaints[:10])
    assert kills >= sized(2, 20)
