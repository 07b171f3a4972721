"""Tables that a spec declares, filled from a run: every cell is that of an independent reading of the measures."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.latex_tables import read_tables
from tests.lengths import sized
from tripos_warehouse.tables.render import RENDERERS

SPEC = """
benchmark arithmetic "1.0.0" { languages en, de }
role candidate compared
role judge panel

axis level { easy, hard }
arm hint { none "plain", some "with a hint" }

dataset item from "items.jsonl" { text text, kind text, level, language, answer 0..9 secret }

dimension style "Style" {
  metric CLEAR "Is clear" { scale 1..5, asks "Is it clear?", level 1..5 "as said" }
  metric SHORT "Is short" { scale 1..5, asks "Is it short?", level 1..5 "as said" }
}
scorer rubric(text: text) by judge { prompt "Grade. {{ text }} {{ metrics }}", gives allocated metrics }
allocate rubric {
  |       | CLEAR | SHORT |
  | solve |   x   |   x   |
}

scenario solve "Solve" {
  context language * level
  arms    hint
  over    item as q
  ask reply by candidate {
    system "Think." when hint == some
    prompt "{{ q.text }}? {{ level }}"
    returns { answer 0..9, why text }
    samples 2
  }
  score right = abs(reply.answer - q.answer) < 4
  score rubric(reply.why)
}

