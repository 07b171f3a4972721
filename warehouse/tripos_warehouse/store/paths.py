"""The boundary of a store: how its files are found and opened, since somebody else may have written the folder.

No path that a file of a store says is used before `part_path` has taken it, and no file of a store is opened but as a
regular one that lies in the folder itself. A link inside a store is refused: it may lead to any file of the user.

Addresses of stores on object stores, and the folder of this machine that has a copy of each.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from io import BufferedReader
from pathlib import Path

import orjson

from tripos_warehouse.errors import StoreError

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)
"""Two letters at least: one is a drive, `C:/results`. Of two strokes a path keeps one."""


def why_no_folder(place: str) -> tuple[str, str] | None:
    """Return why a place is no folder or file of this machine, and what to give instead; None where it is one.

    >>> why_no_folder("s3://bucket/results")
    ('`s3://bucket/results` is an address of `s3`, which is not served', 'give a folder or file of this machine')
    >>> why_no_folder("file:///srv/results")
    ('`file:///srv/results` is an address of `file`, which is not served', 'write it as a path: /srv/results')
    >>> why_no_folder("s3://")
    ('`s3://` names no bucket and no folder', 'write what follows, as in s3://NAME/results')
    >>> why_no_folder("results"), why_no_folder("C:/results")
    (None, None)
    """
    address = _ADDRESS.match(place)
    if address is None:
        return None
    scheme = address[1].lower()
    if scheme != "file" and not address[2].strip("/"):
        return f"`{place}` names no bucket and no folder", f"write what follows, as in {scheme}://NAME/results"
    message = f"`{place}` is an address of `{scheme}`, which is not served"
    if scheme == "file":
        from urllib.parse import unquote

        return message, f"write it as a path: /{unquote(address[2].removeprefix('localhost/'))}"
    return message, "give a folder or file of this machine"


SUMS, KEYS, VALUES = "cache/sums", "cache/keys", "cache/values"
"""Of each large part: the sums of its scores, the hashes of its keys, and its values of enumerations
(`views/prepared/part_files.py`)."""
FOLDERS = (
    *("parts", "commits", "journal", "journal/rejected", "works", "indexes", "media", "annotations", "cache"),
    *(SUMS, KEYS, VALUES),
)
FILES = ("tripos-store.json", "claims", "ticks")
MOST_BYTES = 64 * 2**20
"""A file of a store that is read whole may have so many bytes; parts, and lists of names, are read piece by piece."""

_PART = re.compile(r"parts/([a-z][a-z0-9_]{0,63})/[A-Za-z0-9][A-Za-z0-9._-]{0,250}\.parquet")
_OPENING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def part_path(table: str, path: str) -> str:
    """`path` itself, where it is that of a part of `table`. Raises `ValueError`.

    >>> part_path("scores", "parts/scores/a.0f.parquet")
    'parts/scores/a.0f.parquet'
    >>> part_path("scores", "parts/scores/../../thesis.parquet")
    Traceback (most recent call last):
    ValueError: `parts/scores/../../thesis.parquet` is not parts/scores/NAME.parquet
    """
    found = _PART.fullmatch(path)
    if found is None or found[1] != table or not path.isascii():
        raise ValueError(f"`{path}` is not parts/{table}/NAME.parquet")
    return path


def check_links(root: Path) -> None:
    """Raise `StoreError` S0107 where a folder of the store, or one of the files that every process writes, is a link or
    is of another kind than it should be."""
    below = root / "parts"
    _check(below, is_folder=True)
    try:
        with os.scandir(below) as entries:
            tables = [f"parts/{entry.name}" for entry in entries if not entry.is_file(follow_symlinks=False)]
    except OSError:
        tables = []
    for name in (*FOLDERS, *tables):
        _check(root / name, is_folder=True)
    for name in FILES:
        _check(root / name, is_folder=False)


def check_marker(folder: Path, name: str, known: str) -> None:
    """Raise `StoreError` where a folder is no store of a format that is `known`: S0101, S0103, S0104, S0107."""
    marker = folder / name
    try:
        check_links(folder)
        found = orjson.loads(read_plain(marker))["format"]
    except (FileNotFoundError, NotADirectoryError) as error:
        hint = "run a benchmark first, or name the store with `--store`"
        raise StoreError("S0101", f"no store at `{folder}`", hint) from error
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        hint = f'write `{{"format":"{known}"}}` into it'
        raise StoreError("S0103", f"`{marker}` is unreadable ({error})", hint) from error
    if found != known:
        message = f"the store at `{folder}` has the format `{found}`; this Tripos reads `{known}`"
        raise StoreError("S0104", message, "update Tripos")


def lies_in(root: Path, path: Path) -> bool:
    """Return true if a path below `root`, which is resolved, is still below it once links are followed up to its
    folder."""
    return path.parent.resolve().is_relative_to(root)


def is_plain(path: Path) -> bool:
    """Return true if there is a regular file, and no link to one. Raises `OSError` where nobody can know."""
    return stat.S_ISREG(path.lstat().st_mode)


@contextmanager
def open_plain(path: Path) -> Iterator[BufferedReader]:
    """A regular file, open to be read. Raises `OSError` for a link, a pipe or a device, and none of them is waited
    for."""
    handle = os.open(path, _OPENING)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode) or path.is_symlink():
            raise OSError(f"`{path}` is no regular file")
        yield file


def read_plain(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of a regular file. Raises `OSError`, also where there are more than `most` bytes."""
    with open_plain(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(f"more than {most:,} bytes")
    return content


def _check(path: Path, *, is_folder: bool) -> None:
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISDIR(mode) if is_folder else stat.S_ISREG(mode):
        return
    kind = "a link" if stat.S_ISLNK(mode) else "no folder" if is_folder else "no regular file"
    raise StoreError(
        "S0107",
        f"`{path}` is {kind}, so the store may lead out of its folder",
        "a store that you were given: do not use it; one of your own: put the folder itself in the place of the link",
    )


SCHEMES = ("s3", "gs", "az")
_ADDRESSES_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)}):/+([^/].*?)/*", re.DOTALL)


def address_of(place: str | Path) -> str | None:
    """Return the address of a store on an object store; None for any other place.

    A path keeps one stroke of two, so `Path("s3://bucket/results")` is taken as well.

    >>> address_of("s3://bucket/results/"), address_of(Path("s3://bucket/results")), address_of("results")
    ('s3://bucket/results', 's3://bucket/results', None)
    """
    found = _ADDRESSES_ADDRESS.fullmatch(str(place))
    return found and f"{found[1]}://{found[2]}"


def copy_of(address: str) -> Path:
    """Return the folder of this machine for the store at an address: its committed parts, and the journal of runs.

    >>> copy_of("s3://bucket/results").parent.name
    'stores'
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    last = re.sub(r"[^A-Za-z0-9._-]+", "-", address.rpartition("/")[2])[:40]
    return cache / "tripos" / "stores" / f"{last}-{blake2b(address.encode(), digest_size=8).hexdigest()}"
