"""Rules that entries of the registry share: when a function is undefined, how many items it returns, and its range."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tripos_compiler.library.function import ArgumentRanges, Arguments, Partial, RangeRule
from tripos_compiler.library.functions import lists, numbers, texts
from tripos_compiler.library.ranges import (
    ANY,
    Interval,
)
from tripos_compiler.plan import Binary, Call, Each, Expr, Literal_, compare

# When a function is undefined


def _is_there(given: Arguments) -> bool:
    items, index = given["items"], given["index"].literal
    return isinstance(index, int) and 0 <= index < items.items


def _has_items(name: str) -> Callable[[Arguments], bool]:
    return lambda facts: facts[name].items > 0


def _has_numbers(given: Arguments) -> bool:
    return "b" in given or given["a"].items > 0


def _has_reference(name: str) -> Callable[[Arguments], bool]:
    return lambda facts: facts[name].text or facts[name].items > 0


def _is_written(name: str) -> Callable[[Arguments], bool]:
    """Return a test that an argument is literal or omitted: the compiler has already checked a literal."""
    return lambda facts: name not in facts or facts[name].literal is not None


def _are_columns(given: Arguments) -> bool:
    return given["items"].dataset is not None and given["items"].dataset == given["keys"].dataset


def _is_ordered(given: Arguments) -> bool:
    value, order = given["value"].order, given["order"].order
    return value is not None and order is not None and set(value) <= set(order)


def _has_fields(given: Arguments) -> bool:
    rows, at, fields = given["rows"], given.get("at"), given.get("fields")
    placed = at is None or at.literal in rows.places
    return placed and (fields is None or (fields.order is not None and set(fields.order) <= set(rows.texts)))


def _is_not_negative(given: Arguments) -> bool:
    return given["value"].range.low >= 0


def _has_logarithm(given: Arguments) -> bool:
    return given["value"].positive and _is_written("base")(given)


def _has_power(given: Arguments) -> bool:
    base, exponent = given["value"], given["exponent"].literal
    if base.positive:
        return True
    whole = isinstance(exponent, int | float) and exponent >= 0 and int(exponent) == exponent
    return whole or (_is_not_negative(given) and isinstance(exponent, int | float) and exponent >= 0)


def _never(given: Arguments) -> bool:
    return False


# Conditions under which a call is defined

Given = Mapping[str, Expr]
Needs = Callable[[Given, Arguments], tuple[Expr, ...]]


def length_of(of: Expr) -> Call:
    """Return the expression of the length of a list; of the values of a loop, that of the list of its elements."""
    while isinstance(of, Each) and of.loop.where is None:  # there are as many values as elements
        of = of.loop.of
    return Call(function=lists.length.__name__, args=(of,))


def _not_empty(name: str) -> Needs:
    return lambda arguments, facts: (compare(">", length_of(arguments[name]), 0),)


def _single_not_empty(given: Given, facts: Arguments) -> tuple[Expr, ...]:
    return (compare(">", length_of(given["a"]), 0),) if "b" not in given else ()


def _index_within(given: Given, facts: Arguments) -> tuple[Expr, ...]:
    index = given["index"]
    if isinstance(index, Literal_) and isinstance(index.value, int):
        return (compare(">", length_of(given["items"]), index.value),)
    below = compare("<", index, length_of(given["items"]))
    return (below,) if facts["index"].range.low >= 0 else (below, compare(">=", index, 0))


def _not_negative(given: Given, facts: Arguments) -> tuple[Expr, ...]:
    return (compare(">=", given["value"], 0),)


def _positive(given: Given, facts: Arguments) -> tuple[Expr, ...]:
    return (compare(">", given["value"], 0),)


def _if_written(name: str, needs: Needs) -> Needs:
    """Return the conditions of a call with a literal or omitted argument; no condition ensures any other."""
    return lambda arguments, facts: (
        needs(arguments, facts) if isinstance(arguments.get(name, _OMITTED), Literal_) else ()
    )


def _in_order(given: Given, facts: Arguments) -> tuple[Expr, ...]:
    return (Binary(operator="in", left=given["value"], right=given["order"]),)


def _of_one_length(arguments: Given, facts: Arguments) -> tuple[Expr, ...]:
    return (compare("==", length_of(arguments["items"]), length_of(arguments["keys"])),)


_OMITTED = Literal_(value=None)
NO_ITEM = Partial(("items", "index"), "the list has no item at that position", None, _is_there, _index_within)
NO_KEY = Partial(("key", "items"), "no option has that letter", None, _never)
NO_SHUFFLED_PLACE = Partial(("place", "items"), "the list has no item at that position", None, _never)
NO_END = Partial(("a",), "the list is empty", None, _has_numbers, _single_not_empty)
EMPTY = Partial(("items",), "the list is empty", None, _has_items("items"), _not_empty("items"))
NOT_ALIKE = Partial(
    ("items", "keys"), "the lists differ in length", "take columns of one data set", _are_columns, _of_one_length
)
NO_BEST = Partial(("items", "values"), "the lists differ in length, or are empty", None, _never)
NOT_OF_ONE_LENGTH = Partial(("items", "values"), "the lists differ in length", None, _never)
NO_PAIRS = Partial(("items", "others"), "the lists differ in length", None, _never)
NO_EXPECTATION = Partial(
    ("values", "probabilities"),
    "the lists differ in length, or all probabilities are 0",
    None,
    _never,
)
NO_OPTION_SEEN = Partial(
    ("tokens", "logprobs"),
    "no option is among the likeliest tokens",
    "say what stands in place of what is made of it: `default(expected_value(…), 0)`",
    _never,
)
NO_PERPLEXITY = Partial(("logprobs",), "the list is empty", None, _never)
NO_TOOL = Partial(
    ("tools", "allowed"),
    "a call of an unknown tool is allowed",
    "fix the row, which allows it",
    _never,
)
NOT_IN_ORDER = Partial(("value", "order"), "the text is not in the order", None, _is_ordered, _in_order)
NO_ROOT = Partial(("value",), "the number is negative", None, _is_not_negative, _not_negative)
NO_LOGARITHM = Partial(
    ("value", "base"),
    "the number is not positive",
    None,
    _has_logarithm,
    _if_written("base", _positive),
)
NO_POWER = Partial(("value", "exponent"), "0 or a negative number has no such power", None, _has_power, _positive)
NO_PATTERN = Partial(
    ("pattern",), "the pattern is not a regular expression", "write the pattern out", _is_written("pattern")
)
NO_SEPARATOR = Partial(("separator",), "the separator is empty", "write the separator out", _is_written("separator"))
NOTHING_OLD = Partial(("old",), "what is replaced is empty", "write out what is replaced", _is_written("old"))
NO_MARKER = Partial(("marker",), "the marker is empty", "write the marker out", _is_written("marker"))
NO_SIGN = Partial(("mark",), "the mark does not have `{}` once", "write the mark out", _is_written("mark"))
OTHER_HOLES = Partial(
    ("template",),
    texts.OTHER_HOLES,
    "write the template out, or take it from the row",
    lambda given: _is_written("template")(given) and given["holes"].order is not None,
)
NO_RUN = Partial(("run",), "the run is shorter than a word", "write the length of the run out", _is_written("run"))
NO_REFERENCE = Partial(
    ("reference",),
    "there is no reference",
    "rule it out: `when length(…) > 0`",
    _has_reference("reference"),
    _not_empty("reference"),
)
NO_REFERENCES = Partial(
    ("references",),
    "there is no reference",
    "rule it out: `when length(…) > 0`",
    _has_reference("references"),
    _not_empty("references"),
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
    _if_written("n", _not_empty("reference")),
)
NO_PLACE = Partial(("at",), "the rows have no such field", "write the field out", _has_fields)
NO_FIELD = Partial(("at", "fields"), "the rows have no such field", "write the field out", _has_fields)


# Number of items


def same_number(facts: Arguments) -> int:
    """As many as the first argument has."""
    return next(iter(facts.values())).items


def one_item(facts: Arguments) -> int:
    """At least one."""
    return 1


def one_fewer(facts: Arguments) -> int:
    """One fewer than the first argument has."""
    return max(same_number(facts) - 1, 0)


def fewest(arguments: Arguments) -> int:
    """As many as the shortest argument has."""
    return min(facts.items for facts in arguments.values())


def all_inner(facts: Arguments) -> int:
    """As many as the lists in the first argument have together."""
    return next(iter(facts.values())).inner_items


def one_if_known(arguments: Arguments) -> int:
    """At least one if a list has literal items."""
    return int(any(facts.order for facts in arguments.values()))


def one_if_drawn(facts: Arguments) -> int:
    """At least one if any is drawn from a list with items; an item that is repeated in the list is drawn once."""
    return min(facts["items"].items, 1) if facts["count"].range.low >= 1 else 0


def rest(facts: Arguments) -> int:
    """The items of a slice."""
    items, start = facts["value"].items, facts["start"].literal
    if not isinstance(start, int):
        return 0
    left = max(items - start, 0) if start >= 0 else min(items, -start)
    if "count" not in facts:
        return left
    count = facts["count"].literal
    return min(left, max(count, 0)) if isinstance(count, int) else 0


# Ranges


def item_of(name: str) -> RangeRule:
    """Return the rule of a function that returns an item of a list, or a mean of its items."""
    return lambda ranges: ranges.items(name)


def same_range(ranges: ArgumentRanges) -> Interval:
    """The range of the first argument."""
    return ranges.of("value")


def between_ends(ranges: ArgumentRanges) -> Interval:
    """The range of a value that lies between two ends; of a value that never does, its own."""
    value, low, high = ranges.of("value"), ranges.of("low").low, ranges.of("high").high
    clamped = Interval(max(value.low, low), min(value.high, high))
    return clamped if clamped.low <= clamped.high else value


def either(one: str, other: str) -> RangeRule:
    """Return the rule of a function that returns one of two arguments."""
    return lambda ranges: ranges.of(one).hull(ranges.of(other))


def number_of_items(ranges: ArgumentRanges) -> Interval:
    """The number of items of a list, or of characters of a text."""
    return ranges.count("value")


def absolute(ranges: ArgumentRanges) -> Interval:
    """The absolute value."""
    return abs(ranges.of("value"))


def curved(function: str) -> RangeRule:
    """Return the rule of one of `CURVES`."""
    return lambda ranges: ranges.of("value").curved(function) if "base" not in ranges else ANY


def mapped(function: Callable[[float], float]) -> RangeRule:
    """Return the rule of a non-decreasing function."""
    return lambda ranges: ranges.of("value").through(function)


def rounded(ranges: ArgumentRanges) -> Interval:
    """A rounded number."""
    digits = ranges.literal("digits") if "digits" in ranges else 0
    if not isinstance(digits, int):
        return ANY
    return ranges.of("value").through(lambda end: numbers.rounded(end, digits))


def end(choose: Callable[..., Interval]) -> RangeRule:
    """Return the rule of the smallest or largest of several numbers, or of the items of a list."""
    return lambda ranges: choose(*ranges.all()) if "b" in ranges else ranges.items("a")


def position_in(name: str) -> RangeRule:
    """Return the rule of a position in a list, counted from 0."""
    return lambda ranges: Interval(0.0, max(ranges.count(name).high - 1.0, 0.0))
