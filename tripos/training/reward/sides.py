"""What is learned and what is tested, apart by topic."""

from __future__ import annotations

from dataclasses import dataclass

from tripos.failure import Failure
from tripos.training.reward.pairs import Preferences


@dataclass(frozen=True)
class Tested:
    """The pairs that are tested, without those that share a topic with what is learned: so many of these `pairs` and
    `topics` there were."""

    preferences: Preferences
    pairs: int
    topics: int


def apart(learned: Preferences, tested: Preferences) -> Tested:
    """Takes from what is tested every pair that shares a value it is grouped by with any pair that is learned.

    Raises `Failure` W0822 where nothing is left to test on.
    """
    seen = frozenset().union(*learned.keys)
    kept = [place for place, keys in enumerate(tested.keys) if not keys & seen]
    shared = {key for keys in tested.keys for key in keys & seen}
    if not kept:
        hint = "test on other topics, or take `group` out of one of the exports"
        raise Failure("W0822", "every pair of the test shares a topic with what is learned", hint)
    return Tested(tested.only(kept).trimmed(), len(tested) - len(kept), len(shared))
