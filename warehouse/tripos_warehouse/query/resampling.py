"""The Poisson bootstrap over items, for measures without a derivative, and arrays from the lists that SQL passes.

The weight of an item is how often it is in a draw: Poisson with mean 1, the limit of drawing many items with
replacement (Hanley and MacGibbon, 2006). Weights depend only on the item's name, so an item has the same weight in
every part of a measure, and a difference of medians over the same items is paired. If a part of a measure has a
derivative, its draws follow from the influences of its items: the value plus the sum of (weight - 1) * influence.

The interval is the expanded percentile interval (Hesterberg, 2015): for few items, the quantiles of the draws are
further out, as those of Student's t are further out than those of the normal distribution.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tripos_warehouse.statistics.arrays import Floats, Ints, t_quantile, two_sided
from tripos_warehouse.statistics.intervals import weighted_medians
from tripos_warehouse.statistics.metrics import SummedMetric
from tripos_warehouse.statistics.user_functions import NoFigure, UserFunction

if TYPE_CHECKING:
    import pyarrow as pa


# The bootstrap
DRAWS = 1000
SEED = 20_260_301
"""The only seed, so that the intervals of a store never change."""

BUCKETS = 4096
"""Items are hashed into this many buckets, whose items share their weights. A few hundred items hardly collide."""

LEAST_ITEMS = 6
"""The range of n independent values contains the median with probability 1 - 2^(1 - n), which reaches 95 % at 6."""


def bootstrap_medians(items: Sequence[str], values: Floats) -> list[float]:
    """Return the median of `values` in every draw; NaN if a draw is empty. `items` has the item of each value.

    >>> drawn = bootstrap_medians(["a", "a", "b", "c"], np.array([1.0, 2.0, 3.0, 4.0]))
    >>> len(drawn), float(np.nanmin(drawn)), float(np.nanmax(drawn))
    (1000, 1.5, 4.0)
    """
    codes, weights = _weights(items)
    medians: list[float] = weighted_medians(values, codes, weights).tolist()
    return medians


def bootstrap_metric(items: Sequence[str], metric: SummedMetric) -> list[float]:
    """Return a metric of sums in every draw; NaN if a draw is empty or the metric is undefined in it. `items` has the
    item of each row.
    """
    codes, weights = _weights(items)
    counts = np.zeros((weights.shape[1], metric.counts.shape[1]))
    np.add.at(counts, codes, metric.counts)
    draws = [
        metric.compute(sums) if drawn.any() else None for drawn, sums in zip(weights, weights @ counts, strict=True)
    ]
    return [math.nan if value is None else value for value in draws]


Jackknife = Callable[
    [Callable[[Ints, int], Sequence[float | None]], Ints, list[str]], tuple[str | None, list[float | None]]
]
"""`aggregates._jackknife`: it takes a function of the codes and the number of groups, the item of each row as a code,
and the names of the items; it returns the reason for a missing error, if any, and the influences of the items."""


def user_statistic(
    settings: str,
    items: Sequence[str | None],
    replies: Sequence[str | None],
    keys: Sequence[str | None],
    left_out: Jackknife,
    errors: bool,
) -> dict[str, Any]:
    """Return the result of a user function over rows, in the form of `aggregates.statistic`. `keys` has the arguments
    of each row, as the JSON of a list. With `errors` the function is also computed in every draw and, by `left_out`,
    without each item. A draw in which it fails is NaN.
    """
    identity = json.loads(settings)
    function = UserFunction(
        **{name: identity[name] for name in ("name", "path", "function", "version")},
        parameters=tuple(identity["parameters"]),
    )
    rows = sorted(
        (str(item), str(reply), key) for item, reply, key in zip(items, replies, keys, strict=True) if key is not None
    )
    undefined: dict[str, Any] = {"value": None, "items": [], "influences": [], "draws": None}
    if not rows:
        return {**undefined, "reason": "nothing has a value"}
    values = [
        [_TYPES[kind](value) for kind, value in zip(identity["kinds"], json.loads(row[2]), strict=True)] for row in rows
    ]
    try:
        compute = function.load()
        value = compute([list(column) for column in zip(*values, strict=True)])
    except NoFigure as reason:
        return {**undefined, "reason": str(reason)}
    owners = [row[0] for row in rows]
    names, places = np.unique(owners, return_inverse=True)
    m = len(names)
    result = {"value": value, "items": names.tolist()}
    if m < LEAST_ITEMS or not errors:
        few = "one item says nothing about the error" if m == 1 else f"{m} items say too little about the error"
        return {**result, "reason": few, "influences": [None] * m, "draws": None}

    def value_of(chosen: Ints) -> float | None:
        if not len(chosen):
            return None
        try:
            return compute([[values[row][place] for row in chosen] for place in range(len(values[0]))])
        except NoFigure:
            return None

    def without(groups: Ints, count: int) -> list[float | None]:
        return [value_of(np.flatnonzero(groups != group)) for group in range(count)]

    why_no_error, influences = left_out(without, places, names.tolist())
    codes, weights = _weights(owners)
    all_rows = np.arange(len(rows))
    drawn = [value_of(np.repeat(all_rows, weight[codes].astype(np.int64))) for weight in weights]
    return {
        **result,
        "reason": why_no_error,
        "influences": influences,
        "draws": [math.nan if value is None else value for value in drawn],
    }


_TYPES: dict[str, Callable[[Any], Any]] = {"number": float, "integer": int, "bool": bool, "text": str, "choice": str}
"""The Python type of the elements of an argument, by the kind of their type in the plan."""


def first_order_draws(
    value: float | None, items: Sequence[str] | None, influences: Sequence[float | None] | None
) -> list[float] | None:
    """Return the first-order approximation of a value in every draw of its items; None if an influence is unknown.

    >>> drawn = first_order_draws(5.0, ["a", "b"], [0.5, -0.5])
    >>> len(drawn), set(np.mod(drawn, 0.5).tolist())
    (1000, {0.0})
    >>> first_order_draws(5.0, ["a"], [None]) is None
    True
    """
    if value is None or not items or not influences or any(influence is None for influence in influences):
        return None
    codes, weights = _weights(items)
    of_bucket = np.bincount(codes, np.array(influences, dtype=np.float64), minlength=weights.shape[1])
    draws: list[float] = (value - of_bucket.sum() + np.einsum("ij,j->i", weights, of_bucket)).tolist()
    return draws


def percentile_interval(
    draws: Sequence[float | None] | None, df: float | None, confidence: float = 0.95
) -> dict[str, Any] | None:
    """Return the interval from `low` to `high` and the standard `error` from draws, with `df` degrees of freedom; None
    if fewer than 2 draws, or fewer than 95 % of them, have a value.

    >>> {name: round(each, 2) for name, each in percentile_interval([1.0, 2.0, 3.0], 10).items()}
    {'low': 1.02, 'high': 2.98, 'error': 1.0}
    >>> percentile_interval(None, 10) is None
    True
    """
    upper = two_sided(confidence)
    known = np.array([np.nan if draw is None else draw for draw in draws or ()], dtype=np.float64)
    known = known[np.isfinite(known)]
    quantile = t_quantile(upper, df)
    # If more than 5 % of the draws are undefined, the rest does not represent other samples of items.
    if quantile is None or df is None or len(known) < max(2, 0.95 * len(draws or ())):
        return None
    from scipy.special import ndtr

    outer = float(ndtr(quantile * math.sqrt((df + 1) / df)))
    low, high = np.quantile(known, [1 - outer, outer])
    return {"low": float(low), "high": float(high), "error": float(known.std(ddof=1))}


def _weights(items: Sequence[str]) -> tuple[Ints, Floats]:
    """Return the bucket of each row, from 0, and the weights of each bucket in every draw, shape (draws, buckets)."""
    names, codes = np.unique(np.array(items, dtype=object), return_inverse=True)
    buckets = [_bucket(name) for name in names]
    used, places = np.unique(buckets, return_inverse=True)
    return places[codes].astype(np.int64), _bucket_weights(used.tobytes())


def _bucket(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) % BUCKETS


@lru_cache(maxsize=4)
def _bucket_weights(used: bytes) -> Floats:
    """Return the weights of buckets in every draw, shape (draws, buckets). `used` are the bytes of the array of their
    numbers, which is hashable."""
    buckets = np.frombuffer(used, dtype=np.int64)
    weights: Floats = np.array([_of_bucket(bucket) for bucket in buckets.tolist()], dtype=np.float64).T.copy()
    weights.setflags(write=False)
    return weights


@lru_cache(maxsize=BUCKETS)
def _of_bucket(bucket: int) -> Ints:
    """Return how often the items of a bucket are in each draw. It is cached, since every cell with one of them needs
    it.
    """
    weights: Ints = np.random.default_rng([SEED, bucket]).poisson(1, DRAWS).astype(np.uint8)
    return weights


# Arrays of texts and numbers
GivenWords: TypeAlias = "Sequence[str | None] | pa.Array[Any]"
GivenNumbers: TypeAlias = "Sequence[float | None] | pa.Array[Any]"


@dataclass(frozen=True)
class CodedTexts:
    """Texts as codes: `codes` has the index of each text in `names`, -1 if it is missing. Names are sorted, except
    after `join_texts`.
    """

    codes: Ints
    names: pa.Array[Any]

    def __len__(self) -> int:
        return len(self.names)

    def named(self, places: Ints) -> list[str]:
        """Return the names at these indices."""
        texts: list[str] = self.names.take(places).to_pylist()
        return texts

    def before(self, separator: str) -> CodedTexts:
        """Return the part of each name before a separator.

        >>> found = code_texts(["d", "a c", "a b"]).before(" ")
        >>> found.codes.tolist(), found.names.to_pylist()
        ([0, 0, 1], ['a', 'd'])
        """
        import pyarrow.compute as pc

        return code_texts(pc.list_element(pc.split_pattern(self.names, separator, max_splits=1), 0))


def code_texts(words: GivenWords, missing: str | None = None) -> CodedTexts:
    """Return texts as codes. Missing texts become `missing` if that is given.

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
    encoded = array.dictionary_encode()
    codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
    order = pc.array_sort_indices(encoded.dictionary).to_numpy()
    places = np.empty(len(order) + 1, dtype=np.int64)
    places[order], places[-1] = np.arange(len(order)), -1
    return CodedTexts(places[codes], encoded.dictionary.take(order))


