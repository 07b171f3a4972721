"""Data sets that are made with a tree: where walks begin, what they ask again, and rows that must be unlike others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.small_runs import SmallRun, run_small
from tripos_compiler.plan import Ask, Settings, SetType, TextType
from tripos_runtime.asking.questions import Answer, Question, ReadOutcome
from tripos_runtime.datasets.selection import NotApproved, Selection
from tripos_runtime.generate.attempts import MOST_NAMED, match_branches, question_at_node, walk
from tripos_runtime.generate.author import MakingProgram
from tripos_runtime.models.base import Request
from tripos_runtime.program.running import drive_now
from tripos_runtime.scheduling.budget import Stopped

CHOOSING = Ask(name="points", role="author", system=None, prompt=None, returns=SetType(of=TextType()), fingerprint="")
TREE = {"algebra": {"sets": ["unions", "subsets"], "groups": None}, "geometry": ["lines", "circles"], "logic": None}
WALKED = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
role author
role checker
axis subject { algebra, geometry, logic }
tree syllabus from "syllabus.json"
dataset raw from "raw.jsonl" { subject, stem text secret }
dataset item from raw as q {
  walk points through syllabus below q.subject by author { prompt "{{ reveal(q.stem) }}: {{ bullets(branches) }}" }
  require length(item.points) > 0
  retries 2
}
scenario sums {
  over item
  ask reply by candidate { prompt "{{ bullets(item.points) }}" }
  score short = words(reply.text) < 3
}
"""
SECRET = "How many of the nine apples in the basket are left once Ada has eaten four of them?"
ROWS = (
    {"subject": "algebra", "stem": "one"},
    {"subject": "geometry", "stem": "two"},
    {"subject": "logic", "stem": "three"},
)
DISTINCT = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
role author
role checker
axis subject { algebra, geometry, logic }
axis level { basic, exam }
tree syllabus from "syllabus.json"
dataset raw from "raw.jsonl" { subject, stem text secret }
dataset item by author from leaves(syllabus) as point {
  context level
  prompt  "Write an exercise on {{ leaf(point) }}: {{ level }}."
  returns { question text }
  distinct item.question from raw.stem
  verify by checker { prompt "{{ item.question }}", returns { right bool }, require right }
  retries 1
}
scenario sums {
  context level
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score short = words(reply.text) < 3
}
"""
Say = Callable[[Request], Any]


def make(folder: Path, text: str, author: Say, tree: Any = TREE, rows: Any = ROWS, **options: Any) -> SmallRun:
    """Run a spec. The candidate says `fine`, the checker is content."""

    def script(request: Request) -> Any:
        return {"w": author, "c": lambda request: '{"right": true}'}.get(request.model, lambda request: "fine")(request)

    files = {"syllabus.json": json.dumps(tree), "raw.jsonl": list(rows)}
    return run_small(folder, text, files, script=script, author="w", checker="c", **options)


def every(request: Request) -> str:
    """Return a tagger who finds that everything fits."""
    return json.dumps(branches_of(request))


def branches_of(request: Request) -> list[str]:
    lines = request.messages[0].content.splitlines()
    return [line.partition("- ")[2] for line in lines if "- " in line]


def shown(run: SmallRun) -> list[list[str]]:
    return [branches_of(request) for request in run.callers["w"].asked]


def points(run: SmallRun) -> dict[str, list[str]]:
    items = [json.loads(row["fields"]) for row in run.table("items")]
    return {each["stem"]: each["points"] for each in items}


def rejections(run: SmallRun) -> list[Mapping[str, Any]]:
    return [each for row in run.table("slots") for each in json.loads(row["rejections"])]


def test_a_walk_begins_below_the_branch_of_its_row_and_keeps_whole_paths(tmp_path: Path) -> None:
    run = make(tmp_path, WALKED, every)
    assert points(run) == {
        "one": ["algebra / sets / unions", "algebra / sets / subsets", "algebra / groups"],
        "two": ["geometry / lines", "geometry / circles"],
        "three": ["logic"],
    }
    assert sorted(shown(run)) == [["lines", "circles"], ["sets", "groups"], ["unions", "subsets"]]


def test_a_question_without_a_place_is_left_out_after_its_attempts_and_counted_with_the_reason(tmp_path: Path) -> None:
    run = make(tmp_path, WALKED, lambda request: "[]")
    assert set(points(run)) == {"three"}
    assert Counter(row["status"] for row in run.table("slots")) == {"given_up": 2, "made": 1}
    assert Counter(each["reason"] for each in rejections(run)) == {"require": 6}
    assert run.asked["w"] == 6


def test_whoever_walks_is_not_asked_for_another_place_of_a_row_that_repeats_one(tmp_path: Path) -> None:
    specs = [WALKED.replace("retries 2", f"retries 2\n  count {count}") for count in (1, 2)]
    once, twice = (make(tmp_path / str(number), spec, every) for number, spec in enumerate(specs))
    assert [each["reason"] for each in rejections(twice)] == ["duplicate"] * len(ROWS)
    assert points(twice) == points(once)
    assert not any("repeats" in each.content for request in twice.callers["w"].asked for each in request.messages)


def test_the_schema_of_a_reply_names_the_branches_unless_they_are_very_many() -> None:
    asked = Question(None, None, Settings(), {"type": "array"}, lambda text: ReadOutcome([text], [text]))
    question = question_at_node(asked, ["lines", "circles"], CHOOSING)
    assert json.dumps(["lines", "circles"]) in json.dumps(question.schema)
    assert question.reader("- Lines").value == ["lines"]
    assert question.reader("poems").error == "`poems` is none of the branches"
    branches = [str(number) for number in range(MOST_NAMED + 1)]
    assert question_at_node(asked, branches, CHOOSING).schema == {"type": "array"}
    assert question_at_node(asked, branches[:-1], CHOOSING).schema != {"type": "array"}


def test_what_is_said_beside_the_branches_is_kept_with_the_reply_and_is_no_field_of_the_row(tmp_path: Path) -> None:
    def author(request: Request) -> str:
        told = {"points": json.loads(every(request)), "reason": f"It is about {branches_of(request)[0]}."}
        return json.dumps(told)

    spec = WALKED.replace('{{ bullets(branches) }}" }', '{{ bullets(branches) }}", returns { reason text } }')
    run = make(tmp_path, spec, author)
    assert points(run) == points(make(tmp_path / "plain", WALKED, every))
    parsed = [json.loads(row["parsed"]) for row in run.table("samples") if row["step"] == "item.points"]
    assert {"points": ["lines", "circles"], "reason": "It is about lines."} in parsed
    assert all(set(each) == {"points", "reason"} for each in parsed)
    without = make(tmp_path / "without", spec, every)
    assert set(points(without)) == {"three"}  # where nobody is asked
    assert {each["reason"] for each in rejections(without)} == {"unreadable"}


def test_a_reply_that_names_no_branch_is_asked_for_once_more_before_the_walk_is_made_again(tmp_path: Path) -> None:
    def author(request: Request) -> str:
        if "lines" not in branches_of(request):
            return every(request)
        return '["lines"]' if len(request.messages) > 1 else '["poems"]'

    run = make(tmp_path, WALKED, author)
    assert points(run)["two"] == ["geometry / lines"]
    assert rejections(run) == []


def test_only_the_nodes_whose_branches_have_changed_are_asked_about_again(tmp_path: Path) -> None:
    first = make(tmp_path, WALKED, every)
    changed = {**TREE, "algebra": {"sets": ["unions", "subsets", "products"], "groups": None}}
    again = make(tmp_path, WALKED, every, tree=changed, before=first)
    assert shown(again) == [["unions", "subsets", "products"]]
    assert "algebra / sets / products" in points(again)["one"]


def test_a_walk_that_is_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    calls: list[str] = []

    def stopping(request: Request) -> str:
        if len(calls) == 2:
            raise Stopped("R0102", "no key", "")
        calls.append(request.messages[0].content)
        return every(request)

    whole = make(tmp_path / "whole", WALKED, every)
    first = make(tmp_path, WALKED, stopping)
    again = make(tmp_path, WALKED, every, before=first)
    assert len(calls) + again.asked["w"] == whole.asked["w"]
    assert points(again) == points(whole)


def test_a_text_that_names_no_node_leaves_the_row_out_without_asking(tmp_path: Path) -> None:
    text = WALKED.replace("{ subject, stem text secret }", "{ subject text, stem text secret }")
    rows = [{"subject": "algebra / sets", "stem": "one"}, {"subject": "poetry", "stem": "two"}]
    run = make(tmp_path, text, every, rows=rows)
    assert points(run) == {"one": ["algebra / sets / unions", "algebra / sets / subsets"]}
    assert {each["reason"] for each in rejections(run)} == {"no_value"}
    assert {each["error"] for each in rejections(run)} == {"the tree has no branch `poetry`"}
    assert run.asked["w"] == 1


def test_a_row_that_is_nearly_a_secret_text_is_rejected_and_nobody_is_shown_it_or_told_which_it_was(
    tmp_path: Path,
) -> None:
    def author(request: Request) -> str:
        return json.dumps({"question": SECRET.replace("nine", "five")})

    run = make(tmp_path, DISTINCT, author, rows=[rows_with(SECRET)])
    assert Counter(each["reason"] for each in rejections(run)) == {"too_near": 24}
    assert {each["similarity"] > 0.8 for each in rejections(run)} == {True}
    assert run.asked["c"] == 0
    assert run.table("items") == []
    texts = [each.content for name in "wc" for request in run.callers[name].asked for each in request.messages]
    assert not [text for text in texts if "nine apples" in text]
    notes = {request.messages[-1].content for request in run.callers["w"].asked if len(request.messages) > 1}
    assert notes == {
        "That was not accepted: it cannot be used as it is: write a different one. Write another one."
        " This is attempt 2 of 2."
    }
    text = DISTINCT.replace("from raw.stem", "from raw.stem above 0.99")
    assert not rejections(make(tmp_path / "above", text, author, rows=[rows_with(SECRET)]))


def test_a_row_that_is_written_anew_unlike_the_secret_is_kept(tmp_path: Path) -> None:
    def author(request: Request) -> str:
        anew = len(request.messages) > 1
        told = request.messages[0].content
        return json.dumps({"question": f"Something else about this: {told}" if anew else SECRET})

    run = make(tmp_path, DISTINCT, author, rows=[rows_with(SECRET)])
    assert len(run.table("items")) == 12
    assert {row["attempts"] for row in run.table("slots")} == {2}


def test_the_texts_that_rows_must_be_distinct_from_are_in_the_name_of_the_rows(tmp_path: Path) -> None:
    prints = {
        make(tmp_path / str(number), text, lambda request: '{"question": "x"}', rows=rows).plan.made[0].fingerprint
        for number, (text, rows) in enumerate(
            [
                (DISTINCT, [rows_with("a")]),
                (DISTINCT, [rows_with("b")]),
                (DISTINCT.replace("from raw.stem", "from raw.stem above 0.5"), [rows_with("a")]),
            ]
        )
    }
    assert len(prints) == 3


def test_a_run_that_builds_on_a_draft_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    text = WALKED.replace('"syllabus.json"', '"other.draft.json"')
    (tmp_path / "other.draft.json").write_text(json.dumps(TREE), "utf-8")
    with pytest.raises(NotApproved) as refused:
        make(tmp_path, text, every)
    assert (refused.value.code, "`other.draft.json`" in refused.value.message) == ("R0245", True)


def rows_with(stem: str) -> dict[str, str]:
    return {"subject": "algebra", "stem": stem}


@pytest.mark.parametrize(
    "author", [every, lambda request: "[]", lambda request: '["poems"]'], ids=["all", "none", "no"]
)
def test_the_calls_of_walks_that_were_planned_are_those_that_were_made(tmp_path: Path, author: Say) -> None:
    tally = make(tmp_path, WALKED, author).engine.tally
    assert tally.done == tally.total


LOOKED = (
    DISTINCT.split("scenario", maxsplit=1)[0]
    .replace("dataset item", "dataset example")
    .replace("item.", "example.")
    .replace("from raw.stem", "from reveal(raw.stem)")
    + """\
