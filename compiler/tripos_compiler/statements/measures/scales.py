"""Scales of figures: between which bounds a figure lies, and by which scale it is held to others.

A figure keeps the scale of what it is made of, its *base*, while it is weighted: in `0.4 * a + 0.2 * b` the terms run
from 0 to 0.4 and from 0 to 0.2, and may be added because `a` and `b` both run from 0 to 1.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tripos_compiler.source import dataclass

Bounds = tuple[float, float]
UNIT: Bounds = (0.0, 1.0)


@dataclass(frozen=True)
class Scale:
    """The scale of a figure, as far as it is known. `bounds` are the least and the greatest value that it can have,
    None where they are not known; `base` is what it ran over before it was weighted, and `bases` all that it may pass
    for.

    `constant` is the value of a figure that is a number, which goes with every scale.
    """

    bounds: Bounds | None = None
    base: Bounds | None = None
    bases: frozenset[Bounds] = frozenset()
    constant: float | None = None

    @property
    def held(self) -> Bounds | None:
        """The scale that the figure is held to others by; None if it goes with every scale."""
        return self.bounds if self.bounds in self.bases else self.base


def scale_of(bounds: Bounds | None) -> Scale:
    """Return the scale of a figure that is no formula.

    >>> scale_of((1.0, 10.0)).bounds
    (1.0, 10.0)
    """
    return Scale(bounds, bounds, frozenset() if bounds is None else frozenset((bounds,)))


def number(value: float) -> Scale:
    """Return the scale of a number."""
    return Scale((value, value), constant=value)


def negated(scale: Scale) -> Scale:
    """Return the scale of `-a`."""
    bounds = None if scale.bounds is None else (-scale.bounds[1], -scale.bounds[0])
    constant = None if scale.constant is None else -scale.constant
    return replace(scale, bounds=bounds, constant=constant)


def added(one: Scale, other: Scale) -> Scale:
    """Return the scale of `a + b`. A base that only one of them has is that of the sum.

    >>> half = scaled(scale_of((0.0, 1.0)), 0.5)
    >>> added(half, half).bounds
    (0.0, 1.0)
    """
    bounds = None
    if one.bounds is not None and other.bounds is not None:
        bounds = _known(one.bounds[0] + other.bounds[0], one.bounds[1] + other.bounds[1])
    return _settled(_merged(one, other), bounds)


def scaled(scale: Scale, factor: float) -> Scale:
    """Return the scale of `a * factor`; what comes to run from 0 to 1 passes for a scale of its own.

    >>> ten = scale_of((1.0, 10.0))
    >>> share = scaled(added(ten, number(-1.0)), 1 / 9)
    >>> share.bounds, share.held, ten.held
    ((0.0, 1.0), (0.0, 1.0), (1.0, 10.0))
    """
    bounds = None
    if scale.bounds is not None:
        ends = sorted(end * factor for end in scale.bounds)
        bounds = _known(ends[0], ends[1])
    return _settled(scale, bounds)


def absolute(scale: Scale) -> Scale:
    """Return the scale of `abs(a)`."""
    if scale.bounds is None:
        return scale
    low, high = scale.bounds
    least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return replace(scale, bounds=(least, max(abs(low), abs(high))))


def least(one: Scale, other: Scale) -> Scale:
    """Return the scale of `min(a, b)`."""
    bounds = None
    if one.bounds is not None and other.bounds is not None:
        bounds = (min(one.bounds[0], other.bounds[0]), min(one.bounds[1], other.bounds[1]))
    return _settled(_merged(one, other), bounds)


def greatest(one: Scale, other: Scale) -> Scale:
    """Return the scale of `max(a, b)`."""
    return negated(least(negated(one), negated(other)))


def enclosing(one: Scale, other: Scale) -> Scale:
    """Return the scale of a mean of `a` and `b`."""
    bounds = None
    if one.bounds is not None and other.bounds is not None:
        bounds = (min(one.bounds[0], other.bounds[0]), max(one.bounds[1], other.bounds[1]))
    return _settled(_merged(one, other), bounds)


def _merged(one: Scale, other: Scale) -> Scale:
    first = one if one.base is not None else other
    common = one.bases & other.bases
    return replace(first, bases=common or one.bases | other.bases, constant=None)


def _settled(scale: Scale, bounds: Bounds | None) -> Scale:
    bases = scale.bases
    if bounds is not None and scale.base is not None and math.isclose(bounds[1], 1) and math.isclose(bounds[0] + 1, 1):
        bounds, bases = UNIT, bases | {UNIT}
    return replace(scale, bounds=bounds, bases=bases, constant=None)


def _known(low: float, high: float) -> Bounds | None:
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def rounded(bounds: Bounds) -> Bounds:
    """Return bounds without what rounding left in a sum.

    >>> rounded((-0.0, 0.4 + 3 * 0.2))
    (0.0, 1.0)
    """
    return (round(bounds[0], 12) + 0.0, round(bounds[1], 12) + 0.0)


def spoken(bounds: Bounds) -> str:
    """Return bounds as people say them.

    >>> spoken((1.0, 10.0))
    '1 to 10'
    """
    return f"{bounds[0]:g} to {bounds[1]:g}"
