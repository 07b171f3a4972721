"""Programs are driven alike by drivers that wait and by those that answer at once; statuses are looked up in one way."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from random import Random
from typing import Any

from hypothesis import given, strategies as st

from tests.runtime.in_memory import MemoryLedger
from tripos_compiler.plan.outcomes import RETRIED_NEXT_RUN
from tripos_runtime.asking.ledger import KEY_COLUMNS, kept_statuses
from tripos_runtime.program.running import drive, drive_now

TREES = st.recursive(st.integers(0, 9), lambda inner: st.lists(inner, max_size=4), max_leaves=12)
"""A program: a number is a need, a list holds programs that run side by side."""


def program(tree: Any, out: list[str]) -> Generator[Any, Any, Any]:
    """Emit an event before and after everything, and return the answers in the form of the tree."""
    out.append(f"begin {tree}")
    found = yield [program(each, out) for each in tree] if isinstance(tree, list) else tree
    out.append(f"end {tree}")
    return found


@given(TREES, st.randoms(use_true_random=False))
def test_a_program_has_the_same_result_and_events_however_it_is_driven(tree: Any, dice: Random) -> None:
    async def slow(need: int) -> int:
        for _ in range(dice.randrange(3)):
            await asyncio.sleep(0)
        return need + 1

    taken: tuple[list[str], list[str]] = ([], [])
    results = []
    for events, at_once in zip(taken, (True, False), strict=True):
        out: list[str] = []

        def take(out: list[str] = out, events: list[str] = events) -> None:
            events += out
            out.clear()

        one = program(tree, out)
        results.append(drive_now(one, lambda need: need + 1, take) if at_once else asyncio.run(drive(one, slow, take)))
    assert results[0] == results[1]
    assert sorted(taken[0]) == sorted(taken[1]) and taken[0][-1] == taken[1][-1] == f"end {tree}"


TABLES = st.sampled_from([table for table in KEY_COLUMNS if table not in ("drafts", "conditions", "vectors", "slots")])
STATUSES = st.sampled_from(("ok", "provider_error", "function_error", "refused", "parse_failure"))


@given(st.dictionaries(st.tuples(TABLES, st.text("abc", min_size=1, max_size=2)), STATUSES), st.booleans())
def test_the_statuses_of_kept_results_are_those_of_the_ledger(kept: dict[tuple[str, str], str], final: bool) -> None:
    ledger = MemoryLedger()
    for (table, name), status in kept.items():
        ledger.keep({table: [{KEY_COLUMNS[table]: f"{table} {name}", "status": status}]})
    wanted = {table: [f"{table} {one}{other}" for one in "abc" for other in ("", *"ab")] * 2 for table, _ in kept}
    expected = {
        f"{table} {name}": status
        for (table, name), status in kept.items()
        if f"{table} {name}" in wanted[table] and not (final and status in RETRIED_NEXT_RUN)
    }
    assert kept_statuses(ledger, wanted, final=final) == expected
