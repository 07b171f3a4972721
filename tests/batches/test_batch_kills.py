"""A run by batches that is killed at any instant submits no request twice and forgets none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.batches.batch_server import batch_serving
from tests.batches.kills import prove

pytestmark = pytest.mark.long


def test_kills_between_submission_and_collection_cost_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    with batch_serving(0.2) as server:
        tally = prove(tmp_path, server, kills=12, seed=1, most=6)
    assert not tally.complaints, "\n".join(tally.complaints[:10])
    assert tally.kills == 12
