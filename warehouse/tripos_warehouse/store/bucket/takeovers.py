"""Takeovers: sessions that were silent for longer than a lease are sealed, and what they uploaded is committed.

All of them at once: whoever waits for one dead worker waits as long for thirty. A session that died before it had taken
any work is found in the same way, since every session that is listed costs each of the others a request a look.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from tripos_compiler.source import dataclass
from tripos_warehouse.store.bucket.bucket import Bucket, OpenLog
from tripos_warehouse.store.bucket.leases import LOOK_S
from tripos_warehouse.store.bucket.logs import Tail, read_slot, seal_content, slot_name
from tripos_warehouse.store.bucket.objects import at_once


@dataclass(frozen=True)
class _Suspect:
    """A session whose log has had this end since a time of our monotonic clock, and when the store wrote its last
    slot; None where that is not known yet."""

    end: int
    since_s: float
    written_at: datetime | None = None


class Takeovers:
    """Finds the sessions that are over. `beat` writes a sign of life of our own session, and returns when the store
    wrote it, by the store's clock; None where it could not."""

    def __init__(self, bucket: Bucket, own: str, beat: Callable[[], datetime | None]) -> None:
        self._bucket = bucket
        self._own = own
        self._beat = beat
        self._suspects: dict[str, _Suspect] = {}
        self._clock: tuple[datetime, float] | None = None
        """A time of the store's clock, and our monotonic one then."""

    def is_over(self, other: str) -> bool:
        """Return true if another session is over, after all that were silent for too long were taken over. Raises what
        `Bucket.commit_logs` does."""
        sessions = self._bucket.catalog().sessions
        if other not in sessions:
            return True
        tails = self._bucket.reader.tails({name: start for name, start in sessions.items() if name != self._own})
        silent = self._silent({name: tail for name, tail in tails.items() if not tail.sealed})
        sealed = at_once(lambda name: self._seal(name, tails[name].end), silent)
        gone = [name for name, is_sealed in zip(silent, sealed, strict=True) if is_sealed]
        gone += [name for name, tail in tails.items() if tail.sealed]
        over = self._bucket.counting({name: tails[name].end for name in gone})
        self._bucket.commit_logs([OpenLog(name, sessions[name], tails[name], over=True) for name in sorted(over)])
        return other not in self._bucket.catalog().sessions

    def _silent(self, tails: Mapping[str, Tail]) -> list[str]:
        """Return the sessions whose last slot is older than a lease. Both times are of the store's clock: that of the
        slot, and that of one which was just written."""
        now_s = time.monotonic()
        self._suspects = {
            name: known
            if (known := self._suspects.get(name)) is not None and known.end == tail.end
            else _Suspect(tail.end, now_s)
            for name, tail in tails.items()
        }
        least_s = max(LOOK_S, self._bucket.lease_s / 12)
        quiet = [name for name, suspect in self._suspects.items() if now_s - suspect.since_s >= least_s]
        new = [name for name in quiet if self._suspects[name].written_at is None]
        for name, written_at in zip(new, at_once(self._last_written, new), strict=True):
            # One whose last slot is gone was there at least when it was first looked at.
            self._suspects[name] = _Suspect(tails[name].end, self._suspects[name].since_s, written_at or self._now())
        lease = timedelta(seconds=self._bucket.lease_s)

        def old(names: list[str], now: datetime | None) -> list[str]:
            stamps = {name: self._suspects[name].written_at for name in names}
            return [name for name, at in stamps.items() if at is not None and now is not None and now - at > lease]

        likely = old(quiet, self._guess())
        return old(likely, self._now()) if likely else []

    def _last_written(self, name: str) -> datetime | None:
        return self._bucket.objects.written_at(slot_name(name, max(0, self._suspects[name].end - 1)))

    def _now(self) -> datetime | None:
        """Return the time of the store's clock, by a sign of life that was written just now."""
        now_s, now = time.monotonic(), self._beat()
        if now is not None:
            self._clock = (now, now_s)
        return now

    def _guess(self) -> datetime | None:
        """Return about what the store's clock shows, so that a sign of life is written only where it is of use."""
        now_s = time.monotonic()
        if self._clock is None or now_s - self._clock[1] > self._bucket.lease_s:
            return self._now()
        return self._clock[0] + timedelta(seconds=now_s - self._clock[1])

    def _seal(self, name: str, end: int) -> bool:
        """Write a seal at the end of a log, and return true if there is one; a session that lives was faster."""
        objects = self._bucket.objects
        if objects.create(slot_name(name, end), seal_content(self._own)):
            return True
        held = objects.get(slot_name(name, end))
        return held is not None and read_slot(end, held.content, name).is_seal
