"""Plug-ins at run time: the Python functions of a plan, loaded, held to what was compiled, and called without harm.

They run in this process, with all its rights: a benchmark with functions is to be trusted like any program. Each load
gives its own functions; nothing is registered for other runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import math
import numbers
import sys
from collections.abc import Callable, Mapping, Set as AbstractSet
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from tripos_compiler.language import Unavailable
from tripos_compiler.language.library import type_notation
from tripos_compiler.plan import Plan, Plugin, Type
from tripos_runtime.datasets import TRUSTED, Trust, TrustError
from tripos_runtime.models import CodedError

GROUP = "tripos.functions"
FUNCTION_ERROR = "function_error"
"""The status of a score whose function failed; a later run tries it again."""
LEAST, MOST = -(2**63), 2**63 - 1
"""The integers that can be stored."""
LONGEST_REASON = 300
MOST_NAMED = 5
NO_RELEASES: Mapping[str, str] = MappingProxyType({})


class PluginError(CodedError):
    """A plug-in of a plan cannot be had as it was compiled."""


class WrongValue(Exception):
    """A function returned what it does not say it returns."""


@dataclass
class Loaded:
    """A plug-in that can be called as its plan says. Raises `Unavailable` with the status `function_error` where the
    function fails or returns something else than it says; a run goes on. `failed` counts that, and `first` says what
    was wrong the first time."""

    plugin: Plugin
    python: Callable[..., Any]
    failed: int = 0
    first: str = ""

    def __call__(self, *args: Any, **named: Any) -> Any:
        types = self.plugin.parameters
        given = {**dict(zip(types, args, strict=False)), **named}
        arguments = {name: passed(types[name], value) for name, value in given.items()}
        try:
            with contextlib.redirect_stdout(sys.stderr):  # standard output is for the results of the command
                value = self.python(**arguments)
            return returned(self.plugin.returns, value)
        except WrongValue as error:
            raise self._failed(str(error)) from None
        except (Exception, SystemExit) as error:
            raise self._failed(f"{type(error).__name__}: {error}") from error

    def _failed(self, reason: str) -> Unavailable:
        short = reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]}…"
        self.failed += 1
        self.first = self.first or short
        return Unavailable(self.plugin.name, FUNCTION_ERROR, f"`{self.plugin.name}`: {short}")


def load_plugins(
    plan: Plan, folder: Path, releases: Mapping[str, str] = NO_RELEASES, trust: Trust = TRUSTED
) -> dict[str, Loaded]:
    """Return the plug-ins of a plan by name. `folder` holds the main file of the spec, from which a plan's paths are
    seen; `releases` are the folders of releases that are extended, by `NAME-VERSION`.

    Raises `PluginError`: R0301 where one cannot be had, R0302 where it is another than was compiled, R0270 where the
    benchmark is not trusted.
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
        packaged = plugin.path is None
        beside = folder if plugin.release is None else Path(releases.get(plugin.release, folder))
        python = _from_package(plugin) if packaged else _from_file(plugin, beside, modules)
        functions[plugin.name] = Loaded(plugin, python)
    return functions


def _from_file(plugin: Plugin, folder: Path, modules: dict[str, ModuleType]) -> Callable[..., Any]:
    assert plugin.path is not None
    path = folder / plugin.path
    if str(path) not in modules:
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise PluginError("R0301", f"cannot read `{plugin.path}`: {reason}", "put the file back") from error
        if hashlib.sha256(text.encode()).hexdigest() != plugin.version:
            raise PluginError("R0302", f"`{plugin.path}` changed since the spec was compiled", "run again")
        modules[str(path)] = _executed(plugin, path, text)
    return _function(modules[str(path)], plugin)


def _executed(plugin: Plugin, path: Path, text: str) -> ModuleType:
    """Return the module of a file: of the very text that was checked, under a name that nobody imports it by."""
    module = ModuleType(f"_tripos_plugin_{plugin.version}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and the like look their module up there
    try:
        with contextlib.redirect_stdout(sys.stderr):
            exec(compile(text.removeprefix("\ufeff"), str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        hint = "mend the file"
        if isinstance(error, ModuleNotFoundError):
            hint = f"install `{error.name}`; a file of functions can import installed packages, and no file beside it"
        raise PluginError("R0301", f"cannot load `{plugin.path}`: {type(error).__name__}: {error}", hint) from error
    return module


def _function(module: ModuleType, plugin: Plugin) -> Callable[..., Any]:
    python = getattr(module, plugin.function, None)
    if not callable(python):
        message = f"`{plugin.path}` has no function `{plugin.function}` once it is loaded"
        raise PluginError("R0301", message, "define it at the top of the file")
    return _callable(plugin, python)


def _from_package(plugin: Plugin) -> Callable[..., Any]:
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


def passed(type_: Type, value: Any) -> Any:
    """Return a value as a function gets it: lists and sets are its own, and a set where a list is asked for is in
    order.

    >>> from tripos_compiler.plan import ListType, TextType
    >>> passed(ListType(of=TextType()), frozenset({"b", "a"}))
    ['a', 'b']
    """
    match type_.kind:
        case "optional":
            return None if value is None else passed(type_.of, value)
        case "list":
            items = sorted(value) if isinstance(value, AbstractSet) else value
            return [passed(type_.of, item) for item in items]
        case "set":
            return set(value)
        case "dialogue":
            return [dict(turn) for turn in value]
    return value


def returned(type_: Type, value: Any) -> Any:
    """Return what a function returned, as a value of a spec. Raises `WrongValue` where it is not of that type.

    >>> from tripos_compiler.plan import IntegerType
    >>> returned(IntegerType(low=1, high=5), 4)
    4
    """
    if type_.kind == "optional":
        return None if value is None else returned(type_.of, value)
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()  # a number of NumPy or PyTorch
    match type_.kind:
        case "text" if isinstance(value, str):
            return str(value)
        case "choice" if isinstance(value, str) and value in type_.values:
            return str(value)
        case "bool" if isinstance(value, bool):
            return value
        case "integer" if isinstance(value, numbers.Integral) and not isinstance(value, bool):
            low = LEAST if type_.low is None else type_.low
            high = MOST if type_.high is None else type_.high
            if low <= int(value) <= high:
                return int(value)
        case "number" if isinstance(value, numbers.Real) and not isinstance(value, bool):
            number = int(value) if isinstance(value, numbers.Integral) else float(value)
            if math.isfinite(number) and LEAST <= number <= MOST:
                return number
        case "list" if isinstance(value, list | tuple):
            return [returned(type_.of, item) for item in value]
        case "set" if isinstance(value, AbstractSet):
            return frozenset(returned(type_.of, item) for item in value)
        case "dialogue" if isinstance(value, list | tuple):
            return [_turn(turn) for turn in value]
    written = repr(value)
    raise WrongValue(
        f"it says `{type_notation(type_)}`, and returned {written if len(written) < 80 else f'{written[:80]}…'}"
    )


def _turn(turn: Any) -> dict[str, str]:
    if not isinstance(turn, Mapping) or not all(isinstance(turn.get(key), str) for key in ("speaker", "text")):
        raise WrongValue('a turn of a dialogue is `{"speaker": "…", "text": "…"}`')
    return {"speaker": turn["speaker"], "text": turn["text"]}
