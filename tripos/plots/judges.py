"""Pictures of judges: their grades against those of people, and calibration curves.

A calibration curve is the mean grade by people of the replies that a judge gave grades in a range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripos.plots.chart import titled_plots
from tripos.plots.picture import COLOURS, GREY, AnyChart, Picture, PictureSource, Row, Style, data_of, nothing_to_draw
from tripos.settings.options import AnnotateParameters, PlotParameters
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.text_format import percent
from tripos_warehouse import sql
from tripos_warehouse.query.results import run_query
from tripos_warehouse.store.schemas import HUMAN

PLOT_COLUMNS = 3
"""Plots in a row."""


def judges_picture(source: PictureSource) -> Picture:
    """Return the picture of every judge and person who graded the same replies, by metric. Raises `StoreError` S0621 if
    there is no such pair."""
    schema, words = sql.name(source.plan.benchmark.name), source.words
    one = sql.text(source.options.metric) if source.options.metric else "null"
    pairs = run_query(source.connection, f"from {schema}.agreement(metric := {one})").to_pylist()
    people = _people(source, {name for pair in pairs for name in (pair["evaluator_a"], pair["evaluator_b"])})
    rows: list[dict[str, Any]] = []
    texts: list[str] = []
    for pair in pairs:
        names = pair["evaluator_a"], pair["evaluator_b"]
        if len(people & set(names)) != 1:
            continue
        human, judge = names if names[0] in people else names[::-1]
        r = "—" if pair["correlation"] is None else f"{pair['correlation']:.2f}"
        stats = words["judged"].format(
            n=f"{pair['n']:,}", exact=percent(pair["exact"]), within=percent(pair["within_1"]), r=r
        )
        metric = source.label("metric", pair["metric"])
        part = f"{judge} | {human}, {metric}" if len(people) > 1 else f"{judge}, {metric}"
        texts.append(f"{part}: {stats}")
        own = {"part": part, "human": human, "judge": judge, "metric": metric}
        rows += [{**own, **count} for count in _counts(source, human, judge, pair["metric"])]
    if not rows:
        named = source.options.against
        hint = (
            "have a person grade (`tripos annotate`, `tripos import scores`), or name a judge: "
            f"{PlotParameters.against} NAME"
        )
        raise nothing_to_draw(f"no judge graded what {named or 'a person'} graded", hint)
    parts = list(dict.fromkeys(str(row["part"]) for row in rows))
    human = ", ".join(sorted({str(row["human"]) for row in rows}))

    def draws(width: float, style: Style) -> AnyChart:
        each = {part: [row for row in rows if row["part"] == part] for part in parts}
        plots = [(part, _disc_plot(source, own, width, style)) for part, own in each.items()]
        return titled_plots(plots, style, PLOT_COLUMNS) if len(plots) > 1 else plots[0][1]

    judges = ", ".join(dict.fromkeys(str(row["judge"]) for row in rows))
    title = f"{source.title}: {words['judges_title'].format(judges=judges, human=human)}"
    notes = (*texts, words["judges_note"], *source.caution)
    return Picture("judges", title, tuple(rows), notes, draws, several=min(PLOT_COLUMNS, len(parts)))


def _disc_plot(source: PictureSource, rows: Sequence[Row], width: float, style: Style) -> AnyChart:
    """Return the grades of one judge against those of one person, as discs around the line of agreement."""
    import altair as alt

    words = source.words
    grades = [float(row[name]) for row in rows for name in ("given", "judged")]
    ends = min(grades), max(grades)
    room = max(0.5, (ends[1] - ends[0]) * 0.06)
    scale = alt.Scale(domain=[ends[0] - room, ends[1] + room], nice=False)
    axis = alt.Axis(tickMinStep=1, tickCount=6, grid=True)
    largest = min((width / 8) ** 2, style.size**2 * 8)
    x = alt.X("given:Q", title=words["human"].format(human=rows[0]["human"]), scale=scale, axis=axis)
    y = alt.Y("judged:Q", title=words["judge"].format(judge=rows[0]["judge"]), scale=scale, axis=axis)
    size = alt.Size(
        "scores:Q",
        title=words["scores"],
        scale=alt.Scale(rangeMin=0, rangeMax=largest, zero=True),
        legend=alt.Legend(
            orient="top", titleOrient="left", tickCount=3, symbolFillColor=COLOURS[0], symbolStrokeWidth=0
        ),
    )
    line = alt.Chart(data_of([{"given": end, "judged": end} for end in ends]))
    line = line.mark_line(color=GREY, strokeWidth=0.8, strokeDash=[3, 2]).encode(x=x, y=y)
    dots = alt.Chart(data_of(rows)).mark_circle(opacity=0.75, color=COLOURS[0]).encode(x=x, y=y, size=size)
    return alt.layer(line, dots).properties(width=width, height=width)


def _people(source: PictureSource, names: set[str]) -> set[str]:
    """Return the evaluators to compare judges with: the requested one, or all people."""
    wanted = source.options.against
    if wanted is None:
        return {name for name in names if name.startswith(HUMAN)}
    found = {name for name in names if name in (wanted, f"{HUMAN}{wanted}")}
    if not found:
        some = ", ".join(sorted(names)) or "nobody"
        raise nothing_to_draw(f"`{wanted}` graded nothing that another graded too", f"these did: {some}")
    return found


def _counts(source: PictureSource, human: str, judge: str, metric: str) -> list[dict[str, Any]]:
    """Return the number of replies, or of their elements, for each pair of grades on a metric, over the rows that
    `agreement` counts. Of several rounds of an evaluator, the last counts."""
    found = source.connection.execute(
        f"""with given as (
          select score.sample_id, score.element_place, score.scorer, score.metric, score.evaluator,
            arg_max(score.value, coalesce(score.round, 0)) as value
          from {sql.name(source.plan.benchmark.name)}.scores as score
          where score.value is not null and score.evaluator in (?, ?) and score.metric = ? group by all)
        select a.value, b.value, count(*) from given as a join given as b using (sample_id, scorer, metric)
        where a.element_place is not distinct from b.element_place and a.evaluator = ? and b.evaluator = ?
        group by all order by all""",
        [human, judge, metric, human, judge],
    ).fetchall()
    return [{"given": a, "judged": b, "scores": n} for a, b, n in found]


# Calibration
def calibration_picture(source: PictureSource) -> Picture:
    """Return the calibration curve of every judge on each metric that people graded. Raises `StoreError` S0621 if there
    is none."""
    from tripos_warehouse.measures.judges import report_judges

    options, words = source.options, source.words
    report = report_judges(source.connection, source.plan, source.run, against=_evaluator(source))
    rows: list[dict[str, Any]] = []
    for metric in report.metrics:
        if options.metric not in (None, metric.metric):
            continue
        for judge, curve in metric.calibrations.items():
            label = source.label("metric", metric.metric)
            own = {"part": f"{judge}, {label}", "judge": judge, "metric": label}
            rows += [
                {
                    **own,
                    "judged": bin_.judged,
                    "value": bin_.graded.value,
                    "low": bin_.graded.low,
                    "high": bin_.graded.high,
                    "n": bin_.graded.n,
                }
                for bin_ in curve.bins
                if bin_.graded.value is not None
            ]
    if not rows:
        named = options.against or "a person"
        hint = suggest(
            options.metric or "",
            [metric.metric for metric in report.metrics],
            f"have a person grade more replies: `tripos annotate {AnnotateParameters.sample} N`",
        )
        raise nothing_to_draw(f"no judge graded enough of what {named} graded", hint)
    parts = list(dict.fromkeys(str(row["part"]) for row in rows))

    def draws(width: float, style: Style) -> AnyChart:
        plots = [(part, _curve(source, [row for row in rows if row["part"] == part], width, style)) for part in parts]
        return titled_plots(plots, style, PLOT_COLUMNS) if len(plots) > 1 else plots[0][1]

    people = ", ".join(report.people)
    judges = ", ".join(dict.fromkeys(str(row["judge"]) for row in rows))
    title = f"{source.title}: {words['calibration_title'].format(judges=judges, human=people)}"
    notes = (words["calibration_note"], words["interval"], *source.caution)
    return Picture("calibration", title, tuple(rows), notes, draws, several=min(PLOT_COLUMNS, len(parts)))


def _evaluator(source: PictureSource) -> str | None:
    """Return the evaluator to compare judges with, under the name that `judges` expects."""
    wanted = source.options.against
    if wanted is None:
        return None
    schema = sql.name(source.plan.benchmark.name)
    names = {
        name for (name,) in source.connection.execute(f"select distinct evaluator from {schema}.scores").fetchall()
    }
    return next((name for name in (wanted, f"{HUMAN}{wanted}") if name in names), wanted)


def _curve(source: PictureSource, rows: Sequence[Row], width: float, style: Style) -> AnyChart:
    """Return the calibration curve of a judge on a metric, with the line of perfect calibration."""
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
