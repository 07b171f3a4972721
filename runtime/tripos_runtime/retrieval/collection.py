"""The corpus of a step: the elements of its source, with the texts and indexes of them that were asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tripos_compiler.language import DATA, TREES, Unavailable, evaluate
from tripos_compiler.plan import Expr, written
from tripos_compiler.source import dataclass
from tripos_runtime.datasets import places_by_value
from tripos_runtime.retrieval.indexes import INDEXES, TextIndex, VectorIndex, name_of

WORTH_KEEPING = 2_000
"""An index of fewer texts is made again sooner than it is found and read."""


class IndexStore(Protocol):
    """Keeps indexes by their names, for the runs that follow."""

    def get(self, name: str) -> bytes | None:
        """Return what was kept under a name; None where nothing was, or it cannot be read."""
        ...

    def put(self, name: str, kept: bytes) -> None:
        """Keep something under a name. Whatever goes wrong is nobody's loss."""
        ...


@dataclass
class Collection:
    """The elements of a source in its order, each known as `alias`."""

    elements: Sequence[Any]
    alias: str
    shelf: IndexStore | None = None
    vectors: dict[str, VectorIndex] = field(default_factory=dict)
    """The vectors of its texts, by the model that embeds and the expression of the text."""
    _texts: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    _absent: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    _indexes: dict[tuple[str, str], TextIndex] = field(default_factory=dict)
    _places: dict[str, dict[Any, list[int]] | None] = field(default_factory=dict)

    def texts(self, expr: Expr, names: Mapping[str, Any]) -> tuple[str | None, ...]:
        """Return the text of every element that an expression of the element alone gives; None where it gives none."""
        key = written(expr).model_dump_json()
        if key not in self._texts:
            found = self._values(expr, names)
            self._texts[key] = tuple(value if isinstance(value, str) else None for value in found)
        return self._texts[key]

    def absent(self, expr: Expr, names: Mapping[str, Any]) -> npt.NDArray[np.int64]:
        """Return the places of the elements that have no such text."""
        key = written(expr).model_dump_json()
        if key not in self._absent:
            lacking = [place for place, text in enumerate(self.texts(expr, names)) if text is None]
            self._absent[key] = np.asarray(lacking, np.int64)
        return self._absent[key]

    def index(self, kind: str, expr: Expr, names: Mapping[str, Any]) -> TextIndex:
        """Return the index of those texts, made or taken from the shelf when it is first asked for."""
        key = (kind, written(expr).model_dump_json())
        if key not in self._indexes:
            self._indexes[key] = self._made(kind, [text or "" for text in self.texts(expr, names)])
        return self._indexes[key]

    def places(self, expr: Expr, value: Any, names: Mapping[str, Any]) -> list[int] | None:
        """Return the places of the elements of which an expression has this value; None where that cannot be looked
        up."""
        key = written(expr).model_dump_json()
        if key not in self._places:
            self._places[key] = places_by_value(self._values(expr, names))
        known = self._places[key]
        return None if known is None or isinstance(value, list | dict | set | frozenset) else known.get(value, [])

    def _values(self, expr: Expr, names: Mapping[str, Any]) -> list[Any]:
        seen = {DATA: names.get(DATA), TREES: names.get(TREES)}
        found: list[Any] = []
        for element in self.elements:
            seen[self.alias] = element
            try:
                found.append(evaluate(expr, seen))
            except Unavailable:
                found.append(None)
        return found

    def _made(self, kind: str, texts: Sequence[str]) -> TextIndex:
        maker = INDEXES[kind]
        if self.shelf is None or len(texts) < WORTH_KEEPING:
            return maker.of(texts)
        name = f"{kind}-{name_of(kind, texts)}"
        kept = self.shelf.get(name)
        if kept is not None:
            try:
                return maker.from_bytes(kept)
            except ValueError:
                pass  # damaged: it is made again
        made = maker.of(texts)
        self.shelf.put(name, made.to_bytes())
        return made
