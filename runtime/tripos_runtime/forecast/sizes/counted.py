"""Prompts counted together: their characters and messages, and what goes into them that is yet to come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from tripos_compiler.language.library import Medium
from tripos_runtime.forecast.sizes.sizes import Size

Saying = tuple[str, str, str]
"""The source of a reply that is waited for: the scenario and the step whose replies are like it, and the model."""


@dataclass
class CountedPrompts:
    """Prompts counted together: their characters and messages, and the replies that go into them by who gives each, the
    further ones that there may be (`beyond`), and what else goes into them."""

    calls: int = 0
    narrow: int = 0
    wide: int = 0
    messages: int = 0
    most: int = 0
    pending: Counter[Saying] = field(default_factory=Counter)
    beyond: Counter[Saying] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    media: Counter[Medium] = field(default_factory=Counter)

    def add(self, size: Size, said_by: Mapping[str, Saying], times: int) -> None:
        """Take in a prompt that stands for so many."""
        self.calls += times
        self.narrow += size.narrow * times
        self.wide += size.wide * times
        self.messages += size.messages * times
        self.most += size.most * times
        for names, counted in ((size.pending, self.pending), (size.beyond, self.beyond)):
            for name in names:
                if name in said_by:
                    counted[said_by[name]] += times
                else:
                    self.unknown[f"what `{name}` yields"] += times
        for what in size.unknown:
            self.unknown[what] += times
        for medium in size.media:
            self.media[medium] += times

    @property
    def waits(self) -> bool:
        """True if anything is waited for."""
        return bool(self.pending or self.beyond or self.unknown)
