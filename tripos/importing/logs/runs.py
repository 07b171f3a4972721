"""Imported logs of one benchmark: their items as files, and their samples and scores as runs of its spec.

Samples wait in a temporary file, so that memory does not grow with the log.

Items are paired by content: the system message, the earlier turns and the question. If several have the same content,
the one with the sample's id is taken, and otherwise one that the log does not refer to by another id. So the logs of
two tools share items whatever their ids, and a log that asks a question twice keeps both items.
"""

from __future__ import annotations

import itertools
import json
import math
import shutil
import tempfile
from array import array
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import chain, islice, repeat
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple

import orjson

from tripos.files import MOST_DATA_BYTES, read_untrusted_lines
from tripos.importing.logs.formats.inspect import MEAN, is_reducer, reduced_measure, reduced_value
from tripos.importing.logs.log import Log, LoggedFigure, LoggedItem, LoggedScore, LogHeader, Skipped
from tripos.importing.logs.spec_text import RATER, STEP, LoggedTask, LogSpec, identifier, items_file
from tripos.importing.replies import is_store
from tripos.importing.rows import InvalidValue
from tripos.importing.scores import GradedMetric, Place, gradable
from tripos.importing.spec_text import unused_name
from tripos.runs.records import run_row, step_rows
from tripos_compiler.errors import TriposError
from tripos_compiler.files import atomic_path
from tripos_compiler.plan import Ask, Plan, Scenario
from tripos_compiler.plan.outcomes import PROVIDER_ERROR, RETRIED_NEXT_RUN
from tripos_runtime.asking.ledger import NOTHING_KEPT, kept_statuses
from tripos_runtime.datasets.cases import Case, CaseSource
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.drivers.engine import item_row, new_run_id
from tripos_runtime.drivers.lookup import imported_bindings
from tripos_runtime.drivers.recorded import Recorder, recorded_treatments
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.program.units import Unit
from tripos_warehouse.ledger.imported_scores import (
    ImportedScore,
    ScoreChanges,
    changed_rows,
    compare_with_store,
    imported_score,
)
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.store.store import Store

FREE, MATCHED, ALIASED = range(3)
"""States of an item within a log: without a sample so far, matched under its own id, or matched under another id."""
ContentDigest = bytes
"""A digest of the content of an item."""


def content_digest(system: str, history: Any, question: str) -> ContentDigest:
    """Return the digest of an item's content; `history` are pairs of role and text.

    >>> content_digest("", [("user", "a")], "b") == content_digest("", [["user", "a"]], "b")
    True
    """
    told = orjson.dumps([system, [list(turn) for turn in history], question])
    return blake2b(told, digest_size=16).digest()


def to_valid_text(value: str) -> str:
    """Return a text that is valid UTF-8: a lone surrogate becomes `\\ufffd`.

    >>> to_valid_text("a\\ud800")
    'a\\ufffd'
    """
    return value if value.isascii() else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def to_valid_utf8(value: Any) -> Any:
    """Return a JSON value whose texts are valid UTF-8."""
    match value:
        case str():
            return to_valid_text(value)
        case dict():
            return {to_valid_utf8(name): to_valid_utf8(each) for name, each in value.items()}
        case list():
            return [to_valid_utf8(each) for each in value]
    return value


