"""The runner of Python code that models write, in a bubblewrap sandbox: code with tests, or programs with inputs and
outputs.

Code and tests run in separate processes, and only the process of the tests decides what passed. The tests call the code
through this process and receive plain data. So whatever the code prints, returns or does to its own Python, it
determines only its own values: it cannot read the tests, and cannot claim that it passed. The output of a program is
compared here, outside of its sandbox, which never contains the expected output."""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import queue
import re
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache, partial
from pathlib import Path
from typing import Any

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

PROGRAM = "bwrap"
PROBE_S = 30.0
"""The time for the check that the sandbox works, in seconds."""
ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8", "LC_ALL": "C.UTF-8"}
SET_DUMPABLE = 4
"""The number of `PR_SET_DUMPABLE` for `prctl`."""
NOBODY = "65534"
"""The user and group ids that code sees."""
ON_LINUX = "code is executed on Linux alone"
NAMESPACES = ("user", "pid", "net", "ipc", "uts", "mnt")
SYSTEM_PROGRAMS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")


def sandbox_command(*, unsandboxed: bool) -> list[str]:
    """Return the command prefix that starts a program in a sandbox; empty if it may run without one. Raises `Broken`
    R0309 if there is no sandbox."""
    if os.name != "posix":
        raise Broken(NO_SANDBOX, ON_LINUX)
    reason = sandbox_fault()
    if reason is None:
        program = sandbox_program()
        assert program is not None
        return _command(program)
    if unsandboxed:
        return []
    raise Broken(NO_SANDBOX, f"{reason}, and code that models write runs in its sandbox")


def sandbox_fault() -> str | None:
    """Return why the sandbox does not work here; None if it does."""
    if os.name != "posix":
        return ON_LINUX
    program = sandbox_program()
    if program is not None:
        return _fault(program)
    skipped = shutil.which(PROGRAM)
    if skipped is None:
        return "bubblewrap is not installed"
    return f"`{skipped}` lies in the current folder or where others may write, so it is not taken for bubblewrap"


def no_sandbox_hint(name: str) -> str:
    """Return the hint for a program of this name that has no sandbox."""
    return f"install bubblewrap, or let code reach all that you reach: --allow-unsandboxed {name}"


def sandbox_program() -> str | None:
    """Return the path of bubblewrap among the folders of `PATH`, the system's folders first; None if it is in none.
    Relative folders, folders below the current one, and folders that everybody may write are skipped, since anybody's
    program may be in them. If the current folder is the home folder or above it, folders below it are not skipped."""
    folders = [folder for folder in os.get_exec_path() if Path(folder).is_absolute()]
    own = [folder for folder in folders if folder not in SYSTEM_PROGRAMS and _is_own(folder)]
    searched = [*(folder for folder in folders if folder in SYSTEM_PROGRAMS), *own]
    return shutil.which(PROGRAM, os.X_OK, os.pathsep.join(searched))


def _is_own(path: str) -> bool:
    """Return true for a folder of the user or of root that not everybody may write, and that is not below the current
    folder."""
    folder, home = Path(os.path.realpath(path)), Path(os.path.realpath(os.environ.get("HOME", "/")))
    with contextlib.suppress(OSError):  # the current folder may be gone
        current = os.path.realpath(os.curdir)
        if folder.is_relative_to(current) and not home.is_relative_to(current):
            return False
        status = folder.stat()
        return status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o002
    return False


def python_command(text: str) -> list[str]:
    """Return the command that runs a text in a Python without site packages."""
    return [_python(), "-s", "-S", "-P", "-B", "-c", text]


