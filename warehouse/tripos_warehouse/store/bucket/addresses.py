"""Addresses of stores on object stores, and the folder of this machine that has a copy of each."""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from pathlib import Path

SCHEMES = ("s3", "gs", "az")
_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)}):/+([^/].*?)/*", re.DOTALL)


def address_of(place: str | Path) -> str | None:
    """Return the address of a store on an object store; None for any other place.

    A path keeps one stroke of two, so `Path("s3://bucket/results")` is taken as well.

    >>> address_of("s3://bucket/results/"), address_of(Path("s3://bucket/results")), address_of("results")
    ('s3://bucket/results', 's3://bucket/results', None)
    """
    found = _ADDRESS.fullmatch(str(place))
    return found and f"{found[1]}://{found[2]}"


def copy_of(address: str) -> Path:
    """Return the folder of this machine for the store at an address: its committed parts, and the journal of runs.

    >>> copy_of("s3://bucket/results").parent.name
    'stores'
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    last = re.sub(r"[^A-Za-z0-9._-]+", "-", address.rpartition("/")[2])[:40]
    return cache / "tripos" / "stores" / f"{last}-{blake2b(address.encode(), digest_size=8).hexdigest()}"
