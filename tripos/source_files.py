"""The files that importers read: tasks, logs, tables and archives that other programs, and maybe a stranger, wrote.

Importers open every file through a `SourceFolder`, which stands for the path that the user named. It opens regular
files in that folder and the project around it, within the limits of the command's trust. Content that is damaged,
nested too deeply, or far larger once it is unpacked raises `ValueError`. A file that may not or cannot be read raises
`OSError`.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import json
import os
import shutil
import struct
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PureWindowsPath
from stat import S_ISLNK
from typing import Any

import orjson

from tripos.files import MOST_BYTES, MOST_DATA_BYTES, iter_lines, opened_regular, read_limited
from tripos.settings.options import ALLOW_OUTSIDE
from tripos_compiler.language.exact_values import LONE, check_characters
from tripos_compiler.source.inputs import DataError
from tripos_runtime.datasets.data_files import DataFolders, FileAccess, Outside, path_before_wildcard, source_access
from tripos_runtime.datasets.formats import DEEPEST, check_nesting, document_with_lines, rows_in
from tripos_runtime.datasets.trust import TRUSTED, Trust

ALLOW_HINT = f"allow it if you trust who wrote it: {ALLOW_OUTSIDE}"
MOST_MEMBER = 256 * 2**20
"""The maximum size in bytes of an unpacked member of an archive."""
MOST_MEMBERS = 4_000_000
ALWAYS_ALLOWED_BYTES = 2**28
"""An archive whose unpacked size in bytes is at most this is accepted, however small the archive itself is."""
MAX_EXPANSION = 1_000
"""A larger archive may unpack to at most this multiple of its own size."""
MOST_EXPANDED = 10_000_000
"""The maximum number of values and characters of a YAML file after its aliases are expanded. A file that has more
without aliases may have as many as are written."""
MOST_CELL = 2**24
"""The maximum number of characters of a CSV cell."""
ZSTD = 93
LOCAL_HEADER = struct.Struct("<26xHH")
"""The end of the local header of a zip member: the lengths of its name and of its extra field."""
BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, UnicodeError)
"""The exceptions that a damaged zip file may cause."""


@dataclass(frozen=True)
class SourceFolder:
    """The folder of a path that the user named, with the access rights of the command."""

    root: Path
    access: FileAccess

    @classmethod
    def around(
        cls, place: Path, trust: Trust = TRUSTED, *, outside: bool = False, folders: Sequence[Path] = ()
    ) -> SourceFolder:
        """Return the folder for a file or folder that the user named. `folders` are further folders that may be read;
        `outside` allows reading any file."""
        root = place if place.is_dir() else place.parent
        return cls(root, source_access(place, folders, anything=outside, trust=trust))

    @classmethod
    def of_pattern(
        cls, pattern: Path, trust: Trust = TRUSTED, *, outside: bool = False, folders: Sequence[Path] = ()
    ) -> SourceFolder:
        """Return the folder of a pattern such as `data/{language}/*.csv`: the part before its first wildcard, or before
        the file name."""
        return cls.around(path_before_wildcard(pattern), trust, outside=outside, folders=folders)

    def file(self, path: Path) -> SourceFile:
        """Return the file at a path, without opening it."""
        return SourceFile(path, self)

    def files(self, pattern: str) -> Iterator[SourceFile]:
        """Yield the regular files below the folder whose paths match a pattern, sorted. A link that leads out of the
        folder is yielded too; reading it raises `OSError`."""
        yield from (self.file(path) for path in sorted(self.root.glob(pattern)) if path.is_file())

    @property
    def data(self) -> DataFolders:
        """The reader of tables with the same access rights."""
        return DataFolders(access=self.access)


@dataclass(frozen=True)
class SourceFile:
    """A file of a source folder. Every method opens it again, and raises `OSError` if it is not a regular file, lies
    outside of the folder, or has more bytes than may be read."""

    path: Path
    folder: SourceFolder

    def sibling(self, name: str) -> SourceFile:
        """Return another file by its path relative to the folder of this file."""
        return SourceFile(self.path.parent / name, self.folder)

    @property
    def is_there(self) -> bool:
        """True if it is a regular file that may be read."""
        try:
            return self.path.is_file() and self.folder.access.allows(self.path)
        except (OSError, ValueError):  # the name is too long, or contains a null character
            return False

    @contextmanager
    def opened(self) -> Iterator[io.BufferedReader]:
        """Open the file, after checking that it may be read."""
        access = self.folder.access
        try:
            inside = access.allows(self.path)
        except ValueError as error:
            raise OSError(errno.EINVAL, str(error), str(self.path)) from error
        if not inside:
            raise Outside(errno.EPERM, f"it lies outside of the folder that was given; {ALLOW_HINT}", str(self.path))
        with opened_regular(self.path) as file:
            now = self.path.resolve()  # a link created since then would lead to a file other than the open one
            if not access.allows(now) or not os.path.samestat(os.fstat(file.fileno()), now.stat()):
                raise Outside(errno.EPERM, "it was replaced while it was opened", str(self.path))
            yield file

    def content(self, most: int | None = None) -> bytes:
        """Return the content, of at most `most` bytes; without `most`, of at most the size of a document."""
        with self.opened() as file:
            return read_limited(file, self.path, self._most(most))

    def text(self, encoding: str = "utf-8") -> str:
        """Return the content as text. Raises `ValueError` if it cannot be decoded."""
        return self.content().decode(encoding)

    def json(self, most: int = MOST_DATA_BYTES) -> Any:
        """Return the value of a JSON file. Raises `ValueError` as `read_json` does."""
        return read_json(self.content(most))

    def json_lines(self) -> Iterator[tuple[Any, str | None]]:
        """Yield each non-empty line of a JSON Lines file as a pair: its value and None, or None and the reason why it
        cannot be read."""
        for line in self.raw_lines():
            if line.strip():
                try:
                    yield read_json(line), None
                except ValueError as error:
                    yield None, str(error)

    def lines_at(self) -> Iterator[tuple[int, bytes]]:
        """Yield the non-empty lines of a file, each with the offset of its first byte."""
        at = 0
        for line in self.raw_lines():
            if line.strip():
                yield at, line
            at += len(line)

    def raw_lines(self) -> Iterator[bytes]:
        """Yield the lines of a file, one in memory at a time."""
        with self.opened() as file:
            yield from iter_lines(file, self.path, MOST_BYTES)

    def yaml(self, tags: Mapping[str, Callable[[str], Any]] = {}) -> Any:
        """Return the value of a YAML file as texts, numbers, booleans, lists and mappings; a date is a text. `tags`
        maps each tag that a text may have to the function that converts the text. Raises `ValueError` as `read_yaml`
        does."""
        return read_yaml(self.content(), tags)

    def csv(self) -> list[dict[str, str]]:
        """Return the rows of a CSV table, keyed by its first line. Raises `ValueError` if it is damaged."""
        before = csv.field_size_limit(MOST_CELL)
        try:
            lines = csv.DictReader(io.StringIO(self.text("utf-8-sig"), newline=""))
            return [{key: value or "" for key, value in line.items() if key is not None} for line in lines]
        except csv.Error as error:
            raise ValueError(f"it is no CSV: {error}") from error
        finally:
            csv.field_size_limit(before)

    def archive(self) -> SourceArchive:
        """Open a zip file of JSON members. Raises `ValueError` if it is not one."""
        return SourceArchive(self)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the records of a table. Raises `DataError` if it cannot be read."""
        try:
            with self.opened():
                pass
        except OSError as error:
            raise DataError(f"cannot read `{self.path.name}`: {error.strerror}", "check the path") from error
        yield from rows_in(self.path, self.path.name, self.folder.access.trust.limits)

    def placed(self) -> Any:
        """Return the value of a JSON or YAML file without aliases, with the line numbers of its texts. Raises
        `DataError` if it cannot be read."""
        with self.opened():
            pass
        return document_with_lines(self.path, str(self.path), self.folder.access.trust.limits)

    def copy(self, target: Path) -> None:
        """Copy the content to another path, replacing what is there."""
        with self.opened() as file, target.open("wb") as new:
            shutil.copyfileobj(file, new)

    def sha256(self) -> str:
        """Return the SHA-256 of the content as hexadecimal digits."""
        with self.opened() as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _most(self, most: int | None) -> int:
        limits = self.folder.access.trust.limits
        return min(MOST_BYTES, limits.whole_bytes) if most is None else min(most, limits.data_bytes)


