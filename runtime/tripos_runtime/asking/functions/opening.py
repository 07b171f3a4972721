"""The programs of a plan, opened: each that is allowed is started once and greeted before anything is asked."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from tripos_compiler.plan import Plugin
from tripos_runtime.asking.functions.pool import ScorerPool
from tripos_runtime.asking.functions.process import ScorerProcess
from tripos_runtime.asking.functions.protocol import NO_SANDBOX, NOT_ALLOWED, Broken
from tripos_runtime.asking.functions.service import ScorerService
from tripos_runtime.asking.functions.settings import AllowedPrograms, ProgramLimits, program_name
from tripos_runtime.models import CodedError

MOST_PROCESSES = 8


class ScorerError(CodedError):
    """A program of a plan is not allowed, or cannot be had as it was compiled."""


def open_scorers(
    plugins: Sequence[Plugin], folder: Path, releases: Mapping[str, str], allowed: AllowedPrograms
) -> dict[str, ScorerPool]:
    """Return the pools of the scorers that are programs, by name; scorers of one program share one. `folder` and
    `releases` are as for functions.

    Raises `ScorerError`: R0303 for a program that is not allowed, R0304 for one that does not start, R0302 for a file
    that changed, and R0309 where there is no sandbox.
    """
    together: dict[tuple[str | None, str, str], list[Plugin]] = {}
    for plugin in plugins:
        if plugin.external is not None:
            together.setdefault((plugin.release, program_name(plugin), plugin.version), []).append(plugin)
    limits = {key: _allowed(some[0], allowed) for key, some in together.items()}
    pools: dict[str, ScorerPool] = {}
    for key, some in together.items():
        beside = folder if some[0].release is None else Path(releases.get(some[0].release, folder))
        pool = _opened(some, beside, limits[key])
        try:
            pool.start()
        except Broken as error:
            for each in (pool, *pools.values()):
                each.close()
            message, hint = f"the program `{key[1]}` does not start: {error}", "mend the program, or its settings"
            if error.failure.code == NO_SANDBOX:
                from tripos_runtime.asking.functions.code import no_sandbox_hint

                hint = no_sandbox_hint(key[1].partition(" ")[0])
            raise ScorerError(error.failure.code, message, hint) from error
        pools |= {each.name: pool for each in some}
    return pools


def _allowed(plugin: Plugin, allowed: AllowedPrograms) -> ProgramLimits:
    name = program_name(plugin)
    limits = allowed.of(plugin)
    if plugin.external == "service" and (limits is None or limits.url is None):
        message = f"`{plugin.name}` asks the service `{name}`, and you name no address for it"
        hint = f'--allow-program "{name}=http://127.0.0.1:8000"'
        raise ScorerError(NOT_ALLOWED, message, hint)
    if plugin.external != "service" and limits is not None and limits.url is not None:
        what = "comes with Tripos" if plugin.external == "shipped" else "is a file"
        hint = f"allow it without an address: --allow-program {shlex.quote(name.partition(' ')[0])}"
        raise ScorerError(NOT_ALLOWED, f"`{name}` {what}, and you name an address for it: `{limits.url}`", hint)
    if limits is None:
        if plugin.external == "shipped":
            message = f"`{plugin.name}` executes what models write: `{name}`"
            raise ScorerError(NOT_ALLOWED, message, f"allow it: --allow-program {name.partition(' ')[0]}")
        hint = f"read it, and allow it: --allow-program {shlex.quote(name)}"
        raise ScorerError(NOT_ALLOWED, f"`{plugin.name}` starts a program: `{name}`", hint)
    return limits


def _opened(plugins: Sequence[Plugin], folder: Path, limits: ProgramLimits) -> ScorerPool:
    plugin = plugins[0]
    processes = limits.processes or min(MOST_PROCESSES, os.cpu_count() or 1)
    if plugin.external == "service":
        return ScorerPool(partial(ScorerService, plugin.version, plugins, limits), processes, limits.batch)
    if plugin.external == "shipped":
        from tripos_runtime.asking.functions.code import RUNNERS

        return ScorerPool(partial(RUNNERS[plugin.function], unsandboxed=limits.unsandboxed), processes, 1)
    text = _checked(plugin, folder)
    return ScorerPool(partial(ScorerProcess, program_name(plugin), text, plugins, limits), processes, limits.batch)


def _checked(plugin: Plugin, folder: Path) -> str:
    assert plugin.path is not None
    try:
        text = (folder / plugin.path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ScorerError("R0301", f"cannot read `{plugin.path}`: {reason}", "put the file back") from error
    if hashlib.sha256(text.encode()).hexdigest() != plugin.version:
        raise ScorerError("R0302", f"`{plugin.path}` changed since the spec was compiled", "run again")
    return text
