"""Files beside a file of functions that it imports, and that those import: found in their source, never executed.

An absolute name is looked for in the folder of the file that the spec names, and, where it begins with the name of that
folder, in the folder above; a relative one from the file that imports it. A module of Python's own library is never
taken from beside.
"""

from __future__ import annotations

import ast
import posixpath
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tripos_compiler.resolve import Program
from tripos_compiler.resolve.plugins.signatures import Unusable, parse_python
from tripos_compiler.source import Source, Span

MOST_FILES = 100
"""So many files may be imported from beside one."""


@dataclass
class SiblingFiles:
    """The files that a file of functions at `top` imports from beside it, by path, as they are found."""

    program: Program
    top: str
    texts: dict[str, Source] = field(default_factory=dict)
    parsed: dict[str, ast.Module] = field(default_factory=dict)

    def look(self, path: str, module: ast.Module) -> None:
        """Find what a module imports from beside it, and what that imports. Raises `Unusable`, E0310."""
        self.parsed[path] = module
        for node in ast.walk(module):
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        self._all(self._stems(path, alias.name, 0))
                case ast.ImportFrom(module=of, names=names, level=level):
                    found = self._all(self._stems(path, of or "", level))
                    inner = [
                        self._all(self._stems(path, f"{of or ''}.{each.name}".lstrip("."), level)) for each in names
                    ]
                    if level and not found and not all(inner):
                        self._lacks(path, node, f"{'.' * level}{of or ''}")

    def found(self, written: str, within: str) -> tuple[str, ast.Module] | None:
        """Return the module from beside that a file imports by a written name; None where it is none of them."""
        level = len(written) - len(written.lstrip("."))
        for stem in self._stems(within, written[level:], level)[-1:]:
            for path in _files(stem):
                if path in self.parsed:
                    return path, self.parsed[path]
        return None

    def _stems(self, path: str, name: str, level: int) -> list[str]:
        """Return the places, without an ending, of each module on the way to the one of a name, the last last."""
        parts = [part for part in name.split(".") if part]
        if level:
            base = posixpath.dirname(path)
            for _ in range(level - 1):
                base = posixpath.join(base, "..")
            return [posixpath.normpath(posixpath.join(base, *parts[:count])) for count in range(1, len(parts) + 1)]
        if not parts or parts[0] in sys.stdlib_module_names:
            return []
        base = posixpath.dirname(self.top)
        if parts[0] == posixpath.basename(base) and not self._is_there(posixpath.join(base, parts[0])):
            base = posixpath.dirname(base)
        return [posixpath.normpath(posixpath.join(base, *parts[:count])) for count in range(1, len(parts) + 1)]

    def _is_there(self, stem: str) -> bool:
        return any(self._read(path) is not None for path in _files(stem))

    def _all(self, stems: list[str]) -> bool:
        """Take the files at these places; return true if the last is one of them."""
        there = False
        for stem in stems:
            there = False
            for path in _files(stem):
                if path == self.top or path in self.texts:
                    there = True
                elif (source := self._read(path)) is not None:
                    if len(self.texts) >= MOST_FILES:
                        raise Unusable("E0310", f"`{self.top}` imports more than {MOST_FILES} files", "import fewer")
                    there, self.texts[path] = True, source
                    self.look(path, parse_python(source).module)
                if there:
                    break
        return there

    def _read(self, path: str) -> Source | None:
        assert self.program.read_text is not None, "`resolve` sets it"
        try:
            return Source(path, self.program.read_text(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UnicodeDecodeError:
            raise Unusable("E0310", f"`{path}` is not UTF-8 text", "save it as UTF-8") from None
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            raise Unusable("E0310", f"cannot read `{path}`: {reason}", "check the path and its permissions") from None

    def _lacks(self, path: str, node: ast.ImportFrom, written: str) -> None:
        source = self.texts.get(path)
        span = Span(source, *_line(source, node.lineno)) if source is not None else None
        message = f"line {node.lineno} of `{path}` imports `{written}`, and there is no such file"
        raise Unusable("E0310", message, "put the file beside it", span)


def _files(stem: str) -> Iterator[str]:
    """Yield the files that a module at a place may be, in the order in which Python looks for them."""
    yield f"{stem}/__init__.py"
    yield f"{stem}.py"


def _line(source: Source, number: int) -> tuple[int, int]:
    lines = source.text.splitlines(keepends=True)
    start = sum(len(each) for each in lines[: number - 1])
    return start, start + len(lines[number - 1].rstrip("\n"))


def digest_of_files(files: Mapping[str, str]) -> str:
    """Return what stands for several files in a version: their paths and digests, in order.

    >>> digest_of_files({"a.py": "1", "b.py": "2"}) == digest_of_files({"b.py": "2", "a.py": "1"})
    True
    """
    return "\n".join(f"{path} {files[path]}" for path in sorted(files))
