"""Retrieval: the nearest elements of a source to a row, by text or by vectors.

A `Collection` has the elements of a source, with their texts and indexes. An index depends only on texts, so its name
is a digest of these (`index_name`), and it can be stored. A step's ranking expression is split into measures, each of
which an index computes for all elements at once. The step returns the elements with the greatest values for which its
condition holds; ties keep the order of the source. If a step includes further elements, the result is ordered by
digest, so that the order does not reveal which elements were included."""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
import orjson

from tripos_compiler.language.evaluation import DATA, TREES, Unavailable, evaluate
from tripos_compiler.language.references import names_in, paths_in, subexpressions
from tripos_compiler.library.calls import arguments_of, search_index_of
from tripos_compiler.library.function import SearchIndex
from tripos_compiler.library.functions.similarity import BY_LENGTH, SATURATION, grams_of
from tripos_compiler.library.functions.texts import VERSION, terms_of
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.types import ordered
from tripos_compiler.plan import (
    Binary,
    Call,
    Data,
    Expr,
    Get,
    Items,
    RecordValue,
    Ref,
    Retrieve,
    Unary,
    digest,
    serialized_form,
)
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.datasets.sources import SplitCondition, condition_holds, places_by_value, split_condition
from tripos_runtime.models.vectors import Vector

Values = npt.NDArray[np.float32]
"""A number for each text, in their order."""


class TextIndex(Protocol):
    """An index that compares a query with every text."""

    def values(self, query: str) -> Values:
        """Return a number for each text; a larger one is nearer."""
        ...

    def to_bytes(self) -> bytes:
        """Return the serialised index."""
        ...


@dataclass(frozen=True)
class TermIndex:
    """BM25 over all texts, by bm25s (Lù, 2024): the weights of terms in texts as a sparse matrix.

    Lucene's weights, ln(1 + (N - n + 0.5) / (n + 0.5)) for a term that n of N texts have, with k1 = 1.5 and b = 0.75
    (Robertson and Zaragoza, 2009). A repeated term of a query counts once.

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
        """Return BM25 of every text for a query."""
        known = [self.vocabulary[term] for term in dict.fromkeys(terms_of(query)) if term in self.vocabulary]
        if not known:
            return np.zeros(self.scores["num_docs"], np.float32)
        # As bm25s adds them, in the order of the terms, but in one call: it makes one for each term.
        codes, ends = np.asarray(known, np.int64), self.scores["indptr"]
        starts, lengths = ends[codes], ends[codes + 1] - ends[codes]
        at = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        scores = np.zeros(self.scores["num_docs"], np.float32)
        np.add.at(scores, self.scores["indices"][at], self.scores["data"][at])
        return scores * np.float32(SATURATION + 1)

    def to_bytes(self) -> bytes:
        """Return the index as the bytes of an `.npz` file."""
        return _to_npz(self.vocabulary, {name: np.asarray(value) for name, value in self.scores.items()})

    @classmethod
    def from_bytes(cls, content: bytes) -> TermIndex:
        """Return the index from its bytes. Raises `ValueError` if they are not an index."""
        vocabulary, arrays = _from_npz(content)
        return cls({**arrays, "num_docs": int(arrays["num_docs"])}, vocabulary)


@dataclass(frozen=True)
class GramIndex:
    """The cosine of character bigrams and trigrams, as in the function `similarity`.

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
    """The texts without any n-gram: they equal a blank query and match no other."""

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
                weights = np.fromiter(counts.values(), np.float32, len(counts))
                values.append(weights / np.sqrt((weights * weights).sum()))
                columns.append([vocabulary.setdefault(gram, len(vocabulary)) for gram in counts])
                rows.append(np.full(len(counts), number, np.int32))
        data = np.concatenate(values) if values else np.zeros(0, np.float32)
        positions = (
            (np.concatenate(rows), np.concatenate([np.asarray(column) for column in columns])) if values else ([], [])
        )
        matrix = csc_matrix((data, positions), shape=(len(blank), max(1, len(vocabulary))), dtype=np.float32)
        return cls(
            matrix.data, matrix.indices, matrix.indptr.astype(np.int64), len(blank), vocabulary, np.asarray(blank, bool)
        )

    def values(self, query: str) -> Values:
        """Return the similarity of every text to a query, 0 to 1."""
        counts: Counter[str] = grams_of(query)
        if not counts:
            return self.blank.astype(np.float32)
        norm = float(np.sqrt(sum(count * count for count in counts.values())))
        cosines = np.zeros(self.count, np.float32)
        for gram, count in counts.items():
            code = self.vocabulary.get(gram)
            if code is not None:
                part = slice(int(self.indptr[code]), int(self.indptr[code + 1]))
                # The column of an n-gram has each text at most once, so no index is repeated.
                cosines[self.indices[part]] += self.data[part] * np.float32(count / norm)
        return np.minimum(cosines, np.float32(1.0))

    def to_bytes(self) -> bytes:
        """Return the index as the bytes of an `.npz` file."""
        arrays = {"data": self.data, "indices": self.indices, "indptr": self.indptr, "blank": self.blank}
        return _to_npz(self.vocabulary, arrays)

    @classmethod
    def from_bytes(cls, content: bytes) -> GramIndex:
        """Return the index from its bytes. Raises `ValueError` if they are not an index."""
        vocabulary, arrays = _from_npz(content)
        blank = arrays["blank"]
        return cls(arrays["data"], arrays["indices"], arrays["indptr"], len(blank), vocabulary, blank)


