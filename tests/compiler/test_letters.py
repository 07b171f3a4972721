"""Every letter that `lettered` prints is read again, and no word that looks like one."""

from __future__ import annotations

import string
from time import process_time

import pytest
from hypothesis import given, strategies as st

from tests.each import each
from tests.lengths import spread
from tripos_compiler.library.functions.answers import choice_letters
from tripos_compiler.library.functions.multiple_choice import chosen_option, option_letters
from tripos_compiler.library.functions.texts import lettered, letters_for, numbered
from tripos_compiler.library.signature import Undefined

REPLIES = (
    *(
        "{}", "{}.", "({})", "（{}）", "**{}**", "【{}】", "{}. {text}", "{}) {text}", "Option {}", "Answer: {}",
        "ANSWER = {}",
    ),
    *(
        "The answer is {}.",
        "The correct option is {}.",
        "The correct answer is ({}).",
        "**Answer:** {}",
        r"\boxed{{{}}}",
    ),
    *("I think the answer is {}.", "I chose {}.", "I choose {} because it fits.", "I would go with {}.", "I'd pick {}"),
    *(
        "As an AI, I believe the answer is {}",
        "I believe option {} is correct.",
        "{} is correct.",
        "{} because it fits",
    ),
    *("After some thought I went through them all.\n\n{}", "I am sure: it is {}.", "I, too, think that it is {}."),
    *(
        "During World War I many things changed. The answer is {}.",
        "答案是{}。",
        "答案：{}",
        "故选{}。",
        "应选{}",
        "本题选 {}",
    ),
    *("正确选项为{}", '{{"answer": "{}"}}', "我认为{}项符合题意", "<b>Answer</b>: {}", "It's {}, I'm sure."),
    *("I don't know much about it, but I'd say {}.", "I considered them. I've decided: {}", "{}, because it fits."),
)  # fmt: skip
WRITTEN = [form for form in REPLIES if form != "{}, because it fits."]


def texts_of(count: int) -> list[str]:
    return [f"text number {place}" for place in range(1, count + 1)]


@pytest.mark.parametrize("form", spread(REPLIES, 20))
@given(count=st.integers(2, 60), place=st.integers(0, 59))
def test_the_letter_of_an_option_is_read_as_it_was_printed(form: str, count: int, place: int) -> None:
    options = texts_of(count)
    place %= count
    letter = lettered(options).splitlines()[place].partition(". ")[0]
    assert chosen_option(form.format(letter, text=options[place]), options) == letter


MARKS = ("{}. ", "{}) ", "({}) ", "{}: ", "[{}] ", "{}、", "（{}）", "{}\t")


@pytest.mark.parametrize("mark", MARKS)
@given(count=st.integers(2, 60), place=st.integers(0, 59), letters=st.sampled_from(["", "甲乙丙丁", "abcd"]))
def test_an_option_that_is_repeated_as_it_was_shown_is_that_option(
    mark: str, count: int, place: int, letters: str
) -> None:
    options = texts_of(min(count, len(letters) or count))
    place %= len(options)
    lines = lettered(options, letters, mark).splitlines()
    letter = letters_for(options, letters)[place]
    assert lines[place] == mark.replace("{}", letter) + options[place]
    assert chosen_option(lines[place], options, letters) == letter
    assert chosen_option(mark.format(letter).strip(), options, letters) == letter


@pytest.mark.parametrize("mark", ["", "A) ", "{}{} ", "{ } ", "{} or {}: "])
def test_a_mark_without_one_place_for_the_letter_lays_out_nothing(mark: str) -> None:
    for layout in (lettered, numbered):
        with pytest.raises(Undefined, match="once"):
            layout(["a", "b"], mark=mark)


@each("letter", string.ascii_uppercase)
@each(
    "form",
    ["{}", "{}.", "**{}**", "({})", "答案：{}", "答案是{}。\n理由：略", "故选{}。", "Answer: {}", "The answer is {}."],
)
def test_every_letter_is_one_of_an_exam(form: str, letter: str) -> None:
    assert option_letters(form.format(letter)) == [letter]
    assert choice_letters(form.format(letter)) == {letter}


