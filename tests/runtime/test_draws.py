"""Steps that send the same: each has a reply of its own, unless the settings leave nothing to chance."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.compiler.compiling import compile_text, plan_of
from tests.runtime.small_runs import SmallRun, run_small
from tripos_compiler.language.contexts import steps_sharing_replies
from tripos_compiler.plan import Grade, Plan
from tripos_runtime.models.base import Request

HEAD = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge
arm how { one, two }
dataset item from "items.jsonl" { a text }
"""
ITEMS = [{"a": "1 + 1"}, {"a": "2 + 2"}]


def voting(settings: str, names: str = "w x y z") -> str:
    asks = "\n".join(f'  ask {name} by candidate {{ prompt "{{{{ item.a }}}}"{settings} }}' for name in names.split())
    votes = f"length(distinct([{', '.join(f'{name}.text' for name in names.split())}]))"
    return f"{HEAD}scenario s {{\n  over item\n{asks}\n  score told = {votes}\n}}\n"


def voted(tmp_path: Path, spec: str, before: SmallRun | None = None) -> SmallRun:
    counter: Iterator[int] = iter(range(1000))

    def script(request: Request) -> str:
        return f"reply {next(counter)}"

    return run_small(tmp_path, spec, {"items.jsonl": ITEMS}, script=script, before=before, judge="j")


def told(run: SmallRun) -> list[Any]:
    return sorted(row["value"] for row in run.table("scores"))


@pytest.mark.parametrize("settings", ["", ", temperature 0.7", ", top_p 0.9", ", temperature 1, max_tokens 9"])
def test_four_asks_of_one_text_are_four_draws(tmp_path: Path, settings: str) -> None:
    run = voted(tmp_path, voting(settings))
    assert run.asked["a"] == 4 * len(ITEMS) == run.planned["candidate"]
    assert told(run) == [4.0, 4.0]
    assert [share.shown for share in steps_sharing_replies(run.plan, run.plan.scenarios[0])] == []


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (", temperature 0", "same text at temperature 0"),
        (", temperature 0.7, seed 3", "same text with seed 3"),
        (", temperature 0.7, top_k 1", "same text with top_k 1"),
    ],
)
def test_four_asks_that_leave_nothing_to_chance_are_one_reply_and_the_plan_says_so(
    tmp_path: Path, settings: str, why: str
) -> None:
    run = voted(tmp_path, voting(settings))
    assert run.asked["a"] == len(ITEMS) == run.planned["candidate"]
    assert told(run) == [1.0, 1.0]
    assert [share.shown for share in steps_sharing_replies(run.plan, run.plan.scenarios[0])] == [
        f"`w`, `x`, `y`, `z` share replies: {why}"
    ]


def test_renaming_and_reordering_draws_asks_nothing_and_a_further_one_asks_its_own(tmp_path: Path) -> None:
    first = voted(tmp_path, voting(", temperature 1"))
    again = voted(tmp_path, voting(", temperature 1", "z other x w"), before=first)
    assert again.asked["a"] == 0
    assert told(again)[-1] == 4.0
    more = voted(tmp_path, voting(", temperature 1", "z other x w fifth"), before=first)
    assert more.asked["a"] == len(ITEMS)


def plan(steps: str, scorer: str = "") -> Plan:
    judge = f'scorer fair(said: text) by judge {{ prompt "Rate {{{{ said }}}}", gives 1..5 {scorer} }}\n'
    head = HEAD.replace('dataset item from "items.jsonl" { a text }', "axis level { easy, hard }")
    return plan_of(compile_text(f"{head}{judge}scenario s {{\n  context level\n{steps}\n}}\n"))


def prints(found: Plan) -> list[dict[str, str]]:
    return [
        {step.name: getattr(step, "judgement", step.fingerprint) for step in treatment.steps}
        for treatment in found.scenarios[0].treatments
    ]


def test_one_step_in_several_arms_is_one_draw(tmp_path: Path) -> None:
    one, two = prints(
        plan(
            """  arms how
  ask a by candidate { prompt "{{ level }}" }
  ask b by candidate { prompt "{{ level }}" }
  ask c by candidate when how == two { prompt "{{ level }}" }
  score long = words(a.text) + words(b.text)"""
        )
    )
    assert (one["a"], one["b"]) == (two["a"], two["b"])
    assert len({one["a"], one["b"], two["c"]}) == 3


ASKED = '  ask a by candidate { prompt "{{ level }}" }\n'


@pytest.mark.parametrize("settings", ["", ", temperature 0", ", temperature 0.7", ", samples 2"])
def test_two_scores_by_one_judge_are_one_call(settings: str) -> None:
    found = plan(f"{ASKED}  score p = fair(a.text)\n  score q = fair(a.text)", settings)
    assert len({prints(found)[0][name] for name in "pq"}) == 1
    assert [each.shown for each in steps_sharing_replies(found, found.scenarios[0])] == [
        "`p`, `q` share replies: the same call of `fair`"
    ]


def test_the_condition_of_a_score_is_no_part_of_what_a_judge_is_asked() -> None:
    more = '  ask b by candidate { prompt "{{ level }}?" }\n'
    scores = '  score p = fair(a.text)\n  score q = fair(a.text) when contains(b.text, "x")'
    found = plan(f"{ASKED}{more}{scores}")
    assert prints(found)[0]["p"] == prints(found)[0]["q"]
    assert [step.inputs for step in found.scenarios[0].steps if isinstance(step, Grade)] == [None, ("a",)]


def test_a_judge_s_value_inside_expressions_is_that_of_the_same_call() -> None:
    found = plan(f"{ASKED}  score p = fair(a.text)\n  score q = fair(a.text) > 3\n  score r = fair(a.text) > 4")
    assert len(set(prints(found)[0].values())) == 4  # the ask, the judgement, and two scores of it
    assert [each.shown for each in steps_sharing_replies(found, found.scenarios[0])] == [
        "`p`, `fair(…)` share replies: the same call of `fair`"
    ]


def test_two_conversations_of_the_same_roles_are_two_draws() -> None:
    talk = """  converse {0} {{
    candidate {{ system "Teach {{{{ level }}}}." {1} }}
    judge {{ system "Learn." {1} }}
    opens candidate, until judge says "done", limit 2 turns
  }}
"""
    score = "  score long = words(s1.text) + words(s2.text)"
    for settings, many in (("", 2), (", temperature 0", 1)):
        found = prints(plan(talk.format("s1", settings) + talk.format("s2", settings) + score))[0]
        assert len({found["s1"], found["s2"]}) == many
