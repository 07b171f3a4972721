"""All samples of a reply as a list: self-consistency (Wang et al., 2023), agreement, and the best of n.

The answer of a question is the one that most of its samples give. Each score over the list is one for a question,
whichever sample it is computed with.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.runtime.small_runs import SmallRun, run_small
from tripos.runs.compilation import find_spec
from tripos_runtime.models.base import Request

SAMPLES = 5
SPEC = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { question text, answer number secret }
scorer marked(text: text) by judge { prompt "mark: {{ text }}", gives 1..100 }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}", samples 5, temperature 0.7 }
  let answers = [last_number(r) each r in reply.samples]
  score consistent = same_number(majority(answers), item.answer)
  score any_right  = any(same_number(a, item.answer) each a in answers)
  score all_right  = all(same_number(a, item.answer) each a in answers)
  score alike      = length(distinct(answers)) / length(answers)
  score single     = same_number(last_number(reply.text), item.answer)
}
"""
BEST = """\
  score best = same_number(last_number(best_of(reply.samples, [marked(r) each r in reply.samples])), item.answer)
}
"""


def said(question: str, number: int) -> str:
    """Return what the scripted candidate says at a try: it is right at times, or says no number at all."""
    draw = random.Random(f"{question} {number}")
    return draw.choice(["It is 7.", "It is 7.", "It is 8.", "It is 9.", "I do not know."])


def number_in(text: str) -> float | None:
    """Return the number of a reply."""
    return float(text[6]) if text.startswith("It is") else None


def mark(text: str) -> int:
    """Return what the scripted judge gives a reply."""
    return random.Random(f"mark {text}").randint(1, 100)


def script(request: Request) -> str:
    """Play both roles."""
    text = request.messages[-1].content.splitlines()[0]
    if request.model == "judge":
        return json.dumps({"value": mark(text.removeprefix("mark: "))})
    return said(text, request.number)


def run(folder: Path, count: int, spec: str = SPEC, before: SmallRun | None = None) -> SmallRun:
    items = [{"question": f"question {number}", "answer": 7} for number in range(count)]
    return run_small(folder, spec, {"items.jsonl": items}, script=script, before=before, judge="judge")


def by_question(found: SmallRun, metric: str) -> dict[str, list[float]]:
    """Return the values of a score of every question."""
    questions = {row["item_id"]: json.loads(row["fields"])["question"] for row in found.table("items")}
    values: dict[str, list[float]] = {}
    for row in found.table("scores"):
        if row["metric"] == metric:
            values.setdefault(questions[row["item_id"]], []).append(row["value"])
    return values


def test_scores_over_samples_are_those_of_the_published_rule(tmp_path: Path) -> None:
    found = run(tmp_path, 200)
    assert found.asked == {"a": 1000, "judge": 0}
    names = ("consistent", "any_right", "all_right", "alike", "single")
    told = {name: by_question(found, name) for name in names}
    for question in (f"question {number}" for number in range(200)):
        numbers = [number_in(said(question, number)) for number in range(SAMPLES)]
        votes = Counter(each for each in numbers if each is not None)
        chosen = max(votes, key=lambda each: votes[each], default=None)
        assert told["consistent"][question] == [float(chosen == 7)], "one score for all samples"
        assert told["any_right"][question] == [float(7 in numbers)]
        assert told["all_right"][question] == [float(set(numbers) == {7})]
        assert told["alike"][question] == [pytest.approx(len(set(numbers) - {None}) / SAMPLES)]
        assert sorted(told["single"][question]) == sorted(float(each == 7) for each in numbers)


def test_the_best_of_n_is_the_sample_that_the_judge_likes_best(tmp_path: Path) -> None:
    spec = SPEC.replace("  score single", BEST.removesuffix("}\n") + "  score single")
    found = run(tmp_path, 30, spec)
    counts = {count.step: (count.least, count.most) for count in found.plan.calls}
    assert counts["marked(1)"] == (0, 30 * SAMPLES)
    assert found.asked == {"a": 150, "judge": 150}
    told = by_question(found, "best")
    for question in (f"question {number}" for number in range(30)):
        texts = [said(question, number) for number in range(SAMPLES)]
        best = max(range(SAMPLES), key=lambda place: mark(texts[place]))
        assert told[question] == [float(number_in(texts[best]) == 7)]


def test_a_second_run_asks_nothing_and_more_samples_only_those_that_are_new(tmp_path: Path) -> None:
    first = run(tmp_path, 5)
    assert run(tmp_path, 5, before=first).asked == {"a": 0, "judge": 0}
    more = run(tmp_path, 5, SPEC.replace("samples 5", "samples 7"), before=first)
    assert more.asked == {"a": 10, "judge": 0}
    values = by_question(more, "consistent")
    assert all(len(each) == 2 for each in values.values()), "the score of more samples is another one"


SPLIT = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
role extractor
dataset item from "items.jsonl" { question text, answer number secret }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  ask read by extractor { prompt "{{ reply.text }}", samples 3, temperature 0.7, returns { number integer } }
  ask last by extractor { prompt "{{ length([r.text each r in read.samples]) }} {{ reply.text }}" }
  score most = majority([r.number each r in read.samples]) == item.answer
  score long = length(last.text) + sum(r.number each r in read.samples)
}
"""


def test_a_score_over_samples_of_another_role_is_about_the_model_whose_reply_they_go_on_from(tmp_path: Path) -> None:
    """Two models say 7 and 8, and the extractor reads what they say."""

    def says(request: Request) -> str:
        text = request.messages[-1].content
        if request.model == "extractor":
            return json.dumps({"number": int(text.split()[0])})
        return "7 -" if request.model == "a" else "8 -"

    items = [{"question": f"question {number}", "answer": 7} for number in range(3)]
    found = run_small(tmp_path, SPLIT, {"items.jsonl": items}, models=("a", "b"), script=says, extractor="extractor")
    read = sorted((row["model"], row["value"]) for row in found.table("scores") if row["metric"] == "most")
    assert read == [("a", 1.0)] * 3 + [("b", 0.0)] * 3
    assert {row["model"] for row in found.table("scores")} == {"a", "b"}
    assert {step.of for step in found.plan.scenarios[0].steps if step.step == "score"} == {"reply"}


def test_a_score_over_all_samples_is_one_try(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text('{"question": "q", "answer": 7}\n', "utf-8")
    spec = SPEC.replace("  score single", "  measure tries = pass_at(2, TRIED)\n  score single")
    codes = {}
    for name in ("consistent", "single"):
        (tmp_path / "s.tripos").write_text(spec.replace("TRIED", name), "utf-8")
        found = find_spec(str(tmp_path / "s.tripos")).compile().diagnostics
        codes[name] = [each.code for each in found if each.code.startswith("E")]
    assert codes == {"consistent": ["E0622"], "single": []}
