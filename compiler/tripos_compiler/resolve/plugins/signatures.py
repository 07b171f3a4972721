"""Signatures of Python functions, read from the text of a file: `list[str] | None` is `list<text>?`. Nothing is run."""

from __future__ import annotations

import ast
import warnings
from dataclasses import field

from tripos_compiler.diagnostics import nearest
from tripos_compiler.plan import (
    BoolType,
    ChoiceType,
    DialogueType,
    IntegerType,
    JsonType,
    ListType,
    NumberType,
    OptionalType,
    SetType,
    TextType,
    Type,
)
from tripos_compiler.source import Source, Span, dataclass

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
        """Return the type that an annotation stands for. Raises `NoType`."""
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
        """Return the last part of a dotted name, as `typing` calls it."""
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
        """Return true if this is `dict[str, str]`, a turn of a dialogue."""
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


NESTED = (RecursionError, MemoryError)
"""What `ast.parse` raises for text that is nested too deep."""


class Unusable(Exception):
    """A Python function that a spec cannot use: a code, what is wrong, how to mend it, and where in the Python file."""

    def __init__(self, code: str, message: str, help: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help
        self.span = span


@dataclass(frozen=True)
class PythonFunction:
    """A function's signature. `optional` are the parameters that have a default; `written` is it in Python's words."""

    parameters: dict[str, Type]
    optional: tuple[str, ...]
    returns: Type
    written: str
    span: Span


@dataclass(frozen=True)
class PythonFile:
    """A parsed file."""

    source: Source
    module: ast.Module = field(repr=False)

    def function(self, name: str) -> PythonFunction:
        """Return the function of that name at the top of the file. Raises `Unusable`, E0311 or E0312."""
        return self._signature(self._defined(name))

    def tool_function(self, name: str) -> PythonFunction:
        """Return the same of a function that takes a state and any arguments, and whose types nobody reads."""
        node = self._defined(name)
        given = self._named_parameters(node)
        if not node.args.args:
            message = f"`{name}` takes no state"
            raise Unusable("E0312", message, f"write `def {name}(state, …): …`", self.place(node))
        names = [each.arg for each in given]
        written = f"{name}({ast.unparse(node.args)})"
        return PythonFunction(dict.fromkeys(names, JsonType()), _optional(node), JsonType(), written, self.place(node))

    def _defined(self, name: str) -> ast.FunctionDef:
        found = [node for node in self.module.body if _defines(node, name)]
        if not found:
            names = [node.name for node in self.module.body if isinstance(node, ast.FunctionDef)]
            close = nearest(name, names)
            listed = ", ".join(f"`{each}`" for each in names[:8])
            help_ = f"did you mean `{close}`?" if close else (f"it has {listed}" if listed else "it has no functions")
            raise Unusable("E0311", f"`{self.source.path}` has no function `{name}`", help_)
        node = found[-1]  # as in Python, the last one stands
        if not isinstance(node, ast.FunctionDef):
            raise self._no_function(node, name)
        return node

    def imported(self, name: str) -> tuple[str, str] | None:
        """Return the module that a name comes from and its name there, where the file imports it (`.part`, `near`)."""
        for node in self.module.body:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return "." * node.level + (node.module or ""), alias.name
        return None

    def _no_function(self, node: ast.stmt, name: str) -> Unusable:
        if isinstance(node, ast.AsyncFunctionDef):
            help_ = "write it with `def`: scores are computed one at a time"
            return Unusable("E0312", f"`{name}` is asynchronous", help_, self.place(node))
        if isinstance(node, ast.Import | ast.ImportFrom):
            help_ = "name the file that defines it"
            return Unusable("E0311", f"`{name}` is imported here, not defined", help_, self.place(node))
        what = "a class" if isinstance(node, ast.ClassDef) else "a value"
        help_ = f"write a function: `def {name}(…): …`"
        return Unusable("E0311", f"`{name}` is {what}, not a function", help_, self.place(node))

    def _named_parameters(self, node: ast.FunctionDef) -> list[ast.arg]:
        """Return the parameters. Raises `Unusable`, E0312, where one has no name, or there may be any number."""
        name, given = node.name, node.args
        for star, bare in ((given.vararg, "*"), (given.kwarg, "**")):
            if star is not None:
                message = f"`{name}` takes any number of arguments, `{bare}{star.arg}`"
                raise Unusable("E0312", message, "name each parameter", self.place(star))
        if given.posonlyargs:
            message = f"the parameters of `{name}` before `/` have no names for others"
            raise Unusable("E0312", message, "leave out the `/`", self.place(given.posonlyargs[0]))
        return [*given.args, *given.kwonlyargs]

    def _signature(self, node: ast.FunctionDef) -> PythonFunction:
        name, given = node.name, self._named_parameters(node)
        annotations = Annotations(self.module)
        parameters: dict[str, Type] = {}
        for each in given:
            if each.annotation is None:
                help_ = f"say what it takes: `{each.arg}: str`"
                raise Unusable("E0312", f"parameter `{each.arg}` of `{name}` has no type", help_, self.place(each))
            parameters[each.arg] = self._type(annotations, each.annotation, f"parameter `{each.arg}` of `{name}`")
        if node.returns is None:
            message = f"`{name}` does not say what it returns"
            raise Unusable("E0312", message, f"write `def {name}(…) -> bool:`, or another type", self.place(node))
        returns = self._type(annotations, node.returns, f"what `{name}` returns")
        written = f"{name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}"
        return PythonFunction(parameters, _optional(node), returns, written, self.place(node))

    def _type(self, annotations: Annotations, node: ast.expr, what: str) -> Type:
        try:
            return annotations.read(node)
        except NoType as reason:
            raise Unusable("E0312", f"{what}: {reason.message}", reason.help, self.place(node)) from None
        except RecursionError:
            message = f"{what}: this annotation is nested too deep"
            raise Unusable("E0312", message, "give it a simpler type", self.place(node)) from None

    def place(self, node: ast.stmt | ast.expr | ast.arg) -> Span:
        """Return where a node stands; of a statement, its first line."""
        start = self._offset(node.lineno, node.col_offset)
        if isinstance(node, ast.stmt):
            first = self.source.line(node.lineno)
            return Span(self.source, start, max(start + 1, self._offset(node.lineno, len(first.encode()))))
        end = self._offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        return Span(self.source, start, max(start + 1, end))

    def _offset(self, line: int, column: int) -> int:
        """Return an offset in code points from a line, counted from 1, and a column in bytes of UTF-8, as `ast`
        counts."""
        text = self.source.line(line)
        before = len(text.encode()[:column].decode(errors="ignore"))
        return _line_start(self.source, line) + before


def parse_python(source: Source) -> PythonFile:
    """Return the file, parsed. Raises `Unusable`, E0310, with the line of a syntax error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a string is the author's affair
            module = ast.parse(source.text.removeprefix("\ufeff"))
    except SyntaxError as error:
        line = min(max(error.lineno or 1, 1), source.text.count("\n") + 1)
        start = _line_start(source, line) + max((error.offset or 1) - 1, 0)
        end = _line_start(source, line) + len(source.line(line))
        span = Span(source, min(start, end), max(end, start + 1))
        message = f"`{source.path}` is not Python, line {line}: {error.msg}"
        raise Unusable("E0310", message, "mend that line", span) from None
    except (ValueError, *NESTED) as error:
        message = f"`{source.path}` is not Python: {error or 'it is nested too deep'}"
        raise Unusable("E0310", message, "check the file") from None
    return PythonFile(source, module)


def _optional(node: ast.FunctionDef) -> tuple[str, ...]:
    given = node.args
    late = [each.arg for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default]
    return (*(each.arg for each in given.args[len(given.args) - len(given.defaults) :]), *late)


def _defines(node: ast.stmt, name: str) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name == name
        case ast.Import() | ast.ImportFrom():
            return any((alias.asname or alias.name) == name for alias in node.names)
        case ast.Assign(targets=targets):
            return any(isinstance(target, ast.Name) and target.id == name for target in targets)
        case ast.AnnAssign(target=ast.Name(id=target)):
            return target == name
    return False


def _line_start(source: Source, line: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = source.text.find("\n", start) + 1
    return start
