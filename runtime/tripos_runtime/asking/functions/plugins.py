"""Plug-ins at run time: the Python functions of a plan, loaded from exactly the texts whose digests the plan has.

They run in this process with all its rights: a benchmark with functions must be trusted like any program. Each load
creates new functions; nothing is registered for other runs.

The files of a plug-in are modules of a private package, so that `helpers.py` of one benchmark is not that of another.
Relative imports work as usual. An absolute import of a neighbouring file imports it from that package; any other import
is Python's own. Files that the plan does not name cannot be imported."""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import importlib
import inspect
import posixpath
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from tripos_compiler.plan import Plan, Plugin
from tripos_compiler.source.entry_points import entry_points_by_name, package_of, package_version
from tripos_compiler.source.inputs import GROUP
from tripos_runtime.asking.functions.calling import LoadedPlugin, PluginError
from tripos_runtime.asking.functions.external import ExternalScorer
from tripos_runtime.asking.functions.settings import NO_PROGRAMS, AllowedPrograms
from tripos_runtime.datasets.trust import TRUSTED, Trust


class PluginModules(MetaPathFinder, Loader):
    """An importer of a plug-in's files, as modules of `package`. `top` is the path of the file with the functions;
    `texts` are the texts of all files by path, and `display_paths` their names in tracebacks."""

    def __init__(self, package: str, top: str, texts: Mapping[str, str], display_paths: Mapping[str, str]) -> None:
        self.package = package
        self.texts = texts
        self.display_paths = display_paths
        self.top = self._name(top)
        self.files: dict[str, str] = {}
        for path in sorted(texts, reverse=True):  # `a/__init__.py` precedes `a.py`, as in Python
            self.files[self._name(path)] = path
        self.packages = {name.rsplit(".", count)[0] for name in self.files for count in range(1, name.count(".") + 1)}
        self.top_package = self.top.rpartition(".")[0]

    def load(self) -> ModuleType:
        """Execute the files again, and return the module with the functions."""
        sys.meta_path[:] = [
            each for each in sys.meta_path if not (isinstance(each, PluginModules) and each.package == self.package)
        ]
        for name in [
            module for module in sys.modules if module == self.package or module.startswith(f"{self.package}.")
        ]:
            del sys.modules[name]
        sys.meta_path.insert(0, self)
        return importlib.import_module(self.top)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of a module of the package; None for other modules."""
        if name != self.package and not name.startswith(f"{self.package}."):
            return None
        if name in self.files:
            file = self.files[name]
            is_package = name in self.packages or file.endswith("/__init__.py")
            return ModuleSpec(name, self, origin=self.display_paths[file], is_package=is_package)
        return ModuleSpec(name, None, is_package=True) if name in self.packages else None

    def exec_module(self, module: ModuleType) -> None:
        """Execute the text of a file; imports of neighbouring files come from the package."""
        path = self.files[module.__name__]
        module.__file__ = self.display_paths[path]
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self._import}
        exec(compile(self.texts[path].removeprefix("\ufeff"), self.display_paths[path], "exec"), module.__dict__)

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """The `__import__` of the files: import a neighbouring file from the package, anything else as Python does."""
        base = None if level else self._base(name.partition(".")[0])
        if base is None:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        module = builtins.__import__(f"{base}.{name}", globals, locals, fromlist or (), 0)
        return module if fromlist else sys.modules[f"{base}.{name.partition('.')[0]}"]

    def _base(self, first: str) -> str | None:
        """Return the package that has `first`, the first part of an imported name, as a module; None if `first` is not
        among the files."""
        if first in sys.stdlib_module_names:
            return None
        parent, _, own = self.top_package.rpartition(".")
        for base in (self.top_package, parent if first == own else ""):
            if base and (f"{base}.{first}" in self.files or f"{base}.{first}" in self.packages):
                return base
        return None

    def _name(self, path: str) -> str:
        """Return the name of a file's module."""
        stem = posixpath.normpath(path).removesuffix(".py").removesuffix("/__init__")
        parts = ("_above" if part == ".." else part.replace(".", "_") for part in stem.split("/"))
        return ".".join((self.package, *parts))


MOST_NAMED = 5
"""The number of functions that the message about an untrusted benchmark names."""
NO_RELEASES: Mapping[str, str] = MappingProxyType({})


