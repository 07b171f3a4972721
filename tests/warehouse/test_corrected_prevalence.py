"""`corrected_prevalence` as a measure: its value, its interval, what it is in formulas, and how often it holds."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.compiler.compiling import compile_file, plan_of
from tests.conftest import Command
from tests.warehouse.synthetic import Results, single
from tripos_compiler.plan import Plan
from tripos_warehouse.statistics.intervals import clopper_pearson
from tripos_warehouse.statistics.validity import JudgeRates, corrected_prevalence, rated_prevalence
from tripos_warehouse.store.store import Store

RATES = "sensitivity: 0.9, specificity: 0.8"
SPEC = f"""\
benchmark safe "1.0.0" {{ languages en }}
role candidate compared
arm tone {{ dry, kind }}
dataset item from "items.jsonl" {{ question text, topic text }}
scenario s {{
  arms tone
  over item
  ask reply by candidate {{ prompt "{{{{ item.question }}}} ({{{{ tone }}}})" }}
  score safe = contains(reply.text, "safe")
}}
measure plain   = share(safe)
measure known   = corrected_prevalence(safe, {RATES})
measure studied = corrected_prevalence(safe, {RATES}, positives: 40, negatives: 60)
measure half    = corrected_prevalence(safe, {RATES}, positives: 40)
measure chance  = corrected_prevalence(safe, sensitivity: 0.95, specificity: 0.1, positives: 3, negatives: 60)
measure unsafe  = 1 - studied
measure gap     = studied[tone: kind] - studied[tone: dry]
"""


def plan_in(folder: Path) -> Plan:
    (folder / "items.jsonl").write_text('{"question": "1 + 1?", "topic": "a"}', "utf-8")
    (folder / "safe.tripos").write_text(SPEC, "utf-8")
    return plan_of(compile_file(folder / "safe.tripos"))


def written(store: Store, plan: Plan, dry: list[bool], kind: list[bool] | None = None) -> None:
    """Write the verdicts of the items under each arm."""
    results = Results(plan)
    for tone, verdicts in (("dry", dry), ("kind", dry if kind is None else kind)):
        for at, verdict in enumerate(verdicts):
            results.add("s", "safe", f"i{at}", float(verdict), arms={"tone": tone})
    results.write(store)


def test_it_is_what_the_formula_says(store: Store, tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    verdicts = [True] * 30 + [False] * 20
    written(store, plan, verdicts)
    plain, known, studied = (single(store, plan, name) for name in ("plain", "known", "studied"))
    assert plain.value == 0.6
    for row in (known, studied):
        assert row.value == pytest.approx((0.6 + 0.8 - 1) / 0.7)
        assert (row.items, row.n, row.total) == (50, 100, 100)
    # Of rates that are known the interval is that of the share, taken through the correction.
    assert plain.standard_error is not None
    assert known.standard_error == pytest.approx(plain.standard_error / 0.7)
    # Of rates that a study showed the error of each adds to it.
    share = (0.6 + 0.8 - 1) / 0.7
    se, sp = (40 * 0.9 + 1) / 42, (60 * 0.8 + 1) / 62
    more = math.hypot(share * math.sqrt(se * (1 - se) / 42), (1 - share) * math.sqrt(sp * (1 - sp) / 62)) / 0.7
    assert studied.standard_error == pytest.approx(math.hypot(plain.standard_error / 0.7, more))
    widths = [row.high - row.low for row in (known, single(store, plan, "half"), studied)]  # type: ignore[operator]
    assert widths == sorted(widths)
    assert studied.method == "corrected"


def test_the_python_functions_say_the_same(store: Store, tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    verdicts = [True] * 30 + [False] * 20
    written(store, plan, verdicts)
    values, items = [float(each) for each in verdicts * 2], [*range(50)] * 2
    for name, rates in (("known", JudgeRates(0.9, 0.8)), ("studied", JudgeRates(0.9, 0.8, 40, 60))):
        row, found = single(store, plan, name), rated_prevalence(values, rates, items)
        for had, want in ((row.value, found.value), (row.low, found.low), (row.high, found.high)):
            assert had == pytest.approx(want, abs=1e-12)
    judged = [1] * 30 + [0] * 70
    labelled = corrected_prevalence(judged, [1] * 18 + [0] * 2 + [1] * 3 + [0] * 27, [1] * 20 + [0] * 30).result
    assert rated_prevalence(judged, JudgeRates(0.9, 0.9, 20, 30)).low == pytest.approx(labelled.low)
    exact, share = rated_prevalence(judged, JudgeRates(0.9, 0.9)), clopper_pearson(30, 100)
    assert (exact.low, exact.high) == (
        pytest.approx((share.low - 0.1) / 0.8),  # type: ignore[operator]
        pytest.approx((share.high - 0.1) / 0.8),  # type: ignore[operator]
    )


def test_a_difference_has_the_errors_of_the_rates_once(store: Store, tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    written(store, plan, [True] * 25 + [False] * 25, [True] * 40 + [False] * 10)
    gap, unsafe, studied = (single(store, plan, name) for name in ("gap", "unsafe", "studied"))
    assert gap.value == pytest.approx(0.3 / 0.7)
    # Fifteen of fifty pairs differ; the study of the rates moves both by what their shares differ.
    se, sp = (40 * 0.9 + 1) / 42, (60 * 0.8 + 1) / 62
    pairs = math.sqrt((15 * 0.7**2 + 35 * 0.3**2) / 49 / 50) / 0.7
    study = math.hypot(math.sqrt(se * (1 - se) / 42), math.sqrt(sp * (1 - sp) / 62)) * gap.value / 0.7
    assert gap.standard_error == pytest.approx(math.hypot(pairs, study))
    assert gap.items == 50
    assert unsafe.value == pytest.approx(1 - studied.value)  # type: ignore[operator]
    assert unsafe.standard_error == pytest.approx(studied.standard_error)
    # A figure that numbers move has the interval of what they move.
    ends = (1 - studied.high, 1 - studied.low)  # type: ignore[operator]
    assert (unsafe.low, unsafe.high) == pytest.approx(ends)


def test_it_is_cut_at_the_ends_and_a_judge_near_chance_has_no_interval(store: Store, tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    written(store, plan, [True] * 2 + [False] * 38)
    row = single(store, plan, "studied")
    assert (row.value, row.low) == (0.0, 0.0)
    assert row.high is not None and 0 < row.high < 0.3
    chance = single(store, plan, "chance")
    assert chance.value is not None and chance.low is None and chance.standard_error is None
    assert chance.reason == "too few labels for an interval: the judge may be no better than chance"


def test_a_report_says_where_errors_alone_explain_it(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tripos").write_text(
        'benchmark a "1.0.0" { languages en }\nrole candidate compared\n'
        'scenario s { ask reply by candidate { prompt "Say a number.", samples 3 }\n'
        '  score odd = contains(reply.text, "no such text") }\n'
        "measure odd = corrected_prevalence(s.odd, sensitivity: 0.9, specificity: 0.8)\n",
        "utf-8",
    )
    assert tripos("run", "a.tripos", "--model", "mock/careful", "--json").code == 0
    told = " ".join(tripos("report").out.split())
    assert "`odd` of mock/careful is at 0: its judge finds no more true than its errors alone would" in told


def coverage(random: np.random.Generator, repetitions: int) -> tuple[float, str]:
    """Return how often the interval holds the truth in a drawn setting, and the setting."""
    items, replies = int(np.exp(random.uniform(math.log(20), math.log(500)))), int(random.choice([1, 1, 3, 8]))
    items = max(8, items // replies)
    truth, sensitivity, specificity = random.uniform(0.02, 0.9), *random.uniform(0.6, 0.99, 2)
    alike, exact = float(random.choice([0.1, 0.3, 0.6])), random.random() < 0.3
    positives, negatives = (None, None) if exact else map(int, random.integers(20, 101, 2))
    shares: NDArray[np.float64] = np.full((repetitions, items), truth)
    if replies > 1:
        shares = random.beta(truth * (1 / alike - 1), (1 - truth) * (1 / alike - 1), (repetitions, items))
    found = (
        random.random((repetitions, items, replies))
        < (shares * sensitivity + (1 - shares) * (1 - specificity))[:, :, None]
    )
    owners, held, known = np.repeat(np.arange(items), replies), 0, 0
    for verdicts in found:
        shown = [
            rate if n is None else random.binomial(n, rate) / n
            for rate, n in ((sensitivity, positives), (specificity, negatives))
        ]
        told = rated_prevalence(verdicts.ravel().astype(float), JudgeRates(*shown, positives, negatives), owners)
        if told.low is not None and told.high is not None:
            known += 1
            held += told.low <= truth <= told.high
    setting = f"{items} items, {replies} replies alike by {alike}, {truth:.2f}, {sensitivity:.2f}, {specificity:.2f}"
    return held / max(known, 1), f"{setting}, {positives}, {negatives}"


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 60))])
def test_the_interval_holds_the_truth(seed: int) -> None:
    held, setting = coverage(np.random.default_rng(seed), 600)
    assert held >= 0.93 - 2 * math.sqrt(0.93 * 0.07 / 600), setting