@dataclass
class ItemTable:
    """The items of one task, in the order of its file `path`. New items wait in a temporary file until `write` appends
    them. Memory holds only a digest and the id of each."""

    path: Path
    ids: dict[ContentDigest, int] = field(default_factory=dict)
    """The position of the first item with a content, from 0."""
    further: dict[ContentDigest, list[int]] = field(default_factory=dict)
    """The positions of other items with the same content."""
    names: list[str] = field(default_factory=list)
    """The id of each item, by position."""
    added: int = 0
    _claimed: dict[tuple[ContentDigest, str], int] = field(default_factory=dict)
    """The positions of items that the log refers to by another id."""
    _used: bytearray = field(default_factory=bytearray)
    _new: IO[bytes] | None = None

    @classmethod
    def read(cls, path: Path) -> ItemTable:
        """Return the items of a file that an import wrote, or none if there is no file. Raises `OSError`, and
        `ValueError` if the file has another form."""
        table = cls(path)
        if path.exists():
            for row in read_untrusted_lines(path, MOST_DATA_BYTES):
                table._know(row)
        return table

    def _know(self, row: Any) -> None:
        try:
            turns = [(turn["speaker"], turn["text"]) for turn in row["history"]]
            digest, name = content_digest(row["system"], turns, row["question"]), row["id"]
        except (KeyError, TypeError) as error:
            raise ValueError(f"line {len(self.names) + 1} is no item of a log") from error
        self._keep(digest, name)

    def _keep(self, digest: ContentDigest, name: str) -> int:
        place = len(self.names)
        self.names.append(name)
        self._used.append(FREE)
        if self.ids.setdefault(digest, place) != place:
            self.further.setdefault(digest, []).append(place)
        return place

    def begin_log(self) -> None:
        """Start the matching of another log."""
        self._claimed.clear()
        self._used = bytearray(len(self.names))

    def place_of(self, item: LoggedItem) -> int:
        """Return the position of an item, after adding it if it is new."""
        name, question, system = to_valid_text(item.item), to_valid_text(item.question), to_valid_text(item.system)
        turns = [(to_valid_text(speaker), to_valid_text(said)) for speaker, said in item.history]
        digest = content_digest(system, turns, question)
        if (place := self._claimed.get((digest, name))) is not None:
            return place
        alike: list[int] = [self.ids[digest], *self.further.get(digest, ())] if digest in self.ids else []
        own = next((at for at in alike if self.names[at] == name and self._used[at] != ALIASED), None)
        if own is not None:
            self._used[own] = MATCHED
            return own
        found = None
        if question or turns or system:  # an item without a text is matched only by its id
            found = next((at for at in alike if self._used[at] == FREE), None)
        if found is None:
            text = name
            while any(text == self.names[at] for at in alike):
                text += "+"
            found = self._keep(digest, text)
            self._add(
                {
                    "id": text,
                    "system": system,
                    "history": [{"speaker": speaker, "text": said} for speaker, said in turns],
                    "question": question,
                    "target": None if item.target is None else to_valid_text(item.target),
                }
            )
        if self.names[found] == name:
            self._used[found] = MATCHED
        else:
            self._claimed[digest, name] = found
            self._used[found] = ALIASED
        return found

    def _add(self, row: Mapping[str, Any]) -> None:
        if self._new is None:
            self._new = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the table
        self._new.write(orjson.dumps(row) + b"\n")
        self.added += 1

    def write(self, folder: Path) -> None:
        """Write all items to their file in a folder, atomically. Raises `OSError`."""
        target = folder / self.path.name
        if not self.added and target == self.path:
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(target) as new, new.open("wb") as file:
            if self.path.exists():
                with self.path.open("rb") as old:
                    shutil.copyfileobj(old, file)
                    if old.tell() and old.seek(-1, 2) and old.read() != b"\n":
                        file.write(b"\n")
            if self._new is not None:
                self._new.seek(0)
                shutil.copyfileobj(self._new, file)

    def close(self) -> None:
        """Delete the temporary file."""
        if self._new is not None:
            self._new.close()
            self._new = None


# The log's own figures
MEANS = frozenset({"mean", "accuracy"})
ERRORS = frozenset({"stderr"})
CLOSE = 1e-9


class ItemSums:
    """The sum and the number of scores of each item, in 16 bytes an item."""

    def __init__(self) -> None:
        self.totals, self.counts = array("d"), array("q")
        self.items = 0
        self.truth = True
        """Whether all scores are 0 or 1."""

    @property
    def most(self) -> int:
        """The largest number of scores of an item."""
        return max(self.counts, default=0)

    def add(self, item: int, value: float) -> None:
        """Add a score."""
        if (more := item + 1 - len(self.totals)) > 0:
            self.totals.extend(repeat(0.0, more))
            self.counts.extend(repeat(0, more))
        self.truth = self.truth and value in (0.0, 1.0)
        self.items += not self.counts[item]
        self.totals[item] += value
        self.counts[item] += 1

    def __len__(self) -> int:
        return self.items

    def __iter__(self) -> Iterator[tuple[float, int]]:
        return (pair for pair in zip(self.totals, self.counts, strict=True) if pair[1])


