"""Every example in a docstring runs."""

from __future__ import annotations

import doctest
import importlib
import linecache
from collections.abc import Iterator
from pathlib import Path

import pytest

import tripos
import tripos_compiler
import tripos_runtime
import tripos_warehouse
from tests.each import each


def modules() -> Iterator[str]:
    """Yield the modules that have examples."""
    for package in (tripos, tripos_compiler, tripos_runtime, tripos_warehouse):
        root = Path(package.__path__[0])
        for path in sorted(root.rglob("*.py")):
            if ">>> " in path.read_text("utf-8"):
                parts = path.relative_to(root.parent).with_suffix("").parts
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@each("name", modules)
def test_examples_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Before each example, doctest would look at every source that was ever read.
    monkeypatch.setattr(linecache, "checkcache", lambda filename=None: None)
    assert doctest.testmod(importlib.import_module(name), exclude_empty=True).failed == 0
