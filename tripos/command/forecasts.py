"""The forecast of a run: reads the store and the prices, asks the runtime, and shows what it says."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from tripos.command.forecast_data import to_json
from tripos.command.forecast_text import lines_of
from tripos.command.histories import read_history
from tripos.command.terminal import columns
from tripos.config import Config
from tripos.failure import GOOD, USAGE, Failure
from tripos.wiring import AT_HOME, endpoints_of, prices_of
from tripos_compiler.data import DataError
from tripos_compiler.plan import Plan
from tripos_runtime.binding import Binding
from tripos_runtime.budget import Budget, BudgetError
from tripos_runtime.cases import CaseSource, Selection
from tripos_runtime.forecast import Forecast, NothingKept, forecast
from tripos_runtime.history import NO_HISTORY
from tripos_runtime.models.base import FREE, ModelError, Price
from tripos_runtime.models.baseline import CONSTANT
from tripos_runtime.models.naming import check_name
from tripos_warehouse.draws import Draws
from tripos_warehouse.errors import StoreError
from tripos_warehouse.index import RESULTS, Index
from tripos_warehouse.keys import pack
from tripos_warehouse.ledger import RunLedger, open_ledger
from tripos_warehouse.lookup import Lookup
from tripos_warehouse.rows import Row
from tripos_warehouse.store import Store

AT_NO_COST = (*AT_HOME, "replay/")
MOCKED = Price(0.0, 0.0, most_out=4_096)
"""No reply of a mock model, or of a constant, is longer."""


def dry_run(
    plan: Plan,
    source: CaseSource,
    selection: Selection,
    binding: Binding,
    config: Config,
    as_json: bool,
    recorded: Collection[str] = (),
) -> int:
    """Prints what a run would do, as text or as JSON, and asks no model. A store that is not there is not made.
    `recorded` are the models that answer from a recording, which costs nothing.

    Raises `Failure` where the store or a data file cannot be read.
    """
    found, budget = foresee_run(plan, source, selection, binding, config, recorded)
    withheld = source.withheld_counts(selection)
    print(to_json(found, budget, withheld) if as_json else "\n".join(lines_of(found, plan, columns(), budget)))
    return GOOD


def foresee_run(
    plan: Plan,
    source: CaseSource,
    selection: Selection,
    binding: Binding,
    config: Config,
    recorded: Collection[str] = (),
) -> tuple[Forecast, Budget | None]:
    """The forecast of a run, and its budget. Raises `Failure`."""
    try:
        budget = Budget.parse(config.budget) if config.budget else None
    except BudgetError as error:
        raise Failure(error.code, error.message, error.hint) from error
    prices = {**known_prices(binding, config), **dict.fromkeys(recorded, FREE)}
    return foresee(plan, source, selection, binding, config.store, prices), budget


def check_names(names: Sequence[str], config: Config) -> None:
    """Raises `Failure` R0103 for a model that a run could not open because of its name."""
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
    binding: Binding,
    store_path: str | Path,
    prices: Mapping[str, Price | None],
) -> Forecast:
    """The forecast of a run. Raises `Failure`."""
    try:
        store = find_store(store_path)
        if store is None:
            return forecast(plan, source, selection, binding, NothingKept(), prices, NO_HISTORY)
        history = read_history(store, plan.benchmark.name)
        ledger = _open(store, plan.fingerprints)
        try:
            return forecast(plan, source, selection, binding, ledger, prices, history)
        finally:
            if isinstance(ledger, RunLedger):
                ledger.close()
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    except DataError as error:
        raise Failure("E0307", error.message, error.help, USAGE) from error


def known_prices(binding: Binding, config: Config) -> dict[str, Price | None]:
    """The price of every model that takes part: what `tripos.toml` says, or else litellm's map of models."""
    from tripos_runtime.models.prices import price_of

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


def find_store(path: str | Path) -> Store | None:
    """The store at a path; `None` where there is none. Raises `StoreError` where there is one that cannot be read."""
    try:
        return Store.open(path, create=False)
    except StoreError as error:
        if error.code == "W0101":
            return None
        raise


def _open(store: Store, fingerprints: Collection[str]) -> RunLedger | Committed:
    try:
        return open_ledger(store, fingerprints)
    except StoreError as error:
        if error.code != "W0102":
            raise
        return Committed(store, fingerprints)


class Committed:
    """What a store that may only be read has committed."""

    def __init__(self, store: Store, fingerprints: Collection[str]) -> None:
        self._store, self._fingerprints = store, fingerprints
        self._indexes: dict[str, Index] = {}
        self._draws = Draws(store.parts, Lookup())

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        """The status of each of these rows; `None` for those that are not kept."""
        index = self._index(table)
        return index.names_of(index.find(pack(ids)).codes)

    def held(self) -> set[str]:
        """The fingerprints of which any result is kept."""
        return set[str]().union(*(self._index(table).fingerprints for table in RESULTS))

    def rows(self, table: str, ids: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
        """Whole rows, by id."""
        return self._store.rows(table, ids)

    def repliers(self, table: str) -> Collection[str]:
        """Who gave replies of which it is known what they are replies to."""
        return self._draws.models(table)

    def replies(self, table: str, request: str) -> list[tuple[Row, Row | None]]:
        """The rows whose reply was sent for the request of that digest, each with its unreadable first reply."""
        return self._draws.find(table, request)

    def _index(self, table: str) -> Index:
        if table not in self._indexes:
            self._indexes[table] = Index(table, self._fingerprints)
            self._indexes[table].load(self._store.parts(table))
        return self._indexes[table]
