"""Statements that only read, and explanations of DuckDB's errors.

The module imports only DuckDB, since every query waits for it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import TypeVar

from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.connection import Connection, duckdb

# DuckDB classifies a pivot as MULTI, but also a `copy (pivot …) to …`; an `explain analyze` executes its statement. In
# both cases it depends on the first word whether the statement only reads.
_READS = re.compile(
    r"""(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*
    (?:explain(?:\s+analyze\b|\s*\([^)]*\))?(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*)?
    (?:select|from|with|values|table|pivot|unpivot|show|describe|summarize|\()""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
LONGEST = 200
"""The maximum length of a DuckDB message in characters, which may contain a large object; a longer one is cut."""
_UNKNOWN = re.compile(
    r"""(?:Referenced\ column|Referenced\ table|Values\ list|Table)\s
      .*?(?:not\ found|does\ not\ have\ a\ column|does\ not\ exist)
    | (?:Scalar|Table|Aggregate|Macro)?\s*Function\ with\ name\s.*?does\ not\ exist""",
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r'(?:named |column (?!named)|table (?!with name)|name )"?([^\s"!]+)"?', re.IGNORECASE)
_SANDBOXED = re.compile(
    r"disabled by configuration|configuration has been locked|Permission Error|Missing Extension|Extension \"",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z]+")
_SHOW_TABLES = re.compile(r"\s*show\s+tables\s*;?\s*", re.IGNORECASE)
_ALL_TABLES = r"""
    select distinct if(schema_name = 'main', '', if(regexp_full_match(schema_name, '\w+'), schema_name,
      '"' || schema_name || '"') || '.') || table_name as name
    from duckdb_columns() where not internal and schema_name not like '% %'
    order by starts_with(name, table_name), name"""
"""DuckDB's own `show tables` omits the tables of benchmarks."""
_WRITES = frozenset(("copy", "delete", "insert", "merge", "update"))
_ANY_WRITES = re.compile("|".join(sorted(_WRITES)), re.IGNORECASE)
RANKING = "leaderboard"
"""A name that no query offers: ranks come from measures with errors, as in `tripos leaderboard`."""
LIKE = 0.7
"""The least similarity of a column name that is suggested."""
FEW, SOME = 8, 1000
"""The number of tables, and of rows in each, that are searched for a field which was taken for a column."""
Answer = TypeVar("Answer")


def statements_of(connection: Connection, text: str) -> list[duckdb.Statement]:
    """Return the statements in a text, all of which only read.

    Raises `StoreError`: S0203 for a statement that could do more, and what `translate_errors` raises.

    >>> [statement.query.strip() for statement in statements_of(duckdb.connect(), "select 1; from range(3)")]
    ['select 1;', 'from range(3)']
    """
    text = _ALL_TABLES if _SHOW_TABLES.fullmatch(text) else text
    statements = translate_errors(connection, lambda: connection.extract_statements(text))
    for statement in statements:
        if not _reads(statement):
            raise StoreError(
                "S0203",
                f"`{' '.join(statement.query.split())[:60]}` is not a query",
                "ask with `select`; `-o FILE` writes the answer to a file",
            )
        if word := _written_inside(statement.query):
            hint = f'ask with `select` alone; a name `{word}` stands in quotes: "{word}"'
            raise StoreError("S0203", f"a query with a `{word}` in it does not only read", hint)
    return statements


def translate_errors(connection: Connection, ask: Callable[[], Answer]) -> Answer:
    """Return the result of `ask`, with DuckDB's errors translated.

    Raises `StoreError` with DuckDB's message on one line: S0204 for a missing table, column or function, S0205 for a
    file, the network, an extension or a setting, S0201 for anything else.
    """
    try:
        return ask()
    except duckdb.Error as error:
        message = str(error)
        text = _one_line(message)
        if isinstance(error, duckdb.BinderException | duckdb.CatalogException) and _UNKNOWN.search(message):
            raise StoreError("S0204", _short(text), _did_you_mean(connection, message)) from error
        if isinstance(error, duckdb.PermissionException) or _SANDBOXED.search(message):
            hint = "a query reads the store and nothing else; `-o FILE` writes its answer to a file"
            raise StoreError("S0205", text, hint) from error
        raise StoreError("S0201", text if len(text) <= LONGEST else f"{text[:LONGEST].rstrip()} …") from error


def tables_and_macros(connection: Connection) -> dict[str, list[str]]:
    """Return the name of every table and macro, quoted if needed, with its columns or parameters.

    >>> connection = duckdb.connect()
    >>> connection.execute("create table t as select 1 as n").fetchall()
    [(1,)]
    >>> tables_and_macros(connection)["t"]
    ['n']
    """
    by_name: dict[str, list[str]] = {}
    for schema, table, columns in connection.execute(
        """select schema_name, table_name, list(column_name order by column_index) from duckdb_columns()
        where not internal and schema_name not like '% %' group by all order by all"""
    ).fetchall():
        by_name[_quoted(schema, table)] = columns
    for schema, macro, parameters in connection.execute(
        """select schema_name, function_name, any_value(parameters) from duckdb_functions()
        where function_type = 'table_macro' and not internal group by all order by all"""
    ).fetchall():
        by_name[f"{_quoted(schema, macro)}()"] = parameters
    return by_name


def _quoted(schema: str, name: str) -> str:
    """Return a name as SQL, with its schema unless that is `main`, and quoted if needed."""
    parts = [name] if schema == "main" else [schema, name]
    return ".".join(part if re.fullmatch(r"\w+", part) else '"' + part.replace('"', '""') + '"' for part in parts)


def _did_you_mean(connection: Connection, message: str) -> str:
    """Return the hint for a message about a missing table, column or function."""
    missing = _NAME.search(message)
    if missing is None:
        return "`show all tables` lists what there is"
    unknown = missing[1].casefold()
    about_column = "column" in message.partition("\n")[0].casefold()
    try:
        names = tables_and_macros(connection)
        field = _field(connection, missing[1], names) if about_column else ""
    except duckdb.Error:
        return ""
    if field:
        return field
    if about_column:
        match = re.search(r"Candidate bindings: (.*)", message)
        candidates = re.findall(r'"([^"]+)"', match[1]) if match else []
        columns_of_all = {column for columns in names.values() for column in columns}
        nearest = difflib.get_close_matches(unknown, sorted(columns_of_all), n=1, cutoff=LIKE)
        similar = [name for name in candidates if difflib.SequenceMatcher(None, unknown, name).ratio() >= LIKE]
        best = similar or nearest
        tables = sorted(name for name, columns in names.items() if best and best[0] in columns)
        if best and best[0].casefold() == unknown:
            return f"it is a column of {', '.join(f'`{name}`' for name in tables[:3])}"
        if best:
            return f"did you mean `{best[0]}`?"
        return f"the nearest columns are {', '.join(f'`{name}`' for name in candidates[:5])}" if candidates else ""
    by_last_part: dict[str, list[str]] = {}
    for name in sorted(names):
        by_last_part.setdefault(name.rpartition(".")[2].rstrip("()").casefold(), []).append(f"`{name}`")
    full_name = re.search(r"(?:table|function)(?: with)? name[d]? \"?([\w.]+)", message, re.IGNORECASE)
    unknown = full_name[1].casefold() if full_name else unknown
    if unknown.rpartition(".")[2] == RANKING:
        means = " or ".join(by_last_part.get("means", [])[:3])
        return f"`tripos leaderboard` ranks models{f'; plain means are in {means}' if means else ''}"
    if unknown in by_last_part:
        of_all_benchmarks = [name for name in by_last_part[unknown] if "." not in name]
        if of_all_benchmarks:
            return f"it has the rows of all benchmarks, and no benchmark before its name: {of_all_benchmarks[0]}"
        return f"it is {' or '.join(by_last_part[unknown][:3])}"
    matches = difflib.get_close_matches(unknown.rpartition(".")[2], by_last_part, n=1, cutoff=0.6)
    if matches:
        return f"did you mean {' or '.join(by_last_part[matches[0]][:3])}?"
    return "`show all tables` lists what there is"


def _field(connection: Connection, unknown: str, names: dict[str, list[str]]) -> str:
    """Return the hint for a name that is no column, but a field of the items or of parsed replies; empty if it is
    neither.
    """
    if any(unknown.casefold() == column.casefold() for columns in names.values() for column in columns):
        return ""
    for column, key in (("fields", "item_id"), ("parsed", "sample_id")):
        for name in [name for name, columns in names.items() if column in columns and "." in name][:FEW]:
            query = f"select 1 from (select {column} from {name} limit {SOME}) where json_exists({column}, ?) limit 1"
            if connection.execute(query, [f'$."{unknown}"']).fetchone():
                text = f"`{column}->>'{unknown}'` of `{name}`"
                return f"it is a field: {text}, which is joined to other tables by `{key}`"
    return ""


def _reads(statement: duckdb.Statement) -> bool:
    """Return true if the kind of a statement only reads."""
    try:
        kind = statement.type.name
    except ValueError:  # a kind without a name in Python, such as `update extensions`
        return False
    match kind:
        case "SELECT":
            return True
        case "MULTI" | "EXPLAIN":
            return _READS.match(statement.query) is not None
        case _:
            return False


def _written_inside(query: str) -> str | None:
    """Return the keyword of a writing statement inside a query, as in `with x as (copy … to …) from x`, which DuckDB
    classifies as SELECT; None if there is none.

    Such a statement follows a bracket, and continues with a word or, for `copy`, a bracket.
    """
    if _ANY_WRITES.search(query) is None:
        return None  # most queries, for which tokenizing would take longer than executing them
    text = query.encode()  # positions are byte offsets
    starts = duckdb.tokenize(query)
    ends = [*(start for start, _ in starts[1:]), len(text)]
    parts = [(kind.name, text[start:end]) for (start, kind), end in zip(starts, ends, strict=True)]
    tokens = [(kind, token) for kind, token in parts if kind != "comment"]
    for (_, before), (kind, token), (_, after) in zip(tokens, tokens[1:], tokens[2:], strict=False):
        # DuckDB knows more blank characters than Python, and leaves some in the token.
        match = _WORD.search(token.decode(errors="replace")) if kind in ("keyword", "identifier") else None
        word = match[0].casefold() if match is not None and not token.startswith(b'"') else ""
        if word in _WRITES and before[:1] in b"()" and _is_statement(word, after):
            return word
    return None


def _is_statement(word: str, after: bytes) -> bool:
    """Return true if a keyword begins a statement, given the next token; otherwise it is a name."""
    return after[:1] not in b"(),.;+-*/%<>=|:[]" or (word == "copy" and after[:1] == b"(")


def _short(message: str) -> str:
    """Return a message without DuckDB's own suggestions, which also look at other databases."""
    return re.split(r" (?:Candidate bindings|Did you mean|Candidate tables)\b", message)[0]


def _one_line(message: str) -> str:
    """Return DuckDB's message without its excerpt of the query, which the user can see."""
    text = message.partition("\n\nLINE ")[0]
    # The message may repeat data of a row, which must not control the terminal.
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in " ".join(text.split()))
