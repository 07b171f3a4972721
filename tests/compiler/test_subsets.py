"""Drawing a subset: even over what it is spread over, the same for everybody, known in any part of the benchmark."""

from __future__ import annotations

from collections import Counter
from itertools import product

from hypothesis import given, settings, strategies as st

from tripos_compiler.language.contexts import PlacedItem, draw_subset
from tripos_compiler.plan import Subset

STRATA, LEVELS = "xy", "abcd"


def item(number: int, stratum: str, level: str) -> PlacedItem:
    return PlacedItem(stratum, f"{number}", {"scenario": stratum, "level": level})


def subset(take: int, seed: int = 7) -> Subset:
    return Subset(name="few", take=take, per=("scenario",), spread=("level",), seed=seed)


WHOLE = [item(number, STRATA[number % 2], LEVELS[(number // 2) % 4]) for number in range(160)]
items = st.lists(st.tuples(st.sampled_from(STRATA), st.sampled_from(LEVELS)), max_size=60).map(
    lambda found: [item(number, *each) for number, each in enumerate(found)]
)


def test_each_stratum_gives_what_is_taken() -> None:
    drawn = draw_subset(subset(10), WHOLE)
    assert Counter(scenario for scenario, _ in drawn) == {"x": 10, "y": 10}


def test_items_are_even_over_what_they_are_spread_over() -> None:
    levels = {(each.scenario, each.name): each.place["level"] for each in WHOLE}
    drawn = draw_subset(subset(10), WHOLE)
    counts = Counter((scenario, levels[scenario, name]) for scenario, name in drawn)
    assert len(counts) == 8 and set(counts.values()) == {2, 3}


def test_another_seed_draws_other_items() -> None:
    assert draw_subset(subset(10, 7), WHOLE) != draw_subset(subset(10, 8), WHOLE)


def test_a_small_stratum_gives_all_that_it_has() -> None:
    few = [item(number, "x", "a") for number in range(3)]
    assert len(draw_subset(subset(10), few)) == 3


@settings(deadline=None)
@given(items, st.integers(1, 12), st.randoms(use_true_random=False))
def test_the_order_of_the_items_does_not_matter(found: list[PlacedItem], take: int, random: object) -> None:
    mixed = list(found)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert draw_subset(subset(take), mixed) == draw_subset(subset(take), found)


@settings(deadline=None)
@given(items, st.integers(1, 12), st.data())
def test_an_item_of_the_subset_is_in_what_is_drawn_from_any_part(
    found: list[PlacedItem], take: int, data: st.DataObject
) -> None:
    part = [each for each in found if data.draw(st.booleans())]
    here = {(each.scenario, each.name) for each in part}
    assert draw_subset(subset(take), found) & here <= draw_subset(subset(take), part)


def test_the_parts_of_what_they_are_spread_over_are_nearly_even_too() -> None:
    everywhere = [{"scenario": "x", "level": level, "topic": topic} for level, topic in product(range(4), range(5))]
    whole = [
        PlacedItem("x", f"{place['level']}.{place['topic']}.{n}", place) for place in everywhere for n in range(10)
    ]
    for take, seed in product(range(1, 41), range(6)):
        few = Subset(name="few", take=take, per=("scenario",), spread=("level", "topic"), seed=seed)
        names = [name.split(".") for _, name in draw_subset(few, whole, everywhere)]
        both = Counter((level, topic) for level, topic, _ in names)
        counts = [both[str(level), str(topic)] for level, topic in product(range(4), range(5))]
        assert max(counts) - min(counts) <= 1
        for part, size in ((0, 4), (1, 5)):
            parts = Counter(name[part] for name in names)
            assert max(parts.values()) - min(parts[str(n)] for n in range(size)) <= 2


def test_whoever_draws_from_some_draws_what_is_drawn_from_all_wherever_items_may_lie() -> None:
    everywhere = [{"scenario": "x", "level": level} for level in LEVELS]
    drawn = draw_subset(subset(6), WHOLE, everywhere)
    some = [each for number, each in enumerate(WHOLE) if number % 3]
    assert {key for key in drawn if key in {(each.scenario, each.name) for each in some}} <= draw_subset(
        subset(6), some, everywhere
    )


def test_without_strata_the_items_are_drawn_of_all() -> None:
    assert len(draw_subset(Subset(name="some", take=3, per=(), spread=(), seed=0), WHOLE)) == 3


def test_a_dimension_that_a_scenario_lacks_is_one_value_there() -> None:
    items = [PlacedItem("x", str(n), {"scenario": "x", "level": n % 3, "topic": None}) for n in range(30)]
    few = Subset(name="few", take=6, per=("scenario",), spread=("level", "topic"), seed=7)
    assert set(Counter(int(name) % 3 for _, name in draw_subset(few, items)).values()) == {2}


def test_an_axis_that_is_a_field_of_the_rows_is_spread_over_though_no_context_has_it() -> None:
    spread = Subset(name="few", take=6, per=("scenario",), spread=("level", "subject"), seed=1)
    items = [
        PlacedItem("s", f"{level}{subject}{number}", {"scenario": "s", "level": level, "subject": subject})
        for level, subject, number in product("abc", "uvwxyz", range(3))
    ]
    found = draw_subset(spread, items, [{"scenario": "s", "level": level} for level in "abc"])
    assert Counter(name[0] for _, name in found) == {"a": 2, "b": 2, "c": 2}
    assert len({name[1] for _, name in found}) == 6
