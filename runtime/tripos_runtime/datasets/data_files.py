"""Data files: where they are found, what a benchmark may read, and rows joined from several files.

A source is a file, or a pattern for several, that a spec names. It is searched relative to its spec, in the data
folders, and among files fetched from the Hugging Face Hub. A spec may come from somebody else, and what it reads is
printed, sent to models and released. So it may read only regular files of its own folder, of the project around it, and
of the given data folders. At run time the same files are found again by path and SHA-256."""

from __future__ import annotations

import errno
import glob
import hashlib
import io
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tripos_compiler.diagnostics.diagnostic import nearest
from tripos_compiler.language.rows import SheetRow, row_number
from tripos_compiler.library.media import MediumKind, UnfitMedium
from tripos_compiler.plan import DataFile, Dataset
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.inputs import DataError, DataReader, JoinedFiles, Origin, ResolvedFile
from tripos_runtime.datasets.formats import check_size, document_in, document_with_lines, rows_in, unpacked_digest
from tripos_runtime.datasets.media import KnownMedia, cell_of
from tripos_runtime.datasets.trust import TRUSTED, ReadLimits, Trust

Record = dict[str, Any]
Read = Callable[[ResolvedFile], Iterator[Record]]
Key = tuple[str | None, ...]
"""The key of a joined row: the value of its column, and the captures of its file's name that the row joined to it has
too."""


def files_of(
    reader: DataReader, source: str, spec_files: tuple[str, ...], wanted: Mapping[str, str]
) -> Iterator[ResolvedFile]:
    """Yield the files of a source again at run time: those that were compiled, by path and SHA-256 (`wanted`).

    Raises `DataError` if one is missing or has changed since."""
    files: dict[tuple[str, str], ResolvedFile] = {}
    for near in {Path(spec_file).parent: spec_file for spec_file in spec_files}.values():
        if all(each in files for each in wanted.items()):
            break
        try:
            files.update({(file.path, file.sha256): file for file in reader.find(source, near)})
        except DataError:
            continue
    for path, sha256 in wanted.items():
        if (path, sha256) not in files:
            raise DataError(f"`{path}` changed while the run was starting", "run again")
        yield files[path, sha256]


def dataset_files(reader: DataReader, dataset: Dataset, spec_files: tuple[str, ...]) -> Iterator[ResolvedFile]:
    """Yield the files of a data set's rows again, with the files joined to them. Raises `DataError`."""
    joined = tuple(
        JoinedFiles(
            tuple(files_of(reader, join.source, spec_files, _digests(join.files))),
            join.column,
            join.other,
            join.columns,
        )
        for join in dataset.joins
    )
    for file in files_of(reader, dataset.source, spec_files, _digests(dataset.files)):
        yield replace(file, joined=joined)


def _digests(files: tuple[DataFile, ...]) -> dict[str, str]:
    return {file.path: file.sha256 for file in files}


def joined_rows(file: ResolvedFile, read: Read) -> Iterator[Record]:
    """Yield the records of a file with the columns of the files joined to it; `read` returns the records of a single
    file. A record without a match keeps its own columns only. Raises `DataError`."""
    records = read(file)
    for joined in file.joined:
        records = _joined(file, records, joined, read)
    yield from records


def _joined(file: ResolvedFile, records: Iterator[Record], joined: JoinedFiles, read: Read) -> Iterator[Record]:
    files = [resolved_file for resolved_file in joined.files if _belongs(resolved_file, file)]
    if not files:
        message = f"none of the files that are joined is one for {file.path}"
        raise DataError(message, "let the names of both agree in what stands in braces")
    rows: dict[Key, tuple[str, Record]] | None = None
    names: tuple[str, ...] = ()
    matches = count = 0
    for count, record in enumerate(records, 1):
        number = row_number(record, count)
        row = {**file.captures, **record}
        if rows is None:
            names = tuple(sorted(name for name in _captured_names(files) if name in row and name != joined.other))
            rows = _by_key(files, joined, names, read)
        key = key_text(row.get(joined.column))
        if key is None:
            message = f"row {number} of {file.path} has no single value in `{joined.column}`, by which files are joined"
            raise DataError(message, "give every row a text or a number there")
        path, other = rows.get((key, *(key_text(row.get(name)) for name in names)), ("", None))
        matches += other is not None
        where = f"row {number} of {file.path}"
        yield record if other is None else _with_columns(record, other, joined, where, path)
    if count and not matches:
        first = files[0].path
        message = f"no row of {first} has in `{joined.other}` what a row of {file.path} has in `{joined.column}`"
        raise DataError(message, f'name the columns that agree: `on "{joined.column}" to "…"`')


