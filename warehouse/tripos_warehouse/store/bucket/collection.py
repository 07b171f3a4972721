"""Garbage collection on a bucket: parts that no catalog can list any more, and slots that are in parts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tripos_warehouse.store.bucket.bucket import Bucket
from tripos_warehouse.store.bucket.catalog import MANIFESTS, Catalog, PartGoneError, parts_of
from tripos_warehouse.store.bucket.logs import LOGS

_PART = re.compile(rf"(?:parts/[a-z0-9_]+|{MANIFESTS})/(\d{{12}})-.+")
_SLOT = re.compile(rf"{LOGS}/([^/]+)/(\d{{8}})")


def collect_objects(bucket: Bucket, *, dry_run: bool) -> Iterator[tuple[str, int, str]]:
    """Remove the objects that nobody needs, and yield the name and size of each, and why; with `dry_run` only that.

    First the floor is put above every part that there is: from then on none that the catalog does not list can come to
    be listed. The last slot of each log stays: it is a seal, or a sign of life. Raises what `Bucket.change` does.
    """
    before = bucket.catalog()
    catalog = before
    if not dry_run:
        catalog = bucket.change(lambda now: now.following(floor=now.serial + 1), lambda now: now.floor > before.serial)
    try:
        unneeded = [*_parts(bucket, catalog, before.serial + 1), *_slots(bucket, catalog)]
    except PartGoneError:
        return  # another one compacts and collects at the moment
    if not dry_run:
        bucket.objects.delete(name for name, _, _ in unneeded)
    yield from unneeded


def _parts(bucket: Bucket, catalog: Catalog, floor: int) -> Iterator[tuple[str, int, str]]:
    listed = {part.name for commit in catalog.commits for part in parts_of(bucket.objects, commit)}
    listed |= {commit.manifest.name for commit in catalog.commits if commit.manifest is not None}
    for name, size in sorted({**bucket.objects.sizes("parts"), **bucket.objects.sizes(MANIFESTS)}.items()):
        found = _PART.fullmatch(name)
        if found is not None and name not in listed and int(found[1]) < floor:
            yield name, size, "the catalog does not list it"


def _slots(bucket: Bucket, catalog: Catalog) -> Iterator[tuple[str, int, str]]:
    sizes = bucket.objects.sizes(LOGS)
    slots: dict[str, dict[int, str]] = {}
    for name in sizes:
        if (found := _SLOT.fullmatch(name)) is not None:
            slots.setdefault(found[1], {})[int(found[2])] = name
    for session, numbers in sorted(slots.items()):
        # A session that is not in the catalog is over; one that is about to be registered has one slot.
        end = min(catalog.sessions.get(session, max(numbers) + 1) - 1, max(numbers))
        for number in sorted(number for number in numbers if number < end):
            yield numbers[number], sizes[numbers[number]], "it is in a part"
