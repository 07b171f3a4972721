"""Cost against score: what a thousand replies of each model cost, and how good they are."""

from __future__ import annotations

from dataclasses import dataclass
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
    standings = [each for each in board.standings if each.model in source.models]
    shown = [each for each in standings if each.model in spent and spent[each.model].cost is not None]
    gone = [each.model for each in standings if each not in shown]
    partial = [
        f"{each.model} {cost.unknown:,}/{cost.replies:,}" for each in shown if (cost := spent[each.model]).unknown
    ]
    rows = tuple(
        {
            "model": each.model,
            "cost": spent[each.model].cost,
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
        *((words["partly_unknown"].format(replies=", ".join(partial)),) if partial else ()),
        *((words["left_out"].format(models=", ".join(gone)),) if gone else ()),
        *source.caution,
    )
    return Picture("cost", f"{source.title}: {words['title_cost']}, {named}", rows, notes, draws)


@dataclass(frozen=True)
class _Spent:
    """The cost of a model's replies: of a thousand in USD, of one in tokens, or the median of one in seconds; of the
    `replies` whose cost is known. `None` if it is known of none."""

    cost: float | None
    replies: int
    unknown: int


def _spent(source: PictureSource) -> dict[str, _Spent]:
    """Return what the replies of every model cost. A call that failed is no reply; what it cost is counted if it is
    known."""
    taken = {"tokens": "tokens_out", "seconds": "latency_s"}.get(source.options.cost, "cost_usd")
    total = f"median(reply.{taken})" if taken == "latency_s" else f"sum(reply.{taken}) / count(reply.{taken})"
    # One row for each model: a reply that stands in several runs is one.
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
        row["model"]: _Spent(None if row["cost"] is None else factor * row["cost"], row["replies"], row["unknown"])
        for row in run_query(source.connection, query).to_pylist()
    }


def _frontier(rows: Any, lower: bool) -> list[dict[str, Any]]:
    """Return the models that no other beats at the same cost or less, the cheapest first."""
    sign = -1.0 if lower else 1.0
    found: list[dict[str, Any]] = []
    for row in sorted(rows, key=lambda each: (each["cost"], -sign * each["value"])):
        if not found or sign * row["value"] > sign * found[-1]["value"]:
            found.append({"cost": row["cost"], "value": row["value"]})
    return found
