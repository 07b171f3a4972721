"""The runner of Python code that models write, with tests or as programs with input and output, in a bubblewrap
sandbox.

Code and tests are separate processes, and only the tests decide what passed. The tests call the code through this
process and receive plain data. So whatever code prints, returns or does to its own Python, it determines only its own
values: it cannot read the tests, and cannot claim that it passed. The output of a program is compared here, outside of
its sandbox, which never contains the expected output."""

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
    strange = shutil.which(PROGRAM)
    if strange is None:
        return "bubblewrap is not installed"
    return f"`{strange}` lies in the current folder or where others may write, so it is not taken for bubblewrap"


def no_sandbox_hint(name: str) -> str:
    """Return the hint for a program of this name that has no sandbox."""
    return f"install bubblewrap, or let code reach all that you reach: --allow-unsandboxed {name}"


def sandbox_program() -> str | None:
    """Return the path of bubblewrap among the folders of `PATH`, the system's folders first. Relative folders, folders
    below the current one, and folders that others may write are skipped, since anybody's program may be in them. A
    folder below the home folder counts even if that is the current one."""
    places = [place for place in os.get_exec_path() if Path(place).is_absolute()]
    own = [place for place in places if place not in SYSTEM_PROGRAMS and _is_own(place)]
    searched = [*(place for place in places if place in SYSTEM_PROGRAMS), *own]
    return shutil.which(PROGRAM, os.X_OK, os.pathsep.join(searched))


def _is_own(place: str) -> bool:
    """Return true for a folder that only the user or the system may write, outside of the current folder."""
    folder, home = Path(os.path.realpath(place)), Path(os.path.realpath(os.environ.get("HOME", "/")))
    with contextlib.suppress(OSError):  # the current folder may be gone
        here = os.path.realpath(os.curdir)
        if folder.is_relative_to(here) and not home.is_relative_to(here):
            return False
        found = folder.stat()
        return found.st_uid in (0, os.geteuid()) and not found.st_mode & 0o002
    return False


def python_command(text: str) -> list[str]:
    """Return the command of a Python without packages that runs a text."""
    return [_python(), "-s", "-S", "-P", "-B", "-c", text]


