"""Facts about library functions stand in their entries: no other module matches a function by its name, and each field
of an entry is complete and used.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import fields
from enum import Enum
from functools import cache

import pytest

from tests import sources
from tests.each import each
from tripos_compiler.language.aggregates import AGGREGATES
from tripos_compiler.library.function import Evaluation, Function, SearchIndex, Shape
from tripos_compiler.library.ranges import CURVES
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.signature import read_pattern

DECLARATIONS = "compiler/tripos_compiler/library/"
CALLS = ("Call", "CallExpr")


@cache
def modules() -> dict[str, ast.Module]:
    """Return the syntax trees of the product, by path."""
    return {sources.name_of(path): sources.tree_of(path) for path in sources.modules()}


@cache
def nodes(tree: ast.Module) -> list[ast.AST]:
    """Return all parts of a module: a walk of it takes longer than what is asked of them."""
    return list(ast.walk(tree))


# Names as strings


@cache
def other_words() -> frozenset[str]:
    """Return the words that name something else too: fields, methods, words of a `Literal`, keys of a record, names of
    Python, and aggregates."""
    found = {*dir(builtins), *dir(str), *AGGREGATES}
    for path, tree in modules().items():
        for node in nodes(tree) if not path.startswith(DECLARATIONS) else ():
            match node:
                case ast.ClassDef(body=body):
                    found |= {called(each.target) for each in body if isinstance(each, ast.AnnAssign)}
                    found |= {each.name for each in body if isinstance(each, ast.FunctionDef)}
                case ast.Subscript(value=ast.Name(id="Literal"), slice=words):
                    found |= set(constants(words))
                case ast.Subscript(value=value, slice=ast.Constant(value=str(key))) if not is_registry(value):
                    found.add(key)
    return frozenset(found)


def constants(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def is_registry(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "FUNCTIONS"


def called(node: ast.expr) -> str:
    """Return the name of a called class or function, without its module."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_function_of_call(node: ast.expr, own: set[str]) -> bool:
    """Return true for `call.function`, `call.function.text`, and a local name `own` that is bound to one."""
    match node:
        case ast.Attribute(attr="text", value=inner):
            return is_function_of_call(inner, own)
        case ast.Attribute(attr="function"):
            return True
        case ast.Name(id=name):
            return name in own
    return False


def bound_to_functions(parts: Iterable[ast.AST]) -> set[str]:
    """Return the names that the nodes of a function bind to the name of a called function."""
    found: set[str] = set()
    for node in parts:
        match node:
            case ast.MatchClass(cls=of, kwd_attrs=names, kwd_patterns=patterns) if called(of) in CALLS:
                for name, pattern in zip(names, patterns, strict=True):
                    if name == "function" and isinstance(pattern, ast.MatchAs) and pattern.name is not None:
                        found.add(pattern.name)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_function_of_call(value, set()):
                found.add(name)
    return found


@cache
def declared() -> frozenset[str]:
    """Return the constants that entries of the registry take as their names."""
    found: set[str] = set()
    for node in nodes(modules()[f"{DECLARATIONS}registry.py"]):
        match node:
            case ast.Call(func=ast.Name(id="Function"), args=[_, ast.Name(id=name), *_]):
                found.add(name)
    return frozenset(found)


@cache
def own_tables(path: str) -> dict[str, ast.expr]:
    """Return the values of the constants of a module."""
    found: dict[str, ast.expr] = {}
    for node in modules()[path].body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name not in declared():
                found[name] = value
    return found


@cache
def by_name() -> dict[str, str]:
    """Return the paths of modules by the names that imports have for them."""
    return {path.removesuffix(".py").replace("/", ".").partition(".tripos_")[2]: path for path in modules()}


