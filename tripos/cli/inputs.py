"""Opens the store that a command reads."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tripos.failure import Failure
from tripos.settings.load import chosen_settings
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.store import Store


def open_store(options: Namespace) -> Store:
    """The store of `--store`, the settings or `results`. Raises `Failure` where there is none."""
    root = Path(chosen_settings(options).config.store)
    try:
        return Store.open(root, create=False)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
