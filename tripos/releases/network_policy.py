"""How far a fetch may reach: private addresses, requests with the user's keys."""

from __future__ import annotations

from argparse import Namespace

from tripos.settings.options import ALLOW_PRIVATE, SIGNED
from tripos_compiler.source.data_classes import dataclass


@dataclass(frozen=True)
class NetworkPolicy:
    """The permissions of a download. `private` allows this machine and its networks, without TLS too. `signed` sends
    the user's keys. Both need the user's consent. `local_files` allows folders as `file://`, which a user may type but
    a spec may not name."""

    private: bool = False
    signed: bool = False
    local_files: bool = False


USER_GIVEN = NetworkPolicy(local_files=True)
"""The permissions for an address that the user gave to a command without further options."""


def policy_of(options: Namespace) -> NetworkPolicy:
    """Return the permissions of a command for an address that the user gave."""
    return NetworkPolicy(private=ALLOW_PRIVATE.of(options), signed=SIGNED.of(options), local_files=True)
