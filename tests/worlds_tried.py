"""Holds the proof of secrecy against the trial, on generated specs: what the compiler accepts must differ in no pair of
worlds; how many of those that it refuses do not is the rate of its false alarms, or of what a trial cannot find."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.secret_specs import secret_spec
from tests.unproved import unproved, written
from tripos_compiler.compile import compile_spec
from tripos_runtime.datasets.data_files import DataFolders

SECRECY = {"E0501", "E0502"}
OTHERS = "differs for secrets of other items"
NOTHING = "differs in no world"


@dataclass
class Tried:
    """The outcome of some seeds. `leaks` are those that are accepted and differ, `wrong` those with another mistake."""

    accepted: int = 0
    refused: int = 0
    messages: int = 0
    leaks: dict[int, str] = field(default_factory=dict)
    wrong: dict[int, str] = field(default_factory=dict)
    quiet: dict[int, str] = field(default_factory=dict)
    """Of those that are refused and do not leak, whether anything differs."""

    def add(self, other: Tried) -> None:
        """Add another's counts."""
        self.accepted += other.accepted
        self.refused += other.refused
        self.messages += other.messages
        self.leaks |= other.leaks
        self.wrong |= other.wrong
        self.quiet |= other.quiet

    @property
    def kinds(self) -> Counter[str]:
        """Return how many of those that are refused and do not leak differ for others, and how many never."""
        return Counter(self.quiet.values())


def tried(seed: int, folder: Path, pairs: int = 4) -> Tried:
    """Return what comes of the spec of a seed, which is written into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    found = Tried()
    spec = written(folder, *secret_spec(seed))
    compilation = compile_spec(spec.as_posix(), lambda path: Path(path).read_text("utf-8"), DataFolders())
    codes = {each.code for each in compilation.diagnostics if each.severity == "error"}
    if codes - SECRECY:
        found.wrong[seed] = ", ".join(sorted(codes))
        return found
    trial = unproved(spec).tried(pairs)
    found.messages = trial.messages
    if codes:
        found.refused = 1
        if not trial.leaks:
            found.quiet[seed] = OTHERS if trial.through_others else NOTHING
        return found
    found.accepted = 1
    if trial.leaks:
        told = (f"{leak.difference.unit.scenario}, {leak.difference.part.step}: {leak.alone}" for leak in trial.leaks)
        found.leaks[seed] = "; ".join(told)
    return found
