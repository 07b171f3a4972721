"""Processes of `tripos run` that are started, watched and killed: each has a folder and an address of its own."""

from __future__ import annotations

import copy
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.kills.counting_server import CountingServer
from tests.kills.work import Work, place

LONGEST_S = 120.0
"""A run of some hundred calls that takes longer hangs."""


@dataclass
class Life:
    """One process. `code` is its exit code, less than 0 where a signal ended it; `stopped_s` when it was killed."""

    name: str
    pid: int
    output: Path
    _ends: IO[str] | subprocess.Popen[str]
    started_s: float
    code: int | None = None
    stopped_s: float | None = None

    def wait(self, timeout_s: float) -> bool:
        """Return true if the process ends within the time."""
        if self.code is not None:
            return True
        if isinstance(self._ends, subprocess.Popen):
            try:
                self.code = self._ends.wait(timeout_s)
            except subprocess.TimeoutExpired:
                return False
            return True
        if not select.select([self._ends], [], [], max(timeout_s, 0))[0]:
            return False
        line = self._ends.readline()
        assert line, f"the starter is gone:\n{self.told()}"
        self.code = json.loads(line)["code"]
        return True

    def end(self) -> int:
        """Return the exit code of a process that is to end by itself."""
        if not self.wait(LONGEST_S):
            self.kill()
            raise AssertionError(f"`{self.name}` did not end in {LONGEST_S:.0f} s:\n{self.told()}")
        assert self.code is not None
        return self.code

    def kill(self) -> None:
        """Kill the process, which cannot do anything about it."""
        if self.code is None:
            self.stopped_s = time.monotonic()
            os.kill(self.pid, signal.SIGKILL)
            assert self.wait(LONGEST_S)
            if self.code != -signal.SIGKILL:
                self.stopped_s = None  # it had ended by itself

    def interrupt(self) -> None:
        """The effect of Ctrl-C."""
        os.kill(self.pid, signal.SIGINT)

    def where(self) -> str:
        """Return what a process that was forked has printed, with the stack of each of its threads."""
        if self.code is None and not isinstance(self._ends, subprocess.Popen):
            os.kill(self.pid, signal.SIGUSR1)
            time.sleep(0.5)
        return self.told()

    def told(self) -> str:
        """Return what the process has printed."""
        return self.output.read_text("utf-8")


class Starter:
    """Starts processes, one at a time: by a fork of one that has imported everything, or with `fresh` from nothing."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        # A pool of threads for algebra would be lost in a fork.
        self._environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "COLUMNS": "80", "OPENAI_API_KEY": "unused"}
        self._environment.update(environment or {})
        self._environment["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # what Tripos sets before it imports litellm
        self._learnt = False
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "starter.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self._environment,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        self._process: subprocess.Popen[str] | None = process
        self._commands, self._answers = process.stdin, process.stdout

    def other(self, folder: Path, environment: Mapping[str, str]) -> Starter:
        """Return another starter, which is a fork of this one: it has imported everything that this one has."""
        other = copy.copy(self)
        other.folder, other._environment, other._process = folder, self._environment | environment, None
        folder.mkdir(parents=True, exist_ok=True)
        pipes = [folder / "commands", folder / "answers"]
        for pipe in pipes:
            os.mkfifo(pipe)
        self._tell({"pipes": [str(pipe) for pipe in pipes], "environment": dict(environment)})
        other._commands, other._answers = pipes[0].open("w"), pipes[1].open()
        return other

    def start(self, name: str, server: CountingServer, work: Work, store: Path, *, fresh: bool = False) -> Life:
        """Return a process with that name that does the work for the store."""
        cwd = place(self.folder / store.name / name, server.address(store.name, name))
        return self.launch(name, cwd, work.arguments(store), fresh=fresh)

    def launch(self, name: str, cwd: Path, arguments: Sequence[str], *, fresh: bool = False) -> Life:
        """Return a process that obeys a command line in a folder. The first that is forked must be a run."""
        output = cwd / f"{name}.txt"
        output.touch()
        if fresh:
            with output.open("a") as file:
                command = [sys.executable, "-m", "tripos", *arguments]
                process = subprocess.Popen(
                    command,
                    cwd=cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    env=self._environment,
                    text=True,
                )
            return Life(name, process.pid, output, process, time.monotonic())
        command_line: dict[str, object] = {"cwd": str(cwd), "arguments": list(arguments), "output": str(output)}
        if not self._learnt:
            command_line["learn"] = str(self.folder / "modules.txt")
            self._learnt = True
        return Life(name, self._tell(command_line), output, self._answers, time.monotonic())

    def close(self) -> None:
        """Let the starter go."""
        self._commands.close()
        if self._process is not None:
            self._process.wait(LONGEST_S)
        self._answers.close()

    def _tell(self, command_line: Mapping[str, object]) -> int:
        """Return the number of the process that was made for a command."""
        self._commands.write(json.dumps(command_line) + "\n")
        self._commands.flush()
        line = self._answers.readline()
        assert line, "the starter is gone"
        return int(json.loads(line)["pid"])


@contextmanager
def starting(folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[Starter]:
    """A starter whose processes live in folders below that one, with more in their environment."""
    starter = Starter(folder, environment)
    try:
        yield starter
    finally:
        starter.close()
