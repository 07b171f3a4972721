"""SQL of the arithmetic of a formula, and of its derivatives by its parts."""

from __future__ import annotations

from tripos_compiler.source import dataclass


@dataclass(frozen=True)
class NumberSql:
    value: float

    @property
    def text(self) -> str:
        return f"({self.value!r}::double)"

    def slope(self, name: str) -> str:
        return "0"

    def cuts(self) -> list[str]:
        return []


@dataclass(frozen=True)
class PartSql:
    name: str

    @property
    def text(self) -> str:
        return f"{self.name}.value"

    def slope(self, name: str) -> str:
        return "1" if name == self.name else "0"

    def cuts(self) -> list[str]:
        return []


@dataclass(frozen=True)
class FormulaSql:
    operator: str
    values: tuple[Arithmetic, ...]

    @property
    def text(self) -> str:
        texts = [value.text for value in self.values]
        match self.operator:
            case "negate":
                return f"(-{texts[0]})"
            case "abs":
                return f"abs({texts[0]})"
            case "min":
                return f"least({', '.join(texts)})"
            case "max":
                return f"greatest({', '.join(texts)})"
            case "harmonic_mean":
                inverse = " + ".join(f"1 / nullif({text}, 0)" for text in texts)
                zero = f"least({', '.join(texts)}) = 0 and {' and '.join(f'{text} is not null' for text in texts)}"
                return f"(case when {zero} then 0 else {len(texts)} / ({inverse}) end)"
            case "/":
                return f"({texts[0]} / nullif({texts[1]}, 0))"
        return f"({texts[0]} {self.operator} {texts[1]})"

    def slope(self, name: str) -> str:
        """Return the derivative by a part, as SQL; of `min`, `max` and `abs` the one of the side on which the value
        is."""
        texts = [value.text for value in self.values]
        slopes = [value.slope(name) for value in self.values]
        if all(slope == "0" for slope in slopes):
            return "0"
        match self.operator:
            case "negate":
                return f"(-{slopes[0]})"
            case "abs":
                return f"(case when {texts[0]} < 0 then -{slopes[0]} else {slopes[0]} end)"
            case "min" | "max":
                cases = " ".join(
                    f"when {text} = {self.text} then {slope}" for text, slope in zip(texts, slopes, strict=True)
                )
                return f"(case {cases} end)"
            case "harmonic_mean":  # by a part H² / n · 1 / part²; where H is 0 no part moves it to the first order
                terms = [
                    f"{_times(slope, f'({self.text} ** 2 / ({len(texts)} * {text} ** 2))')}"
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
        second = "0" if slopes[1] == "0" else f"(-{texts[0]} * {slopes[1]} / ({down} * {down}))"
        return _added(first, second)

    def cuts(self) -> list[str]:
        """Return conditions in SQL, each true where a number in `min` or `max` cuts off what stands beside it, so that
        the derivative says nothing of its error."""
        found = [each for value in self.values for each in value.cuts()]
        numbers = [value.text for value in self.values if isinstance(value, NumberSql)]
        if self.operator in ("min", "max") and numbers:
            others = [value.text for value in self.values if not isinstance(value, NumberSql)]
            found += [f"{text} = {self.text}" for text in numbers] if others else []
        return found


Arithmetic = NumberSql | PartSql | FormulaSql


def _added(one: str, other: str) -> str:
    if one == "0" or other == "0":
        return other if one == "0" else one
    return f"({one} + {other})"


def _times(slope: str, text: str) -> str:
    return "0" if slope == "0" else text if slope == "1" else f"({slope} * {text})"
