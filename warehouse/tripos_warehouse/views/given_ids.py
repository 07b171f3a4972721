"""The ids that people gave to the rows of their files, to show in place of the digests that name items.

An id is a text or a whole number in the field `id`, or else in one whose name ends in `id`, if no two items of the
scenario have the same. If rows of several languages share their ids, as translations do, the language is said too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import orjson

from tripos_warehouse import sql
from tripos_warehouse.query.connection import Connection

NAMES = re.compile(r"(?:\w+_)?[uq]?id|\w+I[dD]")
"""Names of fields that may hold an id."""
ID_TYPES = ("VARCHAR", "UBIGINT", "BIGINT")
"""Types of an id in JSON."""


def id_names(fields: Iterable[str]) -> list[str]:
    """Return the fields that may hold an id, the likeliest first.

    >>> id_names(["answer", "question_id", "id", "valid", "squid"])
    ['id', 'question_id']
    """
    named = [field for field in fields if NAMES.fullmatch(field)]
    return sorted(named, key=lambda field: (field.casefold() != "id", "_" in field, field))


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
