"""Copies of secrets: fields that repeat the content of a secret field. Sources are compared by content, not by name.

The same column of the same file is a copy, whatever the file's name, compression or format. A field of other rows is a
copy if matching rows agree so often that it cannot be chance. Only file data sets are compared, each pair of contents
once; secrets of generated data sets follow from their sources.
"""

from __future__ import annotations

import math
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from tripos_compiler.plan import DataField, DataFile, OptionalType, TextType, Type
from tripos_compiler.resolve.program import ComparisonKey, CopiedField, Copy, Field, KnownCopies, LoadedDataset
from tripos_compiler.secrecy.row_matching import (
    CONTROL_PAIRS,
    ComparedColumn,
    ComparedRows,
    NormalizedValue,
    Place,
    RowMatching,
    comparable_text,
    describe_place,
    occurrences,
    row_matchings,
)
from tripos_compiler.source.data_classes import dataclass

# Evidence in matching rows

SHARE = 0.9
"""The share of rows that must contain the secret value."""
MIN_SURPRISE_DIGITS = 5.5
"""The surprise, in decimal digits, that is no accident: a probability of one in 300,000."""
SAME_NAME = 3.0
"""The digits of surprise that an equal name of field or column is worth."""
RANKS = {"all": 0, "end": 1, "start": 2, "number": 3, "most": 4}
"""Which of several places a message names."""
OTHER_NAMES = 20
"""The fewest rows for which a one-to-one mapping of values is searched."""


@dataclass(frozen=True)
class CopyEvidence:
    """Evidence that a field repeats a secret field, in words: how, and in which rows."""

    does: str
    rows: str


def find_copy(secret: ComparedColumn, other: ComparedColumn, matching: RowMatching) -> CopyEvidence | None:
    """Return how a field repeats a secret field in matching rows; None if it does not."""
    if matching.count < 2 and not matching.complete:
        return None
    match = _place(secret, other, matching, 0, occurrences)
    if match is not None and match[2] >= MIN_SURPRISE_DIGITS - _name_evidence(secret, other):
        place, count, _ = match
        return CopyEvidence(describe_place(place), _rows(count, matching))
    if secret.loaded is not other.loaded:
        # A field that is the end of a solution is the answer.
        match = _place(other, secret, matching, 1, _places_at_end)
        if match is not None and match[2] >= MIN_SURPRISE_DIGITS:
            return CopyEvidence("has what ends the value of", _rows(match[1], matching))
    return _renamed(secret, other, matching)


def _name_evidence(secret: ComparedColumn, other: ComparedColumn) -> float:
    """Return the digits of surprise that the name of a field is worth."""
    if secret.part is not None:
        return 0.0
    apart = {*secret.field.columns, secret.field.name}.isdisjoint((*other.field.columns, other.field.name))
    return 0.0 if apart else SAME_NAME


def _places_at_end(holder: NormalizedValue, held: NormalizedValue) -> set[Place]:
    places = occurrences(holder, held)
    return {place for place in places if place[1] == "end"} if places else places


def _rows(count: int, matching: RowMatching) -> str:
    return f"in {count:,} of {matching.count:,} rows {matching.why}"


