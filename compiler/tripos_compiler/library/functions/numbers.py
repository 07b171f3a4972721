"""Functions of numbers, choices from a list by counts and numbers, and functions that read a number in an answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

from tripos_compiler.library.signature import AmbiguousAnswer, Undefined
from tripos_compiler.library.types import Implied, K, N, T, element_type
from tripos_compiler.plan import IntegerType, NumberType, Type, normalized_probabilities
from tripos_compiler.replies.number_tokens import DEFAULT
from tripos_compiler.replies.numbers import Policy, odd_reason, read_number

NOT_GIVEN: Any = None
LONGEST = 400
"""Largest number of digits of a number before or after the point."""


def absolute(value: N) -> N:
    """Return the absolute value.

    >>> absolute(-2.5), absolute(-2)
    (2.5, 2)
    """
    return abs(value)


def in_range(value: N, low: N, high: N) -> N | None:
    """Return the value if it lies between two ends, both inclusive; missing otherwise.

    So a scale may be a field of the row, such as the points of its question. In
    `readable(in_range(mark(q.text, reply.text), 0, q.points))` a mark off the scale counts as unreadable.

    >>> in_range(3, 0, 4), in_range(5, 0, 4), in_range(0.5, 0, 1)
    (3, None, 0.5)
    """
    return value if low <= value <= high else None


def rounded(value: N, digits: int = 0) -> N:
    """Return a number rounded half to even, to `digits` after the point; negative `digits` round to tens, hundreds
    and so on.

    >>> rounded(2.345, 1), rounded(0.5), rounded(1250, -2)
    (2.3, 0.0, 1200)
    """
    return round(value, max(-LONGEST, min(digits, LONGEST)))


def smallest(a: N | Collection[N], b: N = NOT_GIVEN, *more: N) -> N:
    """Return the smallest of two or more numbers, or of the numbers in a list.

    >>> smallest(3, 1, 2), smallest([3, 1])
    (1, 1)
    """
    return min(_numbers(a, b, *more), key=_in_one_order)


def largest(a: N | Collection[N], b: N = NOT_GIVEN, *more: N) -> N:
    """Return the largest of two or more numbers, or of those in a list: `max(rouge(text, r) each r in references)`.

    >>> largest(3, 1, 2), largest([1, 3])
    (3, 3)
    """
    return max(_numbers(a, b, *more), key=_in_one_order)


def _in_one_order(number: N) -> tuple[N, str]:
    """Return a sort key that puts 1 before 1.0, independent of the given order."""
    return number, repr(number)


def _numbers(a: Any, *more: N) -> list[N]:
    if not isinstance(a, Collection):
        return [a, *more]
    if not a:
        raise Undefined("the list is empty")
    return list(a)


def end_type(types: Mapping[str, Type | Sequence[Type]]) -> Type | str:
    """Return the type of the smallest or largest number, or the error if there is a single number, or a list and
    further numbers.

    >>> from tripos_compiler.plan import IntegerType, ListType
    >>> end_type({"a": ListType(of=IntegerType())}).kind, end_type({"a": IntegerType()})
    ('integer', 'it takes a list, or two numbers at least')
    """
    by_parameter = [given if isinstance(given, Sequence) else (given,) for _, given in sorted(types.items())]
    first, *others = [type_ for given in by_parameter for type_ in given]
    type_ = element_type(first)
    if (type_ is None) == (not others):
        return "it takes a list, or two numbers at least"
    whole = all(each.kind == "integer" for each in (type_ or first, *others))
    return IntegerType() if whole else NumberType()


def square_root(value: float) -> float:
    """Return the square root of a number that is not negative.

    >>> square_root(9)
    3.0
    """
    if value < 0:
        raise Undefined("a negative number has no square root")
    return math.sqrt(value)


def logarithm(value: float, base: float = math.e) -> float:
    """Return the logarithm of a positive number, the natural one unless a base is given.

    >>> logarithm(1), logarithm(1000, 10), logarithm(8, 2)
    (0.0, 3.0, 3.0)
    """
    if value <= 0:
        raise Undefined("only a positive number has a logarithm")
    if base <= 0 or base == 1:
        raise Undefined("the base of a logarithm is positive and not 1")
    if base == math.e:
        return math.log(value)
    if base in (2, 10):  # of their powers these give whole numbers
        return math.log2(value) if base == 2 else math.log10(value)
    return math.log(value, base)


def exponential(value: float) -> float:
    """Return e to the power of a number, the inverse of the natural logarithm.

    >>> exponential(0), exponential(1), exponential(-1000)
    (1.0, 2.718281828459045, 0.0)
    """
    return math.exp(value)


def power(value: float, exponent: float) -> float:
    """Return a number raised to a power.

    >>> power(2, 10), power(9, 0.5)
    (1024.0, 3.0)
    """
    if value == 0 and exponent < 0:
        raise Undefined("0 has no negative power")
    if value < 0 and exponent != int(exponent):
        raise Undefined("a negative number has whole powers only")
    return math.pow(value, exponent)


def has_no_root(given: Mapping[str, object]) -> str | None:
    """Return the error of a literal number without a square root.

    >>> has_no_root({"value": -1})
    'a negative number has no square root'
    """
    value = given.get("value")
    return "a negative number has no square root" if isinstance(value, int | float) and value < 0 else None


def has_no_logarithm(given: Mapping[str, object]) -> str | None:
    """Return the error of literal numbers without a logarithm.

    >>> has_no_logarithm({"value": 0, "base": 10})
    'only a positive number has a logarithm'
    """
    value, base = given.get("value"), given.get("base")
    if isinstance(base, int | float) and (base <= 0 or base == 1):
        return "the base of a logarithm is positive and not 1"
    return "only a positive number has a logarithm" if isinstance(value, int | float) and value <= 0 else None


def floor(value: float) -> int:
    """Return the largest whole number that is not above a number.

    >>> floor(-1.5)
    -2
    """
    return math.floor(value)


def ceiling(value: float) -> int:
    """Return the smallest whole number that is not below a number.

    >>> ceiling(1.2)
    2
    """
    return math.ceil(value)


def total(items: Collection[N]) -> N:
    """Return the sum of a list of numbers; 0 for an empty list.

    >>> total([1, 2, 3]), total([0.1, 0.2, 0.3])
    (6, 0.6)
    """
    if all(isinstance(item, int) for item in items):
        return sum(items)
    return math.fsum(items)  # type: ignore[return-value]  # the same in whatever order


def expected_value(values: Sequence[float], probabilities: Sequence[float]) -> float:
    """Return the mean of values, each weighted with its probability.

    It is the score of G-Eval (Liu and others 2023, section 2) if the values are scores and the probabilities those of
    their tokens. The probabilities are divided by their sum. If the lists differ in length, or the sum is 0, what
    depends on it has no value.

    >>> expected_value([1, 2, 3], [0.5, 0.25, 0.25])
    1.75
    """
    total = math.fsum(probabilities)
    if len(values) != len(probabilities) or not total > 0:
        raise Undefined("the lists differ in length, or all probabilities are 0")
    return math.fsum(value * share for value, share in zip(values, probabilities, strict=True)) / total


def perplexity(logprobs: Collection[float]) -> float:
    """Return the perplexity of a text, given the natural logarithms of the probabilities of its tokens.

    It is e to the power of their negative mean (Jelinek and others, 1977), so it is 1 if every token was certain. For
    an empty list, what depends on it has no value.

    >>> perplexity([-0.5, -1.5]), perplexity([0.0, 0.0])
    (2.718281828459045, 1.0)
    """
    if not logprobs:
        raise Undefined("the list is empty")
    try:
        return math.exp(-math.fsum(logprobs) / len(logprobs))
    except OverflowError as error:
        raise Undefined("the perplexity is beyond all numbers") from error


def option_probabilities(options: Sequence[str], tokens: Sequence[str], logprobs: Sequence[float]) -> list[float]:
    """Return the probability of each option, given the likeliest tokens at the beginning of an answer.

    `logprobs` are the natural logarithms of their probabilities. The result adds up to 1: no other answer counts.
    A token is an option if it has its letters, whatever blanks, quotation marks or punctuation stand around them, and
    in whatever case; or if it is the beginning of that option and of no other. Tokens of one option are added up. An
    option that no token begins has 0, as in the evaluation of MMLU (Hendrycks and others, 2021), which gives it a
    logarithm of −100. If no token is an option, what depends on it has no value.

    >>> option_probabilities(["A", "B"], ["A", " B", "The"], [-0.5, -0.5, -2.0])
    [0.5, 0.5]
    >>> option_probabilities(["CORRECT", "INCORRECT", "IN PART"], ["COR", "IN", "INC"], [-1.0, -0.1, -1.0])
    [0.5, 0.5, 0.0]
    """
    found = normalized_probabilities(options, list(zip(tokens, logprobs, strict=False)))
    if len(tokens) != len(logprobs) or found is None:
        raise Undefined("no option is among the likeliest tokens")
    return found


def majority(items: Sequence[K | None]) -> K | None:
    """Return the most frequent value of a list; missing if no item has a value.

    Items without a value are left out. Of equally frequent values, the first in the list is returned. Applied to the
    answers of several samples, it is self-consistency (Wang et al., 2023).

    >>> majority(["b", "a", None, "a"]), majority([3, 4]), majority([])
    ('a', 3, None)
    """
    counts = Counter(item for item in items if item is not None)
    return max(counts, key=lambda item: counts[item], default=None)


def best_of(items: Sequence[T], values: Sequence[float]) -> T:
    """Return the item of a list with the largest value, which a list of numbers has; of several the first.

    Applied to several samples, it is the one with the best score of a scorer or a reward model. The lists must have one
    length and at least one item.

    >>> best_of(["a", "b", "c"], [0.2, 0.9, 0.4])
    'b'
    """
    if len(items) != len(values):
        raise Undefined(f"one list has {len(items)} items and the other {len(values)}")
    if not items:
        raise Undefined("the list is empty")
    return items[max(range(len(items)), key=lambda place: values[place])]


# Numbers in answers

Locale = Annotated[str, Implied("locale")]
"""Locale in which a text writes numbers; the compiler fills in that of the current language."""


def read_as(policy: Policy, text: str, locale: str) -> float | None:
    """Return the number that a policy reads in a text, or None. Raises `AmbiguousAnswer` for ambiguous digits."""
    reading = read_number(text, locale, policy)
    if (reason := odd_reason(reading, locale)) is not None:
        raise AmbiguousAnswer(reason)
    try:
        return None if reading.value is None else float(reading.value)
    except OverflowError:
        return None


def last_number(text: str, numbers: Locale = DEFAULT) -> float | None:
    """Return the last number in a text; missing if there is none.

    Every notation of [numbers](numbers.md) is read: thousands separators, fractions (`3/4`, `1 1/2`, `½`), powers
    (`10⁵`), `3.5 million`, `2千3百`, currency and units on either side. Not read are digits in a name (`x2`, `H2O`),
    ordinals (`2nd`), dates and times; and a text whose last quantity has no value that is written out (`2π`, `√16`)
    has none. A per cent sign changes nothing: `50%` is 50.

    The language at hand says what separates thousands and decimals, unless `numbers` names another locale or the spec
    says `numbers in LOCALE`. A number that contradicts it and may mean two things, `2,5` in English, is a
    `parse_failure`.

    >>> last_number("so 12 apples cost $1,234.50."), last_number("共12个"), last_number("none")
    (1234.5, 12.0, None)
    >>> last_number("zusammen 2.000 €", "de"), last_number("soit 1 234,5 kg", "fr")
    (2000.0, 1234.5)
    """
    return read_as("last", text, numbers)


def number(text: str, numbers: Locale = DEFAULT) -> float | None:
    """Return the number of which a text consists; missing if the text has anything else.

    Every notation of [numbers](numbers.md) is read, with a currency or a per cent sign, in LaTeX or in a box; any other
    word makes it missing. A per cent sign changes nothing: `50%` is 50. The language of the item determines the
    separators, as in `last_number`.

    >>> number("-1,234.50"), number("1 3/4"), number("about 5"), number("3.5 million")
    (-1234.5, 1.75, None, 3500000.0)
    >>> number("1.234,50 €", "de"), number("2,5", "ru")
    (1234.5, 2.5)
    """
    return read_as("whole", text, numbers)


def same_number(a: float | None, b: float | None) -> bool:
    """Return true if both numbers exist and are equal to one part in a million.

    Numbers below 1 are equal if they differ by at most one millionth.

    >>> same_number(0.1 + 0.2, 0.3), same_number(None, None)
    (True, False)
    """
    if a is None or b is None:
        return False
    return abs(a - b) <= 1e-6 * max(1.0, abs(a), abs(b))