dataset item from raw as q {
  walk points through syllabus below q.subject by checker { prompt "{{ reveal(q.stem) }}: {{ bullets(branches) }}" }
}
scenario sums {
  over item as q
  ask reply by candidate { prompt "{{ bullets(examples_for(q.points, example)) }}" }
  score short = words(reply.text) < 3
}
"""
)


def looking(folder: Path, text: str = LOOKED, **options: Any) -> SmallRun:
    """Run a spec in which examples are written for the points that the checker, who also walks, find all of."""

    def script(request: Request) -> str:
        if request.model == "w":
            return json.dumps({"question": f"About this: {request.messages[0].content}"})
        if request.model == "c":
            return every(request) if branches_of(request) else '{"right": true}'
        return "fine"

    files = {"syllabus.json": json.dumps(TREE), "raw.jsonl": list(ROWS)}
    return run_small(folder, text, files, script=script, author="w", checker="c", **options)


def written_for(run: SmallRun) -> set[str]:
    said = [request.messages[0].content for request in run.callers["w"].asked]
    return {each.partition("exercise on ")[2].partition(":")[0] for each in said}


def test_examples_are_written_for_the_points_of_the_rows_that_a_run_has_and_for_no_others(tmp_path: Path) -> None:
    few = looking(tmp_path, selection=Selection(limit=1))
    assert written_for(few) == {"unions", "subsets", "groups"}
    assert few.asked["w"] == 6
    [count] = [each for each in few.plan.calls if each.role == "author"]
    assert (count.least, count.calls, count.most) == (0, 12, 24)
    whole = looking(tmp_path, before=few)
    assert written_for(whole) == {"lines", "circles", "logic"}
    again = looking(tmp_path, before=whole)
    assert set(again.asked.values()) == {0}


def test_examples_that_are_looked_into_in_another_way_too_are_all_written(tmp_path: Path) -> None:
    text = LOOKED.replace("short = words(reply.text) < 3", "short = words(reply.text) < length(example.question)")
    run = looking(tmp_path, text, selection=Selection(limit=1))
    assert written_for(run) == {"unions", "subsets", "groups", "lines", "circles", "logic"}


def no_need(need: object) -> None:
    raise AssertionError("those who choose need nothing")


def test_paths_are_in_the_order_of_the_tree_and_not_in_that_of_their_depth_or_choice() -> None:
    tree = {"b": {"d": {"z": {}, "y": {}}, "c": {}}, "a": {}}
    chosen = {"": ["a", "b"], "b": ["c", "d"], "b / d": ["y", "z"]}

    def choose(path: tuple[str, ...], branches: list[str]) -> MakingProgram:
        yield from ()
        return Answer("ok", "", chosen[" / ".join(path)], "", {}), "r"

    assert drive_now(walk(tree, choose), no_need, list).paths == ("b / d / z", "b / d / y", "b / c", "a")


class _Beside(dict[str, Any]):
    """Branches that nobody has chosen, which must not be gone through."""

    def items(self) -> Any:
        raise AssertionError("a branch that was not chosen is gone through")


def test_what_lies_beside_the_chosen_branches_is_not_gone_through() -> None:
    tree = {"a": {"x": {}}, "large": _Beside({"y": {}})}

    def choose(path: tuple[str, ...], branches: list[str]) -> MakingProgram:
        yield from ()
        return Answer("ok", "", branches[:1], "", {}), "r"

    assert drive_now(walk(tree, choose), no_need, list).paths == ("a / x",)


def test_branches_that_differ_in_case_alone_are_told_apart_by_it() -> None:
    assert [match_branches([said], ["pH", "PH"]) for said in ("pH", "PH")] == [["pH"], ["PH"]]