@dataclass
class FigureCheck:
    """The scores of a log by task and score, to compare with the figures that the log reports."""

    sums: dict[tuple[str, str], ItemSums] = field(default_factory=dict)

    def add(self, task: str, score: str, item: int, value: float | None) -> None:
        """Add a score."""
        if value is None:
            return
        if (task, score) not in self.sums:
            self.sums[task, score] = ItemSums()
        self.sums[task, score].add(item, value)

    def not_recomputable(self, figures: Sequence[LoggedFigure]) -> list[dict[str, Any]]:
        """Return the figures of a log that cannot be computed from its scores: figures of the whole set, of a reducer
        without a measure, of metrics other than a mean, and of scores that the log does not contain."""
        return [
            {
                "task": figure.task,
                "score": figure.score,
                "figure": figure.name,
                **({} if figure.reducer == MEAN else {"reducer": figure.reducer}),
                "value": figure.value,
            }
            for figure in figures
            if not self._is_reproducible(figure)
        ]

    def _is_reproducible(self, figure: LoggedFigure) -> bool:
        items = self.sums.get((figure.task, figure.score))
        if figure.of_whole_set or items is None or figure.name not in MEANS | ERRORS:
            return False
        if figure.reducer == MEAN:
            return True
        text = reduced_measure(figure.score, figure.reducer, truth=items.truth, samples=items.most)
        return figure.name in MEANS and text is not None

    def means_without_scores(self, figures: Sequence[LoggedFigure]) -> list[str]:
        """Return the scores that a log reports a mean of but does not contain."""
        lacking = (
            figure.score for figure in figures if figure.name in MEANS and (figure.task, figure.score) not in self.sums
        )
        return list(dict.fromkeys(lacking))

    def differences(self, figures: Sequence[LoggedFigure]) -> Iterator[dict[str, Any]]:
        """Yield every figure of a log that its scores can reproduce: the figure, the value that a report computes, and
        whether they agree. An error is the standard error of the mean."""
        for figure in figures:
            items = self.sums.get((figure.task, figure.score), ItemSums())
            if not self._is_reproducible(figure):
                continue
            if figure.reducer != MEAN:
                reduced = _reduced(items, figure.reducer)
                if reduced is None:
                    continue
                here = reduced
            elif figure.name in MEANS and len(items):
                here = mean_of(items)
            elif figure.name in ERRORS and len(items) > 1:
                here = standard_error(items)
                others = plain_standard_error(items)
                if math.isclose(others, figure.value, rel_tol=CLOSE, abs_tol=CLOSE):
                    here = others
            else:
                continue
            same = math.isclose(here, figure.value, rel_tol=CLOSE, abs_tol=CLOSE)
            told = {"task": figure.task, "score": figure.score, "figure": figure.name}
            told |= {} if figure.reducer == MEAN else {"reducer": figure.reducer}
            yield {**told, "log": figure.value, "scores": here, "same": same}


def _reduced(items: ItemSums, reducer: str) -> float | None:
    """Return the mean of each item's reduced scores, or None if scores other than 0 and 1 occur."""
    if not items.truth:
        return None
    values = [reduced_value(reducer, round(total), count) for total, count in items]
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None


def mean_of(items: ItemSums | Sequence[tuple[float, int]]) -> float:
    """Return the mean of scores, given their sum and number for each item."""
    return math.fsum(total for total, _ in items) / sum(count for _, count in items)


def standard_error(items: ItemSums | Sequence[tuple[float, int]]) -> float:
    """Return the standard error of that mean, clustered by item, as reports compute it (`cell_means`). Needs two items
    or more.

    >>> standard_error([(0.0, 1), (1.0, 1)])
    0.5
    """
    _, scores = zip(*items, strict=True)
    whole = sum(scores)
    second, third = (math.fsum((count / whole) ** power for count in scores) for power in (2, 3))
    return plain_standard_error(items) * math.sqrt(
        second / (second - 2 * third + second**2) * (len(scores) - 1) / len(scores)
    )


def plain_standard_error(items: ItemSums | Sequence[tuple[float, int]]) -> float:
    """Return the clustered standard error of other programs, with the factor m / (m - 1) also if the m items differ in
    their numbers of scores (Liang and Zeger 1986)."""
    mean, scores = mean_of(items), sum(count for _, count in items)
    influences = math.fsum(((total - mean * count) / scores) ** 2 for total, count in items)
    return math.sqrt(influences * len(items) / (len(items) - 1))


