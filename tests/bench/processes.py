"""Processes as they are measured: wall and CPU seconds and memory of a whole process, and the mock server beside it."""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Taken:
    """The resources that a process and its children took. `rss_mb` is the most memory that one of them had, in millions of bytes."""

    wall_s: float
    cpu_s: float
    rss_mb: float
    out: str


def median(taken: Sequence[Taken]) -> Taken:
    """Return the median of each figure."""
    return Taken(
        statistics.median(each.wall_s for each in taken),
        statistics.median(each.cpu_s for each in taken),
        statistics.median(each.rss_mb for each in taken),
        taken[-1].out,
    )


TRIPOS = (sys.executable, "-m", "tripos")


def take(
    command: Sequence[str | Path],
    folder: Path,
    more: Mapping[str, str] = {},
    good: Sequence[int] = (0,),
    *,
    beside_server: bool = True,
) -> Taken:
    """Run a command to its end, on the cores that the server has not if there is one. Exits if the command fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | more
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        started = time.perf_counter()
        words = [str(each) for each in command]
        process = subprocess.Popen(words, cwd=folder, stdout=out, stderr=err, env=environment)
        if beside_server:
            _pin(process.pid, last=False)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)  # so that nobody waits for it again
        out.seek(0)
        err.seek(0)
        told = out.read()
        if process.returncode not in good:
            sys.exit(f"{' '.join(words)} ended with {process.returncode}:\n{told[-3000:]}\n{err.read()[-3000:]}")
    scale = 1 if sys.platform == "darwin" else 1024
    return Taken(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * scale / 1e6, told)


def take_tripos(arguments: Sequence[str | Path], folder: Path, good: Sequence[int] = (0,)) -> Taken:
    """Run a command of Tripos that needs no server."""
    return take([*TRIPOS, *arguments], folder, good=good, beside_server=False)


def fastest_s(do: Callable[[], object], rounds: int) -> float:
    """Return the seconds of the fastest round: what others do on the machine only adds to it."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        do()
        times.append(time.perf_counter() - started)
    return min(times)


@dataclass(frozen=True)
class Server:
    """The mock server."""

    port: int

    @property
    def base_url(self) -> str:
        """Return where its models are."""
        return f"http://127.0.0.1:{self.port}/v1"

    def tell(self, path: str) -> bytes:
        """Return what it says to a GET."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}") as reply:
            told: bytes = reply.read()
        return told

    def asked(self) -> int:
        """Return how many requests it has had since it was last reset, which this does."""
        count = int(json.loads(self.tell("stats"))["requests"])
        self.tell("reset")
        return count


def server_option(parser: argparse.ArgumentParser) -> None:
    """Add `--server`."""
    parser.add_argument("--server", default="../shared/bench/mock_openai.py", help="an OpenAI-compatible mock server")


@contextmanager
def serving(script: str, latency_ms: float = 0) -> Iterator[Server]:
    """The mock server, on a core of its own where there are two. Exits where there is no such script."""
    if not Path(script).exists():
        sys.exit(f"no mock server at {script}: name one with --server")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, script, "--port", str(port), "--latency-ms", str(latency_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        _pin(process.pid, last=True)
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield Server(port)
        finally:
            process.terminate()


def _pin(pid: int, *, last: bool) -> None:
    """Leave the last core to the server, and the others to whoever calls it."""
    if hasattr(os, "sched_setaffinity") and len(cores := sorted(os.sched_getaffinity(0))) > 1:
        os.sched_setaffinity(pid, cores[-1:] if last else cores[:-1])


def more_files() -> None:
    """Allows this process and its children as many open connections as the system does."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
