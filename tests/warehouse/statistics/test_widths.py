"""No function of the statistics returns an interval without width, however alike what it is given is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from tripos_warehouse.statistics.agreement import (
    cohen_kappa,
    gwet_ac,
    intraclass,
    kendall_tau_b,
    kendall_w,
    krippendorff_alpha,
    over_items,
    percent_agreement,
    spearman_rho,
)
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import (
    bootstrap,
    bootstrap_mean,
    clopper_pearson,
    jackknife,
    mean,
    mean_of_cells,
    wilson,
)
from tripos_warehouse.statistics.metrics import mean_pass_at_k, mean_pass_hat_k
from tripos_warehouse.statistics.multiple_tests import compare_paired, rank_groups
from tripos_warehouse.statistics.prediction_powered import corrected_mean
from tripos_warehouse.statistics.preferences import (
    Preference,
    bradley_terry,
    flip_rate,
    judge_severity,
    position_bias,
    self_preference,
    win_rate,
)
from tripos_warehouse.statistics.validity import (
    RepeatedVerdict,
    calibrate,
    corrected_prevalence,
    judge_drift,
    judge_noise,
    judge_stability,
)

Alike = Callable[[float, int], Any]
"""A function of the statistics, of so many units that all have one value."""


def verdicts(many: int, winner: str | None) -> list[Preference]:
    orders = [(Preference("a", "b", winner, n, "j"), Preference("b", "a", winner, n, "k")) for n in range(many)]
    return [each for pair in orders for each in pair]


def repeated(value: float, many: int) -> list[RepeatedVerdict]:
    return [RepeatedVerdict(judge, n, n, value) for judge in ("j", "k") for n in range(many) for _ in range(2)]


FUNCTIONS: dict[str, Alike] = {
    "mean": lambda x, n: mean([x] * n),
    "mean in clusters": lambda x, n: mean([x] * 3 * n, list(range(n)) * 3),
    "mean between ends": lambda x, n: mean([x] * n, ends=(0, 1)),
    "mean of cells": lambda x, n: mean_of_cells([x] * 2 * n, range(2 * n), [0, 1] * n),
    "mean of cells that differ": lambda x, n: mean_of_cells([x, x + 1] * n, range(2 * n), [0, 1] * n),
    "mean of cells between ends": lambda x, n: mean_of_cells([x] * 2 * n, range(2 * n), [0, 1] * n, ends=(0, 1)),
    "jackknife": lambda x, n: jackknife(lambda rows: x, n),
    "bootstrap": lambda x, n: bootstrap(lambda rows: x, n, resamples=50),
    "bootstrap of a mean": lambda x, n: bootstrap_mean([x] * n, resamples=50),
    "wilson": lambda x, n: wilson(x * n, n),
    "clopper_pearson": lambda x, n: clopper_pearson(x * n, n),
    "pass@k": lambda x, n: mean_pass_at_k([4] * n, [4 * int(x)] * n, 2),
    "pass^k": lambda x, n: mean_pass_hat_k([4] * n, [4 * int(x)] * n, 2),
    "kappa": lambda x, n: cohen_kappa([x, 2] * n, [x, 2] * n),
    "kappa by draws": lambda x, n: over_items(lambda each: cohen_kappa(*each), [[x, 2] * n] * 2, resamples=50),
    "alpha by items": lambda x, n: over_items(krippendorff_alpha, [[x, 2] * n] * 2, method="jackknife"),
    "gwet": lambda x, n: gwet_ac([[x, 2] * n] * 2),
    "percent": lambda x, n: percent_agreement([[x] * n] * 3),
    "tau": lambda x, n: kendall_tau_b([x, 2] * n, [x, 2] * n),
    "rho": lambda x, n: spearman_rho([x, 2] * n, [x, 2] * n),
    "w": lambda x, n: kendall_w([[x, 2] * n] * 3),
    "intraclass": lambda x, n: intraclass([[x, 2] * n] * 2),
    "paired": lambda x, n: compare_paired(dict.fromkeys(range(n), x), dict.fromkeys(range(n), 0.5)),
    "turned round": lambda x, n: compare_paired(
        dict.fromkeys(range(n), x), dict.fromkeys(range(n), 0), test="sign_flip"
    ),
    "ranks": lambda x, n: rank_groups({"a": dict.fromkeys(range(n), x), "b": dict.fromkeys(range(n), 0.5)}),
    "win rate": lambda x, n: win_rate(verdicts(n, "a" if x else None), "a"),
    "flips": lambda x, n: flip_rate(verdicts(n, "a" if x else None)),
    "position": lambda x, n: position_bias(verdicts(n, "a" if x else None)),
    "strengths": lambda x, n: bradley_terry(verdicts(n, None), errors="bootstrap", resamples=50).difference("a", "b"),
    "strengths held": lambda x, n: bradley_terry(verdicts(n, "a"), prior_sd=2, errors="items").difference("a", "b"),
    "severity": lambda x, n: judge_severity([[x] * n, [x + 1] * n, [x + 2] * n]),
    "fond": lambda x, n: self_preference(verdicts(n, "a"), {"j": "a"}),
    "corrected": lambda x, n: corrected_mean([x] * 2 * n, [x] * n + [None] * n),
    "corrected between ends": lambda x, n: corrected_mean([x] * 2 * n, [x] * n + [None] * n, ends=(0, 1)),
    "prevalence": lambda x, n: corrected_prevalence([x] * n, [1.0, 1.0, 0.0, 0.0] * n, [1.0, 1.0, 1.0, 0.0] * n),
    "prevalence of a judge who errs": lambda x, n: corrected_prevalence(
        [x] * n * 10, [1.0] * n * 9 + [0.0] * n * 10 + [1.0] * n * 5, [1.0] * n * 9 + [0.0] * n * 15
    ),
    "calibration": lambda x, n: calibrate([x, x + 1] * 5 * n, [x + 1, x + 2] * 5 * n, list(range(5 * n)) * 2),
    "calibration between ends": lambda x, n: calibrate([x] * 10 * n, [x] * 10 * n, ends=(0, 1)),
    "drift": lambda x, n: judge_drift([x] * n, [x + 1] * n),
    "stability": lambda x, n: judge_stability(repeated(x, n)),
    "noise": lambda x, n: judge_noise(repeated(x, n)),
}


def results(found: Any) -> Iterator[Estimate]:
    """Yield every figure in what a function returns."""
    if isinstance(found, Estimate):
        yield found
    elif isinstance(found, dict):
        yield from (each for value in found.values() for each in results(value))
    elif isinstance(found, (list, tuple)):
        yield from (each for value in found for each in results(value))
    elif is_dataclass(found) and not isinstance(found, type):
        yield from (each for field in fields(found) for each in results(getattr(found, field.name)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_all_alike_has_no_interval_without_width(name: str) -> None:
    for many in (2, 3, 8):
        for value in (0.0, 1.0):
            told = [each for each in results(FUNCTIONS[name](value, many)) if each.value is not None]
            for each in told:
                assert each.low is None or each.high is None or each.low < each.high, (value, many, each)
                assert each.low is not None or each.reason or name == "w", (value, many, each)


def test_the_table_has_every_kind_of_figure() -> None:
    there = {name for name, call in FUNCTIONS.items() if any(each.value is not None for each in results(call(1.0, 8)))}
    assert len(there) > 0.8 * len(FUNCTIONS)
    assert np.isfinite([each.value for name in there for each in results(FUNCTIONS[name](1.0, 8)) if each.value]).all()
