"""Calibration curves: the mean that people gave the replies to which a judge gave grades of a range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripos.plots.marks import titled_plots
from tripos.plots.picture import AnyChart, Picture, Row, data_of, nothing_to_draw
from tripos.plots.sources import PictureSource
from tripos.plots.theme import COLOURS, GREY, Style
from tripos_compiler.diagnostics import nearest

ACROSS = 3
"""Plots in a row."""


def calibration_picture(source: PictureSource) -> Picture:
    """Return the curve of every judge of a run on each metric that people graded. Raises `StoreError` S0621 where there
    is none."""
    from tripos_warehouse.measures.judges import report_judges

    options, words = source.options, source.words
    found = report_judges(source.connection, source.plan, source.run, against=_evaluator(source))
    rows: list[dict[str, Any]] = []
    for metric in found.metrics:
        if options.metric not in (None, metric.metric):
            continue
        for judge, curve in metric.calibrations.items():
            label = source.label("metric", metric.metric)
            own = {"part": f"{judge}, {label}", "judge": judge, "metric": label}
            rows += [
                {
                    **own,
                    "judged": each.judged,
                    "value": each.graded.value,
                    "low": each.graded.low,
                    "high": each.graded.high,
                    "n": each.graded.n,
                }
                for each in curve.bins
                if each.graded.value is not None
            ]
    if not rows:
        named = options.against or "a person"
        close = nearest(options.metric or "", [metric.metric for metric in found.metrics])
        hint = f"did you mean `{close}`?" if close else "have a person grade more replies: `tripos annotate --sample N`"
        raise nothing_to_draw(f"no judge graded enough of what {named} graded", hint)
    parts = list(dict.fromkeys(str(row["part"]) for row in rows))

    def draws(width: float, style: Style) -> AnyChart:
        plots = [(part, _curve(source, [row for row in rows if row["part"] == part], width, style)) for part in parts]
        return titled_plots(plots, style, ACROSS) if len(plots) > 1 else plots[0][1]

    people = ", ".join(found.people)
    judges = ", ".join(dict.fromkeys(str(row["judge"]) for row in rows))
    title = f"{source.title}: {words['calibration_title'].format(judges=judges, human=people)}"
    notes = (words["calibration_note"], words["interval"], *source.caution)
    return Picture("calibration", title, tuple(rows), notes, draws, several=min(ACROSS, len(parts)))


def _evaluator(source: PictureSource) -> str | None:
    """Return who stands in the place of people, as `judges` finds them."""
    wanted = source.options.against
    if wanted is None:
        return None
    from tripos_warehouse import sql
    from tripos_warehouse.store import HUMAN

    schema = sql.name(source.plan.benchmark.name)
    names = {
        name for (name,) in source.connection.execute(f"select distinct evaluator from {schema}.scores").fetchall()
    }
    return next((name for name in (wanted, f"{HUMAN}{wanted}") if name in names), wanted)


def _curve(source: PictureSource, rows: Sequence[Row], width: float, style: Style) -> AnyChart:
    """Return the curve of a judge on a metric, around the line on which people say the same."""
    import altair as alt

    words = source.words
    grades = [float(row[name]) for row in rows for name in ("judged", "value", "low", "high") if row[name] is not None]
    ends = min(grades), max(grades)
    room = max(0.1, (ends[1] - ends[0]) * 0.06)
    scale = alt.Scale(domain=[ends[0] - room, ends[1] + room], nice=False)
    axis = alt.Axis(tickCount=6, grid=True)
    x = alt.X("judged:Q", title=words["judge"].format(judge=rows[0]["judge"]), scale=scale, axis=axis)
    y = alt.Y("value:Q", title=words["people_mean"], scale=scale, axis=axis)
    line = alt.Chart(data_of([{"judged": end, "value": end} for end in ends]))
    line = line.mark_line(color=GREY, strokeWidth=0.8, strokeDash=[3, 2]).encode(x=x, y=y)
    data = data_of(rows)
    reach = alt.Chart(data).mark_rule(color=COLOURS[0], strokeWidth=1).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    curve = alt.Chart(data).mark_line(color=COLOURS[0], strokeWidth=1.2, point=True).encode(x=x, y=y)
    return alt.layer(line, reach, curve).properties(width=width, height=width)
