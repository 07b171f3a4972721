"""Results of the functions of the library, also for odd input."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.each import each
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.signature import Undefined
from tripos_compiler.library.types import Path, Tree
from tripos_compiler.plan import Call, Literal_

TEXTS = st.text(max_size=40)
NAMES = st.lists(st.sampled_from("abcdef"), max_size=6)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def call(name: str, *arguments: Any, **named: Any) -> Any:
    return FUNCTIONS[name].python(*arguments, **named)


# --- reading answers ---


@each(
    "text, value",
    [
        ("so 12 apples cost $1,234.50.", 1234.5),
        ("答案是12个", 12),
        ("it weighs 3.5kg", 3.5),
        ("x = −5", -5),
        ("6×7", 7),
        ("±5", None),
        ("he owes -$20", -20),
        ("1.5e3", 1500),
        (".5", 0.5),
        ("so...42", 42),
        ("1, 2, 3", 3),
        ("1,2,3", 3),
        ("1,00,000 rupees", 100000),
        ("12,345", 12345),
        ("between 10-12", 12),
        ("from 10% to 20%", 20),
        ("１，２３４", 1234),
        ("٣٤", 34),
        ("½", 0.5),
        ("3/4", 0.75),
        ("10⁵", 100_000),
        ("2π", None),
        ("x2 and H2O", None),
        ("the 2nd", None),
        ("the 21st", None),
        ("v1.2.3", None),
        ("9" * 400, None),
        ("3²", 9),
        ("nan inf", None),
        ("", None),
    ],
)
def test_the_last_number_of_a_text(text: str, value: float | None) -> None:
    assert call("last_number", text) == value


@each(
    "text, value",
    [
        (" -1,234.50 ", -1234.5),
        ("$5", 5),
        ("-$5", -5),
        ("5%", 5),
        ("５０％", 50),
        ("3/4", 0.75),
        ("-3/4", -0.75),
        ("1 3/4", 1.75),
        ("-1 1/2", -1.5),
        ("1½", 1.5),
        ("½", 0.5),
        (r"\frac{3}{4}", 0.75),
        (r"$-1\frac{1}{2}$", -1.5),
        (r"\$1{,}000", 1000),
        (r"\(5\)", 5),
        ("5.", 5),
        ("1e5", 100000),
        ("٣", 3),
        ("1/0", None),
        ("3²", 9),
        ("-5^2", -25),
        ("3.5 million", 3_500_000),
        ("5 kg", None),
        ("about 5", None),
        ("--5", None),
        ("1/2/3", None),
        ("nan", None),
        ("1e999", None),
        ("", None),
    ],
)
def test_the_number_that_a_whole_text_is(text: str, value: float | None) -> None:
    assert call("number", text) == value


@given(st.integers(-(10**15), 10**15))
def test_a_whole_number_is_read_with_separators(value: int) -> None:
    assert call("number", f"{value:,}") == call("last_number", f"so {value:,}") == value


@given(FINITE.filter(lambda value: value == 0 or abs(value) > 1e-300))
def test_a_number_is_read_as_python_prints_it(value: float) -> None:
    assert call("number", repr(value)) == value


@given(FINITE, FINITE)
def test_equality_of_numbers_is_symmetric(a: float, b: float) -> None:
    assert call("same_number", a, b) == call("same_number", b, a)
    assert call("same_number", a, a)


@pytest.mark.parametrize(("a", "b"), [(math.nan, math.nan), (None, 1.0), (1.0, None), (1.0, 1.00001)])
def test_numbers_that_are_not_the_same(a: float | None, b: float | None) -> None:
    assert not call("same_number", a, b)


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("ＢＤ", "BD"),
        ("The answer is (C).", "C"),
        ("答案是 B、D", "BD"),
        (["A", "答案C"], "AC"),
        ("BECAUSE", ""),
        ("b", ""),
        ("", ""),
    ],
)
def test_letters_of_options(text: str | list[str], letters: str) -> None:
    assert call("choice_letters", text) == set(letters)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        (r"so $\boxed{\frac{1}{2}}$", r"\frac{1}{2}"),
        (r"\boxed{1} and \boxed{2}", "2"),
        (r"\boxed{\boxed{3}}", "3"),
        (r"\boxed{a\}b}", r"a\}b"),
        (r"\boxed{1} \boxed{2", "1"),
        (r"} \boxed {5}", "5"),
        (r"\boxed{}", ""),
        (r"\boxed{5", None),
        ("", None),
    ],
)
def test_what_stands_in_the_last_box(text: str, inside: str | None) -> None:
    assert call("boxed", text) == inside


def test_what_follows_the_last_marker() -> None:
    assert call("after", "#### 1\n#### 2 \n", "####") == "2"
    assert call("after", "2", "####") is None


@each(
    "text, yes",
    [
        ("Yes", True),
        ("**Yes**, because it is not wrong", True),
        ("Answer: no, because that is right", False),
        ("The answer is yes, for it rains.", True),
        ("I think that it is not correct.", False),
        ("so it is true", True),
        ("是的，没有问题", True),
        ("答案：不正确。", False),
        ("回答是正确的。", True),
        ("不是", False),
        ("yes/no", None),
        ("Answer: yes or no?", None),
        ("Yes, or so it seems.", True),
        ("`FALSE`", False),
        ("对于这个问题，我不知道", None),
        ("Not sure", None),
        ("No idea", None),
        ("Nothing", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_a_text_says_yes_or_no_or_neither(text: str, yes: bool | None) -> None:
    assert call("is_yes", text) is yes


# --- texts ---


@given(TEXTS, st.text(min_size=1, max_size=3))
def test_joined_parts_are_the_text_that_was_split(text: str, separator: str) -> None:
    assert call("join", call("split", text, separator), separator) == text


@given(TEXTS, TEXTS)
def test_a_text_contains_how_it_begins_and_ends(a: str, b: str) -> None:
    for name, whole in (("starts_with", a + b), ("contains", b + a + b), ("ends_with", b + a)):
        assert call(name, whole, a)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It's a well-known fact: 3.14, 1,000.", 6),
        ("两个字", 3),
        ("GPT4模型", 3),
        ("日本語です", 5),
        ("हिन्दी भाषा", 2),
        ("snake_case ____ +", 1),
        ("𠀀𠀁", 2),
        (" \n", 0),
        ("", 0),
    ],
)
def test_words_are_counted_in_any_script(text: str, count: int) -> None:
    assert call("words", text) == count


def test_lines_are_those_that_are_not_blank() -> None:
    assert call("lines", "a\r\n\n  b\u2028c") == ["a", "b", "c"]


def test_letters_go_on_after_z() -> None:
    assert call("lettered", ["x"] * 28).splitlines()[25:] == ["Z. x", "AA. x", "AB. x"]


def test_sets_are_laid_out_in_order() -> None:
    assert call("bullets", frozenset({"b", "a"})) == "- a\n- b"
    assert call("join", {"b", "a"}, "") == "ab"


@given(st.lists(st.text(max_size=5), max_size=5))
def test_every_layout_has_a_line_for_each_item(items: list[str]) -> None:
    for name, more in (
        ("bullets", ()),
        ("numbered", ()),
        ("lettered", ()),
        ("numbered", ("({}) ",)),
        ("lettered", ("", "[{}]")),
    ):
        assert call(name, items, *more).count("\n") == max(0, len(items) - 1) + sum(item.count("\n") for item in items)


# --- numbers ---


@given(st.lists(st.integers(), min_size=2, max_size=5))
def test_the_smallest_and_largest_of_several(values: list[int]) -> None:
    assert (call("min", *values), call("max", *values)) == (min(values), max(values))


@given(st.lists(st.floats(-1e6, 1e6), max_size=8))
def test_a_sum_does_not_depend_on_the_order(values: list[float]) -> None:
    assert call("sum", values) == call("sum", values[::-1])


def test_whole_numbers_stay_whole() -> None:
    for value in (call("abs", -2), call("round", 25, -1), call("max", 1, 2), call("sum", [1, 2]), call("floor", 1.5)):
        assert type(value) is int


@pytest.mark.parametrize("digits", [-(10**9), 10**9])
def test_rounding_to_absurdly_many_digits_ends(digits: int) -> None:
    assert call("round", 123, digits) in (0, 123)
    assert call("round", 1.5, digits) in (0, 1.5)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("sqrt", (-1,)),
        ("log", (0,)),
        ("log", (2, 1)),
        ("exp", (1000,)),
        ("power", (-8, 0.5)),
        ("power", (10, 10**9)),
        ("floor", (math.inf,)),
        ("ceil", (math.nan,)),
    ],
)
def test_a_number_that_there_is_not_is_not_applicable(name: str, arguments: tuple[float, ...]) -> None:
    with pytest.raises(Unavailable):
        evaluate(Call(function=name, args=tuple(Literal_(value=argument) for argument in arguments)), {})


# --- lists ---


@given(st.lists(st.integers(), min_size=1))
def test_a_list_is_its_items_without_the_last_and_the_last(items: list[int]) -> None:
    assert [*call("without_last", items), call("last", items)] == items
    assert call("nth", items, 0) == call("first", items) == items[0]


@pytest.mark.parametrize(("name", "more"), [("first", ()), ("last", ()), ("nth", (0,)), ("nth", (-1,))])
def test_an_item_that_there_is_not_is_an_error(name: str, more: tuple[int, ...]) -> None:
    with pytest.raises(Undefined, match="no item"):
        call(name, [], *more)


def test_a_position_below_0_is_no_item() -> None:
    with pytest.raises(Undefined, match="no item"):
        call("nth", ["a"], -1)


@given(st.lists(st.frozensets(st.sampled_from("abc"))), st.lists(st.one_of(st.none(), st.sampled_from("abc"))))
def test_distinct_items_are_in_order_and_differ(columns: list[frozenset[str]], more: list[str | None]) -> None:
    found = call("distinct", columns, more)
    assert found == sorted({item for column in columns for item in column} | {item for item in more if item})


def test_a_value_has_the_rank_that_its_choice_gives_it() -> None:
    assert call("rank", "b", ("c", "b")) == 1
    with pytest.raises(Undefined, match="not in the order"):
        call("rank", "x", ("c", "b"))


def test_a_missing_value_is_replaced_and_an_empty_one_is_not() -> None:
    assert (call("default", None, "x"), call("default", "", "x"), call("default", False, True)) == ("x", "", False)


# --- agreement and likeness ---

AGREEMENT = ("precision", "recall", "f1", "jaccard", "overlap")
SYMMETRIC = ("f1", "jaccard", "overlap")
ALIKE: dict[str, float] = {"bleu": 100, "chrf": 100, "rouge": 1, "edit_similarity": 1, "similarity": 1}


@pytest.mark.parametrize("name", AGREEMENT)
@given(a=NAMES, b=NAMES)
def test_agreement_lies_between_0_and_1(name: str, a: list[str], b: list[str]) -> None:
    assert 0 <= call(name, a, b) <= 1
    assert call(name, a, a) == 1


@pytest.mark.parametrize("name", SYMMETRIC)
@given(a=NAMES, b=NAMES)
def test_agreement_is_symmetric(name: str, a: list[str], b: list[str]) -> None:
    assert call(name, a, b) == call(name, b, a)


@given(NAMES, NAMES)
def test_precision_one_way_is_recall_the_other(a: list[str], b: list[str]) -> None:
    assert call("precision", a, b) == call("recall", b, a)


@given(st.sets(st.sampled_from("abcdef")), st.sets(st.sampled_from("abcdef")))
def test_sets_and_lists_without_repeats_agree_alike(a: set[str], b: set[str]) -> None:
    for name in AGREEMENT:
        assert call(name, a, b) == call(name, list(a), sorted(b)) == call(name, frozenset(a), b)


@pytest.mark.parametrize("name", AGREEMENT)
def test_an_empty_answer_agrees_with_nothing_but_another(name: str) -> None:
    assert (call(name, [], []), call(name, [], ["a"]), call(name, ["a"], [])) == (1, 0, 0)


def test_an_item_that_a_list_has_twice_counts_twice() -> None:
    assert call("precision", ["a", "a"], ["a"]) == 0.5
    assert call("f1", ["the", "cat", "the"], ["the", "cat"]) == 0.8


@pytest.mark.parametrize(("name", "most"), ALIKE.items())
@given(a=TEXTS, b=TEXTS)
def test_likeness_lies_between_none_and_all(name: str, most: float, a: str, b: str) -> None:
    assert 0 <= call(name, a, b) <= most


@pytest.mark.parametrize(("name", "most"), ALIKE.items())
@pytest.mark.parametrize("text", ["the cat sat on the mat", "我喜欢数学。", "x", "", "!!!", "中"])
def test_a_text_is_wholly_like_itself(name: str, most: float, text: str) -> None:
    assert call(name, text, text) == most


@pytest.mark.parametrize("name", ALIKE)
def test_an_empty_text_is_like_no_other(name: str) -> None:
    assert (call(name, "", "word"), call(name, "word", "")) == (0, 0)


@pytest.mark.parametrize("name", ["rouge", "edit_similarity", "similarity"])
@given(a=TEXTS, b=TEXTS)
def test_likeness_is_symmetric(name: str, a: str, b: str) -> None:
    assert call(name, a, b) == call(name, b, a)


@pytest.mark.parametrize("name", ["bleu", "chrf", "rouge"])
def test_the_best_of_several_references_counts(name: str) -> None:
    one, other = "the cat sat on the mat", "a dog lay on the rug"
    assert call(name, one, [other, one]) == call(name, one, {one, other}) == call(name, one, one)
    with pytest.raises(Undefined, match="no reference"):
        call(name, one, [])


def test_the_scores_of_the_libraries_are_theirs() -> None:
    from sacrebleu import sentence_bleu, sentence_chrf

    a, b = "The cat, sat on a mat.", "The cat sat on the mat."
    assert call("bleu", a, b) == sentence_bleu(a, [b]).score
    assert call("chrf", a, b) == sentence_chrf(a, [b]).score
    chinese = "一元二次方程的解法", "二元一次方程的解法"
    assert call("bleu", *chinese) == sentence_bleu(chinese[0], [chinese[1]], tokenize="zh").score


def test_rouge_of_the_example_in_its_paper() -> None:
    """Lin (2004), section 3.1: police killed the gunman; both candidates share words, one of them their order."""
    reference = "police killed the gunman"
    assert call("rouge", "police kill the gunman", reference) == 0.75
    assert call("rouge", "the gunman kill police", reference) == 0.5


def test_bleu_of_chinese_is_not_that_of_one_long_word() -> None:
    assert call("bleu", "我很喜欢学习数学。", "我喜欢学习数学。") > 50
    assert call("rouge", "我喜欢学数学", "我喜欢教数学") == 10 / 12


def test_bleu_keeps_no_texts() -> None:
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    call("bleu", "the cat", "the dog")
    assert TokenizerRegexp.__call__.cache_info().currsize == 0


@given(TEXTS, TEXTS)
def test_bm25_grows_with_each_further_occurrence_but_less(query: str, document: str) -> None:
    once, twice, thrice = (call("bm25", query, " ".join([document] * times)) for times in (1, 2, 3))
    assert 0 <= once <= twice <= thrice
    assert twice - once >= thrice - twice or math.isclose(twice - once, thrice - twice)


# --- dialogues and trees ---

TALK = [{"speaker": "teacher", "text": "Why?"}, {"speaker": "student", "text": "{{ x }}"}]


def test_turns_of_a_dialogue() -> None:
    assert call("turns", TALK) == 2
    assert call("speaker_turns", TALK, "Teacher") == TALK[:1]
    assert call("transcript", TALK) == "teacher: Why?\nstudent: {{ x }}"
    assert call("transcript", []) == ""


TREE = Tree({"Algebra": {"Sets": {"Unions": {}}, "Groups": {}}, "Logic": {}})


def test_leaves_are_paths_in_the_order_of_the_tree() -> None:
    assert call("leaves", TREE) == ["Algebra / Sets / Unions", "Algebra / Groups", "Logic"]
    assert call("leaves", Tree({})) == []


def test_a_very_deep_tree_has_leaves() -> None:
    tree: dict[str, Any] = {}
    for _ in range(5000):
        tree = {"down": tree}
    assert call("depth", call("leaves", Tree(tree))[0]) == 5000


@given(st.lists(st.text("abc ", min_size=1, max_size=3).map(lambda name: f"x{name}x"), min_size=1, max_size=4))
def test_a_path_is_its_parent_and_its_leaf(names: list[str]) -> None:
    path = Path(" / ".join(names))
    above = call("parent", path)
    assert call("leaf", path) == names[-1]
    assert call("depth", path) == len(names) == 1 + (call("depth", above) if above is not None else 0)


def test_examples_are_those_of_the_points() -> None:
    rows = [
        {"point": "Algebra / Sets", "level": "basic", "task": "Is 1 in N?", "hint": None},
        {"point": "Logic", "level": "basic", "task": "?", "hint": "!"},
    ]
    assert call("examples_for", ["Logic"], rows, at="point", fields=("task", "hint")) == ["?\n!"]
    assert call("examples_for", rows[0]["point"].splitlines(), rows, "point", ("task", "hint")) == ["Is 1 in N?"]
    assert call("examples_for", [], rows, "point", ("task",)) == []


@given(items=st.lists(st.sampled_from(["b", "a", "ä", "C", "10", "9"])), dice=st.randoms())
def test_different_items_say_nothing_of_the_order_in_which_they_stood(items: list[str], dice: Random) -> None:
    other = list(items)
    dice.shuffle(other)
    assert call("distinct", items) == call("distinct", other) == sorted(set(items))
