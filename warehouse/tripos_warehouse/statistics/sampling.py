"""Several samples of an item: how often one of k is right, and how often all are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import comb

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals import mean
from tripos_warehouse.statistics.ratings import Clusters


def pass_at_k(n: int, c: int, k: int) -> StatisticResult:
    """pass@k of an item with `c` right of `n` samples: the chance that of k of them at least one is right.

    1 − C(n − c, k) / C(n, k), without bias (Chen et al. 2021, "Evaluating large language models trained on code").
    Raises `ValueError` unless 0 ≤ `c` ≤ `n` and `k` ≥ 1.

    >>> [round(pass_at_k(10, 3, k).value, 6) for k in (1, 2, 5)]
    [0.3, 0.533333, 0.916667]
    >>> pass_at_k(4, 3, 5).reason
    'needs 5 samples, and there are 4'
    """
    _check(n, c, k)
    return _too_few(n, k) or StatisticResult(1 - comb(n - c, k) / comb(n, k), n=n)


def pass_hat_k(n: int, c: int, k: int) -> StatisticResult:
    """pass^k of an item with `c` right of `n` samples: the chance that k of them are all right.

    C(c, k) / C(n, k), without bias (Yao et al. 2024, "τ-bench"). Raises `ValueError` as `pass_at_k` does.

    >>> [round(pass_hat_k(10, 8, k).value, 6) for k in (1, 2, 5)]
    [0.8, 0.622222, 0.222222]
    """
    _check(n, c, k)
    return _too_few(n, k) or StatisticResult(comb(c, k) / comb(n, k), n=n)


def mean_pass_at_k(
    samples: Sequence[int], right: Sequence[int], k: int, clusters: Clusters = None, *, confidence: float = 0.95
) -> StatisticResult:
    """pass@k of a benchmark: the mean over items, with the interval of Student's t over items or their `clusters`.

    `samples` and `right` have a number for each item. Items with fewer than k samples count in `left_out` only.

    >>> found = mean_pass_at_k([10, 10, 3], [3, 10, 1], 5)
    >>> round(found.value, 6), found.n, found.left_out
    (0.958333, 2, 1)
    """
    found = [pass_at_k(n, c, k).value for n, c in zip(samples, right, strict=True)]
    return _mean(found, k, clusters, confidence)


def mean_pass_hat_k(
    samples: Sequence[int], right: Sequence[int], k: int, clusters: Clusters = None, *, confidence: float = 0.95
) -> StatisticResult:
    """pass^k of a benchmark, as `mean_pass_at_k`.

    >>> round(mean_pass_hat_k([10, 10], [8, 10], 2).value, 6)
    0.811111
    """
    found = [pass_hat_k(n, c, k).value for n, c in zip(samples, right, strict=True)]
    return _mean(found, k, clusters, confidence)


def _mean(values: list[float | None], k: int, clusters: Clusters, confidence: float) -> StatisticResult:
    found = mean(values, clusters, confidence=confidence, ends=(0.0, 1.0))
    if found.value is None:
        return replace(found, reason=f"no item has {k} samples")
    return replace(found, statistic=None, p=None)


def _check(n: int, c: int, k: int) -> None:
    if not 0 <= c <= n:
        raise ValueError(f"{c} right of {n} samples cannot be")
    if k < 1:
        raise ValueError(f"k is 1 or more, not {k}")


def _too_few(n: int, k: int) -> StatisticResult | None:
    return StatisticResult.undefined(f"needs {k} samples, and there are {n}", n=n) if n < k else None
