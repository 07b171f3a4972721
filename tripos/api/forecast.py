"""The forecast of a run, from the plan, the store and the prices of models."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from tripos.api.forecast_rows import read_history
from tripos.failure import USAGE, Failure
from tripos.runs import Committed, find_store, open_others
from tripos.settings import LOCAL_PREFIXES, Config, endpoints_of, prices_of
from tripos_compiler.inputs import DataError
from tripos_compiler.plan import Plan
from tripos_runtime.asking import NO_OTHERS, OtherReplies
from tripos_runtime.datasets import CaseSource, Selection
from tripos_runtime.drivers import PreparedRun
from tripos_runtime.forecast import NO_HISTORY, Forecast, NothingKept, forecast
from tripos_runtime.models import FREE, ModelError, Price
from tripos_runtime.models.mocks import CONSTANT
from tripos_runtime.models.unopened import check_name
from tripos_runtime.roles import RoleBinding
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger import RunLedger, open_ledger
from tripos_warehouse.store import Store, Tell

AT_NO_COST = (*LOCAL_PREFIXES, "replay/")
MOCKED = Price(0.0, 0.0, most_out=4_096)
"""No reply of a mock model, or of a constant, is longer."""


def foresee_run(prepared: PreparedRun, config: Config, tell: Tell) -> Forecast:
    """Forecast a prepared run. Recorded models cost nothing. `tell` is called with what is damaged in stores whose
    replies are reused. Raises `Failure`."""
    prices = {**known_prices(prepared.binding, config), **dict.fromkeys(prepared.wiring.recorded, FREE)}
    try:
        others = open_others(config.reuse, config.store, tell)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    return foresee(prepared.plan, prepared.source, prepared.selection, prepared.binding, config.store, prices, others)


def check_model_names(names: Sequence[str], config: Config) -> None:
    """Raise `Failure` R0103 for a model that a run could not open because of its name."""
    endpoints = endpoints_of(config)
    try:
        for name in names:
            check_name(name, endpoints)
    except ModelError as error:
        raise Failure(error.code, error.message, error.hint) from error


def foresee(
    plan: Plan,
    source: CaseSource,
    selection: Selection,
    binding: RoleBinding,
    store_path: str | Path,
    prices: Mapping[str, Price | None],
    others: OtherReplies = NO_OTHERS,
) -> Forecast:
    """Return the forecast of a run. Raises `Failure`."""
    try:
        store = find_store(store_path)
        if store is None:
            return forecast(plan, source, selection, binding, NothingKept(), prices, NO_HISTORY, others)
        history = read_history(store, plan.benchmark.name)
        ledger = _open(store, plan.fingerprints)
        try:
            return forecast(plan, source, selection, binding, ledger, prices, history, others)
        finally:
            if isinstance(ledger, RunLedger):
                ledger.close()
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    except DataError as error:
        raise Failure("E0307", error.message, error.help, USAGE) from error


def known_prices(binding: RoleBinding, config: Config) -> dict[str, Price | None]:
    """Return the price of every model that takes part: what `tripos.toml` says, or else litellm's map of models."""
    from tripos_runtime.models.catalog import price_of

    own = prices_of(config)
    found: dict[str, Price | None] = {}
    for name in binding.every:
        provider, _, model = name.partition("/")
        if name in own:
            found[name] = own[name]
        else:
            at_home = MOCKED if name.startswith(("mock/", CONSTANT)) else FREE
            found[name] = at_home if name.startswith(AT_NO_COST) else price_of(provider, model)
    return found


def _open(store: Store, fingerprints: Collection[str]) -> RunLedger | Committed:
    try:
        return open_ledger(store, fingerprints)
    except StoreError as error:
        if error.code != "S0102":
            raise
        return Committed(store, fingerprints)
