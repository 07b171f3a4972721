"""The ids that people gave to the rows of their files, to show in place of the digests that name items, and excerpts
of what the rows ask.

An id is a text or a whole number in the field `id`, or else in one whose name ends in `id`, or else in a column of
numbers such as `Nr` or `No`, if no two items of the scenario have the same. If rows of several languages share their
ids, as translations do, the language is said too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import orjson

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


def given_id_of(fields: str | None) -> str | None:
    """Return the id in the fields of one item, which other items may have too; None without one.

    >>> given_id_of('{"id": 7, "text": "a"}'), given_id_of('{"text": "a"}'), given_id_of(None)
    ('7', None, None)
    """
    row = orjson.loads(fields) if fields else {}
    names = id_names(row) if isinstance(row, dict) else []
    ids = (row[name] for name in names if isinstance(row[name], str | int) and not isinstance(row[name], bool))
    return next(map(str, ids), None)


def given_id_sql(connection: Connection, schema: str, item: str = "items") -> str:
    """Return the SQL of the id that a row of the view of items has in its file, of an alias of that view; NULL if it
    has none. `schema` is that of the benchmark, quoted."""
    scenarios = connection.execute(f"select distinct scenario::varchar from {schema}.items order by 1").fetchall()
    cases = []
    for (scenario,) in scenarios:
        keys = f"select distinct unnest(json_keys(fields)) from {schema}.items where scenario = {sql.text(scenario)}"
        for name in id_names(key for (key,) in connection.execute(keys).fetchall()):
            if (value := _unique_value(connection, schema, scenario, name)) is not None:
                cases.append(f"when {sql.text(scenario)} then {value.format(item=item)}")
                break
    return f"case {item}.scenario::varchar {' '.join(cases)} end" if cases else "NULL::varchar"


def _unique_value(connection: Connection, schema: str, scenario: str, name: str) -> str | None:
    """Return the SQL of a field of an item, with its language if ids are unique only so; None if it is no id."""
    path = sql.text('$."' + name.replace('"', '\\"') + '"')
    value = f"json_extract_string({{item}}.fields, {path})"
    own = value.format(item="items")
    [(items, alone, with_language, are_ids)] = connection.execute(
        f"""select count(distinct item_id), count(distinct {own}), count(distinct ({own}, language)),
          bool_and(coalesce(json_type(fields, {path}), '') in ({", ".join(map(sql.text, ID_TYPES))}))
        from {schema}.items where scenario = {sql.text(scenario)}"""
    ).fetchall()
    if not are_ids or with_language < items:
        return None
    return value if alone == items else f"{value} || ' (' || {{item}}.language || ')'"


def given_ids(connection: Connection, schema: str) -> dict[str, str]:
    """Return the ids of items in their files, by the names of the items, for those that have one."""
    shown = given_id_sql(connection, schema)
    if shown.startswith("NULL"):
        return {}
    rows = connection.execute(f"select item_id, any_value({shown}) from {schema}.items group by item_id").fetchall()
    return {item: given for item, given in rows if given is not None}


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
