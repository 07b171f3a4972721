"""Purity proof for Python functions: whether a function depends on its arguments alone. Read from source, never
executed.

A function that reads a file or the clock, or remembers earlier calls, could reveal a secret column to a model. A
function is proved pure if its module, and every module of its package that it imports, keeps to a subset of Python in
which none of this can be written: imports of a few modules that read nothing, defined or harmless names, and top-level
values that nothing changes. Code outside of the subset is not proved; the author can still declare it `pure`.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cache
from types import ModuleType

from tripos_compiler.source.data_classes import dataclass

# The pure subset of Python: modules, names and calls

SAFE_MODULES = frozenset(
    {"__future__", "abc", "ast", "base64", "binascii", "bisect", "collections", "collections.abc", "copy"}
    | {"dataclasses", "datetime", "decimal", "difflib", "fractions", "functools", "hashlib", "heapq", "html"}
    | {"itertools", "json", "math", "numbers", "operator", "re", "statistics", "string", "textwrap", "typing"}
    | {"unicodedata", "urllib.parse"}
)
"""Modules that read only their arguments, except for the names in `UNSAFE`."""
ALLOWED_NAMES = {
    "__future__": frozenset({"annotations"}),
    "json": frozenset({"loads", "dumps", "JSONDecodeError"}),
    "ast": frozenset({"literal_eval"}),
    "abc": frozenset({"ABC", "abstractmethod"}),
    "typing": frozenset(
        {
            "TYPE_CHECKING",
            "Any",
            "Callable",
            "ClassVar",
            "Dict",
            "Final",
            "FrozenSet",
            "Generic",
            "Iterable",
            "Iterator",
        }
        | {"List", "Literal", "Mapping", "NamedTuple", "Optional", "Protocol", "Sequence", "Set", "Tuple"}
        | {"TypeAlias", "TypeVar", "TypedDict", "Union", "cast"}
    ),
}
"""Modules from which only these names are allowed."""
UNSAFE = frozenset(
    {"now", "today", "utcnow", "fromtimestamp", "utcfromtimestamp", "astimezone", "timestamp"}  # the clock and its zone
    | {"getcontext", "setcontext", "localcontext", "DefaultContext", "BasicContext", "ExtendedContext"}  # can be set
    | {"cache", "lru_cache", "cache_info", "singledispatch", "singledispatchmethod", "register"}  # caches
    | {"wraps", "update_wrapper", "attrgetter", "methodcaller", "Formatter", "format_map", "mro"}  # reach other objects
    | {"HtmlDiff", "make_dataclass"}  # a global counter, and fields named by a text
    | {"file_digest", "samples"}  # reads a file; random
    | {"algorithms_available", "algorithms_guaranteed", "TextWrapper", "_field_defaults"}  # shared and mutable
    | {"gi_frame", "gi_code", "gi_yieldfrom", "cr_frame", "cr_code", "cr_await", "ag_frame", "ag_code", "ag_await"}
    | {"f_back", "f_globals", "f_locals", "f_builtins", "f_code", "tb_frame", "tb_next", "co_code", "co_consts"}
)
"""Names that no attribute and no import may have."""
SAFE_BUILTINS = frozenset(
    {"ArithmeticError", "AssertionError", "AttributeError", "Ellipsis", "Exception", "False", "IndexError", "KeyError"}
    | {"LookupError", "None", "NotImplemented", "NotImplementedError", "OverflowError", "RecursionError", "True"}
    | {"RuntimeError", "StopIteration", "TypeError", "UnicodeDecodeError", "UnicodeEncodeError", "UnicodeError"}
    | {"ValueError", "ZeroDivisionError", "__name__", "abs", "all", "any", "ascii", "bin", "bool", "bytearray", "bytes"}
    | {"chr", "classmethod", "complex", "dict", "divmod", "enumerate", "filter", "float", "format", "frozenset", "hex"}
    | {"int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next", "object", "oct", "ord"}
    | {"pow", "print", "property", "range", "repr", "reversed", "round", "set", "slice", "sorted", "staticmethod"}
    | {"str", "sum", "super", "tuple", "type", "zip"}
)
OWN_NAMES = frozenset({"__name__", "__all__", "__slots__", "__version__"})
"""Double-underscore names that a module may use."""
NON_MUTATING_FUNCTIONS = frozenset(
    {"all", "any", "bool", "dict", "enumerate", "filter", "frozenset", "len", "list", "map", "max", "min"}
    | {"range", "repr", "reversed", "set", "sorted", "str", "sum", "tuple", "zip"}
)
"""Functions that do not modify their arguments."""
NON_MUTATING_METHODS = frozenset(
    {"get", "items", "keys", "values", "index", "count", "copy", "union", "intersection", "difference"}
    | {"issubset", "issuperset", "isdisjoint"}
)
"""Methods of a list, set or dictionary that do not modify it."""
MUTABLE_RESULTS = frozenset({"split", "rsplit", "splitlines", "maketrans"})
"""Methods of a text that return a list or dictionary."""
COMPUTED_ATTRIBUTES = frozenset({"__getattr__", "__getattribute__"})
"""Methods of a class that may return any attribute."""
CLASS_FACTORIES = frozenset({"type", "namedtuple", "NamedTuple"})
"""Calls that create a class whose attributes are named by texts."""
Called = str | tuple[str, str] | None
"""A built-in name, or a module and a name in it; None for anything else."""
DECORATORS: frozenset[Called] = frozenset(
    {
        *("staticmethod", "classmethod", "property", ("abc", "abstractmethod")),
        *(("dataclasses", "dataclass"), ("functools", "total_ordering"), ("functools", "cached_property")),
    }
)
IMMUTABLE_RESULTS: frozenset[Called] = frozenset(
    {
        *("int", "float", "str", "len", "round"),
        *(("re", "compile"), ("decimal", "Decimal"), ("fractions", "Fraction"), ("datetime", "timedelta")),
        *(("datetime", "date"), ("typing", "TypeVar"), ("operator", "itemgetter"), ("collections", "namedtuple")),
    }
)
"""Calls that return immutable values: built-in names, and names of modules."""


def unsafe_attribute(name: str) -> bool:
    """Return true if the attribute is forbidden: internal to Python, or in `UNSAFE`."""
    return name in UNSAFE or (name.startswith("_") and name.endswith("_"))


@cache
def safe_name(module: str, name: str) -> bool:
    """Return true if a name of a safe module may be used: it is public, and not a module that this one imports.

    >>> safe_name("re", "findall"), safe_name("re", "enum"), safe_name("datetime", "datetime"), safe_name("re", "_x")
    (True, False, True, False)
    """
    if name in UNSAFE or name.startswith("_"):
        return False
    if module in ALLOWED_NAMES:
        return name in ALLOWED_NAMES[module]
    imported = importlib.import_module(module)
    public = getattr(imported, "__all__", None)
    return name in (dir(imported) if public is None else public) and not isinstance(
        getattr(imported, name, None), ModuleType
    )


# Syntax

Parents = Mapping[ast.AST, ast.AST]


def stores(node: ast.Name) -> bool:
    """Return true if the name is assigned or deleted here."""
    return isinstance(node.ctx, ast.Store | ast.Del)


def elements(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the elements of a list, set or dictionary display, or of a comprehension."""
    match node:
        case ast.List(elts=parts) | ast.Set(elts=parts):
            yield from parts
        case ast.Dict(keys=keys, values=values):
            yield from (expr for expr in (*keys, *values) if expr is not None)
        case ast.ListComp(elt=part) | ast.SetComp(elt=part):
            yield part
        case ast.DictComp(key=key, value=value):
            yield from (key, value)


