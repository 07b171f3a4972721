"""Imports point one way."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {
    "tripos": ROOT / "tripos",
    "tripos_compiler": ROOT / "compiler/tripos_compiler",
    "tripos_runtime": ROOT / "runtime/tripos_runtime",
    "tripos_warehouse": ROOT / "warehouse/tripos_warehouse",
}
SHARED = ("tripos_compiler.plan", "tripos_compiler.semantics", "tripos_compiler.data", "tripos_compiler.diagnostics")
"""What the other legs may see of the compiler: the plan, what it means, the shape of a data reader, did-you-mean."""
ALLOWED = {
    "tripos": tuple(PACKAGES),
    "tripos_compiler": ("tripos_compiler",),
    "tripos_runtime": ("tripos_runtime", *SHARED),
    "tripos_warehouse": (
        *("tripos_warehouse", "tripos_compiler.plan"),
        *("tripos_compiler.semantics.families", "tripos_compiler.semantics.near", "tripos_compiler.semantics.names"),
        *("tripos_compiler.semantics.subsets", "tripos_compiler.semantics.conversations"),
        *("tripos_compiler.semantics.headlines", "tripos_compiler.semantics.versions"),
        *("tripos_compiler.semantics.scored", "tripos_compiler.semantics.ranges"),
        "tripos_compiler.semantics.selection",
    ),
}


def imported(path: Path) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
    return {module for module in modules if module.split(".")[0] in PACKAGES}


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_point_one_way(package: str) -> None:
    files = sorted(PACKAGES[package].rglob("*.py"))
    assert files
    wrong = {
        f"{path.relative_to(ROOT)} imports {module}"
        for path in files
        for module in imported(path)
        if not any(module == allowed or module.startswith(allowed + ".") for allowed in ALLOWED[package])
    }
    assert not wrong


def test_only_one_package_knows_litellm() -> None:
    users = {
        path.relative_to(ROOT).parts[:3]
        for package in PACKAGES.values()
        for path in package.rglob("*.py")
        if "import litellm" in path.read_text("utf-8")
    }
    assert users == {("runtime", "tripos_runtime", "models")}
