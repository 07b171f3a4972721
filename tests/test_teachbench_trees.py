"""The parts of TeachBench that place questions and write examples, as they ship, run by mocks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command

SHIPPED = Path(__file__).parents[1] / "specs/teachbench"
MAIN = """\
benchmark tagged "1.0.0" { languages zh }
use "questions_validation.tripos"
use "tagging.tripos"
use "examples.tripos"
role student compared
scenario sitting {
  over question as q
  ask reply by student { prompt "{{ bullets(examples_for(q.knowledge, example)) }}", returns choice(A, B, C, D) }
  score correct = reply == q.answer
}
"""
ROLES = ("--model", "mock/careful", "--role", "tagger=mock/teacher", "--role", "author=mock/author")
LABELS = {"mathematics": "数学", "history": "历史", "physics": "物理", "chemistry": "化学", "biology": "生物"}


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the parts as they ship, and a benchmark of them."""
    folder = tmp_path_factory.mktemp("specs") / "teachbench"
    shutil.copytree(SHIPPED, folder)
    shutil.copytree(SHIPPED.parent / "common", folder.parent / "common")
    (folder / "tagged.tripos").write_text(MAIN, "utf-8")
    return folder


def ask(tripos: Command, query: str) -> list[dict[str, Any]]:
    answer = tripos("sql", query, "-o", "answer.json")
    assert answer.code == 0, answer.err
    rows: list[dict[str, Any]] = json.loads(Path("answer.json").read_text("utf-8"))
    return rows


def test_questions_are_placed_below_their_subject_and_have_examples_of_every_level(
    placed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    done = tripos("run", str(placed / "tagged.tripos"), *ROLES, "--role", "verifier=mock/author", "--limit", "3")
    assert done.code == 0, done.err
    items = [json.loads(row["fields"]) for row in ask(tripos, "select fields from tagged.items")]
    questions = [item for item in items if "knowledge" in item]
    assert len(questions) == 3
    for question in questions:
        assert all(path.startswith(f"{LABELS[question['subject']]} / ") for path in question["knowledge"])
    points = {path for question in questions for path in question["knowledge"]}
    query = "select level, count(*) as n from tagged.slots where dataset = 'example' group by all order by all"
    assert ask(tripos, query) == [{"level": level, "n": len(points)} for level in ("basic", "unit", "exam")]
    sent = ask(tripos, "select messages from tagged.samples where role in ('author', 'verifier')")
    assert not [row for row in sent for question in questions if question["stem"] in str(row["messages"])]