def _belongs(other: ResolvedFile, file: ResolvedFile) -> bool:
    """Return true if the names of two files agree in their common captures."""
    return all(file.captures[name] == capture for name, capture in other.captures.items() if name in file.captures)


def _captured_names(files: list[ResolvedFile]) -> set[str]:
    """Return the names captured in the names of files."""
    return {name for file in files for name in file.captures}


def _by_key(
    files: list[ResolvedFile], joined: JoinedFiles, names: tuple[str, ...], read: Read
) -> dict[Key, tuple[str, Record]]:
    """Return the rows of files by their key and the captured `names`, each with the path of its file. Raises
    `DataError` if two rows have the same key."""
    by_key: dict[Key, tuple[str, Record]] = {}
    columns = {joined.other, *joined.columns}
    for file in files:
        for count, record in enumerate(read(file), 1):
            row = {**file.captures, **record}
            value = key_text(row.get(joined.other))
            if value is None:
                message = f"row {row_number(record, count)} of {file.path} has no single value in `{joined.other}`"
                raise DataError(message, "name the column by which its rows are found, and give every row a value")
            key = (value, *(key_text(row[name]) for name in names))
            if key in by_key:
                before = by_key[key][0]
                where = file.path if before == file.path else f"{before} and {file.path}"
                message = f"two rows of {where} have `{value}` in `{joined.other}`"
                raise DataError(message, "leave one, for a row gets the columns of one other row")
            by_key[key] = (file.path, {name: cell for name, cell in row.items() if name in columns})
    return by_key


def _with_columns(record: Record, other: Record, joined: JoinedFiles, where: str, path: str) -> Record:
    """Return a record with the columns of `other`, its row in the file at `path`. Raises `DataError` if both have a
    column with different values; `where` names the record."""
    added = {}
    for name in joined.columns:
        own = record.get(name)
        if name not in other:
            continue
        if own is None:
            added[name] = other[name]
        elif name != joined.other and own != other[name] and key_text(own) != key_text(other[name]):
            message = f"{where} has another `{name}` than its row of {path}"
            raise DataError(message, "rename the column in one of the files")
    cells = {**record, **added}
    return SheetRow(cells.items(), record.number) if isinstance(record, SheetRow) else cells


def key_text(value: Any) -> str | None:
    """Return the text by which a row is matched: the number 7 of one file matches the text `7` of another. None for a
    missing value, and for one that is not a single value.

    >>> key_text(7), key_text("7"), key_text(7.0), key_text(7.5), key_text(""), key_text([7]), key_text(True)
    ('7', '7', '7', '7.5', None, None, None)
    """
    match value:
        case bool() | None:
            return None
        case float() if value.is_integer():
            return str(int(value))
        case int() | float():
            return str(value)
        case str():
            return value.strip() or None
        case _:
            return None


PROJECT = ("tripos.toml", ".git")
"""The files that make a folder a project."""
PACKAGE = "__init__.py"
"""The file that makes a folder a Python package."""
RELEASE = "manifest.sha256"
"""The file that makes a folder a release, whose files are checked against its manifest."""
SPEC = ".tripos"
"""The suffix of spec files."""
HIGHEST = 2
"""How many folders above the main file's folder a spec file may be: benchmarks may share declarations."""
LEAVE = "allow it where you trust the spec: --allow-outside"
"""The end of the help for a file that may not be read."""


class Outside(OSError):
    """A file that a benchmark may not read."""


