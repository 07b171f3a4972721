"""The runner of Python code: code and tests are processes apart, and only the tests say what passed.

The tests call the code through this process, and see plain data of it. So whatever code prints, returns or does to the
Python that it runs in, it answers for its own values alone: it cannot read the tests, and cannot say that it passed.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import select
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tripos_runtime.asking.functions.code.sandbox import ENVIRONMENT, hide_memory, python_command, sandbox_command
from tripos_runtime.asking.functions.protocol import (
    DIED,
    NO_SANDBOX,
    NO_SCORE,
    Broken,
    Failed,
    Outcome,
    ScorerRequest,
    Value,
)

SECONDS, MEMORY_MB = 10.0, 512
MOST_SECONDS, LEAST_MB, MOST_MB = 3600.0, 64, 65536
SLACK_S = 20.0
"""What the clock allows beside thrice the time of a processor: starting, and a machine that is busy."""
LONGEST_LINE = 2**24
UNBOUND = "the kernel does not keep code from starting processes"
UNBOUND_ROOT = "root executes code only in a sandbox, or if the kernel has Landlock; run as another user"


class CodeRunner:
    """Executes code and tests of requests, one after the other."""

    def __init__(self, *, unsandboxed: bool = False) -> None:
        self._unsandboxed = unsandboxed
        self._closed = False
        self._guests: list[Guest] = []

    def start(self) -> None:
        """See that there is a sandbox, or that the kernel holds code to its limits without one. Raises `Broken`,
        R0309."""
        found = self.tried({}, ("candidate.py",), lambda *_: Value(True))
        if isinstance(found, Failed):
            raise Broken(found.code, found.reason)

    def answer(self, requests: Sequence[ScorerRequest]) -> list[Outcome]:
        """Return the outcome of each request."""
        return [self._passed(each.arguments) for each in requests]

    def close(self) -> None:
        """End what runs."""
        self._closed = True
        for each in list(self._guests):
            each.close()

    def _passed(self, given: Mapping[str, Any]) -> Outcome:
        return self.tried(
            given, ("tester.py", "candidate.py"), lambda both, until: _tested(given, both[0], both[1], until)
        )

    def tried(
        self, given: Mapping[str, Any], names: Sequence[str], find: Callable[[Sequence[Guest], float], Outcome]
    ) -> Outcome:
        """Return what is found with Pythons in sandboxes, which run the texts of these names under the limits that are
        given, until a time of the clock."""
        seconds, memory = float(given.get("seconds", SECONDS)), int(given.get("memory_mb", MEMORY_MB))
        if not 0 < seconds <= MOST_SECONDS or not LEAST_MB <= memory <= MOST_MB:
            return Failed(NO_SCORE, f"its limits are {seconds:g} seconds and {memory} MiB, which is out of bounds")
        if self._closed:
            return Failed(DIED, "the run is over")
        words = sandbox_command(unsandboxed=self._unsandboxed)
        until = time.monotonic() + 3 * seconds + SLACK_S
        guests = [Guest(words, name) for name in names]
        self._guests += guests
        try:
            limits = {"seconds": math.ceil(seconds), "memory": memory * 2**20}
            for guest in guests:
                guest.say(limits, until)
                ready = guest.hear(until)
                if ready is None:
                    return Failed(DIED, f"a sandbox did not start: {guest.last_words()}")
                if ready != {"ready": True}:
                    return Failed(NO_SANDBOX, UNBOUND if words or os.getuid() != 0 else UNBOUND_ROOT)
            found = find(guests, until)
            ended = next((how for guest in guests if (how := guest.ended_from_outside())), None)
            if self._closed or ended:  # then its silence says nothing about the code
                return Failed(DIED, ended or "the run is over")
            return found
        finally:
            for guest in guests:
                guest.close()
                self._guests.remove(guest)


def _tested(given: Mapping[str, Any], tester: Guest, code: Guest, until: float) -> Outcome:
    """Return what the tests say. They are read before the code is, so what is wrong with them is so for all replies;
    whatever goes wrong from then on, with no word of the tests, has not passed."""
    entry = given.get("entry")
    tester.say({"tests": given["tests"], "entry": entry}, until)
    read = tester.hear(until)
    if read is None or read != {"read": True}:
        told = "they end the Python that reads them" if read is None else str(read.get("unusable"))
        return Failed(NO_SCORE, f"the tests cannot be run: {told}")
    code.say({"code": given["code"]}, until)
    loaded = code.hear(until)
    names = None if loaded is None else loaded.get("names")
    if not isinstance(names, dict) or (entry is not None and entry not in names):
        return Value(False)
    tester.say({"names": names}, until)
    while (said := tester.hear(until)) is not None:
        if "unusable" in said:
            return Failed(NO_SCORE, f"the tests cannot be run: {said['unusable']}")
        if "ask" not in said:
            return Value(said == {"passed": True})
        code.say(said["ask"], until)
        answer = code.hear(until)
        if answer is None:
            return Value(False)  # the code ended, or takes too long
        tester.say(answer, until)
    return Value(False)


@cache
def guest_text(name: str) -> str:
    """Return the text of a Python inside a sandbox, by the name of its file."""
    here = Path(__file__).parent
    return f"{(here / 'confined.py').read_text('utf-8')}\n{(here / name).read_text('utf-8')}"


class Guest:
    """A Python in a sandbox, with a line each way at a time."""

    def __init__(self, words: Sequence[str], name: str) -> None:
        self._sandboxed = bool(words)
        if not words:
            hide_memory()
        # A pipe can be opened by others through `/proc`, and a socket cannot.
        self._socket, its = socket.socketpair()
        with its:
            self._process = subprocess.Popen(
                [*words, *python_command(guest_text(name))],
                env=ENVIRONMENT,
                cwd="/",
                stdin=its.fileno(),
                stdout=its.fileno(),
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        self._lines: queue.Queue[bytes] = queue.Queue(maxsize=4)
        self._lines_of_it = self._socket.makefile("rb")
        self._over = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def say(self, message: Mapping[str, Any], until: float) -> None:
        """Send a message; one that does not read it is told by its silence."""
        left = memoryview(json.dumps(message).encode() + b"\n")
        with contextlib.suppress(OSError):
            while left and (wait := until - time.monotonic()) > 0:
                if select.select([], [self._socket], [], wait)[1]:
                    left = left[self._socket.send(left, socket.MSG_DONTWAIT) :]

    def hear(self, until: float) -> dict[str, Any] | None:
        """Return the next message; None where none comes, or none that can be read."""
        while (wait := until - time.monotonic()) > 0:
            try:
                line = self._lines.get(timeout=min(wait, 1.0))
            except queue.Empty:
                continue
            try:
                said = json.loads(line) if line else None
            except (ValueError, RecursionError):
                said = None
            return said if isinstance(said, dict) else None
        return None

    def ended_from_outside(self) -> str | None:
        """Return how the sandbox was ended by another than what is in it: by a cluster, or for the machine's memory.
        What ends itself inside ends its sandbox with an exit code."""
        status = self._process.poll()
        return (
            f"its sandbox was ended by signal {-status}"
            if self._sandboxed and status is not None and status < 0
            else None
        )

    def last_words(self) -> str:
        """Return the last line of standard error."""
        assert self._process.stderr is not None
        self.close()
        return (self._process.stderr.read().decode("utf-8", "replace").strip().splitlines() or ["it said nothing"])[-1]

    def close(self) -> None:
        """End it, with all that it started."""
        self._over.set()
        if self._process.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, 9)
            self._process.wait()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._lines_of_it:
            while line := self._lines_of_it.readline(LONGEST_LINE + 1):
                self._put(b"" if len(line) > LONGEST_LINE else line)
        self._put(b"")

    def _put(self, line: bytes) -> None:
        while not self._over.is_set():
            with contextlib.suppress(queue.Full):
                self._lines.put(line, timeout=0.5)
                return
