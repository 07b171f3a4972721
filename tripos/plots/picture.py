"""Pictures: their data and wording, the runs that figures come from, and the styles for papers and slides.

A chart is built once its width is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tripos.settings.option import POINTS
from tripos.settings.options import PlotParameters
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.language.plan_diff import are_comparable
from tripos_compiler.plan import Measure, Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import MeasureTable, with_sequential_intervals
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.report.leaderboard import Board, leaderboard
from tripos_warehouse.report.run_report import STAND_IN_PREFIXES
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect, connect_run
from tripos_warehouse.views.dimensions import dimension_label, reader_language_in
from tripos_warehouse.views.runs import RunRecord, all_runs, get_selected

if TYPE_CHECKING:
    import pyarrow as pa


COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
"""The palette of Okabe and Ito, which is distinguishable with any colour vision."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
DASHES = ([1, 0], [4, 2], [1, 2], [6, 2, 1, 2], [8, 3], [2, 1], [1, 1], [5, 1, 1, 1])
CONTINUOUS = "viridis"
"""The colour scale of a heat map. Its lightness increases evenly, so it works in grey and with any colour vision."""
LATIN_FONTS = "Liberation Sans, Arial, Helvetica"
WIDE_FONTS = "Noto Sans CJK SC, Source Han Sans SC, Microsoft YaHei, PingFang SC, sans-serif"
"""Fonts for Chinese, Japanese and Korean on common systems."""
GREY, PALE = "#555555", "#DDDDDD"


@dataclass(frozen=True)
class Style:
    """The style of a picture: the whole width and the text size in points, the font and the language. A `bare` picture
    has no title and no note, for papers with a caption."""

    width: float
    size: float
    font: str = LATIN_FONTS
    language: str = "en"
    bare: bool = False

    @property
    def fonts(self) -> str:
        """The fonts of a text, in order of preference."""
        return f"{self.font}, {WIDE_FONTS}"

    @property
    def wide_fonts(self) -> str:
        """The fonts of a text with Chinese, Japanese or Korean: the fonts after the first one, if given."""
        _, _, named = self.font.partition(",")
        return f"{named.strip()}, {WIDE_FONTS}" if named and self.font != LATIN_FONTS else WIDE_FONTS

    @property
    def step(self) -> float:
        """The height of a line with a mark and a label, in points."""
        return self.size * 2

    def with_changes(self, **changes: Any) -> Style:
        """Return the style with the changes that are not None."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})


SIZES: Mapping[str, Style] = {
    "column": Style(8.4 * POINTS["cm"], 7),
    "page": Style(17.4 * POINTS["cm"], 8),
    "slide": Style(25.4 * POINTS["cm"], 14),
}
"""Styles for a column and a page of a paper, and for a slide."""


def config_of(style: Style) -> dict[str, Any]:
    """Return the Vega-Lite configuration of fonts, lines and colours."""
    size, fonts = style.size, style.fonts
    label = {"labelFont": fonts, "labelFontSize": size, "labelLimit": 0}
    title = {"titleFont": fonts, "titleFontSize": size, "titleFontWeight": "normal", "titleLimit": 0}
    return {
        "font": fonts,
        "background": "white",
        "padding": 2,
        "axis": {
            **label,
            **title,
            "domainColor": GREY,
            "tickColor": GREY,
            "gridColor": PALE,
            "gridWidth": 0.5,
            "domainWidth": 0.5,
            "tickWidth": 0.5,
            "tickSize": 3,
            "titlePadding": size * 0.6,
        },
        "header": {**label, **title, "labelFontWeight": "bold"},
        "legend": {**label, **title, "symbolSize": size * 6, "rowPadding": 1, "symbolLimit": 0, "offset": size},
        "title": {
            "font": fonts,
            "fontSize": size * 1.2,
            "fontWeight": "bold",
            "anchor": "start",
            "frame": "bounds",
            "limit": 0,
            "subtitleFont": fonts,
            "subtitleFontSize": size * 0.9,
            "subtitleColor": GREY,
            "subtitlePadding": 2,
            "subtitleLineHeight": size * 1.2,
        },
        "view": {"strokeWidth": 0.5, "stroke": PALE},
        "text": {"font": fonts, "fontSize": size},
        "range": {"category": list(COLOURS), "symbol": list(SHAPES)},
    }


def colours_for(names: Sequence[str]) -> list[str]:
    """Return a colour for each name. They repeat after the eighth; shapes keep such names distinguishable."""
    return [COLOURS[place % len(COLOURS)] for place in range(len(names))]


def shapes_for(names: Sequence[str]) -> list[str]:
    """Return a shape for each name. Names that share a colour have different shapes."""
    many = len(SHAPES)
    return [SHAPES[(place + place // many) % many] for place in range(len(names))]


AnyChart = Any
"""An Altair chart of any class."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Picture:
    """A picture. `rows` are its figures, one for each mark, and `notes` state their basis, as a caption does. `draws`
    builds the chart for a width and a style."""

    kind: str
    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    draws: Callable[[float, Style], AnyChart]
    several: int = 1
    """The number of plots side by side, which share the width."""

    def to_arrow(self) -> pa.Table:
        """Return the rows as a table."""
        import pyarrow as pa

        return pa.Table.from_pylist([dict(row) for row in self.rows])


