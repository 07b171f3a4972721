"""The pure part of Python: the modules, names and calls that `purity.py` lets pass."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType

SAFE_MODULES = frozenset(
    {"__future__", "abc", "ast", "base64", "binascii", "bisect", "collections", "collections.abc", "copy"}
    | {"dataclasses", "datetime", "decimal", "difflib", "fractions", "functools", "hashlib", "heapq", "html"}
    | {"itertools", "json", "math", "numbers", "operator", "re", "statistics", "string", "textwrap", "typing"}
    | {"unicodedata", "urllib.parse"}
)
"""Modules that read nothing but what they are given, apart from `UNSAFE`."""
ONLY = {
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
"""Modules of which only these names are taken."""
UNSAFE = frozenset(
    {"now", "today", "utcnow", "fromtimestamp", "utcfromtimestamp", "astimezone", "timestamp"}  # the clock and its zone
    | {"getcontext", "setcontext", "localcontext", "DefaultContext", "BasicContext", "ExtendedContext"}  # can be set
    | {"cache", "lru_cache", "cache_info", "singledispatch", "singledispatchmethod", "register"}  # remember
    | {"wraps", "update_wrapper", "attrgetter", "methodcaller", "Formatter", "format_map", "mro"}  # reach further
    | {"HtmlDiff", "make_dataclass"}  # count, and name fields by a text
    | {"file_digest", "samples"}  # a file, chance
    | {"algorithms_available", "algorithms_guaranteed", "TextWrapper", "_field_defaults"}  # could be changed for all
    | {"gi_frame", "gi_code", "gi_yieldfrom", "cr_frame", "cr_code", "cr_await", "ag_frame", "ag_code", "ag_await"}
    | {"f_back", "f_globals", "f_locals", "f_builtins", "f_code", "tb_frame", "tb_next", "co_code", "co_consts"}
)
"""Names that no attribute and nothing that is imported may have."""
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
"""Names between double underscores that a module may use."""
READERS = frozenset(
    {"all", "any", "bool", "dict", "enumerate", "filter", "frozenset", "len", "list", "map", "max", "min"}
    | {"range", "repr", "reversed", "set", "sorted", "str", "sum", "tuple", "zip"}
)
"""Functions that change none of their arguments."""
READING = frozenset(
    {"get", "items", "keys", "values", "index", "count", "copy", "union", "intersection", "difference"}
    | {"issubset", "issuperset", "isdisjoint"}
)
"""Methods of a list, set or dictionary that do not change it."""
Called = str | tuple[str, str] | None
"""A name that is built in, or a module and a name of it; None of what is neither."""
DECORATORS: frozenset[Called] = frozenset(
    {
        *("staticmethod", "classmethod", "property", ("abc", "abstractmethod")),
        *(("dataclasses", "dataclass"), ("functools", "total_ordering"), ("functools", "cached_property")),
    }
)
FIXED: frozenset[Called] = frozenset(
    {
        *("int", "float", "str", "len", "round"),
        *(("re", "compile"), ("decimal", "Decimal"), ("fractions", "Fraction"), ("datetime", "timedelta")),
        *(("datetime", "date"), ("typing", "TypeVar"), ("operator", "itemgetter"), ("collections", "namedtuple")),
    }
)
"""Calls that give values which nobody can change: names that are built in, and names of modules."""


def unsafe_attribute(name: str) -> bool:
    """Return true if no attribute of that name may be looked at: it is of Python's own machinery, or in `UNSAFE`."""
    return name in UNSAFE or (name.startswith("_") and name.endswith("_"))


@cache
def safe_name(module: str, name: str) -> bool:
    """Return true if a name of a module that reads nothing may be used: a public one, and no module that it imports
    itself.

    >>> safe_name("re", "findall"), safe_name("re", "enum"), safe_name("datetime", "datetime"), safe_name("re", "_x")
    (True, False, True, False)
    """
    if name in UNSAFE or name.startswith("_"):
        return False
    if module in ONLY:
        return name in ONLY[module]
    found = importlib.import_module(module)
    public = getattr(found, "__all__", None)
    return name in (dir(found) if public is None else public) and not isinstance(getattr(found, name, None), ModuleType)


Parents = Mapping[ast.AST, ast.AST]


def stores(node: ast.Name) -> bool:
    """Return true if a name is given a meaning."""
    return isinstance(node.ctx, ast.Store | ast.Del)


def elements(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what is put into a list, set or dictionary that is written out."""
    match node:
        case ast.List(elts=parts) | ast.Set(elts=parts):
            yield from parts
        case ast.Dict(keys=keys, values=values):
            yield from (each for each in (*keys, *values) if each is not None)
        case ast.ListComp(elt=part) | ast.SetComp(elt=part):
            yield part
        case ast.DictComp(key=key, value=value):
            yield from (key, value)


def literal(node: ast.expr) -> bool:
    """Return true if a value is a text, a list of texts or the words of a text, and the like: of parts that nobody
    changes."""
    match node:
        case ast.Constant() | ast.JoinedStr():
            return True
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return all(isinstance(each, ast.Constant | ast.Tuple) and literal(each) for each in parts)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="split" | "splitlines")):
            return True
        case ast.Call(func=ast.Name(id="range"), args=args):
            return all(isinstance(each, ast.Constant) for each in args)
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "string"


def gives_back(call: ast.Call, argument: ast.expr) -> bool:
    """Return true if a function of `READERS` may give an argument back as it is: the greatest of two lists is one of
    them."""
    match call:
        case ast.Call(func=ast.Name(id="max" | "min"), args=args):
            return len(args) > 1
        case ast.Call(func=ast.Name(id="sum"), args=args):
            return args[0] is not argument
    return False


def in_making(node: ast.AST, parents: Parents) -> bool:
    """Return true if it stands in what makes an object, which is called `self` there, and nothing else is."""
    over = parents.get(node)
    while over is not None and not isinstance(over, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        over = parents.get(over)
    return (
        isinstance(over, ast.FunctionDef)
        and over.name in ("__init__", "__post_init__")
        and isinstance(parents.get(over), ast.ClassDef)
        and not over.decorator_list
        and [each.arg for each in (*over.args.posonlyargs, *over.args.args)][:1] == ["self"]
        and not any(isinstance(each, ast.Name) and each.id == "self" and stores(each) for each in ast.walk(over))
    )


def in_body(node: ast.AST, parents: Parents) -> bool:
    """Return true if it stands in the body of a function, and is looked at when that is called."""
    inner, over = node, parents.get(node)
    while over is not None:
        match over:
            case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body) if inner in body:
                return True
            case ast.Lambda(body=value) if inner is value:
                return True
        inner, over = over, parents.get(over)
    return False
