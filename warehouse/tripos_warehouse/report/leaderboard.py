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
from tripos_compiler.diagnostics.i18n import chosen_language
from tripos_compiler.diagnostics.text_format import percent
from tripos_compiler.language.contexts import Clustering
from tripos_compiler.language.figures import measures_of
from tripos_compiler.language.scored_values import why_no_headline
from tripos_compiler.plan import Ask, Converse, Measure, Plan, Retrieve
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.differences import model_differences
from tripos_warehouse.measures.directions import is_lower_better
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
from tripos_warehouse.statistics.power import items_needed
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
"""The name of a measure that represents its benchmark."""


def runs_of(connection: Connection, plan: Plan, measure: Measure) -> dict[str, tuple[str, ...]]:
    """Return the runs that the rows of every model come from."""
    sources = [*score_sources(connection, plan, measure), *comparison_sources(plan, measure)]
    tables = " union all ".join(f"select model, shown_run from {source}" for source in sources)
    query = f"select model, list_sort(list(distinct shown_run)) from ({tables}) group by model"
    return {model: tuple(runs) for model, runs in connection.execute(query).fetchall()}


def partial_coverage(
    connection: Connection, shown: Mapping[str, tuple[str, ...]], runs: Sequence[RunRecord], models: Iterable[str]
) -> dict[str, str]:
    """Return, for models without all planned items, what they cover and why: items that a release withholds or that a
    user left out, and unfinished runs. `shown` has the ids of the runs of every model."""
    by_id = {run.run_id: run for run in runs}
    of_run: dict[str, list[str]] = {}
    partial = {}
    for model in models:
        texts: dict[str, None] = {}
        for run in (by_id[run_id] for run_id in shown.get(model, ()) if run_id in by_id):
            if run.run_id not in of_run:
                selected = selection_of(connection, get_selected(connection, run), run)
                ended = None if run.ended else f"run {run.run_id} is {run.status}, so some is missing"
                cut_off = INTERRUPTED if run.interrupted else None
                of_run[run.run_id] = [text for text in (run.partial, selected, ended, cut_off) if text is not None]
            texts |= dict.fromkeys(of_run[run.run_id])
        if texts:
            partial[model] = "; ".join(texts)
    return partial


def partner_models_of(
    plan: Plan, measure: Measure, shown: Mapping[str, tuple[str, ...]], runs: Sequence[RunRecord]
) -> dict[str, tuple[str, ...]]:
    """Return the models that took part in the replies of every model, besides its judges: those of the roles that are
    asked, take part in conversations, embed or generate data sets, as `role=model`."""
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
                    for run in (by_id[run_id] for run_id in run_ids if run_id in by_id)
                    for role in roles - {run.compared_role}
                    for name in run.roles.get(role, ())
                }
            )
        )
        for model, run_ids in shown.items()
    }


def models_missing_steps(
    connection: Connection, plan: Plan, measure: Measure, models: Iterable[str]
) -> tuple[str, ...]:
    """Return the models that lack steps which others have, in the scenario of a measure if it has one."""
    counts = step_counts(connection, plan.benchmark.name, measure.scenario)
    most = max((counts.get(model, 0) for model in models), default=0)
    return tuple(sorted(model for model in models if counts.get(model, 0) < most))


def graders_of(connection: Connection, plan: Plan, measure: Measure) -> dict[str, tuple[str, ...]]:
    """Return who graded the replies of every model, including inside expressions, in the scenario of a measure if it
    has one. People whose scores are kept separate are not included."""
    in_scenario = "" if measure.scenario is None else f"and scenario = {sql.text(measure.scenario)}"
    schema, counted = sql.name(plan.benchmark.name), counts_in_figures(plan)
    valued = score_sources(connection, plan, measure, valued=True)
    sums = score_sums(connection, plan.benchmark.name)
    graded = f"{valued[0]} and evaluator is not null and {counted}" + (' and "is score"' if sums is not None else "")
    inside = " union all ".join(f"select model, unnest(judged_by) from {source}" for source in valued)
    compared = " union all ".join(
        f"select {side}_model, evaluator from {schema}.comparisons where value is not null {in_scenario} and {counted}"
        for side in ("first", "second")
    )
    query = f"""select model, list_sort(list(distinct evaluator)) from (
      select model, evaluator from {graded} union all {inside} union all {compared}) group by model"""
    return {model: tuple(evaluators) for model, evaluators in connection.execute(query).fetchall()}


