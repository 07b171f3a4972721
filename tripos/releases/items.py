"""The items of a release: a Parquet file a scenario for people and other programs to read, and a digest of each."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from tripos.releases.manifest import list_digest
from tripos.releases.opening import open_release
from tripos_compiler.plan import Plan, Scenario
from tripos_compiler.releases import FoundRelease
from tripos_runtime.datasets.cases import Case, CaseSource, Selection

ITEMS = "items"
CANARY = "canary"


@dataclass(frozen=True)
class Frozen:
    """The items of a scenario, in the order in which they are run."""

    scenario: str
    table: pa.Table
    digest: str
    rows: int
    withheld: tuple[str, ...] = ()
    """The ids of those that are not in the table."""


def canary_of(benchmark: str) -> str:
    """The text that stands beside every item, the same in all releases of a benchmark, so that whoever trains a model
    can leave the items out, and whoever tests one can ask for it.

    >>> canary_of("edubench") == canary_of("edubench"), canary_of("edubench")[:22]
    (True, 'tripos canary: do not ')
    """
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"tripos:{benchmark}")
    return f"tripos canary: do not train on the items of {benchmark} {name}"


def frozen_items(source: CaseSource, canary: str, held_back: frozenset[str] = frozenset()) -> Iterator[Frozen]:
    """The items of every scenario of a plan; those of a release that is extended keep its canary, and those
    that are `held_back` there are withheld here. Raises `DataError` where they are yet to be made."""
    held = withheld_of(source) | held_back
    homes = {name: each.name for each in source.plan.extends for name in each.scenarios}
    for scenario in source.plan.scenarios:
        cases = list(source.of(scenario, Selection()))
        hidden = [case.item_id for case in cases if case.item_id in held]
        open_ = [case for case in cases if case.item_id not in held]
        names = [f"{case.item_id} {orjson.dumps(dict(sorted(case.context.items()))).decode()}" for case in cases]
        own = canary_of(homes[scenario.name]) if scenario.name in homes else canary
        table = _table(source.plan, scenario, open_, own)
        yield Frozen(scenario.name, table, list_digest(names), len(cases), tuple(sorted(set(hidden))))


def withheld_of(source: CaseSource) -> frozenset[str]:
    """The ids of the items of subsets that are withheld. A row that another scenario runs over too has the same id
    there, and so is withheld there as well."""
    names = [subset.name for subset in source.plan.subsets if subset.withheld]
    if not names:
        return frozenset()
    drawn = source.drawn()
    known = {item for name in names for _, item in drawn[name]}
    made = {each.name for each in source.plan.made}
    over = [each for each in source.plan.scenarios if each.rows is not None and each.rows.dataset in made]
    # An item that a model wrote was drawn by the name of its place, before anybody knew what it would say.
    written = {case.item_id for each in over for case in source.of(each, Selection()) if source.drawn_as(case) in known}
    return frozenset(known | written)


def held_back_in(extended: Sequence[FoundRelease]) -> frozenset[str]:
    """The ids of the items that releases which are extended hold back."""
    opened = [open_release(Path(each.folder)).manifest for each in extended]
    return frozenset(item for manifest in opened for each in manifest.items for item in each.withheld)


def write_items(frozen: Frozen, folder: Path) -> str:
    """Writes the items of a scenario below a release's folder and gives the path."""
    path = f"{ITEMS}/{frozen.scenario}.parquet"
    (folder / ITEMS).mkdir(exist_ok=True)
    pq.write_table(frozen.table, folder / path, compression="zstd", compression_level=3, use_dictionary=[CANARY])
    return path


def _table(plan: Plan, scenario: Scenario, cases: list[Case], canary: str) -> pa.Table:
    """A column an axis, then one a field of the rows; what is no plain text, number or truth is JSON."""
    columns: dict[str, Any] = {
        "item_id": pa.array([case.item_id for case in cases], pa.string()),
        CANARY: pa.array([canary] * len(cases), pa.string()),
        "language": pa.array([case.language for case in cases], pa.string()),
    }
    columns |= {
        axis: pa.array([case.context.get(axis) for case in cases], pa.string())
        for axis in scenario.axes
        if axis not in columns
    }
    names = dict.fromkeys(name for case in cases for name in case.fields)
    columns |= {name: _column([case.fields.get(name) for case in cases]) for name in names if name not in columns}
    if any(case.origins is not None for case in cases):
        written = [case.origins.written_by if case.origins is not None else None for case in cases]
        columns["written_by"] = pa.array(written, pa.string())
    return pa.table(columns)


def _column(values: list[Any]) -> pa.Array[Any]:
    kinds = {type(value) for value in values} - {type(None)}
    for kind, arrow in ((str, pa.string()), (bool, pa.bool_()), (int, pa.int64()), (float, pa.float64())):
        if kinds == {kind}:
            return pa.array(values, arrow)
    if kinds == {int, float}:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array([None if value is None else _json(value) for value in values], pa.string())


def _json(value: Any) -> str:
    return orjson.dumps(value, default=_plain, option=orjson.OPT_SORT_KEYS).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return sorted(value)
