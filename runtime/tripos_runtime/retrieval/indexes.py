"""Indexes of texts: one measure of a query against every text at once.

Each is made of the texts alone, so what the texts say names it (`name_of`), and it can be written down and read again.
"""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
import orjson

from tripos_compiler.language.library import BY_LENGTH, SATURATION, VERSION, grams_of, terms_of
from tripos_compiler.source import dataclass
from tripos_runtime.models import Vector

Values = npt.NDArray[np.float32]
"""A number for each text, in their order."""


class TextIndex(Protocol):
    """Measures a query against every text."""

    def values(self, query: str) -> Values:
        """Return a number for each text; more is nearer."""
        ...

    def to_bytes(self) -> bytes:
        """Return what the index can be made again from."""
        ...


@dataclass(frozen=True)
class TermIndex:
    """BM25 of every text, by bm25s (Lù, 2024): the weight of a term in each text, columns of a sparse matrix.

    Lucene's weights, ln(1 + (N - n + 0.5) / (n + 0.5)) for a term that n of N texts have, with k1 = 1.5 and b = 0.75
    (Robertson and Zaragoza, 2009). A term that a query repeats counts once.

    >>> index = TermIndex.of(["二次函数的图象", "光的折射", "一次函数"])
    >>> [round(float(value), 2) for value in index.values("函数图象")]
    [3.63, 0.0, 1.57]
    """

    scores: dict[str, Any]
    vocabulary: dict[str, int]

    @classmethod
    def of(cls, texts: Iterable[str]) -> TermIndex:
        """Return the index of these texts."""
        vocabulary: dict[str, int] = {}
        codes = [[vocabulary.setdefault(term, len(vocabulary)) for term in terms_of(text)] for text in texts]
        if not vocabulary:
            none = {"data": np.zeros(0, np.float32), "indices": np.zeros(0, np.int32), "indptr": np.zeros(1, np.int64)}
            return cls({**none, "num_docs": len(codes)}, {})
        scores = _bm25().build_index_from_ids(list(range(len(vocabulary))), codes, show_progress=False)
        return cls(scores, vocabulary)

    def values(self, query: str) -> Values:
        """BM25 of every text for a query."""
        known = [self.vocabulary[term] for term in dict.fromkeys(terms_of(query)) if term in self.vocabulary]
        if not known:
            return np.zeros(self.scores["num_docs"], np.float32)
        bm25 = _bm25()
        bm25.scores = self.scores
        found: Values = bm25.get_scores_from_ids(known) * np.float32(SATURATION + 1)
        return found

    def to_bytes(self) -> bytes:
        """Return the index as the bytes of an `.npz` file."""
        return _packed(self.vocabulary, {name: np.asarray(value) for name, value in self.scores.items()})

    @classmethod
    def from_bytes(cls, kept: bytes) -> TermIndex:
        """Return the index that `to_bytes` wrote. Raises `ValueError` where it is none."""
        vocabulary, arrays = _unpacked(kept)
        return cls({**arrays, "num_docs": int(arrays["num_docs"])}, vocabulary)


