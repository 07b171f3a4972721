"""The ids that people gave to the rows of their files, to show in place of the digests that name items, and excerpts
of what the rows ask.

An id is a text or a whole number in the field `id`, or else in one whose name ends in `id`, or else in a column of
numbers such as `Nr` or `No`, if no two items of the scenario have the same. If rows of several languages share their
ids, as translations do, the language is said too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.query.connection import Connection

NAMES = re.compile(r"(?:\w+_)?[uq]?id|\w+I[dD]|I[dD]")
"""Names of fields that may hold an id."""
NUMBER_NAMES = re.compile(r"(?:\w+_)?(?:nr|no)|题号|题序|编号|序号", re.IGNORECASE)
"""Names of the column in which the rows of a spreadsheet are numbered."""
ID_TYPES = ("VARCHAR", "UBIGINT", "BIGINT")
"""Types of an id in JSON."""


def id_names(fields: Iterable[str]) -> list[str]:
    """Return the fields that may hold an id, the likeliest first.

    >>> id_names(["Nr", "answer", "question_id", "id", "valid", "squid"])
    ['id', 'question_id', 'Nr']
    """
    named = [field for field in fields if NAMES.fullmatch(field) or NUMBER_NAMES.fullmatch(field)]
    return sorted(
        named,
        key=lambda field: (NAMES.fullmatch(field) is None, field.casefold() != "id", "_" in field, field),
    )


class IdField(NamedTuple):
    """The field that holds the ids of the items of a scenario. If ids are unique only within a language,
    `by_language` is true, and an id is shown with its language."""

    path: str
    by_language: bool

    def sql(self, item: str) -> str:
        """Return the SQL of the id of an item, of an alias of the view of items."""
        value = f"json_extract_string({item}.fields, {sql.text(self.path)})"
        return f"{value} || ' (' || {item}.language || ')'" if self.by_language else value


def _id_fields(connection: Connection, schema: str) -> dict[str, IdField]:
    """Return the field with the ids of each scenario that has one."""
    fields: dict[str, list[str]] = {}
    keys = f"select distinct scenario::varchar, unnest(json_keys(fields)) from {schema}.items"
    for scenario, name in connection.execute(keys).fetchall():
        fields.setdefault(scenario, []).append(name)
    candidates = [(scenario, f'$."{name}"') for scenario, names in fields.items() for name in id_names(names)]
    if not candidates:
        return {}
    # A row for each candidate: how many items the scenario has, how many ids, and how many pairs of id and language.
    # Candidates with an item that has no id there are left out.
    query = f"""with candidate as (select unnest(?::varchar[]) as scenario, unnest(?::varchar[]) as path),
        row as (
          select candidate.*, item.item_id, item.language, json_extract_string(item.fields, path) as id,
            coalesce(json_type(item.fields, path), '') in ({", ".join(map(sql.text, ID_TYPES))}) as is_id
          from candidate join {schema}.items as item on item.scenario::varchar = candidate.scenario)
      select scenario, path, count(distinct item_id), count(distinct id), count(distinct (id, language))
      from row group by scenario, path having bool_and(is_id)"""
    scenarios, paths = zip(*candidates, strict=True)
    rows = connection.execute(query, [list(scenarios), list(paths)]).fetchall()
    counts = {(scenario, path): numbers for scenario, path, *numbers in rows}
    found: dict[str, IdField] = {}
    for scenario, path in candidates:
        items, ids, with_language = counts.get((scenario, path), (1, 0, 0))
        if items <= with_language:
            found.setdefault(scenario, IdField(path, by_language=ids < items))
    return found


def _cases(fields: dict[str, IdField], item: str) -> str:
    """Return the SQL of the id of an item, by its scenario."""
    cases = " ".join(f"when {sql.text(scenario)} then {field.sql(item)}" for scenario, field in fields.items())
    return f"case {item}.scenario::varchar {cases} end"


def given_id_sql(connection: Connection, schema: str, item: str = "items") -> str:
    """Return the SQL of the id that a row of the view of items has in its file, of an alias of that view; NULL if it
    has none. `schema` is that of the benchmark, quoted."""
    fields = _id_fields(connection, schema)
    return _cases(fields, item) if fields else "NULL::varchar"


def given_ids(connection: Connection, schema: str) -> dict[str, str]:
    """Return the ids of items in their files, by the names of the items, for those that have one."""
    fields = _id_fields(connection, schema)
    if not fields:
        return {}
    query = f"select item_id, any_value({_cases(fields, 'items')}) from {schema}.items group by item_id"
    return {item: given for item, given in connection.execute(query).fetchall() if given is not None}


def excerpt_sql(plan: Plan, item: str = "items") -> str:
    """Return the SQL of the longest text in the fields of a row of the view of items, on one line; NULL without one.
    A text that is secret, such as an answer, is taken only if the row has no other."""
    datasets = {dataset.name: dataset.fields for dataset in plan.datasets}
    datasets |= {dataset.name: dataset.fields for dataset in plan.made}
    cases = []
    for name, fields in datasets.items():
        open_texts = [data_field.name for data_field in fields if not data_field.secret]
        texts = [_longest_text(names, item) for names in (open_texts, [each.name for each in fields]) if names]
        if texts:
            cases.append(f"when {sql.text(name)} then coalesce({', '.join(texts)})")
    if not cases:
        return "NULL::varchar"
    return f"trim(regexp_replace(case {item}.dataset {' '.join(cases)} end, '\\s+', ' ', 'g'))"


def _longest_text(names: Sequence[str], item: str) -> str:
    """Return the SQL of the longest of these fields that is a text, of several the first; NULL if none is."""
    texts = []
    for place, name in enumerate(names):
        path = sql.text('$."' + name.replace('"', '\\"') + '"')
        text = f"json_extract_string({item}.fields, {path})"
        texts.append(
            f"case when json_type({item}.fields, {path}) = 'VARCHAR' and {text} <> '' "
            f"then {{size: length({text}), place: {-place}, text: {text}}} end"
        )
    return f"list_max([{', '.join(texts)}]).text"
