"""Compiles specs with slips of a hand in them: no crash, no hang, and how much is said of a slip.

    python tests/bench/mutations.py [--count 10000] [--seed 1] [--processes 2] [--cases]

Takes the benchmarks of `specs`, and with `--cases` the valid cases of the language too; every mutant follows from the
seed and its number, so `--only NUMBER` makes it again. Each is compiled in process, its diagnostics are rendered as
text, JSON and SARIF, and what must hold of them is looked at (`tests/compiler/examining.py`); one in `--format-every`
is formatted, and compiled again as formatted. A hang is more than `--limit` seconds of its own CPU, or a minute by the
clock. Every kind of failure is made smaller before it is printed. Exit code 1 on any.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import resource
import signal
import statistics
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random
from types import FrameType
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[1] / "compiler"))

from examining import Fault, KeptData, compile_kept, examine, examine_format, twins
from mutants import Mutant, Scraps, Spec, case_specs, mutant, scraps_of, shipped_specs

from tripos_compiler.compile import Compilation

T = TypeVar("T")
MEMORY = 6 << 30
"""Bytes that a process may take; more is a `MemoryError`, which is a crash."""
PATIENCE = 60.0
"""Seconds by the clock after which a process that says nothing is taken to hang where no signal reaches it."""
TRIES = 400
"""How many smaller texts are tried for a failure."""


class Hang(BaseException):
    """A mutant took too long. No `except Exception` of the compiler takes this for a mistake of its own."""


@dataclass(frozen=True)
class Failure:
    """What went wrong, by a name that is the same for all like it, and the mutant."""

    kind: str
    detail: str
    number: int
    slips: tuple[str, ...]
    path: str = ""
    text: str = ""


@dataclass
class Counts:
    """What came of some mutants."""

    said: list[int] = field(default_factory=list)
    """Diagnostics of each."""
    seconds: list[float] = field(default_factory=list)
    """CPU seconds to compile and render each."""
    compiled: int = 0
    same: int = 0
    """Mutants whose text is that of the spec: the slip had no effect."""
    formatted: int = 0
    refused: int = 0
    helped: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    helpless: Counter[str] = field(default_factory=Counter)
    twins: Counter[str] = field(default_factory=Counter)
    """Codes that stand more than once at one place, in other words."""
    failures: list[Failure] = field(default_factory=list)

    def add(self, other: Counts) -> None:
        """Adds what came of others."""
        self.said += other.said
        self.seconds += other.seconds
        self.compiled += other.compiled
        self.same += other.same
        self.formatted += other.formatted
        self.refused += other.refused
        self.helped += other.helped
        self.codes += other.codes
        self.helpless += other.helpless
        self.twins += other.twins
        self.failures += other.failures


@dataclass(frozen=True)
class Bench:
    """The specs and scraps that mutants are made of."""

    specs: list[Spec]
    scraps: Scraps
    seed: int
    limit: float
    format_every: int
    data: KeptData = field(default_factory=KeptData)

    def mutant(self, number: int) -> Mutant:
        """The mutant of that number."""
        return mutant(Random(f"{self.seed}:{number}"), self.specs, self.scraps)

    def try_one(self, number: int, counts: Counts) -> None:
        """Compiles a mutant and counts what came of it."""
        made = self.mutant(number)
        formatting = number % self.format_every == 0
        began = time.process_time()
        try:
            compilation = self.limited(lambda: examine(made.files, made.spec.main, self.data))
            counts.seconds.append(time.process_time() - began)
            if formatting:
                formatted = self.limited(lambda: self.format(made, compilation))
                counts.formatted += formatted
                counts.refused += not formatted
        except (Exception, Hang) as error:
            counts.failures.append(
                Failure(_kind(error), _detail(error), number, made.slips, made.path, made.text)
            )
            return
        counts.same += made.text == made.spec.files[made.path]
        counts.compiled += compilation.plan is not None
        counts.said.append(len(compilation.diagnostics))
        counts.twins.update(one.code for one, _ in twins(compilation.diagnostics))
        for item in compilation.diagnostics:
            counts.codes[item.code] += 1
            counts.helped += item.help is not None
            if item.help is None:
                counts.helpless[item.code] += 1

    def format(self, made: Mutant, compilation: Compilation) -> bool:
        """Formats a mutant, and compiles it again as formatted; False where it does not parse."""
        formatted = examine_format(made.files, made.path)
        if formatted is not None and compilation.plan is not None:
            again = compile_kept({**made.files, made.path: formatted}, made.spec.main, self.data)
            if again.plan is None or again.plan.digest != compilation.plan.digest:
                raise Fault("the formatter changes the plan")
        return formatted is not None

    def limited(self, work: Callable[[], T]) -> T:
        """Does some work. Raises `Hang` where it takes more than the limit of CPU seconds."""
        signal.setitimer(signal.ITIMER_PROF, self.limit)
        try:
            return work()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def smaller(self, failure: Failure) -> str:
        """The shortest text found that fails in the same way in place of the mutant's, the other files as they are."""
        made = self.mutant(failure.number)

        def fails(text: str) -> bool:
            tried = Mutant(made.spec, made.path, text, ())
            try:
                compilation = self.limited(lambda: examine(tried.files, made.spec.main, self.data))
                self.limited(lambda: self.format(tried, compilation))
            except (Exception, Hang) as error:
                return _kind(error) == failure.kind
            return False

        return shrunk(failure.text, fails, TRIES if failure.kind != "hang" else 40)


