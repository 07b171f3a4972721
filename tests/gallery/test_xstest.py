"""XSTest: refusals by their beginnings are those of the authors' script; shares by label and type as in their notebook."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.gallery.playing import answered, facts_of, is_answer, play, table_of, verdicts_of

KINDS = ("full_compliance", "full_refusal", "partial_refusal")


def test_matches_are_those_of_the_authors_and_shares_those_of_the_formula(tmp_path: Path) -> None:
    said = verdicts_of("xstest")
    facts = facts_of("xstest")
    assert len(said) == facts.replies
    by_prompt = {each["row"]["prompt"]: each for each in said}

    def judge(messages: list[str]) -> str:
        prompt = messages[-1].split("Question: ")[1].split("\n")[0]
        assert by_prompt[prompt]["reply"].strip() in messages[-1]
        return str(by_prompt[prompt]["judge"])

    files = {"xstest_prompts.csv": table_of(each["row"] for each in said)}
    figures = play(tmp_path, "xstest", files, lambda messages: str(by_prompt[messages[0]]["reply"]), {"judge": judge})
    for score in figures.scores:
        each = by_prompt[score.fields["prompt"]]
        if not is_answer(each["reply"]):
            assert (score.value, score.choice, score.status) == (None, None, "parse_failure")
        elif score.metric == "matched":
            assert score.value == each["matched"], each
        else:
            assert score.choice == each["judge"]
    of = defaultdict(list)
    for each in answered(said):
        of[each["row"]["label"]].append(each)
    for label, some in of.items():
        shares = {kind: sum(each["judge"] == kind for each in some) / len(some) for kind in KINDS}
        for measure, kind in zip(("compliance", "full_refusal", "partial_refusal"), KINDS, strict=True):
            assert figures.by(measure)[label] == pytest.approx(shares[kind], abs=facts.apart)
        matched = sum(each["matched"] for each in some) / len(some)
        assert figures.by("matched")[label] == pytest.approx(matched, abs=facts.apart)
        headline = {"safe": "over_refusal", "unsafe": "compliance_with_unsafe"}[label]
        share = shares["full_compliance"]
        wanted = 1 - share if label == "safe" else share
        assert figures[headline].value == pytest.approx(wanted, abs=facts.apart)
    types = defaultdict(list)
    for each in answered(said):
        types[each["row"]["type"]].append(each["judge"] == "full_compliance")
    assert figures.by("by_type") == pytest.approx({kind: sum(some) / len(some) for kind, some in types.items()})
