"""Many kills: several workers at once, each with a server and stores of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.kills.proof import Tally, disturbed, peace, scene


def prove(
    folder: Path, kills: int, seed: int, workers: int, say: Callable[[Tally], None] = lambda tally: None
) -> Tally:
    """Kills runs so many times in all. Every run is held to one that was left in peace; `say` hears of each."""
    whole, lock = Tally(), threading.Lock()
    left, number = kills, 0

    def take(most: int) -> tuple[int, str]:
        """The next store, and how many kills it may have."""
        nonlocal left, number
        with lock:
            number += 1
            share = min(most, left)
            left -= share
            return share, f"store{number}"

    def work(worker: int) -> None:
        nonlocal left
        with scene(folder / f"worker{worker}") as ready:
            expected = peace(ready)
            while True:
                share, name = take(12)
                if not share:
                    return
                tally = disturbed(ready, expected, name, seed, share)
                with lock:
                    left += share - tally.kills
                    whole.add(tally)
                    say(whole)

    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(work, worker) for worker in range(workers)]:
            done.result()
    return whole
