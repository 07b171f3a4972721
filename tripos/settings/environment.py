"""Settings from environment variables, and the line numbers of settings in TOML files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tripos.settings.options import MODEL, PROFILE, VARIABLES
from tripos_compiler.diagnostics.diagnostic import nearest
from tripos_compiler.diagnostics.i18n import LANGUAGE, LANGUAGES, named_language
from tripos_compiler.errors import TriposError
from tripos_compiler.source.inputs import DataError

PREFIX = "TRIPOS_"
ROLE = "TRIPOS_ROLE_"
ENV_FILE_VARIABLES = (
    *sorted(name for name, variable in VARIABLES.items() if variable.setting and not variable.kind.place),
    PROFILE.variable,
)
"""The variables that a `.env` file may set besides roles and keys of providers. None of their values is a file or a
program."""
OTHERS = frozenset({LANGUAGE, "TRIPOS_DEBUG", "TRIPOS_KEY_PASSWORD"})
"""The variables for which there is no option of a command."""
TEST_SUFFIX = "_GOLDEN"
"""The suffix of variables that control the tests of Tripos."""


# Environment variables
def settings_in(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of the environment as a table in the form of `tripos.toml`. An empty variable does not
    count.

    >>> settings_in({"TRIPOS_MODEL": "a/b, c/d", "TRIPOS_ROLE_JUDGE": "e/f", "TRIPOS_MAX_RETRIES": "2", "HOME": "/"})
    {'models': ['a/b', 'c/d'], 'limits': {'max_retries': '2'}, 'roles': {'judge': ['e/f']}}
    """
    table: dict[str, Any] = {}
    for name, place, text in set_variables(environ):
        option = VARIABLES.get(name)
        value: Any = text
        if option is None or option.repeated:
            separator = "," if option is None else option.separator
            value = [each.strip() for each in text.split(separator) if each.strip()]
        inner = table
        for part in place[:-1]:
            inner = inner.setdefault(part, {})
        inner[place[-1]] = value
    return table


def set_variables(environ: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield the variables of settings and roles that are set, each with the path of its setting and its text. The names
    of roles in the paths are in lower case."""
    for name, option in VARIABLES.items():
        if option.setting and environ.get(name, "").strip():
            yield name, tuple(option.setting.split(".")), environ[name].strip()
    for name in sorted(environ):
        if name.startswith(ROLE) and len(name) > len(ROLE) and environ[name].strip():
            yield name, ("roles", name.removeprefix(ROLE).lower()), environ[name].strip()


def is_allowed_in_env_file(name: str, text: str) -> bool:
    """Return true if a `.env` file may set a variable to a text.

    >>> is_allowed_in_env_file("TRIPOS_ROLE_JUDGE", "openai/gpt-4o"), is_allowed_in_env_file("TRIPOS_STORE", "s3://b/x")
    (True, False)
    """
    role = name.startswith(ROLE) and len(name) > len(ROLE)
    if role or name == MODEL.variable:
        from tripos_runtime.models.kinds import kind_of  # a command without settings needs none

        return not any(kind_of(part.strip()).file for part in text.split(","))  # a model may not be read from a file
    return name in ENV_FILE_VARIABLES


def variable_of(place: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    """Return the variable of the environment that sets a setting, or the value that it is in; None if there is none."""
    return next((name for name, each, _ in set_variables(environ) if place[: len(each)] == each), None)


def check_language(environ: Mapping[str, str]) -> None:
    """Raise `TriposError` if `TRIPOS_LANG` names a language that Tripos has no messages in."""
    text = environ.get(LANGUAGE, "").strip()
    if text and named_language(text) is None:
        known = " or ".join(f"`{language}`" for language in LANGUAGES)
        raise TriposError(
            "R0203", f"`{LANGUAGE}` cannot be `{text}`", f"it is {known}, or not set: then the system says it"
        )


def unknown_variables(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the variables with the prefix of Tripos that it does not know, each with a hint.

    >>> unknown_variables({"TRIPOS_STOER": "x", "TRIPOS_STORE": "y"})
    [('TRIPOS_STOER', 'did you mean `TRIPOS_STORE`?')]
    """
    known = {*VARIABLES, *OTHERS}
    unknown = []
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in known or name.endswith(TEST_SUFFIX):
            continue
        if name.startswith(ROLE) and len(name) > len(ROLE):
            continue
        close = nearest(name.removeprefix(PREFIX), [each.removeprefix(PREFIX) for each in (*known, f"{ROLE}NAME")])
        hint = f"did you mean `{PREFIX}{close}`?" if close else "the variables are listed in docs/reference/settings.md"
        unknown.append((name, hint))
    return unknown


LONGEST_NAME = 1_000
"""The number of characters at the beginning of a line in which the name of a setting is searched."""
HEADER = re.compile(r"\s*(\[\[?[^\]].*\])\s*(?:#.*)?$")
ASSIGNED = re.compile(r"""\s*((?:[A-Za-z0-9_\-.\s]|"(?:[^"\\]|\\.)*"|'[^']*')+?)\s*=""")


# TOML with line numbers
def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the text of a TOML file and its value. Raises `OSError`, `UnicodeDecodeError`, and
    `tomllib.TOMLDecodeError`, the last also if tables are nested too deeply."""
    from tripos_runtime.datasets.formats import check_nesting  # a command without settings needs none

    text = path.read_text("utf-8-sig")
    try:
        table = tomllib.loads(text)
        check_nesting(table, "the file")
    except (RecursionError, DataError) as error:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from error
    return text, table


def find_line(text: str, place: Sequence[str]) -> int | None:
    """Return the number of the line that sets a setting, counted from 1; None if no line names it or a table around it.
    For a part of a value, it is the line of the value, and for a setting that is not there that of its table.

    >>> find_line('store = "x"\\n[endpoints."openai/a"]\\nbase_ur = "y"\\n', ["endpoints", "openai/a", "base_ur"])
    3
    >>> find_line("[roles]\\njudge = 5\\n", ["roles", "judge", "0"]), find_line("", ["store"])
    (2, None)
    """
    wanted = tuple(place)
    best: tuple[int, int] | None = None
    for number, path in _lines(text):
        shared = len(path)
        if path == wanted[:shared] and (best is None or shared > best[0]):
            best = (shared, number)
    return best[1] if best is not None else None


def _lines(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the number of every line that names a setting or a table, with the whole path."""
    table: tuple[str, ...] = ()
    for number, line in enumerate((each[:LONGEST_NAME] for each in text.splitlines()), 1):
        if header := HEADER.match(line):
            path = _path(header[1])
            if path is not None:
                table = path
                yield number, table
        elif assigned := ASSIGNED.match(line):
            path = _path(f"{assigned[1]} = 0")
            if path is not None:
                yield number, (*table, *path)


def _path(line: str) -> tuple[str, ...] | None:
    """Return the path that a header or the left side of a line denotes."""
    try:
        inner: object = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    path: list[str] = []
    while isinstance(inner, list) or (isinstance(inner, dict) and inner):
        if isinstance(inner, list):
            inner = inner[0]
            continue
        name, inner = next(iter(inner.items()))
        path.append(name)
    return tuple(path)
