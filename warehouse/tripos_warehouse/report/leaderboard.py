"""Leaderboards: models ranked by the headline measures of benchmarks, with ties, facts per model, and notes.

Ranks are tied if the items do not distinguish two models. The facts per model are its items, runs, graders and the
models that filled other roles in its replies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, field, replace
from itertools import combinations
from typing import Any, NamedTuple

from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.text_format import percent
from tripos_compiler.language.contexts import Clustering
from tripos_compiler.language.figures import measures_of
from tripos_compiler.language.scored_values import why_no_headline
from tripos_compiler.plan import Ask, Converse, Measure, Plan, Retrieve
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.differences import model_differences
from tripos_warehouse.measures.evaluation import evaluate, has_separate_people
from tripos_warehouse.measures.expectations import models_below_baseline
from tripos_warehouse.measures.measure_rows import (
    EXAGGERATED_DIFFERENCES,
    INTERRUPTED,
    STOPPED_EARLY,
    TWO_RUNS_UNFOLLOWED,
    UNFOLLOWED,
    MeasureRow,
    MeasureTable,
    followed_difference,
    with_sequential_intervals,
)
from tripos_warehouse.measures.sides import Side, comparison_sources, items_by_model, score_sources
from tripos_warehouse.measures.unread import with_unread
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.report.remarks import selection_of, unread_sentence
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import negated
from tripos_warehouse.statistics.multiple_tests import rank_by
from tripos_warehouse.tables.values import decimals_of, estimate_text
from tripos_warehouse.views.benchmark_views import (
    clusterings_of,
    clusters_of,
    count_clusters,
    counts_in_figures,
    separate_people,
)
from tripos_warehouse.views.connect import copied_scores
from tripos_warehouse.views.derived import score_sums
from tripos_warehouse.views.run_rows import step_counts
from tripos_warehouse.views.runs import RunRecord, get_selected

OVERALL = "overall"
"""The name of a measure that stands for its benchmark."""


def runs_of(connection: Connection, plan: Plan, measure: Measure) -> dict[str, tuple[str, ...]]:
    """Return the runs whose rows every model has."""
    tables = [f"select model, shown_run from {each}" for each in score_sources(connection, plan, measure)]
    tables += [f"select model, shown_run from {each}" for each in comparison_sources(plan, measure)]
    query = f"""select model, list_sort(list(distinct shown_run)) from ({" union all ".join(tables)}) group by model"""
    return {model: tuple(found) for model, found in connection.execute(query).fetchall()}


def partial_coverage(
    connection: Connection, shown: Mapping[str, tuple[str, ...]], runs: Sequence[RunRecord], models: Iterable[str]
) -> dict[str, str]:
    """Return, for models without all planned items, what they cover and why, from the runs of their rows: items that a
    release withholds or that a user left out, and unfinished runs."""
    by_id = {run.run_id: run for run in runs}
    of_run: dict[str, list[str]] = {}
    found = {}
    for model in models:
        told: dict[str, None] = {}
        for run in (by_id[each] for each in shown.get(model, ()) if each in by_id):
            if run.run_id not in of_run:
                selected = selection_of(connection, get_selected(connection, run), run)
                ended = None if run.ended else f"run {run.run_id} is {run.status}, so some is missing"
                cut_off = INTERRUPTED if run.interrupted else None
                of_run[run.run_id] = [each for each in (run.partial, selected, ended, cut_off) if each is not None]
            told |= dict.fromkeys(of_run[run.run_id])
        if told:
            found[model] = "; ".join(told)
    return found


def partner_models_of(
    plan: Plan, measure: Measure, shown: Mapping[str, tuple[str, ...]], runs: Sequence[RunRecord]
) -> dict[str, tuple[str, ...]]:
    """Return the models that took part in the replies of every model, besides its judges: by the roles that are asked,
    talk, embed or generate data sets."""
    scenarios = [scenario for scenario in plan.scenarios if measure.scenario in (None, scenario.name)]
    roles = {ask.role for dataset in plan.made for ask in dataset.asks}
    for step in (step for scenario in scenarios for step in scenario.steps):
        if isinstance(step, Ask):
            roles.add(step.role)
        elif isinstance(step, Converse):
            roles |= {speaker.role for speaker in step.speakers}
        elif isinstance(step, Retrieve) and step.using is not None:
            roles.add(step.using)
    by_id = {run.run_id: run for run in runs}
    return {
        model: tuple(
            sorted(
                {
                    f"{role}={name}"
                    for run in (by_id[each] for each in found if each in by_id)
                    for role in roles - {run.compared_role}
                    for name in run.roles.get(role, ())
                }
            )
        )
        for model, found in shown.items()
    }


def models_missing_steps(
    connection: Connection, plan: Plan, measure: Measure, models: Iterable[str]
) -> tuple[str, ...]:
    """Return the models that lack steps which others have, in the scenario of a measure if it has one."""
    found = step_counts(connection, plan.benchmark.name, measure.scenario)
    most = max((found.get(model, 0) for model in models), default=0)
    return tuple(sorted(model for model in models if found.get(model, 0) < most))


def graders_of(connection: Connection, plan: Plan, measure: Measure) -> dict[str, tuple[str, ...]]:
    """Return who graded the replies of every model, including inside expressions, in the scenario of a measure if it
    has one. People whose scores are kept separate are not included."""
    there = "" if measure.scenario is None else f"and scenario = {sql.text(measure.scenario)}"
    schema, counted = sql.name(plan.benchmark.name), counts_in_figures(plan)
    valued = score_sources(connection, plan, measure, valued=True)
    sums = score_sums(connection, plan.benchmark.name)
    graded = f"{valued[0]} and evaluator is not null and {counted}" + (' and "is score"' if sums is not None else "")
    inside = " union all ".join(f"select model, unnest(judged_by) from {each}" for each in valued)
    compared = " union all ".join(
        f"select {side}_model, evaluator from {schema}.comparisons where value is not null {there} and {counted}"
        for side in ("first", "second")
    )
    query = f"""select model, list_sort(list(distinct evaluator)) from (
      select model, evaluator from {graded} union all {inside} union all {compared}) group by model"""
    return {model: tuple(found) for model, found in connection.execute(query).fetchall()}


def incomparable_models(
    newest: RunRecord, runs: Sequence[RunRecord], comparable: Callable[[str, str], bool]
) -> dict[str, tuple[str, ...]]:
    """Return the models that ran only under versions whose figures are not comparable with those of the newest run,
    with these versions."""
    under: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        for model in run.models:
            if run.version not in under[model]:
                under[model].append(run.version)
    return {
        model: tuple(versions)
        for model, versions in under.items()
        if not any(comparable(version, newest.version) for version in versions)
    }


def headlines(plan: Plan) -> tuple[Measure, ...]:
    """Return the measures that stand for a benchmark: those of its `headline`. Without one, those with one value per
    model: `overall`, or the first of the benchmark, or the first of each scenario."""
    if plan.benchmark.headline:
        return tuple(measure for name in plan.benchmark.headline for measure in plan.measures if measure.name == name)
    alone = [measure for measure in plan.measures if _has_one_value(plan, measure)]
    first: dict[str | None, Measure] = {}
    for measure in sorted(alone, key=lambda each: each.name != OVERALL):
        first.setdefault(measure.scenario, measure)
    return (first[None],) if None in first else tuple(first.values())


def board_measure(plan: Plan, name: str) -> Measure:
    """Return the requested measure of a board. Raises `StoreError` S0602 if the benchmark does not have it, or if it
    does not have one value per model."""
    measures = {measure.name: measure for measure in plan.measures}
    if name not in measures:
        hint = suggest(name, measures, f"its measures are {', '.join(measures)}")
        raise StoreError("S0602", f"`{plan.benchmark.name}` has no measure `{name}`", hint)
    if not _has_one_value(plan, measures[name]):
        message = f"`{name}` of `{plan.benchmark.name}` does not come to one value for each model"
        those = [measure.name for measure in plan.measures if _has_one_value(plan, measure)]
        raise StoreError("S0602", message, f"these do: {', '.join(those)}" if those else "none of its measures does")
    return measures[name]


def _has_one_value(plan: Plan, measure: Measure) -> bool:
    """Return true if a measure has one value per model."""
    return why_no_headline(measure, measures_of(plan)) is None


def followed_until_settled(
    shown: Mapping[str, tuple[str, ...]], runs: Sequence[RunRecord]
) -> dict[str, tuple[RunRecord, ...]]:
    """Return the models with rows of a run that stops as soon as it is settled, and the runs of their rows."""
    by_id = {run.run_id: run for run in runs}
    of_model = {model: tuple(by_id[each] for each in ids if each in by_id) for model, ids in shown.items()}
    return {model: records for model, records in of_model.items() if any(run.settled is not None for run in records)}


def stopped_early(followed: Mapping[str, tuple[RunRecord, ...]]) -> dict[str, str]:
    """Return the models whose run of a release stopped early, with their numbers of items: the board of a release needs
    all items."""
    found = {}
    for model, runs in followed.items():
        for run in runs:
            if run.release is not None and run.stopped_early and run.settled is not None:
                items, every = run.settled["models"].get(model, 0), run.settled["of"]
                found[model] = f"stopped after {items:,} of {every:,} items"
    return found


def reported_rows(table: MeasureTable, followed: Mapping[str, tuple[RunRecord, ...]]) -> Iterator[MeasureRow]:
    """Yield the values of a measure. A model with rows of one run that stopped early has that run's values; with rows
    of several, it has no interval."""
    for row in table.rows:
        if not any(run.stopped_early for run in followed.get(row.model, ())):
            yield row
            continue
        first, *records = followed[row.model]
        run = first if not records else replace(first, settled={"models": {row.model: 0}, "of": 1, "figures": []})
        yield from with_sequential_intervals(run, replace(table, rows=(row,))).rows


def sequential_difference(
    measure: str, followed: Mapping[str, tuple[RunRecord, ...]], first: str, second: str
) -> Estimate | None:
    """Return the difference of two models from the confidence sequence of the one run that has the rows of both; `None`
    if nothing stopped early. If there is no such sequence, no test holds, so the difference has no size."""
    runs = {run.run_id: run for each in (first, second) for run in followed.get(each, ())}
    if len(runs) == 1 and first in followed and second in followed:
        estimate = followed_difference(next(iter(runs.values())), measure, first, second)
        if estimate is not None:
            return estimate
    if any(model in run.stopped_models for model in (first, second) for run in followed.get(model, ())):
        return Estimate.undefined(UNFOLLOWED if len(runs) == 1 else TWO_RUNS_UNFOLLOWED)
    return None


LEVEL = 0.05
"""A corrected p-value below this separates two models."""
LEAST_ITEMS = 6
"""With fewer items two models are not separated: by chance alone, all signs agree more often than the level allows, and
nothing supports the assumption of Student's t that differences are normal."""
OTHER_GRADERS = "others graded it"
OTHER_ROLES = "others took part in its replies"


