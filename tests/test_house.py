"""The house: few entries a folder, short files, and one class of a name."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEGS = ("compiler/tripos_compiler", "runtime/tripos_runtime", "warehouse/tripos_warehouse", "tripos")
MOST_ENTRIES = 12
MOST_LINES = 400
MODULES = sorted(
    path.relative_to(ROOT)
    for leg in LEGS
    for path in (ROOT / leg).rglob("*.py")
    if not {"site", "handbook"} & {*path.relative_to(ROOT / leg).parts}
)


def test_a_folder_has_few_entries() -> None:
    """Modules and rooms count; the faces of a package, `__init__` and `__main__`, do not."""
    entries: Counter[Path] = Counter()
    for path in MODULES:
        if path.name == "__init__.py":
            entries[path.parent.parent] += 1
        elif path.name != "__main__.py":
            entries[path.parent] += 1
    assert len(entries) > 60
    assert {str(folder): count for folder, count in entries.items() if count > MOST_ENTRIES} == {}


def test_a_file_is_short() -> None:
    lines = {str(path): len((ROOT / path).read_text("utf-8").splitlines()) for path in MODULES}
    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}


def test_no_two_classes_have_one_name() -> None:
    homes: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.parse((ROOT / path).read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(str(path))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}
