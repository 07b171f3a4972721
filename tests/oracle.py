"""A second opinion on every measure: benchmarks whose figures are worked out in plain Python, and by Tripos.

`generate(seed)` makes a benchmark: its spec, its rows, the replies of its models, and each score and measure as a
Python function beside the line of the spec that says the same. The functions follow the reference of the language
(`docs/language`) and share no code with Tripos. Replies are missing, refused, cut off, unreadable, or leave a score
undefined. `differences(seed, folder)` runs it into a store and lists the figures that differ.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from tripos.runs.compilation import find_spec
from tripos.runs.job import Job, RunObserver
from tripos_compiler.plan import Plan
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.models.base import FREE, Model, ModelError, Reply, Request
from tripos_runtime.program.binding import bind
from tripos_runtime.scheduling.limits import Limits
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run

COLOURS = ("red", "green", "blue")
LEVELS = ("easy", "hard")
STYLES = ("plain", "rich")
Row = Mapping[str, Any]


class Undefined(Exception):
    """There is no value because of what a reply says, or of what has become of it: a score that should be there."""


class NotApplicable(Exception):
    """There is no value because of the row, or a condition: no score."""


@dataclass(frozen=True)
class Said:
    """The reply of a model: a text; `refused`, or `cut` off."""

    text: str
    refused: bool = False
    cut: bool = False


@dataclass(frozen=True)
class Heard:
    """A reply as scores see it. Reading what is not there raises `Undefined`."""

    said: Said
    fields: Mapping[str, Any] | None

    @property
    def text(self) -> str:
        if self.said.refused or not self.said.text.strip():
            raise Undefined  # nothing at all is no answer
        return self.said.text

    def __getitem__(self, name: str) -> Any:
        if self.fields is None:
            raise Undefined
        return self.fields[name]

    def part(self, kind: type, *path: str | int) -> Any:
        """Return a part of a reply of any JSON, if there is one of that kind, and `None` if not."""
        found: Any = self.fields
        if found is None:
            raise Undefined
        for name in path:
            try:
                found = found[name]
            except (KeyError, IndexError, TypeError):
                return None
        return found if type(found) is kind else None


@dataclass(frozen=True)
class Score:
    """A score of one reply: what the spec says, and what it comes to. `judged`: by every judge of the panel."""

    name: str
    spec: str
    value: Callable[[Heard, Row], Any]
    truth: bool = False
    judged: bool = False

    def line(self) -> str:
        """Return what the spec says."""
        return f"  score {self.name} = {self.spec}"

    def found(self, made: Benchmark, unit: Unit) -> Iterator[tuple[str, Any]]:
        """Yield each value that a reply has, by who gives it; `None` where it failed, and nothing where it does not
        apply."""
        for judge in made.judges if self.judged else ("",):
            try:
                yield judge, verdict(judge, unit.reply.text) if self.judged else self.value(unit.reply, unit.row)
            except Undefined:
                yield judge, None
            except NotApplicable:
                continue


@dataclass(frozen=True)
class Unit:
    """A reply, the row that it is to, and the arm."""

    reply: Heard
    row: Row
    style: str


@dataclass(frozen=True)
class Cell:
    """A value that a measure takes: of which model, under what, and its value or `None` where it failed."""

    model: str
    item: int
    under: Mapping[str, str]
    value: Any
    gold: Any = None


@dataclass(frozen=True)
class Figure:
    """The value of a measure in one of its cells."""

    value: float | None
    n: int
    total: int
    gap: bool = False
    """Whether a formula in it has no value though its parts have theirs."""


NOTHING = Figure(None, 0, 0)


@dataclass(frozen=True)
class Measure:
    """A measure: what the spec says of it, by what it goes, and its figures by model and cell."""

    name: str
    spec: str
    by: tuple[str, ...]
    figures: Callable[[Benchmark], Mapping[tuple[str, ...], Figure]]
    judged: bool = False
    """Whether it lies on the scale of the judges. Only figures of one scale are added (`measure.md`)."""


@dataclass
class Benchmark:
    """A generated benchmark."""

    seed: int
    rows: list[dict[str, Any]]
    models: tuple[str, ...]
    judges: tuple[str, ...]
    styles: tuple[str, ...]
    samples: int
    structured: bool
    free: bool = False
    """A reply that is structured may have any form."""
    scores: list[Score] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)

    def units(self) -> Iterator[tuple[str, int, str, int]]:
        """Yield every reply: model, row, style and sample."""
        yield from product(self.models, range(len(self.rows)), self.styles, range(self.samples))

    def reply(self, model: str, item: int, style: str, sample: int) -> Heard:
        """Return what a model replies, and what can be read in it."""
        said = said_to(self.seed, model, item, style, sample, self.structured)
        if not self.structured or said.refused:
            return Heard(said, None)
        if self.free:
            said = freely(said)
        try:
            return Heard(said, json.loads(said.text[said.text.find("{") : said.text.rfind("}") + 1]))
        except ValueError:
            return Heard(said, None)

    def cells(self, score: Score) -> Iterator[Cell]:
        """Yield every value of a score; those that do not apply are left out."""
        for model, item, style, sample in self.units():
            row = self.rows[item]
            under = {"level": row["level"], "style": style}
            for judge, value in score.found(self, Unit(self.reply(model, item, style, sample), row, style)):
                yield Cell(model, item, under | {"evaluator": judge}, value)

    @property
    def asks_judges(self) -> bool:
        """True if a judge grades replies."""
        return any("good(" in score.line() for score in self.scores)


def said_to(seed: int, model: str, item: int, style: str, sample: int, structured: bool) -> Said:
    """Return what a model says to a row; the same however often it is asked."""
    dice = _dice(seed, model, item, style, sample)
    mood = dice.random()
    if mood < 0.08:
        return Said("", refused=True)
    colour = dice.choice((*COLOURS, "grey"))
    if not structured:
        lines = [
            f"ANSWER: {colour}", colour, f"I say {colour} today", "", "two words", f"ANSWER: {colour}\nANSWER: none",
        ]  # fmt: skip
        return Said(dice.choice(lines), cut=mood > 0.95)
    if mood < 0.2:
        return Said("no JSON here", cut=mood < 0.12)
    note = dice.choice(("well", None))
    found = {"colour": dice.choice(COLOURS), "size": dice.randrange(5), "sure": dice.random() < 0.6, "note": note}
    return Said(json.dumps(found))


def freely(said: Said) -> Said:
    """Return what was said in another form, with text around it, without a part or with one of another kind."""
    dice = _dice("freely", said.text)
    if not said.text.startswith("{"):
        return Said(dice.choice((said.text, "{'colour': 'red'}", '{"colour": "red", "colour": "red"}')), cut=said.cut)
    found = json.loads(said.text)
    found |= {"at": [{"colour": found["colour"]}], "parts": [1] * found["size"]}
    for name, other in (("colour", 3), ("size", "2"), ("sure", None), ("at", {}), ("parts", [1, "2"])):
        mood = dice.random()
        if mood < 0.2:
            del found[name]
        elif mood < 0.3:
            found[name] = other
    text = json.dumps(found, indent=dice.choice((None, 2)))
    return Said(dice.choice(("{}", "Sure:\n```json\n{}\n```", "It is {}, I think.")).replace("{}", text))


def verdict(judge: str, said: str) -> int | None:
    """Return what a judge gives a text from 1 to 5; none where its reply cannot be read or it declines."""
    dice = _dice(judge, said)
    grade = dice.randrange(1, 6)
    return None if dice.random() < 0.15 else grade


def _dice(*of: object) -> random.Random:
    return random.Random(int.from_bytes(hashlib.blake2b(repr(of).encode(), digest_size=8).digest(), "big"))


# --- scores, each with its line in the spec ---


def _after_colon(reply: Heard) -> str:
    parts = reply.text.split(":")
    if len(parts) < 2:
        raise Undefined
    return parts[1].strip()


def _divided(over: float, under: float, error: type[Exception]) -> float:
    if under == 0:
        raise error
    return over / under


def _where(holds: bool, value: Callable[[], Any]) -> Any:
    if not holds:
        raise NotApplicable
    return value()


def _there(value: Any) -> Any:
    if value is None:
        raise Undefined
    return value


def _sum(parts: list[Any] | None) -> int:
    return 9 if parts is None or "2" in parts else sum(parts)


def _words(reply: Heard) -> int:
    return len(reply.text.replace(":", " ").split())


TEXT_SCORES = (
    Score("holds", "contains(reply.text, item.gold)", lambda r, row: row["gold"] in r.text.lower(), truth=True),
    Score("said", "trim(nth(split(reply.text, \":\"), 1)) == item.gold", lambda r, row: _after_colon(r) == row["gold"], truth=True),
    Score("long", "words(reply.text)", lambda r, row: _words(r)),
    Score("short", "1 / (words(reply.text) - 2)", lambda r, row: _divided(1, _words(r) - 2, Undefined)),
    Score("per", "6 / item.number + words(reply.text)", lambda r, row: _divided(6, row["number"], NotApplicable) + _words(r)),
    Score("after", "words(reply.text) + 6 / item.number", lambda r, row: _divided(6, row["number"], NotApplicable) + _words(r)),
    Score("rate", "words(reply.text) / item.number", lambda r, row: _divided(1, row["number"], NotApplicable) * _words(r)),
    Score("both", "6 / item.number when words(reply.text) > 1", lambda r, row: _where(row["number"] > 0, lambda: _where(_words(r) > 1, lambda: 6 / row["number"]))),
    Score("tight", "contains(reply.text, item.gold) when words(reply.text) > 1 and level == hard", lambda r, row: _where(row["level"] == "hard", lambda: _where(_words(r) > 1, lambda: row["gold"] in r.text.lower())), truth=True),
    Score("hard", "words(reply.text) > 1 when level == hard", lambda r, row: _where(row["level"] == "hard", lambda: _words(r) > 1), truth=True),
    Score("wordy", "contains(reply.text, item.gold) when words(reply.text) > 1", lambda r, row: _where(_words(r) > 1, lambda: row["gold"] in r.text.lower()), truth=True),
    Score("guarded", "choose(words(reply.text) == 2, 0, 1 / (words(reply.text) - 2))", lambda r, row: 0 if _words(r) == 2 else 1 / (_words(r) - 2)),
)  # fmt: skip
FIELD_SCORES = (
    Score("right", "reply.colour == item.gold", lambda r, row: r["colour"] == row["gold"], truth=True),
    Score("sure", "reply.sure", lambda r, row: r["sure"], truth=True),
    Score("size", "reply.size", lambda r, row: r["size"]),
    Score("ratio", "item.number / reply.size", lambda r, row: _divided(row["number"], r["size"], Undefined)),
    Score("noted", "default(reply.note, \"none\") == \"well\"", lambda r, row: (r["note"] or "none") == "well", truth=True),
    Score("close", "abs(reply.size - item.number) when item.number > 0", lambda r, row: _where(row["number"] > 0, lambda: abs(r["size"] - row["number"]))),
)  # fmt: skip
FREE_SCORES = (
    Score("right", 'json_part(reply, "colour", text) == item.gold', lambda r, row: r.part(str, "colour") == row["gold"], truth=True),
    Score("deep", 'json_part(reply, "at.0.colour", text) == item.gold', lambda r, row: r.part(str, "at", 0, "colour") == row["gold"], truth=True),
    Score("sure", 'default(json_part(reply, "sure", bool), false)', lambda r, row: bool(r.part(bool, "sure")), truth=True),
    Score("size", 'readable(json_part(reply, "size", integer))', lambda r, row: _there(r.part(int, "size"))),
    Score("ratio", 'item.number / readable(json_part(reply, "size", integer))', lambda r, row: _divided(row["number"], _there(r.part(int, "size")), Undefined)),
    Score("noted", 'default(json_part(reply, "note", text), "none") == "well"', lambda r, row: r.part(str, "note") == "well", truth=True),
    Score("parts", 'sum(default(json_part(reply, "parts", list<integer>), [9]))', lambda r, row: _sum(r.part(list, "parts"))),
)  # fmt: skip
JUDGED = Score("good", "good(reply.text)", lambda r, row: None, judged=True)

# --- aggregates ---

Aggregate = Callable[[Sequence[Cell]], float | None]


def _values(cells: Sequence[Cell], missing: str) -> list[float] | None:
    """Return the values that count; `None` where a missing one means that there is no figure."""
    if missing == "fail" and any(cell.value is None for cell in cells):
        return None
    found = [0.0 if cell.value is None and missing == "zero" else cell.value for cell in cells]
    return [float(value) for value in found if value is not None]


def _plain(function: Callable[[list[float]], float | None], missing: str) -> Aggregate:
    def aggregate(cells: Sequence[Cell]) -> float | None:
        values = _values(cells, missing)
        return None if values is None else function(values)

    return aggregate


PLAIN: Mapping[str, Callable[[list[float]], float | None]] = {
    "mean": lambda values: statistics.fmean(values) if values else None,
    "median": lambda values: statistics.median(values) if values else None,
    "stdev": lambda values: statistics.stdev(values) if len(values) > 1 else None,
    "sum": sum,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
}


def _rated(sensitivity: float, specificity: float) -> Callable[[list[float]], float | None]:
    """The share that is true, corrected for how often a judge is right, and cut at 0 and 1."""

    def corrected(values: list[float]) -> float | None:
        if not values:
            return None
        found = (statistics.fmean(values) - (1 - specificity)) / (sensitivity - (1 - specificity))
        return min(max(found, 0.0), 1.0)

    return corrected


def _passed(name: str, k: int, missing: str) -> Aggregate:
    """The mean over items, and the styles of an item, of the chance of a right one among k samples, or of k right."""

    def chance(values: list[float]) -> float | None:
        n, c = len(values), round(sum(values))
        if n < k:
            return None
        if name == "pass_at":
            return 1 - math.comb(n - c, k) / math.comb(n, k)
        return math.comb(c, k) / math.comb(n, k)

    def aggregate(cells: Sequence[Cell]) -> float | None:
        if missing == "fail" and any(cell.value is None for cell in cells):
            return None
        tries: dict[tuple[int, str], list[Cell]] = {}
        for cell in cells:
            tries.setdefault((cell.item, cell.under["style"]), []).append(cell)
        items: dict[int, list[float]] = {}
        for (item, _), some in tries.items():
            found = chance(_values(some, missing) or [])
            if found is not None:
                items.setdefault(item, []).append(found)
        means = [statistics.fmean(each) for each in items.values()]
        return statistics.fmean(means) if means else None

    return aggregate


def _classed(name: str, average: str, missing: str) -> Aggregate:
    """Precision, recall, F1 and balanced accuracy of what is said against what is right."""
    balanced = name == "balanced_accuracy"

    def ratio(tp: int, fp: int, fn: int) -> float | None:
        over, under = {"precision": (tp, tp + fp), "f1": (2 * tp, 2 * tp + fp + fn)}.get(name, (tp, tp + fn))
        return over / under if under else None

    def aggregate(cells: Sequence[Cell]) -> float | None:
        if missing == "fail" and any(cell.value is None for cell in cells):
            return None
        used = [cell for cell in cells if cell.value is not None or missing == "zero"]
        of_cell = [(cell.gold,) if balanced else (cell.value, cell.gold) for cell in used]
        classes = sorted({str(v) for values in of_cell for v in values if v is not None})
        counts = []
        for each in classes:
            tp = sum(str(cell.value) == each == str(cell.gold) for cell in used)
            fp = sum(cell.value is not None and str(cell.value) == each != str(cell.gold) for cell in used)
            fn = sum(str(cell.gold) == each and (cell.value is None or str(cell.value) != each) for cell in used)
            counts.append((tp, fp, fn))
        if average == "micro" and not balanced:
            return ratio(*(sum(column) for column in zip(*counts, strict=True))) if counts else None
        return statistics.fmean((ratio(*each) or 0.0) for each in counts) if counts else None

    return aggregate


def _accuracy(missing: str) -> Aggregate:
    def aggregate(cells: Sequence[Cell]) -> float | None:
        return (
            PLAIN["mean"](values) if (values := _values([_agreeing(c) for c in cells], missing)) is not None else None
        )

    return aggregate


def _agreeing(cell: Cell) -> Cell:
    value = None if cell.value is None else float(cell.value == cell.gold)
    return Cell(cell.model, cell.item, cell.under, value)


def _table(cells: Sequence[Cell], by: Sequence[str], aggregate: Aggregate) -> dict[tuple[str, ...], Figure]:
    """Return the figures of every model and cell in which anything should be."""
    grouped: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        grouped.setdefault((cell.model, *(cell.under[name] for name in by)), []).append(cell)
    return {
        key: Figure(aggregate(some), sum(cell.value is not None for cell in some), len(some))
        for key, some in grouped.items()
    }


# --- the generator ---


def generate(seed: int) -> Benchmark:
    """Return the benchmark of a seed."""
    dice = random.Random(seed)
    rows = [
        {"id": number, "level": dice.choice(LEVELS), "number": dice.randrange(4), "gold": dice.choice(COLOURS)}
        for number in range(dice.randrange(3, 9))
    ]
    structured = dice.random() < 0.5
    made = Benchmark(
        seed,
        rows,
        models=("m/a", "m/b")[: dice.choice((1, 2))],
        judges=("m/j", "m/k")[: dice.choice((1, 2))],
        styles=STYLES if dice.random() < 0.5 else STYLES[:1],
        samples=dice.choice((1, 1, 2, 4)),
        structured=structured,
        free=structured and _dice(seed, "free").random() < 0.5,
    )
    every = FREE_SCORES if made.free else FIELD_SCORES if structured else TEXT_SCORES
    made.scores = dice.sample(every, dice.randrange(2, len(every) + 1))
    if not structured and dice.random() < 0.6:
        made.scores.append(JUDGED)
    names = iter(range(1000))
    for score in made.scores:
        for _ in range(2):
            made.measures.append(_measure(dice, made, score, f"m{next(names)}"))
    if structured and not made.free:
        for _ in range(2):
            made.measures.append(_of_two(dice, f"m{next(names)}"))
    plain = [each for each in made.measures if not each.by]
    first = dice.choice(plain) if plain else None
    plain = [each for each in plain if first is not None and each.judged == first.judged]
    if len(plain) > 1:
        made.measures.append(_formula(dice, plain, f"m{next(names)}"))
    parted = [each for each in made.measures if each.by]
    if parted:
        made.measures.append(_beside_all(dice, dice.choice(parted), made.measures, f"m{next(names)}"))
        for _ in range(2):
            own = dice.choice([each for each in made.measures if each.by])
            made.measures.append(_of_cells(dice, own, made.measures, f"m{next(names)}"))
    made.measures.append(_curved(dice, dice.choice(made.measures), f"m{next(names)}"))
    return made


def _by(dice: random.Random, made: Benchmark) -> tuple[str, ...]:
    dims = ["level", *(["style"] if len(made.styles) > 1 else [])]
    return tuple(dice.sample(dims, dice.randrange(len(dims) + 1)))


def _measure(dice: random.Random, made: Benchmark, score: Score, name: str) -> Measure:
    by = _by(dice, made)
    missing = dice.choice(("skip", "skip", "zero", "fail"))
    said = f", missing: {missing}" if missing != "skip" else ""
    tries = score.truth and made.samples > 1 and not score.judged
    function = dice.choice((*PLAIN, *(("pass_at", "pass_all") if tries else ()), *(("rated",) if score.truth else ())))
    if function == "rated":
        sensitivity, specificity = dice.choice((0.75, 0.9, 1.0)), dice.choice((0.5, 0.875))
        aggregate = _plain(_rated(sensitivity, specificity), missing)
        study = dice.choice(("", ", positives: 40", ", positives: 30, negatives: 50"))
        rates = f"sensitivity: {sensitivity}, specificity: {specificity}{study}"
        spec = f"corrected_prevalence({score.name}, {rates}{said})"
    elif function in PLAIN:
        aggregate, spec = _plain(PLAIN[function], missing), f"{function}({score.name}{said})"
    else:
        k = dice.randrange(1, made.samples + 1)
        aggregate, spec = _passed(function, k, missing), f"{function}({k}, {score.name}{said})"
    spec += f" by {', '.join(by)}" if by else ""
    return Measure(name, spec, by, lambda made: _table(list(made.cells(score)), by, aggregate), score.judged)


def _of_two(dice: random.Random, name: str) -> Measure:
    missing = dice.choice(("skip", "zero", "fail"))
    said = f", missing: {missing}" if missing != "skip" else ""
    function = dice.choice(("accuracy", "precision", "recall", "f1", "balanced_accuracy"))
    average = dice.choice(("micro", "macro"))
    more = "" if function in ("accuracy", "balanced_accuracy") else f", average: {average}"
    aggregate = _accuracy(missing) if function == "accuracy" else _classed(function, average, missing)
    score = Score("", "", lambda reply, row: reply["colour"])

    def figures(made: Benchmark) -> dict[tuple[str, ...], Figure]:
        cells = [Cell(c.model, c.item, c.under, c.value, made.rows[c.item]["gold"]) for c in made.cells(score)]
        return _table(cells, (), aggregate)

    return Measure(name, f"{function}(reply.colour, item.gold{more}{said})", (), figures)


def _formula(dice: random.Random, plain: Sequence[Measure], name: str) -> Measure:
    one, two = dice.sample(list(plain), 2)
    weight = dice.choice((0.5, 2))

    def figures(made: Benchmark) -> dict[tuple[str, ...], Figure]:
        first, second = one.figures(made), two.figures(made)
        found = {}
        for key in first.keys() & second.keys():
            a, b = first[key], second[key]
            value = None if a.value is None or b.value is None else abs(a.value - a.value) + weight * b.value
            found[key] = Figure(value, -1, -1)
        return found

    return Measure(name, f"abs({one.name} - {one.name}) + {weight} * {two.name}", (), figures)


def _beside_all(dice: random.Random, own: Measure, every: Sequence[Measure], name: str) -> Measure:
    """A figure by group beside one that goes by less, which is the same in each of its cells."""
    wider = [each for each in every if each.judged == own.judged and set(each.by) < set(own.by)]
    other = dice.choice(wider) if wider else own
    sign = dice.choice(("-", "+"))

    def figures(made: Benchmark) -> dict[tuple[str, ...], Figure]:
        overall = other.figures(made)
        found = {}
        for key, one in own.figures(made).items():
            cell = dict(zip(own.by, key[1:], strict=True))
            two = overall.get((key[0], *(cell[dim] for dim in other.by)))
            value = None
            if one.value is not None and two is not None and two.value is not None:
                value = one.value - two.value if sign == "-" else one.value + two.value
            found[key] = Figure(value, -1, -1, one.gap or (two is not None and two.gap))
        return found

    return Measure(name, f"{own.name} {sign} {other.name}", own.by, figures, own.judged)


def _of_cells(dice: random.Random, own: Measure, every: Sequence[Measure], name: str) -> Measure:
    """An aggregate of the cells of a formula: a cell that a part lacks is left out, and where the formula has no value
    of parts that have theirs the whole has none."""
    by = tuple(dice.sample(own.by, dice.randrange(len(own.by))))
    function = dice.choice(tuple(PLAIN))
    beside = [each for each in every if each.judged == own.judged and {*each.by} == {*own.by} and each.spec != own.spec]
    shapes: dict[str, Callable[[float, float], float | None]] = {
        f"({own.name} - 1) * ({own.name} - 1)": lambda a, b: (a - 1) ** 2,
        f"{own.name} by": lambda a, b: a,
        f"log({own.name} * {own.name})": lambda a, b: math.log(a * a) if a else None,
        f"tanh({own.name} / 9)": lambda a, b: math.tanh(a / 9),
        f"atanh({own.name} / 6)": lambda a, b: math.atanh(a / 6) if abs(a) < 6 else None,
        f"1 / {own.name}": lambda a, b: 1 / a if a else None,
    }
    other = dice.choice(beside) if beside else own
    if beside:
        shapes[f"abs({own.name} - {other.name})"] = lambda a, b: abs(a - b)
    shape = dice.choice(tuple(shapes))
    counts = function not in ("min", "max", "median") and "abs" not in shape

    def figures(made: Benchmark) -> dict[tuple[str, ...], Figure]:
        two_by = other.figures(made) if "abs" in shape else {}
        grouped: dict[tuple[str, ...], list[tuple[Figure, float | None]]] = {}
        for key, one in own.figures(made).items():
            cell = dict(zip(own.by, key[1:], strict=True))
            two = two_by.get((key[0], *(cell[dim] for dim in other.by)), NOTHING) if "abs" in shape else one
            there = one.value is not None and two.value is not None
            value = shapes[shape](one.value or 0, two.value or 0) if there else None
            gap = one.gap or two.gap or (there and value is None)
            grouped.setdefault((key[0], *(cell[dim] for dim in by)), []).append((replace(one, gap=gap), value))
        found = {}
        for key, cells in grouped.items():
            gap = any(one.gap for one, _ in cells)
            values = [float(value) for _, value in cells if value is not None]
            known = counts and all(one.n >= 0 for one, _ in cells)
            n, total = (sum(getattr(one, each) for one, _ in cells) if known else -1 for each in ("n", "total"))
            found[key] = Figure(None if gap else PLAIN[function](values), n, total, gap)
        return found

    spec = f"{function}({shape.removesuffix(' by')} by {', '.join(own.by)})" + (f" by {', '.join(by)}" if by else "")
    return Measure(name, spec, by, figures, own.judged)


def _curved(dice: random.Random, own: Measure, name: str) -> Measure:
    """A root, a logarithm or another curve of a figure, which may have none."""
    function = dice.choice(("sqrt", "log", "exp", "atanh", "tanh"))
    shift = dice.choice((0, 0.5))  # 1 is the most that many figures can be, and they would never have a logarithm
    inner = {
        "log": f"{own.name} * {own.name}",
        "sqrt": f"{own.name} * {own.name} - {shift}",
        "atanh": f"{own.name} / 6",
    }

    def at(value: float) -> float | None:
        match function:
            case "exp":
                return math.exp(value - shift) if value - shift < 700 else None
            case "tanh":
                return math.tanh(value - shift)
            case "atanh":
                return math.atanh(value / 6) if abs(value) < 6 else None
            case "sqrt":
                return math.sqrt(value * value - shift) if value * value >= shift else None
        return math.log(value * value) if value else None

    def figures(made: Benchmark) -> dict[tuple[str, ...], Figure]:
        found = {}
        for key, one in own.figures(made).items():
            value = None if one.value is None else at(one.value)
            found[key] = Figure(value, -1, -1, one.gap or (one.value is not None and value is None))
        return found

    return Measure(name, f"{function}({inner.get(function, f'{own.name} - {shift}')})", own.by, figures)


def spec_of(made: Benchmark) -> str:
    """Return the text of the spec."""
    returns = "\n    returns { colour choice(red, green, blue), size integer, sure bool, note text? }" * made.structured
    returns = "\n    returns json" if made.free else returns
    samples = f"\n    samples {made.samples}" if made.samples > 1 else ""
    arms = len(made.styles) > 1
    lines = [
        'benchmark oracle "1.0.0" { languages en }',
        "role candidate compared",
        "role judge panel" if made.asks_judges else "",
        "axis level { easy, hard }",
        "arm style { plain, rich }" if arms else "",
        'dataset item from "items.jsonl" { id integer, level, number integer, gold text secret }',
        'scorer good(said: text) by judge { prompt "Grade: {{ said }}", gives 1..5 }' if made.asks_judges else "",
        "scenario s {",
        "  context level",
        "  over item",
        "  arms style" if arms else "",
        "  ask reply by candidate {",
        '    system "rich" when style == rich' if arms else "",
        f'    prompt "item {{{{ item.id }}}} {{{{ level }}}}"{returns}{samples}',
        "  }",
        *(score.line() for score in made.scores),
        *(f"  measure {measure.name} = {measure.spec}" for measure in made.measures),
        "}",
    ]
    return "\n".join(line for line in lines if line) + "\n"


# --- the run ---


@dataclass
class ScriptedModel(Model):
    """A model that says what the benchmark has it say."""

    name: str
    made: Benchmark
    structured = True
    price = FREE

    async def ask(self, request: Request) -> Reply:
        """Return the scripted reply. Raises `ModelError` where it declines."""
        again = len(request.messages) > 2 and request.messages[-2].role == "assistant"
        first = request.messages[-3 if again else -1].content
        if first.startswith("Grade: "):
            grade = verdict(self.name, first.removeprefix("Grade: ").split("\n\nAnswer with JSON")[0])
            return Reply("none" if grade is None else json.dumps({"value": grade}), self.name, "stop", 1, 1, 0.0)
        style = "rich" if request.messages[0].role == "system" and "rich" in request.messages[0].content else "plain"
        item = int(first.split()[1])
        said = said_to(self.made.seed, self.name, item, style, request.number, self.made.structured)
        said = freely(said) if self.made.free and not said.refused else said
        if said.refused:
            raise ModelError("R0108", "declined", "", status="refused")
        return Reply(said.text, self.name, "length" if said.cut else "stop", 1, 1, 0.0)


def run_in(folder: Path, made: Benchmark) -> tuple[Plan, Store]:
    """Run a benchmark in a folder; return its plan and the store with its results."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "s.tripos"
    path.write_text(spec_of(made), "utf-8")
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made.rows), "utf-8")
    spec = find_spec(str(path))
    compilation = spec.compile()
    plan = compilation.plan
    assert plan is not None, (made.seed, [each.message for each in compilation.diagnostics], spec_of(made))
    judges = {"judge": made.judges} if made.asks_judges else {}
    binding = bind(plan, made.models, judges)
    store = Store.open(folder / "results", create=True)
    source = CaseSource(plan, spec.folders, tuple(each.path for each in compilation.sources))
    job = Job(plan, binding, Selection(), source, {}, store, "20260101-000000-0000", Limits(), None)
    ending = asyncio.run(job.run({name: ScriptedModel(name, made) for name in binding.all_models}, RunObserver()))
    assert ending.status == "finished", (made.seed, ending)
    return plan, store