@dataclass(frozen=True)
class FileAccess:
    """The files that a benchmark with the spec `main` may read: those in the folders `roots`, or `anything`.

    The folders are paths without links. A link counts as its target, unless it is below a folder in `followed`: then it
    may lead anywhere.

    `trust` says how much is read, and what the benchmark may do."""

    main: Path
    roots: tuple[Path, ...]
    followed: tuple[Path, ...] = ()
    anything: bool = False
    trust: Trust = TRUSTED
    shares: bool = True
    """True if the benchmark may read spec files of the folders just above its own, and the files of any release."""
    outside: set[str] = field(default_factory=set, compare=False)
    """The files outside of the folders that were read since `anything` may be."""

    def allows(self, path: Path) -> bool:
        """Return true if a file may be read, or a folder listed."""
        real = path.resolve()
        if self._is_inside(real) or self._is_followed(path, real):
            return True
        if self.anything and not path.is_dir():
            self.outside.add(str(real))
        return self.anything

    def _is_followed(self, path: Path, real: Path) -> bool:
        """Return true if a path is below a folder with followed links, and may be read at `real`, where it leads. A
        path with `..` may not."""
        if self.trust.untrusted or _may_have_secrets(real):
            return False
        unresolved = Path.cwd() / path
        below = (unresolved.relative_to(folder) for folder in self.followed if unresolved.is_relative_to(folder))
        return any(".." not in each.parts for each in below)

    def _is_inside(self, real: Path) -> bool:
        """Return true if a path without links is in one of the folders, or shared with the benchmark."""
        for root in self.roots:
            if real.is_relative_to(root):
                return not _may_have_secrets(real.relative_to(root))
        if not self.shares:
            return False
        above = self.main.resolve().parents[HIGHEST : HIGHEST + 1]
        if real.suffix == SPEC and any(real.is_relative_to(folder) for folder in above):
            return True
        return any((folder / RELEASE).is_file() for folder in real.parents)

    def check(self, path: Path) -> None:
        """Raise `Outside` if a file may not be read."""
        if not self.allows(path):
            raise Outside(errno.EPERM, f"it lies outside of the benchmark; {LEAVE}", str(path))

    def read_text(self, name: str) -> str:
        """Return the text of a file. Raises `OSError` and `UnicodeDecodeError`."""
        path = Path(name)
        mode = path.stat().st_mode
        self.check(path)
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EISDIR) if stat.S_ISDIR(mode) else "it is no regular file")
        most = self.trust.limits.text_bytes
        with path.open("rb") as file:
            raw = file.read(most + 1)
        if len(raw) > most:
            raise OSError(errno.EFBIG, f"it has more than {most:,} bytes")
        return io.TextIOWrapper(io.BytesIO(raw), "utf-8").read()


def _may_have_secrets(path: Path) -> bool:
    """Return true for files that often contain passwords or API keys."""
    return any(part == ".git" or part.startswith(".env") for part in path.parts)


def access_of(
    main: Path,
    folders: tuple[Path, ...] = (),
    *,
    own: tuple[Path, ...] = (),
    named: tuple[Path, ...] = (),
    anything: bool = False,
    trust: Trust = TRUSTED,
) -> FileAccess:
    """Return the access of the spec with this main file: to its folder, the project around it, the data `folders`, and
    `own`, further folders of the benchmark such as its release.

    Links are followed in those of `folders` that the user `named` on the command line, and in those outside of the
    benchmark: snapshots of the Hugging Face Hub consist of links. In the benchmark's own folders a link may come from
    somebody else."""
    path = main.resolve().parent
    own_folders = (path, _project_of(path), *(each.resolve() for each in own))
    followed = [
        folder for folder in folders if folder in named or not any(map(folder.resolve().is_relative_to, own_folders))
    ]
    roots = dict.fromkeys((*own_folders, *(folder.resolve() for folder in folders)))
    return FileAccess(main, tuple(roots), tuple(Path.cwd() / each for each in followed), anything, trust)


def _project_of(folder: Path) -> Path:
    """Return the project around a folder, but never the home folder; the folder itself if there is none."""
    home = Path.home()
    around = (path for path in (folder, *folder.parents) if path not in (home, path.parent))
    return next((path for path in around if any((path / name).exists() for name in PROJECT)), folder)


def _package_of(folder: Path) -> Path:
    """Return the Python package that contains a folder, as for installed tasks; the folder itself if there is none."""
    inner = next((path for path in (folder, *folder.parents) if (path / PACKAGE).exists()), None)
    while inner is not None and (inner.parent / PACKAGE).exists():
        inner = inner.parent
    return folder if inner in (None, Path.home(), Path(folder.anchor)) else inner


def source_access(
    place: Path, folders: Sequence[Path] = (), *, anything: bool = False, trust: Trust = TRUSTED
) -> FileAccess:
    """Return the access of an importer to a file or folder that the user named: its folder, the project or Python
    package around it, and `folders`. A link that the user named is followed if its author is trusted."""
    path = (place if place.is_dir() else place.parent).resolve()
    named = () if trust.untrusted else (place.resolve(),)
    around = (path, _project_of(path), _package_of(path))
    roots = dict.fromkeys((*around, *(folder.resolve() for folder in folders), *named))
    followed = tuple(Path.cwd() / folder for folder in folders)
    return FileAccess(place, tuple(roots), followed, anything, trust, shares=False)


