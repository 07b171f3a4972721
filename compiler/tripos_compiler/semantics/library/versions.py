"""Versions of what Tripos itself computes: a result that was kept stands as long as these are what they were.

Whoever changes what a function gives for the same arguments, or what a step that retrieves finds, raises its number
here, and every result that builds on it is asked for or scored anew. A number of 1 is in no fingerprint, so what was
kept before there was a number stands. `tests/compiler/test_library_versions.py` and `tests/runtime/test_ranking.py`
hold what is given and what is found to the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

VERSIONS: Mapping[str, int] = {
    "choice_letters": 2,
    "chosen_option": 2,
    "drawn": 2,
    "final_number": 2,
    "last_number": 2,
    "number": 2,
    "option_letters": 3,
    "right_or_wrong": 3,
}
"""Of the functions of the library, by name; one that is not here is at 1. Those that rank, `bm25` and `similarity`,
stand for their indexes too."""

RETRIEVING = 2
"""Of a step that retrieves, whatever it ranks by: what it leaves out, what comes first of two alike, where what is
included is put."""


def version_of(function: str, versions: Mapping[str, int] = VERSIONS) -> int:
    """The version of a function of the library.

    >>> version_of("bleu", {}), version_of("bleu", {"bleu": 2})
    (1, 2)
    """
    return versions.get(function, 1)


def raised(name: str, version: int) -> list[object]:
    """What a fingerprint has of a version: nothing of the first.

    >>> raised("bleu", 1), raised("bleu", 2)
    ([], [['bleu', 2]])
    """
    return [] if version == 1 else [[name, version]]
