"""How far a command may go for a release that lies elsewhere."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reach:
    """How far a download may go. `private`: also to this machine and its networks, and there without TLS; `signed`:
    with the keys of the user. What a spec names may do neither unless the user says so."""

    private: bool = False
    signed: bool = False


TYPED = Reach(private=True, signed=True)
"""For a place that the user gave to a command."""