def may_return_argument(call: ast.Call, argument: ast.expr) -> bool:
    """Return true if a non-mutating function can return this argument itself, as `max` of two lists does."""
    match call:
        case ast.Call(func=ast.Name(id="max" | "min"), args=args):
            return len(args) > 1
        case ast.Call(func=ast.Name(id="sum"), args=args):
            return args[0] is not argument
    return False


def in_constructor(node: ast.AST, parents: Parents) -> bool:
    """Return true if the node is in a constructor in which `self` is certainly the new object."""
    ancestor = parents.get(node)
    while ancestor is not None and not isinstance(ancestor, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        ancestor = parents.get(ancestor)
    return (
        isinstance(ancestor, ast.FunctionDef)
        and ancestor.name in ("__init__", "__post_init__")
        and isinstance(parents.get(ancestor), ast.ClassDef)
        and not ancestor.decorator_list
        and [parameter.arg for parameter in (*ancestor.args.posonlyargs, *ancestor.args.args)][:1] == ["self"]
        and not any(
            isinstance(inner, ast.Name) and inner.id == "self" and stores(inner) for inner in ast.walk(ancestor)
        )
    )


def in_body(node: ast.AST, parents: Parents) -> bool:
    """Return true if the node is in the body of a function, and so evaluated when it is called."""
    inner, ancestor = node, parents.get(node)
    while ancestor is not None:
        match ancestor:
            case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body) if inner in body:
                return True
            case ast.Lambda(body=value) if inner is value:
                return True
        inner, ancestor = ancestor, parents.get(ancestor)
    return False


