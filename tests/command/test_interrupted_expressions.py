"""SIGTERM and Ctrl-C while a long expression is evaluated: the run ends soon, and what was done is kept."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import tripos as api
from tripos_compiler.errors import ExitCode

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
LONGEST_S = 120.0
LOOPS = "bcdefghi"
SPEC = """benchmark slow "1.0.0" {{ languages en }}
role candidate compared
dataset item from "items.jsonl" {{
  question text
  slow     bool
}}
scenario s {{
  over item
  ask reply by candidate {{ prompt "{{{{ item.question }}}}" }}
  let counted = split("0,1,2,3,4,5,6,7,8,9", ",")
  score amount = choose(item.slow, {value}, 1)
  measure m = mean(amount)
}}
"""


def put(folder: Path) -> None:
    """Write a spec: of two of its rows a score takes 10^8 steps, of the others one."""
    value = " + ".join([*(f"length({alias})" for alias in LOOPS), "length(reply.text)"])
    for alias in LOOPS:
        value = f"sum([{value} each {alias} in counted])"
    (folder / "slow.tripos").write_text(SPEC.format(value=value), "utf-8")
    rows = [{"question": f"What is {number} × 7?", "slow": number in (3, 5)} for number in range(8)]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def is_replied(folder: Path) -> bool:
    """Return true once the journal of a run has anything."""
    return any(
        path.stat().st_size for path in (folder / "results").rglob("*") if path.is_file() and "journal" in str(path)
    )


@contextlib.contextmanager
def run_slow(folder: Path, workers: int) -> Iterator[subprocess.Popen[str]]:
    """Start a run, and wait until a slow score is under way, which takes minutes."""
    command = [sys.executable, "-c", "from tripos.cli.main import main; main()"]
    command += ["run", "slow.tripos", "--model", "mock/careful", "--store", "results", "--workers", str(workers)]
    with subprocess.Popen(command, cwd=folder, env=os.environ, stderr=subprocess.PIPE, text=True) as process:
        latest_s = time.monotonic() + LONGEST_S
        while not is_replied(folder):
            assert process.poll() is None and time.monotonic() < latest_s
            time.sleep(0.05)
        time.sleep(1.0 * workers)
        assert process.poll() is None
        yield process


@pytest.mark.skipif(sys.platform != "linux", reason="looks up processes")
def test_workers_in_the_middle_of_a_long_expression_do_not_outlive_their_run(tmp_path: Path) -> None:
    put(tmp_path)
    with run_slow(tmp_path, 2) as process:
        workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("utf-8").split()
        process.kill()
    assert len(workers) == 2
    latest_s = time.monotonic() + LONGEST_S
    while any(is_there(worker) for worker in workers):
        assert time.monotonic() < latest_s
        time.sleep(0.2)


def is_there(pid: str) -> bool:
    """Return true if a process works; one that ended, and that nobody waited for, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# In the short form, one signal and one process; that workers end with their run is the test above.
@pytest.mark.parametrize(
    ("number", "workers"),
    [
        (signal.SIGTERM, 1),
        pytest.param(signal.SIGINT, 1, marks=pytest.mark.long),
        pytest.param(signal.SIGTERM, 2, marks=pytest.mark.long),
    ],
)
def test_a_signal_ends_a_run_in_the_middle_of_a_long_expression(
    number: signal.Signals, workers: int, tmp_path: Path
) -> None:
    put(tmp_path)
    with run_slow(tmp_path, workers) as process:
        process.send_signal(number)
        try:
            _, told = process.communicate(timeout=LONGEST_S)
        finally:
            process.kill()
    assert process.returncode == ExitCode.INTERRUPTED, told
    assert "Traceback" not in told and "internal error" not in told
    with api.open(tmp_path / "results") as results:
        [(scores, lacking)] = results.sql(
            "select count(value), count(*) filter (value is null) from main.scores"
        ).fetchall()
        [(samples,)] = results.sql("select count(*) from main.samples").fetchall()
    assert 1 <= scores <= 6 and lacking == 0
    assert samples > scores or samples == 8
