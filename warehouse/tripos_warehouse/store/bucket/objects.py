"""The objects of a bucket: reads, and conditional writes whose outcome is settled by reading back.

A write whose answer was lost may have landed, and a client that repeats a write may be refused by its own first try.
So no error of a conditional write is believed: the object is read, and its content says whose write it was. Every
content that is written so has a nonce.
"""

from __future__ import annotations

import os
import random
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, TypeVar

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotModifiedError,
    NotSupportedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)

from tripos_compiler.source import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.bucket.panics import ClientPanicError, panics_as_errors

PATIENCE_S = 60.0
"""A bucket that answers nothing but errors for so long is taken as out of reach."""
_LONGEST_PAUSE_S = 2.0
_BACKOFF = {"init_backoff": timedelta(milliseconds=50), "max_backoff": timedelta(seconds=1), "base": 2}
_RETRIES: Any = {"max_retries": 2, "retry_timeout": timedelta(seconds=10), "backoff": _BACKOFF}

Tag = dict[str, Any]
"""The version of an object, as a conditional write takes it."""
Name = TypeVar("Name")
Value = TypeVar("Value")
_AT_ONCE = 16


@dataclass(frozen=True)
class HeldObject:
    """An object as it was read: its content, its version, and when the store wrote it by the store's own clock."""

    content: bytes
    tag: Tag
    written_at: datetime


