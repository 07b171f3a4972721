"""Opens the store that a command reads, and says what of it is damaged and left out."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from tripos.failure import Failure
from tripos.settings.load import chosen_settings
from tripos.ui.terminal import harmless
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.store import Store

_opened: list[Store] = []
"""The stores that the command reads, so that it is tried again without what made it fail."""


def open_store(options: Namespace, *, writes: bool = False) -> Store:
    """The store of `--store`, the settings or `results`. What is damaged is told on standard error and left out, but of
    a store that the command writes to: what it does not know it could spoil. Raises `Failure` where there is none."""
    root = Path(chosen_settings(options).config.store)
    if not writes:
        for store in _opened:
            if store.root == root.expanduser().resolve():
                return store
    try:
        store = Store.open(root, create=False, tell=_tell, tolerant=not writes)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    if not writes:
        _opened.append(store)
    return store


def found_damage() -> bool:
    """Whether the stores that this command reads hold rows that are not sound, which it then leaves out."""
    found = [store.sweep() for store in _opened]
    return any(found)


def forget() -> None:
    """Lets go of the stores, at the end of a command."""
    _opened.clear()


def _tell(error: StoreError) -> None:
    print(f"warning[{error.code}]: {harmless(error.message)}: what it held is left out", file=sys.stderr)
    if error.hint:
        print(f"  = help: {harmless(error.hint)}", file=sys.stderr)
