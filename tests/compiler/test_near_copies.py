"""Texts that are nearly word for word one of many: what is found is what comparing all with all finds."""

from __future__ import annotations

import random

import pytest

from tests.lengths import sized
from tripos_compiler.language.near_duplicates import (
    LONG,
    NEAR_COPY_OVERLAP,
    NearCopies,
    jaccard_overlap,
    letters_and_digits,
    runs_of,
)

WORDS = ["".join(random.Random(n).choices("abcdefgh函数线性", k=5)) for n in range(80)]


@pytest.mark.parametrize("count", [10, 150])
@pytest.mark.parametrize("seed", range(sized(1, 3)))
def test_all_that_is_near_is_found_and_nothing_else(count: int, seed: int) -> None:
    draw = random.Random(seed)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(4, 40))) for _ in range(count)]
    kept = NearCopies[int]()
    for place, text in enumerate(texts):
        kept.add(place, text)
    found = missed = 0
    for text in texts:
        words = text.split(" ")
        for _ in range(draw.randint(0, 2)):
            words[draw.randrange(len(words))] = draw.choice(WORDS)
        asked = " ".join(words).upper()
        near = {
            place
            for place, other in enumerate(texts)
            if letters_and_digits(other) == letters_and_digits(asked)
            or (
                len(letters_and_digits(asked)) >= LONG
                and jaccard_overlap(runs_of(asked), runs_of(other)) >= NEAR_COPY_OVERLAP
            )
        }
        answer = set(kept.like(asked))
        assert answer <= near
        found, missed = found + len(answer), missed + len(near - answer)
    assert found > 0
    assert missed <= found / 50
