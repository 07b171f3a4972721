"""Named boards, whose runs are promoted and withdrawn with all decisions stored; and the cache of boards of a store.

The cache is valid for one list of commits, one location, and one version of Tripos; after any change of these, boards
are computed again. So no board is out of date, and the first one after a change of the store reads all scores. The file
is disposable, and contains its own digest. A board with a user's Python function is not cached: its values depend on
more than the store, such as what this user may execute here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.report.leaderboard import Board, leaderboard
from tripos_warehouse.store.derived import DerivedFiles
from tripos_warehouse.store.schemas import PROMOTIONS
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import MANY_BYTES, connect
from tripos_warehouse.views.runs import RunRecord, all_runs, find_run, get_plan
from tripos_warehouse.views.view_cache import state_of

if TYPE_CHECKING:
    from pydantic import TypeAdapter


PROMOTED, WITHDRAWN = "promoted", "withdrawn"


class Promotion(NamedTuple):
    """A decision about a run on a board: its `state` is promoted or withdrawn. Times are UTC without a zone. `stands`
    is true if there is no later decision about the run on this board."""

    board: str
    run_id: str
    state: str
    reason: str | None
    created_at: datetime
    stands: bool

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**self._asdict(), "created_at": self.created_at.isoformat() + "Z"}


def promote(
    store: Store,
    run: str,
    board: str,
    state: Literal["promoted", "withdrawn"] = "promoted",
    reason: str | None = None,
) -> tuple[RunRecord, bool]:
    """Promote a run to a board, or withdraw it. Return the run, and false if it already had this state.

    Raises `StoreError`: S0301 for a run that the store lacks, S0602 for a run that is not on the board it is withdrawn
    from, or that did not finish.
    """
    with connect(store) as connection:
        run_record = find_run(connection, run)
        is_on_board = any(
            promotion.run_id == run_record.run_id for promotion in promotions(connection, board) if _is_on(promotion)
        )
    if state == PROMOTED and not run_record.ended:
        message = f"run `{run_record.run_id}` is {run_record.status}: its figures lack some of its items"
        raise StoreError("S0602", message, "the same command goes on with it; promote it once it is finished")
    if state == WITHDRAWN and not is_on_board:
        message = f"run `{run_record.run_id}` is not on board `{board}`"
        raise StoreError("S0602", message, "`tripos promote --list` shows the runs of every board")
    if state == PROMOTED and is_on_board:
        return run_record, False
    row = {
        "promotion_id": os.urandom(16).hex(),
        "board": board,
        "run_id": run_record.run_id,
        "state": state,
        "reason": reason,
        "created_at": datetime.now(UTC),
    }
    store.append({PROMOTIONS.name: [row]})
    return run_record, True


def promotions(connection: Connection, board: str | None = None) -> list[Promotion]:
    """Return all decisions about the runs of a board, or of every board, the latest first."""
    query = """select board, run_id, state, reason, created_at,
        row_number() over (partition by board, run_id order by created_at desc, promotion_id desc) = 1
      from main.promotions order by created_at desc, promotion_id desc"""
    decisions = (Promotion(*row) for row in connection.execute(query).fetchall())
    return [promotion for promotion in decisions if board in (None, promotion.board)]


def named_board(
    store: Store,
    board: str,
    requested: Mapping[str, Sequence[str]],
    *,
    benchmarks: Sequence[str] = (),
    comparable: Callable[[str, str], bool],
    anyway: bool = False,
) -> list[Board]:
    """Return the `leaderboard` of the runs of a named board alone. If a model has several, the latest run counts.

    Raises `StoreError` as `leaderboard` does, and S0602 if no run is on the board.
    """
    with connect(store) as connection:
        decisions = promotions(connection)
        known = {run.run_id for run in all_runs(connection)}
    on_board = {promotion.run_id for promotion in decisions if promotion.board == board and _is_on(promotion)}
    if not on_board:
        names = sorted({promotion.board for promotion in decisions if _is_on(promotion)})
        hint = suggest(board, names, f"`tripos promote RUN --as {board}` puts a run on it")
        raise StoreError("S0602", f"no run is on board `{board}`", hint)
    if missing := sorted(on_board - known):
        message = f"board `{board}` has a run that the store lacks: `{missing[0]}`"
        raise StoreError("S0301", message, "merge the store that has it, or withdraw the run from the board")
    with connect(store, among=on_board) as connection:
        runs = all_runs(connection)
        return leaderboard(connection, runs, requested, benchmarks=benchmarks, comparable=comparable, anyway=anyway)


def _is_on(promotion: Promotion) -> bool:
    """Return true if a decision puts its run on its board."""
    return promotion.stands and promotion.state == PROMOTED


NAME = "boards.json"
"""The name of the file of cached boards."""
MOST_KEPT = 20
"""The most lists of boards that are cached for one state of a store."""


def stored_leaderboard(
    store: Store,
    requested: Mapping[str, Sequence[str]] = {},
    *,
    benchmarks: Sequence[str] = (),
    comparable: Callable[[str, str], bool],
    anyway: bool = False,
) -> list[Board]:
    """Return the `leaderboard` of all runs of a store. For a store with many scores it is cached.

    Raises `StoreError` as `leaderboard` and `connect` do, also if the boards are cached and a part is missing.
    """
    scores = sum(path.stat().st_size for path in store.files()["scores"])
    request = json.dumps(
        [{name: [*measures] for name, measures in requested.items()}, [*benchmarks], anyway], sort_keys=True
    )
    state = _state_of(store) if scores >= MANY_BYTES else None
    if state is not None and (cached := _read(store.root, state).get(request)) is not None:
        return cached
    with connect(store, sums=True) as connection:
        runs = all_runs(connection)
        boards = leaderboard(connection, runs, requested, benchmarks=benchmarks, comparable=comparable, anyway=anyway)
        may_cache = state is not None and not _executes(connection, runs, {board.benchmark for board in boards})
    if state is not None and may_cache and not store.damages and _state_of(store) == state:
        _write(store.root, state, {**_read(store.root, state), request: boards})
    return boards


def _executes(connection: Connection, runs: Sequence[RunRecord], benchmarks: Collection[str]) -> bool:
    """Return true if measures of these benchmarks call user functions in Python."""
    plans = {run.plan_digest: run for run in runs if run.benchmark in benchmarks}
    return any(plugin.aggregate for run in plans.values() for plugin in get_plan(connection, run).plugins)


def _state_of(store: Store) -> str | None:
    """Return a digest of everything that boards depend on; None if damaged parts of the store are left out."""
    return None if store.damages else state_of(store.root)


def _read(root: Path, state: str) -> dict[str, list[Board]]:
    """Return the boards cached for a state, by request; empty if the file is of another state, or damaged."""
    return DerivedFiles(root).read(NAME, state, lambda body: _boards_adapter().validate_python(body["boards"])) or {}


def _write(root: Path, state: str, boards: Mapping[str, list[Board]]) -> None:
    """Cache the boards, if the store is writable, and all numbers fit in JSON."""
    latest = dict([*boards.items()][-MOST_KEPT:])
    with suppress(ValueError):
        content = json.loads(json.dumps(_boards_adapter().dump_python(latest, mode="json"), allow_nan=False))
        DerivedFiles(root).write(NAME, state, {"boards": content})


@cache
def _boards_adapter() -> TypeAdapter[dict[str, list[Board]]]:
    from pydantic import TypeAdapter

    return TypeAdapter(dict[str, list[Board]])
