"""Tests that would begin too late are left out, and the end of the output says how to run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SMALL = "tests/test_each.py"


def told(**more: str) -> str:
    """Return what a run of a small file of tests prints, with the given variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TESTS_", "PYTEST_"))}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rN", SMALL]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=kept | more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_after_the_minutes_no_test_begins_and_the_end_says_which_are_left() -> None:
    late = told(TESTS_MINUTES="4", TESTS_UNTIL="1")
    assert "had no time within TESTS_MINUTES=4. To run them:" in late
    assert f'make test-long TESTS="{SMALL}"' in late
    assert " skipped in " in late and "passed" not in late


def test_within_the_minutes_every_test_runs() -> None:
    in_time = told(TESTS_MINUTES="60")
    assert " passed in " in in_time and "skipped" not in in_time
    assert "had no time" not in in_time
