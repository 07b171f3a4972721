"""Replies as typed values, from JSON or plain text, and the turns of dialogues: tolerant of form, strict about
content."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any, Literal

from tripos_compiler.diagnostics.text_format import shorten
from tripos_compiler.library.types import holds_json, without_optional
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
from tripos_compiler.replies.choices import chosen_letter
from tripos_compiler.replies.names import fold, read_name
from tripos_compiler.replies.number_tokens import DEFAULT
from tripos_compiler.replies.places import boxed
from tripos_compiler.replies.text import ReplyText
from tripos_compiler.replies.truth import read_truth
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.reading.json_values import (
    CONFLICT,
    FoundJson,
    NotExact,
    exact_json,
    find_json_values,
    merged,
    parts_around_json,
)
from tripos_runtime.reading.judgements import REASON_KEYS
from tripos_runtime.reading.plain_text import (
    BRACKET,
    BULLET,
    JSON_BEGUN,
    AmbiguousNumberError,
    differ_in_letters,
    elements_in,
    has_unread_brackets,
    is_refusal,
    numbers_listed,
    places_with_names,
    read_symbol,
    stated_number,
    too_long,
    without_outer_brackets,
)


class Unreadable(Exception):
    """The reason why a value is unreadable; raised and caught in this package only."""


# These functions convert a value from JSON. They raise `Unreadable` if it has another type.
def _check_agreement(raw: Any) -> None:
    """Raise `Unreadable` if the reply gives a value more than once, differently."""
    if raw is CONFLICT:
        raise Unreadable(CONFLICT.error)


def as_text(raw: Any) -> str:
    """Return a text; a list of texts becomes lines."""
    match raw:
        case str():
            return raw
        case bool():
            return str(raw).lower()
        case int() | float():
            return str(raw)
        case list() if all(isinstance(part, str) for part in raw):
            return "\n".join(raw)
        case _:
            raise Unreadable("a text was asked for")


def as_number(raw: Any) -> float:
    """Return a number."""
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise Unreadable("a number was asked for")
    try:
        return float(raw)
    except OverflowError:
        raise Unreadable(f"`{shorten(str(raw))}` is not one number") from None


def as_integer(raw: Any, low: int | None, high: int | None) -> int:
    """Return an integer within its bounds."""
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise Unreadable("a whole number was asked for")
    value = int(raw)
    if value != raw:
        raise Unreadable(f"{raw:g} is not a whole number")
    if (low is not None and value < low) or (high is not None and value > high):
        bounds = f"{'' if low is None else low}..{'' if high is None else high}"
        raise Unreadable(f"{shorten(str(value))} is not in {bounds}")
    return value


def as_bool(raw: Any) -> bool:
    """Return a truth value, which may also be a word such as `yes`."""
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, list) and raw:
        if len(raw) == 1:
            return as_bool(raw[0])
        raw = ", ".join(str(part).lower() for part in raw)  # `[[Yes, true]]`
    truth = read_truth(raw) if isinstance(raw, str) else None
    if truth is None:
        raise Unreadable(f"`{shorten(str(raw))}` is neither yes nor no")
    return truth


def parts_of(raw: Any) -> list[Any]:
    """Return the elements of a list, which may also be a text with lines or commas; any other value is the only
    element."""
    if isinstance(raw, list):
        return raw
    return elements_in(raw) if isinstance(raw, str) else [raw]


def as_set(values: list[Any]) -> frozenset[Any] | list[Any]:
    """Return a set; values that Python cannot hash, such as records, become a list without repeats."""
    try:
        return frozenset(values)
    except TypeError:
        first: dict[Any, Any] = {}
        for value in values:
            first.setdefault(_hashable(value), value)
        return list(first.values())


def _hashable(value: Any) -> Any:
    match value:
        case dict():
            return frozenset((name, _hashable(part)) for name, part in value.items())
        case list():
            return tuple(map(_hashable, value))
    return value


# The names of the fields of a turn, folded.
SPEAKERS = frozenset({"speaker", "role", "name", "from"})
UTTERANCES = frozenset({"text", "content", "message", "utterance", "value"})
LINE = re.compile(r"\s*([^:：\n]{1,40})[:：]\s*(\S.*)")
"""A turn as a line of text."""


def dialogue_turns(raw: Any) -> list[dict[str, str]] | None:
    """Return the turns of a dialogue, each with a `speaker` and a `text`; `None` if there are none, or if the first
    line or any object has no speaker. A later line without a speaker continues the turn before it.

    >>> dialogue_turns("Teacher: What is a half?\\nPupil: One of two parts.")
    [{'speaker': 'Teacher', 'text': 'What is a half?'}, {'speaker': 'Pupil', 'text': 'One of two parts.'}]
    >>> dialogue_turns([{"Teacher": "Hello"}]), dialogue_turns("Hello")
    ([{'speaker': 'Teacher', 'text': 'Hello'}], None)
    """
    turns: list[tuple[str, list[str]]] = []
    parts = raw.strip().splitlines() if isinstance(raw, str) else raw
    for part in parts if isinstance(parts, list) else []:
        turn = _turn_in_line(part) if isinstance(part, str) else _turn_in_object(part)
        if turn is not None:
            turns.append((turn[0], [turn[1]]))
        elif turns and isinstance(part, str):
            _add_line(turns[-1][1], part)
        else:
            return None
    return [{"speaker": speaker, "text": "\n".join(lines)} for speaker, lines in turns] or None


def _add_line(lines: list[str], line: str) -> None:
    """Add a line to the lines of a turn, dropping blank lines at its start and end."""
    if len(lines) == 1:
        lines[0] = lines[0].lstrip() if line.strip() else lines[0].strip()
    if line.strip():
        lines.append(line.rstrip())
    if not lines[0]:
        lines[:] = [line.strip()]


def _turn_in_line(line: str) -> tuple[str, str] | None:
    match = LINE.fullmatch(line)
    return None if match is None else (match[1].strip("*# "), match[2].strip("* "))


def _turn_in_object(part: Any) -> tuple[str, str] | None:
    """Return the speaker and the text of an object: two fields, or the name and value of its only field."""
    if not isinstance(part, dict):
        return None
    fields = {fold(name): value for name, value in part.items() if isinstance(value, str)}
    speakers = [value for name, value in fields.items() if name in SPEAKERS]
    texts = [value for name, value in fields.items() if name in UTTERANCES]
    if speakers and texts:
        return speakers[0], texts[0]
    (speaker, text), *more = part.items() or [("", None)]
    return (speaker, text) if not more and isinstance(text, str) else None


LETTERS = ascii_uppercase
TRUTHS = (
    "true",
    "yes",
    "是",
    "是的",
    "对",
    "对的",
    "正确",
    "false",
    "no",
    "否",
    "不是",
    "错",
    "错的",
    "错误",
    "不对",
    "不正确",
)
NOTHING = frozenset({"", "null", "none", "na", "无"})
"""The folded words for an optional value that is missing."""
WRAPPERS = (
    "value",
    "answer",
    "result",
    "score",
    "verdict",
    "choice",
    "label",
    "rating",
    "结果",
    "分数",
    "答案",
    "判断",
    "结论",
    "得分",
    "评分",
)
"""The names of a field whose value is the answer, if an object was not asked for. The first one found counts."""
BESIDES = REASON_KEYS | {
    "confidence",
    "certainty",
    "probability",
    "thinking",
    "thought",
    "analysis",
    "steps",
    "notes",
    "note",
}
"""The names of fields that an object may have besides its only value."""
OTHERS = ("student", "correct", "reference", "expected", "gold", "学生", "正确", "参考", "标准")
"""Prefixes of fields that are not the model's answer."""
BRACKETED = re.compile(r"\[\[([^\[\]\n]{1,80})\]\]")
"""A verdict in double brackets."""
WHOLE_LIST = re.compile(r"\s*(?:```\w*\s*)?\[[^\[\]]*\]\s*(?:```)?\s*")
"""A reply that is one list."""
REFUSED = "the model refused to answer"
CUT_OFF_TEXT = re.compile(r"\s*(?:```(?:json)?\s*)?\{\s*\"value\"\s*:")
"""The beginning of the JSON form of a text, in a reply in which no JSON was found."""