measure by_hint   = mean(right) by hint
measure by_level  = mean(right) by hint, level
measure by_kind   = mean(right) by hint, q.kind
measure graded    = mean(rubric) by hint, evaluator, metric
measure agreement = mean_tau_agreement(rubric) across judge by metric, pair
"""
MODELS = ("mock/careful:a", "mock/careful:b", "mock/careless")
JUDGES = ("mock/fair", "mock/severe")
VALUES: Mapping[str, Sequence[str]] = {
    "model": MODELS,
    "hint": ("none", "some"),
    "level": ("easy", "hard"),
    "q.kind": ("part", "sum"),
    "metric": ("CLEAR", "SHORT"),
    "evaluator": JUDGES,
}
Cell = Mapping[str, str]
"""A value of each dimension, and the model."""


@pytest.fixture
def run(once: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run of the spec, which is also the working directory."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"text": f"{n} plus {n}", "kind": ("sum", "part")[n % 2], "level": ("easy", "hard")[n // 2 % 2]}
        | {"language": ("en", "de")[n % 3 == 0], "answer": n % 10}
        for n in range(12)
    ]
    (tmp_path / "items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    (tmp_path / "spec.tripos").write_text(SPEC, "utf-8")
    made = once("run", "spec.tripos", "--model", ",".join(MODELS), "--role", f"judge={','.join(JUDGES)}")
    assert made.code == 0, made.err
    return tmp_path


class Figure:
    """A figure of a table: its source, the dimensions that it goes by, and its value in a cell by the report."""

    def __init__(self, source: str, by: Sequence[str], value: Callable[[Any, Cell], float | None]) -> None:
        self.source = source
        self.by = by
        self.value = value


def of_measure(name: str) -> Callable[[Any, Cell], float | None]:
    def value(report: Any, cell: Cell) -> float | None:
        [measure] = [measure for measure in report["measures"] if measure["name"] == name]
        rows = [row for row in measure["rows"] if all(row[key] == cell[key] for key in (*measure["by"], "model"))]
        return rows[0]["value"] if rows else None

    return value


def gain(report: Any, cell: Cell) -> float | None:
    some, none = (of_measure("by_hint")(report, {**cell, "hint": hint}) for hint in ("some", "none"))
    return None if some is None or none is None else some - none


FIGURES = (
    Figure("by_hint", ("hint",), of_measure("by_hint")),
    Figure("by_level", ("hint", "level"), of_measure("by_level")),
    Figure("mean(right) by hint, level", ("hint", "level"), of_measure("by_level")),
    Figure("by_kind", ("hint", "q.kind"), of_measure("by_kind")),
    Figure("graded", ("hint", "evaluator", "metric"), of_measure("graded")),
    Figure("by_hint[hint: some] - by_hint[hint: none]", (), gain),
    Figure(
        "by_kind[hint: some]",
        ("q.kind",),
        lambda report, cell: of_measure("by_kind")(report, {**cell, "hint": "some"}),
    ),
)


class Declared:
    """A drawn table: its statement, and its expected rows of cells."""

    def __init__(self, name: str, dice: random.Random) -> None:
        self.name = name
        figures = dice.sample(FIGURES, dice.randint(1, 3))
        shared = [name for name in VALUES if all(name in figure.by for figure in figures)]
        self.keys = ["model", *dice.sample(shared, dice.randint(0, len(shared)))]
        dice.shuffle(self.keys)
        self.figures = figures
        self.transposed = dice.random() < 0.4
        self.points = all("graded" not in figure.source for figure in figures) and dice.random() < 0.5
        self.shown = {name: VALUES[name] for name in VALUES}
        for dimension in self.dimensions:
            if dice.random() < 0.4:
                self.shown[dimension] = dice.sample(VALUES[dimension], dice.randint(1, len(VALUES[dimension])))
        self.chosen = [name for name in self.dimensions if self.shown[name] is not VALUES[name]]

    @property
    def dimensions(self) -> list[str]:
        spread = [name for figure in self.figures for name in figure.by]
        return list(dict.fromkeys([*self.keys, *spread]))

    def statement(self) -> str:
        sides = ("columns", "row") if self.transposed else ("rows", "column")
        lines = [f"  {sides[0]} {', '.join(self.keys)}"]
        lines += [
            f"  {sides[1]} {figure.source.replace(' by ', f' under {json.dumps(str(place))} by ')}"
            if " by " in figure.source
            else f'  {sides[1]} {figure.source} under "{place}"'
            for place, figure in enumerate(self.figures)
        ]
        for name in self.chosen:
            lines.append(f"  values {name} {{ {', '.join(json.dumps(value) for value in self.shown[name])} }}")
        lines += ["  points"] if self.points else []
        return "\n".join([f"table {self.name} {{", *lines, "}"])

    def expected(self, report: Any) -> list[list[float | None]]:
        """Return the cells by key and by line."""
        keys = [dict(zip(self.keys, values, strict=True)) for values in self._combinations(self.keys)]
        lines = [
            (figure, dict(zip(spread, values, strict=True)))
            for figure in self.figures
            for spread in [[name for name in figure.by if name not in self.keys]]
            for values in self._combinations(spread)
        ]
        cells = [[self._scaled(figure.value(report, {**key, **values})) for figure, values in lines] for key in keys]
        return [list(column) for column in zip(*cells, strict=True)] if self.transposed else cells

    def _combinations(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        return list(product(*(self.shown[name] for name in names)))

    def _scaled(self, value: float | None) -> float | None:
        return None if value is None else value * (100 if self.points else 1)


def cells_of(table: Any) -> list[list[float | None]]:
    """Return the numbers of a table in JSON, by row."""
    keys = [column["key"] for column in table["columns"] if column["kind"] == "number"]
    assert len({column["key"] for column in table["columns"]}) == len(table["columns"])
    return [[None if row[key] is None else row[key]["value"] for key in keys] for row in table["rows"]]


@pytest.mark.parametrize("seed", range(sized(1, 20)))
def test_every_cell_of_a_drawn_table_is_the_value_of_its_measure(seed: int, run: Path, tripos: Command) -> None:
    dice = random.Random(seed)
    drawn = [Declared(f"drawn_{number}", dice) for number in range(20)]
    Path("tables.tripos").write_text("\n".join([SPEC, *(each.statement() for each in drawn)]), "utf-8")
    report = tripos("report", "--json").data
    printed = tripos("report", "--spec", "tables.tripos", "--tables", "--format", "json")
    assert printed.code == 0, printed.err
    for declared, table in zip(drawn, printed.data["tables"], strict=True):
        expected = declared.expected(report)
        found = cells_of(table)
        assert [len(row) for row in found] == [len(row) for row in expected], declared.statement()
        for row, other in zip(found, expected, strict=True):
            assert row == pytest.approx(other, abs=1e-9), declared.statement()
    for form in RENDERERS:
        whole = tripos("report", "--spec", "tables.tripos", "--tables", "--format", form)
        assert whole.code == 0 and whole.out, whole.err
        if form == "latex":
            assert len(read_tables(whole.out)) == len(drawn)


MATRIX = """
table agreement {
  rows   metric, evaluator
  column agreement
}
table best {
  rows   evaluator, model
  column graded[hint: some]
  short  metric
  mark   2 best
}
table published {
  rows   model, hint
  column by_level
  values level { easy "Easy" }
  published "As printed" {
    | model | hint | Easy |
    | large | none | 0.75 |
  }
}
"""


def test_a_table_of_pairs_is_a_symmetric_matrix(run: Path, tripos: Command) -> None:
    Path("tables.tripos").write_text(SPEC + MATRIX, "utf-8")
    [table] = tripos("report", "--spec", "tables.tripos", "--table", "agreement", "--format", "json").data["tables"]
    report = tripos("report", "--json").data
    [measure] = [measure for measure in report["measures"] if measure["name"] == "agreement"]
    values = {row["metric"]: row["value"] for row in measure["rows"]}
    fair, severe = JUDGES
    expected = [cells for value in (values["CLEAR"], values["SHORT"]) for cells in ([None, value], [value, None])]
    assert cells_of(table) == expected
    assert [(row["metric"], row["evaluator"]) for row in table["rows"]] == [
        ("Is clear", fair), ("Is clear", severe), ("Is short", fair), ("Is short", severe)
    ]  # fmt: skip


def test_the_best_of_each_outer_key_is_marked_as_printed(run: Path, tripos: Command) -> None:
    Path("tables.tripos").write_text(SPEC + MATRIX, "utf-8")
    shown = tripos("report", "--spec", "tables.tripos", "--table", "best", "--format", "md", "--interval", "none").out
    lines = [line.split("|")[1:-1] for line in shown.splitlines() if line.startswith("|")][2:]
    assert len(lines) == len(MODELS) * len(JUDGES)
    for start in (0, len(MODELS)):
        for column in (2, 3):
            cells = [line[column].strip() for line in lines[start : start + len(MODELS)]]
            numbers = sorted({float(cell.strip("*")) for cell in cells}, reverse=True)
            for cell in cells:
                rank = numbers.index(float(cell.strip("*")))
                assert cell.count("*") == (0 if len(numbers) == 1 else {0: 4, 1: 2}.get(rank, 0)), cells


def test_published_figures_are_told_apart_in_every_format(run: Path, tripos: Command) -> None:
    Path("tables.tripos").write_text(SPEC + MATRIX, "utf-8")
    for form in RENDERERS:
        shown = tripos("report", "--spec", "tables.tripos", "--table", "published", "--format", form).out
        assert "large" in shown and "0.75" in shown
        assert ("published" if form in ("csv", "json") else "As printed") in shown, form


def test_the_empty_form_has_the_lines_of_the_filled_one(run: Path, tripos: Command) -> None:
    Path("tables.tripos").write_text(SPEC + MATRIX, "utf-8")
    empty = tripos("plan", "tables.tripos", "--table", "best").out
    assert "CLEAR" in empty and "SHORT" in empty and "…" in empty
    [table] = tripos("plan", "tables.tripos", "--table", "best", "--json").data["tables"]
    assert [column["key"] for column in table["columns"]] == ["evaluator", "model", "CLEAR", "SHORT"]
    refused = tripos("plan", "tables.tripos", "--table", "bets")
    assert (refused.code, "did you mean `best`?" in refused.err) == (2, True)
    none = tripos("report", "--table", "main")
    assert none.code == 2 and "declares no table" in none.err and "`--spec`" in none.err


def test_a_table_without_a_figure_says_so(run: Path, tripos: Command) -> None:
    """An agreement has no figure with one judge: a table of headings alone would look like a fault."""
    alone = (
        SPEC
        + "measure agreed = mean_tau_agreement(rubric) across judge by metric, pair\ntable none { rows metric, evaluator, column agreed }\n"
    )
    (run / "alone.tripos").write_text(alone.replace("arithmetic", "alone"), "utf-8")
    made = tripos("run", "alone.tripos", "--model", "mock/careful", "--role", "judge=mock/fair")
    assert made.code == 0, made.err
    for form in ("text", "md", "latex", "html"):
        assert "Nothing has a value." in tripos("report", "--table", "none", "--format", form).out, form


def test_a_line_without_results_is_shown_as_such(run: Path, tripos: Command) -> None:
    """A table has every column that it declares: one that is left out would say that it was never meant."""
    lacking = "score never = reply.answer == q.answer when level == nothing"
    spec = SPEC.replace("axis level { easy, hard }", "axis level { easy, hard, nothing }")
    spec = spec.replace("  score rubric(reply.why)\n", f"  {lacking}\n  score rubric(reply.why)\n")
    declared = """
