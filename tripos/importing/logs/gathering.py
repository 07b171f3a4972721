"""Logs of one benchmark, read once: their items go to files, and their samples to a temporary file."""

from __future__ import annotations

import itertools
import json
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple

import orjson

from tripos.importing.logs.entries import LeftOut, Log, LoggedScore, LogHeader
from tripos.importing.logs.item_table import ItemTable, sound
from tripos.importing.logs.own_figures import FigureCheck
from tripos.importing.logs.reducers import MEAN, is_reducer
from tripos.importing.logs.spec_text import STEP, LoggedTask, LogSpec, identifier, items_file

TAKEN_NAMES = {STEP, "item", "response", "model", "rater", "system", "history", "question", "target"}
"""The names of the spec that no score can have."""
PLACE_BITS = 40
"""A spooled sample is known by one number of 64 bits: its item above these, and below where it stands in the file."""
MOST_ITEMS = 1 << (64 - PLACE_BITS)
MOST_SAMPLES = 100_000
"""The most samples of an item."""


class SpooledSample(NamedTuple):
    """A sample as it waits in the temporary file."""

    place: str
    model: str
    number: int
    told: dict[str, Any]
    scores: list[list[Any]]


@dataclass
class GatheredLog:
    """A log that was read. `samples` has for every task where its samples stand in the temporary file, in order of
    their items."""

    path: str
    source: str
    header: LogHeader
    left: LeftOut
    samples: dict[str, array[int]] = field(default_factory=dict)
    models: dict[str, None] = field(default_factory=dict)
    raters: dict[str, None] = field(default_factory=dict)
    given: dict[str, dict[tuple[str, str], None]] = field(default_factory=dict)
    """The scores that samples of a task have, each with its rater."""
    scores: int = 0
    unscored: int = 0
    repeated: int = 0
    count: int = 0
    check: FigureCheck = field(default_factory=FigureCheck)


class SampleNumbers:
    """The numbers of the samples of each item, by its place: a bit each of the first 64."""

    def __init__(self) -> None:
        self._bits = array("Q")
        self._high: set[tuple[int, int]] = set()
        self._full: dict[int, int] = {}
        """By the place of an item a number from 64 on: it has samples of all numbers below."""

    def has(self, place: int, number: int) -> bool:
        """Return true if an item has a sample of that number."""
        if number >= 64:
            return (place, number) in self._high
        return place < len(self._bits) and bool(self._bits[place] >> number & 1)

    def add(self, place: int, number: int) -> None:
        """Take in a sample."""
        if number >= 64:
            self._high.add((place, number))
            return
        self._bits.extend(repeat(0, place + 1 - len(self._bits)))
        self._bits[place] |= 1 << number

    def free(self, place: int) -> int:
        """Return the least number that no sample of an item has."""
        least = self._full.get(place, 0)
        found = next(number for number in itertools.count(least) if not self.has(place, number))
        if found >= 64:
            self._full[place] = found
        return found


