"""File access of a benchmark: which files of this machine a spec may have read.

A spec may be somebody else's, and what it reads is printed, sent to models and released. So it reads regular files of
its own folder, of the project around it and of the data folders that were given, and nothing else without leave.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from tripos_runtime.datasets.trust import TRUSTED, Trust

PROJECT = ("tripos.toml", ".git")
"""The files that make a folder that of a project."""
RELEASE = "manifest.sha256"
"""The file that makes a folder that of a release, whose files are held against its manifest."""
SPEC = ".tripos"
HIGHEST = 2
"""A spec file may lie so many folders above the main file's, where several benchmarks share declarations."""
LEAVE = "allow it where you trust the spec: --allow-outside"


class Outside(OSError):
    """A file that a benchmark may not read."""


@dataclass(frozen=True)
class FileAccess:
    """The folders in which a benchmark reads, without links in their paths, or leave to read `anything`.

    `outside` has the files that were read elsewhere. `trust` says how much is read, and what the benchmark may do.
    """

    main: Path
    roots: tuple[Path, ...]
    anything: bool = False
    trust: Trust = TRUSTED
    outside: set[str] = field(default_factory=set, compare=False)

    def allows(self, path: Path) -> bool:
        """Return true if a file may be read, or a folder be looked into."""
        real = path.resolve()
        if self._is_inside(real):
            return True
        if self.anything and not path.is_dir():
            self.outside.add(str(real))
        return self.anything

    def _is_inside(self, real: Path) -> bool:
        for root in self.roots:
            if real.is_relative_to(root):
                return not any(part == ".git" or part.startswith(".env") for part in real.relative_to(root).parts)
        above = self.main.resolve().parents[HIGHEST : HIGHEST + 1]
        if real.suffix == SPEC and any(real.is_relative_to(folder) for folder in above):
            return True
        return any((folder / RELEASE).is_file() for folder in real.parents)

    def check(self, path: Path) -> None:
        """Note that a file is read. Raises `Outside`."""
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


def access_of(
    main: Path, folders: tuple[Path, ...] = (), *, anything: bool = False, trust: Trust = TRUSTED
) -> FileAccess:
    """Return what the spec with this main file may read: its folder, the project around it, and `folders`."""
    beside = main.resolve().parent
    home = Path.home()
    around = (each for each in (beside, *beside.parents) if each not in (home, each.parent))
    project = next((each for each in around if any((each / name).exists() for name in PROJECT)), beside)
    roots = dict.fromkeys((beside, project, *(each.resolve() for each in folders)))
    return FileAccess(main, tuple(roots), anything, trust)