# The proof

MOST_MODULES = 32
"""The most modules of a package that are followed."""
ATTRIBUTE_FIELD = re.compile(r"\{[^{}:!]*[.\[]")
"""A format field that accesses attributes or items of its value."""

FindModule = Callable[[str, str], tuple[str, ast.Module] | None]
"""Maps the name in an import (`.units`) and the importing module to the full name and source of a module of the same
package; None if it belongs to another package.
"""


class _Impure(Exception):
    """The reason why a module is not proved, as a clause for messages."""


def why_impure(module: ast.Module, where: str, find: FindModule | None = None) -> str | None:
    """Return the reason, with its line, why the functions of a module are not proved pure; None if they are.

    `where` is the module's name for messages. Without `find`, imports of other modules of the package are refused.

    >>> why_impure(ast.parse("import re\\ndef f(t: str) -> int:\\n    return len(re.findall('a', t))"), "f.py")
    >>> why_impure(ast.parse("def f(t: str) -> str:\\n    return open(t).read()"), "f.py")
    'line 2 of f.py uses `open`'
    """
    try:
        package = _Package(find)
        package.check(module, where)
        package.check_translations()
    except _Impure as reason:
        return str(reason)
    except RecursionError:
        return f"{where} is nested too deep"
    return None


@dataclass
class _Package:
    """The checked modules of one package."""

    find: FindModule | None
    names_by_module: dict[str, dict[str, bool]] = field(default_factory=dict)
    """For every module checked: its top-level names, and whether their values are mutable."""
    attributes: set[str] = field(default_factory=set)
    """Every name that one of the modules binds or sets as an attribute, and the `CLASS_FACTORIES` that it uses."""
    translations: list[_Impure] = field(default_factory=list)
    """For each call of `translate` with a mutable top-level value, the reason to refuse it."""

    def check(self, module: ast.Module, where: str) -> dict[str, bool]:
        """Check a module once and return its top-level names, with whether their values are mutable. Raises
        `_Impure`.
        """
        if where in self.names_by_module:
            return self.names_by_module[where]
        if len(self.names_by_module) >= MOST_MODULES:
            raise _Impure(f"more than {MOST_MODULES} modules are imported")
        self.names_by_module[where] = {}
        self.names_by_module[where] = _Module(self, module, where).check()
        return self.names_by_module[where]

    def check_translations(self) -> None:
        """Raise `_Impure` if a mutable value is passed to a method `translate` that may not be that of a text."""
        if self.translations and self.attributes & {"translate", *COMPUTED_ATTRIBUTES, *CLASS_FACTORIES}:
            raise self.translations[0]


