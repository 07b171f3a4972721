"""Facts that a model lists and a judge checks one by one, as FActScore (Min et al., 2023) does.

The score of a reply is the share of its facts that the source supports. A reply that lists none has no score, and one
that lists more than the spec allows has none either.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.runtime.small_runs import SmallRun, run_small
from tripos_runtime.drivers.lookup import result_bindings
from tripos_runtime.models.base import Request

MOST = 6
SPEC = """\
benchmark facts "1.0.0" { languages en }
role candidate compared
role extractor
role judge
dataset person from "items.jsonl" { name text, source text secret }
scorer supported(fact: text, source: text) by judge { prompt "{{ source }} | {{ fact }}", gives bool }
scenario bio {
  over person as p
  ask bio by candidate { prompt "{{ p.name }}" }
  ask split by extractor { prompt "{{ bio.text }}", returns { facts list<text> } }
  score factscore = sum(choose(supported(f, p.source), 1, 0) each f in split.facts at most 6) / length(split.facts)
}
"""


def facts_of(name: str) -> list[str]:
    """Return the facts that the scripted model lists about a person; at times none, or too many."""
    draw = random.Random(name)
    return [f"{name} did {place}" for place in range(draw.choice([0, 1, 2, 3, 5, 6, 7]))]


def is_supported(fact: str) -> bool:
    """Return whether the scripted judge says that the source has a fact."""
    return random.Random(fact).random() < 0.7


def script(request: Request) -> str:
    """Play all roles."""
    text = request.messages[-1].content.splitlines()[0]
    if request.model == "a":
        return text
    if request.model == "extractor":
        return json.dumps({"facts": facts_of(text)})
    return json.dumps({"value": is_supported(text.split(" | ")[1])})


def run(folder: Path, names: Sequence[str], before: SmallRun | None = None) -> SmallRun:
    items = [{"name": name, "source": f"source of {name}"} for name in names]
    return run_small(
        folder, SPEC, {"items.jsonl": items}, script=script, before=before, extractor="extractor", judge="judge"
    )


def test_scores_are_those_of_the_published_formula(tmp_path: Path) -> None:
    names = [f"person {number}" for number in range(200)]
    found = run(tmp_path, names)
    by_item = {row["item_id"]: json.loads(row["fields"])["name"] for row in found.table("items")}
    told = {by_item[row["item_id"]]: (row["value"], row["status"]) for row in found.table("scores")}
    for name in names:
        facts = facts_of(name)
        if 0 < len(facts) <= MOST:
            supported = sum(is_supported(fact) for fact in facts)
            assert told[name] == (pytest.approx(supported / len(facts)), "scored")
        else:
            assert told[name] == (None, "undefined"), f"{len(facts)} facts"


def test_calls_lie_between_the_bounds_of_the_plan(tmp_path: Path) -> None:
    names = [f"person {number}" for number in range(20)]
    found = run(tmp_path, names)
    counts = {count.role: (count.least, count.most) for count in found.plan.calls}
    assert counts["judge"] == (0, 20 * MOST)
    assert found.asked["judge"] == sum(len(facts_of(name)) for name in names if len(facts_of(name)) <= MOST)
    assert run(tmp_path, names, before=found).asked == {"a": 0, "extractor": 0, "judge": 0}


def test_a_run_lists_the_verdicts_on_elements_as_its_own(tmp_path: Path) -> None:
    found = run(tmp_path, [f"person {number}" for number in range(5)])
    bindings = result_bindings(found.plan, found.engine.binding, found.plan.scenarios)
    listed = {(each.fingerprint, each.binding) for each in bindings}
    judged = {(row["fingerprint"], row["binding"]) for row in found.table("judgements")}
    assert len(judged) == 1
    assert judged <= listed
