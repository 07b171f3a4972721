"""Near-duplicates: found whatever the script, confirmed by the true overlap, none invented."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st

from tests.lengths import sized
from tripos_compiler.language.near_duplicates import (
    NEAR_DUPLICATE_OVERLAP,
    NearTexts,
    RunIndex,
    jaccard_overlap,
    runs_of,
)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Ann has 12 apples and gives 5 of them to Ben.", "ann has 12 apples — and gives 5 of them to Ben!"),
        (
            "Ann has 12 apples and gives 5 of them to Ben. How many are left?",
            "Ann has 12 apples and gives 5 of them to Tom. How many are left?",
        ),
        ("小明有十二个苹果，给了小红五个，他还剩下几个苹果？", "小明有十二个苹果，给了小红五个。他还剩下几个苹果"),
    ],
)
def test_a_text_that_hardly_differs_is_found(one: str, two: str) -> None:
    kept = NearTexts[str]()
    kept.add("it", one)
    assert kept.find(two) is not None


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("What is the capital of France?", "What is the capital of Norway, and how large is it?"),
        ("请解释光合作用的过程。", "请解释牛顿第二定律的含义。"),
    ],
)
def test_another_question_is_not_taken_for_it(one: str, two: str) -> None:
    kept = NearTexts[str]()
    kept.add("it", one)
    assert kept.find(two) is None


def test_the_most_similar_is_named_and_of_equals_the_first() -> None:
    kept = NearTexts[str]()
    kept.add("far", "a bolt of lightning is far hotter than the surface of our sun")
    kept.add("same", "A bolt of lightning is hotter than the surface of our sun.")
    kept.add("twin", "a bolt of lightning is hotter than the surface of our sun")
    assert kept.find("A bolt of lightning is hotter than the surface of our sun!") == ("same", 1.0)


def test_texts_without_letters_are_like_no_other() -> None:
    kept = NearTexts[str]()
    kept.add("none", "—!?")
    assert kept.find("…") is None


@settings(deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_whatever_is_found_is_as_alike_as_it_must_be(one: str, two: str) -> None:
    kept = NearTexts[int]()
    kept.add(1, one)
    found = kept.find(two)
    if found is not None:
        assert found[1] == jaccard_overlap(runs_of(one), runs_of(two)) >= NEAR_DUPLICATE_OVERLAP
    if runs_of(one) == runs_of(two) and runs_of(one):
        assert found == (1, 1.0)


def test_few_that_are_alike_are_missed_among_many() -> None:
    draw = random.Random(3)
    words = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(2, 9))) for _ in range(500)]
    texts = [draw.choices(words, k=30) for _ in range(400)]
    kept = NearTexts[int]()
    for place, text in enumerate(texts):
        kept.add(place, " ".join(text))
    changed = [" ".join([*text[:10], "other", *text[11:]]) for text in texts]
    alike = [
        place
        for place, text in enumerate(texts)
        if jaccard_overlap(runs_of(" ".join(text)), runs_of(changed[place])) >= 0.8
    ]
    assert len(alike) > 300
    assert [place for place in alike if kept.find(changed[place]) is None] == []


@pytest.mark.parametrize("letters", ["abcdefgh", "天地玄黄宇宙洪荒日月", "ab\U0001f130\U0001f131ñ\ud800"])
def test_among_many_the_overlap_is_the_true_one(letters: str) -> None:
    draw = random.Random(5)
    texts = ["".join(draw.choices(letters, k=draw.randint(1, 80))) for _ in range(120)]
    kept = NearTexts[int](0.5)
    for place, text in enumerate(texts):
        kept.add(place, text)
    changed = [text[:-1] + draw.choice(letters) for text in texts]
    found = [(text, place, shared) for text in changed for place, shared in kept.all_like(text)]
    assert len(found) >= 60
    assert all(shared == jaccard_overlap(runs_of(text), runs_of(texts[place])) for text, place, shared in found)


LETTERS = "abcdefgh这道题考查的是函数"


def drawn_texts(dice: random.Random) -> list[str]:
    """Return texts of which some are changed copies of others."""
    texts = ["".join(dice.choices(LETTERS, k=dice.randrange(3, 80))) for _ in range(20)]
    for text in dice.sample(texts, 10):
        letters = list(text)
        for _ in range(dice.randrange(1, 4)):
            letters[dice.randrange(len(letters))] = dice.choice(LETTERS)
        texts.append("".join(letters))
    return texts


def test_the_shortcut_passes_over_no_match() -> None:
    for seed in range(sized(10, 100)):
        dice = random.Random(seed)
        texts = drawn_texts(dice)
        index, without = RunIndex(0.7), RunIndex(0.7)
        without._occupied[:] = True
        found: list[list[tuple[int, float]]] = []
        for text in texts:
            found.append(list(index.like(text)))
            assert found[-1] == list(without.like(text))
            index.add(text)
            without.add(text)
        assert any(found), seed
