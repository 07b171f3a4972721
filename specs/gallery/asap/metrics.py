"""The figure of essay scoring that needs a whole set: bias by group."""


def squares(values: list[float]) -> float:
    """The sum of squared distances from the mean."""
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values)


def group_r2(said: list[float], true: list[float], group: list[str]) -> float:
    """The share of the variance of the error that the group explains, adjusted for the number of groups."""
    errors = [x - y for x, y in zip(said, true, strict=True)]
    by_group: dict[str, list[float]] = {}
    for error, name in zip(errors, group, strict=True):
        by_group.setdefault(name, []).append(error)
    within = sum(squares(own) for own in by_group.values()) / (len(errors) - len(by_group))
    return 1 - within / (squares(errors) / (len(errors) - 1))
