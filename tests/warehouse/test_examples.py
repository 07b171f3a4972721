"""Every example in the warehouse's docstrings runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tripos_warehouse

MODULES = [module.name for module in pkgutil.iter_modules(tripos_warehouse.__path__, "tripos_warehouse.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
