"""Reading of rows: raw records to typed rows and turns of dialogues, and errors of values that do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from tripos_compiler.language.exact_values import LEAST, MOST, InexactJson, exact_number, load_json
from tripos_compiler.library.functions.tools import NoTools, read_allowed_calls, read_tools
from tripos_compiler.library.functions.trees import BETWEEN
from tripos_compiler.library.media import FindMedium, UnfitMedium
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.library.types import type_notation
from tripos_compiler.plan import Axis, DataField, Dataset, Type, digest
from tripos_compiler.source.data_classes import dataclass

SPEAKERS = ("speaker", "role", "from", "user", "name")
TEXT_KEYS = ("text", "content", "value", "utterance", "message")
END = "|EOM|"
"""Separator between the turns of a transcript in MathDial and similar data sets; in other transcripts a turn begins on
its own line."""
SPOKEN = re.compile(r"\s*([^\W\d_][\w'’.-]{0,29}(?: [\w'’.-]{1,20})?) ?[:：](?!//)\s*(.*)", re.DOTALL)
"""Speaker of one or two words, and the text of the turn."""


def read_turns(value: Any) -> list[dict[str, str]] | None:
    """Return the turns of a dialogue, each with a `speaker` and a `text`, or None if the value is not a dialogue.

    A dialogue is a list of turns, JSON text of such a list, or a transcript with a speaker before every turn. A turn
    names its speaker by one of `SPEAKERS` and its text by one of `TEXT_KEYS`, or is `{"Teacher": "Why?"}`, or a line of
    a transcript.

    >>> read_turns([{"user": "Teacher", "text": "Why?", "time": "06:36"}])
    [{'speaker': 'Teacher', 'text': 'Why?'}]
    >>> read_turns("Teacher: Why?|EOM|Student: Because\\nit is even.")
    [{'speaker': 'Teacher', 'text': 'Why?'}, {'speaker': 'Student', 'text': 'Because\\nit is even.'}]
    >>> read_turns("Tutor: Why?\\nStudent: Because\\nit is even.")[1]["text"]
    'Because\\nit is even.'
    >>> read_turns("hello") is None, read_turns([])
    (True, [])
    """
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            try:
                value = load_json(value)
            except ValueError:
                return None
        else:
            return _transcript(value)
    if not isinstance(value, list):
        return None
    turns = [_turn(entry) for entry in value]
    known = [turn for turn in turns if turn is not None]
    return known if len(known) == len(turns) else None


def _transcript(text: str) -> list[dict[str, str]] | None:
    turns: list[dict[str, str]] = []
    marked = END in text
    for part in text.split(END) if marked else text.splitlines():
        turn = _spoken(part)
        if turn is not None:
            turns.append(turn)
        elif turns and not marked:
            turns[-1]["text"] = f"{turns[-1]['text']}\n{part.strip()}".strip()
        elif part.strip():
            return None
    return turns or None


def _turn(value: Any) -> dict[str, str] | None:
    if isinstance(value, str):
        return _spoken(value)
    if not isinstance(value, Mapping):
        return None
    texts = {str(name).casefold(): text for name, text in value.items() if isinstance(text, str)}
    speaker = next((texts[name] for name in SPEAKERS if name in texts), None)
    text = next((texts[name] for name in TEXT_KEYS if name in texts), None)
    if speaker is not None and text is not None:
        return {"speaker": speaker, "text": text}
    if len(value) == len(texts) == 1 and not texts.keys() & {*TEXT_KEYS, *SPEAKERS} - {"user"}:
        name, only = next(iter(value.items()))
        return {"speaker": str(name), "text": only}
    return None


def _spoken(line: str) -> dict[str, str] | None:
    match = SPOKEN.fullmatch(line)
    return None if match is None else {"speaker": match[1], "text": match[2].strip()}


ABSENT = object()


@dataclass(frozen=True)
class Misfit:
    """Value that does not fit its field. `column` is the column that it came from, or None if there was no column."""

    field: str
    column: str | None
    value: Any
    expected: str
    reason: UnfitMedium | InexactJson | None = None
    """Why a cell is not an image, recording or file, or why JSON text cannot be read without loss."""


class DateCell(str):
    """Date in a cell of a spreadsheet, as ISO 8601 text. The user may have typed `3/4`."""

    __slots__ = ()


class PointCell(str):
    """A cell such as `1.500` of a file that is separated by semicolons: 1.5, or 1500 if it has decimal commas."""

    __slots__ = ()


class SheetRow(dict[str, Any]):
    """Raw record of a CSV file or a workbook, with the number of its row there as a spreadsheet shows it."""

    __slots__ = ("number",)

    def __init__(self, cells: Iterable[tuple[str, Any]], number: int) -> None:
        super().__init__(cells)
        self.number = number


def row_number(record: Mapping[str, Any], count: int) -> int:
    """Return the number by which messages name a record: of a table its row in the spreadsheet, where the first row
    names the columns; otherwise its `count` in the file."""
    return record.number if isinstance(record, SheetRow) else count


class DoesNotFit(Exception):
    """A value cannot be read as a type."""


NUMBER_WITH_COMMA = re.compile(r"\s*[-+]?\d[\d.' ]*,\d[\d,]*\s*")
COMMA_HELP = (
    "write a decimal point and no separators of thousands, in the whole column: `1.500` is read as 1.5; or save the "
    "sheet as .xlsx, which has numbers as numbers"
)
"""Help for a cell such as `2,5`. A spreadsheet that writes it may write `1.500` for 1500 beside it, and takes a `2.5`
that is typed in for a date."""
COMMA_IN_WORKBOOK_HELP = "the cell has a text: format the column as a number, and type it again"
"""Help for a text such as `2,5` in a cell of a workbook."""


def has_comma(value: Any) -> bool:
    """Return true if a cell is a number that is written with a comma, as decimal comma or between thousands.

    >>> [has_comma(value) for value in ("2,5", "1.500,25", "1,500", "2.5", "a, b", 2.5)]
    [True, True, True, False, False, False]
    """
    return isinstance(value, str) and NUMBER_WITH_COMMA.fullmatch(value) is not None


def read_row(
    dataset: Dataset, raw: Mapping[str, Any], axes: Mapping[str, Axis], medium: FindMedium | None = None
) -> dict[str, Any] | Misfit:
    """Return the typed row of a raw record, or the first value that does not fit. `medium` finds images and other
    files; without it none fits."""
    row: dict[str, Any] = {}
    for field in dataset.fields:
        column, value = find_value(field, raw)
        try:
            row[field.name] = read_value(field.type, None if value is ABSENT else value, axes, medium)
        except (UnfitMedium, InexactJson) as reason:
            return Misfit(field.name, column, value, type_notation(field.type), reason)
        except DoesNotFit:
            shown_value = None if value is ABSENT else value
            return Misfit(field.name, column, shown_value, type_notation(field.type))
    return row


def find_value(field: DataField, raw: Mapping[str, Any]) -> tuple[str | None, Any]:
    """Return the first of a field's columns that the record has, and its value; `ABSENT` if it has none."""
    for column in field.columns:
        if column in raw:
            return column, raw[column]
    return None, ABSENT


