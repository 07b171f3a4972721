"""Annotations of Python functions as types of a spec: `list[str] | None` is `list<text>?`."""

from __future__ import annotations

import ast

from tripos_compiler.plan import (
    BoolType,
    ChoiceType,
    DialogueType,
    IntegerType,
    ListType,
    NumberType,
    OptionalType,
    SetType,
    TextType,
    Type,
)

SIMPLE: dict[str, Type] = {"str": TextType(), "int": IntegerType(), "float": NumberType(), "bool": BoolType()}
LISTS = frozenset({"list", "List", "Sequence", "MutableSequence", "Iterable"})
SETS = frozenset({"set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet"})
MAPPINGS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "TypedDict", "OrderedDict", "defaultdict"})
HASHABLE = frozenset({"text", "integer", "number", "bool", "choice"})
HELP = "types are str, int, float, bool, list[…], set[…], Literal[…], and each of them `| None`"
DEEPEST = 20
"""How deep aliases and quotes may stand in each other."""


class NoType(Exception):
    """An annotation that is no type of a spec. `help` says what to write instead."""

    def __init__(self, message: str, help: str = HELP) -> None:
        super().__init__(message)
        self.message = message
        self.help = help


class Annotations:
    """Reads the annotations of one module. Names of `typing` and `collections.abc` are known however they are imported,
    and aliases at the top of the module are followed.

    >>> module = ast.parse("from typing import Literal as L; Mark = L['good', 'bad']; x: 'list[Mark] | None'")
    >>> Annotations(module).read(module.body[-1].annotation).of.of.values
    ('good', 'bad')
    """

    def __init__(self, module: ast.Module) -> None:
        self.renamed: dict[str, str] = {}
        self.aliases: dict[str, ast.expr] = {}
        for node in module.body:
            match node:
                case ast.ImportFrom(names=names):
                    self.renamed.update({alias.asname: alias.name for alias in names if alias.asname})
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.aliases[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self.aliases[name] = value
                case ast.stmt() if type(node).__name__ == "TypeAlias":  # `type Mark = …`, from Python 3.12 on
                    self.aliases[node.name.id] = node.value  # type: ignore[attr-defined]

    def read(self, node: ast.expr, depth: int = 0) -> Type:
        """The type that an annotation stands for. Raises `NoType`."""
        if depth > DEEPEST:
            raise NoType("this annotation never ends")
        match node:
            case ast.Constant(value=str() as text):
                return self.read(_quoted(text), depth + 1)
            case ast.BinOp(op=ast.BitOr()):
                return self._union(_sides(node), depth)
            case ast.Subscript(value=of, slice=inside):
                return self._generic(self._name(of), inside, depth)
            case ast.Name(id=name) if not isinstance(self.aliases.get(name), ast.Call | None):
                return self.read(self.aliases[name], depth + 1)
            case ast.Name() | ast.Attribute():
                return self._named(self._name(node))
        raise NoType(f"`{ast.unparse(node)}` is no type of a spec")

    def _name(self, node: ast.expr) -> str:
        """The last part of a dotted name, as `typing` calls it."""
        if isinstance(node, ast.Attribute):
            return node.attr
        return self.renamed.get(node.id, node.id) if isinstance(node, ast.Name) else ast.unparse(node)

    def _named(self, name: str) -> Type:
        if name in SIMPLE:
            return SIMPLE[name]
        if name in LISTS or name in SETS:
            plain = "set" if name in SETS else "list"
            raise NoType(f"`{name}` does not say what it holds", f"write `{plain}[str]`")
        if name in MAPPINGS:
            raise _mapping(name)
        if name in ("Any", "object"):
            raise NoType(f"`{name}` could be anything", f"say what it is; {HELP}")
        raise NoType(f"`{name}` is no type of a spec")

    def _generic(self, name: str, inside: ast.expr, depth: int) -> Type:
        parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
        if name in LISTS:
            return DialogueType() if self._is_turn(inside) else ListType(of=self.read(inside, depth + 1))
        if name in SETS:
            of = self.read(inside, depth + 1)
            if of.kind not in HASHABLE:
                raise NoType(f"a set cannot hold `{ast.unparse(inside)}`", "write `list[…]`")
            return SetType(of=of)
        if name == "Optional":
            return self._union([inside, ast.Constant(None)], depth)
        if name == "Union":
            return self._union(parts, depth)
        if name == "Literal":
            return _choice(parts)
        if name == "Annotated":
            return self.read(parts[0], depth + 1)
        if name in MAPPINGS:
            raise _mapping(name)
        raise NoType(f"`{name}[…]` is no type of a spec")

    def _is_turn(self, node: ast.expr) -> bool:
        """Whether this is `dict[str, str]`, a turn of a dialogue."""
        match node:
            case ast.Subscript(value=of, slice=ast.Tuple(elts=[ast.Name(id="str"), ast.Name(id="str")])):
                return self._name(of) in MAPPINGS
        return False

    def _union(self, nodes: list[ast.expr], depth: int) -> Type:
        some = [node for node in nodes if not (isinstance(node, ast.Constant) and node.value is None)]
        types = [self.read(node, depth + 1) for node in some]
        kinds = {type_.kind for type_ in types}
        if not types:
            raise NoType("it is always None")
        if len(types) > 1 and kinds != {"integer", "number"}:
            written = " | ".join(ast.unparse(node) for node in some)
            raise NoType(f"`{written}` could be either", "choose one type")
        of: Type = NumberType() if len(types) > 1 else types[0]
        return OptionalType(of=of) if len(some) < len(nodes) and of.kind != "optional" else of


def _quoted(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise NoType(f"`{text}` is no type of a spec") from None


def _sides(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_sides(node.left), *_sides(node.right)]
    return [node]


def _choice(parts: list[ast.expr]) -> Type:
    values = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    if len(values) < len(parts):
        raise NoType("a choice is among texts", 'write `Literal["first", "second"]`')
    if len(values) < 2 or len(set(values)) < len(values):
        raise NoType("a choice needs two different values", 'write `Literal["first", "second"]`')
    return ChoiceType(values=tuple(values))


def _mapping(name: str) -> NoType:
    help_ = "take its parts as parameters of their own; a dialogue is `list[dict[str, str]]`"
    return NoType(f"`{name}` is no type of a spec", help_)
