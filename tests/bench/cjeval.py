"""All four tasks of CJEval over all questions, with a mock model and a mock judge, as one process.

    python tests/bench/cjeval.py --data ../shared/data [--rounds 3] [--most 60]

Beside it stands the time that this machine takes to find the twenty concepts nearest to every question. The ratio of
the two is what to quote; seconds are printed, by the clock and of CPU time. So are those of the export of the four
tasks' supervised examples, in proportion to the same. More than `--most` seconds by the clock are
an exit code of 1; on a machine that others use meanwhile the clock says nothing, and CPU time on two cores counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "specs" / "cjeval"
REPLIES, LEAST_JUDGED = 19_260, 1_494
"""Of one model, to all that is asked; and of the judge, whatever is replied."""
EXPORTS = "kct_explained,qdp_explained,qa_explained,qg_explained"
IDLE = 0.5
"""A load of less, before it begins, is a machine that nobody else uses."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=float, default=60.0)
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, each process compiles all modules for 2 to 3 s
    busy = os.getloadavg()[0]
    runs, nearest = [], []
    for _ in range(options.rounds):
        runs.append(run(options.data))
        nearest.append(retrieval_alone(options.data))
    clock = statistics.median(took for took, _, _ in runs)
    cpu = statistics.median(used for _, used, _ in runs)
    calls, beside = runs[0][2], statistics.median(nearest)
    print(f"four tasks: {clock:.1f} s by the clock, {cpu:.1f} s of CPU time for {calls:,} calls, the report included")
    print(f"retrieval of {REPLIES // 6:,} questions alone: {beside:.1f} s of CPU time; ratio {cpu / beside:.1f}")
    used, examples = export(options.data)
    print(f"four exports: {used:.1f} s of CPU time for {examples:,} examples; ratio {used / beside:.1f}")
    if busy > IDLE:
        print(f"{busy:.1f} processes were at work before it began: by the clock it says nothing")
    sys.exit((cpu / 2 if busy > IDLE else clock) > options.most)


def run(data: str) -> tuple[float, float, int]:
    """Return the seconds of a whole run into an empty store, by the clock and of CPU time, and its calls. Exits where
    it did not do all of it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tripos", "run", str(SPEC), "--data", data, "--json", "--store", folder]
        command += ["--model", "mock/careful", "--role", "judge=mock/fair"]
        started, before = time.perf_counter(), os.times()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        took_s, after = time.perf_counter() - started, os.times()
    used_s = after.children_user + after.children_system - before.children_user - before.children_system
    said = json.loads(done.stdout) if done.returncode == 0 else {}
    asked = said.get("calls", {}).get("asked", 0)
    if asked < REPLIES + LEAST_JUDGED:
        sys.exit(f"the run did not make {REPLIES:,} calls and more: {done.stdout[:500]}{done.stderr[-500:]}")
    return took_s, used_s, asked


def export(data: str) -> tuple[float, int]:
    """Return the seconds of CPU time to export the supervised examples of all four tasks, and their number. Where the
    data has no train, valid is in its place."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cjeval").mkdir()
        for split in ("test", "valid", "train"):
            there = Path(data).resolve() / "cjeval" / split
            (folder / "cjeval" / split).symlink_to(there if there.is_dir() else there.with_name("valid"))
        command = [sys.executable, "-m", "tripos", "export", EXPORTS, "--spec", str(SPEC), "--data", name]
        before = os.times()
        done = subprocess.run([*command, "-o", str(folder / "all.jsonl"), "--json"], capture_output=True, check=False)
        after = os.times()
    if done.returncode != 0:
        sys.exit(f"the export failed: {done.stderr.decode()[-500:]}")
    used_s = after.children_user + after.children_system - before.children_user - before.children_system
    return used_s, json.loads(done.stdout)["examples"]


def retrieval_alone(data: str) -> float:
    """Return the seconds of CPU time to index each subject's concepts and look up every question, twice, as the spec
    does."""
    from tripos_compiler.language.rows import read_value
    from tripos_compiler.plan import TextType
    from tripos_runtime.program.retrieval import TermIndex

    concepts: dict[str, set[str]] = {}
    asked: list[tuple[str, str]] = []
    for path in sorted((Path(data) / "cjeval").glob("*/*.json")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            concepts.setdefault(row["subject"], set()).update(row["ques_knowledges"])
            if path.parent.name == "test":
                asked.append((row["subject"], read_value(TextType(), row["ques_content"], {})))
    started = time.process_time()
    indexes = {subject: TermIndex.of(sorted(known)) for subject, known in concepts.items()}
    for subject, stem in [*asked, *asked]:
        (-indexes[subject].values(stem)).argsort(kind="stable")[:20]
    return time.process_time() - started


if __name__ == "__main__":
    main()