class _Module:
    """The check of one module."""

    def __init__(self, package: _Package, module: ast.Module, where: str) -> None:
        self.package = package
        self.module = module
        self.where = where
        self.top: dict[str, bool] = {}
        """The top-level names, and whether their values are mutable."""
        self.bound_names: dict[str, tuple[str, str]] = {}
        """The names imported from safe modules, each with its module and its name there."""
        self.modules: dict[str, str] = {}
        """The names of modules that are imported as a whole."""
        self.origins: dict[str, tuple[str, str]] = {}
        """The module of every imported name, and its name there; empty for a module imported as a whole."""
        self.rebound: set[str] = set()
        """The names that the top of the module, or of a class, binds to something that is not imported."""
        self.bound = {node.id for node in ast.walk(module) if isinstance(node, ast.Name) and stores(node)}
        """Every name bound anywhere in the module."""
        self.parents = {inner: node for node in ast.walk(module) for inner in ast.iter_child_nodes(node)}

    def check(self) -> dict[str, bool]:
        """Return the top-level names, with whether their values are mutable. Raises `_Impure`."""
        for node in ast.walk(self.module):
            self._bind(node)
        self.package.attributes |= self.bound
        self._top(self.module.body)
        for node in ast.walk(self.module):
            self._node(node)
        return self.top

    def _refuse(self, node: ast.AST, what: str) -> _Impure:
        return _Impure(f"line {getattr(node, 'lineno', 1)} of {self.where} {what}")

    # --- names ---

    def _bind(self, node: ast.AST) -> None:
        match node:
            case ast.Import():
                for alias in node.names:
                    self._import(node, alias)
            case ast.ImportFrom():
                self._import_from(node)
            case ast.arg(arg=name):
                self._bound(node, name)
            case ast.Name(id=name) if stores(node):
                self._rebound(node, name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self._bound(node, name)
                self._rebound(node, name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                self._bound(node, name)
                self._rebound(node, name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                self._bound(node, name)
                self._rebound(node, name)
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in CLASS_FACTORIES:
                self.package.attributes.add(name)
            case ast.Attribute(attr=name) if not isinstance(node.ctx, ast.Load):
                self.package.attributes.add(name)

    def _rebound(self, node: ast.AST, name: str) -> None:
        if not in_body(node, self.parents):
            self.rebound.add(name)

    def _bound(self, node: ast.AST, name: str) -> None:
        if hasattr(builtins, name) and name not in SAFE_BUILTINS:
            raise self._refuse(node, f"calls something of its own `{name}`")
        if name == "self" and not isinstance(node, ast.arg):
            raise self._refuse(node, "calls something else `self`")
        self.bound.add(name)

    def _import(self, node: ast.stmt, alias: ast.alias) -> None:
        if alias.name not in SAFE_MODULES or ("." in alias.name and alias.asname is None):
            raise self._refuse(node, f"imports `{alias.name}`")
        name = alias.asname or alias.name
        self._imported(node, name, (alias.name, ""))
        self.modules[name] = alias.name

    def _imported(self, node: ast.stmt, name: str, origin: tuple[str, str]) -> None:
        self._bound(node, name)
        hides = hasattr(builtins, name) and in_body(node, self.parents)  # outside of the function it is the built-in
        if hides or self.origins.setdefault(name, origin) != origin:
            raise self._refuse(node, f"imports something else as `{name}` too")
        if origin[1] in CLASS_FACTORIES:
            self.package.attributes.add(origin[1])

    def _import_from(self, node: ast.ImportFrom) -> None:
        text = "." * node.level + (node.module or "")
        sibling_names = None if text in SAFE_MODULES else self._sibling_names(node, text)
        for alias in node.names:
            name = alias.asname or alias.name
            known = safe_name(text, alias.name) if sibling_names is None else alias.name in sibling_names
            if not known:
                raise self._refuse(node, f"imports `{alias.name}` of `{text}`")
            self._imported(node, name, (text, alias.name))
            if sibling_names is None:
                self.bound_names[name] = (text, alias.name)
            else:
                self.top[name] = sibling_names[alias.name]

    def _sibling_names(self, node: ast.ImportFrom, written: str) -> dict[str, bool]:
        """Return the top-level names of a module of the same package."""
        sibling = self.package.find(written, self.where) if self.package.find is not None else None
        if sibling is None:
            raise self._refuse(node, f"imports `{written}`")
        return self.package.check(sibling[1], sibling[0])

    def _origin(self, node: ast.expr) -> Called:
        """Return the module and name of an imported name, or the name alone of a built-in."""
        match node:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id=name)) if name in self.rebound:
                return None
            case ast.Name(id=name) if name in self.bound_names:
                return self.bound_names[name]
            case ast.Name(id=name):
                return name if name not in self.bound else None
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in self.modules:
                return self.modules[name], attribute
        return None

    # --- the top level ---

    def _top(self, body: list[ast.stmt]) -> None:
        """Check the statements that run at import: declarations, and values that no function can change."""
        for node in body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    self.top.setdefault(node.name, False)
                case ast.Assign(targets=targets, value=value) if all(
                    isinstance(target, ast.Name) for target in targets
                ):
                    changing = self._value(value)
                    for name in (target.id for target in targets if isinstance(target, ast.Name)):
                        self.top[name] = changing or self.top.get(name, False)
                case ast.AnnAssign(target=ast.Name(id=name), value=value):
                    self.top[name] = (value is not None and self._value(value)) or self.top.get(name, False)
                case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Expr(value=ast.Constant()):
                    pass
                case ast.If(
                    test=ast.Compare(
                        left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]
                    ),
                    orelse=[],
                ):
                    pass  # the file as a script; its body is checked like the rest
                case ast.If(body=then, orelse=otherwise):
                    self._top(then)
                    self._top(otherwise)
                case _:
                    raise self._refuse(node, "does more at the top of the module than declare")

    def _value(self, node: ast.expr) -> bool:
        """Return true if a top-level value is mutable: a list, set or dictionary of immutable parts. Refuses any other
        mutable value.
        """
        inner: list[ast.expr] = []
        match node:
            case ast.List() | ast.Set() | ast.Dict() | ast.ListComp() | ast.SetComp() | ast.DictComp():
                inner = [element for element in elements(node) if not self._fixed(element)]
                inner += [
                    generator.iter for generator in getattr(node, "generators", ()) if not self._plain(generator.iter)
                ]
            case ast.Call(func=ast.Attribute(value=ast.Name(id="str"), attr="maketrans"), args=args, keywords=[]):
                inner = [part for argument in args for part in elements(argument) if not self._fixed(part)]
                inner += [argument for argument in args if not isinstance(argument, ast.Dict | ast.Constant)]
                inner += [node] if "str" in self.bound else []
            case ast.Call(func=ast.Name(id="set" | "list" | "dict" as name), args=args, keywords=given):
                inner = [argument for argument in args if not self._literal(argument)]
                inner += [keyword.value for keyword in given if not self._fixed(keyword.value)]
                inner += [node] if name in self.bound else []
            case _ if self._fixed(node):
                return False
            case _:
                inner = [node]
        if inner:
            raise self._refuse(inner[0], "keeps a value that could remember something")
        return True

    def _fixed(self, node: ast.expr) -> bool:
        """Return true if the value is immutable."""
        match node:
            case ast.Constant() | ast.JoinedStr() | ast.Lambda():
                return True
            case ast.Compare(left=left, comparators=others):
                return all(self._fixed(expr) or self._is_top(expr) for expr in (left, *others))
            case ast.Name(id=name):
                return not self.top.get(name, False)
            case ast.Attribute(value=ast.Name(id=name)):
                return name in self.modules and name not in self.rebound
            case ast.Tuple(elts=parts) | ast.BoolOp(values=parts):
                return all(self._fixed(part) for part in parts)
            case ast.UnaryOp(operand=operand):
                return self._fixed(operand)
            case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
                return self._fixed(left) and self._fixed(right)
            case ast.Subscript(value=value):  # an alias of a type
                return self._origin(value) is not None and not any(map(self._is_top, ast.walk(node)))
            case ast.Call(func=ast.Name(id="frozenset" | "tuple" | "range" as name), args=args):
                return name not in self.bound and all(self._literal(argument) for argument in args)
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr=name)):
                return name not in MUTABLE_RESULTS
            case ast.Call(func=called, args=args, keywords=given):
                handed = (*args, *(keyword.value for keyword in given))
                return self._origin(called) in IMMUTABLE_RESULTS and all(
                    self._fixed(expr) or self._literal(expr) or self._is_top(expr) for expr in handed
                )
        return False

    def _literal(self, node: ast.expr) -> bool:
        """Return true if the expression is a text, a list of texts, the words of a text or the like, of immutable
        parts.
        """
        match node:
            case ast.Constant() | ast.JoinedStr():
                return True
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                return all(isinstance(part, ast.Constant | ast.Tuple) and self._literal(part) for part in parts)
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="split" | "splitlines")):
                return True
            case ast.Call(func=ast.Name(id="range"), args=args):
                return "range" not in self.bound and all(isinstance(argument, ast.Constant) for argument in args)
        origin = self._origin(node) if isinstance(node, ast.Attribute) else None
        return origin is not None and origin[0] == "string"

    def _is_top(self, node: ast.AST) -> bool:
        """Return true if the node names a mutable top-level value."""
        return isinstance(node, ast.Name) and self.top.get(node.id, False)

    def _plain(self, node: ast.expr) -> bool:
        """Return true if a comprehension at the top iterates over immutable parts."""
        match node:
            case ast.Name(id=name):
                return name in self.top
            case ast.Call(func=ast.Name(id="enumerate" | "zip" | "sorted" | "reversed" as name), args=args):
                return name not in self.bound and all(self._plain(argument) for argument in args)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="items" | "keys" | "values")):
                return self.top.get(name, False)
        return self._literal(node)

    # --- all nodes ---

    def _node(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name):
                self._name(node, name)
            case ast.Attribute(attr=name, value=value):
                self._attribute(node, name, value)
            case ast.Global():
                raise self._refuse(node, f"changes `{node.names[0]}` of the module")
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._declared(node)
            case ast.Lambda():
                self._defaults(node.args)
            case ast.MatchClass(cls=of, patterns=patterns, kwd_attrs=names):
                if patterns and not (isinstance(of, ast.Name) and of.id not in self.bound):
                    raise self._refuse(node, f"looks into `{ast.unparse(of)}` by place")
                for alias in names:
                    self._named(node, alias)
            case ast.NamedExpr(target=target):
                if not in_body(node, self.parents):
                    raise self._refuse(
                        node, f"names `{target.id}` where it is declared, and so could remember something"
                    )

    def _name(self, node: ast.Name, name: str) -> None:
        if hasattr(builtins, name) and name not in SAFE_BUILTINS:
            raise self._refuse(node, f"uses `{name}`")
        if name.startswith("__") and name.endswith("__") and name not in OWN_NAMES:
            raise self._refuse(node, f"uses `{name}`")
        if stores(node):
            return
        if name not in self.bound and name not in SAFE_BUILTINS:
            raise self._refuse(node, f"uses `{name}`, which it does not define")
        if name in self.modules and not isinstance(self.parents.get(node), ast.Attribute):
            raise self._refuse(node, f"hands on the module `{name}`")
        if self.top.get(name) and not self._only_read(node):
            raise self._could_change(node, name)

    def _could_change(self, node: ast.AST, name: str) -> _Impure:
        return self._refuse(node, f"could change `{name}`, and so remember something")

    def _only_read(self, node: ast.Name) -> bool:
        """Return true if a mutable top-level value is only read here."""
        parent = self.parents.get(node)
        match parent:
            case ast.Subscript(value=value, ctx=ast.Load()) if value is node:
                return True
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[value]) | ast.Starred(value=value):
                return value is node
            case ast.For(iter=value) | ast.comprehension(iter=value) if value is node:
                return True
            case ast.Call(func=ast.Name(id=name)):
                return (
                    name in NON_MUTATING_FUNCTIONS and name not in self.bound and not may_return_argument(parent, node)
                )
            case ast.Attribute(attr=name):
                return name in NON_MUTATING_METHODS and isinstance(self.parents.get(parent), ast.Call)
            case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join")):
                return True
            case ast.Call(func=ast.Attribute(attr="translate")):
                self.package.translations.append(self._could_change(node, node.id))
                return True
            case ast.If(test=value) | ast.IfExp(test=value) | ast.While(test=value) | ast.UnaryOp(operand=value):
                return value is node
        return False

    def _attribute(self, node: ast.Attribute, name: str, value: ast.expr) -> None:
        self._named(node, name)
        if isinstance(value, ast.Name) and value.id in self.modules and not safe_name(self.modules[value.id], name):
            raise self._refuse(node, f"uses `{value.id}.{name}`")
        if not isinstance(node.ctx, ast.Load) and not self._sets_itself(node):
            raise self._refuse(node, f"changes the attribute `{name}`")
        plain = (
            isinstance(value, ast.Constant) and isinstance(value.value, str) and not ATTRIBUTE_FIELD.search(value.value)
        )
        if name == "format" and not plain:
            raise self._refuse(node, "formats a text that it does not write out itself")

    def _named(self, node: ast.AST, name: str) -> None:
        made = name == "__init__" and isinstance(node, ast.Attribute) and ast.unparse(node.value) == "super()"
        if unsafe_attribute(name) and not (made and "super" not in self.bound and in_constructor(node, self.parents)):
            raise self._refuse(node, f"uses `{name}`")

    def _sets_itself(self, node: ast.Attribute) -> bool:
        """Return true if a constructor sets an attribute of the new object."""
        return in_constructor(node, self.parents) and isinstance(node.value, ast.Name) and node.value.id == "self"

    def _declared(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        for expr in node.decorator_list:
            called = expr.func if isinstance(expr, ast.Call) else expr
            if self._origin(called) not in DECORATORS:
                raise self._refuse(expr, f"decorates `{node.name}` with `{ast.unparse(called)}`")
        if not isinstance(node, ast.ClassDef):
            self._defaults(node.args)
            return
        if node.keywords:
            raise self._refuse(node, f"declares `{node.name}` with `{node.keywords[0].arg}`")
        for base in node.bases:
            if not self._fixed(base):
                raise self._refuse(base, f"declares `{node.name}` from what it computes")
        for part in node.body:
            match part:
                case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                    if not self._made_anew(value) and not self._fixed(value):
                        raise self._refuse(part, "keeps a value that could remember something")
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.AnnAssign() | ast.Pass():
                    pass
                case ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    raise self._refuse(part, f"does more in `{node.name}` than declare")

    def _made_anew(self, value: ast.expr) -> bool:
        """Return true if a class attribute is `field(…)`, which creates a value for each object."""
        if not isinstance(value, ast.Call) or self._origin(value.func) != ("dataclasses", "field"):
            return False
        exprs = {keyword.arg: keyword.value for keyword in value.keywords}
        makes = exprs.pop("default_factory", None)
        return (
            not value.args
            and None not in exprs
            and isinstance(makes, ast.Name | ast.Lambda | None)
            and all(self._fixed(expr) for expr in exprs.values())
        )

    def _defaults(self, args: ast.arguments) -> None:
        for expr in (*args.defaults, *(default for default in args.kw_defaults if default is not None)):
            if not self._fixed(expr):
                raise self._refuse(expr, "keeps a value that could remember something")
