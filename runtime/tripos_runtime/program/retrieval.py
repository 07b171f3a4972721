"""Retrieval: the nearest elements of a source to a row, by text or by vectors.

A `Collection` holds the elements of a source with the texts and indexes asked for. An index is computed from texts
alone, so their content names it (`index_name`), and it can be stored. A step's ranking expression is split into
measures that an index computes for all elements at once. The step yields the elements with the greatest values for
which its condition holds; ties keep the order of the source. Elements that are always included are placed among them in
an order by digest, which does not reveal which were included."""

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
        bm25 = _bm25()
        bm25.scores = self.scores
        found: Values = bm25.get_scores_from_ids(known) * np.float32(SATURATION + 1)
        return found

    def to_bytes(self) -> bytes:
        """Return the index as the bytes of an `.npz` file."""
        return _packed(self.vocabulary, {name: np.asarray(value) for name, value in self.scores.items()})

    @classmethod
    def from_bytes(cls, kept: bytes) -> TermIndex:
        """Return the index from its bytes. Raises `ValueError` if they are not an index."""
        vocabulary, arrays = _unpacked(kept)
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
                own = np.fromiter(counts.values(), np.float32, len(counts))
                values.append(own / np.sqrt((own * own).sum()))
                columns.append([vocabulary.setdefault(gram, len(vocabulary)) for gram in counts])
                rows.append(np.full(len(counts), number, np.int32))
        flat = np.concatenate(values) if values else np.zeros(0, np.float32)
        places = (
            (np.concatenate(rows), np.concatenate([np.asarray(column) for column in columns])) if values else ([], [])
        )
        matrix = csc_matrix((flat, places), shape=(len(blank), max(1, len(vocabulary))), dtype=np.float32)
        return cls(
            matrix.data, matrix.indices, matrix.indptr.astype(np.int64), len(blank), vocabulary, np.asarray(blank, bool)
        )

    def values(self, query: str) -> Values:
        """Return the similarity of every text to a query, 0 to 1."""
        counts: Counter[str] = grams_of(query)
        if not counts:
            return self.blank.astype(np.float32)
        norm = float(np.sqrt(sum(count * count for count in counts.values())))
        found = np.zeros(self.count, np.float32)
        for gram, count in counts.items():
            code = self.vocabulary.get(gram)
            if code is not None:
                part = slice(int(self.indptr[code]), int(self.indptr[code + 1]))
                found[self.indices[part]] += self.data[part] * np.float32(
                    count / norm
                )  # a text contains an n-gram at most once
        return np.minimum(found, np.float32(1.0))

    def to_bytes(self) -> bytes:
        """Return the index as the bytes of an `.npz` file."""
        arrays = {"data": self.data, "indices": self.indices, "indptr": self.indptr, "blank": self.blank}
        return _packed(self.vocabulary, arrays)

    @classmethod
    def from_bytes(cls, kept: bytes) -> GramIndex:
        """Return the index from its bytes. Raises `ValueError` if they are not an index."""
        vocabulary, arrays = _unpacked(kept)
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
        """Return the cosine of every vector with a query's."""
        asked = np.asarray(query, np.float32)
        length = float(np.linalg.norm(asked))
        found: Values = self.vectors @ (asked / np.float32(length or 1.0))
        return found


def index_of(texts: Sequence[str | None], by_text: Mapping[str, Vector]) -> VectorIndex:
    """Return the vectors of some texts; a text without a vector gets the zero vector."""
    length = len(next(iter(by_text.values()), ()))
    rows = [np.zeros(length, np.float32) if text is None else by_text[text] for text in texts]
    return VectorIndex.of(np.asarray(rows, np.float32).reshape(len(rows), length))


_MAKERS: dict[SearchIndex, type[TermIndex] | type[GramIndex]] = {
    SearchIndex.TERMS: TermIndex,
    SearchIndex.GRAMS: GramIndex,
}
INDEXES = {name: _MAKERS[function.index] for name, function in FUNCTIONS.items() if function.index is not None}
"""The kinds of index by function."""


