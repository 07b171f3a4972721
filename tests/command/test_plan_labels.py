"""Labels by people and repeats of judges in `tripos plan` and at the end of `tripos report`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from openpyxl import load_workbook

from tests.command.test_plan_designs import PRICES, SPEC, TWO, found, why  # noqa: F401 - `why` is a fixture
from tests.conftest import Command


def grade(tripos: Command, folder: Path, sample: int) -> None:
    """Let a person who follows nobody grade a random part of the last run."""
    assert tripos("annotate", "--name", "anna", "--sample", str(sample)).code == 0
    book = load_workbook(folder / "anna.xlsx")
    draws = random.Random(1)
    for row in book.worksheets[0].iter_rows(min_row=3):
        if row[3].value:
            row[4].value = draws.randint(3, 9)
    book.save(folder / "anna.xlsx")
    assert tripos("annotate", "--take", "anna.xlsx").code == 0


@pytest.fixture
def corrected(why: Path, tripos: Command) -> Path:  # noqa: F811
    """The benchmark with a measure that people correct, run, and partly graded by a person."""
    (why / "tripos.toml").write_text(PRICES, "utf-8")
    (why / "why.tripos").write_text(SPEC.replace("mean(rubric)\n", "mean(rubric) corrected by people\n"), "utf-8")
    assert tripos("run", "why.tripos", *TWO, "--json").code == 0
    grade(tripos, why, 36)
    return why


def test_labels_are_a_lever_where_they_have_a_price(corrected: Path, tripos: Command) -> None:
    data = found(tripos, "--detect", "2", "--label-price", "0.25")
    assert data["prices"]["labels"] == 0.5
    assert data["labels"]["people"] > 1
    assert data["designs"]
    for each in data["designs"]:
        assert 10 <= each["labels"] <= each["items"]
        assert each["cost"] >= 0.5 * each["labels"]
    dear, cheap = (found(tripos, "--spend", "9usd", "--label-price", price)["designs"][0] for price in ("0.4", "0.25"))
    assert cheap["labels"] > dear["labels"]
    assert cheap["detects"] < dear["detects"]
    told = tripos("plan", "why.tripos", *TWO, "--detect", "2", "--label-price", "0.25")
    assert "A design with labels speaks of people." in " ".join(told.out.split())
    assert max(map(len, told.out.splitlines())) <= 80


def test_without_grades_no_design_has_labels(why: Path, tripos: Command) -> None:  # noqa: F811
    (why / "tripos.toml").write_text(PRICES, "utf-8")
    assert tripos("run", "why.tripos", *TWO, "--json").code == 0
    data = found(tripos, "--detect", "2", "--label-price", "0.25")
    assert {each["labels"] for each in data["designs"]} == {0}
    told = tripos("plan", "why.tripos", *TWO, "--detect", "2", "--label-price", "0.25")
    assert "No design has labels: people graded 0 items: it takes 8." in " ".join(told.out.split())


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--label-price", "1"), "R0202"),
        (("--spend", "100calls", "--label-price", "1"), "R0202"),
        (("--detect", "1", "--label-price", "1"), "R0404"),
    ],
)
def test_a_price_of_labels_that_means_nothing_is_refused(
    why: Path,  # noqa: F811
    tripos: Command,
    options: tuple[str, ...],
    code: str,
) -> None:
    models = ("--model", "openai/no-such-model-x", "--role", "judge=mock/fair")
    done = tripos("plan", "why.tripos", *models, *options)
    assert (done.code, f"error[{code}]" in done.err) == (2, True)


def test_plan_and_report_say_what_more_labels_bring(corrected: Path, tripos: Command) -> None:
    [told] = tripos("report", "--json").data["sharpening"]
    assert [each["model"] for each in told["labels"]] == ["mock/careful", "mock/careful:b"]
    for each in told["labels"]:
        [more] = each["with_more"]
        assert more["graded_items"] == 24
        assert 0 < more["half_width"] < each["half_width"]
    line = f"`quality` of mock/careful: ±{told['labels'][0]['half_width']:.3g} with 18 graded items, about ±"
    for verb in (("report",), ("plan", "why.tripos", *TWO)):
        assert line in " ".join(tripos(*verb).out.split())


def test_the_plain_line_learns_from_earlier_runs(why: Path, tripos: Command) -> None:  # noqa: F811
    worst = " ".join(tripos("plan", "why.tripos", *TWO).out.split())
    assert "worst case" in worst
    assert tripos("run", "why.tripos", *TWO, "--limit", "12", "--json").code == 0
    learned = " ".join(tripos("plan", "why.tripos", *TWO).out.split())
    assert "worst case" not in learned
    assert "in `quality` between two models on the same items (80 % power)." in learned
    assert "from 12 items of mock/careful, mock/careful:b." in learned
    data = found(tripos, "--detect", "1")
    assert f"correlate by {data['components']['correlation']:.2f} on an item" in learned


def test_repeats_are_a_lever_where_judges_gave_several_marks(why: Path, tripos: Command) -> None:  # noqa: F811
    (why / "why.tripos").write_text(
        SPEC.replace("gives  allocated metrics", "gives  allocated metrics, samples 2, seed 5"), "utf-8"
    )
    (why / "tripos.toml").write_text(PRICES, "utf-8")
    assert tripos("run", "why.tripos", *TWO, "--json").code == 0
    data = found(tripos, "--detect", "1")
    assert data["components"]["known"] == ["judges", "repeats"]
    assert data["components"]["repeats"] > 0
    assert {each["repeats"] for each in data["designs"]} >= {1, 2}
    [sharper] = tripos("report", "--json").data["sharpening"]
    assert 0 <= sharper["error_falls_by"]["repeats"] < sharper["error_falls_by"]["items"]