@dataclass(frozen=True)
class BoardEntry(MeasureRow):
    """The row of a model, which has a value, with its place. `coverage` is known if all its runs finished.

    `rank` is 1 plus the number of models that are significantly better; models that share one of the `letters` are not
    significantly different.
    """

    _: KW_ONLY
    rank: int
    tied: bool
    letters: str
    graders: tuple[str, ...]
    runs: tuple[str, ...] = ()
    """The runs whose rows it has."""
    partner_models: tuple[str, ...] = ()
    """The models that filled other roles in its replies, as `role=model`."""


@dataclass(frozen=True)
class Board:
    """Models from best to worst by one measure of one benchmark."""

    benchmark: str
    version: str
    measure: Measure
    entries: tuple[BoardEntry, ...]
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Models that ran under other major versions only, with these versions: their figures mean something else."""
    partial: Mapping[str, str] = field(default_factory=dict)
    """By model with missing items or unfinished runs: what it covers."""
    mixed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Models of other major versions that are ranked anyway, on request."""
    same_items: bool = True
    """True if all models have the same items."""
    partly: tuple[str, ...] = ()
    """Models whose last run had a plan without some step that this measure reads."""
    people: tuple[str, ...] = ()
    """The people whose scores are not part of the board."""
    by_people: tuple[MeasureRow, ...] = ()
    """The values by those people, from best to worst."""
    unfinished: Mapping[str, str] = field(default_factory=dict)
    """By model left out of the board of a release because its run stopped early: what it covers."""
    uncorrected: Mapping[str, str] = field(default_factory=dict)
    """Models whose judge cannot be corrected by people, with the reason."""
    counted_items: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """For a chance of several tries: the items that count and all items, of models that lack samples for some items."""
    clusterings: tuple[Clustering, ...] = ()
    """The clusters of its intervals, if items were drawn together."""
    stopped: tuple[str, ...] = ()
    """Models that did not see all items, since their run stopped as soon as it was settled."""

    @property
    def has_other_partners(self) -> bool:
        """True if the other roles were not filled by the same models for all entries."""
        return len({entry.partner_models for entry in self.entries}) > 1

    @property
    def no_better_than(self) -> dict[str, tuple[str, float]]:
        """The models whose interval reaches the best baseline on the board, with its name and value."""
        return models_below_baseline(self.entries, lower_is_better=self.measure.lower_is_better)

    @property
    def graded_by_others(self) -> bool:
        """True if not all models were graded by the same judges."""
        return len({entry.graders for entry in self.entries}) > 1

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
                    "model": entry.model,
                    "rank": entry.rank,
                    "tied": entry.tied,
                    "letters": entry.letters,
                    **entry.to_json("value", "low", "high", "items", "n", "total", "coverage"),
                    "graders": list(entry.graders),
                    "runs": list(entry.runs),
                    "company": list(entry.partner_models),
                    "reason": entry.reason,
                    **({"no_better_than": floors[entry.model][0]} if entry.model in floors else {}),
                    **entry.correction_columns,
                    **({} if entry.unread is None else {"unread": entry.unread.count, "if_wrong": entry.unread.figure}),
                }
                for entry in self.entries
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
            **({"clusters": [clustering.to_json() for clustering in self.clusterings]} if self.clusterings else {}),
        }

    def _people(self) -> dict[str, Any]:
        names = ("model", "low", "high", "value", "items", "n", "total", "coverage", "reason")
        return {"evaluators": list(self.people), "models": [row.to_json(*names) for row in self.by_people]}


