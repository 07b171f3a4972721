"""The messages of the sources: every text with words that the code may print, as keys of the catalogue.

`python -m tests.languages.messages` lists the keys that a language lacks, with the file that each stands in and the
names of what its holes hold.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.sources import modules, name_of, tree_of
from tripos.settings import options
from tripos.settings.option import Option
from tripos_compiler.diagnostics.text_format import counted

MOST = 12
"""A text that may be put together in more ways than this keeps a hole where its parts differ."""
SAYS = frozenset(
    {
        "error",
        "warning",
        "report",
        "complain",
        "Label",
        "Diagnostic",
        "RunWarning",
        "Command",
        "localized",
        "message",
        "show_message",
        "show_diagnostic",
        "suggest",
    }
    | {"flag", "option", "repeated", "argument", "possible", "several", "setting", "but", "Action"}
    | {"ok", "problem", "CheckResult", "hanging_indent"}
)
"""The calls whose texts reach a person as they are; so do those of every class of ours whose name ends in
`Error`."""
HELPS = frozenset({"help", "help_", "description", "hint", "message", "notes"})
"""The names of arguments and variables whose texts do."""

Piece = str | ast.expr
"""A constant text, or an expression whose value stands in a hole."""


@dataclass(frozen=True)
class Message:
    """A text of the sources as a key of the catalogue. `told` says that it surely reaches a person."""

    key: str
    path: str
    holes: tuple[str, ...]
    told: bool


@cache
def messages() -> dict[str, Message]:
    """Return the messages of all sources by key."""
    found: dict[str, Message] = {}
    for path in modules():
        for message in _messages_in(_texts_of(path), name_of(path)):
            if message.key not in found or (message.told and not found[message.key].told):
                found[message.key] = message
    return found


@cache
def texts_of_sources() -> frozenset[str]:
    """Return every text that the sources put together, as keys, also those without words."""
    return frozenset(
        _key(pieces)[0] for path in modules() for scope, node, _ in _texts_of(path) for pieces in _ways(node, scope)
    )


@cache
def _texts_of(path: Path) -> list[tuple[ast.AST, ast.expr, bool]]:
    code = path.read_text("utf-8")
    return list(_texts(parsed(code) if options.__name__ in code else tree_of(path)))


class _OptionNames(ast.NodeTransformer):
    """Puts the names of declared options, such as `--limit` for `{LIMIT}`, into the texts of a module."""

    def __init__(self, tree: ast.Module) -> None:
        imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
        self.imported = {
            each.asname or each.name: getattr(options, each.name)
            for node in imports
            if node.module == options.__name__
            for each in node.names
        }

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        self.generic_visit(node)
        name = node.value.value if isinstance(node.value, ast.Constant) else self._name(node.value)
        return ast.Constant(name) if isinstance(name, str) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        name = self._name(node) if node.attr in ("flag", "usage", "variable") else None
        return node if name is None else ast.Constant(name)

    def _name(self, node: ast.expr) -> str | None:
        path: list[str] = []
        while isinstance(node, ast.Attribute):
            path, node = [node.attr, *path], node.value
        found = self.imported.get(node.id) if isinstance(node, ast.Name) else None
        for name in path:
            found = getattr(found, name, None)
        return str(found) if isinstance(found, Option | str) else None


def parsed(code: str) -> ast.Module:
    """Parse a module, with the names of options in its texts."""
    tree = ast.parse(code)
    named: ast.Module = _OptionNames(tree).visit(tree)
    return named


def messages_in(code: str, path: str) -> Iterator[Message]:
    """Return the messages of a module.

    >>> [each.key for each in messages_in('fail(f"`{name}` has {count:,} {\\'row\\' if one else \\'rows\\'}")', "x.py")]
    ['`{0}` has {1:n} row', '`{0}` has {1:n} rows']
    """
    return _messages_in(_texts(parsed(code)), path)


def _messages_in(texts: Iterable[tuple[ast.AST, ast.expr, bool]], path: str) -> Iterator[Message]:
    for scope, node, told in texts:
        for pieces in _ways(node, scope):
            key, holes = _key(pieces)
            if _has_words(key):
                yield Message(key, path, holes, told)


def _texts(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.expr, bool]]:
    """Yield the outermost expressions that are texts, each with the function that it stands in."""

    def visit(node: ast.AST, scope: ast.AST, told: bool) -> Iterator[tuple[ast.AST, ast.expr, bool]]:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        if isinstance(node, ast.expr) and _is_text(node):
            yield scope, node, told
            for inner in _holes(node):
                yield from visit(inner, scope, False)
            return
        inside = node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else scope
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            says = name in SAYS or (name.endswith("Error") and not hasattr(builtins, name))
            yield from visit(node.func, inside, False)
            for argument in node.args:
                yield from visit(argument, inside, says)
            for keyword in node.keywords:
                yield from visit(keyword.value, inside, says or keyword.arg in HELPS)
            return
        helps = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in HELPS
        through = told and isinstance(node, ast.IfExp | ast.Tuple | ast.List | ast.BoolOp)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inside, helps or through)

    yield from visit(tree, tree, False)


def _is_text(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _is_text(left) or _is_text(right)
        case ast.Call(func=ast.Name("counted"), args=[_, ast.Constant(), *_]):
            return True
        case ast.BinOp(op=ast.Mult(), left=left):
            return isinstance(left, ast.Constant) and isinstance(left.value, str)
        case ast.IfExp(body=body, orelse=other):
            return _is_text(body) and _is_text(other)
    return False


def _holes(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what stands in the holes of a text."""
    match node:
        case ast.JoinedStr(values=values):
            yield from (value.value for value in values if isinstance(value, ast.FormattedValue))
        case ast.BinOp(left=left, right=right):
            yield from (inner for each in (left, right) for inner in (_holes(each) if _is_text(each) else (each,)))
        case ast.IfExp(test=test, body=body, orelse=other):
            yield test
            yield from (*_holes(body), *_holes(other))


