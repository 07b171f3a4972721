"""Starts `tripos` again and again from a process that has imported everything: a start costs a fork.

It reads a command a line on standard input, `{"cwd": …, "arguments": […], "output": FILE}`, and writes a line when the
child is there and one when it has ended. A child is not reaped before the next command: until then its number belongs
to nobody else, and may be killed. With `learn` the child writes to that file which modules it needed. `{"pipes": [FILE,
FILE], "environment": {…}}` makes another starter, which reads from the one pipe and writes to the other.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import io
import json
import os
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

MINDS_FORKS = "jemalloc_bg_thd"
"""A thread of pyarrow's allocator, which starts it anew in a child."""


def main() -> None:
    """Obeys until standard input ends."""
    while line := sys.stdin.readline():
        command = json.loads(line)
        with suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        child = os.fork()
        if not child and "pipes" in command:
            become(command)
            continue
        if not child:
            obey(command)
        say({"pid": child})
        if "pipes" in command:
            continue
        ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        assert ended is not None
        if "learn" in command:
            learn(Path(command["learn"]), command["arguments"])
        say({"code": ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status})


def become(command: dict[str, Any]) -> None:
    """Be another starter from now on, on a machine of its own."""
    for number, (pipe, how) in enumerate(zip(command["pipes"], (os.O_RDONLY, os.O_WRONLY), strict=True)):
        os.dup2(os.open(pipe, how), number)
    os.environ.update(command["environment"])


def obey(command: dict[str, Any]) -> None:
    """Run a command as the `tripos` script does, and exits."""
    os.chdir(command["cwd"])
    output = os.open(command["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, to in enumerate((nothing, output, output)):
        os.dup2(to, number)
    faulthandler.register(signal.SIGUSR1)  # it tells where it is
    from tripos.cli.main import run_command

    code = run_command(command["arguments"])
    if "learn" in command:
        Path(command["learn"]).write_text("\n".join(sys.modules))
    sys.exit(code)


def say(what: dict[str, int]) -> None:
    print(json.dumps(what), flush=True)


def learn(modules: Path, arguments: list[str]) -> None:
    """Import what a run needs, and compile its spec once, which leaves tables of the grammar behind. Were a thread left
    over from that, a forked child could wait for it for ever."""
    from tripos.cli.main import run_command

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        run_command(["check", arguments[1]])
    for name in modules.read_text().split():
        if not name.startswith("__"):
            with suppress(Exception):
                importlib.import_module(name)
    tasks = Path("/proc/self/task")
    threads = [(each / "comm").read_text().strip() for each in tasks.iterdir()] if tasks.is_dir() else []
    if len(threads) - threads.count(MINDS_FORKS) > 1:
        sys.exit(f"there are threads after the imports: {', '.join(threads)}")
    gc.freeze()  # or every child would copy what its collector looks at


if __name__ == "__main__":
    main()
