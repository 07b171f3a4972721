"""A release that may be changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """A copy, which can be written, of the release that a module made."""
    folder = tmp_path / made.name
    shutil.copytree(made, folder)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder
