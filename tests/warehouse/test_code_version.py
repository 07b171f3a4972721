"""Kept results of a computation go by the version of the code that computed them."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tripos_warehouse import files

PLACES = ["a.py", "deep/b.py", "deep/deeper/still/c.py", "deep/grammar.lark", "deep/d.json"]


def _later(path: Path) -> None:
    times = path.stat()
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 1))


def _longer(path: Path) -> None:
    times = path.stat()
    path.write_text(path.read_text("utf-8") + "#", "utf-8")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a later time": _later,
    "another size": _longer,
    "another name": lambda path: path.rename(path.with_name(f"other_{path.name}")),
    "a file less": Path.unlink,
    "a file more": lambda path: path.with_name(f"new_{path.name}").write_text("", "utf-8"),
}


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two packages that compute, and one that is named besides."""
    for package in ("computing", "keeping", "showing"):
        for place in PLACES:
            path = tmp_path / package / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(place, "utf-8")
        (tmp_path / package / "__init__.py").write_text("", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(files, "COMPUTES", ("computing", "keeping"))
    return tmp_path


version = files.code_version.__wrapped__


@pytest.mark.parametrize("what", CHANGES)
def test_every_change_of_every_file_is_another_version(packages: Path, what: str) -> None:
    draw = random.Random(what)
    seen = {version("showing")}
    for package in ("computing", "keeping", "showing"):
        for place in draw.sample(PLACES, len(PLACES)):
            assert version("showing") in seen
            CHANGES[what](packages / package / place)
            assert version("showing") not in seen, f"{package}/{place}"
            seen.add(version("showing"))


def test_what_python_leaves_beside_sources_is_no_change(packages: Path) -> None:
    before = version()
    (packages / "computing" / "__pycache__").mkdir(exist_ok=True)
    (packages / "computing" / "__pycache__" / "a.pyc").write_bytes(b"")
    (packages / "showing" / "a.py").write_text("not named", "utf-8")
    assert version() == before


def test_the_compiler_counts_whose_plans_become_queries() -> None:
    assert {"tripos_compiler", "tripos_warehouse"} <= set(files.COMPUTES)