@dataclass(frozen=True)
class ReadReply:
    """A reply as read: a `value`, or the `error`."""

    value: Any
    error: str | None = None
    status: Literal["ok", "parse_failure", "refused"] = "ok"


def read(type: Type, text: str, axes: Sequence[Axis] = (), locale: str = DEFAULT) -> ReadReply:
    """Return the value of that type in a reply. Records are dictionaries, sets frozensets, and a dialogue a list of
    `{"speaker": …, "text": …}`. With `axes`, a choice may also be given by its labels in any language. JSON numbers
    follow JSON; numbers in texts, including texts in JSON, are written as in `locale`.

    >>> read(IntegerType(low=1, high=10), "I'd give it 8/10.").value
    8
    >>> read(RecordType(fields={"answer": ChoiceType(values=("A", "B"))}), "```json\\n{'Answer': 'b'}\\n```").value
    {'answer': 'B'}
    >>> read(IntegerType(low=1, high=5), '{"value": 9}').error
    '9 is not in 1..5'
    >>> read(NumberType(), "2.000", locale="de").value, read(NumberType(), '{"value": 2.000}', locale="de").value
    (2000.0, 2.0)
    """
    if (error := too_long(text)) is not None:
        return ReadReply(None, error, "parse_failure")
    reader = _ValueReader({axis.name: axis for axis in axes}, locale)
    if holds_json(type):
        return _read_exactly(reader, type, parts_around_json(text).answer)
    text = ReplyText.parse(text).answer
    jsons = find_json_values(text)
    if len(jsons) == 1 and isinstance(jsons[0].value, int | float) and not isinstance(jsons[0].value, bool):
        jsons = [FoundJson(text.strip())]  # a number alone is read as text, by the rules of its locale
    if isinstance(type, TextType):
        return _read_text(text, jsons)
    if boxed(text) is not None and not JSON_BEGUN.search(text):
        jsons = []  # the braces are LaTeX
    if isinstance(without_optional(type), IntegerType | NumberType) and not WHOLE_LIST.fullmatch(text):
        jsons = [found for found in jsons if not isinstance(found.value, list)]  # `[1]` is a reference
    if isinstance(type, ChoiceType) and not differ_in_letters(type.values):
        # Brackets other than an object's enclose a name such as `A>B`.
        jsons = [found for found in jsons if isinstance(found.value, dict)]
    if isinstance(without_optional(type), ChoiceType | BoolType) and len(jsons) > 1:
        jsons = [found for found in jsons if not isinstance(found.value, list)]  # `[[A]] or [[B]]` gives none of them
        text = BRACKETED.sub(r"\1", text)
    errors: list[str] = []
    for found in jsons:
        try:
            return ReadReply(reader.reply(type, found.value, complete=found.complete))
        except Unreadable as error:
            errors.append(str(error))
    if not any(isinstance(found.value, dict) for found in jsons):
        if is_refusal(text):
            return ReadReply(None, REFUSED, "refused")
        try:
            return ReadReply(reader.plain(type, text))
        except Unreadable as error:
            errors.append(str(error))
    return ReadReply(None, errors[0], "parse_failure")


