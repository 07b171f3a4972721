"""Holds the proof of secrecy against worlds that are written out: the files of a spec with the secrets of its rows dealt
otherwise. What is sent about a row must be the same in all of them, if the compiler accepts the spec."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.arranged_specs import ArrangedSpec, arranged_spec
from tests.unproved import Unproved, unproved, written
from tests.worlds_tried import SECRECY
from tripos_compiler.compile import compile_spec
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.data_files import DataFolders
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.forecast.prompts import placeholder_models, preview_prompts
from tripos_runtime.secrecy_trial.playthrough import RevealedValues, TrialRun
from tripos_runtime.secrecy_trial.scripted_models import Script
from tripos_runtime.secrecy_trial.tables import DataFiles
from tripos_runtime.secrecy_trial.world import TrialWorld


@dataclass
class Arranged:
    """The results of some seeds. `leaks` are accepted and differ; `wrong` have another mistake; `unseen` differ, and the
    trial of worlds finds nothing in them."""

    accepted: int = 0
    refused: int = 0
    differ: int = 0
    """Of those that are refused, how many differ in the worlds that were written."""
    leaks: dict[int, str] = field(default_factory=dict)
    wrong: dict[int, str] = field(default_factory=dict)
    unseen: list[int] = field(default_factory=list)
    quiet: list[int] = field(default_factory=list)
    """Those that are refused and differ in no world that was written."""

    @property
    def counts(self) -> Counter[str]:
        """Return the numbers of all of these."""
        told = {"accepted": self.accepted, "refused": self.refused, "refused and differ": self.differ}
        lists = {"leaks": self.leaks, "wrong": self.wrong, "unseen by the trial": self.unseen}
        return Counter({**told, **{name: len(each) for name, each in lists.items()}})


def arrange(seed: int, folder: Path, found: Arranged, *, worlds: int = 4, trial: bool = False) -> None:
    """Add what comes of the spec of a seed, which is written into a folder, in so many worlds. With `trial`, what
    differs is tried in the worlds of `check --worlds` too."""
    drawn = arranged_spec(seed)
    spec = written(folder / "0", drawn.text, drawn.files(drawn.rows))
    compilation = compile_spec(spec.as_posix(), lambda path: Path(path).read_text("utf-8"), DataFolders())
    codes = {each.code for each in compilation.diagnostics if each.severity == "error"}
    if codes - SECRECY:
        told = (f"{each.code} {each.message}" for each in compilation.diagnostics if each.code not in SECRECY)
        found.wrong[seed] = "; ".join(told)
        return
    one = unproved(spec)
    other = _other(drawn, seed, folder, prompts(one), worlds)
    if not codes:
        found.accepted += 1
        if other is not None:
            found.leaks[seed] = other
        return
    found.refused += 1
    found.differ += other is not None
    if other is None:
        found.quiet.append(seed)
    elif trial and not one.tried(4).leaks:
        found.unseen.append(seed)


def _other(drawn: ArrangedSpec, seed: int, folder: Path, first: Mapping[str, object], worlds: int) -> str | None:
    """Return a prompt that is other in one of so many worlds."""
    for number in range(1, worlds + 1):
        dice = random.Random(f"{seed} {number}")
        spec = written(folder / str(number), drawn.text, drawn.files(drawn.dealt(dice), dice))
        try:
            second = prompts(unproved(spec))
        except AssertionError:  # a file of which no row is joined to another is no data of this spec
            continue
        for row, sent in first.items():
            if second.get(row, sent) != sent:  # that a row is asked about at all is no message
                return f"world {number}, row {row}: {sent} {second.get(row)}"
    return None


def prompts(spec: Unproved) -> dict[str, object]:
    """Return what the compared role is sent about each row, by its number: as `plan --prompts` shows it, or, where rows
    must be made before, as a run sends it."""
    files = tuple(each.path for each in spec.compilation.sources)
    source = CaseSource(spec.plan, DataFolders(), files)
    if not spec.plan.made:
        previews = preview_prompts(spec.plan, source, Selection(), placeholder_models(spec.plan), 1000)
        return dict(_numbered([(each.role, str(each.content)) for each in one.messages]) for one in previews)
    tables = DataFiles(spec.plan, DataFolders(), files)
    world = TrialWorld(spec.plan, DataFolders(), files, tables=tables)
    every = TrialRun(world, Script(0, False, False), None, True, {}, RevealedValues())
    seen = every.go(spec.plan.scenarios, {each.name: None for each in spec.plan.scenarios}, 1000)
    return dict(_numbered(list(sent)) for parts in seen.units.values() for sent in parts.values())


def _numbered(sent: list[tuple[str, str]]) -> tuple[str, object]:
    """Return what is sent with the number that its question begins with."""
    number = next(found[1] for _, text in reversed(sent) if (found := re.search(r"#(\d+)\.", text)) is not None)
    return number, sent