def differences(seed: int, folder: Path, generate: Callable[[int], Benchmark] = generate) -> tuple[int, list[str]]:
    """Return how many figures of the benchmark of a seed were compared, and those that differ."""
    made = generate(seed)
    plan, store = run_in(folder, made)
    connection, run = connect_run(store)
    assert run.status == "finished"
    count, found = 0, []
    with connection:
        for measure in made.measures:
            table = evaluate(connection, plan, next(m for m in plan.measures if m.name == f"s.{measure.name}"))
            got = {(row.model, *map(str, row.by)): row for row in table.rows}
            expected = measure.figures(made)
            for key in sorted(expected.keys() | got.keys()):
                count += 1
                want, row = expected.get(key), got.get(key)
                had = None if row is None else Figure(row.value, row.n, row.total)
                if not _same(want, had):
                    found.append(f"seed {seed}: {measure.spec} of {key}: {had} by Tripos, {want} by hand")
    return count, found


def _same(want: Figure | None, had: Figure | None) -> bool:
    if want is None or had is None:
        return (want is None or want.value is None) and (had is None or had.value is None)
    if (want.value is None) != (had.value is None):
        return False
    counts = want.n < 0 or (want.n, want.total) == (had.n, had.total)
    return counts and (want.value is None or had.value is None or math.isclose(want.value, had.value, abs_tol=1e-9))
