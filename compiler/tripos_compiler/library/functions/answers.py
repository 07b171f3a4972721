"""Functions that read the answer of a reply: letters, yes or no, the final number, and parts of JSON."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Annotated, Any

from tripos_compiler.library.functions.numbers import Locale, read_as
from tripos_compiler.library.signature import Undefined
from tripos_compiler.library.types import Json, LiteralOnly, T, WrittenType, parse_type_notation
from tripos_compiler.plan import Type, fit_value
from tripos_compiler.replies.choices import ALPHABET, PRONOUN, are_options
from tripos_compiler.replies.number_tokens import DEFAULT
from tripos_compiler.replies.text import late_pattern
from tripos_compiler.replies.truth import read_truth

_FULL_WIDTH = str.maketrans({0xFF21 + i: 0x41 + i for i in range(ALPHABET)})
_PRONOUN = late_pattern(PRONOUN)


def choice_letters(text: str | Collection[str]) -> set[str]:
    """Return the option letters A to Z that stand alone in a text, or together as in `BD`.

    For a list, the letters of all its texts are returned. Full-width letters are read too. Adjacent letters after H
    count if they are in order, as in `IJ`, and `I` counts unless it is a pronoun. An `A` counts even if it is an
    article, so use `option_letters` for replies in sentences.

    >>> sorted(choice_letters("答案是 B、D")), sorted(choice_letters("I think that I and J are right"))
    (['B', 'D'], ['I', 'J'])
    """
    whole = text if isinstance(text, str) else "\n".join(text)
    runs = re.findall(r"(?<![A-Za-z])[A-Z]{1,26}(?![A-Za-z])", _PRONOUN.sub("", whole.translate(_FULL_WIDTH)))
    return {letter for run in runs if are_options(run) for letter in run}


def after(text: str, marker: str) -> str | None:
    """Return the text after the last marker, without the space around it; missing if there is no marker.

    >>> after("6 * 7 = 42\\n#### 42", "####"), after("42", "####")
    ('42', None)
    """
    if not marker:
        raise Undefined("the marker is empty")
    _, found, rest = text.rpartition(marker)
    return rest.strip() if found else None


def is_yes(text: str) -> bool | None:
    """Return true if a text says yes and false if it says no; missing if it says neither.

    The reader tries in this order: a label (`the answer is no`); the first word; the last word; the only `true` or
    `false` of a short text. A truth that is plainly denied is its opposite; one that is hedged, asked or supposed does
    not count ([answers in replies](answers.md)).

    >>> is_yes("**Yes**, because it rains."), is_yes("答案：不正确。"), is_yes("Perhaps.")
    (True, False, None)
    """
    return read_truth(text)


def final_number(text: str, numbers: Locale = DEFAULT) -> float | None:
    """Return the number at which a worked answer arrives; missing if there is none.

    The reader tries in this order: the last explicit final form (`\\boxed{…}`, `####` before a number, `Final answer:`,
    `<answer>…</answer>`); the last label with a number in its sentence (`Answer: …`, `the answer is …`, `答案是…`,
    `Antwort: …`), and there the number after the last `=`; the last number of the text. If a final form or a label has
    several numbers (`3, 4`, `5 or 6`), or a quantity that is not worked out (`2π`), the answer is missing. An
    intermediate result (`as a result`, `the result of step 1 is …`) is no label, nor is one in an explanation after an
    answer. Every notation of [numbers](numbers.md) is read. A per cent sign changes nothing. The language of the item
    determines the separators, as in `last_number`.

    >>> final_number("18 - 6 = 12, so $1,234.50."), final_number("Answer: -3 degrees, not 5"), final_number("none")
    (1234.5, -3.0, None)
    >>> final_number("Antwort: 2.000 Euro (5 % weniger)", "de"), final_number("As a result, 3 are left: 5 in all.")
    (2000.0, 5.0)
    """
    return read_as("final", text, numbers)


# Parts of JSON

BETWEEN = "."
POSITION = re.compile(r"0|[1-9][0-9]*")


def json_part(
    value: Json,
    path: Annotated[str | Sequence[str], LiteralOnly("a name that is not known before stands in a list: `(name,)`")],
    type: Annotated[str, WrittenType("T")],
) -> T | None:
    """Return a part of a value of JSON, read as a type; missing if there is none, or one of another type.

    The path is a text of names separated by dots: `json_part(call.arguments, "trip.city", text)`. In a list, a name is
    a position, counted from 0: `"cities.0"`. For names that contain dots, give a list of names: `("triangle.area",
    "base")`. The type is `text`, `integer`, `number`, `bool`, a range, `json`, or a `list<…>` of one of these or of
    records, `list<{ name text, stars 1..5, note text? }>`, whose objects may have more fields. Nothing is converted:
    `"3"` is no number, a list that contains a text is no `list<number>`, and an object that lacks a field is no record.
    A `null` is missing.

    >>> trip = {"city": "Rome", "nights": 3, "hotels": [{"stars": 4}]}
    >>> json_part(trip, "city", "text"), json_part(trip, "hotels.0.stars", "1..5"), json_part(trip, "nights", "text")
    ('Rome', 4, None)
    """
    part: Any = value
    for name in path.split(BETWEEN) if isinstance(path, str) else path:
        match part:
            case Mapping() if name in part:
                part = part[name]
            case list() if POSITION.fullmatch(name) and int(name) < len(part):
                part = part[int(name)]
            case _:
                return None
    found: T | None = fit_value(_type(type), part)
    return found


@cache
def _type(notation: str) -> Type:
    type_ = parse_type_notation(notation)
    assert type_ is not None, f"a part of JSON cannot be read as {notation}"
    return type_


def is_no_path(given: Mapping[str, object]) -> str | None:
    """Return the error of a literal path.

    >>> is_no_path({"path": "a..b"}), is_no_path({"path": "a.b"})
    ('a name of the path is empty', None)
    """
    path = given.get("path")
    return "a name of the path is empty" if isinstance(path, str) and "" in path.split(BETWEEN) else None
