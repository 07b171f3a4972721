"""The two kinds of external scorers: a process on this machine, and a service over HTTP.

A process gets no keys from the environment, has limits on time and memory, and runs in a folder that contains only its
own text. That is the text that was checked, even if the file in the benchmark has changed since. A service is at an
address that the user of the benchmark sets, and gets no key."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from tripos_compiler.plan import Plugin
from tripos_runtime.asking.functions.protocol import (
    DIED,
    HANGS,
    LONGEST_LINE,
    NONSENSE,
    NOT_STARTED,
    Broken,
    Outcome,
    ScorerRequest,
    as_line,
    check_greeting,
    greeting,
    parse_answer,
    read_answer,
    request_message,
)
from tripos_runtime.asking.functions.settings import ProgramLimits

KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "SYSTEMROOT", "VIRTUAL_ENV")
"""The environment variables that a program of a benchmark gets; no key is among them."""
_START = """
import runpy, sys
memory, path = int(sys.argv[1]), sys.argv[2]
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass
sys.argv = [path]
runpy.run_path(path, run_name="__main__")
"""
STDERR_LINES = 20
"""The number of lines of standard error that are kept."""
ENDING_S = 2.0
"""The time for a program to end after its input has ended, in seconds."""


def environment() -> dict[str, str]:
    """Return the environment of a program of a benchmark."""
    own = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**own, "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8"}


class EndedPython(NamedTuple):
    """How a Python program ended: whether it failed, and the last line of its standard error."""

    failed: bool
    last_line: str


def run_python(
    python: str,
    arguments: Sequence[str],
    folder: Path,
    timeout_s: float,
    *,
    text: str | None = None,
    variables: Sequence[str] = (),
) -> EndedPython:
    """Run a Python program of a benchmark or task in a folder, with the user's rights, but without the API keys of the
    environment. It gets `text` on its standard input, and keeps further `variables` of the environment.

    Raises `OSError` if `python` cannot be started, and `subprocess.TimeoutExpired`.
    """
    further = {name: os.environ[name] for name in variables if name in os.environ}
    ended = subprocess.run(
        [python, "-B", *arguments],
        cwd=folder,
        env=environment() | further,
        input=text,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        check=False,
    )
    lines = [line for line in ended.stderr.strip().splitlines() if line.strip()]
    return EndedPython(ended.returncode != 0, (lines or ["it ended"])[-1])


class ScorerProcess:
    """A process that runs the text of a program. `answer` starts it if it is not running."""

    def __init__(self, name: str, text: str, plugins: Sequence[Plugin], limits: ProgramLimits) -> None:
        self.name, self._text, self._plugins, self._limits = name, text, plugins, limits
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self._stderr_reader: threading.Thread | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._closed = False

    def start(self) -> None:
        """Start it and check its greeting. Raises `Broken`."""
        self._end()
        if self._closed:
            raise Broken(NOT_STARTED, "the run is over")
        self._folder = tempfile.TemporaryDirectory(prefix="tripos-scorer-")
        path = Path(self._folder.name) / "scorer.py"
        path.write_text(self._text, "utf-8")
        memory = str(self._limits.memory_mb * 2**20)
        command = [sys.executable, "-I", "-B", "-X", "utf8", "-c", _START, memory, str(path)]
        try:
            self._process = subprocess.Popen(
                command,
                cwd=self._folder.name,
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise Broken(NOT_STARTED, f"Python cannot be started: {error.strerror or error}") from error
        self._lines, self._stderr = queue.SimpleQueue(), deque(maxlen=STDERR_LINES)
        threading.Thread(target=_read_stdout, args=(self._process, self._lines), daemon=True).start()
        self._stderr_reader = threading.Thread(target=_read_stderr, args=(self._process, self._stderr), daemon=True)
        self._stderr_reader.start()
        try:
            self._send(as_line(greeting(self._plugins)))
            check_greeting(self._line(time.monotonic() + self._limits.timeout_s), None)
        except Broken as error:
            self._end()
            code = error.failure.code if error.failure.code == HANGS else NOT_STARTED
            raise Broken(code, f"no greeting: {error.failure.reason}") from None

    def answer(self, requests: Sequence[ScorerRequest]) -> list[Outcome]:
        """Return the outcome of each request. Raises `Broken` with the outcomes so far."""
        if self._process is None or self._process.poll() is not None:
            self.start()
        ids = {secrets.token_hex(8): place for place in range(len(requests))}
        waiting, outcomes = dict(ids), dict[int, Outcome]()
        batch = b"".join(as_line(request_message(id_, requests[place])) for id_, place in ids.items())
        writer = threading.Thread(target=self._write, args=(batch,), daemon=True)
        writer.start()
        try:
            while waiting:
                line = self._line(time.monotonic() + self._limits.timeout_s)
                id_, outcome = parse_answer(line, waiting)
                outcomes[waiting.pop(id_)] = outcome
        except Broken as error:
            self._end()
            raise Broken(error.failure.code, error.failure.reason, outcomes) from None
        return [outcomes[place] for place in range(len(requests))]

    def close(self) -> None:
        """End the process for good, with all its child processes."""
        self._closed = True
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(OSError, ValueError):
                if process.stdin is not None:
                    process.stdin.close()
            if process.returncode is None:  # otherwise its id may already belong to another process
                with contextlib.suppress(OSError):
                    _kill(process)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(ENDING_S)
        if self._folder is not None:
            with contextlib.suppress(OSError):
                self._folder.cleanup()
            self._folder = None

    def _send(self, data: bytes) -> None:
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise Broken(DIED, self._end_reason()) from None

    def _write(self, data: bytes) -> None:
        with contextlib.suppress(Broken, AssertionError):
            self._send(data)  # a process that does not read will not answer

    def _line(self, until: float) -> bytes:
        """Return the next line of the program, waiting until that time of the monotonic clock. Raises `Broken`."""
        try:
            line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            raise Broken(HANGS, f"no answer within {self._limits.timeout_s:g} seconds") from None
        if line is None:
            raise Broken(DIED, self._end_reason())
        if len(line) > LONGEST_LINE:
            raise Broken(NONSENSE, f"a line has more than {LONGEST_LINE:,} bytes")
        return line

    def _end_reason(self) -> str:
        """Return how the process ended, in words."""
        assert self._process is not None
        if not _has_ended(self._process):
            return "it closed its output"
        with contextlib.suppress(OSError):
            _kill(self._process)  # its remaining child processes
        status = self._process.wait()
        if self._stderr_reader is not None:
            self._stderr_reader.join(ENDING_S)
        by = f"signal {-status}" if status < 0 else f"exit code {status}"
        return f"it ended with {by}" + (f": {self._stderr[-1]}" if self._stderr else "")


def _read_stdout(process: subprocess.Popen[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    """Put the lines of standard output into a queue, and None after the last one."""
    assert process.stdout is not None
    with contextlib.suppress(OSError, ValueError):
        while line := process.stdout.readline(LONGEST_LINE + 1):
            lines.put(line)
            if len(line) > LONGEST_LINE:
                break
    lines.put(None)


def _read_stderr(process: subprocess.Popen[bytes], lines: deque[str]) -> None:
    assert process.stderr is not None
    with contextlib.suppress(OSError, ValueError):
        while line := process.stderr.readline(4096):
            if text := line.decode("utf-8", "replace").strip():
                lines.append(text)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return true if a process ends within `ENDING_S`. It is not reaped, so its id is not reused yet."""
    if not hasattr(os, "waitid"):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDING_S)
        return process.returncode is not None
    until = time.monotonic() + ENDING_S
    while process.returncode is None and time.monotonic() < until:
        if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None:
            return True
        time.sleep(0.01)
    return process.returncode is not None