measure never = mean(never)
table lacking {
  rows   model
  column by_level[hint: some]
  column never
  values level { nothing, easy }
}
"""
    Path("tables.tripos").write_text(spec + declared, "utf-8")
    [table] = tripos("report", "--spec", "tables.tripos", "--tables", "--format", "json").data["tables"]
    assert [column["key"] for column in table["columns"]] == ["model", "nothing", "easy", "never"]
    for row in table["rows"]:
        values = [None if row[key] is None else row[key]["value"] for key in ("nothing", "easy", "never")]
        assert [value is None for value in values] == [True, False, True]


COMPARED = """
measure gain = by_level[hint: some] - by_level[hint: none]
table gains {
  rows   model
  column gain
}
table arms {
  rows   model, hint
  column by_level
  differences from none
}
table beside {
  columns model, hint
  row     by_level
  points
  differences from none beside values
}
table models {
  rows   hint, model
  column mean(right) "right"
  column graded
  mark   significant at 0.9
  differences from "mock/careless"
}
table models_beside {
  rows   hint, model
  column mean(right) "right"
  mark   significant at 0.9
  differences from "mock/careless" beside values
}
table absent {
  rows   model
  column by_hint
  differences from "mock/nobody" beside values
}
"""


def tables_of(tripos: Command, *names: str) -> list[Any]:
    options = [option for name in names for option in ("--table", name)]
    shown = tripos("report", "--spec", "tables.tripos", *options, "--format", "json")
    assert shown.code == 0, shown.err
    return list(shown.data["tables"])


def test_a_difference_from_a_value_is_that_of_the_slices(run: Path, tripos: Command) -> None:
    """It has the interval of `figure[hint: some] - figure[hint: none]`, and is shown in place of a value or beside."""
    Path("tables.tripos").write_text(SPEC + COMPARED, "utf-8")
    gains, arms, beside = tables_of(tripos, "gains", "arms", "beside")
    level_names = ("easy", "hard")
    figures = {(row["model"], level): row[level] for row in gains["rows"] for level in level_names}
    values = {(row["model"], row["hint"], level): row[level] for row in arms["rows"] for level in level_names}
    across = {row["figure"]: row for row in beside["rows"]}
    for (model, level), expected in figures.items():
        assert values[model, "with a hint", level] == pytest.approx(expected)
        assert expected["low"] is not None
        shown = across[level]
        assert shown[f"{model}: with a hint: difference"]["high"] == pytest.approx(100 * expected["high"])
        difference = shown[f"{model}: with a hint"]["value"] - shown[f"{model}: plain"]["value"]
        assert difference == pytest.approx(100 * expected["value"])
        assert f"{model}: plain: difference" not in shown
    assert "Differences from plain, whose own row has values." in arms["notes"]
    assert "Δ: the difference from plain." in beside["notes"]


def test_differences_from_a_model_are_paired_and_marked_where_significant(run: Path, tripos: Command) -> None:
    Path("tables.tripos").write_text(SPEC + COMPARED, "utf-8")
    instead, beside = tables_of(tripos, "models", "models_beside")
    right = next(column for column in beside["columns"] if column["key"] == "right: difference")
    for row, other in zip(instead["rows"], beside["rows"], strict=True):
        if row["model"] == "mock/careless":
            assert row["right"] == other["right"] and other["right: difference"] is None
        else:
            assert row["right"] == other["right: difference"] != other["right"]
            assert row["right"]["low"] < row["right"]["value"] < row["right"]["high"]
    assert set(right["p"]) == {str(at) for at, row in enumerate(beside["rows"]) if row["model"] != "mock/careless"}
    daggers = sum(p < right["level"] for p in right["p"].values())
    shown = tripos("report", "--spec", "tables.tripos", "--table", "models_beside", "--format", "md").out
    assert sum(line.count("†") for line in shown.splitlines() if line.startswith("|")) == daggers
    assert "differs from mock/careless beyond error (90 %, Holm" in shown


def test_a_model_without_results_has_no_differences(run: Path, tripos: Command) -> None:
    Path("tables.tripos").write_text(SPEC + COMPARED, "utf-8")
    [table] = tables_of(tripos, "absent")
    assert "mock/nobody has no results, so nothing is compared with it." in table["notes"]
    for row in table["rows"]:
        assert row["plain"]["value"] is not None and row["plain: difference"]["value"] is None
    empty = tripos("plan", "tables.tripos", "--table", "absent", "--json").data["tables"][0]
    assert [column["heading"] for column in empty["columns"]] == ["model", "plain", "Δ", "with a hint", "Δ"]


def test_metrics_on_different_scales_have_no_difference(run: Path, tripos: Command) -> None:
    spec = SPEC.replace('metric SHORT "Is short" { scale 1..5', 'metric SHORT "Is short" { scale 0..9')
    spec = spec.replace('asks "Is it short?", level 1..5', 'asks "Is it short?", level 0..9')
    table = "table t { rows model, metric\n column mean(rubric) by hint\n differences from CLEAR }\n"
    Path("tables.tripos").write_text(spec + table, "utf-8")
    refused = tripos("check", "tables.tripos")
    assert refused.code == 2 and "E0702" in refused.err + refused.out
    assert "the metrics of `mean(rubric)` are on different scales" in refused.err + refused.out


def test_an_option_that_tables_have_no_use_for_is_refused(run: Path, tripos: Command) -> None:
    for options in (["--html", "page.html"], ["--junit", "gates.xml"], ["--confusion"], ["--items"], ["--sql"]):
        refused = tripos("report", "--tables", *options)
        assert (refused.code, f"`{options[0]}` has no use with `--tables`" in refused.err) == (2, True), refused.err
    assert tripos("report", "--tables", "--table", "main").code == 2


def test_models_that_are_asked_keep_their_rows_if_their_figures_are_equal(run: Path, tripos: Command) -> None:
    """Equal figures are chance there, and models that are alike would be taken for one."""
    declared = """
