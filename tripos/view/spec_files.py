"""The spec of a run as its text was, with the lines of every declaration, and the figures of its measures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.plan import Plan
from tripos_compiler.source import Block, Entry, Name, Source
from tripos_compiler.syntax import parse

DECLARING = frozenset(
    ("measure", "metric", "scenario", "axis", "arm", "role", "scorer", "dataset", "dimension", "allocate", "export")
)
"""The statements that a page leads to."""


def spec_file(plan: Plan, kept: str | None) -> dict[str, Any]:
    """Return the file of a spec: `files`, `places` (of each declaration its kind, name, file and lines), `measures`.
    Of a run that kept no text, such as an older one, the first two are empty."""
    files = [each for each in orjson.loads(kept or "[]") if each["text"] is not None]
    missing = [each["path"] for each in orjson.loads(kept or "[]") if each["text"] is None]
    return {
        "files": files,
        "missing": missing,
        "places": [place for each in files for place in _places(each["path"], each["text"])],
        "measures": [measure.model_dump(mode="json") for measure in plan.measures],
    }


def _places(path: str, text: str) -> Iterator[dict[str, Any]]:
    """Yield the declarations of a file. What the parser cannot read, of a newer language, is left out."""
    source = Source(path, text)
    for entry, within in _entries(parse(source, Diagnostics()), ""):
        match entry.elements:
            case (Name(text=kind), Name(text=name), *_) if kind in DECLARING:
                first, _ = source.position(entry.span.start)
                last, _ = source.position(max(entry.span.start, entry.span.end - 1))
                yield {"kind": kind, "name": f"{within}{name}", "path": path, "from": first, "to": last}


def _entries(block: Block, within: str) -> Iterator[tuple[Entry, str]]:
    """Yield every statement, and what the names that it declares begin with."""
    for entry in block.entries():
        yield entry, within
        if entry.block is not None:
            match entry.elements:
                case (Name(text="scenario"), Name(text=name), *_):
                    yield from _entries(entry.block, f"{name}.")
                case (Name(text="dimension"), *_):
                    yield from _entries(entry.block, within)