# JSON and YAML


def read_json(raw: bytes) -> Any:
    """Return the value of JSON, which may contain NaN and Infinity as some tools write them. Raises `ValueError` if it
    is not JSON or is nested too deeply.

    >>> read_json(b'{"a": [1, NaN]}')["a"]
    [1, nan]
    """
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        try:
            value = json.loads(raw)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
    _check_depth(value)
    return value


def read_exact_json(raw: bytes) -> Any:
    """Return the value of JSON as `read_json` does. Raises `ValueError` also for a text with half of a surrogate pair,
    which UTF-8 cannot encode."""
    value = read_json(raw)
    if LONE.search(raw):
        check_characters(value)
    return value


def _check_depth(value: Any) -> None:
    try:
        check_nesting(value, "it")
    except DataError as error:
        raise ValueError(error.message) from None


def read_yaml(raw: bytes, tags: Mapping[str, Callable[[str], Any]] = {}) -> Any:
    """Return the value of YAML as plain values. Raises `ValueError` if it is not YAML, has an unknown tag, is nested
    too deeply, or is far larger once its aliases are expanded.

    >>> read_yaml(b"{a: &x [1, 2024-01-31], b: *x}")
    {'a': [1, '2024-01-31'], 'b': [1, '2024-01-31']}
    """
    import yaml

    loader = _loader(tuple(tags.items()))(raw.decode("utf-8-sig"))
    try:
        node = loader.get_single_node()
        _check_expanded(node)
        value = None if node is None else loader.construct_document(node)
        if LONE.search(raw):
            check_characters(value)
        return value
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = "" if mark is None else f"line {mark.line + 1}: "
        raise ValueError(f"{where}{error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ValueError(str(error).partition("\n")[0]) from error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    finally:
        loader.dispose()


def _check_expanded(root: Any) -> None:
    """Raise `ValueError` if a document is nested too deeply, or if its aliases expand to far more than is written.

    An alias and its anchor are the same node object, so that sizes and depths are computed once for each object,
    without recursion.
    """
    sizes: dict[int, int] = {}
    depths: dict[int, int] = {}
    open_nodes: set[int] = set()
    written = 0
    waiting = [] if root is None else [(root, False)]
    while waiting:
        node, done = waiting.pop()
        key = id(node)
        below = _child_nodes(node)
        if done:
            sizes[key] = len(below) + 1 + sum(sizes[id(each)] for each in below)
            depths[key] = 1 + max((depths[id(each)] for each in below), default=0)
            open_nodes.discard(key)
        elif key in open_nodes:
            raise ValueError(f"line {node.start_mark.line + 1}: an alias stands inside of what it repeats")
        elif key not in sizes:
            if isinstance(node.value, str):
                sizes[key], depths[key] = 1 + len(node.value), 0
            else:
                open_nodes.add(key)
                waiting.append((node, True))
                waiting.extend((each, False) for each in below)
            written += 1 + (len(node.value) if isinstance(node.value, str) else len(below))
    if root is not None and depths[id(root)] > DEEPEST:
        raise ValueError(f"it is nested more than {DEEPEST} levels deep")
    if root is not None and sizes[id(root)] > max(MOST_EXPANDED, written):
        raise ValueError(f"its aliases make more than {MOST_EXPANDED:,} values and characters of it: write it out")


def _child_nodes(node: Any) -> list[Any]:
    if isinstance(node.value, str):
        return []
    return [part for each in node.value for part in (each if isinstance(each, tuple) else (each,))]


PLAIN_TAGS = ("null", "bool", "int", "float", "str", "seq", "map")
"""The tags of YAML values that JSON has too. Others, such as those of dates and bytes, are refused."""


@cache
def _loader(tags: tuple[tuple[str, Callable[[str], Any]], ...]) -> Any:
    """Return a YAML loader class that constructs plain values: a text in the form of a date stays a text."""
    import yaml

    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    known = {f"tag:yaml.org,2002:{name}": base.yaml_constructors[f"tag:yaml.org,2002:{name}"] for name in PLAIN_TAGS}
    resolvers = {
        first: [(tag, pattern) for tag, pattern in resolver if not tag.endswith(":timestamp")]
        for first, resolver in base.yaml_implicit_resolvers.items()
    }
    own: dict[str, Any] = {"yaml_constructors": known, "yaml_implicit_resolvers": resolvers}

    def construct_mapping(loader: Any, node: Any, deep: bool = False) -> dict[str, Any]:
        return {_key(name): value for name, value in base.construct_mapping(loader, node, deep).items()}

    loader_class = type("PlainLoader", (base,), {**own, "construct_mapping": construct_mapping})

    def whole(loader: Any, node: Any) -> int:
        value = loader.construct_yaml_int(node)
        try:
            str(value)  # Python refuses to print integers of more digits than its limit
        except ValueError as error:
            raise yaml.constructor.ConstructorError(None, None, str(error), node.start_mark) from error
        return int(value)

    def refused(loader: Any, node: Any) -> Any:
        message = f"a value with the tag `{node.tag}`, which is not read"
        raise yaml.constructor.ConstructorError(None, None, message, node.start_mark)

    def tagged(function: Callable[[str], Any]) -> Callable[[Any, Any], Any]:
        return lambda loader, node: function(loader.construct_scalar(node))

    yaml.add_constructor("tag:yaml.org,2002:int", whole, Loader=loader_class)
    yaml.add_constructor(None, refused, Loader=loader_class)
    for name, function in tags:
        yaml.add_constructor(name, tagged(function), Loader=loader_class)
    return loader_class


def _key(name: Any) -> str:
    """Return the name of a mapping entry as JSON has it, where all names are texts."""
    return name if isinstance(name, str) else json.dumps(name)


# Archives


def member_faults(archive: zipfile.ZipFile, size: int) -> dict[str, str]:
    """Return what is wrong with members of a zip file of `size` bytes, by name: members that programs may read
    differently, or whose paths lead out of the archive."""
    faults: dict[str, str] = {}
    names = Counter(_fold_name(each.filename) for each in archive.infolist())
    for member in archive.infolist():
        if not is_inside(member.orig_filename.removesuffix("/")):
            faults[member.filename] = "is no path in it"
        elif names[_fold_name(member.filename)] > 1:
            faults[member.filename] = "is one of two members of that name"
        elif S_ISLNK(member.external_attr >> 16):
            faults[member.filename] = "is a link"
        elif member.flag_bits & 1:
            faults[member.filename] = "is encrypted"
    ends = sorted((each.header_offset, each.compress_size, each.filename) for each in archive.infolist())
    for (at, packed, name), following in zip(ends, [*ends[1:], (size, 0, "")], strict=True):
        if at + LOCAL_HEADER.size + packed > following[0]:
            faults[name] = "overlaps another member"
    return faults


def is_inside(name: str) -> bool:
    """Return true if a name of an archive member or manifest file is a relative path below its folder on every
    system.

    >>> [is_inside(name) for name in ("a/b", "../a", "/a", "a//b", "./a", "C:a", "")]
    [True, False, False, False, False, False, False]
    """
    if not name or "\\" in name or any(unicodedata.category(each) in ("Cc", "Cs") for each in name):
        return False
    parts = name.split("/")
    return not {"", ".", ".."} & set(parts) and not PureWindowsPath(name).drive


def _fold_name(name: str) -> str:
    """Return a name as a file system has it that ignores case and Unicode normalization."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold()).rstrip("/")


def colliding_names(names: Sequence[str]) -> list[str]:
    """Return the names that denote the same file on some file system.

    >>> colliding_names(["a/B", "a/b", "c"]), colliding_names(["a", "b"])
    (['a/B', 'a/b'], [])
    """
    counts = Counter(map(_fold_name, names))
    return [name for name in names if counts[_fold_name(name)] > 1]


class SourceArchive:
    """A zip file of JSON members. Each member is unpacked on its own, and only once. Raises `ValueError` if it is not a
    zip file."""

    def __init__(self, source: SourceFile) -> None:
        self.path = source.path
        self._opening = source.opened()
        raw = self._opening.__enter__()
        try:
            self.file = zipfile.ZipFile(raw)
            size = os.fstat(raw.fileno()).st_size
            growth = max(ALWAYS_ALLOWED_BYTES, MAX_EXPANSION * size)
            most = min(source.folder.access.trust.limits.data_bytes, growth)
            if len(self.file.filelist) > MOST_MEMBERS:
                raise ValueError(f"it has more than {MOST_MEMBERS:,} members")
            if sum(member.file_size for member in self.file.filelist) > most:
                raise ValueError(f"it has more than {most:,} bytes once it is unpacked")
            self.faults = member_faults(self.file, size)
        except BROKEN_ZIP as error:
            self.close()
            raise ValueError(f"it is no zip file: {error}") from error
        except BaseException:
            self.close()
            raise
        self.file.filelist.clear()  # `NameToInfo` alone keeps each entry, until its member is unpacked

    def names(self) -> list[str]:
        """Return the names of the members that were not read yet."""
        return list(self.file.NameToInfo)

    def json(self, name: str) -> Any:
        """Return the value of a member, and drop its entry. Raises `ValueError` if it is damaged, too large or not
        JSON."""
        info = self.file.NameToInfo.pop(name)
        if name in self.faults:
            raise ValueError(f"it {self.faults[name]}")
        if info.file_size > MOST_MEMBER:
            raise ValueError(f"it has more than {MOST_MEMBER:,} bytes")
        try:
            raw = self._zstd(info) if info.compress_type == ZSTD else self._unpacked(info)
        except BROKEN_ZIP as error:
            raise ValueError(f"it is damaged: {error}") from error
        return read_json(raw)

    def _unpacked(self, info: zipfile.ZipInfo) -> bytes:
        with self.file.open(info) as member:
            raw = member.read(info.file_size + 1)
        return _checked(raw, info)

    def _zstd(self, info: zipfile.ZipInfo) -> bytes:
        import pyarrow

        file = self.file.fp
        assert file is not None
        file.seek(info.header_offset)
        name, extra = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
        file.seek(info.header_offset + LOCAL_HEADER.size + name + extra)
        packed = file.read(min(info.compress_size, MOST_MEMBER))
        try:
            with pyarrow.input_stream(pyarrow.py_buffer(packed), compression="zstd") as stream:
                raw = stream.read(info.file_size + 1)
        except OSError as error:
            raise ValueError(f"it is damaged: {error}") from error
        return _checked(raw, info)

    def close(self) -> None:
        """Close the file."""
        self._opening.__exit__(None, None, None)


def _checked(raw: bytes, info: zipfile.ZipInfo) -> bytes:
    """Return the unpacked bytes. Raises `ValueError` if their length or checksum differs from the entry."""
    if len(raw) != info.file_size or zlib.crc32(raw) != info.CRC:
        raise ValueError("it is damaged: its length or its checksum is another")
    return raw