def nothing_to_draw(what: str, hint: str) -> StoreError:
    """Return the error for a run without the figures of a picture.

    >>> nothing_to_draw("no person graded a reply", "import grades").code
    'S0621'
    """
    return StoreError("S0621", f"nothing to draw: {what}", hint)


def data_of(rows: Sequence[Row]) -> Any:
    """Return rows as inline data of a chart."""
    import altair as alt

    return alt.Data(values=[dict(row) for row in rows])


@dataclass(frozen=True)
class PlotOptions:
    """The options of a picture: a `measure`, the `models`, and the `language` of its words."""

    language: str = "en"
    measure: str | None = None
    models: tuple[str, ...] = ()
    against: str | None = None
    """The evaluator that judges are compared with; by default all people."""
    metric: str | None = None
    """The metric whose grades are drawn; by default all."""
    cost: str = "usd"


@dataclass(frozen=True)
class PictureSource:
    """A connection that shows a run, or with `whole_benchmark` the current state of its benchmark with all models."""

    connection: Connection
    plan: Plan
    run: RunRecord
    runs: Sequence[RunRecord]
    options: PlotOptions
    whole_benchmark: bool = False
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The title of the benchmark, or its name and version."""
        benchmark = self.plan.benchmark
        text = self.plan.title_of("benchmark", benchmark.name, self.options.language) or benchmark.title
        return text or f"{benchmark.name} {benchmark.version}"

    def title_of(self, measure: Measure) -> str:
        """Return the title of a measure in the picture's language, or its name."""
        return self.plan.title_of("measure", measure.name, self.options.language) or measure.name

    @property
    def models(self) -> tuple[str, ...]:
        """The models to draw, in the order requested or of the run. Raises `StoreError` S0614 for an unknown model."""
        every = (
            tuple(dict.fromkeys(model for run in self.runs for model in run.models))
            if self.whole_benchmark
            else self.run.models
        )
        wanted = self.options.models
        for name in wanted:
            if name not in every:
                hint = suggest(name, every, f"its models are {', '.join(every)}")
                raise StoreError("S0614", f"`{self.plan.benchmark.name}` has no model `{name}`", hint)
        return wanted or every

    @property
    def caution(self) -> tuple[str, ...]:
        """A note if a model is a mock or a small local one."""
        told = any(
            model.startswith(STAND_IN_PREFIXES)
            for model in (*self.models, *(m for r in self.run.roles.values() for m in r))
        )
        return (self.words["caution"],) if told else ()

    @property
    def stopped(self) -> tuple[str, ...]:
        """A note if a model did not see all items because the run stopped early."""
        return (self.words["stopped"],) if self.run.stopped_models & set(self.models) else ()

    def label(self, dimension: str, value: object) -> str:
        """Return the title of a dimension's value in the picture's language."""
        return dimension_label(self.plan, dimension, value, self.options.language)

    def measure(self, name: str) -> Measure:
        """Return the measure with this name. Raises `StoreError` S0602."""
        for measure in self.plan.measures:
            if measure.name == name:
                return measure
        names = [each.name for each in self.plan.measures]
        hint = suggest(name, names, f"its measures are {', '.join(names)}")
        raise StoreError("S0602", f"`{self.plan.benchmark.name}` has no measure `{name}`", hint)

    def evaluate(self, measure: Measure) -> MeasureTable:
        """Return the values of a measure for the drawn models. Raises `StoreError` S0621 if there are none."""
        table = evaluate(self.connection, self.plan, measure)
        models = self.models
        rows = [row for row in table.rows if row.model in models and row.value is not None]
        if not rows:
            raise nothing_to_draw(
                f"`{measure.name}` has no value in run `{self.run.run_id}`", f"choose another: {PlotParameters.measure}"
            )
        rows.sort(key=lambda row: models.index(row.model))
        table = replace(table, rows=tuple(rows))
        return with_sequential_intervals(self.run, table)

    def board(self) -> Board:
        """Return the first board of the benchmark, or the board of the requested measure. Raises `StoreError` S0621 if
        no model has a value."""
        name = self.plan.benchmark.name
        wanted = {name: [self.options.measure]} if self.options.measure else {}
        runs = list(self.runs) if self.whole_benchmark else [self.run]
        boards = leaderboard(self.connection, runs, wanted, benchmarks=[name], comparable=are_comparable)
        boards = [board for board in boards if any(entry.model in self.models for entry in board.entries)]
        if not boards:
            raise nothing_to_draw(
                f"no model of `{name}` has a value of a headline", f"choose a measure: {PlotParameters.measure}"
            )
        return boards[0]


