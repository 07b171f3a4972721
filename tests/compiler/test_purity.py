"""Python functions that provably read nothing and remember nothing, and those that are not proved."""

from __future__ import annotations

import ast
import importlib
import json
import random
from pathlib import Path

import pytest
from compiling import compile_files, plan_of

from tests.each import each
from tripos_compiler.resolve.purity import SAFE_MODULES, safe_name, unsafe_attribute, why_impure

PURE = {
    "a pattern": 'import re\nP = re.compile(r"\\d+", re.I | re.M)\ndef f(t: str) -> bool:\n    return bool(P.search(t))\n',
    "a table": 'UNITS = {"m": 1.0, "km": 1e3}\ndef f(t: str) -> float:\n    return UNITS[t] if t in UNITS else 0.0\n',
    "a table of names": 'WORDS = set("a b c".split())\ndef f(t: str) -> bool:\n    return t in WORDS\n',
    "a table made of another": (
        'A = {"a": 1}\nB = {v: k for k, v in A.items()}\ndef f(n: int) -> str:\n    return B.get(n, "")\n'
    ),
    "a translation": 'T = str.maketrans("ab", "ba")\ndef f(t: str) -> str:\n    return t.translate(T)\n',
    "json": "import json\ndef f(t: str) -> int:\n    return len(json.loads(t))\n",
    "a day": "from datetime import date\ndef f(t: str) -> int:\n    return date.fromisoformat(t).year\n",
    "a class": (
        "from dataclasses import dataclass, field\n@dataclass\nclass Box:\n    parts: list = field(default_factory=list)\n"
        "    size: int = 0\n    def __post_init__(self):\n        self.size = len(self.parts)\n"
        "def f(t: str) -> int:\n    return Box([t]).size\n"
    ),
    "its own lists": "def f(t: str) -> int:\n    seen = []\n    seen.append(t)\n    seen[0] += t\n    return len(seen)\n",
    "a closure": (
        "def f(t: str) -> int:\n    n = 0\n    def more():\n        nonlocal n\n        n += 1\n    more()\n    return n\n"
    ),
    "a format that is written out": 'def f(n: float) -> str:\n    return "{:.2f}".format(n) + f"{n:.1f}"\n',
    "a script": 'def f(t: str) -> str:\n    return t\nif __name__ == "__main__":\n    print(f("a"))\n',
    "an error": 'def f(t: str) -> str:\n    if not t:\n        raise ValueError(f"nothing in {t!r}")\n    return t\n',
    "a pattern of names": (
        'import re\nWORDS = ("a", "b")\nP = re.compile("|".join(WORDS), re.I)\n'
        "def f(t: str) -> bool:\n    return bool(P.search(t))\n"
    ),
    "a named tuple": (
        'from collections import namedtuple\nPair = namedtuple("Pair", ["a", "b"])\n'
        "def f(t: str) -> str:\n    return Pair(t, 1).a\n"
    ),
    "a name of an import in a function": (
        "from datetime import date\nDAY = date(2020, 1, 1)\n"
        "def f(t: str) -> int:\n    date = t\n    return len(date) + DAY.year\n"
    ),
    "a table by keys": "LENGTHS = dict(m=1.0, km=1e3)\ndef f(t: str) -> float:\n    return LENGTHS.get(t, 0.0)\n",
    "a number of names": 'WORDS = ["a", "b"]\nMANY = len(WORDS)\nFEW = MANY < 3\ndef f(t: str) -> bool:\n    return FEW\n',
    "a name that is given inside": "def f(t: str) -> int:\n    if (n := len(t)) > 3:\n        return n\n    return 0\n",
    "an alias of a type": (
        "from typing import Optional\nPairs = dict[str, Optional[int]]\n"
        "def f(t: str) -> int:\n    found: Pairs = {t: 1}\n    return found[t] or 0\n"
    ),
    "a pattern of types": (
        "def f(t: str) -> int:\n    match t:\n        case str(word):\n            return len(word)\n    return 0\n"
    ),
    "the greatest of a list": "NUMBERS = [1, 2]\ndef f(t: str) -> int:\n    return max(NUMBERS) + sum(NUMBERS)\n",
    "a frozen class": (
        'from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass Unit:\n    name: str = "m"\n'
        "    parts: tuple = field(default=(), repr=False)\ndef f(t: str) -> str:\n    return Unit(t).name\n"
    ),
}
IMPURE = {
    "a file": 'def f(t: str) -> str:\n    return open("keys.txt").read()\n',
    "a file by path": "from pathlib import Path\ndef f(t: str) -> str:\n    return Path(t).read_text()\n",
    "a file by os": "import os\ndef f(t: str) -> str:\n    return os.popen(t).read()\n",
    "a module of a module": 'import re\ndef f(t: str) -> str:\n    return re.enum.sys.modules["os"].popen(t).read()\n',
    "a name of a private module": "from re import _compiler as c\ndef f(t: str) -> str:\n    return c.sys\n",
    "eval": "def f(t: str) -> str:\n    return eval(t)\n",
    "a hidden import": 'def f(t: str) -> str:\n    return __import__("os").popen(t).read()\n',
    "the built-in names": 'def f(t: str) -> str:\n    return __builtins__["open"](t).read()\n',
    "getattr": 'def f(t: str) -> str:\n    return getattr(t, "__cl" + "ass__")\n',
    "a dunder": "def f(t: str) -> str:\n    return str(t.__class__.__mro__[1].__subclasses__())\n",
    "a dunder in a pattern": (
        "def f(t: str) -> str:\n    match f:\n        case object(__globals__=g):\n            return str(g)\n    return t\n"
    ),
    "a dunder in a format": 'def f(t: str) -> str:\n    return "{0.__globals__}".format(f)\n',
    "a format that is given": "def f(t: str) -> str:\n    return t.format(f)\n",
    "a format by name": "def f(t: str) -> str:\n    return str.format(t, f)\n",
    "a frame": "def f(t: str) -> str:\n    g = (x for x in t)\n    return str(g.gi_frame.f_globals)\n",
    "globals": "def f(t: str) -> str:\n    return str(globals())\n",
    "input": "def f(t: str) -> str:\n    return input()\n",
    "the clock": "from datetime import datetime\ndef f(t: str) -> str:\n    return str(datetime.now())\n",
    "chance": "import random\ndef f(t: str) -> float:\n    return random.random()\n",
    "a file beside": "from keys import KEYS\ndef f(t: str) -> str:\n    return KEYS[t]\n",
    "everything": "from math import *\ndef f(t: str) -> float:\n    return sin(1)\n",
    "a list that grows": "SEEN = []\ndef f(t: str) -> str:\n    SEEN.append(t)\n    return SEEN[0]\n",
    "a list that is handed on": "SEEN = []\ndef g(s):\n    return s\ndef f(t: str) -> str:\n    return g(SEEN)[0]\n",
    "a list under another name": "SEEN = []\ndef f(t: str) -> str:\n    s = SEEN\n    s.append(t)\n    return s[0]\n",
    "a list in a list": "SEEN = [[]]\ndef f(t: str) -> str:\n    SEEN[0].append(t)\n    return SEEN[0][0]\n",
    "a list in a pair": "SEEN = ([],)\ndef f(t: str) -> str:\n    SEEN[0].append(t)\n    return SEEN[0][0]\n",
    "a list by an assignment inside": "A = (B := [])\ndef f(t: str) -> str:\n    B.append(t)\n    return B[0]\n",
    "a list that is kept once": (
        "if True:\n    SEEN = []\nelse:\n    SEEN = 1\ndef f(t: str) -> str:\n    SEEN.append(t)\n    return SEEN[0]\n"
    ),
    "an item that is set": 'SEEN = {}\ndef f(t: str) -> str:\n    SEEN["a"] = t\n    return SEEN["a"]\n',
    "a comparison that keeps": (
        "SEEN = []\nclass A:\n    def __eq__(self, other):\n        other.append(1)\n        return True\n"
        "def f(t: str) -> bool:\n    return A() == SEEN\n"
    ),
    "a global": "N = 0\ndef f(t: str) -> int:\n    global N\n    N += 1\n    return N\n",
    "a default": "def f(t: str, seen: list[str] = []) -> str:\n    seen.append(t)\n    return seen[0]\n",
    "a default of a lambda": "G = lambda t, seen=[]: seen.append(t)\ndef f(t: str) -> str:\n    return str(G(t))\n",
    "an attribute of itself": "def f(t: str) -> str:\n    f.seen = t\n    return f.seen\n",
    "an attribute by a method": (
        "class A:\n    def put(self, t):\n        self.x = t\ndef f(t: str) -> str:\n    A.put(A, t)\n    return A.x\n"
    ),
    "a class that keeps": "class A:\n    seen = []\ndef f(t: str) -> str:\n    A.seen.append(t)\n    return A.seen[0]\n",
    "an object that keeps": (
        "class A:\n    def __init__(self):\n        self.seen = []\nONE = A()\n"
        "def f(t: str) -> str:\n    ONE.seen.append(t)\n    return ONE.seen[0]\n"
    ),
    "a field that keeps": (
        "from dataclasses import dataclass, field\nclass A:\n    def __init__(self):\n        self.seen = []\n"
        "@dataclass\nclass B:\n    a: A = field(default=A())\ndef f(t: str) -> int:\n    B().a.seen.append(t)\n    return 1\n"
    ),
    "a cache": (
        "from functools import lru_cache\n@lru_cache\ndef seen() -> list[str]:\n    return []\n"
        "def f(t: str) -> str:\n    seen().append(t)\n    return seen()[0]\n"
    ),
    "a decorator that keeps": (
        "def unique(g):\n    seen = []\n    def inner(t: str) -> str:\n        seen.append(t)\n        return seen[0]\n"
        "    return inner\n@unique\ndef f(t: str) -> str:\n    return t\n"
    ),
    "an iterator": "IT = iter([1, 2])\ndef f(t: str) -> int:\n    return next(IT)\n",
    "a loop at the top": "for i in (1, 2):\n    pass\ndef f(t: str) -> str:\n    return t\n",
    "a call at the top": "def g():\n    return []\nSEEN = g()\ndef f(t: str) -> str:\n    SEEN.append(t)\n    return SEEN[0]\n",
    "a name that is not there": "def f(t: str) -> str:\n    return KEYS[t]\n",
    "len of its own": (
        "SEEN = []\ndef len(s):\n    s.append(1)\n    return s\ndef f(t: str) -> str:\n    return str(len(SEEN))\n"
    ),
    "a context of decimals": "import decimal\ndef f(t: str) -> int:\n    decimal.getcontext().prec += 1\n    return 1\n",
    "a part of a list": "SEEN = [[]][0]\ndef f(t: str) -> str:\n    SEEN.append(t)\n    return SEEN[0]\n",
    "a part of a dictionary": 'SEEN = {"a": []}["a"]\ndef f(t: str) -> str:\n    SEEN.append(t)\n    return SEEN[0]\n',
    "a part of a class": (
        "class A:\n    def __class_getitem__(cls, key):\n        return []\nSEEN = A[0]\n"
        "def f(t: str) -> str:\n    SEEN.append(t)\n    return SEEN[0]\n"
    ),
    "a name in a comparison": "SAME = (SEEN := []) == 1\ndef f(t: str) -> str:\n    SEEN.append(t)\n    return SEEN[0]\n",
    "a name in a text": 'TOLD = f"{(SEEN := [])}"\ndef f(t: str) -> str:\n    SEEN.append(t)\n    return SEEN[0]\n',
    "a name in a condition": "if (SEEN := []):\n    pass\ndef f(t: str) -> str:\n    SEEN.append(t)\n    return SEEN[0]\n",
    "a name in an annotation": "N: (SEEN := []) = 1\ndef f(t: str) -> str:\n    SEEN.append(t)\n    return SEEN[0]\n",
    "a name in a default": (
        "def g(n=(SEEN := []) == 1):\n    return n\ndef f(t: str) -> str:\n    SEEN.append(t)\n    return SEEN[0]\n"
    ),
    "a name in a parameter": (
        "def g(n: (SEEN := [])):\n    return n\ndef f(t: str) -> str:\n    SEEN.append(t)\n    return SEEN[0]\n"
    ),
    "a name in a decorator": (
        "from dataclasses import dataclass\n@dataclass(frozen=bool(SEEN := []))\nclass A:\n    x: int = 0\n"
        "def f(t: str) -> str:\n    SEEN.append(t)\n    return SEEN[0]\n"
    ),
    "what is no script": (
        'if __name__ != "__main__":\n    SEEN = []\ndef f(t: str) -> str:\n    SEEN.append(t)\n    return SEEN[0]\n'
    ),
    "beside a script": (
        'if __name__ == "__main__":\n    pass\nelse:\n    SEEN = []\ndef f(t: str) -> str:\n'
        "    SEEN.append(t)\n    return SEEN[0]\n"
    ),
    "a default of a named tuple": (
        'from collections import namedtuple\nA = namedtuple("A", "seen", defaults=[[]])\n'
        "def f(t: str) -> str:\n    A().seen.append(t)\n    return A().seen[0]\n"
    ),
    "a base that keeps": (
        'from collections import namedtuple\nclass A(namedtuple("B", "seen", defaults=[[]])):\n    pass\n'
        "def f(t: str) -> str:\n    A().seen.append(t)\n    return A().seen[0]\n"
    ),
    "a base by a key": (
        'class B:\n    def __class_getitem__(cls, key):\n        return type("K", (), {"seen": []})\n'
        "class A(B[0]):\n    pass\ndef f(t: str) -> str:\n    A.seen.append(t)\n    return A.seen[0]\n"
    ),
    "a round number": (
        "class A:\n    def __round__(self):\n        return []\nSEEN = round(A())\ndef f(t: str) -> str:\n"
        "    SEEN.append(t)\n    return SEEN[0]\n"
    ),
    "a field of one list": (
        "from dataclasses import dataclass, field\nfrom functools import partial\n@dataclass\nclass A:\n"
        "    seen: list = field(default_factory=partial(lambda s: s, []))\ndef f(t: str) -> str:\n"
        "    A().seen.append(t)\n    return A().seen[0]\n"
    ),
    "a field with a note": (
        "from dataclasses import dataclass, field, fields\n@dataclass\nclass A:\n"
        '    x: int = field(default=0, metadata={"seen": []})\ndef f(t: str) -> str:\n'
        '    fields(A)[0].metadata["seen"].append(t)\n    return fields(A)[0].metadata["seen"][0]\n'
    ),
    "a translation to a list": 'T = str.maketrans({"a": []})\ndef f(t: str) -> str:\n    T[97].append(t)\n    return T[97][0]\n',
    "a class that makes itself": (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    n: int = 0\n    x = ''\n"
        "    @classmethod\n    def __post_init__(self):\n        self.x = self.x + 'a'\n"
        "def f(t: str) -> str:\n    A()\n    return t + A.x\n"
    ),
    "another that is called self": (
        "from dataclasses import InitVar, dataclass\nclass Store:\n    x = ''\n@dataclass\nclass A:\n"
        "    one: InitVar[type]\n    v: InitVar[str]\n    def __post_init__(this, self, v):\n"
        "        self.x = v\ndef f(t: str) -> str:\n    if not Store.x:\n        A(Store, t)\n"
        "    return Store.x\n"
    ),
    "a self that is something else": (
        "from dataclasses import InitVar, dataclass\nclass Store:\n    x = ''\n@dataclass\nclass A:\n"
        "    v: InitVar[str]\n    def __post_init__(self, v):\n        self = Store\n        self.x = v\n"
        "def f(t: str) -> str:\n    if not Store.x:\n        A(t)\n    return Store.x\n"
    ),
    "a self in a pattern": (
        "from dataclasses import InitVar, dataclass\nclass Store:\n    x = ''\n@dataclass\nclass A:\n"
        "    v: InitVar[str]\n    def __post_init__(self, v):\n        match Store:\n"
        "            case self:\n                self.x = v\ndef f(t: str) -> str:\n    if not Store.x:\n"
        "        A(t)\n    return Store.x\n"
    ),
    "a self in a loop": (
        "from dataclasses import InitVar, dataclass\nclass Store:\n    x = ''\n@dataclass\nclass A:\n"
        "    v: InitVar[str]\n    def __post_init__(self, v):\n        for self in (Store,):\n"
        "            self.x = v\ndef f(t: str) -> str:\n    if not Store.x:\n        A(t)\n"
        "    return Store.x\n"
    ),
    "a list in a question of type": (
        "SEEN = []\nclass A:\n    def __instancecheck__(self, other):\n"
        "        other.append(str(len(SEEN)))\n        return True\ndef f(t: str) -> str:\n"
        "    isinstance(SEEN, A())\n    return t + str(len(SEEN))\n"
    ),
    "the greatest of two lists": "SEEN = []\ndef f(t: str) -> str:\n    max(SEEN, []).append(t)\n    return SEEN[0]\n",
    "the sum with a list": "SEEN = []\ndef f(t: str) -> str:\n    sum([], SEEN).append(t)\n    return SEEN[0]\n",
    "a table by keys that keeps": (
        'SEEN = dict(a=[1])\ndef f(t: str) -> int:\n    SEEN["a"].append(t)\n    return len(SEEN["a"])\n'
    ),
    "a translation made of a text": (
        'SEEN = "".maketrans("a", "b")\ndef f(t: str) -> int:\n    SEEN[len(SEEN) + 200] = t\n    return len(SEEN)\n'
    ),
    "a translation by its own str": (
        "class str:\n    @staticmethod\n    def maketrans(x):\n        return {1: []}\nSEEN = str.maketrans({})\n"
        "def f(t: str) -> int:\n    SEEN[1].append(t)\n    return len(SEEN[1])\n"
    ),
    "a translation by a class made of texts": (
        'TABLE = {"a": "b"}\ndef g(self, table):\n    table[len(table)] = "x"\n    return len(table)\n'
        'def f(t: str) -> int:\n    return type("T", (), {"translate": g})().translate(TABLE)\n'
    ),
    "a translation by a computed attribute": (
        'TABLE = {"a": "b"}\ndef g(table):\n    table[len(table)] = 1\n    return len(table)\n'
        "class T:\n    def __getattr__(self, name):\n        return g\n"
        "def f(t: str) -> int:\n    return T().translate(TABLE)\n"
    ),
    "a translation by a named tuple": (
        'from collections import namedtuple\nTABLE = {"a": "b"}\nT = namedtuple("T", ["translate"])\n'
        'def g(table):\n    table[len(table)] = "x"\n    return len(table)\n'
        "def f(t: str) -> int:\n    return T(g).translate(TABLE)\n"
    ),
    "an import that is declared again": (
        "from operator import itemgetter\ndef itemgetter():\n    return []\nSEEN = itemgetter()\n"
        "def f(t: str) -> int:\n    SEEN.append(t)\n    return len(SEEN)\n"
    ),
    "an import of two things": (
        "from collections import deque as T\ndef g():\n    from datetime import date as T\nSEEN = T()\n"
        "def f(t: str) -> int:\n    SEEN.append(t)\n    return len(SEEN)\n"
    ),
    "an import that hides a built-in": (
        "def g():\n    from datetime import date as bytearray\nSEEN = bytearray()\n"
        "def f(t: str) -> int:\n    SEEN.append(1)\n    return len(SEEN)\n"
    ),
    "a range of its own": (
        "def range(n):\n    return ([],)\nSEEN = list(range(1))\n"
        "def f(t: str) -> int:\n    SEEN[0].append(t)\n    return len(SEEN[0])\n"
    ),
    "items of its own": (
        "class A:\n    @staticmethod\n    def items():\n        return [[]]\nSEEN = [x for x in A.items()]\n"
        "def f(t: str) -> int:\n    SEEN[0].append(t)\n    return len(SEEN[0])\n"
    ),
    "a table of differences": 'import difflib\ndef f(t: str) -> str:\n    return str(difflib.HtmlDiff().make_table([t], [""]))\n',
    "an attribute by place of a type": (
        "from abc import ABC\ndef f(t: str) -> str:\n"
        '    K = type("K", (ABC,), {"__match_args__": ("__globals__",), "__subclasshook__": classmethod(lambda c, o: True)})\n'
        '    match f:\n        case K(g):\n            g["LAST"] = g["LAST"] if "LAST" in g else t\n'
        '            return g["LAST"]\n    return ""\n'
    ),
    "an attribute by a field": (
        "from abc import ABC\nfrom dataclasses import make_dataclass\ndef f(t: str) -> str:\n"
        '    K = make_dataclass("K", ["__globals__"], bases=(ABC,), namespace={"__subclasshook__": classmethod(lambda c, o: True)})\n'
        '    match f:\n        case K(g):\n            g["LAST"] = g["LAST"] if "LAST" in g else t\n'
        '            return g["LAST"]\n    return ""\n'
    ),
}
SPEC = """benchmark b "1.0.0" { languages en }
role candidate compared
function f from "f.py:f"
scenario s {
  ask reply by candidate { prompt "Hello" }
  score near = f(reply.text) == f("a")
}
"""


