"""The function library. A Python signature is the Tripos signature, so adding a function touches one place.

Every function is pure. `Any` takes a value of any type; `T | None` one that may be missing.
"""

from __future__ import annotations

import inspect
import json as jsonlib
import re
import types
import typing
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from tripos_compiler.plan import BoolType, IntegerType, ListType, NumberType, OptionalType, SetType, TextType, Type

NUMBER_IN_TEXT = re.compile(r"(?<![\w.])[-+]?\$?\d[\d,]*(?:\.\d+)?(?!\w)")


def last_number(text: str) -> float | None:
    """The last number in a text; thousands separators and a leading `$` are read, None where there is no number.

    >>> last_number("so 12 apples cost $1,234.50.")
    1234.5
    """
    found = NUMBER_IN_TEXT.findall(text)
    return float(found[-1].replace(",", "").replace("$", "")) if found else None


def same_number(a: float | None, b: float | None) -> bool:
    """Whether two numbers are equal to within one part in a million; a missing number equals nothing.

    >>> same_number(0.1 + 0.2, 0.3), same_number(None, None)
    (True, False)
    """
    if a is None or b is None:
        return False
    return abs(a - b) <= 1e-6 * max(1.0, abs(a), abs(b))


def choice_letters(text: str) -> set[str]:
    """The option letters A to H that stand alone in a text, or together as in `BD`; full-width letters are read.

    >>> sorted(choice_letters("答案是 B、D"))
    ['B', 'D']
    """
    folded = text.translate({0xFF21 + i: 0x41 + i for i in range(8)})
    return {letter for run in re.findall(r"(?<![A-Za-z])[A-H]{1,8}(?![A-Za-z])", folded) for letter in run}


def exact(a: str, b: str) -> bool:
    """Whether two texts are equal but for case and the space around and between words.

    >>> exact(" The  Answer", "the answer")
    True
    """
    return " ".join(a.split()).casefold() == " ".join(b.split()).casefold()


def contains(text: str, part: str) -> bool:
    """Whether a text contains another, whatever the case.

    >>> contains("Teach DONE.", "teach done")
    True
    """
    return part.casefold() in text.casefold()


def matches(text: str, pattern: str) -> bool:
    """Whether a regular expression (Python's `re`) is found in a text.

    >>> matches("step 12", "step [0-9]+")
    True
    """
    return re.search(pattern, text) is not None