class Objects:
    """The objects below one address."""

    def __init__(self, store: Any, address: str, patience_s: float = PATIENCE_S) -> None:
        self.address = address
        self._store = store
        self._patience_s = patience_s
        self._answered = False
        """True once a call came to an end: then its client takes the settings and the credentials."""

    @classmethod
    def at(cls, address: str, patience_s: float = PATIENCE_S) -> Objects:
        """Return the objects at an address. Credentials and the endpoint come from the environment of the user alone.

        Raises `StoreError` S0110 where the address is none.
        """
        from obstore.store import from_url

        plain = any(os.environ.get(name, "").startswith("http://") for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT"))
        options: Any = {"timeout": "20s", "connect_timeout": "5s"} | ({"allow_http": True} if plain else {})
        try:
            with panics_as_errors(hushed=True):
                return cls(from_url(address, client_options=options, retry_config=_RETRIES), address, patience_s)
        except (BaseError, ValueError) as error:
            raise _out_of_reach(address, error) from error

    def get(self, name: str) -> HeldObject | None:
        """Return an object; None where there is none. Raises `StoreError`: S0109, S0110."""

        def read() -> HeldObject:
            found = obstore.get(self._store, name)
            return HeldObject(bytes(found.bytes()), _tag(found.meta), found.meta["last_modified"])

        return self._patiently(read)

    def changed(self, name: str, held: HeldObject) -> HeldObject | None:
        """Return an object as it is now: `held` itself where it is the same. Raises as `get` does."""
        wanted = held.tag.get("e_tag")

        def read() -> HeldObject:
            try:
                found = obstore.get(self._store, name, options={"if_none_match": wanted} if wanted else None)
            except NotModifiedError:
                return held
            return HeldObject(bytes(found.bytes()), _tag(found.meta), found.meta["last_modified"])

        return self._patiently(read)

    def written_at(self, name: str) -> datetime | None:
        """Return when the store wrote an object, by its own clock; None where there is none. Raises as `get` does."""
        return self._patiently(lambda: obstore.head(self._store, name)["last_modified"])

    def clock(self, name: str) -> datetime | None:
        """Return what the store's own clock shows, by an object that is written anew under this name. Raises as `get`
        does."""
        self.put(name, uuid.uuid4().hex.encode())
        return self.written_at(name)

    def create(self, name: str, content: bytes, ends_s: float | None = None) -> bool:
        """Write an object if its name is free, and return true if the object that is there then is this one.

        `ends_s` is when to give up, by the monotonic clock. Raises as `get` does; the outcome is not known then.
        """
        ends_s = time.monotonic() + self._patience_s if ends_s is None else ends_s
        pause_s = 0.05
        while True:
            trouble: Exception | None = None
            try:
                self._call(lambda: obstore.put(self._store, name, content, mode="create"))
                return True
            except (AlreadyExistsError, PreconditionError):
                pass  # by somebody else, or by our own first try
            except (BaseError, OSError, NotImplementedError) as error:
                trouble = self._passing(error, writing=True)
            held = self.get(name)
            if held is not None:
                return held.content == content
            if time.monotonic() > ends_s:
                raise _out_of_reach(self.address, trouble or TimeoutError("a write was refused and nothing is there"))
            pause_s = _pause(pause_s)

    def swap(self, name: str, content: bytes, tag: Tag) -> Tag | None:
        """Write an object if it has still the version `tag`; its new version, or None where the outcome is not known:
        the object must be read then. Raises `StoreError`: S0108, S0109, S0111."""
        try:
            return _tag(self._call(lambda: obstore.put(self._store, name, content, mode=tag)))  # type: ignore[arg-type]
        except (AlreadyExistsError, PreconditionError):
            return None
        except (BaseError, OSError, NotImplementedError) as error:
            self._passing(error, writing=True)
            return None

    def put(self, name: str, content: bytes) -> None:
        """Write an object whose name nobody else uses. Raises `StoreError`: S0108, S0109, S0110."""
        self._patiently(lambda: obstore.put(self._store, name, content), writing=True)

    def sizes(self, prefix: str) -> dict[str, int]:
        """Return the sizes of all objects below a prefix, by name. A listing may be late."""

        def every() -> dict[str, int]:
            return {each["path"]: each["size"] for batch in obstore.list(self._store, prefix) for each in batch}

        return self._patiently(every) or {}

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects; one that is not there is passed over."""
        some = sorted(names)
        for start in range(0, len(some), 1000):
            self._patiently(lambda start=start: obstore.delete(self._store, some[start : start + 1000]))  # type: ignore[misc]

    def _patiently(self, call: Callable[[], Value], *, writing: bool = False) -> Value | None:
        ends_s, pause_s = time.monotonic() + self._patience_s, 0.05
        while True:
            try:
                return self._call(call)
            except FileNotFoundError as error:
                if writing:
                    raise self._passing(error, writing=True) from error
                return None
            except (BaseError, OSError, NotImplementedError) as error:
                self._passing(error, writing=writing)
                if time.monotonic() > ends_s:
                    raise _out_of_reach(self.address, error) from error
            pause_s = _pause(pause_s)

    def _call(self, call: Callable[[], Value]) -> Value:
        """Return what a call of the client returns. Raises `StoreError` S0110 for a panic, and what the client does."""
        try:
            with panics_as_errors(hushed=not self._answered):
                found = call()
        except ClientPanicError as error:
            raise _out_of_reach(self.address, error) from error
        self._answered = True
        return found

    def _passing(self, error: Exception, *, writing: bool) -> Exception:
        """Return an error that may pass. Raises `StoreError` for any other."""
        if isinstance(error, FileNotFoundError) and writing:
            hint = "make the bucket, or name another one with `--store`"
            raise StoreError("S0108", f"no bucket at `{self.address}`", hint) from error
        if isinstance(error, (PermissionDeniedError, UnauthenticatedError)):
            hint = "give your keys in the environment, with the right to read, write and list below this address"
            raise StoreError("S0109", f"`{self.address}` refuses access: {first_line(error)}", hint) from error
        if isinstance(error, (NotSupportedError, NotImplementedError)):
            raise no_conditions(self.address) from error
        return error


def at_once(call: Callable[[Name], Value], names: Sequence[Name]) -> list[Value]:
    """Return what a call returns for each of these, in their order; many requests are under way at once."""
    if len(names) < 2:
        return [call(name) for name in names]
    with ThreadPoolExecutor(min(_AT_ONCE, len(names)), "tripos-bucket") as pool:
        return list(pool.map(call, names))


def no_conditions(address: str) -> StoreError:
    """Return the error of an object store that writes although a condition does not hold."""
    return StoreError(
        "S0111",
        f"`{address}` has no conditional writes, so two workers could overwrite each other there",
        "use an object store with `If-None-Match` and `If-Match` on writes, or a folder and one machine",
    )


def first_line(error: Exception) -> str:
    """Return the first line of what an error says."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _out_of_reach(address: str, error: Exception) -> StoreError:
    return StoreError(
        "S0110",
        f"`{address}` is out of reach: {first_line(error)}",
        "look at the address, the endpoint in the environment and the network; what was kept is in the local journal",
    )


def _pause(pause_s: float) -> float:
    """Wait a random time about as long as given, and return how long to wait next."""
    time.sleep(pause_s * random.uniform(0.5, 1.5))
    return min(2 * pause_s, _LONGEST_PAUSE_S)


def _tag(found: Any) -> Tag:
    return {name: found[name] for name in ("e_tag", "version") if found.get(name) is not None}
