"""The circuit breaker of an endpoint: after many failures in a row one call at a time finds out."""

from __future__ import annotations

import math

from tripos_compiler.source import dataclass

FAILURES = 10
"""The failures in a row after which the endpoint counts as silent …"""
FAILING_S = 2.0
"""… unless they came all at once: hundreds of calls under way fail together when one connection hiccups."""
LONGEST_PAUSE_S = 60.0


@dataclass
class Circuit:
    """Times are seconds of any clock that only goes forward.

    >>> circuit = Circuit(patience_s=900)
    >>> [circuit.failed(second, probe=False) for second in range(12)].index(True)  # the tenth failure
    9
    >>> circuit.may_probe(9.9), circuit.may_probe(10.0)
    (False, True)
    >>> circuit.probing = True
    >>> circuit.failed(10.5, probe=True), circuit.probe_at  # the next after 2 s
    (False, 12.5)
    >>> circuit.answered(12.6), circuit.silent  # it was silent, and is no more
    (True, False)
    """

    patience_s: float
    failures: int = 0
    """In a row."""
    failing_since: float = 0.0
    silent_since: float | None = None
    probing: bool = False
    """True if the one call that finds out is under way."""
    probe_at: float = 0.0
    pause_s: float = 1.0

    @property
    def silent(self) -> bool:
        """True if no calls are let out but one at a time."""
        return self.silent_since is not None

    @property
    def gives_up_at(self) -> float:
        """When silence has lasted too long."""
        return math.inf if self.silent_since is None else self.silent_since + self.patience_s

    def may_probe(self, now: float) -> bool:
        """Return true if it is time for the one call that finds out."""
        return not self.probing and now >= self.probe_at

    def answered(self, now: float) -> bool:
        """Take note of an answer, whatever it said; whether that ended a silence."""
        ended = self.silent
        self.failures = 0
        self.silent_since = None
        return ended

    def failed(self, now: float, *, probe: bool) -> bool:
        """Take note of a call that got no answer; whether the endpoint counts as silent from now on."""
        self.failures += 1
        if self.failures == 1:
            self.failing_since = now
        if self.silent:
            if probe:
                self.pause_s = min(self.pause_s * 2, LONGEST_PAUSE_S)
                self.probe_at = now + self.pause_s
            return False
        return now - self.failing_since >= FAILING_S and self.fall_silent(now)

    def fall_silent(self, now: float) -> bool:
        """Count the endpoint as silent from now on if there were failures enough; whether that is new."""
        if self.silent or self.failures < FAILURES:
            return False
        self.silent_since = now
        self.pause_s = 1.0
        self.probe_at = now + self.pause_s
        return True
