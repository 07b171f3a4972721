"""Documents of a store: small files beside its tables, such as what was handed to a person. The first of a name stays.

On a bucket they are objects, so that every machine finds them; a listing of them may be late.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

from tripos_warehouse.errors import StoreError, unwritable
from tripos_warehouse.store import Store, read_plain, unsealed

ANNOTATIONS = "annotations"
"""The folder of what was handed to people, as sealed JSON."""


def keep_document(store: Store, folder: str, name: str, content: bytes) -> None:
    """Keep a document, unless there is one of that name. Raises `StoreError` S0102 where the disk refuses, and what
    `Objects.create` does."""
    if store.bucket is not None:
        store.bucket.objects.create(f"{folder}/{name}", content)
        return
    path = store.root / folder / name
    try:
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            new = path.with_suffix(f".{uuid.uuid4().hex[:12]}.tmp")
            with new.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
    except OSError as error:
        raise unwritable(store.root, error) from error


def read_document(store: Store, folder: str, name: str) -> bytes | None:
    """Return a document; None where there is none. Raises `OSError`, and what `Objects.get` does."""
    if store.bucket is not None:
        held = store.bucket.objects.get(f"{folder}/{name}")
        return None if held is None else held.content
    path = store.root / folder / name
    return read_plain(path) if path.is_file() else None


def list_documents(store: Store, folder: str, suffix: str) -> list[str]:
    """Return the names of the documents in a folder that end so. Raises what `Objects.sizes` does."""
    if store.bucket is not None:
        names = (name.removeprefix(f"{folder}/") for name in store.bucket.objects.sizes(folder))
        return sorted(name for name in names if name.endswith(suffix) and "/" not in name)
    return sorted(path.name for path in (store.root / folder).glob(f"*{suffix}"))


def damaged_annotations(store: Store) -> Iterator[StoreError]:
    """Yield what is wrong with the records of what was handed to people: S0401 for each that cannot be read, or is not
    what was written. Raises what `Objects.get` does."""
    for name in list_documents(store, ANNOTATIONS, ".json"):
        try:
            unsealed(read_document(store, ANNOTATIONS, name) or b"", required=False)
        except (OSError, ValueError) as error:
            place, why = f"{store.place}/{ANNOTATIONS}/{name}", " ".join(str(error).split())
            yield StoreError("S0401", f"`{place}` is unreadable ({why})", "restore the file from a backup of the store")
