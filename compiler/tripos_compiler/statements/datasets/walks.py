"""Where a walk begins: `below START`, and how many calls a walk takes from there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import nearest
from tripos_compiler.language import ParsedTree, Unavailable, evaluate, subexpressions
from tripos_compiler.language.library import BETWEEN, type_notation
from tripos_compiler.plan import Axis, Expr, Literal_, Made, Type, Walk
from tripos_compiler.resolve import Program
from tripos_compiler.source import Name, Span, dataclass
from tripos_compiler.statements.datasets.generation_scope import Making
from tripos_compiler.statements.datasets.generation_source import known_rows
from tripos_compiler.statements.declarations import branches_of

SHOWN = 3


def lower_start(making: Making, statement: Statement, tree: Name) -> tuple[Expr, dict[str, str]] | None:
    """`below START`: the expression, and for the values of a choice the branches at the top of the tree that they mean,
    by their names or the labels of their axis. None where there is none, or it was reported."""
    written = statement.find("start")
    if written is None:
        return None
    typed = making.elaborator(making.row(), written.span).infer(written)
    if typed is None:
        making.sound = False
        return None
    type_ = typed.type
    if type_.kind not in ("text", "path", "choice"):
        help_ = "take a text that is a path of the tree, or a choice of its branches"
        making.error("E0301", f"`{type_notation(type_)}` is no place in a tree", written.span, help=help_)
        return None
    branches = branches_of(making.program, tree.text)
    if branches is None:  # the tree was reported
        return typed.expr, {}
    if isinstance(typed.expr, Literal_):
        return _written(making, written.span, tree, typed.expr, branches)
    if type_.kind != "choice":
        return typed.expr, {}
    starts = _meant(making, type_, branches)
    missing = [value for value in type_.values if value not in starts]
    if missing:
        named = ", ".join(f"`{each}`" for each in missing[:SHOWN])
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        tops = ", ".join(f"`{each}`" for each in [*branches][:SHOWN])
        help_ = f"at its top there is {tops}{' …' if len(branches) > SHOWN else ''}: call them alike"
        making.error("E0398", f"`{tree.text}` has no branch for {named}{more}", written.span, help=help_)
        return None
    return typed.expr, starts


def _written(
    making: Making, span: Span, tree: Name, path: Literal_, branches: Mapping[str, Any]
) -> tuple[Expr, dict[str, str]] | None:
    """Return a path that stands in the spec, which must be there."""
    try:
        ParsedTree(branches).below(str(path.value))
    except KeyError:
        close = nearest(str(path.value), _paths(branches))
        help_ = f"did you mean `{close}`?" if close else "write the names from the top, with ` / ` between them"
        making.error("E0398", f"`{tree.text}` has no branch `{path.value}`", span, help=help_)
        return None
    return path, {str(path.value): str(path.value)}


def _paths(branches: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for name, below in branches.items():
        yield above + name
        yield from _paths(below, f"{above}{name}{BETWEEN}")


def _meant(making: Making, type_: Type, branches: Mapping[str, Any]) -> dict[str, str]:
    """Return the branches at the top that values of a choice mean."""
    assert type_.kind == "choice"
    axis = making.program.axes.get(type_.axis) if type_.axis is not None else None
    found: dict[str, str] = {}
    for value in type_.values:
        for said in (value, *_labels(axis, value)):
            if said in branches:
                found[value] = said
                break
    return found


def _labels(axis: Axis | None, value: str) -> tuple[str, ...]:
    if axis is None:
        return ()
    return next((tuple(each.labels.values()) for each in axis.values if each.name == value), ())


@dataclass(frozen=True)
class WalkCalls:
    """The calls of a walk for all rows, each at its first attempt, and the `fewest` and most `widest` for one row.

    At least nothing is chosen where it begins, as a rule one branch is on every level, at most all are."""

    least: int
    calls: int
    most: int
    fewest: int
    widest: int


def walk_calls(program: Program, made: Made, step: Walk) -> WalkCalls:
    """Return how many calls a walk takes: one at every inner node that it visits. Where it cannot be told before a run
    at which node of the tree a row begins, it counts as the costliest of those that it may be."""
    tree, rows = program.trees[step.tree], made.rows
    if step.below is None:
        return WalkCalls(rows, rows * tree.depth, rows * tree.inner, 1, tree.inner)
    branches = branches_of(program, step.tree)
    if branches is None:
        return WalkCalls(0, rows * tree.depth, rows * tree.inner, 0, tree.inner)
    starts = _starts(program, made, step)
    if starts is None:
        tops = [_below(branches, path) for path in sorted(set(step.starts.values()))] or [ParsedTree(branches)]
        fewest = min(map(_fewest, tops)) if step.starts else 0
        depth, widest = max(each.depth for each in tops), max(map(_inner, tops))
        return WalkCalls(rows * fewest, rows * depth, rows * widest, fewest, widest)
    weight = rows // starts.total()
    nodes = [(_below(branches, path), count * weight) for path, count in starts.items()]
    return WalkCalls(
        sum(_fewest(node) * count for node, count in nodes),
        sum(node.depth * count for node, count in nodes),
        sum(_inner(node) * count for node, count in nodes),
        min(_fewest(node) for node, _ in nodes),
        max(_inner(node) for node, _ in nodes),
    )


def _starts(program: Program, made: Made, step: Walk) -> Counter[str] | None:
    """At which nodes the rows begin, where every one is known before a run and weighs the same."""
    rows = known_rows(program, made.source) if made.source is not None else None
    conditions = [expr for expr in (step.below, made.where) if expr is not None]
    if not rows or any(part.op in ("data", "tree") for expr in conditions for part in subexpressions(expr)):
        return None
    found: Counter[str] = Counter()
    own = made.name.rpartition(".")[2]
    assert step.below is not None
    try:
        for row in rows:
            names = {own: row, **({made.alias: row} if made.alias is not None else {})}
            if made.where is None or evaluate(made.where, names):
                value = evaluate(step.below, names)
                found[step.starts.get(value, value)] += 1
    except (Unavailable, KeyError):  # such as a field that is only there once the row is made
        return None
    return found if found and made.rows % found.total() == 0 else None


def _below(branches: Mapping[str, Any], path: str) -> ParsedTree:
    """Return the part of a tree below a node; nothing, where there is no such node."""
    tree = ParsedTree(branches)
    try:
        return tree.below(path)
    except KeyError:
        return ParsedTree({})


def _fewest(tree: ParsedTree) -> int:
    return 1 if tree.branches else 0


def _inner(tree: ParsedTree) -> int:
    return tree.inner if tree.branches else 0
