"""No name that a reply denies, asks, quotes, compares or only supposes is its answer, whatever the name."""

from __future__ import annotations

import json
import unicodedata
from itertools import permutations, product

from hypothesis import example, given, settings, strategies as st

from tests.each import each
from tests.lengths import sized
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.plan import BoolType, ChoiceType
from tripos_runtime.reading.typed import read

LETTERS = ("A", "B", "C", "D")
ENGLISH = (("correct", "partially correct", "incorrect"), ("high", "medium", "low"), ("comply", "refuse", "partial"))
CHINESE = (("正确", "部分正确", "错误"), ("合格", "不合格", "待定"))
DENYING = (
    "It isn't {}.", "It is not {}.", "This is definitely not {}.", "It can't be {}.", "It cannot be {}.",
    "I would never say {}.", "It is far from {}.", "Anything but {}.", "All except {}.", "I can rule out {}.",
    "I ruled out {}.", "It is hardly {}.", "Neither {} nor anything else.", "It is unlikely to be {}.",
    "I do not think that it is {}.", "It doesn't seem {}.", "I reject {}.", "It fails to be {}.",
)  # fmt: skip
OPEN = (
    "Is it {}?", "Could it be {}?", "I wonder whether it is {}.", "It might be {}.", "It could be {}.", "Perhaps {}.",
    'The text says "it is {} for now", which I cannot judge.', "If it rained, it would be {}.", "Some people say {}.",
    "Many students would answer {}.", "A common mistake: {}.",
)  # fmt: skip
DENYING_BEHIND = ("{} is wrong.", "{} is incorrect.", "{} can be ruled out.", "{} makes no sense.", "{} is worse.")
IN_CHINESE = (
    "不是{}。", "并非{}。", "排除{}。", "未必是{}。", "难以说是{}。", "不应选{}。", "谈不上{}。", "是{}吗？", "是否{}？", "可能是{}。",
)  # fmt: skip
COATS = (
    "{}", "**{}**", "{}\n", "<think>It is settled.</think>\n{}", "First I looked at the text. {}",
    "{} I cannot say more.",
)  # fmt: skip


@st.composite
def framed_letters(draw: st.DrawFn) -> tuple[str, str]:
    letter = draw(st.sampled_from(LETTERS))
    frame = draw(st.sampled_from((*DENYING, *OPEN, *DENYING_BEHIND, *IN_CHINESE)))
    return letter, draw(st.sampled_from(COATS)).format(frame.format(letter))


@st.composite
def framed_names(draw: st.DrawFn) -> tuple[tuple[str, ...], str, str]:
    names = draw(st.sampled_from((*ENGLISH, *CHINESE)))
    name = draw(st.sampled_from(names))
    frames = (*IN_CHINESE, *DENYING[:8]) if names in CHINESE else (*DENYING, *OPEN)
    return names, name, draw(st.sampled_from(COATS)).format(draw(st.sampled_from(frames)).format(name))


@settings(max_examples=sized(150, 20_000), deadline=None)
@given(framed_letters())
@example(("A", "It isn’t A."))
def test_a_letter_in_no_affirmative_frame_is_never_chosen(framed: tuple[str, str]) -> None:
    letter, text = framed
    for reply in (text, text.replace("'", "’"), json.dumps({"answer": text}, ensure_ascii=False)):
        assert read(ChoiceType(values=LETTERS), reply).value != letter, reply
        assert FUNCTIONS["chosen_option"].python(reply, ["red", "blue", "green", "grey"]) != letter, reply
        assert letter not in FUNCTIONS["option_letters"].python(reply), reply


@settings(max_examples=sized(150, 20_000), deadline=None)
@given(framed_names())
def test_a_name_in_no_affirmative_frame_is_never_read(framed: tuple[tuple[str, ...], str, str]) -> None:
    names, name, text = framed
    for reply in (text, text.replace("'", "’"), json.dumps({"value": text}, ensure_ascii=False)):
        assert read(ChoiceType(values=names), reply).value != name, reply


TRUE = ("true", "correct", "right", "正确", "对的")
PLAINLY = ("It isn't {}.", "It is not {}.", "It can't be {}.", "That is never {}.", "不是{}。", "并非{}。")
UNDECIDED = ("It is partly {}.", "It may be {}.", "I am not sure that it is {}.", "未必{}。", "也许{}。", "是{}吗？")


@settings(max_examples=sized(100, 20_000), deadline=None)
@given(st.sampled_from(TRUE), st.sampled_from(PLAINLY), st.sampled_from(COATS[:4]))
def test_a_truth_that_is_denied_is_never_true(word: str, frame: str, coat: str) -> None:
    text = coat.format(frame.format(word))
    for reply in (text, text.replace("'", "’"), unicodedata.normalize("NFD", text)):
        assert read(BoolType(), reply).value in (False, None), reply
        assert FUNCTIONS["is_yes"].python(reply) in (False, None), reply


@settings(max_examples=sized(100, 20_000), deadline=None)
@given(st.sampled_from(TRUE), st.sampled_from(UNDECIDED), st.sampled_from(COATS[:4]))
def test_a_truth_that_is_left_open_is_none(word: str, frame: str, coat: str) -> None:
    text = coat.format(frame.format(word))
    assert read(BoolType(), text).value is None, text
    assert FUNCTIONS["is_yes"].python(text) is None, text


AFFIRMING = (
    "The answer is {}.", "Answer: {}", "I choose {}.", "{}", "({})", "答案是{}。", "故选{}。", "**{}**", "So it is {}.",
)  # fmt: skip


@settings(max_examples=sized(150, 20_000), deadline=None)
@given(st.sampled_from(LETTERS), st.sampled_from(AFFIRMING), st.sampled_from(LETTERS), st.sampled_from(DENYING_BEHIND))
def test_what_is_said_of_another_letter_changes_nothing(letter: str, frame: str, other: str, behind: str) -> None:
    text = f"{frame.format(letter)}\n\nExplanation: {behind.format(other)}"
    assert read(ChoiceType(values=LETTERS), text).value == letter, text
    assert FUNCTIONS["option_letters"].python(text) == [letter], text


EXPLAINING = (
    "Explanation: the correct answer is {}.",
    "Reasons: The answer is {} for others.",
    "解析：答案是{}",
    "解析：选{}",
)


@each("letter, other", list(permutations(LETTERS, 2)))
def test_an_explanation_behind_a_choice_changes_nothing(letter: str, other: str) -> None:
    for frame, explanation in product(("{}", "Sure! {}", "答案 {}"), EXPLAINING):
        text = f"{frame.format(letter)}\n\n{explanation.format(other)}"
        assert FUNCTIONS["chosen_option"].python(text, ["", "", "", ""]) == letter, text
