"""Locks of living processes: byte ranges of one file, which the kernel frees when a process dies.

Every name has its own byte of the file `claims`, far beyond its end, so the file stays empty. Claims of work and
liveness locks ("this file has a living owner") are locks of the same open file, so all of them are freed at the same
moment when a process dies. Hence a process that gets a dead process's claim also sees that its owner is dead.

On Linux the locks belong to the open file (`F_OFD_SETLK`). Elsewhere they belong to the process, whose `Locks` share
one open file. If the system or file system has no locks, `real` is false, every lock succeeds, and no process is known
to be dead.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
import time
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tripos_warehouse.store.commits import CHANGE_COUNTER
from tripos_warehouse.store.journal import segments


class Claims:
    """Claims of pieces of work by key. A claim that was released is freed by the next `let_go`, which is called when
    other processes can read the results."""

    def __init__(self, locks: Locks) -> None:
        self._locks = locks
        self._held_locks: dict[str, int] = {}
        self._released: list[str] = []

    def take(self, key: str, *, later: bool = False) -> bool:
        """Claim `key` and return true, also if it is claimed already; false if another owner has it. Raises
        `OSError`.
        """
        if key in self._held_locks:
            return True
        offset = lock_offset(CLAIM, key)
        if not self._locks.hold(offset):
            return False
        self._held_locks[key] = offset
        return True

    def release(self, key: str) -> None:
        """Mark `key` as done. A key without a claim is ignored."""
        if key in self._held_locks:
            self._released.append(key)

    def let_go(self) -> None:
        """Free the claims that were released. Raises `OSError`."""
        # The kernel scans the locks of a file in ascending order, so each time the lowest is found at once.
        claims = sorted({(self._held_locks[key], key) for key in self._released if key in self._held_locks})
        for offset, key in claims:
            del self._held_locks[key]
            self._locks.free(offset)
        self._released.clear()


class ChangeCounter:
    """The counter of changes in a store. Reading it takes well under a microsecond."""

    def __init__(self, root: Path) -> None:
        """Open the file of the counter. Raises `OSError`."""
        self._file = os.open(root / CHANGE_COUNTER, os.O_RDONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)

    def count(self) -> int:
        """Return the counter: the length of the file."""
        return os.lseek(self._file, 0, os.SEEK_END)

    def __del__(self) -> None:
        with suppress(OSError):
            self.close()

    def close(self) -> None:
        """Close the file. Raises `OSError`."""
        file, self._file = getattr(self, "_file", -1), -1
        if file >= 0:
            os.close(file)


class Peers:
    """The other processes that write to the same store, by their journal segments."""

    def __init__(self, root: Path, locks: Locks, ticks: ChangeCounter) -> None:
        self._root = root
        self._locks = locks
        self._ticks = ticks
        self._last_count = -1
        """The count of changes when the segments were listed."""
        self._offsets: dict[str, int] = {}
        """The byte of the lock of each segment of other processes."""
        self._unrecoverable: set[str] = set()
        """Segments that still exist after their recovery was tried."""
        self._dead: set[str] = set()
        """The segments without a living owner that the last call of `has_dead_owner` found."""

    def has_dead_owner(self, own: frozenset[str]) -> bool:
        """Return true if a segment other than those in `own` has no living owner, so that its rows are not committed.

        A process that dies frees the locks of its claims and its segments at the same moment, and the change counter
        was incremented when the segment was created. So if a process gets a claim and then calls this, it notices the
        segments of the claim's earlier owner.
        """
        if not self._locks.real:
            return False
        if (count := self._ticks.count()) != self._last_count:
            self._last_count = count
            names = segments(self._root)
            self._unrecoverable.intersection_update(names)
            self._offsets = {name: lock_offset(SEGMENT, name) for name in names if name not in own}
        others_hold = self._locks.others_hold
        ignored = self._unrecoverable
        self._dead = {name for name, offset in self._offsets.items() if name not in ignored and not others_hold(offset)}
        return bool(self._dead)

    def recovered(self) -> None:
        """Note that recovery was tried. Segments that `has_dead_owner` found and that still exist are not reported
        again; later deaths are.
        """
        self._unrecoverable |= self._dead.intersection(segments(self._root))
        self._dead = set()
        self._last_count = -1


CLAIMS = "claims"
CLAIM, SEGMENT, PARTS_LOCK, LIST = "claim", "segment", "parts", "list"
COMPACTION, IMPORT, SHOWN = "compaction", "import", "shown"
"""Kinds of locks: for a piece of work, for a journal segment, for the parts of a commit, for a list of names, for
compaction, for the import of scores, and for what models are shown (a shared lock).
"""

_HALF = 2**62
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}
_FLOCK = struct.Struct("hhqqi0q")  # type, whence, start, length, pid: `struct flock` of Linux

if sys.platform == "win32":
    fcntl: Any = None
else:
    import fcntl


class Locks:
    """The locks of one owner in a store or another folder; a lock is identified by its `place`, a byte of the lock file
    (`lock_offset`). Two owners exclude each other, also within one process."""

    def __init__(self, root: Path, name: str = CLAIMS) -> None:
        """Open the lock file of that name, and create it if needed. Raises `OSError` if that is not allowed."""
        self.real = fcntl is not None
        """False if the system or the file system has no locks: then every lock succeeds."""
        self._owned = sys.platform == "linux"
        self._locks: set[int] = set()
        self._file: int = -1
        if self._owned:
            self._file = os.open(root / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        elif self.real:
            self._process = _OfProcess.of(root / name)

    def __del__(self) -> None:
        # A store has its locks as long as it lives, and has no method to close it.
        if getattr(self, "_file", -1) >= 0:
            os.close(self._file)

    def close(self) -> None:
        """Free all locks."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        elif self.real and not self._owned:
            for place in list(self._locks):
                self.free(place)
        self._locks.clear()

    def hold(self, place: int) -> bool:
        """Take the exclusive lock of `place`; false if another owner has it, exclusive or shared."""
        if not self.real:
            return True
        if self._owned:
            return self._set(fcntl.F_WRLCK, place)
        if self._process.take(self, place):
            self._locks.add(place)
            return True
        return False

    def share(self, place: int) -> bool:
        """Take the shared lock of `place`; false if another owner has the exclusive lock."""
        if self._owned and self.real:
            return self._set(fcntl.F_RDLCK, place)
        return self.hold(place)

    def await_share(self, place: int) -> None:
        """Wait for the shared lock of `place`. If locks belong to the process, they cannot be shared, and one attempt
        is made.
        """
        while not self.share(place) and self._owned:
            time.sleep(0.02)

    def free(self, place: int) -> None:
        """Free the lock of `place`."""
        if not self.real:
            return
        if self._owned:
            self._set(fcntl.F_UNLCK, place)
        elif place in self._locks:
            self._locks.discard(place)
            self._process.free(place)

    def others_hold(self, place: int) -> bool:
        """Return true if another owner has the lock of `place`. Without locks the answer is true, as if the owner were
        alive.
        """
        if not self.real:
            return True
        if self._owned:
            query = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)
            return bool(_FLOCK.unpack(fcntl.fcntl(self._file, fcntl.F_OFD_GETLK, query))[0] != fcntl.F_UNLCK)
        if place in self._locks:
            return False
        if self.hold(place):
            self.free(place)
            return False
        return True

    def _set(self, kind: int, place: int) -> bool:
        """Change a lock to this kind; false if another owner prevents it."""
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _FLOCK.pack(kind, os.SEEK_SET, place, 1, 0))
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return False
            if error.errno not in _NO_LOCKS:
                raise
            self.real = False
        return True