class Gathering:
    """The logs of one benchmark. `folder` gets the items; `known` is what the spec there has already. `model` is the
    model of all logs, if it is given, and `names` are names here of scores there."""

    def __init__(
        self,
        name: str,
        folder: Path,
        known: LogSpec | None = None,
        model: str | None = None,
        names: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.model = model
        self.names = names
        self.folder = folder
        self.known = known
        self.spec = LogSpec(name)
        self.logs: list[GatheredLog] = []
        self._tables: dict[str, ItemTable] = {}
        self._tasks: dict[str, str] = {}
        self._scores: dict[tuple[str, str], str] = {}
        self._spool: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the gathering

    def take(self, log: Log, source: str) -> GatheredLog:
        """Read all samples of a log. Raises `OSError` and `ValueError` where it or a file of items cannot be read."""
        found = GatheredLog(log.shown, source, log.header, LeftOut())
        used: dict[tuple[str, str], SampleNumbers] = {}
        for table in self._tables.values():
            table.begin_log()
        for sample in log.samples(found.left):
            task = self._task(sample.task)
            place = self._table(task).place_of(sample.item)
            model = self.model or sound(sample.model)
            if place >= MOST_ITEMS:
                raise ValueError(f"it has more than {MOST_ITEMS:,} items")
            if (task, model) not in used:
                used[task, model] = SampleNumbers()
            numbers, number = used[task, model], sample.number
            if number is not None and number >= MOST_SAMPLES:
                found.left.note("number of a sample that is too large, another one in its place", sample.place)
                number = None
            if number is None or (numbers.has(place, number) and not sample.further):
                found.repeated += number is not None
                number = numbers.free(place)
                if number >= MOST_SAMPLES:
                    raise ValueError(f"an item has more than {MOST_SAMPLES:,} samples")
            found.count += not numbers.has(place, number)
            numbers.add(place, number)
            _tell_apart(sample.scores)
            wanted = LoggedTask(task, sample.task, number + 1, [self._score(task, s.name) for s in sample.scores])
            wanted.lower = {
                self._score(task, name)
                for of, name in log.header.lower
                if of == sample.task and (task, name) in self._scores
            }
            wanted.whole = {  # of a score that is several numbers, the rater has the name of all
                self._score(task, s.name)
                for s in sample.scores
                if (sample.task, s.rater.partition("/")[2]) in log.header.whole
            }
            wanted.reducers = {each if is_reducer(each) else MEAN: None for each in log.header.reducers}
            wanted.numbers = {self._score(task, s.name) for s in sample.scores if s.value not in (None, 0.0, 1.0)}
            self._want(task, wanted)
            scores = []
            for score in sample.scores:
                name = self._score(task, score.name)
                told = [score.value, score.said, score.reason, score.status, score.error]
                scores.append(sound([name, score.rater, *told]))
                found.given.setdefault(task, {})[name, scores[-1][1]] = None
                found.check.add(sample.task, score.name, place, score.value)
                found.raters[sound(score.rater)] = None
                found.scores += score.value is not None
                found.unscored += score.value is None
            found.models[model] = None
            at = self._keep([sample.place, model, number, sound(sample.told), scores])
            found.samples.setdefault(task, array("Q")).append(place << PLACE_BITS | at)
        found.samples = {task: array("Q", sorted(places)) for task, places in found.samples.items()}
        self.logs.append(found)
        return found

    def samples_of(self, log: GatheredLog, task: str) -> Iterator[tuple[int, list[SpooledSample]]]:
        """Yield the places of the items of a task, each with the samples that a log has of it."""
        for place, keys in itertools.groupby(log.samples.get(task, ()), key=lambda key: key >> PLACE_BITS):
            some: dict[tuple[str, int], SpooledSample] = {}
            for key in keys:
                sample = self._kept(key & (1 << PLACE_BITS) - 1)
                before = some.setdefault((sample.model, sample.number), sample)
                if before is not sample:
                    before.scores.extend(sample.scores)
            yield place, list(some.values())

    @property
    def is_covered(self) -> bool:
        """True if the spec that is there has all that these logs need."""
        return self.known is not None and self.known.covers(self.spec)

    @property
    def whole_spec(self) -> LogSpec:
        """The spec that has all that these logs need, and what it had before."""
        spec = LogSpec(self.spec.name)
        for each in (self.known, self.spec):
            if each is not None:
                spec.add(each)
        return spec

    def write_items(self, folder: Path) -> None:
        """Put the new items into their files in a folder. Raises `OSError`."""
        for table in self._tables.values():
            table.write(folder)

    def close(self) -> None:
        """Remove the temporary files."""
        self._spool.close()
        for table in self._tables.values():
            table.close()

    def _want(self, task: str, wanted: LoggedTask) -> None:
        known = self.spec.tasks.setdefault(task, LoggedTask(task, wanted.title, reducers=dict(wanted.reducers)))
        if not known.covers(wanted) or not (known.lower >= wanted.lower and known.whole >= wanted.whole):
            known.add(wanted)

    def _task(self, title: str) -> str:
        if title not in self._tasks:
            known = {} if self.known is None else {task.title: name for name, task in self.known.tasks.items()}
            self._tasks[title] = known.get(title) or self._free(identifier(title, "task"), self._tasks.values())
        return self._tasks[title]

    def _score(self, task: str, title: str) -> str:
        name = self._scores.get((task, title))
        if name is None:
            name = identifier(self.names.get(title, title), "score")
            if name in TAKEN_NAMES:
                name = f"{name}_score"
            if title not in self.names:  # two scores have one name only where somebody says so
                name = self._free(name, [n for (of, _), n in self._scores.items() if of == task])
            self._scores[task, title] = name
        return name

    @staticmethod
    def _free(name: str, taken: Any) -> str:
        found, number, names = name, 1, set(taken)
        while found in names:
            number += 1
            found = f"{name}_{number}"
        return found

    def _table(self, task: str) -> ItemTable:
        if task not in self._tables:
            self._tables[task] = ItemTable.read(self.folder / items_file(task))
        return self._tables[task]

    def _keep(self, said: Sequence[Any]) -> int:
        try:
            raw = orjson.dumps(said)
        except (TypeError, orjson.JSONEncodeError):  # a lone surrogate, or a number of more than 64 bits
            raw = json.dumps(said).encode()
        at = self._spool.seek(0, 2)
        self._spool.write(raw + b"\n")
        return at

    def _kept(self, at: int) -> SpooledSample:
        self._spool.seek(at)
        raw = self._spool.readline()
        try:
            return SpooledSample(*orjson.loads(raw))
        except orjson.JSONDecodeError:
            return SpooledSample(*json.loads(raw))


def _tell_apart(scores: list[LoggedScore]) -> None:
    """Give scores of one sample that have the same name and rater names of their own.

    >>> some = [LoggedScore("match", "x/match", 1.0), LoggedScore("match", "x/match", 0.0)]
    >>> _tell_apart(some)
    >>> [each.name for each in some]
    ['match', 'match_2']
    """
    seen: Counter[tuple[str, str]] = Counter()
    for at, score in enumerate(scores):
        seen[score.name, score.rater] += 1
        if (times := seen[score.name, score.rater]) > 1:
            scores[at] = replace(score, name=f"{score.name}_{times}")


def options_of(log: GatheredLog) -> Mapping[str, Any]:
    """Return what the row of a run keeps of a log."""
    header = log.header
    return {
        "limit": None,
        "seed": None,
        "only": {},
        "imported": log.source,
        "log": {
            "tool": header.tool,
            "identity": header.identity,
            **header.about,
            **({"figures": own} if (own := log.check.own(header.figures)) else {}),
        },
    }
