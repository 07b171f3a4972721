"""Results of promptfoo, drawn in the form that 0.123.1 writes: providers, repeats and prompts keep apart what they
are."""

from __future__ import annotations

import json
import math
from itertools import groupby, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.conftest import Command
from tests.lengths import sized


def results_of(draw: Any, providers: list[str], prompts: list[str], tests: int, repeats: int) -> dict[str, Any]:
    """Return results as promptfoo numbers them: `promptIdx` is a provider with a prompt, and every repeat of a test has
    a `testIdx` of its own. Rows stand in the order in which they ended."""
    columns = [(provider, prompt) for provider in providers for prompt in prompts]
    passed = [0] * len(columns)
    rows = []
    for test, repeat in product(range(tests), range(repeats)):
        for column, (provider, prompt) in enumerate(columns):
            good = draw(st.booleans())
            passed[column] += good
            case = {"vars": {"q": test // 2}, "assert": [{"type": "equals", "value": str(test)}], "options": {}}
            rows.append(
                {
                    "promptIdx": column,
                    "testIdx": test * repeats + repeat,
                    "testCase": case,
                    "provider": {"id": provider, "label": ""},
                    "prompt": {"raw": prompt.replace("{{q}}", str(test // 2)), "label": prompt},
                    "response": {"output": f"{column} {test} {repeat}"},
                    "success": good,
                    "score": float(good),
                    "gradingResult": {"componentResults": []},
                }
            )
    told = [
        {
            "provider": provider,
            "raw": prompt,
            "label": prompt,
            "metrics": {
                "testPassCount": passed[column],
                "testFailCount": tests * repeats - passed[column],
                "testErrorCount": 0,
                "score": float(passed[column]),
            },
        }
        for column, (provider, prompt) in enumerate(columns)
    ]
    rows = draw(st.permutations(rows))
    return {"evalId": "e", "results": {"version": 3, "prompts": told, "results": rows}, "config": {}}


@settings(deadline=None, max_examples=sized(2, 40), suppress_health_check=list(HealthCheck))
@given(drawn=st.data())
def test_every_provider_has_its_figures_and_repeats_are_samples_of_one_item(
    tmp_path_factory: pytest.TempPathFactory, tripos: Command, drawn: st.DataObject
) -> None:
    providers = drawn.draw(st.lists(st.sampled_from(["a/x", "a/y"]), min_size=1, max_size=3))
    prompts = ["Add {{q}}.", "Say {{q}}?"][: drawn.draw(st.integers(1, 2))]
    tests, repeats = drawn.draw(st.integers(2, 4)), drawn.draw(st.integers(1, 3))
    told = results_of(drawn.draw, providers, prompts, tests, repeats)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("promptfoo"))
        Path("r.json").write_text(json.dumps(told), "utf-8")
        outcome = tripos("import", "logs", "r.json", "--json")
        assert outcome.code == 0, outcome.err
        names = [f"{name}:{seen}" if (seen := providers[:at].count(name) + 1) > 1 else name
                 for at, name in enumerate(providers)]  # fmt: skip
        assert [log["models"] for log in outcome.data["logs"]] == [[name] for name in dict.fromkeys(names)]
        for log in outcome.data["logs"]:
            assert all(figure["same"] for figure in log["figures"])
            assert (log["items"], log["samples"]) == (tests * len(prompts), tests * len(prompts) * repeats)
            mine = names.index(log["models"][0])
            scores = sorted(
                (json.dumps([row["testCase"], row["prompt"]]), float(row["success"]))
                for row in told["results"]["results"]
                if row["promptIdx"] // len(prompts) == mine
            )
            mean = sum(value for _, value in scores) / len(scores)
            of_items = [sum(v - mean for _, v in some) for _, some in groupby(scores, key=lambda each: each[0])]
            error = math.sqrt(sum(each**2 for each in of_items) * len(of_items) / (len(of_items) - 1)) / len(scores)
            report = tripos("report", log["run_id"], "--json").data
            (cell,) = next(each for each in report["measures"] if each["name"] == "promptfoo.pass")["rows"]
            assert (cell["value"], cell["items"], cell["n"]) == (pytest.approx(mean), len(of_items), len(scores))
            if error:
                assert cell["standard_error"] == pytest.approx(error)
