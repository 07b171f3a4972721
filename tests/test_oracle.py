"""Measures as they are worked out in plain Python, apart from Tripos: `oracle.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lengths import sized
from tests.oracle import differences


@pytest.mark.parametrize("seed", range(sized(2, 16)))  # replies to the second are any JSON
def test_every_figure_is_that_of_a_naive_evaluation(seed: int, tmp_path: Path) -> None:
    count, found = differences(seed, tmp_path)
    assert count > 0
    assert found == []