@each("what", PURE)
def test_what_reads_nothing_is_proved(what: str) -> None:
    compile(PURE[what], what, "exec", dont_inherit=True)
    assert why_impure(ast.parse(PURE[what]), "f.py") is None


@each("what", IMPURE)
def test_what_reads_or_remembers_is_not_proved(what: str) -> None:
    compile(IMPURE[what], what, "exec", dont_inherit=True)
    assert (why_impure(ast.parse(IMPURE[what]), "f.py") or "").startswith("line ")


@each("what", IMPURE)
def test_what_is_not_proved_is_not_proved_among_what_is(what: str) -> None:
    draw = random.Random(what)
    for _ in range(5):
        pieces = [*draw.sample(sorted(PURE.values()), 3), IMPURE[what]]
        draw.shuffle(pieces)
        text = "\n".join(piece.replace("def f(", f"def f{place}(") for place, piece in enumerate(pieces))
        assert why_impure(ast.parse(text), "f.py") is not None


@each("module", sorted(SAFE_MODULES))
def test_nothing_that_may_be_used_of_a_module_could_be_changed_for_all(module: str) -> None:
    found = importlib.import_module(module)
    kept = [name for name in dir(found) if safe_name(module, name)]
    changed = (list, dict, set, bytearray)
    assert [name for name in kept if isinstance(getattr(found, name), changed)] == []
    inside = {
        f"{name}.{inner}"
        for name in kept
        if isinstance(getattr(found, name), type)
        for inner, value in vars(getattr(found, name)).items()
        if isinstance(value, changed) and not unsafe_attribute(inner)
    }
    assert inside == set()


