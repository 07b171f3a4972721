"""Settings that stand in the environment: `TRIPOS_STORE`, `TRIPOS_ROLE_JUDGE` and the like."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from tripos.ui import Failure
from tripos_compiler.diagnostics import LANGUAGE, LANGUAGES, named_language, nearest

PREFIX = "TRIPOS_"
ROLE = "TRIPOS_ROLE_"
PROFILE = "TRIPOS_PROFILE"

VARIABLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "TRIPOS_STORE": ("store",),
        "TRIPOS_REUSE": ("reuse",),
        "TRIPOS_DATA": ("data",),
        "TRIPOS_MODEL": ("models",),
        "TRIPOS_BUDGET": ("budget",),
        "TRIPOS_DENY": ("check", "deny"),
        "TRIPOS_MAX_CONNECTIONS": ("limits", "max_connections"),
        "TRIPOS_MAX_RETRIES": ("limits", "max_retries"),
        "TRIPOS_TIMEOUT": ("limits", "timeout_s"),
        "TRIPOS_PATIENCE": ("limits", "patience_s"),
        "TRIPOS_REPLY_MEMORY_MB": ("limits", "reply_memory_mb"),
        "TRIPOS_REQUESTS_PER_MINUTE": ("limits", "requests_per_minute"),
        "TRIPOS_TOKENS_PER_MINUTE": ("limits", "tokens_per_minute"),
    }
)
"""Variable to the setting that it stands for."""
LISTS = frozenset({"TRIPOS_MODEL", "TRIPOS_BUDGET", "TRIPOS_DENY", "TRIPOS_REUSE"})
"""Several values are divided by commas; folders of data as in `PATH`."""
OF_A_FILE = (*sorted(VARIABLES.keys() - {"TRIPOS_STORE", "TRIPOS_REUSE", "TRIPOS_DATA"}), PROFILE)
"""The variables that a file `.env` may set besides roles and the keys of providers: none names a file or a program."""
READ_FILES = ("local/", "replay/", "reward/")
"""The beginnings of models that a file `.env` may not name: they are files."""
OTHERS = frozenset({PROFILE, LANGUAGE, "TRIPOS_UNTRUSTED", "TRIPOS_DEBUG", "TRIPOS_KEY_PASSWORD"})
GOLDEN = "_GOLDEN"
"""What the tests of Tripos are steered by ends so."""


def settings_in(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of the environment as a table like that of `tripos.toml`. A variable set to nothing does not
    count.

    >>> settings_in({"TRIPOS_MODEL": "a/b, c/d", "TRIPOS_ROLE_JUDGE": "e/f", "TRIPOS_MAX_RETRIES": "2", "HOME": "/"})
    {'models': ['a/b', 'c/d'], 'limits': {'max_retries': '2'}, 'roles': {'judge': ['e/f']}}
    """
    table: dict[str, Any] = {}
    for name, place, text in set_variables(environ):
        value: Any = text
        if name in LISTS or name.startswith(ROLE):
            value = [each.strip() for each in text.split(",") if each.strip()]
        elif name == "TRIPOS_DATA":
            value = [each for each in text.split(os.pathsep) if each]
        inner = table
        for part in place[:-1]:
            inner = inner.setdefault(part, {})
        inner[place[-1]] = value
    return table


def set_variables(environ: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield the variables that are set, each with the place of its setting and its text. Roles are in lower case."""
    for name, place in VARIABLES.items():
        if environ.get(name, "").strip():
            yield name, place, environ[name].strip()
    for name in sorted(environ):
        if name.startswith(ROLE) and len(name) > len(ROLE) and environ[name].strip():
            yield name, ("roles", name.removeprefix(ROLE).lower()), environ[name].strip()


def may_stand_in_a_file(name: str, text: str) -> bool:
    """Return true if a file `.env` may set a variable of settings to a text.

    >>> may_stand_in_a_file("TRIPOS_ROLE_JUDGE", "openai/gpt-4o"), may_stand_in_a_file("TRIPOS_STORE", "s3://b/x")
    (True, False)
    """
    role = name.startswith(ROLE) and len(name) > len(ROLE)
    if role or name == "TRIPOS_MODEL":
        return not any(each.strip().startswith(READ_FILES) for each in text.split(","))
    return name in OF_A_FILE


def variable_of(place: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    """Return the variable that a setting was taken from, if any."""
    return next((name for name, each, _ in set_variables(environ) if place[: len(each)] == each), None)


def check_language(environ: Mapping[str, str]) -> None:
    """Raise `Failure` where `TRIPOS_LANG` names no language that Tripos writes messages in."""
    said = environ.get(LANGUAGE, "").strip()
    if said and named_language(said) is None:
        known = " or ".join(f"`{each}`" for each in LANGUAGES)
        raise Failure(
            "R0203", f"`{LANGUAGE}` cannot be `{said}`", f"it is {known}, or not set: then the system says it"
        )


def unknown_variables(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Variables that look like ours and are none, each with what to do about it.

    >>> unknown_variables({"TRIPOS_STOER": "x", "TRIPOS_STORE": "y"})
    [('TRIPOS_STOER', 'did you mean `TRIPOS_STORE`?')]
    """
    known = {*VARIABLES, *OTHERS}
    found = []
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in known or name.endswith(GOLDEN):
            continue
        if name.startswith(ROLE) and len(name) > len(ROLE):
            continue
        close = nearest(name.removeprefix(PREFIX), [each.removeprefix(PREFIX) for each in (*known, f"{ROLE}NAME")])
        hint = f"did you mean `{PREFIX}{close}`?" if close else "the variables are listed in docs/settings.md"
        found.append((name, hint))
    return found