def shrunk(text: str, fails: Callable[[str], bool], tries: int) -> str:
    """A text without any line, and then any stretch of characters, that a failure does not need."""
    for separator in ("\n", ""):
        parts = text.split(separator) if separator else list(text)
        size = max(len(parts) // 2, 1)
        while tries > 0 and parts:
            start = 0
            while start < len(parts) and tries > 0:
                without = parts[:start] + parts[start + size :]
                tries -= 1
                if fails(separator.join(without)):
                    parts = without
                else:
                    start += size
            if size == 1:
                break
            size //= 2
        text = separator.join(parts)
        tries = max(tries, TRIES // 4)
    return text


def _kind(error: BaseException) -> str:
    """What fails, the same for all failures with one cause: an exception and where it was raised, or a broken rule."""
    if isinstance(error, Hang):
        return "hang"
    if isinstance(error, Fault):
        return str(error).partition(":")[0]
    frames = [each for each in traceback.extract_tb(error.__traceback__) if "tripos" in each.filename]
    last = frames[-1]
    return f"{type(error).__name__} in {Path(last.filename).name} at line {last.lineno}"


def _detail(error: BaseException) -> str:
    if isinstance(error, Fault):
        return str(error)
    lines = traceback.format_exception(error)
    return "".join(lines if len(lines) < 16 else [*lines[:3], "  …\n", *lines[-12:]]).rstrip()


# --- processes ---


def set_limits() -> None:
    """Lets a mutant be stopped, and a text that would take all memory fail."""

    def too_long(signum: int, frame: FrameType | None) -> None:
        raise Hang

    signal.signal(signal.SIGPROF, too_long)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def work(bench: Bench, numbers: range, pipe: Connection) -> None:
    """Tries mutants one after the other; says the number of each before, and what came of it after. At the end the
    specs themselves must compile as before, which says that a compilation leaves nothing behind."""
    set_limits()
    gc.freeze()
    before = [_digest(bench, spec) for spec in bench.specs]
    for number in numbers:
        pipe.send(number)
        counts = Counts()
        bench.try_one(number, counts)
        pipe.send(counts)
    if [_digest(bench, spec) for spec in bench.specs] != before:
        pipe.send(Counts(failures=[Failure("a spec compiles otherwise after its mutants", "", numbers[0], ())]))
    pipe.send(None)


def _digest(bench: Bench, spec: Spec) -> str | None:
    plan = compile_kept(spec.files, spec.main, bench.data).plan
    return plan.digest if plan is not None else None


def tried(bench: Bench, numbers: range, processes: int) -> Iterator[Counts]:
    """What comes of these mutants, in the order in which it is known. A process that dies or falls silent is replaced,
    and its mutant is a failure."""
    context = multiprocessing.get_context("fork")
    workers: dict[Connection, tuple[multiprocessing.process.BaseProcess, range, int, float]] = {}

    def start(share: range) -> None:
        if share:
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=work, args=(bench, share, theirs))
            process.start()
            theirs.close()
            workers[ours] = (process, share, share[0], time.monotonic())

    for index in range(processes):
        start(numbers[index::processes])
    while workers:
        for pipe in wait(list(workers), timeout=1):
            assert isinstance(pipe, Connection)
            process, share, number, _ = workers[pipe]
            try:
                said = pipe.recv()
            except EOFError:
                process.join()
                del workers[pipe]
                yield _lost(bench, number, f"the process ended with {process.exitcode}")
                start(share[share.index(number) + 1 :])
                continue
            if said is None:
                process.join()
                del workers[pipe]
            elif isinstance(said, Counts):
                yield said
            else:
                workers[pipe] = (process, share, said, time.monotonic())
        for pipe, (process, share, number, heard) in list(workers.items()):
            if time.monotonic() - heard > PATIENCE and not pipe.poll():
                process.kill()
                process.join()
                del workers[pipe]
                yield _lost(bench, number, "hang")
                start(share[share.index(number) + 1 :])


def _lost(bench: Bench, number: int, kind: str) -> Counts:
    made = bench.mutant(number)
    return Counts(failures=[Failure(kind, kind, number, made.slips, made.path, made.text)])


# --- the report ---


def report(counts: Counts, wall_s: float, processes: int) -> None:
    """Prints the figures."""
    total = len(counts.said) + len(counts.failures)
    hangs = sum(failure.kind == "hang" for failure in counts.failures)
    said, seconds = sorted(counts.said), sorted(counts.seconds)
    print(f"mutants       {total:,} in {wall_s:,.0f} s, {total / wall_s:,.1f} a second in {processes} processes")
    print(f"crashes       {len(counts.failures) - hangs:,}")
    print(f"hangs         {hangs:,}")
    if not said:
        return
    broken = [each for each in said if each]
    print(f"diagnostics   median {statistics.median(said):g}, p95 {_at(said, 0.95)}, max {said[-1]}, none {said.count(0) / len(said):.1%}")
    if broken:
        print(f"  of those with any: median {statistics.median(broken):g}, p95 {_at(broken, 0.95)}")
    print(f"compiled      {counts.compiled / len(said):.1%} still; {counts.same / len(said):.1%} had the text of the spec")
    print(f"formatted     {counts.formatted:,}; {counts.refused:,} refused for their syntax")
    print(f"CPU seconds   median {statistics.median(seconds):.3f}, p99 {_at(seconds, 0.99):.3f}, max {seconds[-1]:.3f}")
    codes = sum(counts.codes.values())
    print(f"codes         {len(counts.codes)} of them; help beside {counts.helped / max(codes, 1):.1%} of {codes:,} diagnostics")
    print("  " + ", ".join(f"{code} {count:,}" for code, count in counts.codes.most_common(12)))
    for what, found in (("without help", counts.helpless), ("twice at one place, in other words", counts.twins)):
        if found:
            print(f"  {what}: " + ", ".join(f"{code} {count:,}" for code, count in found.most_common(8)))


def _at(ordered: list[float] | list[int], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def tell(bench: Bench, failures: list[Failure]) -> None:
    """Prints every kind of failure once, as small as it can be made."""
    kinds = Counter(failure.kind for failure in failures)
    for kind, count in kinds.most_common():
        first = min((each for each in failures if each.kind == kind), key=lambda each: (len(each.text), each.number))
        print(f"\n=== {count} × {kind}, --only {first.number} ({', '.join(first.slips)})\n{first.detail}")
        if "process" not in kind:
            print(f"--- in place of {first.path}:\n{bench.smaller(first)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--cases", action="store_true", help="mutate the valid cases of the language too")
    parser.add_argument("--limit", type=float, default=2.0, help="CPU seconds that a mutant may take")
    parser.add_argument("--format-every", type=int, default=5)
    parser.add_argument("--only", type=int, help="make this mutant again, and try it alone")
    options = parser.parse_args()
    specs = shipped_specs() + (case_specs() if options.cases else [])
    bench = Bench(specs, scraps_of(shipped_specs() + case_specs()), options.seed, options.limit, options.format_every)
    broken = [spec.main for spec in specs if compile_kept(spec.files, spec.main, bench.data).plan is None]
    if broken:
        print(f"this does not compile as it is: {', '.join(broken)}", file=sys.stderr)
        return 2
    whole, began = Counts(), time.monotonic()
    numbers = range(options.count) if options.only is None else range(options.only, options.only + 1)
    for counts in tried(bench, numbers, options.processes):
        whole.add(counts)
        done = len(whole.said) + len(whole.failures)
        if done % 5000 == 0:
            print(f"{done:,} tried, {len(whole.failures):,} failed", file=sys.stderr)
    if options.only is not None:
        print(bench.mutant(options.only).text)
    report(whole, time.monotonic() - began, options.processes)
    set_limits()
    tell(bench, whole.failures)
    return 1 if whole.failures else 0


if __name__ == "__main__":
    sys.exit(main())
