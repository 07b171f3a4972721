"""The concurrency that an endpoint bears: three times as many calls each round trip until it objects, then one more."""

from __future__ import annotations

START = 16
FASTER = 3
"""The factor by which calls grow each round trip at the start. At twice as many, 20,000 calls with 512 at a time take
an eighth longer than they must; at three times, a fourteenth."""
STUMBLE = 0.2
"""The share of server errors among the last calls that is taken for overload; fewer are accidents."""
MEMORY = 0.9
"""The part of that share that a call leaves standing."""


class Window:
    """`allowed` is how many calls may be under way now, at most `most`.

    An endpoint objects by 429, by not answering in time, or by server errors that are no accident. That halves the
    window once for all calls that were let out before: they were sent under the old size. So a call carries the
    `epoch` in which it was let out.

    >>> window = Window(most=64)
    >>> window.allowed
    16
    >>> for _ in range(16):  # a round trip
    ...     window.grow(in_flight=window.allowed)
    >>> window.allowed
    48
    >>> window.shrink(epoch=0)
    >>> window.shrink(epoch=0)
    >>> window.allowed, window.epoch
    (24, 1)
    >>> for _ in range(25):
    ...     window.grow(in_flight=window.allowed)
    >>> window.allowed
    25
    """

    __slots__ = ("_size", "_threshold", "_trouble", "allowed", "epoch", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self.allowed = min(START, most)
        self.epoch = 0
        self._size = float(self.allowed)
        self._threshold = float(most)
        """Up to here the size multiplies; from here on it grows by one a round trip."""
        self._trouble = 0.0

    def grow(self, in_flight: int) -> None:
        """Take note of a call that went well, when so many were under way, itself counted."""
        self._trouble *= MEMORY
        if self.allowed >= self.most:
            return
        if 2 * in_flight >= self.allowed:  # a window that is not filled says nothing about a larger one
            self._size += FASTER - 1.0 if self._size < self._threshold else 1.0 / self._size
            self.allowed = min(int(self._size), self.most)

    def shrink(self, epoch: int) -> None:
        """Take note of an objection to a call that was let out in that epoch."""
        if epoch != self.epoch:
            return
        self.epoch += 1
        self._size = max(1.0, self._size / 2)
        self._threshold = self._size
        self.allowed = int(self._size)

    def stumble(self, epoch: int) -> None:
        """Take note of a server error or a broken connection."""
        self._trouble = self._trouble * MEMORY + 1.0 - MEMORY
        if self._trouble > STUMBLE:
            self.shrink(epoch)

    def restart(self) -> None:
        """Begin with one call, multiplying up to half of what went well before: an endpoint has come back."""
        self._threshold = max(1.0, self._size / 2)
        self._size = 1.0
        self.allowed = 1
        self.epoch += 1
        self._trouble = 0.0