@contextmanager
def open_source(store: Store, run_id: str | None, options: PlotOptions, *, whole: bool) -> Iterator[PictureSource]:
    """Open the source of a picture. With `whole` and no run it is the current state of the benchmark of the latest run.
    Raises `StoreError`."""
    connection, run = connect_run(store, run_id)
    with connection:
        runs = [record for record in all_runs(connection) if record.benchmark == run.benchmark]
        plan = get_selected(connection, run)
        options = replace(options, language=reader_language_in(options.language, [plan]))
        words = words_for(options.language)
        if run_id is not None or not whole:
            yield PictureSource(connection, plan, run, runs, options, False, words)
            return
    with connect(store) as store_connection:
        yield PictureSource(store_connection, plan, run, runs, options, True, words)


@contextmanager
def open_sources(store: Store, run_ids: Sequence[str], options: PlotOptions) -> Iterator[list[PictureSource]]:
    """Open several runs, oldest first; by default all runs of the latest run's benchmark. The sources have no filter of
    models, since a run may lack some. Raises `StoreError`, S0614 for a model that no run has."""
    with ExitStack() as stack:
        if not run_ids:
            with open_source(store, None, options, whole=False) as source:
                run_ids = [run.run_id for run in source.runs]
        picture_sources = {}
        for name in run_ids:
            source = stack.enter_context(open_source(store, name, replace(options, models=()), whole=False))
            picture_sources[source.run.run_id] = source
        sources = sorted(
            picture_sources.values(),
            key=lambda picture_source: (picture_source.run.started_at, picture_source.run.run_id),
        )
        every = tuple(dict.fromkeys(model for source in sources for model in source.run.models))
        for name in options.models:
            if name not in every:
                raise StoreError("S0614", f"these runs have no model `{name}`", f"their models are {', '.join(every)}")
        yield sources