WILD = re.compile(r"(\{\w+\}|\*)")
"""The wildcards of a source: `*`, and `{field}`, which captures what it matches."""
MOST_NAMES = 1000
"""The largest number of names that are compared with a missing one."""
SHIPPED = "data"
"""The folder next to a spec with the data that come with it."""
RELEASED, RELEASED_SPEC = "manifest.sha256", "spec"
"""The file that makes a folder a release, and the folder in it for the spec."""
HUB, WEB = "hf://", ("https://", "http://")
"""The prefixes of files elsewhere: `hf://owner/name@revision/path` on the Hugging Face Hub, or an address."""
PROGRAM = re.compile(r"(?P<path>.+)\.py:(?P<function>[^\W\d]\w*)")
"""A Python function that returns rows: `needles.py:rows`."""
Bring = Callable[[str, Path, Path], None]
"""Brings a source to the path where it is searched. Its arguments are the source, the folder of its spec and the path.
Raises `DataError`."""


@dataclass(frozen=True)
class DataFolders:
    """Finds sources: relative to the spec that names them, then in each of `folders`, then in the folder `data` next to
    the spec, which comes with a benchmark. For a spec in a release, the data of the release come first."""

    folders: tuple[Path, ...] = ()
    access: FileAccess | None = None
    """The access to files. Without it anything may be read, as in a release, whose files are checked against its
    manifest."""
    bring: Bring | None = field(default=None, compare=False)
    """Fetches a missing source, or has its program make it; `None` if a missing source is an error."""
    media: KnownMedia = field(default_factory=KnownMedia, compare=False)
    """The media that cells contain or name."""

    @property
    def trust(self) -> Trust:
        """The permissions of the benchmark, and the limits of its files."""
        return TRUSTED if self.access is None else self.access.trust

    def find(self, source: str, near: str) -> list[ResolvedFile]:
        """Return the files of `source`, sorted by path. `*` matches within a name; `{field}` also captures the match,
        and matches the same text if it is repeated.

        Nothing is fetched unless by `bring`. `hf://owner/name/path` is searched as `hf/owner/name/path`,
        `https://host/path` as `web/host/path`, and rows of a program under a name with the program's digest.

        Raises `DataError` if there is none."""
        name = self._search_path(source, Path(near).parent)
        path = Path(name)
        _check_length(path)
        folders = (_fixed(path),) if path.is_absolute() else self._around(Path(near).parent)
        inside = path.relative_to(folders[0]) if path.is_absolute() else path
        if self.access is not None and not all(
            self.access.allows(path_before_wildcard(each / inside)) for each in folders[:1]
        ):
            raise _outside(source)
        for folder in folders:
            matches = _matching(folder, inside.as_posix())
            refused = [path for path, _ in matches if self.access is not None and not self.access.allows(path)]
            if refused:
                raise _outside(source, next((path for path in refused if path.is_relative_to(folder)), None))
            if matches:
                origin = self._origin(folder, Path(near).parent)
                return [_file(folder, path, captures, origin, self.trust.limits) for path, captures in matches]
        if self.bring is not None and name != source:
            self.bring(source, folders[0], folders[0] / inside)
            return replace(self, bring=None).find(source, near)
        places = ", ".join(f"`{folder}`" for folder in folders)
        close = next(filter(None, (_nearest(folder, inside) for folder in folders)), None)
        if close is not None:
            help_ = f"did you mean `{close}`?"
        else:
            help_ = "check the path" if path.is_absolute() else "give the folder that holds it with --data DIR"
        if PROGRAM.fullmatch(source):
            raise DataError(f"the rows of `{source}` are not made", f"make them: `tripos fetch {near}`")
        if name != source and (close is None or close.endswith("/")):
            help_ = f"fetch it: `tripos fetch {near}`"
        raise DataError(f"no file `{inside.as_posix()}` in {places}", help_)

    def _search_path(self, source: str, beside: Path) -> str:
        """Return the path under which a source is searched."""
        if source.startswith(HUB):
            return _fetched_path(source)
        if source.startswith(WEB):
            return f"web/{quote(source.partition('://')[2])}".replace("..", "__")
        program = PROGRAM.fullmatch(source)
        if program is None:
            return source
        file = beside / f"{program['path']}.py"
        if not file.is_file() and _released(beside) is not None:
            return f"rows/{Path(program['path']).name}.{program['function']}-*.jsonl"  # a release has the rows alone
        try:
            if self.access is not None:
                self.access.check(file)
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError as error:
            raise DataError(f"cannot read `{program['path']}.py`: {error.strerror}", "check the path") from error
        return f"rows/{Path(program['path']).name}.{program['function']}-{digest[:16]}.jsonl"

    def _around(self, beside: Path) -> tuple[Path, ...]:
        """Return the folders that are searched, in order, for a spec in the folder `beside`."""
        shipped = [path for path in (beside / SHIPPED,) if path.is_dir()]
        released = _released(beside)
        if released is not None:
            return (beside, *released, *shipped, *(folder for folder in self.folders if folder not in released))
        return (beside, *self.folders, *shipped)

    def _origin(self, folder: Path, beside: Path) -> Origin:
        """Return where a folder with data comes from, for a spec in the folder `beside`."""
        if folder in self.folders:
            return "given"
        return "shipped" if folder == beside / SHIPPED and _released(beside) is None else "spec"

    def rows(self, file: ResolvedFile) -> Iterator[dict[str, Any]]:
        """Yield the raw records of a file, with the columns of files joined to it. Raises `DataError` with the line of
        an unreadable record."""
        return joined_rows(
            file, lambda resolved_file: rows_in(Path(resolved_file.location), resolved_file.path, self.trust.limits)
        )

    def medium(self, file: ResolvedFile, kind: MediumKind, value: Any) -> str:
        """Return the mark of a medium in a cell, or of the file that the cell names, which is searched relative to the
        data file and then where that was searched. Raises `UnfitMedium`."""
        cell = cell_of(value)
        if isinstance(cell, bytes):
            return self.media.cell(kind, cell, self.trust.limits.medium_bytes)
        data = Path(file.location)
        root = Path(str(data).removesuffix(file.path)) if str(data).endswith(file.path) else data.parent
        fetched = cell.startswith((HUB, *WEB))
        inside = Path(self._search_path(cell, root) if fetched else cell)
        _check_length(inside)
        places = list(dict.fromkeys(folder / inside for folder in (data.parent, root, *self.folders)))
        paths = [place for place in places if place.is_file()]
        path = next((each for each in paths if self.access is None or self.access.allows(each)), None)
        if path is not None:
            return self.media.file(kind, path, cell, self.trust.limits.medium_bytes)
        if paths:
            raise UnfitMedium(f"`{cell}` lies outside of the benchmark", f"put it beside the data file; {LEAVE}")
        help_ = f"save it as `{inside.as_posix()}` beside the data file" if fetched else "check the path"
        raise UnfitMedium(f"there is no file `{inside.as_posix()}`, which is looked for beside `{file.path}`", help_)

    def document(self, file: ResolvedFile) -> Any:
        """Return the content of a JSON or YAML file. Raises `DataError`."""
        return document_in(Path(file.location), file.path, self.trust.limits)

    def placed(self, file: ResolvedFile) -> Any:
        """Return the content of a JSON or YAML file, with the line numbers of its texts. Raises `DataError`."""
        return document_with_lines(Path(file.location), file.path, self.trust.limits)


