"""How the making of data sets goes, for whoever shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tripos_runtime.making.rejections import WORDS


@dataclass
class Making:
    """One data set: rows that were made, slots that were given up, and rejected attempts by reason."""

    made: int = 0
    given_up: int = 0
    asks: bool = True
    """Whether any role is asked."""
    rejected: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """As JSON.

        >>> Making(2, rejected=Counter(verify=1)).to_json()
        {'made': 2, 'given_up': 0, 'asks': True, 'rejected': {'verify': 1}}
        """
        rejected = dict(sorted(self.rejected.items()))
        return {"made": self.made, "given_up": self.given_up, "asks": self.asks, "rejected": rejected}

    def add(self, told: Mapping[str, Any]) -> None:
        """Adds what `to_json` gave."""
        self.made += told["made"]
        self.given_up += told["given_up"]
        self.asks = told["asks"]
        self.rejected.update(told["rejected"])

    @property
    def is_news(self) -> bool:
        """Whether there is anything to tell: of rows that are only taken over there is not."""
        return self.asks or self.rejected.total() > 0

    def told(self) -> str:
        """In words.

        >>> Making(1996, 4, rejected=Counter(verify=9, near_duplicate=12, duplicate=1)).told()
        '1,996 made, 22 rejected (12 near-duplicates, 9 not verified, 1 duplicate), 4 given up'
        """
        parts = [f"{self.made:,} made"]
        if rejected := self.rejected.total():
            most = sorted(self.rejected.items(), key=lambda each: (-each[1], each[0]))
            why = ", ".join(f"{count:,} {_word(reason, count)}" for reason, count in most)
            parts.append(f"{rejected:,} rejected ({why})")
        if self.given_up:
            parts.append(f"{self.given_up:,} given up")
        return ", ".join(parts)


def _word(reason: str, count: int) -> str:
    word = next((words for name, words in WORDS.items() if name == reason), reason)
    return word.removesuffix("s") if count == 1 and word.endswith("duplicates") else word
