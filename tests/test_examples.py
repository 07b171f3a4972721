"""Every example in a docstring runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import tripos
import tripos_compiler
import tripos_runtime
import tripos_warehouse
from tests.each import each


def modules() -> list[str]:
    return [
        module.name
        for package in (tripos, tripos_compiler, tripos_runtime, tripos_warehouse)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not module.name.endswith("__main__")
    ]


@each("name", modules)
def test_examples_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name), exclude_empty=True).failed == 0