def leaderboard(
    connection: Connection,
    runs: Sequence[RunRecord],
    requested: Mapping[str, Sequence[str]] = {},
    *,
    benchmarks: Sequence[str] = (),
    comparable: Callable[[str, str], bool],
    anyway: bool = False,
) -> list[Board]:
    """Return a board for each headline measure of the benchmarks of `runs`, which are the latest first.

    `wanted` are measures to take instead, by benchmark, and `benchmarks` those to show. `connection` shows the current
    rows of each. Models that ran only under versions that are not `comparable` with that of the newest run are left
    out, unless `anyway` is true.

    Raises `StoreError`: S0301 for a benchmark without a run, S0602 for a measure that it does not have, or that does
    not have one value per model.
    """
    by_benchmark: dict[str, list[RunRecord]] = defaultdict(list)
    for run in runs:
        by_benchmark[run.benchmark].append(run)
    for name in (*benchmarks, *requested):
        if name not in by_benchmark:
            hint = suggest(name, by_benchmark, f"its benchmarks are {', '.join(sorted(by_benchmark))}")
            raise StoreError("S0301", f"the store has no run of a benchmark `{name}`", hint)
    boards = []
    for name in benchmarks or sorted(by_benchmark):
        of_it = by_benchmark[name]
        newest = next((run for run in of_it if run.status not in ("stopped", "failed")), of_it[0])
        plan = get_selected(connection, newest)
        other = incomparable_models(newest, of_it, comparable)
        measures = [board_measure(plan, each) for each in requested[name]] if name in requested else headlines(plan)
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
    rows = {row.model: row for row in reported_rows(table, followed) if row.model in models}
    unfinished = {} if anyway else stopped_early(followed)
    texts = rows.keys() - gone.keys() - unfinished.keys()
    rows_with_value = {model: row for model, row in rows.items() if row.value is not None and model in texts}
    graders = graders_of(connection, plan, measure)
    company = partner_models_of(plan, measure, shown_runs, runs)
    items = items_by_model(connection, plan, measure)
    alike = {model: (graders.get(model), company.get(model)) for model in rows_with_value}
    side = Side(connection, plan, tuple(alike))
    differences = model_differences(side, measure, models=comparable_models(side, items, alike))

    def compared(first: str, second: str) -> Estimate:
        if (sequence := sequential_difference(measure.name, followed, first, second)) is not None:
            return sequence
        difference = differences.get(((), first, second))
        if difference is None and ((), second, first) in differences:
            difference = negated(differences[(), second, first])
        if difference is None or difference.value is None:
            if company.get(first) != company.get(second):
                return Estimate.undefined(OTHER_ROLES)
            text = OTHER_GRADERS if graders.get(first) != graders.get(second) else "they share too few items"
            return Estimate.undefined(text)
        return replace(difference, p=p_value(difference))

    means = {model: Estimate(row.value, n=row.items) for model, row in rows_with_value.items()}
    stopped = {run.run_id for run in runs if not run.ended}
    ranks = rank_by(means, compared, level=LEVEL, lower_is_better=measure.lower_is_better).ranks
    often = [each.rank for each in ranks]
    standings = []
    for rank in ranks:
        row, own_runs = rows_with_value[rank.model], shown_runs.get(rank.model, ())
        if stopped & set(own_runs):
            row = replace(row, coverage=None)
        entry = BoardEntry(
            **vars(row),
            rank=rank.rank,
            tied=often.count(rank.rank) > 1,
            letters=rank.letters,
            graders=graders.get(rank.model, ()),
            runs=own_runs,
            partner_models=company.get(rank.model, ()),
        )
        standings.append(entry)
    return Board(
        newest.benchmark,
        newest.version,
        measure,
        tuple(standings),
        gone,
        partial_coverage(connection, shown_runs, runs, rows_with_value),
        {model: other[model] for model in rows_with_value if model in other},
        len({items.get(model) for model in rows_with_value}) <= 1,
        models_missing_steps(connection, plan, measure, rows_with_value),
        *_of_people(connection, plan, measure, models - set(gone) - set(unfinished)),
        unfinished=unfinished,
        uncorrected={
            model: row.reason or ""
            for model, row in rows.items()
            if measure.corrected and row.value is None and model in texts
        },
        counted_items={
            model: row.counted_items
            for model, row in rows_with_value.items()
            if row.counted_items is not None and len({*row.counted_items}) > 1
        },
        clusterings=tuple(
            clustering
            for clustering in clusterings_of(connection, plan)
            if measure.scenario in (None, *clustering.scenarios)
        ),
        stopped=tuple(
            standing.model
            for standing in standings
            if any(standing.model in run.stopped_models for run in followed.get(standing.model, ()))
        ),
    )