def test_modules_of_a_package_are_followed() -> None:
    modules = {
        "p.units": ast.parse('import re\nUNITS = {"m": 1.0}\ndef g(t):\n    return len(t)\n'),
        "p.keys": ast.parse('def keys():\n    return open("keys").read()\n'),
        "p.round": ast.parse("from .main import f\n"),
        "p.turn": ast.parse('TABLE = {"a": "b"}\ndef turn(x):\n    return x.translate(TABLE)\n'),
        "p.own": ast.parse("class T:\n    def translate(self, table):\n        table[len(table)] = 1\n"),
    }

    def find(written: str, within: str) -> tuple[str, ast.Module] | None:
        name = "p" + written
        return (name, modules[name]) if name in modules else None

    def why(text: str) -> str | None:
        return why_impure(ast.parse(text), "p.main", find)

    assert why("from .units import UNITS, g\ndef f(t):\n    return g(t) * UNITS[t]\n") is None
    assert why("from .units import UNITS\ndef f(t):\n    UNITS[t] = 1.0\n") is not None
    assert why("from .units import re\ndef f(t):\n    return t\n") is not None
    assert why("from .turn import turn\ndef f(t):\n    return turn(t)\n") is None
    assert why("from .turn import turn\nfrom .own import T\ndef f(t):\n    turn(T())\n") is not None
    assert (
        why("from .units import nothing\ndef f(t):\n    return t\n") == "line 1 of p.main imports `nothing` of `.units`"
    )
    assert why("from .keys import keys\ndef f(t):\n    return keys()\n") == "line 2 of p.keys uses `open`"
    assert why("from .round import f\ndef g(t):\n    return f(t)\n") is not None
    assert why("from .elsewhere import f\ndef g(t):\n    return f(t)\n") == "line 1 of p.main imports `.elsewhere`"