ENGLISH = {
    "model": "model",
    "scenario": "scenario",
    "metric": "metric",
    "interval": "lines: intervals of 95 %",
    "letters": "models that share a letter are not distinguished (Holm, 5 %)",
    "n": "n = {n} scores of {items} items; coverage {coverage}",
    "share": "place on the scale",
    "share_note": "0 is the lowest mark of a scale and 1 the highest; n = {n} scores a cell",
    "radar_note": "from the lowest mark of the scale in the middle to the highest at the rim",
    "gain_note": "against {against}",
    "human": "grade by {human}",
    "judge": "grade by {judge}",
    "judges_title": "{judges} against {human}",
    "judged": "{n} scores; the same {exact}, at most one apart {within}, r = {r}",
    "judges_note": "the area of a disc is the number of scores; on the line, both gave the same",
    "calibration_title": "calibration of {judges} by {human}",
    "calibration_note": "on the dashed line people gave on average what the judge gave",
    "people_mean": "mean grade by people",
    "scores": "scores",
    "items": "items",
    "power": "power",
    "difference": "true difference",
    "power_note": "{a} and {b}, same {items} items: standard error of their difference in {measure}: {error}",
    "bound_note": "largest variance that the scale of {measure} allows; same items, correlation 0.5; {items} items",
    "detects": "{items} items find a difference of {difference} with a power of 80 % (two-sided, 5 %)",
    "usd": "USD for 1,000 replies",
    "tokens": "tokens written per reply",
    "seconds": "seconds per reply (median)",
    "cost_note": "replies of the model under test alone, without judges",
    "left_out": "left out, without a known price: {models}",
    "partly_unknown": "replies without a known cost, which the cost leaves out: {replies}",
    "frontier": "line: models that no other beats at the same cost or less",
    "caution": "figures of mock or small local models: they say nothing about any model's worth",
    "stopped": "stopped early: intervals are those of confidence sequences; values exaggerate how far models are apart",
    "lower": "lower is better",
    "changed": "scores mean something else from run {run} on",
    "ended": "run {run} is {status}, so some is missing",
    "valueless": "without a value: {runs}",
    "between": "; ",
    "title_heatmap": "by scenario and metric",
    "title_power": "power",
    "title_cost": "cost and score",
}
CHINESE = {
    "model": "模型",
    "scenario": "场景",
    "metric": "指标",
    "interval": "线段为 95 % 区间",
    "letters": "字母相同的模型无显著差异（Holm 校正，5 %）",
    "n": "n = {n} 个评分，{items} 个题目；覆盖率 {coverage}",
    "share": "在量表上的位置",
    "share_note": "0 为量表最低分，1 为最高分；每格 n = {n} 个评分",
    "radar_note": "中心为量表最低分，外圈为最高分",
    "gain_note": "与 {against} 相比",
    "human": "{human} 的评分",
    "judge": "{judge} 的评分",
    "judges_title": "{judges} 与 {human} 对照",
    "judged": "{n} 个评分；相同 {exact}，相差不超过 1 分 {within}，r = {r}",
    "judges_note": "圆面积为评分个数；斜线上双方评分相同",
    "calibration_title": "{judges} 由 {human} 校准",
    "calibration_note": "虚线上人工评分的均值与评审相同",
    "people_mean": "人工评分均值",
    "scores": "评分数",
    "items": "题目数",
    "power": "检验功效",
    "difference": "真实差异",
    "power_note": "{a} 与 {b}，同一批 {items} 个题目：{measure} 之差的标准误为 {error}",
    "bound_note": "按 {measure} 量表允许的最大方差；题目相同，相关系数 0.5；{items} 个题目",
    "detects": "{items} 个题目能以 80 % 的功效检出 {difference} 的差异（双侧，5 %）",
    "usd": "每千次回答的美元",
    "tokens": "每次回答的输出词元数",
    "seconds": "每次回答的秒数（中位数）",
    "cost_note": "仅计被测模型的回答，不含评审",
    "left_out": "价格未知，未画出：{models}",
    "partly_unknown": "费用未知、未计入费用的回答：{replies}",
    "frontier": "折线：在同等或更低成本下无其他模型胜过的模型",
    "caution": "图中含模拟模型或小型本地模型，数值不说明任何模型的优劣",
    "stopped": "提前停止：区间是置信序列的区间；数值夸大了模型之间的差距",
    "lower": "越低越好",
    "changed": "从运行 {run} 起，分数的含义不同",
    "ended": "运行 {run} 没有完成，因此缺少一部分",
    "valueless": "没有数值：{runs}",
    "between": "；",
    "title_heatmap": "按场景与指标",
    "title_power": "检验功效",
    "title_cost": "成本与得分",
}
WORDS: Mapping[str, Mapping[str, str]] = {"en": ENGLISH, "zh": CHINESE}


def words_for(language: str) -> Mapping[str, str]:
    """Return the words for a language; English if there are none.

    >>> words_for("zh")["model"], words_for("fr")["model"]
    ('模型', 'model')
    """
    return WORDS.get(language, ENGLISH)