# Collected logs
TAKEN_NAMES = {STEP, "item", "response", "model", "rater", "system", "history", "question", "target"}
"""Names of the spec that a score cannot have."""
PLACE_BITS = 40
"""A spooled sample is known by one 64-bit number: the position of its item above these bits, and its offset in the file
in them."""
MOST_ITEMS = 1 << (64 - PLACE_BITS)
MOST_SAMPLES = 100_000
"""Maximum samples of an item."""


class SpooledSample(NamedTuple):
    """A sample in the temporary file."""

    place: str
    model: str
    number: int
    columns: dict[str, Any]
    scores: list[list[Any]]


@dataclass
class CollectedLog:
    """A log that was read. `samples` maps each task to the keys of its samples in the temporary file, sorted by
    item.
    """

    path: str
    source: str
    header: LogHeader
    skipped: Skipped
    samples: dict[str, array[int]] = field(default_factory=dict)
    models: dict[str, None] = field(default_factory=dict)
    raters: dict[str, None] = field(default_factory=dict)
    scores_by_task: dict[str, dict[tuple[str, str], None]] = field(default_factory=dict)
    """The scores of each task's samples, with their raters."""
    scores: int = 0
    unscored: int = 0
    repeated: int = 0
    count: int = 0
    check: FigureCheck = field(default_factory=FigureCheck)


class SampleNumbers:
    """The numbers of the samples of each item, by position. The first 64 numbers take a bit each."""

    def __init__(self) -> None:
        self._bits = array("Q")
        self._high: set[tuple[int, int]] = set()
        self._full: dict[int, int] = {}
        """For the position of an item, a number from 64 below which every number is used."""

    def has(self, place: int, number: int) -> bool:
        """Return true if an item has a sample with this number."""
        if number >= 64:
            return (place, number) in self._high
        return place < len(self._bits) and bool(self._bits[place] >> number & 1)

    def add(self, place: int, number: int) -> None:
        """Add a sample."""
        if number >= 64:
            self._high.add((place, number))
            return
        self._bits.extend(repeat(0, place + 1 - len(self._bits)))
        self._bits[place] |= 1 << number

    def free(self, place: int) -> int:
        """Return the smallest unused number of an item."""
        least = self._full.get(place, 0)
        found = next(number for number in itertools.count(least) if not self.has(place, number))
        if found >= 64:
            self._full[place] = found
        return found