@dataclass(frozen=True)
class VectorIndex:
    """Vectors of length 1, one per row; the value of a query is its cosine with each.

    >>> VectorIndex.of([[3.0, 4.0], [0.0, 2.0]]).near([0.0, 5.0]).tolist()
    [0.800000011920929, 1.0]
    """

    vectors: npt.NDArray[np.float32]

    @classmethod
    def of(cls, vectors: Sequence[Sequence[float]] | npt.NDArray[np.float32]) -> VectorIndex:
        """Return the index of vectors of equal length. A zero vector is similar to none."""
        rows = np.asarray(vectors, np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return cls((rows / np.where(lengths == 0, np.float32(1.0), lengths)).astype(np.float32, copy=False))

    def near(self, query: Sequence[float] | npt.NDArray[np.float32]) -> Values:
        """Return the cosine of every vector with that of a query."""
        vector = np.asarray(query, np.float32)
        length = float(np.linalg.norm(vector))
        cosines: Values = self.vectors @ (vector / np.float32(length or 1.0))
        return cosines


def index_of(texts: Sequence[str | None], by_text: Mapping[str, Vector]) -> VectorIndex:
    """Return the index of the vectors of some texts; a missing text (None) gets the zero vector."""
    length = len(next(iter(by_text.values()), ()))
    rows = [np.zeros(length, np.float32) if text is None else by_text[text] for text in texts]
    return VectorIndex.of(np.asarray(rows, np.float32).reshape(len(rows), length))


_INDEX_TYPES: dict[SearchIndex, type[TermIndex] | type[GramIndex]] = {
    SearchIndex.TERMS: TermIndex,
    SearchIndex.GRAMS: GramIndex,
}
INDEXES = {name: _INDEX_TYPES[function.index] for name, function in FUNCTIONS.items() if function.index is not None}
"""The kinds of index by function."""


def index_name(kind: str, texts: Sequence[str]) -> str:
    """Return the name of an index: 32 hexadecimal digits over its kind and texts.

    >>> index_name("bm25", ["a", "b"]) == index_name("bm25", ["ab"])
    False
    """
    hashed = hashlib.blake2b(orjson.dumps([kind, VERSION, len(texts)]), digest_size=16)
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        hashed.update(len(encoded).to_bytes(8, "little"))
        hashed.update(encoded)
    return hashed.hexdigest()


def _bm25() -> Any:
    from bm25s import BM25

    bm25 = BM25(k1=SATURATION, b=BY_LENGTH, method="lucene", csc_backend="scipy")
    bm25.nonoccurrence_array = None  # only other BM25 variants need it
    return bm25


def _to_npz(vocabulary: dict[str, int], arrays: dict[str, Any]) -> bytes:
    words = "\0".join(vocabulary).encode("utf-8", "surrogatepass")  # in the order of their codes; none has a NUL
    file = io.BytesIO()
    np.savez(file, words=np.frombuffer(words, np.uint8), count=np.asarray(len(vocabulary)), **arrays)
    return file.getvalue()


def _from_npz(content: bytes) -> tuple[dict[str, int], dict[str, Any]]:
    """Return the vocabulary and the arrays of an index. Raises `ValueError`."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        words = arrays.pop("words").tobytes().decode("utf-8", "surrogatepass").split("\0")
        count = int(arrays.pop("count"))
    except (OSError, KeyError, ValueError, EOFError, TypeError, AttributeError, BadZipFile) as error:
        raise ValueError(f"this is no index: {error}") from error
    vocabulary = {word: code for code, word in enumerate(words)} if count else {}
    if len(vocabulary) != count:
        raise ValueError("this is no index: its words are not all there")
    return vocabulary, arrays


WORTH_KEEPING = 2_000
"""With fewer texts, building an index is faster than reading it."""


class IndexStore(Protocol):
    """A store of indexes for later runs."""

    def get(self, name: str) -> bytes | None:
        """Return the stored index; None if there is none, or it is unreadable."""
        ...

    def put(self, name: str, content: bytes) -> None:
        """Store an index. Failures are ignored."""
        ...


@dataclass
class Collection:
    """The elements of a source in their order. Expressions refer to an element by `alias`; `shelf` stores indexes."""

    elements: Sequence[Any]
    alias: str
    shelf: IndexStore | None = None
    vectors: dict[str, VectorIndex] = field(default_factory=dict)
    """The vectors of the texts, by embedding model and text expression."""
    _texts: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    """The texts, and below their indexes and positions, by expression."""
    _absent: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    _indexes: dict[tuple[str, str], TextIndex] = field(default_factory=dict)
    _places: dict[str, dict[Any, list[int]] | None] = field(default_factory=dict)
    _keys: dict[int, tuple[Expr, str]] = field(default_factory=dict)
    """The expressions by `id()`, which identifies them since they are kept alive here, with their keys."""

    def texts(self, expr: Expr, names: Mapping[str, Any]) -> tuple[str | None, ...]:
        """Return the text of every element under an expression; None if it has none."""
        key = self._key(expr)
        if key not in self._texts:
            values = self._values(expr, names)
            self._texts[key] = tuple(value if isinstance(value, str) else None for value in values)
        return self._texts[key]

    def absent(self, expr: Expr, names: Mapping[str, Any]) -> npt.NDArray[np.int64]:
        """Return the positions of the elements without such a text."""
        key = self._key(expr)
        if key not in self._absent:
            absent = [place for place, text in enumerate(self.texts(expr, names)) if text is None]
            self._absent[key] = np.asarray(absent, np.int64)
        return self._absent[key]

    def index(self, kind: str, expr: Expr, names: Mapping[str, Any]) -> TextIndex:
        """Return the index of those texts, computed or read from the store on first use."""
        key = (kind, self._key(expr))
        if key not in self._indexes:
            self._indexes[key] = self._index_of(kind, [text or "" for text in self.texts(expr, names)])
        return self._indexes[key]

    def places(self, expr: Expr, value: Any, names: Mapping[str, Any]) -> list[int] | None:
        """Return the positions of the elements with this value of an expression; None if this cannot be indexed."""
        key = self._key(expr)
        if key not in self._places:
            self._places[key] = places_by_value(self._values(expr, names))
        known = self._places[key]
        return None if known is None or isinstance(value, list | dict | set | frozenset) else known.get(value, [])

    def _key(self, expr: Expr) -> str:
        """Return the key of an expression, which equal expressions share."""
        if id(expr) not in self._keys:
            self._keys[id(expr)] = (expr, serialized_form(expr).model_dump_json())
        return self._keys[id(expr)][1]

    def _values(self, expr: Expr, names: Mapping[str, Any]) -> list[Any]:
        """Return the value of an expression for every element; None if it has none."""
        element_names = {DATA: names.get(DATA), TREES: names.get(TREES)}
        values: list[Any] = []
        for element in self.elements:
            element_names[self.alias] = element
            try:
                values.append(evaluate(expr, element_names))
            except Unavailable:
                values.append(None)
        return values

    def _index_of(self, kind: str, texts: Sequence[str]) -> TextIndex:
        index_type = INDEXES[kind]
        if self.shelf is None or len(texts) < WORTH_KEEPING:
            return index_type.of(texts)
        name = f"{kind}-{index_name(kind, texts)}"
        stored = self.shelf.get(name)
        if stored is not None:
            try:
                return index_type.from_bytes(stored)
            except ValueError:
                pass  # damaged: build it again
        index = index_type.of(texts)
        self.shelf.put(name, index.to_bytes())
        return index


VALUE = "@measure"
"""The name under which an expression finds the values of the measures for the current element, by their number."""


@dataclass(frozen=True)
class SimilarityCall:
    """A measure: a call that compares `query`, a text of the current row, with `text`, a text of the element."""

    call: Call
    query: Expr
    text: Expr

    @property
    def kind(self) -> str:
        """The name of the function."""
        return self.call.function

    @property
    def embeds(self) -> bool:
        """True if the cosine of embeddings can replace it."""
        return search_index_of(self.call) is SearchIndex.GRAMS


def similarity_calls(by: Expr, alias: str) -> tuple[SimilarityCall, ...]:
    """Return the distinct measures in an expression, in order of occurrence.

    >>> call = Call(function="bm25", args=(Ref(path=("q", "stem")), Ref(path=("c",))))
    >>> [(each.kind, each.text.path) for each in similarity_calls(call, "c")]
    [('bm25', ('c',))]
    """
    calls: dict[str, SimilarityCall] = {}
    for part in subexpressions(by):
        if isinstance(part, Call) and (measure := _measure(part, alias)) is not None:
            calls.setdefault(part.model_dump_json(), measure)
    return tuple(calls.values())


def with_values(by: Expr, measures: tuple[SimilarityCall, ...]) -> Expr:
    """Return the expression with every measure replaced by a reference to its number."""
    calls = [measure.call for measure in measures]

    def replaced(expr: Expr) -> Expr:
        match expr:
            case Call() if expr in calls:
                return Ref(path=(VALUE, str(calls.index(expr))))
            case Call(args=args, named=named):
                inner = {name: replaced(value) for name, value in named.items()}
                return expr.model_copy(update={"args": tuple(map(replaced, args)), "named": inner})
            case Unary(value=value):
                return expr.model_copy(update={"value": replaced(value)})
            case Binary(left=left, right=right):
                return expr.model_copy(update={"left": replaced(left), "right": replaced(right)})
            case Items(values=values):
                return expr.model_copy(update={"values": tuple(map(replaced, values))})
            case RecordValue(fields=fields):
                return expr.model_copy(update={"fields": {name: replaced(value) for name, value in fields.items()}})
            case Get(of=of):
                return expr.model_copy(update={"of": replaced(of)})
        return expr

    return replaced(by)


def _measure(call: Call, alias: str) -> SimilarityCall | None:
    """Return a call as a measure; None if no index can compute it, since its function has none or its arguments are not
    a text of the row and a text of the element."""
    index = search_index_of(call)
    if index is None:
        return None
    arguments = arguments_of(call)
    first, second = (arguments[side] for side in FUNCTIONS[call.function].names[:2])
    if alias not in names_in(first) and names_in(second) == {alias}:
        return SimilarityCall(call, first, second)
    if index is SearchIndex.GRAMS and alias not in names_in(second) and names_in(first) == {alias}:
        return SimilarityCall(call, second, first)
    return None


MOST_COLLECTIONS = 64
"""The number of sources that are cached; one that depends on the row has a collection for each value."""


@dataclass(frozen=True)
class SplitRetrieval:
    """A retrieving step in parts: its measures, the expression over them, and its condition in parts."""

    measures: tuple[SimilarityCall, ...]
    value: Expr
    where: SplitCondition
    takes: tuple[Ref, ...]
    """The values of the row, or of other steps, that the source depends on."""
    source: str
    """The digest of the source without these values."""


@dataclass
class Chooser:
    """The search in the sources of a plan's retrieving steps."""

    shelf: IndexStore | None = None
    _split: dict[str, SplitRetrieval] = field(default_factory=dict)
    _collections: dict[str, Collection] = field(default_factory=dict)

    def split(self, step: Retrieve) -> SplitRetrieval:
        """Return a step in parts, which are computed once."""
        if step.fingerprint not in self._split:
            measures = similarity_calls(step.by, step.alias)
            value = with_values(step.by, measures)
            takes = tuple(Ref(path=path) for path in sorted(paths_in(step.source)))
            source = digest([step.source.model_dump(mode="json"), step.alias])
            where = split_condition(step.where, step.alias)
            self._split[step.fingerprint] = SplitRetrieval(measures, value, where, takes, source)
        return self._split[step.fingerprint]

    def collection(self, step: Retrieve, names: Mapping[str, Any]) -> Collection:
        """Return the collection that a step searches for a row. Raises `Unavailable` if it needs a value that an
        earlier step did not yield."""
        retrieval = self.split(step)
        key = digest([retrieval.source, [evaluate(ref, names) for ref in retrieval.takes]])
        if key not in self._collections:
            if len(self._collections) >= MOST_COLLECTIONS:
                del self._collections[next(iter(self._collections))]
            elements = evaluate(step.source, names)
            self._collections[key] = Collection(ordered(elements), step.alias, self.shelf)
        return self._collections[key]

    def chosen(
        self,
        step: Retrieve,
        names: Mapping[str, Any],
        own: Mapping[str, Any],
        values: Mapping[int, Values] = {},
    ) -> list[Any]:
        """Return the elements that a step retrieves for the row `own`, which is not among them. `values` are the
        measures that are already computed, by number. If the step includes further elements, the order depends only on
        the elements and on the query, so that it reveals nothing else about the row. Raises `Unavailable` if the step
        needs a value that an earlier step did not yield."""
        included = [element for expr in step.include for element in _included(evaluate(expr, names))]
        retrieval, collection = self.split(step), self.collection(step, names)
        nearest: list[Any] = []
        if collection.elements:
            measured = [
                self._measured(collection, measure, number, names, values)
                for number, measure in enumerate(retrieval.measures)
            ]
            ranked = _ranking_values(retrieval, collection, measured, names)
            own_row = own if isinstance(step.source, Data) and step.source.field is None else None
            for place in _in_order(ranked, _candidates(retrieval.where, collection, names), step.top):
                element = collection.elements[place]
                if own_row is not None and element == own_row:
                    continue
                element_names = {**names, step.alias: element} if retrieval.where.rest else names
                if all(condition_holds(part, element_names) for part in retrieval.where.rest):
                    nearest.append(element)
                if len(nearest) == step.top:
                    break
        if not included:
            return nearest
        result = [*nearest]
        result += [
            each for number, each in enumerate(included) if each not in nearest and each not in included[:number]
        ]
        queries = [evaluate(measure.query, names) for measure in retrieval.measures]
        return sorted(result, key=lambda element: digest([queries, step.name, element]))

    def _measured(
        self,
        collection: Collection,
        measure: SimilarityCall,
        number: int,
        names: Mapping[str, Any],
        values: Mapping[int, Values],
    ) -> Values:
        """Return a measure of every element; NaN for an element without the text."""
        if number in values:
            measured = values[number].astype(np.float32, copy=True)
        else:
            query = evaluate(measure.query, names)
            measured = collection.index(measure.kind, measure.text, names).values(query)
        absent = collection.absent(measure.text, names)
        if len(absent):
            measured[absent] = np.nan
        return measured


def _ranking_values(
    retrieval: SplitRetrieval, collection: Collection, measured: Sequence[Values], names: Mapping[str, Any]
) -> Values:
    """Return the value of the ranking expression for every element, given its measures; NaN if it has none."""
    if isinstance(retrieval.value, Ref) and retrieval.value.path[0] == VALUE:
        return measured[0]
    values = np.full(len(collection.elements), np.nan, np.float32)
    element_names = dict(names)
    for place, element in enumerate(collection.elements):
        element_names[collection.alias] = element
        element_names[VALUE] = {str(number): float(each[place]) for number, each in enumerate(measured)}
        try:
            values[place] = float(evaluate(retrieval.value, element_names))
        except Unavailable as reason:
            if reason.step in names:
                raise
    return values


def _candidates(
    where: SplitCondition, collection: Collection, names: Mapping[str, Any]
) -> npt.NDArray[np.int64] | None:
    """Return the positions of the elements for which every equality holds; None means all."""
    candidates: npt.NDArray[np.int64] | None = None
    for equality in where.same:
        value = evaluate(equality.other, names)
        places = collection.places(equality.element, value, names)
        if places is None:
            places = _matching_positions(equality.element, value, collection, names)
        matching = np.asarray(places, np.int64)
        candidates = matching if candidates is None else np.intersect1d(candidates, matching, assume_unique=True)
    return candidates


def _matching_positions(element: Expr, value: Any, collection: Collection, names: Mapping[str, Any]) -> list[int]:
    """Return the positions of the elements for which an expression has this value, without an index."""
    equality = Binary(operator="==", left=element, right=Ref(path=(VALUE,)))
    element_names = {**names, VALUE: value}
    positions: list[int] = []
    for place, each in enumerate(collection.elements):
        element_names[collection.alias] = each
        if condition_holds(equality, element_names):
            positions.append(place)
    return positions


def _in_order(values: Values, places: npt.NDArray[np.int64] | None, top: int) -> Iterator[int]:
    """Yield the positions by descending value, without those of NaN. The greatest values are sorted first and the
    others only on demand, since few are needed."""
    candidates = values if places is None else values[places]
    remaining = np.flatnonzero(~np.isnan(candidates))
    count = max(2 * top, 64)
    if count < len(remaining):
        threshold = np.partition(candidates[remaining], len(remaining) - count)[len(remaining) - count]
        first = remaining[candidates[remaining] >= threshold]
        yield from _sorted(candidates, first, places)
        remaining = remaining[candidates[remaining] < threshold]
    yield from _sorted(candidates, remaining, places)


def _sorted(values: Values, at: npt.NDArray[np.int64], places: npt.NDArray[np.int64] | None) -> Iterator[int]:
    order = at[np.argsort(-values[at], kind="stable")]
    yield from (order if places is None else places[order]).tolist()


def _included(value: Any) -> list[Any]:
    """Return the included elements: those of a list, or the value itself."""
    if isinstance(value, list | tuple | set | frozenset):
        return ordered(value)
    return [value]
