"""Python files of a plug-in that import each other, from the very texts that were checked.

The files are modules of a package of their own, under a name that nobody imports it by, so that a file `helpers.py` of
one benchmark is not that of another. Relative imports work in it as they are; an absolute one of a file beside becomes
one of the package, and any other is Python's. A file that was not checked is not there.
"""

from __future__ import annotations

import builtins
import importlib
import posixpath
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class PluginModules(MetaPathFinder, Loader):
    """The modules of files, by their paths; `top` is that of the file with the functions."""

    def __init__(self, package: str, top: str, texts: Mapping[str, str], shown: Mapping[str, str]) -> None:
        self.package = package
        self.texts = texts
        self.shown = shown
        """What each file is called in a traceback."""
        self.top = self._name(top)
        self.files: dict[str, str] = {}
        for path in sorted(texts, reverse=True):  # `a/__init__.py` goes before `a.py`, as in Python
            self.files[self._name(path)] = path
        self.inner = {name.rsplit(".", count)[0] for name in self.files for count in range(1, name.count(".") + 1)}
        self.beside = self.top.rpartition(".")[0]

    def load(self) -> ModuleType:
        """Return the module with the functions, executed anew."""
        sys.meta_path[:] = [
            each for each in sys.meta_path if not (isinstance(each, PluginModules) and each.package == self.package)
        ]
        for name in [each for each in sys.modules if each == self.package or each.startswith(f"{self.package}.")]:
            del sys.modules[name]
        sys.meta_path.insert(0, self)
        return importlib.import_module(self.top)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where a module of the package comes from; None for one of another."""
        if name != self.package and not name.startswith(f"{self.package}."):
            return None
        if name in self.files:
            file = self.files[name]
            is_package = name in self.inner or file.endswith("/__init__.py")
            return ModuleSpec(name, self, origin=self.shown[file], is_package=is_package)
        return ModuleSpec(name, None, is_package=True) if name in self.inner else None

    def exec_module(self, module: ModuleType) -> None:
        """Execute the text of a file, in which names of files beside are imported from the package."""
        path = self.files[module.__name__]
        module.__file__ = self.shown[path]
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self._import}
        exec(compile(self.texts[path].removeprefix("\ufeff"), self.shown[path], "exec"), module.__dict__)

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        base = None if level else self._base(name.partition(".")[0])
        if base is None:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        found = builtins.__import__(f"{base}.{name}", globals, locals, fromlist or (), 0)
        return found if fromlist else sys.modules[f"{base}.{name.partition('.')[0]}"]

    def _base(self, first: str) -> str | None:
        """Return the package in which a name that is imported is one of the files; None where it is none of them."""
        if first in sys.stdlib_module_names:
            return None
        above, _, own = self.beside.rpartition(".")
        for base in (self.beside, above if first == own else ""):
            if base and (f"{base}.{first}" in self.files or f"{base}.{first}" in self.inner):
                return base
        return None

    def _name(self, path: str) -> str:
        """Return the name of the module of a file."""
        stem = posixpath.normpath(path).removesuffix(".py").removesuffix("/__init__")
        parts = ("_above" if part == ".." else part.replace(".", "_") for part in stem.split("/"))
        return ".".join((self.package, *parts))
