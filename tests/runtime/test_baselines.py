"""Trivial baselines: what they say, and which constants stand for the answers that are right most often."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tripos.runs.compilation import find_spec
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.drivers.prepared import with_constant_baselines
from tripos_runtime.models.base import Message, ModelError, Request
from tripos_runtime.models.baselines import ECHOES, fitted
from tripos_runtime.models.families import open_model
from tripos_runtime.program.binding import BindingError, RoleBinding, bind

SPEC = """\
benchmark checks "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { text text, wrong bool secret, at integer secret, sort choice(sum, product) secret }
scenario wrong {
  over item
  ask reply by candidate { prompt "{{ item.text }}", returns bool }
  measure f1 = f1(reply, item.wrong, average: binary)
}
scenario place {
  over item
  ask reply by candidate { prompt "{{ item.text }} Where?", returns integer }
  score right = reply == item.at
  measure accuracy = mean(right)
}
scenario kind {
  over item
  ask reply by candidate { prompt "{{ item.text }} What?", returns choice(sum, product) }
  score right = reply == item.sort
  measure accuracy = mean(right)
}
"""
ROWS = [
    {"text": "a", "wrong": True, "at": 3, "sort": "sum"},
    {"text": "b", "wrong": True, "at": 0, "sort": "product"},
    {"text": "c", "wrong": False, "at": 0, "sort": "product"},
    {"text": "d", "wrong": True, "at": 1, "sort": "sum"},
]


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, ROWS)), "utf-8")
    (tmp_path / "checks.tripos").write_text(SPEC, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "checks.tripos"


def said(name: str, text: str, schema: dict[str, Any] | None = None) -> str:
    request = Request(name, (Message("system", "Be brief."), Message("user", text)), schema=schema)
    return asyncio.run(open_model(name).ask(request)).text


def test_a_constant_says_the_same_to_everything() -> None:
    assert said("baseline/constant:I do not know.", "a") == said("baseline/constant:I do not know.", "b")


def test_an_echo_says_the_last_message() -> None:
    assert said("baseline/echo", "Why is the sky blue?") == "Why is the sky blue?"


def test_an_echo_of_a_part_says_that_part() -> None:
    asked = "A tank holds 9.5 l. A cup is filled from it.\nHow much is left? \nWrite it down. Then check it."
    told = {part: said(f"baseline/echo:{part}", asked) for part in ECHOES}
    assert told == {
        "first-line": "A tank holds 9.5 l. A cup is filled from it.",
        "last-line": "Write it down. Then check it.",
        "last-sentence": "Then check it.",
        "last-question": "How much is left?",
    }
    assert said("baseline/echo:last-question", "水箱还剩多少？请写出来") == "水箱还剩多少？"
    assert {said(f"baseline/echo:{part}", " ") for part in ECHOES} == {" "}


@pytest.mark.parametrize(
    ("text", "schema", "reply"),
    [
        ("no", {"type": "boolean"}, False),
        ("3", {"type": "integer"}, 3),
        ("sum", {"enum": ["Sum", "Product"]}, "Sum"),
        ("x", {"type": "array", "items": {"type": "string"}}, ["x"]),
        ("2.5", {"anyOf": [{"type": "number"}, {"type": "null"}]}, 2.5),
    ],
)
def test_a_constant_takes_the_form_that_is_asked_for(text: str, schema: dict[str, Any], reply: object) -> None:
    whole = {"type": "object", "properties": {"value": schema}}
    assert json.loads(fitted(text, whole)) == {"value": reply}


def test_a_constant_that_does_not_fit_is_said_as_it_is() -> None:
    assert fitted("often", {"type": "object", "properties": {"value": {"type": "integer"}}}) == "often"


@pytest.mark.parametrize(
    "name",
    [
        "baseline/constant", "baseline/constant:", "baseline/echoes", "baseline/echo:", "baseline/echo:middle",
        "baseline/majority",
    ],
)  # fmt: skip
def test_what_is_no_baseline_is_said_to_be_none(name: str) -> None:
    with pytest.raises(ModelError) as error:
        open_model(name)
    assert error.value.code == "R0103"


def filled(spec: Path, text: str | None = None, name: str = "baseline/majority") -> RoleBinding:
    if text is not None:
        spec.write_text(text, "utf-8")
    found = find_spec(str(spec))
    plan = found.compile().plan
    assert plan is not None
    source = CaseSource(plan, found.folders, (str(spec),))
    return with_constant_baselines(bind(plan, ("m", name), {}), plan, source, Selection())


def test_majority_stands_for_the_most_frequent_right_answer_of_each_question(spec: Path) -> None:
    # Of a tie, both.
    names = {f"baseline/constant:{answer}" for answer in ("true", "0", "sum", "product")}
    assert set(filled(spec).of("candidate")) == {"m", *names}


def test_a_constant_without_a_text_stands_for_every_right_answer(spec: Path) -> None:
    answers = {str(row["at"]) for row in ROWS} | {"true", "false", "sum", "product"}
    assert set(filled(spec, name="baseline/constant").of("candidate")) == {
        "m",
        *(f"baseline/constant:{answer}" for answer in answers),
    }


def test_answers_that_are_each_right_once_are_not_the_most_frequent(spec: Path) -> None:
    rows = [row | {"at": number} for number, row in enumerate(ROWS)]
    (spec.parent / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert set(filled(spec).of("candidate")) == {
        "m",
        *(f"baseline/constant:{each}" for each in ("true", "sum", "product")),
    }


def test_a_number_that_is_the_majority_is_said_with_all_its_digits(spec: Path) -> None:
    for gold in (1234567, 1234567.25):
        text = (
            'benchmark b "1.0.0" { languages en }\nrole candidate compared\ndataset item from "n.jsonl" {\n'
            "  text text, gold number }\nscenario s {\n  over item\n"
            '  ask reply by candidate { prompt "{{ item.text }}" }\n'
            "  score right = same_number(last_number(reply.text), item.gold)\n}\n"
        )
        (spec.parent / "n.jsonl").write_text("".join(f'{{"text": "{n}", "gold": {gold}}}\n' for n in "ab"), "utf-8")
        assert filled(spec, text).of("candidate") == ("m", f"baseline/constant:{gold}")


@pytest.mark.parametrize(
    ("score", "answers"),
    [
        ("(better == A) == (order == first)", {"A", "B"}),
        ("(order == first) == (better == A)", {"A", "B"}),
        ("(better == A) == item.wrong", {"A"}),
        ("(better == B) == item.wrong", {"B"}),
    ],
)
def test_of_two_answers_the_one_that_has_to_be_given_is_right(spec: Path, score: str, answers: set[str]) -> None:
    text = SPEC.partition("scenario")[0] + (
        "arm order { first, second }\nscenario s {\n  over item\n  arms order\n"
        '  ask better by candidate { prompt "{{ item.text }} {{ order }}", returns choice(A, B) }\n'
        f"  score right = {score}\n  measure accuracy = mean(right)\n}}\n"
    )
    assert set(filled(spec, text).of("candidate")) == {"m", *(f"baseline/constant:{answer}" for answer in answers)}


def test_without_gold_there_is_no_majority(spec: Path) -> None:
    text = SPEC.partition("scenario")[0]
    text += (
        'scenario s { over item, ask reply by candidate { prompt "{{ item.text }}" }, score long = words(reply.text) }'
    )
    with pytest.raises(BindingError) as error:
        filled(spec, text)
    assert error.value.code == "R0236"


def test_a_report_says_which_figures_a_baseline_reaches(spec: Path, tripos: Command) -> None:
    done = tripos("run", "checks.tripos", "--model", "mock/careless,baseline/majority")
    assert "not clear of a baseline: mock/careless" in " ".join(done.out.split())
    report = json.loads(tripos("report", "--json").out)
    [f1] = [each for each in report["no_better_than_a_baseline"] if each["measure"] == "wrong.f1"]
    assert (f1["baseline"], f1["model"]) == ("baseline/constant:true", "mock/careless")
    assert f1["baseline_value"] == pytest.approx(6 / 7)


def test_means_name_the_baseline_that_a_model_is_no_better_than(spec: Path, tripos: Command) -> None:
    tripos("run", "checks.tripos", "--scenario", "kind", "--model", "baseline/echo,baseline/constant:sum,mock/careless")
    query = "select model, mean, no_better_than from checks.means()"
    tripos("sql", query, "-o", "board.json")
    board = {row["model"]: row for row in json.loads(Path("board.json").read_text("utf-8"))}
    assert board["baseline/constant:sum"]["no_better_than"] is None
    best, mine = board["baseline/constant:sum"]["mean"], board["mock/careless"]
    assert mine["no_better_than"] == (
        "baseline/constant:sum" if mine["mean"] is not None and mine["mean"] <= best else None
    )


def test_a_board_names_the_models_whose_interval_does_not_clear_a_baseline(spec: Path, tripos: Command) -> None:
    tripos("run", "checks.tripos", "--model", "mock/careless,mock/careful,baseline/majority")
    boards = json.loads(tripos("leaderboard", "--json").out)["boards"]
    for board in boards:
        best = max(each["value"] for each in board["models"] if each["model"].startswith("baseline/"))
        for each in board["models"]:
            reaches = not each["model"].startswith("baseline/") and each["low"] <= best
            assert ("no_better_than" in each) == reaches
        assert any("not clear of a baseline: " in note for note in board["notes"])


def test_a_baseline_judges_nobody(tripos: Command, quiz: Path) -> None:
    done = tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=baseline/constant:10")
    assert done.code == 2
    assert "error[R0236]" in done.err


def test_a_dry_run_knows_baselines_and_that_they_cost_nothing(spec: Path, tripos: Command) -> None:
    arguments = ("run", "checks.tripos", "--model", "mock/careless,baseline/echo,baseline/majority", "--dry-run")
    shown = tripos(*arguments)
    assert (shown.code, "baseline/echo" in shown.out) == (0, True), shown.err
    assert "USD         0.00      0.00     0.00" in shown.out
    misspelt = tripos("run", "checks.tripos", "--model", "baseline/ecko", "--dry-run")
    assert (misspelt.code, "error[R0103]" in misspelt.err) == (2, True)


def test_a_run_counts_the_scores_that_its_report_counts(spec: Path, tripos: Command) -> None:
    ran = tripos("run", "checks.tripos", "--model", "mock/careless,baseline/echo", "--json").data["scores"]
    again = tripos("run", "checks.tripos", "--model", "mock/careless,baseline/echo", "--json").data["scores"]
    assert ran == again == tripos("report", "--json").data["scores"]
