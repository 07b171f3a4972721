"""Many kills: several workers at once, each with a server and stores of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from tests.kills.proof import Peace, Scene, Tally, disturbed, peace, scene, warm

MOST = 12
"""So often is one run killed at most."""


def prove(
    folder: Path, kills: int, seed: int, workers: int, say: Callable[[Tally], None] = lambda tally: None
) -> Tally:
    """Kill runs so many times in all. Every run is held to one that was left in peace; `say` hears of each."""
    whole, lock = Tally(), threading.Lock()
    left, number = kills, 0

    def take(most: int) -> tuple[int, str]:
        """Return the next store, and how many kills it may have."""
        nonlocal left, number
        with lock:
            number += 1
            share = min(most, left)
            left -= share
            return share, f"store{number}"

    def work(ready: Scene, expected: Peace) -> None:
        nonlocal left
        while True:
            share, name = take(MOST)
            if not share:
                return
            tally = disturbed(ready, expected, name, seed, share)
            with lock:
                left += share - tally.kills
                whole.add(tally)
                say(whole)

    with ExitStack() as stack, ThreadPoolExecutor(workers) as pool:
        first, *others = (stack.enter_context(scene(folder / f"worker{worker}")) for worker in range(workers))
        warming = [pool.submit(warm, other) for other in others]
        expected = peace(first)
        for done in warming:
            done.result()
        for done in [pool.submit(work, ready, expected) for ready in (first, *others)]:
            done.result()
    return whole
