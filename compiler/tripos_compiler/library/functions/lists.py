"""Functions of lists and sets, their agreement from 0 to 1, and functions of values that may be missing.

Two lists are compared as multisets: a repeated item counts with its multiplicity. For sets and lists without
repetitions this is the comparison of sets. Two empty lists agree fully; an empty and a non-empty list do not agree at
all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set as AbstractSet
from typing import Annotated, Any

from tripos_compiler.library.signature import Undefined
from tripos_compiler.library.types import Implied, K, T, element_type, list_of, ordered, sorted_items, type_notation
from tripos_compiler.plan import IntegerType, RecordType, TextType, Type, digest


def _shared(a: Collection[K], b: Collection[K]) -> int:
    return (Counter(a) & Counter(b)).total()


def _share(shared: float, whole: float, a: Collection[K], b: Collection[K]) -> float:
    return shared / whole if a and b else float(not a and not b)


def precision(answer: Collection[K], truth: Collection[K]) -> float:
    """Return the share of the items of an answer that are true, 0 to 1.

    Two empty lists have 1; if only one is empty, it is 0. An item that is repeated in a list counts each time.

    >>> precision(["a", "b"], ["a", "c", "d"])
    0.5
    """
    return _share(_shared(answer, truth), len(answer), answer, truth)


def recall(answer: Collection[K], truth: Collection[K]) -> float:
    """Return the share of the true items that an answer has, 0 to 1.

    Two empty lists have 1; if only one is empty, it is 0. An item that is repeated in a list counts each time.

    >>> recall(["a", "b"], ["a", "c", "d", "e"])
    0.25
    """
    return _share(_shared(answer, truth), len(truth), answer, truth)


def f1(answer: Collection[K], truth: Collection[K]) -> float:
    """Return the harmonic mean of precision and recall of an answer, 0 to 1.

    Two empty lists have 1; if only one is empty, it is 0. An item that is repeated in a list counts each time.

    >>> f1(["a", "b"], ["a", "c"])
    0.5
    """
    return _share(2 * _shared(answer, truth), len(answer) + len(truth), answer, truth)


def jaccard(a: Collection[K], b: Collection[K]) -> float:
    """Return the number of shared items divided by that of all items (Jaccard, 1912), 0 to 1.

    Two empty lists have 1; if only one is empty, it is 0. An item that is repeated in a list counts each time.

    >>> jaccard(["a", "b"], ["b", "c", "d"])
    0.25
    """
    shared = _shared(a, b)
    return _share(shared, len(a) + len(b) - shared, a, b)


def overlap(a: Collection[K], b: Collection[K]) -> float:
    """Return the number of shared items divided by that of the shorter list (Szymkiewicz and Simpson), 0 to 1.

    Two empty lists have 1; if only one is empty, it is 0. An item that is repeated in a list counts each time.

    >>> overlap(["a", "b"], ["a", "b", "c", "d"])
    1.0
    """
    return _share(_shared(a, b), min(len(a), len(b)), a, b)


def length(value: str | Collection[Any]) -> int:
    """Return the number of characters of a text, of items of a list or set, of turns of a dialogue.

    >>> length("four"), length(["a", "b"])
    (4, 2)
    """
    return len(value)


def first(items: Collection[T]) -> T:
    """Return the first item of a list, the least of a set.

    An empty list has none, and what depends on it has no value.

    >>> first(["a", "b"])
    'a'
    """
    return nth(items, 0)


def last(items: Collection[T]) -> T:
    """Return the last item of a list, the greatest of a set.

    An empty list has none, and what depends on it has no value.

    >>> last(["a", "b"])
    'b'
    """
    return nth(items, len(items) - 1) if items else nth(items, 0)


def nth(items: Collection[T], index: int) -> T:
    """Return the item of a list or set at a position, counted from 0.

    If there is no such item, what depends on it has no value.

    >>> nth(["a", "b", "c"], 1)
    'b'
    """
    if not 0 <= index < len(items):
        raise Undefined(f"a list of {len(items)} has no item at position {index}")
    return ordered(items)[index]


def is_negative(given: Mapping[str, object]) -> str | None:
    """Return the error of a literal position.

    >>> is_negative({"index": -1})
    'positions count from 0; `last(items)` is the last item'
    """
    index = given.get("index")
    return "positions count from 0; `last(items)` is the last item" if isinstance(index, int) and index < 0 else None


def without_last(items: Collection[T]) -> list[T]:
    """Return a list without its last item; an empty list stays empty.

    >>> without_last(["a", "b", "c"])
    ['a', 'b']
    """
    return ordered(items)[:-1]


def flat(lists: Sequence[Sequence[T]]) -> list[T]:
    """Return the items of all lists in a list, one list after another: `flat([s.facts each s in sentences])`.

    >>> flat([["b", "a"], [], ["a"]])
    ['b', 'a', 'a']
    """
    return [item for items in lists for item in items]


def distinct(
    items: Collection[K | None] | Collection[Collection[K]], *more: Collection[K | None] | Collection[Collection[K]]
) -> list[K]:
    """Return the distinct items of one or more lists, or of the lists in them, in ascending order.

    The result does not depend on the order of the lists, so two lists of the same items are equal, and the items of a
    column say nothing about the rows they are from. Missing items are left out. The columns of data sets are lists too:
    `distinct(question.concepts, dev.concepts)`.

    >>> distinct([["b", "a"], ["a", "c"]], ["b", "d"]), distinct([2.0, 1, 2])
    (['a', 'b', 'c', 'd'], [1, 2])
    """
    found: dict[tuple[K, bool], K] = {}
    for item in (item for column in (items, *more) for item in column):
        if item is not None:
            several = item if isinstance(item, list | tuple | AbstractSet) else (item,)
            found.update(((each, isinstance(each, float)), each) for each in several)
    return list(dict.fromkeys(sorted_items(found.values())))


def picked(items: Sequence[T], keys: Sequence[K], key: K) -> list[T]:
    """Return the items of a list at the positions at which another list has a key.

    With columns of a data set it selects rows: `picked(question.concepts, question.subject, q.subject)`. If the lists
    differ in length, what depends on it has no value.

    >>> picked(["a", "b", "c"], [1, 2, 1], 1)
    ['a', 'c']
    """
    if len(items) != len(keys):
        raise Undefined(f"one list has {len(items)} items and the other {len(keys)}")
    return [item for item, own in zip(items, keys, strict=True) if own == key]


def drawn(items: Collection[K], count: int, by: str) -> list[K]:
    """Return `count` items that are drawn at random: the same text draws the same items in the same order.

    An item that is repeated in the list is drawn at most once. If there are fewer items, all are returned, shuffled.
    It can stand for guessing: `drawn(options, 3, q.stem)`.

    >>> drawn(["a", "b", "c", "d"], 2, "seed 1"), drawn(["a", "b", "c", "d"], 9, "seed 2")
    (['b', 'd'], ['d', 'c', 'b', 'a'])
    """
    chance = {item: digest([by, item]) for item in sorted_items(items)}
    return sorted(chance, key=lambda item: chance[item])[: max(0, count)]


def shuffled(items: Collection[T], by: str) -> list[T]:
    """Return the items in an order that a text determines: the same text shuffles lists of one length alike.

    So options and their keys stay together if both are shuffled by one text. Every item is kept, also a repeated one;
    `drawn` takes only some of them.

    >>> shuffled(["a", "b", "c"], "seed 1"), shuffled([1, 2, 3], "seed 1")
    (['c', 'a', 'b'], [3, 1, 2])
    """
    given = ordered(items)
    return [given[place] for place in sorted(range(len(given)), key=lambda place: digest([by, place]))]


def slice_(value: str | Collection[T], start: int, count: int | None = None) -> Any:
    """Return a part of a text or a list: `count` characters or items from a position on, or all that follow it.

    Positions count from 0, negative ones from the end: `slice(items, -2)` are the last two. A part beyond the end is
    empty.

    >>> slice_("abcdef", 1, 3), slice_(["a", "b", "c"], -2)
    ('bcd', ['b', 'c'])
    """
    given = value if isinstance(value, str) else ordered(value)
    begin = max(0, start if start >= 0 else len(given) + start)
    end = len(given) if count is None else begin + max(0, count)
    return given[begin:end]


def slice_type(types: Mapping[str, Type | Sequence[Type]]) -> Type | str:
    """Return the type of a part: a text for a text, a list for a list or a set.

    >>> from tripos_compiler.plan import TextType
    >>> slice_type({"value": TextType()}).kind
    'text'
    """
    value = types["value"]
    assert not isinstance(value, Sequence)
    type_ = element_type(value)
    return TextType() if type_ is None else list_of(type_)


def in_sequence(items: Collection[K]) -> list[K]:
    """Return the items from the least to the greatest; texts by code point.

    >>> in_sequence([3, 1, 2])
    [1, 2, 3]
    """
    return sorted_items(items)


def sorted_by(items: Sequence[T], values: Sequence[float]) -> list[T]:
    """Return the items of a list in ascending order of their values, which another list has.

    Items with equal values keep their order. To have the greatest first, negate the values: `[-v each v in values]`.
    The lists must have one length.

    >>> sorted_by(["a", "b", "c"], [0.5, 0.9, 0.1])
    ['c', 'a', 'b']
    """
    if len(items) != len(values):
        raise Undefined(f"one list has {len(items)} items and the other {len(values)}")
    return [items[place] for place in sorted(range(len(items)), key=lambda place: values[place])]


def zipped(items: Sequence[Any], others: Sequence[Any]) -> Any:
    """Return the pairs of two lists, place by place: each is a record with the fields `first` and `second`.

    So one condition can use both: `all(p.first == p.second each p in zip(said, wanted))`. The lists must have one
    length.

    >>> zipped(["a", "b"], [1, 2])
    [{'first': 'a', 'second': 1}, {'first': 'b', 'second': 2}]
    """
    if len(items) != len(others):
        raise Undefined(f"one list has {len(items)} items and the other {len(others)}")
    return [{"first": item, "second": other} for item, other in zip(items, others, strict=True)]


def zip_type(types: Mapping[str, Type | Sequence[Type]]) -> Type | str:
    """Return the type of the pairs.

    >>> from tripos_compiler.plan import ListType, TextType
    >>> sorted(zip_type({"items": ListType(of=TextType()), "others": ListType(of=TextType())}).of.fields)
    ['first', 'second']
    """
    pair: dict[str, Type] = {}
    for name, parameter in (("first", "items"), ("second", "others")):
        given = types[parameter]
        type_ = None if isinstance(given, Sequence) else element_type(given)
        if type_ is None:
            return "it takes two lists"
        pair[name] = type_
    return list_of(RecordType(fields=pair))


def some(items: Collection[bool]) -> bool:
    """Return true if at least one item is true; false for an empty list.

    >>> some([False, True])
    True
    """
    return any(items)


def every(items: Collection[bool]) -> bool:
    """Return true if all items are true; true for an empty list.

    >>> every([False, True])
    False
    """
    return all(items)


def default(value: T | None, fallback: T) -> T:
    """Return the value, or the fallback if the value is missing or undefined.

    The fallback is evaluated only then: `default(nth(parts, 1), "")`.

    >>> default(None, "none given"), default(3, 0)
    ('none given', 3)
    """
    return fallback if value is None else value


def readable(value: T | None) -> T:
    """Return the value; if it is missing, or undefined because of a reply, the reply counts as unreadable.

    A dependent score is then a `parse_failure`, which no measure counts unless it says `missing: zero`. So
    `readable(last_number(reply.text)) == q.answer` distinguishes a wrong answer from a reply without an answer;
    `default(…)` would count both as wrong.

    >>> readable("B")
    'B'
    """
    if value is None:
        raise Undefined("nothing that could be read")
    return value


def choose(condition: bool, this: T, other: T) -> T:
    """Return `this` if a condition holds, otherwise `other`.

    Only the chosen one is evaluated, so `choose` guards against an expression without a value.

    >>> choose(True, "right", "wrong"), choose(False, 1, 0)
    ('right', 0)
    """
    return this if condition else other


def reveal(value: T, rows: int = 1) -> T:
    """Return the value, which may be shown although it is secret: the exception in the [proof](secrecy.md#reveal).

    With `rows`, the value must follow from whole columns of data sets with at least that many rows, and be the same if
    rows exchange their secrets. `rows` is a literal whole number from 1.

    >>> reveal("42"), reveal(["sums", "tables"], rows=20)
    ('42', ['sums', 'tables'])
    """
    return value


def rank(value: str, order: Annotated[Sequence[str], Implied("values", "value")] = ()) -> int:
    """Return the position of a value, counted from 0, in the order in which its choice lists the values.

    For a text, `order` lists the values; if the text is not among them, what depends on it has no value.

    >>> rank("medium", ["easy", "medium", "hard"])
    1
    """
    if value not in order:
        raise Undefined("the text is not in the order")
    return order.index(value)


def rank_type(types: Mapping[str, Type | Sequence[Type]]) -> Type | str:
    """Return the range of positions, or the error if neither the type nor an argument determines the order.

    >>> from tripos_compiler.plan import ChoiceType, TextType
    >>> rank_type({"value": ChoiceType(values=("low", "high"))}) == IntegerType(low=0, high=1)
    True
    """
    value = types["value"]
    assert not isinstance(value, Sequence)
    if "order" in types:
        return IntegerType()
    if value.kind != "choice":
        return f"`{type_notation(value)}` has no order of its own; give it: `order: (…, …)`"
    return IntegerType(low=0, high=len(value.values) - 1)
