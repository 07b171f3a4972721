"""F1 in each of its averages, balanced accuracy and Matthews' correlation are those of scikit-learn on random replies."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lengths import sized
from tests.warehouse.synthetic import Results, single
from tests.warehouse.test_measures import classed, sorted_out
from tripos_warehouse.store.store import Store


@pytest.mark.parametrize("seed", range(sized(2, 5)))
@pytest.mark.parametrize(
    ("measure", "setting"),
    [
        ("f1(answer.sort, item.sort, average: micro)", "micro"),
        ("f1(answer.sort, item.sort, average: macro)", "macro"),
        ("f1(answer.sort, item.sort, average: binary, positive: b)", "binary"),
        ("recall(answer.sort, item.sort, average: macro)", "balanced"),
        ("mcc(answer.sort, item.sort)", "mcc"),
    ],
)
def test_it_is_the_figure_of_scikit_learn(  # type: ignore[no-untyped-def]
    store: Store, tmp_path, measure: str, setting: str, seed: int
) -> None:
    from sklearn.metrics import balanced_accuracy_score, f1_score, matthews_corrcoef

    random = np.random.default_rng(seed)
    truth = random.choice(list("abc"), size=60, p=[0.5, 0.3, 0.2])
    said = np.where(random.random(60) < 0.5, truth, random.choice(list("abc"), size=60))
    plan = classed(tmp_path, f"measure it = {measure}")
    sorted_out(store, plan, [(f"i{at:02}", *pair) for at, pair in enumerate(zip(said, truth, strict=True))], "it")
    match setting:
        case "balanced":
            expected = balanced_accuracy_score(truth, said)
        case "mcc":
            expected = matthews_corrcoef(truth, said)
        case "binary":
            expected = f1_score(truth == "b", said == "b", average="binary")
        case _:
            expected = f1_score(truth, said, average=setting)
    assert single(store, plan, "sorting.it").value == pytest.approx(expected)


@pytest.mark.parametrize("average", ["macro", "micro", "binary, positive: b"])
def test_where_no_reply_can_be_read_there_is_no_value(store: Store, tmp_path, average: str) -> None:  # type: ignore[no-untyped-def]
    plan = classed(tmp_path, f"measure it = f1(answer.sort, item.sort, average: {average})")
    results = Results(plan)
    for item in ("i00", "i01"):
        results.add("sorting", "it.values", item, None, status="parse_failure")
        results.add("sorting", "it.gold", item, "a")
    results.write(store)
    row = single(store, plan, "sorting.it")
    assert (row.value, row.n, row.total) == (None, 0, 2)
    assert row.reason is not None
