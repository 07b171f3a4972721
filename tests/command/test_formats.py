"""`--format` of the verbs that show tables, and the values that are bold."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.each import each

SPEC = """\
benchmark sums "1.0.0" {
  languages en
  headline  accuracy
}
role candidate compared
axis kind { plus, times }
dataset item from "items.jsonl" { question text, kind, answer text secret }
scenario solve {
  over item
  context kind
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = contains(reply.text, item.answer)
}
measure accuracy = mean(right)
measure by_kind = mean(right) by kind
"""


@pytest.fixture
def sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, once: Command) -> Path:
    """A store with three models: one is right, one always wrong, one wrong once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    questions = [(f"{n} and {kind}", kind, str(n + 10)) for n in range(8) for kind in ("plus", "times")]
    items = [{"question": text, "kind": kind, "answer": answer} for text, kind, answer in questions]
    (tmp_path / "sums.tripos").write_text(SPEC, "utf-8")
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")
    with (tmp_path / "replies.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question", "model", "reply"])
        for number, (text, _, answer) in enumerate(questions):
            for model in ("good", "=bad", "mid_1"):
                right = model == "good" or (model == "mid_1" and number < 4)
                rows.writerow([text, model, answer if right else "no"])
    assert once("import", "samples", "replies.csv", "--spec", "sums.tripos").code == 0
    return tmp_path


def test_the_best_value_is_bold_where_it_differs_beyond_error(sums: Path, tripos: Command) -> None:
    shown = tripos("leaderboard", "--format", "md").out
    assert "| 1 | good | **1.000** [" in shown and shown.count("**") == 2
    assert "Bold: better than every other model beyond error" in shown
    report = tripos("report", "--format", "md").out
    assert "| good | **1.00** [0.79, 1.00] | 16 | 16 |" in report
    assert "- n = 16 scores of 16 items; coverage 100%." in report
    assert r"good & \bfseries 1.00 \pm 0.21 & 16 & 16" in tripos("report", "--format", "latex", "--interval", "pm").out


def test_nothing_is_bold_where_items_do_not_tell_models_apart(sums: Path, tripos: Command) -> None:
    rows = list(csv.DictReader(io.StringIO((sums / "replies.csv").read_text())))
    with (sums / "close.csv").open("w", newline="") as file:
        written = csv.DictWriter(file, ["question", "model", "reply"])
        written.writeheader()
        for at, row in enumerate(each for each in rows if each["model"] == "good"):
            written.writerow(row)
            written.writerow({**row, "model": "close", "reply": "no" if at == 0 else row["reply"]})
    assert tripos("import", "samples", "close.csv", "--spec", "sums.tripos", "--store", "other").code == 0
    for command in (("leaderboard",), ("report",)):
        shown = tripos(*command, "--store", "other", "--format", "md").out
        assert "close" in shown and "**" not in shown and "Bold" not in shown


@each("command", [("report",), ("leaderboard",), ("compare", "--models", "good,=bad"), ("sql", "from sums.scores")])
def test_every_format_has_the_same_rows(command: tuple[str, ...], sums: Path, tripos: Command) -> None:
    shown = {form: tripos(*command, "--format", form) for form in ("text", "md", "latex", "csv", "json", "html")}
    assert {each.code for each in shown.values()} == {0}
    assert shown["json"].out == tripos(*command, "--json").out or command[0] == "sql"
    json.loads(shown["json"].out)
    rows = list(csv.DictReader(io.StringIO(shown["csv"].out)))
    assert rows and all(None not in row.values() for row in rows)
    if command[0] in ("report", "leaderboard", "sql"):
        assert {row["model"] for row in rows} == {"good", "'=bad", "mid_1"}  # no text is a formula
        assert r"mid\_1" in shown["latex"].out and "<td" in shown["html"].out
    assert shown["latex"].out.count(r"\toprule") == shown["html"].out.count("<thead>")


def test_an_option_without_use_is_refused(sums: Path, tripos: Command) -> None:
    for command in (
        ("report", "--interval", "pm"),
        ("report", "--format", "md", "--sql"),
        ("leaderboard", "--format", "csv", "--interval", "ci"),
        ("compare", "--json", "--format", "md"),
        ("sql", "--format", "md"),
        ("sql", "select 1", "--format", "csv", "-o", "x.csv"),
    ):
        outcome = tripos(*command)
        assert (outcome.code, outcome.out) == (2, "") and "R0202" in outcome.err


def test_an_answer_in_latex_keeps_what_siunitx_cannot_read_as_text(sums: Path, tripos: Command) -> None:
    query = "select 'a_b' as name, 'nan'::double as bad, 1.5 as good, 12 as n, null as nothing"
    shown = tripos("sql", query, "--format", "latex").out
    assert r"a\_b & {nan} & 1.50 & 12 & \textemdash{} \\" in shown


def test_sql_prints_json_by_either_option(tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert tripos("run", "gallery/simpleqa", "--limit", "1", "--model", "mock/careful").code == 0
    query = "select count(*) as n from simpleqa.scores"
    asked = [tripos("sql", query, *options) for options in (("--json",), ("--format", "json"))]
    assert [done.data for done in asked] == [[{"n": 1}], [{"n": 1}]]
    assert tripos("sql", query, "--json", "--format", "csv").code == 2
