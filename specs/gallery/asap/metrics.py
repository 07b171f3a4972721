"""Figures of essay scoring that need a whole set: the mean of kappas of 2012, and bias by group."""

import math


def fisher_mean(said: list[float], true: list[float], set: list[int]) -> float:
    """The mean of the kappas of all sets in Fisher's z, each kept within ±0.999."""
    whole: dict[int, list[tuple[float, float]]] = {}
    for x, y, name in zip(said, true, set, strict=True):
        whole.setdefault(name, []).append((x, y))
    kappas = [kappa(own) for own in whole.values()]
    return math.tanh(sum(math.atanh(max(-0.999, min(0.999, value))) for value in kappas) / len(kappas))


def kappa(pairs: list[tuple[float, float]]) -> float:
    """Cohen's kappa, a difference counting by its square."""
    one, other = [x for x, _ in pairs], [y for _, y in pairs]
    seen = sum((x - y) ** 2 for x, y in pairs)
    chance = squares(one) + squares(other) + (sum(one) - sum(other)) ** 2 / len(pairs)
    return 1 - seen / chance


def squares(values: list[float]) -> float:
    """The sum of squared distances from the mean."""
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values)


def smd(said: list[float], true: list[float]) -> float:
    """How far the mean lies from people's, in people's standard deviations."""
    return (sum(said) - sum(true)) / len(true) / math.sqrt(squares(true) / (len(true) - 1))


def group_r2(said: list[float], true: list[float], group: list[str]) -> float:
    """The share of the variance of the error that the group explains, adjusted for the number of groups."""
    errors = [x - y for x, y in zip(said, true, strict=True)]
    by_group: dict[str, list[float]] = {}
    for error, name in zip(errors, group, strict=True):
        by_group.setdefault(name, []).append(error)
    within = sum(squares(own) for own in by_group.values()) / (len(errors) - len(by_group))
    return 1 - within / (squares(errors) / (len(errors) - 1))
