"""Minimum, calls made, maximum: of generated benchmarks, by scenario, step and role, of the plan and of the forecast.

`python -m tests.bench.plan_exactness` is the long form.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.generated_specs import SCORERS, _Writer
from tests.lengths import spread
from tests.plan_exactness import check

SEEDS = (*range(12), 52, 98, 187, 198)
"""The last are those that once were wrong."""


@pytest.mark.parametrize("seed", spread(SEEDS, 4))
def test_a_run_makes_no_fewer_and_no_more_calls_than_the_plan_and_the_forecast_say(seed: int, tmp_path: Path) -> None:
    checked = check(seed, tmp_path)
    assert checked.wrong == []
    assert checked.exact > 0


@pytest.mark.parametrize("seed", spread((1, 3, 8), 1))
def test_judges_that_are_asked_several_times_are_counted(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in SCORERS.items():
        monkeypatch.setitem(SCORERS, name, f"{text.removesuffix('}')}, samples 3 }}")
    checked = check(seed, tmp_path)
    assert checked.wrong == []
    assert "samples 3 }" in next(tmp_path.rglob("s.tripos")).read_text("utf-8")


@pytest.mark.parametrize("seed", spread((1001, 1007, 1009, 1016, 1018), 1))
def test_replies_of_any_json_are_counted(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Writer, "any_json", 1.0)
    checked = check(seed, tmp_path)
    assert checked.wrong == []
    assert "    returns json" in next(tmp_path.rglob("s.tripos")).read_text("utf-8")


@pytest.mark.parametrize("seed", spread((9, 3, 5, 14, 18, 22, 31, 38), 1))
def test_asks_of_several_turns_are_counted(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Writer, "continues", 0.7)
    checked = check(seed, tmp_path)
    assert checked.wrong == []
    spec = next(tmp_path.rglob("s.tripos")).read_text("utf-8")
    assert "    continue ask" in spec or "    prompts " in spec


@pytest.mark.parametrize("seed", spread((27, 3, 31), 1))
def test_what_a_cascade_escalates_lies_between_the_ends_of_the_forecast(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mentions = _Writer._mentions
    monkeypatch.setattr(_Writer, "_mentions", lambda own, body, role: role == "helper" or mentions(own, body, role))
    for name in ("good", "level"):
        text = SCORERS[name].replace("by judge {", "by judge then helper when unsure {")
        monkeypatch.setitem(SCORERS, name, f"{text.removesuffix('}')}, samples 3, unsure below 0.9 }}")
    checked = check(seed, tmp_path)
    assert checked.wrong == []
    assert "then helper" in next(tmp_path.rglob("s.tripos")).read_text("utf-8")


@pytest.mark.parametrize("seed", spread((301, 302, 303, 306, 308, 313, 314, 315, 316, 317, 318, 320), 3))
def test_judges_of_elements_and_values_of_data_sets_are_counted(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Writer, "elements", 0.8)
    checked = check(seed, tmp_path)
    assert checked.wrong == []
    spec = next(tmp_path.rglob("s.tripos")).read_text("utf-8")
    assert " each option in " in spec
