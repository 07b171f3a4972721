"""The name of an aggregate decides nothing outside of its declaration and its implementation.

Everything else asks for a fact of the declaration (`declared_aggregate`). `decisions` finds places of a module where
the name decides: it is compared, matched, an element of a collection of such names, or a key of a table of them. What
the name of an aggregate means otherwise follows from what it is compared with: `min` is an operator of formulas too,
and a function of the language and of Python.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from tests import sources
from tests.each import each
from tests.sources import ROOT
from tripos_compiler.language.aggregates import AGGREGATES, AggregateFunction, AggregateParameter
from tripos_warehouse.measures.aggregates import IMPLEMENTATIONS
from tripos_warehouse.query.aggregates import STATISTICS

DECLARED = Path("compiler/tripos_compiler/language/aggregates.py")
IMPLEMENTED = tuple(
    Path("warehouse/tripos_warehouse", name) for name in ("measures/aggregates.py", "query/aggregates.py")
)
OTHER_WORDS = tuple(
    map(
        Path,
        (
            "compiler/tripos_compiler/library",
            "tripos/importing",
            "tripos/exporting",
            "warehouse/tripos_warehouse/exports",
        ),
    )
)
"""Folders with words of their own: the functions of the language, and the formats of other tools."""
OTHER_SUBJECTS = re.compile(r"\b(operator|(call|part)\.function|given|kind|pool)$")
"""What a name is compared with if it is none of an aggregate: an operator of a formula, a function that an expression
calls, the arguments of such a call, the kind of a parameter, and how a network pools."""
OTHER_PATTERNS = frozenset(("Call", "CallExpr"))
"""Class patterns whose names are those of functions."""
PAGE = ROOT / "tripos/view/site/src"


def modules() -> Iterator[Path]:
    """Yield the modules of the product that may not name an aggregate."""
    for path in sources.modules():
        module = path.relative_to(ROOT)
        own = module in (DECLARED, *IMPLEMENTED)
        if not own and not any(module.is_relative_to(folder) for folder in OTHER_WORDS):
            yield path


def decisions(nodes: Collection[ast.AST]) -> Iterator[str]:
    """Yield the line and the name wherever the name of an aggregate decides, in the nodes of a module."""
    if not any(map(is_aggregate, nodes)):
        return
    parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
    for node in nodes:
        if isinstance(node, ast.Constant) and is_aggregate(node) and _decides(node, parents):
            yield f"{node.lineno}: {node.value}"


def is_aggregate(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in AGGREGATES


def _decides(node: ast.Constant, parents: dict[ast.AST, ast.AST]) -> bool:
    parent = parents[node]
    match parent:
        case ast.Compare():
            return not _of_something_else(parent, node)
        case ast.Tuple() | ast.List() | ast.Set():
            outer, alone = (
                parents[parent],
                all(is_aggregate(one) or isinstance(one, ast.Starred) for one in parent.elts),
            )
            if isinstance(outer, ast.Compare):
                return (alone or _of_functions(outer)) and not _of_something_else(outer, parent)
            return alone
        case ast.Dict(keys=keys) if node in keys:
            return all(key is not None and is_aggregate(key) for key in keys)
        case ast.Dict(keys=keys, values=values):
            key = keys[values.index(node)]
            return isinstance(key, ast.Constant) and key.value == "function"
        case ast.keyword(arg="function") | ast.arguments() | ast.Assign() | ast.AnnAssign():
            return True
        case ast.MatchValue():
            return not _matched_with_something_else(parent, parents)
    return False


def _of_functions(compare: ast.Compare) -> bool:
    return ast.unparse(compare.left).endswith("function")


def _of_something_else(compare: ast.Compare, side: ast.expr) -> bool:
    sides = [one for one in (compare.left, *compare.comparators) if one is not side]
    return all(OTHER_SUBJECTS.search(ast.unparse(one)) for one in sides)


def _matched_with_something_else(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    while not isinstance(node, ast.Match):
        if isinstance(node, ast.MatchClass) and ast.unparse(node.cls).rpartition(".")[2] in OTHER_PATTERNS:
            return True
        node = parents[node]
    return OTHER_SUBJECTS.search(ast.unparse(node.subject)) is not None


@each(
    "text",
    [
        'x = figure.function == "mean"',
        'x = function in ("mean", "share", "other")',
        'x = named in {"brier"}',
        'MEANS = frozenset(("mean", "share"))',
        'SQL = {"mean": "avg(value)", "sum": "sum(value)"}',
        'match figure:\n    case Aggregate(function="median", of=None):\n        pass',
        'match what:\n    case "ece" | "auroc":\n        pass',
        'x = figure.model_copy(update={"function": "mean"})',
        'x = Aggregate(function="mean")',
        'def f(function="mean"): pass',
        'NAME = "krippendorff_alpha"',
    ],
)
def test_a_name_that_decides_is_seen(text: str) -> None:
    assert list(decisions(list(ast.walk(ast.parse(text)))))


@each(
    "text",
    [
        'x = row["mean"]',
        'x = {"low": 0, "high": 1, "mean": 0.5}',
        'x = formula.operator in ("min", "max")',
        'match figure.operator:\n    case "min" | "max":\n        pass',
        'match expr:\n    case Call(function="max"):\n        pass',
        'x = ordered("sum", "value")',
        'columns = ("item", "share", "flags")',
        'x = name in ("item", "share")',
    ],
)
def test_a_word_that_is_another_thing_is_let_be(text: str) -> None:
    assert not list(decisions(list(ast.walk(ast.parse(text)))))


def test_no_module_decides_by_the_name_of_an_aggregate() -> None:
    found = [f"{path}:{place}" for path in modules() for place in decisions(sources.nodes_of(path))]
    assert not found


def test_the_page_has_no_table_of_aggregates() -> None:
    names = re.compile(rf"""(?:\b({"|".join(AGGREGATES)})\??:|["'`]({"|".join(AGGREGATES)})["'`])""")
    single = {name for name in AGGREGATES if "_" in name} | {"mcc", "auroc", "ece", "brier", "spearman", "stdev"}
    for path in PAGE.rglob("*.ts*"):
        found = {one or other for one, other in names.findall(path.read_text("utf-8"))}
        assert not found & single, path.name


def test_what_is_declared_is_implemented_and_nothing_else() -> None:
    assert set(IMPLEMENTATIONS) == set(AGGREGATES)
    assert set(STATISTICS) < set(AGGREGATES)


@each("function", AGGREGATES.values())
def test_an_aggregate_is_implemented_of_cells_if_it_can_be_taken_of_them(function: AggregateFunction) -> None:
    assert (IMPLEMENTATIONS[function.name].of_cells is not None) == function.takes_cells


@each("function", AGGREGATES.values())
def test_an_aggregate_says_what_people_read_of_it(function: AggregateFunction) -> None:
    assert function.label and function.chinese and function.influence


READERS = re.compile(r"(declared_aggregate\(.*\)|AGGREGATES\[.*\]|\b(function|declaration|aggregate|parameter|self))$")
"""Expressions that are a declaration, in the modules that know of declarations."""


@cache
def asked_for() -> frozenset[str]:
    """The attributes of declarations that the product reads."""
    texts = {path: path.read_text("utf-8") for path in sources.modules()}
    known = [path for path, text in texts.items() if "AggregateFunction" in text or "language.aggregates" in text]
    return frozenset(
        node.attr
        for path in known
        for node in sources.nodes_of(path)
        if isinstance(node, ast.Attribute) and READERS.search(ast.unparse(node.value))
    )


@each("kind", [AggregateFunction, AggregateParameter])
def test_every_fact_is_asked_for(kind: type) -> None:
    facts = set(kind.__dataclass_fields__)  # type: ignore[attr-defined]
    assert facts <= asked_for()
