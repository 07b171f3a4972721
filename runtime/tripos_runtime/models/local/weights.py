"""The digests of model files: taken once, and again when a file was changed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path

import orjson

NAME = "weights.json"


def weights_digest(path: Path, cache: Path | None = None) -> str:
    """Return the SHA-256 of a file. What it came to is remembered, by path, size and time of change, in a folder of the
    user's (`cache`); where that cannot be written it is taken again."""
    path, folder = path.resolve(), cache or _cache()
    told = path.stat()
    stamp = [told.st_size, told.st_mtime_ns]
    known = _read(folder / NAME)
    if (found := known.get(str(path))) is not None and found[:2] == stamp:
        return str(found[2])
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with contextlib.suppress(OSError):
        _write(folder / NAME, {**known, str(path): [*stamp, digest]})
    return digest


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tripos"


def _read(path: Path) -> Mapping[str, list[object]]:
    try:
        found = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    well = isinstance(found, dict) and all(isinstance(each, list) and len(each) == 3 for each in found.values())
    return found if well else {}


def _write(path: Path, content: Mapping[str, list[object]]) -> None:
    """Put the file in place whole: another process may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        json.dump(content, file)
    Path(file.name).replace(path)


KEY = b"tokenizer.chat_template"
TEXT = 8
"""The type of a text in GGUF."""
SEARCHED = 64 * 2**20
"""So many bytes at the beginning of a model file have what it says of itself; its vocabulary is among them."""


def template_of(path: Path) -> str | None:
    """Return the template of a chat in a GGUF file; None where it has none."""
    head = struct.pack("<Q", len(KEY)) + KEY + struct.pack("<I", TEXT)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = content.find(head, 0, SEARCHED)
        if found < 0:
            return None
        begin = found + len(head)
        (size,) = struct.unpack("<Q", content[begin : begin + 8])
        return content[begin + 8 : begin + 8 + size].decode("utf-8", "replace") or None
