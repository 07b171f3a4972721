"""Minimum, calls made, maximum: of generated benchmarks, by scenario, step and role, of the plan and of the forecast.

`python -m tests.bench.plan_exactness` is the long form.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lengths import spread
from tests.plan_exactness import check

SEEDS = (*range(12), 52, 98, 187, 198)
"""The last are those that once were wrong."""


@pytest.mark.parametrize("seed", spread(SEEDS, 8))
def test_a_run_makes_no_fewer_and_no_more_calls_than_the_plan_and_the_forecast_say(seed: int, tmp_path: Path) -> None:
    checked = check(seed, tmp_path)
    assert checked.wrong == []
    assert checked.exact > 0
