"""The progress of a run: counts of calls, results, tokens and cost, by role and scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from tripos_compiler.plan.outcomes import PROVIDER_ERROR
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import ReuseCounts
from tripos_runtime.asking.questions import Adopted, Answer
from tripos_runtime.datasets.generated_rows import WORDS
from tripos_runtime.scheduling.calling import Lane


@dataclass
class DatasetTally:
    """The progress of one data set: rows made, slots given up, and rejected attempts by reason."""

    made: int = 0
    given_up: int = 0
    asks: bool = True
    """True if the run asks any role for a row of the data set."""
    rejected: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON.

        >>> DatasetTally(2, rejected=Counter(verify=1)).to_json()
        {'made': 2, 'given_up': 0, 'asks': True, 'rejected': {'verify': 1}}
        """
        rejected = dict(sorted(self.rejected.items()))
        return {"made": self.made, "given_up": self.given_up, "asks": self.asks, "rejected": rejected}

    def add(self, counts: Mapping[str, Any]) -> None:
        """Add counts that `to_json` returned."""
        self.made += counts["made"]
        self.given_up += counts["given_up"]
        self.asks = counts["asks"]
        self.rejected.update(counts["rejected"])

    @property
    def is_news(self) -> bool:
        """True if there is anything to report: the run asks for rows, or an attempt was rejected."""
        return self.asks or self.rejected.total() > 0

    def summary(self) -> str:
        """The counts in words.

        >>> DatasetTally(1996, 4, rejected=Counter(verify=9, near_duplicate=12, duplicate=1)).summary()
        '1,996 made, 22 rejected (12 near-duplicates, 9 not verified, 1 duplicate), 4 given up'
        """
        parts = [f"{self.made:,} made"]
        if rejected := self.rejected.total():
            by_count = sorted(self.rejected.items(), key=lambda each: (-each[1], each[0]))
            reasons = ", ".join(f"{count:,} {_reason_text(reason, count)}" for reason, count in by_count)
            parts.append(f"{rejected:,} rejected ({reasons})")
        if self.given_up:
            parts.append(f"{self.given_up:,} given up")
        return ", ".join(parts)


def _reason_text(reason: str, count: int) -> str:
    text = next((words for name, words in WORDS.items() if name == reason), reason)
    return text.removesuffix("s") if count == 1 and text.endswith("duplicates") else text


KINDS = ("samples", "judgements", "scores", "comparisons")
"""The results that are counted by status."""
SUMMED = ("reused", "skipped", "failed", *KINDS, "unasked", "errors")
"""The counts of a shared run that are sums over its processes."""


