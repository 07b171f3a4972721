"""Workers on one bucket that are killed at random instants, on machines of which some lose their disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bucket.killing import bucket_scene, kill_workers


@pytest.mark.long
def test_killed_workers_ask_nothing_again_that_was_uploaded_and_leave_the_tables_of_a_run_in_peace(
    tmp_path: Path,
) -> None:
    with bucket_scene(tmp_path, machines=2, rows=8, faults=0.3, seed=1) as ready:
        done = kill_workers(ready, "killed", seed=1, kills=6)
    # Where the work ends early there is nobody left to kill.
    assert 0 < done.kills <= 6
    assert done.complaints == []