def join_texts(batches: Sequence[pa.DictionaryArray]) -> CodedTexts:
    """Return the texts of several dictionary-encoded batches as codes. Names are in the order of their first
    occurrence; a missing text has its own code, the last.

    >>> import pyarrow as pa
    >>> found = join_texts([pa.array(each).dictionary_encode() for each in (["b", "a"], ["c", None, "a"])])
    >>> found.codes.tolist(), found.names.to_pylist()
    ([0, 1, 2, 3, 1], ['b', 'a', 'c', None])
    """
    import pyarrow as pa

    coded = pa.chunked_array(batches, pa.dictionary(pa.int32(), pa.string()))
    unified = coded.unify_dictionaries()
    names = unified.chunk(0).dictionary if batches else pa.array([], pa.string())
    codes = [np.empty(0, np.int64)]
    codes += [chunk.indices.fill_null(len(names)).to_numpy(zero_copy_only=False) for chunk in unified.chunks]
    if unified.null_count:
        names = pa.concat_arrays([names, pa.nulls(1, pa.string())])
    return CodedTexts(np.concatenate(codes), names)


def read_numbers(values: GivenNumbers) -> Floats:
    """Return numbers as an array, with NaN for missing ones.

    >>> read_numbers([1, None]).tolist()
    [1.0, nan]
    """
    import pyarrow as pa

    array = values if isinstance(values, pa.Array) else pa.array(values, pa.float64())
    numbers: Floats = array.to_numpy(zero_copy_only=False).astype(np.float64)
    return numbers


def to_list(values: GivenWords | GivenNumbers) -> Sequence[Any]:
    """Return the values that SQL passes as Python objects."""
    return values if isinstance(values, Sequence) else values.to_pylist()
