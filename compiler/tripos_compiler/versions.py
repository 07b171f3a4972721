"""Whether a version number says enough of what changed since an earlier plan of the same benchmark.

`major.minor.patch`: figures of two versions with one `major` may be compared. What changes a reply, a score or a
measure that there was before raises `major`; what adds scenarios or measures and leaves the others alone raises
`minor`; all else, such as titles, `patch`. Below 1.0.0 the `minor` stands for the `major`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.plan import Dataset, Plan, Scenario
from tripos_compiler.source import Span

Part = Literal["major", "minor", "patch"]
PARTS: tuple[Part, ...] = ("major", "minor", "patch")


@dataclass(frozen=True)
class Change:
    """What is different, and which part of the version it raises."""

    part: Part
    text: str


def changes(before: Plan, after: Plan) -> list[Change]:
    """What changed between two plans, the weightiest first; empty where nothing but the version did."""
    found = [*_scenarios(before, after), *_measures(before, after)]
    same = {"version": ""}
    if not found and _plain(before, same) != _plain(after, same):
        found.append(Change("patch", "titles, or what else changes no score, are other than before"))
    return sorted(found, key=lambda change: PARTS.index(change.part))


def check_version(before: Plan, after: Plan, span: Span, diagnostics: Diagnostics) -> None:
    """Reports, at the place of the version, one that understates what changed since `before`."""
    found = changes(before, after)
    if not found or before.benchmark.name != after.benchmark.name:
        return
    old, new = _numbers(before.benchmark.version), _numbers(after.benchmark.version)
    least = _raised(old, found[0].part)
    if new >= least:
        return
    wanted = ".".join(map(str, least))
    version = after.benchmark.version
    message = f"version {version} understates what changed since {before.benchmark.version}: {found[0].text}"
    notes = [change.text for change in found[1:6]]
    diagnostics.error("E0901", message, span, help=f"call it {wanted} or higher", notes=notes)


def _scenarios(before: Plan, after: Plan) -> Iterator[Change]:
    now = {scenario.name: scenario for scenario in after.scenarios}
    for scenario in before.scenarios:
        if scenario.name not in now:
            yield Change("major", f"scenario `{scenario.name}` is gone")
            continue
        if scenario.fingerprints - now[scenario.name].fingerprints:
            yield Change("major", f"what scenario `{scenario.name}` asks or scores is other than before")
        elif _rows(before, scenario) != _rows(after, now[scenario.name]):
            yield Change("major", f"scenario `{scenario.name}` runs over other items")
    known = {scenario.name for scenario in before.scenarios}
    for name in now:
        if name not in known:
            yield Change("minor", f"scenario `{name}` is new")


def _measures(before: Plan, after: Plan) -> Iterator[Change]:
    now = {measure.name: measure for measure in after.measures}
    for measure in before.measures:
        if measure.name not in now:
            yield Change("major", f"measure `{measure.name}` is gone")
        elif now[measure.name] != measure:
            yield Change("major", f"measure `{measure.name}` is computed another way")
    known = {measure.name for measure in before.measures}
    for name in now:
        if name not in known:
            yield Change("minor", f"measure `{name}` is new")


def _rows(plan: Plan, scenario: Scenario) -> object:
    """What determines the items of a scenario."""
    made = {each.name: each.fingerprint for each in plan.made}
    data = {each.name: _content(each) for each in plan.datasets}
    rows = scenario.rows
    source = None if rows is None else (made.get(rows.dataset) or data.get(rows.dataset), rows.where)
    return (scenario.axes, scenario.cells, scenario.row_count, source)


def _content(dataset: Dataset) -> object:
    return [(file.sha256, file.repeats) for file in dataset.files], dataset.fields


def _plain(plan: Plan, benchmark: dict[str, str]) -> object:
    return plan.model_copy(update={"benchmark": plan.benchmark.model_copy(update=benchmark)}).model_dump(mode="json")


def _numbers(version: str) -> tuple[int, int, int]:
    major, minor, patch = (int(part) for part in re.split(r"[-+]", version)[0].split("."))
    return major, minor, patch


def _raised(version: tuple[int, int, int], part: Part) -> tuple[int, int, int]:
    """The least version that raises that part.

    >>> _raised((1, 2, 3), "minor"), _raised((0, 2, 3), "major")
    ((1, 3, 0), (0, 3, 0))
    """
    major, minor, patch = version
    if part == "patch" or (part == "minor" and major == 0):
        return major, minor, patch + 1
    return (major, minor + 1, 0) if part == "minor" or major == 0 else (major + 1, 0, 0)
