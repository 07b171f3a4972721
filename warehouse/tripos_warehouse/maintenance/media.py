"""Files beside the tables of a store: media that models were shown, and documents such as annotation records.

A medium is stored once in the folder `media` under its SHA-256. A process that stores media has a shared lock as long
as it works, since a row that names a medium may be written hours later; on a bucket, its session is in the catalog.
Garbage collection removes media only while there is no such process. A document is never replaced: the first one with a
name stays. On a bucket, media and documents are objects, so that every machine finds them; a listing of objects may lag
behind.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from tripos_compiler.files import write_atomically
from tripos_warehouse.errors import StoreError, store_write_error
from tripos_warehouse.store.bucket.bucket import Bucket
from tripos_warehouse.store.digests import unsealed
from tripos_warehouse.store.journal import segments
from tripos_warehouse.store.locks import SHOWN, Locks, lock_offset
from tripos_warehouse.store.parts import open_part
from tripos_warehouse.store.paths import read_plain
from tripos_warehouse.store.store import Store

# Documents
ANNOTATIONS = "annotations"
"""The folder of records of what people were given to grade, as sealed JSON."""


def write_document(store: Store, folder: str, name: str, content: bytes) -> None:
    """Store a document, unless one of that name exists. Raises `StoreError` S0102 if it cannot be written, and what
    `Objects.create` raises.
    """
    if store.bucket is not None:
        store.bucket.objects.create(f"{folder}/{name}", content)
        return
    path = store.root / folder / name
    try:
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            write_atomically(path, content, durable=True)
    except OSError as error:
        raise store_write_error(store.root, error) from error


def read_document(store: Store, folder: str, name: str) -> bytes | None:
    """Return a document; None if there is none. Raises `OSError`, and what `Objects.get` raises."""
    if store.bucket is not None:
        stored_object = store.bucket.objects.get(f"{folder}/{name}")
        return None if stored_object is None else stored_object.content
    path = store.root / folder / name
    return read_plain(path) if path.is_file() else None


def list_documents(store: Store, folder: str, suffix: str) -> list[str]:
    """Return the names of the documents in a folder that end with `suffix`. Raises what `Objects.sizes` raises."""
    if store.bucket is not None:
        names = (name.removeprefix(f"{folder}/") for name in store.bucket.objects.sizes(folder))
        return sorted(name for name in names if name.endswith(suffix) and "/" not in name)
    return sorted(path.name for path in (store.root / folder).glob(f"*{suffix}"))


def damaged_annotations(store: Store) -> Iterator[StoreError]:
    """Yield the errors of annotation records: S0401 for each that is unreadable or changed. Raises what `Objects.get`
    raises.
    """
    for name in list_documents(store, ANNOTATIONS, ".json"):
        try:
            unsealed(read_document(store, ANNOTATIONS, name) or b"", required=False)
        except (OSError, ValueError) as error:
            place, why = f"{store.place}/{ANNOTATIONS}/{name}", " ".join(str(error).split())
            yield StoreError("S0401", f"`{place}` is unreadable ({why})", "restore the file from a backup of the store")


# Media
MEDIA_FOLDER = "media"
UNNAMED = "no row names it"
"""The reason for which a medium is removed."""
_NAME = re.compile(r"[0-9a-f]{64}")
_HALF_WRITTEN = re.compile(r"[0-9a-f]{64}\.[0-9a-f]{12}\.tmp")
_PREFIX = "sha256:"
"""What comes before the SHA-256 of a medium in the texts of rows."""
_NAMED = re.compile(rf"{_PREFIX}([0-9a-f]{{64}})")
_HINT = "restore the file from a backup, or delete it: the next run that shows it keeps it again"


class MediaKeeper:
    """A writer and reader of media. From its first write until it is closed, no medium is removed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._locks: Locks | None = None

    def keep(self, name: str, content: bytes) -> None:
        """Store a content under its SHA-256. Raises what `write_document` raises."""
        self.stay()
        write_document(self._store, MEDIA_FOLDER, name, content)

    def read(self, name: str) -> bytes | None:
        """Return the content with this SHA-256; None if it is missing, unreadable or changed."""
        return read_medium(self._store, name)

    def stay(self) -> None:
        """Wait until no media are being removed, and prevent removals until `close`. Raises `StoreError` S0102."""
        if self._locks is None:
            try:
                self._locks = Locks(self._store.root)
                self._locks.await_share(lock_offset(SHOWN, ""))
            except OSError as error:
                raise store_write_error(self._store.root, error) from error

    def close(self) -> None:
        """Release the lock. The rows that name the stored media must have been written before."""
        if self._locks is not None:
            self._locks.close()
            self._locks = None


