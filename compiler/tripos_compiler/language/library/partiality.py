"""Partial functions: which have no value for some of their arguments, when that is, and what guards them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from tripos_compiler.source import dataclass

LARGEST = 1e70
"""No number of a spec, a score or a figure is further from 0: what is, has no value. Sums of fourth powers of as many
such numbers as a run has are numbers of double precision, so every error and every test can be worked out from them."""
PAST = "it is past all bounds, which are ±1e70"
"""Why a number past `LARGEST` has no value."""


def in_bounds(number: float | Decimal) -> bool:
    """Return true if a number is one that a score or a figure may be: none that is infinite, NaN or past `LARGEST`.

    >>> in_bounds(1e70), in_bounds(-1.1e70), in_bounds(float("nan")), in_bounds(10**400)
    (True, False, False, False)
    """
    return -LARGEST <= number <= LARGEST


class Undefined(Exception):
    """A function has no value for these arguments. The message says why, without the texts of replies and items."""


@dataclass(frozen=True)
class Wrong:
    """An error of literal arguments that has a code of its own."""

    code: str
    message: str
    help: str


class Unread(Exception):
    """A function that reads a text finds there what it cannot read one way only. The message says what."""


@dataclass(frozen=True)
class Known:
    """The compiler's knowledge of the value of an argument: the value itself where it is `written` out, the `least`
    number that it can be, the least number of items in it, and the `names` of the data set that it is a column of."""

    written: object = None
    least: float | None = None
    above: bool = False
    """Whether it is more than `least`."""
    nonzero: bool = False
    items: int = 0
    text: bool = False
    order: tuple[str, ...] | None = None
    """Where it is a choice, or a list of texts that are written out: its values."""
    dataset: str | None = None
    texts: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    """Where it is rows: the names of their fields that are texts, and of those that are or hold paths."""

    @property
    def positive(self) -> bool:
        """True if it is a number above 0."""
        return self.least is not None and (self.least > 0 or (self.least == 0 and (self.above or self.nonzero)))


Arguments = Mapping[str, Known]
"""What is known of the arguments, by the name of their parameter."""


@dataclass(frozen=True)
class Partial:
    """When a function has no value: `why`, after "where", because of the parameters `of`; `guard` is what to write, and
    `total` whether that cannot be with arguments of which so much is known."""

    of: tuple[str, ...]
    why: str
    guard: str
    total: Callable[[Arguments], bool]


def _is_there(given: Arguments) -> bool:
    items, index = given["items"], given["index"].written
    return isinstance(index, int) and 0 <= index < items.items


def _has_items(name: str) -> Callable[[Arguments], bool]:
    return lambda given: given[name].items > 0


def _has_numbers(given: Arguments) -> bool:
    return "b" in given or given["a"].items > 0


def _has_reference(name: str) -> Callable[[Arguments], bool]:
    return lambda given: given[name].text or given[name].items > 0


def _is_written(name: str) -> Callable[[Arguments], bool]:
    """Of what is written out, the compiler has seen whether there is a value; of what is left out there is."""
    return lambda given: name not in given or given[name].written is not None


def _are_columns(given: Arguments) -> bool:
    return given["items"].dataset is not None and given["items"].dataset == given["keys"].dataset


def _is_ordered(given: Arguments) -> bool:
    value, order = given["value"].order, given["order"].order
    return value is not None and order is not None and set(value) <= set(order)


def _has_fields(given: Arguments) -> bool:
    rows, at, fields = given["rows"], given.get("at"), given.get("fields")
    placed = at is None or at.written in rows.places
    return placed and (fields is None or (fields.order is not None and set(fields.order) <= set(rows.texts)))


def _is_not_negative(given: Arguments) -> bool:
    least = given["value"].least
    return least is not None and least >= 0


def _has_logarithm(given: Arguments) -> bool:
    return given["value"].positive and _is_written("base")(given)


def _has_power(given: Arguments) -> bool:
    base, exponent = given["value"], given["exponent"].written
    if base.positive:
        return True
    whole = isinstance(exponent, int | float) and exponent >= 0 and int(exponent) == exponent
    return whole or (_is_not_negative(given) and isinstance(exponent, int | float) and exponent >= 0)


_OR = "say what stands in its place: `default({}, …)`"
NO_ITEM = Partial(("items", "index"), "the list has no item at that position", _OR.format("nth(…)"), _is_there)
NO_KEY = Partial(("key", "items"), "no option has that letter", _OR.format("key_place(…)"), lambda _: False)
NO_SHUFFLED_PLACE = Partial(
    ("place", "items"), "the list has no item at that position", _OR.format("shuffled_place(…)"), lambda _: False
)
NO_LEAST = Partial(("a",), "the list is empty", _OR.format("min(…)"), _has_numbers)
NO_GREATEST = Partial(("a",), "the list is empty", _OR.format("max(…)"), _has_numbers)
NO_FIRST = Partial(("items",), "the list is empty", _OR.format("first(…)"), _has_items("items"))
NO_LAST = Partial(("items",), "the list is empty", _OR.format("last(…)"), _has_items("items"))
NOT_ALIKE = Partial(("items", "keys"), "the lists differ in length", "take columns of one data set", _are_columns)
NO_BEST = Partial(
    ("items", "values"), "the lists differ in length, or are empty", _OR.format("best_of(…)"), lambda given: False
)
NOT_OF_ONE_LENGTH = Partial(
    ("items", "values"), "the lists differ in length", _OR.format("sorted_by(…)"), lambda given: False
)
NO_PAIRS = Partial(("items", "others"), "the lists differ in length", _OR.format("zip(…)"), lambda given: False)
NO_EXPECTATION = Partial(
    ("values", "probabilities"),
    "the lists differ in length, or all probabilities are 0",
    _OR.format("expected_value(…)"),
    lambda _: False,
)
NO_OPTION_SEEN = Partial(
    ("tokens", "logprobs"),
    "no option is among the likeliest tokens",
    "say what stands in place of what is made of it: `default(expected_value(…), 0)`",
    lambda _: False,
)
NO_PERPLEXITY = Partial(("logprobs",), "the list is empty", _OR.format("perplexity(…)"), lambda _: False)
NO_TOOL = Partial(
    ("tools", "allowed"),
    "a call is allowed of a tool that is not there",
    "mend the row, which allows it",
    lambda _: False,
)
NOT_IN_ORDER = Partial(("value", "order"), "the text is not in the order", _OR.format("rank(…)"), _is_ordered)
NO_ROOT = Partial(("value",), "the number is negative", _OR.format("sqrt(…)"), _is_not_negative)
NO_LOGARITHM = Partial(("value", "base"), "the number is not positive", _OR.format("log(…)"), _has_logarithm)
NO_POWER = Partial(
    ("value", "exponent"), "0 or a negative number has no such power", _OR.format("power(…)"), _has_power
)
NO_PATTERN = Partial(
    ("pattern",), "the pattern is not a regular expression", "write the pattern out", _is_written("pattern")
)
NO_SEPARATOR = Partial(("separator",), "the separator is empty", "write the separator out", _is_written("separator"))
NOTHING_OLD = Partial(("old",), "what is replaced is empty", "write out what is replaced", _is_written("old"))
NO_MARKER = Partial(("marker",), "the marker is empty", "write the marker out", _is_written("marker"))
NO_SIGN = Partial(("mark",), "the mark does not have `{}` once", "write the mark out", _is_written("mark"))
NO_RUN = Partial(("run",), "the run is shorter than a word", "write the length of the run out", _is_written("run"))
NO_REFERENCE = Partial(
    ("reference",), "there is no reference", "rule it out: `when length(…) > 0`", _has_reference("reference")
)
NO_REFERENCES = Partial(
    ("references",), "there is no reference", "rule it out: `when length(…) > 0`", _has_reference("references")
)
NO_GROUP = Partial(
    ("pattern", "new"),
    "the pattern is not a regular expression, or lacks a group that is put in",
    "write the pattern and the new text out",
    lambda given: _is_written("pattern")(given) and _is_written("new")(given),
)
NO_RUN_OR_REFERENCE = Partial(
    ("n", "reference"),
    "the run is shorter than a word, or there is no reference",
    "write the length of the run out, and rule it out: `when length(…) > 0`",
    lambda given: _is_written("n")(given) and _has_reference("reference")(given),
)
NO_PLACE = Partial(("at",), "the rows have no such field", "write the field out", _has_fields)
NO_FIELD = Partial(("at", "fields"), "the rows have no such field", "write the field out", _has_fields)
