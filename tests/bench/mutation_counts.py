"""The outcomes of mutants that were compiled: how much is said of a slip, and what went wrong."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

from examining import twins

from tripos_compiler.compile import Compilation

Sort = Literal["crash", "hang", "broken rule"]


@dataclass(frozen=True)
class Failure:
    """The mistakes of a mutant. `cause` is the same for all that went wrong in one way."""

    sort: Sort
    cause: str
    detail: str
    number: int
    slips: tuple[str, ...]
    path: str = ""
    text: str = ""


@dataclass
class Counts:
    """The outcomes of some mutants."""

    said: list[int] = field(default_factory=list)
    """How many diagnostics each has."""
    seconds: list[float] = field(default_factory=list)
    """CPU seconds to compile each and render what is said of it."""
    compiled: int = 0
    unchanged: int = 0
    """Mutants whose text is that of the spec: the slip had no effect."""
    formatted: int = 0
    refused: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    helpless: Counter[str] = field(default_factory=Counter)
    """The codes of diagnostics without help."""
    twins: Counter[str] = field(default_factory=Counter)
    """Codes that stand more than once at one place, in other words."""
    failures: list[Failure] = field(default_factory=list)

    def take(self, compilation: Compilation, seconds: float) -> None:
        """Count a mutant that was compiled."""
        self.seconds.append(seconds)
        self.said.append(len(compilation.diagnostics))
        self.compiled += compilation.plan is not None
        self.codes.update(item.code for item in compilation.diagnostics)
        self.helpless.update(item.code for item in compilation.diagnostics if item.help is None)
        self.twins.update(one.code for one, _ in twins(compilation.diagnostics))

    def add(self, other: Counts) -> None:
        """Add what came of others."""
        for each in fields(self):
            if isinstance(getattr(self, each.name), list):
                getattr(self, each.name).extend(getattr(other, each.name))
            else:
                setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    @property
    def tried(self) -> int:
        """Return how many mutants these are."""
        return len(self.said) + sum(failure.path != "" for failure in self.failures)


def report(counts: Counts, wall_s: float, processes: int) -> str:
    """Return the figures, a line each."""
    return "\n".join(f"{name:<15}{value}" for name, value in _figures(counts, wall_s, processes))


def _figures(counts: Counts, wall_s: float, processes: int) -> Iterator[tuple[str, str]]:
    said, broken, total = counts.said, [each for each in counts.said if each], counts.codes.total()
    yield "mutants", f"{counts.tried:,}"
    yield "took", f"{wall_s:,.0f} s, {counts.tried / wall_s:,.1f} a second in {processes} processes"
    for sort, name in (("crash", "crashes"), ("hang", "hangs"), ("broken rule", "broken rules")):
        yield name, f"{sum(failure.sort == sort for failure in counts.failures):,}"
    if not said:
        return
    share = f"{said.count(0) / len(said):.1%} have none"
    yield "diagnostics", f"median {statistics.median(said):g}, p95 {_at(said, 0.95):g}, max {max(said)}; {share}"
    if broken:
        yield "", f"of those with any: median {statistics.median(broken):g}, p95 {_at(broken, 0.95):g}"
    same = f"{counts.unchanged / len(said):.1%} have the text of the spec"
    yield "still compile", f"{counts.compiled / len(said):.1%}; {same}"
    yield "formatted", f"{counts.formatted:,}; {counts.refused:,} were refused for their syntax"
    worst = f"p99 {_at(counts.seconds, 0.99):.3f}, max {max(counts.seconds):.3f}"
    yield "CPU seconds", f"median {statistics.median(counts.seconds):.3f}, {worst}"
    yield "codes", f"{len(counts.codes)}: {_most(counts.codes)}"
    yield "without help", f"{counts.helpless.total() / max(total, 1):.1%} of {total:,}: {_most(counts.helpless)}"
    yield "at one place", f"in other words: {_most(counts.twins)}"


def _at(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def _most(codes: Counter[str]) -> str:
    return ", ".join(f"{code} {count:,}" for code, count in codes.most_common(8)) or "none"
