"""Takes a zip apart, unless two programs could read different releases in it, or it grows beyond all reason."""

from __future__ import annotations

import zipfile
from collections import Counter
from pathlib import Path, PurePosixPath

ALWAYS_FINE = 256 * 2**20
"""Bytes that a zip may hold however small it is."""
MOST_GROWTH = 100
"""What is larger may be at most so many times the size of the zip: text seldom shrinks to a tenth."""


def unpack(path: Path, folder: Path) -> Path:
    """Puts what lies in a zip into a folder, and gives the folder of the release there: that, or the one in it.

    Raises `zipfile.BadZipFile` for a zip that is none or not to be trusted, and `OSError`.
    """
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        _check_names(names)
        size = sum(each.file_size for each in archive.infolist())
        if size > max(ALWAYS_FINE, MOST_GROWTH * path.stat().st_size):
            raise zipfile.BadZipFile(f"it would be {size:,} bytes, far more than a release of its size")
        archive.extractall(folder)
    tops = {PurePosixPath(name).parts[0] for name in names}
    return folder / tops.pop() if len(tops) == 1 else folder


def _check_names(names: list[str]) -> None:
    for name in names:
        parts = PurePosixPath(name).parts
        if not parts or "\\" in name or ".." in parts or parts[0] == "/" or "/".join(parts) != name.rstrip("/"):
            raise zipfile.BadZipFile(f"`{name}` is no path in it")
    for name, times in Counter(name.casefold() for name in names).items():
        if times > 1:
            raise zipfile.BadZipFile(f"it has two files of the name `{name}`")
