"""Published figures stand on a leaderboard beside the models of a store, marked and without a rank."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from tests.conftest import Command

ROOT = Path(__file__).parents[2]
TABLE_4 = ROOT / "specs" / "mathtutorbench" / "published" / "table4.csv"
HEAD = "benchmark,measure,model,value,source\n"


@pytest.fixture
def store(quiz: Path, once: Command) -> Path:
    spec = quiz / "quiz.tripos"
    spec.write_text(spec.read_text("utf-8").replace("  languages en\n", "  languages en\n  headline length\n"), "utf-8")
    done = once("run", "quiz.tripos", "--model", "mock/careful,mock/careless", "--role", "judge=mock/careful:j")
    assert done.code == 0, done.err
    return quiz


def test_a_figure_is_marked_has_no_rank_and_changes_none(store: Path, tripos: Command) -> None:
    Path("figures.csv").write_text(HEAD + "quiz,length,Ann-1,0.99,a paper\nquiz,other,Ann-1,0.5,a paper\n", "utf-8")
    alone = json.loads(tripos("leaderboard", "--json").out)
    beside = json.loads(tripos("leaderboard", "--json", "--published", "figures.csv").out)
    (board,) = beside["boards"]
    assert board.pop("published") == [{"model": "Ann-1", "value": 0.99, "source": "a paper"}]
    assert beside == alone
    text = tripos("leaderboard", "--published", "figures.csv").out
    (line,) = [line for line in text.splitlines() if "Ann-1" in line]
    assert line.split() == ["—", "Ann-1", "0.990", "—", "—", "published"]
    assert "published: a paper; what was not run here is not ranked" in text
    assert "published figures on no board: quiz other" in tripos("leaderboard", "--published", "figures.csv").err
    markdown = tripos("leaderboard", "--format", "markdown", "--published", "figures.csv").out
    assert "| — | Ann-1 | 0.990 | — | — | published |" in markdown
    rows = list(csv.DictReader(tripos("leaderboard", "--format", "csv", "--published", "figures.csv").out.splitlines()))
    found = [(row["rank"], row["letters"], row["value"]) for row in rows if row["model"] == "Ann-1"]
    assert found == [("", "published", "0.99")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "quiz,length,Ann-1,high,a paper\n", "figures.csv:2: the value `high` is no number"),
        (HEAD + "quiz,length,Ann-1,nan,a paper\n", "figures.csv:2: the value `nan` is no number"),
        (HEAD + "quiz,length,Ann-1,1e308,a paper\n", "figures.csv:2: the value `1e308` is no number"),
        ("benchmark,measure,model,value\nquiz,length,Ann-1,1\n", "figures.csv:2: there is no `source`"),
        (None, "cannot read the published figures"),
    ],
)
def test_a_file_that_has_no_figures_is_told(store: Path, tripos: Command, text: str | None, said: str) -> None:
    if text is not None:
        Path("figures.csv").write_text(text, "utf-8")
    done = tripos("leaderboard", "--published", "figures.csv")
    assert (done.code, said in " ".join(done.err.split())) == (2, True), done.err


def test_the_figures_of_table_4_are_of_eight_models_and_nine_measures_that_the_spec_has() -> None:
    with TABLE_4.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert len({row["model"] for row in rows}) == 8
    measures = {row["measure"] for row in rows}
    assert len(measures) == 9 and len(rows) == 72
    spec = (TABLE_4.parents[1] / "published.tripos").read_text("utf-8")
    assert not [name for name in measures if name not in spec]


def test_the_published_figures_of_a_board_are_those_of_the_table(tmp_path: Path) -> None:
    """The table of the spec prints them as the paper does, and the file in the unit of their measure."""
    spec = (ROOT / "specs" / "mathtutorbench" / "published.tripos").read_text("utf-8")
    lines = [line.strip().strip("|").split("|") for line in spec.splitlines() if line.strip().startswith("|")]
    [header, *rows] = [[cell.strip() for cell in line] for line in lines]
    columns = re.findall(r"column (\w+\.\w+)( / 100)? +under", spec)
    assert len(columns) == len(header) - 1
    figures = {(row["model"], row["measure"]): float(row["value"]) for row in csv.DictReader(TABLE_4.open())}
    shown = {
        (row[0], measure): float(cell) * (100 if share else 1)
        for row in rows
        for (measure, share), cell in zip(columns, row[1:], strict=True)
    }
    assert shown == pytest.approx(figures)
