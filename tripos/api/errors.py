"""The exceptions of the Python API. Each has a code, a message and a hint, worded for Python rather than the command
line."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from tripos.settings.option import Option
from tripos.settings.options import all_options
from tripos.settings.secrets import key_values, without_keys
from tripos_compiler.errors import TriposError
from tripos_runtime.models.catalog import all_variables

if TYPE_CHECKING:
    from tripos.api.run import Run
    from tripos_compiler.diagnostics.diagnostic import Diagnostic


class SpecError(TriposError):
    """A spec that cannot be read or has errors. `diagnostics` lists all errors and warnings."""

    def __init__(self, code: str, message: str, hint: str = "", diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(code, message, hint)
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        if not self.diagnostics:
            return super().__str__()
        from tripos_compiler.diagnostics.renderers import MAX_SHOWN, render_text

        return f"{self.message}\n\n{render_text(self.diagnostics, most=MAX_SHOWN)}".rstrip()


class RunError(TriposError):
    """A run that cannot start or had to stop. `run` is the run that stopped; the store keeps its results."""

    def __init__(self, code: str, message: str, hint: str = "", run: Run | None = None) -> None:
        super().__init__(code, message, hint)
        self.run = run


class ReleaseError(TriposError):
    """A release that cannot be made, opened or verified."""


@contextlib.contextmanager
def raised_as(kind: type[TriposError]) -> Iterator[None]:
    """Raise errors of the block as exceptions of the API, whose hints name parameters instead of options."""
    try:
        yield
    except (SpecError, RunError, ReleaseError):
        raise
    except TriposError as error:
        raised = kind(error.code, for_python(error.message), for_python(error.hint))
        raise raised.with_exit_code(error.exit_code) from error


def for_python(text: str) -> str:
    """Return a message for Python: with parameters instead of options, and without API keys."""
    return to_parameters(without_keys(text, key_values(all_variables())))


_COMMAND = re.compile(r"(`tripos [^`]*`)")
_OPTION = re.compile(r"(?P<flag>--[a-z][a-z-]*)(?:(?P<gap>[ =])(?P<value>[A-Za-z0-9][^\s`;,)[]*)(?:\[[^]]*])?)?")


def to_parameters(text: str) -> str:
    """Return a message with parameters in place of options. Commands such as `tripos check --format json` stay as they
    are.

    >>> to_parameters("give one: --role judge=PROVIDER/MODEL, with --limit N too")
    'give one: roles={"judge": "PROVIDER/MODEL"}, with limit=N too'
    >>> to_parameters("`--seed` draws items; see `tripos list --store DIR`")
    '`seed` draws items; see `tripos list --store DIR`'
    """
    parts = _COMMAND.split(text)
    return "".join(part if place % 2 else _OPTION.sub(_parameter, part) for place, part in enumerate(parts))


@cache
def _keywords() -> dict[str, Option[Any]]:
    """Return the options that are keywords of the API, by flag."""
    return {option.flag: option for option in all_options() if option.keyword}


def _parameter(match: re.Match[str]) -> str:
    option, gap, value = _keywords().get(match["flag"]), match["gap"] or "", match["value"] or ""
    if option is None:
        return match[0]
    name, number = option.keyword, option.kind.python in (int, float)
    if option.is_flag:
        return f"{name}=True{gap}{value}"
    if not value:
        return name
    if option.repeated and re.match(r"\w+=", option.metavar or ""):
        key, equals, inner = value.partition("=")
        return f'{name}={{"{key}": "{inner}"}}' if equals else f"{name}{gap}{value}"
    if number and (value.isdigit() or value == option.metavar):
        return f"{name}={value}"
    if not number and (value.isupper() or not value.isalpha()):
        return f'{name}="{value}"'
    return f"{name}{gap}{value}"  # a word of the sentence rather than a value
