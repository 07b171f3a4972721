"""The values of `reveal`: the same in both worlds of a pair, so that what is shown on purpose is no difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from tripos_compiler.language import Unavailable
from tripos_compiler.plan import Call, written

Key = tuple[Hashable, str, int]
"""For what it is evaluated, which expression it is, and the how manieth time."""


def is_narrow(call: Call) -> bool:
    """Return true if a call of `reveal` says `rows`: it shows what a column has, and of no row which is its own."""
    return len(call.args) > 1 or "rows" in call.named


@dataclass
class Shown:
    """The value of every `reveal` in the first world of a pair."""

    values: dict[Key, Any] = field(default_factory=dict)
    _texts: dict[int, tuple[Call, str]] = field(default_factory=dict)

    def text(self, call: Call) -> str:
        """Return what tells a call from others."""
        known = self._texts.get(id(call))
        if known is None or known[0] is not call:
            known = self._texts[id(call)] = (call, written(call).model_dump_json())
        return known[1]


@dataclass
class Revealing:
    """Says what `reveal` comes to in one world: what it came to in the first, which is the one that is `noted`."""

    shown: Shown
    noted: bool
    narrow: bool = False
    """True if a `reveal` with `rows` comes to what it is in this world."""
    about: Hashable = None
    """For what expressions are evaluated now: an attempt at a row, or a unit."""
    _counts: Counter[tuple[Hashable, str]] = field(default_factory=Counter)

    def begin(self, about: Hashable) -> None:
        """Say for what expressions are evaluated from now on."""
        self.about = about

    def __call__(self, call: Call, value: Callable[[], Any]) -> Any:
        """The value of a call, or why it has none."""
        if self.narrow and is_narrow(call):
            return value()
        told = self.shown.text(call)
        self._counts[self.about, told] += 1
        key = (self.about, told, self._counts[self.about, told])
        if not self.noted and key not in self.shown.values and self._counts[self.about, told] > 1:
            key = (self.about, told, 1)  # a step that the first world did not come to shows what another one did
        if self.noted or key not in self.shown.values:
            try:
                found = value()
            except Unavailable as reason:
                found = reason
            if self.noted:
                self.shown.values[key] = found
        else:
            found = self.shown.values[key]
        if isinstance(found, Unavailable):
            raise found
        return found
