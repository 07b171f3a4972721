"""Which data sets are compared: each content with each other once, under however many names it is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tripos_compiler.plan import DataField, OptionalType, TextType
from tripos_compiler.resolve import Contents, CopiedField, Copy, Field, KnownCopies, LoadedDataset
from tripos_compiler.secrecy.copies.containment import comparable_text
from tripos_compiler.secrecy.copies.copies import digests, find_copied_fields
from tripos_compiler.secrecy.copies.row_pairs import ComparedRows


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
