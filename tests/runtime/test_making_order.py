"""Rows that are made follow from the replies and from which slots a run has: not from the order in which replies come,
and not from what was made before."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.lengths import sized
from tests.runtime.small_runs import SmallRun
from tests.runtime.test_making import hash_of, item, make, written
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.models.base import Request

TEXTS = [
    f"{who} has {many} apples in a basket and gives some of them to a friend: how many of them are left?"
    for who in ("Ada", "Ben")
    for many in ("two", "nine")
] + ["Which planet is nearest to the sun?", "What is half of nine?", "Name three prime numbers."]
"""Of these the first four are near-duplicates."""


def draw(request: Request) -> random.Random:
    """Return chances that follow from what is asked."""
    return random.Random(hash_of(request))


def careless(request: Request) -> str:
    """Return an author who repeats itself often, and now and then writes what cannot be read."""
    chance = draw(request)
    return "nothing" if chance.random() < 0.1 else item(chance.choice(TEXTS))


def strict(request: Request) -> str:
    return '{"right": %s}' % ("true" if draw(request).random() < 0.8 else "false")


SPEC = written(
    count=6,
    retries=3,
    more="unique item.question\n"
    'verify by checker { prompt "{{ item.question }}", returns { right bool }, require right }',
)


def selections(chance: random.Random) -> Selection:
    only = {"level": (chance.choice(("easy", "hard")),)} if chance.random() < 0.3 else {}
    limit = chance.randint(1, 9) if chance.random() < 0.7 else None
    return Selection(limit=limit, seed=chance.randint(0, 99) if limit and chance.random() < 0.6 else None, only=only)


def became(run: SmallRun, run_id: str) -> dict[str, Any]:
    """Return what became of the slots of a run, and the items that its models were asked about."""
    listed = {row["made_id"] for row in run.table("run_slots") if row["run_id"] == run_id}
    keys = ("item_id", "attempts", "rejections", "status", "context", "number")
    return {
        "slots": {row["slot_id"]: [row[key] for key in keys] for row in run.table("slots") if row["slot_id"] in listed},
        "items": {row["item_id"] for row in run.table("run_items") if row["run_id"] == run_id},
    }


@pytest.mark.parametrize("seed", range(sized(2, 150)))
def test_rows_are_the_same_after_any_runs_and_in_any_order_of_replies(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    before = None
    for number in range(chance.randint(1, 4)):
        selection = selections(chance)
        waits = chance.choice((0, 3, 20))

        def delay(request: Request, waits: int = waits) -> int:
            return chance.randint(0, waits)

        fresh = make(tmp_path / "fresh", SPEC, careless, strict, selection=selection)
        before = make(
            tmp_path / "store", SPEC, careless, strict,
            before=before, selection=selection, delay=delay, run_id=str(number)
        )  # fmt: skip
        assert became(before, str(number)) == became(fresh, "run")


def test_a_larger_run_has_the_rows_of_a_smaller_one(tmp_path: Path) -> None:
    runs = [make(tmp_path, SPEC, careless, strict, selection=Selection(limit=each)) for each in (3, 5)]
    found = [became(run, "run")["slots"] for run in runs]
    assert found[0].items() <= found[1].items()