@dataclass(frozen=True)
class GramIndex:
    """The cosine of the runs of two and of three characters, as the function `similarity` has it.

    >>> index = GramIndex.of(["abc", "xyz", "一元二次方程"])
    >>> [round(float(value), 2) for value in index.values("ABC ")], round(float(index.values("二次方程的解")[2]), 2)
    ([1.0, 0.0, 0.0], 0.38)
    """

    data: npt.NDArray[np.float32]
    indices: npt.NDArray[np.int32]
    indptr: npt.NDArray[np.int64]
    count: int
    vocabulary: dict[str, int]
    blank: npt.NDArray[np.bool_]
    """Which texts have no run at all: they are like a blank query and no other."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> GramIndex:
        """Return the index of these texts."""
        from scipy.sparse import csc_matrix

        vocabulary: dict[str, int] = {}
        columns, rows, values, blank = [], [], [], []
        for number, text in enumerate(texts):
            counts = grams_of(text)
            blank.append(not counts)
            if counts:
                own = np.fromiter(counts.values(), np.float32, len(counts))
                values.append(own / np.sqrt((own * own).sum()))
                columns.append([vocabulary.setdefault(gram, len(vocabulary)) for gram in counts])
                rows.append(np.full(len(counts), number, np.int32))
        flat = np.concatenate(values) if values else np.zeros(0, np.float32)
        places = (np.concatenate(rows), np.concatenate([np.asarray(each) for each in columns])) if values else ([], [])
        matrix = csc_matrix((flat, places), shape=(len(blank), max(1, len(vocabulary))), dtype=np.float32)
        return cls(
            matrix.data, matrix.indices, matrix.indptr.astype(np.int64), len(blank), vocabulary, np.asarray(blank, bool)
        )

    def values(self, query: str) -> Values:
        """Return the likeness of every text to a query, 0 to 1."""
        counts: Counter[str] = grams_of(query)
        if not counts:
            return self.blank.astype(np.float32)
        norm = float(np.sqrt(sum(count * count for count in counts.values())))
        found = np.zeros(self.count, np.float32)
        for gram, count in counts.items():
            code = self.vocabulary.get(gram)
            if code is not None:
                part = slice(int(self.indptr[code]), int(self.indptr[code + 1]))
                found[self.indices[part]] += self.data[part] * np.float32(count / norm)  # a text has a gram once
        return np.minimum(found, np.float32(1.0))

    def to_bytes(self) -> bytes:
        """Return the index as the bytes of an `.npz` file."""
        arrays = {"data": self.data, "indices": self.indices, "indptr": self.indptr, "blank": self.blank}
        return _packed(self.vocabulary, arrays)

    @classmethod
    def from_bytes(cls, kept: bytes) -> GramIndex:
        """Return the index that `to_bytes` wrote. Raises `ValueError` where it is none."""
        vocabulary, arrays = _unpacked(kept)
        blank = arrays["blank"]
        return cls(arrays["data"], arrays["indices"], arrays["indptr"], len(blank), vocabulary, blank)


@dataclass(frozen=True)
class VectorIndex:
    """Vectors of length 1, a row each; the value of a query is its cosine with each.

    >>> VectorIndex.of([[3.0, 4.0], [0.0, 2.0]]).near([0.0, 5.0]).tolist()
    [0.800000011920929, 1.0]
    """

    vectors: npt.NDArray[np.float32]

    @classmethod
    def of(cls, vectors: Sequence[Sequence[float]] | npt.NDArray[np.float32]) -> VectorIndex:
        """Return the index of these vectors, all of one length. One of only zeros is like no other."""
        rows = np.asarray(vectors, np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return cls((rows / np.where(lengths == 0, np.float32(1.0), lengths)).astype(np.float32, copy=False))

    def near(self, query: Sequence[float] | npt.NDArray[np.float32]) -> Values:
        """Return the cosine of every vector with a query's."""
        asked = np.asarray(query, np.float32)
        length = float(np.linalg.norm(asked))
        found: Values = self.vectors @ (asked / np.float32(length or 1.0))
        return found


def index_of(texts: Sequence[str | None], by_text: Mapping[str, Vector]) -> VectorIndex:
    """Return the vectors of some texts, of length 0 where there is none."""
    length = len(next(iter(by_text.values()), ()))
    rows = [np.zeros(length, np.float32) if text is None else by_text[text] for text in texts]
    return VectorIndex.of(np.asarray(rows, np.float32).reshape(len(rows), length))


INDEXES: dict[str, type[TermIndex] | type[GramIndex]] = {"bm25": TermIndex, "similarity": GramIndex}
"""The kinds of index that measure a query against texts, by function."""


def name_of(kind: str, texts: Sequence[str]) -> str:
    """Return the name of an index: 32 hexadecimal digits of what it is made of.

    >>> name_of("bm25", ["a", "b"]) == name_of("bm25", ["ab"])
    False
    """
    hashed = hashlib.blake2b(orjson.dumps([kind, VERSION, len(texts)]), digest_size=16)
    for text in texts:
        said = text.encode("utf-8", "surrogatepass")
        hashed.update(len(said).to_bytes(8, "little"))
        hashed.update(said)
    return hashed.hexdigest()


def _bm25() -> Any:
    from bm25s import BM25

    made = BM25(k1=SATURATION, b=BY_LENGTH, method="lucene", csc_backend="scipy")
    made.nonoccurrence_array = None  # what only other methods have
    return made


def _packed(vocabulary: dict[str, int], arrays: dict[str, Any]) -> bytes:
    words = "\0".join(vocabulary).encode("utf-8", "surrogatepass")  # in the order of their codes; none has a NUL
    file = io.BytesIO()
    np.savez(file, words=np.frombuffer(words, np.uint8), count=np.asarray(len(vocabulary)), **arrays)
    return file.getvalue()


def _unpacked(kept: bytes) -> tuple[dict[str, int], dict[str, Any]]:
    try:
        with np.load(io.BytesIO(kept), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        words = arrays.pop("words").tobytes().decode("utf-8", "surrogatepass").split("\0")
        count = int(arrays.pop("count"))
    except (OSError, KeyError, ValueError, EOFError, TypeError, AttributeError, BadZipFile) as error:
        raise ValueError(f"this is no index: {error}") from error
    vocabulary = {word: code for code, word in enumerate(words)} if count else {}
    if len(vocabulary) != count:
        raise ValueError("this is no index: its words are not all there")
    return vocabulary, arrays