LONGEST_NAME = 255
"""In bytes: the limit of file systems on Linux, macOS and Windows."""
LONGEST_PATH = 3_000
"""In characters."""
SHOWN = 40
"""The number of characters of a name that is too long that a message quotes."""


def _outside(source: str, link: Path | None = None) -> DataError:
    """Return the error for a source that may not be read; `link` is the path in a readable folder that leads there."""
    help_ = f"put it beside the spec, or name its folder with --data DIR; {LEAVE}"
    if link is not None and link.resolve() != Path.cwd() / link:
        message = f"`{source}` lies outside of the benchmark: `{link}` leads to `{link.resolve()}`"
        return DataError(message, f"copy the file; or name the folder of the link with --data DIR; {LEAVE}")
    return DataError(f"`{source}` lies outside of the benchmark", help_)


def _check_length(path: Path) -> None:
    """Raise `DataError` for a name that is too long for a file."""
    for part in path.parts:
        size = len(part.encode("utf-8", "surrogatepass"))
        if size > LONGEST_NAME:
            limit = f"it has {size:,} bytes, and at most {LONGEST_NAME} are allowed"
            raise DataError(f"`{part[:SHOWN]}…` is the name of no file: {limit}", "shorten the name")
    if len(path.as_posix()) > LONGEST_PATH:
        message = f"`{path.as_posix()[:SHOWN]}…` is no path: it has more than {LONGEST_PATH:,} characters"
        raise DataError(message, "move the file to a folder that is less deep")


