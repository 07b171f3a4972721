"""The sources of the product, each read and parsed once in a process: many files of tests search all of them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEGS = ("compiler/tripos_compiler", "runtime/tripos_runtime", "warehouse/tripos_warehouse", "tripos")


@cache
def modules(*folders: str) -> tuple[Path, ...]:
    """Return the modules in folders of the repository, of all legs by default."""
    return tuple(path for folder in folders or LEGS for path in sorted((ROOT / folder).rglob("*.py")))


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a module. No test may change it."""
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a module, in the order of `ast.walk`."""
    return tuple(ast.walk(tree_of(path)))


def name_of(path: Path) -> str:
    """Return the path of a module from the root."""
    return path.relative_to(ROOT).as_posix()
