"""F1, precision and recall in each of their averages, balanced accuracy and Matthews' correlation are those of
scikit-learn on random replies, of single classes and of sets and lists of them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lengths import sized
from tests.warehouse.synthetic import Results, single
from tests.warehouse.test_measures import classed, sorted_out
from tripos_warehouse.store.store import Store


@pytest.mark.parametrize("seed", range(sized(2, 5)))
@pytest.mark.parametrize("said_only", [False, True])
@pytest.mark.parametrize(
    ("measure", "setting"),
    [
        *[
            (f"{name}(answer.sort, item.sort, average: {setting})", setting)
            for name in ("f1", "precision", "recall")
            for setting in ("micro", "macro")
        ],
        *[(f"{name}(answer.sort, item.sort, classes: gold)", "gold") for name in ("f1", "precision", "recall")],
        ("f1(answer.sort, item.sort, average: binary, positive: b)", "binary"),
        ("balanced_accuracy(answer.sort, item.sort)", "balanced"),
        ("mcc(answer.sort, item.sort)", "mcc"),
    ],
)
@pytest.mark.filterwarnings("ignore")  # scikit-learn warns of classes that are only said, or only right
def test_it_is_the_figure_of_scikit_learn(  # type: ignore[no-untyped-def]
    store: Store, tmp_path, measure: str, setting: str, said_only: bool, seed: int
) -> None:
    from sklearn import metrics

    random = np.random.default_rng(seed)
    truth = random.choice(list("ab" if said_only else "abc"), size=60)
    said = np.where(random.random(60) < 0.5, truth, random.choice(list("abc"), size=60))
    plan = classed(tmp_path, f"measure it = {measure}")
    sorted_out(store, plan, [(f"i{at:02}", *pair) for at, pair in enumerate(zip(said, truth, strict=True))], "it")
    match setting:
        case "balanced":
            expected = metrics.balanced_accuracy_score(truth, said)
        case "gold":
            score = getattr(metrics, f"{measure.partition('(')[0]}_score")
            expected = score(truth, said, average="macro", labels=np.unique(truth))
        case "mcc":
            expected = metrics.matthews_corrcoef(truth, said)
        case "binary":
            expected = metrics.f1_score(truth == "b", said == "b", average="binary")
        case _:
            score = getattr(metrics, f"{measure.partition('(')[0]}_score")
            expected = score(truth, said, average=setting)
    assert single(store, plan, "sorting.it").value == pytest.approx(expected)


def test_balanced_accuracy_is_over_the_right_classes_and_macro_recall_over_all(store: Store, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """The classes `a` and `b` are right in half of their items each, and `c` is only said."""
    plan = classed(
        tmp_path,
        "measure it = balanced_accuracy(answer.sort, item.sort)",
        "measure macro = recall(answer.sort, item.sort, average: macro)",
    )
    rows = [("i0", "a", "a"), ("i1", "c", "a"), ("i2", "b", "b"), ("i3", "c", "b")]
    sorted_out(store, plan, rows, "it")
    assert single(store, plan, "sorting.it").value == pytest.approx(1 / 2)
    # Both measures read the same columns, which are kept once.
    assert single(store, plan, "sorting.macro").value == pytest.approx(1 / 3)


@pytest.mark.parametrize("seed", range(sized(2, 5)))
@pytest.mark.parametrize("field", ["tags", "listed"])
@pytest.mark.parametrize("name", ["f1", "precision", "recall"])
@pytest.mark.parametrize("average", ["micro", "macro", "samples"])
@pytest.mark.filterwarnings("ignore")
def test_it_is_the_figure_of_scikit_learn_for_several_classes(  # type: ignore[no-untyped-def]
    store: Store, tmp_path, name: str, average: str, field: str, seed: int
) -> None:
    from sklearn import metrics
    from sklearn.preprocessing import MultiLabelBinarizer

    random = np.random.default_rng(seed)
    plan = classed(tmp_path, f"measure it = {name}(answer.{field}, item.{field}, average: {average})")
    results, pairs = Results(plan), []
    for item in range(40):
        said, truth = ({one for one in "wxyz" if random.random() < 0.4} | set("v"[: item % 2]) for _ in range(2))
        said, truth = said or {"w"}, truth or {"w"}
        pairs.append((said, truth))
        for column, classes in (("values", said), ("gold", truth)):
            repeated = [*classes, *classes]  # a class that a list repeats counts once
            results.add("sorting", f"it.{column}", f"i{item:02}", classes if field == "tags" else repeated)
    results.write(store)
    binarizer = MultiLabelBinarizer(classes=list("vwxyz"))
    said_matrix, truth_matrix = (binarizer.fit_transform([pair[place] for pair in pairs]) for place in (0, 1))
    expected = getattr(metrics, f"{name}_score")(truth_matrix, said_matrix, average=average)
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
