"""How far a command may go for a release that lies elsewhere."""

from __future__ import annotations

from argparse import Namespace

from tripos_compiler.source import dataclass


@dataclass(frozen=True)
class Reach:
    """How far a download may go. `private`: also to this machine and its networks, and there without TLS; `signed`:
    with the keys of the user. It may do neither unless the user says so. `here`: also a folder as `file://`, which a
    user may type, and a spec may not name."""

    private: bool = False
    signed: bool = False
    here: bool = False


TYPED = Reach(here=True)
"""For a place that the user gave to a command without further options."""


def reach_of(options: Namespace) -> Reach:
    """Return how far a command may go for a place that the user gave to it."""
    private, signed = getattr(options, "allow_private", False), getattr(options, "signed", False)
    return Reach(private=private, signed=signed, here=True)
