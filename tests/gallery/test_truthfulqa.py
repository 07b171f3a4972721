"""TruthfulQA: MC1 and MC2 are those of lm-eval, given the same likelihoods."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from tests.gallery.playing import facts_of, play, verdicts_of
from tripos_compiler.plan import OptionLikelihood, write_likelihoods


def test_both_scores_are_those_of_lm_eval(tmp_path: Path) -> None:
    said = verdicts_of("truthfulqa")
    facts = facts_of("truthfulqa")
    assert len(said) * 2 == facts.replies

    def answers(messages: list[str]) -> str:
        text, *options = messages
        number = int(re.findall(r"Question (\d+)", text)[0])
        row = said[number]["row"]
        task = "mc1" if options == row["mc1_targets"]["choices"] else "mc2"
        assert options == row[f"{task}_targets"]["choices"]
        *examples, asked = text.split("\n\n")
        assert asked == said[number][f"{task}_text"] + " ", "the blank before the answer"
        assert len(examples) == said[number]["examples"]
        likely = said[number][f"{task}_logprobs"]
        return write_likelihoods(
            [OptionLikelihood(each, one, 1, False) for each, one in zip(options, likely, strict=True)]
        )

    rows = [each["row"] for each in said]
    figures = play(tmp_path, "truthfulqa", {"validation.jsonl": rows}, answers, models={"mock/scripted": answers})
    scores = {(score.metric, score.fields["question"]): score.value for score in figures.scores}
    wanted = {"mc1": [each["mc1"] for each in said], "mc2": [each["mc2"] for each in said]}
    # Where all answers are very unlikely, lm-eval divides 0 by 0, and its figure is no number.
    odd = [number for number, value in enumerate(wanted["mc2"]) if value is None]
    assert len(odd) == 1
    for number in odd:
        likely, labels = said[number]["mc2_logprobs"], said[number]["row"]["mc2_targets"]["labels"]
        shares = [math.exp(each - max(likely)) for each in likely]
        true = sum(share for share, label in zip(shares, labels, strict=True) if label)
        wanted["mc2"][number] = true / sum(shares)
    for metric, values in wanted.items():
        found = [scores[metric, row["question"]] for row in rows]
        assert found == pytest.approx(values, abs=facts.apart)
        assert figures[metric].value == pytest.approx(sum(values) / len(values), abs=facts.apart)
