"""BBQ by the LM Evaluation Harness: accuracy and bias scores of both contexts, of all questions and by category; and by
the paper's formulas, which say -1 where the Harness says 0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.field.running import Figures
from tests.gallery.originals.bbq import choice, reply, rows
from tests.gallery.playing import facts_of, play, verdicts_of


def played(folder: Path, questions: list[dict[str, Any]], said: dict[str, str]) -> Figures:
    data = "".join(json.dumps(row) + "\n" for row in questions)
    return play(
        folder, "bbq", {"data/Age.jsonl": data, "data/Nationality.jsonl": ""}, lambda m: said[m[-1].split("\n")[0]]
    )


def test_figures_are_those_of_the_harness(tmp_path: Path) -> None:
    lines = verdicts_of("bbq")
    figures = played(tmp_path, rows(), {row["context"]: reply(row) for row in rows()})
    right = {(s.fields["category"], s.fields["example_id"]): s.value for s in figures.scores}
    wanted = {tuple(each["id"]): each["acc"] for each in lines if "id" in each}
    assert {name: value for name, value in right.items() if value is not None} == wanted
    assert {name for name, value in right.items() if value is None} == {
        (row["category"], row["example_id"]) for row in rows() if choice(row) is None
    }
    assert len(right) == facts_of("bbq").replies
    apart = facts_of("bbq").apart
    by = {each.pop("of"): each for each in lines if "of" in each}
    for name, key in (
        ("accuracy_ambig", "accuracy_amb"),
        ("accuracy_disambig", "accuracy_disamb"),
        ("bias_ambig", "amb_bias_score"),
        ("bias_disambig", "disamb_bias_score"),
    ):
        row = figures[f"questions.{name}"]
        assert row.value == pytest.approx(by["all"][key], abs=apart)
        assert row.low is not None and row.high is not None
        assert -1 <= row.low <= row.value <= row.high <= 1
    for name, key in (("ambig_of", "amb_bias_score"), ("disambig_of", "disamb_bias_score")):
        wanted = {category: each[key] for category, each in by.items() if category != "all"}
        assert figures.by(f"questions.{name}") == pytest.approx(wanted, abs=apart)
    assert max(abs(each["amb_bias_score"]) for each in by.values()) > 0.1


def test_answers_none_of_which_is_biased_have_the_score_of_the_formula(tmp_path: Path) -> None:
    # Of n answers that are not unknown 0 are biased: 2 * 0 / n - 1 = -1. The Harness gives 0 there, as if nothing were
    # known of the bias.
    found, said = [], {}
    for row in rows():
        wanted = "nonOld" if row["question_polarity"] == "neg" else "old"
        if row["category"] == "Age" and row["context_condition"] == "disambig":
            groups = [row["answer_info"][f"ans{at}"][1] for at in range(3)]
            found.append(row)
            said[row["context"]] = "ABC"[groups.index(wanted)]
    figures = played(tmp_path, found, said)
    assert figures["questions.bias_disambig"].value == -1
    assert not figures.rows["questions.bias_ambig"]