@pytest.mark.parametrize(
    ("text", "pure", "purity"),
    [
        (PURE["a table"], "", "proved"),
        (PURE["a table"], " pure", "proved"),
        (IMPURE["a cache"], "", None),
        (IMPURE["a cache"], " pure", "declared"),
    ],
)
def test_the_plan_says_whether_a_function_is_pure_and_who_says_so(
    tmp_path: Path, text: str, pure: str, purity: str | None
) -> None:
    spec = SPEC.replace('"f.py:f"', f'"f.py:f"{pure}')
    [plugin] = plan_of(compile_files(tmp_path, {"spec.tripos": spec, "f.py": text})).plugins
    assert (plugin.purity, plugin.pure) == (purity, purity is not None)


def test_a_scorer_in_python_is_pure_likewise(tmp_path: Path) -> None:
    spec = SPEC.replace('function f from "f.py:f"', 'scorer f(t: text) -> bool from "f.py:f" pure')
    spec = spec.replace('f(reply.text) == f("a")', "f(reply.text)")
    text = "import os\ndef f(t: str) -> bool:\n    return os.sep in t\n"
    [plugin] = plan_of(compile_files(tmp_path, {"spec.tripos": spec, "f.py": text})).plugins
    assert plugin.purity == "declared"


def test_purity_changes_no_fingerprint(tmp_path: Path) -> None:
    files = {"spec.tripos": SPEC, "f.py": IMPURE["a cache"]}
    plain = plan_of(compile_files(tmp_path, files))
    declared = plan_of(compile_files(tmp_path, {**files, "spec.tripos": SPEC.replace('f.py:f"', 'f.py:f" pure')}))
    assert plain.scenarios == declared.scenarios
    assert json.loads(plain.model_dump_json())["plugins"][0].get("purity") is None
