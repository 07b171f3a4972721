"""Memory and time of a very large run with mock models, of its forecast and of the same command once all is there.

    python tests/bench/million.py [--units 1000000] [--folder DIR]

Rows × 4 models × 10 samples are the units, each with one score. The memory of the process is read every half second,
beside how many calls it says are done: it should not grow after the first 10,000. Needs /proc, so Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

SPEC = """\
benchmark million "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text }
scenario echo {
  over item
  ask reply by candidate {
    prompt "{{ item.question }}"
    samples 10
  }
  score length = words(reply.text)
}
measure words = mean(length)
"""
MODELS = tuple(f"mock/careful:{name}" for name in "abcd")
EACH = 10 * len(MODELS)
"""Units a row."""
WARM = 10_000
"""After so many units memory should be flat."""
LOOK_S = 0.5
DONE = re.compile(rb'"event":"progress".*?"done":(\d+)')


@dataclass(frozen=True)
class Look:
    """The observation of a process at a time: calls done, as it said last, and memory in millions of bytes."""

    at_s: float
    done: int
    rss_mb: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=1_000_000)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--folder", help="where the store is left; without it, nothing is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(options.folder or name)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "million.tripos").write_text(SPEC, "utf-8")
        rows = (json.dumps({"question": f"Why is {number} a number?"}) for number in range(-(-options.units // EACH)))
        (folder / "items.jsonl").write_text("\n".join(rows), "utf-8")
        command = [sys.executable, "-m", "tripos", "run", "million.tripos", "--model", ",".join(MODELS), "--json"]
        command += ["--max-connections", str(options.connections), "--events", "events.jsonl"]
        looks, told, wall_s, cpu_s = watched(command, folder)
        show(looks, told, wall_s, cpu_s, folder)
        looks, _, wall_s, cpu_s = watched([*command, "--dry-run"], folder)
        print(f"its forecast: {wall_s:.1f} s wall, {cpu_s:.1f} s CPU, {most(looks):.0f} MB", flush=True)
        looks, told, wall_s, cpu_s = watched(command, folder)
    reused = told["calls"]["asked"] == 0
    print(f"again: {wall_s:.1f} s wall, {cpu_s:.1f} s CPU, {most(looks):.0f} MB, asked {told['calls']['asked']:,}")
    return 0 if reused else 1


def watched(command: list[str], folder: Path) -> tuple[list[Look], dict[str, dict[str, int]], float, float]:
    """Run a command; what was seen of it, its summary, and its wall and CPU seconds."""
    (folder / "events.jsonl").unlink(missing_ok=True)
    looks: list[Look] = []
    started_s = time.monotonic()
    with (folder / "out.json").open("w+") as out, (folder / "err.txt").open("w+") as err:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=err)
        status = Path(f"/proc/{process.pid}/statm")
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            memory = int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
            looks.append(Look(time.monotonic() - started_s, _done(folder / "events.jsonl"), memory))
            time.sleep(LOOK_S)
        wall_s = time.monotonic() - started_s
        process.returncode = os.waitstatus_to_exitcode(ended[1])
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{(folder / 'err.txt').read_text()[-3000:]}")
    usage = ended[2]
    return looks, json.loads((folder / "out.json").read_text()), wall_s, usage.ru_utime + usage.ru_stime


def _done(events: Path) -> int:
    """Return the calls of the last event that tells how the run goes."""
    if not events.exists():
        return 0
    with events.open("rb") as file:
        file.seek(max(events.stat().st_size - 8000, 0))
        found = DONE.findall(file.read())
    return int(found[-1]) if found else 0


def most(looks: list[Look]) -> float:
    """Return the most memory seen."""
    return max(look.rss_mb for look in looks)


def show(looks: list[Look], told: dict[str, dict[str, int]], wall_s: float, cpu_s: float, folder: Path) -> None:
    """Print memory over time, and what the whole took."""
    for look in looks[:: max(len(looks) // 20, 1)]:
        print(f"{look.at_s:7.1f} s  {look.done:9,} calls  {look.rss_mb:6.0f} MB")
    warm = [look for look in looks if look.done >= WARM]
    if warm:
        print(f"{warm[0].rss_mb:.0f} MB after {warm[0].done:,} calls, then at most {most(warm):.0f} MB")
    asked = told["calls"]["asked"]
    files = [path for path in (folder / "results").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    rate = f"{asked:,} calls in {wall_s:.1f} s, {cpu_s / asked * 1e6:.0f} µs CPU a call, at most {most(looks):.0f} MB"
    print(f"{rate}; {len(files):,} files of {size:.0f} MB", flush=True)


if __name__ == "__main__":
    sys.exit(main())
