"""A reply says the same whatever its options are called: if the names change places, the answer changes with them.

So no letter and no word is read in a way of its own, as `A` is an article, `one` a pronoun and `two` a number of
things. What names are in sentences otherwise is no answer, and a correction counts whatever is corrected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

from hypothesis import example, given, settings, strategies as st

from tests.each import each
from tests.lengths import sized
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.plan import BoolType, ChoiceType, IntegerType, NumberType, Type
from tripos_runtime.reading.typed import read

LETTERS = ("A", "B", "C", "D")
OPTIONS = ["red", "blue", "green", "grey"]
VERDICTS = (("one", "two", "tie"), ("first", "second", "tie"), ("alpha", "beta", "tie"), ("left", "right", "tie"))
HEDGES = (
    "could be right",
    "may be correct",
    "might work",
    "would fit",
    "both fit",
    "could both be right",
    "seem plausible",
)
OF_TWO = (
    "Both {0} and {1} {hedge}.", "Either {0} or {1} {hedge}.", "{0} and {1} {hedge}.", "{0} or {1} {hedge}.",
    "Options {0} and {1} {hedge}.", "I think that {0} and {1} {hedge}.", "{0} as well as {1} {hedge}.",
)  # fmt: skip
SENTENCES = (
    "{0} is right, {1} is not.", "Not {0} but {1}.", "The answer is {0}, not {1}.", "{0} is better than {1}.",
    "{0} beats {1}.", "I prefer {0} to {1}.", "{0} is wrong. The answer is {1}.", "{0}, because {1} is wrong.",
    "Between {0} and {1}, {0} is better.", "{0} is no better than {1}.", "I would choose {0} over {1}.",
    "Answer: {0}. Wait, {1}.", "Neither {0} nor {1}.", "It is {0} or {1}.", "{0} should be preferred to {1}.",
    "{0} could be right, but {1} is right.", "{0} would be my choice.", "Answer: {0}", "{0} must be right.",
)  # fmt: skip
"""Sentences about two options."""


def chosen(text: str) -> str | None:
    value: str | None = FUNCTIONS["chosen_option"].python(text, OPTIONS)
    return value


def named(names: Sequence[str]) -> Callable[[str], str | None]:
    return lambda text: read(ChoiceType(values=tuple(names)), text).value


@settings(max_examples=sized(200, 5_000), deadline=None)
@given(
    st.sampled_from([text.replace("{hedge}", hedge) for text in OF_TWO for hedge in HEDGES] + list(SENTENCES)),
    st.sampled_from([*permutations(LETTERS, 2)]),
    st.sampled_from([*permutations(LETTERS, 2)]),
)
@example("Both {0} and {1} could be right.", ("C", "A"), ("C", "D"))
def test_letters_that_change_places_change_the_choice(
    sentence: str, letters: tuple[str, str], others: tuple[str, str]
) -> None:
    moved = dict(zip(letters, others, strict=True))
    for reader in (chosen, named(LETTERS)):
        here, there = reader(sentence.format(*letters)), reader(sentence.format(*others))
        assert there == (None if here is None else moved.get(here, here)), (sentence, letters, others, here, there)


@each("sentence", [text.replace("{hedge}", hedge) for text in OF_TWO for hedge in HEDGES])
def test_two_letters_that_are_as_good_as_each_other_are_no_choice(sentence: str) -> None:
    for letters in permutations(LETTERS, 2):
        assert chosen(sentence.format(*letters)) is None, sentence.format(*letters)
        assert named(LETTERS)(sentence.format(*letters)) is None, sentence.format(*letters)


NOT_ONE = (
    "The {} one is better.", "I prefer the {} one.", "The {} one wins.", "I would take the {} one.",
    "The {} one is clearer and shorter.", "Better: the {} one.", "The {} one has fewer mistakes.",
)  # fmt: skip
WHICH = ("second", "first", "other", "latter", "shorter", "longer", "clearer", "more detailed", "right", "last")
OTHERWISE = {
    "one": (
        "This one is better.", "That one is worse.", "Each one is fine.", "No one wins.", "Another one would be better.",
        "One of them is better.", "One of the texts is clearer.", "One might say that it is clear.", "Which one is better?",
        "One could argue both ways.", "Of the two, one is clearer.", "Between the two, one is clearer.",
        *(sentence.format(which) for sentence in NOT_ONE for which in WHICH),
    ),
    "two": (
        "There are two reasons for this: it is clear and short.", "There are two differences.", "The two are equal.",
        "Between the two texts there is little.", "These two texts are alike.", "It has two mistakes.", "I see two errors.",
        "The two texts differ little.", "Both of the two are clear.", "My two points: it is clear, and it is short.",
    ),
    "first": (
        "First, both are clear. Second, both are short.", "At first glance they are equal.", "At first I was unsure.",
        "First, they are long. Then, they are vague.", "The first sentence of each is good.",
    ),
    "second": ("It takes a second to read.", "In the second paragraph there is a mistake.", "On second thought, no idea."),
}  # fmt: skip
"""Sentences that have a name as another word, and choose nothing."""
OF_NAMES = [(names, text) for names in VERDICTS for name in names for text in OTHERWISE.get(name, ())]


@each("names, text", OF_NAMES)
def test_a_name_that_is_another_word_chooses_nothing(names: tuple[str, ...], text: str) -> None:
    if set(names) & {"first", "second"} and any(f"the {which} one" in text.lower() for which in ("first", "second")):
        return
    assert named(names)(text) is None


@settings(max_examples=sized(200, 5_000), deadline=None)
@given(
    st.sampled_from(OF_NAMES),
    st.sampled_from(("Verdict: {}", "So my verdict is {}.", "**{}**", "I choose {}.", "Winner: {}")),
    st.data(),
)
def test_a_verdict_behind_other_words_is_read(
    said: tuple[tuple[str, ...], str], form: str, data: st.DataObject
) -> None:
    names, text = said
    name = data.draw(st.sampled_from(names))
    assert named(names)(f"{text}\n\n{form.format(name)}") == name


@each("names, noun", [(("first", "second", "tie"), noun) for noun in ("one", "reply", "text", "answer", "response")])
def test_an_ordinal_is_read_with_its_noun(names: tuple[str, ...], noun: str) -> None:
    for name in names[:2]:
        for sentence in ("The {} {} is better.", "I prefer the {} {}.", "The {} {} wins."):
            assert named(names)(sentence.format(name, noun)) == name


PARTS = (
    "It is {} in detail, but {} overall.", "It is {} in style, and {} on the whole.", "The style is {}. It is {} overall.",
    "It is {} at the start, yet {} on balance.", "Its grammar is {}, but it is {} overall.",
)  # fmt: skip
LEVELS = (("good", "fair", "poor"), ("high", "medium", "low"), ("correct", "incorrect"), ("alpha", "beta", "tie"))


@each("parts", PARTS)
def test_the_verdict_on_the_whole_goes_before_one_on_a_part(parts: str) -> None:
    for names in LEVELS:
        for part, whole in permutations(names, 2):
            assert named(names)(parts.format(part, whole)) == whole, parts.format(part, whole)
            assert named(names)(parts.format(part, f"not {part}")) != part, parts.format(part, f"not {part}")


# Corrections

CUES = (
    "Wait, {}.", "... wait, {}.", "Wait, no: {}.", "Actually, {}.", "Sorry, I meant {}.", "I mean {}.", "Edit: {}.",
    "Correction: {}.", "On second thought, {}.", "Scratch that: {}.", "Let me re-read. {}.", "Hold on, {}.",
)  # fmt: skip
ANSWERS: tuple[tuple[Type, tuple[tuple[str, object], ...]], ...] = (
    (BoolType(), (("yes", True), ("no", False))),
    (BoolType(), (("true", True), ("false", False))),
    (ChoiceType(values=LETTERS), tuple((letter, letter) for letter in LETTERS)),
    (ChoiceType(values=("high", "low")), (("high", "high"), ("low", "low"))),
    (ChoiceType(values=VERDICTS[0]), (("one", "one"), ("two", "two"))),
    (NumberType(), (("12", 12), ("48", 48))),
    (IntegerType(low=1, high=5), (("2", 2), ("4", 4))),
)
"""Types of answers, each with words and what they say."""
FIRST = ("{}.", "Answer: {}.", "The answer is {}.", "**{}**.")


@settings(max_examples=sized(300, 20_000), deadline=None)
@given(st.sampled_from(ANSWERS), st.sampled_from(FIRST), st.sampled_from(CUES), st.data())
def test_an_answer_that_is_retracted_is_never_read(
    answers: tuple[Type, tuple[tuple[str, object], ...]], form: str, cue: str, data: st.DataObject
) -> None:
    type_, words = answers
    (first, retracted), (second, meant) = data.draw(st.sampled_from([*permutations(words, 2)]))
    first = first if form.startswith(("A", "T")) else first.capitalize()
    text = f"{form.format(first)} {cue.format(second.capitalize() if cue.startswith('Let') else second)}"
    value = read(type_, text).value
    assert value in (meant, None) and value != retracted, (text, value)
    if isinstance(type_, BoolType):
        assert value is meant, text
        assert FUNCTIONS["is_yes"].python(text) is meant, text
