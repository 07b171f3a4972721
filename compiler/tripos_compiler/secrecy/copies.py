"""Fields that hold what a secret field says: sources are contents, and not names.

The same column of the same file says the same however the file is named, packed or read; and a field of other rows
says it where the rows that belong together agree so often that it is no accident. What is compared are data sets that
are read from files; those that are made follow from what they are made of.

Which data sets are compared: each content with each other once, under however many names it is read.
"""

from __future__ import annotations

import math
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from tripos_compiler.plan import DataField, DataFile, OptionalType, TextType, Type
from tripos_compiler.resolve.program import Contents, CopiedField, Copy, Field, KnownCopies, LoadedDataset
from tripos_compiler.secrecy.row_matching import (
    TURNED,
    ComparedColumn,
    ComparedRows,
    Place,
    Said,
    Together,
    comparable_text,
    occurrences,
    said,
    ways_together,
)
from tripos_compiler.source.data_classes import dataclass

SHARE = 0.9
"""The share of the rows in which a value must be that of the secret field."""
ENOUGH = 5.5
"""So many decimal digits of surprise are no accident: a chance of one in 300,000."""
SAME_NAME = 3.0
"""A field or column that is called as the secret's own is worth so many digits."""
RANKS = {"all": 0, "end": 1, "start": 2, "number": 3, "most": 4}
"""Which of several places is named."""
OTHER_NAMES = 20
"""From so many rows on, values that stand for each other one to one are looked for."""


@dataclass(frozen=True)
class HeldColumn:
    """A field that holds what a secret field says, in words: what it does, and in which rows."""

    does: str
    rows: str


def held_in(secret: ComparedColumn, other: ComparedColumn, together: Together) -> HeldColumn | None:
    """Return how a field of rows that belong together with those of a secret field holds what this says; None where it
    does not."""
    if together.count < 2 and not together.whole:
        return None
    found = _place(secret, other, together, 0, occurrences)
    if found is not None and found[2] >= ENOUGH - _worth(secret, other):
        place, count, _ = found
        return HeldColumn(said(place), _rows(count, together))
    if secret.loaded is not other.loaded:
        # The end of a solution is the solution.
        found = _place(other, secret, together, 1, _ends)
        if found is not None and found[2] >= ENOUGH:
            return HeldColumn("has what ends the value of", _rows(found[1], together))
    return _renamed(secret, other, together)


def _worth(secret: ComparedColumn, other: ComparedColumn) -> float:
    """Return how many digits the name of a field is worth."""
    if secret.part is not None:
        return 0.0
    apart = {*secret.field.columns, secret.field.name}.isdisjoint((*other.field.columns, other.field.name))
    return 0.0 if apart else SAME_NAME


def _ends(holder: Said, held: Said) -> set[Place]:
    found = occurrences(holder, held)
    return {place for place in found if place[1] == "end"} if found else found


def _rows(count: int, together: Together) -> str:
    return f"in {count:,} of {together.count:,} rows {together.why}"