@cache
def tables(path: str) -> dict[str, ast.expr]:
    """Return the values of the constants that a module has or imports."""
    found = dict(own_tables(path))
    for node in nodes(modules()[path]):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            source = by_name().get(node.module.removeprefix("tripos_"))
            imported = own_tables(source) if source is not None and not source.startswith(DECLARATIONS) else {}
            found |= {
                alias.asname or alias.name: imported[alias.name] for alias in node.names if alias.name in imported
            }
    return found


def strings(node: ast.AST, path: str) -> Iterator[tuple[int, str]]:
    """Yield the strings in a part of a module, with their lines; for a constant those of its value."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in tables(path):
            yield from ((part.lineno, text) for text in constants(tables(path)[part.id]))
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.lineno, part.value


def parts_for_names(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the parts of a module where the name of a called function stands: in a call that it builds, in a pattern,
    in a look-up of the registry, and in a comparison with the name or a look-up by it."""
    for node in nodes(tree):
        match node:
            case ast.Call(func=of, keywords=given) if called(of) in CALLS:
                yield from (keyword.value for keyword in given if keyword.arg == "function")
            case ast.MatchClass(cls=of, kwd_attrs=names, kwd_patterns=patterns) if called(of) in CALLS:
                yield from (pattern for name, pattern in zip(names, patterns, strict=True) if name == "function")
            case ast.Subscript(value=value, slice=key) if is_registry(value):
                yield key
            case ast.Call(func=ast.Attribute(attr="get", value=value), args=[key, *_]) if is_registry(value):
                yield key
            case ast.FunctionDef():
                yield from compared_names(node)


def compared_names(scope: ast.FunctionDef) -> Iterator[ast.AST]:
    parts = list(ast.walk(scope))
    own = bound_to_functions(parts)
    for node in parts:
        match node:
            case ast.Compare(left=left, comparators=others):
                if any(is_function_of_call(side, own) for side in (left, *others)):
                    yield node
            case ast.Match(subject=subject, cases=cases) if is_function_of_call(subject, own):
                yield from (case.pattern for case in cases)
            case ast.Subscript(value=value, slice=key) if is_function_of_call(key, own):
                yield value
            case ast.Call(func=ast.Attribute(attr="get", value=value), args=[key, *_]):
                if is_function_of_call(key, own):
                    yield value


