"""Implementations of a protocol by name: those of Tripos, and the plug-ins of installed packages.

The built-in ones of a protocol are the modules of one folder, so a new one is a new file. A plug-in is an entry point
of an installed package. To read the metadata of all packages takes 20 ms, so this happens only when no built-in one has
the requested name or accepts the file.
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
    """Return the entry points of a group by name; those of one package are listed once. Nothing is imported."""
    from importlib.metadata import entry_points

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in sorted(entry_points(group=group), key=package_of):
        same = found.get(entry.name, ())
        if all(package_of(entry) != package_of(other) for other in same):  # the path may lead to it twice
            found[entry.name] = (*same, entry)
    return found


def package_of(entry: EntryPoint) -> str:
    """Return the name of the package that owns an entry point."""
    return entry.dist.name if entry.dist is not None else entry.module


def package_version(entry: EntryPoint) -> str:
    """Return the name and the version of the package that owns an entry point, such as `acme-logs 1.2.0`."""
    return f"{package_of(entry)} {entry.dist.version}" if entry.dist is not None else entry.value


class Registry(Collection[str], Generic[T]):
    """The implementations of one protocol, each a value of the class `kind`, by name. A collection of built-in names.

    `group` is that of the entry points, and `noun` names one implementation in messages. `folder` is the package whose
    modules declare the built-in ones, each under `attribute`: the module `lm_eval` declares the one named `lm-eval`.
    `declared` are built-in ones that are small enough for one table, and `reserved` are further names that no plug-in
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
        """The built-in rows by name, in the form of an entry point: `module:ATTRIBUTE`. Those of a table have none."""
        if not self.folder:
            return dict.fromkeys(self._declared, "")
        import pkgutil  # takes a millisecond, and most commands need no folder

        places = importlib.import_module(self.folder).__path__
        names = (module.name for module in pkgutil.iter_modules(places))
        return {name.replace("_", "-"): f"{self.folder}.{name}:{self.attribute}" for name in names}

    @cached_property
    def plugins(self) -> Mapping[str, tuple[EntryPoint, ...]]:
        """The entry points of installed packages by name, without those that have a built-in or reserved name."""
        taken = {*self.builtin, *self.reserved}
        return {name: found for name, found in entry_points_by_name(self.group).items() if name not in taken}

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the built-in ones."""
        return iter(self.builtin)

    def __len__(self) -> int:
        """Return the number of built-in ones."""
        return len(self.builtin)

    def __contains__(self, name: object) -> bool:
        """Return true if a built-in one or a plug-in has the name."""
        return name in self.builtin or (name not in self.reserved and name in self.plugins)

    def items(self) -> Iterator[tuple[str, T]]:
        """Yield the name and the implementation of each built-in one."""
        return ((name, self._load(name)) for name in self.builtin)

    def plugin_items(self) -> Iterator[tuple[str, T]]:
        """Yield the name and the implementation of each plug-in. Raises `BrokenPlugin`."""
        return ((name, self._load(name)) for name in self.plugins)

    def get(self, name: str) -> T | None:
        """Return the implementation of that name, or None if there is none. Raises `BrokenPlugin`."""
        return self._load(name) if name in self else None

    def package(self, name: str) -> str:
        """Return the package of a plug-in with its version, or an empty text for a built-in one."""
        is_plugin = name in self and name not in self.builtin
        return package_version(self.plugins[name][0]) if is_plugin else ""

    @contextlib.contextmanager
    def guarded(self, name: str, *expected: type[Exception]) -> Iterator[None]:
        """Turn an unexpected exception of a plug-in into `BrokenPlugin`. One of a built-in implementation is a bug."""
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
            own: T = getattr(importlib.import_module(module), attribute)
            return own
        entry, *others = self.plugins[name]
        if others:
            packages = " and ".join(package_of(each) for each in (entry, *others))
            raise BrokenPlugin(f"`{name}` is the {self.noun} of {packages}", "remove one of the packages")
        try:
            with contextlib.redirect_stdout(sys.stderr):
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
