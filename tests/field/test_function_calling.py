"""The Berkeley Function Calling Leaderboard as its authors write it: its figures are those of their matching."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.field.calling import allowed, altered, arguments, function, matches
from tests.field.running import figures_of, lines
from tripos_compiler.plan import parse_call, write_calls

SPEC = """
benchmark function_calling "1.0.0" { languages en }
role candidate compared

dataset item from "calls.jsonl" {
  id         text
  category   choice(simple, multiple, parallel)
  question   list<dialogue>
  functions  tools from "function"
  answer     calls secret from "ground_truth"
}
dataset other from "irrelevance.jsonl" {
  id         text
  question   list<dialogue>
  functions  tools from "function"
}

scenario calls {
  over item
  ask reply by candidate { chat first(item.question), tools item.functions, temperature 0 }
  score right = calls_match(reply.calls, item.functions, item.answer)
  score fits  = length(reply.calls) > 0 and calls_fit(reply.calls, item.functions)
  measure ast  = mean(right, missing: zero) by item.category
  measure all  = mean(right, missing: zero)
  measure fits = mean(fits)
}
scenario irrelevance {
  over other as item
  ask reply by candidate { chat first(item.question), tools item.functions, temperature 0 }
  score none = length(reply.calls) == 0 or not all(call.readable each call in reply.calls)
  measure irrelevance = mean(none)
}
"""
COUNTS = {"simple": 1, "multiple": 1, "parallel": 3}


def row(number: int, category: str, dice: random.Random) -> dict[str, Any]:
    """Draw a question in the authors' form, with its functions and answers."""
    names = ["weather.now", "math_add", "book-table"][: 1 if category == "simple" else 3]
    functions = [function(name, dice) for name in names]
    answers = []
    for _ in range(dice.randint(1, COUNTS[category])):
        chosen = dice.choice(functions)
        answers.append({chosen["name"]: allowed(arguments(chosen, dice), dice)})
    question = [[{"role": "user", "content": f"Question {category} {number}"}]]
    return {"id": f"{category}_{number}", "category": category, "question": question, "function": functions,
            "ground_truth": answers}  # fmt: skip


def reply(given: dict[str, Any], dice: random.Random) -> tuple[str | None, list[dict[str, Any]] | None]:
    """Draw a reply, and the calls that the authors decode from it; None where they cannot decode it."""
    calls = []
    for answer in given["ground_truth"]:
        ((name, values),) = answer.items()
        chosen = {each: first for each, (first, *_) in values.items() if dice.random() < 0.95}
        said = {each: part if dice.random() < 0.85 else altered(part, dice) for each, part in chosen.items()}
        calls.append({name: {each: _unlisted(part) for each, part in said.items()}})
    match dice.randrange(14):
        case 0:
            return None, None
        case 1:
            return "None of these functions fits.", []
        case 2:
            return "I would look it up.", []
        case 3:
            calls = calls + calls[:1]
        case 4:
            calls = calls[1:]
        case 5:
            calls = [{"another": each} for call in calls for each in call.values()]
        case 6:
            ((name, said),) = calls[0].items()
            broken = parse_call(name, json.dumps(said)[:-1])
            return write_calls("", [broken, *(parse_call(n, a) for each in calls[1:] for n, a in each.items())]), None
    dice.shuffle(calls)
    return write_calls("Let me see.", [parse_call(name, said) for each in calls for name, said in each.items()]), calls


def _unlisted(part: Any) -> Any:
    """Return a value that is right, of those that a record lists for each of its members."""
    if isinstance(part, dict):
        return {name: each[0] if isinstance(each, list) else each for name, each in part.items()}
    return [_unlisted(each) for each in part] if isinstance(part, list) else part


@pytest.mark.parametrize("seed", [1])
def test_figures_are_those_of_the_authors_matching(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    rows = [row(number, category, dice) for category in COUNTS for number in range(80)]
    others = [row(number, "multiple", dice) for number in range(60)]
    said: dict[str, str | None] = {}
    right: dict[str, list[bool]] = defaultdict(list)
    for each in rows:
        text, calls = reply(each, dice)
        said[each["question"][0][0]["content"]] = text
        right[each["category"]].append(calls is not None and matches(each["function"], calls, each["ground_truth"]))
    none = []
    for each in others:
        each["question"][0][0]["content"] += " (none fits)"
        text, calls = reply(each, dice)
        text = "No function fits." if text is None else text
        said[each["question"][0][0]["content"]] = text
        none.append(not calls)
    figures = figures_of(
        tmp_path, SPEC, {"calls.jsonl": lines(rows), "irrelevance.jsonl": lines(others)}, lambda asked: said[asked]
    )
    for category, found in figures.by("calls.ast").items():
        assert found == pytest.approx(sum(right[category]) / 80)
        assert 0.1 < sum(right[category]) / 80 < 0.9  # the replies are neither all right nor all wrong
    every = [each for listed in right.values() for each in listed]
    assert figures["calls.all"].value == pytest.approx(sum(every) / len(every))
    assert figures["irrelevance.irrelevance"].value == pytest.approx(sum(none) / len(none))
    assert 0.1 < sum(none) / len(none) < 0.9
    assert 0.1 < (figures["calls.fits"].value or 0) < 0.9
