"""HealthBench by simple-evals: the metrics of every conversation, and the clipped means of themes and axes."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from tests.gallery.originals.health_bench import asked, is_met, rows
from tests.gallery.playing import facts_of, play, verdicts_of

FILE = "2025-05-07-06-14-12_oss_eval.jsonl"


def test_metrics_are_those_of_the_original(tmp_path: Path) -> None:
    *lines, means = verdicts_of("health_bench")
    judged: list[str] = []

    def judge(messages: list[str]) -> str:
        judged.append(asked(messages[-1]))
        assert "\nassistant: A reply.\n" in messages[-1]
        return json.dumps({"explanation": "It is so.", "criteria_met": is_met(judged[-1])})

    figures = play(tmp_path, "health_bench", {FILE: rows()}, lambda _: "A reply.", {"judge": judge})
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for score in figures.scores:
        row = score.fields
        if score.metric == "overall":
            assert score.value is not None
            found[row["prompt_id"]]["overall_score"] = score.value
        elif score.value is not None:
            tags = (
                sorted({t for c in row["rubrics"] for t in c["tags"]})
                if score.metric == "of_tag"
                else row["example_tags"]
            )
            found[row["prompt_id"]][tags[int(score.element_place or 0)]] = score.value
    apart = facts_of("health_bench").apart
    assert {each["prompt_id"] for each in lines} == set(found)
    for each in lines:
        assert found[each["prompt_id"]] == pytest.approx(each["metrics"], abs=apart)
    assert len(judged) == len(set(judged)) == facts_of("health_bench").replies
    assert figures["overall"].value == pytest.approx(means.pop("overall_score"), abs=apart)
    assert figures.by("by_theme") | figures.by("by_axis") == pytest.approx(means, abs=apart)
    assert 0.0 in means.values()  # one is clipped
