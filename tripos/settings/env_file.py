"""`.env` files: which are read, and the variables that they may set.

The folder may come from somebody else. A file may therefore set only keys of providers and the variables that
`is_allowed_in_env_file` allows. Its variables never become part of `os.environ`, which every child process and every
cloud client reads.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from tripos.files import read_untrusted
from tripos.settings.config import find_file
from tripos.settings.environment import (
    ENV_FILE_VARIABLES,
    PREFIX,
    is_allowed_in_env_file,
    read_toml,
    unknown_variables,
)
from tripos.settings.options import VARIABLES
from tripos.terminal import show_diagnostic
from tripos_compiler.errors import TriposError
from tripos_runtime.datasets.trust import TRUSTED, Trust
from tripos_runtime.models.catalog import (
    NATIVE_PROVIDERS,
    PROVIDERS,
    all_variables,
    key_names,
    may_set_address,
    set_file_variables,
)

UNKNOWN_VARIABLE = "W1208"
NAME = ".env"
MOST_BYTES = 2**20
MOST_NAMES = 20
"""The maximum number of variables named in a warning."""
MOST_NAME_CHARACTERS = 60
REFERENCES = ("oidc/", "os.environ/")
"""Prefixes of values instead of which litellm would use the content of a file, another variable or a service."""


def env_files(folder: Path) -> list[Path]:
    """Return the `.env` files to read: that of the folder, then that of the folder of `tripos.toml`. A link counts only
    if it leads to a file in the same folder."""
    return [path for path in _env_file_in(folder) if _is_in_folder(path)]


def _env_file_in(folder: Path) -> list[Path]:
    path = find_file(folder)
    folders = dict.fromkeys([folder.absolute(), *([path.parent] if path is not None else [])])
    return [each / NAME for each in folders if (each / NAME).is_file()]


def _is_in_folder(path: Path) -> bool:
    return path.resolve().parent == path.parent.resolve()


def _read(path: Path) -> dict[str, str]:
    """Return the variables of a `.env` file, without expanding references such as `${HOME}`. Warn once of lines that
    set nothing. Raises `TriposError` R0203."""
    from dotenv.parser import parse_stream  # imported late: few folders have such a file

    try:
        text = read_untrusted(path, MOST_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise TriposError("R0203", f"cannot read {path}: {reason}", "fix the file, or take it away") from error
    lines = list(parse_stream(StringIO(text)))
    unread = next((each.original.line for each in lines if each.error), None)
    if unread and (path, unread) not in _warned:
        _warned.add((path, unread))
        hint = "write one variable a line, as in `OPENAI_API_KEY=sk-…`, and close every quote"
        show_diagnostic("warning", UNKNOWN_VARIABLE, f"{path}:{unread}: the line cannot be read, and is ignored", hint)
    values = {each.key: (each.value or "").strip() for each in lines if each.key is not None}
    return {name: value for name, value in values.items() if value}


def load_env(folder: Path, trust: Trust = TRUSTED) -> dict[str, str]:
    """Return the environment with the allowed variables of the `.env` files. Variables of the environment take
    precedence.

    In an untrusted folder no file is read. Warn on standard error of variables that are not allowed. Raises
    `TriposError` R0203.
    """
    accepted = []
    for path in () if trust.untrusted else _env_file_in(folder):
        if not _is_in_folder(path):
            if (path,) not in _warned:
                _warned.add((path,))
                message = f"{path} is not read: it is a link to a file of another folder"
                show_diagnostic("warning", UNKNOWN_VARIABLE, message, "copy the file, or export its variables")
            continue
        file, refused = split_env(path, folder)
        accepted.append(file)
        _warn(path, [name for name in refused if not os.environ.get(name, "").strip()])
    set_file_variables(accepted)
    return all_variables()


def _warn(path: Path, refused: list[str]) -> None:
    """Warn once of the variables of a file that are ignored, with one hint for each kind."""
    if not refused or (path, *refused) in _warned:
        return
    _warned.add((path, *refused))
    misspelt = dict(unknown_variables({name: "" for name in refused if name == _shown(name)}))
    for name, hint in misspelt.items():
        show_diagnostic("warning", UNKNOWN_VARIABLE, f"{path} sets `{name}`, and no setting is called so", hint)
    kinds: dict[str, list[str]] = {}
    for name in refused:
        if name not in misspelt:
            kinds.setdefault(_hint(name), []).append(name)
    for hint, names in kinds.items():
        texts = [*(f"`{_shown(name)}`" for name in names[:MOST_NAMES]), *(["…"] if len(names) > MOST_NAMES else [])]
        message = f"{path} sets variables that a file `.env` may not set, and they are ignored: {', '.join(texts)}"
        show_diagnostic("warning", UNKNOWN_VARIABLE, message, hint)


def _shown(name: str) -> str:
    """Return a name on one line, shortened if it is very long."""
    short = name if len(name) <= MOST_NAME_CHARACTERS else f"{name[:MOST_NAME_CHARACTERS]}…"
    return "".join(each if each.isprintable() else "?" for each in short)


def _hint(name: str) -> str:
    """Return the hint for a variable that is ignored."""
    if name in VARIABLES and name not in ENV_FILE_VARIABLES:
        return f"export `{name}`, or write `{VARIABLES[name].setting}` into tripos.toml"
    if any(name in provider.other_variables for provider in (*PROVIDERS.values(), *NATIVE_PROVIDERS.values())):
        return (
            "it counts beside the key of its provider: write that key into the file and export neither, or export both"
        )
    if name in key_names() or is_allowed_in_env_file(name, ""):
        return "a file may set it, but not to the name of a file or of another variable: export it"
    return "export those that you need; what a file `.env` may set is listed in docs/reference/settings.md"


_warned: set[tuple[Path | str | int, ...]] = set()
"""The files of which this process has already warned, each with the ignored variables or lines."""


def split_env(path: Path, folder: Path) -> tuple[dict[str, str], list[str]]:
    """Return the variables of a `.env` file that count in a folder, and the names of those that do not. Raises
    `TriposError` R0203."""
    variables, keys = _read(path), key_names() | _keys_of_endpoints(folder)
    names = {name for name, text in variables.items() if name in keys and not text.startswith(REFERENCES)}
    for provider in (*PROVIDERS.values(), *NATIVE_PROVIDERS.values()):
        if may_set_address(variables, provider):
            names.update(name for name in provider.other_variables if variables.get(name, "").isprintable())
    accepted = {name: text for name, text in variables.items() if name in names or is_allowed_in_env_file(name, text)}
    return accepted, [name for name in variables if name not in accepted]


def _keys_of_endpoints(folder: Path) -> frozenset[str]:
    """Return the names of the variables from which `tripos.toml` reads the keys of endpoints. If the file cannot be
    read, there are none: `load_settings` raises the error."""
    path = find_file(folder)
    try:
        table: dict[str, Any] = {} if path is None else read_toml(path)[1]
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return frozenset()
    profiles = table.get("profiles", {})
    places = [table, *(profiles.values() if isinstance(profiles, Mapping) else ())]
    tables = [place.get("endpoints", {}) for place in places if isinstance(place, Mapping)]
    names = [endpoint.get("api_key_env") for each in tables if isinstance(each, Mapping) for endpoint in _tables(each)]
    return frozenset(name for name in names if isinstance(name, str) and not name.startswith(PREFIX))


def _tables(table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in table.values() if isinstance(each, Mapping)]