def _place(
    held: ComparedColumn,
    holder: ComparedColumn,
    together: Together,
    side: int,
    looked: Callable[[Said, Said], set[Place]],
) -> tuple[Place, int, float] | None:
    """Return the place at which one column has the values of another in nearly all pairs of rows, in how many, and how
    many digits of surprise that is. `side` of the pairs, 0 or 1, is the row of the column that is held."""
    sides = (together.one, together.two)
    few, speaking = sides[side].few(held)
    holders, least = sides[1 - side].few(holder)[0], 0.75 * speaking
    if not _may_have(holders, few, least) or _most(few, holders, looked, least) is None:
        return None
    pairs = [(pair[side], pair[1 - side]) for pair in together.pairs if held.plain(pair[side])]
    ones, twos = [held.said(one) for one, _ in pairs], [holder.said(two) for _, two in pairs]
    best = _most(ones, twos, looked, SHARE * len(pairs))
    if best is None:
        return None
    place, count = best
    # The rows are shuffled by turning one side; what is then found is an accident.
    first = pairs[:: max(1, len(pairs) // TURNED)][:TURNED]
    turn = len(first) // 2
    turned = [(one[0], two[1]) for one, two in zip(first, (*first[turn:], *first[:turn]), strict=True)] if turn else []
    differ = [(one, two) for one, two in turned if held.plain(one) != held.plain(two)]
    accident = sum(place in looked(holder.said(two), held.said(one)) for one, two in turned)
    by_chance = accident / len(turned) if differ and len(turned) >= 10 else 0.0
    chances = [held.chance(one) for one, _ in pairs]
    mean = max(sum(chances) / len(chances) * (1 if place[1] == "all" or len(turned) >= 10 else 3), by_chance)
    return place, count, _surprise(count, len(pairs), mean)


def _may_have(holders: Sequence[Said], few: Sequence[Said], least: float) -> bool:
    """Return false where fewer than `least` of the holders have the value beside them: nearly all pairs of columns have
    nothing in common, so this is asked first."""
    left = len(few)
    for holder, held in zip(holders, few, strict=True):
        if not holder.may_have(held):
            left -= 1
            if left < least or not left:
                return False
    return True


def _most(
    ones: Sequence[Said], twos: Sequence[Said], looked: Callable[[Said, Said], set[Place]], least: float
) -> tuple[Place, int] | None:
    """Return the place at which most of `twos` have the value of `ones` beside it, and how many; None where these are
    fewer than `least`, which ends the search once it is certain."""
    counts: dict[Place, int] = {}
    most, left = 0, len(ones)
    for one, two in zip(ones, twos, strict=True):
        if most + left < least:
            return None
        left -= 1
        for place in looked(two, one):
            counts[place] = counts.get(place, 0) + 1
            most = max(most, counts[place])
    if not counts or most < least:
        return None
    return min(counts.items(), key=lambda found: (-found[1], RANKS.get(found[0][1], len(RANKS)), found))


def _surprise(count: int, rows: int, chance: float) -> float:
    """Return how many decimal digits the chance has that so many of the rows agree by accident (Chernoff's bound)."""
    share = count / rows
    if chance >= share:
        return 0.0
    agreeing = share * math.log10(share / chance)
    return rows * (agreeing + ((1 - share) * math.log10((1 - share) / (1 - chance)) if share < 1 else 0.0))


def _renamed(secret: ComparedColumn, other: ComparedColumn, together: Together) -> HeldColumn | None:
    """Return whether two columns say the same under other names: 1 where the other says A, in all rows."""
    if together.count < OTHER_NAMES or not _have_one_pattern(secret, other, together):
        return None
    pairs = together.pairs
    both = Counter((secret.plain(one), other.plain(two)) for one, two in pairs)
    ones, twos = Counter(one for one, _ in both.elements()), Counter(two for _, two in both.elements())
    if len(ones) > len(pairs) // 4 or "" in twos or not len(both) == len(ones) == len(twos) > 1:
        return None
    rows = len(pairs)
    repeated = sum((count / rows) ** 2 for count in ones.values())
    names = math.lgamma(len(ones) + 1) / math.log(10)
    if -(rows - len(ones)) * math.log10(repeated) - names < ENOUGH:
        return None
    return HeldColumn("says under other names what is said by", _rows(rows, together))


def _have_one_pattern(secret: ComparedColumn, other: ComparedColumn, together: Together) -> bool:
    pattern = together.one.pattern(secret)
    return pattern is not None and pattern == together.two.pattern(other)


FEWEST_VALUES = 5
"""A list of fewer different values is no list of answers."""


def find_copied_fields(secret: ComparedRows, other: ComparedRows) -> Iterator[CopiedField]:
    """Yield the fields of a data set that hold a secret of another, or of its own."""
    shared = list(shared_files(secret.loaded, other.loaded))
    ways = list(ways_together(secret, other, shared))
    joined = list(_shared_with_joins(secret.loaded, other.loaded))
    own = secret.loaded is other.loaded
    columns = [column for column in other.columns.values() if not (own and column.field.secret)]
    as_long = not own and len(secret.loaded.rows) == len(other.loaded.rows)
    for parts in secret.secrets.values():
        compared = [(way, part, _candidates(part, other, way)) for way in ways for part in parts]
        listed = as_long and not parts[0].counts.keys().isdisjoint(other.counted_anywhere)
        if not (shared or joined or listed or any(candidates for _, _, candidates in compared)):
            continue
        for column in columns:
            found = _same_column(secret.loaded, parts[0].field, other.loaded, column.field, shared, joined)
            found = found or _same_values(secret, column, compared) or _same_list(secret, parts[0], column)
            if found is not None:
                yield found


def _candidates(secret: ComparedColumn, other: ComparedRows, way: Together) -> Set[str]:
    """Return the fields of a data set of which `held_in` may find that they hold the values of a secret field. Nearly
    none does, which is told here for all fields at once."""
    values, speaking = way.one.few(secret)
    fields, anywhere = way.two.few_of_all
    least = 0.75 * speaking
    any_has, apart = _may_have(anywhere, values, least), secret.loaded is not other.loaded
    candidates = {
        name
        for name, (found, saying) in fields.items()
        if (any_has and _may_have(found, values, least)) or (apart and _may_have(values, found, 0.75 * saying))
    }
    if way.count >= OTHER_NAMES and way.one.pattern(secret) is not None:
        candidates |= {name for name, column in other.columns.items() if _have_one_pattern(secret, column, way)}
    return candidates


def _same_values(
    secret: ComparedRows, column: ComparedColumn, compared: Sequence[tuple[Together, ComparedColumn, Set[str]]]
) -> CopiedField | None:
    """Return how a field holds the values of a secret field, or of a part of it."""
    for way, part, candidates in compared:
        if way.field == column.field.name or column.field.name not in candidates:
            continue
        held = held_in(part, column, way)
        if held is not None and not _public(secret, column, way):
            inner = f".{part.part}" if part.part is not None else ""
            return CopiedField(
                column.field.name, part.field.name, "values", does=held.does, rest=f"{inner}` {held.rows}"
            )
    return None


def _same_list(rows: ComparedRows, secret: ComparedColumn, column: ComparedColumn) -> CopiedField | None:
    """Return a field of as many rows that has the same values in another order, most of them once: whoever has the list
    has the answers, if not whose they are."""
    if secret.loaded is column.loaded or len(secret.loaded.rows) != len(column.loaded.rows):
        return None
    if secret.counts.keys().isdisjoint(column.counts):
        return None
    common, many = secret.counts & column.counts, secret.counts.total()
    if common.total() < SHARE * many or len(common) < max(FEWEST_VALUES, many / 2):
        return None
    public = (each for each in rows.columns.values() if not each.field.secret)
    if any((each.counts & column.counts).total() >= SHARE * many for each in public):
        return None  # it lists what is public there
    return CopiedField(column.field.name, secret.field.name, "values")


def _public(secret: ComparedRows, column: ComparedColumn, way: Together) -> bool:
    """Return true if a field only says what its rows say in the data set of the secret too, where it is not marked."""
    if secret.loaded is column.loaded:
        return False
    told = way.two.begin(column)
    least = SHARE * len(told)
    return any(
        sum(map(operator.eq, way.one.begin(public), told)) >= least
        for public in secret.columns.values()
        if not public.field.secret
    )


def shared_files(one: LoadedDataset, two: LoadedDataset) -> Iterator[tuple[DataFile, DataFile]]:
    """Yield the files of the rows of two data sets that hold the same, packed or not."""
    yield from _alike(one, one.dataset.files, two, two.dataset.files)


def _alike(
    one: LoadedDataset, ones: Sequence[DataFile], two: LoadedDataset, twos: Sequence[DataFile]
) -> Iterator[tuple[DataFile, DataFile]]:
    held = {digest: file for file in reversed(ones) for digest in digests(one, file)}
    for file in twos:
        found = next((held[digest] for digest in digests(two, file) if digest in held), None)
        if found is not None:
            yield found, file


def digests(loaded: LoadedDataset, file: DataFile) -> tuple[str, str]:
    """Return the digests of a file of a data set, as it is and unpacked."""
    return file.sha256, loaded.unpacked.get(file.path, file.sha256)


def _shared_with_joins(one: LoadedDataset, two: LoadedDataset) -> Iterator[tuple[DataFile, DataFile, frozenset[str]]]:
    """Yield the files of two data sets that hold the same where one joins it to its rows, with the columns that are
    taken of it."""
    if not (one.dataset.joins or two.dataset.joins):
        return
    every = [(None, one.dataset.files), *((frozenset(each.columns), each.files) for each in one.dataset.joins)]
    others = [(None, two.dataset.files), *((frozenset(each.columns), each.files) for each in two.dataset.joins)]
    for taken, ones in every:
        for also, twos in others:
            if taken is not None or also is not None:
                common = also if taken is None else taken if also is None else taken & also
                yield from ((file, same, common or frozenset()) for file, same in _alike(one, ones, two, twos))


def _own_columns(loaded: LoadedDataset, columns: Sequence[str]) -> set[str]:
    """Return the columns that are read from the files of the rows themselves."""
    return set(columns).difference(*(each.columns for each in loaded.dataset.joins))


def _same_column(
    secret: LoadedDataset,
    of: DataField,
    other: LoadedDataset,
    each: DataField,
    shared: list[tuple[DataFile, DataFile]],
    joined: list[tuple[DataFile, DataFile, frozenset[str]]],
) -> CopiedField | None:
    own = _own_columns(secret, of.columns) & _own_columns(other, each.columns)
    for file, same, taken in (*((*pair, own) for pair in shared), *joined):
        for column in (column for column in each.columns if column in of.columns and column in taken):
            captured = column in file.captures, column in same.captures
            if not any(captured) and readings_overlap(of.type, each.type):
                where = same.path if same.path == file.path else f"{same.path}, which holds what {file.path} holds"
                return CopiedField(each.name, of.name, "column", column, where)
    pairs = [(_captured(of, file), _captured(each, same)) for file, same in shared]
    if pairs and all(one is not None and one == two for one, two in pairs):
        return CopiedField(each.name, of.name, "capture")
    return None


def _captured(of: DataField, file: DataFile) -> str | None:
    """Return what the name of a file says in a field."""
    return next((file.captures[column] for column in of.columns if column in file.captures), None)


def readings_overlap(one: Type, two: Type) -> bool:
    """Return true if two readings of a column can hold the same part of it: all but records that name different parts.

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


def find_copies(loaded: Mapping[str, LoadedDataset], known: KnownCopies) -> Iterator[Copy]:
    """Yield all fields that hold a secret field of another data set, of data sets that are read from files, and those
    that hold one of their own without having its values. What was compared before is not compared again, and what is
    not there any more is forgotten."""
    contents = {name: _content(each) for name, each in loaded.items()}
    alike: dict[str, list[str]] = defaultdict(list)
    for name, content in contents.items():
        alike[content].append(name)
    rows = {name: ComparedRows(loaded[name]) for names in alike.values() for name in names[:2]}
    found: dict[Contents, tuple[CopiedField, ...]] = {}
    related: dict[str, list[str]] = defaultdict(list)
    for owner, owners in alike.items():
        if not _has_secret(loaded[owners[0]]):
            continue
        for other, others in alike.items():
            for two in others[:1] if other != owner else owners[:2]:
                key = (owner, other, two == owners[0])
                kept = known.found.get(key)
                found[key] = kept if kept is not None else tuple(find_copied_fields(rows[owners[0]], rows[two]))
            if found.get((owner, other, False)):
                related[owner].append(other)
    known.found = found
    for name, content in contents.items():
        own = found.get((content, content, True), ())
        yield from (each.between(name, name) for each in own if each.how != "values")
        for other in related[content]:
            for two in alike[other]:
                if two != name:
                    yield from (each.between(name, two) for each in found[content, other, False])


def copies_by_field(loaded: Mapping[str, LoadedDataset], known: KnownCopies) -> dict[Field, tuple[Copy, ...]]:
    """For every field that holds what a secret field says, all secret fields that it holds, the secret field itself
    left out. `loaded` are the data sets that are read from files, by their names in the plan (`Program.loaded`); a
    secret field of one data set that holds the secret of another is there too. What `unmarked_copies` gives is not."""
    found: dict[Field, list[Copy]] = defaultdict(list)
    for copy in find_copies(loaded, known):
        found[copy.field].append(copy)
    return {each: tuple(copies) for each, copies in found.items()}


def unmarked_copies(loaded: Mapping[str, LoadedDataset], known: KnownCopies) -> Iterator[Copy]:
    """Yield the public fields that have the values of a secret field of the same rows: either nothing is secret there,
    or one mark is missing, which the author has to say."""
    for name, each in loaded.items():
        if not _has_secret(each):
            continue
        content = _content(each)
        key = (content, content, True)
        if key not in known.found:
            rows = ComparedRows(each)
            known.found[key] = tuple(find_copied_fields(rows, rows))
        yield from (found.between(name, name) for found in known.found[key] if found.how == "values")


def copies_by_key(loaded: Mapping[str, LoadedDataset], known: KnownCopies) -> dict[Field, tuple[Field, ...]]:
    """For every column by which rows of joined files are found and that no field reads, the secret fields whose values
    it has, of the same rows or of others."""
    keyed = {name: _with_keys(each) for name, each in loaded.items()}
    names = {(name, _key_field(column)): (name, column) for name, each in loaded.items() for column in each.keys}
    if not names:
        return {}
    found: dict[Field, list[Field]] = defaultdict(list)
    for copy in (*find_copies(keyed, known), *unmarked_copies(keyed, known)):
        if copy.field in names and copy.of not in found[names[copy.field]]:
            found[names[copy.field]].append(copy.of)
    return {each: tuple(secrets) for each, secrets in found.items()}


def _with_keys(loaded: LoadedDataset) -> LoadedDataset:
    """Return a data set with these columns as fields."""
    if not loaded.keys:
        return loaded
    fields = (
        DataField(name=_key_field(name), type=OptionalType(of=TextType()), columns=(name,)) for name in loaded.keys
    )
    dataset = loaded.dataset.model_copy(update={"fields": (*loaded.dataset.fields, *fields)})
    texts = {_key_field(name): [comparable_text(each) for each in values] for name, values in loaded.keys.items()}
    rows = tuple(
        replace(row, values={**row.values, **{name: values[place] for name, values in texts.items()}})
        for place, row in enumerate(loaded.rows)
    )
    return replace(loaded, dataset=dataset, rows=rows)


def _key_field(column: str) -> str:
    return f"on {column}"  # no field has a space in its name


def _has_secret(loaded: LoadedDataset) -> bool:
    return any(each.secret for each in loaded.dataset.fields)


def _content(loaded: LoadedDataset) -> str:
    """Return what says all of a data set but its name."""
    return loaded.dataset.model_dump_json(exclude={"name"})


def datasets_sharing_files(loaded: Mapping[str, LoadedDataset]) -> dict[str, frozenset[str]]:
    """For every data set the others that read a file of it, packed or not."""
    readers: dict[str, set[str]] = defaultdict(set)
    for name, each in loaded.items():
        for file in each.dataset.files:
            for digest in digests(each, file):
                readers[digest].add(name)
    return {
        name: frozenset[str]().union(
            *(readers[digest] for file in each.dataset.files for digest in digests(each, file))
        )
        - {name}
        for name, each in loaded.items()
    }


def identifies_rows(loaded: LoadedDataset, names: frozenset[str]) -> bool:
    """Return true if no two rows of a data set have the same values in these fields, rows that repeat others left
    out. 1 and 1.0 are the same: nothing puts one before the other."""
    if loaded.repeated:
        return False
    columns = [[_comparable(row.values.get(name)) for row in loaded.rows] for name in sorted(names)]
    telling = (each for each in columns if all(isinstance(value, str) for value in each))
    if any(len(set(each)) == len(each) for each in telling):
        return True
    return len({repr(values) for values in zip(*columns, strict=True)}) == len(loaded.rows)


def _comparable(value: Any) -> Any:
    """Return a number that is whole as a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
