"""Fixtures of runs on a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kills.work import Work


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A benchmark of two scenarios, in the current folder."""
    Work(tmp_path / "work", rows=12).write()
    monkeypatch.chdir(tmp_path)
    return "work/kills.tripos"
