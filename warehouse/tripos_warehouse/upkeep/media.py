"""Images and other files that models were shown: each once in the folder `media` of a store, under its SHA-256."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from tripos_warehouse.errors import StoreError
from tripos_warehouse.store import Store
from tripos_warehouse.upkeep.documents import keep_document, list_documents, read_document

MEDIA_FOLDER = "media"
_NAME = re.compile(r"[0-9a-f]{64}")
_HINT = "restore the file from a backup, or delete it: the next run that shows it keeps it again"


def read_medium(store: Store, name: str) -> bytes | None:
    """Return the content that has this SHA-256; None where there is none, it cannot be read, or it is another one."""
    try:
        content = read_document(store, MEDIA_FOLDER, name)
    except OSError:
        return None
    return content if content is not None and hashlib.sha256(content).hexdigest() == name else None


def copy_media(source: Store, target: Store) -> None:
    """Keep the contents of another store that this one lacks. One that is not what its name says is left out. Raises
    what `leave_out` of the source and `keep_document` do."""
    known = set(list_documents(target, MEDIA_FOLDER, ""))
    for name in _names(source):
        if name not in known:
            if (content := read_medium(source, name)) is None:
                source.leave_out(StoreError("S0401", _message(source, name), _HINT))
            else:
                keep_document(target, MEDIA_FOLDER, name, content)


def damaged_media(store: Store) -> Iterator[StoreError]:
    """Yield what is wrong with contents of a store: S0401 for each that is not what its name says."""
    for name in _names(store):
        if read_medium(store, name) is None:
            yield StoreError("S0401", _message(store, name), _HINT)


def _names(store: Store) -> list[str]:
    return [name for name in list_documents(store, MEDIA_FOLDER, "") if _NAME.fullmatch(name)]


def _message(store: Store, name: str) -> str:
    place = "/".join((str(store.place), MEDIA_FOLDER, name))
    return f"another content than that of its SHA-256: `{place}`"