def read_medium(store: Store, name: str) -> bytes | None:
    """Return the content with this SHA-256; None if it is missing, unreadable or changed."""
    try:
        content = read_document(store, MEDIA_FOLDER, name)
    except OSError:
        return None
    return content if content is not None and hashlib.sha256(content).hexdigest() == name else None


def copy_media(source: Store, target: Store) -> None:
    """Copy the media of `source` that `target` lacks. Damaged ones are passed to `Store.leave_out` of the source.
    Raises what that and `write_document` raise.
    """
    names = _names(source)
    with closing(MediaKeeper(target)) as keeper:
        if names:
            keeper.stay()  # before the media of the target are listed
        known = set(list_documents(target, MEDIA_FOLDER, "")) if names else set()
        for name in names:
            if name not in known:
                if (content := read_medium(source, name)) is None:
                    source.leave_out(StoreError("S0401", _message(source, name), _HINT))
                else:
                    keeper.keep(name, content)


def damaged_media(store: Store) -> Iterator[StoreError]:
    """Yield the errors of media: S0401 for each whose content does not match its name."""
    for name in _names(store):
        if read_medium(store, name) is None:
            yield StoreError("S0401", _message(store, name), _HINT)


def unneeded_media(store: Store, grace_s: float) -> Iterator[tuple[Path, str]]:
    """Yield media in the folder of a store that are older than `grace_s` and that no row names, and incomplete ones,
    each with the reason; nothing if a process may need them. Raises what `Store.files` raises.
    """
    latest = store.now.timestamp() - grace_s
    old = [path for path in sorted((store.root / MEDIA_FOLDER).glob("*")) if path.lstat().st_mtime < latest]
    offset = lock_offset(SHOWN, "")
    # Rows in a journal may name any of them; without locks it is unknown whether other processes work.
    if not old or segments(store.root) or not store.locks.hold(offset) or not store.locks.real:
        return
    try:
        named = named_media(store)
        for path in old:
            if _HALF_WRITTEN.fullmatch(path.name):
                yield path, "half written"
            elif _NAME.fullmatch(path.name) and path.name not in named:
                yield path, UNNAMED
    finally:
        store.locks.free(offset)


def collect_media(store: Store, bucket: Bucket, grace_s: float, *, dry_run: bool) -> Iterator[tuple[str, int, str]]:
    """Remove media of a bucket that are older than `grace_s` and that no row names, and yield the name and size of
    each, and the reason. With `dry_run` nothing is removed.

    A bucket has no locks: a medium is written again if the catalog has changed since, which means that a worker may
    need it. Raises what `Objects.get` and `Store.files` raise.
    """
    objects = bucket.objects
    sizes = objects.sizes(MEDIA_FOLDER)
    before = bucket.sync()
    if not sizes or before.sessions or segments(store.root):
        return
    named = named_media(store)
    unnamed = [name for name in sorted(sizes) if (sha256 := _sha256(name)) is not None and sha256 not in named]
    now = objects.clock(f"busy/{MEDIA_FOLDER}.asked") if unnamed else None
    for name in unnamed:
        stored_object = objects.get(name)
        if stored_object is None or now is None or (now - stored_object.written_at).total_seconds() <= grace_s:
            continue
        if bucket.catalog().serial != before.serial:
            return
        if not dry_run:
            objects.delete([name])
            if bucket.catalog().serial != before.serial:
                objects.create(name, stored_object.content)
                return
        yield name, sizes[name], UNNAMED


def named_media(store: Store) -> set[str]:
    """Return the SHA-256 of every medium that is named in any text of the store. Raises what `Store.files` raises."""
    named: set[str] = set()
    for paths in store.files().values():
        for path in paths:
            named.update(_NAMED.findall("\n".join(_naming_texts(path))))
    return named


def _naming_texts(path: Path) -> Iterable[str]:
    """Yield the texts of a part that may name media."""
    import pyarrow.compute as pc  # takes 9 MB and 60 ms, and is not needed by a run

    with open_part(path) as part:
        texts = [field.name for field in part.schema_arrow if pa.types.is_string(field.type)]
        for batch in part.iter_batches(columns=texts):
            for column in batch.columns:
                yield from column.filter(pc.match_substring(column, _PREFIX)).to_pylist()


def _names(store: Store) -> list[str]:
    """Return the SHA-256 of every medium of a store, as it is named."""
    return [name for name in list_documents(store, MEDIA_FOLDER, "") if _NAME.fullmatch(name)]


def _sha256(name: str) -> str | None:
    """Return the SHA-256 in the name of an object; None if the object is no medium."""
    last = name.rpartition("/")[2]
    return last if _NAME.fullmatch(last) else None


def _message(store: Store, name: str) -> str:
    """Return the message for a medium whose content does not match its name."""
    place = "/".join((str(store.place), MEDIA_FOLDER, name))
    return f"another content than that of its SHA-256: `{place}`"
