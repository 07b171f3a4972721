"""Matching of rows of two data sets, and containment of one value in another, for the search for copies of secrets.

Rows match by a public value that identifies them, or by position. A value is contained if the same number, text or list
occurs in a record, list, JSON or text at a place that can be named without knowing the value. A passage with the answer
somewhere, or a list of options with the answer among others, does not reveal it, so a place counts only if it is the
same in all rows.
"""

from __future__ import annotations

import math
import operator
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import field, field as dataclass_field
from functools import cached_property
from typing import Any, TypeVar

import orjson

from tripos_compiler.plan import DataField, DataFile, Type
from tripos_compiler.resolve.program import LoadedDataset, LoadedRow
from tripos_compiler.source.data_classes import dataclass

# Containment of values

NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?![\w])")
GROUPED = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?|[-+]?\d+(\.\d+)?")
NON_WORD = re.compile(r"[\W_]+")
WORD = re.compile(r"[^\W_]+")
COMPARED_CHARACTERS = 200
"""Characters at either end of a long text that its normal form has."""
SEARCHED_CHARACTERS = 4_000
"""Characters at either end of a text that are searched."""
MOST_PARTS = 64
"""The most parts of a list or record that are searched."""
CONTEXT_CHARACTERS = 16
"""The most characters before a value that describe its place."""

Place = tuple[str, str]
"""The path to a part (`.key`, `[0]`), and the position of the value in its text: all of it, its end, or after some
words.
"""


def comparable_text(value: Any) -> str:
    """Return the normal form of a value: the same for `42`, "42" and "42.0", and for "A, C" and ["a", "c"].

    >>> [comparable_text(value) for value in (42.0, " 1,000 ", "Mount Everest.", ["A", "C"], True, "-0.5")]
    ['42', '1000', 'mounteverest', 'ac', 'true', '-0.5']
    """
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number(value)
        case str():
            text = value.strip().rstrip(".")
            if len(text) < 40 and GROUPED.fullmatch(text):
                return _number(float(text.replace(",", "")) if "." in text else int(text.replace(",", "")))
            if len(text) > 2 * COMPARED_CHARACTERS:
                text = f"{text[:COMPARED_CHARACTERS]} {text[-COMPARED_CHARACTERS:]}"
            return "".join(WORD.findall(text.casefold())) or text
        case frozenset() | set():
            return "".join(sorted(comparable_text(part) for part in value))
        case dict():
            return "".join(comparable_text(part) for part in value.values())
        case list() | tuple():
            return "".join(comparable_text(part) for part in value)
    return str(value)


def _number(value: int | float) -> str:
    if isinstance(value, float) and not (math.isfinite(value) and value.is_integer()):
        return repr(value)
    return str(int(value))


