"""Fuzzes what reads input of others: no exception but a documented error, no hang, no internal error.

    python tests/fuzz/run.py [TARGET...] [--seed 1] [--runs 1000] [--minutes M] [--log FILE] [--keep]

Without a target, all take turns, each by its share of `--runs` or `--minutes`. The same seed makes the same inputs.
Inputs are written by a grammar or mutated from seeds; what is refused in a new way becomes a seed. Each is tried in a
process of its own kind, which is replaced when it dies or falls silent. Every failure is made smaller and printed, and
with `--keep` saved in `tests/fuzz/found/TARGET`, from where the tests replay it. `--log` appends the counts to a file,
and `--table FILE` prints the sums of one. Exit code 1 on any failure.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import mmap
import multiprocessing
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "compiler"), str(ROOT / "tests" / "language_server")]

from tests.fuzz.data_files import remove_folders  # noqa: E402
from tests.fuzz.targets import TARGETS  # noqa: E402
from tests.fuzz.trying import Finding, Outcome, Target, set_alarm, smaller, try_input  # noqa: E402

FOUND = Path(__file__).parent / "found"
MEMORY = 8 << 30
"""Bytes of address space that a process may take; more is a `MemoryError`, which is a crash."""
LARGE = "is large"
"""What a process says when it is to be replaced before it has no memory left."""
PATIENCE = 60.0
"""Seconds by the clock after which an input is taken to hang where no signal reaches it."""
POOL = 400
"""How many inputs that were refused in a new way become seeds."""
ROOM = 1 << 20
AS_IS = 4
"""One in so many of the first inputs is a seed as it is."""
LEARNT = 0.2
"""The part of the mutated inputs that come from those."""
NEW = 0.25
"""The part of the inputs that a grammar writes anew, where a target has one."""


@dataclass
class Tally:
    """Counts of the inputs of a target."""

    target: str
    inputs: int = 0
    taken: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    said: Counter[int] = field(default_factory=Counter)
    crashes: int = 0
    hangs: int = 0
    broken: int = 0
    slowest: float = 0.0
    seconds: float = 0.0

    def take(self, outcome: Outcome | Finding) -> None:
        """Count what came of an input."""
        self.inputs += 1
        if isinstance(outcome, Finding):
            self.crashes += outcome.sort == "crash"
            self.hangs += outcome.sort == "hang"
            self.broken += outcome.sort == "broken rule"
            return
        self.taken += not outcome.code
        if outcome.code:
            self.refused[outcome.code] += 1
            self.said[outcome.said] += 1
        self.slowest = max(self.slowest, outcome.seconds)

    def add(self, other: Tally) -> None:
        """Add the counts of another."""
        for name in ("inputs", "taken", "refused", "said", "crashes", "hangs", "broken", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.slowest = max(self.slowest, other.slowest)

    @property
    def median(self) -> int:
        """The median number of diagnostics of an input that was refused."""
        return sorted(self.said.elements())[self.said.total() // 2] if self.said else 0


def inputs(target: Target, seed: int, name: str) -> Iterator[tuple[bytes, list[bytes]]]:
    """Yield inputs without end, each with the list of those that are seeds too, to which whoever tries them adds."""
    own, learnt = list(target.seeds()), list[bytes]()
    for number in range(1 << 62):
        if number % AS_IS == 0 and number // AS_IS < len(own):
            yield own[number // AS_IS], learnt
            continue
        random = Random(f"{name}:{seed}:{number}")
        if target.write is not None and random.random() < NEW:
            made = target.write(random)
            yield (made if random.random() < 0.3 else target.mutate(random, made, own)), learnt
        else:
            from_learnt = learnt and random.random() < LEARNT
            yield target.mutate(random, random.choice(learnt if from_learnt else own), own), learnt


def work(name: str, seed: int, runs: int, until: float, shared: mmap.mmap, pipe: Connection, known: set[str]) -> None:
    """Try inputs until there are so many or time is up. The shared memory holds the input that is tried; failures of a
    new cause go through the pipe, shrunk, and counts at the end."""
    set_alarm()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    target, tally, signs = TARGETS[name], Tally(name), set[str]()
    began = heard = time.monotonic()

    def note(data: bytes) -> None:
        shared[:12] = len(data).to_bytes(4, "big") + (int.from_bytes(shared[4:12], "big") + 1).to_bytes(8, "big")
        shared[12 : 12 + len(data)] = data

    for data, learnt in islice(inputs(target, seed, name), runs):
        if time.monotonic() > until:
            break
        note(data)
        outcome = try_input(target, data)
        tally.take(outcome)
        if isinstance(outcome, Finding):
            if outcome.cause not in known:
                known.add(outcome.cause)
                pipe.send(smaller(target, outcome, note))
        elif outcome.sign and outcome.sign not in signs and len(signs) < POOL:
            signs.add(outcome.sign)
            learnt.append(data)
        if time.monotonic() > heard + 1:
            heard = time.monotonic()
            tally.seconds = heard - began
            pipe.send(tally)
            tally, began = Tally(name, slowest=tally.slowest), heard
            if _address_space() > MEMORY / 2:
                pipe.send(LARGE)
                return
    tally.seconds = time.monotonic() - began
    pipe.send(tally)
    pipe.send(None)


def _address_space() -> int:
    """Return the bytes of address space that this process has, where the system says so: some libraries never give
    back what a damaged file made them take."""
    told = Path("/proc/self/statm")
    return int(told.read_text("utf-8").split()[0]) * mmap.PAGESIZE if told.exists() else 0


def fuzz(name: str, seed: int, runs: int, seconds: float) -> tuple[Tally, list[Finding]]:
    """Fuzz one target, in a process that is replaced when it dies or falls silent."""
    whole, found, known = Tally(name), list[Finding](), set[str]()
    until = time.monotonic() + seconds
    context = multiprocessing.get_context("fork")
    turn = 0
    while whole.inputs < runs and time.monotonic() < until:
        shared = mmap.mmap(-1, ROOM)
        ours, theirs = context.Pipe(duplex=False)
        part = (name, seed + turn * 1_000_003, runs - whole.inputs, until, shared, theirs, known)
        process = context.Process(target=work, args=part)
        process.start()
        theirs.close()
        ended = _listen(ours, shared, whole, found)
        if ended is not None:
            process.kill()
        process.join()
        remove_folders(process.pid or 0)
        if ended is None:
            return whole, found
        turn += 1
        if ended == LARGE:
            continue
        length = int.from_bytes(shared[:4], "big")
        cause = f"the process {ended}" + (f" with {process.exitcode}" if ended == "ended" else "")
        lost = Finding("hang" if ended == "fell silent" else "crash", cause, cause, bytes(shared[12 : 12 + length]))
        whole.take(lost)
        if cause not in known:
            found.append(lost)
        known |= {cause, *(each.cause for each in found)}
    return whole, found


def _listen(pipe: Connection, shared: mmap.mmap, whole: Tally, found: list[Finding]) -> str | None:
    """Take up what a process says until it is done: None. Otherwise return how it came to an end."""
    said: Tally | Finding | str | None
    tried, heard = b"", time.monotonic()
    while True:
        if pipe.poll(1.0):
            try:
                said = pipe.recv()
            except EOFError:
                return "ended"
            heard = time.monotonic()
            if said is None or said == LARGE:
                return said
            if isinstance(said, Finding):
                found.append(said)
            elif isinstance(said, Tally):
                whole.add(said)
        elif shared[4:12] != tried:
            tried, heard = shared[4:12], time.monotonic()
        elif time.monotonic() - heard > PATIENCE:
            return "fell silent"


def save(name: str, found: Finding) -> Path:
    """Save an input on which a target failed, for the tests to replay."""
    words = re.sub(r"[^a-z0-9]+", "-", found.cause.casefold()).strip("-")[:60]
    path = FOUND / name / f"{words}-{hashlib.sha256(found.data).hexdigest()[:8]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(found.data)
    return path


def table(tallies: Sequence[Tally]) -> str:
    """Return the counts as a table in Markdown."""
    head = "| target | inputs | taken | refused | codes | diagnostics (median) | failures | slowest, s | inputs/s |"
    lines = [head, "| --- |" + " ---: |" * 8]
    whole = Tally("all")
    for tally in tallies:
        whole.add(tally)
    for tally in (*tallies, whole):
        lines.append(
            f"| {tally.target} | {tally.inputs:,} | {tally.taken:,} | {tally.refused.total():,} | {len(tally.refused)}"
            f" | {tally.median} | {tally.crashes + tally.hangs + tally.broken} | {tally.slowest:.2f}"
            f" | {tally.inputs / max(tally.seconds, 1e-9):,.0f} |"
        )
    return "\n".join(lines)


def read_log(path: Path) -> list[Tally]:
    """Return the sums of a log, by target."""
    sums: dict[str, Tally] = {}
    for line in path.read_text("utf-8").splitlines():
        said = json.loads(line)
        said["refused"] = Counter(said["refused"])
        said["said"] = Counter({int(count): times for count, times in said["said"].items()})
        sums.setdefault(said["target"], Tally(said["target"])).add(Tally(**said))
    return sorted(sums.values(), key=lambda each: each.target)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, help="inputs in all; without it and --minutes, 1000")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--keep", action="store_true", help="save what fails in tests/fuzz/found")
    parser.add_argument("--log", type=Path, help="append the counts to this file")
    parser.add_argument("--table", type=Path, help="print the sums of a log, and do nothing else")
    options = parser.parse_args()
    if options.table is not None:
        print(table(read_log(options.table)))
        return 0
    unknown = set(options.targets) - TARGETS.keys()
    if unknown:
        parser.error(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    names = list(dict.fromkeys(options.targets)) or list(TARGETS)
    whole = sum(TARGETS[name].share for name in names)
    runs = options.runs or (1000 if options.minutes is None else None)
    tallies, failed = [], False
    for name in names:
        share = TARGETS[name].share / whole
        seconds = options.minutes * 60 * share if options.minutes is not None else float("inf")
        tally, found = fuzz(name, options.seed, max(1, round(runs * share)) if runs is not None else 1 << 62, seconds)
        tallies.append(tally)
        for each in found:
            failed = True
            kept = f" kept as {save(name, each).relative_to(ROOT)}" if options.keep else ""
            print(f"=== {name}: {each.sort}, {each.cause}{kept}\n{each.detail}\n--- {each.data[:600]!r}\n", flush=True)
        if options.log is not None:
            with options.log.open("a", encoding="utf-8") as log:
                log.write(json.dumps(vars(tally)) + "\n")
    print(table(tallies))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