@cache
def hide_memory() -> None:
    """Keep other processes of the user from opening this process's memory, environment and files through `/proc`. It is
    called if code runs without a sandbox, and lasts until the process ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_DUMPABLE, ctypes.c_ulong(0), *(ctypes.c_ulong(0),) * 3)


def _python() -> str:
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def _command(program: str) -> list[str]:
    """Return the command prefix of bubblewrap: no network, no capabilities, and only the files that Python needs, all
    read-only."""
    from tripos_runtime.asking.functions.inside.confined import DEVICES  # uses a module that Windows lacks

    words = [program, "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    words += ["--uid", NOBODY, "--gid", NOBODY]
    words += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    for name, value in ENVIRONMENT.items():
        words += ["--setenv", name, value]
    words += ["--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    for folder in map(Path, SYSTEM):
        if folder.is_symlink():
            words += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.is_dir():
            words += ["--ro-bind", str(folder), str(folder)]
    prefix = os.path.realpath(sys.base_prefix)
    if not Path(prefix).is_relative_to("/usr"):
        words += ["--ro-bind", prefix, prefix]
    words += ["--tmpfs", "/dev"]
    for device in DEVICES:
        words += ["--dev-bind", device, device]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        words += ["--symlink", f"/proc/self/fd/{number}", f"/dev/{name}"]
    words += ["--symlink", "/proc/self/fd", "/dev/fd", "--proc", "/proc"]
    # If root starts the sandbox, its user owns `/proc/sys` and more, of which bubblewrap protects only a part.
    for writable in ("/proc", "/dev", "/"):
        words += ["--remount-ro", writable]
    return [*words, "--chdir", "/", "--"]


@cache
def _fault(program: str) -> str | None:
    """Return why a sandbox of this program does not work; None if it does. The program is tried with a Python that
    prints its namespaces: if it shares one with this process, it is not in a sandbox."""
    text = f"import os\nfor name in {NAMESPACES}: print(os.readlink('/proc/self/ns/' + name))"
    command = [*_command(program), *python_command(text)]
    try:
        ended = subprocess.run(
            command, env=ENVIRONMENT, cwd="/", capture_output=True, text=True, timeout=PROBE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not start: {error}"
    inside = ended.stdout.splitlines()
    if ended.returncode != 0 or len(inside) != len(NAMESPACES):
        last_line = (ended.stderr.strip().splitlines() or ["it said nothing"])[-1]
        if unknown := re.search(r"Unknown option (\S+)", last_line):
            return f"bubblewrap is too old here: it has no `{unknown[1]}`"
        return f"bubblewrap does not work here: {last_line}"
    outside = [str(Path("/proc/self/ns", name).readlink()) for name in NAMESPACES]
    shared = set(inside) & set(outside)
    return f"`{program}` is no sandbox: it leaves code among the processes and files of the machine" if shared else None


SECONDS, MEMORY_MB = 10.0, 512
"""The default limits of code: CPU seconds, and memory in MiB."""
MOST_SECONDS, LEAST_MB, MOST_MB = 3600.0, 64, 65536
SLACK_S = 20.0
"""The time beyond three times the CPU limit until code is ended, for start-up and a busy machine, in seconds."""
LONGEST_LINE = 2**24
"""The longest message from a sandbox, in bytes."""
UNBOUND = "the kernel does not keep code from starting processes"
UNBOUND_ROOT = "root executes code only in a sandbox, or if the kernel has Landlock; run as another user"


class CodeRunner:
    """A runner of the code and tests of requests, one after the other."""

    def __init__(self, *, unsandboxed: bool = False) -> None:
        self._unsandboxed = unsandboxed
        self._closed = False
        self._guests: list[Guest] = []

    def start(self) -> None:
        """Check that there is a sandbox, or that the kernel enforces the limits without one. Raises `Broken` R0309."""
        outcome = self.run({}, ("candidate.py",), lambda *_: Value(True))
        if isinstance(outcome, Failed):
            raise Broken(outcome.code, outcome.reason)

    def answer(self, requests: Sequence[ScorerRequest]) -> list[Outcome]:
        """Return the outcome of each request: whether the code passed, or a failure if this cannot be said."""
        return [self._outcome(request.arguments) for request in requests]

    def close(self) -> None:
        """End all processes."""
        self._closed = True
        for guest in list(self._guests):
            guest.close()

    def _outcome(self, arguments: Mapping[str, Any]) -> Outcome:
        return self.run(
            arguments,
            ("tester.py", "candidate.py"),
            lambda guests, until: _run_tests(arguments, guests[0], guests[1], until),
        )

    def run(
        self, arguments: Mapping[str, Any], names: Sequence[str], use: Callable[[Sequence[Guest], float], Outcome]
    ) -> Outcome:
        """Start a sandboxed Python for each file of `inside` in `names`, with the limits `seconds` and `memory_mb` of
        `arguments`. Return the result of `use`, which gets these guests and a deadline of the monotonic clock."""
        seconds, memory = float(arguments.get("seconds", SECONDS)), int(arguments.get("memory_mb", MEMORY_MB))
        if not 0 < seconds <= MOST_SECONDS or not LEAST_MB <= memory <= MOST_MB:
            return Failed(NO_SCORE, f"its limits are {seconds:g} seconds and {memory} MiB, which is out of bounds")
        if self._closed:
            return Failed(DIED, "the run is over")
        words = sandbox_command(unsandboxed=self._unsandboxed)
        until = time.monotonic() + 3 * seconds + SLACK_S
        guests: list[Guest] = []
        try:
            for name in names:
                guests.append(Guest(words, name))
                self._guests.append(guests[-1])
            limits = {"seconds": math.ceil(seconds), "memory": memory * 2**20}
            for guest in guests:
                guest.send(limits, until)
                ready = guest.receive(until)
                if ready is None:
                    return Failed(DIED, f"a sandbox did not start: {guest.last_line()}")
                if ready != {"ready": True}:
                    return Failed(NO_SANDBOX, UNBOUND if words or os.getuid() != 0 else UNBOUND_ROOT)
            outcome = use(guests, until)
            ended = next((how for guest in guests if (how := guest.ended_from_outside())), None)
            if self._closed or ended:  # then a missing answer says nothing about the code
                return Failed(DIED, ended or "the run is over")
            return outcome
        finally:
            for guest in guests:
                guest.close()
                self._guests.remove(guest)


def _run_tests(arguments: Mapping[str, Any], tester: Guest, code: Guest, until: float) -> Outcome:
    """Return whether the tests pass. They are parsed before the code is loaded, so that an error in them is reported as
    theirs. If they end later without a verdict, the code has not passed."""
    entry = arguments.get("entry")
    tester.send({"tests": arguments["tests"], "entry": entry}, until)
    parsed = tester.receive(until)
    if parsed is None or parsed != {"read": True}:
        text = "they end the Python that reads them" if parsed is None else str(parsed.get("unusable"))
        return Failed(NO_SCORE, f"the tests cannot be run: {text}")
    code.send({"code": arguments["code"]}, until)
    loaded = code.receive(until)
    names = None if loaded is None else loaded.get("names")
    if not isinstance(names, dict) or (entry is not None and entry not in names):
        return Value(False)
    tester.send({"names": names}, until)
    while (message := tester.receive(until)) is not None:
        if "unusable" in message:
            return Failed(NO_SCORE, f"the tests cannot be run: {message['unusable']}")
        if "ask" not in message:
            return Value(message == {"passed": True})
        code.send(message["ask"], until)
        answer = code.receive(until)
        if answer is None:
            return Value(False)  # the code ended or exceeded the deadline
        tester.send(answer, until)
    return Value(False)


@cache
def guest_text(name: str) -> str:
    """Return the text of a program of `inside`, by its file name, after the text that all of them share."""
    path = Path(__file__).parent / "inside"
    return f"{(path / 'confined.py').read_text('utf-8')}\n{(path / name).read_text('utf-8')}"


class Guest:
    """A Python in a sandbox, with which this process exchanges messages: lines of JSON. `sandbox` is the command prefix
    of the sandbox, empty without one; `name` is that of the program in `inside`."""

    def __init__(self, sandbox: Sequence[str], name: str) -> None:
        self._sandboxed = bool(sandbox)
        if not sandbox:
            hide_memory()
        # Other processes can open a pipe through `/proc`, but not a socket.
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [*sandbox, *python_command(guest_text(name))],
                env=ENVIRONMENT,
                cwd="/",
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        self._lines: queue.Queue[bytes] = queue.Queue(maxsize=4)
        self._incoming = self._socket.makefile("rb")
        self._closed = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, message: Mapping[str, Any], until: float) -> None:
        """Send a message. An error is ignored: a process that does not read will not answer."""
        rest = memoryview(json.dumps(message).encode() + b"\n")
        with contextlib.suppress(OSError):
            while rest and (wait := until - time.monotonic()) > 0:
                if select.select([], [self._socket], [], wait)[1]:
                    rest = rest[self._socket.send(rest, socket.MSG_DONTWAIT) :]

    def receive(self, until: float) -> dict[str, Any] | None:
        """Return the next message; None if none comes by the deadline, or if it is unreadable."""
        while (wait := until - time.monotonic()) > 0:
            try:
                line = self._lines.get(timeout=min(wait, 1.0))
            except queue.Empty:
                continue
            try:
                message = json.loads(line) if line else None
            except (ValueError, RecursionError):
                message = None
            return message if isinstance(message, dict) else None
        return None

    def ended_from_outside(self) -> str | None:
        """Return how the sandbox was ended from outside, for instance by a cluster or for lack of memory; None if it
        was not. If the process inside ends by itself, the sandbox ends with an exit code and not by a signal."""
        status = self._process.poll()
        return (
            f"its sandbox was ended by signal {-status}"
            if self._sandboxed and status is not None and status < 0
            else None
        )

    def last_line(self) -> str:
        """End the process, and return the last line of its standard error."""
        assert self._process.stderr is not None
        self.close()
        return (self._process.stderr.read().decode("utf-8", "replace").strip().splitlines() or ["it said nothing"])[-1]

    def close(self) -> None:
        """End the process with all its child processes."""
        self._closed.set()
        if self._process.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, 9)
            self._process.wait()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._incoming:
            while line := self._incoming.readline(LONGEST_LINE + 1):
                self._put(b"" if len(line) > LONGEST_LINE else line)
        self._put(b"")

    def _put(self, line: bytes) -> None:
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):
                self._lines.put(line, timeout=0.5)
                return


class ProgramRunner(CodeRunner):
    """A runner of a program for each of its inputs, up to the first wrong output."""

    def _outcome(self, arguments: Mapping[str, Any]) -> Outcome:
        inputs, outputs = arguments["inputs"], arguments["outputs"]
        if len(inputs) != len(outputs) or not inputs:
            return Failed(NO_SCORE, f"there are {len(inputs)} inputs and {len(outputs)} outputs")
        for given, expected in zip(inputs, outputs, strict=True):
            outcome = self.run(arguments, ("program.py",), partial(_run_program, arguments["code"], given, expected))
            if outcome != Value(True):
                return outcome
        return Value(True)


RUNNERS: Mapping[str, type[CodeRunner]] = {"python-tests": CodeRunner, "python-programs": ProgramRunner}
"""The runners of code by the name of the program in a spec."""


def _run_program(code: str, given: str, expected: str, guests: Sequence[Guest], until: float) -> Outcome:
    """Return whether a program writes the expected output for a given input."""
    (guest,) = guests
    guest.send({"code": code, "input": given}, until)
    answer = guest.receive(until)
    if answer is None or answer.get("raised") is not None or not isinstance(answer.get("output"), str):
        return Value(False)
    return Value(same_output(answer["output"], expected))


def same_output(output: str, expected: str) -> bool:
    """Return true if an output is right by the rule of LiveCodeBench: each line, without surrounding space, is the same
    text as the expected line, or has the same numbers.

    >>> same_output("1.50 2\\n", "1.5 2.0"), same_output("yes", "YES"), same_output("1\\n\\n2", "1\\n2")
    (True, False, False)
    """
    lines, expected_lines = _lines(output), _lines(expected)
    return len(lines) == len(expected_lines) and all(
        one == other or ((numbers := _numbers(one)) is not None and numbers == _numbers(other))
        for one, other in zip(lines, expected_lines, strict=True)
    )


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().split("\n")]


def _numbers(line: str) -> list[Decimal] | None:
    try:
        numbers = [Decimal(part) for part in line.split()]
    except InvalidOperation:
        return None
    return None if any(number.is_snan() for number in numbers) else numbers  # `sNaN` is text: comparing it raises