def path_before_wildcard(path: Path) -> Path:
    """Return a path up to its first part with a wildcard."""
    wild = next((place for place, part in enumerate(path.parts) if _is_wild(part)), len(path.parts))
    return Path(*path.parts[:wild])


def _released(beside: Path) -> tuple[Path, ...] | None:
    """Return the data folders of the release that contains a folder; None if it is in no release."""
    for folder in (beside, *beside.parents):
        if folder.name == RELEASED_SPEC and (folder.parent / RELEASED).is_file():
            return (folder.parent / SHIPPED,)
    return None


def _fetched_path(source: str) -> str:
    """Return the path of a fetched file of the Hub: `hf/owner/name/path`."""
    inside = source.removeprefix(HUB).strip("/").removeprefix("datasets/")
    if inside.count("/") < 2 or ".." in inside.split("/"):
        raise DataError(f"`{source}` names no file of a data set", "write `hf://owner/name/path`")
    return f"hf/{inside}"


def _file(folder: Path, path: Path, captures: dict[str, str], origin: Origin, limits: ReadLimits) -> ResolvedFile:
    try:
        check_size(path, path.name, limits)
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}", "check its permissions") from error
    unpacked = unpacked_digest(path, limits)
    return ResolvedFile(path.relative_to(folder).as_posix(), str(path), sha256, captures, unpacked, origin)


def _matching(folder: Path, source: str) -> list[tuple[Path, dict[str, str]]]:
    """Return the files below a folder that match a relative path, with the captures of their names."""
    if not _is_wild(source):
        return [(folder / source, {})] if (folder / source).is_file() else []
    pattern = "".join("*" if _is_wild(part) else glob.escape(part) for part in WILD.split(source))
    regex = re.compile(_regex(source))
    matches: list[tuple[Path, dict[str, str]]] = []
    for name in sorted(glob.glob(str(Path(glob.escape(str(folder))) / pattern))):  # noqa: PTH207
        match = regex.fullmatch(Path(name).relative_to(folder).as_posix())
        if match and Path(name).is_file():
            matches.append((Path(name), match.groupdict()))
    return matches


def _is_wild(source: str) -> bool:
    return any(part == "*" or _captured_field(part) for part in WILD.split(source))


def _captured_field(part: str) -> str | None:
    """Return the field that captures a part of a name; `{1a}` is not a name and matches itself."""
    name = part[1:-1]
    return name if part == f"{{{name}}}" and name.isidentifier() else None


def _regex(source: str) -> str:
    """Return the regular expression of a source, with a group for each field that its wildcards capture."""
    regex = ""
    for part in WILD.split(source):
        name = _captured_field(part)
        if name is None:
            regex += "[^/]*" if part == "*" else re.escape(part)
        else:
            group = f"(?P<{name}>"
            regex += f"(?P={name})" if group in regex else f"{group}[^/]+?)"
    return regex


def _fixed(path: Path) -> Path:
    """Return the folder in which an absolute path is searched: the deepest one before its first part with a wildcard,
    or that of its file."""
    return next((folder for folder in reversed(path.parents) if _is_wild(folder.name)), path).parent


def _nearest(folder: Path, source: Path) -> str | None:
    """Return a path that exists in a folder and is similar to `source`, or the part of it that exists; None if nothing
    is similar."""
    path = Path()
    for place, part in enumerate(source.parts, 1):
        name: str | None = part
        if not _is_wild(part) and not (folder / path / part).exists():
            inner = place < len(source.parts)  # parts follow, so it must be a folder
            try:
                entries = islice((folder / path).iterdir(), MOST_NAMES)
                name = nearest(part, (each.name for each in entries if not inner or each.is_dir()))
            except OSError:
                name = None
        if name is None:
            break
        path /= name
    if _matching(folder, path.as_posix()):
        return path.as_posix()
    return f"{path.as_posix()}/" if path.parts != source.parts[: len(path.parts)] else None
