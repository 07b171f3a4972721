"""Copies of secrets in the files of a plan, found by content and not by name, and the changed files of another world.

Two rows are the same row if the identifying text of one occurs in the other. A column, or a part of a record, is a copy
of a secret if it has the secret's value in every such row, and this is not by chance.

In another world a secret is replaced by a value of the same type. If the name of a file contains a secret, a row with a
changed secret moves to another file, at its beginning or end; a new name is a new file. A row with another key gets the
joined columns of another row."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, assert_never

import orjson

from tripos_compiler.library.media import Medium
from tripos_compiler.plan import (
    AudioType,
    Axis,
    BoolType,
    ChoiceType,
    Dataset,
    DialogueType,
    FileType,
    ImageType,
    IntegerType,
    Join,
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
from tripos_runtime.datasets.data_files import dataset_files, key_text
from tripos_runtime.secrecy_trial.tables import DataFiles, Key, Records

Kind = Literal["permuted", "exchanged", "drawn", "fresh", "missing", "alike"]
"""The ways to change secrets. `permuted` gives a row all the secrets of another, or new ones if they are equal;
`exchanged` gives it those of another even if they are equal; `drawn` gives some rows values from elsewhere in the
files, each by itself, so that they may equal other values; `fresh` gives values that occur nowhere; `missing` gives
none if the type allows that; `alike` gives all rows those of the first."""
OTHER_MEDIA = {"image": "image/png", "audio": "audio/wav", "file": "application/pdf"}
"""MIME types of contents that do not exist: in a trial nothing is sent."""
SYLLABLES = ("ba", "cor", "di", "fen", "gu", "hal", "jo", "kem", "lu", "mor", "ni", "pos", "qua", "rel", "so", "tiv")


def new_value(
    type: Type, old: Any, dice: random.Random, axes: Mapping[str, Axis], pool: Sequence[Any], lacks: bool
) -> Any:
    """Return a value of a type that differs from `old`, if the type has another, as JSON would write it. A path in a
    tree is taken from the `pool` of the column's values. With `lacks`, the value is missing or empty if the type allows
    that.

    >>> new_value(BoolType(), True, random.Random(1), {}, [], False)
    False
    >>> new_value(ListType(of=TextType()), ["a"], random.Random(1), {}, [], True)
    []
    """
    match type:
        case OptionalType(of=of):
            return None if lacks else new_value(of, _none_for_empty(old, of), dice, axes, pool, False)
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
            others = [choice for choice in _choices(values, axes.get(type.axis or "")) if not _same(choice, old)]
            return dice.choice(others or list(values))
        case ListType(of=of) | SetType(of=of):
            return [] if lacks else _list(of, _parsed(old), dice, axes, pool)
        case RecordType(fields=fields):
            parts = _parsed(old)
            before: Mapping[str, Any] = parts if isinstance(parts, Mapping) else {}
            return {name: new_value(type_, before.get(name), dice, axes, [], lacks) for name, type_ in fields.items()}
        case DialogueType():
            turns = _parsed(old)
            speakers = [turn.get("speaker") for turn in turns] if _are_records(turns) else []
            speakers = [speaker for speaker in speakers if isinstance(speaker, str)] or ["a", "b"]
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


def with_unread_parts(type: Type, old: Any, new: Any) -> Any:
    """Return `new` where `type` reads `old`; the rest of `old` stays: parts of records that the type does not name, and
    the number of elements of a list.

    >>> with_unread_parts(ListType(of=RecordType(fields={"label": TextType()})), [{"said": "hi", "label": "good"}],
    ...        [{"label": "bad"}, {"label": "odd"}])
    [{'said': 'hi', 'label': 'bad'}]
    """
    if not _has_parts(type):
        return new
    was, other = _parsed(old), _parsed(new)
    match type:
        case OptionalType(of=of):
            return with_unread_parts(of, old, new)
        case ListType(of=of) | SetType(of=of) if others := _listed(other):
            return [with_unread_parts(of, each, others[i % len(others)]) for i, each in enumerate(_listed(was))]
        case RecordType(fields=fields) if isinstance(was, Mapping) and isinstance(other, Mapping):
            read = {name: type_ for name, type_ in fields.items() if name in other}
            return {
                **was,
                **{name: with_unread_parts(type_, was.get(name), other[name]) for name, type_ in read.items()},
            }
    return old


def permuted(values: Sequence[Any], dice: random.Random) -> list[int]:
    """Return for each position the position that gives it its value, so that as many as possible change.

    >>> permuted(["a", "b"], random.Random(1))
    [1, 0]
    """
    count = len(values)
    order = list(range(count))
    dice.shuffle(order)
    unchanged = [(sum(_same(values[order[i]], values[order[(i + by) % count]]) for i in range(count)), by)
                 for by in dict.fromkeys((1, 2, 3, count // 2, count // 3)) if 0 < by < count]  # fmt: skip
    by = min(unchanged)[1] if unchanged else 0  # the rotation of the shuffled order that leaves fewest values unchanged
    givers = [0] * count
    for i in range(count):
        givers[order[i]] = order[(i + by) % count]
    return givers


def canonical_text(value: Any) -> str:
    """Return a value as a text that is equal for copies in different formats: `"3"` and `3` have the same text, and so
    have a list and its JSON, and a list of one element and the element."""
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
    """Return the list or record in a JSON text; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return orjson.loads(value)
        except ValueError:
            return value
    return value


