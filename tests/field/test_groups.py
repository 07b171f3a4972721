"""Groups of tasks: subjects in the categories of a tree and the groups of an axis, macro and micro."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.field.running import Figures, figures_of, lines

CATEGORIES = {
    "Science": {"Physics": ["Mechanics", "Optics"], "Biology": ["Genetics"]},
    "Humanities": {"Law": ["Contracts"], "History": ["Europe", "Asia"]},
}
SUBJECTS = """
benchmark subjects "1.0.0" { languages en }
role candidate compared

axis field {
  group science { physics, biology }
  group humanities { law, history }
}

dataset question from "questions.jsonl" {
  stem     text
  key      choice(A, B, C, D) secret
  subject  path
  field
  source   { year integer, exam { board text } }
}

scenario exam {
  context field
  over question as q
  ask reply by candidate {
    prompt "{{ field }}: {{ q.stem }}"
    returns choice(A, B, C, D)
  }
  score right = reply == q.key

  measure micro      = mean(right)
  measure at_node    = mean(right) by q.subject.nodes
  measure by_group   = mean(right) by field.group
  measure by_board   = mean(right) by q.source.exam.board
  measure macro      = mean(mean(right) by q.subject)
  measure macro_node = mean(mean(right) by q.subject, q.subject.nodes) by q.subject.nodes
  measure macro_top  = mean(mean(right) by field, field.group) by field.group
}
"""


def questions() -> list[dict[str, object]]:
    dice = random.Random(11)
    rows = []
    for top, middle in CATEGORIES.items():
        for field, subjects in middle.items():
            for subject in subjects:
                for _ in range(dice.randint(3, 14)):
                    exam = {"board": dice.choice(["North", "South"])}
                    rows.append(
                        {
                            "stem": f"question {len(rows)}",
                            "key": dice.choice("ABCD"),
                            "subject": f"{top} / {field} / {subject}",
                            "field": field.lower(),
                            "source": {"year": 2000 + len(rows) % 5, "exam": exam},
                        }
                    )
    return rows


def answer(text: str) -> str:
    return json.dumps({"value": "ABCD"[int(re.findall(r"question (\d+)", text)[0]) * 7 % 4]})


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Figures:
    return figures_of(tmp_path_factory.mktemp("exam"), SUBJECTS, {"questions.jsonl": lines(questions())}, answer)


def right(row: dict[str, object]) -> bool:
    return json.loads(answer(str(row["stem"])))["value"] == row["key"]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_every_node_has_the_share_of_the_questions_below_it_and_the_mean_of_its_subjects(exam: Figures) -> None:
    below: dict[str, list[float]] = defaultdict(list)
    subjects: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in questions():
        names = str(row["subject"]).split(" / ")
        for depth in range(1, 4):
            node = " / ".join(names[:depth])
            below[node].append(right(row))
            subjects[node][str(row["subject"])].append(right(row))
    assert exam.by("exam.at_node") == pytest.approx({node: mean(values) for node, values in below.items()})
    assert len(below) == 12
    macro = {node: mean([mean(values) for values in each.values()]) for node, each in subjects.items()}
    assert exam.by("exam.macro_node") == pytest.approx(macro)
    every = [mean(values) for node in CATEGORIES for values in subjects[node].values()]
    assert exam["exam.macro"].value == pytest.approx(mean(every))
    assert exam["exam.micro"].value == pytest.approx(mean([right(row) for row in questions()]))


def test_every_group_of_an_axis_has_a_figure(exam: Figures) -> None:
    groups: dict[str, dict[str, list[float]]] = {"science": defaultdict(list), "humanities": defaultdict(list)}
    for row in questions():
        group = "science" if row["field"] in ("physics", "biology") else "humanities"
        groups[group][str(row["field"])].append(right(row))
    micro = {group: mean([value for values in each.values() for value in values]) for group, each in groups.items()}
    assert exam.by("exam.by_group") == pytest.approx(micro)
    macro = {group: mean([mean(values) for values in each.values()]) for group, each in groups.items()}
    assert exam.by("exam.macro_top") == pytest.approx(macro)


def test_a_field_of_a_record_parts_the_items(exam: Figures) -> None:
    boards: dict[str, list[float]] = defaultdict(list)
    for row in questions():
        boards[row["source"]["exam"]["board"]].append(right(row))  # type: ignore[index]
    assert exam.by("exam.by_board") == pytest.approx({board: mean(values) for board, values in boards.items()})
    assert sum(row.n for row in exam.rows["exam.by_board"]) == len(questions())


def test_two_models_are_compared_at_every_node(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    head, _, _ = SUBJECTS.partition("  measure micro")
    spec = f"{head}  measure at_node = mean(right) by q.subject.nodes, field.group, q.source.exam.board\n}}\n"
    (tmp_path / "spec.tripos").write_text(spec, "utf-8")
    (tmp_path / "questions.jsonl").write_text(lines(questions()[:24]), "utf-8")
    assert tripos("run", "spec.tripos", "--model", "mock/careful,mock/careless").code == 0
    done = tripos("compare", "--json")
    assert done.code == 0, done.err
    assert done.data["unpaired"] == []
    cells = {tuple(row["of"].split(", ")) for row in done.data["rows"] if row["section"] == "measure"}
    assert {("Science / Physics / Optics", "science", board) for board in ("North", "South")} <= cells
