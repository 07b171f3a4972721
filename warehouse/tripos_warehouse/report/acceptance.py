"""How much of what was written for made data sets was accepted: by data set, and by each axis of its context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tripos_compiler.diagnostics import localized, percent, reader_language
from tripos_compiler.plan import Made, Plan
from tripos_compiler.source import dataclass
from tripos_warehouse import sql
from tripos_warehouse.formats import NOTHING, TextColumn, grid, wrapped
from tripos_warehouse.query import Connection
from tripos_warehouse.views import RunRecord, dimension_heading, dimension_label

LANGUAGE = "language"
ALL = "all"
MOST_VALUES = 8
"""The report prints axes of so many values; the others are in its JSON."""


@dataclass(frozen=True)
class Acceptance:
    """The results of the slots of a data set, of all or of those where the axis `by` has a value: how many there are,
    how many were filled, after how many attempts, and why the other attempts were rejected, the most frequent reason
    first."""

    dataset: str
    by: str | None
    value: str | None
    slots: int
    made: int
    attempts: int
    reasons: Mapping[str, int]

    @property
    def rate(self) -> float | None:
        """The share of the attempts that were accepted, from 0 to 1.

        >>> Acceptance("item", None, None, 4, 3, 6, {"verify": 3}).rate
        0.5
        """
        return self.made / self.attempts if self.attempts else None

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        where = {self.by: self.value} if self.by is not None else {}
        counts = {"slots": self.slots, "made": self.made, "given_up": self.slots - self.made}
        rest = {"attempts": self.attempts, "accepted": self.rate, "rejected": dict(self.reasons)}
        return {"dataset": self.dataset, "context": where, **counts, **rest}


def acceptances(connection: Connection, plan: Plan, run: RunRecord) -> tuple[Acceptance, ...]:
    """Of every made data set of which slots were decided, with what the author of the run wrote: all of it, then by
    each axis of its context, or of the rows that it is made from, in the order of the plan."""
    return tuple(found for made in plan.made for found in _of(connection, plan, run, made))


def _of(connection: Connection, plan: Plan, run: RunRecord, made: Made) -> Iterator[Acceptance]:
    source = f"from {sql.name(run.benchmark)}.slots where dataset = {sql.text(made.name)}"
    carried = [each.name for each in made.fields if each.type.kind == "choice" and each.type.axis == each.name]
    for axis in (None, *(name for name in dict.fromkeys((*made.axes, *carried)) if name != LANGUAGE)):
        value = "NULL" if axis is None else sql.name(axis)
        counts = connection.execute(
            f"""select {value}::varchar, count(*), count(*) filter (status = 'made'), sum(attempts)::bigint
            {source} group by 1"""
        ).fetchall()
        reasons = connection.execute(
            f"""select value, reason, count(*) as times
            from (
              select {value}::varchar as value, unnest(json_extract_string(rejections, '$[*].reason')) as reason
              {source}
            )
            group by all order by times desc, reason"""
        ).fetchall()
        known = {of: (slots, filled, attempts) for of, slots, filled, attempts in counts}
        for name in [None] if axis is None else [each.name for each in plan.axis(axis).values]:
            if name in known:
                why = {reason: times for of, reason, times in reasons if of == name}
                slots, filled, attempts = known[name]
                yield Acceptance(made.name, axis, name, slots, filled, attempts, why)


def acceptance_lines(plan: Plan, found: tuple[Acceptance, ...], width: int, table_width: int) -> list[str]:
    """Return a table of them, by axes of a few values, and below it a line for each data set that had anything
    rejected."""
    many = {axis.name for axis in plan.axes if len(axis.values) > MOST_VALUES}
    found = tuple(each for each in found if each.by not in many)
    heads, language = [each for each in found if each.by is None], reader_language()
    contexts = [
        ALL
        if each.by is None
        else f"{dimension_heading(plan, each.by, language)} {dimension_label(plan, each.by, each.value, language)}"
        for each in found
    ]
    columns = [
        TextColumn(localized("data set"), tuple(each.dataset if each.by is None else "" for each in found)),
        TextColumn("", tuple(contexts)),
        TextColumn(localized("slots"), tuple(f"{each.slots:,}" for each in found), right=True),
        TextColumn(localized("made"), tuple(f"{each.made:,}" for each in found), right=True),
        TextColumn(localized("attempts"), tuple(f"{each.attempts:,}" for each in found), right=True),
        TextColumn(
            localized("accepted"),
            tuple(NOTHING if each.rate is None else percent(each.rate) for each in found),
            right=True,
        ),
    ]
    told = [_acceptance_line(each) for each in heads if each.reasons or each.made < each.slots]
    return [*grid(columns, table_width), *(wrapped(line, width) for line in told)]


def _acceptance_line(each: Acceptance) -> str:
    """Return why attempts were rejected, and what was given up.

    >>> _acceptance_line(Acceptance("item", None, None, 4, 3, 6, {"verify": 2, "too_near": 1}))
    'item: 1 given up; rejected: verify 2, too_near 1'
    """
    parts = [localized(f"{each.slots - each.made:,} given up")] if each.made < each.slots else []
    if each.reasons:
        parts.append(
            localized("rejected")
            + localized(": ")
            + ", ".join(f"{reason} {count:,}" for reason, count in each.reasons.items())
        )
    return f"{each.dataset}: {'; '.join(parts)}"
