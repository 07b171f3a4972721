"""Data sets that are made: what is asked for them, what is rejected, and that nothing is asked twice."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.in_memory import MemoryLedger
from tests.runtime.small_runs import SmallRun, run_small
from tripos_compiler.language.evaluation import Unavailable
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.models.base import ModelError, Request
from tripos_runtime.scheduling.budget import Stopped

HEAD = """\
benchmark sums "1.0.0" {{ languages {languages} }}
role candidate compared
role author
role checker
axis level {{ easy, hard }}
tree syllabus from "syllabus.json"
{data}
scenario sums {{
  {context}
  over {over}
  ask reply by candidate {{ prompt "{{{{ {over}.{field} }}}}" }}
  score short = words(reply.text) < 3
}}
"""
WRITTEN = """\
dataset item by author {{
  context level
  count   {count}
  prompt  "Write an exercise that is {{{{ level }}}}."
  returns {{ question text, solution text secret }}
  {more}
  retries {retries}
}}
"""
VERIFIED = 'verify by checker { prompt "{{ item.question }}", returns { right bool }, require right }'
SYLLABUS = json.dumps({"Numbers": ["Fractions", "Percentages"], "Shapes": ["Triangles", "Circles"]})
Say = Callable[[Request], Any]
LONG = "How many of the nine apples in the basket are left once Ada has eaten {} of them?"


def spec(data: str, *, over: str = "item", field: str = "question", context: str = "context level", **more: str) -> str:
    return HEAD.format(languages=more.get("languages", "en"), data=data, context=context, over=over, field=field)


def written(count: int = 1, retries: int = 2, more: str = "") -> str:
    return spec(WRITTEN.format(count=count, retries=retries, more=more))


def item(question: str, solution: str = "4") -> str:
    return json.dumps({"question": question, "solution": solution})


def make(
    folder: Path, text: str, author: Say, checker: Say = lambda request: '{"right": true}', **options: Any
) -> SmallRun:
    """Run a spec. The candidate says `fine`."""

    def script(request: Request) -> str | ModelError:
        said = {"w": author, "c": checker}.get(request.model, lambda request: "fine")(request)
        assert isinstance(said, str | ModelError)
        return said

    files = {"syllabus.json": SYLLABUS, "raw.jsonl": [{"stem": "one"}, {"stem": "two"}, {"stem": "three"}]}
    return run_small(folder, text, files, script=script, author="w", checker="c", **options)


def unlike(request: Request) -> str:
    """Return an author who writes something else to every request."""
    return item(f"Question on {hash_of(request)}")


def hash_of(request: Request) -> str:
    from tripos_compiler.plan import digest

    return digest([[each.role, each.content] for each in request.messages])


def slots(run: SmallRun) -> dict[tuple[str, int], Any]:
    return {(row["context"]["level"], row["number"]): row for row in run.table("slots")}


def reasons(run: SmallRun) -> Counter[str]:
    return Counter(each["reason"] for row in run.table("slots") for each in json.loads(row["rejections"]))


def test_the_rows_that_an_author_writes_are_what_the_models_are_asked_about(tmp_path: Path) -> None:
    run = make(tmp_path, written(count=2), unlike)
    asked = [sent[-1][1] for sent in run.sent("a")]
    assert len(asked) == 4
    assert all(each.startswith("Question on ") for each in asked)
    assert [row["written_by"] for row in run.table("items")] == ["w"] * 4


def test_a_second_run_asks_nobody(tmp_path: Path) -> None:
    text = written(count=3, more=VERIFIED)
    first = make(tmp_path, text, unlike)
    again = make(tmp_path, text, unlike, before=first)
    assert set(again.asked.values()) == {0}
    assert len(again.table("slots")) == len(first.table("slots")) == 6


@pytest.mark.parametrize(("calls", "killed"), [*((calls, False) for calls in range(0, 14, 3)), (5, True)])
def test_a_run_that_was_stopped_or_killed_goes_on_and_comes_to_the_same(
    tmp_path: Path, calls: int, killed: bool
) -> None:
    text = written(count=3, more="unique item.question")
    whole = make(tmp_path / "whole", text, repeating)
    left = calls

    def until(request: Request) -> str | ModelError:
        nonlocal left
        left -= 1
        if left < 0 and killed:
            raise Stopped("R0102", "no key", "")
        return ModelError("R0102", "no key", "", fatal=True) if left < 0 else repeating(request)

    stopped = make(tmp_path / "cut", text, until)
    resumed = make(tmp_path / "cut", text, repeating, before=stopped)
    kept = Counter(row["sample_id"] for row in resumed.table("samples") if row["status"] == "ok")
    assert kept == Counter(row["sample_id"] for row in whole.table("samples"))
    assert {row["item_id"] for row in resumed.table("items")} == {row["item_id"] for row in whole.table("items")}
    answered = sum(row["status"] == "ok" and row["role"] == "author" for row in stopped.table("samples"))
    assert resumed.asked["w"] == whole.asked["w"] - answered, "a reply is asked for again"


def repeating(request: Request) -> str:
    """Return an author who repeats what the first was until it is told of that."""
    told = [each.content for each in request.messages if "repeats" in each.content]
    return unlike(request) if told else item("What is the sum of two and two?")


def test_a_repeated_row_is_rejected_and_another_one_asked_for(tmp_path: Path) -> None:
    run = make(tmp_path, written(count=3, more="unique item.question"), repeating)
    assert reasons(run) == {"duplicate": 4}
    assert [slots(run)["easy", number]["attempts"] for number in range(3)] == [1, 2, 2]
    assert run.engine.tally.done == run.engine.tally.total


def test_rows_of_different_contexts_may_be_alike(tmp_path: Path) -> None:
    run = make(tmp_path, written(more="unique item.question"), lambda request: item("What is two and two?"))
    assert reasons(run) == {}
    assert len(run.table("items")) == 2


def test_a_row_that_is_nearly_another_is_rejected(tmp_path: Path) -> None:
    said = iter([LONG.format("two"), LONG.format("too"), "Name the capital of France."] * 2)
    text = written(count=2, more="unique item.question").replace("easy, hard", "easy")
    run = make(tmp_path, text, lambda request: item(next(said)))
    [rejection] = json.loads(slots(run)["easy", 1]["rejections"])
    assert rejection["reason"] == "near_duplicate"
    assert 0.8 <= rejection["similarity"] < 1
    assert rejection["of"] == slots(run)["easy", 0]["item_id"]


def test_equal_rows_are_one_also_where_nothing_need_be_unique(tmp_path: Path) -> None:
    run = make(tmp_path, written(count=2, retries=1), lambda request: item("What is two and two?"))
    assert [row["status"] for _, row in sorted(slots(run).items())] == ["made", "given_up"] * 2
    assert reasons(run) == {"duplicate": 4}


def test_a_row_that_breaks_a_requirement_is_rejected_before_anybody_verifies_it(tmp_path: Path) -> None:
    more = f"require words(item.question) > 2\n  {VERIFIED}"
    run = make(tmp_path, written(more=more), lambda request: item("Two?" if len(request.messages) == 1 else LONG))
    assert reasons(run) == {"require": 2}
    assert run.asked == {"a": 2, "w": 4, "c": 2}


def test_a_row_that_is_not_verified_is_rejected(tmp_path: Path) -> None:
    run = make(tmp_path, written(more=VERIFIED, retries=1), unlike, lambda request: '{"right": false}')
    assert reasons(run) == {"verify": 4}
    assert run.asked["a"] == 0
    assert {row["status"] for row in run.table("slots")} == {"given_up"}
    run = make(tmp_path / "unread", written(more=VERIFIED, retries=0), unlike, lambda request: "well")
    assert reasons(run) == {"unverified": 2}


def test_an_author_who_cannot_be_read_is_asked_again_until_the_slot_is_given_up(tmp_path: Path) -> None:
    run = make(tmp_path, written(retries=2), lambda request: "no idea")
    assert reasons(run) == {"unreadable": 6}
    assert {row["attempts"] for row in run.table("slots")} == {3}
    assert run.engine.tally.makings["item"].given_up == 2
    rows = [row for row in run.table("samples") if row["role"] == "author"]
    by_slot = Counter(row["item_id"] for row in rows)
    assert sorted(row["sample_number"] for row in rows) == [0, 0, 1, 1, 2, 2]
    assert ({row["step"] for row in rows}, sorted(by_slot.values())) == ({"item"}, [3, 3])


def test_the_author_is_told_why_in_the_language_of_the_row(tmp_path: Path) -> None:
    text = spec(
        """dataset item by author {
  context language * level
  prompt en "Write one: {{ level }}." zh "写一道题：{{ level }}。"
  returns { question text }
  require words(item.question) > 3
}""",
        languages="en, zh",
        context="context language * level",
    ).replace('{ prompt "{{ item.question }}" }', '{ prompt en "{{ item.question }}" zh "{{ item.question }}" }')
    run = make(tmp_path, text, lambda request: json.dumps({"question": "短"}))
    last = {request.messages[-1].content for request in run.callers["w"].asked if len(request.messages) == 3}
    assert any("does not keep to what is required" in each for each in last)
    assert any("不符合对内容的要求" in each for each in last)
    assert len(last) == 6


def test_what_a_verifier_says_is_not_told_to_the_author(tmp_path: Path) -> None:
    more = """verify by checker {
    prompt "{{ item.question }} {{ item.solution }}"
    returns { why text, right bool }
    require right
  }"""
    run = make(tmp_path, written(more=more), unlike, lambda request: '{"why": "SECRET", "right": false}')
    assert run.asked["w"] == 6
    assert not any("SECRET" in content for sent in run.sent("w") for _, content in sent)


def test_only_the_rows_that_a_limited_run_needs_are_made_and_a_larger_run_takes_them_over(tmp_path: Path) -> None:
    limited = make(tmp_path, written(count=3), unlike, selection=Selection(limit=2))
    assert limited.asked == {"a": 2, "w": 2, "c": 0}
    assert set(slots(limited)) == {("easy", 0), ("easy", 1)}
    large = make(tmp_path, written(count=3), unlike, before=limited)
    assert large.asked == {"a": 4, "w": 4, "c": 0}


def numbered(same: Mapping[int, str]) -> Say:
    """Return an author whose first reply about the row of that number, counted from 1, is this; else it is unlike
    others."""

    def author(request: Request) -> str:
        text = "\n".join(each.content for each in request.messages)
        found = re.search(r"this is number (\d+)", text)
        number = int(found[1]) if found else 1
        again = "not accepted" in text
        return unlike(request) if again or number not in same else item(same[number])

    return author


def test_rows_of_a_smaller_run_stay_where_a_larger_one_adds_others_after_them(tmp_path: Path) -> None:
    author = numbered({1: "the same as another", 3: "the same as another"})
    small = make(tmp_path, written(count=3), author, selection=Selection(limit=2))
    large = make(tmp_path, written(count=3), author, before=small)
    assert [slots(large)["easy", number]["attempts"] for number in range(3)] == [1, 1, 2]
    assert all(slots(large)["easy", number] == slots(small)["easy", number] for number in range(2))


def test_what_a_smaller_run_drew_takes_no_row_from_a_larger_one(tmp_path: Path) -> None:
    author = numbered({1: "the same as another", 3: "the same as another"})
    seed = next(seed for seed in range(40) if chosen_number(tmp_path / str(seed), author, seed) == ("easy", 2))
    drawn = make(tmp_path, written(count=3), author, selection=Selection(limit=1, seed=seed))
    large = make(tmp_path, written(count=3), author, before=drawn)
    fresh = make(tmp_path / "fresh", written(count=3), author)
    became = [{row["slot_id"] for row in run.table("slots")} for run in (drawn, large, fresh)]
    assert became[1] == became[0] | became[2]
    assert {row["made_id"] for row in large.table("run_slots")} >= became[2]
    assert slots(fresh)["easy", 2]["attempts"] == 2


def chosen_number(folder: Path, author: Say, seed: int) -> tuple[str, int]:
    [chosen] = slots(make(folder, written(count=3), author, selection=Selection(limit=1, seed=seed)))
    return chosen


def test_of_slots_after_a_failed_call_no_outcome_is_kept_and_the_next_run_comes_to_the_same(tmp_path: Path) -> None:
    author = numbered({2: "the same as another", 3: "the same as another"})

    def busy(request: Request) -> str | ModelError:
        second = "this is number 2" in request.messages[-1].content
        return ModelError("R0111", "busy", "") if second else str(author(request))

    whole = make(tmp_path / "whole", written(count=3), author)
    first = make(tmp_path, written(count=3), busy)
    assert [row for row in slots(first) if row[0] == "easy"] == [("easy", 0)]
    resumed = make(tmp_path, written(count=3), author, before=first)
    contents = [
        {name: (row["item_id"], row["attempts"], row["rejections"]) for name, row in slots(run).items()}
        for run in (whole, resumed)
    ]
    assert contents[0] == contents[1]


def test_only_the_rows_of_the_chosen_axes_are_made(tmp_path: Path) -> None:
    run = make(tmp_path, written(count=2), unlike, selection=Selection(only={"level": ("hard",)}))
    assert set(slots(run)) == {("hard", 0), ("hard", 1)}


def test_a_seed_draws_slots_from_all_over(tmp_path: Path) -> None:
    drawn = [
        set(slots(make(tmp_path / str(seed), written(count=20), unlike, selection=Selection(limit=4, seed=seed))))
        for seed in range(3)
    ]
    assert all(len(each) == 4 for each in drawn)
    assert len({frozenset(each) for each in drawn}) == 3


def test_a_call_that_failed_is_made_by_the_next_run(tmp_path: Path) -> None:
    down = ModelError("R0111", "busy", "")
    first = make(
        tmp_path, written(), lambda request: down if "hard" in request.messages[0].content else unlike(request)
    )
    assert set(slots(first)) == {("easy", 0)}
    assert first.asked["a"] == 1
    again = make(tmp_path, written(), unlike, before=first)
    assert again.asked == {"a": 1, "w": 1, "c": 0}


DERIVED = """\
dataset raw from "raw.jsonl" { stem text }
dataset item from raw where raw.stem != "two" {
  let  question = raw.stem
  require item.question != "three"
}
"""


def test_rows_are_taken_over_without_asking_anybody(tmp_path: Path) -> None:
    run = make(tmp_path, spec(DERIVED, context=""), unlike)
    assert run.sent("a") == [(("user", "one"),)]
    assert run.table("slots") == []
    assert run.table("items")[0]["written_by"] is None


CHAIN = """\
dataset item by author {
  count 3
  prompt "Write."
  returns { question text }
}
dataset hard by author from item {
  prompt "Make it harder: {{ item.question }}"
  returns { harder text }
}
"""


def author_of_both(request: Request) -> str:
    return json.dumps({"harder" if "harder" in request.messages[0].content else "question": hash_of(request)})


@pytest.mark.parametrize(("limit", "asked"), [(None, {"a": 3, "w": 6, "c": 0}), (1, {"a": 1, "w": 2, "c": 0})])
def test_of_rows_that_are_made_from_rows_as_many_are_made_as_a_run_needs(
    tmp_path: Path, limit: int | None, asked: dict[str, int]
) -> None:
    text = spec(CHAIN, over="hard", field="harder", context="")
    assert make(tmp_path, text, author_of_both, selection=Selection(limit=limit)).asked == asked


LEAVES = """\
dataset item by author from leaves(syllabus) as point {
  prompt "Write an exercise on {{ leaf(point) }}."
  returns { question text }
}
"""


def test_there_is_a_row_for_every_leaf_of_a_tree(tmp_path: Path) -> None:
    run = make(
        tmp_path, spec(LEAVES, context=""), lambda request: json.dumps({"question": request.messages[0].content})
    )
    asked = "".join(content for sent in run.sent("a") for _, content in sent)
    assert all(leaf in asked for leaf in ("Fractions", "Percentages", "Triangles", "Circles"))


WALKED = """\
dataset raw from "raw.jsonl" { stem text }
dataset item from raw {
  walk points through syllabus by author { prompt "{{ raw.stem }}: {{ bullets(branches) }}" }
  let  question = bullets(item.points)
}
"""


def choosing(request: Request) -> str:
    text = request.messages[0].content
    if "Numbers" in text:
        return json.dumps(["Numbers", "shapes"] if text.startswith("one") else [])
    return json.dumps(["Fractions"] if "Fractions" in text else ["Circles"])


def test_a_walk_keeps_every_path_that_was_chosen_down_to_a_leaf(tmp_path: Path) -> None:
    text = spec(WALKED, context="")
    run = make(tmp_path, text, choosing)
    points = {json.loads(row["fields"])["stem"]: json.loads(row["fields"])["points"] for row in run.table("items")}
    assert run.engine.tally.done == run.engine.tally.total
    assert points == {"one": ["Numbers / Fractions", "Shapes / Circles"], "two": [], "three": []}
    assert run.asked["w"] == 5
    assert set(make(tmp_path, text, choosing, before=run).asked.values()) == {0}


def test_a_choice_that_is_no_branch_is_asked_for_again_and_then_given_up(tmp_path: Path) -> None:
    run = make(tmp_path, spec(WALKED, context=""), lambda request: '["Poems"]')
    assert reasons(run) == {"unreadable": 12}
    assert run.asked == {"a": 0, "w": 24, "c": 0}


FILTERED = """\
dataset raw from "raw.jsonl" { stem text }
dataset item from raw {
  let question = raw.stem
  verify by checker { prompt "{{ item.question }}", returns { right bool }, require right }
}
"""


def test_a_row_that_nobody_writes_is_verified_once(tmp_path: Path) -> None:
    run = make(tmp_path, spec(FILTERED, context=""), unlike, lambda request: '{"right": false}')
    assert run.asked == {"a": 0, "w": 0, "c": 3}


SHOWN = """\
dataset worked by author {
  count 2
  prompt "Write a worked example."
  returns { question text, solution text }
}
dataset item from "raw.jsonl" { question text from "stem" }
"""


def test_shots_are_taken_from_a_data_set_that_is_made_whole(tmp_path: Path) -> None:
    text = spec(SHOWN, context="").replace(
        '{ prompt "{{ item.question }}" }',
        '{ shots 2 from worked { prompt "{{ worked.question }}", reply "{{ worked.solution }}" }\n'
        '  prompt "{{ item.question }}" }',
    )
    run = make(tmp_path, text, unlike, selection=Selection(limit=1))
    assert run.asked == {"a": 1, "w": 2, "c": 0}
    assert len(run.sent("a")[0]) == 5


def test_what_another_process_makes_is_left_to_it_and_then_taken_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[str] = []

    def claim(self: MemoryLedger, key: str, *, later: bool = False) -> bool:
        if len(refused) < 3:  # another process has it for a while
            refused.append(key)
            return False
        self.claimed.append(key)
        return True

    monkeypatch.setattr(MemoryLedger, "claim", claim)
    run = make(tmp_path, written(count=2), unlike)
    assert len(refused) == 3
    assert len(run.table("items")) == 4


def test_where_a_model_cannot_be_had_nothing_after_it_is_asked(tmp_path: Path) -> None:
    def refuse(request: Request) -> str:
        raise Stopped("R0102", "no key", "")

    run = make(tmp_path, written(count=5), refuse)
    assert run.asked["a"] == 0
    assert isinstance(run.engine.trouble, Stopped)
    assert run.table("slots") == []


def test_a_row_whose_function_failed_is_not_rejected_and_looked_at_again_by_the_next_run(tmp_path: Path) -> None:
    def broken(text: str) -> bool:
        raise Unavailable("good", "function_error", "it failed")

    tmp_path.joinpath("checks.py").write_text("def good(text: str) -> bool:\n    return True\n", "utf-8")
    text = written(more="require good(item.question)") + 'function good from "checks.py:good"\n'
    first = make(tmp_path, text, unlike, functions={"good": broken})
    assert first.asked == {"a": 0, "w": 2, "c": 0}
    assert first.table("slots") == []
    again = make(tmp_path, text, unlike, before=first, functions={"good": lambda text: True})
    assert again.asked == {"a": 2, "w": 0, "c": 0}
