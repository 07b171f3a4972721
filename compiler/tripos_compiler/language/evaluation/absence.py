"""Values that are not there: why an expression has none, and what stands in its place until it is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripos_compiler.plan import UNDEFINED


class Unavailable(Exception):
    """A value that a step did not yield, for example a field of a reply that could not be read."""

    def __init__(self, step: str, status: str, reason: str = "") -> None:
        super().__init__(reason or f"`{step}` has no value: {status}")
        self.step = step
        self.status = status

    @property
    def reason(self) -> str:
        """Return why there is no value, in a line without the texts of replies and items."""
        return str(self)


class NoValue(Unavailable):
    """An expression that has no value, though all that it looks up is there: `undefined` where that is because of a
    reply, else `not_applicable`."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__("the expression", status, reason)


class Fault(Exception):
    """A function or an operator of ours that failed in a way that it does not declare."""


class EvaluationStopped(BaseException):
    """Raised in an evaluation that shall end, by whoever stops it. No fault and no value: what it was for is left."""


class Deferred:
    """Stands for a value that is looked for when it is read. It is no abstract class, since to ask for one is slow."""

    def there(self) -> Any:
        """Return the value. Raises `Unavailable` where there is none."""
        raise NotImplementedError


class Missing(Deferred):
    """Stands in a record for what a step did not yield; reading it raises `Unavailable`."""

    def __init__(self, step: str, status: str, reason: str = "") -> None:
        self.step = step
        self.status = status
        self.reason = reason

    def there(self) -> Any:
        raise Unavailable(self.step, self.status, self.reason)


class Divided(Missing):
    """What a panel says, each of its judges a name, if no name has more than half: reading it raises `Unavailable`, and
    a condition on it is decided by the votes of the judges on the condition."""

    def __init__(self, step: str, scorer: str, votes: Sequence[Any]) -> None:
        super().__init__(step, UNDEFINED, f"no answer of `{scorer}` has more than half of the panel")
        self.scorer = scorer
        self.votes = tuple(votes)

    def decide(self, ballots: Sequence[bool]) -> bool:
        """Return what more than half of the judges say of a condition. Raises `Unavailable` if neither side has more
        than half.

        >>> Divided("kind(1)", "kind", ("a", "b", "c")).decide([True, False, True])
        True
        """
        for side in (True, False):
            if 2 * ballots.count(side) > len(ballots):
                return side
        reason = f"a condition on `{self.scorer}` holds for half of the panel"
        raise Unavailable(self.step, UNDEFINED, reason)


class PartialRecord(dict[str, Any]):
    """A record that an expression writes out, of which a field is `Missing`: the others can be read."""
