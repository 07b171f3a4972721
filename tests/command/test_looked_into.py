"""A step that looks into rows that others made is asked again where others make them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SPEC = """\
benchmark lessons "1.0.0" { languages en }
tree syllabus from "syllabus.yaml"
role teacher compared
role student
role author
dataset question from "questions.jsonl" { stem text secret, answer text secret, knowledge list<path> }
dataset example by author from leaves(syllabus) as point {
  prompt "Write an example for {{ point }}."
  returns { statement text }
}
scenario lessons {
  over question as q
  converse talk {
    teacher { system "Teach with these: {{ numbered(examples_for(q.knowledge, example)) }}" }
    student { system "You learn." }
    opens teacher
    until teacher says "teach done"
    limit 3 turns
    repeat 2
  }
  ask plain by teacher { prompt "What is {{ q.knowledge }}?" }
  ask sat by student { continue talk, prompt "{{ q.stem }} {{ first(examples_for(q.knowledge, example)) }}", samples 4 }
  score right = contains(sat.text, q.answer)
  score long  = length(plain.text) > 3
}
measure right = mean(right)
"""
WITH = ("--model", "mock/teacher", "--role", "student=mock/student-40-30", "--store", "st")


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    row = {"stem": "What is 17 + 25?", "answer": "42", "knowledge": ["Sums / Carrying"]}
    Path("questions.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    Path("syllabus.yaml").write_text("Sums: [Carrying, Plain]\n", "utf-8")
    Path("lessons.tripos").write_text(SPEC, "utf-8")
    return tmp_path


def rows(tripos: Callable[..., Any], query: str) -> list[dict[str, Any]]:
    assert tripos("sql", query, "--store", "st", "--output", "rows.json").code == 0
    found: list[dict[str, Any]] = json.loads(Path("rows.json").read_text("utf-8"))
    return found


def test_lessons_with_examples_of_another_author_are_held_anew(tripos: Callable[..., Any], spec: Path) -> None:
    for author in ("mock/author", "mock/careful", "mock/careful"):
        assert tripos("run", ".", *WITH, "--role", f"author={author}").code == 0
    counts = {
        row["step"]: row["n"] for row in rows(tripos, "select step, count(*) as n from main.samples group by all")
    }
    assert counts == {"example": 2 * 2, "talk": 2 * 2, "sat": 2 * 4, "plain": 1}


def test_a_sitting_that_looks_into_made_rows_is_found_by_its_lesson(tripos: Callable[..., Any], spec: Path) -> None:
    assert tripos("run", ".", *WITH, "--role", "author=mock/author").code == 0
    names = {
        row["step"]: row["id"] for row in rows(tripos, "select step, min(sample_id) as id from main.samples group by 1")
    }
    assert "by mock/student-40-30, ok: right " in tripos("show", names["talk"], "--store", "st").out
    assert "talk" in tripos("why", names["sat"], "--store", "st").out


def test_rows_that_are_made_after_rows_of_another_author_are_made_anew(tripos: Callable[..., Any], spec: Path) -> None:
    more = """role editor
dataset summary by editor from leaves(syllabus) as point {
  prompt "Sum up: {{ first(example.statement) }}"
  returns { summed text }
}
scenario lessons {
  over summary as q
  ask plain by teacher { prompt "What is {{ q.summed }}?" }
  score long = length(plain.text) > 3
}
measure long = mean(long)
"""
    (spec / "lessons.tripos").write_text(SPEC[: SPEC.index("scenario")].replace("role student\n", "") + more, "utf-8")
    for author in ("mock/author", "mock/careful", "mock/careful"):
        roles = ("--role", f"author={author}", "--role", "editor=mock/author")
        assert tripos("run", ".", "--model", "mock/teacher", "--store", "st", *roles).code == 0
    counts = {
        row["step"]: row["n"] for row in rows(tripos, "select step, count(*) as n from main.samples group by all")
    }
    assert (counts["example"], counts["summary"]) == (2 * 2, 2 * 2)