table kinds { rows q.kind, model, column 0 * mean(right) }
table arms  { rows hint, model, column 0 * mean(right) }
"""
    Path("tables.tripos").write_text(SPEC + declared, "utf-8")
    kinds, arms = tripos("report", "--spec", "tables.tripos", "--tables", "--format", "json").data["tables"]
    assert [row["model"] for row in kinds["rows"]] == [*MODELS, *MODELS]
    assert [row["model"] for row in arms["rows"]] == [*MODELS, *MODELS]


UNTAUGHT = """
benchmark lessons "1.0.0" { languages en }
role teacher compared
role student
arm lesson { none, told }
dataset item from "items.jsonl" { text text, kind text, answer 0..9 secret }
scenario sit {
  arms lesson
  over item as q
  ask told by teacher when lesson == told { prompt "Teach something." }
  ask reply by student {
    system "{{ told.text }}" when lesson == told
    prompt "{{ q.text }}?"
    returns { answer 0..9 }
  }
  score right = abs(reply.answer - q.answer) < 4
  measure accuracy = mean(right) by lesson
  measure by_kind  = mean(right) by lesson, q.kind
}
table outer { rows lesson, model, column sit.accuracy }
table inner { rows model, lesson, column sit.accuracy, published { | model | lesson | sit.accuracy |
  | mock/careless | told | 0.5 |
  | .             | none | 0.4 |
} }
table kinds { rows q.kind, model, column sit.by_kind[lesson: told] }
"""


def test_models_that_are_not_asked_in_an_arm_are_one_row_before_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"text": f"{n} plus {n}", "kind": ("sum", "part")[n % 2], "answer": n % 10} for n in range(8)]
    Path("items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    Path("spec.tripos").write_text(UNTAUGHT, "utf-8")
    done = tripos("run", "spec.tripos", "--model", "mock/careful:a,mock/careless", "--role", "student=mock/careful")
    assert done.code == 0, done.err
    outer, inner, kinds = tripos("report", "--tables", "--format", "json").data["tables"]
    taught = ["mock/careful:a", "mock/careless"]
    assert [(row["lesson"], row["model"]) for row in outer["rows"]] == [
        ("none", "all models"),
        *(("told", model) for model in taught),
    ]
    own = [("all models", "none"), *((model, "told") for model in taught)]
    assert [(row["model"], row["lesson"]) for row in inner["rows"]] == [*own, ("mock/careless", "told"), ("—", "none")]
    # A field is a key by its own name, and below the heading of published figures a key is shown again.
    assert kinds["columns"][0]["heading"] == "kind"
    text = tripos("report", "--table", "outer").out
    assert text.count("all models") == 1
    lines = tripos("report", "--table", "inner").out.splitlines()
    assert lines[lines.index("-- Published:") + 1].split() == ["mock/careless", "told", "0.500"]
