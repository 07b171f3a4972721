"""User-defined aggregates: Python functions that measures of a plan call with all values.

A store may come from anybody, so nothing in it is executed by default. A function is executed only if the user ran the
benchmark on this machine, or named its spec: both store the text of the function's file in a folder of the user, by the
SHA-256 of the text and the function's name (`admit_python`). The plan of a store names both, and a report finds the
text in that folder. Other functions of the file, and of files that it imports, are refused, since the plan of a
stranger's store may name any.
"""

from __future__ import annotations

import contextlib
import hashlib
import numbers
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tripos_compiler.files import write_atomically
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.source.data_classes import dataclass

FAILED = "S0211"
"""The code if a function fails, or returns no number."""
NOT_ADMITTED = "S0212"
"""The code if nothing on this machine allows a function to be executed."""
LONGEST_REASON = 200
"""The maximum length, in characters, of the reason why a function failed; a longer one is cut."""
Computed = Callable[[Sequence[list[Any]]], float]
"""A loaded function: it takes one list per parameter, with one value per row, and returns the number."""


class NoFigure(Exception):
    """Raised if a function returns no number or cannot be executed; the message has the reason, with a code."""


@dataclass(frozen=True)
class UserFunction:
    """A user's function: `function` in the file `path`, whose text has the SHA-256 `version`."""

    name: str
    path: str
    function: str
    version: str
    parameters: tuple[str, ...]

    def load(self) -> Computed:
        """Return a function that takes one list per parameter. Raises `NoFigure` if it cannot be loaded; the returned
        function raises it if the user's function fails."""
        python = getattr(self._module(), self.function, None)
        if not callable(python):
            raise NoFigure(f"`{self.path}` has no function `{self.function}` ({FAILED})")

        def compute(columns: Sequence[list[Any]]) -> float:
            try:
                with contextlib.redirect_stdout(sys.stderr):
                    value = python(**dict(zip(self.parameters, columns, strict=True)))
            except (Exception, SystemExit) as error:
                raise NoFigure(self._message(f"failed with {type(error).__name__}: {error}")) from error
            if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
                value = value.item()  # a number of NumPy
            if isinstance(value, bool) or not isinstance(value, numbers.Real) or not in_bounds(value):  # type: ignore[arg-type]
                raise NoFigure(self._message(f"returned {value!r}, which is no number"))
            return float(value)

        return compute

    def _module(self) -> ModuleType:
        """Return the module of the function's file, after executing it."""
        if _is_untrusted():
            raise NoFigure(f"`--untrusted` refuses the Python of the benchmark: `{self.name}` (R0270)")
        text = _text_of(self.version, self.function)
        if text is None:
            raise NoFigure(
                f"`{self.name}` is Python that you have not run here: run the benchmark, or name its spec"
                f" (`tripos report --spec SPEC`, {NOT_ADMITTED})"
            )
        try:
            return _executed(self.version, text, self.path)
        except (Exception, SystemExit) as error:
            raise NoFigure(self._message(f"cannot be loaded: {type(error).__name__}: {error}")) from error

    def _message(self, reason: str) -> str:
        """Return the message for a failure of the function."""
        short = reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]}…"
        return f"`{self.name}` {short} ({FAILED})"


_admitted: dict[tuple[str, str], str] = {}
"""The texts that this process may execute, by SHA-256 and function, including those that no folder can store."""


def admit_python(text: str, function: str) -> str:
    """Allow measures to execute a function of a Python file, in this process and in later ones; return the SHA-256 of
    its text."""
    version = hashlib.sha256(text.encode()).hexdigest()
    _admitted[version, function] = text
    path = _folder() / _file_of(version, function)
    if not path.exists():
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text.encode())
    return version


def _folder() -> Path:
    """Return the folder of admitted texts in the user's state folder: benchmarks do not write there."""
    base = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".local" / "state"
    return Path(base) / "tripos" / "aggregates"


def _file_of(version: str, function: str) -> str:
    """Return the name of the stored file: a digest of both, since a Python name may be too long for a file name."""
    return f"{hashlib.sha256(f'{version} {function}'.encode()).hexdigest()}.py"


def _text_of(version: str, function: str) -> str | None:
    """Return the text of the file that a function may be executed from; `None` if the function was not admitted."""
    if (version, function) in _admitted:
        return _admitted[version, function]
    try:
        text = (_folder() / _file_of(version, function)).read_bytes().decode()
    except (OSError, UnicodeDecodeError, RuntimeError):  # RuntimeError: the user has no home folder
        return None
    return text if hashlib.sha256(text.encode()).hexdigest() == version else None


_refusing: list[bool] = []
"""One entry for each active context of `python_refused`: whether it refuses Python."""


@contextlib.contextmanager
def python_refused(refused: bool) -> Iterator[None]:
    """Prevent measures from executing Python inside the context, if `refused` is true."""
    _refusing.append(refused)
    try:
        yield
    finally:
        _refusing.pop()


def _is_untrusted() -> bool:
    """Return true if a context or the environment refuses the Python of benchmarks."""
    return any(_refusing) or os.environ.get("TRIPOS_UNTRUSTED", "").strip().casefold() not in (
        "",
        "0",
        "no",
        "false",
        "off",
    )


@lru_cache(maxsize=64)
def _executed(version: str, text: str, path: str) -> ModuleType:
    """Execute a text as a module, once per process, and return the module."""
    module = ModuleType(f"_tripos_aggregate_{version}")
    sys.modules[module.__name__] = module  # dataclasses look up their module there
    try:
        with contextlib.redirect_stdout(sys.stderr):
            exec(compile(text.removeprefix("\ufeff"), path, "exec"), module.__dict__)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    return module
