"""Exact reuse at length: every edit, alone and one after another, in stores that were used before.

    python tests/bench/reuse.py [--chains 20] [--seed 1] [NAME …]

Every edit of `tests/reuse/edits.py` is made in a copy of a store in which the benchmark was run, with models that give
one reply to a request and with models that give several; then random edits one after the other in one store. Each time
what is sent must be what a fresh store sends and this one had not been sent, the forecast must say so before, and every
result must be the one of the fresh store. Exit code 1 where anything differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.reuse.counting import Bench, difference
from tests.reuse.edits import EDITS
from tests.reuse.quiz import files
from tests.reuse.test_reuse import check, ran


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="words of the edits that are tried; all without")
    parser.add_argument("--chains", type=int, default=20)
    parser.add_argument("--length", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wrong, tried, started_s = 0, 0, time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for most in (1, 4):
            first, _ = ran(folder / f"first{most}", files(), most)
            for edit in EDITS:
                if not options.names or any(word in edit for word in options.names):
                    place = folder / f"{most}-{tried}"
                    place.mkdir()
                    wrong += not one(place, first.copy(place / "edited"), (edit,), most)
                    tried += 1
        for number in range(options.chains):
            random = Random(f"{options.seed}:{number}")
            place = folder / f"chain{number}"
            place.mkdir()
            bench, _ = ran(place / "edited", files())
            edits: tuple[str, ...] = ()
            for step in range(options.length):
                edits = drawn(random, edits)
                (place / str(step)).mkdir()
                wrong += not one(place / str(step), bench, edits, 1)
                tried += 1
    print(f"{tried} edits, {wrong} wrong, {time.monotonic() - started_s:.0f} s")
    return 1 if wrong else 0


def drawn(random: Random, before: tuple[str, ...]) -> tuple[str, ...]:
    """Return the edits that a spec has next: one more, or one less."""
    if before and random.random() < 0.3:
        gone = random.choice(before)
        return tuple(each for each in before if each != gone)
    for _ in range(50):
        more = (*before, random.choice(list(EDITS)))
        if compiles(more):
            return more
    return before


def compiles(edits: tuple[str, ...]) -> bool:
    """Return true if edits can be made one after the other, to a spec that is one."""
    try:
        with tempfile.TemporaryDirectory() as name:
            bench = Bench(Path(name), (), {})
            bench.write(edited(edits))
            bench.compiled()
    except AssertionError:
        return False
    return True


def edited(edits: tuple[str, ...]) -> dict[str, str]:
    """Return the files after some edits."""
    changed = files()
    for each in edits:
        changed = EDITS[each](changed)
    return changed


def one(folder: Path, bench: Bench, edits: tuple[str, ...], most: int) -> bool:
    """Return true if a run after these edits is as it should be."""
    changed = edited(edits)
    bench.write(changed)
    before = bench.past.copy()
    done = bench.run()
    fresh = ran(folder / "fresh", changed, most)
    try:
        check(bench, before, done, fresh)
    except AssertionError as error:
        more, less = difference(before, done, fresh[1])
        foreseen = f"{done.foreseen.certain}+{done.foreseen.perhaps}"
        print(f"{', '.join(edits)}: {more} too many, {less} too few, {done.asked} asked, {foreseen} foreseen")
        print("  " + str(error).splitlines()[0][:200] if str(error) else "")
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
