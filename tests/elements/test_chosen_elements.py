"""Choices about elements of a list: what is asked, kept, compared and told of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.field.running import figures_in, lines
from tests.runtime.foretelling import Bench, calls
from tripos.runs.provenance import find_trace
from tripos_runtime.models.base import Request
from tripos_warehouse.report.comparison import RunSide, compare
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import get_selected

SPEC = """\
benchmark t "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "items.jsonl" { question text, parts list<{ name text, gold choice(GOOD, POOR) }> secret }
scorer label(reply: text, part: text) by judge { prompt "{{ reply }} | {{ part }}", gives choice(GOOD, POOR) }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score label_of = label(reply.text, p.name) each p in item.parts
  measure f = f1(label_of, p.gold)
}
measure good = share(sums.label_of == GOOD)
"""
ITEMS = [
    {
        "question": f"question {n}",
        "parts": [{"name": f"part {n}.{k}", "gold": ("GOOD", "POOR")[(n + k) % 2]} for k in range(n % 4)],
    }
    for n in range(12)
]
PARTS = sum(len(item["parts"]) for item in ITEMS)


def judging(judge: str):  # type: ignore[no-untyped-def]
    def answer(messages: list[str]) -> str | None:
        said, part = messages[-1].split("\n")[0].split(" | ")
        number, place = map(int, part.removeprefix("part ").split("."))
        return ("GOOD", "POOR")[(number + place * (judge == "judge:x") + ("b" in said)) % 2]

    return answer


def test_a_forecast_counts_a_verdict_for_each_judge_and_element(tmp_path: Path) -> None:
    found = Bench(tmp_path)
    found.write(SPEC)
    (tmp_path / "items.jsonl").write_text(lines(ITEMS[:6]), "utf-8")
    parts = sum(len(item["parts"]) for item in ITEMS[:6])

    def script(request: Request) -> str:
        return json.dumps({"value": "GOOD"}) if request.model == "j" else "a reply"

    assert calls(found.foretell())["judge", "j"] == (0, 0, parts)
    assert found.run(script) == {("candidate", "a"): 6, ("judge", "j"): parts}
    assert {each[1:] for each in calls(found.foretell()).values()} == {(0, 0)}


@pytest.fixture
def compared(tmp_path: Path) -> Path:
    """The folder of a run of two models, each of which replies with its name."""
    models = {name: (lambda _, name=name: f"reply of {name}") for name in ("a", "b")}
    roles = {judge: judging(judge) for judge in ("judge:x", "judge:y")}
    figures = figures_in(tmp_path, SPEC, {"items.jsonl": lines(ITEMS)}, lambda _: None, roles, models=models)
    assert {row.n for row in figures.rows["good"]} == {2 * PARTS}
    return tmp_path


def test_two_models_are_compared_in_what_judges_chose_on_all_items(compared: Path) -> None:
    connection, run = connect_run(Store.open(compared / "results", create=False))
    with connection:
        plan = get_selected(connection, run)
        one, two = (RunSide(connection, plan, (model,), run) for model in ("a", "b"))
        found = compare(one, two)
        rates = connection.sql(
            "select model, avg((choice = 'GOOD')::int) from t.scores where choice is not null group by all"
        ).fetchall()
    assert found.items == sum(bool(item["parts"]) for item in ITEMS)
    rows = {row.name: row for row in found.sections[0].rows}
    assert set(rows) == {"good", "sums.f"}
    told = dict(rates)
    assert (rows["good"].a, rows["good"].b) == pytest.approx((told["a"], told["b"]))
    assert rows["good"].difference.value == pytest.approx(told["b"] - told["a"])
    assert rows["good"].difference.standard_error is not None


def test_why_follows_a_choice_to_its_own_judge(compared: Path) -> None:
    connection, _ = connect_run(Store.open(compared / "results", create=False))
    with connection:
        query = "select score_id, evaluator, choice from t.scores where element_place = '1' order by all"
        score, judge, choice = connection.sql(query).fetchall()[0]
        told = find_trace(connection, score)
        whole = find_trace(connection, score.partition(".")[0])
    assert told.score is not None and (told.score["evaluator"], json.loads(told.score["given"])) == (judge, choice)
    (verdict,) = [each for each in told.other_replies if each.table == "judgements"]
    assert verdict.row["evaluator"] == judge and verdict.row["element_place"] == "1"
    assert {each.row["evaluator"] for each in whole.other_replies if each.table == "judgements"} == {
        "judge:x",
        "judge:y",
    }


def test_other_numbers_behind_the_names_ask_no_judge_again(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_text(lines(ITEMS), "utf-8")
    spec = SPEC.replace("gives choice(GOOD, POOR)", "gives choice(GOOD: 1, POOR: 0)") + "measure of = mean(label_of)\n"
    models, values = ("--model", "mock/careful", "--role", "judge=mock/careful:a"), []
    for text in (spec, spec.replace("GOOD: 1", "GOOD: 3")):
        Path("t.tripos").write_text(text, "utf-8")
        assert ("Nothing to call" in tripos("run", "t.tripos", *models, "--dry-run").out) is bool(values)
        done = tripos("run", "t.tripos", *models)
        assert done.code == 0, done.err
        report = json.loads(tripos("report", "--json").out)["measures"]
        values += [row["value"] for each in report for row in each["rows"] if each["name"] == "of"]
    assert values[1] == pytest.approx(3 * values[0]) and values[0] > 0