def _has_parts(type: Type) -> bool:
    """Return true if a type is a record or a list of records: it may read some parts and not others."""
    return type.kind == "record" or (isinstance(type, OptionalType | ListType | SetType) and _has_parts(type.of))


def _listed(value: Any) -> list[Any]:
    """Return a list, or the list of records that an object of objects is read as; empty for anything else."""
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
    """Return a text that occurs nowhere; a number if the old one was a number, so that computations still work."""
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
    """Return JSON of the same form in which every value differs, so that any part that an expression reads differs.
    With `lacks`, one without parts."""
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
    return [value.name for value in axis.values] if axis is not None else list(values)


def _list(of: Type, old: Any, dice: random.Random, axes: Mapping[str, Axis], pool: Sequence[Any]) -> list[Any]:
    """Return a list of another length, since the length reveals something too."""
    before = _listed(old)
    inner = [each for values in map(_parsed, pool) for each in _listed(values)]
    count = len(before) + 1 if len(before) < 3 else len(before) - 1
    return [new_value(of, before[i] if i < len(before) else None, dice, axes, inner, False) for i in range(count)]


Path = tuple[str, ...]
"""A value of a record: its column, and the names below it."""
Row = tuple[Key, int]
"""A row of a file, by its number from 1."""
Place = tuple[Key, int, Path]
"""A value of a row of a file."""
LONG = 12
"""A text of this many characters does not occur in two files by chance."""
SHARED = 0.5
"""The smallest share of the rows of one of two files that must occur in the other: otherwise their columns are not
compared."""
BITS = 6.0
"""How unlikely it must be that a column agrees with a secret by chance, as the binary logarithm of the odds against
it."""