def incomparable_models(
    newest: RunRecord, runs: Sequence[RunRecord], comparable: Callable[[str, str], bool]
) -> dict[str, tuple[str, ...]]:
    """Return the models that ran only under versions whose figures are not comparable with those of the newest run,
    with these versions."""
    versions_of: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        for model in run.models:
            if run.version not in versions_of[model]:
                versions_of[model].append(run.version)
    return {
        model: tuple(versions)
        for model, versions in versions_of.items()
        if not any(comparable(version, newest.version) for version in versions)
    }


def headlines(plan: Plan) -> tuple[Measure, ...]:
    """Return the measures that represent a benchmark: those of its `headline`. Without one, from those with one value
    per model: `overall`, or the first that belongs to no scenario, or the first of each scenario."""
    if plan.benchmark.headline:
        return tuple(measure for name in plan.benchmark.headline for measure in plan.measures if measure.name == name)
    candidates = [measure for measure in plan.measures if _has_one_value(plan, measure)]
    first: dict[str | None, Measure] = {}
    for measure in sorted(candidates, key=lambda measure: measure.name != OVERALL):
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
        names = [measure.name for measure in plan.measures if _has_one_value(plan, measure)]
        raise StoreError("S0602", message, f"these do: {', '.join(names)}" if names else "none of its measures does")
    return measures[name]


def _has_one_value(plan: Plan, measure: Measure) -> bool:
    """Return true if a measure has one value per model."""
    return why_no_headline(measure, measures_of(plan)) is None


def followed_until_settled(
    shown: Mapping[str, tuple[str, ...]], runs: Sequence[RunRecord]
) -> dict[str, tuple[RunRecord, ...]]:
    """Return the models with rows of a run that stops as soon as it is settled, and the runs of their rows."""
    by_id = {run.run_id: run for run in runs}
    of_model = {model: tuple(by_id[run_id] for run_id in ids if run_id in by_id) for model, ids in shown.items()}
    return {model: records for model, records in of_model.items() if any(run.settled is not None for run in records)}


def stopped_early(followed: Mapping[str, tuple[RunRecord, ...]]) -> dict[str, str]:
    """Return the models whose run of a release stopped early, with their numbers of items as text: the board of a
    release needs all items."""
    stopped = {}
    for model, runs in followed.items():
        for run in runs:
            if run.release is not None and run.stopped_early and run.settled is not None:
                items, total = run.settled["models"].get(model, 0), run.settled["of"]
                stopped[model] = f"stopped after {items:,} of {total:,} items"
    return stopped


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
    """Return the difference of two models from the confidence sequence of the run that has the rows of both; None if
    neither model stopped early. If there is no such sequence, no test is valid, so the difference has no value."""
    runs = {run.run_id: run for model in (first, second) for run in followed.get(model, ())}
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
"""Reasons why two models are not compared."""


@dataclass(frozen=True)
class BoardEntry(MeasureRow):
    """The row of a model on a board. It has a value; its `coverage` is known if all its runs finished.

    `rank` is 1 plus the number of models that are significantly better; models that share one of the `letters` are not
    significantly different.
    """

    _: KW_ONLY
    rank: int
    tied: bool
    letters: str
    graders: tuple[str, ...]
    runs: tuple[str, ...] = ()
    """The runs that its rows come from."""
    partner_models: tuple[str, ...] = ()
    """The models that filled other roles in its replies, as `role=model`."""


