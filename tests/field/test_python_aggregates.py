"""Aggregates in Python: essays are marked as ASAP's are, and agreement with the key is the user's own function."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Command
from tests.field.running import Figures, figures_of, lines
from tripos.view.files import ViewFiles
from tripos_compiler.language.plan_diff import are_comparable
from tripos_warehouse.report import named_boards
from tripos_warehouse.statistics import user_functions
from tripos_warehouse.store.store import Store

METRICS = '''"""Figures of a whole set."""


def kappa_w(a: list[float], b: list[float]) -> float:
    """Kappa with linear weights."""
    seen = sum(abs(x - y) for x, y in zip(a, b)) / len(a)
    chance = sum(abs(x - y) for x in a for y in b) / len(a) ** 2
    return 1 - seen / chance


def g_mean(said: list[str], true: list[str], hard: list[bool]) -> float:
    """The geometric mean of the recall of every class, over hard items."""
    print("this is no result")
    product, classes = 1.0, sorted({y for y, h in zip(true, hard) if h})
    for name in classes:
        own = [x for x, y, h in zip(said, true, hard) if y == name and h]
        product *= own.count(name) / len(own)
    return product ** (1 / len(classes))


def broken(values: list[float]) -> float:
    """Nothing that there is."""
    return values[len(values)]


def lone(said: list[float], text: list[str]) -> float:
    """The mark of two essays, neither of which many draws of the items have, less that of all."""
    own = [x for x, name in zip(said, text) if name in ("essay 4", "essay 10")]
    return sum(own) / len(own) - sum(said) / len(said)


def wordy(values: list[float]) -> float:
    """No number."""
    return "one"  # type: ignore[return-value]
'''
SPEC = """
benchmark essays "1.0.0" {
  languages en
  license   "CC0-1.0"
}
role candidate compared

dataset essay from "essays.jsonl" {
  text   text
  mark   1..6 secret
  kind   choice(letter, story) secret
  long   bool
}

aggregate kappa_w(a: list<number>, b: list<number>) -> number from "metrics.py:kappa_w"
aggregate g_mean(said: list<text>, true: list<text>, hard: list<bool>) -> number from "metrics.py:g_mean"
aggregate broken(values: list<number>) -> number from "metrics.py:broken"
aggregate lone(said: list<number>, text: list<text>) -> number from "metrics.py:lone"
aggregate wordy(values: list<number>) -> number from "metrics.py:wordy"

