"""Statements: which of them only read, and what to say of those that the database refuses.

Imports nothing but DuckDB, since every query waits for it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import TypeVar

from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.connection import Connection, duckdb

# DuckDB calls a statement that pivots MULTI, and so a `copy (pivot …) to …`, and an `explain` runs what it
# explains: in both the first word decides.
_READS = re.compile(
    r"""(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*
    (?:explain(?:\s+analyze\b|\s*\([^)]*\))?(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*)?
    (?:select|from|with|values|table|pivot|unpivot|show|describe|summarize|\()""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
LONGEST = 200
"""Characters of a message of DuckDB's: it may print a whole object, over several screens."""
_UNKNOWN = re.compile(
    r"""(?:Referenced\ column|Referenced\ table|Values\ list|Table)\s
      .*?(?:not\ found|does\ not\ have\ a\ column|does\ not\ exist)
    | (?:Scalar|Table|Aggregate|Macro)?\s*Function\ with\ name\s.*?does\ not\ exist""",
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r'(?:named |column (?!named)|table (?!with name)|name )"?([^\s"!]+)"?', re.IGNORECASE)
_SHUT = re.compile(
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
"""DuckDB's own `show tables` leaves out those of every benchmark."""
_WRITES = frozenset(("copy", "delete", "insert", "merge", "update"))
_ANY_WRITES = re.compile("|".join(sorted(_WRITES)), re.IGNORECASE)
RANKING = "leaderboard"
"""What no query gives: ranks come from measures with their errors, as `tripos leaderboard` takes them."""
LIKE = 0.7
"""How alike the name of a column is to one that was meant."""
FEW, SOME = 8, 1000
"""Tables, and rows of each, in which a field is looked for that somebody took for a column."""
Answer = TypeVar("Answer")


def statements_of(connection: Connection, text: str) -> list[duckdb.Statement]:
    """Return the statements of a text, all of which only read.

    Raises `StoreError`: S0203 for one that could do more, and what `answering` raises.

    >>> [statement.query.strip() for statement in statements_of(duckdb.connect(), "select 1; from range(3)")]
    ['select 1;', 'from range(3)']
    """
    text = _ALL_TABLES if _SHOW_TABLES.fullmatch(text) else text
    statements = answering(connection, lambda: connection.extract_statements(text))
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


def answering(connection: Connection, ask: Callable[[], Answer]) -> Answer:
    """Return what `ask` gives.

    Raises `StoreError` where DuckDB refuses, with its message in one line: S0204 for a table, column or function that
    is not there, S0205 for a file, the network, an extension or a setting, S0201 for anything else.
    """
    try:
        return ask()
    except duckdb.Error as error:
        message = str(error)
        told = _one_line(message)
        if isinstance(error, duckdb.BinderException | duckdb.CatalogException) and _UNKNOWN.search(message):
            raise StoreError("S0204", _short(told), _did_you_mean(connection, message)) from error
        if isinstance(error, duckdb.PermissionException) or _SHUT.search(message):
            hint = "a query reads the store and nothing else; `-o FILE` writes its answer to a file"
            raise StoreError("S0205", told, hint) from error
        raise StoreError("S0201", told if len(told) <= LONGEST else f"{told[:LONGEST].rstrip()} …") from error


def names_of(connection: Connection) -> dict[str, list[str]]:
    """Return every table and macro that can be asked, as it is written, with its columns (those of a macro: its
    parameters).

    >>> connection = duckdb.connect()
    >>> connection.execute("create table t as select 1 as n").fetchall()
    [(1,)]
    >>> names_of(connection)["t"]
    ['n']
    """
    found: dict[str, list[str]] = {}
    for schema, table, columns in connection.execute(
        """select schema_name, table_name, list(column_name order by column_index) from duckdb_columns()
        where not internal and schema_name not like '% %' group by all order by all"""
    ).fetchall():
        found[_written(schema, table)] = columns
    for schema, macro, parameters in connection.execute(
        """select schema_name, function_name, any_value(parameters) from duckdb_functions()
        where function_type = 'table_macro' and not internal group by all order by all"""
    ).fetchall():
        found[f"{_written(schema, macro)}()"] = parameters
    return found


def _written(schema: str, name: str) -> str:
    parts = [name] if schema == "main" else [schema, name]
    return ".".join(part if re.fullmatch(r"\w+", part) else '"' + part.replace('"', '""') + '"' for part in parts)


def _did_you_mean(connection: Connection, message: str) -> str:
    missing = _NAME.search(message)
    if missing is None:
        return "`show all tables` lists what there is"
    wanted = missing[1].casefold()
    about_column = "column" in message.partition("\n")[0].casefold()
    try:
        names = names_of(connection)
        field = _field(connection, missing[1], names) if about_column else ""
    except duckdb.Error:
        return ""
    if field:
        return field
    if about_column:
        shown = re.search(r"Candidate bindings: (.*)", message)
        near = re.findall(r'"([^"]+)"', shown[1]) if shown else []
        known = {column for columns in names.values() for column in columns}
        nearest = difflib.get_close_matches(wanted, sorted(known), n=1, cutoff=LIKE)
        best = [each for each in near if difflib.SequenceMatcher(None, wanted, each).ratio() >= LIKE] or nearest
        where = sorted(name for name, columns in names.items() if best and best[0] in columns)
        if best and best[0].casefold() == wanted:
            return f"it is a column of {', '.join(f'`{name}`' for name in where[:3])}"
        if best:
            return f"did you mean `{best[0]}`?"
        return f"the nearest columns are {', '.join(f'`{each}`' for each in near[:5])}" if near else ""
    last: dict[str, list[str]] = {}
    for name in sorted(names):
        last.setdefault(name.rpartition(".")[2].rstrip("()").casefold(), []).append(f"`{name}`")
    spoken = re.search(r"(?:table|function)(?: with)? name[d]? \"?([\w.]+)", message, re.IGNORECASE)
    wanted = spoken[1].casefold() if spoken else wanted
    if wanted.rpartition(".")[2] == RANKING:
        return f"`tripos leaderboard` ranks models; plain means are in {' or '.join(last['means'][:3])}"
    if wanted in last:
        whole = [each for each in last[wanted] if "." not in each]
        if whole:
            return f"it has the rows of all benchmarks, and no benchmark before its name: {whole[0]}"
        return f"it is {' or '.join(last[wanted][:3])}"
    found = difflib.get_close_matches(wanted.rpartition(".")[2], last, n=1, cutoff=0.6)
    if found:
        return f"did you mean {' or '.join(last[found[0]][:3])}?"
    return "`show all tables` lists what there is"


def _field(connection: Connection, wanted: str, names: dict[str, list[str]]) -> str:
    """Return how to get at a name that is no column but a field of the items, or of what was read from the replies."""
    if any(wanted.casefold() == column.casefold() for columns in names.values() for column in columns):
        return ""
    for column, key in (("fields", "item_id"), ("parsed", "sample_id")):
        for name in [name for name, columns in names.items() if column in columns and "." in name][:FEW]:
            query = f"select 1 from (select {column} from {name} limit {SOME}) where json_exists({column}, ?) limit 1"
            if connection.execute(query, [f'$."{wanted}"']).fetchone():
                written = f"`{column}->>'{wanted}'` of `{name}`"
                return f"it is a field: {written}, which is joined to other tables by `{key}`"
    return ""


def _reads(statement: duckdb.Statement) -> bool:
    try:
        kind = statement.type.name
    except ValueError:  # a kind that DuckDB has no name for in Python, such as that of `update extensions`
        return False
    match kind:
        case "SELECT":
            return True
        case "MULTI" | "EXPLAIN":
            return _READS.match(statement.query) is not None
        case _:
            return False


def _written_inside(query: str) -> str | None:
    """Return a statement that writes inside of a query, as in `with x as (copy … to …) from x`: DuckDB calls that a
    SELECT.

    Such a statement begins behind a bracket, and goes on with a word or, of `copy`, a bracket.
    """
    if _ANY_WRITES.search(query) is None:
        return None  # most queries: to take one apart takes longer than many a one runs
    text = query.encode()  # places are those of bytes
    found = duckdb.tokenize(query)
    ends = [*(place for place, _ in found[1:]), len(text)]
    parts = [(kind.name, text[place:end]) for (place, kind), end in zip(found, ends, strict=True)]
    tokens = [(kind, said) for kind, said in parts if kind != "comment"]
    for (_, before), (kind, said), (_, after) in zip(tokens, tokens[1:], tokens[2:], strict=False):
        # DuckDB takes more characters for spaces than Python does, and leaves some in the token.
        begun = _WORD.search(said.decode(errors="replace")) if kind in ("keyword", "identifier") else None
        word = begun[0].casefold() if begun is not None and not said.startswith(b'"') else ""
        if word in _WRITES and before[:1] in b"()" and _goes_on(word, after):
            return word
    return None


def _goes_on(word: str, after: bytes) -> bool:
    return after[:1] not in b"(),.;+-*/%<>=|:[]" or (word == "copy" and after[:1] == b"(")


def _short(told: str) -> str:
    """Return the message without DuckDB's own guesses, which look at other databases too."""
    return re.split(r" (?:Candidate bindings|Did you mean|Candidate tables)\b", told)[0]


def _one_line(message: str) -> str:
    """DuckDB's message without the excerpt of the query, which the user has before them."""
    told = message.partition("\n\nLINE ")[0]
    # It may repeat what stands in a row, which must not steer the terminal.
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in " ".join(told.split()))
