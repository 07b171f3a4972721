"""Language servers without their start, most of which is imports: one process imports everything and forks for each.

As a module it is asked for a server; as a program it is that process. A line of JSON asks for a server, with the folder
and the environment that it begins in, and a line answers with the port on which it waits for its one client.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

_running: list[subprocess.Popen[str]] = []


def serve(folder: Path) -> int:
    """Return the port of a new server that begins in `folder`."""
    if not _running:
        command = [sys.executable, str(Path(__file__))]
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        _running.append(
            subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        atexit.register(_end)
    process = _running[0]
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps({"folder": str(folder), "environ": dict(os.environ)}) + "\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def _end() -> None:
    for process in _running:
        process.communicate()


def _reap() -> None:
    """Let servers go that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _main() -> None:
    import tripos.lsp.server  # noqa: F401 - what takes long
    from tripos.cli.main import run_command

    for line in sys.stdin:
        _reap()
        listener = socket.create_server(("127.0.0.1", 0))
        if os.fork():
            print(listener.getsockname()[1], flush=True)
            listener.close()
            continue
        asked = json.loads(line)
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environ"])
        client, _ = listener.accept()
        listener.close()
        os.dup2(client.fileno(), 0)
        os.dup2(client.fileno(), 1)
        client.close()
        sys.stdin = sys.__stdin__ = os.fdopen(0, "r")
        sys.stdout = sys.__stdout__ = os.fdopen(1, "w")
        os._exit(run_command(["lsp"]))


if __name__ == "__main__":
    _main()
