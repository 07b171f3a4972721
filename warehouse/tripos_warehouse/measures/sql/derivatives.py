"""SQL of the arithmetic of a formula, and of its derivatives by its parts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tripos_compiler.language.library import LARGEST, PAST
from tripos_compiler.source import dataclass

Condition = tuple[str, str]
"""A condition in SQL, and what to say where it holds."""
CUT_OFF = "a number in `min` or `max` cuts a part of it off, so its error is unknown"
ROOT_OF_ZERO = "it is the square root of 0, which rises without bound there, so its error is unknown"
BY_ZERO = "it divides by zero"
MOST_EXPONENT = math.log(LARGEST)
"""The greatest number of which `exp` is one."""
HIDING = ("/", "min", "max", "harmonic_mean", "exp")
"""Operators whose value may be a number where what they are taken of is none."""


@dataclass(frozen=True)
class NumberSql:
    value: float
    is_straight = True

    @property
    def text(self) -> str:
        return f"({self.value!r}::double)"

    def slope(self, name: str) -> str:
        return "0"

    def cuts(self) -> list[Condition]:
        return []

    def gaps(self) -> list[Condition]:
        return []


@dataclass(frozen=True)
class PartSql:
    name: str
    is_straight = True

    @property
    def text(self) -> str:
        return f"{self.name}.value"

    def slope(self, name: str) -> str:
        return "1" if name == self.name else "0"

    def cuts(self) -> list[Condition]:
        return []

    def gaps(self) -> list[Condition]:
        return []


@dataclass(frozen=True)
class FormulaSql:
    operator: str
    values: tuple[Arithmetic, ...]

    @property
    def is_straight(self) -> bool:
        """True if it adds its parts up, each times a number: its derivatives are the same everywhere."""
        straight = all(value.is_straight for value in self.values)
        numbers = [not _has_part(value) for value in self.values]
        if self.operator in ("negate", "+", "-"):
            return straight
        return straight and (any(numbers) if self.operator == "*" else numbers[-1] and self.operator == "/")

    @property
    def text(self) -> str:
        texts = [value.text for value in self.values]
        if self.operator in HIDING:
            texts = [_bounded(value) for value in self.values]
        match self.operator:
            case "negate":
                return f"(-{texts[0]})"
            case "abs":
                return f"abs({texts[0]})"
            case "min" | "max":  # which in SQL take no notice of what has no value
                end = "least" if self.operator == "min" else "greatest"
                known = " and ".join(f"{text} is not null" for text in texts)
                return f"(case when {known} then {end}({', '.join(texts)}) end)"
            case "harmonic_mean":
                inverse = " + ".join(f"1 / nullif({text}, 0)" for text in texts)
                zero = f"least({', '.join(texts)}) = 0 and {' and '.join(f'{text} is not null' for text in texts)}"
                return f"(case when {zero} then 0 else {len(texts)} / ({inverse}) end)"
            case "sqrt":
                return f"(case when {texts[0]} >= 0 then sqrt({texts[0]}) end)"
            case "log":
                return f"(case when {texts[0]} > 0 then ln({texts[0]}) end)"
            case "exp":
                return f"(case when {texts[0]} <= {MOST_EXPONENT!r} then exp({texts[0]}) end)"
            case "atanh":
                return f"(case when abs({texts[0]}) < 1 then atanh({texts[0]}) end)"
            case "tanh":
                return f"tanh({texts[0]})"
            case "/":
                return f"({texts[0]} / nullif({texts[1]}, 0))"
        return f"({texts[0]} {self.operator} {texts[1]})"

    def slope(self, name: str) -> str:
        """Return the derivative by a part, as SQL; of `min`, `max` and `abs` the one of the side on which the value
        is."""
        texts = [_bounded(value) if self.operator in HIDING else value.text for value in self.values]
        slopes = [value.slope(name) for value in self.values]
        if all(slope == "0" for slope in slopes):
            return "0"
        match self.operator:
            case "negate":
                return f"(-{slopes[0]})"
            case "abs":
                return f"(case when {texts[0]} < 0 then -{slopes[0]} else {slopes[0]} end)"
            case "sqrt":
                return f"({slopes[0]} / (2 * nullif({self.text}, 0)))"
            case "log":
                return f"({slopes[0]} / nullif({texts[0]}, 0))"
            case "exp":
                return _times(slopes[0], self.text)
            case "atanh":
                return f"({slopes[0]} / nullif(1 - {texts[0]} ** 2, 0))"
            case "tanh":
                return _times(slopes[0], f"(1 - {self.text} ** 2)")
            case "min" | "max":
                cases = " ".join(
                    f"when {text} = {self.text} then {slope}" for text, slope in zip(texts, slopes, strict=True)
                )
                return f"(case {cases} end)"
            case "harmonic_mean":  # by a part H² / n · 1 / part²; where H is 0 no part moves it to the first order
                terms = [
                    f"{_times(slope, f'(({self.text} / {text}) ** 2 / {len(texts)})')}"
                    for text, slope in zip(texts, slopes, strict=True)
                    if slope != "0"
                ]
                return f"(case when {self.text} = 0 then 0 else {' + '.join(terms)} end)"
            case "+":
                return _added(slopes[0], slopes[1])
            case "-":
                return _added(slopes[0], "0" if slopes[1] == "0" else f"(-{slopes[1]})")
            case "*":
                return _added(_times(slopes[0], texts[1]), _times(slopes[1], texts[0]))
        down = f"nullif({texts[1]}, 0)"
        first = "0" if slopes[0] == "0" else f"{slopes[0]} / {down}"
        second = "0" if slopes[1] == "0" else f"(-({texts[0]} / {down}) * {slopes[1]} / {down})"
        return _added(first, second)

    def cuts(self) -> list[Condition]:
        """Return conditions in which the derivative says nothing of the error: where a number in `min` or `max` cuts
        off what stands beside it, and at a root of 0."""
        found = [each for value in self.values for each in value.cuts()]
        numbers = [value.text for value in self.values if isinstance(value, NumberSql)]
        if self.operator in ("min", "max") and numbers:
            others = [value.text for value in self.values if not isinstance(value, NumberSql)]
            found += [(f"{text} = {self.text}", CUT_OFF) for text in numbers] if others else []
        return [*found, (f"{self.text} = 0", ROOT_OF_ZERO)] if self.operator == "sqrt" else found

    def gaps(self) -> list[Condition]:
        """Return conditions in which it has no value though all its parts have, the innermost first."""
        found = [each for value in self.values for each in value.gaps()]
        last = self.values[-1].text
        texts = [value.text for value in self.values]
        match self.operator:
            case "/" if not isinstance(self.values[1], NumberSql):
                found.append((f"{last} = 0", BY_ZERO))
            case "harmonic_mean":
                found.append((f"least({', '.join(texts)}) < 0", BY_ZERO))
            case "sqrt":
                found.append((f"{last} < 0", "it is the square root of a number below 0"))
            case "log":
                found.append((f"{last} <= 0", "it is the logarithm of a number that is not above 0"))
            case "atanh":
                told = "it is the inverse hyperbolic tangent of a number that is not between -1 and 1"
                found.append((f"abs({last}) >= 1", told))
            case "exp":
                found.append((f"{last} > {MOST_EXPONENT!r}", PAST))
        return found


Arithmetic = NumberSql | PartSql | FormulaSql


def _bounded(value: Arithmetic) -> str:
    """Return the SQL of a value that is nothing where it is infinite or NaN, which what is made of it would hide."""
    if not isinstance(value, FormulaSql) or value.operator in ("min", "max", "abs", "negate", "harmonic_mean", "sqrt"):
        return value.text
    return f"nullif(nullif(nullif({value.text}, 'inf'::double), '-inf'::double), 'nan'::double)"


def _has_part(value: Arithmetic) -> bool:
    return isinstance(value, PartSql) or (isinstance(value, FormulaSql) and any(map(_has_part, value.values)))


def reason_sql(conditions: Sequence[Condition]) -> str:
    """Return what to say where one of some conditions holds, in SQL; null where none does."""
    reasons = dict.fromkeys(reason for _, reason in conditions)
    cases = (
        f"when {' or '.join(condition for condition, said in conditions if said == reason)} then '{reason}'"
        for reason in reasons
    )
    return f"case {' '.join(cases)} end"


def _added(one: str, other: str) -> str:
    if one == "0" or other == "0":
        return other if one == "0" else one
    return f"({one} + {other})"


def _times(slope: str, text: str) -> str:
    return "0" if slope == "0" else text if slope == "1" else f"({slope} * {text})"
