"""The tables of the grammar, kept between runs in the user's cache folder.

A file there is data only, named by all that determines the tables and checked against its own digest, in a folder that
nobody else may read or write. Whatever goes wrong with it, the tables are made anew; nothing is said about it.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tripos_compiler.syntax.tables import GRAMMAR, Tables, build_tables

FORMAT = 1
"""To be raised with the layout of the data."""


@cache
def tables() -> Tables:
    """The tables of our grammar, read or made once a process."""
    return tables_of(Path(__file__).with_name(GRAMMAR).read_text("utf-8"), cache_folder())


def tables_of(grammar: str, folder: Path | None) -> Tables:
    """The tables of a grammar, from the folder where it has them, and else put there; None keeps nothing."""
    try:
        key = _digest("\n".join([str(FORMAT), ".".join(map(str, sys.version_info[:2])), version("lark"), grammar]))
    except PackageNotFoundError:  # as in a bundle: what made the tables is not known
        return build_tables(grammar)
    path = None if folder is None else folder / f"grammar-{key[:16]}.json"
    found = None if path is None else _read(path, key)
    if found is not None:
        return found
    made = build_tables(grammar)
    if path is not None:
        _write(path, key, made)
    return made


def cache_folder() -> Path | None:
    """The folder for this in the user's cache: below `$XDG_CACHE_HOME` where that is set, else where the system keeps
    such things; None where the user has no home."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    if Path(given).is_absolute():
        return Path(given) / "tripos" / "grammar"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "tripos" / "grammar"
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "tripos" / "grammar"


def _read(path: Path, key: str) -> Tables | None:
    try:
        if not _ours(path.parent):
            return None
        head, _, body = path.read_text("utf-8").partition("\n")
        return Tables.from_data(json.loads(body)) if head == f"{key} {_digest(body)}" else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, key: str, made: Tables) -> None:
    """Writes a file of its own, then gives it its name, so that a reader finds a whole one or none."""
    body = json.dumps(made.to_data(), separators=(",", ":"))
    part = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _ours(path.parent):
            return
        part.write_text(f"{key} {_digest(body)}\n{body}", "utf-8")
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _ours(folder: Path) -> bool:
    """Whether only this user can put something there."""
    if sys.platform == "win32":  # a folder in the user's profile is the user's
        return True
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
