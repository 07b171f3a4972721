"""Plug-ins: functions and programs in Python, from a file next to the spec, an installed package, or a service.

The compiler executes none of this: signatures are read from the source (`list[str] | None` is `list<text>?`). A package
offers functions by entry points of the group `tripos.functions`, and a spec uses the name of the entry point. A file is
identified by its SHA-256; a program of Tripos or a service by its name and version, which it must report itself when it
is started.

A file can import other files next to it, which become part of its version. An absolute name is looked up in the folder
of the file that the spec names and, if it begins with the name of that folder, in the folder above; a relative name
from the importing file. Modules of the standard library are never taken from next to the spec.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import posixpath
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from importlib.machinery import ModuleSpec, PathFinder
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Label, suggest
from tripos_compiler.language.references import subexpressions
from tripos_compiler.library.types import PLAIN, TEXTS
from tripos_compiler.plan import (
    BoolType,
    Call,
    ChoiceType,
    DialogueType,
    Expr,
    IntegerType,
    JsonType,
    ListType,
    NumberType,
    OptionalType,
    Plugin,
    SetType,
    TextType,
    Type,
)
from tripos_compiler.resolve.program import Program, path_beside
from tripos_compiler.resolve.purity import why_impure
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.entry_points import package_of, package_version
from tripos_compiler.source.text import Source, Span

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


# Annotations

SIMPLE: dict[str, Type] = {"str": TextType(), "int": IntegerType(), "float": NumberType(), "bool": BoolType()}
LISTS = frozenset({"list", "List", "Sequence", "MutableSequence", "Iterable"})
SETS = frozenset({"set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet"})
MAPPINGS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "TypedDict", "OrderedDict", "defaultdict"})
HELP = "types are str, int, float, bool, list[…], set[…], Literal[…], and each of them `| None`"
DEEPEST = 20
"""The deepest nesting of aliases and quoted annotations."""


class NoType(Exception):
    """An annotation without a counterpart among the types of a spec. `help` suggests what to write instead."""

    def __init__(self, message: str, help: str = HELP) -> None:
        super().__init__(message)
        self.message = message
        self.help = help


class Annotations:
    """Reader of the annotations of one module.

    Names of `typing` and `collections.abc` are recognised however they are imported, and top-level aliases are
    followed.

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
        """Return the type of an annotation. Raises `NoType` if it has none."""
        if depth > DEEPEST:
            raise NoType(f"this annotation is nested more than {DEEPEST} deep, or contains itself")
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
                return self._named_type(self._name(node))
        raise NoType(f"`{ast.unparse(node)}` is no type of a spec")

    def _name(self, node: ast.expr) -> str:
        """Return the last part of a dotted name, without renaming by `import … as`."""
        if isinstance(node, ast.Attribute):
            return node.attr
        return self.renamed.get(node.id, node.id) if isinstance(node, ast.Name) else ast.unparse(node)

    def _named_type(self, name: str) -> Type:
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
            if of.kind not in PLAIN:
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
        """Return true for `dict[str, str]`, a turn of a dialogue."""
        match node:
            case ast.Subscript(value=of, slice=ast.Tuple(elts=[ast.Name(id="str"), ast.Name(id="str")])):
                return self._name(of) in MAPPINGS
        return False

    def _union(self, nodes: list[ast.expr], depth: int) -> Type:
        exprs = [node for node in nodes if not (isinstance(node, ast.Constant) and node.value is None)]
        types = [self.read(node, depth + 1) for node in exprs]
        kinds = {type_.kind for type_ in types}
        if not types:
            raise NoType("it is always None")
        if len(types) > 1 and kinds != {"integer", "number"}:
            text = " | ".join(ast.unparse(node) for node in exprs)
            raise NoType(f"`{text}` could be either", "choose one type")
        of: Type = NumberType() if len(types) > 1 else types[0]
        return OptionalType(of=of) if len(exprs) < len(nodes) and of.kind != "optional" else of


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


# Signatures of the functions of a file

