"""All nine columns of MathTutorBench over all instances, with a mock model and a mock critic, as one process.

    python tests/bench/mathtutor.py --data ../shared/data [--rounds 3] [--most 60]

Beside it stands the time that this machine takes to score what only a library can: the BLEU of every Socratic reply.
The ratio of the two is what to quote; seconds are printed, and more than `--most` of them is an exit code of 1.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "specs" / "mathtutorbench"
REPLIES = 10_602
"""Of one model, to all that is asked."""
REWARDS = 4_431


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=float, default=60.0)
    options = parser.parse_args()
    runs, likeness = [], []
    for _ in range(options.rounds):
        runs.append(run(options.data))
        likeness.append(bleu_alone(options.data))
    took, beside = statistics.median(runs), statistics.median(likeness)
    calls = REPLIES + REWARDS
    print(f"nine columns: {took:.1f} s for {calls:,} calls, {calls / took:,.0f}/s, the report included")
    print(f"sacreBLEU of {1319:,} replies alone: {beside:.1f} s; ratio {took / beside:.1f}")
    sys.exit(took > options.most)


def run(data: str) -> float:
    """Return the seconds of a whole run into an empty store. Exits where it did not do all of it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tripos", "run", str(SPEC), "--data", data, "--json", "--store", folder]
        command += ["--model", "mock/careful", "--role", "critic=mock/reward"]
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        took_s = time.perf_counter() - started
    said = json.loads(done.stdout) if done.returncode == 0 else {}
    if said.get("calls", {}).get("asked") != REPLIES + REWARDS:
        sys.exit(f"the run did not make {REPLIES + REWARDS:,} calls: {done.stdout[:500]}{done.stderr[-500:]}")
    return took_s


def bleu_alone(data: str) -> float:
    """Return the seconds that sacreBLEU takes for three lines to each of the Socratic problems."""
    from tripos_compiler.library.functions.dialogues import best_bleu, each_before

    text = (Path(data) / "gsm8k" / "test_socratic.jsonl").read_text("utf-8")
    golds = [each_before(json.loads(line)["answer"].splitlines(), "**") for line in text.splitlines()]
    started = time.perf_counter()
    for gold in golds:
        best_bleu("What do you know?\nWhat is asked for?\nHow do you get there?", gold)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
