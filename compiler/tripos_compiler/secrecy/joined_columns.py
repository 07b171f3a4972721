"""Columns of joined files: each row takes those of the row that its key finds, so they tell the secrets of the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tripos_compiler.plan import Dataset, Join
from tripos_compiler.secrecy.labels import NONE, Secrets, union

JoinedSecrets = Mapping[str, list[tuple[str, Secrets]]]
"""For a field, the secrets that it holds by joins, each with the columns by which its row is found, in words; without
any, those that say whether it is there."""


def joined_secrets(dataset: Dataset, read: Mapping[str, Secrets], parted: Sequence[Secrets]) -> JoinedSecrets:
    """Return what the fields of a data set hold by its joins. `read` are the secrets that fields read from its columns;
    `parted` those that tell, of each join, which rows its files have.

    A key is secret if a secret field is read from its column, or if an earlier join adds it by a secret key. Names in
    braces that both files have are part of the key.
    """
    columns = dict(read)
    found: dict[str, list[tuple[str, Secrets]]] = {each.name: [] for each in dataset.fields}
    named = {name for file in dataset.files for name in file.captures}
    for join, there in zip(dataset.joins, parted, strict=True):
        keys = {name: columns[name] for name in _keys(dataset, join) if columns.get(name)}
        by = union(*keys.values())
        if not by and not there:
            continue
        added = set(join.columns) - {join.column} - named
        for each in dataset.fields:
            if added.isdisjoint(each.columns):
                continue
            if by:
                found[each.name].append((_listed(keys), by))
            if there:
                found[each.name].append(("", there))
        for column in added:
            columns[column] = union(columns.get(column, NONE), by, there)
    return found


def _keys(dataset: Dataset, join: Join) -> set[str]:
    """Return the columns of a row by which its row in a joined file is found."""
    captured = {name for file in join.files for name in file.captures}
    return {join.column, *(captured - {join.other})}


def _listed(names: Mapping[str, Secrets]) -> str:
    return " and ".join(f"`{name}`" for name in sorted(names))
