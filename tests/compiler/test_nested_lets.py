"""Each `let` is checked, written and evaluated once, however often others use it: work grows with their number."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import pytest
from compiling import compile_file, plan_of

from tests.each import each
from tests.lengths import sized
from tripos_compiler.language.evaluation import Unavailable, code_of, evaluate
from tripos_compiler.plan import (
    Binary,
    Call,
    Each,
    Expr,
    Hole,
    Items,
    Let,
    Literal_,
    Loop,
    NumberType,
    Plan,
    Ref,
    Unary,
    expand_shared,
    serialized_form,
    share_parts,
)

Done = TypeVar("Done")
FEW, MANY = 10, 20
STEEPEST = 9
"""Twice as many `let`s may take so many times the work at most: less than their fourth power, and not 2^10 times."""
TOP = 'benchmark b "1.0.0" { languages en }\nrole candidate compared\nrole judge\n'
DATA = 'dataset item from "items.jsonl" { question text\n n integer }\n'
JUDGE = 'scorer good(text: text) by judge { prompt "Good? {{ text }}"\n gives bool }\n'
SHAPES = {
    "sums": ("length(reply.text) / 9", "(a + a) / 2", "A > 1"),
    "quotients": ("1 / length(reply.text)", "a / a", "default(A, 0) > 1"),
    "defaults": ("last_number(reply.text)", "default(a, 0) / (default(a, 1) + 1)", "default(A, 0) > 1"),
    "conditions": ('nth(split(reply.text, ","), 1) == "a"', "a and not a or a", "A"),
    "choices": ("1 / length(reply.text)", "choose(a > 1, a, a / 2)", "A > 2"),
    "texts": ("trim(reply.text)", '"{{ a }} and {{ a }}"', 'contains(A, "z")'),
    "lists": ('split(reply.text, ",")', "[w each w in a where w in a]", "length(A) > 2"),
    "loops": ("length(reply.text) > 3", 'any(a and w == "b" each w in split(reply.text, ",") where a)', "A"),
    "judged": ("upper(reply.text)", 'slice(join((a, a), ""), 0, 20)', "good(A)"),
    "rows": ("item.n + 1", "a * a - a", "A > 2 and length(reply.text) > 1"),
    "arms": ("choose(kind == long, length(reply.text), 2)", "choose(kind == long, a, 1) + a", "A > 3"),
}
FORMULAS = {"twice": "g(x) + g(x) / 2", "argument": "g(x + x)", "both": "g(x + x) / (g(x) + 1)"}


class TooManyCalls(AssertionError):
    """More functions were called than is allowed."""


def counted(work: Callable[[], Done], most: float = float("inf")) -> tuple[int, Done]:
    """Return how many functions were called, and what came of it. Raises where there were more than allowed."""
    calls = 0

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal calls
        calls += event == "call"
        if calls > most:
            raise TooManyCalls(f"more than {most:,.0f} calls")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        done = work()
    finally:
        sys.setprofile(before)
    return calls, done


def spec_of(shape: str, levels: int) -> str:
    """Return a spec with that many `let`s, each of which uses the one before it twice."""
    top, lets = [TOP, DATA], []
    if shape in FORMULAS:
        names = [f"g{level}" for level in range(levels + 1)]
        values = [FORMULAS[shape].replace("g(", f"{below}(") for below in names]
        top.append("let g0(x: number) = x + 1\n")
        top += [f"let {name}(x: number) = {value}\n" for name, value in zip(names[1:], values, strict=False)]
        last = f"{names[-1]}(length(reply.text)) > 2"
    else:
        first, step, end = SHAPES[shape]
        lets = [f"  let a0 = {first}"]
        lets += [f"  let a{level} = {_renamed(step, f'a{level - 1}')}" for level in range(1, levels + 1)]
        last = end.replace("A", f"a{levels}")
    top += [JUDGE] if shape == "judged" else []
    top += ["arm kind { long, short }\n"] if shape == "arms" else []
    body = ["scenario s {\n  over item\n", *(["  arms kind\n"] if shape == "arms" else [])]
    body += [
        '  ask reply by candidate { prompt "{{ item.question }}" }\n',
        "\n".join(lets),
        f"\n  score right = {last}\n",
    ]
    return "".join([*top, *body, "  measure m = mean(right)\n}\n"])


def _renamed(step: str, name: str) -> str:
    """Return the value of a `let` with the name of the one before it in place of `a`."""
    return re.sub(r'(?<!")\ba\b(?!")', name, step)


def put(folder: Path, text: str) -> Path:
    """Write a spec with two rows."""
    (folder / "items.jsonl").write_text('{"question": "6 × 7?", "n": 3}\n{"question": "6 × 8?", "n": 4}\n', "utf-8")
    path = folder / "b.tripos"
    path.write_text(text, "utf-8")
    return path


@each("shape", [*SHAPES, *FORMULAS])
def test_the_work_of_a_compilation_and_the_plan_grow_with_the_number_of_lets(shape: str, tmp_path: Path) -> None:
    none, _ = counted(lambda: plan_of(compile_file(put(tmp_path, spec_of(shape, 2)))).to_json())
    few, short = counted(lambda: plan_of(compile_file(put(tmp_path, spec_of(shape, FEW)))).to_json())
    most = none + STEEPEST * max(few - none, none)
    _, long = counted(lambda: plan_of(compile_file(put(tmp_path, spec_of(shape, MANY)))).to_json(), most)
    assert len(long) < STEEPEST * len(short)
    assert Plan.model_validate_json(long).to_json() == long


def doubling(levels: int) -> Expr:
    """Return a sum of 2^levels lengths."""
    made: Expr = Call(function="length", args=(Ref(path=("reply", "text")),))
    for _ in range(levels):
        made = Binary(operator="+", left=made, right=made)
    return made


def test_evaluations_are_as_many_as_lets() -> None:
    names = {"reply": {"text": "abc"}}
    steps = []
    for levels in (20, 40, 60):
        expr = doubling(levels)
        assert evaluate(expr, names) == 3 * 2**levels
        steps.append(counted(lambda expr=expr: evaluate(expr, names), 10_000)[0])  # type: ignore[misc]
    assert steps[1] - steps[0] == steps[2] - steps[1] > 0


def test_what_is_the_same_for_each_element_is_evaluated_once() -> None:
    inside = Binary(operator="+", left=Ref(path=("x",)), right=doubling(30))
    expr = Call(function="sum", args=(Each(loop=Loop(alias="x", of=Ref(path=("many",))), value=inside),))
    steps = []
    for count in (10, 20, 30):
        names = {"many": [1.0] * count, "reply": {"text": ""}}
        assert evaluate(expr, names) == count
        steps.append(counted(lambda names=names: evaluate(expr, names), 10_000)[0])  # type: ignore[misc]
    assert steps[1] - steps[0] == steps[2] - steps[1] < 10 * 25


def test_an_expression_by_hand_has_the_plan_of_one_with_lets(tmp_path: Path) -> None:
    for levels in (3, 9):
        by_hand = "length(reply.text)"
        for _ in range(levels):
            by_hand = f"({by_hand} + {by_hand})"
        lets = "\n".join(f"  let a{level} = a{level - 1} + a{level - 1}" for level in range(1, levels + 1))
        head = TOP.replace("role judge\n", "") + DATA + "scenario s {\n  over item\n"
        head += '  ask reply by candidate { prompt "{{ item.question }}" }\n'
        written_out = put(tmp_path, f"{head}  score amount = {by_hand}\n  measure m = mean(amount)\n}}\n")
        digest = plan_of(compile_file(written_out)).digest
        named = (
            f"{head}  let a0 = length(reply.text)\n{lets}\n  score amount = a{levels}\n  measure m = mean(amount)\n}}\n"
        )
        assert plan_of(compile_file(put(tmp_path, named))).digest == digest


def drawn(dice: random.Random, depth: int, scope: tuple[str, ...], pool: list[tuple[Expr, frozenset[str]]]) -> Expr:
    """Return an expression over numbers, which has parts of the `pool` in several places."""
    known = [expr for expr, names in pool if names <= {*scope}]
    if known and dice.random() < 0.35:
        return dice.choice(known)
    if depth == 0 or dice.random() < 0.15:
        return (
            Ref(path=(dice.choice([*scope, "n", "z"]),)) if dice.random() < 0.8 else Literal_(value=dice.randrange(4))
        )

    def part(*more: str) -> Expr:
        return drawn(dice, depth - 1, (*scope, *more), pool)

    alias = next((name for name in dice.sample("abc", 3) if name not in scope), None)
    made: Expr
    match dice.choice(("binary", "binary", "minus", "choose", "default", "each")):
        case "minus":
            made = Unary(operator="-", value=part())
        case "choose":
            condition = Binary(operator=dice.choice(("<", ">=")), left=part(), right=part())
            made = Call(function="choose", args=(condition, part(), part()))
        case "default":
            made = Call(function="default", args=(part(), part()))
        case "each" if alias is not None:
            of: Expr = Ref(path=("many",)) if dice.random() < 0.6 else Items(values=(part(), part()))
            where = None if dice.random() < 0.5 else Binary(operator="<", left=part(alias), right=part(alias))
            made = Call(function="sum", args=(Each(loop=Loop(alias=alias, of=of, where=where), value=part(alias)),))
        case _:
            made = Binary(operator=dice.choice("+-*/"), left=part(), right=part())  # type: ignore[arg-type]
    pool.append((made, frozenset(scope)))
    return made


def outcome(value: Callable[[Expr, Mapping[str, Any]], Any], expr: Expr, names: Mapping[str, Any]) -> tuple[str, Any]:
    """Return a value, or why there is none."""
    try:
        return "there", value(expr, names)
    except Unavailable as reason:
        return reason.status, reason.reason


CASES: tuple[dict[str, Any], ...] = (
    {"n": 2, "z": 0, "many": [1, 2, 3]},
    {"n": 2, "z": 0, "many": [1, 0, 3], "@replies": {"n"}},
    {"n": 0, "z": 0, "many": [], "@replies": {"many"}},
)


def test_an_expression_with_named_parts_comes_to_what_the_tree_comes_to() -> None:
    shared = 0
    for seed in range(sized(100, 5_000)):
        expr = drawn(random.Random(seed), 6, (), [])
        for names in CASES:
            assert outcome(evaluate, expr, names) == outcome(lambda tree, of: code_of(tree)(of), expr, names), seed
        shared += isinstance(share_parts(expr, invariant=True), Let)
        named = share_parts(expr)
        if isinstance(named, Let):
            assert expand_shared(Let.model_validate(named.model_dump(mode="json"))) == expr, seed
        hole = Hole(expr=expr, type=NumberType())
        assert Hole.model_validate_json(hole.model_dump_json()) == hole, seed
    assert shared > sized(10, 40)


def test_a_long_expression_is_written_with_names_and_a_short_one_without() -> None:
    assert "$1" not in serialized_form(doubling(3)).model_dump_json()
    assert "$1" in serialized_form(doubling(9)).model_dump_json()


def test_a_part_that_is_made_of_itself_is_refused() -> None:
    circle = {"op": "let", "values": {"$1": {"op": "ref", "path": ["$1"]}}, "of": {"op": "ref", "path": ["$1"]}}
    with pytest.raises(ValueError, match="is made of itself"):
        Hole.model_validate({"expr": circle, "type": {"kind": "number"}})
