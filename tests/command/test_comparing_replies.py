"""Comparisons from the command line: report, why, replay, check, completion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tripos_warehouse.maintenance.check import check_store
from tripos_warehouse.query.statements import tables_and_macros
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SPEC = """\
benchmark essays "1.0.0" { languages en }
role candidate compared
role judge panel
axis topic { rain, wind }
scorer better(one: text, two: text) by judge {
  prompt "Which?\\n{{ one }}\\n{{ two }}"
  gives choice(one, two, tie)
}
scenario essay {
  context topic
  ask reply by candidate { prompt "Explain {{ topic }} to a child." }
  compare preferred using better(first.reply.text, second.reply.text)
}
measure won = win_rate(preferred)
expect won >= 0
"""
MODELS = ("--model", "mock/careful,mock/careless", "--role", "judge=mock/careful:a,mock/careless:b")


@pytest.fixture
def ran(tmp_path: Path, tripos: Command, once: Command, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what a run says of itself."""
    monkeypatch.chdir(tmp_path)
    Path("essays.tripos").write_text(SPEC, "utf-8")
    done = once("run", "essays.tripos", *MODELS, "--json")
    assert done.code == 0, done.err
    return dict(done.data)


def one(tripos: Command, query: str) -> dict[str, Any]:
    """Return the first row of an answer."""
    done = tripos("sql", query, "-o", "rows.json")
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(Path("rows.json").read_text("utf-8"))[0]
    return found


def test_a_run_counts_its_comparisons(ran: dict[str, Any], tripos: Command) -> None:
    assert ran["comparisons"] == {"scored": 8}
    assert tripos("report", "--json").data["comparisons"] == {"scored": 8}
    assert "comparisons  8: 8 scored (100%)" in tripos("report").out


def test_an_expectation_of_a_comparison_is_looked_at(ran: dict[str, Any], tripos: Command) -> None:
    Path("essays.tripos").write_text(SPEC.replace(">= 0", "> 0.99"), "utf-8")
    done = tripos("report", "--spec", "essays.tripos", "--json")
    assert (done.code, [gate["held"] for gate in done.data["expectations"]]) == (0, [False])  # mock models fail nothing


def test_a_second_run_is_answered_from_the_list_of_its_work(ran: dict[str, Any], tripos: Command) -> None:
    again = tripos("run", "essays.tripos", *MODELS, "--json").data
    assert (again["calls"]["asked"], again["calls"]["reused"]) == (0, 12)
    assert again["comparisons"] == {"scored": 8}


def test_a_dry_run_says_what_a_further_model_asks_for(ran: dict[str, Any], tripos: Command) -> None:
    more = ("--model", "mock/careful,mock/careless,mock/slow", *MODELS[2:], "--dry-run", "--json")
    told = tripos("run", "essays.tripos", *more)
    assert told.code == 0, told.err
    assert sum(line["reused"] for line in told.data["calls"]) == 12
    assert sum(line["at_most"] for line in told.data["calls"]) == 2 + 2 * 2 * 4


def test_why_shows_both_replies_and_what_the_judge_said(ran: dict[str, Any], tripos: Command) -> None:
    row = one(tripos, "select * from comparisons where value = 1 or value = 0 order by all limit 1")
    told = tripos("why", row["comparison_id"], "--json").data
    assert (told["table"], told["comparison"]["value"]) == ("comparisons", row["value"])
    assert told["made_from"]["judgement_id"] == row["judgement_id"]
    assert told["sample"]["sample_id"] == row["first_sample_id"]
    assert [each["sample_id"] for each in told["further_replies"]] == [row["second_sample_id"]]
    shown = tripos("why", row["comparison_id"]).out
    assert ("the first is better" if row["value"] else "the second is better") in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_a_replay_makes_the_same_comparisons(ran: dict[str, Any], tripos: Command) -> None:
    done = tripos("run", "essays.tripos", "--model", f"replay/results:{ran['run_id']}", "--store", "again")
    assert done.code == 0, done.err
    tables = [
        {table.table: table.digest for table in check_store(Store.open(Path(name), create=False)).tables}
        for name in ("results", "again")
    ]
    assert tables[0]["comparisons"] == tables[1]["comparisons"]
    assert tables[0]["judgements"] == tables[1]["judgements"]


def test_a_comparison_whose_judgement_is_gone_is_damage(ran: dict[str, Any]) -> None:
    store = Store.open(Path("results"), create=True)
    row = store.rows("comparisons", [one_id(store)])
    [found] = row.values()
    store.append({"comparisons": [{**found, "comparison_id": "c" * 32, "judgement_id": "d" * 32}]})
    assert [damage.code for damage in check_store(store).damages] == ["S0403"]


def one_id(store: Store) -> str:
    """Return the name of some comparison."""
    with connect(store) as connection:
        [[found]] = connection.sql("select min(comparison_id) from main.comparisons").fetchall()
    return str(found)


def test_the_shell_completes_the_view_and_its_columns(ran: dict[str, Any]) -> None:
    with connect(Store.open(Path("results"), create=False)) as connection:
        names = tables_and_macros(connection)
    assert {"first_model", "second_model", "value", "topic"} <= set(names["essays.comparisons"])
    assert "comparison_id" in names["comparisons"]
