"""Rows on sibling leaves: which there are, in what order, and what they are taken from."""

from __future__ import annotations

from tests.compiler.compiling import compile_text
from tripos_compiler.library.functions.trees import examples_for, siblings
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.types import Path

ROWS = [
    {"n": 1, "at": ["A / x"]},
    {"n": 2, "at": ["A / y"]},
    {"n": 3, "at": ["B / x"]},
    {"n": 4, "at": ["A / x", "A / y"]},
    {"n": 5, "at": ["A / y", "B / x"]},
    {"n": 6, "at": []},
    {"n": 7, "at": ["A"]},
]


def numbers(*points: str) -> set[int]:
    return {int(str(row["n"])) for row in siblings([Path(point) for point in points], ROWS, "at")}


def test_siblings_stand_below_the_same_node_and_on_none_of_the_points() -> None:
    assert numbers("A / x") == {2, 5}
    assert numbers("B / y") == {3, 5}
    assert numbers("A / x", "A / y") == set()
    assert numbers("C / z") == set()


def test_leaves_at_the_root_are_siblings() -> None:
    assert numbers("B") == {7}


def test_the_order_is_the_same_each_time_and_differs_between_points() -> None:
    rows = [{"n": n, "at": "A / other"} for n in range(20)]
    orders = {point: [row["n"] for row in siblings([Path(point)], rows, "at")] for point in ("A / x", "A / y")}
    assert orders["A / x"] == [row["n"] for row in siblings([Path("A / x")], rows[::-1], "at")]
    assert orders["A / x"] != orders["A / y"]
    assert sorted(orders["A / x"]) == list(range(20))


def test_a_row_whose_place_is_missing_is_no_sibling_and_hides_none() -> None:
    rows = [{"n": 1, "at": None}, {"n": 2, "at": "A / y"}]
    assert [row["n"] for row in siblings([Path("A / x")], rows, "at")] == [2]


def test_the_order_does_not_hang_on_the_order_of_the_fields() -> None:
    rows = [{"n": n, "at": "A / other"} for n in range(20)]
    turned = [{"at": row["at"], "n": row["n"]} for row in rows]
    assert siblings([Path("A / x")], rows, "at") == siblings([Path("A / x")], turned, "at")


def test_examples_are_found_by_any_of_the_places_of_a_row() -> None:
    rows = [{"at": ["A / x", "A / y"], "text": "both"}, {"at": [], "text": "none"}, {"at": None, "text": "missing"}]
    assert examples_for([Path("A / y")], rows, "at", ["text"]) == ["both"]


def test_rows_without_a_path_are_refused() -> None:
    assert FUNCTIONS["siblings"].rule is not None
    found = compile_text("""
benchmark demo "1.0.0" { languages en }
role candidate compared
axis level { easy, hard }
scenario sums {
  context level
  ask reply by candidate { prompt "{{ level }}" }
  score few = length(siblings(("A / x", "A / y"), (1, 2))) < length(reply.text)
}
""")
    assert {item.code for item in found.diagnostics} == {"E0301"}
