"""The images and other files that runs have shown: in the store, each once, under its SHA-256."""

from __future__ import annotations

from functools import partial

from tripos_runtime.datasets import MediaStore
from tripos_warehouse.store import Store
from tripos_warehouse.upkeep import MEDIA_FOLDER, keep_document, read_medium


def stored_media(store: Store) -> MediaStore:
    """Return where the content of media lies in a store."""
    return MediaStore(partial(keep_document, store, MEDIA_FOLDER), partial(read_medium, store))
