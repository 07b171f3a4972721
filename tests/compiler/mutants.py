"""Specs with slips of a hand in them: the benchmarks that come with Tripos, and the valid cases of the language."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from compiling import EDUBENCH, ROOT
from slips import SLIPS, Scraps, scraps_of

EXAMPLES = ROOT / "docs" / "examples"
CASES = ROOT / "tests" / "cases"
AGAIN = 0.45
"""The chance of one more slip after each."""
MOST = 12
"""How many slips a mutant has at the most."""


@dataclass(frozen=True)
class Spec:
    """A spec that compiles: its main file, and the texts of its files by path."""

    main: str
    files: dict[str, str]


@dataclass(frozen=True)
class Mutant:
    """A spec with slips in one of its files, and what kinds of slips they are."""

    spec: Spec
    path: str
    text: str
    slips: tuple[str, ...]

    @property
    def files(self) -> dict[str, str]:
        """The texts of all its files by path."""
        return {**self.spec.files, self.path: self.text}


def shipped_specs() -> list[Spec]:
    """Return the four benchmarks in miniature and the whole of EduBench."""
    specs = [_spec(path) for path in sorted(EXAMPLES.glob("*.tripos")) if path.name != "metrics.tripos"]
    return [*specs, _spec(EDUBENCH / "edubench.tripos")]


def case_specs() -> list[Spec]:
    """Return the valid cases of the language, one for every construct at the least."""
    return [_spec(path) for path in sorted(CASES.glob("*/valid/*.tripos"))]


def scraps() -> Scraps:
    """Return what can be taken from all these specs."""
    return scraps_of(sorted({text for spec in shipped_specs() + case_specs() for text in spec.files.values()}))


def _spec(main: Path) -> Spec:
    files: dict[str, str] = {}
    waiting = [main]
    while waiting:
        path = waiting.pop()
        if path.as_posix() not in files and path.is_file():
            text = files[path.as_posix()] = path.read_text("utf-8")
            waiting += [
                Path(os.path.normpath(path.parent / name)) for name in re.findall(r'^use "(.*)"', text, re.MULTILINE)
            ]
    return Spec(main.as_posix(), files)


def mutant(random: Random, specs: Sequence[Spec], scraps: Scraps) -> Mutant:
    """Return a spec of these with one slip in one of its files, or several in turn, ever more rarely."""
    spec = random.choice(specs)
    path = random.choice(sorted(spec.files))
    text, slips = spec.files[path], [random.choice(SLIPS)]
    while random.random() < AGAIN and len(slips) < MOST:
        slips.append(random.choice(SLIPS))
    for slip in slips:
        text = slip(random, text, scraps)
    return Mutant(spec, path, text, tuple(slip.__name__ for slip in slips))
