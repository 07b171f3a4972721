"""Which rows of a made data set are looked into, and which slots those are."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests.compiler.compiling import compile_files, plan_of
from tripos_compiler.language.references import DatasetLookup, find_lookups, is_used_by_lookups_only
from tripos_compiler.plan import Literal_, Plan, Ref
from tripos_runtime.datasets.slots import RowSlot, referenced_slots

SPEC = """\
benchmark lessons "1.0.0" { languages en }
tree syllabus from "syllabus.yaml"
role candidate compared
role author
dataset question from "questions.jsonl" { stem text, near list<path>, far list<path> }
dataset worked by author from leaves(syllabus) as point {
  prompt "Work {{ point }} out."
  returns { text text }
}
dataset told by author from leaves(syllabus) as place {
  prompt "Tell of {{ place }}."
  returns { text text }
}
scenario s {
  over question as q
  ask reply by candidate { prompt "{{ q.stem }} {{ examples_for(q.near, worked) }} {{ examples_for(q.far, told) }}" }
  score long = length(reply.text) > 3
}
scenario plain {
  over question as q
  ask reply by candidate { prompt "{{ q.stem }} {{ examples_for(q.near, told) }} {{ told.text }}" }
  score long = length(reply.text) > 3
}
measure long = mean(s.long)
"""


def plan(folder: Path) -> Plan:
    row = json.dumps({"stem": "?", "near": [], "far": []})
    files = {"spec.tripos": SPEC, "questions.jsonl": row + "\n", "syllabus.yaml": "Sums: [Carrying, Plain]\n"}
    return plan_of(compile_files(folder, files))


def test_a_look_is_into_the_data_set_that_it_names(tmp_path: Path) -> None:
    found = plan(tmp_path)
    (near,) = find_lookups(found.scenarios[0], "worked") or ()
    (far,) = find_lookups(found.scenarios[0], "told") or ()
    assert (near.points, near.at) == (Ref(path=("q", "near")), "point")
    assert (far.points, far.at) == (Ref(path=("q", "far")), "place")


def test_a_data_set_that_a_scenario_takes_whole_is_not_only_looked_at(tmp_path: Path) -> None:
    found = plan(tmp_path)
    assert find_lookups(found.scenarios[1], "told") is None
    assert [is_used_by_lookups_only(name, found.scenarios, found.made) for name in ("worked", "told")] == [True, False]
    assert not is_used_by_lookups_only("told", [], found.made)


def slots(*looks: DatasetLookup) -> frozenset[int] | None:
    made = cast("Any", SimpleNamespace(alias="point"))
    every = [RowSlot(place, str(place), {}, 0, path) for place, path in enumerate(("A / x", "A / y", "B"))]
    rows: list[dict[str, Any]] = [{"at": ["A / y"]}, {"at": ["B"]}]
    return referenced_slots(looks, made, every, rows, {})


def test_the_slots_at_the_points_of_rows_are_wanted_and_no_others() -> None:
    assert slots(DatasetLookup("q", Ref(path=("q", "at")), "point")) == {1, 2}
    assert slots() == frozenset()


def test_where_one_look_is_at_what_is_yet_to_be_written_all_slots_are_wanted() -> None:
    known = DatasetLookup("q", Ref(path=("q", "at")), "point")
    assert slots(known, DatasetLookup("q", Literal_(value="A"), "topic")) is None
