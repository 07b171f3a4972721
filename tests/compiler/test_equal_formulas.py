"""Formulas that are equal get one verdict, however they are written: which figures go together, and which direction is
the better one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import pytest

from tests.compiler.compiling import compile_text
from tests.lengths import sized
from tripos_compiler.plan import Measure

SPEC = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge
axis level { easy, hard }
scorer marks(reply: text) by judge { prompt "{{ reply }}", gives 1..5 }
scorer other(reply: text) by judge { prompt "Other: {{ reply }}", gives 0..100 }
scorer ten(reply: text) by judge { prompt "Ten: {{ reply }}", gives 1..10 }
scenario sums {
  context level
  ask answer by candidate { prompt "{{ level }}: What is 6 * 7?" }
  score right = contains(answer.text, "42")
  score wrong = contains(answer.text, "43")
  score clear = marks(answer.text)
  score whole = other(answer.text)
  score grade = ten(answer.text)
  measure rights = mean(right)
  measure wrongs = mean(wrong) lower is better
}
measure clarity = mean(clear)
measure half_clear = clarity / 2
measure clear_unit = (mean(clear) - 1) / 4
measure wholes = mean(sums.whole)
measure percent = 100 * mean(whole)
measure grades = mean(grade)
measure sure = sums.rights
measure errors = mean(wrong) lower is better
measure errors_by = mean(wrong) lower is better by level
measure off = errors
measure off_by = errors_by
measure passed = 1 - errors
"""
ATOMS = {
    "right": ("mean(right)", "sums.rights", "sure", "mean(sums.right)"),
    "clear": ("mean(clear)", "clarity", "mean(sums.clear)", "(2 * half_clear)", "(4 * clear_unit + 1)"),
    "whole": ("mean(whole)", "wholes", "(percent / 100)"),
    "grade": ("mean(grade)", "grades"),
}
SCALES = {"right": (0, 1), "clear": (1, 5), "whole": (0, 100), "grade": (1, 10)}
FACTORS = [Fraction(number) for number in ("2", "4", "5", "10", "1/2", "1/4", "1/5", "1/10", "3", "1/3")]


@dataclass(frozen=True)
class Term:
    """A coefficient of an atom, or of 1."""

    factor: Fraction
    atom: str = ""


def number(value: Fraction, draw: Random) -> str:
    """Return a positive number as it may be written."""
    decimal = f"{float(value):.12g}"
    if Fraction(decimal) == value and (draw.random() < 0.6 or value.denominator == 1):
        return decimal
    return f"({value.numerator} / {value.denominator})"


def product(term: Term, atoms: dict[str, Sequence[str]], draw: Random) -> str:
    """Return the product of a positive factor and an atom."""
    if not term.atom:
        return number(term.factor, draw)
    text = draw.choice(atoms[term.atom])
    if term.factor == 1 and draw.random() < 0.7:
        return text
    match draw.randrange(4):
        case 0:
            return f"{text} * {number(term.factor, draw)}"
        case 1:
            return f"{text} / {number(1 / term.factor, draw)}"
        case 2 if term.factor.denominator > 1:
            return f"{term.factor.numerator} * {text} / {term.factor.denominator}"
    return f"{number(term.factor, draw)} * {text}"


def written(terms: Sequence[Term], atoms: dict[str, Sequence[str]], draw: Random, depth: int = 2) -> str:
    """Return a sum in one of its forms: in any order, with factors taken out, and parts in brackets."""
    parts = list(terms)
    draw.shuffle(parts)
    found: list[tuple[int, str]] = []
    while parts:
        size = draw.randint(2, len(parts)) if depth and len(parts) > 2 and draw.random() < 0.6 else 1
        some, parts = parts[:size], parts[size:]
        if size == 1:
            sign = -1 if some[0].factor < 0 else 1
            found.append((sign, product(Term(abs(some[0].factor), some[0].atom), atoms, draw)))
            continue
        factor, sign = draw.choice(FACTORS), draw.choice((1, -1))
        inner = written([Term(each.factor * sign / factor, each.atom) for each in some], atoms, draw, depth - 1)
        found.append(
            (sign, draw.choice((f"{number(factor, draw)} * ({inner})", f"({inner}) / {number(1 / factor, draw)}")))
        )
    first_sign, text = found[0]
    text = f"-({text})" if first_sign < 0 else text
    for sign, each in found[1:]:
        text += f" {'+' if sign > 0 else '-'} {each}"
    return text


def verdicts(measures: Sequence[str], spec: str = SPEC) -> list[tuple[str, ...]]:
    """Return the codes that are reported of each measure."""
    text = spec + "".join(f"measure it{place} = {each}\n" for place, each in enumerate(measures))
    start = spec.count("\n")
    codes: list[list[str]] = [[] for _ in measures]
    for each in compile_text(text).diagnostics:
        line = text[: each.labels[0].span.start].count("\n") - start
        assert line >= 0, each
        codes[line].append(each.code)
    return [tuple(each) for each in codes]


