"""The functions of tools: each call goes to a process, which returns a state and a text.

The process calls each function twice, on copies of the same state. If the results differ, the function is not
reproducible: the call has no result, and the run reports why."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from tripos_compiler.plan import Plugin
from tripos_runtime.asking.functions.external import ExternalScorer, ScorerPool
from tripos_runtime.asking.functions.process import ScorerProcess
from tripos_runtime.asking.functions.protocol import Failed, Outcome, ScorerRequest, json_argument
from tripos_runtime.asking.functions.settings import AllowedPrograms, ProgramLimits, program_name

IMPURE, NO_DATA = "R0310", "R0311"
LIMITS = ProgramLimits(timeout_s=30, memory_mb=1024, batch=1)
"""The default limits of a file of functions."""
MOST_PROCESSES = 8


@dataclass(frozen=True)
class ToolResult:
    """The result of a call: the state after it, and the text for the model. `failed` is true if the function raised an
    error, which is then the text."""

    state: Any
    text: str
    failed: bool


@dataclass
class ToolFunction(ExternalScorer):
    """The function of a tool. It is called with a state and the arguments. Raises `Unavailable` with the status
    `function_error` if the call has no result."""

    def __call__(self, *args: Any, **named: Any) -> ToolResult:
        state, arguments = args
        request = ScorerRequest(self.plugin.function, {"state": state, "arguments": json_argument(arguments)})
        tool_result: ToolResult = self.known_value(request)
        return tool_result

    def _value_of(self, outcome: Outcome) -> Any:
        if isinstance(outcome, Failed):
            return self._failed(outcome.shown)
        match outcome.value:
            case {"state": state, "text": str(text), "failed": bool(failed)}:
                return ToolResult(state, text, failed)
            case {"wrong": str(reason)}:
                return self._failed(Failed(NO_DATA, reason).shown)
        reason = "two calls with the same state and arguments came to something else"
        return self._failed(Failed(IMPURE, reason).shown)


def open_tools(
    plugins: Sequence[Plugin], read: Callable[[Plugin], str], allowed: AllowedPrograms | None
) -> Mapping[str, ToolFunction]:
    """Return the functions of tools by name. Those of one file share a pool, whose first process starts at the first
    call. `read` returns the checked text of a plug-in's file."""
    pools: dict[tuple[str | None, str], ScorerPool] = {}
    functions: dict[str, ToolFunction] = {}
    for plugin in plugins:
        key = plugin.release, plugin.version
        if key not in pools:
            limits = (allowed.of(plugin) if allowed is not None else None) or LIMITS
            processes = limits.processes or min(MOST_PROCESSES, os.cpu_count() or 1)
            text = _program_text(read(plugin), program_name(plugin))
            open_process = partial(ScorerProcess, program_name(plugin), text, [plugin], limits)
            pools[key] = ScorerPool(open_process, processes, 1)
        functions[plugin.name] = ToolFunction(plugin, _not_in_process, pool=pools[key])
    return functions


def placeholder_result(plugin: Plugin, world: str, state: Any, arguments: Mapping[str, Any]) -> ToolResult:
    """Return a made-up result of a tool's function, for a check that runs no Python of the plan. It is determined by
    the function, the text `world`, the state and the arguments."""
    text = json.dumps([plugin.name, world, state, json_argument(arguments)], sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return ToolResult({"before": state, "call": digest}, digest, False)


@cache
def _host_text() -> str:
    return (Path(__file__).parent / "inside" / "tool_host.py").read_text("utf-8")


def _program_text(text: str, name: str) -> str:
    """Return the text of a program that serves the functions of a file, given the file's text and name."""
    source = text.removeprefix("\ufeff")
    return f"{_host_text()}\n\nserve({source!r}, {name!r})\n"


def _not_in_process(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("a function of a tool is called in a process of its own")