def _of_people(
    connection: Connection, plan: Plan, measure: Measure, models: Collection[str]
) -> tuple[tuple[str, ...], tuple[MeasureRow, ...]]:
    """Return the people whose scores are kept separate from those of models, and the values by them."""
    people = separate_people(connection, plan) if has_separate_people(plan, measure) else ()
    if not people:
        return (), ()
    rows = [row for row in evaluate(connection, plan, measure, by_people=True).rows if row.model in models]
    valued = [(row.value, row) for row in rows if row.value is not None]
    valued.sort(key=lambda pair: (pair[0] if measure.lower_is_better else -pair[0], pair[1].model))
    return people, tuple(row for _, row in valued)


def comparable_models(
    side: Side, items: Mapping[str, frozenset[str]], alike: Mapping[str, object]
) -> list[tuple[str, str]]:
    """Return every two models of a side that share enough `items`, and are `alike`, as in their graders."""
    clusters, pairs = clusters_of(side.connection, side.plan), []
    for first, second in combinations(side.models, 2):
        one, two = (items.get(model, frozenset()) for model in (first, second))
        both = one if one is two else one & two
        if alike.get(first) == alike.get(second) and count_clusters(both, clusters) >= LEAST_ITEMS:
            pairs.append((first, second))
    return pairs


