"""The same question to a judge has one verdict, however many scores use it, under whichever conditions; and a condition
on the choice of a panel is decided by the judges' votes on the condition."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.lengths import sized
from tests.runtime.in_memory import MemoryLedger
from tests.runtime.small_runs import run_small
from tripos.runs.compilation import find_spec
from tripos_compiler.plan import Plan
from tripos_runtime.datasets.cases import CaseSource, planned_steps
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.forecast.run_forecast import forecast
from tripos_runtime.models.base import Request

NAMES = ("comply", "partial", "refuse")
HEAD = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "items.jsonl" { question text, flag bool }
scorer kind(said: text) by judge { prompt "{{ said }}", gives choice(comply, partial, refuse) }
scenario s {
  over item
  ask a by candidate { prompt "A {{ item.question }}" }
  ask b by candidate { prompt "B {{ item.question }}" }
"""
Applies = Callable[[dict[str, Any], dict[str, str]], bool]
WHENS: dict[str, Applies] = {
    "": lambda item, said: True,
    " when item.flag": lambda item, said: item["flag"],
    " when not item.flag": lambda item, said: not item["flag"],
    ' when contains(a.text, "x")': lambda item, said: "x" in said["a"],
    ' when contains(b.text, "x")': lambda item, said: "x" in said["b"],
    ' when item.flag and contains(b.text, "y")': lambda item, said: item["flag"] and "y" in said["b"],
}
Holds = Callable[[str], bool]
CONDITIONS: dict[str, Holds] = {
    "{0} == comply": lambda vote: vote == "comply",
    "{0} != comply": lambda vote: vote != "comply",
    "{0} in (partial, refuse)": lambda vote: vote in ("partial", "refuse"),
    "{0} not in (comply, refuse)": lambda vote: vote == "partial",
    "{0} == comply or {0} == partial": lambda vote: vote != "refuse",
    "not ({0} == partial or {0} == refuse)": lambda vote: vote == "comply",
    "{0} != comply and {0} != partial": lambda vote: vote == "refuse",
}


@dataclass
class DrawnScore:
    name: str
    of: str
    """The reply that is judged."""
    when: str
    form: str
    """A condition, `choice` or `number`."""
    condition: str

    @property
    def text(self) -> str:
        call = f"kind({self.of}.text)"
        value = self.condition.format(call)
        texts = {"choice": call, "number": f"choose({value}, 3, 1)"}
        return f"  score {self.name} = {texts.get(self.form, value)}{self.when}\n"


def drawn_scores(draw: Random) -> list[DrawnScore]:
    forms = ("condition", "condition", "choice", "number")
    return [
        DrawnScore(
            f"s{place}", draw.choice("aab"), draw.choice(list(WHENS)), draw.choice(forms), draw.choice(list(CONDITIONS))
        )
        for place in range(draw.randint(2, 6))
    ]


def hashed(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def reply(question: str) -> str:
    return f"{question} {'xyzw'[hashed(question) % 4]}"


def vote(judge: str, said: str) -> str:
    return NAMES[hashed(f"{judge} {said}") % 3]


def script(request: Request) -> str:
    text = request.messages[-1].content
    return reply(text) if request.model == "m" else json.dumps({"value": vote(request.model, text.splitlines()[0])})


def source_of(plan: Plan, folder: Path) -> CaseSource:
    path = str(folder / "s.tripos")
    return CaseSource(plan, find_spec(path).folders, (path,))


def majority(ballots: Sequence[bool]) -> bool | None:
    """Return what more than half of the judges say; None if neither side has more."""
    return next((side for side in (True, False) if 2 * ballots.count(side) > len(ballots)), None)


@pytest.mark.parametrize("seed", range(sized(12, 40)))
def test_drawn_scores_by_one_judge_ask_each_question_once_and_count_votes(seed: int, tmp_path: Path) -> None:
    draw = Random(seed)
    scores = drawn_scores(draw)
    judges = [f"j{place}" for place in range(draw.randint(1, 4))]
    items = [{"question": f"q{place} {seed}", "flag": draw.random() < 0.5} for place in range(6)]
    spec = HEAD + "".join(each.text for each in scores) + "}\n"

    def ran(before: Any = None) -> Any:
        return run_small(
            tmp_path, spec, {"items.jsonl": items}, models=("m",), script=script, before=before, judge=",".join(judges)
        )

    run = ran()
    questions = set()
    wanted: dict[tuple[str, str], list[float | str | None]] = {}
    for item in items:
        said = {step: reply(f"{step.upper()} {item['question']}") for step in "ab"}
        for each in scores:
            if not WHENS[each.when](item, said):
                continue
            questions.add((item["question"], each.of))
            votes = [vote(judge, said[each.of]) for judge in judges]
            key = each.name, item["question"]
            if each.form == "choice":
                wanted[key] = sorted(votes)
                continue
            held = majority([CONDITIONS[each.condition](one) for one in votes])
            numbers = {"condition": (0.0, 1.0), "number": (1.0, 3.0)}[each.form]
            wanted[key] = [None if held is None else numbers[held]]
    assert {judge: run.asked[judge] for judge in judges} == dict.fromkeys(judges, len(questions))
    made = len(questions) * len(judges)
    told = forecast(run.plan, source_of(run.plan, tmp_path), Selection(), run.engine.binding, MemoryLedger(), {})
    lines = [line for where, line in told.lines.items() if where.role == "judge"]
    foretold = sum(line.certain for line in lines), sum(line.most for line in lines)
    counts = source_of(run.plan, tmp_path).counts(Selection())
    steps = planned_steps(run.plan, counts, {"candidate": 1, "judge": len(judges)}, {})
    planned = [sum(getattr(each, end) for each in steps if each.role == "judge") for end in ("least", "most")]
    assert planned[0] <= foretold[0] <= made <= foretold[1] <= planned[1] == run.planned["judge"]
    asked = {row["item_id"]: json.loads(row["fields"])["question"] for row in run.table("items")}
    got: dict[tuple[str, str], list[float | str | None]] = {}
    for row in run.table("scores"):
        if row["status"] != "not_applicable":
            value = row["value"] if row["given"] is None else json.loads(row["given"])
            got.setdefault((row["metric"], asked[row["item_id"]]), []).append(value)
    assert {key: sorted(values, key=str) for key, values in got.items()} == wanted
    assert sum(ran(run).asked.values()) == 0


@pytest.mark.parametrize("samples", [1, 2])
def test_a_second_draw_is_one_that_the_scorer_asks_for(samples: int, tmp_path: Path) -> None:
    spec = HEAD.replace("refuse) }", f"refuse), samples {samples}, temperature 1 }}")
    spec += "  score p = kind(a.text)\n  score q = kind(a.text)\n}\n"
    items = [{"question": "q", "flag": True}]
    run = run_small(tmp_path, spec, {"items.jsonl": items}, models=("m",), script=script, judge="j1,j2")
    assert run.asked["j1"] == run.asked["j2"] == samples
