"""A store with a run that has something for every kind of picture."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.conftest import Command
from tripos_warehouse.store.store import Store

SPEC = """\
benchmark lessons "1.0.0" {
  title     en "Lessons" zh "课程"
  languages en, zh
  headline  tutoring.gain, tutoring.accuracy
}
role tutor compared
role judge panel
arm teaching { none, lesson }
dataset item from "items.jsonl" { question text, language, answer text secret }
dimension quality "Quality" {
  metric CLEAR en "Clarity" zh "清晰程度" { scale 1..10, asks en "Is it clear?" zh "清楚吗？" }
  metric RIGHT en "Correctness" zh "准确程度" { scale 1..10, asks en "Is it right?" zh "正确吗？" }
  metric WARM en "Warmth & <care>" zh "亲和程度" { scale 1..10, asks en "Is it warm?" zh "亲切吗？" }
}
scorer rubric(reply: text) by judge {
  prompt "{{ metrics }} {{ reply }}"
  gives  allocated metrics
}
allocate rubric {
  |          | CLEAR | RIGHT | WARM |
  | tutoring |   x   |   x   |  x   |
}
scenario tutoring "Tutoring" {
  over item
  context language
  arms teaching
  ask reply by tutor {
    system "Think first." when teaching == lesson
    prompt "{{ item.question }}"
  }
  score right = contains(reply.text, item.answer)
  score rubric(reply: reply.text)
  measure accuracy = mean(right)
  measure by_arm   = mean(right) by teaching
  measure gain     = by_arm[teaching: lesson] - by_arm[teaching: none]
  measure gains    = by_arm - by_arm[teaching: none] by teaching
  measure quality  = mean(rubric) by metric
}
"""
MODELS = ("lab/large", "lab/small", "lab/<tiny> & co")


@pytest.fixture
def lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, once: Command) -> Path:
    """The folder of a benchmark with three models, which a judge and a person graded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    items = [{"question": f"What is {n} + {n}?", "language": "en", "answer": str(2 * n)} for n in range(1, 11)]
    Path("lessons.tripos").write_text(SPEC, "utf-8")
    Path("items.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")
    with Path("replies.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question", "teaching", "model", "reply", "cost_usd", "tokens_out"])
        for number, item in enumerate(items):
            for teaching in ("none", "lesson"):
                for place, model in enumerate(MODELS):
                    right = number % 3 > place - (teaching == "lesson")
                    reply = item["answer"] if right else "no"
                    rows.writerow([item["question"], teaching, model, reply, 0.004 / 10**place, 10 * (place + 1)])
    assert once("import", "samples", "replies.csv", "--spec", "lessons.tripos").code == 0
    with Path("grades.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question", "teaching", "model", "evaluator", "CLEAR", "RIGHT", "WARM"])
        for number, item in enumerate(items):
            for place, model in enumerate(MODELS):
                for who, aside in (("judge/strict", 0), ("human/ann", number % 3)):
                    grades = [3 + aside, 4 + place + aside, 6]
                    rows.writerow([item["question"], "lesson", model, who, *grades])
    outcome = once("import", "scores", "grades.csv")
    assert outcome.code == 0, outcome.err
    return tmp_path


@pytest.fixture
def store(lessons: Path) -> Store:
    """The store of that folder."""
    return Store.open(lessons / "results", create=False)
