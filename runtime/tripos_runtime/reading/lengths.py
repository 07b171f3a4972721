"""Lengths of replies: which are read beside the event loop, and which are not read."""

from __future__ import annotations

LONG = 20_000
"""Longer replies are read in a thread, so that other calls go on."""
MOST = 1_000_000
"""Longer replies are a `parse_failure`: no answer has as many characters, and a model that repeats itself has more."""


def too_long(text: str) -> str | None:
    """Return the error of a reply that is too long to be read.

    >>> too_long("a" * 1_200_000), too_long("a")
    ('the reply has 1,200,000 characters, of which at most 1,000,000 are read', None)
    """
    if len(text) <= MOST:
        return None
    return f"the reply has {len(text):,} characters, of which at most {MOST:,} are read"
