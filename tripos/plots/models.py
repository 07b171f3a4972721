"""Pictures that compare models: leaderboards, a headline over several runs, cost against score, and power curves.

In the picture of runs, a line joins the values of a model as long as their meaning is unchanged; it is broken where
`tripos history` breaks it. A power curve is the probability that a test detects a true difference of two models, by the
number of items.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tripos.plots.chart import colour_of, estimates, shape_of
from tripos.plots.picture import (
    COLOURS,
    DASHES,
    GREY,
    AnyChart,
    Picture,
    PictureSource,
    Style,
    data_of,
    nothing_to_draw,
)
from tripos.settings.options import PlotParameters
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.plan import Measure
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.differences import model_differences
from tripos_warehouse.measures.sides import Side, items_by_model
from tripos_warehouse.query.results import run_query
from tripos_warehouse.report.history import history_of
from tripos_warehouse.report.leaderboard import Board, board_notes, headlines
from tripos_warehouse.report.tables import counts_of
from tripos_warehouse.statistics.power import detectable_difference, paired_variance, power_of
from tripos_warehouse.store.store import Store


def leaderboard_picture(source: PictureSource) -> Picture:
    """Return the picture of a leaderboard. Raises `StoreError` S0621 if no model has a value."""
    board, words = source.board(), source.words
    named = source.title_of(board.measure)
    entries = [entry for entry in board.entries if entry.model in source.models]
    if not entries:
        raise nothing_to_draw("no model has a value", "run the benchmark first")
    rows = tuple(
        {
            "model": entry.model,
            "value": entry.value,
            "low": entry.low,
            "high": entry.high,
            "rank": f"{entry.rank}{'=' if entry.tied else ''}",
            "letters": entry.letters,
            "items": entry.items,
            "n": entry.n,
        }
        for entry in entries
    )
    lower = (words["lower"],) if board.lower_is_better else ()
    texts = (
        localized(board_note.text, source.options.language) for board_note in board_notes(board) if board_note.caution
    )
    notes = (counts_of(entries, words["n"]), words["interval"], words["letters"], *lower, *texts, *source.caution)

    def draws(width: float, style: Style) -> AnyChart:
        return estimates(
            rows,
            width,
            style,
            y="model",
            title=named,
            order=[str(row["model"]) for row in rows],
            beside="letters",
        )

    title = f"{source.title}: {named}"
    return Picture("leaderboard", title, rows, notes, draws)


# Several runs
def runs_picture(store: Store, sources: Sequence[PictureSource], wanted: Sequence[str] = ()) -> Picture:
    """Return the picture of a measure over runs of one benchmark, for `wanted` models or all. Raises `StoreError` S0621
    if no run has a value, or the runs belong to several benchmarks."""
    last = sources[-1]
    names = sorted({source.run.benchmark for source in sources})
    if len(names) > 1:
        raise nothing_to_draw(f"the runs are of {len(names)} benchmarks, {', '.join(names)}", "name runs of one")
    measure = last.options.measure or last.board().measure.name
    found = [(source.run, board) for source in sources if (board := _board(source, measure)) is not None]
    segments = _segments(store, names[0], measure)
    rows = tuple(
        {
            "run": run.run_id,
            "model": entry.model,
            "segment": segments.get((run.run_id, entry.model)),
            "value": entry.value,
            "low": entry.low,
            "high": entry.high,
            "items": entry.items,
            "n": entry.n,
            "version": run.version,
        }
        for run, board in found
        for entry in board.entries
        if not wanted or entry.model in wanted
    )
    if not rows:
        raise nothing_to_draw(f"`{measure}` has no value in these runs", f"choose another: {PlotParameters.measure}")
    words, named = last.words, last.title_of(last.measure(measure))
    models = tuple(wanted) or tuple(dict.fromkeys(str(row["model"]) for row in rows))
    texts = tuple(dict.fromkeys(str(row["run"]) for row in rows))
    without = [source.run.run_id for source in sources if source.run.run_id not in texts]
    told = [words["changed"].format(run=run) for run in _breaks(rows)]
    told += [words["ended"].format(run=run.run_id, status=run.status) for run, _ in found if not run.ended]
    told += [words["valueless"].format(runs=", ".join(without))] if without else []
    lower = (words["lower"],) if found[-1][1].lower_is_better else ()

    def draws(width: float, style: Style) -> AnyChart:
        return estimates(rows, width, style, y="run", title=named, order=texts, models=models, joined="segment")

    cautions = dict.fromkeys(note for source in sources for note in (*source.stopped, *source.caution))
    notes = (words["interval"], *lower, *told, *cautions)
    return Picture("runs", f"{last.title}: {named}", rows, notes, draws)


def _board(source: PictureSource, measure: str) -> Board | None:
    """Return a run's board of a measure, or None if it has no value."""
    try:
        board = replace(source, options=replace(source.options, measure=measure)).board()
    except StoreError as error:
        if error.code in ("S0602", "S0621"):
            return None
        raise
    return board if board.entries else None


