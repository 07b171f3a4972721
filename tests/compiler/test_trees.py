"""Trees: what a document says, what is wrong in it, and what the plan keeps of it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from compiling import ROOT, compile_files, plan_of

from tests.each import each
from tripos_compiler.library.functions.trees import DEEPEST, read_tree

SPEC = """\
benchmark demo "1.0.0" {{ languages en }}
role candidate compared
tree syllabus from "{source}"
dataset item from leaves(syllabus) as point {{ }}
scenario naming {{
  over item
  ask answer by candidate {{ prompt "What is {{{{ item.point }}}}?" }}
  score long = words(answer.text) > 5
}}
"""
SAME = (
    {"Algebra": {"Sets": None, "Groups": None}, "Logic": ""},
    [{"Algebra": ["Sets", "Groups"]}, "Logic"],
    [{"name": "Algebra", "children": [{"name": "Sets"}, "Groups"]}, {"name": "Logic", "children": []}],
    {"Algebra": [{"Sets": None, "Groups": ""}], "Logic": None},
)


@pytest.mark.parametrize("document", SAME, ids=["mappings", "lists", "nodes", "mixed"])
def test_one_tree_may_be_written_in_several_ways(document: Any) -> None:
    read = read_tree(document)
    assert read.faults == ()
    assert read.tree.leaves() == ("Algebra / Sets", "Algebra / Groups", "Logic")
    assert (read.tree.inner, read.tree.depth) == (2, 2)
    children = [read.tree.children(*path) for path in ((), ("Algebra",), ("Logic",))]
    assert children == [("Algebra", "Logic"), ("Sets", "Groups"), ()]
    with pytest.raises(KeyError):
        read.tree.children("Algebra / Rings")
    assert read_tree({"name": "Algebra", "children": ["Sets"]}) == read_tree({"Algebra": ["Sets"]})


@each(
    "document, message",
    [
        (None, "this tree has no leaf"),
        ({}, "this tree has no leaf"),
        ("Algebra", "at the top there is 'Algebra', which is no list of branches"),
        ({"Algebra": "Sets"}, "below `Algebra` there is 'Sets', which is no list of branches"),
        ({"Algebra": ["Sets", None]}, "branch 2 below `Algebra` is empty"),
        ({"Algebra": ["Sets", ["Groups"]]}, "branch 2 below `Algebra` has no name"),
        ({"Algebra": ["Sets", 3]}, "`3` below `Algebra` is not a text"),
        ({True: None}, "`True` at the top is not a text"),
        ({"Algebra": [" "]}, "a name below `Algebra` is empty"),
        (["Sets / Groups"], "`Sets / Groups` at the top holds ` / `, which parts the names of a path"),
        ({"Sets /": ["Groups"]}, "`Sets /` at the top holds ` / `, which parts the names of a path"),
        ({"Sets": ["/ Groups"]}, "`/ Groups` below `Sets` holds ` / `, which parts the names of a path"),
        ({"Algebra": {"Sets": []}, "Logic": None}, "the brackets below `Algebra / Sets` are empty"),
        ({"Algebra": {}, "Logic": None}, "the brackets below `Algebra` are empty"),
        ([{"Algebra": ["Sets"]}, "Algebra"], "`Algebra` is repeated at the top"),
        ({" Algebra ": ["Sets", "Sets "]}, "`Sets` is repeated below `Algebra`"),
        ([{"name": "Algebra", "id": 1}], "the node `Algebra` at the top has `id`"),
        ([{"name": None, "children": ["Sets"]}], "`None` at the top is not a text"),
    ],
)
def test_what_is_no_tree_is_said_with_its_place(document: Any, message: str) -> None:
    assert [fault.message for fault in read_tree(document).faults] == [message]


@pytest.mark.parametrize(("levels", "faults"), [(DEEPEST, 0), (DEEPEST + 1, 1)])
def test_a_tree_is_deep_but_not_without_bounds(levels: int, faults: int) -> None:
    document: Any = None
    for level in range(levels):
        document = {f"level {levels - level}": document}
    read = read_tree(document)
    assert len(read.faults) == faults
    assert read.tree.depth == DEEPEST


def test_the_plan_says_what_a_tree_is_and_every_leaf_makes_a_row(tmp_path: Path) -> None:
    files = {"spec.tripos": SPEC.format(source="syllabus.yaml"), "syllabus.yaml": "Algebra: [Sets, Groups]\nLogic:\n"}
    plan = plan_of(compile_files(tmp_path, files))
    tree = plan.trees[0]
    assert (tree.path, tree.leaves, tree.inner, tree.depth) == ("syllabus.yaml", 3, 2, 2)
    assert (plan.made[0].rows, plan.made[0].fields[0].type.kind) == (3, "path")


@pytest.mark.parametrize(
    ("files", "messages"),
    [
        (
            {"t.json": '{\n\t"Algebra": {\n\t\t"Sets": null,\n\t\t"Sets": null}}'},
            [("E0315", "t.json, line 4: `Sets` is repeated below `Algebra`")],
        ),
        ({"t.yaml": "Algebra:\n  Sets:\n  Sets:\n"}, [("E0315", "t.yaml, line 3: `Sets` is repeated below `Algebra`")]),
        (
            {"t.json": "[1, 2, 3, 4, 5]"},
            [
                *(("E0315", f"t.json: `{number}` at the top is not a text") for number in (1, 2, 3)),
                ("E0315", "t.json: 2 more branches are out of shape"),
            ],
        ),
        (
            {"a.yaml": "Algebra: [Sets]\n", "b.yaml": "[Algebra]\n"},
            [("E0315", "`Algebra` is at the top of a.yaml and of b.yaml")],
        ),
        ({"t.json": '["Sets"]', "t.approved.json": "[]"}, [("E0307", "t.approved.json is no approval")]),
    ],
    ids=["twice in JSON", "twice in YAML", "many faults", "twice in two files", "an empty approval"],
)
def test_what_is_wrong_in_files_is_reported_with_its_place(
    tmp_path: Path, files: dict[str, str], messages: list[tuple[str, str]]
) -> None:
    source = "*.yaml" if "a.yaml" in files else next(iter(files))
    found = compile_files(tmp_path, {"spec.tripos": SPEC.format(source=source), **files}).diagnostics
    assert [(item.code, item.message) for item in found] == messages


def test_the_syllabus_of_the_tests_is_sound() -> None:
    read = read_tree(json.loads((ROOT / "tests/data/design/syllabus/mathematics.json").read_text("utf-8")))
    assert read.faults == ()
    assert (len(read.tree.leaves()), read.tree.depth) == (21, 3)


def test_several_files_are_one_tree_with_the_branches_of_all(tmp_path: Path) -> None:
    files = {"a.yaml": "Algebra: [Sets]\n", "b.json": '{"Logic": null}', "c.yaml": "Geometry: [Lines, Planes]\n"}
    spec = {"spec.tripos": SPEC.format(source="*.yaml")}
    tree = plan_of(compile_files(tmp_path, {**files, **spec})).trees[0]
    assert [file.path for file in tree.files] == ["a.yaml", "c.yaml"]
    assert (tree.leaves, tree.depth) == (3, 2)


def test_the_name_of_a_tree_of_several_files_changes_with_each_of_them(tmp_path: Path) -> None:
    spec, prints = {"spec.tripos": SPEC.format(source="*.yaml")}, set()
    for number, (one, two) in enumerate([("[A]", "[B]"), ("[A]", "[C]"), ("[D]", "[B]")]):
        folder = tmp_path / str(number)
        folder.mkdir()
        prints.add(plan_of(compile_files(folder, {**spec, "a.yaml": one, "b.yaml": two})).made[0].fingerprint)
    assert len(prints) == 3


def approval(text: str, by: str = "Wang Fang") -> str:
    return json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest(), "approved_by": by})


def test_a_draft_is_warned_of_and_marked_in_the_plan(tmp_path: Path) -> None:
    found = compile_files(tmp_path, {"spec.tripos": SPEC.format(source="*.yaml"), "t.draft.yaml": "[Sets]\n"})
    assert [(item.code, item.severity) for item in found.diagnostics] == [("W0399", "warning")]
    assert [(file.path, file.draft) for file in plan_of(found).trees[0].files] == [("t.draft.yaml", True)]


def test_who_approved_a_tree_as_it_is_stands_in_the_plan(tmp_path: Path) -> None:
    files = {"spec.tripos": SPEC.format(source="t.yaml"), "t.yaml": "[Sets]\n", "t.approved.json": approval("[Sets]\n")}
    found = compile_files(tmp_path, files)
    assert found.diagnostics == ()
    assert [(file.draft, file.approved_by) for file in plan_of(found).trees[0].files] == [(False, "Wang Fang")]


def test_a_tree_that_was_changed_after_it_was_approved_is_a_draft_again(tmp_path: Path) -> None:
    files = {"spec.tripos": SPEC.format(source="t.yaml"), "t.yaml": "[Groups]\n"}
    found = compile_files(tmp_path, {**files, "t.approved.json": approval("[Sets]\n")})
    assert [item.message for item in found.diagnostics] == [
        "t.yaml is not what Wang Fang approved: it was changed since"
    ]
    assert [(file.draft, file.approved_by) for file in plan_of(found).trees[0].files] == [(True, None)]


def test_a_draft_beside_the_approved_file_and_the_approvals_themselves_are_passed_over(tmp_path: Path) -> None:
    files = {"t.json": '["Sets"]', "t.draft.json": '["Groups"]', "t.approved.json": approval('["Sets"]')}
    found = compile_files(tmp_path, {"spec.tripos": SPEC.format(source="*.json"), **files})
    assert found.diagnostics == ()
    assert [file.path for file in plan_of(found).trees[0].files] == ["t.json"]


WALK = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role tagger
axis subject { algebra, geometry }
tree syllabus from "t.yaml"
dataset raw from "raw.jsonl" { subject, stem text }
dataset item from raw as q {
  walk points through syllabus below q.subject by tagger { prompt "{{ q.stem }} {{ branches }}" }
  retries 1
}
scenario naming {
  over item
  ask answer by candidate { prompt "{{ item.stem }} {{ bullets(item.points) }}" }
  score long = words(answer.text) > 5
}
"""
TREE = "algebra: {sets: [a, b], groups: [c], rings: }\ngeometry: [lines, planes]\nlogic: {x: {y: [z]}}\n"


