"""Benchmarks with several scores of one name, each under a condition: formulas, judges' grades and scores of elements.

`generate(seed)` makes one, as `tests/oracle.py` does, whose functions it holds the figures to: of the scores of one
name the first speaks whose condition holds, or waits for what a reply lacks. So an item counts once in each arm and
sample, whatever became of the replies that decide.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.oracle import (
    COLOURS,
    LEVELS,
    PLAIN,
    STYLES,
    Benchmark,
    Measure,
    NotApplicable,
    Score,
    Undefined,
    Unit,
    _by,
    _plain,
    _table,
    verdict,
)

Found = list[tuple[str, Any]]


@dataclass(frozen=True)
class Condition:
    """A condition, and what it comes to. `of_reply`: a reply decides it. `may` hold in an arm, by that alone."""

    spec: str
    holds: Callable[[Unit], bool]
    of_reply: bool = True
    may: Callable[[str], bool] = lambda style: True
    open_to: Callable[[Unit], bool] = lambda unit: True
    """Whether it may hold of the row, whatever is replied."""


@dataclass(frozen=True)
class Value:
    """A value that a score may have: what the spec says, and the values of a unit by who gives them."""

    spec: str
    values: Callable[[Benchmark, Unit], Found]
    each: str = ""

    def of_row(self, unit: Unit) -> bool:
        """True if the row alone is why there is no value."""
        return "/ item.number" in self.spec and unit.row["number"] == 0


@dataclass(frozen=True)
class Namesakes(Score):
    """Several scores of one name."""

    alternatives: Sequence[tuple[Value, Condition]] = field(default=())

    def line(self) -> str:
        """Return what the spec says."""
        return "\n".join(
            f"  score {self.name} = {value.spec}{value.each} when {condition.spec}"
            for value, condition in self.alternatives
        )

    def found(self, made: Benchmark, unit: Unit) -> Iterator[tuple[str, Any]]:
        """Yield what the one comes to that speaks for the unit. Of a score that is the only one of its name in an arm, it
        is the row where the row alone is why there would be no value, whatever is lacking."""
        possible = [each for each in self.alternatives if each[1].may(unit.style)]
        for value, condition in possible:
            try:
                if not condition.holds(unit):
                    continue
            except NotApplicable:
                continue
            except Undefined:
                yield from _lacking(value, made, unit, len(possible) == 1)
                return
            yield from value.values(made, unit)
            return


def judged(made: Benchmark) -> int:
    """Return how many replies judges are asked about: those of which a score speaks that needs a judge, each once by
    each judge."""
    scores = [each for each in made.scores if isinstance(each, Namesakes)]
    units = [
        Unit(made.reply(model, item, style, sample), made.rows[item], style)
        for model, item, style, sample in made.units()
    ]
    return len(made.judges) * sum(any(_asks_judge(score, unit) for score in scores) for unit in units)


def _asks_judge(score: Namesakes, unit: Unit) -> bool:
    for value, condition in score.alternatives:
        if not condition.may(unit.style):
            continue
        try:
            if condition.holds(unit):
                return "good(" in value.spec and unit.reply.text is not None
        except NotApplicable:
            continue
        except Undefined:
            break
    return False


def left_out(made: Benchmark, score: Namesakes) -> dict[str, tuple[int, int]]:
    """Return of how many replies of each model no score of a name applies for what they say, and of how many the row
    leaves that open."""
    found: dict[str, tuple[int, int]] = {}
    for model, item, style, sample in made.units():
        unit = Unit(made.reply(model, item, style, sample), made.rows[item], style)
        conditions = [each for value, each in score.alternatives if each.may(style)]
        if not conditions:
            continue
        ruled_out = [_is_false(each, unit) for each in conditions]
        by_reply = all(ruled_out) and any(each.of_reply and each.open_to(unit) for each in conditions)
        out, whole = found.get(model, (0, 0))
        found[model] = (out + by_reply, whole + (by_reply or not all(ruled_out)))
    return {model: counts for model, counts in found.items() if counts[0]}


def _is_false(condition: Condition, unit: Unit) -> bool:
    try:
        return not condition.holds(unit)
    except (Undefined, NotApplicable):
        return False


def _lacking(value: Value, made: Benchmark, unit: Unit, alone: bool) -> Found:
    """Return the values of a score of which it is not known whether it applies: each is lacking. One of elements has
    one for each, as far as these are known."""
    if alone and value.of_row(unit):
        return []
    if value.each:
        try:
            return [("", None)] * len(_elements(value.each, unit))
        except Undefined:
            return [("", None)]
    return [(judge, None) for judge in (made.judges if value.spec == "good(reply.text)" else ("",))]


OF_ROW = ' each w in (item.gold, "say")'
OF_REPLY = ' each w in split(reply.text, "e")'


def _elements(each: str, unit: Unit) -> Sequence[str]:
    return (unit.row["gold"], "say") if each == OF_ROW else unit.reply.text.split("e")


def _one(value: Callable[[Unit], Any]) -> Callable[[Benchmark, Unit], Found]:
    def found(made: Benchmark, unit: Unit) -> Found:
        try:
            return [("", value(unit))]
        except Undefined:
            return [("", None)]
        except NotApplicable:
            return []

    return found


def _graded(made: Benchmark, unit: Unit) -> Found:
    try:
        return [(judge, verdict(judge, unit.reply.text)) for judge in made.judges]
    except Undefined:
        return [(judge, None) for judge in made.judges]


def _high(made: Benchmark, unit: Unit) -> Found:
    """Whether the mean of the judges is above 3; where one of them gives nothing it is not known."""
    grades = [grade for _, grade in _graded(made, unit)]
    return [("", None if None in grades else sum(grades) / len(grades) > 3)]


def _each(of: str, value: Callable[[Unit, str], Any]) -> Callable[[Benchmark, Unit], Found]:
    def found(made: Benchmark, unit: Unit) -> Found:
        try:
            listed = _elements(of, unit)
        except Undefined:
            return [("", None)]
        return [pair for word in listed for pair in _one(lambda unit, word=word: value(unit, word))(made, unit)]

    return found


def _ratio(over: float, under: float, error: type[Exception]) -> float:
    if under == 0:
        raise error
    return over / under


def _words(unit: Unit) -> int:
    return len(unit.reply.text.replace(":", " ").split())


def _of_row(spec: str, holds: Callable[[Unit], bool]) -> Condition:
    def open_to(unit: Unit) -> bool:
        try:
            return holds(unit)
        except NotApplicable:
            return False

    return Condition(spec, holds, False, open_to=open_to)


VALUES = (
    Value("contains(reply.text, item.gold)", _one(lambda u: u.row["gold"] in u.reply.text.lower())),
    Value("words(reply.text)", _one(_words)),
    Value("1 / (words(reply.text) - 2)", _one(lambda u: _ratio(1, _words(u) - 2, Undefined))),
    Value("words(reply.text) / item.number", _one(lambda u: _ratio(1, u.row["number"], NotApplicable) * _words(u))),
    Value("6 / item.number", _one(lambda u: _ratio(6, u.row["number"], NotApplicable))),
    Value("good(reply.text)", _graded),
    Value("good(reply.text) > 3", _high),
    Value("contains(reply.text, w)", _each(OF_ROW, lambda u, w: w in u.reply.text.lower()), OF_ROW),
    Value('contains(w, "r")', _each(OF_REPLY, lambda u, w: "r" in w.lower()), OF_REPLY),
)
OF_TEXT = (
    Condition("words(reply.text) > 1", lambda u: _words(u) > 1),
    Condition("words(reply.text) <= 1", lambda u: _words(u) <= 1),
    Condition('contains(reply.text, "red")', lambda u: "red" in u.reply.text.lower()),
    Condition("6 / (words(reply.text) - 1) > 3", lambda u: _ratio(6, _words(u) - 1, Undefined) > 3),
)
OF_FIELDS = (
    Condition("reply.colour == red", lambda u: u.reply["colour"] == "red"),
    Condition("reply.colour == green", lambda u: u.reply["colour"] == "green"),
    Condition("reply.colour != red", lambda u: u.reply["colour"] != "red"),
    Condition("reply.sure", lambda u: u.reply["sure"]),
    Condition("not reply.sure", lambda u: not u.reply["sure"]),
    Condition("6 / reply.size > 2", lambda u: _ratio(6, u.reply["size"], Undefined) > 2),
)
BESIDE = (
    _of_row("level == hard", lambda u: u.row["level"] == "hard"),
    _of_row("level == easy", lambda u: u.row["level"] == "easy"),
    _of_row("6 / item.number > 2", lambda u: _ratio(6, u.row["number"], NotApplicable) > 2),
)
IN_ARM = (
    Condition("style == rich", lambda u: u.style == "rich", False, lambda style: style == "rich"),
    Condition("style == plain", lambda u: u.style == "plain", False, lambda style: style == "plain"),
)


def _both(one: Condition, other: Condition, decides: bool) -> Condition:
    """Return one condition and the other, or one or the other: what a value of the one decides, and where it has none
    what follows from the row alone."""

    def holds(unit: Unit) -> bool:
        if any(each.spec.startswith("style") and each.holds(unit) == decides for each in (one, other)):
            return decides  # arms are put in before anything else is looked at
        try:
            first = one.holds(unit)
        except Undefined:
            if not other.of_reply and _holds(other, unit) == decides:
                return decides
            raise
        if first == decides:
            return decides
        try:
            return other.holds(unit)
        except NotApplicable:
            raise (Undefined if one.of_reply else NotApplicable) from None

    def may(style: str) -> bool:
        return (any if decides else all)((one.may(style), other.may(style)))

    def open_to(unit: Unit) -> bool:
        return (any if decides else all)((one.open_to(unit), other.open_to(unit)))

    spec = f"({one.spec}) {'or' if decides else 'and'} ({other.spec})"
    return Condition(spec, holds, one.of_reply or other.of_reply, may, open_to)


def _holds(condition: Condition, unit: Unit) -> bool | None:
    try:
        return condition.holds(unit)
    except NotApplicable:
        return None


def generate(seed: int) -> Benchmark:
    """Return the benchmark of a seed."""
    dice = random.Random(f"namesakes {seed}")
    structured = dice.random() < 0.6
    made = Benchmark(
        seed,
        [
            {"id": number, "level": dice.choice(LEVELS), "number": dice.randrange(4), "gold": dice.choice(COLOURS)}
            for number in range(dice.randrange(2, 7))
        ],
        models=("m/a", "m/b")[: dice.choice((1, 2))],
        judges=("m/j", "m/k")[: dice.choice((1, 2))],
        styles=STYLES if dice.random() < 0.6 else STYLES[:1],
        samples=dice.choice((1, 1, 2, 3)),
        structured=structured,
    )
    for number in range(dice.choice((1, 2))):
        of_reply = OF_FIELDS if structured else OF_TEXT
        score = Namesakes(f"score{number}", "", lambda reply, row: None)
        count = dice.choice((1, 2, 2, 3))
        chosen = [_alternative(dice, made, of_reply) for _ in range(count)]
        made.scores.append(Namesakes(score.name, "", score.value, alternatives=chosen))
        for place in range(3):
            made.measures.append(_measure(dice, made, made.scores[-1], f"m{number}{place}"))
    return made


def _alternative(dice: random.Random, made: Benchmark, of_reply: Sequence[Condition]) -> tuple[Value, Condition]:
    """Return a score that may apply under some arm, and that looks at a reply."""
    while True:
        value, condition = dice.choice(VALUES), _condition(dice, made, of_reply)
        of_any = condition.of_reply or "reply" in value.spec + value.each
        if of_any and any(condition.may(style) for style in made.styles):
            return value, condition


def _condition(dice: random.Random, made: Benchmark, of_reply: Sequence[Condition]) -> Condition:
    others = (*BESIDE, *(IN_ARM if len(made.styles) > 1 else ()))
    one = dice.choice(of_reply) if dice.random() < 0.8 else dice.choice(others)
    if dice.random() < 0.6:
        return one
    two = (one, dice.choice((*of_reply, *others)))
    return _both(*(two if dice.random() < 0.5 else two[::-1]), decides=dice.random() < 0.4)


def _measure(dice: random.Random, made: Benchmark, score: Score, name: str) -> Measure:
    by = _by(dice, made)
    missing = dice.choice(("skip", "skip", "zero", "fail"))
    function = dice.choice(tuple(PLAIN))
    spec = f"{function}({score.name}{f', missing: {missing}' if missing != 'skip' else ''})"
    spec += f" by {', '.join(by)}" if by else ""
    aggregate = _plain(PLAIN[function], missing)
    return Measure(name, spec, by, lambda made: _table(list(made.cells(score)), by, aggregate))
