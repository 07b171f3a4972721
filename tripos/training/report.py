"""`training.json`: what a model was trained on, how, on what, and what came of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tripos_warehouse.exports.files import beside, write_lines

NAME, DATA = "training.json", "data.jsonl"
"""What stands beside a model in its folder: the report, and the data where they were exported for it."""
BESIDE = frozenset((NAME, DATA, beside(Path(DATA)).name))


def write_report(folder: Path, report: Mapping[str, Any]) -> Path:
    """Writes the report into the model's folder, and says where. Raises `StoreError` S0604 where the disk refuses."""
    write_lines(folder / NAME, [json.dumps(report, ensure_ascii=False, indent=2).encode()])
    return folder / NAME


def digest_of(path: Path) -> str:
    """The SHA-256 of a model: of a file, or of the names and bytes of all files of a folder but `BESIDE`.

    A model that was trained is named by it: the same digest is the same weights, tokenizer and template.
    """
    if path.is_file():
        return _sha256(path)
    whole = hashlib.sha256()
    for file in sorted(each for each in path.rglob("*") if each.is_file() and each.name not in BESIDE):
        whole.update(f"{file.relative_to(path).as_posix()}\0{_sha256(file)}\n".encode())
    return whole.hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