@dataclass(frozen=True)
class Copies:
    """The copies of the secrets of a plan's files, and the rows that are the same row."""

    tables: DataFiles

    @cached_property
    def leaves(self) -> Mapping[Key, list[dict[Path, str]]]:
        """The values in the columns that are read of every file, as texts, by the number of the record less 1."""
        leaves: dict[Key, list[dict[Path, str]]] = {}
        for key, table in self.tables.all_files.items():
            columns = self.tables.columns_read[key]
            records = ({name: value for name, value in record.items() if name in columns} for record in table.records)
            leaves[key] = [{path: canonical_text(value) for path, value in leaves_of(record)} for record in records]
        return leaves

    def same(self, row: Row) -> list[Row]:
        """Return the rows of other files that seem to be the same row."""
        group = self._group_of[row[0]]
        if group not in self._same:
            self._same[group] = self._aligned(group)
        return self._same[group].get(row, [])

    def twins(self, row: Row) -> list[Row]:
        """Return the rows of other files that are certainly the same row: they have a long identifying text in
        common."""
        return [other for other in self.same(row) if (row, other) in self._certain]

    @cached_property
    def _same(self) -> dict[tuple[Key, ...], Mapping[Row, list[Row]]]:
        """The rows that are the same row, by the files whose rows have been compared so far."""
        return {}

    @cached_property
    def _certain(self) -> set[tuple[Row, Row]]:
        """The pairs of rows with a long identifying text in common."""
        return set()

    @cached_property
    def of(self) -> Mapping[Row, Mapping[str, list[Place]]]:
        """The copies of every secret, by its row and column."""
        found: dict[Row, dict[str, list[Place]]] = {}
        for keys in self._groups:
            own = [(key, number) for key in keys for number in range(1, len(self.leaves[key]) + 1)]
            pairs: dict[tuple[Key, ...], list[tuple[Row, Row]]] = defaultdict(list)
            pairs[()] = [(row, row) for row in own]
            for row in own:
                for other in self.same(row):
                    pairs[self._group_of[other[0]]].append((row, other))
            columns = dict.fromkeys(
                secret_column.column for key in keys for secret_column in self.tables.secrets.get(key, ())
            )
            for column in columns:
                for group, pair in pairs.items():
                    for path in self._copied(column, pair, own=not group):
                        for row, other in pair:
                            if path in self._at(other) and (column,) in self._at(row):
                                found.setdefault(row, {}).setdefault(column, []).append((*other, path))
        return found

    @cached_property
    def _groups(self) -> tuple[tuple[Key, ...], ...]:
        """The files that are read together, as parts of the same data sets."""
        readers: dict[Key, list[str]] = {key: [] for key in self.tables.all_files}
        for dataset in self.tables.plan.datasets:
            for key in self.tables.keys(dataset.name):
                readers[key].append(dataset.name)
        together: dict[tuple[str, ...], list[Key]] = defaultdict(list)
        for key, names in readers.items():
            together[tuple(names)].append(key)
        return tuple(tuple(keys) for keys in together.values())

    @cached_property
    def _group_of(self) -> Mapping[Key, tuple[Key, ...]]:
        return {key: keys for keys in self._groups for key in keys}

    def _at(self, row: Row) -> dict[Path, str]:
        return self.leaves[row[0]][row[1] - 1]

    def _copied(self, column: str, pairs: list[tuple[Row, Row]], own: bool) -> Iterator[Path]:
        """Yield the paths of values in the second rows of pairs that agree with a secret of the first rows, wherever
        both exist. `own` is true if each row is paired with itself."""
        candidates = {path for _, other in pairs[:50] for path in self._at(other)}
        for candidate in sorted(candidates):
            if own and (candidate[0] == column or candidate[0] in self._public_columns(pairs)):
                continue
            values: list[str] = []
            for row, other in pairs:
                secret, value = self._at(row).get((column,)), self._at(other).get(candidate)
                if secret is None or value is None:
                    continue
                if secret != value:
                    break
                values.append(secret)
            else:
                if chance_bits(values) >= BITS:
                    yield candidate

    def _public_columns(self, pairs: list[tuple[Row, Row]]) -> set[str]:
        """Return the public columns of the files of these rows."""
        return set().union(*(self.tables.public_columns.get(key, frozenset()) for key in {row[0] for row, _ in pairs}))

    def _aligned(self, group: tuple[Key, ...]) -> dict[Row, list[Row]]:
        """Return, for the rows of files that are read together, the rows of other files that contain their identifying
        texts."""
        identifying = self._identifying(group)
        telling = {path for each in identifying.values() for path, _ in each}
        own = [(key, number) for key in group for number in range(1, len(self.leaves[key]) + 1)]
        found: dict[Row, list[Row]] = defaultdict(list)
        for others in self._groups:
            if others == group:
                continue
            rows = [(key, number) for key in others for number in range(1, len(self.leaves[key]) + 1)]
            hits: dict[tuple[Path, Path], dict[Row, Row]] = defaultdict(dict)
            for other in rows:
                for path, text in self._at(other).items():
                    for own_path, row in identifying.get(text, ()):
                        hits[own_path, path][other] = row
            good = [(path, hit) for (path, _), hit in hits.items() if self._is_good(path, hit, len(own), len(rows))]
            mine = ((self._row_of(other, good, telling), other) for other in rows)
            known = [(row, other) for row, other in mine if row is not None]
            if len(known) >= SHARED * min(len(own), len(rows)):  # fewer are single questions that occur in both
                for row, other in known:
                    found[row].append(other)
            if len(own) == len(rows) and not known:
                for row, other in zip(own, rows, strict=True):  # a copy must then agree in every row
                    found[row].append(other)
        return found

    def _is_good(self, path: Path, hits: Mapping[Row, Row], own: int, others: int) -> bool:
        """Return true if it is not by chance that values of a column occur in these other rows."""
        lengths = [len(self._at(row)[path]) for row in hits.values()]
        return sum(lengths) >= LONG * len(lengths) or len(hits) >= SHARED * min(own, others)

    def _row_of(self, other: Row, good: list[tuple[Path, dict[Row, Row]]], telling: set[Path]) -> Row | None:
        """Return the row that equals another one, if any."""
        agreeing = [(path, rows[other]) for path, rows in good if other in rows]
        known = {row for _, row in agreeing}
        if len(known) != 1:
            return None
        row = known.pop()
        mine, theirs = self._at(row), self._at(other)
        alike = sum(map(len, {mine[path] for path, _ in agreeing}))
        shared = (path for path in telling if path in mine and path in theirs)
        if alike < sum(len(mine[path]) for path in shared if mine[path] != theirs[path]):
            return None  # different questions may come from the same page of a book
        if alike >= LONG:
            self._certain.add((row, other))
        return row

    def _identifying(self, group: tuple[Key, ...]) -> dict[str, list[tuple[Path, Row]]]:
        """Return the texts that occur in only one row of a column with mostly distinct rows, with the column and the
        row. Secrets are excluded."""
        columns: dict[Path, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
        count = 0
        for key in group:
            secret = {column.column for column in self.tables.secrets.get(key, ())}
            for number, record in enumerate(self.leaves[key], 1):
                count += 1
                for path, text in record.items():
                    if text and path[0] not in secret:
                        columns[path][text].append((key, number))
        found: dict[str, list[tuple[Path, Row]]] = defaultdict(list)
        for path, texts in columns.items():
            if len(texts) >= max(2, 0.5 * count):
                for text, rows in texts.items():
                    if len(rows) == 1:
                        found[text].append((path, rows[0]))
        return found


def leaves_of(record: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the values of a record: those of its columns, and of records in them, including records written as JSON."""
    for name, value in record.items():
        path = (*above, name)
        yield path, value
        inner = value
        if isinstance(value, str) and value.lstrip()[:1] == "{":
            try:
                inner = orjson.loads(value)
            except ValueError:
                continue
        if isinstance(inner, Mapping):
            yield from leaves_of(inner, path)


def with_leaf(record: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return a record with another value at a path. A part written as JSON stays JSON, and a list of one element stays
    one.

    >>> with_leaf({"a": '{"b":1}'}, ("a", "b"), 2)
    {'a': '{"b":2}'}
    """
    name, *below = path
    old = record.get(name)
    if not below:
        return {**record, name: [value] if isinstance(old, list) and not isinstance(value, list) else value}
    if isinstance(old, str):
        return {**record, name: orjson.dumps(with_leaf(orjson.loads(old), tuple(below), value)).decode()}
    return {**record, name: with_leaf(dict(old or {}), tuple(below), value)}


def chance_bits(values: list[str]) -> float:
    """Return how unlikely it is, in bits, that another column has the same values by chance: long texts count much, one
    of two values little.

    >>> chance_bits(["yes", "no", "yes"]), chance_bits(["the whole answer", "another answer"]) > 6
    (3.0, True)
    """
    kinds = set(values)
    if len(kinds) < 2:
        return 0.0
    plain = math.log2(len(kinds))
    return sum(max(plain, 8.0) if len(value) >= LONG else plain for value in values)


Rows = tuple[tuple[Key, int], ...]
"""Rows by their file on disk, and their number there."""


@dataclass(frozen=True)
class FileGroup:
    """The files of a data set whose names contain secrets."""

    dataset: Dataset
    keys: tuple[Key, ...]
    secret: frozenset[str]
    """The captured names that are secret fields, or copies of secrets."""

    def path(self, captures: Mapping[str, str]) -> str:
        """Return the path of the file with these captures, which need not exist."""
        for file in self.dataset.files:
            if file.captures == captures:
                return file.path
        found = self.dataset.source
        for name, capture in captures.items():
            found = found.replace(f"{{{name}}}", capture.replace("/", "_"))
        return found


@dataclass(frozen=True)
class Placement:
    """The files that contain the rows in a world. `files` are by SHA-256; `further` do not exist on disk, with their
    group."""

    files: Mapping[str, Rows] = field(default_factory=dict)
    further: tuple[tuple[FileGroup, str, Rows], ...] = ()

    @cached_property
    def elsewhere(self) -> Mapping[tuple[Key, int], str]:
        """The SHA-256 of the file on disk that contains each row that comes from another file."""
        return {row: sha256 for sha256, rows in self.files.items() for row in rows if row[0][1] != sha256}

    def rows(self, dataset: Dataset, tables: DataFiles) -> Rows | None:
        """Return the rows of a data set in order; None if they are as on disk."""
        own = {key[1]: key for key in tables.keys(dataset.name)}
        if own.keys().isdisjoint(self.files):
            return None
        found: list[tuple[str, Rows]] = []
        for file in dataset.files:
            key = tables.key(dataset, file)
            there = self.files.get(file.sha256)
            found.append((file.path, tables.rows(key) if there is None else there))
        found += [(path, rows) for group, path, rows in self.further if all(key[1] in own for key in group.keys)]
        found.sort(key=lambda each: each[0])
        repeats = {(file.sha256, number) for file in dataset.files for number in file.repeats}
        return tuple(
            (own.get(key[1], key), number)
            for _, rows in found
            for key, number in rows
            if (key[1], number) not in repeats
        )


@dataclass(frozen=True)
class FileLayouts:
    """The files of a plan whose names contain secrets."""

    tables: DataFiles
    copies: Copies

    @cached_property
    def groups(self) -> tuple[FileGroup, ...]:
        """The groups of such files, one for each data set that has any."""
        file_groups: list[FileGroup] = []
        for dataset in self.tables.plan.datasets:
            keys = self.tables.keys(dataset.name)
            read = {column for data_field in dataset.fields if data_field.secret for column in data_field.columns}
            read |= {column for key, column in self._copied if key in keys}
            secret = read & {name for file in dataset.files for name in file.captures}
            if secret:
                file_groups.append(FileGroup(dataset, keys, frozenset(secret)))
        return tuple(file_groups)

    @cached_property
    def _copied(self) -> set[tuple[Key, str]]:
        """The columns of files that are copies of a secret."""
        every = (place for columns in self.copies.of.values() for places in columns.values() for place in places)
        return {(key, path[0]) for key, _, path in every if len(path) == 1}

    @cached_property
    def named(self) -> frozenset[tuple[Key, str]]:
        """The columns of files whose secrets are in the names of the files."""
        return frozenset((key, name) for group in self.groups for key in group.keys for name in group.secret)

    def placed(self, records: Records, seed: int) -> Placement:
        """Return which rows are in which files in a world with these records."""
        files: dict[str, Rows] = {}
        further: list[tuple[FileGroup, str, Rows]] = []
        for group in self.groups:
            placed = self._placed(group, records, seed)
            if placed is None:
                continue
            for file in group.dataset.files:
                files[file.sha256] = tuple(placed.pop(file.path, ()))
            further += [(group, path, tuple(rows)) for path, rows in sorted(placed.items())]
        return Placement(files, tuple(further))

    def _placed(self, group: FileGroup, records: Records, seed: int) -> dict[str, list[tuple[Key, int]]] | None:
        """Return the rows of a group's files by path; None if all are as on disk."""
        found: dict[str, list[tuple[Key, int]]] = defaultdict(list)
        coming: list[tuple[str, tuple[Key, int]]] = []
        for key, file in zip(group.keys, group.dataset.files, strict=True):
            for at in self.tables.rows(key):
                path = group.path(_captures_of(file.captures, group.secret, records.get(key, {}).get(at[1])))
                if path == file.path:
                    found[path].append(at)
                else:
                    coming.append((path, at))
        for path, at in coming:
            first = random.Random(repr((seed, at))).random() < 0.5
            found[path].insert(0 if first else len(found[path]), at)
        return found if coming else None


def _captures_of(
    captures: Mapping[str, str], secret: frozenset[str], record: Mapping[str, Any] | None
) -> Mapping[str, str]:
    """Return the captures of the file name for a row: secrets from the row, the rest from its old file."""
    if record is None:
        return captures
    return {name: canonical_text(record.get(name)) if name in secret else capture for name, capture in captures.items()}


Record = dict[str, Any]
JoinKey = tuple[str | None, ...]


@dataclass(frozen=True)
class JoinedRows:
    """The rows of the files that are joined to those of a plan, as far as a row of the plan refers to them."""

    tables: DataFiles

    def joined(self, key: Key, number: int, record: Record) -> Record:
        """Return a changed record with the columns of the joined rows that its keys refer to now. If a key refers to no
        row, optional columns are missing; others stay, since every row of a benchmark has them."""
        before = self.tables[key].records[number - 1]
        dataset = self._datasets.get(key)
        if dataset is None:
            return record
        for place, join in enumerate(dataset.joins):
            names = _names(join)
            now = _key(record, names)
            if now == _key(before, names):
                continue
            found = self._joined_columns[dataset.name, place].get(now)
            for column in self._added(key, number, join, names):
                if found is not None:
                    record = {**record, column: found.get(column)}
                elif column in self._optional[dataset.name]:
                    record = {**record, column: None}
        return record

    def moved(self, records: Records, placement: Placement) -> Records:
        """Return the records of a world with the columns of joined files whose rows moved to other files."""
        found: dict[Key, dict[int, Record]] = {key: dict(rows) for key, rows in records.items()}
        for key, dataset in self._datasets.items():
            for join in dataset.joins:
                moved = any(file.sha256 in placement.files for file in join.files)
                if not moved or any(file.sha256 not in self._by_digest for file in join.files):
                    continue
                there = self._rows_by_join_key(join, placement, records)
                for number, before in enumerate(self.tables[key].records, 1):
                    record = found.get(key, {}).get(number, before)
                    now = there.get(key_text(record.get(join.column)))
                    for column in self._added(key, number, join, _names(join)):
                        if now is not None:
                            record = {**record, column: now.get(column)}
                        elif column in self._optional[dataset.name]:
                            record = {**record, column: None}
                    if record is not before:
                        found.setdefault(key, {})[number] = record
        return found

    def _rows_by_join_key(self, join: Join, placement: Placement, records: Records) -> Mapping[str | None, Record]:
        """Return the rows of a join's files in another world by their join keys."""
        found: dict[str | None, Record] = {}
        for file in join.files:
            placed = placement.files.get(file.sha256)
            for each, number in self.tables.rows(self._by_digest[file.sha256]) if placed is None else placed:
                record = records.get(each, {}).get(number) or self.tables[each].records[number - 1]
                found[key_text(record.get(join.other))] = record
        return found

    @cached_property
    def _by_digest(self) -> Mapping[str, Key]:
        """The files that a data set reads, by SHA-256."""
        return {key[1]: key for key in self.tables.all_files}

    def _added(self, key: Key, number: int, join: Join, names: tuple[str, ...]) -> Iterator[str]:
        """Yield the columns that a row has from a join and not by itself; secret ones are changed anyway."""
        secret = {column.column for column in self.tables.secrets.get(key, ())}
        own = self._own_records[key][number - 1]
        yield from (
            column
            for column in join.columns
            if column not in secret and column not in names and own.get(column) is None
        )

    @cached_property
    def _datasets(self) -> Mapping[Key, Dataset]:
        return {
            key: dataset for dataset in self.tables.plan.datasets if dataset.joins
            for key in self.tables.keys(dataset.name)
        }  # fmt: skip

    @cached_property
    def _own_records(self) -> Mapping[Key, list[Record]]:
        """The records of files with joins, without the joined columns."""
        found: dict[Key, list[Record]] = {}
        for dataset in {each.name: each for each in self._datasets.values()}.values():
            for file in dataset_files(self.tables.reader, dataset, self.tables.spec_files):
                alone = replace(file, joined=())
                found[self.tables.key(dataset, file)] = list(self.tables.reader.rows(alone))
        return found

    @cached_property
    def _joined_columns(self) -> Mapping[tuple[str, int], Mapping[JoinKey, Record]]:
        """For each join of a data set and each key, a record with the joined columns."""
        found: dict[tuple[str, int], dict[JoinKey, Record]] = {}
        for dataset in {each.name: each for each in self._datasets.values()}.values():
            for place, join in enumerate(dataset.joins):
                records = (each for key in self.tables.keys(dataset.name) for each in self.tables[key].records)
                rows = found[dataset.name, place] = {}
                for record in records:
                    rows.setdefault(_key(record, _names(join)), record)
        return found

    @cached_property
    def _optional(self) -> Mapping[str, frozenset[str]]:
        """The optional columns of every data set."""
        found: dict[str, frozenset[str]] = {}
        for dataset in self._datasets.values():
            needed = {
                name
                for data_field in dataset.fields
                if data_field.type.kind != "optional"
                for name in data_field.columns
            }
            found[dataset.name] = (
                frozenset(name for data_field in dataset.fields for name in data_field.columns) - needed
            )
        return found


def _names(join: Join) -> tuple[str, ...]:
    """Return the columns of a row that identify its row in a joined file."""
    captured = {name for file in join.files for name in file.captures}
    return (join.column, *sorted(captured - {join.column, join.other}))


def _key(record: Mapping[str, Any], names: tuple[str, ...]) -> JoinKey:
    return tuple(key_text(record.get(name)) for name in names)