def drawn_sum(draw: Random) -> list[Term]:
    """Return a sum of figures, often one that was brought to one scale."""
    names = draw.sample(sorted(SCALES), draw.randint(2, 3))
    weights = [draw.choice((-1, 1, 1)) * Fraction(draw.randint(1, 9), draw.choice((1, 4, 10))) for _ in names]
    terms: list[Term] = []
    constant = Fraction(0)
    for name, weight in zip(names, weights, strict=True):
        low, high = SCALES[name]
        shifted = draw.random() < 0.6
        factor = weight / (high - low) if shifted else weight
        constant -= factor * low if shifted else 0
        terms.append(Term(factor, name))
    constant += draw.choice((0, 0, 1, Fraction(1, 2)))
    return [*terms, Term(constant)] if constant else terms


@pytest.mark.parametrize("seed", range(sized(15, 60)))
def test_equal_formulas_get_one_verdict_on_their_scales(seed: int) -> None:
    draw = Random(seed)
    terms = drawn_sum(draw)
    forms = [written(terms, ATOMS, draw) for _ in range(8)]
    found = verdicts(forms)
    assert len(set(found)) == 1, list(zip(found, forms, strict=True))
    assert set(found[0]) <= {"E0702"}


@pytest.mark.parametrize("seed", range(sized(10, 40)))
def test_a_composite_of_figures_that_run_from_0_to_1_is_fine_under_any_factors(seed: int) -> None:
    draw = Random(seed)
    names = draw.sample(sorted(SCALES), draw.randint(2, 4))
    weights = [Fraction(draw.randint(1, 20), draw.choice((1, 10, 100))) for _ in names]
    if "whole" in names:  # a scale from 0 on shows by its factor alone whether it was brought to another
        weights = [each / sum(weights) for each in weights]
    terms: list[Term] = []
    constant = Fraction(0)
    for name, weight in zip(names, weights, strict=True):
        low, high = SCALES[name]
        terms.append(Term(weight / (high - low), name))
        constant -= weight / (high - low) * low
    forms = [written([*terms, Term(constant)] if constant else terms, ATOMS, draw) for _ in range(4)]
    assert set(verdicts(forms)) == {()}, forms


@pytest.mark.parametrize(
    ("formula", "code"),
    [
        ("0.7 * mean(right) + 0.3 * (mean(clear) - 1) / 4", ""),
        ("0.7 * mean(right) + 0.3 * ((mean(clear) - 1) / 4)", ""),
        ("0.7 * mean(right) + 0.075 * mean(clear) - 0.075", ""),
        ("70 * mean(right) + 30 * (mean(clear) - 1) / 4", ""),
        ("mean(right) + clear_unit * 0.3", ""),
        ("(mean(right) - 0.25) / 0.75 + (mean(clear) - 1) / 4", ""),
        ("1 - 0.5 * mean(wrong) - 0.5 * (mean(clear) - 1) / 4", ""),
        ("mean(right) + mean(whole) / 100", ""),
        ("100 * mean(right) + mean(whole)", ""),
        ("0.2 * mean(right) + 0.8 * mean(whole) / 100", ""),
        ("0.3 * mean(clear) + 0.7 * clarity", ""),
        ("mean(right) * mean(clear)", ""),
        ("mean(right) + mean(clear)", "E0702"),
        ("mean(right) + mean(whole)", "E0702"),
        ("(mean(right) + mean(whole)) / 2", "E0702"),
        ("0.6 * mean(right) + 0.4 * mean(whole)", "E0702"),
        ("0.4 * mean(right) - 0.6 * mean(grade)", "E0702"),
        ("10 * mean(right) + mean(grade)", "E0702"),
        ("mean(right) * (mean(right) + mean(clear))", "E0702"),
        ("mean(right) * mean(right) + mean(right) * mean(clear)", "E0702"),
        ("mean(right) / mean(grade) + mean(clear) / mean(grade)", "E0702"),
        ("(mean(right) + mean(clear)) / mean(grade)", "E0702"),
        ("max(mean(right), mean(clear))", "E0702"),
        ("max(mean(right), (mean(clear) - 1) / 4)", ""),
        ("mean(right) + mean(clear) - mean(clear)", ""),
    ],
)
def test_scales_go_together_or_not(formula: str, code: str) -> None:
    assert verdicts([formula]) == [(code,) if code else ()]


