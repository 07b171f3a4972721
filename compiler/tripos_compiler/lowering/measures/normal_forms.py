"""Normal forms of figures: a formula as a sum of products, so that equivalent formulas get the same verdict.

The normal form decides whether figures of different scales are added, whether everything cancels, and which direction
is better. The verdict therefore does not depend on the order of terms, on factored expressions, or on parts that are
measures of their own. Coefficients are exact: `0.3 * (a - 1) / 4` is `0.075 a - 0.075`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Final, Literal

from tripos_compiler.library.ranges import ANY, CURVES, Interval
from tripos_compiler.source.data_classes import dataclass

# Forms

Direction = Literal["lower", "higher"]
FLIPPED: Final[Mapping[Direction, Direction]] = {"lower": "higher", "higher": "lower"}
EITHER: Final[frozenset[Direction]] = frozenset(("lower", "higher"))
MOST_TERMS: Final = 400
"""The most products up to which sums are multiplied out."""
MOST_CHOICES: Final = 12
"""The most terms for which all subsets of reversed ones, such as `1 - a`, are tried."""
CLOSE: Final = 1e-9


@dataclass(frozen=True)
class Atom:
    """A figure that is no sum or product: an aggregate, a measure, or a function of figures.

    Two atoms are equal if they are the same aggregate in the same cells.
    """

    leaf: str
    """The canonical notation of the aggregate, or the name and options of the function."""
    of: tuple[NormalForm, ...] = ()
    slice: frozenset[tuple[str, str]] = frozenset()
    over: frozenset[str] = frozenset()
    missing: str = ""
    """The treatment of missing scores; empty until the measure is read."""
    bounds: Interval = field(default=ANY, compare=False)
    base: Interval | None = field(default=None, compare=False)
    """The scale by which it is compared with others; None if it is compatible with every scale."""
    named: str = field(default="", compare=False)
    better: frozenset[Direction] = field(default=frozenset(("higher",)), compare=False)
    """The directions that may be better. By default, higher is better."""
    explicit: bool = field(default=False, compare=False)
    """Whether a direction is stated for it or for a part of it."""

    @cached_property
    def key(self) -> str:
        """The identity as text."""
        inner = ", ".join(form.key for form in self.of)
        return f"{self.leaf}({inner}){sorted(self.slice)}{sorted(self.over)}{self.missing}"


Monomial = tuple[tuple[Atom, int], ...]
"""A product: atoms with their powers, sorted by key. The empty product belongs to the constant term."""


@dataclass(frozen=True)
class NormalForm:
    """A sum of products with coefficients."""

    terms: Mapping[Monomial, Fraction] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """The identity as text."""
        return " + ".join(sorted(f"{value}{_text(product)}" for product, value in self.terms.items()))

    @property
    def constant(self) -> Fraction:
        """The constant term."""
        return self.terms.get((), Fraction(0))

    @property
    def atoms(self) -> list[Atom]:
        """Every atom once, in a fixed order."""
        return list(dict.fromkeys(atom for product in sorted(self.terms, key=_text) for atom, _ in product))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NormalForm) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _text(product: Monomial) -> str:
    return "".join(f" * {atom.key}^{power}" for atom, power in product)


def constant_form(value: float) -> NormalForm:
    """Return the form of a number, exact in decimal notation."""
    return _form({(): Fraction(repr(value))}) if math.isfinite(value) else NormalForm()


def atom_form(atom: Atom) -> NormalForm:
    """Return the form of an atom."""
    return NormalForm({((atom, 1),): Fraction(1)})


def _form(terms: Mapping[Monomial, Fraction]) -> NormalForm:
    return NormalForm({product: value for product, value in terms.items() if value})


def _sum(forms: Iterable[NormalForm]) -> NormalForm:
    terms: dict[Monomial, Fraction] = defaultdict(Fraction)
    for form in forms:
        for product, value in form.terms.items():
            terms[product] += value
    return _form(terms)


def _scaled(form: NormalForm, factor: Fraction) -> NormalForm:
    return _form({product: value * factor for product, value in form.terms.items()})


def _product(one: Monomial, other: Monomial) -> Monomial:
    powers: dict[Atom, int] = defaultdict(int)
    for atom, power in (*one, *other):
        powers[atom] += power
    return tuple(sorted(((atom, power) for atom, power in powers.items() if power), key=lambda factor: factor[0].key))


def _multiplied(one: NormalForm, other: NormalForm) -> NormalForm:
    if len(one.terms) * len(other.terms) > MOST_TERMS:
        return atom_form(_opaque("*", (one, other)))
    terms: dict[Monomial, Fraction] = defaultdict(Fraction)
    for left, a in one.terms.items():
        for right, b in other.terms.items():
            terms[_product(left, right)] += a * b
    return _form(terms)


def _inverse(form: NormalForm) -> NormalForm:
    """Return the reciprocal of a form: of a single product by its factors, otherwise of the sum as one atom, normalised
    by its first coefficient.
    """
    if not form.terms:
        return NormalForm()
    first = form.terms[min(form.terms, key=_text)]
    if len(form.terms) == 1:
        ((product, value),) = form.terms.items()
        return NormalForm({tuple((atom, -power) for atom, power in product): 1 / value})
    normal_form = _scaled(form, 1 / first)
    better, explicit = directions_of(normal_form)
    atom = Atom("sum", (normal_form,), bounds=range_of_form(normal_form), better=better, explicit=explicit)
    return NormalForm({((atom, -1),): 1 / first})


def _opaque(leaf: str, of: tuple[NormalForm, ...]) -> Atom:
    return Atom(leaf, of, better=EITHER, explicit=any(directions_of(form)[1] for form in of))


def combined(operator: str, forms: Sequence[NormalForm]) -> NormalForm:
    """Return the form of arithmetic over figures."""
    match operator:
        case "+":
            return _sum(forms)
        case "-":
            return _sum([forms[0], _scaled(forms[1], Fraction(-1))])
        case "negate":
            return _scaled(forms[0], Fraction(-1))
        case "*":
            return _multiplied(*forms)
        case "/":
            return _multiplied(forms[0], _inverse(forms[1]))
        case "overall":
            return forms[0]
        case "abs":
            low, high = range_of_form(forms[0])
            if low >= 0 or high <= 0:
                return forms[0] if low >= 0 else _scaled(forms[0], Fraction(-1))
    rises = operator in ("min", "max", "harmonic_mean", *CURVES)
    return atom_form(function_atom(operator, forms, rises))


def function_atom(operator: str, forms: Sequence[NormalForm], rises: bool) -> Atom:
    """Return the atom of an operator or an aggregate of figures. `rises`: it increases with each of them."""
    directions = [directions_of(form) for form in forms]
    better = frozenset[Direction]().union(*(better for better, _ in directions)) if rises else EITHER
    ordered = sorted(forms, key=lambda form: form.key) if operator in ("min", "max", "harmonic_mean") else forms
    return Atom(operator, tuple(ordered), better=better, explicit=any(explicit for _, explicit in directions))


def mapped(form: NormalForm, change: Callable[[Atom], Atom]) -> NormalForm:
    """Return the form with every atom changed, including those inside functions."""
    terms: dict[Monomial, Fraction] = defaultdict(Fraction)
    for product, value in form.terms.items():
        made: Monomial = ()
        for atom, power in product:
            inner = (
                replace(atom, of=tuple(mapped(normal_form, change) for normal_form in atom.of))
                if atom.of
                else change(atom)
            )
            made = _product(made, ((inner, power),))
        terms[made] += value
    return _form(terms)


def sliced_form(form: NormalForm, fixed: Mapping[str, str]) -> NormalForm:
    """Return the form of a slice."""
    return mapped(form, lambda atom: replace(atom, slice=atom.slice | frozenset(fixed.items())))


def over_all(form: NormalForm, dims: Iterable[str]) -> NormalForm:
    """Return the form of the number over all values of these dimensions."""
    return mapped(form, lambda atom: replace(atom, over=atom.over | frozenset(dims)))


def with_missing(form: NormalForm, missing: str) -> NormalForm:
    """Return the form with a treatment of missing scores, where none is stated yet."""
    return mapped(form, lambda atom: atom if atom.missing else replace(atom, missing=missing))


def with_name(form: NormalForm, named: str) -> NormalForm:
    """Return the form under the name of its measure or slice if it is a single atom; otherwise unchanged."""
    match list(form.terms.items()):
        case [(((Atom() as atom, 1),), value)] if value == 1:
            return atom_form(replace(atom, named=named))
    return form


def with_scale(form: NormalForm, base: Interval | None, bounds: Interval, named: str) -> NormalForm:
    """Return the form with a scale if it is a single function of figures; otherwise unchanged."""
    match list(form.terms.items()):
        case [(((Atom() as atom, 1),), value)] if value == 1 and atom.of:
            return atom_form(replace(atom, base=base, bounds=bounds, named=named))
    return form


# --- ranges and directions ---


def range_of_form(form: NormalForm) -> Interval:
    """Return the range of a form, as far as it is known."""
    bounds = Interval.point(0.0)
    for product, value in form.terms.items():
        bounds = bounds + _range_of(product, value)
    return bounds


def _range_of(product: Monomial, value: Fraction) -> Interval:
    bounds = Interval.point(float(value))
    for atom, power in product:
        for _ in range(abs(power)):
            bounds = bounds * atom.bounds if power > 0 else bounds / atom.bounds
    return bounds


def directions_of(form: NormalForm) -> tuple[frozenset[Direction], bool]:
    """Return the directions in which a form may be better, and whether any atom states one.

    The direction follows from the sign of the slope in each atom and the direction of the atom.
    """
    better: set[Direction] = set()
    explicit = False
    for atom in form.atoms:
        low, high = range_of_form(_slope(form, atom))
        explicit = explicit or atom.explicit
        if low >= 0:
            better |= atom.better
        elif high <= 0:
            better |= {FLIPPED[direction] for direction in atom.better}
        else:
            better |= EITHER
    return frozenset(better), explicit


def _slope(form: NormalForm, atom: Atom) -> NormalForm:
    terms: dict[Monomial, Fraction] = defaultdict(Fraction)
    for product, value in form.terms.items():
        power = dict(product).get(atom, 0)
        if power:
            terms[_product(product, ((atom, -1),))] += value * power
    return _form(terms)


# --- scales ---


@dataclass(frozen=True)
class Weighed:
    """A figure in a sum with its coefficient."""

    atom: Atom
    weight: float

    @property
    def low(self) -> float:
        """The least value of its scale."""
        assert self.atom.base is not None
        return self.atom.base[0]

    @property
    def high(self) -> float:
        """The greatest value of its scale."""
        assert self.atom.base is not None
        return self.atom.base[1]

    @property
    def width(self) -> float:
        """The width of its scale."""
        return self.high - self.low

    @property
    def span(self) -> float:
        """The width that it adds to the sum, with the sign of its coefficient."""
        return self.weight * self.width


def scale_clash(form: NormalForm) -> tuple[Atom, Atom] | None:
    """Return two figures of different scales that a formula adds without rescaling them; None if there are none.

    Figures of one scale may be added with any weights. For others, the formula must subtract the lower end of each
    scale, as `(a - 1) / 4` does with any factor, and a wide scale must have a small factor.
    """
    sums: dict[Monomial, list[Weighed]] = defaultdict(list)
    for product in form.terms:
        for atom, power in product:
            if power > 0 and atom.base is not None and atom.base[0] < atom.base[1]:
                rest = _product(product, ((atom, -1),))
                sums[rest].append(Weighed(atom, float(form.terms[product])))
    for rest, added in sums.items():
        pairs = combinations(added, 2)
        apart = next(((one, other) for one, other in pairs if one.atom.base != other.atom.base), None)
        if apart is not None and not _on_one_scale(added, float(form.terms.get(rest, 0))):
            return apart[0].atom, apart[1].atom
    return None


def _on_one_scale(added: Sequence[Weighed], constant: float) -> bool:
    """Return true if figures of different scales were rescaled before they were added."""
    begins = sum(weighed.weight * weighed.low for weighed in added)
    if not _close(begins, 0.0, added):
        # As they are, or reversed on their own scales: the lower end of a scale is not subtracted.
        if _is_made_of(
            constant, [-weighed.weight * (weighed.low + weighed.high) for weighed in added if weighed.weight < 0], added
        ):
            return False
        # From 0, or reversed from 1.
        if _is_made_of(constant + begins, [-weighed.span for weighed in added if weighed.weight < 0], added):
            return True
    spans = [abs(weighed.span) for weighed in added]
    if max(spans) <= 1 + CLOSE or math.isclose(sum(spans), 100):
        return True
    return all(
        abs(wide.weight) * math.sqrt(wide.width / narrow.width) <= abs(narrow.weight) * (1 + CLOSE)
        for narrow, wide in combinations(sorted(added, key=lambda weighed: weighed.width), 2)
        if narrow.atom.base != wide.atom.base
    )


def _is_made_of(value: float, parts: Sequence[float], added: Sequence[Weighed]) -> bool:
    """Return true if a number is 0 or the sum of some of these parts."""
    some = range(len(parts) + 1) if len(parts) <= MOST_CHOICES else (0, len(parts))
    return any(_close(value, sum(combination), added) for count in some for combination in combinations(parts, count))


def _close(value: float, other: float, added: Sequence[Weighed]) -> bool:
    return abs(value - other) <= CLOSE * max(
        abs(weighed.weight) * max(abs(weighed.low), abs(weighed.high)) for weighed in added
    )
