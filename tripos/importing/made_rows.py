"""The rows of made data sets that a store has: replies that are imported are to these."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripos.config import Config
from tripos.failure import Failure
from tripos.wiring import identified
from tripos_compiler.plan import Made, Plan
from tripos_runtime.datasets.cases import CaseSource, Selection
from tripos_runtime.forecast.generation import data_maker
from tripos_runtime.roles.binding import Binding
from tripos_warehouse.store.store import MARKER, Store
from tripos_warehouse.views.views import connect

FREE = "mock/careful"
"""A model that costs nothing."""


@dataclass(frozen=True)
class MadeRows:
    """Who fills the roles that make data sets, and how many rows of each are yet to be made, where any are."""

    models: Mapping[str, str]
    unmade: Mapping[str, int]


def take_made_rows(
    plan: Plan, source: CaseSource, config: Config, ledger: Any, given: Mapping[str, str], command: Sequence[str]
) -> MadeRows:
    """Puts the rows that the store of `config` has where `source` finds them. Rows that were there before, such as
    those of a release, stay. A role that makes rows is filled by the model that is `given`, or by the only one that
    filled it in the runs of the store that made these rows. `command` is how a run of the spec is typed.

    Raises `Failure` R0201 where nobody says which of several models made the rows, and E0307 where none are made yet;
    its hint is the command that makes them.
    """
    making = [made for made in plan.made if made.name not in source.sources.made.frozen]
    if not making:
        return MadeRows({}, {})
    models: dict[str, str] = {}
    known = _fillings(Path(config.store), making)
    for role in dict.fromkeys(ask.role for made in making for ask in made.asks):
        filled = [given[role]] if role in given else sorted(known.get(role, ()))
        if len(filled) > 1:
            names = ", ".join(filled)
            message = f"several models made rows as `{role}`: {names}"
            raise Failure("R0201", message, f"say whose rows the replies are to: --role {role}={filled[0]}")
        models |= {role: filled[0]} if filled else {}
    lacking = {ask.role for made in making for ask in made.asks} - models.keys()
    if lacking:
        raise _unmade(plan, making, models, command)
    compared = next(role.name for role in plan.roles if role.kind == "compared")
    filled_by = {role.name: tuple(models[each] for each in (role.name,) if each in models) for role in plan.roles}
    binding = identified(Binding(filled_by, compared), config)
    maker = data_maker(plan, source, Selection(), binding, ledger)
    maker.go_through()
    unmade = {name: len(each.open) for name, each in maker.makers.items() if each.open}
    rows = source.sources.made.rows
    if unmade and not any(len(list(rows[name])) for name in unmade):
        raise _unmade(plan, making, models, command)
    return MadeRows(models, unmade)


def _fillings(root: Path, making: Sequence[Made]) -> dict[str, set[str]]:
    """The models that filled each role in the runs of a store that made these data sets."""
    found: dict[str, set[str]] = {}
    if not (root / MARKER).is_file():
        return found
    wanted = {each for made in making for each in made.fingerprints}
    with connect(Store.open(root, create=False)) as connection:
        runs = connection.execute("select roles, fingerprints from main.runs").fetchall()
    for roles, fingerprints in runs:
        if wanted.isdisjoint(fingerprints):
            continue
        for role, models in json.loads(roles).items():
            found.setdefault(role, set()).update(models)
    return found


def _unmade(plan: Plan, making: Sequence[Made], models: Mapping[str, str], command: Sequence[str]) -> Failure:
    """What to type so that the rows are made. The models that reply are those that cost nothing: their replies are not
    those that are imported."""
    named = " and ".join(f"`{made.name}`" for made in making if made.asks)
    makers = {ask.role for made in making for ask in made.asks}
    words = [*command, "--model", FREE]
    for role in plan.roles:
        if role.kind != "compared":
            words += ["--role", f"{role.name}={models.get(role.name, 'MODEL' if role.name in makers else FREE)}"]
    message = f"the rows of {named} are yet to be made, and replies can only be to rows that are there"
    return Failure("E0307", message, f"make them, then import again: {shlex.join(words)}")
