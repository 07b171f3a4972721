"""GPQA: the letter that is read is that of simple-evals, and the key follows the options into every order."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.gallery.playing import answered, facts_of, is_answer, play, table_of, verdicts_of


def test_every_score_is_that_of_simple_evals_in_every_order(tmp_path: Path) -> None:
    said = verdicts_of("gpqa")
    facts = facts_of("gpqa")
    assert len(said) == facts.replies
    rows = {each["row"]["Record ID"]: each["row"] for each in said}
    asked: dict[str, list[list[str]]] = defaultdict(list)

    def answers(messages: list[str]) -> str:
        (text,) = messages
        number = int(re.findall(r"Question (\d+)\?", text)[0])
        offered = re.findall(r"^([ABCD])\) (.*)$", text, re.MULTILINE)
        assert [letter for letter, _ in offered] == list("ABCD")
        asked[f"rec{number}"].append([option for _, option in offered])
        return str(said[4 * number + len(asked[f"rec{number}"]) - 1]["reply"])

    figures = play(tmp_path, "gpqa", {"gpqa_diamond.csv": table_of(rows.values())}, answers)
    # The original's rule: the letter that is read is the one at which the right option stood.
    right: dict[str, list[bool]] = defaultdict(list)
    for place, each in enumerate(said):
        name = each["row"]["Record ID"]
        key = "ABCD"[asked[name][place % 4].index(each["row"]["Correct Answer"])]
        if is_answer(each["reply"]):
            right[name].append(each["letter"] == key)
    scored: dict[str, list[bool]] = defaultdict(list)
    for score in figures.scores:
        if score.metric == "right" and score.value is not None:
            scored[score.fields["id"]].append(bool(score.value))
    assert {name: sorted(each) for name, each in scored.items()} == {name: sorted(each) for name, each in right.items()}
    every = [value for each in right.values() for value in each]
    assert figures["accuracy"].value == pytest.approx(sum(every) / len(every), abs=facts.apart)
    assert figures["accuracy"].n == len(every) == len(answered(said))
    read = sum(each["letter"] is not None for each in said) / len(every)
    assert figures["read"].value == pytest.approx(read, abs=facts.apart)
    # Each order is a draw of its own: the right option stands at every letter about as often.
    at = [orders.index(rows[name]["Correct Answer"]) for name, each in asked.items() for orders in each]
    assert all(40 <= at.count(place) <= 80 for place in range(4)), at
    assert sum(len({tuple(order) for order in each}) for each in asked.values()) > 180