class LogCollector:
    """The collected logs of one benchmark. Items are written to `folder`, and `spec_text` is the content of the spec
    there. `model`, if given, is the model of all logs; `names` maps scores of the logs to names of the spec."""

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
        self.spec_text = known
        self.spec = LogSpec(name)
        self.logs: list[CollectedLog] = []
        self._tables: dict[str, ItemTable] = {}
        self._tasks: dict[str, str] = {}
        self._scores: dict[tuple[str, str], str] = {}
        self._spool: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the collector

    def take(self, log: Log, source: str) -> CollectedLog:
        """Read all samples of a log. Raises `OSError` and `ValueError` if it or a file of items cannot be read."""
        collected_log = CollectedLog(log.shown, source, log.header, Skipped())
        used: dict[tuple[str, str], SampleNumbers] = {}
        for table in self._tables.values():
            table.begin_log()
        for sample in log.samples(collected_log.skipped):
            task = self._task(sample.task)
            place = self._table(task).place_of(sample.item)
            model = self.model or to_valid_utf8(sample.model)
            if place >= MOST_ITEMS:
                raise ValueError(f"it has more than {MOST_ITEMS:,} items")
            if (task, model) not in used:
                used[task, model] = SampleNumbers()
            numbers, number = used[task, model], sample.number
            if number is not None and number >= MOST_SAMPLES:
                collected_log.skipped.note(
                    "number of a sample that is too large, another one in its place", sample.place
                )
                number = None
            if number is None or (numbers.has(place, number) and not sample.further):
                collected_log.repeated += number is not None
                number = numbers.free(place)
                if number >= MOST_SAMPLES:
                    raise ValueError(f"an item has more than {MOST_SAMPLES:,} samples")
            collected_log.count += not numbers.has(place, number)
            numbers.add(place, number)
            _number_duplicates(sample.scores)
            logged_task = LoggedTask(task, sample.task, number + 1, [self._score(task, s.name) for s in sample.scores])
            logged_task.lower = {
                self._score(task, name)
                for of, name in log.header.lower
                if of == sample.task and (task, name) in self._scores
            }
            logged_task.whole_set_scores = {  # the rater has the name of a score with several parts
                self._score(task, s.name)
                for s in sample.scores
                if (sample.task, s.rater.partition("/")[2]) in log.header.whole_set_figures
            }
            logged_task.reducers = {reducer if is_reducer(reducer) else MEAN: None for reducer in log.header.reducers}
            logged_task.numbers = {self._score(task, s.name) for s in sample.scores if s.value not in (None, 0.0, 1.0)}
            self._want(task, logged_task)
            scores = []
            for score in sample.scores:
                name = self._score(task, score.name)
                told = [score.value, score.raw_value, score.reason, score.status, score.error]
                scores.append(to_valid_utf8([name, score.rater, *told]))
                collected_log.scores_by_task.setdefault(task, {})[name, scores[-1][1]] = None
                collected_log.check.add(sample.task, score.name, place, score.value)
                collected_log.raters[to_valid_utf8(score.rater)] = None
                collected_log.scores += score.value is not None
                collected_log.unscored += score.value is None
            collected_log.models[model] = None
            columns = {"messages": sample.item.messages, **sample.columns}
            at = self._keep([sample.place, model, number, to_valid_utf8(columns), scores])
            collected_log.samples.setdefault(task, array("Q")).append(place << PLACE_BITS | at)
        collected_log.samples = {task: array("Q", sorted(places)) for task, places in collected_log.samples.items()}
        self.logs.append(collected_log)
        return collected_log

    def samples_of(self, log: CollectedLog, task: str) -> Iterator[tuple[int, list[SpooledSample]]]:
        """Yield the position of each item of a task with its samples in a log."""
        for place, keys in itertools.groupby(log.samples.get(task, ()), key=lambda key: key >> PLACE_BITS):
            samples: dict[tuple[str, int], SpooledSample] = {}
            for key in keys:
                sample = self._load(key & (1 << PLACE_BITS) - 1)
                before = samples.setdefault((sample.model, sample.number), sample)
                if before is not sample:
                    before.scores.extend(sample.scores)
            yield place, list(samples.values())

    @property
    def is_covered(self) -> bool:
        """True if the existing spec has everything that these logs need."""
        return self.spec_text is not None and self.spec_text.covers(self.spec)

    @property
    def whole_spec(self) -> LogSpec:
        """The existing spec, extended by what these logs need."""
        spec = LogSpec(self.spec.name)
        for log_spec in (self.spec_text, self.spec):
            if log_spec is not None:
                spec.add(log_spec)
        return spec

    def write_items(self, folder: Path) -> None:
        """Write the items to their files in a folder. Raises `OSError`."""
        for table in self._tables.values():
            table.write(folder)

    def close(self) -> None:
        """Delete the temporary files."""
        self._spool.close()
        for table in self._tables.values():
            table.close()

    def _want(self, task: str, wanted: LoggedTask) -> None:
        logged_task = self.spec.tasks.setdefault(task, LoggedTask(task, wanted.title, reducers=dict(wanted.reducers)))
        if not logged_task.covers(wanted) or not (
            logged_task.lower >= wanted.lower and logged_task.whole_set_scores >= wanted.whole_set_scores
        ):
            logged_task.add(wanted)

    def _task(self, title: str) -> str:
        if title not in self._tasks:
            known = {} if self.spec_text is None else {task.title: name for name, task in self.spec_text.tasks.items()}
            self._tasks[title] = known.get(title) or unused_name(identifier(title, "task"), self._tasks.values())
        return self._tasks[title]

    def _score(self, task: str, title: str) -> str:
        name = self._scores.get((task, title))
        if name is None:
            name = identifier(self.names.get(title, title), "score")
            if name in TAKEN_NAMES:
                name = f"{name}_score"
            if title not in self.names:  # two scores share a name only if `names` says so
                name = unused_name(name, [n for (of, _), n in self._scores.items() if of == task])
            self._scores[task, title] = name
        return name

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

    def _load(self, at: int) -> SpooledSample:
        self._spool.seek(at)
        raw = self._spool.readline()
        try:
            return SpooledSample(*orjson.loads(raw))
        except orjson.JSONDecodeError:
            return SpooledSample(*json.loads(raw))