scenario marking {
  over essay
  ask reply by candidate {
    prompt "{{ essay.text }}"
    returns { mark 1..6, kind choice(letter, story) }
    samples 2
  }
  score exact = reply.mark == essay.mark

  measure agreement = kappa_w(reply.mark, essay.mark)
  measure by_length = kappa_w(reply.mark, essay.mark) by essay.long
  measure both      = mean(kappa_w(reply.mark, essay.mark) by essay.long)
  measure strict    = kappa_w(reply.mark, essay.mark, missing: fail)
  measure squared   = quadratic_kappa(reply.mark, essay.mark)
  measure less      = agreement - squared
  measure kinds     = g_mean(reply.kind, essay.kind, essay.long)
  measure none      = broken(exact)
  measure lone      = lone(reply.mark, essay.text)
  measure word      = wordy(exact)
}
"""
Told = tuple[str, int, int, str, str, bool]
"""Of a reply the item, the mark said and true, the kind said and true, and whether the essay is long."""


def essays() -> list[dict[str, object]]:
    dice = random.Random(8)
    return [
        {
            "text": f"essay {number}",
            "mark": dice.randint(1, 6),
            "kind": dice.choice(["letter", "story"]),
            "long": dice.random() < 0.6,
        }
        for number in range(60)
    ]


def answer(text: str) -> str | None:
    """Return one of several odd replies: a refusal, an empty one, a mark off the scale."""
    asked = re.findall(r"essay (\d+)", text)
    if not asked:
        return ""
    number = int(asked[0])
    match number % 13:
        case 1:
            return None
        case 2:
            return ""
        case 3:
            return json.dumps({"mark": 9, "kind": "letter"})
    row = essays()[number]
    mark = max(1, min(6, int(str(row["mark"])) + (number * 7) % 4 - 1))
    kind = row["kind"] if number % 3 else "story"
    return json.dumps({"mark": mark, "kind": kind})


def told() -> list[Told]:
    found: list[Told] = []
    for row in essays():
        said = answer(str(row["text"])) or "{}"
        value = json.loads(said)
        if value.get("mark", 9) <= 6:
            one = (str(row["text"]), value["mark"], int(str(row["mark"])), value["kind"], str(row["kind"]))
            found += [(*one, bool(row["long"]))] * 2
    return found


def weighted_kappa(rows: Sequence[Told]) -> float:
    """Return linearly weighted kappa from a table of both marks, as textbooks have it."""
    table = np.zeros((6, 6))
    for _, said, true, *_ in rows:
        table[said - 1, true - 1] += 1 / len(rows)
    weight = np.abs(np.subtract.outer(np.arange(6), np.arange(6))) / 5
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    return float(1 - (weight * table).sum() / (weight * expected).sum())


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Figures:
    for function in ("kappa_w", "g_mean", "broken", "lone", "wordy"):
        user_functions.admit_python(METRICS, function)
    folder = tmp_path_factory.mktemp("essays")
    return figures_of(folder, SPEC, {"essays.jsonl": lines(essays()), "metrics.py": METRICS}, answer)


def test_a_function_of_the_user_is_taken_of_the_values_of_all_replies(marked: Figures) -> None:
    row = marked["marking.agreement"]
    assert row.value == pytest.approx(weighted_kappa(told()), abs=1e-12)
    assert (row.n, row.total, row.items) == (len(told()), 120, len({each[0] for each in told()}))
    for long, value in marked.by("marking.by_length").items():
        rows = [each for each in told() if each[5] == (long in ("true", "True", "1.0"))]
        assert value == pytest.approx(weighted_kappa(rows), abs=1e-12), long
    halves = [weighted_kappa([each for each in told() if each[5] is long]) for long in (True, False)]
    assert marked["marking.both"].value == pytest.approx(sum(halves) / 2)
    recalls = []
    for kind in ("letter", "story"):
        own = [said == kind for _, _, _, said, true, long in told() if true == kind and long]
        recalls.append(sum(own) / len(own))
    assert marked["marking.kinds"].value == pytest.approx((recalls[0] * recalls[1]) ** 0.5)


def test_its_interval_is_that_of_items_that_are_drawn_again(marked: Figures) -> None:
    by_item: dict[str, list[Told]] = {}
    for each in told():
        by_item.setdefault(each[0], []).append(each)
    dice, names = random.Random(4), sorted(by_item)
    drawn = [
        weighted_kappa([one for name in dice.choices(names, k=len(names)) for one in by_item[name]]) for _ in range(400)
    ]
    row = marked["marking.agreement"]
    assert row.method == "bootstrap" and row.low is not None and row.high is not None
    assert row.standard_error == pytest.approx(np.std(drawn, ddof=1), rel=0.15)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert (row.low, row.high) == pytest.approx((low, high), abs=0.06)
    less = marked["marking.less"]
    assert less.value == pytest.approx((row.value or 0) - (marked["marking.squared"].value or 0))
    assert less.method == "bootstrap" and less.standard_error is not None
    assert less.standard_error < 0.8 * (row.standard_error or 0)  # the same items are in both parts


def test_a_function_that_fails_gives_no_value_and_says_why(marked: Figures) -> None:
    none, word, strict = (marked[f"marking.{name}"] for name in ("none", "word", "strict"))
    assert none.value is None and none.reason == "`broken` failed with IndexError: list index out of range (S0211)"
    assert word.value is None and word.reason == "`wordy` returned 'one', which is no number (S0211)"
    assert strict.value is None and "missing: fail" in str(strict.reason)
    assert none.n == word.n == len(told())


def test_a_figure_that_many_draws_do_not_have_has_no_interval_and_says_why(marked: Figures) -> None:
    row = marked["marking.lone"]
    assert row.value is not None and (row.low, row.method) == (None, None)
    assert row.reason == "too many draws of the items have no value: nothing shows the error"


def test_a_store_executes_no_python_that_its_reader_has_not_run(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"spec.tripos": SPEC, "essays.jsonl": lines(essays()[:20]), "metrics.py": METRICS}.items():
        (tmp_path / name).write_text(text, "utf-8")
    models = "mock/careful,mock/careless"
    assert tripos("run", "spec.tripos", "--untrusted", "--model", models).code == 2
    done = tripos("run", "spec.tripos", "--model", models)
    assert done.code == 0, done.err

    def agreement(*more: str) -> dict[str, object]:
        rows = next(
            each for each in tripos("report", "--json", *more).data["measures"] if each["name"] == "marking.agreement"
        )
        return dict(rows["rows"][0])

    assert agreement()["value"] is not None
    compared = tripos("compare", "--json").data["rows"]
    row = next(each for each in compared if each["of"] == "" and each["name"] == "marking.agreement")
    assert row["standard_error"] is not None
    assert "R0270" in str(agreement("--untrusted")["reason"])
    monkeypatch.setattr(user_functions, "_admitted", {})
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    assert "S0212" in str(agreement()["reason"]) and agreement()["value"] is None
    assert agreement("--spec", "spec.tripos")["value"] is not None
    monkeypatch.setattr(user_functions, "_admitted", {})
    assert agreement()["value"] is not None  # it is kept for later processes

    (tmp_path / ".env").write_text("XDG_STATE_HOME=theirs\n", "utf-8")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "other").rename(tmp_path / "theirs")
    monkeypatch.setattr(user_functions, "_admitted", {})
    assert "S0212" in str(agreement()["reason"])  # a folder that was handed over says no word about what is executed
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "theirs"))

    (tmp_path / "metrics.py").write_text(METRICS.replace("1 - seen", "2 - seen"), "utf-8")
    before = agreement()["value"]
    assert agreement("--spec", "spec.tripos")["value"] == pytest.approx(float(str(before)) + 1)
    assert agreement()["value"] == before


def test_a_release_has_the_function_and_says_when_it_changed(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"spec.tripos": SPEC, "essays.jsonl": lines(essays()[:12]), "metrics.py": METRICS}.items():
        (tmp_path / name).write_text(text, "utf-8")
    assert tripos("release", "spec.tripos", "--to", "out").code == 0
    (folder,) = [each for each in (tmp_path / "out").rglob("*") if (each / "plan.json").is_file()] or [tmp_path / "out"]
    assert "metrics.py" in (folder / "manifest.json").read_text("utf-8")
    assert tripos("verify", str(folder)).code == 0
    done = tripos("run", str(folder), "--model", "mock/careful", "--store", "elsewhere")
    assert done.code == 0, done.err
    report = tripos("report", "--json", "--store", "elsewhere").data
    rows = next(each for each in report["measures"] if each["name"] == "marking.agreement")["rows"]
    assert rows[0]["value"] is not None
    (tmp_path / "metrics.py").write_text(METRICS.replace("1 - seen", "2 - seen"), "utf-8")
    changed = tripos("diff", str(folder), "spec.tripos")
    assert "kappa_w" in changed.out and "has another text or version" in changed.out


def test_no_other_function_of_a_file_that_was_run_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of somebody else may name any function of that file, such as one that it imports."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(user_functions, "_admitted", {})
    text = "from subprocess import run\n\n\ndef first(values: list[float]) -> float:\n    return values[0]\n"
    version = user_functions.admit_python(text, "first")
    for _ in range(2):  # of this process, and of later ones
        assert user_functions.UserFunction("first", "m.py", "first", version, ("values",)).load()([[2.0]]) == 2.0
        with pytest.raises(user_functions.NoFigure, match="S0212"):
            user_functions.UserFunction("run", "m.py", "run", version, ("args",)).load()
        monkeypatch.setattr(user_functions, "_admitted", {})


OWN = """
benchmark own "1.0.0" {
  languages en
  headline highest
}
role candidate compared
aggregate largest(values: list<number>) -> number from "own.py:largest"
dataset item from "items.jsonl" { q text }
scenario short "Short" {
  over item
  ask reply by candidate { prompt "{{ item.q }}" }
  score size = length(reply.text)
}
measure highest = largest(size)
"""


def test_a_board_with_python_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its value depends on what this user may execute here, which no commit of the store tells."""
    python = "def largest(values: list[float]) -> float:\n    return max(values)\n"
    monkeypatch.setattr(named_boards, "MANY_BYTES", 0)
    monkeypatch.setattr(user_functions, "_admitted", {})
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    questions = lines([{"q": f"Question {number}?"} for number in range(7)])
    figures_of(tmp_path, OWN, {"items.jsonl": questions, "own.py": python}, lambda text: "yes")
    store = Store.open(tmp_path / "results", create=False)

    def values() -> list[float]:
        [board] = named_boards.stored_leaderboard(store, comparable=are_comparable)
        return [each.value for each in board.entries]

    def shown() -> list[bytes | None]:
        with closing(ViewFiles(lambda: store, tmp_path / "made", lasting=tmp_path / "lasting")) as view:
            paths = "benchmarks/own.json", "runs/20260101-000000-0000/report.json"
            return [view.json(path) for path in paths]

    assert values() == []
    before = shown()
    shutil.rmtree(tmp_path / "made")
    user_functions.admit_python(python, "largest")
    for one, other in zip(before, shown(), strict=True):
        assert one != other
    assert values() == [3.0]
