"""Other values of a type: what stands in the place of a secret in another world."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Literal, assert_never

import orjson

from tripos_compiler.language.library import Medium
from tripos_compiler.plan import (
    AudioType,
    Axis,
    BoolType,
    ChoiceType,
    DialogueType,
    FileType,
    ImageType,
    IntegerType,
    JsonType,
    ListType,
    MetricsType,
    NumberType,
    OptionalType,
    PathType,
    RecordType,
    SetType,
    TextType,
    TreeType,
    Type,
)

Kind = Literal["permuted", "exchanged", "drawn", "fresh", "missing", "alike"]
"""The ways to change secrets: `permuted` gives a row the secrets of another, all of them together, or something else
where the other's are the same; `exchanged` gives it those of another and nothing else; `drawn` gives some
rows values that stand elsewhere in the files, each by itself, so that they may be equal to what they were not; `fresh`
gives values that stand nowhere, and `missing` none where the type allows that; `alike` gives all rows those of the
first."""
OTHER_MEDIA = {"image": "image/png", "audio": "audio/wav", "file": "application/pdf"}
"""Types of contents that nobody has: in a world nothing is sent."""
SYLLABLES = ("ba", "cor", "di", "fen", "gu", "hal", "jo", "kem", "lu", "mor", "ni", "pos", "qua", "rel", "so", "tiv")


def fresh(type: Type, old: Any, dice: random.Random, axes: Mapping[str, Axis], pool: Sequence[Any], lacks: bool) -> Any:
    """Return a value of a type that differs from `old`, where the type has another, as it would stand in JSON. What
    only a tree can say, a path, is taken from the `pool` of the values that the column has. With `lacks`, nothing, or
    as little as the type allows.

    >>> fresh(BoolType(), True, random.Random(1), {}, [], False)
    False
    >>> fresh(ListType(of=TextType()), ["a"], random.Random(1), {}, [], True)
    []
    """
    match type:
        case OptionalType(of=of):
            return None if lacks else fresh(of, _none_for_empty(old, of), dice, axes, pool, False)
        case TextType():
            return "" if lacks else _text(old, dice)
        case PathType():
            others = [each for each in pool if each != old and each not in (None, "")]
            return dice.choice(others) if others else old
        case IntegerType(low=low, high=high):
            return _integer(low, high, old, dice)
        case NumberType():
            return round(dice.uniform(-1000, 1000), 3)
        case BoolType():
            return not (old is True or (isinstance(old, str) and old.casefold() == "true"))
        case ChoiceType(values=values):
            others = [each for each in _choices(values, axes.get(type.axis or "")) if not _same(each, old)]
            return dice.choice(others or list(values))
        case ListType(of=of) | SetType(of=of):
            return [] if lacks else _list(of, _parsed(old), dice, axes, pool)
        case RecordType(fields=fields):
            parts = _parsed(old)
            said: Mapping[str, Any] = parts if isinstance(parts, Mapping) else {}
            return {name: fresh(each, said.get(name), dice, axes, [], lacks) for name, each in fields.items()}
        case DialogueType():
            turns = _parsed(old)
            speakers = [each.get("speaker") for each in turns] if _are_records(turns) else []
            speakers = [each for each in speakers if isinstance(each, str)] or ["a", "b"]
            shorter = speakers[: dice.randrange(1, len(speakers) + 1)]
            return [] if lacks else [{"speaker": each, "text": _text("", dice)} for each in shorter]
        case ImageType() | AudioType() | FileType():
            return str(Medium(OTHER_MEDIA[type.kind], f"{dice.getrandbits(256):064x}", 1, 1, 1))
        case JsonType(form="json"):
            return _json(_parsed(old), dice, lacks)
        case JsonType():
            others = [each for each in pool if not _same(each, old)]
            return dice.choice(others) if others else []
        case TreeType() | MetricsType():
            return old
    assert_never(type)


def beside(type: Type, old: Any, new: Any) -> Any:
    """Return `new` where `type` reads `old`, and what `old` has beside that as it was: parts of records that the type
    does not name, and how many elements a list has.

    >>> beside(ListType(of=RecordType(fields={"label": TextType()})), [{"said": "hi", "label": "good"}],
    ...        [{"label": "bad"}, {"label": "odd"}])
    [{'said': 'hi', 'label': 'bad'}]
    """
    if not _has_parts(type):
        return new
    was, other = _parsed(old), _parsed(new)
    match type:
        case OptionalType(of=of):
            return beside(of, old, new)
        case ListType(of=of) | SetType(of=of) if others := _listed(other):
            return [beside(of, each, others[i % len(others)]) for i, each in enumerate(_listed(was))]
        case RecordType(fields=fields) if isinstance(was, Mapping) and isinstance(other, Mapping):
            read = {name: each for name, each in fields.items() if name in other}
            return {**was, **{name: beside(each, was.get(name), other[name]) for name, each in read.items()}}
    return old


def permuted(values: Sequence[Any], dice: random.Random) -> list[int]:
    """Return which place gives its value to each place, so that as many as possible get another.

    >>> permuted(["a", "b"], random.Random(1))
    [1, 0]
    """
    count = len(values)
    order = list(range(count))
    dice.shuffle(order)
    turned = [(sum(_same(values[order[i]], values[order[(i + by) % count]]) for i in range(count)), by)
              for by in dict.fromkeys((1, 2, 3, count // 2, count // 3)) if 0 < by < count]  # fmt: skip
    by = min(turned)[1] if turned else 0
    gives = [0] * count
    for place in range(count):
        gives[order[place]] = order[(place + by) % count]
    return gives


def canonical_text(value: Any) -> str:
    """Return a value as a text by which copies are known in whatever format: `"3"` and `3` are the same, and so are a
    list and its JSON, and a list of one and what is in it."""
    if isinstance(value, str):
        value = _parsed(value)
    if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], list | Mapping):
        value = value[0]
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None:
        return ""
    return str(value) if isinstance(value, int | float) else orjson.dumps(value, default=str).decode()


def _parsed(value: Any) -> Any:
    """Return what JSON in a text says, if it is a list or a record; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return orjson.loads(value)
        except ValueError:
            return value
    return value


