"""The process behind a local model: started when first needed, shared by all that use it, stopped with the last."""

from __future__ import annotations

import collections
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tripos_runtime.models.base import ModelError

STOP_S = 5.0
LARGE_BYTES = 1 << 30
SPINS = "2000"
"""How long a thread waits awake for the next of many small steps. Asleep at once, as with `OMP_WAIT_POLICY=passive`,
a small model writes a third slower; awake for good, the threads starve each other on a busy machine."""


class LocalProcess:
    """A server of one model file. Take one with `share` and give it back with `release`."""

    _shared: dict[tuple[Path, int], LocalProcess] = {}  # noqa: RUF012 - one registry for the process
    _registry = threading.Lock()

    def __init__(self, model: Path, slots: int) -> None:
        self.model = model
        self.slots = slots
        self._users = 0
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ""
        self._last_words: collections.deque[str] = collections.deque(maxlen=1)

    @classmethod
    def share(cls, model: Path, slots: int) -> LocalProcess:
        """Return the server of that file in this Python process, which other users may hold too."""
        with cls._registry:
            server = cls._shared.setdefault((model.resolve(), slots), cls(model, slots))
            server._users += 1
            return server

    def release(self) -> None:
        """Give the server back; it stops when nobody holds it any more."""
        with LocalProcess._registry:
            self._users -= 1
            if self._users:
                return
            LocalProcess._shared.pop((self.model.resolve(), self.slots), None)
        with self._lock:
            self._stop()

    @property
    def pid(self) -> int | None:
        """The process number, or `None` where the server is not running."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def address(self) -> str:
        """Return where the server listens, such as `http://127.0.0.1:40123`. Starts it where it does not run, which
        blocks for some seconds. Raises `ModelError` where it cannot start."""
        with self._lock:
            if self.pid is None:
                self._stop()
                self._start()
            return self._address

    def _start(self) -> None:
        context = 8192 if self.model.stat().st_size < LARGE_BYTES else 4096
        command = [sys.executable, "-m", "tripos_runtime.models.local.local_server", "--model", str(self.model)]
        command += ["--slots", str(self.slots), "--context", str(context)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=os.environ | {"GOMP_SPINCOUNT": SPINS, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._process = process
        self._last_words.clear()
        listener = threading.Thread(target=self._listen, args=(process.stderr,), daemon=True)
        listener.start()
        assert process.stdout is not None
        for line in process.stdout:
            found = _address_in(line)
            if found is not None:
                self._address = found
                return
        process.wait(STOP_S)
        listener.join(STOP_S)
        self._stop()
        words = self._last_words[-1] if self._last_words else f"exit status {process.returncode}"
        message = f"the server for `{self.model.name}` did not start: {words}"
        raise ModelError("R0106", message, "check that the file is a GGUF model that llama.cpp reads", fatal=True)

    def _listen(self, stream: Any) -> None:
        for line in stream:
            self._last_words.append(" ".join(line.decode(errors="replace").split())[:200])

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.close()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()


def _address_in(line: bytes) -> str | None:
    try:
        parsed = json.loads(line)
    except ValueError:
        return None
    return str(parsed["address"]) if isinstance(parsed, dict) and "address" in parsed else None