def _number_duplicates(scores: list[LoggedScore]) -> None:
    """Number the scores of one sample that share a name and a rater.

    >>> some = [LoggedScore("match", "x/match", 1.0), LoggedScore("match", "x/match", 0.0)]
    >>> _number_duplicates(some)
    >>> [each.name for each in some]
    ['match', 'match_2']
    """
    seen: Counter[tuple[str, str]] = Counter()
    for at, score in enumerate(scores):
        seen[score.name, score.rater] += 1
        if (times := seen[score.name, score.rater]) > 1:
            scores[at] = replace(score, name=f"{score.name}_{times}")


def options_of(log: CollectedLog) -> Mapping[str, Any]:
    """Return the options that the row of a run records for a log."""
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
            **({"figures": own} if (own := log.check.not_recomputable(header.figures)) else {}),
        },
    }


# Runs of the store
LOOKUP_BATCH = 2000
"""Number of items that are looked up in the store together."""
Rows = dict[str, list[Any]]


@dataclass
class LogRun:
    """The result of the import of one log: the numbers of replies and scores, and the differences from the store."""

    run_id: str
    new: int = 0
    same: int = 0
    new_scores: int = 0
    same_scores: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    changed: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    models: tuple[str, ...] = ()
    items: int = 0
    cost_usd: float | None = 0.0

    @property
    def is_fresh(self) -> bool:
        """True if the store has nothing of the log."""
        return not (self.same or self.same_scores or self.changed or self.refused)

    @property
    def is_new(self) -> bool:
        """True if the store lacks a part of the log."""
        return bool(self.new or self.new_scores or self.changed)


class LogRecorder:
    """Writes logs to a store as runs of a plan."""

    def __init__(self, collector: LogCollector, plan: Plan, source: CaseSource, root: Path) -> None:
        self.collector, self.plan, self.source, self.root = collector, plan, source, root
        self.scenarios = {scenario.name: scenario for scenario in plan.scenarios}
        self.metrics = gradable(plan)
        self.compared = next(role.name for role in plan.roles if role.kind == "compared")

    def record(self, log: CollectedLog, *, renew: bool, write: bool) -> LogRun:
        """Write a log to the store in one commit, or write nothing if a reply or score is stored with another value.
        With `renew`, a changed score replaces the stored one.

        Raises `TriposError` if the items cannot be read, and `StoreError` if the store cannot be read.
        """
        recording = self._recording(log)
        batches = recording.batches()
        first = next(batches, None)
        if write and first is not None and recording.rows.is_fresh:
            batches = _until_changed(recording.rows, chain((first,), batches), renew)
            with suppress(_ChangedLog):
                Store.open(self.root, create=True).append_batches(batches)
            return recording.rows
        deque(batches, 0)
        run = recording.rows
        if not write or not run.is_new or run.refused or (run.changed and not renew):
            return run
        again = self._recording(log)  # read again rather than hold all rows in memory
        Store.open(self.root, create=True).append_batches(again.batches())
        return again.rows

    def _recording(self, log: CollectedLog) -> _LogRecording:
        now = datetime.now(UTC)
        return _LogRecording(self, log, LogRun(new_run_id(now), models=tuple(log.models)), now)


class _ChangedLog(Exception):
    """A difference between a log and the store, for which nothing of the log is written."""


def _until_changed(log_run: LogRun, batches: Iterator[Rows], renew: bool) -> Iterator[Rows]:
    """Yield the batches. Raises `_ChangedLog` at the end if the store has another value."""
    yield from batches
    if log_run.refused or (log_run.changed and not renew):
        raise _ChangedLog


