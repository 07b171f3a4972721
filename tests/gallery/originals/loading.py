"""Helpers of the scripts that run an original's scorer, and store its verdicts for the tests."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

VERDICTS = Path(__file__).parents[1] / "verdicts"


def functions_of(source: str, names: Iterable[str], scope: Mapping[str, Any]) -> dict[str, Any]:
    """Return functions and constants of a module by name without what else it imports and runs; `scope` has the modules
    they use."""
    wanted = set(names)
    body = [each for each in ast.parse(source).body if _names(each) & wanted]
    space = dict(scope)
    exec(compile(ast.Module(body, []), "original", "exec"), space)
    return {name: space[name] for name in wanted}


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.Assign):
        return {each.id for each in node.targets if isinstance(each, ast.Name)}
    return {node.name} if isinstance(node, ast.FunctionDef | ast.ClassDef) else set()


def store(name: str, lines: Iterable[Mapping[str, Any]]) -> None:
    """Store rows, replies and verdicts, a line each."""
    VERDICTS.mkdir(exist_ok=True)
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (VERDICTS / f"{name}.jsonl").write_text(text, "utf-8")
    print(f"{name}: {len(text.encode()):,} bytes")
