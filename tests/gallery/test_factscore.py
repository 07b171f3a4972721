"""FActScore by its own class: every decision on a fact, the score of each biography, and the four figures."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.gallery.originals.factscore import facts, is_true, people, sentences
from tests.gallery.playing import facts_of, play, verdicts_of


def test_scores_are_those_of_the_original(tmp_path: Path) -> None:
    *lines, original = verdicts_of("factscore")

    def splitter(messages: list[str]) -> str:
        (sentence,) = re.findall(r"a short sentence: (.*)", messages[-1], re.DOTALL)[:1]
        return json.dumps({"facts": facts(sentence.partition("\n\n")[0])})

    def judge(messages: list[str]) -> str:
        assert "Title: Ann" in messages[-1]
        return json.dumps({"value": is_true(messages[-1].split("Input: ")[1].split(" True or False?")[0])})

    rows = [{"topic": name, "passages": [f"Fact of {name}.", "Nothing."]} for name in people()]
    figures = play(
        tmp_path,
        "factscore",
        {"people.jsonl": rows},
        lambda messages: " ".join(sentences(re.findall(r"bio of (.*)\.", messages[-1])[0])),
        {"splitter": splitter, "judge": judge},
    )
    apart = facts_of("factscore").apart
    supported: dict[str, dict[int, bool]] = {}
    found: dict[str, dict[str, float]] = {"factscore": {}, "precision": {}}
    for score in figures.scores:
        topic = score.fields["topic"]
        if score.metric == "true" and score.value is not None:
            supported.setdefault(topic, {})[int(score.element_place or 0)] = bool(score.value)
        elif score.metric in found and score.value is not None:
            found[score.metric][topic] = score.value
    assert supported == {each["topic"]: dict(enumerate(each["supported"])) for each in lines}
    assert sum(map(len, supported.values())) == facts_of("factscore").replies
    assert found["factscore"] == pytest.approx({each["topic"]: each["score"] for each in lines}, abs=apart)
    assert found["precision"] == pytest.approx({each["topic"]: each["init_score"] for each in lines}, abs=apart)
    for name, key in (
        ("factscore", "score"),
        ("precision", "init_score"),
        ("respond_ratio", "respond_ratio"),
        ("biographies.facts_per_response", "num_facts_per_response"),
    ):
        assert figures[name].value == pytest.approx(original[key], abs=apart), name