def _read_exactly(reader: _ValueReader, type: Type, text: str) -> ReadReply:
    """Return the value of a type that contains arbitrary JSON. Nothing is repaired: nothing would show that a repaired
    part is wrong."""
    try:
        return ReadReply(reader.reply(type, exact_json(text), complete=True))
    except NotExact as error:
        if not error.has_json and is_refusal(text):
            return ReadReply(None, REFUSED, "refused")
        return ReadReply(None, str(error), "parse_failure")
    except Unreadable as error:
        return ReadReply(None, str(error), "parse_failure")


def _read_text(text: str, jsons: Sequence[FoundJson]) -> ReadReply:
    """Return the text that a reply gives, whatever it says, even if it refuses. It is a text in JSON if the JSON has
    the requested form or is the whole reply; otherwise it is the reply, which may quote other JSON."""
    bare = text.strip()
    for found in jsons:
        if isinstance(found.value, str):
            return ReadReply(found.value)
        if isinstance(found.value, dict):
            texts = {fold(name): part for name, part in found.value.items() if isinstance(part, str)}
            if "value" in texts:
                return ReadReply(texts["value"])
            if len(found.value) == len(texts) == 1 and bare.startswith(("{", "```")):
                return ReadReply(next(iter(texts.values())))
    if not bare:
        return ReadReply(None, "the reply is empty", "parse_failure")
    if CUT_OFF_TEXT.match(bare):
        return ReadReply(None, "the reply is cut off", "parse_failure")
    return ReadReply(bare)


