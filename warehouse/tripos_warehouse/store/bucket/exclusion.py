"""One at a time on a bucket: an object that says that somebody is at work, for what builds on what it finds.

Nothing that counts rests on it: rows have names, and of two imports the later counts. It keeps an import from passing
over what another one is just writing. Whoever has held it for longer than some leases is taken to have died.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import orjson

from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.bucket.bucket import Bucket
from tripos_warehouse.store.bucket.objects import HeldObject, Tag

LEASES = 5
"""So many leases after it began, whoever has not ended is taken to have died."""


@contextmanager
def only_one(bucket: Bucket, name: str) -> Iterator[bool]:
    """Be the only one at work under a name, on all machines; yield false where another one is. Then the copy on this
    machine is brought up to date. Raises what `Objects.get` and `Bucket.sync` do."""
    place = f"busy/{name}.json"
    tag = _taken(bucket, place)
    try:
        if tag is not None:
            bucket.sync()
        yield tag is not None
    finally:
        if tag is not None:
            with suppress(StoreError):
                bucket.objects.swap(place, _content(at_work=False), tag)


def _taken(bucket: Bucket, place: str) -> Tag | None:
    objects, content = bucket.objects, _content(at_work=True)
    held = objects.get(place)
    if held is None:
        objects.create(place, content)
    elif not _is_at_work(held) or _is_old(bucket, place, held):
        objects.swap(place, content, held.tag)
    held = objects.get(place)
    return held.tag if held is not None and held.content == content else None


def _content(*, at_work: bool) -> bytes:
    return orjson.dumps({"at_work": at_work, "nonce": uuid.uuid4().hex})


def _is_at_work(held: HeldObject) -> bool:
    try:
        return bool(orjson.loads(held.content)["at_work"])
    except (ValueError, KeyError, TypeError):
        return False


def _is_old(bucket: Bucket, place: str, held: HeldObject) -> bool:
    """Return true if whoever is at work began long ago, by two times of the store's clock."""
    now = bucket.objects.clock(f"{place}.asked")
    return now is not None and (now - held.written_at).total_seconds() > LEASES * bucket.lease_s