def index_name(kind: str, texts: Sequence[str]) -> str:
    """Return the name of an index: 32 hexadecimal digits over its kind and texts.

    >>> index_name("bm25", ["a", "b"]) == index_name("bm25", ["ab"])
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
    made.nonoccurrence_array = None  # only other BM25 variants need it
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


WORTH_KEEPING = 2_000
"""With fewer texts, building an index is faster than reading it."""


class IndexStore(Protocol):
    """A store of indexes for later runs."""

    def get(self, name: str) -> bytes | None:
        """Return the stored index; None if there is none, or it is unreadable."""
        ...

    def put(self, name: str, kept: bytes) -> None:
        """Store an index. Failures are ignored."""
        ...


@dataclass
class Collection:
    """The elements of a source in their order, each called `alias`."""

    elements: Sequence[Any]
    alias: str
    shelf: IndexStore | None = None
    vectors: dict[str, VectorIndex] = field(default_factory=dict)
    """The vectors of its texts, by embedding model and text expression."""
    _texts: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    _absent: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    _indexes: dict[tuple[str, str], TextIndex] = field(default_factory=dict)
    _places: dict[str, dict[Any, list[int]] | None] = field(default_factory=dict)

    def texts(self, expr: Expr, names: Mapping[str, Any]) -> tuple[str | None, ...]:
        """Return the text of every element under an expression; None if it has none."""
        key = serialized_form(expr).model_dump_json()
        if key not in self._texts:
            found = self._values(expr, names)
            self._texts[key] = tuple(value if isinstance(value, str) else None for value in found)
        return self._texts[key]

    def absent(self, expr: Expr, names: Mapping[str, Any]) -> npt.NDArray[np.int64]:
        """Return the positions of the elements without such a text."""
        key = serialized_form(expr).model_dump_json()
        if key not in self._absent:
            lacking = [place for place, text in enumerate(self.texts(expr, names)) if text is None]
            self._absent[key] = np.asarray(lacking, np.int64)
        return self._absent[key]

    def index(self, kind: str, expr: Expr, names: Mapping[str, Any]) -> TextIndex:
        """Return the index of those texts, computed or read from the store on first use."""
        key = (kind, serialized_form(expr).model_dump_json())
        if key not in self._indexes:
            self._indexes[key] = self._index_of(kind, [text or "" for text in self.texts(expr, names)])
        return self._indexes[key]

    def places(self, expr: Expr, value: Any, names: Mapping[str, Any]) -> list[int] | None:
        """Return the positions of the elements with this value of an expression; None if this cannot be indexed."""
        key = serialized_form(expr).model_dump_json()
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

    def _index_of(self, kind: str, texts: Sequence[str]) -> TextIndex:
        maker = INDEXES[kind]
        if self.shelf is None or len(texts) < WORTH_KEEPING:
            return maker.of(texts)
        name = f"{kind}-{index_name(kind, texts)}"
        kept = self.shelf.get(name)
        if kept is not None:
            try:
                return maker.from_bytes(kept)
            except ValueError:
                pass  # damaged: build it again
        index = maker.of(texts)
        self.shelf.put(name, index.to_bytes())
        return index


VALUE = "@measure"
"""The prefix of the names under which an expression finds the measures of the current element."""


@dataclass(frozen=True)
class SimilarityCall:
    """A call that compares `query`, a text of the current row, with `text`, a text of the element."""

    call: Call
    query: Expr
    text: Expr

    @property
    def kind(self) -> str:
        """The name of the function."""
        return self.call.function

    @property
    def embeds(self) -> bool:
        """True if vectors of the texts can replace it."""
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

    def put(expr: Expr) -> Expr:
        match expr:
            case Call() if expr in calls:
                return Ref(path=(VALUE, str(calls.index(expr))))
            case Call(args=args, named=named):
                inner = {name: put(value) for name, value in named.items()}
                return expr.model_copy(update={"args": tuple(map(put, args)), "named": inner})
            case Unary(value=value):
                return expr.model_copy(update={"value": put(value)})
            case Binary(left=left, right=right):
                return expr.model_copy(update={"left": put(left), "right": put(right)})
            case Items(values=values):
                return expr.model_copy(update={"values": tuple(map(put, values))})
            case RecordValue(fields=fields):
                return expr.model_copy(update={"fields": {name: put(value) for name, value in fields.items()}})
            case Get(of=of):
                return expr.model_copy(update={"of": put(of)})
        return expr

    return put(by)


def _measure(call: Call, alias: str) -> SimilarityCall | None:
    index = search_index_of(call)
    if index is None:
        return None
    given = arguments_of(call)
    first, second = (given[side] for side in FUNCTIONS[call.function].names[:2])
    if alias not in names_in(first) and names_in(second) == {alias}:
        return SimilarityCall(call, first, second)
    if index is SearchIndex.GRAMS and alias not in names_in(second) and names_in(first) == {alias}:
        return SimilarityCall(call, second, first)
    return None


MOST_COLLECTIONS = 64
"""The number of sources kept at once; sources that depend on the row are built anew for each."""


@dataclass(frozen=True)
class SplitRetrieval:
    """A retrieving step in parts: its measures, the expression over them, and its condition in parts."""

    measures: tuple[SimilarityCall, ...]
    value: Expr
    where: SplitCondition
    takes: tuple[Ref, ...]
    """The parts of the row, or of other steps, that its source depends on."""
    source: str
    """The rest of its source's name."""