def read_value(type_: Type, value: Any, axes: Mapping[str, Axis], medium: FindMedium | None = None) -> Any:
    """Return a raw value as a value of a type. `medium` finds images and other files. Raises `DoesNotFit`,
    `InexactJson`, and the errors of `medium`.

    Some types accept further forms: numbers as text, as in CSV; values of an axis by label; lists, sets and records as
    JSON text; a path as the list of its names; a list of records as an object of objects, whose keys become the field
    `name`. For the type text, a list or record of texts is read as its lines, since some data sets have a few such
    rows. An empty text counts as missing for any type other than text.

    >>> from tripos_compiler.plan import IntegerType, ListType, TextType
    >>> read_value(IntegerType(low=1, high=5), "4", {})
    4
    >>> read_value(ListType(of=TextType()), '["a", "b"]', {})
    ['a', 'b']
    >>> print(read_value(TextType(), {"Question": "Which?", "Options": ["A. 1", "B. 2"]}, {}))
    Question: Which?
    Options: A. 1
    B. 2
    """
    if type_.kind == "optional":
        is_missing = value is None or (value == "" and type_.of.kind != "text")
        return None if is_missing else read_value(type_.of, value, axes, medium)
    match type_.kind:
        case "text":
            return str(value) if isinstance(value, str) else _lines(value)  # a cell is a text of its own class
        case "path":
            return _path(value)
        case "integer" | "number":
            return _number(type_, value)
        case "bool":
            return _bool(value)
        case "choice":
            return _choice(type_.values, axes.get(type_.axis or ""), value)
        case "list" | "set":
            listed = _parsed(value, "[")
            if isinstance(listed, Mapping) and type_.kind == "list" and type_.of.kind == "record":
                listed = _entries(listed)
            if not isinstance(listed, list):
                raise DoesNotFit
            items = [read_value(type_.of, item, axes, medium) for item in listed]
            return frozenset(items) if type_.kind == "set" else items
        case "record":
            record = _parsed(value, "{")
            if not isinstance(record, Mapping):
                raise DoesNotFit
            return {name: read_value(of, record.get(name), axes, medium) for name, of in type_.fields.items()}
        case "json":
            return _json(type_.form, value)
        case "dialogue":
            turns = read_turns(value)
            if turns is not None:
                return turns
        case "image" | "audio" | "file" if medium is not None and value not in (None, ""):
            return medium(type_.kind, value)
    raise DoesNotFit