def _place(
    held: ComparedColumn,
    holder: ComparedColumn,
    matching: RowMatching,
    side: int,
    find_places: Callable[[NormalizedValue, NormalizedValue], set[Place]],
) -> tuple[Place, int, float] | None:
    """Return the place at which one column has the values of another in nearly all pairs, the number of pairs, and the
    surprise in digits.

    `side` (0 or 1) is the side of the pairs with the column that is contained in the other.
    """
    sides = (matching.one, matching.two)
    sample, nonempty = sides[side].sample(held)
    holders, least = sides[1 - side].sample(holder)[0], 0.75 * nonempty
    if not _may_contain(holders, sample, least) or _most_frequent_place(sample, holders, find_places, least) is None:
        return None
    pairs = [(pair[side], pair[1 - side]) for pair in matching.pairs if held.plain(pair[side])]
    held_values, holder_values = (
        [held.normalized(one) for one, _ in pairs],
        [holder.normalized(two) for _, two in pairs],
    )
    best = _most_frequent_place(held_values, holder_values, find_places, SHARE * len(pairs))
    if best is None:
        return None
    place, count = best
    # One side is rotated as a control: agreement in the shuffled pairs is accidental.
    first = pairs[:: max(1, len(pairs) // CONTROL_PAIRS)][:CONTROL_PAIRS]
    shift = len(first) // 2
    shuffled = (
        [(one[0], two[1]) for one, two in zip(first, (*first[shift:], *first[:shift]), strict=True)] if shift else []
    )
    differ = [(one, two) for one, two in shuffled if held.plain(one) != held.plain(two)]
    accident = sum(place in find_places(holder.normalized(two), held.normalized(one)) for one, two in shuffled)
    by_chance = accident / len(shuffled) if differ and len(shuffled) >= 10 else 0.0
    chances = [held.chance(one) for one, _ in pairs]
    mean = max(sum(chances) / len(chances) * (1 if place[1] == "all" or len(shuffled) >= 10 else 3), by_chance)
    return place, count, _surprise(count, len(pairs), mean)


def _may_contain(holders: Sequence[NormalizedValue], sample: Sequence[NormalizedValue], least: float) -> bool:
    """Return false if fewer than `least` of the holders can contain the value paired with them.

    Nearly all pairs of columns have nothing in common, so this cheap test comes first.
    """
    left = len(sample)
    for holder, normalized_value in zip(holders, sample, strict=True):
        if not holder.may_have(normalized_value):
            left -= 1
            if left < least or not left:
                return False
    return True


def _most_frequent_place(
    values: Sequence[NormalizedValue],
    holders: Sequence[NormalizedValue],
    find_places: Callable[[NormalizedValue, NormalizedValue], set[Place]],
    least: float,
) -> tuple[Place, int] | None:
    """Return the place at which most of `holders` contain the value paired with them, and their number; None if fewer
    than `least`.

    The search ends as soon as `least` cannot be reached.
    """
    counts: dict[Place, int] = {}
    most, left = 0, len(values)
    for one, two in zip(values, holders, strict=True):
        if most + left < least:
            return None
        left -= 1
        for place in find_places(two, one):
            counts[place] = counts.get(place, 0) + 1
            most = max(most, counts[place])
    if not counts or most < least:
        return None
    return min(
        counts.items(), key=lambda place_count: (-place_count[1], RANKS.get(place_count[0][1], len(RANKS)), place_count)
    )


def _surprise(count: int, rows: int, chance: float) -> float:
    """Return the surprise, in decimal digits, if `count` of the rows agree by accident (Chernoff bound)."""
    share = count / rows
    if chance >= share:
        return 0.0
    agreeing = share * math.log10(share / chance)
    return rows * (agreeing + ((1 - share) * math.log10((1 - share) / (1 - chance)) if share < 1 else 0.0))


def _renamed(secret: ComparedColumn, other: ComparedColumn, matching: RowMatching) -> CopyEvidence | None:
    """Return the evidence that the values of two columns map one to one in all rows, such as 1 for A."""
    if matching.count < OTHER_NAMES or not _have_one_pattern(secret, other, matching):
        return None
    pairs = matching.pairs
    both = Counter((secret.plain(one), other.plain(two)) for one, two in pairs)
    secret_counts, other_counts = Counter(one for one, _ in both.elements()), Counter(two for _, two in both.elements())
    if (
        len(secret_counts) > len(pairs) // 4
        or "" in other_counts
        or not len(both) == len(secret_counts) == len(other_counts) > 1
    ):
        return None
    rows = len(pairs)
    repeated = sum((count / rows) ** 2 for count in secret_counts.values())
    names = math.lgamma(len(secret_counts) + 1) / math.log(10)
    if -(rows - len(secret_counts)) * math.log10(repeated) - names < MIN_SURPRISE_DIGITS:
        return None
    return CopyEvidence("says under other names what is said by", _rows(rows, matching))


def _have_one_pattern(secret: ComparedColumn, other: ComparedColumn, matching: RowMatching) -> bool:
    pattern = matching.one.pattern(secret)
    return pattern is not None and pattern == matching.two.pattern(other)


# Copied fields of two data sets

FEWEST_VALUES = 5
"""The fewest different values of a list of answers."""


def find_copied_fields(secret: ComparedRows, other: ComparedRows) -> Iterator[CopiedField]:
    """Yield the fields of a data set that repeat a secret of another, or of the same data set."""
    shared = list(shared_files(secret.loaded, other.loaded))
    matchings = list(row_matchings(secret, other, shared))
    joined = list(_shared_with_joins(secret.loaded, other.loaded))
    own = secret.loaded is other.loaded
    columns = [column for column in other.columns.values() if not (own and column.field.secret)]
    as_long = not own and len(secret.loaded.rows) == len(other.loaded.rows)
    for parts in secret.secrets.values():
        compared = [(matching, part, _candidates(part, other, matching)) for matching in matchings for part in parts]
        listed = as_long and not parts[0].counts.keys().isdisjoint(other.values_anywhere)
        if not (shared or joined or listed or any(candidates for _, _, candidates in compared)):
            continue
        for column in columns:
            field = _same_column(secret.loaded, parts[0].field, other.loaded, column.field, shared, joined)
            field = field or _same_values(secret, column, compared) or _same_list(secret, parts[0], column)
            if field is not None:
                yield field


def _candidates(secret: ComparedColumn, other: ComparedRows, matching: RowMatching) -> Set[str]:
    """Return the fields for which `find_copy` can find a copy. Nearly none can, which is decided for all fields
    at once.
    """
    values, nonempty = matching.one.sample(secret)
    fields, anywhere = matching.two.sample_of_all
    least = 0.75 * nonempty
    any_has, apart = _may_contain(anywhere, values, least), secret.loaded is not other.loaded
    candidates = {
        name
        for name, (normalized_values, nonempty_of_field) in fields.items()
        if (any_has and _may_contain(normalized_values, values, least))
        or (apart and _may_contain(values, normalized_values, 0.75 * nonempty_of_field))
    }
    if matching.count >= OTHER_NAMES and matching.one.pattern(secret) is not None:
        candidates |= {name for name, column in other.columns.items() if _have_one_pattern(secret, column, matching)}
    return candidates


def _same_values(
    secret: ComparedRows, column: ComparedColumn, compared: Sequence[tuple[RowMatching, ComparedColumn, Set[str]]]
) -> CopiedField | None:
    """Return the copy if a field has the values of a secret field or of a part of it."""
    for matching, part, candidates in compared:
        if matching.field == column.field.name or column.field.name not in candidates:
            continue
        evidence = find_copy(part, column, matching)
        if evidence is not None and not _public(secret, column, matching):
            inner = f".{part.part}" if part.part is not None else ""
            return CopiedField(
                column.field.name, part.field.name, "values", does=evidence.does, rest=f"{inner}` {evidence.rows}"
            )
    return None


def _same_list(rows: ComparedRows, secret: ComparedColumn, column: ComparedColumn) -> CopiedField | None:
    """Return the copy if a field with as many rows has the same values in another order, most of them once.

    Such a list reveals the answers, though not which row each belongs to.
    """
    if secret.loaded is column.loaded or len(secret.loaded.rows) != len(column.loaded.rows):
        return None
    if secret.counts.keys().isdisjoint(column.counts):
        return None
    common, many = secret.counts & column.counts, secret.counts.total()
    if common.total() < SHARE * many or len(common) < max(FEWEST_VALUES, many / 2):
        return None
    public = (compared_column for compared_column in rows.columns.values() if not compared_column.field.secret)
    if any((compared_column.counts & column.counts).total() >= SHARE * many for compared_column in public):
        return None  # it lists public values
    return CopiedField(column.field.name, secret.field.name, "values")


def _public(secret: ComparedRows, column: ComparedColumn, matching: RowMatching) -> bool:
    """Return true if a field only repeats a public field of the matching rows."""
    if secret.loaded is column.loaded:
        return False
    texts = matching.two.first_values(column)
    least = SHARE * len(texts)
    return any(
        sum(map(operator.eq, matching.one.first_values(public), texts)) >= least
        for public in secret.columns.values()
        if not public.field.secret
    )


def shared_files(one: LoadedDataset, two: LoadedDataset) -> Iterator[tuple[DataFile, DataFile]]:
    """Yield the files of two data sets with the same content, compressed or not."""
    yield from _alike(one, one.dataset.files, two, two.dataset.files)


def _alike(
    one: LoadedDataset, files_of_one: Sequence[DataFile], two: LoadedDataset, files_of_two: Sequence[DataFile]
) -> Iterator[tuple[DataFile, DataFile]]:
    files = {digest: file for file in reversed(files_of_one) for digest in digests(one, file)}
    for file in files_of_two:
        data_file = next((files[digest] for digest in digests(two, file) if digest in files), None)
        if data_file is not None:
            yield data_file, file


def digests(loaded: LoadedDataset, file: DataFile) -> tuple[str, str]:
    """Return the digests of a file, as it is and decompressed."""
    return file.sha256, loaded.unpacked.get(file.path, file.sha256)


def _shared_with_joins(one: LoadedDataset, two: LoadedDataset) -> Iterator[tuple[DataFile, DataFile, frozenset[str]]]:
    """Yield the files of equal content of which at least one is joined, with the columns that both take from it."""
    if not (one.dataset.joins or two.dataset.joins):
        return
    every = [(None, one.dataset.files), *((frozenset(join.columns), join.files) for join in one.dataset.joins)]
    others = [(None, two.dataset.files), *((frozenset(join.columns), join.files) for join in two.dataset.joins)]
    for taken, files_of_one in every:
        for also, files_of_two in others:
            if taken is not None or also is not None:
                common = also if taken is None else taken if also is None else taken & also
                yield from (
                    (file, same, common or frozenset()) for file, same in _alike(one, files_of_one, two, files_of_two)
                )


def _own_columns(loaded: LoadedDataset, columns: Sequence[str]) -> set[str]:
    """Return the columns that are read from the rows' own files."""
    return set(columns).difference(*(join.columns for join in loaded.dataset.joins))


def _same_column(
    secret: LoadedDataset,
    of: DataField,
    other: LoadedDataset,
    data_field: DataField,
    shared: list[tuple[DataFile, DataFile]],
    joined: list[tuple[DataFile, DataFile, frozenset[str]]],
) -> CopiedField | None:
    own = _own_columns(secret, of.columns) & _own_columns(other, data_field.columns)
    for file, same, taken in (*((*pair, own) for pair in shared), *joined):
        for column in (column for column in data_field.columns if column in of.columns and column in taken):
            captured = column in file.captures, column in same.captures
            if not any(captured) and readings_overlap(of.type, data_field.type):
                where = same.path if same.path == file.path else f"{same.path}, which holds what {file.path} holds"
                return CopiedField(data_field.name, of.name, "column", column, where)
    pairs = [(_captured(of, file), _captured(data_field, same)) for file, same in shared]
    if pairs and all(one is not None and one == two for one, two in pairs):
        return CopiedField(data_field.name, of.name, "capture")
    return None


def _captured(of: DataField, file: DataFile) -> str | None:
    """Return the part of a file's name that a field reads."""
    return next((file.captures[column] for column in of.columns if column in file.captures), None)


def readings_overlap(one: Type, two: Type) -> bool:
    """Return true if two types of a column can hold the same part of it; only records with different fields cannot.

    >>> from tripos_compiler.plan import ListType, RecordType, TextType
    >>> key, note = RecordType(fields={"key": TextType()}), RecordType(fields={"note": TextType()})
    >>> readings_overlap(key, note), readings_overlap(key, ListType(of=key)), readings_overlap(key, TextType())
    (False, True, True)
    """
    while one.kind in ("optional", "list", "set"):
        one = one.of
    while two.kind in ("optional", "list", "set"):
        two = two.of
    if one.kind != "record" or two.kind != "record":
        return True
    common = set(one.fields) & set(two.fields)
    return any(readings_overlap(one.fields[name], two.fields[name]) for name in common)


# All data sets


def find_copies(loaded: Mapping[str, LoadedDataset], known: KnownCopies) -> Iterator[Copy]:
    """Yield all copies of secret fields among file data sets, except equal values within one data set
    (`unmarked_copies`).

    Comparisons in `known` are not repeated, and those of data sets that no longer exist are dropped.
    """
    contents = {name: _content(dataset) for name, dataset in loaded.items()}
    alike: dict[str, list[str]] = defaultdict(list)
    for name, content in contents.items():
        alike[content].append(name)
    rows = {name: ComparedRows(loaded[name]) for names in alike.values() for name in names[:2]}
    copies: dict[ComparisonKey, tuple[CopiedField, ...]] = {}
    related: dict[str, list[str]] = defaultdict(list)
    for owner, owners in alike.items():
        if not _has_secret(loaded[owners[0]]):
            continue
        for other, others in alike.items():
            for two in others[:1] if other != owner else owners[:2]:
                key = (owner, other, two == owners[0])
                fields = known.copies.get(key)
                copies[key] = fields if fields is not None else tuple(find_copied_fields(rows[owners[0]], rows[two]))
            if copies.get((owner, other, False)):
                related[owner].append(other)
    known.copies = copies
    for name, content in contents.items():
        copied_fields = copies.get((content, content, True), ())
        yield from (field.between(name, name) for field in copied_fields if field.how != "values")
        for other in related[content]:
            for two in alike[other]:
                if two != name:
                    yield from (field.between(name, two) for field in copies[content, other, False])


def copies_by_field(loaded: Mapping[str, LoadedDataset], known: KnownCopies) -> dict[Field, tuple[Copy, ...]]:
    """Return, by field, the secret fields that it repeats, without itself and without `unmarked_copies`.

    `loaded` are the file data sets by their names in the plan (`Program.loaded`). A secret field that repeats the
    secret of another data set is included.
    """
    by_field: dict[Field, list[Copy]] = defaultdict(list)
    for copy in find_copies(loaded, known):
        by_field[copy.field].append(copy)
    return {copied: tuple(copies) for copied, copies in by_field.items()}


def unmarked_copies(loaded: Mapping[str, LoadedDataset], known: KnownCopies) -> Iterator[Copy]:
    """Yield the public fields with the values of a secret field of the same rows.

    Either nothing there is secret, or a mark is missing; the author must decide.
    """
    for name, dataset in loaded.items():
        if not _has_secret(dataset):
            continue
        content = _content(dataset)
        key = (content, content, True)
        if key not in known.copies:
            rows = ComparedRows(dataset)
            known.copies[key] = tuple(find_copied_fields(rows, rows))
        yield from (field.between(name, name) for field in known.copies[key] if field.how == "values")


def copies_by_key(loaded: Mapping[str, LoadedDataset], known: KnownCopies) -> dict[Field, tuple[Field, ...]]:
    """Return, by join column that no field reads, the secret fields whose values it has, in the same or in
    other rows.
    """
    keyed = {name: _with_keys(dataset) for name, dataset in loaded.items()}
    names = {(name, _key_field(column)): (name, column) for name, dataset in loaded.items() for column in dataset.keys}
    if not names:
        return {}
    by_key: dict[Field, list[Field]] = defaultdict(list)
    for copy in (*find_copies(keyed, known), *unmarked_copies(keyed, known)):
        if copy.field in names and copy.of not in by_key[names[copy.field]]:
            by_key[names[copy.field]].append(copy.of)
    return {key: tuple(secrets) for key, secrets in by_key.items()}


def _with_keys(loaded: LoadedDataset) -> LoadedDataset:
    """Return a data set with its unread join columns as fields."""
    if not loaded.keys:
        return loaded
    fields = (
        DataField(name=_key_field(name), type=OptionalType(of=TextType()), columns=(name,)) for name in loaded.keys
    )
    dataset = loaded.dataset.model_copy(update={"fields": (*loaded.dataset.fields, *fields)})
    texts = {_key_field(name): [comparable_text(value) for value in values] for name, values in loaded.keys.items()}
    rows = tuple(
        replace(row, values={**row.values, **{name: values[place] for name, values in texts.items()}})
        for place, row in enumerate(loaded.rows)
    )
    return replace(loaded, dataset=dataset, rows=rows)


def _key_field(column: str) -> str:
    return f"on {column}"  # no field has a space in its name


def _has_secret(loaded: LoadedDataset) -> bool:
    return any(field.secret for field in loaded.dataset.fields)


def _content(loaded: LoadedDataset) -> str:
    """Return the description of a data set without its name."""
    return loaded.dataset.model_dump_json(exclude={"name"})


def datasets_sharing_files(loaded: Mapping[str, LoadedDataset]) -> dict[str, frozenset[str]]:
    """Return, by data set, the others that read one of its files, compressed or not."""
    readers: dict[str, set[str]] = defaultdict(set)
    for name, dataset in loaded.items():
        for file in dataset.dataset.files:
            for digest in digests(dataset, file):
                readers[digest].add(name)
    return {
        name: frozenset[str]().union(
            *(readers[digest] for file in loaded_dataset.dataset.files for digest in digests(loaded_dataset, file))
        )
        - {name}
        for name, loaded_dataset in loaded.items()
    }


def identifies_rows(loaded: LoadedDataset, names: frozenset[str]) -> bool:
    """Return true if no two rows of a data set have the same values in these fields; repeated rows are ignored.

    1 and 1.0 are equal, because no order distinguishes them.
    """
    if loaded.repeated:
        return False
    columns = [[_comparable(row.values.get(name)) for row in loaded.rows] for name in sorted(names)]
    comparable = (column for column in columns if all(isinstance(value, str) for value in column))
    if any(len(set(values)) == len(values) for values in comparable):
        return True
    return len({repr(values) for values in zip(*columns, strict=True)}) == len(loaded.rows)


def _comparable(value: Any) -> Any:
    """Return a float without fraction as an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
