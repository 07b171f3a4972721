"""Where the figures of a picture come from: one run, or the latest state of a benchmark with all of its models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from tripos.plots.i18n import words_for
from tripos.plots.picture import nothing_to_draw
from tripos_compiler.diagnostics import nearest
from tripos_compiler.language.changes import are_comparable
from tripos_compiler.plan import Measure, Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures import MeasureTable, as_told, evaluate
from tripos_warehouse.query import Connection
from tripos_warehouse.report import PROVING, Board, leaderboard
from tripos_warehouse.store import Store
from tripos_warehouse.views import RunRecord, all_runs, connect, connect_run, dimension_label, get_selected


@dataclass(frozen=True)
class PlotOptions:
    """The choices of a picture: a `measure`, the `models`, and the `language` of its words."""

    language: str = "en"
    measure: str | None = None
    models: tuple[str, ...] = ()
    against: str | None = None
    """The evaluator that the judges are held against; without a name every person."""
    metric: str | None = None
    """The metric whose grades are drawn; without a name all."""
    cost: str = "usd"


@dataclass(frozen=True)
class PictureSource:
    """A connection that shows a run, or what is current of its benchmark where `whole`."""

    connection: Connection
    plan: Plan
    run: RunRecord
    runs: Sequence[RunRecord]
    options: PlotOptions
    whole: bool = False
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The title of the benchmark, or its name."""
        benchmark = self.plan.benchmark
        told = self.plan.title_of("benchmark", benchmark.name, self.options.language) or benchmark.title
        return told or f"{benchmark.name} {benchmark.version}"

    def title_of(self, measure: Measure) -> str:
        """Return the title of a measure in the language of the picture, or its name."""
        return self.plan.title_of("measure", measure.name, self.options.language) or measure.name

    @property
    def models(self) -> tuple[str, ...]:
        """The models that are drawn, in the order of the run or of their names."""
        every = (
            tuple(dict.fromkeys(model for run in self.runs for model in run.models)) if self.whole else self.run.models
        )
        wanted = self.options.models
        for name in wanted:
            if name not in every:
                close = nearest(name, every)
                hint = f"did you mean `{close}`?" if close else f"its models are {', '.join(every)}"
                raise StoreError("S0614", f"`{self.plan.benchmark.name}` has no model `{name}`", hint)
        return wanted or every

    @property
    def caution(self) -> tuple[str, ...]:
        """A note where a model stands in for a real one."""
        told = any(
            model.startswith(PROVING) for model in (*self.models, *(m for r in self.run.roles.values() for m in r))
        )
        return (self.words["caution"],) if told else ()

    @property
    def stopped(self) -> tuple[str, ...]:
        """A note where a model did not see all items, since the run stopped when it was settled."""
        return (self.words["stopped"],) if self.run.stopped_models & set(self.models) else ()

    def label(self, dimension: str, value: object) -> str:
        """Return the title of a value in the language of the picture, where the plan has one."""
        return dimension_label(self.plan, dimension, value, self.options.language)

    def measure(self, name: str) -> Measure:
        """Return a measure by its name. Raises `StoreError` S0602."""
        for measure in self.plan.measures:
            if measure.name == name:
                return measure
        names = [each.name for each in self.plan.measures]
        close = nearest(name, names)
        hint = f"did you mean `{close}`?" if close else f"its measures are {', '.join(names)}"
        raise StoreError("S0602", f"`{self.plan.benchmark.name}` has no measure `{name}`", hint)

    def evaluate(self, measure: Measure) -> MeasureTable:
        """Return the values of a measure for the models that are drawn. Raises `StoreError` S0621 without any."""
        table = evaluate(self.connection, self.plan, measure)
        models = self.models
        rows = [row for row in table.rows if row.model in models and row.value is not None]
        if not rows:
            raise nothing_to_draw(
                f"`{measure.name}` has no value in run `{self.run.run_id}`", "choose another: --measure"
            )
        rows.sort(key=lambda row: models.index(row.model))
        table = MeasureTable(measure, tuple(rows))
        return as_told(self.run, table)

    def board(self) -> Board:
        """Return the first board of the benchmark, or that of the wanted measure. Raises `StoreError` S0621 where no
        model has a value."""
        name = self.plan.benchmark.name
        wanted = {name: [self.options.measure]} if self.options.measure else {}
        runs = list(self.runs) if self.whole else [self.run]
        boards = leaderboard(self.connection, runs, wanted, benchmarks=[name], comparable=are_comparable)
        boards = [board for board in boards if any(each.model in self.models for each in board.standings)]
        if not boards:
            raise nothing_to_draw(f"no model of `{name}` has a value of a headline", "choose a measure: --measure")
        return boards[0]


@contextmanager
def opened(store: Store, run_id: str | None, options: PlotOptions, *, whole: bool) -> Iterator[PictureSource]:
    """Open what a picture shows. With `whole` and without a run it is the latest state of the benchmark of the last
    run. Raises `StoreError`."""
    connection, run = connect_run(store, run_id)
    with connection:
        runs = [each for each in all_runs(connection) if each.benchmark == run.benchmark]
        plan = get_selected(connection, run)
        words = words_for(options.language)
        if run_id is not None or not whole:
            yield PictureSource(connection, plan, run, runs, options, False, words)
            return
    with connect(store) as every:
        yield PictureSource(every, plan, run, runs, options, True, words)


@contextmanager
def opened_several(store: Store, run_ids: Sequence[str], options: PlotOptions) -> Iterator[list[PictureSource]]:
    """Open runs, the oldest first; without names all of the benchmark of the last run. The sources have all of their
    models, since one run may lack some. Raises `StoreError`, S0614 for a model that is in none of them."""
    with ExitStack() as stack:
        if not run_ids:
            with opened(store, None, options, whole=False) as source:
                run_ids = [run.run_id for run in source.runs]
        found = {}
        for name in run_ids:
            source = stack.enter_context(opened(store, name, replace(options, models=()), whole=False))
            found[source.run.run_id] = source
        sources = sorted(found.values(), key=lambda each: (each.run.started_at, each.run.run_id))
        every = tuple(dict.fromkeys(model for source in sources for model in source.run.models))
        for name in options.models:
            if name not in every:
                raise StoreError("S0614", f"these runs have no model `{name}`", f"their models are {', '.join(every)}")
        yield sources
