"""The direction of a score, higher or lower is better, goes out with every form and comes in again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.conftest import Command
from tests.lengths import sized

SPEC = """benchmark ways "1.0.0" {{ languages en }}
role candidate compared
dataset item from "items.jsonl" {{ question text, answer text secret }}
{}"""
SCENARIO = """scenario {0} {{
  over item
  ask reply by candidate {{ prompt "{0} {{{{ item.question }}}}" }}
  score right = contains(reply.text, item.answer)
  score long  = words(reply.text)
  measure right = mean(right){1}
  measure long  = mean(long){2}
}}
"""
LOWER = " lower is better"


@pytest.mark.parametrize("kind", ["inspect", "lm-eval", "eee"])
@settings(deadline=None, max_examples=sized(2, 12), suppress_health_check=list(HealthCheck))
@given(ways=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=2))
def test_a_score_keeps_its_direction(
    tmp_path_factory: pytest.TempPathFactory, tripos: Command, kind: str, ways: list[tuple[bool, bool]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("ways"))
        scenarios = [SCENARIO.format(f"s{at}", *(LOWER * lower for lower in way)) for at, way in enumerate(ways)]
        Path("ways.tripos").write_text(SPEC.format("\n".join(scenarios)), "utf-8")
        Path("items.jsonl").write_text(
            '{"question": "a?", "answer": "a"}\n{"question": "b?", "answer": "b"}\n', "utf-8"
        )
        assert tripos("run", "ways.tripos", "--model", "mock/careful").code == 0
        words = ["--organization", "us"] if kind == "eee" else []
        assert tripos("export", kind, "-o", "out", "--secrets", *words).code == 0
        outcome = tripos("import", "logs", "out", "--name", "back", "--store", "back", "--json")
        assert outcome.code == 0, outcome.err
        told = tripos("report", "--store", "back", "--json").data["measures"]
        found = {each["name"].removeprefix("ways_"): each["lower_is_better"] for each in told}
        expected = {f"s{at}.{name}": lower for at, way in enumerate(ways) for name, lower in zip(("right", "long"), way, strict=True)}  # fmt: skip
        assert {name: found.get(name) for name in expected} == expected
        if kind == "eee":
            lines = [json.loads(line) for each in Path("out").rglob("*_samples.jsonl") for line in each.open()]
            of_right = {(each["evaluation"]["score"], each["evaluation"]["is_correct"], each["evaluation_name"])
                        for each in lines if each["evaluation_name"].endswith("/right")}  # fmt: skip
            assert all(best == (score == (0.0 if expected[f"{name.split('/')[1]}.right"] else 1.0)) for score, best, name in of_right)  # fmt: skip
