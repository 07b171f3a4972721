"""Calls of the functions of a plan. A function gets copies of its arguments, and its result is checked against the
declared type. A failure becomes a status."""

from __future__ import annotations

import contextlib
import numbers
import sys
from collections.abc import Callable, Mapping, Set as AbstractSet
from typing import Any

from tripos_compiler.errors import TriposError
from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.language.exact_values import LEAST, MOST
from tripos_compiler.library.types import type_notation
from tripos_compiler.plan import FUNCTION_ERROR, Plugin, Type
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.functions.protocol import cut


class WrongValue(Exception):
    """A function returned a value that is not of the declared type."""


class PluginError(TriposError):
    """A plug-in or a program of a plan is not allowed, or is not available as it was compiled."""


@dataclass
class LoadedPlugin:
    """A plug-in that can be called with the parameters that the plan declares. If the function fails or returns a value
    of another type, the call raises `Unavailable` with the status `function_error`, and the run goes on. `failed`
    counts these failures, and `first` is the first one's message."""

    plugin: Plugin
    python: Callable[..., Any]
    failed: int = 0
    first: str = ""

    def __call__(self, *args: Any, **named: Any) -> Any:
        types = self.plugin.parameters
        values = {**dict(zip(types, args, strict=False)), **named}
        arguments = {name: as_argument(types[name], value) for name, value in values.items()}
        try:
            with contextlib.redirect_stdout(sys.stderr):  # standard output belongs to the results of the command
                value = self.python(**arguments)
            return as_result(self.plugin.returns, value)
        except WrongValue as error:
            raise self._failed(str(error)) from None
        except (Exception, SystemExit) as error:
            raise self._failed(f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Do nothing: a Python function has no processes."""

    def _failed(self, reason: str) -> Unavailable:
        """Count a failure, and return it as the reason of a missing value."""
        short = cut(reason)
        self.failed += 1
        self.first = self.first or short
        return Unavailable(self.plugin.name, FUNCTION_ERROR, f"`{self.plugin.name}`: {short}")


def as_argument(type_: Type, value: Any) -> Any:
    """Return a value as a function receives it: lists and sets are copies, and a set becomes a sorted list if a list is
    declared.

    >>> from tripos_compiler.plan import ListType, TextType
    >>> as_argument(ListType(of=TextType()), frozenset({"b", "a"}))
    ['a', 'b']
    """
    match type_.kind:
        case "optional":
            return None if value is None else as_argument(type_.of, value)
        case "list":
            items = sorted(value) if isinstance(value, AbstractSet) else value
            return [as_argument(type_.of, item) for item in items]
        case "set":
            return set(value)
        case "dialogue":
            return [dict(turn) for turn in value]
    return value


def as_result(type_: Type, value: Any) -> Any:
    """Return the result of a function as a value of a spec. Raises `WrongValue` if it is not of that type.

    >>> from tripos_compiler.plan import IntegerType
    >>> as_result(IntegerType(low=1, high=5), 4)
    4
    """
    if type_.kind == "optional":
        return None if value is None else as_result(type_.of, value)
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()  # a number of NumPy or PyTorch
    match type_.kind:
        case "text" if isinstance(value, str):
            return str(value)
        case "choice" if isinstance(value, str) and value in type_.values:
            return str(value)
        case "bool" if isinstance(value, bool):
            return value
        case "integer" if isinstance(value, numbers.Integral) and not isinstance(value, bool):
            low = LEAST if type_.low is None else type_.low
            high = MOST if type_.high is None else type_.high
            if low <= int(value) <= high:
                return int(value)
        case "number" if isinstance(value, numbers.Real) and not isinstance(value, bool):
            number = int(value) if isinstance(value, numbers.Integral) else float(value)
            if LEAST <= number <= MOST:  # false for NaN and infinities
                return number
        case "list" if isinstance(value, list | tuple):
            return [as_result(type_.of, item) for item in value]
        case "set" if isinstance(value, AbstractSet):
            return frozenset(as_result(type_.of, item) for item in value)
        case "dialogue" if isinstance(value, list | tuple):
            return [_turn(turn) for turn in value]
    text = repr(value)
    raise WrongValue(f"it says `{type_notation(type_)}`, and returned {cut(text, 80)}")


def _turn(turn: Any) -> dict[str, str]:
    if not isinstance(turn, Mapping) or not all(isinstance(turn.get(key), str) for key in ("speaker", "text")):
        raise WrongValue('a turn of a dialogue is `{"speaker": "…", "text": "…"}`')
    return {"speaker": turn["speaker"], "text": turn["text"]}
