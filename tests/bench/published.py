"""A published benchmark over all its instances, with a mock model and a mock judge or critic, as one process.

    python tests/bench/published.py {cjeval,mathtutorbench} --data ../shared/data [--rounds 3] [--most 60]

Beside it stands the CPU time of a part that this machine does alone: for CJEval the twenty concepts nearest to every
question, for MathTutorBench sacreBLEU of every Socratic reply. The ratio of the two is what to quote. For CJEval, so is
that of the export of its four tasks' supervised examples. More than `--most` seconds by the clock are an exit code of 1;
on a machine that others use meanwhile, CPU time on two cores counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from processes import Taken, take_tripos

ROOT = Path(__file__).parents[2]
EXPORTS = "kct_explained,qdp_explained,qa_explained,qg_explained"
IDLE = 0.5
"""A load of less, before it begins, is a machine that nobody else uses."""


def nearest_concepts(data: Path) -> float:
    """Return the CPU seconds to index each subject's concepts and look up every question, twice, as the spec does."""
    from tripos_compiler.language.rows import read_value
    from tripos_compiler.plan import TextType
    from tripos_runtime.program.retrieval import TermIndex

    concepts: dict[str, set[str]] = {}
    asked: list[tuple[str, str]] = []
    for path in sorted((data / "cjeval").glob("*/*.json")):
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


def socratic_bleu(data: Path) -> float:
    """Return the CPU seconds that sacreBLEU takes for three lines to each of the Socratic problems."""
    from tripos_compiler.library.functions.dialogues import best_bleu, each_before

    text = (data / "gsm8k" / "test_socratic.jsonl").read_text("utf-8")
    golds = [each_before(json.loads(line)["answer"].splitlines(), "**") for line in text.splitlines()]
    started = time.process_time()
    for gold in golds:
        best_bleu("What do you know?\nWhat is asked for?\nHow do you get there?", gold)
    return time.process_time() - started


@dataclass(frozen=True)
class Benchmark:
    """The roles of a benchmark, the calls that it makes at least, and what is measured beside it."""

    roles: Sequence[str]
    calls: int
    beside: str
    alone_s: Callable[[Path], float]


BENCHMARKS = {
    "cjeval": Benchmark(["judge=mock/fair"], 19_260 + 1_494, "retrieval of 3,210 questions", nearest_concepts),
    "mathtutorbench": Benchmark(["critic=mock/reward"], 10_602 + 4_431, "sacreBLEU of 1,319 replies", socratic_bleu),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", choices=BENCHMARKS)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=float, default=60.0)
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, each process compiles all modules for 2 to 3 s
    found, data, busy = BENCHMARKS[options.benchmark], options.data.resolve(), os.getloadavg()[0]
    runs, alone = [], []
    for _ in range(options.rounds):
        runs.append(run(options.benchmark, data))
        alone.append(found.alone_s(data))
    clock, cpu = (statistics.median(getattr(each, name) for each in runs) for name in ("wall_s", "cpu_s"))
    calls, beside = json.loads(runs[0].out)["calls"]["asked"], statistics.median(alone)
    print(f"{clock:.1f} s by the clock, {cpu:.1f} s of CPU time for {calls:,} calls, the report included")
    print(f"{found.beside} alone: {beside:.1f} s of CPU time; ratio {cpu / beside:.1f}")
    if options.benchmark == "cjeval":
        exported = export(data)
        examples = json.loads(exported.out)["examples"]
        ratio = exported.cpu_s / beside
        print(f"four exports: {exported.cpu_s:.1f} s of CPU time for {examples:,} examples; ratio {ratio:.1f}")
    if busy > IDLE:
        print(f"{busy:.1f} processes were at work before it began: by the clock it says nothing")
    sys.exit((cpu / 2 if busy > IDLE else clock) > options.most)


def run(name: str, data: Path) -> Taken:
    """Return what a whole run into an empty store takes. Exits if it did not do all of it."""
    found = BENCHMARKS[name]
    roles = [word for role in found.roles for word in ("--role", role)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["run", ROOT / "specs" / name, "--data", data, "--json", "--store", folder]
        taken = take_tripos([*arguments, "--model", "mock/careful", *roles], ROOT)
    if json.loads(taken.out)["calls"]["asked"] < found.calls:
        sys.exit(f"the run did not make {found.calls:,} calls: {taken.out[:500]}")
    return taken


def export(data: Path) -> Taken:
    """Return what the export of the supervised examples of all four tasks takes. If the data has no train, valid is in
    its place."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cjeval").mkdir()
        for split in ("test", "valid", "train"):
            there = data / "cjeval" / split
            (folder / "cjeval" / split).symlink_to(there if there.is_dir() else there.with_name("valid"))
        arguments = ["export", EXPORTS, "--spec", ROOT / "specs" / "cjeval", "--data", name, "--json"]
        return take_tripos([*arguments, "-o", folder / "all.jsonl"], ROOT)


if __name__ == "__main__":
    main()
