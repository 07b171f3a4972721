"""A comparison in words and as text for a terminal, with what changed between its two runs.

Runs whose scores mean different things are not compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from tripos_compiler.diagnostics import localized
from tripos_compiler.language.changes import are_comparable, find_changes
from tripos_compiler.plan import Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.formats import NOTHING, TextColumn, decimals_of, grid
from tripos_warehouse.report.compared_rows import HEADLINE_SHARE, LEVEL, ComparedRow, Equivalence, Section
from tripos_warehouse.report.comparison import Comparison, Side, check_comparable
from tripos_warehouse.statistics.intervals import ALIKE, ONE_CLUSTER, ROUNDING
from tripos_warehouse.views import RunRecord


class ChangeLine(NamedTuple):
    """A change as it is printed: where, such as `scenario letter`, and what. `scoring`: scores before and after it mean
    different things."""

    where: str
    what: str
    scoring: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class Between(NamedTuple):
    """What changed between two runs: in the spec and in who graded. `by_judge`: the same judges graded both, so their
    scores are paired judge by judge."""

    changes: list[ChangeLine]
    by_judge: bool


def changes_between(one: Side, two: Side, *, anyway: bool = False) -> Between:
    """Return what changed between the runs of two sides.

    Raises `StoreError`: S0611 and S0612 where they cannot be compared, and unless it is to be done `anyway` S0859 for
    versions that differ in kind, and S0615 where scores mean different things.
    """
    check_comparable(one, two)
    judges = _judges(one.run, two.run)
    changed = spec_changes(one.plan, two.plan) + judges
    if not anyway:
        _refuse_majors(one.run, two.run)
        _refuse(changed)
    return Between(changed, not judges)


def spec_changes(before: Plan, after: Plan) -> list[ChangeLine]:
    """Return what changed between two plans and can change a score, or is a new scenario. A change in several scenarios
    is told with the first that has it and the number of the others."""
    old, new = before.benchmark.version, after.benchmark.version
    told: dict[tuple[str, str, bool], dict[str, None]] = {}
    for each in find_changes(before, after):
        if each.step:
            colon = " " if each.field == "name" else ": "
            named = "scenario", each.name.removesuffix(f".{each.step}")
            words = tuple(f"`{each.step}`{colon}{brief}" for brief in each.brief or ())
        elif each.can_change_scores or each.kind == "scenario":
            named, words = (each.kind, each.name), (each.what,) if each.brief is None else each.brief
        else:
            continue
        for what in words:
            told.setdefault((named[0], what, each.changes_meaning), {})[named[1]] = None
    found = [ChangeLine("version", f"{old} → {new}")] if old != new else []
    for (kind, what, scoring), names in told.items():
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        found.append(ChangeLine(f"{kind} {next(iter(names))}{others}", what, scoring))
    return found


def _scoring(changed: list[ChangeLine]) -> list[ChangeLine]:
    return [each for each in changed if each.scoring]


def _judges(one: RunRecord, two: RunRecord) -> list[ChangeLine]:
    before, after = one.evaluators, two.evaluators
    names = [name for name in dict.fromkeys((*before, *after)) if set(before.get(name, ())) != set(after.get(name, ()))]
    told = [(name, ", ".join(before.get(name, ())), ", ".join(after.get(name, ()))) for name in names]
    return [ChangeLine(name, f"{was or 'nobody'} → {now or 'nobody'}", True) for name, was, now in told]


def _refuse_majors(one: RunRecord, two: RunRecord) -> None:
    """Raise `StoreError` S0859 where the versions of a benchmark say themselves that their figures differ in kind."""
    if not are_comparable(one.version, two.version):
        message = f"the runs are of versions {one.version} and {two.version} of `{two.benchmark}`, which differ in kind"
        raise StoreError("S0859", message, "list the changes: tripos diff A B; compare anyway with --anyway")


def _refuse(changed: list[ChangeLine]) -> None:
    if scoring := _scoring(changed):
        more = f", and {len(scoring) - 1} more" if len(scoring) > 1 else ""
        message = f"scores of the two runs mean different things: {scoring[0]}{more}"
        raise StoreError("S0615", message, "run both under one rubric and one judge, or compare with `--anyway`")


TITLES = {"measure": "over all", "metric": "by metric", "scenario": "by scenario"}


def verdict(row: ComparedRow, tests: int = 1, decimals: int = 2) -> str:
    """Return what a row says, in words; it is one of so many `tests`.

    >>> from dataclasses import replace
    >>> from tripos_warehouse.statistics import StatisticResult
    >>> found = StatisticResult(0.31, low=0.12, high=0.5, standard_error=0.09, df=40, p=0.002, n=41, clusters=41)
    >>> made = ComparedRow("RIGHT", "", 7, 7.31, found, 0.004, True)
    >>> verdict(made)
    'B is better by 0.31 (0.12 to 0.50)'
    >>> verdict(ComparedRow("OFF", "", 7, 7.31, found, 0.004, True, lower_is_better=True))
    'A is better by 0.31 (0.12 to 0.50)'
    >>> verdict(replace(made, p=0.08, equivalence=Equivalence(0.4, 0.16, 0.46, 0.16, 0.001, "not worse")))
    'B is not worse by 0.4 or more (0.16 to 0.46)'
    """
    found = row.difference
    if found.value is None:
        return f"not compared: {found.reason}"
    apart = found.value
    told = f"{'B' if row.is_second_ahead else 'A'} is {'better' if row.graded else 'higher'} by"
    size = f"{abs(apart):.{decimals}f}"
    if found.low is None or found.high is None:
        if (found.clusters or 0) < 2:
            which = "cluster of items" if found.reason == ONE_CLUSTER else "item"
            return f"one {which} says nothing about the difference"
        if found.reason not in (None, ALIKE):
            why = found.reason if "no interval" in found.reason else f"no interval: {found.reason}"
            return f"{'no difference' if abs(apart) <= ROUNDING else f'{told} {size}'}; {why}"
        if abs(apart) <= ROUNDING:
            return f"no difference in any of {_count(found.n, 'pair')}"
        return f"{told} {size}, the same everywhere: no interval"
    # Told from the side that is above, so that the numbers are those of the sentence.
    low, high = (found.low, found.high) if apart > 0 else (-found.high, -found.low)
    within = None if row.equivalence is None else _within(row.equivalence, decimals)
    interval = f"{size} ({low:.{decimals}f} to {high:.{decimals}f})"
    if row.is_apart:
        return f"{told} {interval}" if within is None else f"{told} {interval}; {within}"
    if within is not None:
        return within
    if low > 0:
        return f"{told} {interval}, which may be chance among {tests} tests"
    none = abs(apart) <= ROUNDING and not found.standard_error
    shown = f"no difference in any of {_count(found.n, 'pair')}" if none else "no difference shown"
    if row.ruled_out is None:
        return shown
    if row.span is not None and row.ruled_out >= row.span:
        return f"{shown}; too few items to rule one out"
    return f"{shown}; more than {_rounded_up(row.ruled_out, decimals)} is ruled out"


def _within(found: Equivalence, decimals: int) -> str | None:
    """Return what a row says of its margin, with the 90 % interval of B − A; None of one without an interval."""
    if found.low is None or found.high is None:
        return None
    margin = f"{found.margin:g}"
    places = max(decimals, len(margin.partition(".")[2]) + 1)
    interval = f"{found.low:.{places}f} to {found.high:.{places}f}"
    match found.verdict:
        case "equivalent":
            return f"equivalent within {margin} ({interval})"
        case "not worse":
            return f"B is not worse by {margin} or more ({interval})"
        case "different":
            return f"not shown to be within {margin} ({interval})"
        case "undecided":
            return f"undecided within {margin} ({interval})"


def _rounded_up(bound: float, decimals: int) -> str:
    """Return a bound with so many decimals, such that it still holds.

    >>> _rounded_up(0.0301, 2), _rounded_up(0.03, 2)
    ('0.04', '0.03')
    """
    if bound > 1e12:  # no digits are shown that rounding could change
        return f"{bound:.{decimals}f}"
    return f"{math.ceil(round(bound * 10**decimals, 6)) / 10**decimals:.{decimals}f}"


def verdicts(section: Section, tests: int, decimals: int = 2) -> list[str]:
    """Return the verdict of each row of a section; each is one of so many `tests`."""
    return [verdict(row, tests, decimals) for row in section.rows]


def render_comparison(comparison: Comparison, width: int = 80) -> list[str]:
    """Return the lines of a comparison: a table and the verdicts of every section, and what it leaves out."""
    lines: list[str] = []
    for section in comparison.sections:
        if section.rows:
            lines += ["", localized(TITLES[section.kind]), *_table(section, comparison.tests, width)]
    lines += ["", *map(localized, notes_of(comparison))]
    return lines


def _table(section: Section, tests: int, width: int) -> Iterable[str]:
    rows = section.rows
    decimals = decimals_of([value for row in rows for value in (row.a, row.b)])
    names = [f"{row.name} ({row.of})" if row.of else row.name for row in rows]
    columns = [
        TextColumn(localized(section.kind), tuple(names)),
        TextColumn("A", tuple(f"{row.a:.{decimals}f}" for row in rows), right=True),
        TextColumn("B", tuple(f"{row.b:.{decimals}f}" for row in rows), right=True),
        TextColumn("B − A", tuple(_signed(row.difference.value, decimals) for row in rows), right=True),
        TextColumn("error", tuple(_figure(row.difference.standard_error, decimals) for row in rows), right=True),
        TextColumn("p", tuple(_p(row.p) for row in rows), right=True),
        TextColumn("q", tuple(_p(row.q) for row in rows), right=True),
        TextColumn(localized("pairs"), tuple(f"{row.difference.n:,}" for row in rows), right=True),
        TextColumn(localized("items"), tuple(f"{row.difference.clusters:,}" for row in rows), right=True),
    ]
    yield from grid(columns, width)
    for name, told in zip(names, verdicts(section, tests, decimals), strict=True):
        yield f"  {name}{localized(': ')}{localized(told)}"


def notes_of(comparison: Comparison) -> Iterable[str]:
    pairs = f"{_count(comparison.pairs, 'pair')} of " if comparison.pairs else ""
    if comparison.clusterings:
        yield f"{pairs}{_count(comparison.items, 'item')}."
        yield from (each.sentence for each in comparison.clusterings)
    else:
        yield f"{pairs}{_count(comparison.items, 'item')}; errors are clustered by item."
    yield from _family_notes(comparison)
    yield from comparison.cautions
    if comparison.same:
        yield f"{_count(comparison.same, 'pair')} of one and the same result on both sides: left out"
    for side, alone in (("A", comparison.only_a), ("B", comparison.only_b)):
        if alone:
            yield f"{_count(alone, 'score')} of {side} {'has' if alone == 1 else 'have'} no counterpart: left out"
    for name, why in comparison.unpaired:
        yield f"{name} is not compared: {why}"
    if apart := _estimated_as_one(comparison):
        yield f"B − A is corrected by people as one figure, and so not quite the difference of both: {', '.join(apart)}"
    if comparison.people and comparison.by_people:
        told, names = ", ".join(comparison.people), ", ".join(comparison.by_people)
        yield f"scores by {told} correct {names}, and are no part of other figures"
    elif comparison.people:
        yield f"scores by {', '.join(comparison.people)} are apart: no part of these figures"
    if comparison.together:
        yield f"one figure of all models of the run, so not compared: {', '.join(comparison.together)}"


def _family_notes(comparison: Comparison) -> Iterable[str]:
    """Yield what p, q and bounds are corrected for."""
    yield "Intervals are of 95 %, each for itself."
    if comparison.tests > 1:
        figures = "both" if comparison.tests == 2 else f"all {comparison.tests}"
        yield f"p is corrected over {figures} figures of these tables (Holm)."
        yield "q is the false discovery rate among them (Benjamini and Hochberg)."
        yield "Differences are ruled out for all of them at once."
    names = ", ".join(comparison.first)
    if comparison.shares_level:
        level, part = (f"{each * 100:g}" for each in (LEVEL, LEVEL * HEADLINE_SHARE))
        first = f"The headline is tested first, with {part} of the {level} %"
        yield f"{first}, and other figures with the rest until it is significant: {names}"
    elif len(comparison.first) > 1:
        yield f"The headline is tested first, in this order: {names}"
    if comparison.margins:
        yield "With a margin, brackets have the 90 % interval of B − A."


def _estimated_as_one(comparison: Comparison) -> tuple[str, ...]:
    """Return the measures whose difference is not that of the values of both sides, since people correct them."""
    rows = [row for section in comparison.sections for row in section.rows]
    return tuple(
        dict.fromkeys(
            row.name
            for row in rows
            if row.difference.value is not None
            and not row.by_sequence
            and abs(row.difference.value - (row.b - row.a)) > ROUNDING
        )
    )


def _signed(value: float | None, decimals: int) -> str:
    return NOTHING if value is None else f"{value:+z.{decimals}f}"


def _figure(value: float | None, decimals: int) -> str:
    return NOTHING if value is None else f"{value:.{decimals}f}"


def _p(value: float | None) -> str:
    return NOTHING if value is None else "< .001" if value < 0.001 else f"{value:.3f}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
