"""What `--artefact` says, and what is told of roles that a release leaves open."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tripos.failure import Failure


def by_role(given: Sequence[str]) -> dict[str, str]:
    """The values of `--artefact ROLE=…` by role. Raises `Failure` R0202 for one that says no role, or one twice.

    >>> by_role(["critic=models/critic"])
    {'critic': 'models/critic'}
    """
    found: dict[str, str] = {}
    for text in given:
        role, equals, place = text.partition("=")
        if not (role and equals and place):
            raise Failure(
                "R0202", f"`--artefact {text}` does not say which role has which", "write --artefact ROLE=DIR"
            )
        if role in found:
            raise Failure("R0202", f"`--artefact` gives the role `{role}` twice", "give one reward model for each role")
        found[role] = place
    return found


OPEN = "W0875"


def warn_of_open(roles: Sequence[str]) -> None:
    """Warns, on standard error, of roles that take a reward model of which a release says nothing."""
    for role in roles:
        print(f"warning[{OPEN}]: the release does not say which reward model fills `{role}`", file=sys.stderr)
        print("  = two runs of it may have scores by two models", file=sys.stderr)
        print(f"  = help: name it: --artefact {role}=DIR", file=sys.stderr)
