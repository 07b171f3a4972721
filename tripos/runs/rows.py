"""Rows of runs: those that describe a run, and the results that a store has committed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from tripos.ui import __version__
from tripos_compiler.plan import Plan, Scenario
from tripos_runtime.asking import NO_OTHERS, OtherReplies
from tripos_runtime.drivers import result_bindings
from tripos_runtime.roles import RoleBinding
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger import Draws, OtherStores, RowLookup
from tripos_warehouse.store import RESULTS, Row, RowIndex, Store, Tell, pack


def run_row(
    plan: Plan,
    binding: RoleBinding,
    run_id: str,
    items_of: str,
    scenarios: Sequence[str],
    options: Mapping[str, Any],
    started_at: datetime,
) -> dict[str, Any]:
    """The row of `runs` for a run of a plan."""
    return {
        "run_id": run_id,
        "items_of": items_of,
        "benchmark": plan.benchmark.name,
        "version": plan.benchmark.version,
        "plan_digest": plan.digest,
        "plan": plan.to_json(),
        "fingerprints": sorted(plan.fingerprints),
        "roles": json.dumps({role: list(models) for role, models in binding.models.items()}, sort_keys=True),
        "identities": json.dumps(dict(binding.identities), sort_keys=True) if binding.identities else None,
        "compared_role": binding.compared,
        "models": list(binding.of(binding.compared)),
        "scenarios": list(scenarios),
        "options": json.dumps(options, sort_keys=True),
        "tool_version": __version__,
        "started_at": started_at,
    }


def step_rows(plan: Plan, binding: RoleBinding, run_id: str, scenarios: Iterable[Scenario]) -> list[dict[str, Any]]:
    """Return the rows of `run_steps` for a run of some scenarios of a plan."""
    return [{"run_id": run_id, **each._asdict()} for each in result_bindings(plan, binding, scenarios)]


def find_store(path: str | Path) -> Store | None:
    """Return the store at a path; `None` where there is none. Raises `StoreError` where there is one that cannot be
    read."""
    try:
        return Store.open(path, create=False)
    except StoreError as error:
        if error.code == "S0101":
            return None
        raise


def open_others(places: Sequence[str], own: str | Path, tell: Tell) -> OtherReplies:
    """Return the replies of the stores at some places, which a run reuses that keeps its `own` elsewhere. `tell` is
    called with what is damaged. Raises `StoreError` where one cannot be opened."""
    return OtherStores(places, own, tell) if places else NO_OTHERS


class Committed:
    """The committed rows of a read-only store."""

    def __init__(self, store: Store, fingerprints: Collection[str]) -> None:
        self._store, self._fingerprints = store, fingerprints
        self._indexes: dict[str, RowIndex] = {}
        self._draws = Draws(store.parts, RowLookup())

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        """Return the status of each of these rows; `None` for those that are not kept."""
        index = self._index(table)
        return index.names_of(index.find(pack(ids)).codes)

    def held(self) -> set[str]:
        """Return the fingerprints of which any result is kept."""
        return set[str]().union(*(self._index(table).fingerprints for table in RESULTS))

    def rows(self, table: str, ids: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return whole rows, by id."""
        return self._store.rows(table, ids)

    def repliers(self, table: str) -> Collection[str]:
        """Return who gave replies of which it is known what they are replies to."""
        return self._draws.models(table)

    def replies(self, table: str, request: str) -> list[tuple[Row, Row | None]]:
        """Return the rows whose reply was sent for the request of that digest, each with its unreadable first reply."""
        return self._draws.find(table, request)

    def _index(self, table: str) -> RowIndex:
        if table not in self._indexes:
            self._indexes[table] = RowIndex(table, self._fingerprints, self._store.root)
            self._indexes[table].load(self._store.parts(table))
        return self._indexes[table]
