"""Judges in conditions, and judges that look at the row alone: scores of items, and what an item counts."""

from __future__ import annotations

from pathlib import Path

from tests.runtime.small_runs import SmallRun, run_small
from tripos_runtime.models.base import Request

HEAD = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { question text, hint text secret }
scorer hard(question: text) by judge { prompt "hard? {{ question }}", gives 1..5 }
scorer refuses(reply: text) by judge { prompt "refuses? {{ reply }}", gives bool }
scenario once {
  over item
  ask reply by candidate { prompt "{{ item.question }}", samples 2 }
"""
ITEMS = [{"question": "easy", "hint": "x"}, {"question": "long and hard", "hint": "y"}]


def script(request: Request) -> str:
    """The candidate declines what is hard at its first try."""
    text = request.messages[-1].content
    if request.model != "judge":
        return "no" if "hard" in text and "again" not in text and request.number == 0 else f"yes, {text}"
    if text.startswith("hard?"):
        return '{"value": 5}' if "long" in text else '{"value": 1}'
    return '{"value": true}' if "refuses? no" in text else '{"value": false}'


def run(folder: Path, steps: str, before: SmallRun | None = None) -> SmallRun:
    return run_small(folder, f"{HEAD}{steps}}}\n", {"items.jsonl": ITEMS}, script=script, before=before, judge="judge")


def test_a_judge_decides_about_a_step_and_about_a_score(tmp_path: Path) -> None:
    steps = """\
  ask again by candidate when refuses(reply.text) { prompt "again: {{ reply.text }}" }
  score direct = words(reply.text) when not refuses(reply.text)
  score second = words(again.text) when refuses(reply.text)
"""
    found = run(tmp_path, steps)
    assert found.asked == {"a": 5, "judge": 4}, "one of four replies is a refusal; each is judged once"
    scored = [(row["metric"], row["status"]) for row in found.table("scores")]
    assert sorted(scored) == sorted(
        [("direct", "scored")] * 3
        + [("direct", "not_applicable"), ("second", "scored")]
        + [("second", "not_applicable")] * 3
    )
    counts = {count.step: (count.least, count.most) for count in found.plan.calls}
    assert counts["again"] == (0, 4)
    assert run(tmp_path, steps, before=found).asked == {"a": 0, "judge": 0}


def test_a_judge_scores_an_item_alone_once_for_all_replies(tmp_path: Path) -> None:
    found = run(
        tmp_path, "  score hard = hard(item.question)\n  score long = words(reply.text) * hard(item.question)\n"
    )
    assert found.asked == {"a": 4, "judge": 2}
    values = sorted(row["value"] for row in found.table("scores") if row["metric"] == "hard")
    assert values == [1, 1, 5, 5], "it is kept with every reply"
    counts = {count.step: (count.least, count.most) for count in found.plan.calls}
    assert counts["hard(1)"] == (2, 2)


def test_a_measure_may_compare_replies_with_a_judge_of_the_item(tmp_path: Path) -> None:
    measure = "  measure rises = spearman(words(reply.text), hard(item.question))\n"
    found = run(tmp_path, "  score right = words(reply.text) > 1\n" + measure)
    assert found.asked == {"a": 4, "judge": 2}
    assert sorted(row["value"] for row in found.table("scores") if row["metric"] == "rises.gold") == [1, 1, 5, 5]
