"""Subsets: how many are drawn of every stratum, how evenly, and that the seed decides."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tripos_compiler.plan import Subset
from tripos_runtime.subsets import Entry, draw


def entries(stages: int, subjects: int, each: int, scenarios: tuple[str, ...] = ("a", "b")) -> list[Entry]:
    """Items of every stage and subject in every scenario."""
    places = product(scenarios, range(stages), range(subjects), range(each))
    return [
        Entry(scenario, f"{stage}.{subject}.{n}", {"scenario": scenario, "stage": stage, "subject": subject})
        for scenario, stage, subject, n in places
    ]


def subset(take: int, seed: int = 7, spread: tuple[str, ...] = ("stage", "subject")) -> Subset:
    return Subset(name="some", take=take, per=("scenario",), spread=spread, seed=seed)


@given(st.integers(1, 30), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_every_stratum_has_as_many_as_are_taken_or_all(take: int, stages: int, subjects: int, each: int) -> None:
    drawn = draw(subset(take), entries(stages, subjects, each))
    assert {name: len(items) for name, items in drawn.items()} == dict.fromkeys(
        ("a", "b"), min(take, stages * subjects * each)
    )


@given(st.integers(1, 40), st.integers(0, 5))
def test_combinations_are_even_and_their_parts_nearly(take: int, seed: int) -> None:
    for items in draw(subset(take, seed), entries(4, 5, 10)).values():
        cells = Counter(item.rsplit(".", 1)[0] for item in items)
        counts = [cells[f"{stage}.{subject}"] for stage in range(4) for subject in range(5)]
        assert max(counts) - min(counts) <= 1
        for place, size in ((0, 4), (1, 5)):
            parts = Counter(item.split(".")[place] for item in items)
            assert max(parts.values()) - min(parts[str(n)] for n in range(size)) <= 2


def test_the_seed_decides_and_not_the_order_of_the_items() -> None:
    some = entries(3, 3, 4)
    assert draw(subset(5), some) == draw(subset(5), some[::-1])
    assert draw(subset(5), some) != draw(subset(5, seed=8), some)


def test_without_strata_the_items_are_drawn_of_all() -> None:
    found = draw(Subset(name="some", take=3, per=(), spread=(), seed=0), entries(2, 2, 2))
    assert sum(map(len, found.values())) == 3


@pytest.mark.parametrize("take", [3, 6])
def test_a_dimension_that_a_scenario_lacks_is_one_value_there(take: int) -> None:
    items = [Entry("a", str(n), {"scenario": "a", "stage": n % 3, "subject": None}) for n in range(30)]
    stages = Counter(int(item) % 3 for item in draw(subset(take), items)["a"])
    assert set(stages.values()) == {take // 3}
