"""Calibration and discrimination: Brier, log loss, ECE and AUROC by their definitions, with errors by leaving out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.compiler.compiling import compile_file, plan_of
from tests.runtime.small_runs import run_small
from tests.warehouse.synthetic import Results, single
from tripos_compiler.plan import Plan
from tripos_runtime.models.base import Request
from tripos_warehouse.store.store import Store

SPEC = """\
benchmark sure "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, answer integer secret }
scenario sums {
  over item
  ask reply by candidate {
    prompt  "{{ item.question }} Say how sure you are, from 0 to 100."
    returns { answer integer, sure 0..100 }
    samples 2
  }
  score right = reply.answer == item.answer
  measure brier = brier(reply.sure / 100, reply.answer == item.answer)
  measure loss  = log_loss(reply.sure / 100, reply.answer == item.answer)
  measure ece   = ece(reply.sure / 100, reply.answer == item.answer, bins: 5)
  measure auroc = auroc(reply.sure, reply.answer == item.answer)
}
measure accuracy = mean(sums.right)
"""
Told = tuple[str, float, bool]
"""The item of a reply, the probability that it states, and whether it is right."""


def brute_ece(told: Sequence[Told]) -> float:
    """Return the error bin by bin, as the paper has it."""
    found = 0.0
    for place in range(5):
        low, high = place / 5, (place + 1) / 5
        inside = [(p, y) for _, p, y in told if low < p <= high or (place == 0 and p == 0)]
        if inside:
            gap = sum(y for _, y in inside) / len(inside) - sum(p for p, _ in inside) / len(inside)
            found += len(inside) / len(told) * abs(gap)
    return found


def brute_area(told: Sequence[Told]) -> float:
    pairs = [(p, q) for _, p, y in told if y for _, q, z in told if not z]
    return sum((p > q) + 0.5 * (p == q) for p, q in pairs) / len(pairs)


DEFINED: dict[str, Callable[[Sequence[Told]], float]] = {
    "brier": lambda told: sum((p - y) ** 2 for _, p, y in told) / len(told),
    "loss": lambda told: -sum(math.log(p if y else 1 - p) for _, p, y in told) / len(told),
    "ece": brute_ece,
    "auroc": brute_area,
}
ITEMS = 60


def plan_in(folder: Path) -> Plan:
    (folder / "items.jsonl").write_text('{"question": "1 + 1?", "answer": 2}', "utf-8")
    (folder / "sure.tripos").write_text(SPEC, "utf-8")
    return plan_of(compile_file(folder / "sure.tripos"))


def test_they_are_what_their_definitions_say_over_replies_that_are_odd(store: Store, tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    sure, right = random.integers(1, 100, (ITEMS, 2)), random.random((ITEMS, 2))

    def script(request: Request) -> str:
        at, number = int(request.messages[0].content.split()[1]), request.number
        if at % 10 == 7:
            return "I am quite sure."
        percent = int(sure[at, number])
        answer = at if right[at, number] < percent / 130 - 0.35 else -1
        form = '{{"answer": {0}, "sure": {1}}}' if at % 2 else '```json\n{{"answer": "{0}", "sure": "{1}"}}\n```'
        return form.format(answer, percent)

    items = [{"question": f"Item {at} ?", "answer": at} for at in range(ITEMS)]
    run = run_small(tmp_path / "run", SPEC, {"items.jsonl": items}, script=script)
    results, told = Results(run.plan), []
    columns: dict[str, dict[str, float | None]] = {}
    for row in run.table("scores"):
        columns.setdefault(row["sample_id"], {"item": row["item_id"]})[row["metric"]] = row["value"]
    for sample, found in columns.items():
        chance, truth, item = found["brier.chance"], found["brier.true"], str(found["item"])
        for name in found.keys() - {"item", "right"}:
            value = found[name]
            status = "scored" if value is not None else "parse_failure"
            results.add("sums", name, item, value, number=int(sample[:8], 16), status=status)
        if chance is not None and truth is not None:
            told.append((item, chance, bool(truth)))
    results.write(store)
    assert 80 < len(told) < 2 * ITEMS
    for name, defined in DEFINED.items():
        row = single(store, run.plan, f"sums.{name}")
        assert row.value == pytest.approx(defined(told), abs=1e-12), name
        names = sorted({item for item, _, _ in told})
        moved = [defined([each for each in told if each[0] != item]) for item in names]
        middle = sum(moved) / len(moved)
        error = math.sqrt((len(moved) - 1) / len(moved) * sum((each - middle) ** 2 for each in moved))
        assert row.standard_error == pytest.approx(error, rel=0.02), name
        assert (row.n, row.total) == (len(told), 2 * ITEMS)


def test_a_calibration_error_that_chance_may_show_has_no_interval(store: Store, tmp_path: Path) -> None:
    random, plan = np.random.default_rng(3), plan_in(tmp_path)
    results = Results(plan)
    for at, chance in enumerate(random.beta(3, 2, 80)):
        results.add("sums", "brier.chance", f"i{at}", float(chance))
        results.add("sums", "brier.true", f"i{at}", bool(random.random() < chance))
    results.write(store)
    row = single(store, plan, "sums.ece")
    assert row.value is not None and 0 < row.value < 0.2
    assert row.low is None and "chance alone" in str(row.reason)


@pytest.mark.parametrize(
    ("name", "told", "reason"),
    [
        ("loss", [(1.0, False), (0.5, True)], "certain"),
        ("auroc", [(0.4, True), (0.5, True)], "none is"),
        ("brier", [(1.5, True), (0.5, True)], "outside 0 to 1"),
    ],
)
def test_there_is_a_reason_where_there_is_no_value(
    store: Store, tmp_path: Path, name: str, told: list[tuple[float, bool]], reason: str
) -> None:
    plan, column = plan_in(tmp_path), "score" if name == "auroc" else "chance"
    steps = {step.name for step in plan.scenarios[0].steps}
    first = f"{name}.{column}" if f"{name}.{column}" in steps else "brier.chance"
    results = Results(plan)
    for at, (chance, truth) in enumerate(told):
        results.add("sums", first, f"i{at}", chance)
        results.add("sums", "brier.true", f"i{at}", truth)
    results.write(store)
    row = single(store, plan, f"sums.{name}")
    assert row.value is None
    assert reason in str(row.reason)