def is_structured(type_: Type, value: Any) -> bool:
    """Return true if a value is a list or record although the type is text."""
    of = type_.of if type_.kind == "optional" else type_
    return of.kind == "text" and isinstance(value, list | Mapping)


def item_id(row: Mapping[str, Any]) -> str:
    """Return the content address of a row: equal rows have equal ids, wherever they are stored."""
    return digest(row)


def _lines(value: Any) -> str:
    """Return a list or record of texts as one text, one line each, with the names of a record."""
    match value:
        case str():
            return value
        case list():
            return "\n".join(_lines(part) for part in value)
        case Mapping():
            return "\n".join(f"{name}: {_lines(part)}" for name, part in value.items())
    raise DoesNotFit


def _entries(value: Mapping[str, Any]) -> list[Any]:
    """Return the values of an object of objects, each with its key as `name` unless it has one."""
    if not all(isinstance(entry, Mapping) for entry in value.values()):
        raise DoesNotFit
    return [{"name": name, **entry} for name, entry in value.items()]


def _path(value: Any) -> str:
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise DoesNotFit
    return BETWEEN.join(names)


def _parsed(value: Any, opening: str | tuple[str, ...]) -> Any:
    """Return the value of JSON text; any other value unchanged. Raises `InexactJson`."""
    if not isinstance(value, str) or not value.lstrip().startswith(opening):
        return value
    try:
        return load_json(value)
    except InexactJson:
        raise
    except ValueError:
        raise DoesNotFit from None


def _json(form: str, value: Any) -> Any:
    """Return a JSON value, with lists and records also read from JSON text; tools and expected calls are normalized."""
    parsed = _parsed(value, ("[", "{"))
    if parsed is None or _holds_no_json(parsed):
        raise DoesNotFit
    if form == "json":
        return str(parsed) if isinstance(parsed, str) else parsed
    try:
        return read_tools(parsed) if form == "tools" else read_allowed_calls(parsed)
    except NoTools:
        raise DoesNotFit from None


def _holds_no_json(value: Any) -> bool:
    """Return true if a value of a table is not JSON, or is a number that needs a decimal."""
    if isinstance(value, list | dict):
        return any(map(_holds_no_json, value if isinstance(value, list) else value.values()))
    return isinstance(value, bytes | Decimal)


def _number(type_: Any, value: Any) -> int | float:
    try:
        number = _exact(value)
        if type_.kind == "integer":
            return _integer(type_, number)
    except (TypeError, ValueError, OverflowError):
        raise DoesNotFit from None
    if isinstance(number, Decimal) or not in_bounds(number):
        raise DoesNotFit
    return number


def _exact(value: Any) -> int | float | Decimal:
    """Return a number or the number in a text. Raises `ValueError` or `TypeError` if a value is neither."""
    match value:
        case bool():
            raise TypeError
        case int() if LEAST <= value <= MOST:
            return value
        case int():
            return exact_number(Decimal(value))
        case str() | Decimal():
            return exact_number(value)
    return float(value)


def _integer(type_: Any, number: float | Decimal) -> int:
    whole = int(number)
    low = LEAST if type_.low is None else type_.low
    high = MOST if type_.high is None else type_.high
    if whole != number or not low <= whole <= high or not LEAST <= whole <= MOST:
        raise DoesNotFit
    return whole


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.casefold() in ("true", "false"):
        return value.casefold() == "true"
    raise DoesNotFit


def _choice(values: tuple[str, ...], axis: Axis | None, value: Any) -> str:
    """Return the name object of the type for a value, so that a million rows share it."""
    if isinstance(value, str):
        if value in values:
            return values[values.index(value)]
        folded = value.strip().casefold()
        for candidate in axis.values if axis is not None else ():
            if folded in {candidate.name.casefold(), *(text.casefold() for text in candidate.labels.values())}:
                return candidate.name
    raise DoesNotFit
