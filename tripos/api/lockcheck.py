"""The lock of a run: checked before the first call, and afterwards against the models that were served."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tripos.config import Config
from tripos.failure import Failure
from tripos_compiler.plan import Plan
from tripos_runtime.roles.binding import Binding
from tripos_warehouse.errors import StoreError

if TYPE_CHECKING:
    from tripos.releases.locking import Lock


@dataclass(frozen=True)
class LockFile:
    """A lock file that a run is held to."""

    path: Path
    config: Config

    def check(self, plan: Plan, binding: Binding) -> None:
        """Raise `Failure` R0260 where the run differs from what is pinned."""
        from tripos.releases.locking import check_lock

        check_lock(self._lock, lock_now(plan, binding, self.config))

    def check_served(self, run_id: str) -> None:
        """Raise `Failure` R0261 where the replies of a run came from other models than those that are pinned."""
        from tripos.releases.locking import check_served, served_in

        try:
            check_served(self._lock, served_in(Path(self.config.store), run_id))
        except StoreError as error:
            raise Failure(error.code, error.message, error.hint) from error

    @cached_property
    def _lock(self) -> Lock:
        from tripos.releases.locking import read_lock

        return read_lock(self.path)


def lock_now(plan: Plan, binding: Binding, config: Config, *, served: bool = False) -> Lock:
    """Pin a run as it is now; with `served`, the snapshots of models that the store knows too. Raises `Failure`."""
    from tripos.api.addresses import known_addresses
    from tripos.api.forecasts import known_prices
    from tripos.releases.locking import lock_of, served_in

    addresses = known_addresses(binding.every, config, os.environ)
    try:
        known = served_in(Path(config.store)) if served else {}
        return lock_of(plan, binding, known_prices(binding, config), addresses, known)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