@cache
def hide_memory() -> None:
    """Keep other processes of the user from opening this process's memory, environment and files through `/proc`. This
    is done if code runs without a sandbox, and lasts until the process ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_DUMPABLE, ctypes.c_ulong(0), *(ctypes.c_ulong(0),) * 3)


def _python() -> str:
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def _command(program: str) -> list[str]:
    from tripos_runtime.asking.functions.inside.confined import DEVICES  # uses a module that Windows lacks

    words = [program, "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    words += ["--uid", NOBODY, "--gid", NOBODY]
    words += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    for name, value in ENVIRONMENT.items():
        words += ["--setenv", name, value]
    words += ["--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    for place in map(Path, SYSTEM):
        if place.is_symlink():
            words += ["--symlink", str(place.readlink()), str(place)]
        elif place.is_dir():
            words += ["--ro-bind", str(place), str(place)]
    prefix = os.path.realpath(sys.base_prefix)
    if not Path(prefix).is_relative_to("/usr"):
        words += ["--ro-bind", prefix, prefix]
    words += ["--tmpfs", "/dev"]
    for device in DEVICES:
        words += ["--dev-bind", device, device]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        words += ["--symlink", f"/proc/self/fd/{number}", f"/dev/{name}"]
    words += ["--symlink", "/proc/self/fd", "/dev/fd", "--proc", "/proc"]
    # As root, the sandbox's owner owns `/proc/sys` and more, of which bubblewrap covers only a part.
    for writable in ("/proc", "/dev", "/"):
        words += ["--remount-ro", writable]
    return [*words, "--chdir", "/", "--"]


@cache
def _fault(program: str) -> str | None:
    """Return why the sandbox does not work here; None if it does. A program called bubblewrap that starts Python
    unchanged, or in some namespaces only, is not a sandbox."""
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
        said = (ended.stderr.strip().splitlines() or ["it said nothing"])[-1]
        if unknown := re.search(r"Unknown option (\S+)", said):
            return f"bubblewrap is too old here: it has no `{unknown[1]}`"
        return f"bubblewrap does not work here: {said}"
    outside = [str(Path("/proc/self/ns", name).readlink()) for name in NAMESPACES]
    shared = set(inside) & set(outside)
    return f"`{program}` is no sandbox: it leaves code among the processes and files of the machine" if shared else None


SECONDS, MEMORY_MB = 10.0, 512
MOST_SECONDS, LEAST_MB, MOST_MB = 3600.0, 64, 65536
SLACK_S = 20.0
"""The wall-clock allowance beyond three times the CPU limit, for start-up and a busy machine, in seconds."""
LONGEST_LINE = 2**24
UNBOUND = "the kernel does not keep code from starting processes"
UNBOUND_ROOT = "root executes code only in a sandbox, or if the kernel has Landlock; run as another user"


class CodeRunner:
    """Executes the code and tests of requests, one after the other."""

    def __init__(self, *, unsandboxed: bool = False) -> None:
        self._unsandboxed = unsandboxed
        self._closed = False
        self._guests: list[Guest] = []

    def start(self) -> None:
        """Check that there is a sandbox, or that the kernel enforces the limits without one. Raises `Broken` R0309."""
        found = self.run({}, ("candidate.py",), lambda *_: Value(True))
        if isinstance(found, Failed):
            raise Broken(found.code, found.reason)

    def answer(self, requests: Sequence[ScorerRequest]) -> list[Outcome]:
        """Return the outcome of each request."""
        return [self._passed(request.arguments) for request in requests]

    def close(self) -> None:
        """End all processes."""
        self._closed = True
        for guest in list(self._guests):
            guest.close()

    def _passed(self, given: Mapping[str, Any]) -> Outcome:
        return self.run(
            given, ("tester.py", "candidate.py"), lambda guests, until: _tested(given, guests[0], guests[1], until)
        )

    def run(
        self, given: Mapping[str, Any], names: Sequence[str], find: Callable[[Sequence[Guest], float], Outcome]
    ) -> Outcome:
        """Return the result of `find`, called with sandboxed Pythons that run the texts of these names under the given
        limits, until a deadline."""
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
            if self._closed or ended:  # ended from outside: its silence says nothing about the code
                return Failed(DIED, ended or "the run is over")
            return found
        finally:
            for guest in guests:
                guest.close()
                self._guests.remove(guest)


def _tested(given: Mapping[str, Any], tester: Guest, code: Guest, until: float) -> Outcome:
    """Return what the tests say. They are loaded before the code, so that an error in them is reported as theirs; any
    later end without their verdict means not passed."""
    entry = given.get("entry")
    tester.say({"tests": given["tests"], "entry": entry}, until)
    read = tester.hear(until)
    if read is None or read != {"read": True}:
        text = "they end the Python that reads them" if read is None else str(read.get("unusable"))
        return Failed(NO_SCORE, f"the tests cannot be run: {text}")
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
            return Value(False)  # the code ended or exceeded the deadline
        tester.say(answer, until)
    return Value(False)


@cache
def guest_text(name: str) -> str:
    """Return the text of a Python program inside the sandbox by its file name."""
    path = Path(__file__).parent / "inside"
    return f"{(path / 'confined.py').read_text('utf-8')}\n{(path / name).read_text('utf-8')}"


class Guest:
    """A Python in a sandbox that exchanges single lines."""

    def __init__(self, words: Sequence[str], name: str) -> None:
        self._sandboxed = bool(words)
        if not words:
            hide_memory()
        # Other processes can open a pipe through `/proc`, but not a socket.
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
        """Send a message. A process that does not read it will not answer."""
        left = memoryview(json.dumps(message).encode() + b"\n")
        with contextlib.suppress(OSError):
            while left and (wait := until - time.monotonic()) > 0:
                if select.select([], [self._socket], [], wait)[1]:
                    left = left[self._socket.send(left, socket.MSG_DONTWAIT) :]

    def hear(self, until: float) -> dict[str, Any] | None:
        """Return the next message; None if none comes, or it is unreadable."""
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
        """Return how the sandbox was ended from outside, by a cluster or for lack of memory. A process that ends itself
        gives its sandbox an exit code."""
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
        """End it with all its child processes."""
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


class ProgramRunner(CodeRunner):
    """Executes a program for each input, up to the first wrong output."""

    def _passed(self, given: Mapping[str, Any]) -> Outcome:
        inputs, outputs = given["inputs"], given["outputs"]
        if len(inputs) != len(outputs) or not inputs:
            return Failed(NO_SCORE, f"there are {len(inputs)} inputs and {len(outputs)} outputs")
        for said, output in zip(inputs, outputs, strict=True):
            found = self.run(given, ("program.py",), partial(_is_right, given["code"], said, output))
            if found != Value(True):
                return found
        return Value(True)


RUNNERS: Mapping[str, type[CodeRunner]] = {"python-tests": CodeRunner, "python-programs": ProgramRunner}
"""The runners of code by the name of the program in a spec."""


def _is_right(code: str, said: str, wanted: str, guests: Sequence[Guest], until: float) -> Outcome:
    (guest,) = guests
    guest.say({"code": code, "input": said}, until)
    answer = guest.hear(until)
    if answer is None or answer.get("raised") is not None or not isinstance(answer.get("said"), str):
        return Value(False)
    return Value(same_output(answer["said"], wanted))


def same_output(said: str, wanted: str) -> bool:
    """Return true if an output is right as in LiveCodeBench: line by line without surrounding space, the same text or
    the same numbers.

    >>> same_output("1.50 2\\n", "1.5 2.0"), same_output("yes", "YES"), same_output("1\\n\\n2", "1\\n2")
    (True, False, False)
    """
    lines, expected = _lines(said), _lines(wanted)
    return len(lines) == len(expected) and all(
        one == other or ((numbers := _numbers(one)) is not None and numbers == _numbers(other))
        for one, other in zip(lines, expected, strict=True)
    )


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().split("\n")]


def _numbers(line: str) -> list[Decimal] | None:
    try:
        numbers = [Decimal(part) for part in line.split()]
    except InvalidOperation:
        return None
    return None if any(number.is_snan() for number in numbers) else numbers  # `sNaN` is text: comparing it raises
