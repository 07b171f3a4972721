"""How the making of data sets goes, for whoever shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Making:
    """One data set: rows that were made, slots that were given up, and rejected attempts by reason."""

    made: int = 0
    given_up: int = 0
    rejected: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """As JSON.

        >>> Making(2, 0, Counter(verify=1)).to_json()
        {'made': 2, 'given_up': 0, 'rejected': {'verify': 1}}
        """
        return {"made": self.made, "given_up": self.given_up, "rejected": dict(sorted(self.rejected.items()))}

    def add(self, told: Mapping[str, Any]) -> None:
        """Adds what `to_json` gave."""
        self.made += told["made"]
        self.given_up += told["given_up"]
        self.rejected.update(told["rejected"])
