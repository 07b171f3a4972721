"""Snippets of statements, made from their signatures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from tripos_compiler.constructs.signature import STRING_SLOTS, Item, Maybe, Slot, Word
from tripos_compiler.constructs.table import Construct

FILLINGS = {"VERSION": "1.0.0", "COUNT": "1", "NUMBER": "0", "RANGE": "1..5", "TYPE": "text", "LANGUAGES": "en"}
"""What stands in a slot until it is typed over; in any other its own name."""


def snippet_of(construct: Construct) -> str:
    """A statement with a place to fill for every slot that it must have.

    >>> from tripos_compiler.constructs.table import CONSTRUCTS
    >>> snippet_of(next(each for each in CONSTRUCTS if each.name == "tree"))
    'tree ${1:name} from "${2:path}"'
    """
    numbers = count(1)
    written = " ".join(_parts(construct.shape.items, numbers))
    return written + (" {\n\t$0\n}" if construct.shape.block == "required" else "")


def _parts(items: Sequence[Item], numbers: count[int]) -> list[str]:
    parts: list[str] = []
    for item in items:
        match item:
            case Word(texts=texts):
                parts.append(texts[0] if len(texts) == 1 else f"${{{next(numbers)}|{','.join(texts)}|}}")
            case Slot(kind=kind):
                filling = FILLINGS.get(kind, kind.lower())
                field = f"${{{next(numbers)}:{filling if kind != 'LABELS' else 'text'}}}"
                parts.append(f'"{field}"' if kind in STRING_SLOTS or kind == "LABELS" else field)
            case Maybe():
                pass
    return parts
