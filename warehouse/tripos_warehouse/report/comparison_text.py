"""A comparison in words and as text for a terminal, with what changed between its two runs.

Runs whose scores mean different things are not compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tripos_compiler.diagnostics import localized
from tripos_compiler.language.changes import are_comparable, find_changes
from tripos_compiler.plan import Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.formats import NOTHING, TextColumn, decimals_of, grid
from tripos_warehouse.report.comparison import LEVEL, ComparedRow, Comparison, Section, Side, check_comparable
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


def verdict(row: ComparedRow, decimals: int = 2, tests: int = 1) -> str:
    """Return what a row says, in words; it is one of so many `tests`.

    >>> from tripos_warehouse.statistics import StatisticResult
    >>> found = StatisticResult(0.31, low=0.12, high=0.5, standard_error=0.09, df=40, p=0.002, n=41, clusters=41)
    >>> made = ComparedRow("RIGHT", "", 7, 7.31, found, 0.004, True)
    >>> verdict(made)
    'B is better by 0.31 (0.12 to 0.50)'
    >>> verdict(ComparedRow("OFF", "", 7, 7.31, found, 0.004, True, lower_is_better=True))
    'A is better by 0.31 (0.12 to 0.50)'
    """
    found = row.difference
    if found.value is None:
        return f"not compared: {found.reason}"
    apart = found.value
    ahead = (apart > 0) != row.lower_is_better
    told = f"{'B' if ahead else 'A'} is {'better' if row.graded else 'higher'} by"
    size = f"{abs(apart):.{decimals}f}"
    if found.low is None or found.high is None:
        if (found.clusters or 0) < 2:
            which = "cluster of items" if found.reason == ONE_CLUSTER else "item"
            return f"one {which} says nothing about the difference"
        if found.reason not in (None, ALIKE):
            return f"{'no difference' if abs(apart) <= ROUNDING else f'{told} {size}'}; {found.reason}"
        if abs(apart) <= ROUNDING:
            return f"no difference in any of {_count(found.n, 'pair')}"
        return f"{told} {size}, the same everywhere: no interval"
    # Told from the side that is above, so that the numbers are those of the sentence.
    low, high = (found.low, found.high) if apart > 0 else (-found.high, -found.low)
    if abs(apart) <= ROUNDING and not found.standard_error:
        return f"no difference in any of {_count(found.n, 'pair')}; more than {high:.{decimals}f} is ruled out"
    interval = f"{size} ({low:.{decimals}f} to {high:.{decimals}f})"
    if row.p is not None and row.p < LEVEL:
        return f"{told} {interval}"
    if low > 0:
        return f"{told} {interval}, which may be chance among {tests} tests"
    if row.span is not None and high >= row.span:
        return "no difference shown; too few items to rule one out"
    return f"no difference shown; more than {high:.{decimals}f} is ruled out"


def verdicts(section: Section, decimals: int = 2) -> list[str]:
    """Return the verdict of each row of a section."""
    tests = sum(row.difference.p is not None for row in section.rows)
    return [verdict(row, decimals, tests) for row in section.rows]


def render_comparison(comparison: Comparison, width: int = 80) -> list[str]:
    """Return the lines of a comparison: a table and the verdicts of every section, and what it leaves out."""
    lines: list[str] = []
    for section in comparison.sections:
        if section.rows:
            lines += ["", localized(TITLES[section.kind]), *_table(section, width)]
    lines += ["", *map(localized, notes_of(comparison))]
    return lines


def _table(section: Section, width: int) -> Iterable[str]:
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
    for name, told in zip(names, verdicts(section, decimals), strict=True):
        yield f"  {name}{localized(': ')}{localized(told)}"


def notes_of(comparison: Comparison) -> Iterable[str]:
    pairs = f"{_count(comparison.pairs, 'pair')} of " if comparison.pairs else ""
    if comparison.clusterings:
        yield f"{pairs}{_count(comparison.items, 'item')}."
        yield from (each.sentence for each in comparison.clusterings)
    else:
        yield f"{pairs}{_count(comparison.items, 'item')}; errors are clustered by item."
    yield "Intervals are of 95 %; p is corrected for the rows of its table (Holm)."
    yield from comparison.cautions
    if comparison.first:
        yield f"The headline is tested first, and the other measures after it: {', '.join(comparison.first)}"
    yield "q is the false discovery rate (Benjamini and Hochberg)."
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
    return NOTHING if value is None else f"{value:+.{decimals}f}"


def _figure(value: float | None, decimals: int) -> str:
    return NOTHING if value is None else f"{value:.{decimals}f}"


def _p(value: float | None) -> str:
    return NOTHING if value is None else "< .001" if value < 0.001 else f"{value:.3f}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
