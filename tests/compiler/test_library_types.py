"""What the signatures of the library say: the type of a result, and what is wrong with arguments."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.each import each
from tripos_compiler.library.function import Function
from tripos_compiler.library.registry import FUNCTIONS, GROUPS
from tripos_compiler.library.types import TURN, fits, join, type_notation
from tripos_compiler.plan import (
    BoolType,
    ChoiceType,
    DialogueType,
    IntegerType,
    ListType,
    NumberType,
    OptionalType,
    PathType,
    RecordType,
    SetType,
    TextType,
    TreeType,
    Type,
)

TEXT, WHOLE, NUMBER, BOOL, PATH, TALK = TextType(), IntegerType(), NumberType(), BoolType(), PathType(), DialogueType()
LEVEL = ChoiceType(values=("easy", "medium", "hard"))
ROWS = ListType(of=RecordType(fields={"level": LEVEL, "point": PATH, "task": TEXT, "hint": OptionalType(of=TEXT)}))


def list_of(of: Type) -> Type:
    return ListType(of=of)


def result(name: str, *types: Type, **named: Type) -> Type | str:
    """Return what a function says to these types, given in the order of its parameters; the last takes all that are
    left."""
    given_: dict[str, Type | Sequence[Type]] = dict(named)
    left = list(types)
    for parameter in FUNCTIONS[name].parameters:
        if left and parameter.many:
            given_[parameter.name], left = left, []
        elif left:
            given_[parameter.name] = left.pop(0)
    assert not left
    return FUNCTIONS[name].result(given_)


@each(
    "name, types, gives",
    [
        ("last", [list_of(WHOLE)], WHOLE),
        ("last", [TALK], TURN),
        ("first", [SetType(of=LEVEL)], LEVEL),
        ("nth", [list_of(OptionalType(of=TEXT)), WHOLE], OptionalType(of=TEXT)),
        ("without_last", [TALK], TALK),
        ("without_last", [SetType(of=TEXT)], list_of(TEXT)),
        ("sorted", [SetType(of=NUMBER)], list_of(NUMBER)),
        ("distinct", [list_of(SetType(of=TEXT)), list_of(SetType(of=TEXT))], list_of(TEXT)),
        ("distinct", [list_of(TEXT)], list_of(TEXT)),
        ("distinct", [list_of(OptionalType(of=LEVEL))], list_of(LEVEL)),
        ("distinct", [list_of(PATH), list_of(PATH), list_of(PATH)], list_of(PATH)),
        ("distinct", [list_of(PATH), list_of(TEXT)], list_of(TEXT)),
        ("default", [OptionalType(of=TEXT), TEXT], TEXT),
        ("default", [OptionalType(of=IntegerType(low=1, high=5)), WHOLE], WHOLE),
        ("default", [OptionalType(of=WHOLE), NUMBER], NUMBER),
        ("default", [OptionalType(of=LEVEL), TEXT], TEXT),
        ("default", [TEXT, OptionalType(of=TEXT)], OptionalType(of=TEXT)),
        ("abs", [IntegerType(low=-5, high=5)], WHOLE),
        ("abs", [NUMBER], NUMBER),
        ("min", [WHOLE, WHOLE], WHOLE),
        ("max", [WHOLE, WHOLE, NUMBER], NUMBER),
        ("sum", [list_of(WHOLE)], WHOLE),
        ("length", [TALK], WHOLE),
        ("length", [LEVEL], WHOLE),
        ("length", [SetType(of=WHOLE)], WHOLE),
        ("choice_letters", [list_of(TEXT)], SetType(of=TEXT)),
        ("choice_letters", [TEXT], SetType(of=TEXT)),
        ("f1", [SetType(of=TEXT), list_of(LEVEL)], NUMBER),
        ("jaccard", [list_of(PATH), SetType(of=PATH)], NUMBER),
        ("bleu", [TEXT, list_of(TEXT)], NUMBER),
        ("rank", [LEVEL], IntegerType(low=0, high=2)),
        ("rank", [TEXT, list_of(TEXT)], WHOLE),
        ("leaves", [TreeType(tree="syllabus")], list_of(PATH)),
        ("parent", [PATH], OptionalType(of=PATH)),
        ("contains", [PATH, LEVEL], BOOL),
        ("examples_for", [list_of(PATH), ROWS], list_of(TEXT)),
        ("json", [OptionalType(of=ROWS)], TEXT),
        ("same_number", [OptionalType(of=NUMBER), WHOLE], BOOL),
    ],
)
def test_a_result_has_the_type_that_follows_from_the_arguments(name: str, types: list[Type], gives: Type) -> None:
    assert result(name, *types) == gives


@each(
    "name, types, message",
    [
        ("last", [TEXT], "`items` must be `list<any>`, this is `text`"),
        ("last", [OptionalType(of=TALK)], "`items` may be missing here; say what stands in its place: `default(…, …)`"),
        ("length", [WHOLE], "`value` must be `text or list<any>`, this is `integer`"),
        (
            "length",
            [OptionalType(of=TEXT)],
            "`value` may be missing here; say what stands in its place: `default(…, …)`",
        ),
        ("default", [OptionalType(of=NUMBER), TEXT], "`fallback` is `text` beside `number`; give both the same type"),
        (
            "f1",
            [SetType(of=TEXT), SetType(of=WHOLE)],
            "`truth` is `set<integer>` beside `text`; give both the same type",
        ),
        ("f1", [ROWS, ROWS], None),
        ("sum", [list_of(TEXT)], "`items` must be `list<number>`, this is `list<text>`"),
        ("max", [WHOLE, WHOLE, TEXT], "`more` must be `number`, this is `text`"),
        ("sorted", [TALK], "`items` must be `list<any>`, this is `dialogue`"),
        ("rank", [TEXT], "`text` has no order of its own; give it: `order: (…, …)`"),
        ("rank", [OptionalType(of=LEVEL)], None),
        ("leaves", [list_of(PATH)], "`tree` must be `tree`, this is `list<path>`"),
        ("leaf", [TEXT], "`path` must be `path`, this is `text`"),
        ("examples_for", [list_of(PATH), list_of(TEXT)], "`rows` must be `list<record>`, this is `list<text>`"),
        ("examples_for", [list_of(TEXT), ROWS], "`points` must be `list<path>`, this is `list<text>`"),
        ("examples_for", [list_of(PATH), list_of(RecordType(fields={"a": TEXT}))], None),
        ("examples_for", [list_of(PATH), list_of(RecordType(fields={"a": PATH}))], "no field of these rows is a text"),
        ("bleu", [TEXT, WHOLE], "`reference` must be `text or list<text>`, this is `integer`"),
    ],
)
def test_arguments_that_do_not_fit_are_told_why(name: str, types: list[Type], message: str | None) -> None:
    said = result(name, *types)
    assert isinstance(said, str)
    assert message is None or said == message


def test_a_choice_that_was_given_no_order_brings_its_own() -> None:
    assert FUNCTIONS["rank"].implied({"value": LEVEL}) == {"order": ("easy", "medium", "hard")}
    assert FUNCTIONS["rank"].implied({"value": TEXT, "order": list_of(TEXT)}) == {}


def test_rows_say_where_they_belong_and_what_is_printed() -> None:
    examples = FUNCTIONS["examples_for"]
    assert examples.implied({"points": list_of(PATH), "rows": ROWS}) == {"at": "point", "fields": ("task", "hint")}
    assert examples.implied({"points": list_of(PATH), "rows": ROWS, "fields": list_of(TEXT)}) == {"at": "point"}


@each("name, literals, complaint", [
        ("matches", {"pattern": "(a"}, "this pattern is not a regular expression: missing ), unterminated subpattern"),
        ("matches", {"pattern": "a{99999999999999999999}"}, "this pattern is not a regular expression: the repetition number is too large"),
        ("matches", {"pattern": "[[a]"}, None),
        ("matches", {"pattern": "^(a+)+$"}, None),
        ("matches", {"text": "(a"}, None),
        ("split", {"separator": ""}, "`separator` is empty"),
        ("replace", {"old": "", "new": ""}, "`old` is empty"),
        ("replace", {"text": "", "old": "a", "new": ""}, None),
        ("after", {"marker": ""}, "`marker` is empty"),
        ("nth", {"index": -1}, "positions count from 0; `last(items)` is the last item"),
        ("sqrt", {"value": -1}, "a negative number has no square root"),
        ("log", {"value": 0}, "only a positive number has a logarithm"),
        ("log", {"base": 1}, "the base of a logarithm is positive and not 1"),
        ("words", {"text": ""}, None),
    ])  # fmt: skip
def test_what_is_written_out_is_checked(name: str, literals: Mapping[str, object], complaint: str | None) -> None:
    assert FUNCTIONS[name].check(literals) == complaint


@each("function", FUNCTIONS.values())
def test_a_signature_can_be_called_as_it_says(function: Function) -> None:
    python = inspect.signature(function.python)
    assert [parameter.name for parameter in function.parameters] == list(python.parameters)
    python.bind(*(parameter.name for parameter in function.parameters if parameter.required))
    required = [parameter.required for parameter in function.parameters if not parameter.many]
    assert required == sorted(required, reverse=True)


@each("function", FUNCTIONS.values())
def test_a_function_says_in_a_line_what_it_gives(function: Function) -> None:
    summary = function.summary
    assert summary.endswith(".")
    assert len(summary) <= 120
    assert ". " not in summary
    assert ">>>" in (inspect.getdoc(function.python) or "")


def test_every_function_stands_in_one_group() -> None:
    assert sum(map(len, GROUPS.values())) == len(FUNCTIONS)


def test_the_functions_that_the_language_promises_are_there() -> None:
    promised = """last_number same_number choice_letters exact contains matches words bleu rouge chrf f1 precision
    recall jaccard overlap edit_similarity abs round min max length turns transcript bullets numbered lettered json
    similarity bm25"""
    assert set(promised.split()) <= set(FUNCTIONS)


def test_a_signature_is_written_as_people_read_it() -> None:
    assert FUNCTIONS["max"].shown == "max(a: number or list<number>, b: number (optional), more…: number) -> number"
    assert FUNCTIONS["default"].shown == "default(value: T?, fallback: T) -> T"
    assert FUNCTIONS["round"].shown == "round(value: number, digits: integer (optional)) -> number"


def test_a_function_of_the_users_is_read_like_those_of_the_library() -> None:
    def longest(texts: list[str], least: int = 0) -> str | None:
        return max((text for text in texts if len(text) >= least), key=len, default=None)

    function = Function(longest)
    assert function.shown == "longest(texts: list<text>, least: integer (optional)) -> text?"
    assert function.result({"texts": SetType(of=TEXT)}) == OptionalType(of=TEXT)


def test_an_annotation_without_a_type_is_refused() -> None:
    def odd(value: complex) -> str:
        return str(value)

    with pytest.raises(TypeError, match="complex"):
        _ = Function(odd).parameters


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (PATH, "path"),
        (TreeType(tree="syllabus"), "tree"),
        (IntegerType(low=1, high=5), "1..5"),
        (ChoiceType(values=("A", "B"), axis="level"), "level"),
        (ChoiceType(values=tuple("ABCDEF")), "choice(A, B, C, D, E, F)"),
        (ChoiceType(values=tuple("ABCDEFG")), "choice(A, B, C, D, E, …)"),
        (OptionalType(of=TURN), "{ speaker text, text text }?"),
        (None, "any"),
    ],
)
def test_types_are_shown_as_they_are_written(type_: Type | None, text: str) -> None:
    assert type_notation(type_) == text


FEWER = ChoiceType(values=("easy", "hard"))
OTHER = ChoiceType(values=("hard", "harder"))


@each(
    "given_, wanted, fit",
    [
        (FEWER, LEVEL, True),
        (LEVEL, FEWER, False),
        (TEXT, LEVEL, False),
        (PATH, TEXT, True),
        (TEXT, PATH, False),
        (OptionalType(of=TEXT), TEXT, False),
        (TEXT, OptionalType(of=TEXT), True),
        (NUMBER, WHOLE, False),
        (BOOL, NUMBER, False),
        (SetType(of=TEXT), ListType(of=TEXT), True),
        (ListType(of=TEXT), SetType(of=TEXT), False),
        (TALK, ListType(of=TURN), True),
        (ListType(of=TURN), TALK, True),
        (RecordType(fields={"a": TEXT, "b": TEXT}), RecordType(fields={"a": TEXT}), True),
        (RecordType(fields={"a": TEXT}), RecordType(fields={"a": TEXT, "b": TEXT}), False),
        (TreeType(tree="a"), TreeType(tree="b"), False),
    ],
)
def test_which_type_fits_where(given_: Type, wanted: Type, fit: bool) -> None:
    assert fits(given_, wanted) is fit


def test_choices_that_overlap_are_texts() -> None:
    assert join(FEWER, LEVEL) == LEVEL
    assert join(FEWER, OTHER) == TEXT


PLAIN = st.sampled_from([TEXT, WHOLE, IntegerType(low=1, high=5), NUMBER, BOOL, PATH, LEVEL, FEWER, OTHER])


def nested(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    return st.one_of(
        inner.map(lambda of: ListType(of=of)),
        PLAIN.map(lambda of: SetType(of=of)),
        inner.filter(lambda of: of.kind != "optional").map(lambda of: OptionalType(of=of)),
        st.dictionaries(st.sampled_from("ab"), inner, min_size=1).map(lambda fields: RecordType(fields=fields)),
        st.sampled_from([TALK, TURN, ListType(of=TURN)]),
    )


TYPES: st.SearchStrategy[Any] = st.recursive(PLAIN, nested, max_leaves=4)


@given(TYPES, TYPES)
def test_two_types_fit_what_they_have_in_common(a: Type, b: Type) -> None:
    common = join(a, b)
    if common is not None:
        assert fits(a, common)
        assert fits(b, common)
    assert (common is None) == (join(b, a) is None)


@given(TYPES, TYPES, TYPES)
def test_fitting_is_reflexive_and_transitive(a: Type, b: Type, c: Type) -> None:
    assert fits(a, a)
    assert not (fits(a, b) and fits(b, c)) or fits(a, c)


@given(TYPES, TYPES)
def test_what_fits_has_the_wider_type_in_common(a: Type, b: Type) -> None:
    if fits(a, b):
        common = join(a, b)
        assert common is not None
        assert fits(common, b)