@dataclass
class Chooser:
    """Searches the sources of a plan's retrieving steps."""

    shelf: IndexStore | None = None
    _split: dict[str, SplitRetrieval] = field(default_factory=dict)
    _collections: dict[str, Collection] = field(default_factory=dict)

    def split(self, step: Retrieve) -> SplitRetrieval:
        """Return the step in parts; computed once."""
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
        """Return the elements that a step yields for the row `own`. `values` are measures computed already, by number.
        If elements are included, the order depends only on the elements and on their query, so that it reveals nothing
        else of the row. Raises `Unavailable` if it needs a value that an earlier step did not yield."""
        included = [element for expr in step.include for element in _included(evaluate(expr, names))]
        retrieval, collection = self.split(step), self.collection(step, names)
        found: list[Any] = []
        if collection.elements:
            taken = [
                self._value(collection, measure, number, names, values)
                for number, measure in enumerate(retrieval.measures)
            ]
            ranked = _values(retrieval, collection, taken, names)
            own_row = own if isinstance(step.source, Data) and step.source.field is None else None
            for place in _in_order(ranked, _candidates(retrieval.where, collection, names), step.top):
                element = collection.elements[place]
                if own_row is not None and element == own_row:
                    continue
                seen = {**names, step.alias: element} if retrieval.where.rest else names
                if all(condition_holds(part, seen) for part in retrieval.where.rest):
                    found.append(element)
                if len(found) == step.top:
                    break
        if not included:
            return found
        known = [*found]
        known += [each for number, each in enumerate(included) if each not in found and each not in included[:number]]
        asked = [evaluate(measure.query, names) for measure in retrieval.measures]
        return sorted(known, key=lambda element: digest([asked, step.name, element]))

    def _value(
        self,
        collection: Collection,
        measure: SimilarityCall,
        number: int,
        names: Mapping[str, Any],
        values: Mapping[int, Values],
    ) -> Values:
        if number in values:
            found = values[number].astype(np.float32, copy=True)
        else:
            query = evaluate(measure.query, names)
            found = collection.index(measure.kind, measure.text, names).values(query)
        absent = collection.absent(measure.text, names)
        if len(absent):
            found[absent] = np.nan
        return found


def _values(
    parted: SplitRetrieval, collection: Collection, taken: Sequence[Values], names: Mapping[str, Any]
) -> Values:
    """Return the value of every element; NaN if it has none."""
    if isinstance(parted.value, Ref) and parted.value.path[0] == VALUE:
        return taken[0]
    found = np.full(len(collection.elements), np.nan, np.float32)
    seen = dict(names)
    for place, element in enumerate(collection.elements):
        seen[collection.alias] = element
        seen[VALUE] = {str(number): float(each[place]) for number, each in enumerate(taken)}
        try:
            found[place] = float(evaluate(parted.value, seen))
        except Unavailable as reason:
            if reason.step in names:
                raise
    return found


def _candidates(
    where: SplitCondition, collection: Collection, names: Mapping[str, Any]
) -> npt.NDArray[np.int64] | None:
    """Return the positions of the elements for which every equality holds; None means all."""
    kept: npt.NDArray[np.int64] | None = None
    for same in where.same:
        value = evaluate(same.other, names)
        places = collection.places(same.element, value, names)
        if places is None:
            places = _matching_positions(same.element, value, collection, names)
        own = np.asarray(places, np.int64)
        kept = own if kept is None else np.intersect1d(kept, own, assume_unique=True)
    return kept


def _matching_positions(element: Expr, value: Any, collection: Collection, names: Mapping[str, Any]) -> list[int]:
    same = Binary(operator="==", left=element, right=Ref(path=(VALUE,)))
    seen = {**names, VALUE: value}
    found: list[int] = []
    for place, each in enumerate(collection.elements):
        seen[collection.alias] = each
        if condition_holds(same, seen):
            found.append(place)
    return found


def _in_order(values: Values, places: npt.NDArray[np.int64] | None, top: int) -> Iterator[int]:
    """Yield the positions by descending value, without NaN; only the first ones are sorted at first, since few are
    needed."""
    own = values if places is None else values[places]
    there = np.flatnonzero(~np.isnan(own))
    count = max(2 * top, 64)
    if count < len(there):
        nearest = np.partition(own[there], len(there) - count)[len(there) - count]
        first = there[own[there] >= nearest]
        yield from _sorted(own, first, places)
        there = there[own[there] < nearest]
    yield from _sorted(own, there, places)


def _sorted(values: Values, at: npt.NDArray[np.int64], places: npt.NDArray[np.int64] | None) -> Iterator[int]:
    order = at[np.argsort(-values[at], kind="stable")]
    yield from (order if places is None else places[order]).tolist()


def _included(value: Any) -> list[Any]:
    """Return the included elements: those of a list, or the value itself."""
    if isinstance(value, list | tuple | set | frozenset):
        return ordered(value)
    return [value]