class _LogRecording:
    """The rows of one log."""

    def __init__(self, recorder: LogRecorder, log: CollectedLog, log_run: LogRun, now: datetime) -> None:
        self.log_recorder, self.log, self.rows, self.now = recorder, log, log_run, now
        plan, models = recorder.plan, log_run.models
        roles = {role.name: models if role.name == recorder.compared else () for role in plan.roles}
        identities = {model: f"{model} of {log.header.identity}" for model in models}
        self.binding = RoleBinding(roles, recorder.compared, identities)
        self.bindings = imported_bindings(plan, self.binding)
        self.store: Store | None = None
        self.ledger: Any = NOTHING_KEPT
        if is_store(recorder.root):
            self.store = Store.open(recorder.root, create=False)
            self.ledger = open_ledger(self.store, plan.fingerprints)
        self.recorder = Recorder(plan, recorder.source.sources, self.ledger, log_run.run_id, lambda: now)

    def batches(self) -> Iterator[Rows]:
        """Yield the rows in batches of items, and the rows of the run at the end."""
        tasks = [name for name in self.log_recorder.scenarios if name in self.log.samples]
        try:
            for name in tasks:
                scenario = self.log_recorder.scenarios[name]
                cases = self._cases(scenario)
                while some := list(islice(cases, LOOKUP_BATCH)):
                    yield self._rows(scenario, some)
        finally:
            self.ledger.close()
        if self.rows.is_new:
            yield self._run_rows(tasks)

    def _cases(self, scenario: Scenario) -> Iterator[tuple[Case, list[SpooledSample]]]:
        """Yield the cases that the log has samples of."""
        wanted = self.log_recorder.collector.samples_of(self.log, scenario.name)
        place, samples = next(wanted, (-1, []))
        for number, case in enumerate(self.log_recorder.source.of(scenario, Selection())):
            if number == place:
                yield case, samples
                place, samples = next(wanted, (-1, []))
        if samples:
            message = f"the items of `{scenario.name}` are fewer than those of the log"
            raise TriposError(
                "E0307", message, "undo the changes of the file of the items, or import into another folder"
            )

    def _rows(self, scenario: Scenario, some: Sequence[tuple[Case, list[SpooledSample]]]) -> Rows:
        ask = next(step for step in scenario.steps if isinstance(step, Ask))
        (bound,) = recorded_treatments(scenario, self.log_recorder.plan, self.binding)
        taken = []
        spooled_samples: dict[str, SpooledSample] = {}
        scores: list[ImportedScore] = []
        for case, samples in some:
            mine: dict[str, dict[str, Any]] = {}
            used = []
            for sample in samples:
                unit = Unit(case, bound, sample.model, sample.number)
                name = unit.samples[ask.name]
                mine[name] = _columns(sample.columns)
                spooled_samples[name] = sample
                used.append(unit)
                scores += self._scores(scenario, ask, unit, name, sample)
            taken.append((used, mine))
        self._leave_out_failures(taken)
        kept = self.recorder.collected.collected
        for (case, _), refused in zip(some, self.recorder.take(taken), strict=True):
            for name, why in refused.items():
                self.rows.refused.append(f"{spooled_samples[name].place}: {why.reason}")
            kept.setdefault("run_items", []).append(self._member(scenario, case))
            kept.setdefault("items", []).append(item_row(self.log_recorder.plan, case))
        rows = dict(kept)
        kept.clear()
        new = rows.get("samples", [])
        self.rows.new += len(new)
        self.rows.same += len(spooled_samples) - len(new)
        self.rows.items += len(some)
        costs = [row["cost_usd"] for row in new]
        self.rows.cost_usd = None if self.rows.cost_usd is None or None in costs else self.rows.cost_usd + sum(costs)
        self.rows.statuses.update(row["status"] for row in new)
        self._add_scores(rows, scores, spooled_samples, fresh=len(new) == len(spooled_samples))
        return rows

    def _leave_out_failures(self, taken: Sequence[tuple[list[Unit], dict[str, dict[str, Any]]]]) -> None:
        """Drop failed calls that the store already has as failed: a run would retry them."""
        names = [name for _, mine in taken for name, told in mine.items() if told.get("status") in RETRIED_NEXT_RUN]
        known = kept_statuses(self.ledger, {"samples": names}).keys()
        for _, mine in taken:
            for name in known & mine.keys():
                del mine[name]

    def _member(self, scenario: Scenario, case: Case) -> dict[str, Any]:
        found = {"run_id": self.rows.run_id, "scenario": scenario.name, "item_id": case.item_id, "subsets": None}
        return {**found, "cluster": self.log_recorder.source.cluster(case)}

    def _scores(
        self, scenario: Scenario, ask: Ask, unit: Unit, name: str, sample: SpooledSample
    ) -> Iterator[ImportedScore]:
        place: Place = scenario.name, ask.fingerprint
        for metric, rater, value, said, reason, status, error in (*sample.scores, *self._not_scored(sample, place)):
            if value is None and status is None:
                continue
            graded: GradedMetric = self.log_recorder.metrics[place][metric][0]
            number = chosen = None
            try:
                if value is not None:
                    number, chosen = graded.scale.read(value), graded.scale.chosen(value)
            except InvalidValue as misfit:
                self.log.skipped.note(f"score of `{metric}`: {misfit.reason}", sample.place)
                continue
            failed = {} if value is not None else {"status": status, "error": error}
            for step in graded.steps:
                about = {
                    "sample_id": name,
                    "run_id": self.rows.run_id,
                    "benchmark": self.log_recorder.plan.benchmark.name,
                    "scenario": scenario.name,
                    "item_id": unit.case.item_id,
                    "model": sample.model,
                    "binding": self.bindings[step.fingerprint, unit.sample_binding(ask, sample.number)],
                }
                yield imported_score(about, step, metric, rater, 1, number, reason, value, said, chosen, **failed)

    def _not_scored(self, sample: SpooledSample, place: Place) -> Iterator[list[Any]]:
        """Yield the missing scores of a failed reply: all scores that the log has of other replies. They count in the
        denominator of coverage, as in a run."""
        columns = _columns(sample.columns)
        if columns.get("status") == PROVIDER_ERROR and sample.columns.get("status") is None:
            had = {(metric, rater) for metric, rater, *_ in sample.scores}
            for metric, rater in (pair for pair in self.log.scores_by_task.get(place[0], {}) if pair not in had):
                yield [metric, rater, None, None, None, PROVIDER_ERROR, columns["error"]]

    def _add_scores(
        self, rows: Rows, scores: Sequence[ImportedScore], told: Mapping[str, SpooledSample], *, fresh: bool
    ) -> None:
        if self.store is None or fresh:  # the store has none of these replies, so no scores of them
            change = ScoreChanges(tuple(scores), (), (), {})
        else:
            change = compare_with_store(self.store, scores)
        self.rows.new_scores += len(change.new)
        self.rows.same_scores += len(change.same)
        for score, was in change.changed:
            before = "nothing" if was is None else was if isinstance(was, str) else f"{was:g}"
            after = score.status if score.value is None else f"{score.value:g}"
            place = told[score.sample["sample_id"]].place
            self.rows.changed.append(f"{place}: {score.metric} was {before}, is {after}")
        for table, changed_row in changed_rows(change, self.log.source, self.now).items():
            rows.setdefault(table, []).extend(changed_row)

    def _run_rows(self, tasks: Sequence[str]) -> Rows:
        plan, log_run, header = self.log_recorder.plan, self.rows, self.log.header
        end = {
            "asked": 0,
            "reused": log_run.new + log_run.same,
            "failed": 0,
            "cost_usd": log_run.cost_usd,
            "finished_at": self.now,
        }
        message = f"imported: {self.log.source}" + (f" ({header.message})" if header.message else "")
        # Raters are not models that a run would call, so they do not enter the names of its results.
        raters = {RATER: tuple(self.log.raters)} if RATER in self.binding.models else {}
        filled = replace(self.binding, models={**self.binding.models, **raters})
        run = run_row(plan, filled, log_run.run_id, log_run.run_id, tasks, dict(options_of(self.log)), self.now)
        steps = step_rows(plan, self.binding, log_run.run_id, [self.log_recorder.scenarios[name] for name in tasks])
        return {
            "runs": [run],
            "run_steps": steps,
            "run_ends": [{"run_id": log_run.run_id, "status": header.status, "message": message, **end}],
        }


def _columns(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a reply. The status is set only if it does not follow from the reply's text."""
    columns = {name: value for name, value in told.items() if name not in ("refused", "messages", "status")}
    columns["messages"] = json.dumps(told["messages"], ensure_ascii=False)
    if told.get("status") is not None:
        columns["status"] = told["status"]
    elif told.get("refused"):
        columns["status"] = "refused"
    elif told["reply"] is None:
        columns |= {"status": PROVIDER_ERROR, "error": told.get("error") or "the log has no reply"}
    return columns
