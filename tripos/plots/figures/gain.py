"""The learning gain: how far a figure under each arm lies above the same figure under the arm that it starts from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tripos.plots.marks import estimates, titled_plots
from tripos.plots.picture import AnyChart, Picture, Row, nothing_to_draw
from tripos.plots.sources import PictureSource
from tripos.plots.theme import Style
from tripos_compiler.plan import Figure, Formula, Measure, Measured, Plan
from tripos_warehouse.report import counts_of


def gain_picture(source: PictureSource) -> Picture:
    """Return the picture of a gain. Raises `StoreError` S0621 for a benchmark without one."""
    measure = _measure(source)
    start = base_of(source.plan, measure.figure)
    table, words, named = source.evaluate(measure), source.words, source.title_of(measure)
    rows = [row for row in table.rows if not _is_start(measure, row.by, start)]
    if not rows:
        raise nothing_to_draw(f"`{measure.name}` has no value beside what it starts from", "choose another: --measure")
    if len(measure.by) > 2:
        raise nothing_to_draw(f"`{measure.name}` goes by more than two dimensions", "choose another: --measure")
    several = len({row.model for row in rows}) > 1 and bool(measure.by)
    models = [model for model in source.models if any(row.model == model for row in rows)] if several else []
    shown = tuple(
        {
            "model": row.model,
            "row": source.label(measure.by[-1], row.by[-1]) if measure.by else row.model,
            **({"part": source.label(measure.by[0], row.by[0])} if len(measure.by) == 2 else {}),
            "value": row.value,
            "low": row.interval_low,
            "high": row.interval_high,
            "items": row.items,
            "n": row.n,
        }
        for row in rows
    )
    order = list(dict.fromkeys(str(row["row"]) for row in shown))
    parts = list(dict.fromkeys(str(row["part"]) for row in shown if "part" in row))

    def draws(width: float, style: Style) -> AnyChart:
        def plot(some: Sequence[Row]) -> AnyChart:
            return estimates(some, width, style, y="row", title=named, order=order, models=models, zero=True)

        if not parts:
            return plot(shown)
        return titled_plots([(part, plot([row for row in shown if row["part"] == part])) for part in parts], style, 1)

    against = ", ".join(f"{name}: {source.label(name, value)}" for name, value in start.items())
    notes = (
        words["gain_note"].format(against=against),
        counts_of(rows, words["n"]),
        words["interval"],
        *source.stopped,
        *source.caution,
    )
    return Picture("gain", f"{source.title}: {named}", shown, notes, draws)


def _measure(source: PictureSource) -> Measure:
    """Return the wanted measure, or the first that is a gain; one by the arm that it is a gain of comes first."""
    if source.options.measure is not None:
        wanted = source.measure(source.options.measure)
        if not base_of(source.plan, wanted.figure):
            told = f"`{wanted.name}` is no difference to an arm or a slice"
            raise nothing_to_draw(told, "a gain is such as `right - right[teaching: none]`")
        return wanted
    gains = [(each, base) for each in source.plan.measures if (base := base_of(source.plan, each.figure))]
    if not gains:
        hint = "declare one, such as `measure gain = right - right[teaching: none] by teaching`"
        raise nothing_to_draw(f"`{source.plan.benchmark.name}` has no measure of a gain", hint)
    return next((each for each, base in gains if set(base) & set(each.by)), gains[0][0])


def base_of(plan: Plan, figure: Figure) -> dict[str, str]:
    """Return the slice that a figure is a difference to, such as `{"teaching": "none"}`; nothing for any other."""
    return next(_bases({measure.name: measure.figure for measure in plan.measures}, figure), {})


def _bases(measures: dict[str, Figure], figure: Figure) -> Iterator[dict[str, str]]:
    match figure:
        case Formula(operator="-", values=(_, Measured(slice=slice_))) if slice_:
            yield slice_
        case Formula(values=values):
            for value in values:
                yield from _bases(measures, value)
        case Measured(measure=name):
            yield from _bases(measures, measures[name])


def _is_start(measure: Measure, by: tuple[object, ...], start: dict[str, str]) -> bool:
    """Return true for the cell that a gain starts from, which is 0 by definition."""
    named = dict(zip(measure.by, by, strict=True))
    return bool(set(start) & set(named)) and all(
        str(named[name]) == value for name, value in start.items() if name in named
    )
