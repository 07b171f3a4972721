"""Indexes measure as the functions do, and can be written down, kept and read again."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from tripos_compiler.library.functions.similarity import SATURATION, bm25_score, similarity
from tripos_compiler.library.functions.texts import terms_of
from tripos_compiler.plan import Ref
from tripos_runtime.program import retrieval
from tripos_runtime.program.retrieval import Collection, GramIndex, TermIndex, VectorIndex, index_name
from tripos_warehouse.store.derived import INDEX_FOLDER, StoredIndexes

TEXTS = ["二次函数的图象", "光的折射", "The cat sat", "一次函数", "", "cat and dog", "函数 cat"]
QUERIES = ["函数图象", "a cat", "", "折", "xyz"]


@pytest.mark.parametrize("query", QUERIES)
def test_the_index_of_grams_measures_as_the_function_does(query: str) -> None:
    wanted = [similarity(query, text) for text in TEXTS]
    assert GramIndex.of(TEXTS).values(query).tolist() == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("query", QUERIES)
def test_the_index_of_terms_is_bm25_with_the_weights_of_lucene(query: str) -> None:
    terms = [terms_of(text) for text in TEXTS]
    having = {term: sum(term in own for own in terms) for own in terms for term in own}
    average = sum(map(len, terms)) / len(terms)

    def rarity(term: str) -> float:
        return float(np.log(1 + (len(TEXTS) - having[term] + 0.5) / (having[term] + 0.5)))

    asked = [term for term in terms_of(query) if term in having]
    wanted = [bm25_score(asked, own, rarity, average) for own in terms]
    assert TermIndex.of(TEXTS).values(query).tolist() == pytest.approx(wanted, rel=1e-5)


def test_terms_are_added_as_bm25s_adds_them() -> None:
    """To the last bit: the order of equal texts stands on it."""
    dice = Random(7)
    texts = ["".join(dice.choices("一元二次方程函数图象平行四边形 abc", k=dice.randint(0, 30))) for _ in range(200)]
    index, bm25s = TermIndex.of(texts), retrieval._bm25()
    bm25s.scores = index.scores
    for query in texts[:50]:
        known = list(dict.fromkeys(index.vocabulary[term] for term in terms_of(query)))
        wanted = bm25s.get_scores_from_ids(known) * np.float32(SATURATION + 1)
        assert index.values(query).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("kind", [TermIndex, GramIndex])
@pytest.mark.parametrize("texts", [TEXTS, [""], []])
def test_an_index_that_was_written_down_measures_the_same(kind: type[TermIndex], texts: list[str]) -> None:
    index = kind.of(texts)
    again = kind.from_bytes(index.to_bytes())
    assert all(again.values(query).tolist() == index.values(query).tolist() for query in QUERIES)


@pytest.mark.parametrize("kept", [b"", b"PK\x03\x04 half", b"anything"])
def test_what_is_no_index_is_refused(kept: bytes) -> None:
    with pytest.raises(ValueError, match="no index"):
        TermIndex.from_bytes(kept)


def looked_through(root: Path) -> list[float]:
    """Return what a collection over the store's shelf measures."""
    texts = Collection([{"text": text} for text in TEXTS], "x", StoredIndexes(root))
    return texts.index("bm25", Ref(path=("x", "text")), {}).values("函数").tolist()


def test_an_index_is_kept_for_the_next_run_and_made_again_where_it_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrieval, "WORTH_KEEPING", 1)
    first = looked_through(tmp_path)
    (kept,) = (tmp_path / INDEX_FOLDER).iterdir()
    with monkeypatch.context() as without:
        without.setattr(TermIndex, "of", lambda texts: pytest.fail("it was there"))
        assert looked_through(tmp_path) == first
    kept.write_bytes(kept.read_bytes()[:100])
    assert looked_through(tmp_path) == first


def test_a_shelf_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    (tmp_path / INDEX_FOLDER).write_text("a file in its place")
    StoredIndexes(tmp_path).put("bm25-00", b"index")
    assert StoredIndexes(tmp_path).get("bm25-00") is None


def test_a_vector_of_zeros_is_like_no_other() -> None:
    assert VectorIndex.of([[0.0, 0.0], [0.0, 2.0]]).near([0.0, 1.0]).tolist() == [0.0, 1.0]


def test_indexes_of_two_kinds_over_the_same_texts_have_two_names() -> None:
    assert index_name("bm25", ["a"]) != index_name("similarity", ["a"])