def _kill(process: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


CHUNK = 2**16
"""The most bytes of a service's response that are read at once."""


class ScorerService:
    """An HTTP service. A POST of JSON has several requests, each with an id; the response has the service's name and
    version, and an outcome for each request."""

    def __init__(self, version: str, plugins: Sequence[Plugin], limits: ProgramLimits) -> None:
        self._version, self._plugins, self._limits = version, plugins, limits
        self._url = urlsplit(limits.url or "")

    def start(self) -> None:
        """Ask for its name and version. Raises `Broken`."""
        try:
            self._post([], {})
        except Broken as error:
            code = error.failure.code if error.failure.code == HANGS else NOT_STARTED
            raise Broken(code, error.failure.reason) from None

    def answer(self, requests: Sequence[ScorerRequest]) -> list[Outcome]:
        """Return the outcome of each request. Raises `Broken` with the outcomes so far."""
        ids = {secrets.token_hex(8): place for place in range(len(requests))}
        outcomes = self._post([request_message(id_, requests[place]) for id_, place in ids.items()], ids)
        return [outcomes[place] for place in range(len(requests))]

    def close(self) -> None:
        """Do nothing: no connection stays open."""

    def _post(self, requests: list[dict[str, object]], ids: dict[str, int]) -> dict[int, Outcome]:
        """Return the outcomes of requests by their index; `ids` are the indexes by id. Raises `Broken`."""
        body = self._response(as_line({**greeting(self._plugins), "requests": requests}))
        check_greeting(body, self._version)
        answers, outcomes, waiting = json.loads(body).get("answers"), dict[int, Outcome](), dict(ids)
        if not isinstance(answers, list):
            raise Broken(NONSENSE, "its answer has no list of `answers`")
        try:
            for answer in answers:
                if not isinstance(answer, dict):
                    raise Broken(NONSENSE, "one of its `answers` is no object")
                id_, outcome = read_answer(answer, waiting, json.dumps(answer).encode())
                outcomes[waiting.pop(id_)] = outcome
            if waiting:
                raise Broken(NONSENSE, f"it left {len(waiting)} of {len(ids)} requests without an answer")
        except Broken as error:
            raise Broken(error.failure.code, error.failure.reason, outcomes) from None
        return outcomes

    def _response(self, body: bytes) -> bytes:
        """Send a body, and return that of the response. Raises `Broken`."""
        import http.client  # only a service needs it

        until = time.monotonic() + self._limits.timeout_s
        connect = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        connection = connect(self._url.hostname or "", self._url.port, timeout=self._limits.timeout_s)
        path = (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")
        try:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.status != 200:
                raise Broken(DIED, f"it answers with HTTP status {response.status}")
            content, most = bytearray(), LONGEST_LINE * max(1, self._limits.batch)
            while chunk := response.read1(CHUNK):
                content += chunk
                if len(content) > most:
                    raise Broken(NONSENSE, f"its answer has more than {most:,} bytes")
                if time.monotonic() > until:
                    raise TimeoutError
            return bytes(content)
        except TimeoutError:
            raise Broken(HANGS, f"no answer within {self._limits.timeout_s:g} seconds") from None
        except (OSError, http.client.HTTPException) as error:
            raise Broken(DIED, f"it cannot be reached: {error or type(error).__name__}") from error
        finally:
            connection.close()
