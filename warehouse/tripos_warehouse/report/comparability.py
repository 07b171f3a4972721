"""Checks of two runs before they are compared: what changed in between, and whether their scores mean the same."""

from __future__ import annotations

from typing import NamedTuple

from tripos_compiler.language.changes import are_comparable, find_changes
from tripos_compiler.plan import Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.report.comparison import Side, check_comparable
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


def is_same_meaning(one: RunRecord, one_plan: Plan, two: RunRecord, two_plan: Plan) -> bool:
    """Return true if scores of two runs mean the same: `changes_between` would refuse neither with S0859 nor with
    S0615."""
    changed = spec_changes(one_plan, two_plan) + _judges(one, two)
    return are_comparable(one.version, two.version) and not _scoring(changed)


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