@dataclass
class RunProgress:
    """Counts of model calls by role and scenario, and of their outcomes.

    `planned` counts planned calls, `asked` the calls answered in this run, `reused` those answered by an earlier run,
    `skipped` those that a `when` or an earlier failure made unnecessary, and `failed` those without an answer."""

    planned: Counter[Lane] = field(default_factory=Counter)
    asked: Counter[Lane] = field(default_factory=Counter)
    reused: Counter[Lane] = field(default_factory=Counter)
    skipped: Counter[Lane] = field(default_factory=Counter)
    failed: Counter[Lane] = field(default_factory=Counter)
    samples: Counter[str] = field(default_factory=Counter)
    """Replies to asks by status."""
    judgements: Counter[str] = field(default_factory=Counter)
    """Replies of judges by status."""
    scores: Counter[str] = field(default_factory=Counter)
    """Scores by status."""
    comparisons: Counter[str] = field(default_factory=Counter)
    """Comparisons of two replies by status."""
    unasked: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Calls skipped because their prompt has no value, by role and reason."""
    errors: Counter[str] = field(default_factory=Counter)
    """Failed calls by error code."""
    reuse_counts: ReuseCounts = field(default_factory=ReuseCounts)
    """The reused calls whose reply came from another store."""
    repaired: int = 0
    """Unreadable replies that were asked for again."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    cost_unknown: int = 0
    """Answered calls of unknown price."""
    unpriced: set[str] = field(default_factory=set)
    """The models of the calls of unknown price."""
    waiting: int = 0
    """The number of items that other processes work on."""
    makings: dict[str, DatasetTally] = field(default_factory=dict)
    """The progress of the generated data sets by name."""
    notes: list[str] = field(default_factory=list)
    """Messages for the user, in order of time."""

    @property
    def done(self) -> int:
        """The number of planned calls that are finished."""
        return sum(sum(part.values()) for part in (self.asked, self.reused, self.skipped, self.failed))

    @property
    def total(self) -> int:
        """The number of all planned calls. A role in a scenario can finish more calls than were planned, for instance
        if a `when` skips calls that the plan did not count. Its finished calls are then the total, so progress never
        exceeds 100 %.

        >>> lane = "judge", "sums"
        >>> RunProgress(planned=Counter({lane: 10}), asked=Counter({lane: 6}), skipped=Counter({lane: 6})).total
        12
        """
        done = self.asked + self.reused + self.skipped + self.failed
        return sum(max(self.planned[lane], done[lane]) for lane in self.planned.keys() | done.keys())

    def calls(self, lane: Lane | None = None) -> dict[str, int]:
        """Return the counts of all calls, or of those of a lane. `left` counts the planned calls that the run did not
        reach: 0 for a finished run. `planned` is the sum of the other counts.

        >>> lane = "judge", "sums"
        >>> RunProgress(planned=Counter({lane: 10}), asked=Counter({lane: 6}), skipped=Counter({lane: 1})).calls()
        {'planned': 10, 'asked': 6, 'reused': 0, 'skipped': 1, 'failed': 0, 'left': 3}
        """
        parts = {"asked": self.asked, "reused": self.reused, "skipped": self.skipped, "failed": self.failed}
        finished = {name: part.total() if lane is None else part[lane] for name, part in parts.items()}
        done = sum(finished.values())
        planned = self.total if lane is None else max(self.planned[lane], done)
        return {"planned": planned, **finished, "left": planned - done}

    def end_early(self) -> None:
        """Reduce the planned calls to the finished ones: the run stopped early, since its figures are precise
        enough."""
        for lane in self.planned:
            self.planned[lane] = self.asked[lane] + self.reused[lane] + self.skipped[lane] + self.failed[lane]

    def making(self, dataset: str) -> DatasetTally:
        """Return the progress of a data set."""
        return self.makings.setdefault(dataset, DatasetTally())

    def summary(self) -> dict[str, Any]:
        """Return the counts of a finished run as JSON, for a later run that has nothing to add."""
        lanes = sorted(self.planned.keys() | self.skipped.keys() | self.asked.keys() | self.reused.keys())
        calls = [
            [*lane, self.planned[lane], self.skipped[lane], self.asked[lane] + self.reused[lane]] for lane in lanes
        ]
        statuses = {name: dict(getattr(self, name)) for name in KINDS}
        makings = {name: making.to_json() for name, making in self.makings.items()}
        unasked = [[*key, count] for key, count in sorted(self.unasked.items())]
        return {"calls": calls, **statuses, "makings": makings, "unasked": unasked}

    def reuse(self, summary: Mapping[str, Any]) -> None:
        """Count all calls of a finished run as reused, given its `summary`."""
        for role, scenario, planned, skipped, answered in summary["calls"]:
            lane = (role, scenario)
            self.planned[lane], self.skipped[lane], self.reused[lane] = planned, skipped, answered
        for name in KINDS:
            getattr(self, name).update(summary.get(name, {}))
        for role, reason, count in summary.get("unasked", ()):
            self.unasked[role, reason] += count
        for name, counts in summary.get("makings", {}).items():
            self.making(name).add(counts)

    def count(self, lane: Lane, model: str, answer: Answer) -> None:
        """Count the outcome of a call that this run made."""
        columns = answer.columns
        if answer.status == PROVIDER_ERROR:
            self.failed[lane] += 1
            self.errors[str(columns["error"]).split(" ", 1)[0]] += 1
            if columns["tokens_in"] is not None or columns["cost_usd"] is not None:
                self._spend(model, columns)
            return
        self.asked[lane] += 1
        self._spend(model, columns)

    def adopt(self, lane: Lane, model: str, answer: Answer, adopted: Adopted) -> None:
        """Count a reply that was asked for under another name. Only the usage of a repair that this run asked for
        counts as spent."""
        self.reused[lane] += 1
        before = adopted.row if adopted.draft is None else adopted.draft
        more = (answer.columns["attempts"] or 0) - (before["attempts"] or 0)
        if more > 0 and answer.columns["attempts"] != adopted.row["attempts"]:
            usage = ("tokens_in", "tokens_out", "cost_usd")
            known = {key: None not in (answer.columns[key], before[key]) for key in usage}
            self._spend(model, {key: answer.columns[key] - before[key] if known[key] else None for key in usage})

    def add_usage(self, other: RunProgress) -> None:
        """Add the calls of another process with their usage, without the outcomes of its cases."""
        self.asked.update(other.asked)
        self.repaired += other.repaired
        self.tokens_in += other.tokens_in
        self.tokens_out += other.tokens_out
        self.cost_usd += other.cost_usd
        self.cost_unknown += other.cost_unknown
        self.unpriced |= other.unpriced

    def gather(self, living: Sequence[RunProgress], gone: Sequence[RunProgress]) -> None:
        """Set the counts to those of a run that several processes share. `living` are the counts of the processes that
        still run, `gone` those of the processes that have ended early. Of the latter only the calls count: other
        processes took their cases over and count the outcomes. These found the replies of the calls in the store, and
        counted them as reused, which is undone here.

        >>> lane = "judge", "sums"
        >>> shared = RunProgress()
        >>> first = RunProgress(asked=Counter({lane: 6}), reused=Counter({lane: 2}))
        >>> parts = [first, RunProgress(asked=Counter({lane: 4}))]
        >>> shared.gather(parts, [RunProgress(asked=Counter({lane: 2}))])
        >>> shared.asked[lane], shared.reused[lane]
        (12, 0)
        """
        total = RunProgress(notes=self.notes)
        for part in living:
            total.planned |= part.planned
            for name in SUMMED:
                getattr(total, name).update(getattr(part, name))
            total.add_usage(part)
            total.reuse_counts.update(part.reuse_counts)
            total.waiting += part.waiting
            for name, making in part.makings.items():
                total.makings.setdefault(name, making)
        for part in gone:
            total.add_usage(part)
            total.reuse_counts.update(part.reuse_counts)
            total.reused -= part.asked & total.reused
        self.__dict__.update(total.__dict__)

    def _spend(self, model: str, columns: Mapping[str, Any]) -> None:
        self.tokens_in += columns["tokens_in"] or 0
        self.tokens_out += columns["tokens_out"] or 0
        if columns["cost_usd"] is None:
            self.cost_unknown += 1
            self.unpriced.add(model)
        else:
            self.cost_usd += columns["cost_usd"]
