"""The images and other files that runs have shown: in the store, each once, under its SHA-256."""

from __future__ import annotations

from tripos_runtime.datasets import MediaStore
from tripos_warehouse.store import Store
from tripos_warehouse.upkeep import MediaKeeper


def stored_media(store: Store) -> MediaStore:
    """Return where the content of media lies in a store. Close it when what was kept is in rows."""
    keeper = MediaKeeper(store)
    return MediaStore(keeper.keep, keeper.read, keeper.close)
