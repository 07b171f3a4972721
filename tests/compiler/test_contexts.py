"""Counting and listing contexts, filling templates, reading rows: the semantics that compiler and runtime share."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from compiling import EDUBENCH, compile_file, plan_of
from hypothesis import given, settings, strategies as st

from tests.each import each
from tests.lengths import sized
from tripos_compiler.language.contexts import allowed_cells, axes_in_guards, broken_guard, count_cells
from tripos_compiler.language.evaluation import MissingValue, Unavailable, evaluate
from tripos_compiler.language.rendering import PLACEHOLDER, render
from tripos_compiler.language.rows import DoesNotFit, Misfit, item_id, read_row, read_value
from tripos_compiler.plan import (
    Axis,
    AxisValue,
    Binary,
    BoolType,
    ChoiceType,
    DataField,
    Dataset,
    DialogueType,
    Expr,
    Hole,
    IntegerType,
    Items,
    Level,
    ListType,
    Literal_,
    Metric,
    MetricsType,
    NumberType,
    OptionalType,
    Passage,
    RecordType,
    Ref,
    SetType,
    Template,
    TextType,
    Type,
    Unary,
)

NAMES = ["a", "b", "c", "d", "e"]


@st.composite
def guard(draw: st.DrawFn, sizes: dict[str, int]) -> Expr:
    """Return a condition on some of the axes, three levels deep at the most."""
    name = draw(st.sampled_from(sorted(sizes)))
    values = [f"{name}{index}" for index in range(sizes[name])]
    ref, one = Ref(path=(name,)), Literal_(value=draw(st.sampled_from(values)))
    some = Items(values=tuple(Literal_(value=value) for value in draw(st.lists(st.sampled_from(values), min_size=1))))
    simple: Expr = draw(
        st.sampled_from(
            [
                Binary(operator="==", left=ref, right=one),
                Binary(operator="!=", left=ref, right=one),
                Binary(operator="in", left=ref, right=some),
                Binary(operator="not in", left=ref, right=some),
            ]
        )
    )
    match draw(st.integers(0, 3)):
        case 0:
            return Unary(operator="not", value=simple)
        case 1:
            operator = draw(st.sampled_from(["and", "or"]))
            return Binary(operator=operator, left=simple, right=draw(guard(sizes)))
    return simple


@st.composite
def some_axes(draw: st.DrawFn) -> list[Axis]:
    sizes = {name: draw(st.integers(1, 4)) for name in NAMES[: draw(st.integers(1, 5))]}
    axes = []
    for name, size in sizes.items():
        others = {other: count for other, count in sizes.items() if other != name}
        guards = [draw(st.none() | guard(others)) if others else None for _ in range(size)]
        values = [AxisValue(name=f"{name}{i}", labels={"en": f"{name}{i}"}, guard=g) for i, g in enumerate(guards)]
        axes.append(Axis(name=name, values=tuple(values)))
    return draw(st.permutations(axes))


def brute_force(axes: list[Axis]) -> list[dict[str, str]]:
    found = []
    for chosen in product(*(axis.values for axis in axes)):
        cell = {axis.name: value.name for axis, value in zip(axes, chosen, strict=True)}
        if all(value.guard is None or evaluate(value.guard, cell) for value in chosen):
            found.append(cell)
    return found


@settings(deadline=None, max_examples=sized(30, 150))
@given(some_axes())
def test_cells_are_counted_as_if_they_were_listed_one_by_one(axes: list[Axis]) -> None:
    listed = brute_force(axes)
    assert count_cells(axes) == len(listed)
    assert list(allowed_cells(axes)) == listed


@settings(deadline=None, max_examples=sized(30, 50))
@given(some_axes())
def test_a_cell_is_allowed_just_when_no_guard_is_broken(axes: list[Axis]) -> None:
    listed = {tuple(sorted(cell.items())) for cell in brute_force(axes)}
    for chosen in product(*(axis.values for axis in axes)):
        cell = {axis.name: value.name for axis, value in zip(axes, chosen, strict=True)}
        fine = tuple(sorted(cell.items())) in listed
        assert (broken_guard(cell, axes) is None) == fine


def test_axes_that_no_guard_ties_are_multiplied_and_not_listed() -> None:
    axes = [Axis(name=f"x{n}", values=tuple(AxisValue(name=f"v{i}", labels={}) for i in range(100))) for n in range(10)]
    assert count_cells(axes) == 100**10


def test_the_guards_of_an_axis_name_the_axes_they_look_at() -> None:
    plan = plan_of(compile_file(EDUBENCH / "edubench.tripos"))
    assert axes_in_guards(plan.axis("subject")) == {"stage"}
    assert axes_in_guards(plan.axis("stage")) == set()


# --- templates ---------------------------------------------------------------------------------------

STAGE = Axis(name="stage", values=(AxisValue(name="first", labels={"en": "first year", "zh": "一年级"}),))
STAGES = ChoiceType(values=("first",), axis="stage")


def filled(type_: Type, value: Any, language: str = "en") -> str:
    template = Template(parts=("<", Hole(expr=Ref(path=("x",)), type=type_), ">"))
    return render(template, {"x": value}, language, {"stage": STAGE})


@pytest.mark.parametrize(
    "text", ["{{ x }}", "{{ stage }}", '{ "a": {} }', "}}{{", "{% x %}", "\\n", "%s {0}", "难度 {{ 难度 }}", ""]
)
def test_what_fills_a_hole_is_never_read_as_a_template_again(text: str) -> None:
    assert filled(TextType(), text) == f"<{text}>"


@settings(deadline=None, max_examples=sized(10, 100))
@given(st.text())
def test_any_text_is_printed_as_it_is(text: str) -> None:
    assert filled(TextType(), text) == f"<{text}>"
    assert render(Template(parts=(text,)), {}, "en", {}) == text


@each(
    "type_, value, shown",
    [
        (IntegerType(), 3, "3"),
        (NumberType(), 3.0, "3"),
        (NumberType(), 2.5, "2.5"),
        (NumberType(), 1e-9, "1e-09"),
        (BoolType(), True, "true"),
        (OptionalType(of=TextType()), None, ""),
        (OptionalType(of=IntegerType()), 3, "3"),
        (ListType(of=TextType()), ["b", "a"], "b, a"),
        (SetType(of=TextType()), frozenset({"b", "a"}), "a, b"),
        (ListType(of=IntegerType()), [1, 2], "[1, 2]"),
        (SetType(of=IntegerType()), frozenset({2, 1}), "[1, 2]"),
        (RecordType(fields={"a": TextType()}), {"a": "é"}, '{"a": "é"}'),
        (ChoiceType(values=("A", "B")), "A", "A"),
        (STAGES, "first", "first year"),
    ],
)
def test_a_value_is_printed_as_people_write_it(type_: Type, value: Any, shown: str) -> None:
    assert filled(type_, value) == f"<{shown}>"


TEXTS = st.text().filter(lambda text: PLACEHOLDER not in text)
VALUES: list[tuple[Type, st.SearchStrategy[Any]]] = [
    (TextType(), TEXTS),
    (IntegerType(), st.integers(-1000, 1000)),
    (NumberType(), st.floats(-10, 10)),
    (BoolType(), st.booleans()),
    (OptionalType(of=TextType()), st.none() | TEXTS),
    (ListType(of=TextType()), st.lists(TEXTS)),
    (ListType(of=IntegerType()), st.lists(st.integers())),
    (SetType(of=TextType()), st.frozensets(TEXTS)),
    (RecordType(fields={"a": TextType()}), st.fixed_dictionaries({"a": TEXTS})),
    (ChoiceType(values=("A", "B")), st.sampled_from("AB")),
    (STAGES, st.just("first")),
]


class Marks:
    """Stands for every value that is pending."""

    def hole(self, hole: Hole, reason: Unavailable) -> str:
        return PLACEHOLDER

    def condition(self, when: Expr, reason: Unavailable) -> None:
        assert when == Ref(path=("later",))

    def passage(self, render: Callable[[], str]) -> str | None:
        return render()


@settings(deadline=None, max_examples=sized(30, 300))
@given(st.data())
def test_placeholders_stand_just_where_the_values_will_be_printed(data: st.DataObject) -> None:
    holes = data.draw(st.lists(st.sampled_from(range(len(VALUES))), min_size=1, max_size=6))
    values = {f"x{place}": data.draw(VALUES[kind][1]) for place, kind in enumerate(holes)}
    waiting = data.draw(st.sets(st.sampled_from(sorted(values))))
    passages = []
    for place, kind in enumerate(holes):
        name, when = f"x{place}", data.draw(st.sampled_from((None, "yes", "no", "later")))
        parts = (data.draw(TEXTS), Hole(expr=Ref(path=(name,)), type=VALUES[kind][0]), data.draw(TEXTS))
        passages.append(Passage(when=None if when is None else Ref(path=(when,)), parts=parts))
    template = Template(parts=tuple(passages))
    names = {**values, "yes": True, "no": False}
    whole = render(template, {**names, "later": True}, "en", {"stage": STAGE})
    there = {name: MissingValue(name, "pending") if name in waiting else value for name, value in names.items()}
    drafted = render(
        template, {**there, "later": MissingValue("later", "pending")}, "en", {"stage": STAGE}, (), Marks()
    )
    shown = [place for place, each in enumerate(passages) if each.when is None or each.when.path != ("no",)]
    for place in shown:
        if f"x{place}" in waiting:
            kind = VALUES[holes[place]][0]
            drafted = drafted.replace(PLACEHOLDER, filled(kind, values[f"x{place}"])[1:-1], 1)
    assert drafted == whole


def test_a_value_of_an_axis_is_printed_by_its_label_in_the_language() -> None:
    assert filled(STAGES, "first", "zh") == "<一年级>"
    assert filled(ListType(of=STAGES), ["first", "first"], "zh") == "<一年级, 一年级>"


def test_metrics_are_printed_as_a_rubric() -> None:
    metric = Metric(
        name="CLAR",
        title={"en": "Clarity", "zh": "清晰"},
        dimension="quality",
        low=1,
        high=5,
        asks={"en": "Is it clear?", "zh": "是否清楚？"},
        levels=(
            Level(low=4, high=5, text={"en": "yes", "zh": "是"}),
            Level(low=1, high=3, text={"en": "no", "zh": "否"}),
        ),
    )
    template = Template(parts=(Hole(expr=Ref(path=("metrics",)), type=MetricsType()),))
    assert render(template, {}, "en", {}, [metric]) == "CLAR (Clarity), 1-5: Is it clear?\n  4-5: yes\n  1-3: no"
    assert render(template, {}, "zh", {}, [metric]) == "CLAR (清晰), 1-5分：是否清楚？\n  4-5分：是\n  1-3分：否"


# --- rows --------------------------------------------------------------------------------------------

RECORD = RecordType(fields={"a": TextType(), "n": OptionalType(of=IntegerType())})
TURNS = [{"speaker": "user", "text": "hi"}]


@each(
    "type_, raw, value",
    [
        (TextType(), "", ""),
        (TextType(), " a ", " a "),
        (IntegerType(), 4, 4),
        (IntegerType(), "4", 4),
        (IntegerType(), " 4 ", 4),
        (IntegerType(), 4.0, 4),
        (IntegerType(), "4.0", 4),
        (IntegerType(), "9007199254740993", 9007199254740993),
        (IntegerType(), 2**63 - 1, 2**63 - 1),
        (IntegerType(low=1, high=5), "5", 5),
        (NumberType(), "1e3", 1000.0),
        (NumberType(), 4, 4),
        (BoolType(), True, True),
        (BoolType(), "False", False),
        (OptionalType(of=IntegerType()), None, None),
        (OptionalType(of=IntegerType()), "", None),
        (OptionalType(of=IntegerType()), "3", 3),
        (ChoiceType(values=("A", "B")), "B", "B"),
        (STAGES, "first", "first"),
        (STAGES, "First Year ", "first"),
        (STAGES, "一年级", "first"),
        (ListType(of=IntegerType()), ["1", 2], [1, 2]),
        (SetType(of=TextType()), ["a", "a"], frozenset({"a"})),
        (RECORD, {"a": "x", "more": 1}, {"a": "x", "n": None}),
        (DialogueType(), TURNS, TURNS),
        (DialogueType(), [{"role": "user", "content": "hi"}], TURNS),
        (DialogueType(), [], []),
    ],
)
def test_a_raw_value_is_read_as_its_type(type_: Type, raw: Any, value: Any) -> None:
    read = read_value(type_, raw, {"stage": STAGE})
    assert read == value
    assert type(read) is type(value)


@each(
    "type_, raw",
    [
        (TextType(), None),
        (TextType(), 3),
        (IntegerType(), "four"),
        (IntegerType(), 2**63),
        (IntegerType(), str(-(2**63) - 1)),
        (IntegerType(), 1e19),
        (IntegerType(), "9" * 5000),
        (NumberType(), 10**400),
        (IntegerType(), 4.5),
        (IntegerType(), True),
        (IntegerType(), None),
        (IntegerType(), "nan"),
        (IntegerType(), math.inf),
        (IntegerType(), [4]),
        (IntegerType(low=1, high=5), 6),
        (IntegerType(low=1, high=5), "0"),
        (NumberType(), "NaN"),
        (NumberType(), "-inf"),
        (NumberType(), ""),
        (BoolType(), 1),
        (BoolType(), "yes"),
        (ChoiceType(values=("A", "B")), "a"),
        (ChoiceType(values=("A", "B")), 1),
        (STAGES, "second"),
        (ListType(of=TextType()), "a"),
        (ListType(of=TextType()), ["a", 1]),
        (SetType(of=TextType()), None),
        (RECORD, {"n": 1}),
        (RECORD, ["a"]),
        (DialogueType(), "hi"),
        (DialogueType(), [{"speaker": "user"}]),
        (DialogueType(), ["hi"]),
    ],
)
def test_a_raw_value_that_does_not_fit_is_refused(type_: Type, raw: Any) -> None:
    with pytest.raises(DoesNotFit):
        read_value(type_, raw, {"stage": STAGE})


def items(*fields: DataField) -> Dataset:
    return Dataset(name="items", source="items.jsonl", fields=fields, files=())


def test_a_row_takes_the_first_of_the_columns_that_it_has() -> None:
    dataset = items(DataField(name="q", type=TextType(), columns=("Q", "question")))
    assert read_row(dataset, {"question": "x", "other": 1}, {}) == {"q": "x"}
    assert read_row(dataset, {"question": "x", "Q": "y"}, {}) == {"q": "y"}


def test_a_row_that_does_not_fit_says_which_value_of_which_column() -> None:
    dataset = items(
        DataField(name="q", type=TextType(), columns=("q",)),
        DataField(name="n", type=IntegerType(low=1, high=5), columns=("N",)),
    )
    assert read_row(dataset, {"q": "x", "N": 9}, {}) == Misfit("n", "N", 9, "1..5")
    assert read_row(dataset, {"q": "x"}, {}) == Misfit("n", None, None, "1..5")


def test_equal_rows_have_equal_names_wherever_they_are_stored() -> None:
    assert item_id({"a": "x", "b": frozenset({"q", "p"})}) == item_id({"b": frozenset({"p", "q"}), "a": "x"})
    assert item_id({"a": "x"}) != item_id({"a": "y"})
