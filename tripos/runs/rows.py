"""The rows that describe a run, and the stores that it reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from tripos.ui import __version__
from tripos_compiler.plan import Plan, Scenario
from tripos_runtime.asking import NO_OTHERS, OtherReplies
from tripos_runtime.drivers import result_bindings
from tripos_runtime.roles import RoleBinding
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger import OtherStores
from tripos_warehouse.store import Store, Tell


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
