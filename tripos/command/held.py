"""Holds a run to its lock: before anything is asked, and after, to the models that were served."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from tripos.config import Config
from tripos.failure import Failure
from tripos_compiler.plan import Plan
from tripos_runtime.binding import Binding
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store import Store

if TYPE_CHECKING:
    from tripos.releases.locking import Lock


def locked(options: Namespace, config: Config, plan: Plan, binding: Binding) -> Lock | None:
    """The lock that a run is held to, if it is. Raises `Failure` R0260 where it would drift."""
    if options.locked is None:
        return None
    from tripos.command.addresses import known_addresses
    from tripos.command.forecasts import known_prices
    from tripos.releases.locking import check_lock, lock_of, read_lock

    lock = read_lock(Path(options.locked))
    addresses = known_addresses(binding.every, config, os.environ)
    check_lock(lock, lock_of(plan, binding, known_prices(binding, config), addresses, {}))
    return lock


def check_served_in(lock: Lock, store: Store, run_id: str) -> None:
    """Raises `Failure` R0261 where the replies of a run came from other models than those that were pinned."""
    from tripos.releases.locking import check_served, served_in

    try:
        check_served(lock, served_in(store.root, run_id))
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
