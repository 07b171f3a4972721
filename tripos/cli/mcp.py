"""`tripos mcp`: a server of the Model Context Protocol for coding agents, over standard input and output.

The tools run one after another in the main thread, where Ctrl-C and time limits work. The protocol has a thread of its
own.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tripos.cli.context import Context, Outcome
from tripos.settings.option import listed_names
from tripos.settings.options import BUDGET
from tripos_compiler.errors import TriposError
from tripos_runtime.datasets.trust import TRUSTED, UNTRUSTED

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from mcp.types import CallToolResult

Jobs: TypeAlias = "queue.SimpleQueue[Callable[[], None] | None]"
"""Calls for the main thread, in their order; None after the last."""


def main(context: Context) -> Outcome:
    """Serve one agent until it closes standard input. Raises `TriposError` if the server cannot start."""
    if importlib.util.find_spec("mcp") is None:
        raise TriposError("R0206", "the server for agents is not installed", "pip install 'tripos[mcp]'")
    from tripos.cli.agent_tools import Tools, make_server

    options = context.options
    tools = Tools(
        _folder(options.folder or "."),
        UNTRUSTED if context.trust.untrusted or not options.trusted else TRUSTED,
        data=[str(Path(folder).resolve()) for folder in options.data or ()],
        store=options.store,
        models=listed_names(options.allow_model),
        budget=BUDGET.of(options),
    )
    os.environ["NO_COLOR"] = "1"  # colours are nothing to an agent
    os.environ.pop("FORCE_COLOR", None)
    logging.disable(logging.CRITICAL)  # the SDK would log failed tools on standard error
    jobs: Jobs = queue.SimpleQueue()
    server = make_server(tools, partial(_in_main_thread, jobs))
    threading.Thread(target=_serve, args=(server, jobs), daemon=True).start()
    while (job := jobs.get()) is not None:
        job()
    return Outcome()


def _folder(name: str) -> Path:
    """Return the folder of the server, and make it the working directory. Raises `TriposError`."""
    folder = Path(name).expanduser().resolve()
    if not folder.is_dir():
        raise TriposError("R0202", f"there is no folder `{name}`", "give the folder of your benchmarks")
    if folder == Path.home().resolve() or folder == Path(folder.anchor):
        hint = "start it in the folder of your benchmarks, or name that: tripos mcp DIR"
        raise TriposError("R0205", f"`{folder}` holds more than benchmarks, and an agent would read it", hint)
    os.chdir(folder)
    return folder


def _serve(server: MCPServer, jobs: Jobs) -> None:
    """Speak the protocol until the end of standard input, then end the jobs."""
    try:
        server.run("stdio")
    finally:
        jobs.put(None)


async def _in_main_thread(jobs: Jobs, call: Callable[[], CallToolResult]) -> CallToolResult:
    """Have the main thread call a function, and return its result."""
    result: Future[CallToolResult] = Future()

    def job() -> None:
        if result.set_running_or_notify_cancel():
            result.set_result(call())

    jobs.put(job)
    return await asyncio.wrap_future(result)
