"""The additions of a run to expressions: functions of the user's, and what stands in the place of a `reveal`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from tripos_compiler.plan import Call

Functions = Mapping[str, Callable[..., Any]]
_functions: ContextVar[Functions] = ContextVar("functions", default=MappingProxyType({}))


@contextmanager
def with_functions(functions: Functions) -> Iterator[None]:
    """Let expressions call these functions, by name, beside those of the library. It holds for what runs inside, tasks
    that are started there included, and for nothing else in the process.

    >>> with with_functions({"twice": lambda value: 2 * value}):
    ...     added_functions()["twice"](4)
    8
    """
    token = _functions.set(functions)
    try:
        yield
    finally:
        _functions.reset(token)


def added_functions() -> Functions:
    """Return the functions that expressions may call beside those of the library."""
    return _functions.get()


Shown = Callable[[Call, Callable[[], Any]], Any]
"""What a `reveal` comes to: given the call, and what evaluates it."""
_shown: ContextVar[Shown | None] = ContextVar("shown", default=None)


@contextmanager
def with_revealed(shown: Shown) -> Iterator[None]:
    """Let `shown` say what every `reveal` comes to, inside."""
    token = _shown.set(shown)
    try:
        yield
    finally:
        _shown.reset(token)


def shown_instead() -> Shown | None:
    """Return what says what a `reveal` comes to; None where it comes to its value."""
    return _shown.get()