NESTED = (RecursionError, MemoryError)
"""The exceptions of `ast.parse` for text that is nested too deep."""


class Unusable(Exception):
    """A Python function that a spec cannot use: a code, what is wrong, how to fix it, and the place in the Python
    file.
    """

    def __init__(self, code: str, message: str, help: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help
        self.span = span


@dataclass(frozen=True)
class PythonFunction:
    """A function's signature. `optional` are the parameters with a default; `notation` is the signature in Python's
    notation.
    """

    parameters: dict[str, Type]
    optional: tuple[str, ...]
    returns: Type
    notation: str
    span: Span


@dataclass(frozen=True)
class PythonFile:
    """A parsed Python file."""

    source: Source
    module: ast.Module = field(repr=False)

    def function(self, name: str) -> PythonFunction:
        """Return the top-level function of that name. Raises `Unusable` (E0311 or E0312) if it cannot be used."""
        return self._signature(self._defined(name))

    def tool_function(self, name: str) -> PythonFunction:
        """Return the signature of a tool's function, which takes a state and any arguments; its annotations are
        ignored.
        """
        node = self._defined(name)
        parameters = self._named_parameters(node)
        if not node.args.args:
            message = f"`{name}` takes no state"
            raise Unusable("E0312", message, f"write `def {name}(state, …): …`", self.place(node))
        names = [parameter.arg for parameter in parameters]
        text = f"{name}({ast.unparse(node.args)})"
        return PythonFunction(dict.fromkeys(names, JsonType()), _optional(node), JsonType(), text, self.place(node))

    def _defined(self, name: str) -> ast.FunctionDef:
        stmts = [node for node in self.module.body if _defines(node, name)]
        if not stmts:
            names = [node.name for node in self.module.body if isinstance(node, ast.FunctionDef)]
            listed = ", ".join(f"`{defined_name}`" for defined_name in names[:8])
            help_ = suggest(name, names, f"it has {listed}" if listed else "it has no functions")
            raise Unusable("E0311", f"`{self.source.path}` has no function `{name}`", help_)
        node = stmts[-1]  # as in Python, the last definition wins
        if not isinstance(node, ast.FunctionDef):
            raise self._no_function(node, name)
        return node

    def imported(self, name: str) -> tuple[str, str] | None:
        """Return the module that the file imports a name from, and its name there (`.part`, `near`); None if it is not
        imported.
        """
        definitions = [node for node in self.module.body if _defines(node, name)]
        if not definitions or not isinstance(node := definitions[-1], ast.ImportFrom):  # the last definition wins
            return None
        alias = next(alias for alias in reversed(node.names) if (alias.asname or alias.name) == name)
        return "." * node.level + (node.module or ""), alias.name

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
        """Return the parameters. Raises `Unusable` (E0312) if one is positional-only or variadic."""
        name, declared = node.name, node.args
        for star, bare in ((declared.vararg, "*"), (declared.kwarg, "**")):
            if star is not None:
                message = f"`{name}` takes any number of arguments, `{bare}{star.arg}`"
                raise Unusable("E0312", message, "name each parameter", self.place(star))
        if declared.posonlyargs:
            message = f"the parameters of `{name}` before `/` have no names for others"
            raise Unusable("E0312", message, "leave out the `/`", self.place(declared.posonlyargs[0]))
        return [*declared.args, *declared.kwonlyargs]

    def _signature(self, node: ast.FunctionDef) -> PythonFunction:
        name, named = node.name, self._named_parameters(node)
        annotations = Annotations(self.module)
        parameters: dict[str, Type] = {}
        for parameter in named:
            if parameter.annotation is None:
                help_ = f"say what it takes: `{parameter.arg}: str`"
                raise Unusable(
                    "E0312", f"parameter `{parameter.arg}` of `{name}` has no type", help_, self.place(parameter)
                )
            parameters[parameter.arg] = self._type(
                annotations, parameter.annotation, f"parameter `{parameter.arg}` of `{name}`"
            )
        if node.returns is None:
            message = f"`{name}` does not say what it returns"
            raise Unusable("E0312", message, f"write `def {name}(…) -> bool:`, or another type", self.place(node))
        returns = self._type(annotations, node.returns, f"what `{name}` returns")
        text = f"{name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}"
        return PythonFunction(parameters, _optional(node), returns, text, self.place(node))

    def _type(self, annotations: Annotations, node: ast.expr, what: str) -> Type:
        try:
            return annotations.read(node)
        except NoType as reason:
            raise Unusable("E0312", f"{what}: {reason.message}", reason.help, self.place(node)) from None
        except RecursionError:
            message = f"{what}: this annotation is nested too deep"
            raise Unusable("E0312", message, "give it a simpler type", self.place(node)) from None

    def place(self, node: ast.stmt | ast.expr | ast.arg) -> Span:
        """Return the span of a node; for a statement, its first line."""
        start = self._offset(node.lineno, node.col_offset)
        if isinstance(node, ast.stmt):
            first = self.source.line(node.lineno)
            return Span(self.source, start, max(start + 1, self._offset(node.lineno, len(first.encode()))))
        end = self._offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        return Span(self.source, start, max(start + 1, end))

    def _offset(self, line: int, column: int) -> int:
        """Convert a line, counted from 1, and a column in UTF-8 bytes, as `ast` counts, to an offset in code points."""
        text = self.source.line(line)
        before = len(text.encode()[:column].decode(errors="ignore"))
        return _line_start(self.source, line) + before


def parse_python(source: Source) -> PythonFile:
    """Parse a Python file. Raises `Unusable` (E0310) with the line of a syntax error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about the user's code, such as unknown escapes
            module = ast.parse(source.text.removeprefix("\ufeff"))
    except SyntaxError as error:
        line = min(max(error.lineno or 1, 1), source.text.count("\n") + 1)
        start = _line_start(source, line) + max((error.offset or 1) - 1, 0)
        end = _line_start(source, line) + len(source.line(line))
        span = Span(source, min(start, end), max(end, start + 1))
        message = f"`{source.path}` is not Python, line {line}: {error.msg}"
        raise Unusable("E0310", message, "fix that line", span) from None
    except (ValueError, *NESTED) as error:
        message = f"`{source.path}` is not Python: {error or 'it is nested too deep'}"
        raise Unusable("E0310", message, "check the file") from None
    return PythonFile(source, module)


def _optional(node: ast.FunctionDef) -> tuple[str, ...]:
    declared = node.args
    late = [
        kwonlyarg.arg for kwonlyarg, default in zip(declared.kwonlyargs, declared.kw_defaults, strict=True) if default
    ]
    return (*(argument.arg for argument in declared.args[len(declared.args) - len(declared.defaults) :]), *late)


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


# Files imported from the same folder

MOST_FILES = 100
"""The most files that a file may import from its folder, directly or indirectly."""


@dataclass
class SiblingFiles:
    """The files that the Python file at `top` imports from its folder, by path."""

    program: Program
    top: str
    texts: dict[str, Source] = field(default_factory=dict)
    parsed: dict[str, ast.Module] = field(default_factory=dict)

    def look(self, path: str, module: ast.Module) -> None:
        """Collect the files that a module imports from its folder, recursively. Raises `Unusable` (E0310)."""
        self.parsed[path] = module
        for node in ast.walk(module):
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        self._all(self._stems(path, alias.name, 0))
                case ast.ImportFrom(module=of, names=names, level=level):
                    sibling = self._all(self._stems(path, of or "", level))
                    inner = [
                        self._all(self._stems(path, f"{of or ''}.{name.name}".lstrip("."), level)) for name in names
                    ]
                    if level and not sibling and not all(inner):
                        self._lacks(path, node, f"{'.' * level}{of or ''}")

    def find(self, written: str, within: str) -> tuple[str, ast.Module] | None:
        """Return the collected module that the file at `within` imports as `written`; None if it is not one of them."""
        level = len(written) - len(written.lstrip("."))
        for stem in self._stems(within, written[level:], level)[-1:]:
            for path in _files(stem):
                if path in self.parsed:
                    return path, self.parsed[path]
        return None

    def _stems(self, path: str, name: str, level: int) -> list[str]:
        """Return the possible paths, without suffix, of each package on the way to a module, and of the module itself
        as the last.
        """
        parts = [part for part in name.split(".") if part]
        if level:
            base = posixpath.dirname(path)
            for _ in range(level - 1):
                base = posixpath.join(base, "..")
            return [posixpath.normpath(posixpath.join(base, *parts[:count])) for count in range(1, len(parts) + 1)]
        if not parts or parts[0] in sys.stdlib_module_names:
            return []
        base = posixpath.dirname(self.top)
        if parts[0] == posixpath.basename(base) and not self._is_there(posixpath.join(base, parts[0])):
            base = posixpath.dirname(base)
        return [posixpath.normpath(posixpath.join(base, *parts[:count])) for count in range(1, len(parts) + 1)]

    def _is_there(self, stem: str) -> bool:
        return any(self._read(path) is not None for path in _files(stem))

    def _all(self, stems: list[str]) -> bool:
        """Collect the files at these paths. Returns true if the last path has one."""
        there = False
        for stem in stems:
            there = False
            for path in _files(stem):
                if path == self.top or path in self.texts:
                    there = True
                elif (source := self._read(path)) is not None:
                    if len(self.texts) >= MOST_FILES:
                        raise Unusable("E0310", f"`{self.top}` imports more than {MOST_FILES} files", "import fewer")
                    there, self.texts[path] = True, source
                    self.look(path, parse_python(source).module)
                if there:
                    break
        return there

    def _read(self, path: str) -> Source | None:
        assert self.program.read_text is not None, "`resolve` sets it"
        try:
            return Source(path, self.program.read_text(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UnicodeDecodeError:
            raise Unusable("E0310", f"`{path}` is not UTF-8 text", "save it as UTF-8") from None
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            raise Unusable("E0310", f"cannot read `{path}`: {reason}", "check the path and its permissions") from None

    def _lacks(self, path: str, node: ast.ImportFrom, written: str) -> None:
        source = self.texts.get(path)
        span = PythonFile(source, self.parsed[path]).place(node) if source is not None else None
        message = f"line {node.lineno} of `{path}` imports `{written}`, and there is no such file"
        raise Unusable("E0310", message, "put the file beside it", span)


def _files(stem: str) -> Iterator[str]:
    """Yield the possible files of a module, in the order in which Python looks for them."""
    yield f"{stem}/__init__.py"
    yield f"{stem}.py"


def digest_of_files(files: Mapping[str, str]) -> str:
    """Return the version of several files: their paths and digests, in order.

    >>> digest_of_files({"a.py": "1", "b.py": "2"}) == digest_of_files({"b.py": "2", "a.py": "1"})
    True
    """
    return "\n".join(f"{path} {files[path]}" for path in sorted(files))


# Functions of files and packages

FUNCTION_SYNTAX = 'it is written `"file.py:function"`, with a path relative to this file'
MOST_IMPORTS = 8
"""The longest chain of re-exports that is followed in a package."""


def plugin_version(text: str) -> str:
    """Return the version of a plug-in in a single file: the SHA-256 of its text, as `Path.read_text` returns it.

    >>> plugin_version("")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(text.encode()).hexdigest()


def find_plugin(program: Program, name: str, where: Span | None = None) -> Plugin | None:
    """Return the function of that name that the spec declares, or else that of an installed package.

    A packaged function becomes a plug-in of the program. Returns None if there is none, or if a mistake was reported,
    for a packaged function at `where`.
    """
    if name in program.plugins:
        return program.plugins[name]
    if name in program.declared.get("function", {}) or name in program.declared.get("scorer", {}):
        return None
    entries = program.packages.entries.pop(name, ())  # popped, so that a mistake in it is reported once
    if not entries:
        return None
    try:
        program.plugins[name] = _packaged(name, entries)
    except Unusable as reason:
        report(program, reason, where or Span(program.sources[0], 0, 0))
        program.diagnostics.skipped_names.add(name)
        return None
    return program.plugins[name]


def read_python(program: Program, statement: Statement, *, alone: bool = False) -> tuple[Plugin, PythonFunction] | None:
    """Return the function of `from "file.py:function"` as a plug-in.

    Reports a function that cannot be used and returns None; so too if `alone` is set and the file imports another of
    its folder.
    """
    return _read(program, statement, PythonFile.function, alone=alone)


def read_tool_function(program: Program, statement: Statement) -> tuple[Plugin, PythonFunction] | None:
    """Return the function of a tool, whose types come from the tool's declaration."""
    return _read(program, statement, PythonFile.tool_function, alone=True)


def _read(
    program: Program, statement: Statement, find: Callable[[PythonFile, str], PythonFunction], *, alone: bool
) -> tuple[Plugin, PythonFunction] | None:
    """Return the function in `from "file.py:function"` by `find`. Reports a mistake and returns None."""
    text = statement.text("path")
    path, colon, function = text.value.rpartition(":")
    try:
        if not colon or not path or not function.isidentifier():
            raise Unusable("E0106", f'"{text.value}" names no function of a Python file', FUNCTION_SYNTAX)
        if re.match(r"[/\\~]|[A-Za-z]:", path):
            raise Unusable("E0310", f"`{path}` is an absolute path", FUNCTION_SYNTAX)
        place = path_beside(text.span.source.path, path)
        source = read_beside(program, place)
        file = parse_python(source)
        python_function = find(file, function)
        siblings = SiblingFiles(program, place)
        siblings.look(place, file.module)
        if alone and siblings.texts:
            message = f"`{path}` imports `{posixpath.basename(next(iter(siblings.texts)))}` beside it"
            raise Unusable("E0310", message, "the file of an aggregate or a tool stands alone: put all into one")
        files = _files_of(program, text.span, {place: source, **siblings.texts})
    except Unusable as reason:
        report(program, reason, text.span)
        return None
    release = program.release_of(text.span)
    inside = None if release is None else release.inside(place)
    proved = why_impure(file.module, place if siblings.texts else path, siblings.find) is None
    plugin = Plugin(
        name=function,
        path=next(iter(files)),
        function=function,
        version=plugin_version(source.text) if len(files) == 1 else plugin_version(digest_of_files(files)),
        parameters=python_function.parameters,
        optional=python_function.optional,
        returns=python_function.returns,
        release=None if release is None or inside is None else release.label,
        purity="proved" if proved else "declared" if statement.has("pure") else None,
        modules=files if len(files) > 1 else {},
    )
    return plugin, python_function


def _files_of(program: Program, where: Span, sources: Mapping[str, Source]) -> dict[str, str]:
    """Return the digests of Python files by their paths in the plan. Raises `Unusable` (E0310) if a file lies outside
    its release.
    """
    main = posixpath.dirname(program.sources[0].path) or "."
    release = program.release_of(where)
    first = next(iter(sources))
    within = release is not None and release.inside(first) is not None
    files = {}
    for place, source in sources.items():
        inside = release.inside(place) if release is not None and within else posixpath.relpath(place, main)
        if inside is None:
            raise Unusable("E0310", f"`{place}` lies outside of the release of `{first}`", "get the release again")
        files[inside] = plugin_version(source.text)
    return files


def is_compile_time(program: Program, expr: Expr, where: Span) -> bool:
    """Return true if an expression can be evaluated at compile time. Reports a call of a plug-in, because the compiler
    executes none.
    """
    called = next(
        (p.function for p in subexpressions(expr) if isinstance(p, Call) and p.function in program.plugins), None
    )
    if called is not None:
        message = f"this is decided before a run, and `{called}` is only called in one"
        help_ = "use functions of the library here, or keep what it gives in a column of the data"
        program.diagnostics.error("E0314", message, where, help=help_)
    return called is None


def report(program: Program, reason: Unusable, where: Span) -> None:
    """Report a mistake in a Python function at the place of the spec that names it."""
    labels = () if reason.span is None else (Label(reason.span),)
    program.diagnostics.error(reason.code, reason.message, where, *labels, help=reason.help)


def read_beside(program: Program, path: str, written: str = FUNCTION_SYNTAX) -> Source:
    """Return a Python file of the spec. Raises `Unusable` (E0310) if it cannot be read; `written` is the hint on how to
    name it.
    """
    assert program.read_text is not None, "`resolve` sets it"
    try:
        return Source(path, program.read_text(path))
    except FileNotFoundError:
        raise Unusable("E0310", f"there is no file `{path}`", written) from None
    except UnicodeDecodeError:
        raise Unusable("E0310", f"`{path}` is not UTF-8 text", "save it as UTF-8") from None
    except (OSError, ValueError) as error:  # a name with a null character is a `ValueError`
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise Unusable("E0310", f"cannot read `{path}`: {reason}", "check the path and its permissions") from None


def _packaged(name: str, entries: tuple[EntryPoint, ...]) -> Plugin:
    if len(entries) > 1:
        packages = " and ".join(sorted(package_of(entry) for entry in entries))
        raise Unusable("E0202", f"`{name}` is a function of {packages}", "remove one of the packages")
    (entry,) = entries
    try:
        signature, impure = _entry_point_function(entry)
    except Unusable as reason:
        message = f"`{name}` of the package {package_of(entry)}: {reason.message}"
        raise Unusable(reason.code, message, reason.help, reason.span) from None
    return Plugin(
        name=name,
        path=None,
        function=entry.value,
        version=package_version(entry),
        parameters=signature.parameters,
        optional=signature.optional,
        returns=signature.returns,
        purity="proved" if impure is None else None,
    )


def _entry_point_function(entry: EntryPoint) -> tuple[PythonFunction, str | None]:
    """Return the signature of an entry point's function, following re-exports, and the reason why it is not proved
    pure.
    """
    module, name = entry.module, entry.attr
    if not name.isidentifier():
        raise Unusable(
            "E0311", f"`{entry.value}` is no function of a module", "its entry point must be `module:function`"
        )
    for _ in range(MOST_IMPORTS):
        spec, file = _module(module)
        origin = file.imported(name)
        if origin is None:
            return file.function(name), why_impure(file.module, module, _of_package)
        package = module if spec.submodule_search_locations is not None else module.rpartition(".")[0]
        try:
            module, name = importlib.util.resolve_name(origin[0], package), origin[1]
        except ImportError:
            break
    raise Unusable(
        "E0311", f"`{name}` is passed on by too many modules", "its entry point must name where it is defined"
    )


def _of_package(written: str, within: str) -> tuple[str, ast.Module] | None:
    """Return a module of the same package that the module `within` imports; None if it is of another package or not
    found.
    """
    try:
        spec, _ = _module(within)
        package = within if spec.submodule_search_locations is not None else within.rpartition(".")[0]
        name = importlib.util.resolve_name(written, package)
        if name.partition(".")[0] != within.partition(".")[0]:
            return None
        return name, _module(name)[1].module
    except (ImportError, Unusable):
        return None


def _module(name: str) -> tuple[ModuleSpec, PythonFile]:
    spec = _spec(name)
    get_source: Any = getattr(spec.loader, "get_source", None) if spec is not None else None
    try:
        text = get_source(name) if get_source is not None else None
    except (ImportError, OSError, SyntaxError, UnicodeDecodeError):
        text = None
    if spec is None or text is None:
        raise Unusable("E0310", f"the source of `{name}` is not found", "install the package with its Python source")
    return spec, parse_python(Source(f"{name.replace('.', '/')}.py", text))


def _spec(name: str) -> ModuleSpec | None:
    """Return the import spec of a module. Unlike `importlib.util.find_spec`, this imports no parent package."""
    parts = name.split(".")
    spec = next(filter(None, _finders(parts[0])), None)
    for index in range(1, len(parts)):
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(".".join(parts[: index + 1]), spec.submodule_search_locations)
    return spec


def _finders(name: str) -> Iterator[ModuleSpec | None]:
    for finder in sys.meta_path:  # an editable package has a finder of its own
        find: Any = getattr(finder, "find_spec", None)
        if find is not None:
            yield find(name, None)


# Scorers that are programs

PROGRAM_SYNTAX = 'it is written `"file.py"`, relative to this file, or `"NAME VERSION"`, such as `"unit-tests 1.4"`'
SHIPPED_PREFIX = "python-"
"""The prefix of the names of programs that come with Tripos."""
SERVICE = re.compile(r"(?P<name>[a-z0-9][a-z0-9._-]*) (?P<version>[A-Za-z0-9][A-Za-z0-9._+-]*)")


@dataclass(frozen=True)
class ShippedProgram:
    """A program that comes with Tripos: its version, parameters, optional parameters, and the kinds of values it
    returns. `runs` is the parameter whose text it runs.
    """

    version: str
    parameters: Mapping[str, Type]
    optional: frozenset[str]
    returns: tuple[str, ...]
    runs: str = "code"


_LIMITS: Mapping[str, Type] = {"seconds": NumberType(), "memory_mb": IntegerType()}
SHIPPED: Mapping[str, ShippedProgram] = MappingProxyType(
    {
        "python-tests": ShippedProgram(
            "2",
            {"code": TextType(), "tests": TextType(), "entry": TextType(), **_LIMITS},
            frozenset({"entry", *_LIMITS}),
            ("bool",),
        ),
        "python-programs": ShippedProgram(
            "1",
            {"code": TextType(), "inputs": TEXTS, "outputs": TEXTS, **_LIMITS},
            frozenset(_LIMITS),
            ("bool",),
        ),
    }
)
"""The programs that come with Tripos, by name. They are implemented in the runtime."""


def read_program(program: Program, statement: Statement) -> Plugin | None:
    """Return the program of `from program "…"` as a plug-in without parameters. Reports a mistake and returns None."""
    text = statement.text("path")
    try:
        match = SERVICE.fullmatch(text.value)
        if match is not None:
            return _named_program(text.value, match["name"], match["version"])
        if not text.value.endswith(".py"):
            raise Unusable("E0106", f'"{text.value}" names no program', PROGRAM_SYNTAX)
        if re.match(r"[/\\~]|[A-Za-z]:", text.value):
            raise Unusable("E0310", f"`{text.value}` is an absolute path", PROGRAM_SYNTAX)
        place = path_beside(text.span.source.path, text.value)
        source = read_beside(program, place, PROGRAM_SYNTAX)
        parse_python(source)
    except Unusable as reason:
        report(program, reason, text.span)
        return None
    main = posixpath.dirname(program.sources[0].path) or "."
    release = program.release_of(text.span)
    inside = None if release is None else release.inside(place)
    return _plugin(
        posixpath.relpath(place, main) if inside is None else inside,
        plugin_version(source.text),
        "file",
        None if release is None or inside is None else release.label,
    )


def _named_program(written: str, name: str, version: str) -> Plugin:
    shipped = SHIPPED.get(name)
    if shipped is None and name.startswith(SHIPPED_PREFIX):
        help_ = suggest(name, SHIPPED, f"its programs are {', '.join(SHIPPED)}")
        raise Unusable("E0106", f"Tripos has no program `{name}`", help_)
    if shipped is None:
        return _plugin(None, written, "service")
    if version != shipped.version:
        message = f"`{name}` has no version {version} here"
        raise Unusable("E0106", message, f'write "{name} {shipped.version}"')
    return _plugin(None, written, "shipped")


def _plugin(path: str | None, version: str, external: str, release: str | None = None) -> Plugin:
    return Plugin.model_validate(
        {
            "name": "",
            "path": path,
            "function": "",
            "version": version,
            "parameters": {},
            "returns": BoolType(),
            "release": release,
            "external": external,
        }
    )
