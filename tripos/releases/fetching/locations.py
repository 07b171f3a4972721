"""Where a release lies: in a folder, a zip, at a URL or on the Hub; to every command it is a folder."""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from tripos.releases.fetching.reach import TYPED, Reach
from tripos.releases.layout import FORMAT, HUB, MANIFEST, MOST_FILES, UNLISTED
from tripos.settings import BROKEN_ZIP, member_faults, opened_regular, read_untrusted
from tripos.ui import SOME_FAILED, Failure, first_line

BAD_ZIP = (*BROKEN_ZIP, OSError, ValueError)
"""What unpacking a zip that is damaged may raise."""
ALWAYS_FINE = 256 * 2**20
"""Bytes that a zip may hold however small it is."""
MOST_GROWTH = 100
"""What is larger may be at most so many times the size of the zip: text seldom shrinks to a tenth."""


def unpack(path: Path, folder: Path) -> Path:
    """Put what lies in a zip into a folder, and return the folder of the release there: that, or the one in it.

    Raises `zipfile.BadZipFile` for a zip that is none or not to be trusted, and `OSError`.
    """
    with opened_regular(path) as file, zipfile.ZipFile(file) as archive:
        there = os.fstat(file.fileno()).st_size
        members = archive.infolist()
        if len(members) > MOST_FILES:
            raise zipfile.BadZipFile(f"it has more than {MOST_FILES:,} files")
        for name, fault in member_faults(archive, there).items():
            raise zipfile.BadZipFile(f"`{name}` {fault}")
        _check_edges(archive, file, there)
        size = sum(each.file_size for each in members)
        if size > max(ALWAYS_FINE, MOST_GROWTH * there):
            raise zipfile.BadZipFile(f"it would be {size:,} bytes, far more than a release of its size")
        archive.extractall(folder)
    tops = {each.filename.partition("/")[0] for each in members}
    return folder / tops.pop() if len(tops) == 1 else folder


def _check_edges(archive: zipfile.ZipFile, file: IO[bytes], size: int) -> None:
    """Raise `BadZipFile` for bytes before the first member or after the end: programs differ in what they make of
    them."""
    first = min((each.header_offset for each in archive.infolist()), default=0)
    file.seek(max(0, size - END.size - len(archive.comment)))
    mark, comment = END.unpack(file.read(END.size))
    if mark != END_MARK or comment != len(archive.comment):
        raise zipfile.BadZipFile("it has bytes after its end")
    if first != 0:
        raise zipfile.BadZipFile("it has bytes before its first file")


END, END_MARK = struct.Struct("<4s16xH"), b"PK\5\6"
"""The end of a zip: its mark, and the length of the comment after it."""


ZIP = ".zip"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The date of everything in a zip: the earliest that one can have, so that no clock is in its bytes."""
_HINT = "give a folder, a zip, or a URL such as s3://bucket/releases/NAME-1.0.0"


def is_release(path: Path) -> bool:
    """Return true if a path is the folder of a release."""
    try:
        return FORMAT.partition("/")[0].encode() in read_untrusted(path / MANIFEST)
    except OSError:
        return False


_opened: dict[str, Path] = {}
"""The folders of what this process fetched or unpacked, by what it was given."""


def find_release(given: str, reach: Reach = TYPED) -> Path | None:
    """Return the folder of what a command was given, if it is a release. What lies in a zip or at a URL is put into a
    folder that goes with the process, once; `reach` says how far it may be fetched from.

    Raises `Failure` S0851 for a zip or a URL that cannot be read, and for the Hub as `push_to_hub` does.
    """
    path = Path(given)
    if "://" not in given and not (path.suffix == ZIP and path.is_file()):
        return path if is_release(path) else None
    if given not in _opened:
        _opened[given] = fetch_release(given, reach) if "://" in given else _unpacked(path)
    return _opened[given]


def forget_opened() -> None:
    """Fetch and unpack again what is asked for from now on."""
    _opened.clear()


def pack(folder: Path) -> Path:
    """Write a release as a zip beside its folder: the same release, the same bytes. Raises `OSError`."""
    import zipfile

    target = folder.with_name(folder.name + ZIP)
    new = target.with_name(f".{target.name}.new")
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, path in _files(folder):
            entry = zipfile.ZipInfo(f"{folder.name}/{name}", _LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, path.read_bytes())
    new.replace(target)
    return target


def push(folder: Path, url: str) -> str:
    """Copy a release to `URL/NAME-VERSION`, the manifest last, so that it is there whole or not at all; where it is. On
    the Hub, `hf://OWNER/NAME`, it becomes the head of a data set.

    Raises `Failure` S0850 where a file of another content is there, or the store refuses.
    """
    if url.startswith(HUB):
        from tripos.releases.fetching.hub import push_to_hub

        return push_to_hub(folder, url)
    import obstore
    from obstore.exceptions import AlreadyExistsError, BaseError

    from tripos_warehouse.store import panics_as_errors

    place = f"{url.rstrip('/')}/{folder.name}"
    listed = sorted(_files(folder), key=lambda each: (each[0] in UNLISTED, each[0] == MANIFEST, each[0]))
    try:
        with panics_as_errors(hushed=True):
            store = _store(place, make=True)
            for name, path in listed:
                content = path.read_bytes()
                try:
                    obstore.put(store, name, content, mode="create")
                except AlreadyExistsError as error:
                    if bytes(obstore.get(store, name).bytes()) != content:
                        message = f"`{place}/{name}` is there already, with other content"
                        raise Failure("S0850", message, "a release is never changed: push it elsewhere") from error
    except (BaseError, ValueError, OSError) as error:
        raise Failure("S0850", f"cannot write to `{place}`: {first_line(error)}", _HINT, SOME_FAILED) from error
    return place


def fetch_release(url: str, reach: Reach, sha256: str | None = None) -> Path:
    """Return the folder of a release at a URL, that goes with the process. Raises `Failure` as `download_release`
    does."""
    if url.startswith(HUB):
        from tripos.releases.fetching.hub import fetch_from_hub, place_of

        folder = temporary(PurePosixPath(place_of(url).name).name)
        fetch_from_hub(url, folder, reach, sha256)
        return folder
    from tripos.releases.fetching.download import download_file, download_release

    if url.endswith(ZIP):
        path = temporary("zip") / PurePosixPath(url).name
        download_file(url, path, reach)
        return _unpacked(path)
    folder = temporary(PurePosixPath(url.rstrip("/")).name)
    download_release(url, folder, reach, sha256)
    return folder


def _unpacked(path: Path) -> Path:
    """Return what lies in a zip: the release itself, or one folder with it."""
    try:
        return unpack(path, temporary(path.stem))
    except BAD_ZIP as error:
        hint = "download it again"
        raise Failure("S0851", f"cannot read the zip `{path}`: {error}", hint, SOME_FAILED) from error


def temporary(name: str) -> Path:
    """Return a folder of that name that goes with the process."""
    import atexit
    import shutil
    import tempfile

    around = Path(tempfile.mkdtemp(prefix="tripos-"))
    atexit.register(shutil.rmtree, around, ignore_errors=True)
    (around / (name or "release")).mkdir()
    return around / (name or "release")


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    named = ((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*") if path.is_file())
    yield from sorted(named)


def _store(url: str, make: bool = False) -> Any:
    from obstore.store import LocalStore, from_url

    if url.startswith("file://"):
        return LocalStore(url.removeprefix("file://"), mkdir=make)
    return from_url(url, client_options={"allow_http": True} if url.startswith("http://") else None)
