"""What of Python reads nothing and remembers nothing: the modules, names and calls that `purity.py` lets pass."""

from __future__ import annotations

import importlib
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
OWN_NAMES = frozenset({"__name__", "__all__", "__slots__", "__match_args__", "__version__"})
"""Names between double underscores that a module may use."""
READERS = frozenset(
    {"all", "any", "bool", "dict", "enumerate", "filter", "frozenset", "isinstance", "len", "list", "map", "max", "min"}
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
    """Whether no attribute of that name may be looked at: it is of Python's own machinery, or in `UNSAFE`."""
    return name in UNSAFE or (name.startswith("_") and name.endswith("_"))


@cache
def safe_name(module: str, name: str) -> bool:
    """Whether a name of a module that reads nothing may be used: a public one, and no module that it imports itself.

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
