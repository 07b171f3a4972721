"""Models over the benchmarks of a store: a measure that stands for each, and ranks that are tied where the items do not
tell two models apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from itertools import combinations
from typing import Any

from tripos_compiler.language import Clustering
from tripos_compiler.plan import Measure, Plan
from tripos_compiler.source import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports import metric_weights
from tripos_warehouse.measures import (
    Half,
    MeasureRow,
    Placed,
    UnreadScores,
    evaluate,
    has_people_apart,
    not_clear,
    paired_means,
    remeasure_pairs,
    with_unread,
)
from tripos_warehouse.query import Connection
from tripos_warehouse.report.boards.facts import (
    as_of_runs,
    board_measure,
    company_of,
    followed_until_settled,
    graders_of,
    headlines,
    items_by_model,
    nearest,
    of_other_versions,
    partly_of,
    parts_of,
    runs_of,
    settled_between,
    unfinished_of,
)
from tripos_warehouse.report.comparison import spans_of
from tripos_warehouse.statistics import StatisticResult, rank_by
from tripos_warehouse.views import (
    RunRecord,
    clusterings_of,
    clusters_of,
    copied_scores,
    count_clusters,
    get_selected,
    people_apart,
)

LEVEL = 0.05
"""A corrected p-value below this tells two models apart."""
LEAST_ITEMS = 6
"""With fewer items two models are not told apart: turned round at random, so few agree by chance more often than that,
and nothing shows that they are spread as Student's t takes them to be."""
OTHER_GRADERS = "others graded it"
OTHER_ROLES = "others took part in its replies"


@dataclass(frozen=True)
class Standing:
    """Where a model stands in a benchmark: its value, the 95 % interval, the items behind it.

    `n` scores count of the `total` that should, and `coverage` is their share, where all its runs came to their end.
    `rank` is 1 and one more for each model
    that is better, and significantly so; models that share one of the `letters` cannot be told apart."""

    model: str
    value: float
    low: float | None
    high: float | None
    items: int
    n: int
    total: int
    coverage: float | None
    rank: int
    tied: bool
    letters: str
    graders: tuple[str, ...]
    runs: tuple[str, ...] = ()
    """The runs whose rows it stands on."""
    company: tuple[str, ...] = ()
    """Who took part in its replies beside it, as `role=model`."""
    reason: str | None = None
    """Why there is no interval."""
    beside: Mapping[str, float | None] = field(default_factory=dict)
    """Of a measure that people correct: the judge's own figure with its interval, and λ."""
    unread: UnreadScores | None = None
    """The scores whose reply could not be read, where there are any."""