@pytest.mark.parametrize("seed", range(sized(10, 40)))
def test_equal_differences_get_one_verdict_on_what_cancels(seed: int) -> None:
    draw = Random(seed)
    names = draw.choice((["right"], ["clear"], ["right", "clear"]))
    terms: list[Term] = []
    for name in names:
        weight = Fraction(draw.randint(1, 6), draw.choice((1, 2, 5)))
        low, high = SCALES[name]
        weight /= high - low
        kept = draw.choice((0, 0, weight))
        terms += [Term(weight, name), Term(kept - weight, name)] if kept != weight else [Term(weight, name)]
    cancels = all(sum(each.factor for each in terms if each.atom == name) == 0 for name in names)
    forms = [f"{written(terms, ATOMS, draw)} by level" for _ in range(6)]
    found = verdicts(forms)
    assert len(set(found)) == 1, list(zip(found, forms, strict=True))
    assert ("E0621" in found[0]) is (cancels and len(terms) > 1)


def directions(measures: Sequence[str]) -> list[str]:
    """Return which direction is better of each measure; nothing where that is not said, `?` where it does not follow."""
    text = SPEC + "".join(f"measure it{place} = {each}\n" for place, each in enumerate(measures))
    done = compile_text(text)
    assert done.plan is not None, done.diagnostics
    start = SPEC.count("\n")
    asked = {text[: each.labels[0].span.start].count("\n") - start for each in done.diagnostics if each.code == "W0627"}
    known: dict[str, Measure] = {each.name: each for each in done.plan.measures}
    every = [known[f"it{place}"] for place in range(len(measures))]
    return [
        "?" if place in asked else "lower" if each.lower_is_better else "higher" if each.higher_is_better else ""
        for place, each in enumerate(every)
    ]


@pytest.mark.parametrize(
    ("formula", "better"),
    [
        ("off", "lower"),
        ("errors[level: easy]", "lower"),
        ("1 - errors", "higher"),
        ("-errors", "higher"),
        ("errors / 2 + 0.5 * off", "lower"),
        ("2 * errors - errors", "lower"),
        ("sure - errors", "higher"),
        ("errors - sure", "lower"),
        ("(1 - errors) * sure", "higher"),
        ("sqrt(errors)", "lower"),
        ("max(errors, off)", "lower"),
        ("abs(errors)", "lower"),
        ("mean(errors by level)", "lower"),
        ("mean(errors_by)", "lower"),
        ("median(errors_by)", "lower"),
        ("mean(off_by)", "lower"),
        ("1 - mean(errors_by)", "higher"),
        ("errors_by[level: easy]", "lower"),
        ("sums.wrongs", "lower"),
        ("mean(sums.wrongs by level)", "lower"),
        ("stdev(errors_by)", "?"),
        ("1 / (1 + errors)", "higher"),
        ("passed", "higher"),
        ("1 - passed", "lower"),
        ("errors - off[level: easy]", "?"),
        ("errors[level: easy] - errors[level: hard]", "?"),
        ("errors * sure", "?"),
        ("errors + sure", "?"),
        ("abs(errors - 0.5)", "?"),
        ("stdev(errors by level)", "?"),
        ("errors[level: easy] - errors[level: hard] lower is better", "lower"),
        ("errors * sure higher is better", "higher"),
        ("sure", ""),
        ("1 - sure", ""),
        ("mean(wrong)", ""),
    ],
)
def test_a_direction_follows_from_the_parts_or_is_asked_for(formula: str, better: str) -> None:
    assert directions([formula]) == [better]


@pytest.mark.parametrize("seed", range(sized(8, 30)))
def test_equal_formulas_have_one_direction(seed: int) -> None:
    draw = Random(seed)
    atoms = {"low": ("errors", "off", "(1 - passed)"), "high": ("passed", "(1 - off)"), "none": ("sure", "sums.rights")}
    names = draw.sample(sorted(atoms), draw.randint(1, 3))
    weights = {name: draw.choice((-1, 1)) * Fraction(draw.randint(1, 9), 10) for name in names}
    terms = [Term(weight, name) for name, weight in weights.items()]
    said = {"low", "high"} & set(names)
    low_part = weights.get("low", Fraction(0)) - weights.get("high", Fraction(0))
    if said == {"low", "high"} and low_part == 0:
        return
    slopes = {("low", low_part > 0)} if said else set()
    slopes |= {("none", weights["none"] < 0)} if "none" in names else set()
    ways = {falls for _, falls in slopes}
    wanted = "" if not said else "?" if len(ways) > 1 else "lower" if ways == {True} else "higher"
    forms = [written(terms, atoms, draw) for _ in range(5)]
    found = directions(forms)
    assert found == [wanted] * len(forms), list(zip(found, forms, strict=True))


def test_a_headline_without_a_direction_is_refused() -> None:
    text = (
        SPEC.replace("languages en }", "languages en\n  headline saved }", 1)
        + "measure saved = errors[level: easy] - errors[level: hard]"
    )
    assert [each.code for each in compile_text(f"{text}\n").diagnostics] == ["E0626"]
    assert compile_text(f"{text} higher is better\n").diagnostics == ()