def load_plugins(
    plan: Plan,
    folder: Path,
    releases: Mapping[str, str] = NO_RELEASES,
    trust: Trust = TRUSTED,
    programs: AllowedPrograms | None = NO_PROGRAMS,
) -> dict[str, LoadedPlugin]:
    """Return the plug-ins of a plan by name. `folder` is that of the main spec file, to which the plan's paths are
    relative; `releases` are the folders of extended releases by `NAME-VERSION`; `programs` are those that may be
    started. If `programs` is None, nothing is scored, and external scorers are left out.

    Raises `PluginError`: R0301 if one is missing, R0302 if it differs from the compiled one; R0303, R0304 and R0309 for
    programs. Raises `TrustError` if the benchmark is untrusted."""
    if plan.plugins:
        named = ", ".join(f"`{each.name}`" for each in plan.plugins[:MOST_NAMED])
        more = f" and {len(plan.plugins) - MOST_NAMED} more" if len(plan.plugins) > MOST_NAMED else ""
        trust.check(f"the Python of the benchmark: {named}{more}", "read its files; run it without --untrusted")
    modules: dict[str, ModuleType] = {}
    functions: dict[str, LoadedPlugin] = {}
    for plugin in plan.plugins:
        if plugin.external is not None:
            continue
        packaged = plugin.path is None
        python = _from_package(plugin) if packaged else _from_file(plugin, _folder(plugin, folder, releases), modules)
        functions[plugin.name] = LoadedPlugin(plugin, python)
    if programs is not None and any(plugin.external not in (None, "tool") for plugin in plan.plugins):
        functions |= _programs(plan, folder, releases, programs)
    tools = [plugin for plugin in plan.plugins if plugin.external == "tool"]
    if tools:
        from tripos_runtime.asking.functions.tools import open_tools

        functions |= open_tools(
            tools, lambda plugin: _text(plugin, _folder(plugin, folder, releases), str(plugin.path)), programs
        )
    return functions


def _folder(plugin: Plugin, folder: Path, releases: Mapping[str, str]) -> Path:
    """Return the folder that the paths of a plug-in are relative to: that of its release, or of the spec."""
    return folder if plugin.release is None else Path(releases.get(plugin.release, folder))


def _programs(
    plan: Plan, folder: Path, releases: Mapping[str, str], programs: AllowedPrograms
) -> Mapping[str, LoadedPlugin]:
    from tripos_runtime.asking.functions.external import open_scorers

    scorers = [plugin for plugin in plan.plugins if plugin.external not in (None, "tool")]
    pools = open_scorers(scorers, folder, releases, programs)
    return {scorer.name: ExternalScorer(scorer, _not_in_process, pool=pools[scorer.name]) for scorer in scorers}


def _not_in_process(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("a program is asked, and not called")


def _from_file(plugin: Plugin, folder: Path, modules: dict[str, ModuleType]) -> Callable[..., Any]:
    assert plugin.path is not None
    path = folder / plugin.path
    if str(path) not in modules:
        modules[str(path)] = _module(plugin, folder, {name: _text(plugin, folder, name) for name in plugin.files})
    return _function(modules[str(path)], plugin)


def _text(plugin: Plugin, folder: Path, path: str) -> str:
    """Return the text of a plug-in file, which must be the compiled one."""
    try:
        text = (folder / path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise PluginError("R0301", f"cannot read `{path}`: {reason}", "put the file back") from error
    if hashlib.sha256(text.encode()).hexdigest() != plugin.files[path]:
        raise PluginError("R0302", f"`{path}` changed since the spec was compiled", "run again")
    return text


def _module(plugin: Plugin, folder: Path, texts: Mapping[str, str]) -> ModuleType:
    """Execute the texts of a plug-in under a private name, and return the module of its file."""
    assert plugin.path is not None
    display_paths = {path: str(folder / path) for path in texts}
    files = PluginModules(f"_tripos_plugin_{plugin.version}", plugin.path, texts, display_paths)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return files.load()
    except (Exception, SystemExit) as error:
        hint = "fix the file"
        if isinstance(error, ModuleNotFoundError):
            hint = f"install `{error.name}`, or put it beside the file; it must be imported by a statement"
        raise PluginError("R0301", f"cannot load `{plugin.path}`: {type(error).__name__}: {error}", hint) from error


def _function(module: ModuleType, plugin: Plugin) -> Callable[..., Any]:
    python = getattr(module, plugin.function, None)
    if not callable(python):
        message = f"`{plugin.path}` has no function `{plugin.function}` once it is loaded"
        raise PluginError("R0301", message, "define it at the top of the file")
    return _callable(plugin, python)


def _from_package(plugin: Plugin) -> Callable[..., Any]:
    package = plugin.version.rpartition(" ")[0]
    installed = entry_points_by_name(GROUP).get(plugin.name, ())
    entry = next((each for each in installed if (each.value, package_of(each)) == (plugin.function, package)), None)
    if entry is None or entry.dist is None:
        message = f"the function `{plugin.name}` of the package {package} is not installed"
        raise PluginError("R0301", message, f"install {package}")
    if package_version(entry) != plugin.version:
        message = f"{package} is {entry.dist.version} here, and the spec was compiled with {plugin.version}"
        raise PluginError("R0302", message, "run again")
    try:
        with contextlib.redirect_stdout(sys.stderr):
            python = entry.load()
    except (Exception, SystemExit) as error:
        message = f"cannot load `{plugin.function}` of {package}: {type(error).__name__}: {error}"
        raise PluginError("R0301", message, f"install {package} again") from error
    return _callable(plugin, python)


def _callable(plugin: Plugin, python: Any) -> Callable[..., Any]:
    """Return the function. Raises `PluginError` if it does not accept the plan's arguments: a decorator may have
    changed its signature."""
    required = [name for name in plugin.parameters if name not in plugin.optional]
    try:
        inspect.signature(python).bind(**dict.fromkeys(required))
    except (TypeError, ValueError) as error:
        message = f"`{plugin.function}` does not take what its definition says: {error}"
        raise PluginError("R0301", message, "give it a decorator that keeps its parameters") from error
    checked: Callable[..., Any] = python
    return checked