class _OfProcess:
    """The locks of a whole process, for systems without locks of open files. Closing the file would free all of them,
    so it stays open.
    """

    _instances: dict[Path, _OfProcess] = {}  # noqa: RUF012 - one for each file, as long as the process lives

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self._owners: dict[int, Locks] = {}

    @classmethod
    def of(cls, path: Path) -> _OfProcess:
        """Return the locks of this process in a file."""
        if path not in cls._instances:
            cls._instances[path] = cls(path)
        return cls._instances[path]

    def take(self, owner: Locks, place: int) -> bool:
        """Take an exclusive lock for an owner; false if another owner or process has it."""
        if (current := self._owners.get(place)) is not None:
            return current is owner
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return False
            if error.errno not in _NO_LOCKS:
                raise
            owner.real = False
            return True
        self._owners[place] = owner
        return True

    def free(self, place: int) -> None:
        """Free a lock."""
        if self._owners.pop(place, None) is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)


def lock_offset(kind: str, name: str) -> int:
    """Return the byte that represents `name`. Claims use the lower half of the file, all other kinds the upper half.

    >>> lock_offset(CLAIM, "a") == lock_offset(CLAIM, "a"), lock_offset(CLAIM, "a") < 2**62 <= lock_offset(SEGMENT,
    ... "a") < 2**63
    (True, True)
    """
    number = int.from_bytes(blake2b(f"{kind} {name}".encode(), digest_size=8).digest()) % _HALF
    return number if kind == CLAIM else number + _HALF