@dataclass(frozen=True)
class Board:
    """Models from best to worst by one measure of one benchmark."""

    benchmark: str
    version: str
    measure: Measure
    entries: tuple[BoardEntry, ...]
    lower_is_better: bool
    """True if the lowest value is the best."""
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Models that ran under other major versions only, with these versions: their figures mean something else."""
    partial: Mapping[str, str] = field(default_factory=dict)
    """What a model with missing items or unfinished runs covers, by model."""
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
    """What a model covers that is left out of the board of a release because its run stopped early, by model."""
    uncorrected: Mapping[str, str] = field(default_factory=dict)
    """Models whose judge cannot be corrected by people, with the reason."""
    counted_items: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """For a chance of several tries: the number of items that count and that of all items, by model, for models that
    lack samples for some items."""
    clusterings: tuple[Clustering, ...] = ()
    """The clusters of its intervals, if items were drawn together."""
    stopped: tuple[str, ...] = ()
    """Models that did not see all items, since their run stopped as soon as it was settled."""
    differences: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    """The difference of each model from each one below it; `p` is adjusted by Holm."""
    plan: Plan | None = None
    """The plan of its latest run, which has the titles."""

    @property
    def named(self) -> str:
        """The name of the measure, after its title if the reader chose a language."""
        language, title = chosen_language(), None
        if language is not None and self.plan is not None:
            title = self.plan.title_of("measure", self.measure.name, language)
        return self.measure.name if title is None else f"{title} ({self.measure.name})"

    @property
    def has_other_partners(self) -> bool:
        """True if the other roles were not filled by the same models for all entries."""
        return len({entry.partner_models for entry in self.entries}) > 1

    @property
    def no_better_than(self) -> dict[str, tuple[str, float]]:
        """The models whose interval reaches the best baseline on the board, with its name and value."""
        return models_below_baseline(self.entries, lower_is_better=self.lower_is_better)

    @property
    def graded_by_others(self) -> bool:
        """True if not all models were graded by the same judges."""
        return len({entry.graders for entry in self.entries}) > 1

    def to_json(self) -> dict[str, Any]:
        """Return the board as JSON values."""
        baselines = self.no_better_than
        return {
            "benchmark": self.benchmark,
            "version": self.version,
            "measure": self.measure.name,
            "lower_is_better": self.lower_is_better,
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
                    **({"no_better_than": baselines[entry.model][0]} if entry.model in baselines else {}),
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


def boards_of_run(connection: Connection, run: RunRecord, comparable: Callable[[str, str], bool]) -> list[Board]:
    """Return the boards of the headline of one run, whose views `connection` shows; none if it has no scores."""
    schema = sql.name(run.benchmark)
    there = " or ".join(f"exists (from {schema}.{table})" for table in ("scores", "columns", "comparisons"))
    if connection.execute(f"select {there}").fetchall() != [(True,)]:
        return []
    return leaderboard(connection, [run], benchmarks=[run.benchmark], comparable=comparable)


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

    `requested` are measures to take instead, by benchmark, and `benchmarks` the benchmarks to show, by default all. The
    views of `connection` show the latest state of each. Models that ran only under versions that are not `comparable`
    with that of the newest run are left out, unless `anyway` is true.

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
        own_runs = by_benchmark[name]
        newest = next((run for run in own_runs if run.status not in ("stopped", "failed")), own_runs[0])
        plan = get_selected(connection, newest)
        incomparable = incomparable_models(newest, own_runs, comparable)
        measures = (
            [board_measure(plan, measure) for measure in requested[name]] if name in requested else headlines(plan)
        )
        with copied_scores(connection, name):
            boards += [
                _board(connection, plan, newest, own_runs, measure, incomparable, anyway) for measure in measures
            ]
    return boards


def _board(
    connection: Connection,
    plan: Plan,
    newest: RunRecord,
    runs: Sequence[RunRecord],
    measure: Measure,
    incomparable: Mapping[str, tuple[str, ...]],
    anyway: bool,
) -> Board:
    """Return the board of a measure over the runs of its benchmark."""
    models = {model for run in runs for model in run.models}
    left_out = {} if anyway else incomparable
    shown_runs = runs_of(connection, plan, measure)
    followed = followed_until_settled(shown_runs, runs)
    table = with_unread(connection, plan, evaluate(connection, plan, measure))
    rows = {row.model: row for row in reported_rows(table, followed) if row.model in models}
    unfinished = {} if anyway else stopped_early(followed)
    on_board = rows.keys() - left_out.keys() - unfinished.keys()
    rows_with_value = {model: row for model, row in rows.items() if row.value is not None and model in on_board}
    graders = graders_of(connection, plan, measure)
    partners = partner_models_of(plan, measure, shown_runs, runs)
    items = items_by_model(connection, plan, measure)
    conditions = {model: (graders.get(model), partners.get(model)) for model in rows_with_value}
    side = Side(connection, plan, tuple(conditions))
    differences = model_differences(side, measure, models=comparable_models(side, items, conditions))

    def compared(first: str, second: str) -> Estimate:
        if (sequence := sequential_difference(measure.name, followed, first, second)) is not None:
            return sequence
        difference = differences.get(((), first, second))
        if difference is None and ((), second, first) in differences:
            difference = negated(differences[(), second, first])
        if difference is None or difference.value is None:
            if partners.get(first) != partners.get(second):
                return Estimate.undefined(OTHER_ROLES)
            text = OTHER_GRADERS if graders.get(first) != graders.get(second) else "they share too few items"
            return Estimate.undefined(text)
        return replace(difference, p=p_value(difference))

    means = {model: Estimate(row.value, n=row.items) for model, row in rows_with_value.items()}
    not_ended = {run.run_id for run in runs if not run.ended}
    lower = is_lower_better(plan, measure)
    ranking = rank_by(means, compared, level=LEVEL, lower_is_better=lower)
    ranks = ranking.ranks
    numbers = [rank.rank for rank in ranks]
    entries = []
    for rank in ranks:
        row, own_runs = rows_with_value[rank.model], shown_runs.get(rank.model, ())
        if not_ended & set(own_runs):
            row = replace(row, coverage=None)
        entry = BoardEntry(
            **vars(row),
            rank=rank.rank,
            tied=numbers.count(rank.rank) > 1,
            letters=rank.letters,
            graders=graders.get(rank.model, ()),
            runs=own_runs,
            partner_models=partners.get(rank.model, ()),
        )
        entries.append(entry)
    return Board(
        newest.benchmark,
        newest.version,
        measure,
        tuple(entries),
        lower,
        left_out,
        partial_coverage(connection, shown_runs, runs, rows_with_value),
        {model: incomparable[model] for model in rows_with_value if model in incomparable},
        len({items.get(model) for model in rows_with_value}) <= 1,
        models_missing_steps(connection, plan, measure, rows_with_value),
        *_of_people(connection, plan, measure, models - set(left_out) - set(unfinished)),
        unfinished=unfinished,
        uncorrected={
            model: row.reason or ""
            for model, row in rows.items()
            if measure.corrected and row.value is None and model in on_board
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
        plan=plan,
        stopped=tuple(
            entry.model
            for entry in entries
            if any(entry.model in run.stopped_models for run in followed.get(entry.model, ()))
        ),
        differences={
            rank.model: {other: gap for (better, other), gap in ranking.differences.items() if better == rank.model}
            for rank in ranks
        },
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
    sign = 1 if is_lower_better(plan, measure) else -1
    valued.sort(key=lambda pair: (sign * pair[0], pair[1].model))
    return people, tuple(row for _, row in valued)


def comparable_models(
    side: Side, items: Mapping[str, frozenset[str]], conditions: Mapping[str, object]
) -> list[tuple[str, str]]:
    """Return every pair of models of a side that share enough `items` and have equal `conditions`, such as their
    graders."""
    clusters, pairs = clusters_of(side.connection, side.plan), []
    for first, second in combinations(side.models, 2):
        one, two = (items.get(model, frozenset()) for model in (first, second))
        both = one if one is two else one & two
        if conditions.get(first) == conditions.get(second) and count_clusters(both, clusters) >= LEAST_ITEMS:
            pairs.append((first, second))
    return pairs


def p_value(difference: Estimate) -> float | None:
    """Return the p-value of the difference of two models; None if they share too few items."""
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
        model: sum(sum(on_boards) / len(on_boards) for on_boards in by_benchmark.values()) / len(by_benchmark)
        for model, by_benchmark in rates.items()
        if len(by_benchmark) > 1
    }
    return dict(sorted(means.items(), key=lambda pair: (-pair[1], pair[0])))


class BoardNote(NamedTuple):
    """A note on a board. `caution` is true if a figure means less because of it."""

    kind: str
    text: str
    caution: bool = True


NOT_DISTINGUISHED = "and those are not distinguished"
WHOLE_COVERAGE = 0.995
"""With a lower coverage, a figure does not represent all scores."""


def is_short(row: MeasureRow) -> bool:
    """Return true if the coverage is too low for the figure to represent all scores."""
    return row.total > 0 and row.n / row.total < WHOLE_COVERAGE


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
        facets = " * ".join(board.measure.random)
        text = f"intervals and groups take {facets} as a sample: they speak of others like these too"
        notes.append(BoardNote("random", text, caution=False))
    for model, (counted, total) in board.counted_items.items():
        text = f"{model} stands on {counted:,} of {total:,} items: the others have too few samples with a value"
        notes.append(BoardNote("tries", text))
    notes += [BoardNote("clusters", clustering.sentence, caution=False) for clustering in board.clusterings]
    notes += [BoardNote("uncorrected", f"{model}: {why}") for model, why in board.uncorrected.items()]
    if board.graded_by_others:
        groups = _group_text(_groups((entry.model, entry.graders) for entry in board.entries), "by")
        notes.append(BoardNote("graders", f"not all were graded by the same, {NOT_DISTINGUISHED}: {groups}"))
    if board.has_other_partners:
        shared = set.intersection(*(set(entry.partner_models) for entry in board.entries))
        others = (
            (entry.model, tuple(name for name in entry.partner_models if name not in shared)) for entry in board.entries
        )
        groups = _group_text(_groups(others), "with")
        text = f"not all had the same models in the other roles, {NOT_DISTINGUISHED}: {groups}"
        notes.append(BoardNote("company", text))
    for baseline, value in dict.fromkeys(board.no_better_than.values()):
        models = [model for model, (name, _) in board.no_better_than.items() if name == baseline]
        notes.append(BoardNote("floor", f"not clear of a baseline: {', '.join(models)}: {baseline} gets {value:.3g}"))
    for model in board.partly:
        text = f"{model}: its last run was of another spec, or not of all scenarios: some scores are missing"
        notes.append(BoardNote("partly", text))
    if not board.same_items or len({entry.items for entry in board.entries}) > 1:
        notes.append(BoardNote("items", "not all have the same items; two are compared over those that both have"))
    if board.stopped:
        notes.append(BoardNote("stopped", f"{STOPPED_EARLY}, and so are ranks and letters: {', '.join(board.stopped)}"))
        notes.append(BoardNote("stopped", EXAGGERATED_DIFFERENCES))
    notes += [BoardNote("partial", f"{model}: {text}") for model, text in board.partial.items()]
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


MOST_NAMED = 3
"""The largest number of models that a sentence of a verdict names."""
MOST_ITEMS = 1_000_000
"""A verdict counts the items that would show a difference up to this number."""


def board_verdict(board: Board) -> list[str]:
    """Return in words what the differences between the best model and the others show, and how many items would show
    the nearest one that is not shown.

    Empty for fewer than two models, if two were not graded alike, and if the model with the best value is not the best
    one, since another is better on the items that both have.
    """
    differences = [difference for below in board.differences.values() for difference in below.values()]
    if len(board.entries) < 2 or not differences or any(difference.value is None for difference in differences):
        return []
    if board.entries[0].rank != 1:
        return []
    best, *others = (entry.model for entry in board.entries)
    sign = -1 if board.lower_is_better else 1
    beaten = [model for model in others if _is_shown(board.differences[best][model], sign)]
    equal = [model for model in others if model not in beaten]
    if len(others) > 1 and all(entry.rank == 1 for entry in board.entries):
        sentences = [f"no difference between the {len(board.entries):,} models is shown"]
    elif not beaten:
        sentences = [f"no difference between {best} and {_named(equal)} is shown"]
    elif not equal:
        sentences = [f"{best} is better than {_named(beaten)}"]
    else:
        sentences = [f"{best} is better than {_named(beaten)}; no difference from {_named(equal)} is shown"]
    if equal:
        sentences += _needed(best, equal[0], board)
    return sentences


def _is_shown(difference: Estimate, sign: int) -> bool:
    """Return true if the first of two models is significantly better."""
    return difference.p is not None and difference.p < LEVEL and sign * (difference.value or 0.0) > 0


def _named(models: Sequence[str]) -> str:
    return ", ".join(models) if len(models) <= MOST_NAMED else f"{len(models):,} others"


def _needed(first: str, second: str, board: Board) -> Iterator[str]:
    """Yield how many items, or clusters of items, would show the difference of two models with a power of 80 %, if it
    is what it seems.

    Differences that are shown stay so with more items, and Holm tests the next one at the level by the number of those
    that are left.
    """
    difference = board.differences[first][second]
    error, items = difference.standard_error, difference.clusters or difference.n
    if not difference.value or not error or not items:
        return
    shown = f"{abs(difference.value):.{decimals_of([difference.value, error])}f}"
    left = sum(each.p is None or each.p >= LEVEL for below in board.differences.values() for each in below.values())
    needed = items_needed(difference.value, items * error**2, level=LEVEL / max(left, 1)).value
    if needed is None or needed > MOST_ITEMS:
        pair = f"{first} and {second}"
        yield f"it would take more than {MOST_ITEMS:,} items to show a difference of {shown} between {pair}"
    elif needed > items:
        more = f"{needed:,.0f}"
        yield (
            f"if {first} and {second} differ by {shown}, about {more} clusters would show it; there are {items:,}"
            if board.clusterings
            else f"if {first} and {second} differ by {shown}, about {more} items would show it; there are {items:,}"
        )


def _unread_notes(board: Board) -> Iterable[BoardNote]:
    """Yield which models have scores without a value, and what their figures would be if these counted as wrong."""
    known = [entry.unread.figure for entry in board.entries if entry.unread is not None]
    decimals = decimals_of([entry.value for entry in board.entries] + known)
    for entry in board.entries:
        if entry.unread is not None and entry.unread.figure is not None:
            text = unread_sentence(entry.unread, entry.value, entry.n, entry.total, decimals)
            yield BoardNote("unread", f"{entry.model}: {text}")
        elif is_short(entry):
            counts = f"{percent(entry.n / entry.total)} of its scores have a value, {entry.n:,} of {entry.total:,}"
            yield BoardNote("short", f"{entry.model}: only {counts}")


def _groups(members: Iterable[tuple[str, tuple[str, ...]]]) -> dict[tuple[str, ...], list[str]]:
    """Return the models with the same names, by these names."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for model, names in members:
        groups[names].append(model)
    return groups


def _group_text(groups: Mapping[tuple[str, ...], Sequence[str]], between: str) -> str:
    """Return groups as text: "a, b by x; c by nobody", with `between` as the middle word."""
    return "; ".join(
        f"{', '.join(models)} {between} {', '.join(names) or 'nobody'}" for names, models in groups.items()
    )