def p_value(difference: Estimate) -> float | None:
    """Return the p-value that may distinguish two models: none if they share too few items."""
    return difference.p if (difference.clusters or 0) >= LEAST_ITEMS else None


def mean_win_rates(boards: Sequence[Board]) -> dict[str, float]:
    """Return the mean win rate of each model over benchmarks, the best first.

    The win rate on a board is the share of the other models that rank lower, with half for those of equal rank. It is
    averaged over the boards of a benchmark, and then over the benchmarks on which the model has opponents (after Liang
    et al., 2023, HELM, who compare values and not ranks). Empty for fewer than two such benchmarks.
    """
    rates: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for board in boards:
        others = len(board.entries) - 1
        for entry in board.entries if others else ():
            below = sum(other.rank > entry.rank for other in board.entries)
            shared = sum(other.rank == entry.rank for other in board.entries) - 1
            rates[entry.model][board.benchmark].append((below + shared / 2) / others)
    means = {
        model: sum(sum(found) / len(found) for found in of.values()) / len(of)
        for model, of in rates.items()
        if len(of) > 1
    }
    return dict(sorted(means.items(), key=lambda pair: (-pair[1], pair[0])))


class BoardNote(NamedTuple):
    """A note on a board; `caution` if it makes a figure mean less."""

    kind: str
    text: str
    caution: bool = True


NOT_DISTINGUISHED = "and those are not distinguished"
WHOLE_COVERAGE = 0.995
"""With a lower coverage, a figure does not represent all scores."""


def is_short(each: MeasureRow) -> bool:
    """Return true if the coverage is too low for the figure to represent all scores."""
    return each.total > 0 and each.n / each.total < WHOLE_COVERAGE


