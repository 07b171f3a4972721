"""Pairs that are made up, in which it is known what is good and what is a shortcut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tripos.training.reward_learners import HeadLearner
from tripos.training.reward_pairs import Preferences

WORDS = ("sum", "line", "part", "angle", "number", "step", "half", "side", "point", "unit")


def preferences(rows: Sequence[tuple[str, str, str, str, str, str]]) -> Preferences:
    """Return pairs of rows: the topic, the prompt, the better and the worse reply, and who wrote them."""
    places: dict[tuple[str, str], int] = {}
    better = [places.setdefault((prompt, good), len(places)) for _, prompt, good, _, _, _ in rows]
    worse = [places.setdefault((prompt, bad), len(places)) for _, prompt, _, bad, _, _ in rows]
    topics = tuple(row[0] for row in rows)
    return Preferences(
        tuple(places),
        np.array(better),
        np.array(worse),
        np.ones(len(rows)),
        topics,
        tuple((row[4], row[5]) for row in rows),
        tuple(frozenset({topic}) for topic in topics),
        {},
    )


def replies(draw: np.random.Generator) -> str:
    return " ".join(draw.choice(WORDS, 8))


def made(side: str, *, planted: bool, count: int = 120, seed: int = 0) -> Preferences:
    """Return pairs in which what is good shows in no word. With `planted` the worse replies are half by a novice, of
    whom all end alike."""
    draw = np.random.default_rng([seed, len(side)])
    rows = []
    for number in range(count):
        novice = planted and (side == "test" or number % 2 == 0)
        bad = replies(draw) + (" good try" if novice else "")
        prompt = f"{side} {number}"
        rows.append((f"{side} {number // 2}", prompt, replies(draw), bad, "expert", "novice" if novice else "other"))
    return preferences(rows)


def learner(*sides: Preferences, knows: float, seed: int = 0) -> HeadLearner:
    """Return a learner whose features are noise, whether a reply ends as the novice's do, and, as far as it `knows`,
    what is good."""
    draw = np.random.default_rng(seed)
    places: dict[tuple[str, str], int] = {}
    features = []
    for side in sides:
        good = set(side.better.tolist())
        for place, text in enumerate(side.texts):
            places[text] = len(places)
            quality = knows * (1.0 if place in good else -1.0)
            features.append([quality + draw.normal(), float("good try" in text[1]) * (knows < 1), *draw.normal(size=4)])
    return HeadLearner(np.array(features, dtype=np.float32), places, penalties=(0.01, 0.1))