@dataclass(frozen=True)
class _ValueReader:
    """Reads typed values. Its methods raise `Unreadable`."""

    axes: Mapping[str, Axis]
    locale: str
    """The locale by which numbers in texts are read."""

    def reply(self, type: Type, raw: Any, *, complete: bool) -> Any:
        """Return a value from the JSON of a reply, which may be wrapped in an object or a list. `complete` is false if
        the JSON is cut off."""
        if isinstance(type, RecordType):
            return self._record(type, raw, complete=complete)
        if isinstance(raw, dict) and not isinstance(without_optional(type), JsonType):
            named = merged((fold(name), part) for name, part in raw.items())
            wrapper = next((name for name in WRAPPERS if name in named), None)
            if wrapper is not None:
                raw = named[wrapper]
            elif isinstance(type, IntegerType | NumberType):
                pass
            elif len(values := [part for name, part in named.items() if name not in BESIDES]) == 1:
                raw = values[0]
        return self.value(type, raw)

    def plain(self, type: Type, text: str) -> Any:
        """Return a value from a reply without JSON."""
        if not text.strip():
            raise Unreadable("the reply is empty")
        if has_unread_brackets(text):
            return self._alone(type, text)
        match type:
            case TextType() | PathType() | IntegerType() | NumberType() | BoolType() | ChoiceType() | DialogueType():
                return self.value(type, text.strip())
            case OptionalType(of=of):
                return None if fold(text) in NOTHING else self.plain(of, text)
            case ListType(of=of) | SetType(of=of) if not isinstance(of, TextType) or BULLET.match(text):
                return self.value(type, text)
            case RecordType(fields=fields) if len(fields) == 1:
                ((name, field),) = fields.items()
                if isinstance(field, IntegerType | NumberType | BoolType | ChoiceType):
                    return {name: self.value(field, text)}
        raise Unreadable("the reply holds no JSON")

    def _alone(self, type: Type, text: str) -> Any:
        """Return a value from a reply with brackets that are not JSON. Where they may be broken JSON, only parts of the
        text that are an answer without other words count."""
        places: list[str] = []
        match type:
            case ChoiceType(values=names) if not differ_in_letters(names):  # signs and brackets are part of the names
                return self.value(type, text)
            case OptionalType(of=of):
                return self._alone(of, text)
            case RecordType(fields=fields) if len(fields) == 1:
                ((name, field),) = fields.items()
                if isinstance(field, IntegerType | NumberType | BoolType | ChoiceType):
                    return {name: self._alone(field, text)}
            case DialogueType():
                turns = dialogue_turns(text)
                if turns and len(turns) > 1 and not any(re.search(r'[{}"]', turn["speaker"]) for turn in turns):
                    return turns
            case ListType(of=TextType()) if BULLET.match(text):
                return self.value(type, text)
            case ListType(of=of) | SetType(of=of) if not isinstance(of, TextType):
                places = [] if BRACKET.search(without_outer_brackets(text)) else [without_outer_brackets(text)]
            case IntegerType() | NumberType():
                if self._number(text, type.high if isinstance(type, IntegerType) else None) is not None:
                    return self.value(type, text)
            case BoolType():
                places = places_with_names(text, TRUTHS)
            case ChoiceType() if _brackets_close(text):
                return self.value(type, text)
            case ChoiceType():
                places = places_with_names(text, self._spellings(type))
        values = [self.value(type, place) for place in places]
        if values and all(value == values[0] for value in values):
            return values[0]
        raise Unreadable("the reply holds no JSON that can be read")

    def value(self, type: Type, raw: Any) -> Any:
        """Return a value of the type from a JSON value or a text."""
        if isinstance(type, OptionalType):
            return self._optional(type.of, raw)
        _check_agreement(raw)
        if raw is None:
            raise Unreadable("the value is null")
        match type:
            case TextType() | PathType():
                return as_text(raw)
            case IntegerType(low=low, high=high):
                return as_integer(self._read_number(raw, high), low, high)
            case NumberType():
                return as_number(self._read_number(raw))
            case BoolType():
                return as_bool(raw)
            case ChoiceType():
                return self._choice(type, raw)
            case ListType(of=of):
                return self._items(of, raw)
            case SetType(of=of):
                return as_set(self._items(of, raw))
            case RecordType():
                return self._record(type, raw, complete=True)
            case DialogueType():
                turns = dialogue_turns(raw)
                if turns is None:
                    raise Unreadable("a dialogue was asked for, each turn with a speaker and a text")
                return turns
            case JsonType():
                return raw
            case MetricsType() | TreeType() | ImageType() | AudioType() | FileType():
                raise Unreadable("a value of this type cannot be replied")

    def _read_number(self, raw: Any, scale: int | None = None) -> Any:
        """Return the number that a text states. The text may be alone in a list or an object, or in an object with
        reasons. A value other than text is returned as it is."""
        while isinstance(raw, list | dict):
            inner = raw if isinstance(raw, dict) else dict(enumerate(raw))
            inner = {name: part for name, part in inner.items() if fold(str(name)) not in BESIDES} or inner
            if len(inner) != 1 or fold(str(next(iter(inner)))).startswith(OTHERS):
                break
            (raw,) = inner.values()
        _check_agreement(raw)
        if not isinstance(raw, str):
            return raw
        number = self._number(raw, scale)
        if number is None:
            raise Unreadable(f"`{shorten(raw)}` is not one number")
        return number

    def _number(self, text: str, scale: int | None) -> int | float | None:
        try:
            return stated_number(text, scale, self.locale)
        except AmbiguousNumberError as error:
            raise Unreadable(str(error)) from None

    def _items(self, of: Type, raw: Any) -> list[Any]:
        """Return the elements of a list, which may also be a text with lines or commas."""
        inner = without_optional(of)
        if isinstance(inner, JsonType) and not isinstance(raw, list):
            raise Unreadable("a list was asked for")
        if not isinstance(raw, str) or not isinstance(inner, IntegerType | NumberType):
            return [self.value(of, part) for part in parts_of(raw)]
        try:
            numbers = numbers_listed(raw, self.locale)
        except AmbiguousNumberError as error:
            raise Unreadable(str(error)) from None
        if None in numbers:
            raise Unreadable(f"`{shorten(raw)}` is no list of numbers")
        return [self.value(of, number) for number in numbers]

    def _optional(self, of: Type, raw: Any) -> Any:
        if raw is None:
            return None
        try:
            return self.value(of, raw)
        except Unreadable:
            if isinstance(raw, str) and fold(raw) in NOTHING:
                return None
            raise

    def _choice(self, type: ChoiceType, raw: Any) -> str:
        if isinstance(raw, list) and len(raw) == 1:
            raw = raw[0]
        spellings = self._spellings(type)
        text = as_text(raw)
        by_letters = differ_in_letters(type.values)
        if set(spellings) == set(LETTERS[: len(spellings)]):
            name = chosen_letter(text, [""] * len(spellings))
        else:
            name = read_name(text, spellings, spellings) if by_letters else read_symbol(text, type.values)
        if name is None:
            raise Unreadable(f"`{shorten(text)}` is none of {', '.join(type.values)}")
        return name

    def _spellings(self, type: ChoiceType) -> dict[str, str]:
        """Return the values of a choice by their names, and by the labels of its axis in any language."""
        spellings = {value: value for value in type.values}
        axis = self.axes.get(type.axis or "")
        for value in axis.values if axis is not None else ():
            if value.name in spellings:
                spellings |= {label: value.name for label in value.labels.values() if label not in spellings}
        return spellings

    def _record(self, type: RecordType, raw: Any, *, complete: bool) -> dict[str, Any]:
        """Return a record. An optional field may be missing if the JSON is `complete`."""
        if isinstance(raw, list) and len(raw) == 1:
            raw = raw[0]
        if not isinstance(raw, dict):
            raise Unreadable("an object was asked for")
        given = _by_field(type, raw)
        if not given and len(raw) == 1:
            (inner,) = raw.values()
            if isinstance(inner, dict):
                return self._record(type, inner, complete=complete)
            if len(type.fields) == 1 and not holds_json(type):
                given = dict.fromkeys(type.fields, inner)
        record: dict[str, Any] = {}
        for name, field in type.fields.items():
            if name not in given and not (complete and isinstance(field, OptionalType)):
                raise Unreadable(f"`{name}` is missing" + ("" if complete else ": the reply is cut off"))
            try:
                record[name] = self.value(field, given.get(name))
            except Unreadable as error:
                raise Unreadable(f"`{name}`: {error}") from None
        return record


def _by_field(type: RecordType, raw: dict[str, Any]) -> dict[str, Any]:
    """Return the values of an object by the fields of a record, by their exact names or else by their folded ones."""
    folded = merged((fold(name), part) for name, part in raw.items())
    return {
        name: raw[name] if name in raw else folded[fold(name)]
        for name in type.fields
        if name in raw or fold(name) in folded
    }


def _brackets_close(text: str) -> bool:
    """Return true if the brackets of a text are in pairs, and none begins JSON: they belong to the prose."""
    pairs = text.count("{") == text.count("}") and text.count("[") == text.count("]")
    return pairs and JSON_BEGUN.search(text) is None