def _segments(store: Store, benchmark: str, measure: str) -> dict[tuple[str, str], int]:
    """Return the segment of the history that each value belongs to, by run and model. Unfinished runs have none."""
    history = history_of(store, measure, benchmark)
    return {
        (point.run.run_id, line.model): point.segment
        for line in history.lines
        for point in line.points
        if point.segment is not None
    }


def _breaks(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the runs at which a model's line is broken, in order."""
    before: dict[str, int] = {}
    found: dict[str, None] = {}
    for row in rows:
        if (segment := row["segment"]) is not None:
            if before.get(row["model"], segment) != segment:
                found[row["run"]] = None
            before[row["model"]] = segment
    return list(found)


# Cost against score
LOG_RATIO = 20
"""Ratio of the largest to the smallest cost beyond which the axis is logarithmic."""


def cost_picture(source: PictureSource) -> Picture:
    """Return the picture of a headline over the cost of replies. Raises `StoreError` S0621 if no model has both, or all
    costs are zero."""
    board, words, options = source.board(), source.words, source.options
    spent = _reply_costs(source)
    named = source.title_of(board.measure)
    standings = [entry for entry in board.entries if entry.model in source.models]
    entries = [standing for standing in standings if standing.model in spent and spent[standing.model].cost is not None]
    gone = [standing.model for standing in standings if standing not in entries]
    partial = [
        f"{entry.model} {cost.unknown:,}/{cost.replies:,}" for entry in entries if (cost := spent[entry.model]).unknown
    ]
    rows = tuple(
        {
            "model": entry.model,
            "cost": spent[entry.model].cost,
            "value": entry.value,
            "low": entry.low,
            "high": entry.high,
            "items": entry.items,
            "n": entry.n,
        }
        for entry in entries
    )
    if not any(row["cost"] for row in rows):
        hint = (
            f"give prices in tripos.toml, or draw another cost: {PlotParameters.cost} tokens, "
            f"{PlotParameters.cost} seconds"
        )
        raise nothing_to_draw(f"no model of the run has a cost in {options.cost}", hint)
    costs = [float(row["cost"]) for row in rows]  # type: ignore[arg-type]
    wide = min(costs) > 0 and max(costs) / min(costs) > LOG_RATIO
    lower = board.lower_is_better
    best = _frontier(rows, lower)

    def draws(width: float, style: Style) -> AnyChart:
        import altair as alt

        models = [str(row["model"]) for row in rows]
        scale = alt.Scale(type="log", nice=True) if wide else alt.Scale(zero=True, nice=True)
        x = alt.X("cost:Q", title=words[options.cost], scale=scale)
        ends = {"zero": False, "nice": True}
        y = alt.Y("value:Q", title=named, scale=alt.Scale(**ends))
        base = alt.Chart(data_of(rows))
        line = alt.Chart(data_of(best)).mark_line(
            interpolate="step-after", color=GREY, strokeDash=[3, 2], strokeWidth=0.8
        )
        span = base.mark_rule(strokeWidth=style.size / 6).encode(
            x=x,
            y=alt.Y("low:Q", title=named, scale=alt.Scale(**ends)),
            y2="high:Q",
            color=colour_of(models, width, style),
        )
        dots = base.mark_point(filled=True, size=style.size**2, opacity=1).encode(
            x=x, y=y, color=colour_of(models, width, style), shape=shape_of(models, width, style)
        )
        return alt.layer(line.encode(x=x, y=y), span, dots).properties(width=width, height=width * 0.6)

    notes = (
        counts_of(entries, words["n"]),
        words["interval"],
        words["cost_note"],
        words["frontier"],
        *((words["lower"],) if lower else ()),
        *((words["partly_unknown"].format(replies=", ".join(partial)),) if partial else ()),
        *((words["left_out"].format(models=", ".join(gone)),) if gone else ()),
        *source.caution,
    )
    return Picture("cost", f"{source.title}: {words['title_cost']}, {named}", rows, notes, draws)


@dataclass(frozen=True)
class _ReplyCost:
    """The cost of a model's replies: USD for a thousand, tokens for one, or the median seconds of one, over the
    `replies` with known cost. None if no cost is known."""

    cost: float | None
    replies: int
    unknown: int


def _reply_costs(source: PictureSource) -> dict[str, _ReplyCost]:
    """Return the cost of every model's replies. A failed call is not a reply; its cost counts if it is known."""
    taken = {"tokens": "tokens_out", "seconds": "latency_s"}.get(source.options.cost, "cost_usd")
    total = f"median(reply.{taken})" if taken == "latency_s" else f"sum(reply.{taken}) / count(reply.{taken})"
    # One row for each model. A reply of several runs counts once.
    query = f"""
        select reply.model, {total}::double as cost, count(*) as replies, count(*) - count(reply.{taken}) as unknown
        from (
          select distinct model, sample_id, status, {taken} from {sql.name(source.plan.benchmark.name)}.samples
          where role = {sql.text(source.run.compared_role)}) as reply
        where reply.status not in ('undefined', 'not_applicable')
          and not (reply.status = 'provider_error' and reply.{taken} is null)
        group by reply.model"""
    factor = 1000 if taken == "cost_usd" else 1
    return {
        row["model"]: _ReplyCost(None if row["cost"] is None else factor * row["cost"], row["replies"], row["unknown"])
        for row in run_query(source.connection, query).to_pylist()
    }


def _frontier(rows: Any, lower: bool) -> list[dict[str, Any]]:
    """Return the models that no other beats at the same or lower cost, cheapest first."""
    sign = -1.0 if lower else 1.0
    found: list[dict[str, Any]] = []
    for row in sorted(rows, key=lambda each: (each["cost"], -sign * each["value"])):
        if not found or sign * row["value"] > sign * found[-1]["value"]:
            found.append({"cost": row["cost"], "value": row["value"]})
    return found


# Power
WANTED_POWER = 0.8
TIMES = (0.5, 0.75, 1.0, 1.5)
"""The differences to draw, as multiples of the difference that the run's items detect."""
POINTS = 60


@dataclass(frozen=True)
class _Design:
    """The variance of a paired difference between items, the number of items, and a note on their source."""

    variance: float
    items: int
    note: str


def power_picture(source: PictureSource) -> Picture:
    """Return power curves for differences around the one that the run's items detect. Raises `StoreError` S0621 if the
    variance is unknown."""
    measure, words = _measure(source), source.words
    design = _design(source, measure)
    least = detectable_difference(design.items, design.variance, power=WANTED_POWER).value
    if not least:
        raise nothing_to_draw(f"two models never differ in `{measure.name}`", "choose a measure in which models differ")
    span = None if measure.low is None or measure.high is None else measure.high - measure.low
    differences = [
        difference
        for difference in dict.fromkeys(_rounded(least * times) for times in TIMES)
        if span is None or difference < span
    ]
    most = max(design.items * 2, 20)
    counts = sorted({max(2, round(most * at / POINTS)) for at in range(1, POINTS + 1)} | {design.items})
    rows: list[dict[str, Any]] = [
        {
            "items": items,
            "difference": f"{difference:g}",
            "power": power_of(difference, items, design.variance).value,
        }
        for difference in differences
        for items in counts
    ]
    text = words["detects"].format(items=f"{design.items:,}", difference=f"{least:.2g}")

    def draws(width: float, style: Style) -> AnyChart:
        import altair as alt

        named = [f"{difference:g}" for difference in differences]
        colour = alt.Color(
            "difference:N",
            title=words["difference"],
            sort=named,
            scale=alt.Scale(domain=named, range=list(COLOURS[: len(named)])),
            legend=alt.Legend(
                orient="top",
                titleOrient="left",
                columns=max(1, min(len(named), int((width - style.size * 8) / (style.size * 6)))),
                symbolType="stroke",
                symbolStrokeWidth=style.size / 5,
                symbolSize=(style.size * 2) ** 2,
            ),
        )
        dash = alt.StrokeDash(
            "difference:N",
            title=words["difference"],
            sort=named,
            scale=alt.Scale(domain=named, range=list(DASHES[: len(named)])),
        )
        x = alt.X("items:Q", title=words["items"], scale=alt.Scale(domain=[0, most], nice=False))
        y = alt.Y("power:Q", title=words["power"], scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%"))
        lines = (
            alt.Chart(data_of(rows))
            .mark_line(strokeWidth=style.size / 5)
            .encode(x=x, y=y, color=colour, strokeDash=dash)
        )
        rule: dict[str, Any] = {"color": GREY, "strokeWidth": 0.8}
        wanted = alt.Chart(data_of([{"power": WANTED_POWER}])).mark_rule(**rule).encode(y=y)
        here = alt.Chart(data_of([{"items": design.items}])).mark_rule(**rule).encode(x=x)
        return alt.layer(wanted, here, lines).properties(width=width, height=width * 0.6)

    notes = (text, design.note, *source.caution)
    return Picture(
        "power", f"{source.title}: {words['title_power']}, {source.title_of(measure)}", tuple(rows), notes, draws
    )


def _measure(source: PictureSource) -> Measure:
    if source.options.measure is not None:
        return source.board().measure
    measures = headlines(source.plan)
    if not measures:
        raise nothing_to_draw(
            "no measure comes to one value for each model", f"choose a measure: {PlotParameters.measure}"
        )
    return measures[0]


def _design(source: PictureSource, measure: Measure) -> _Design:
    """Return the variance of the difference between the first two drawn models. With a single model, it is the largest
    that the scale allows, as in `tripos plan`."""
    words = source.words
    of_model = items_by_model(source.connection, source.plan, measure)
    models = [model for model in source.models if of_model.get(model)]
    if len(models) >= 2:
        a, b = models[:2]
        side = Side(source.connection, source.plan, (a, b))
        estimate = model_differences(side, measure).get(((), a, b))
        if estimate is not None and estimate.standard_error and estimate.clusters:
            error = f"{estimate.standard_error:.2g}"
            text = words["power_note"].format(
                a=a, b=b, items=f"{estimate.clusters:,}", measure=measure.name, error=error
            )
            return _Design(estimate.standard_error**2 * estimate.clusters, estimate.clusters, text)
    if measure.low is None or measure.high is None or not models:
        text = f"two models show no error of their difference in `{measure.name}`, and its scale has no ends"
        raise nothing_to_draw(
            text, f"run two models, or choose a measure whose scale has ends: {PlotParameters.measure}"
        )
    items = len(of_model[models[0]])
    largest = ((measure.high - measure.low) / 2) ** 2
    text = words["bound_note"].format(measure=measure.name, items=f"{items:,}")
    return _Design(paired_variance(largest, largest, 0.5), items, text)


def _rounded(value: float) -> float:
    """Return a number rounded to two significant digits.

    >>> _rounded(0.12345), _rounded(13.7)
    (0.12, 14.0)
    """
    return round(value, 1 - math.floor(math.log10(abs(value))))
