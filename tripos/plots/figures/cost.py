"""Cost against score: what a thousand replies of each model cost, and how good they are."""

from __future__ import annotations

from typing import Any

from tripos.plots.marks import colour_of, shape_of
from tripos.plots.picture import AnyChart, Picture, data_of, nothing_to_draw
from tripos.plots.sources import PictureSource
from tripos.plots.theme import GREY, Style
from tripos_warehouse import sql
from tripos_warehouse.query import run_query
from tripos_warehouse.report import counts_of

WIDE = 20
"""Costs that are further apart than this many times stand on a logarithmic axis."""


def cost_picture(source: PictureSource) -> Picture:
    """Return the picture of a headline over the cost of the replies. Raises `StoreError` S0621 where no model has both,
    or nothing costs anything."""
    board, words, options = source.board(), source.words, source.options
    spent = _spent(source)
    named = source.title_of(board.measure)
    shown = [each for each in board.standings if each.model in source.models and spent.get(each.model) is not None]
    gone = [each.model for each in board.standings if each.model in source.models and spent.get(each.model) is None]
    rows = tuple(
        {
            "model": each.model,
            "cost": spent[each.model],
            "value": each.value,
            "low": each.low,
            "high": each.high,
            "items": each.items,
            "n": each.n,
        }
        for each in shown
    )
    if not any(row["cost"] for row in rows):
        hint = "give prices in tripos.toml, or draw another cost: --cost tokens, --cost seconds"
        raise nothing_to_draw(f"no model of the run has a cost in {options.cost}", hint)
    costs = [float(row["cost"]) for row in rows]  # type: ignore[arg-type]
    wide = min(costs) > 0 and max(costs) / min(costs) > WIDE
    lower = board.measure.lower_is_better
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
        counts_of(shown, words["n"]),
        words["interval"],
        words["cost_note"],
        words["frontier"],
        *((words["lower"],) if lower else ()),
        *((words["left_out"].format(models=", ".join(gone)),) if gone else ()),
        *source.caution,
    )
    return Picture("cost", f"{source.title}: {words['title_cost']}, {named}", rows, notes, draws)


def _spent(source: PictureSource) -> dict[str, float | None]:
    """Return what the replies of every model cost, out of the macro `spending`; None for one that has replies without a
    known cost."""
    found = run_query(source.connection, f"from {sql.name(source.plan.benchmark.name)}.spending()").to_pylist()
    spent: dict[str, float | None] = {}
    for row in found:
        if row["what"] != "reply" or row["role"] != source.run.compared_role:
            continue
        match source.options.cost:
            case "tokens":
                total = row["tokens_out"]
                spent[row["model"]] = None if total is None else total / row["calls"]
            case "seconds":
                spent[row["model"]] = row["median_s"]
            case _:
                unpriced = row["unpriced"] or row["cost_usd"] is None
                spent[row["model"]] = None if unpriced else 1000 * float(row["cost_usd"]) / row["calls"]
    return spent


def _frontier(rows: Any, lower: bool) -> list[dict[str, Any]]:
    """Return the models that no other beats at the same cost or less, the cheapest first."""
    sign = -1.0 if lower else 1.0
    found: list[dict[str, Any]] = []
    for row in sorted(rows, key=lambda each: (each["cost"], -sign * each["value"])):
        if not found or sign * row["value"] > sign * found[-1]["value"]:
            found.append({"cost": row["cost"], "value": row["value"]})
    return found
