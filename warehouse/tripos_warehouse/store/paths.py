"""Paths of a store, its addresses on object stores, and the only ways in which its files are opened.

A store may have been written by somebody else. So `part_path` checks every path that a commit lists before it is used,
and files of a store are opened only if they are regular files. A link inside a store is refused, because it may lead to
any file of the user.
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
"""An address: a scheme of at least two letters, since a single one is a drive, as in `C:/results`; then one or more
slashes, since a `Path` keeps only one of two.
"""


# Addresses where a folder is expected
def why_no_folder(place: str) -> tuple[str, str] | None:
    """Return why a place is not a path of this machine, and a hint; None if it is one.

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


MARKER = "tripos-store.json"
"""The file that makes a folder or a bucket a store."""
SUMS, KEYS, VALUES = "cache/sums", "cache/keys", "cache/values"
"""Folders of files that are derived from large parts: sums of scores, hashes of keys, values of enumerations
(`views/derived.py`).
"""
FOLDERS = (
    *("parts", "commits", "journal", "journal/rejected", "works", "indexes", "media", "annotations", "cache"),
    *(SUMS, KEYS, VALUES),
)
"""The folders of a store that must not be links."""
FILES = ("tripos-store.json", "claims", "ticks")
"""The files of a store that must not be links."""
MOST_BYTES = 64 * 2**20
"""The size limit of a file that is read at once. Parts and lists of names are read piece by piece."""

_PART = re.compile(r"parts/([a-z][a-z0-9_]{0,63})/[A-Za-z0-9][A-Za-z0-9._-]{0,250}\.parquet")
_OPENING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


# Files of a store
def part_path(table: str, path: str) -> str:
    """Return `path` if it is the path of a part of `table`. Raises `ValueError` otherwise.

    >>> part_path("scores", "parts/scores/a.0f.parquet")
    'parts/scores/a.0f.parquet'
    >>> part_path("scores", "parts/scores/../../thesis.parquet")
    Traceback (most recent call last):
    ValueError: `parts/scores/../../thesis.parquet` is not parts/scores/NAME.parquet
    """
    match = _PART.fullmatch(path)
    if match is None or match[1] != table or not path.isascii():
        raise ValueError(f"`{path}` is not parts/{table}/NAME.parquet")
    return path


def check_links(root: Path) -> None:
    """Raise `StoreError` S0107 if a folder of the store, or a file that every process writes, is a link or has the
    wrong kind.
    """
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
    """Check that a folder is a store of the `known` format.

    Raises `StoreError`: S0101 if there is no marker file, S0103 if it is unreadable, S0104 for another format, S0107
    for a link in the store.
    """
    marker = folder / name
    try:
        check_links(folder)
        version = orjson.loads(read_plain(marker))["format"]
    except (FileNotFoundError, NotADirectoryError) as error:
        hint = "run a benchmark first, or name the store with `--store`"
        raise StoreError("S0101", f"no store at `{folder}`", hint) from error
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        hint = f'write `{{"format":"{known}"}}` into it'
        raise StoreError("S0103", f"`{marker}` is unreadable ({error})", hint) from error
    if version != known:
        message = f"the store at `{folder}` has the format `{version}`; this Tripos reads `{known}`"
        raise StoreError("S0104", message, "update Tripos")


def lies_in(root: Path, path: Path) -> bool:
    """Return true if the parent folder of `path`, with all links resolved, lies in the resolved folder `root`."""
    return path.parent.resolve().is_relative_to(root)


def is_plain(path: Path) -> bool:
    """Return true if `path` is a regular file and not a link. Raises `OSError` if it cannot be examined."""
    return stat.S_ISREG(path.lstat().st_mode)


@contextmanager
def open_plain(path: Path) -> Iterator[BufferedReader]:
    """Open a regular file for reading. Raises `OSError` for a link, a pipe or a device, without waiting for it."""
    handle = os.open(path, _OPENING)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode) or path.is_symlink():
            raise OSError(f"`{path}` is no regular file")
        yield file


def read_plain(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of a regular file. Raises `OSError`, also if it has more than `most` bytes."""
    with open_plain(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(f"more than {most:,} bytes")
    return content


def _check(path: Path, *, is_folder: bool) -> None:
    """Raise `StoreError` S0107 if a path exists and is not a folder, or not a regular file."""
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
"""The schemes of addresses on object stores."""
_STORE_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)}):/+([^/].*?)/*", re.DOTALL)


# Addresses on object stores
def address_of(place: str | Path) -> str | None:
    """Return the address of a store on an object store; None for any other place.

    `Path` keeps only one of two slashes, so `Path("s3://bucket/results")` is accepted too.

    >>> address_of("s3://bucket/results/"), address_of(Path("s3://bucket/results")), address_of("results")
    ('s3://bucket/results', 's3://bucket/results', None)
    """
    match = _STORE_ADDRESS.fullmatch(str(place))
    return match and f"{match[1]}://{match[2]}"


def copy_of(address: str) -> Path:
    """Return the folder of this machine that holds the local copy of the store at an address: its parts and its
    journal.

    >>> copy_of("s3://bucket/results").parent.name
    'stores'
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    last = re.sub(r"[^A-Za-z0-9._-]+", "-", address.rpartition("/")[2])[:40]
    return cache / "tripos" / "stores" / f"{last}-{blake2b(address.encode(), digest_size=8).hexdigest()}"
