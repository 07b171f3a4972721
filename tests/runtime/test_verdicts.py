"""Judges and reward models inside expressions: what is asked, what is kept, and what the expression sees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.runtime.small_runs import SmallRun, run_small
from tripos_compiler.plan import VERDICT
from tripos_runtime.asking.questions import Answer
from tripos_runtime.models.base import ModelError, Request
from tripos_runtime.program.values import panel_verdict

ROWS = [{"student": "It is 18.", "teacher": "Why?"}, {"student": "I added.", "teacher": "Which comes first?"}]
TUTORING = """\
benchmark tutoring "1.0.0" { languages en }
role candidate compared
role critic
arm tone { plain, warm }
dataset talk from "talks.jsonl" { student text, teacher text secret }
scorer reward(said: text, reply: text) by critic { prompt "{{ said }}\\n{{ reply }}", gives reward }
scenario turn {
  over talk as t
  arms tone
  ask reply by candidate {
    system "Be warm." when tone == warm
    prompt "{{ t.student }}"
  }
  score win = reward(t.student, reply) > reward(t.student, t.teacher)
}
"""
JUDGED = """\
benchmark judged "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { question text }
scorer kind(reply: text) by judge { prompt "Is this kind? {{ reply }}", gives bool }
scorer clear(reply: text) by judge { prompt "How clear is this? {{ reply }}", gives 1..5 }
scenario once {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score good = kind(reply) and clear(reply) >= 4
  score sum  = clear(reply) + 1
}
"""


def by_length(request: Request) -> str | ModelError:
    """Return a reward model that likes long texts; everybody else says who is asked."""
    text = request.messages[-1].content
    return repr(float(len(text))) if request.model == "mock/reward" else f"{request.model} says much"


def tutor(folder: Path, before: SmallRun | None = None, models: tuple[str, ...] = ("a", "b")) -> SmallRun:
    return run_small(
        folder, TUTORING, {"talks.jsonl": ROWS}, models=models, script=by_length, before=before, critic="mock/reward"
    )


def test_a_reward_goes_into_the_expression_that_uses_it(tmp_path: Path) -> None:
    run = tutor(tmp_path)
    assert {row["value"] for row in run.table("scores") if row["item_id"]} == {0.0, 1.0}
    lengths = {row["teacher"]: len(row["teacher"]) for row in ROWS}
    wins = [len("a says much") > length for length in lengths.values()]
    assert sum(row["value"] for row in run.table("scores")) == 2 * 2 * sum(wins)  # two models, two arms


def test_a_verdict_that_no_reply_goes_into_is_asked_once_a_row(tmp_path: Path) -> None:
    run = tutor(tmp_path)
    # two models under two arms answer two rows; of the teacher's own turn there is one a row
    assert run.asked["mock/reward"] == 2 * 2 * 2 + 2
    alone = [row for row in run.table("judgements") if row["sample_id"] is None]
    assert len({row["item_id"] for row in alone}) == len(alone) == 2


def test_as_many_verdicts_are_asked_for_as_were_planned(tmp_path: Path) -> None:
    run = tutor(tmp_path)
    assert run.calls == run.planned


def test_a_second_run_asks_for_no_verdict_again(tmp_path: Path) -> None:
    first = tutor(tmp_path)
    second = tutor(tmp_path, before=first)
    assert set(second.asked.values()) == {0}


def test_a_further_model_asks_only_for_the_rewards_of_its_own_replies(tmp_path: Path) -> None:
    first = tutor(tmp_path, models=("a",))
    second = tutor(tmp_path, before=first, models=("a", "b"))
    assert second.asked == {"a": 0, "b": 4, "mock/reward": 4}


def test_rewards_are_kept_as_judgements_of_their_scorer(tmp_path: Path) -> None:
    rows = tutor(tmp_path).table("judgements")
    assert {row["scorer"] for row in rows} == {"reward"}
    assert {row["evaluator"] for row in rows} == {"mock/reward"}
    assert {row["status"] for row in rows} == {"ok"}


def test_a_reward_that_could_not_be_had_leaves_no_score_and_is_asked_for_again(tmp_path: Path) -> None:
    def failing(request: Request) -> str | ModelError:
        return ModelError("R0111", "busy", "wait") if request.model == "mock/reward" else "a reply"

    first = run_small(tmp_path, TUTORING, {"talks.jsonl": ROWS}, script=failing, critic="mock/reward")
    assert {row["status"] for row in first.table("scores")} == {"provider_error"}
    second = tutor(tmp_path, before=first, models=("a",))
    assert second.asked["mock/reward"] == 2 * 2 + 2


def test_a_judge_gives_its_value_to_an_expression(tmp_path: Path) -> None:
    def judge(request: Request) -> str:
        text = request.messages[-1].content
        if request.model != "j":
            return "well done"
        return '{"value": true}' if text.startswith("Is this kind") else '{"value": 4}'

    run = run_small(tmp_path, JUDGED, {"items.jsonl": [{"question": "q"}]}, script=judge, judge="j")
    assert {row["metric"]: row["value"] for row in run.table("scores")} == {"good": 1.0, "sum": 5.0}


def test_a_judge_with_the_same_arguments_is_asked_once_in_several_scores(tmp_path: Path) -> None:
    run = run_small(
        tmp_path,
        JUDGED,
        {"items.jsonl": [{"question": "q"}]},
        script=lambda request: '{"value": 5}' if "clear" in request.messages[-1].content else '{"value": true}',
        judge="j",
    )
    assert run.asked["j"] == 2


def test_an_unreadable_verdict_leaves_no_score(tmp_path: Path) -> None:
    run = run_small(
        tmp_path, JUDGED, {"items.jsonl": [{"question": "q"}]}, script=lambda request: "Hm, perhaps so.", judge="j"
    )
    assert {row["status"] for row in run.table("scores")} == {"parse_failure"}


def test_of_a_panel_the_expression_sees_the_mean(tmp_path: Path) -> None:
    plan = run_small(tmp_path, JUDGED, {"items.jsonl": [{"question": "q"}]}, judge="j").plan
    step = next(step for step in plan.scenarios[0].steps if step.step == "verdict" and step.scorer == "clear")
    assert panel_verdict(step, plan.scorer("clear"), [[gave(3.0)], [gave(4.0)]]) == 3.5


def test_of_a_panel_that_says_true_or_false_more_than_half_decide(tmp_path: Path) -> None:
    plan = run_small(tmp_path, JUDGED, {"items.jsonl": [{"question": "q"}]}, judge="j").plan
    step = next(step for step in plan.scenarios[0].steps if step.step == "verdict" and step.scorer == "kind")
    verdicts = [[gave(1.0)], [gave(0.0)], [gave(1.0)]]
    assert panel_verdict(step, plan.scorer("kind"), verdicts) is True
    assert panel_verdict(step, plan.scorer("kind"), verdicts[:2]) is False


def gave(value: float) -> Answer:
    return Answer("ok", "", {VERDICT: (value, "scored")}, "", {})


def test_each_member_of_a_panel_is_asked_for_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_text('{"question": "q"}', "utf-8")
    Path("panel.tripos").write_text(JUDGED.replace("role judge", "role judge panel"), "utf-8")
    done = tripos("run", "panel.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a,mock/careful:b")
    assert done.code == 0
    assert "5 calls asked" in done.err  # a reply, and two judges asked for two verdicts each
    tripos("sql", "select evaluator, parsed ->> '$.verdict.score' as given from judgements where scorer = 'clear'",
           "-o", "given.json")  # fmt: skip
    tripos("sql", "select value from scores where metric = 'sum'", "-o", "sums.json")
    given = [float(row["given"]) for row in json.loads(Path("given.json").read_text("utf-8"))]
    [total] = json.loads(Path("sums.json").read_text("utf-8"))
    assert (len(given), total["value"]) == (2, sum(given) / 2 + 1)
