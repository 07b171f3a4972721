"""Lists of texts and numbers that SQL hands over, as arrays: a text becomes a number once for a million rows of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tripos_warehouse.statistics import Floats, Ints

if TYPE_CHECKING:
    import pyarrow as pa

GivenWords: TypeAlias = "Sequence[str | None] | pa.Array[Any]"
GivenNumbers: TypeAlias = "Sequence[float | None] | pa.Array[Any]"


@dataclass(frozen=True)
class CodedTexts:
    """`codes` has the place in `names` of every text, -1 for none. Names stand in their alphabetical order."""

    codes: Ints
    names: pa.Array[Any]

    def __len__(self) -> int:
        return len(self.names)

    def named(self, places: Ints) -> list[str]:
        """Return the names at these places."""
        found: list[str] = self.names.take(places).to_pylist()
        return found

    def before(self, separator: str) -> CodedTexts:
        """Return the part of each name before a separator.

        >>> found = code_texts(["d", "a c", "a b"]).before(" ")
        >>> found.codes.tolist(), found.names.to_pylist()
        ([0, 0, 1], ['a', 'd'])
        """
        import pyarrow.compute as pc

        return code_texts(pc.list_element(pc.split_pattern(self.names, separator, max_splits=1), 0))


def code_texts(words: GivenWords, missing: str | None = None) -> CodedTexts:
    """Return texts as numbers; what is missing stands for `missing`, where that is given.

    >>> found = code_texts(["b", None, "a", "b"])
    >>> found.codes.tolist(), found.names.to_pylist()
    ([1, -1, 0, 1], ['a', 'b'])
    >>> code_texts(["b", None], "none").names.to_pylist()
    ['b', 'none']
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    array = words if isinstance(words, pa.Array) else pa.array(words, pa.string())
    if missing is not None:
        array = array.fill_null(missing)
    found = array.dictionary_encode()
    codes = found.indices.fill_null(len(found.dictionary)).to_numpy(zero_copy_only=False)
    order = pc.array_sort_indices(found.dictionary).to_numpy()
    places = np.empty(len(order) + 1, dtype=np.int64)
    places[order], places[-1] = np.arange(len(order)), -1
    return CodedTexts(places[codes], found.dictionary.take(order))


def join_texts(batches: Sequence[pa.DictionaryArray]) -> CodedTexts:
    """Return the texts of several batches, each with a dictionary, as numbers. Names stand as they come first, and
    nothing is a name of its own at the end.

    >>> import pyarrow as pa
    >>> found = join_texts([pa.array(each).dictionary_encode() for each in (["b", "a"], ["c", None, "a"])])
    >>> found.codes.tolist(), found.names.to_pylist()
    ([0, 1, 2, 3, 1], ['b', 'a', 'c', None])
    """
    import pyarrow as pa

    coded = pa.chunked_array(batches, pa.dictionary(pa.int32(), pa.string()))
    whole = coded.unify_dictionaries()
    names = whole.chunk(0).dictionary if batches else pa.array([], pa.string())
    codes = [np.empty(0, np.int64)]
    codes += [each.indices.fill_null(len(names)).to_numpy(zero_copy_only=False) for each in whole.chunks]
    if whole.null_count:
        names = pa.concat_arrays([names, pa.nulls(1, pa.string())])
    return CodedTexts(np.concatenate(codes), names)


def read_numbers(values: GivenNumbers) -> Floats:
    """Return numbers as an array, NaN where one is missing.

    >>> read_numbers([1, None]).tolist()
    [1.0, nan]
    """
    import pyarrow as pa

    array = values if isinstance(values, pa.Array) else pa.array(values, pa.float64())
    found: Floats = array.to_numpy(zero_copy_only=False).astype(np.float64)
    return found


def to_list(given: GivenWords | GivenNumbers) -> Sequence[Any]:
    """Return what SQL hands over as values of Python."""
    return given if isinstance(given, Sequence) else given.to_pylist()
