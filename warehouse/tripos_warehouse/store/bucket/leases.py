"""Leases on shards of the work: which session may make which calls, in one object that is written conditionally.

The key of a claim belongs to one of 256 shards. A session takes several shards at once, and gives one back when others
request it and all of its rows are uploaded. A shard of a session that is over or sealed is free. Claims are read and
written in the background. A session waits for a shard only if it has no other work and no other session is known to
have the shard.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from hashlib import blake2b
from queue import SimpleQueue
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.bucket.bucket import Bucket
from tripos_warehouse.store.bucket.catalog import StoredObject

CLAIMS = "claims.json"
CLAIMS_FORMAT = "tripos.claims/1"
SHARDS = 256
LOOK_S = 1.0
"""The interval between two reads of the claims."""

_Shard = Annotated[int, Field(ge=0, lt=SHARDS)]


class ShardClaims(BaseModel):
    """The session that has each shard, and the shards that other sessions request."""

    model_config = ConfigDict(strict=True, frozen=True)
    format: str = CLAIMS_FORMAT
    nonce: str = ""
    shards: dict[str, str] = {}
    requested: tuple[_Shard, ...] = ()


def shard_of(key: str) -> int:
    """Return the shard of a claim.

    >>> shard_of("a") == shard_of("a"), 0 <= shard_of("a") < SHARDS
    (True, True)
    """
    return blake2b(key.encode(), digest_size=1).digest()[0]


class Leases:
    """The shards of one session, with the interface of `Claims`."""

    def __init__(
        self,
        bucket: Bucket,
        session: str,
        kept: Callable[[], int],
        uploaded: Callable[[], int],
        is_over: Callable[[str], bool],
        load: Callable[[], None],
        background: Background,
    ) -> None:
        """`kept` and `uploaded` return the numbers of lines of the session's journal, and of those that are uploaded.
        `is_over` returns true if another session is over, and seals it first if it was silent for too long. `load`
        reads what others did.
        """
        self._bucket = bucket
        self._load = load
        self._background = background
        self._lock = threading.RLock()
        """Held for reads and changes of our shards, and never during a request to the bucket."""
        self._attempt: Future[None] | None = None
        self._giving_back: Future[None] | None = None
        self._session = session
        self._kept = kept
        self._uploaded = uploaded
        self._is_over = is_over
        self._keys: dict[int, set[str]] = {}
        """Our shards, with the keys that are being worked on."""
        self._released: dict[str, int] = {}
        """Keys that are done, each with the number of lines of the journal when it was released."""
        self._giving: set[int] = set()
        """Shards that are being given back, until the claims were read without them."""
        self._claims_object: StoredObject | None = None
        """The object of the claims as it was last read or written, …"""
        self._claims = ShardClaims()
        """… and its content."""
        self._read_s = self._tried_s = -LOOK_S
        """When the claims were last read, and when a shard of another session was last requested."""

    def take(self, key: str, *, later: bool = False) -> bool:
        """Claim the shard of `key` and return true if it is ours. Then the results of others in it have been read.

        If another session is known to have the shard, it is requested in the background, and may be ours at a later
        call. With `later`, the same is done for any other shard while there is other work. Raises what `Objects.get`
        raises.
        """
        shard = shard_of(key)
        if self._add_key(shard, key):
            return True
        is_held = self._known_holder(shard)
        if is_held or (later and self._is_busy):
            is_under_way = self._attempt is not None and not self._attempt.done()
            if not is_under_way and (not is_held or time.monotonic() - self._tried_s >= LOOK_S):
                self._tried_s = time.monotonic()
                self._attempt = self._background.submit(lambda: self._obtain(shard))
            return False
        self._background.submit(lambda: self._obtain(shard)).result()
        return self._add_key(shard, key)

    @property
    def _is_busy(self) -> bool:
        """True if there are keys that are claimed and not released."""
        with self._lock:
            return sum(map(len, self._keys.values())) > len(self._released)

    def release(self, key: str) -> None:
        """Mark `key` as done. A key that is not ours is ignored."""
        with self._lock:
            if key in self._keys.get(shard_of(key), ()):
                self._released[key] = self._kept()

    def let_go(self) -> None:
        """Give back, in the background, shards that others request and in which all keys are done and uploaded."""
        if self._giving_back is None or self._giving_back.done():
            self._giving_back = self._background.submit(self._let_go)

    def _add_key(self, shard: int, key: str) -> bool:
        """Add a key to the keys that are being worked on and return true, if its shard is ours; otherwise false."""
        with self._lock:
            if shard not in self._keys:
                return False
            self._released.pop(key, None)
            self._keys[shard].add(key)
            return True

    def _let_go(self) -> None:
        """Give back the shards that others request, and those beyond our share, if they are done."""
        claims = self._claims if time.monotonic() - self._read_s < LOOK_S else self._read()
        requested = set(claims.requested)
        share = self._fair_share() if requested else SHARDS
        uploaded = self._uploaded()
        with self._lock:
            for key in [key for key, kept in self._released.items() if kept <= uploaded]:
                del self._released[key]
                self._keys[shard_of(key)].discard(key)
            if requested and (idle := {shard for shard, keys in self._keys.items() if not keys}):
                surplus = len(self._keys) - share
                # From here on they are not ours, whether or not the write succeeds: it may take effect at any time.
                for shard in idle & requested | set(sorted(idle - requested)[: max(0, surplus)]):
                    del self._keys[shard]
                    self._giving.add(shard)
        self._giving = {shard for shard in self._giving if claims.shards.get(str(shard)) == self._session}
        if self._giving:
            self._give_back(claims, self._giving)

    def _obtain(self, shard: int) -> None:
        """Take a shard if it is free, and others up to our share, and read what others did in them; otherwise request
        it.
        """
        if shard in self._keys:
            return  # by an earlier attempt
        claims = self._read()
        holder = claims.shards.get(str(shard))
        if holder not in (None, self._session) and not self._is_over(str(holder)):
            if shard not in claims.requested:
                # While a shard is requested, other sessions give back what exceeds their share.
                self._write(claims.shards, (*claims.requested, shard))
            return
        sessions = self._bucket.catalog().sessions
        free = [
            other
            for other in range(SHARDS)
            if claims.shards.get(str(other)) not in sessions
            and other not in self._keys
            and other not in self._giving
            and other != shard
        ]
        count = max(0, self._fair_share() - len(self._keys) - 1)
        taken = [shard, *free[:count]]
        requested = tuple(other for other in claims.requested if other not in taken)
        if not self._write({**claims.shards, **{str(number): self._session for number in taken}}, requested):
            return
        self._load()
        with self._lock:
            for number in taken:
                self._keys[number] = set()
                self._giving.discard(number)

    def _known_holder(self, shard: int) -> bool:
        """Return true if a session had the shard when the claims were last read."""
        return self._claims.shards.get(str(shard)) is not None

    def _fair_share(self) -> int:
        """Return the number of shards of each session if all have equally many, rounded up."""
        return -(-SHARDS // max(1, len(self._bucket.catalog().sessions)))

    def _give_back(self, claims: ShardClaims, shards: set[int]) -> None:
        """Write the claims without some shards."""
        rest = {shard: session for shard, session in claims.shards.items() if int(shard) not in shards}
        self._write(rest, tuple(shard for shard in claims.requested if shard not in shards))

    def _read(self) -> ShardClaims:
        """Return the current claims."""
        objects = self._bucket.objects
        stored_object = (
            objects.get(CLAIMS) if self._claims_object is None else objects.changed(CLAIMS, self._claims_object)
        )
        if stored_object is None:
            objects.create(CLAIMS, ShardClaims(nonce=uuid.uuid4().hex).model_dump_json().encode())
            stored_object = objects.get(CLAIMS)
            assert stored_object is not None
        if stored_object is not self._claims_object:
            try:
                claims = ShardClaims.model_validate_json(stored_object.content)
            except ValidationError as error:
                message = f"`{objects.address}/{CLAIMS}` is unreadable"
                hint = "remove the object while no worker runs: claims are made again"
                raise StoreError("S0402", message, hint) from error
            self._claims_object, self._claims = stored_object, claims
        self._read_s = time.monotonic()
        return self._claims

    def _write(self, shards: dict[str, str], requested: tuple[int, ...]) -> bool:
        """Write the claims if nobody has written them since they were read, and return true if that succeeded."""
        assert self._claims_object is not None
        new = ShardClaims(nonce=uuid.uuid4().hex, shards=shards, requested=requested)
        tag = self._bucket.objects.swap(CLAIMS, new.model_dump_json().encode(), self._claims_object.tag)
        if tag is None:
            return self._read().nonce == new.nonce
        self._claims_object = StoredObject(new.model_dump_json().encode(), tag, self._claims_object.written_at)
        self._claims = new
        return True


Value = TypeVar("Value")


class Background:
    """A thread that makes calls in order. It does not keep the process alive."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="tripos-bucket-work", daemon=True)
        self._closed = False
        self._error: Exception | None = None
        """The first error of a call since the last check."""

    def submit(self, call: Callable[[], Value]) -> Future[Value]:
        """Schedule a call, or make it now if the thread has ended, and return its future."""
        future: Future[Value] = Future()
        if self._closed:
            self._make(call, future)
            return future
        if self._thread.ident is None:
            self._thread.start()
        self._waiting.put((call, future))
        return future

    def check(self) -> None:
        """Raise the first error of a call since the last check."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def close(self, timeout_s: float | None = None) -> None:
        """Make the pending calls, for at most `timeout_s`, and end the thread."""
        self._closed = True
        if self._thread.ident is not None:
            self._waiting.put(None)
            self._thread.join(timeout_s)

    def _run(self) -> None:
        """Make the pending calls until the thread is closed."""
        while (item := self._waiting.get()) is not None:
            self._make(*item)

    def _make(self, call: Callable[[], Any], future: Future[Any]) -> None:
        """Make a call and set the result of its future."""
        try:
            future.set_result(call())
        except Exception as error:
            self._error = self._error or error
            future.set_exception(error)
