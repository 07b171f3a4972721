"""HellaSwag: the texts that are weighed and both scores are those of lm-eval."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.gallery.playing import facts_of, play, verdicts_of
from tripos_compiler.plan import OptionLikelihood, write_likelihoods


def test_texts_and_scores_are_those_of_lm_eval(tmp_path: Path) -> None:
    said = verdicts_of("hellaswag")
    facts = facts_of("hellaswag")
    assert len(said) == facts.replies
    sent: dict[int, list[str]] = {}

    def answers(messages: list[str]) -> str:
        text, *options = messages
        number = int(re.findall(r"^Task (\d+)", text)[0])
        sent[number] = [text + each for each in options]
        likely = said[number]["logprobs"]
        return write_likelihoods(
            [OptionLikelihood(each, one, 1, False) for each, one in zip(options, likely, strict=True)]
        )

    figures = play(
        tmp_path,
        "hellaswag",
        {"hellaswag_val.jsonl": [each["row"] for each in said]},
        answers,
        models={"mock/scripted": answers},
    )
    # Where a blank stands, behind the text or before an option, is for the model that weighs them.
    assert sent == {number: [each["text"] + one for one in each["options"]] for number, each in enumerate(said)}
    scores = {(score.metric, score.fields["activity_label"]): score.value for score in figures.scores}
    for metric in ("acc", "acc_norm"):
        values = {each["row"]["activity_label"]: each[metric] for each in said}
        assert {name: scores[metric, name] for name in values} == values
        assert figures[metric].value == pytest.approx(sum(values.values()) / len(values), abs=facts.apart)
    assert figures["acc"].value != figures["acc_norm"].value