def board_notes(board: Board) -> list[BoardNote]:
    """Return the notes on a board."""
    notes = [] if board.entries else [BoardNote("empty", "no model has a value", caution=False)]
    if board.measure.corrected:
        for entry in board.entries:
            if entry.judged is not None and entry.judged.value is not None:
                judged = estimate_text(entry.judged, "{:.4g}".format)
                text = f"{entry.model}: the judge alone has {judged}, an interval of the judge and not of people"
                notes.append(BoardNote("judged", text, caution=False))
    if board.measure.random:
        those = " * ".join(board.measure.random)
        text = f"intervals and groups take {those} as a sample: they speak of others like these too"
        notes.append(BoardNote("random", text, caution=False))
    for model, (counted, every) in board.counted_items.items():
        text = f"{model} stands on {counted:,} of {every:,} items: the others have too few samples with a value"
        notes.append(BoardNote("tries", text))
    notes += [BoardNote("clusters", clustering.sentence, caution=False) for clustering in board.clusterings]
    notes += [BoardNote("uncorrected", f"{model}: {why}") for model, why in board.uncorrected.items()]
    if board.graded_by_others:
        told = _groups((board_entry.model, board_entry.graders) for board_entry in board.entries)
        notes.append(
            BoardNote("graders", f"not all were graded by the same, {NOT_DISTINGUISHED}: {_group_text(told, 'by')}")
        )
    if board.has_other_partners:
        shared = set.intersection(*(set(board_entry.partner_models) for board_entry in board.entries))
        others = (
            (board_entry.model, tuple(n for n in board_entry.partner_models if n not in shared))
            for board_entry in board.entries
        )
        groups = _group_text(_groups(others), "with")
        text = f"not all had the same models in the other roles, {NOT_DISTINGUISHED}: {groups}"
        notes.append(BoardNote("company", text))
    for baseline, value in dict.fromkeys(board.no_better_than.values()):
        models = [model for model, floor in board.no_better_than.items() if floor[0] == baseline]
        notes.append(BoardNote("floor", f"not clear of a baseline: {', '.join(models)}: {baseline} gets {value:.3g}"))
    for model in board.partly:
        text = f"{model}: its last run was of another spec, or not of all scenarios: some scores are missing"
        notes.append(BoardNote("partly", text))
    if not board.same_items or len({board_entry.items for board_entry in board.entries}) > 1:
        notes.append(BoardNote("items", "not all have the same items; two are compared over those that both have"))
    if board.stopped:
        notes.append(BoardNote("stopped", f"{STOPPED_EARLY}, and so are ranks and letters: {', '.join(board.stopped)}"))
        notes.append(BoardNote("stopped", EXAGGERATED_DIFFERENCES))
    notes += [BoardNote("partial", f"{model}: {told}") for model, told in board.partial.items()]
    notes += _unread_notes(board)
    for model, old in board.left_out.items():
        ran = f"left out: {model}, which ran under version {', '.join(old)} only"
        notes.append(BoardNote("left_out", f"{ran}: scores mean something else there"))
    for model, stands in board.unfinished.items():
        short = f"left out: {model}, whose run {stands}"
        notes.append(BoardNote("unfinished", f"{short}: the board of a release is whole, run it with --until end"))
    for model, old in board.mixed.items():
        text = f"{model} ran under version {', '.join(old)} only: its scores mean something else"
        notes.append(BoardNote("mixed", text))
    return notes


def _unread_notes(board: Board) -> Iterable[BoardNote]:
    """Yield which models have scores without a value, and what their figures would be if these counted as wrong."""
    known = [board_entry.unread.figure for board_entry in board.entries if board_entry.unread is not None]
    decimals = decimals_of([board_entry.value for board_entry in board.entries] + known)
    for entry in board.entries:
        if entry.unread is not None and entry.unread.figure is not None:
            text = unread_sentence(entry.unread, entry.value, entry.n, entry.total, decimals)
            yield BoardNote("unread", f"{entry.model}: {text}")
        elif is_short(entry):
            counts = f"{percent(entry.n / entry.total)} of its scores have a value, {entry.n:,} of {entry.total:,}"
            yield BoardNote("short", f"{entry.model}: only {counts}")


def _groups(members: Iterable[tuple[str, tuple[str, ...]]]) -> dict[tuple[str, ...], list[str]]:
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for model, names in members:
        found[names].append(model)
    return found


def _group_text(groups: Mapping[tuple[str, ...], Sequence[str]], between: str) -> str:
    return "; ".join(
        f"{', '.join(models)} {between} {', '.join(names) or 'nobody'}" for names, models in groups.items()
    )
