"""Data sets that are made, from the command line: the summary, the tables, the forecast, and where nothing is left."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SPEC = """\
benchmark written "1.0.0" { languages en, zh }
role candidate compared
role author
role checker
axis level { easy, hard }
dataset item by author {
  context language * level
  count   30
  prompt  en "Write an exercise that is {{ level }}." zh "写一道题：{{ level }}。"
  returns { question text, solution text secret }
  unique  item.question
  verify by checker {
    prompt en "{{ item.question }} {{ item.solution }}" zh "{{ item.question }} {{ item.solution }}"
    returns { right bool }
    require right
  }
}
scenario exercises {
  context language * level
  over item
  ask reply by candidate { prompt en "{{ item.question }}" zh "{{ item.question }}" }
  score right = contains(reply.text, item.solution)
}
"""
MODELS = ("--model", "mock/careful", "--role", "author=mock/author", "--role", "checker=mock/author")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "written.tripos").write_text(SPEC, "utf-8")
    return tmp_path


def query(folder: Path, text: str) -> list[dict[str, Any]]:
    """Return the rows of an answer."""
    connection = connect(Store.open(folder / "results", create=False))
    try:
        return connection.sql(text).to_arrow_table().to_pylist()
    finally:
        connection.close()


def test_the_summary_says_what_was_made_and_why_rows_were_rejected(folder: Path, tripos: Command) -> None:
    done = tripos("run", "written.tripos", *MODELS)
    assert done.code == 0
    assert "  made     item: 120 made, " in done.err
    assert "not verified" in done.err
    assert max(map(len, done.err.splitlines())) <= 80


def test_a_second_run_tells_the_same_and_asks_nothing(folder: Path, tripos: Command) -> None:
    first = tripos("run", "written.tripos", *MODELS, "--json").data
    again = tripos("run", "written.tripos", *MODELS, "--json").data
    assert (again["calls"]["asked"], again["calls"]["reused"]) == (0, first["calls"]["asked"])
    assert again["made"] == first["made"]
    found = tripos("run", "written.tripos", *MODELS, "--dry-run", "--json").data
    assert found["items_to_be_made"] == {}
    assert (found["total"]["at_most"], found["total"]["reused"]) == (0, first["calls"]["asked"])
    for each in (folder / "results" / "works").iterdir():
        each.unlink()
    again = tripos("run", "written.tripos", *MODELS, "--json").data  # it goes through all of it again
    assert (again["calls"]["asked"], again["made"]) == (0, first["made"])


def test_every_slot_is_in_the_tables_with_its_rejections(folder: Path, tripos: Command) -> None:
    told = tripos("run", "written.tripos", *MODELS, "--json").data["made"]["item"]
    rows = query(folder, "select status, rejections, item_id from written.slots")
    assert len(rows) == 120
    assert sum(len(json.loads(row["rejections"])) for row in rows) == sum(told["rejected"].values()) > 0
    items = query(folder, "select item_id from written.items where written_by = 'mock/author'")
    assert {row["item_id"] for row in items} == {row["item_id"] for row in rows}


def test_a_forecast_counts_what_is_yet_to_be_written(folder: Path, tripos: Command) -> None:
    found = tripos("run", "written.tripos", *MODELS, "--limit", "5", "--dry-run", "--json").data
    assert found["items_to_be_made"] == {"exercises": 5}
    # five exercises are written for sure; each may be refused three times, and is then written and checked again
    assert (found["total"]["at_least"], found["total"]["at_most"]) == (5, 5 * 4 + 5 * 4 + 5)
    assert {line["step"]: line["calls"]["expected"] for line in found["calls"]} == {
        "item": 5,
        "item.verify": 5,
        "reply": 5,
    }
    assert not (folder / "results").exists()


def test_a_forecast_after_a_smaller_run_knows_what_is_kept(folder: Path, tripos: Command, once: Command) -> None:
    once("run", "written.tripos", *MODELS, "--limit", "5")
    found = tripos("run", "written.tripos", *MODELS, "--limit", "7", "--dry-run", "--json").data
    assert found["items_to_be_made"] == {"exercises": 2}
    assert found["total"]["calls"]["expected"] == 6


def test_secret_fields_are_kept_from_the_models_that_are_compared(folder: Path, tripos: Command, once: Command) -> None:
    once("run", "written.tripos", *MODELS, "--limit", "3")
    sent = "select count(*) as n from written.samples s join written.items i using (item_id) where role = 'candidate'"
    leak = sent + " and contains(s.messages, json_extract_string(i.fields, '$.solution'))"
    assert query(folder, sent) == [{"n": 3}]
    assert query(folder, leak) == [{"n": 0}]


def test_why_explains_an_attempt(folder: Path, tripos: Command, once: Command) -> None:
    once("run", "written.tripos", *MODELS, "--limit", "1")
    [row] = query(folder, "select sample_id from written.samples where role = 'author' limit 1")
    done = tripos("why", row["sample_id"])
    assert done.code == 0
    assert "item by author: mock/author" in done.out
    assert "unknown" not in done.out


def test_views_leave_out_an_item_whose_slot_came_to_another(folder: Path, tripos: Command, once: Command) -> None:
    assert once("run", "written.tripos", *MODELS, "--limit", "2").code == 0
    assert query(folder, "select count(*) as n from written.items") == [{"n": 2}]
    [slot, _] = query(folder, "from main.slots order by slot_id")
    [item] = query(folder, f"from main.items where item_id = '{slot['item_id']}'")
    left, run = "0" * 32, {**query(folder, "from main.runs")[0]}
    store = Store.open(folder / "results", create=False)
    sample = query(folder, f"from main.samples where role = 'candidate' and item_id = '{slot['item_id']}'")[0]
    aware = {"created_at": sample["created_at"].replace(tzinfo=UTC)}
    context = {"context": dict(item["context"])}
    store.append(
        {
            "items": [{**item, **context, "item_id": left}],
            "run_items": [{"run_id": "earlier", "scenario": "exercises", "item_id": left, "subsets": None}],
            "samples": [{**sample, **context, **aware, "item_id": left, "sample_id": left}],
        }
    )
    assert run and query(folder, "select count(*) as n from main.items") == [{"n": 3}]
    assert query(folder, "select count(*) as n from written.items") == [{"n": 2}]
    assert query(folder, "select count(*) as n from written.samples where role = 'candidate'") == [{"n": 2}]
