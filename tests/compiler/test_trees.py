"""Trees: what a document says, what is wrong in it, and what the plan keeps of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from compiling import ROOT, compile_files, plan_of

from tripos_compiler.semantics.trees import DEEPEST, read_tree

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
    {"Algebra": {"Sets": None, "Groups": {}}, "Logic": []},
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


def test_a_node_alone_is_a_list_of_one() -> None:
    assert read_tree({"name": "Algebra", "children": ["Sets"]}) == read_tree({"Algebra": ["Sets"]})


def test_the_branches_below_a_node_are_found_by_its_path() -> None:
    tree = read_tree(SAME[0]).tree
    assert (tree.children(), tree.children("Algebra"), tree.children("Logic")) == (
        ("Algebra", "Logic"),
        ("Sets", "Groups"),
        (),
    )
    with pytest.raises(KeyError):
        tree.children("Algebra / Rings")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "this tree has no leaf"),
        ({}, "this tree has no leaf"),
        ("Algebra", "at the top there is 'Algebra', which is no list of branches"),
        ({"Algebra": "Sets"}, "below `Algebra` there is 'Sets', which is no list of branches"),
        ({"Algebra": ["Sets", None]}, "branch 2 below `Algebra` is empty"),
        ({"Algebra": ["Sets", ["Groups"]]}, "branch 2 below `Algebra` has no name"),
        ({"Algebra": ["Sets", 3]}, "3 below `Algebra` is not a text"),
        ({True: None}, "True at the top is not a text"),
        ({"Algebra": [" "]}, "a name below `Algebra` is empty"),
        (["Sets / Groups"], "`Sets / Groups` at the top holds ` / `, which parts the names of a path"),
        ([{"Algebra": ["Sets"]}, "Algebra"], "`Algebra` stands twice at the top"),
        ([{"name": "Algebra", "id": 1}], "the node `Algebra` at the top has `id`"),
        ([{"name": None, "children": ["Sets"]}], "None at the top is not a text"),
    ],
)
def test_what_is_no_tree_is_said_with_its_place(document: Any, message: str) -> None:
    assert [fault.message for fault in read_tree(document).faults] == [message]


def test_names_are_read_without_the_space_around_them() -> None:
    read = read_tree({" Algebra ": ["Sets", "Sets "]})
    assert [fault.message for fault in read.faults] == ["`Sets` stands twice below `Algebra`"]


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


def test_a_name_that_stands_twice_in_a_mapping_is_found_in_json_and_yaml(tmp_path: Path) -> None:
    for name, text in (
        ("t.json", '{"Algebra": {"Sets": null, "Sets": null}}'),
        ("t.yaml", "Algebra:\n  Sets:\n  Sets:\n"),
    ):
        found = compile_files(tmp_path, {"spec.tripos": SPEC.format(source=name), name: text}).diagnostics
        assert [(item.code, item.message) for item in found] == [
            ("E0315", f"{name}: `Sets` stands twice below `Algebra`")
        ]


def test_many_faults_are_counted_after_the_first(tmp_path: Path) -> None:
    files = {"spec.tripos": SPEC.format(source="t.json"), "t.json": "[1, 2, 3, 4, 5]"}
    found = compile_files(tmp_path, files).diagnostics
    assert [item.message for item in found][-1] == "t.json: 2 more branches are out of shape"
    assert len(found) == 4


def test_the_syllabus_of_the_tests_is_sound() -> None:
    import json

    read = read_tree(json.loads((ROOT / "tests/data/design/syllabus/mathematics.json").read_text("utf-8")))
    assert read.faults == ()
    assert (len(read.tree.leaves()), read.tree.depth) == (21, 3)