def parts_in(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a value with their paths; of a list, the first and last element.

    >>> list(parts_in({"key": "B", "notes": ["x", "y"]}))
    [('.key', 'B'), ('.notes[0]', 'x'), ('.notes[-1]', 'y')]
    >>> list(parts_in('{"key": 4}'))
    [('', '{"key": 4}'), ('.key', 4)]
    """
    count = 0
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting and count < MOST_PARTS:
        path, part = waiting.pop(0)
        match part:
            case dict():
                waiting += [(f"{path}.{name}", inner) for name, inner in part.items()]
            case list() | tuple() if part:
                waiting += [(f"{path}[0]", part[0])]
                waiting += [(f"{path}[-1]", part[-1])] if len(part) > 1 else []
            case frozenset() | set() if len(part) == 1:
                waiting += [(f"{path}[0]", next(iter(part)))]
            case str() | int() | float():
                count += 1
                yield path, part
                if isinstance(part, str) and part[:1] in ("{", "["):
                    inner = _json(part)
                    waiting += [(path, inner)] if isinstance(inner, dict | list) else []


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class NormalizedValue:
    """A value in normal form, with its parts.

    A part has its path, value, normal form and, for a text, its casefolded text. `sought` is the casefolded text that
    occurs in every text which contains the value; it is "" for a number.
    """

    value: Any
    plain: str
    parts: tuple[tuple[str, Any, str, str | None], ...]
    sought: str
    plains: frozenset[str]
    """The normal forms of the value and its parts."""
    folded: str
    """All its texts, casefolded."""
    has_long_text: bool
    """True if a text is too long to be searched as a whole."""
    numbers: frozenset[str]
    """The numbers in its texts."""

    def may_have(self, held: NormalizedValue) -> bool:
        """Return false if a value certainly does not occur in this one."""
        if held.plain in self.plains:
            return held.plain != ""
        if held.sought:
            return held.sought in self.folded or self.has_long_text
        return held.plain in self.numbers


def normalize(value: Any) -> NormalizedValue:
    """Return the normal form of a value and its parts."""
    plain = comparable_text(value)
    parts = tuple(
        (path, part, comparable_text(part), part.casefold() if isinstance(part, str) else None)
        for path, part in parts_in(value)
    )
    texts = [part for _, part, _, folded in parts if folded is not None]
    return NormalizedValue(
        value,
        plain,
        parts,
        "" if GROUPED.fullmatch(plain) else _written(value, plain).casefold(),
        frozenset((plain, *(part_plain for _, _, part_plain, _ in parts))),
        "\n".join(folded for _, _, _, folded in parts if folded is not None),
        any(len(text) > 2 * SEARCHED_CHARACTERS for text in texts),
        frozenset(comparable_text(number) for text in texts for number in NUMBER.findall(_searched_part(text))),
    )


def normalized_union(values: Sequence[NormalizedValue]) -> NormalizedValue:
    """Return a value for which `NormalizedValue.may_have` is true if it is true for any of these."""
    return NormalizedValue(
        None,
        "",
        (),
        "",
        frozenset().union(*(normalized_value.plains for normalized_value in values)),
        "\n".join(normalized_value.folded for normalized_value in values),
        any(normalized_value.has_long_text for normalized_value in values),
        frozenset().union(*(normalized_value.numbers for normalized_value in values)),
    )


def occurrences(holder: NormalizedValue, held: NormalizedValue) -> set[Place]:
    """Return the places at which a value occurs in another.

    >>> def places(holder, held):
    ...     return sorted(occurrences(normalize(holder), normalize(held)))
    >>> places("Answer: 42", 42), places({"key": "b", "n": 1}, "B"), places("Either 42 or 43 it is", 4)
    ([('', 'after answer:'), ('', 'end'), ('', 'number')], [('.key', 'all')], [])
    """
    if not holder.may_have(held):
        return set()
    wanted = held.plain
    if holder.plain == wanted:
        return {("", "all")}
    places: set[Place] = set()
    # Most parts do not contain the text at all, so the slow search of places runs for few.
    for path, part, part_plain, folded in holder.parts:
        if part_plain == wanted:
            places.add((path, "all"))
        elif folded is not None and (held.sought in folded or len(part) > 2 * SEARCHED_CHARACTERS):
            places.update((path, where) for where in _within(part, held.value, wanted))
    return places


def _written(held: Any, wanted: str) -> str:
    """Return the form of a value in a text."""
    return held.strip().rstrip(".") if isinstance(held, str) else wanted


def _searched_part(text: str) -> str:
    return (
        text if len(text) <= 2 * SEARCHED_CHARACTERS else f"{text[:SEARCHED_CHARACTERS]} {text[-SEARCHED_CHARACTERS:]}"
    )


def _within(text: str, held: Any, wanted: str) -> Iterator[str]:
    text = _searched_part(text)
    for start, end in _spans(text, held, wanted):
        if not NON_WORD.sub("", text[end:]):
            yield "end"
        before = text[:start].rstrip()
        if not NON_WORD.sub("", before):
            yield "start"
        words = " ".join(before[-3 * CONTEXT_CHARACTERS :].casefold().split()[-2:])[-CONTEXT_CHARACTERS:]
        if words:
            yield f"after {words}"
        if 2 * (end - start) >= len(text.strip()):
            yield "most"
    if NUMBER.fullmatch(wanted):
        numbers = [comparable_text(number) for number in NUMBER.findall(text)]
        if len(numbers) == 1 and numbers[0] == wanted:
            yield "number"


def _spans(text: str, held: Any, wanted: str) -> Iterator[tuple[int, int]]:
    """Yield the occurrences of a value as separate words."""
    if GROUPED.fullmatch(wanted):
        yield from (match.span() for match in NUMBER.finditer(text) if comparable_text(match[0]) == wanted)
        return
    written = _written(held, wanted)
    if not written:
        return
    lowered, sought = text.casefold(), written.casefold()
    if len(lowered) != len(text):  # casefolding made a letter into two
        text = lowered
    start = lowered.find(sought)
    while start >= 0:
        end = start + len(sought)
        if not _is_inside_word(text, start) and not _is_inside_word(text, end):
            yield start, end
        start = lowered.find(sought, start + 1)


def _is_inside_word(text: str, place: int) -> bool:
    """Return true if the characters on both sides of a position belong to the same word."""
    if not 0 < place < len(text):
        return False
    one, two = text[place - 1], text[place]
    return one.isalnum() and two.isalnum() and one.isascii() and two.isascii()


def describe_place(place: Place) -> str:
    """Return a place in words, as the start of a sentence.

    >>> describe_place(("", "all")), describe_place((".key", "all")), describe_place(("", "after answer:"))
    ('has the value of', 'has in `.key` the value of', 'has after “answer:” the value of')
    """
    path, where = place
    inside = f" in `{path}`" if path else ""
    match where:
        case "all":
            return f"has{inside} the value of"
        case "end":
            return f"ends{inside} in the value of"
        case "start":
            return f"begins{inside} with the value of"
        case "most":
            return f"has{inside} little but the value of"
        case "number":
            return f"has{inside} as its only number the value of"
    return f"has{inside} after “{where.removeprefix('after ')}” the value of"


# Columns

MOST_COUNTED = 2_000
"""The most rows in which the frequency of values is counted."""
FREQUENT_ANSWERS = frozenset(
    {"yes", "no", "true", "false", "correct", "incorrect", "right", "wrong", "none", "both", "all"}
)
"""Words that are frequent answers."""


@dataclass(frozen=True, eq=False)
class ComparedColumn:
    """A field of the rows of a data set, or with `part` a field of its records."""

    loaded: LoadedDataset
    field: DataField
    part: str | None = None
    _normalized: dict[int, NormalizedValue] = dataclass_field(default_factory=dict, repr=False)

    def normalized(self, row: LoadedRow) -> NormalizedValue:
        """Return the normal form of its value in a row."""
        if id(row) not in self._normalized:
            self._normalized[id(row)] = normalize(self.value(row))
        return self._normalized[id(row)]

    def plain(self, row: LoadedRow) -> str:
        """Return the normal form of its value in a row as text."""
        return self.normalized(row).plain

    def value(self, row: LoadedRow) -> Any:
        """Return its value in a row."""
        cell = row.values.get(self.field.name)
        if self.part is None:
            return cell
        return cell.get(self.part) if isinstance(cell, dict) else None

    @cached_property
    def counts(self) -> Counter[str]:
        """The number of rows with each value."""
        rows = self.loaded.rows[:MOST_COUNTED]
        return Counter(comparable_text(self.value(row)) for row in rows)

    def chance(self, row: LoadedRow) -> float:
        """Return the probability that another row has the same value, estimated from its frequency and length."""
        value, text = self.value(row), self.plain(row)
        rows = sum(self.counts.values())
        by_frequency = max(self.counts[text] - 1, 0) / max(rows - 1, 1)
        if text in FREQUENT_ANSWERS:
            return max(by_frequency, 0.5)
        by_length = 10.0 ** -min(len(text), 12)
        if text.isalpha() and text.isascii() and not (isinstance(value, str) and " " in value.strip()):
            by_length = max(by_length, 1e-3 if len(text) > 2 else 1e-1)  # a word, a letter
        elif GROUPED.fullmatch(text):
            by_length = 10.0 ** -min(len(text.replace(".", "").lstrip("-0")) or 1, 12)
        return max(by_frequency, by_length, 1 / _value_count(self.field.type))


def column_parts(column: ComparedColumn) -> Iterator[ComparedColumn]:
    """Yield a field, and the fields of its records."""
    yield column
    of = column.field.type.of if column.field.type.kind == "optional" else column.field.type
    if of.kind == "record":
        yield from (ComparedColumn(column.loaded, column.field, name) for name in of.fields)


def _value_count(type_: Type) -> float:
    """Return the number of values of a type; infinity if they are not enumerable."""
    of = type_.of if type_.kind == "optional" else type_
    match of.kind:
        case "bool":
            return 2
        case "choice":
            return len(of.values)
        case "integer" if of.low is not None and of.high is not None:
            return max(of.high - of.low + 1, 1)
    return math.inf


# Matching rows

MOST_ROWS = 2_000
"""The most rows with secrets that are matched: the first half of them consecutive, the others spread evenly."""
MIN_SHARE_MATCHED = 0.5
"""The share of rows of one data set that must be in the other. W1008 is about a few common rows."""
MOST_FIELD_PAIRS = 3
"""The most pairs of fields by whose values rows are matched."""

MATCH_KEY_CHARACTERS = 120
"""Characters at either end of a long text by which rows are matched."""

Pair = tuple[LoadedRow, LoadedRow]
Each = TypeVar("Each")

QUICK_PAIRS = 12
"""The number of pairs, spread evenly, of the first quick comparison."""
CONTROL_PAIRS = 50
"""The number of pairs, spread evenly, that are shuffled to estimate accidental agreement, and in which mappings are
searched.
"""
MOST_PUBLIC = 20
"""The number of rows in which a field is compared with public fields."""


SampledValues = tuple[Sequence[NormalizedValue], int]
"""The normal forms of a column in a few rows, and how many of them are not empty."""


def _sample(values: Sequence[NormalizedValue]) -> SampledValues:
    return values, len([normalized_value for normalized_value in values if normalized_value.plain])


@dataclass(eq=False)
class MatchedRows:
    """The rows of one side of a matching, in order, with memos of what columns have in some of them."""

    of: ComparedRows
    rows: tuple[LoadedRow, ...]
    _sample: dict[ComparedColumn, SampledValues] = field(default_factory=dict)
    _first_values: dict[ComparedColumn, list[str]] = field(default_factory=dict)
    _patterns: dict[ComparedColumn, tuple[int, ...] | None] = field(default_factory=dict)

    @cached_property
    def _first(self) -> tuple[LoadedRow, ...]:
        return self.rows[:: max(1, len(self.rows) // QUICK_PAIRS)][:QUICK_PAIRS]

    def sample(self, column: ComparedColumn) -> SampledValues:
        """Return the values of a column in a few rows, and how many of them are not empty."""
        if column not in self._sample:
            self._sample[column] = _sample([column.normalized(row) for row in self._first])
        return self._sample[column]

    @cached_property
    def sample_of_all(self) -> tuple[dict[str, SampledValues], Sequence[NormalizedValue]]:
        """The same for every field, by name, and the values of all fields together."""
        values = zip(*(self.of.normalized(row) for row in self._first), strict=True)
        fields = {name: _sample(column) for name, column in zip(self.of.columns, values, strict=False)}
        return fields, [self.of.normalized_anywhere(row) for row in self._first]

    def first_values(self, column: ComparedColumn) -> list[str]:
        """Return the normal forms of a column in the first rows."""
        if column not in self._first_values:
            self._first_values[column] = [column.plain(row) for row in self.rows[:MOST_PUBLIC]]
        return self._first_values[column]

    def pattern(self, column: ComparedColumn) -> tuple[int, ...] | None:
        """Return, for each of some rows, the first row with the same value; None if most values are different.

        Two columns have the same pattern if their values map one to one.
        """
        if column not in self._patterns:
            first: dict[str, int] = {}
            rows = self.rows[:: max(1, len(self.rows) // CONTROL_PAIRS)][:CONTROL_PAIRS]
            pattern = tuple(first.setdefault(column.plain(row), place) for place, row in enumerate(rows))
            self._patterns[column] = pattern if len(first) <= len(rows) // 2 else None
        return self._patterns[column]


@dataclass(frozen=True, eq=False)
class RowMatching:
    """A matching of rows with secrets to rows of the other data set.

    `why` names what they share, for messages. `field` is the shared field of the other data set; None for a match by
    position. `complete`: it includes all rows of both.
    """

    one: MatchedRows
    two: MatchedRows
    why: str
    field: str | None = None
    complete: bool = False

    @property
    def count(self) -> int:
        """The number of pairs."""
        return len(self.one.rows)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs."""
        return tuple(zip(self.one.rows, self.two.rows, strict=True))


@dataclass
class ComparedRows:
    """The rows of a data set, with memos for comparisons with others."""

    loaded: LoadedDataset
    _keys: dict[str, list[int]] = field(default_factory=dict)
    _match_keys: dict[str, set[int]] = field(default_factory=dict)
    _indexes: dict[str, dict[int, LoadedRow]] = field(default_factory=dict)
    _normalized: dict[int, tuple[NormalizedValue, ...]] = field(default_factory=dict)
    _anywhere: dict[int, NormalizedValue] = field(default_factory=dict)

    @cached_property
    def columns(self) -> dict[str, ComparedColumn]:
        """Its fields by name."""
        return {data_field.name: ComparedColumn(self.loaded, data_field) for data_field in self.loaded.dataset.fields}

    @cached_property
    def secrets(self) -> dict[str, tuple[ComparedColumn, ...]]:
        """Its secret fields, each with its parts if it is a record."""
        return {
            data_field.name: tuple(column_parts(self.columns[data_field.name]))
            for data_field in self.loaded.dataset.fields
            if data_field.secret
        }

    @cached_property
    def sampled(self) -> tuple[LoadedRow, ...]:
        """At most `MOST_ROWS` of the rows, in order."""
        rows = self.loaded.rows
        if len(rows) <= MOST_ROWS:
            return rows
        half = MOST_ROWS // 2
        loaded_rows = rows[half:]
        return (*rows[:half], *(loaded_rows[place * len(loaded_rows) // half] for place in range(half)))

    def normalized(self, row: LoadedRow) -> tuple[NormalizedValue, ...]:
        """Return the normal forms of all fields of a row, in order."""
        if id(row) not in self._normalized:
            self._normalized[id(row)] = tuple(column.normalized(row) for column in self.columns.values())
        return self._normalized[id(row)]

    def normalized_anywhere(self, row: LoadedRow) -> NormalizedValue:
        """Return the union of the normal forms of all fields of a row."""
        if id(row) not in self._anywhere:
            self._anywhere[id(row)] = normalized_union(self.normalized(row))
        return self._anywhere[id(row)]

    def keys(self, name: str) -> list[int]:
        """Return the match keys of a field: a number for each row, 0 for a value that identifies nothing."""
        if name not in self._keys:
            self._keys[name] = [_key(row.values.get(name)) for row in self.loaded.rows]
        return self._keys[name]

    def match_keys(self, name: str) -> set[int]:
        """Return the set of match keys of a field."""
        if name not in self._match_keys:
            self._match_keys[name] = set(self.keys(name))
        return self._match_keys[name]

    @cached_property
    def values_anywhere(self) -> set[str]:
        """The normal forms of all values in any field."""
        return set().union(*(column.counts for column in self.columns.values()))

    @cached_property
    def match_keys_anywhere(self) -> set[int]:
        """The match keys of all fields."""
        return set().union(*map(self.match_keys, self.columns))

    def index(self, name: str) -> dict[int, LoadedRow]:
        """Return the rows by match key, for the keys that occur once."""
        if name not in self._indexes:
            keys = self.keys(name)
            counts = Counter(keys)
            sampled = zip(self.sampled, keys, strict=False) if len(self.sampled) == len(keys) else self._of(keys)
            self._indexes[name] = {key: row for row, key in sampled if key and counts[key] == 1}
        return self._indexes[name]

    def _of(self, keys: list[int]) -> Iterator[tuple[LoadedRow, int]]:
        chosen = {id(row) for row in self.sampled}
        return ((row, key) for row, key in zip(self.loaded.rows, keys, strict=True) if id(row) in chosen)

    @cached_property
    def placed(self) -> MatchedRows:
        """Its rows by position, including repeated ones."""
        rows = [row for file in self.loaded.dataset.files for row in self.in_file(file)]
        return MatchedRows(self, _spread(rows))

    @cached_property
    def numbers(self) -> tuple[tuple[int, ...], ...]:
        """For each file, the numbers of its rows."""
        return tuple(tuple(row.number for row in self.in_file(file)) for file in self.loaded.dataset.files)

    def paired(self, rows: Sequence[LoadedRow]) -> MatchedRows:
        """Return some of its rows as one side of a matching."""
        complete = len(rows) == len(self.placed.rows) and all(map(operator.is_, rows, self.placed.rows))
        return self.placed if complete else MatchedRows(self, tuple(rows))

    @cached_property
    def _placed(self) -> dict[str, list[LoadedRow]]:
        placed: dict[str, list[LoadedRow]] = defaultdict(list)
        for row in (*self.loaded.rows, *self.loaded.repeated):
            placed[row.path].append(row)
        return {path: sorted(rows, key=lambda row: row.number) for path, rows in placed.items()}

    def in_file(self, file: DataFile) -> list[LoadedRow]:
        """Return the rows of a file in order, including repeated ones."""
        return self._placed.get(file.path, [])


def row_matchings(
    secret: ComparedRows, other: ComparedRows, shared: list[tuple[DataFile, DataFile]]
) -> Iterator[RowMatching]:
    """Yield the matchings of the rows of two data sets. `shared` are their common files."""
    if secret.loaded is other.loaded:
        rows = secret.paired(secret.sampled)
        yield RowMatching(rows, rows, "of the same data set", complete=True)
        return
    by_place = _by_place(secret, other, shared)
    if by_place is not None:
        yield by_place
    yield from _by_value(secret, other)


def _by_place(secret: ComparedRows, other: ComparedRows, shared: list[tuple[DataFile, DataFile]]) -> RowMatching | None:
    """Return the matching of rows at the same position of the same file, or of files with equal numbers of rows."""
    why, files = "of the same file", shared
    if not files:
        first, second = secret.loaded.dataset.files, other.loaded.dataset.files
        if [file.rows for file in first] != [file.rows for file in second]:
            return None
        why, files = "at the same place of their files", list(zip(first, second, strict=True))
        if secret.numbers == other.numbers:
            return RowMatching(secret.placed, other.placed, why, complete=True) if secret.placed.rows else None
    pairs = [
        pair
        for one, two in files
        for pair in zip(secret.in_file(one), other.in_file(two), strict=False)
        if pair[0].number == pair[1].number
    ]
    return _together(secret, other, pairs, why, complete=True) if pairs else None


def _together(
    secret: ComparedRows, other: ComparedRows, pairs: list[Pair], why: str, field: str | None = None, *, complete: bool
) -> RowMatching:
    first, second = zip(*_spread(pairs), strict=True)
    return RowMatching(secret.paired(first), other.paired(second), why, field, complete)


def _by_value(secret: ComparedRows, other: ComparedRows) -> Iterator[RowMatching]:
    """Yield the matchings by a value that identifies the rows with secrets."""
    public = [data_field.name for data_field in secret.loaded.dataset.fields if not data_field.secret]
    names = [data_field.name for data_field in other.loaded.dataset.fields]
    rows_by_value = {
        (mine, theirs): pairs
        for mine in public
        if not secret.index(mine).keys().isdisjoint(other.match_keys_anywhere)
        for theirs in names
        if (pairs := _pairs_by_index(secret.index(mine), other, theirs))
    }
    largest = sorted(rows_by_value, key=lambda key: (-len(rows_by_value[key]), key[0] != key[1], key))[
        :MOST_FIELD_PAIRS
    ]
    for mine, theirs in largest:
        pairs = rows_by_value[mine, theirs]
        least = min(len(secret.sampled), len(other.loaded.rows))
        if len({id(one) for one, _ in pairs}) < MIN_SHARE_MATCHED * least:
            continue
        complete = len(secret.loaded.rows) == len(other.loaded.rows) == len(pairs)
        yield _together(secret, other, pairs, f"that share `{theirs}`", theirs, complete=complete)


def _pairs_by_index(index: dict[int, LoadedRow], other: ComparedRows, name: str) -> list[Pair]:
    if index.keys().isdisjoint(other.match_keys(name)):
        return []
    keys = other.keys(name)
    return [(index[key], row) for key, row in zip(keys, other.loaded.rows, strict=True) if key in index]


def _spread(every: list[Each]) -> tuple[Each, ...]:
    if len(every) <= MOST_ROWS:
        return tuple(every)
    return tuple(every[place * len(every) // MOST_ROWS] for place in range(MOST_ROWS))


def _key(value: Any) -> int:
    """Return the match key of a value, ignoring case and spaces; 0 for a value that identifies nothing."""
    if isinstance(value, str):
        if len(value) > 2 * MATCH_KEY_CHARACTERS:
            value = f"{value[:MATCH_KEY_CHARACTERS]} {value[-MATCH_KEY_CHARACTERS:]}"
        text = " ".join(value.split()).casefold()
        return hash(text) if len(text) > 2 else 0
    return hash(str(value)) if isinstance(value, int) and not isinstance(value, bool) else 0
