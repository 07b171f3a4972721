"""What a store has of results that count no longer after a change, and what it cost to have them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tripos.failure import Failure
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.views import connect


@dataclass(frozen=True)
class Stale:
    """Replies, judgements and scores that would be made again, and what the calls among them cost; `None` where
    nobody told the cost of one."""

    samples: int
    judgements: int
    scores: int
    cost_usd: float | None

    @property
    def text(self) -> str:
        """In words: `3 replies and 6 judgements, which cost 0.0120 USD; 12 scores`."""
        cost = "whose cost nobody told" if self.cost_usd is None else f"which cost {self.cost_usd:.4f} USD"
        return f"{self.samples:,} replies and {self.judgements:,} judgements, {cost}; {self.scores:,} scores"


def stale_in(store: Path, fingerprints: Collection[str]) -> Stale:
    """What a store has of results with these fingerprints. Raises `Failure` where it cannot be read."""
    listed = ", ".join(map(sql.text, sorted(fingerprints))) or "NULL"
    try:
        connection = connect(Store.open(store, create=False))
        with connection:
            counts = {
                table: connection.execute(
                    f"select count(*) from main.{table} where fingerprint in ({listed})"
                ).fetchall()[0][0]
                for table in ("samples", "judgements", "scores")
            }
            cost, unknown = connection.execute(
                f"""select coalesce(sum(cost_usd), 0), count(*) filter (cost_usd is null and status = 'ok') from (
                  select cost_usd, status, adopted_from from main.samples where fingerprint in ({listed})
                  union all
                  select cost_usd, status, adopted_from from main.judgements where fingerprint in ({listed}))
                where adopted_from is null"""
            ).fetchall()[0]
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    return Stale(counts["samples"], counts["judgements"], counts["scores"], None if unknown else float(cost))
