"""Discovery of logs of any format in a file or folder: the built-in formats, then those of plug-ins."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tripos.importing.logs.log import Importer, Log
from tripos.source_files import SourceFile, SourceFolder
from tripos_compiler.source.entry_points import Registry
from tripos_runtime.datasets.trust import TRUSTED, Trust

IMPORTERS = Registry("tripos.importers", "importer", Importer, "tripos.importing.logs.formats", "IMPORTER")
LINES = ".jsonl"


@dataclass(frozen=True)
class OpenedFile:
    """The logs of a file, none if they are read together with another file, with the name of their importer and the
    file that identifies them."""

    importer: str
    logs: list[Log]
    source_file: SourceFile

    @property
    def source(self) -> str:
        """The name of the file and the first 12 digits of its SHA-256, as the store records them."""
        return f"{self.source_file.path.name} {self.source_file.sha256()[:12]}"


def find_logs(path: Path, trust: Trust = TRUSTED, *, outside: bool = False) -> Iterator[SourceFile]:
    """Yield the files that may be logs: the path itself, or all files below a folder. Links out of the folder are
    followed only if `outside` is true. Raises `OSError` if there is no such path."""
    folder = SourceFolder.around(path, trust, outside=outside)
    if path.is_dir():
        for file in folder.files("**/*"):
            if any(file.path.suffix in importer.suffixes for _, importer in _importers(trust)):
                yield file
    elif not path.is_file() and path.exists():
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    else:
        path.stat()
        yield folder.file(path)


def open_logs(file: SourceFile, trust: Trust = TRUSTED) -> OpenedFile | None:
    """Return the logs of a file, or None if its format is unknown. Raises `OSError` and `ValueError` if the file cannot
    be read, and `BrokenPlugin`."""
    for name, importer in IMPORTERS.items():
        if importer.has_name(file):
            return _opened(name, importer, file, None)
    value: Any = None
    fault: ValueError | None = None
    try:
        value = first_value(file)
    except ValueError as error:
        fault = error
    for name, importer in _importers(trust):
        with IMPORTERS.guarded(name, OSError, ValueError):
            if name not in IMPORTERS.builtin and importer.has_name(file):
                return _opened(name, importer, file, None)
            if fault is None and importer.has_value(value):
                return _opened(name, importer, file, value)
    if fault is not None:
        raise fault
    return None


def first_value(file: SourceFile) -> Any:
    """Return the value of a JSON file, or that of the first line of JSON Lines. Raises `OSError` and `ValueError`."""
    return next(file.json_lines(), (None, None))[0] if file.path.suffix == LINES else file.json()


def _importers(trust: Trust) -> Iterator[tuple[str, Importer]]:
    yield from IMPORTERS.items()
    if not trust.untrusted:
        yield from IMPORTERS.plugin_items()


def _opened(name: str, importer: Importer, file: SourceFile, value: Any) -> OpenedFile:
    """Open the logs of a file. Those of a plug-in say which one has read them."""
    logs = importer.read(file, value)
    if package := IMPORTERS.package(name):
        logs = [replace(log, header=replace(log.header, about={**log.header.about, "plugin": package})) for log in logs]
    return OpenedFile(name, logs, importer.identified_by(file))