def _ways(node: ast.expr, scope: ast.AST) -> Iterator[tuple[Piece, ...]]:
    """Yield every way in which a text is put together, as constant texts and expressions."""
    ways = list(itertools.islice(_expanded(node, scope, 0), 200))
    yield from ways if len(ways) <= MOST else itertools.islice(_expanded(node, scope, 9), MOST)


def _expanded(node: ast.expr, scope: ast.AST, depth: int) -> Iterator[tuple[Piece, ...]]:
    match node:
        case ast.Constant(value=str(text)):
            yield (text,)
        case ast.JoinedStr(values=values):
            parts = [list(_expanded(value, scope, depth)) for value in values]
            yield from (tuple(itertools.chain(*way)) for way in itertools.product(*parts))
        case ast.FormattedValue(value=value, format_spec=None, conversion=-1) if _is_choice(value, scope, depth):
            yield from _expanded(value, scope, depth + 1)
        case ast.BinOp(op=ast.Add(), left=left, right=right) if _is_text(node):
            for one, other in itertools.product(
                list(_expanded(left, scope, depth)), list(_expanded(right, scope, depth))
            ):
                yield (*one, *other)
        case ast.Call(func=ast.Name("counted"), args=[number, ast.Constant(value=str(noun)), *plural]):
            hole = ast.FormattedValue(number, -1, ast.JoinedStr([ast.Constant(",")]))
            many = plural[0].value if plural and isinstance(plural[0], ast.Constant) else counted(2, noun)[2:]
            yield from ((hole, f" {noun}"), (hole, f" {many}"))
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mult()):
            yield from ((text,), ("",))
        case ast.IfExp(body=body, orelse=other) if _is_text(body) and _is_text(other):
            yield from (*_expanded(body, scope, depth), *_expanded(other, scope, depth))
        case ast.Name() if (assigned := _assigned(node, scope)) is not None and depth < 3:
            yield from _expanded(assigned, scope, depth + 1)
        case _:
            yield (node,)


def _is_choice(node: ast.expr, scope: ast.AST, depth: int) -> bool:
    return depth < 3 and (_is_text(node) or (isinstance(node, ast.Name) and _assigned(node, scope) is not None))


def _assigned(name: ast.Name, scope: ast.AST) -> ast.expr | None:
    """Return the text that a local name stands for, where the function says so once."""
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    values = _assignments(scope).get(name.id, [])
    return values[0] if len(values) == 1 and values[0] is not None and _is_text(values[0]) else None


@cache
def _assignments(scope: ast.AST) -> dict[str, list[ast.expr | None]]:
    """Return what a function assigns to each of its names; None for a part of a value."""
    found: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For | ast.NamedExpr | ast.comprehension):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for each in ast.walk(target):
                    if isinstance(each, ast.Name):
                        whole = isinstance(node, ast.Assign) and target is each
                        found.setdefault(each.id, []).append(node.value if whole else None)
    return found


def _key(pieces: Iterable[Piece]) -> tuple[str, tuple[str, ...]]:
    """Return the key of the catalogue, and what its holes are called in the source."""
    key, holes = "", []
    for piece in pieces:
        if isinstance(piece, str):
            first, *rest = piece.split("{}")  # a text for `format`
            key += first.replace("{", "{{").replace("}", "}}")
            for text in rest:
                key += f"{{{len(holes)}}}" + text.replace("{", "{{").replace("}", "}}")
                holes.append("format")
            continue
        if key.endswith("}") and not key.endswith("}}"):
            continue  # two holes side by side are one
        spec = piece.format_spec if isinstance(piece, ast.FormattedValue) else None
        number = spec is not None and re.search(r"[,dfeg%]$", ast.unparse(spec).strip("f'\"")) is not None
        key += f"{{{len(holes)}{':n' if number else ''}}}"
        holes.append(ast.unparse(piece.value if isinstance(piece, ast.FormattedValue) else piece))
    return key, tuple(holes)


WORD = re.compile(r"[A-Za-z]{2,}")
CODE = re.compile(
    r"^\s*(select|with \w+ as|create|attach|insert|copy \w+ to|drop|set \w+ *=|from|union|case|cast|where|join|left join|group by|order by)\b"
    r"|\(select|::|::\w+$|^[\w.-]+$|^\W*$|\\d|\(\?|^[/.~]|^https?:|</|^<|^[\w-]+/[\w./-]+$|^#\w",
    re.IGNORECASE,
)


def _has_words(key: str) -> bool:
    """Return true if a text looks like words for people: not SQL, a pattern, a name or an address."""
    bare = re.sub(r"`[^`]*`|\{[^}]*\}", " ", key)
    return bool(WORD.search(bare)) and CODE.search(key) is None and (" " in key.strip() or "{" in key)


def main() -> None:
    """List what a language lacks."""
    from tripos_compiler.diagnostics.i18n import translations

    known = translations("zh")
    for message in sorted(messages().values(), key=lambda each: each.path):
        if message.key not in known and (not sys.argv[1:] or message.path.startswith(tuple(sys.argv[1:]))):
            holes = " | ".join(message.holes)
            print(f"{'T' if message.told else ' '}\t{message.path}\t{message.key!r}\t{holes}")


if __name__ == "__main__":
    main()