@pytest.mark.parametrize(
    ("subjects", "calls"),
    [
        # Below `algebra` stand three inner nodes on two levels, below `geometry` one; the others are never visited.
        (["algebra"], (1, 2, 6)),
        (["geometry"], (1, 1, 2)),
        (["algebra", "geometry", "geometry"], (3, 4, 10)),
    ],
)
def test_calls_of_a_walk_are_those_of_the_nodes_below_where_it_begins(
    tmp_path: Path, subjects: list[str], calls: tuple[int, int, int]
) -> None:
    rows = "".join(json.dumps({"subject": each, "stem": f"{n}?"}) + "\n" for n, each in enumerate(subjects))
    plan = plan_of(compile_files(tmp_path, {"spec.tripos": WALK, "t.yaml": TREE, "raw.jsonl": rows}))
    [count] = [each for each in plan.calls if each.role == "tagger"]
    assert (count.least, count.calls, count.most) == calls


@pytest.mark.parametrize("name", ["mathematics", "physics", "chemistry", "biology", "history", "geography", "politics"])
def test_the_trees_that_come_with_tripos_are_sound_and_deep(name: str) -> None:
    text = (ROOT / f"specs/teachbench/syllabus/{name}.yaml").read_text("utf-8")
    read = read_tree(yaml.safe_load(text))
    assert read.faults == ()
    assert read.tree.depth >= 3
    assert len(read.tree.leaves()) >= (90 if name in ("mathematics", "history") else 40)