def _has_parts(type: Type) -> bool:
    """Return true if a type is one of records, or of lists of them: it may read some of their parts and not others."""
    return type.kind == "record" or (isinstance(type, OptionalType | ListType | SetType) and _has_parts(type.of))


def _listed(value: Any) -> list[Any]:
    """Return a list, or what an object of objects is read as, a list of records; of anything else, none."""
    if isinstance(value, Mapping) and all(isinstance(each, Mapping) for each in value.values()):
        return [{"name": name, **each} for name, each in value.items()]
    return value if isinstance(value, list) else []


def _are_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _none_for_empty(old: Any, of: Type) -> Any:
    return None if old == "" and of.kind != "text" else old


def _same(one: Any, other: Any) -> bool:
    return canonical_text(one) == canonical_text(other)


def _text(old: Any, dice: random.Random) -> str:
    """Return a text that stands nowhere; a number where there was one, so that what counts with it still can."""
    if isinstance(old, str):
        try:
            float(old.replace(",", ""))
        except ValueError:
            pass
        else:
            return str(dice.randrange(10_000, 99_999))
    words = 1 if not isinstance(old, str) or " " not in old else dice.randrange(2, 5)
    return " ".join("".join(dice.choice(SYLLABLES) for _ in range(4)) for _ in range(words))


def _json(old: Any, dice: random.Random, lacks: bool = False) -> Any:
    """Return a value of JSON of the same form, in which every value is another: so is what an expression reads of any
    part. With `lacks`, one without parts."""
    match old:
        case Mapping():
            return {} if lacks else {name: _json(each, dice) for name, each in old.items()}
        case list():
            return [] if lacks else [_json(each, dice) for each in old]
        case bool():
            return not old
        case int():
            return _integer(None, None, old, dice)
        case float():
            return round(dice.uniform(-1000, 1000), 3)
    return _text(old, dice)


def _integer(low: int | None, high: int | None, old: Any, dice: random.Random) -> int:
    low = (0 if high is None else min(0, high - 100)) if low is None else low
    high = low + 100 if high is None else high
    for _ in range(8):
        found = dice.randint(low, high)
        if not _same(found, old):
            break
    return found


def _choices(values: Sequence[str], axis: Axis | None) -> list[str]:
    return [each.name for each in axis.values] if axis is not None else list(values)


def _list(of: Type, old: Any, dice: random.Random, axes: Mapping[str, Axis], pool: Sequence[Any]) -> list[Any]:
    """Return a list of another length, since that tells something too."""
    before = _listed(old)
    inner = [each for values in map(_parsed, pool) for each in _listed(values)]
    count = len(before) + 1 if len(before) < 3 else len(before) - 1
    return [fresh(of, before[i] if i < len(before) else None, dice, axes, inner, False) for i in range(count)]
