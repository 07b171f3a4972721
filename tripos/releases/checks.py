"""What verifying a release finds of one thing in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["good", "wrong", "unchecked"]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: `what`, such as a file, how it stands, and what is wrong or why nobody looked."""

    what: str
    outcome: Outcome
    told: str = ""
