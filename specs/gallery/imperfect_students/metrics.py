"""The distance of a simulated student from its profile."""

import math


def rmse(fits: list[float], skill: list[str]) -> float:
    """The root of the mean over skills of the squared distance of accuracy from 1, or from 0 where it is forgotten."""
    by_skill: dict[str, list[float]] = {}
    for each, name in zip(fits, skill, strict=True):
        by_skill.setdefault(name, []).append(each)
    misses = [1 - sum(own) / len(own) for own in by_skill.values()]
    return math.sqrt(sum(miss * miss for miss in misses) / len(misses))