def knows_calls(tree: ast.Module) -> bool:
    """Return true if a module imports what calls are made of, so that its strings may name functions."""
    imported = {alias.name for node in nodes(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return not imported.isdisjoint({*CALLS, "FUNCTIONS"})


def is_about_functions(node: ast.AST) -> bool:
    """Return true for a node without which no name of a called function stands in a module."""
    return (isinstance(node, ast.Attribute) and node.attr == "function") or (
        isinstance(node, ast.expr) and called(node) in (*CALLS, "FUNCTIONS")
    )


def repeated_names(path: str) -> set[tuple[int, str]]:
    """Return the names of functions in a module, with their lines: where it takes a string for one, and strings that
    can be nothing else. Modules of measures know the functions of figures, which are aggregates and formulas."""
    tree = modules()[path]
    if not any(map(is_about_functions, nodes(tree))) and not knows_calls(tree):
        return set()
    of_figures = {*AGGREGATES, *CURVES, "abs"} if "/measures/" in path else set[str]()
    taken = {found for part in parts_for_names(tree) for found in strings(part, path)}
    found = {(line, text) for line, text in taken if text in FUNCTIONS and text not in of_figures}
    if not knows_calls(tree):
        return found
    unmistakable = FUNCTIONS.keys() - other_words()
    written = ((node.lineno, node.value) for node in nodes(tree) if isinstance(node, ast.Constant))
    return found | {(line, text) for line, text in written if isinstance(text, str) and text in unmistakable}


@each("path", lambda: [path for path in modules() if not path.startswith(DECLARATIONS)])
def test_no_module_matches_a_function_by_its_name(path: str) -> None:
    assert repeated_names(path) == set()


FOUND = """
from tripos_compiler.plan import Call
from tripos_compiler.source.tree import CallExpr
SHORT = ("length", "words")
LONG: dict[str, int] = {"turns": 1}
"""
MISTAKES = {
    "a call that is built": "def f(): return Call(function='length')",
    "one of two": "def f(few): return Call(function='min' if few else 'max')",
    "a name in syntax": "def f(span): return CallExpr(span, function=Name(span, 'join'))",
    "a pattern": "def f(expr):\n match expr:\n  case Call(function='min' | 'max'): pass",
    "a comparison": "def f(call): return call.function == 'words'",
    "a name of its own": "def f(expr):\n match expr:\n  case Call(function=name) if name == 'words': pass",
    "an assigned name": "def f(call):\n name = call.function\n return name in ('first', 'last')",
    "a match of the name": "def f(call):\n match call.function:\n  case 'zip': pass",
    "a table": "def f(call): return call.function in SHORT",
    "a look-up": "def f(call): return LONG.get(call.function)",
    "a look-up by key": "def f(call): return LONG[call.function]",
    "the registry": "def f(): return FUNCTIONS['length']",
    "a word that is nothing else": "WORDS = ('without_last',)",
}


@each("name", MISTAKES)
def test_every_way_to_match_a_name_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"made/{name.replace(' ', '_')}.py"
    monkeypatch.setitem(modules(), path, ast.parse(FOUND + MISTAKES[name]))
    assert repeated_names(path) != set()


def test_other_things_of_the_same_name_are_not_taken_for_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "def f(type_, row): return type_.kind == 'number' and row['first'] in ('last', 'sum')"
    monkeypatch.setitem(modules(), "made/others.py", ast.parse(FOUND + source))
    assert repeated_names("made/others.py") == set()


# Entries

NAMES_OF_ARGUMENTS = {
    Evaluation.CHOICE: {"condition", "this", "other"},
    Evaluation.FALLBACK: {"value", "fallback"},
    Evaluation.READING: {"value"},
}
PARAMETERS = {Shape.SORTED: 2, Shape.MATCHING: 3, Shape.EXAMPLES: 4}
"""The number of parameters of functions with these shapes; the others have one at least."""


@each("name", FUNCTIONS)
def test_an_entry_is_complete(name: str) -> None:
    function = FUNCTIONS[name]
    assert function.version >= 1
    assert set(function.partial.of if function.partial is not None else ()) <= set(function.names)
    assert NAMES_OF_ARGUMENTS.get(function.evaluation, set()) <= set(function.names)
    assert {function.reads_option_of, function.prints_options} <= {None, *function.names}
    if function.shape is not Shape.MIXED:
        assert len(function.names) == PARAMETERS.get(function.shape, len(function.names)) > 0
    if function.index is not None:
        assert [each.pattern for each in function.parameters[:2]] == [read_pattern(str)] * 2
    number = function.returns is not None and function.returns.kind in ("number", "integer")
    assert number <= (function.gives is not None), "an entry of a number says its range; `ANY` if it has none"


def test_an_entry_stands_for_one_python_function() -> None:
    assert len({function.python for function in FUNCTIONS.values()}) == len(FUNCTIONS)


def test_each_field_is_read() -> None:
    read = {
        node.attr
        for path in sources.modules()
        for node in sources.nodes_of(path)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    assert {each.name for each in fields(Function)} <= read


@each("kind", [Shape, Evaluation, SearchIndex])
def test_each_kind_is_used_and_asked_for(kind: type[Enum]) -> None:
    """`EAGER` and `MIXED` are what is left if nothing else applies."""
    named = {
        sources.name_of(path): {
            node.attr
            for node in sources.nodes_of(path)
            if isinstance(node, ast.Attribute) and called(node.value) == kind.__name__
        }
        for path in sources.modules()
    }
    entries = named.pop(f"{DECLARATIONS}registry.py")
    asked = set[str]().union(*(names for path, names in named.items() if path != f"{DECLARATIONS}function.py"))
    assert {each.name for each in kind} - {"EAGER", "MIXED"} == entries
    assert entries <= asked
