"""Commands on a store on a bucket: what one machine wrote another one reads, grades and imports."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.annotation.conftest import JUDGE, MODELS, fill
from tests.conftest import Command
from tripos.annotation.notes import NoteDesk
from tripos_warehouse.ledger.imported_scores import exclusive_import
from tripos_warehouse.store.bucket.bucket import exclusive
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.notes import standing

READING = (
    ("report",),
    ("report", "--json"),
    ("leaderboard",),
    ("compare",),
    ("list", "--json"),
    ("show",),
    ("sql", "select count(*) as n from scores"),
    ("export", "csv", "-o", "tables"),
    ("plot", "leaderboard", "--out", "board.svg"),
    ("view", "--to", "page"),
    ("diff", "quiz.tripos", "quiz.tripos"),
    ("plan", "quiz.tripos"),
    ("store", "check"),
    ("store", "compact"),
    ("store", "gc"),
)


@pytest.fixture
def ran(quiz: Path, plain: str, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a store with a run of 10 replies and 16 grades, made on another machine."""
    monkeypatch.setenv("TRIPOS_STORE", plain)
    done = tripos("run", "quiz.tripos", "--model", ",".join(MODELS), "--role", f"judge={JUDGE}", "--json")
    assert done.code == 0, done.err
    move(monkeypatch, quiz, "second")
    return plain


def move(monkeypatch: pytest.MonkeyPatch, folder: Path, machine: str) -> None:
    """Go to another machine, whose copy is its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / machine))


def human(tripos: Command) -> dict[str, float]:
    """Return the scores of people, by person, with their mean."""
    query = "select evaluator, avg(value) as mean from quiz.scores where starts_with(evaluator, 'human/') group by all"
    assert tripos("sql", query, "-o", "answer.json").code == 0
    return {row["evaluator"]: row["mean"] for row in json.loads(Path("answer.json").read_text("utf-8"))}


@pytest.mark.long
def test_verbs_that_read_work_on_another_machine(ran: str, tripos: Command) -> None:
    found = {" ".join(verb): tripos(*verb) for verb in READING}
    assert {verb: done.err for verb, done in found.items() if done.code} == {}
    assert tripos("sql", "select sample_id from samples limit 1", "-o", "answer.json").code == 0
    sample = json.loads(Path("answer.json").read_text("utf-8"))[0]["sample_id"]
    assert tripos("why", sample).code == 0
    assert tripos("show", sample).code == 0


def test_a_person_grades_on_one_machine_what_was_handed_out_on_another(
    ran: str, tripos: Command, quiz: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tripos("annotate", "--name", "anna").code == 0
    move(monkeypatch, quiz, "third")
    again = tripos("annotate", "--name", "anna", "-o", "again.xlsx")
    assert (again.code, "nothing left that `anna` has not been handed" in again.err) == (0, False)
    fill("anna.xlsx")
    done = tripos("annotate", "--take", "anna.xlsx")
    assert (done.code, done.out) == (0, "human/anna: 10 replies graded, 0 changed, 0 as before\n")
    move(monkeypatch, quiz, "fourth")
    assert human(tripos) == {"human/anna": 7.0}
    assert tripos("annotate", "--take", "anna.xlsx").out == "human/anna: 0 replies graded, 0 changed, 10 as before\n"


def test_scores_are_imported_and_corrected_from_two_machines(
    ran: str, tripos: Command, quiz: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "select sample_id, metric, 5 as value from quiz.scores where evaluator = '{}'"
    assert tripos("sql", query.format(JUDGE), "-o", "grades.csv").code == 0
    assert tripos("import", "scores", "grades.csv", "--evaluator", "human/ben").code == 0
    move(monkeypatch, quiz, "third")
    assert human(tripos) == {"human/ben": 5.0}
    Path("grades.csv").write_text(Path("grades.csv").read_text().replace(",5", ",6"))
    refused = tripos("import", "scores", "grades.csv", "--evaluator", "human/ben")
    assert (refused.code, "S0505" in refused.err) == (1, True)
    assert tripos("import", "scores", "grades.csv", "--evaluator", "human/ben", "--replace").code == 0
    move(monkeypatch, quiz, "second")
    assert human(tripos) == {"human/ben": 6.0}


def test_replies_are_imported(ran: str, tripos: Command, quiz: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("replies.csv").write_text("question,model,reply\n1+1,a/x,2\n", "utf-8")
    done = tripos("import", "samples", "replies.csv", "--spec", "quiz.tripos", "--column", "reply=reply")
    assert done.code == 0, done.err
    move(monkeypatch, quiz, "third")
    assert tripos("sql", "select reply from samples where model = 'a/x' order by all", "-o", "answer.json").code == 0
    assert [row["reply"] for row in json.loads(Path("answer.json").read_text("utf-8"))] == ["2"]


def test_of_two_imports_at_once_one_waits(ran: str) -> None:
    store = Store.open(ran, create=False)
    assert store.bucket is not None
    with exclusive(store.bucket, "scores") as first:
        assert first
        with pytest.raises(Exception, match="S0506"), exclusive_import(store):
            pass
    with exclusive_import(store), exclusive(store.bucket, "scores") as second:
        assert not second
    store.bucket.lease_s = 0.0
    with exclusive(store.bucket, "scores"):
        time.sleep(1.1)
        with exclusive(store.bucket, "scores") as third:
            assert third  # whoever began so long ago has died


def test_stores_are_merged_from_a_bucket(ran: str, tripos: Command) -> None:
    assert tripos("store", "merge", ran, "--into", "merged").code == 0
    assert len(Store.open("merged", create=False).parts("samples")) == 1


def test_a_note_of_one_machine_is_read_on_another(
    ran: str, quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "select sample_id, run_id as run, created_at::varchar as replied_at from main.samples limit 1"
    assert tripos("sql", query, "-o", "reply.json").code == 0
    reply = json.loads(Path("reply.json").read_text("utf-8"))[0]
    reading = Store.open(ran, create=False, tolerant=True)
    desk = NoteDesk(lambda: Store.open(ran, create=False), "anna", lambda: datetime.now(UTC))
    desk.take(json.dumps({**reply, "note_id": "0" * 32, "flag": "bad", "text": None}).encode())
    assert [note["note_flag"] for note in standing(reading)] == ["bad"], "the page shows what it took"
    move(monkeypatch, quiz, "third")
    assert tripos("sql", "select note_flag, noted_by from quiz.notes", "-o", "notes.json").code == 0
    assert json.loads(Path("notes.json").read_text("utf-8")) == [{"note_flag": "bad", "noted_by": "human/anna"}]