def words(text: str) -> int:
    """How many words a text has; each Chinese character counts as one.

    >>> words("two words"), words("两个字")
    (2, 3)
    """
    return len(re.findall(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+", text))


def length(value: Any) -> int:
    """How many characters a text has, or items a list or set.

    >>> length("four")
    4
    """
    return len(value)


def lower(text: str) -> str:
    """The text in lower case.

    >>> lower("ABC")
    'abc'
    """
    return text.lower()


def trim(text: str) -> str:
    """The text without the space around it.

    >>> trim("  a ")
    'a'
    """
    return text.strip()


def absolute(value: float) -> float:
    """The absolute value.

    >>> absolute(-2.0)
    2.0
    """
    return abs(value)


def rounded(value: float, digits: int = 0) -> float:
    """The value rounded half to even to so many digits after the point.

    >>> rounded(2.345, 1)
    2.3
    """
    return round(value, digits)


def smaller(a: float, b: float) -> float:
    """The smaller of two numbers.

    >>> smaller(1, 2)
    1
    """
    return min(a, b)


def larger(a: float, b: float) -> float:
    """The larger of two numbers.

    >>> larger(1, 2)
    2
    """
    return max(a, b)


def bullets(items: Sequence[str]) -> str:
    """A list with a dash before each item.

    >>> print(bullets(["a", "b"]))
    - a
    - b
    """
    return "\n".join(f"- {item}" for item in _ordered(items))


def numbered(items: Sequence[str]) -> str:
    """A list numbered from 1.

    >>> print(numbered(["a", "b"]))
    1. a
    2. b
    """
    return "\n".join(f"{number}. {item}" for number, item in enumerate(_ordered(items), 1))


def lettered(items: Sequence[str]) -> str:
    """A list lettered from A.

    >>> print(lettered(["a", "b"]))
    A. a
    B. b
    """
    return "\n".join(f"{chr(65 + number)}. {item}" for number, item in enumerate(_ordered(items)))


def json(value: Any) -> str:
    """The value as JSON on one line.

    >>> json({"a": [1, "é"], "b": {3, 2}})
    '{"a": [1, "é"], "b": [2, 3]}'
    """
    return jsonlib.dumps(value, ensure_ascii=False, default=_ordered)


def default(value: Any, fallback: Any) -> Any:
    """The value, or the fallback where it is missing. The result has the fallback's type.

    >>> default(None, "none given")
    'none given'
    """
    return fallback if value is None else value


def _ordered(value: Any) -> Any:
    return sorted(value) if isinstance(value, AbstractSet) else value


@dataclass(frozen=True)
class Parameter:
    """`type` None takes a value of any type."""

    name: str
    type: Type | None
    required: bool


@dataclass(frozen=True)
class Function:
    """A function as the language sees it. `returns` None: the type of the last argument."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: Type | None
    python: Callable[..., Any]

    @property
    def shown(self) -> str:
        """The signature as people read it, for example `same_number(a: number?, b: number?) -> bool`."""
        parameters = ", ".join(
            f"{p.name}: {shown(p.type)}{'' if p.required else ' (optional)'}" for p in self.parameters
        )
        return f"{self.name}({parameters}) -> {shown(self.returns)}"


def shown(type_: Type | None) -> str:
    """A type as it is written in a spec.

    >>> shown(ListType(of=OptionalType(of=TextType())))
    'list<text?>'
    """
    if type_ is None:
        return "any"
    match type_.kind:
        case "list" | "set":
            return f"{type_.kind}<{shown(type_.of)}>"
        case "optional":
            return f"{shown(type_.of)}?"
        case "choice":
            return type_.axis or f"choice({', '.join(type_.values)})"
        case "record":
            return "{ " + ", ".join(f"{name} {shown(of)}" for name, of in type_.fields.items()) + " }"
        case "integer" if type_.low is not None:
            return f"{type_.low}..{type_.high}"
    return type_.kind


def _type(annotation: Any) -> Type | None:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return None
    if origin is types.UnionType:
        inner = _type(arguments[0])
        return None if inner is None else OptionalType(of=inner)
    simple: dict[Any, Type] = {str: TextType(), int: IntegerType(), float: NumberType(), bool: BoolType()}
    if annotation in simple:
        return simple[annotation]
    of = _type(arguments[0])
    assert of is not None
    return SetType(of=of) if origin is set else ListType(of=of)


def _function(name: str, python: Callable[..., Any]) -> Function:
    hints = typing.get_type_hints(python)
    parameters = tuple(
        Parameter(parameter.name, _type(hints[parameter.name]), parameter.default is inspect.Parameter.empty)
        for parameter in inspect.signature(python).parameters.values()
    )
    return Function(name, parameters, _type(hints["return"]), python)


_LIBRARY: dict[str, Callable[..., Any]] = {
    "last_number": last_number,
    "same_number": same_number,
    "choice_letters": choice_letters,
    "exact": exact,
    "contains": contains,
    "matches": matches,
    "words": words,
    "length": length,
    "lower": lower,
    "trim": trim,
    "abs": absolute,
    "round": rounded,
    "min": smaller,
    "max": larger,
    "bullets": bullets,
    "numbered": numbered,
    "lettered": lettered,
    "json": json,
    "default": default,
}

FUNCTIONS: dict[str, Function] = {name: _function(name, python) for name, python in _LIBRARY.items()}
"""The library, by the name that a spec uses."""
