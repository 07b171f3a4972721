"""What is learned and what is tested: apart by topic, and without whom it is not to be learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tripos.failure import Failure
from tripos.training.reward.pairs import Preferences
from tripos_compiler.diagnostics import nearest


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


def without(pairs: Preferences, sources: Sequence[str]) -> Preferences:
    """The pairs of which none of these sources wrote a reply. Raises `Failure` W0831 for a source that wrote none, and
    W0815 where no pair is left."""
    if not sources:
        return pairs
    wrote = sorted({name for by in pairs.by for name in by if name})
    for name in sources:
        if name not in wrote:
            close = nearest(name, wrote)
            some = ", ".join(f"`{each}`" for each in wrote[:8]) or "nobody, for `by` says no name"
            raise Failure(
                "W0831", f"no reply is by `{name}`", f"did you mean `{close}`?" if close else f"there is {some}"
            )
    kept = [place for place, by in enumerate(pairs.by) if not set(by) & set(sources)]
    if not kept:
        raise Failure("W0815", "every pair has a reply by one of these", "leave out fewer")
    left = pairs.only(kept).trimmed()
    return replace(left, told={**left.told, "pairs": len(kept), "replies": len(left.texts), "without": list(sources)})