@dataclass(frozen=True)
class Board:
    """Models from the best value to the worst by one measure of one benchmark."""

    benchmark: str
    version: str
    measure: Measure
    standings: tuple[Standing, ...]
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Models that ran under other major versions only, with these: their figures mean something else."""
    partial: Mapping[str, str] = field(default_factory=dict)
    """Of models whose runs lack items, or did not come to their end: on what they stand."""
    mixed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Such models that are ranked all the same, since somebody wanted it."""
    same_items: bool = True
    """Whether all models have the same items."""
    partly: tuple[str, ...] = ()
    """Models whose last run was of a plan that has not all that this measure looks at."""
    people: tuple[str, ...] = ()
    """The people whose scores are no part of the standings."""
    by_people: tuple[MeasureRow, ...] = ()
    """What those people's scores come to, from the best value to the worst."""
    unfinished: Mapping[str, str] = field(default_factory=dict)
    """Models whose run of a release stopped early, which a board of it leaves out: on what they stand."""
    uncorrected: Mapping[str, str] = field(default_factory=dict)
    """Models whose judge's figure people cannot correct, with the reason."""
    tried: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Of chances of several tries: the items that count and all items of models that lack samples for some."""
    clusterings: tuple[Clustering, ...] = ()
    """What its intervals cluster by, where items were drawn together."""
    stopped: tuple[str, ...] = ()
    """Models that did not see all items, since their run stopped when it was settled."""

    @property
    def in_other_company(self) -> bool:
        """True if not all models had the same beside them in the other roles."""
        return len({each.company for each in self.standings}) > 1

    @property
    def no_better_than(self) -> dict[str, tuple[str, float]]:
        """The models whose interval does not clear the best baseline on the board, with its name and its value."""
        rows = [Placed(each.model, each.value, each.low, each.high) for each in self.standings]
        return not_clear(rows, lower_is_better=self.measure.lower_is_better)

    @property
    def graded_by_others(self) -> bool:
        """True if not all models were graded by the same judges."""
        return len({each.graders for each in self.standings}) > 1

    def to_json(self) -> dict[str, Any]:
        """Return the board as JSON values."""
        floors = self.no_better_than
        return {
            "benchmark": self.benchmark,
            "version": self.version,
            "measure": self.measure.name,
            "lower_is_better": self.measure.lower_is_better,
            "models": [
                {
                    "model": each.model,
                    "rank": each.rank,
                    "tied": each.tied,
                    "letters": each.letters,
                    "value": each.value,
                    "low": each.low,
                    "high": each.high,
                    "items": each.items,
                    "n": each.n,
                    "total": each.total,
                    "coverage": each.coverage,
                    "graders": list(each.graders),
                    "runs": list(each.runs),
                    "company": list(each.company),
                    "reason": each.reason,
                    **({"no_better_than": floors[each.model][0]} if each.model in floors else {}),
                    **each.beside,
                    **({} if each.unread is None else {"unread": each.unread.count, "if_wrong": each.unread.figure}),
                }
                for each in self.standings
            ],
            "left_out": {model: list(versions) for model, versions in self.left_out.items()},
            "unfinished": dict(self.unfinished),
            "partial": dict(self.partial),
            "stopped": list(self.stopped),
            "same_items": self.same_items,
            "partly": list(self.partly),
            "mixed": {model: list(versions) for model, versions in self.mixed.items()},
            **({"corrected": True, "uncorrected": dict(self.uncorrected)} if self.measure.corrected else {}),
            **({"random": list(self.measure.random)} if self.measure.random else {}),
            **({"people": self._people()} if self.by_people else {}),
            **({"clusters": [each.to_json() for each in self.clusterings]} if self.clusterings else {}),
        }

    def _people(self) -> dict[str, Any]:
        names = ("value", "items", "n", "total", "coverage", "reason")
        return {
            "evaluators": list(self.people),
            "models": [
                {
                    "model": row.model,
                    "low": row.interval_low,
                    "high": row.interval_high,
                    **{name: getattr(row, name) for name in names},
                }
                for row in self.by_people
            ],
        }


def leaderboard(
    connection: Connection,
    runs: Sequence[RunRecord],
    wanted: Mapping[str, Sequence[str]] = {},
    *,
    benchmarks: Sequence[str] = (),
    comparable: Callable[[str, str], bool],
    anyway: bool = False,
) -> list[Board]:
    """Return a board for each measure that stands for a benchmark of `runs`, which are the latest first; `wanted` are
    measures to take instead, by benchmark, and `benchmarks` those to show. `connection` shows what is current of each.
    Models that ran only under versions whose figures are not `comparable` with those of the newest run are left out,
    unless they are to be ranked `anyway`.

    Raises `StoreError`: S0301 for a benchmark that has no run, S0602 for a measure that it has not, or that does not
    come to one value for each model.
    """
    by_benchmark: dict[str, list[RunRecord]] = defaultdict(list)
    for run in runs:
        by_benchmark[run.benchmark].append(run)
    for name in (*benchmarks, *wanted):
        if name not in by_benchmark:
            close = nearest(name, by_benchmark)
            hint = f"did you mean `{close}`?" if close else f"its benchmarks are {', '.join(sorted(by_benchmark))}"
            raise StoreError("S0301", f"the store has no run of a benchmark `{name}`", hint)
    boards = []
    for name in benchmarks or sorted(by_benchmark):
        of_it = by_benchmark[name]
        newest = next((run for run in of_it if run.status not in ("stopped", "failed")), of_it[0])
        plan = get_selected(connection, newest)
        other = of_other_versions(newest, of_it, comparable)
        measures = [board_measure(plan, each) for each in wanted[name]] if name in wanted else headlines(plan)
        with copied_scores(connection, name):
            boards += [_board(connection, plan, newest, of_it, measure, other, anyway) for measure in measures]
    return boards


def _board(
    connection: Connection,
    plan: Plan,
    newest: RunRecord,
    runs: Sequence[RunRecord],
    measure: Measure,
    other: Mapping[str, tuple[str, ...]],
    anyway: bool,
) -> Board:
    models = {model for run in runs for model in run.models}
    gone = {} if anyway else other
    shown_runs = runs_of(connection, plan, measure)
    followed = followed_until_settled(shown_runs, runs)
    table = with_unread(connection, plan, evaluate(connection, plan, measure))
    rows = {row.model: row for row in as_of_runs(table, followed) if row.model in models}
    unfinished = {} if anyway else unfinished_of(followed)
    shown = rows.keys() - gone.keys() - unfinished.keys()
    there = {model: row for model, row in rows.items() if row.value is not None and model in shown}
    graders = graders_of(connection, plan, measure)
    company = company_of(plan, measure, shown_runs, runs)
    items = items_by_model(connection, plan, measure)
    alike = {model: (graders.get(model), company.get(model)) for model in there}
    differences = _differences(connection, plan, measure, items, alike)

    def compared(first: str, second: str) -> StatisticResult:
        if (sequence := settled_between(measure.name, followed, first, second)) is not None:
            return sequence
        if (first, second) in differences:
            return differences[first, second]
        back = differences.get((second, first))
        if back is None or back.value is None:
            if company.get(first) != company.get(second):
                return StatisticResult.undefined(OTHER_ROLES)
            told = OTHER_GRADERS if graders.get(first) != graders.get(second) else "they share too few items"
            return StatisticResult.undefined(told)
        return StatisticResult(-back.value, back.reason, p=back.p, n=back.n)

    means = {model: StatisticResult(row.value, n=row.items) for model, row in there.items()}
    stopped = {run.run_id for run in runs if not run.ended}
    ranks = rank_by(means, compared, level=LEVEL, lower_is_better=measure.lower_is_better).ranks
    often = [each.rank for each in ranks]
    standings = []
    for each in ranks:
        row = there[each.model]
        assert row.value is not None
        ends = row.interval_low, row.interval_high
        of_it = graders.get(each.model, ())
        tied = often.count(each.rank) > 1
        beside = shown_runs.get(each.model, ()), company.get(each.model, ())
        standing = Standing(
            each.model,
            row.value,
            *ends,
            row.items,
            row.n,
            row.total,
            None if stopped & set(shown_runs.get(each.model, ())) else row.coverage,
            each.rank,
            tied,
            each.letters,
            of_it,
            *beside,
            row.reason,
            row.beside,
            row.unread,
        )
        standings.append(standing)
    return Board(
        newest.benchmark,
        newest.version,
        measure,
        tuple(standings),
        gone,
        parts_of(connection, shown_runs, runs, there),
        {model: other[model] for model in there if model in other},
        len({items.get(model) for model in there}) <= 1,
        partly_of(connection, plan, measure, there),
        *_of_people(connection, plan, measure, models - set(gone) - set(unfinished)),
        unfinished=unfinished,
        uncorrected={
            model: row.reason or ""
            for model, row in rows.items()
            if measure.corrected and row.value is None and model in shown
        },
        tried={model: row.tried for model, row in there.items() if row.tried is not None and len({*row.tried}) > 1},
        clusterings=tuple(
            each for each in clusterings_of(connection, plan) if measure.scenario in (None, *each.scenarios)
        ),
        stopped=tuple(
            each.model
            for each in standings
            if any(each.model in run.stopped_models for run in followed.get(each.model, ()))
        ),
    )


def _of_people(
    connection: Connection, plan: Plan, measure: Measure, models: Collection[str]
) -> tuple[tuple[str, ...], tuple[MeasureRow, ...]]:
    """Return the people whose scores are apart from those of models, and what these come to."""
    people = people_apart(connection, plan) if has_people_apart(plan, measure) else ()
    if not people:
        return (), ()
    rows = [row for row in evaluate(connection, plan, measure, by_people=True).rows if row.model in models]
    valued = [(row.value, row) for row in rows if row.value is not None]
    valued.sort(key=lambda pair: (pair[0] if measure.lower_is_better else -pair[0], pair[1].model))
    return people, tuple(row for _, row in valued)


def _differences(
    connection: Connection,
    plan: Plan,
    measure: Measure,
    items: Mapping[str, frozenset[str]],
    alike: Mapping[str, object],
) -> dict[tuple[str, str], StatisticResult]:
    """Return how every two models that are `alike`, in who graded them and took part beside them, differ over the items
    that both have."""
    clusters = clusters_of(connection, plan)
    shared: dict[frozenset[str], set[str]] = defaultdict(set)
    pairs: dict[frozenset[str], set[frozenset[str]]] = defaultdict(set)
    for first, second in combinations(alike, 2):
        one, two = (items.get(model, frozenset()) for model in (first, second))
        both = one if one is two else one & two
        if count_clusters(both, clusters) >= LEAST_ITEMS and alike[first] == alike[second]:
            shared[both] |= {first, second}
            pairs[both].add(frozenset((first, second)))
    half = Half(connection, plan.benchmark.name, tuple(sorted({model for some in shared.values() for model in some})))
    wanted = {pair for some in pairs.values() for pair in some}
    means = paired_means(half, plan, measure, metric_weights(plan), spans_of(plan)) if wanted else {}
    if means is not None:
        return {pair: difference for pair, difference in means.items() if frozenset(pair) in wanted}
    found = {}
    for both, some in shared.items():  # once for all pairs that share the same items
        half = Half(connection, plan.benchmark.name, tuple(sorted(some)))
        for pair, difference in remeasure_pairs(half, plan, measure, sorted(both)).items():
            if frozenset(pair) in pairs[both]:
                found[pair] = difference
    return found


def mean_win_rates(boards: Sequence[Board]) -> dict[str, float]:
    """Return the mean win rate of each model over benchmarks, the best first: the share of the other models of a board
    that rank below it, those that share its rank counting one half; then the mean over the boards of a benchmark, and
    over the benchmarks that the model is on with others (after Liang et al., 2023, HELM, who compare values and not
    ranks). Nothing for fewer than two such benchmarks."""
    rates: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for board in boards:
        others = len(board.standings) - 1
        for each in board.standings if others else ():
            below = sum(other.rank > each.rank for other in board.standings)
            shared = sum(other.rank == each.rank for other in board.standings) - 1
            rates[each.model][board.benchmark].append((below + shared / 2) / others)
    means = {
        model: sum(sum(found) / len(found) for found in of.values()) / len(of)
        for model, of in rates.items()
        if len(of) > 1
    }
    return dict(sorted(means.items(), key=lambda pair: (-pair[1], pair[0])))
