"""`tripos lock`: pins what a run depends on outside of its spec."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from tripos.command.addresses import known_addresses
from tripos.command.check import compile_given
from tripos.command.choices import chosen_binding
from tripos.command.forecasts import known_prices
from tripos.failure import GOOD, USAGE, Failure
from tripos.releases.locking import Lock, lock_of, served_in
from tripos.settings import chosen_settings
from tripos_compiler.plan import Plan
from tripos_runtime.binding import Binding
from tripos_runtime.models.base import Price
from tripos_warehouse.errors import StoreError


def main(options: Namespace) -> int:
    """Writes the lock; exit code 2 where the spec does not compile."""
    config = chosen_settings(options).config
    compilation, _ = compile_given(options, config)
    plan = compilation.plan
    if plan is None:
        return USAGE
    binding, _ = chosen_binding(options, config, plan, compilation.releases)
    path = Path(options.output)
    addresses = known_addresses(binding.every, config, os.environ)
    lock = lock_now(plan, binding, known_prices(binding, config), addresses, Path(config.store))
    try:
        path.write_text(lock.to_text(), "utf-8")
    except OSError as error:
        raise Failure(
            "R0260", f"cannot write the lock `{path}`: {error.strerror}", "name another with -o FILE"
        ) from error
    unseen = sum(not model.served for model in lock.models.values())
    print(f"{plan.benchmark.name} {plan.benchmark.version} is pinned in {path}")
    print(f"  {len(lock.data):,} data files, {len(lock.functions):,} functions, {len(lock.models):,} models")
    if unseen:
        models = "1 model was" if unseen == 1 else f"{unseen:,} models were"
        print(f"  {models} not asked yet: run first, to pin the snapshots that are served")
    return GOOD


def lock_now(
    plan: Plan, binding: Binding, prices: Mapping[str, Price | None], addresses: Mapping[str, str], store: Path
) -> Lock:
    """The lock of what there is now. Raises `Failure`."""
    try:
        return lock_of(plan, binding, prices, addresses, served_in(store))
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