@given(
    st.sets(st.sampled_from(string.ascii_uppercase), min_size=1, max_size=6),
    st.sampled_from(["、", ", ", " and ", "和"]),
)
def test_several_letters_are_read_as_they_were_written(letters: set[str], sign: str) -> None:
    written = sign.join(sorted(letters))
    assert option_letters(f"答案：{written}") == sorted(letters)
    assert option_letters([written]) == sorted(letters)
    assert choice_letters(written) == letters


def test_the_answers_to_several_questions_may_have_any_letter() -> None:
    assert option_letters("1. J 2. I 3. A", 3) == ["J", "I", "A"]
    assert option_letters("J I K", 3) == ["J", "I", "K"]


@pytest.mark.parametrize(
    "text",
    [
        "I think so.", "I'm not sure", "i do not know", "I, too, am at a loss", "DNA", "OK", "AI", "N/A", "NO",
        "It is so", "ATP 合成",
    ],
)  # fmt: skip
def test_a_word_that_looks_like_a_letter_chooses_nothing(text: str) -> None:
    assert chosen_option(text, texts_of(10)) is None
    assert option_letters(text) == []


@pytest.mark.parametrize("reply", ["The answer is I or J.", "答案是I、J", "答案是K", "I and J", "not I", "不选J"])
def test_what_is_left_open_among_ten_is_no_choice(reply: str) -> None:
    assert chosen_option(reply, texts_of(10)) is None


@pytest.mark.parametrize(
    ("reply", "letter"), [("I think I.", "I"), ("I say it is I", "I"), ("i", "I"), ("answer: j", "J")]
)
def test_the_pronoun_and_the_letter_stand_side_by_side(reply: str, letter: str) -> None:
    assert chosen_option(reply, texts_of(10)) == letter


@pytest.mark.parametrize(("letters", "last"), [("甲", "甲" * 9), ("ab", "aba"), ("", "I")])
def test_no_list_of_options_is_longer_than_the_letters(letters: str, last: str) -> None:
    lines = lettered([str(number) for number in range(9)], letters).splitlines()
    assert len({line.split(". ")[0] for line in lines}) == 9
    assert lines[-1] == f"{last}. 8"


LISTED = ("{}. {text}", "({}) {text}", "{}) {text}", "{} ({text})")
OPTION_TEXTS = ("red wine", "a decrease in price", "12 apples", "蓝色", "T cells", "the lungs")
LEADS = ("", "Answer: ", "The correct answers are ", "Correct answers:\n", "答案：")


@given(
    st.sets(st.integers(0, 7), min_size=1, max_size=4).map(sorted),
    st.permutations(OPTION_TEXTS),
    st.sampled_from(LISTED),
    st.sampled_from(("; ", ", ", " and ", "、", "\n", "\n- ")),
    st.sampled_from(LEADS),
    st.sampled_from(("", "\n\nExplanation: H is wrong.", "\n\nA. this is incorrect.")),
)
def test_every_option_of_a_list_with_texts_is_read_or_none(
    chosen: list[int], texts: list[str], form: str, separator: str, lead: str, rest: str
) -> None:
    listed = [form.format("ABCDEFGH"[place], text=text) for place, text in zip(chosen, texts, strict=False)]
    if separator.startswith("\n") and lead and not lead.endswith("\n"):
        lead = f"{lead.strip()}\n"  # a list of lines begins a line of its own
    begin = "- " if separator == "\n- " else ""
    wanted = ["ABCDEFGH"[place] for place in chosen]
    assert option_letters(f"{lead}{begin}{separator.join(listed)}{rest}") in (wanted, [])


def test_an_endless_list_of_options_is_read_in_time() -> None:
    began = process_time()
    option_letters("A. x; " * 8000)
    assert process_time() - began < 20  # it took 100 seconds once
