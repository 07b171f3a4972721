"""`tripos import samples` for a benchmark whose rows are made: replies are to the rows that the store has."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.answers import fetch
from tests.conftest import Command, Outcome
from tests.lengths import spread

SPEC = """\
benchmark written "1.0.0" { languages en }
role candidate compared
role author
role judge panel
axis level { easy, hard }
dataset item by author {
  context level
  count   2
  prompt  "Write an exercise that is {{ level }}."
  returns { question text, solution text secret }
  unique  item.question
}
scorer kind(said: text) by judge { prompt "Is it kind? {{ said }}", gives bool }
scenario exercises {
  context level
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = contains(reply.text, item.solution)
  score kind  = kind(reply.text)
}
"""
DERIVED = """\
benchmark written "1.0.0" { languages en }
role candidate compared
dataset raw from "raw.jsonl" { text text }
dataset item from raw as each {
  let question = each.text
}
scenario exercises {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score brief = words(reply.text) < 3
}
"""
GPT = "openai/gpt-x"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    (tmp_path / "written.tripos").write_text(SPEC, "utf-8")
    return tmp_path


def take(tripos: Command, rows: list[dict[str, Any]], *more: str) -> Outcome:
    Path("replies.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return tripos("import", "samples", "replies.jsonl", "--spec", "written.tripos", *more)


def made(tripos: Command, author: str = "mock/author", *more: str) -> list[dict[str, Any]]:
    """Make the rows by a run, and return a reply of somebody else to each."""
    roles = ("--role", f"author={author}", "--role", "judge=mock/careful")
    done = tripos("run", "written.tripos", "--model", "mock/careful", *roles, *more)
    assert done.code == 0, done.err
    found = fetch("select distinct item_id, fields ->> '$.solution' from written.items order by 1")
    return [{"item": item, "reply": f"it is {solution}", "model": GPT} for item, solution in found]


def test_replies_to_rows_that_a_run_made_are_taken_and_scored(folder: Path, tripos: Command) -> None:
    rows = made(tripos)
    assert len(rows) == 4
    done = take(tripos, rows, "--json")
    assert (done.code, done.data["imported"], done.data["new"], done.data["unmade"]) == (0, True, 4, {}), done.err
    assert fetch(f"select metric, value, count(*) from written.scores where model = '{GPT}' group by all") == [
        ("right", 1.0, 4)
    ]
    assert tripos("store", "check").code == 0


def test_what_was_imported_is_not_asked_for_again(folder: Path, tripos: Command, once: Command) -> None:
    assert take(tripos, [{**row, "model": "mock/careful:b"} for row in made(tripos)]).code == 0
    roles = ("--role", "author=mock/author", "--role", "judge=mock/careful")
    assert once("run", "written.tripos", "--model", "mock/careful:b", *roles).code == 0
    said = fetch("select distinct starts_with(reply, 'it is ') from written.samples where model = 'mock/careful:b'")
    assert said == [(True,)]


@pytest.mark.parametrize("role", spread([(), ("--role", "author=mock/author")], 1))
def test_where_no_rows_are_made_the_help_says_the_command_and_it_mends_it(
    folder: Path, tripos: Command, role: tuple[str, ...]
) -> None:
    rows = made(tripos)
    done = take(tripos, rows, "--store", "new", *role)
    assert done.code == 2
    assert "the rows of `item` are yet to be made" in done.err
    assert not Path("new").exists()
    command = shlex.split(done.err.partition("import again: ")[2].splitlines()[0])
    assert command[:3] == ["tripos", "run", "written.tripos"]
    assert "author=mock/author" in command if role else "author=MODEL" in command
    assert tripos(*[word.replace("=MODEL", "=mock/author") for word in command[1:]]).code == 0
    assert take(tripos, rows, "--store", "new", *role).code == 0
    assert fetch(f"select count(*) from written.samples where model = '{GPT}'", "new") == [(4,)]


def test_rows_that_several_models_made_are_told_apart_by_a_role(folder: Path, tripos: Command) -> None:
    rows = made(tripos)
    made(tripos, "mock/author:b")
    done = take(tripos, rows)
    assert (done.code, "several models made rows as `author`: mock/author, mock/author:b" in done.err) == (2, True)
    assert take(tripos, rows, "--role", "author=mock/author").code == 0


def test_rows_that_are_yet_to_be_made_are_counted(folder: Path, tripos: Command) -> None:
    rows = made(tripos, "mock/author", "--limit", "1")
    done = take(tripos, rows)
    assert done.code == 0, done.err
    assert len(rows) == 1
    assert "3 rows of `item` are yet to be made" in done.out


def test_rows_that_no_model_writes_need_no_run(folder: Path, tripos: Command) -> None:
    Path("written.tripos").write_text(DERIVED, "utf-8")
    Path("raw.jsonl").write_text('{"text": "1 + 1"}\n{"text": "2 + 2"}', "utf-8")
    done = take(tripos, [{"question": "2 + 2", "reply": "four", "model": GPT}])
    assert done.code == 0, done.err
    assert fetch("select metric, value from written.scores") == [("brief", 1.0)]
