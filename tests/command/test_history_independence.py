"""The figures of a run do not depend on what happened in its store before (`tests/bench/history.py` is the long form)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.histories import History
from tests.lengths import sized


@pytest.mark.parametrize("seed", (5, 10)[: sized(1, 2)])
def test_a_run_shows_after_any_history_what_it_shows_in_a_fresh_store(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path, seed)
    assert not history.differences(), history.told
