"""Lock files: all dependencies of a run outside its spec, pinned so that a later run can be compared with them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from tripos.files import read_untrusted
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.plan import Canonical, Plan
from tripos_runtime.models.base import Price
from tripos_runtime.program.binding import RoleBinding
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

MOST_TOLD = 4


class LockedModel(Canonical):
    """A model: its price in USD for each token, if known; its address, if not the provider's own; and the names under
    which endpoints served it."""

    price: dict[str, Any] | None = None
    address: str | None = None
    served: tuple[str, ...] = ()


class Lock(Canonical):
    """The pinned dependencies. `data` maps paths to SHA-256, `functions` names to versions, and `roles` roles to
    models."""

    format: Literal["tripos.lock/1"] = "tripos.lock/1"
    benchmark: str
    version: str
    plan: str
    data: dict[str, str]
    functions: dict[str, str]
    roles: dict[str, tuple[str, ...]]
    models: dict[str, LockedModel]

    def to_text(self) -> str:
        """Return the text of the lock file, with one line for each value, so that differences are easy to read."""
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def lock_of(
    plan: Plan,
    binding: RoleBinding,
    prices: Mapping[str, Price | None],
    addresses: Mapping[str, str],
    served: Mapping[str, Sequence[str]],
) -> Lock:
    """Return the lock of a plan with these models."""
    data = {file.path: file.sha256 for dataset in plan.datasets for file in dataset.every_file}
    data |= {tree.path: tree.sha256 for tree in plan.trees}
    return Lock(
        benchmark=plan.benchmark.name,
        version=plan.benchmark.version,
        plan=plan.digest,
        data=data,
        functions={plugin.name: plugin.version for plugin in plan.plugins},
        roles={role: tuple(models) for role, models in binding.models.items()},
        models={
            name: LockedModel(
                price=None if (price := prices.get(name)) is None else json.loads(json.dumps(asdict(price))),
                address=addresses.get(name),
                served=tuple(sorted(served.get(name, ()))),
            )
            for name in sorted(binding.all_models)
        },
    )


def served_in(store: Path, run_id: str | None = None) -> dict[str, list[str]]:
    """Return the names under which endpoints served each model, in a run or the whole store. Empty without a store.

    Raises `StoreError` if the store cannot be read.
    """
    try:
        kept = Store.open(store, create=False)
        kept.verify()
    except StoreError as error:
        if error.code == "S0101":
            return {}
        raise
    only = "" if run_id is None else "and run_id = ?"
    values = [] if run_id is None else [run_id, run_id]
    with connect(kept) as connection:
        rows = connection.execute(
            f"""select distinct * from (
              select model, model_served from main.samples where model_served is not null {only}
              union all select evaluator, model_served from main.judgements where model_served is not null {only})
            order by all""",
            values,
        ).fetchall()
    found: dict[str, list[str]] = {}
    for model, name in rows:
        found.setdefault(model, []).append(name)
    return found


def read_lock(path: Path) -> Lock:
    """Return the lock of a file. Raises `TriposError` R0260 if it is missing or invalid."""
    try:
        return Lock.model_validate_json(read_untrusted(path))
    except (OSError, ValidationError) as error:
        reason = getattr(error, "strerror", None) or "it is no lock of this version of Tripos"
        raise TriposError("R0260", f"cannot read the lock `{path}`: {reason}", "write one: tripos lock PATH") from error


def check_lock(lock: Lock, now: Lock) -> None:
    """Raise `TriposError` R0260 if the dependencies of a run differ from the pinned ones."""
    texts = list(_drift(lock, now))
    if texts:
        more = f"; and {len(texts) - MOST_TOLD} more" if len(texts) > MOST_TOLD else ""
        hint = "restore the pinned state, or pin the current one: tripos lock"
        raise TriposError("R0260", f"the run would drift from its lock: {'; '.join(texts[:MOST_TOLD])}{more}", hint)


def check_served(lock: Lock, served: Mapping[str, Sequence[str]]) -> None:
    """Raise `TriposError` R0261 if an endpoint served another model than the pinned one. A model that was not called
    before the lock was written is not pinned."""
    for model, names in sorted(served.items()):
        pinned = lock.models[model].served if model in lock.models else ()
        other = [name for name in names if pinned and name not in pinned]
        if other:
            message = f"`{model}` was served as `{other[0]}`, and `{pinned[0]}` is pinned"
            hint = "the replies are kept; their figures are of another model than those before"
            raise TriposError("R0261", message, hint, ExitCode.SOME_FAILED)


def _drift(lock: Lock, now: Lock) -> Iterator[str]:
    if (lock.benchmark, lock.version) != (now.benchmark, now.version):
        yield f"it is {now.benchmark} {now.version}, and {lock.benchmark} {lock.version} is pinned"
    yield from _entries("data", lock.data, now.data)
    yield from _entries("function", lock.functions, now.functions)
    for role in sorted(lock.roles.keys() | now.roles.keys()):
        was, here = lock.roles.get(role, ()), now.roles.get(role, ())
        if was != here:
            yield f"role `{role}` is filled by {', '.join(here) or 'nobody'}, not {', '.join(was) or 'nobody'}"
    for name in sorted(lock.models.keys() & now.models.keys()):
        if lock.models[name].price != now.models[name].price:
            yield f"`{name}` has another price"
        if lock.models[name].address != now.models[name].address:
            there = now.models[name].address or "its provider"
            yield f"`{name}` is reached at {there}, not at {lock.models[name].address or 'its provider'}"
    if lock.plan != now.plan:
        yield "the spec compiles to another plan"


def _entries(noun: str, was: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(was.keys() | now.keys()):
        if name not in now:
            yield f"{noun} `{name}` is gone"
        elif name not in was:
            yield f"{noun} `{name}` is not pinned"
        elif was[name] != now[name]:
            yield f"{noun} `{name}` changed"
