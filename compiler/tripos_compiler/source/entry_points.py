"""Registries of implementations of a protocol: built-in ones, and plug-ins from entry points of installed packages.

The built-in implementations are the modules of one package, so a new implementation is a new file, or the entries of
one table. Reading the metadata of all installed packages takes 20 ms, so the registry reads it only if no built-in
implementation has the requested name or accepts the file.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar

from tripos_compiler.errors import TriposError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class BrokenPlugin(TriposError):
    """A plug-in cannot be loaded, or failed (R0280)."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__("R0280", message, hint)


def entry_points_by_name(group: str) -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of a group by name, at most one of each package. Nothing is imported."""
    from importlib.metadata import entry_points

    by_name: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in sorted(entry_points(group=group), key=package_of):
        namesakes = by_name.get(entry.name, ())
        # A package is found more than once if several entries of `sys.path` lead to it.
        if all(package_of(entry) != package_of(other) for other in namesakes):
            by_name[entry.name] = (*namesakes, entry)
    return by_name


def package_of(entry: EntryPoint) -> str:
    """Return the name of the package that owns an entry point, or the entry point's module if the package is
    unknown."""
    return entry.dist.name if entry.dist is not None else entry.module


def package_version(entry: EntryPoint) -> str:
    """Return the name and the version of the package that owns an entry point, such as `acme-logs 1.2.0`, or the entry
    point's value if the package is unknown."""
    return f"{package_of(entry)} {entry.dist.version}" if entry.dist is not None else entry.value


class Registry(Collection[str], Generic[T]):
    """The implementations of one protocol by name, each an instance of `kind`. As a collection, a registry contains the
    names of the built-in implementations.

    `group` is the group of the entry points, and `noun` names one implementation in messages. The built-in
    implementations are either declared by the modules of the package `folder`, each in its variable `attribute` (the
    module `lm_eval` declares `lm-eval`), or given by name as `declared`. `reserved` are further names that no plug-in
    can have.
    """

    def __init__(
        self,
        group: str,
        noun: str,
        kind: type[T],
        folder: str = "",
        attribute: str = "",
        *,
        declared: Mapping[str, T] = MappingProxyType({}),
        reserved: Collection[str] = (),
    ) -> None:
        self.group, self.noun, self.kind = group, noun, kind
        self.folder, self.attribute = folder, attribute
        self.reserved = reserved
        self._declared = declared
        self._loaded: dict[str, T] = dict(declared)

    @cached_property
    def builtin(self) -> Mapping[str, str]:
        """The built-in implementations by name, each as `module:ATTRIBUTE`, or as an empty text if it is declared in a
        table."""
        if not self.folder:
            return dict.fromkeys(self._declared, "")
        import pkgutil  # this takes a millisecond, and most commands do not need it

        search_path = importlib.import_module(self.folder).__path__
        names = (module.name for module in pkgutil.iter_modules(search_path))
        return {name.replace("_", "-"): f"{self.folder}.{name}:{self.attribute}" for name in names}

    @cached_property
    def plugins(self) -> Mapping[str, tuple[EntryPoint, ...]]:
        """The entry points of plug-ins by name. Entry points with a built-in or reserved name are ignored."""
        taken = {*self.builtin, *self.reserved}
        return {name: entries for name, entries in entry_points_by_name(self.group).items() if name not in taken}

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the built-in implementations."""
        return iter(self.builtin)

    def __len__(self) -> int:
        """Return the number of built-in implementations."""
        return len(self.builtin)

    def __contains__(self, name: object) -> bool:
        """Return true if a built-in implementation or a plug-in has the name."""
        return name in self.builtin or (name not in self.reserved and name in self.plugins)

    def items(self) -> Iterator[tuple[str, T]]:
        """Yield the name and the value of each built-in implementation."""
        return ((name, self._load(name)) for name in self.builtin)

    def plugin_items(self) -> Iterator[tuple[str, T]]:
        """Yield the name and the value of each plug-in. Raises `BrokenPlugin` if a plug-in cannot be loaded."""
        return ((name, self._load(name)) for name in self.plugins)

    def get(self, name: str) -> T | None:
        """Return the implementation with a name, or None if there is none. Raises `BrokenPlugin` if it cannot be
        loaded."""
        return self._load(name) if name in self else None

    def package(self, name: str) -> str:
        """Return the name and the version of a plug-in's package, or an empty text if the name is not a plug-in's."""
        is_plugin = name in self and name not in self.builtin
        return package_version(self.plugins[name][0]) if is_plugin else ""

    @contextlib.contextmanager
    def guarded(self, name: str, *expected: type[Exception]) -> Iterator[None]:
        """Return a context in which an unexpected exception of a plug-in is raised as `BrokenPlugin`.

        `TriposError`, the `expected` exceptions and all exceptions of built-in implementations pass unchanged.
        """
        try:
            yield
        except Exception as error:
            if isinstance(error, (TriposError, *expected)) or not self.package(name):
                raise
            raise self._broken(name, error) from error

    def _load(self, name: str) -> T:
        if name not in self._loaded:
            self._loaded[name] = self._import(name)
        return self._loaded[name]

    def _import(self, name: str) -> T:
        if name in self.builtin:
            module, _, attribute = self.builtin[name].partition(":")
            implementation: T = getattr(importlib.import_module(module), attribute)
            return implementation
        entry, *others = self.plugins[name]
        if others:
            packages = " and ".join(package_of(conflict) for conflict in (entry, *others))
            raise BrokenPlugin(f"`{name}` is the {self.noun} of {packages}", "remove one of the packages")
        try:
            with contextlib.redirect_stdout(sys.stderr):  # standard output belongs to the results of the command
                loaded = entry.load()
        except (Exception, SystemExit) as error:
            raise self._broken(name, error) from error
        if not isinstance(loaded, self.kind):
            message = f"`{entry.value}` of the package {package_version(entry)} is not a `{self.kind.__name__}`"
            raise BrokenPlugin(message, f"the package must register one in the group `{self.group}`")
        return loaded

    def _broken(self, name: str, error: BaseException) -> BrokenPlugin:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        message = f"the {self.noun} `{name}` of the package {self.package(name)} failed: {reason}"
        return BrokenPlugin(message, "update or remove the package")
