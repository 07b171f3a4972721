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

from examining import Fault, KeptData, compile_kept, examine, examine_format
from mutants import Mutant, Spec, case_specs, mutant, scraps, shipped_specs
from mutation_counts import Counts, Failure, Sort, report
from shrinking import shrunk
from slips import Scraps

from tripos_compiler.compile import Compilation

T = TypeVar("T")
MEMORY = 6 << 30
"""Bytes that a process may take; more is a `MemoryError`, which is a crash."""
PATIENCE = 60.0
"""Seconds by the clock after which a process that says nothing is taken to hang where no signal reaches it."""
TRIES = 400
"""How many smaller texts are tried for a failure, once by lines and once by characters."""


class Hang(BaseException):
    """A mutant took too long. No `except Exception` of the compiler takes this for a mistake of its own."""


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
        """Return the mutant of that number."""
        return mutant(Random(f"{self.seed}:{number}"), self.specs, self.scraps)

    def try_one(self, number: int, counts: Counts) -> None:
        """Compile a mutant and count what came of it."""
        made = self.mutant(number)
        formatting = number % self.format_every == 0
        began = time.process_time()
        try:
            compilation = self.limited(lambda: examine(made.files, made.spec.main, self.data))
            seconds = time.process_time() - began
            if formatting:
                formatted = self.limited(lambda: self.format(made, compilation))
                counts.formatted += formatted
                counts.refused += not formatted
        except (Exception, Hang) as error:
            sort, cause = _cause(error)
            found = Failure(sort, cause, _detail(error), number, made.slips, made.path, made.text)
            counts.failures.append(found)
            return
        counts.take(compilation, seconds)
        counts.unchanged += made.text == made.spec.files[made.path]

    def format(self, made: Mutant, compilation: Compilation) -> bool:
        """Format a mutant, and compile it again as formatted; False where it does not parse."""
        formatted = examine_format(made.files, made.path)
        if formatted is not None and compilation.plan is not None:
            again = compile_kept({**made.files, made.path: formatted}, made.spec.main, self.data)
            if again.plan is None or again.plan.digest != compilation.plan.digest:
                raise Fault("the formatter changes the plan")
        return formatted is not None

    def limited(self, work: Callable[[], T]) -> T:
        """Do some work. Raises `Hang` where it takes more than the limit of CPU seconds."""
        signal.setitimer(signal.ITIMER_PROF, self.limit)
        try:
            return work()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def smaller(self, failure: Failure) -> str:
        """Return the shortest text found that fails in the same way in place of the mutant's, the other files as they
        are."""
        made = self.mutant(failure.number)

        def fails(text: str) -> bool:
            tried = Mutant(made.spec, made.path, text, ())
            try:
                compilation = self.limited(lambda: examine(tried.files, made.spec.main, self.data))
                self.limited(lambda: self.format(tried, compilation))
            except (Exception, Hang) as error:
                return _cause(error) == (failure.sort, failure.cause)
            return False

        return shrunk(failure.text, fails, TRIES if failure.sort != "hang" else TRIES // 10)


def _cause(error: BaseException) -> tuple[Sort, str]:
    """Return what sort of failure that is, and its cause: where an exception was raised, or the rule that is broken."""
    if isinstance(error, Hang):
        return "hang", "hang"
    if isinstance(error, Fault):
        return "broken rule", str(error).partition(":")[0]
    frames = [each for each in traceback.extract_tb(error.__traceback__) if "tripos" in each.filename]
    place = f" in {Path(frames[-1].filename).name} at line {frames[-1].lineno}" if frames else ""
    return "crash", f"{type(error).__name__}{place}"


def _detail(error: BaseException) -> str:
    if isinstance(error, Fault):
        return str(error)
    lines = traceback.format_exception(error, chain=False)
    return "".join(lines if len(lines) < 16 else [*lines[:3], "  …\n", *lines[-12:]]).rstrip()


# --- processes ---


def set_limits() -> None:
    """Let a mutant be stopped, and a text that would take all memory fail."""

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
        rule = "a spec compiles otherwise after its mutants"
        pipe.send(Counts(failures=[Failure("broken rule", rule, rule, numbers[0], ())]))
    pipe.send(None)


def _digest(bench: Bench, spec: Spec) -> str | None:
    plan = compile_kept(spec.files, spec.main, bench.data).plan
    return plan.digest if plan is not None else None


def tried(bench: Bench, numbers: range, processes: int) -> Iterator[Counts]:
    """Yield what comes of these mutants, in the order in which it is known. A process that dies or falls silent is
    replaced, and its mutant is a failure."""
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
                yield _lost(bench, number, "crash", f"the process ended with {process.exitcode}")
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
                yield _lost(bench, number, "hang", "the process says nothing")
                start(share[share.index(number) + 1 :])


def _lost(bench: Bench, number: int, sort: Sort, cause: str) -> Counts:
    made = bench.mutant(number)
    return Counts(failures=[Failure(sort, cause, cause, number, made.slips, made.path, made.text)])


def tell(bench: Bench, failures: list[Failure]) -> None:
    """Print every cause of failures once, with a text that is as small as it can be made."""
    causes = Counter((failure.sort, failure.cause) for failure in failures)
    for (sort, cause), count in causes.most_common():
        same = [failure for failure in failures if failure.cause == cause]
        first = min(same, key=lambda each: (len(each.text), each.number))
        print(f"\n=== {count} × {sort}, {cause}: --only {first.number} ({', '.join(first.slips)})\n{first.detail}")
        if first.path:
            in_process = not cause.startswith("the process")
            print(f"--- in place of {first.path}:\n{bench.smaller(first) if in_process else first.text}")


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
    bench = Bench(specs, scraps(), options.seed, options.limit, options.format_every)
    broken = [spec.main for spec in specs if compile_kept(spec.files, spec.main, bench.data).plan is None]
    if broken:
        print(f"this does not compile as it is: {', '.join(broken)}", file=sys.stderr)
        return 2
    whole, began = Counts(), time.monotonic()
    numbers = range(options.count) if options.only is None else range(options.only, options.only + 1)
    for counts in tried(bench, numbers, options.processes):
        whole.add(counts)
        if whole.tried % 5000 == 0:
            print(f"{whole.tried:,} tried, {len(whole.failures):,} failed", file=sys.stderr)
    if options.only is not None:
        print(bench.mutant(options.only).text)
    print(report(whole, time.monotonic() - began, options.processes))
    set_limits()
    tell(bench, whole.failures)
    return 1 if whole.failures else 0


if __name__ == "__main__":
    sys.exit(main())
