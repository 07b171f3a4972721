"""The content of a log of another tool, in one form for all formats: who replied to which item, who scored it how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Turn = tuple[str, str]
"""A speaker and a text."""


@dataclass(frozen=True)
class LoggedScore:
    """A score of a reply. `name` is the metric, `rater` who gave it, such as `inspect/match`; `said` is the score as it
    stands in the log, JSON, and `value` the number that it is worth, where it is worth one. Without a value it has the
    `status` that the log tells, and an `error`."""

    name: str
    rater: str
    value: float | None
    said: str | None = None
    reason: str | None = None
    status: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class LoggedItem:
    """The messages that were sent: the last in `question`, with a system message and earlier turns where there are
    any."""

    item: str
    question: str
    system: str = ""
    history: tuple[Turn, ...] = ()
    target: str | None = None


@dataclass
class LoggedSample:
    """A reply to an item, with its scores. `place` is where it stands in the log, `number` which of the replies to the
    item it is, from 0, where the log says so. `told` are columns of `samples`; without a `reply` there is an `error`.
    With `further` it came before, and has more scores here."""

    place: str
    task: str
    model: str
    item: LoggedItem
    number: int | None
    told: dict[str, Any]
    scores: list[LoggedScore] = field(default_factory=list)
    further: bool = False


@dataclass(frozen=True)
class OwnFigure:
    """A figure that the log itself has: of a score by name, such as the `accuracy` of `match`. `reducer` is what made
    one score of an item's epochs; `whole` is a figure of the whole set, which is no mean of scores."""

    task: str
    score: str
    name: str
    value: float
    reducer: str = "mean"
    whole: bool = False


@dataclass(frozen=True)
class LogHeader:
    """The log as a whole. `identity` is the same for a log that is read again, and another for another one; `about` is
    kept with the run: versions, times, settings."""

    tool: str
    name: str
    identity: str
    about: Mapping[str, Any]
    figures: Sequence[OwnFigure] = ()
    lower: frozenset[tuple[str, str]] = frozenset()
    """The scores of which lower values are better, each with its task."""
    reducers: tuple[str, ...] = ()
    """What makes one score of an item's epochs, by the words of Inspect; empty if it is the mean."""
    whole: frozenset[tuple[str, str]] = frozenset()
    """The scores whose mean is no figure of the log, each with its task: its figure is of the whole set."""
    status: str = "finished"
    message: str | None = None


@dataclass
class LeftOut:
    """A part of a log that is not imported, with how often it stands there and where first."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def note(self, what: str, place: str, times: int = 1) -> None:
        """Count something that does not fit."""
        self.counts[what] += times
        self.first.setdefault(what, place)

    def to_json(self) -> list[dict[str, Any]]:
        """Return every kind with its count and the first place."""
        return [{"what": what, "count": count, "first": self.first[what]} for what, count in self.counts.items()]


@dataclass(frozen=True)
class Log:
    """A log that was opened. `samples` yields its samples, and is given where to note what does not fit. `part` names
    it where its file has several."""

    path: str
    header: LogHeader
    samples: Callable[[LeftOut], Iterator[LoggedSample]]
    part: str = ""

    @property
    def shown(self) -> str:
        """The file, and which part of it."""
        return f"{self.path} ({self.part})" if self.part else self.path
