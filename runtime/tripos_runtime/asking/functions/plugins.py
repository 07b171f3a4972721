"""Plug-ins at run time: the Python functions of a plan, loaded, held to what was compiled, and called without harm.

They run in this process, with all its rights: a benchmark with functions is to be trusted like any program. Each load
gives its own functions; nothing is registered for other runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from tripos_compiler.plan import Plan, Plugin
from tripos_runtime.asking.functions import NO_PROGRAMS, AllowedPrograms
from tripos_runtime.asking.functions.calling import Loaded
from tripos_runtime.asking.functions.external import ExternalScorer
from tripos_runtime.asking.functions.modules import PluginModules
from tripos_runtime.datasets import TRUSTED, Trust, TrustError
from tripos_runtime.models import CodedError

GROUP = "tripos.functions"
MOST_NAMED = 5
NO_RELEASES: Mapping[str, str] = MappingProxyType({})


class PluginError(CodedError):
    """A plug-in of a plan cannot be had as it was compiled."""


def load_plugins(
    plan: Plan,
    folder: Path,
    releases: Mapping[str, str] = NO_RELEASES,
    trust: Trust = TRUSTED,
    programs: AllowedPrograms | None = NO_PROGRAMS,
) -> dict[str, Loaded]:
    """Return the plug-ins of a plan by name. `folder` holds the main file of the spec, from which a plan's paths are
    seen; `releases` are the folders of releases that are extended, by `NAME-VERSION`; `programs` may be started. Where
    those are None, nothing is scored, and scorers that are programs are left out.

    Raises `PluginError`: R0301 where one cannot be had, R0302 where it is another than was compiled, R0270 where the
    benchmark is not trusted; R0303, R0304 and R0309 of programs.
    """
    if plan.plugins:
        named = ", ".join(f"`{each.name}`" for each in plan.plugins[:MOST_NAMED])
        more = f" and {len(plan.plugins) - MOST_NAMED} more" if len(plan.plugins) > MOST_NAMED else ""
        try:
            trust.check(f"the Python of the benchmark: {named}{more}", "read its files; run it without --untrusted")
        except TrustError as error:
            raise PluginError(error.code, error.message, error.hint) from error
    modules: dict[str, ModuleType] = {}
    functions: dict[str, Loaded] = {}
    for plugin in plan.plugins:
        if plugin.external is not None:
            continue
        packaged = plugin.path is None
        python = _from_package(plugin) if packaged else _from_file(plugin, _beside(plugin, folder, releases), modules)
        functions[plugin.name] = Loaded(plugin, python)
    if programs is not None and any(plugin.external not in (None, "tool") for plugin in plan.plugins):
        functions |= _programs(plan, folder, releases, programs)
    tools = [plugin for plugin in plan.plugins if plugin.external == "tool"]
    if tools:
        from tripos_runtime.asking.functions.tools import open_tools

        functions |= open_tools(
            tools, lambda plugin: _text(plugin, _beside(plugin, folder, releases), str(plugin.path)), programs
        )
    return functions


def _beside(plugin: Plugin, folder: Path, releases: Mapping[str, str]) -> Path:
    return folder if plugin.release is None else Path(releases.get(plugin.release, folder))


def _programs(plan: Plan, folder: Path, releases: Mapping[str, str], programs: AllowedPrograms) -> Mapping[str, Loaded]:
    from tripos_runtime.asking.functions import open_scorers

    try:
        scorers = [each for each in plan.plugins if each.external not in (None, "tool")]
        pools = open_scorers(scorers, folder, releases, programs)
    except CodedError as error:
        raise PluginError(error.code, error.message, error.hint) from error
    return {each.name: ExternalScorer(each, _unloaded, pool=pools[each.name]) for each in scorers}


def _unloaded(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("a program is asked, and not called")


def _from_file(plugin: Plugin, folder: Path, modules: dict[str, ModuleType]) -> Callable[..., Any]:
    assert plugin.path is not None
    path = folder / plugin.path
    if str(path) not in modules:
        modules[str(path)] = _executed(plugin, folder, {name: _text(plugin, folder, name) for name in plugin.files})
    return _function(modules[str(path)], plugin)


def _text(plugin: Plugin, folder: Path, path: str) -> str:
    """Return the text of a file of functions, which must be the one that was compiled."""
    try:
        text = (folder / path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise PluginError("R0301", f"cannot read `{path}`: {reason}", "put the file back") from error
    if hashlib.sha256(text.encode()).hexdigest() != plugin.files[path]:
        raise PluginError("R0302", f"`{path}` changed since the spec was compiled", "run again")
    return text


def _executed(plugin: Plugin, folder: Path, texts: Mapping[str, str]) -> ModuleType:
    """Return the module of a file: of the very texts that were checked, under a name that nobody imports it by."""
    assert plugin.path is not None
    shown = {path: str(folder / path) for path in texts}
    files = PluginModules(f"_tripos_plugin_{plugin.version}", plugin.path, texts, shown)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return files.load()
    except (Exception, SystemExit) as error:
        hint = "mend the file"
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
    from importlib.metadata import entry_points  # 20 ms, for the few plans with a function of a package

    package = plugin.version.rpartition(" ")[0]
    found = [
        entry
        for entry in entry_points(group=GROUP, name=plugin.name)
        if entry.value == plugin.function and entry.dist is not None and entry.dist.name == package
    ]
    if not found:
        message = f"the function `{plugin.name}` of the package {package} is not installed"
        raise PluginError("R0301", message, f"install {package}")
    dist = found[0].dist
    assert dist is not None
    if f"{dist.name} {dist.version}" != plugin.version:
        message = f"{dist.name} is {dist.version} here, and the spec was compiled with {plugin.version}"
        raise PluginError("R0302", message, "run again")
    try:
        with contextlib.redirect_stdout(sys.stderr):
            python = found[0].load()
    except (Exception, SystemExit) as error:
        message = f"cannot load `{plugin.function}` of {package}: {type(error).__name__}: {error}"
        raise PluginError("R0301", message, f"install {package} again") from error
    return _callable(plugin, python)


def _callable(plugin: Plugin, python: Any) -> Callable[..., Any]:
    """Return the function, where it takes what the plan gives it: a decorator may have changed that."""
    required = [name for name in plugin.parameters if name not in plugin.optional]
    try:
        inspect.signature(python).bind(**dict.fromkeys(required))
    except (TypeError, ValueError) as error:
        message = f"`{plugin.function}` does not take what its definition says: {error}"
        raise PluginError("R0301", message, "give it a decorator that keeps its parameters") from error
    checked: Callable[..., Any] = python
    return checked
