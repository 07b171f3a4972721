"""RAGAS and PaperBench: figures of judged statements, of questions that answers suggest, and of weighted rubric trees."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.field.running import figures_of, lines

RAGAS = """
benchmark ragas "1.0.0" { languages en }
role candidate compared
role splitter
role judge

dataset item from "items.jsonl" { question text, context text }

scorer supported(statement: text, context: text) by judge {
  prompt "{{ context }}\\nDoes it follow? {{ statement }}"
  gives  bool
}

scenario answering {
  over item
  ask answer by candidate { prompt "{{ item.context }}\\n{{ item.question }}" }
  ask split by splitter {
    prompt  "Break this down: {{ answer.text }}"
    returns { statements list<text> }
  }
  # allow W0320: without statements there is no share
  score faithfulness = sum(choose(supported(s, item.context), 1, 0) each s in split.statements at most 9) / length(split.statements)
  score truth = supported(s, item.context) each s in split.statements at most 9
}

measure faithfulness = mean(faithfulness)
measure truth        = mean(truth)
"""


def answer(text: str) -> str | None:
    number = int(re.findall(r"Question (\d+)", text)[0])
    return None if number % 19 == 0 else "" if number % 23 == 0 else f"Answer {number}."


def statements(number: int) -> list[str]:
    """Of some answers there are no statements, and one stands twice in others."""
    found = [f"Statement {n} of {number}" for n in range(number % 5)]
    return [*found, found[0]] if number % 7 == 0 and found else found


def splitter(text: str) -> str | None:
    numbers = re.findall(r"\d+", text)
    if not numbers or int(numbers[0]) % 13 == 0:
        return "I cannot."
    return json.dumps({"statements": statements(int(numbers[0]))})


def judge(text: str) -> str | None:
    one, of = map(int, re.findall(r"Statement (\d+) of (\d+)", text)[0])
    if (one + of) % 29 == 0:
        return None
    return "true" if (one * 3 + of) % 4 else "false"


def test_faithfulness_is_the_share_of_supported_statements_of_each_answer(tmp_path: Path) -> None:
    rows = [{"question": f"Question {n}?", "context": f"Context {n}."} for n in range(1, 161)]
    roles = {"splitter": splitter, "judge": judge}
    figures = figures_of(tmp_path, RAGAS, {"items.jsonl": lines(rows)}, answer, roles)
    shares: list[float] = []
    verdicts: list[bool] = []
    for n in range(1, 161):
        said = answer(f"Question {n}")
        if not said or n % 13 == 0 or not (listed := statements(n)):
            continue
        told = [judge(each) for each in listed]
        verdicts += [each == "true" for each in told if each is not None]
        if None not in told:
            shares.append(sum(each == "true" for each in told) / len(told))
    assert 80 < len(shares) < 120 and len(set(shares)) > 4
    assert figures["faithfulness"].value == pytest.approx(sum(shares) / len(shares))
    assert figures["truth"].value == pytest.approx(sum(verdicts) / len(verdicts))


PAPERBENCH = """
benchmark paperbench "1.0.0" { languages en }
role candidate compared
role judge

dataset paper from "papers.jsonl" {
  title    text
  leaves   list<{ id text, requirement text, parents list<text>, share number, weight number, kind choice(code, run, result) }> secret
}

scorer met(submission: text, requirement: text) by judge {
  prompt "{{ submission }}\\nIs this met? {{ requirement }}"
  gives  bool
}

scorer credit(submission: text, requirement: text, share: number) = choose(met(submission, requirement), share, 0)

scenario replication {
  over paper as p
  ask work by candidate { prompt "Replicate {{ p.title }}." }
  score replicated = sum(credit(work.text, l.requirement, l.share) each l in p.leaves)
  score leaf = met(work.text, l.requirement) each l in p.leaves
}

measure replication = mean(replicated)
measure by_kind     = mean(leaf) by l.kind
"""

Node = dict[str, object]


def tree(paper: int) -> Node:
    """A rubric: weights at every node, leaves of three kinds, and some of them deep."""

    def node(path: tuple[int, ...], depth: int) -> Node:
        weight = (sum(path) + paper) % 4 + 1
        if depth == 0 or (len(path) > 1 and sum(path) % 3 == 2):
            kind = ("code", "run", "result")[sum(path) % 3]
            name = "-".join(map(str, path))
            return {"id": name, "weight": weight, "requirement": f"Leaf {name} of {paper}", "kind": kind, "parts": []}
        return {
            "id": "-".join(map(str, path)),
            "weight": weight,
            "parts": [node((*path, n), depth - 1) for n in range(2 + (paper + depth) % 2)],
        }

    return node((paper % 3,), 3)


def leaves_of(node: Node, share: float = 1.0, parents: tuple[str, ...] = ()) -> list[Node]:
    """Return the leaves with the share of the whole that each of them is."""
    parts: list[Node] = node["parts"]  # type: ignore[assignment]
    if not parts:
        kept = {key: node[key] for key in ("id", "requirement", "kind", "weight")}
        return [{**kept, "parents": list(parents), "share": share}]
    total = sum(float(str(each["weight"])) for each in parts)
    return [
        leaf
        for each in parts
        for leaf in leaves_of(each, share * float(str(each["weight"])) / total, (*parents, str(node["id"])))
    ]


def replicate(text: str) -> str | None:
    number = int(re.findall(r"paper (\d+)", text)[0])
    return None if number % 11 == 0 else f"Work on paper {number}."


def grader(text: str) -> str | None:
    work, leaf = re.findall(r"Work on paper (\d+)", text)[0], re.findall(r"Leaf ([\d-]+) of", text)[0]
    seed = int(work) * 7 + sum(map(int, leaf.split("-"))) * 5 + len(leaf)
    return "true" if seed % 3 else "false"


def graded(node: Node, paper: int) -> float:
    """Return the score of a node as PaperBench has it: that of its parts by their weights, from the leaves up."""
    parts: list[Node] = node["parts"]  # type: ignore[assignment]
    if not parts:
        return float(grader(f"Work on paper {paper}. {node['requirement']}") == "true")
    total = sum(float(str(each["weight"])) for each in parts)
    return sum(graded(each, paper) * float(str(each["weight"])) for each in parts) / total


def test_a_rubric_tree_has_the_score_of_its_root_from_its_leaves(tmp_path: Path) -> None:
    papers = range(1, 25)
    rows = [{"title": f"paper {n}", "leaves": leaves_of(tree(n))} for n in papers]
    assert max(len(leaves_of(tree(n))) for n in papers) > 8
    figures = figures_of(tmp_path, PAPERBENCH, {"papers.jsonl": lines(rows)}, replicate, {"judge": grader})
    there = [n for n in papers if n % 11]
    assert figures["replication"].value == pytest.approx(sum(graded(tree(n), n) for n in there) / len(there))
    by_kind: dict[str, list[bool]] = {}
    for n in there:
        for leaf in leaves_of(tree(n)):
            said = grader(f"Work on paper {n}. {leaf['requirement']}")
            by_kind.setdefault(str(leaf["kind"]), []).append(said == "true")
    assert figures.by("by_kind") == pytest.approx({kind: sum(each) / len(each) for kind, each in by_kind.items()})
