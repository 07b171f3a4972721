"""IFEval: every instruction is followed, strictly and loosely, where Google's checkers say so, as lm-eval runs them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.gallery.playing import answered, facts_of, is_answer, play, verdicts_of

WITH_PACKAGES = {
    "language:response_language", "length_constraints:number_sentences", "change_case:capital_word_frequency",
    "change_case:english_capital", "change_case:english_lowercase",
}  # fmt: skip


def needs_packages(each: dict[str, Any]) -> bool:
    return not WITH_PACKAGES.isdisjoint(each["row"]["instruction_id_list"])


def compare(folder: Path, said: list[dict[str, Any]]) -> None:
    replies = {f"Prompt {each['row']['key']}": str(each["reply"]) for each in said}
    figures = play(
        folder, "ifeval", {"input_data.jsonl": [each["row"] for each in said]}, lambda messages: replies[messages[0]]
    )
    scores = {
        (score.metric, score.fields["key"], int(re.findall(r"\d+", score.element_place or "0")[0])): score.value
        for score in figures.scores
    }
    empty = {each["row"]["key"] for each in said if not is_answer(each["reply"])}
    assert all((value is None) == (key in empty) for (_, key, _), value in scores.items())
    said = answered(said)
    for level in ("strict", "loose"):
        for each in said:
            key = each["row"]["key"]
            assert scores[f"prompt_{level}", key, 0] == each[f"prompt_level_{level}"], each
            found = sorted(
                (place, value) for (name, k, place), value in scores.items() if (name, k) == (f"inst_{level}", key)
            )
            assert [value for _, value in found] == each[f"inst_level_{level}"], each
        whole = [each[f"prompt_level_{level}"] for each in said]
        flat = [value for each in said for value in each[f"inst_level_{level}"]]
        apart = facts_of("ifeval").apart
        assert figures[f"prompt_{level}"].value == pytest.approx(sum(whole) / len(whole), abs=apart)
        assert figures[f"inst_{level}"].value == pytest.approx(sum(flat) / len(flat), abs=apart)


def test_twenty_instructions_are_followed_where_the_original_says_so(tmp_path: Path) -> None:
    said = verdicts_of("ifeval")
    assert len(said) == facts_of("ifeval").replies
    compare(tmp_path, [each for each in said if not needs_packages(each)])


def test_the_five_that_need_packages_are_too(tmp_path: Path) -> None:
    pytest.importorskip("langdetect")
    nltk = pytest.importorskip("nltk")
    try:
        nltk.data.find("tokenizers/punkt_tab")
    except LookupError:
        pytest.skip("the English model of nltk is not here")
    compare(tmp_path, [each for each in verdicts_of("ifeval") if needs_packages(each)])
