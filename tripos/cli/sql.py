"""`tripos sql`: answers a query over the store with DuckDB, opens a shell, or exports its views for other programs."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from tripos.cli.context import Context, Outcome, Remark
from tripos.settings.options import FORMAT, OUTPUT, SqlParameters
from tripos.terminal import message, show_diagnostic, show_message, show_text, table_width
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.files import atomic_path
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.query.statements import tables_and_macros
from tripos_warehouse.store.paths import address_of

HEAD = """\
-- The views and macros of a Tripos store, for DuckDB {version} or later: paste it, or `duckdb -init FILE`.
-- It names the files that are committed now; make it again after a run.
-- Afterwards: show all tables; from {benchmark}.means();"""


# Views for a DuckDB without Tripos
def snippet_text(statements: Sequence[str]) -> str:
    """Return the statements as an SQL file, with comments on their use."""
    import duckdb

    schemas = [
        statement.removeprefix("create schema if not exists ")
        for statement in statements
        if statement.startswith("create sch")
    ]
    version = ".".join(duckdb.__version__.split(".")[:2])
    head = HEAD.format(version=version, benchmark=schemas[1] if len(schemas) > 1 else "BENCHMARK")
    return "\n".join([head, *(f"{statement.strip()};" for statement in statements)])


def write_database(statements: Sequence[str], path: str) -> None:
    """Write a DuckDB database with the statements, atomically. Raises `TriposError` S0206 if the file exists and is not
    such a database, S0102 if it cannot be written."""
    import duckdb

    target = Path(path)
    if target.exists() and not _is_ours(target):
        raise TriposError(
            "S0206", f"`{target}` is there already and was not made by `{SqlParameters.duckdb}`", "choose another name"
        )
    try:
        with atomic_path(target) as new, duckdb.connect(str(new)) as database:
            for statement in statements:
                database.execute(statement)
    except (OSError, duckdb.IOException) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise TriposError("S0102", f"cannot write `{target}`: {reason}", "write it somewhere else") from error


def _is_ours(path: Path) -> bool:
    import duckdb

    try:
        with duckdb.connect(str(path), read_only=True) as database:
            found = database.execute("select 1 from duckdb_schemas() where schema_name = 'tripos internal'").fetchall()
            return bool(found)
    except duckdb.Error:
        return False


MAX_ROWS = 40
MOST_FAST_ROWS = 2_000
"""The maximum number of rows of the fast way. Longer results are counted faster in Arrow, without Python objects."""
SETTINGS = ("tripos.toml", ".env")
PREFIX = "TRIPOS_"
LANGUAGE_VALUES = (("TRIPOS_LANG", "en"), ("TRIPOS_LANG", "zh"))
"""Valid values of the language variable, which say nothing about a store."""


# A query
def quick_answer(context: Context) -> str | None:
    """Answer a plain query over kept views, without reading settings or the whole store. Return None if that is not
    possible."""
    options = context.options
    if (
        options.query is None
        or options.format != "text"
        or any((options.json, options.run, options.output, options.snippet, options.duckdb))
    ):
        return None
    root = _store_of(context)
    if root is None or _has_uncommitted(root):
        return None
    from tripos_warehouse.errors import StoreError
    from tripos_warehouse.query.connection import duckdb
    from tripos_warehouse.query.statements import statements_of
    from tripos_warehouse.tables.text import UNBOUNDED, render_columns
    from tripos_warehouse.views.view_cache import connect_cached

    try:
        connection = connect_cached(root)
        if connection is None:
            return None
        try:
            names: list[str] = []
            rows: list[tuple[object, ...]] = []
            for statement in statements_of(connection, options.query):
                answer = connection.execute(statement.query)
                names = [column[0] for column in answer.description or ()]
                rows = answer.fetchmany(MOST_FAST_ROWS + 1)
        finally:
            connection.close()
    except (duckdb.Error, StoreError):
        return None
    if len(rows) > MOST_FAST_ROWS:
        return None
    width = table_width()
    most = MAX_ROWS if width < UNBOUNDED else len(rows)
    shown = [[row[place] for row in rows[:most]] for place in range(len(names))]
    return render_columns(names, shown, len(rows), width)


def _store_of(context: Context) -> Path | None:
    """Return the folder of the store, or None for a bucket. Settings are read only if there may be any."""
    options, path = context.options, Path.cwd()
    set_ = any(name.startswith(PREFIX) and (name, value) not in LANGUAGE_VALUES for name, value in os.environ.items())
    if address_of(options.store or ""):
        return None
    if options.profile or set_ or any((each / name).exists() for each in (path, *path.parents) for name in SETTINGS):
        return Path(context.config.store).expanduser().resolve()
    return Path(options.store or "results").expanduser().resolve()


def _has_uncommitted(root: Path) -> bool:
    """Return true if a process may have died before its last results were committed."""
    try:
        return any(path.suffix == ".jsonl" for path in (root / "journal").iterdir())
    except OSError:
        return False


def main(context: Context) -> Outcome:
    """Answer one query, or run the shell. The exit code is 2 if input is not interactive and a query failed."""
    options = context.options
    if (answer := quick_answer(context)) is not None:
        return Outcome(lines=[answer])
    from tripos_warehouse.views.connect import connect, connect_run, snippet

    store = context.store()
    if options.duckdb is not None:
        write_database(snippet(store), options.duckdb)
        text = f"{Path(options.duckdb)} has the views and macros; the data stay in the store"
        return Outcome(lambda: {"written": options.duckdb}, [message(text)])
    if options.snippet:
        text = snippet_text(snippet(store))
        return Outcome(lambda: {"snippet": text}, [text])
    connection = connect_run(store, options.run)[0] if options.run else connect(store)
    if context.form != "text":
        return _answer(connection, context)
    if options.query is None:
        return Outcome(exit_code=SqlShell(connection, options.output).run())
    return Outcome(lines=answer_lines(connection, options.query, options.output))


def _answer(connection: Connection, context: Context) -> Outcome:
    """Return the whole result of a query in the requested format."""
    from tripos_warehouse.query.results import encode_answer, run_query
    from tripos_warehouse.tables.model import answer_table

    options, form = context.options, context.form
    if options.output is not None:  # the format follows from the file name
        raise TriposError("R0202", f"`{OUTPUT}` has no use with `{FORMAT} {form}`", "leave one of them out")
    if options.query is None:
        raise TriposError(
            "R0202", f"`{FORMAT} {form}` prints the answer of one query", "write the query: tripos sql QUERY"
        )
    answer = run_query(connection, options.query)
    return Outcome(
        lambda: encode_answer(answer, "json"),
        formats={"csv": lambda: encode_answer(answer, "csv")},
        tables=lambda: [answer_table(answer)],
    )


KEYWORDS = (
    *("and", "as", "asc", "avg(", "between", "case", "count(", "cross", "desc", "distinct", "else", "end", "exists"),
    *("from", "group by all", "having", "ilike", "in", "is", "join", "left join", "like", "limit", "max(", "median("),
    *("min(", "not", "null", "offset", "on", "or", "order by", "over", "partition by", "pivot", "qualify", "round("),
    *("select", "show all tables", "sum(", "then", "union all", "using", "when", "where", "with"),
)
_WORD = re.compile(r"[^\s,;()=<>+\-*/|]*$")
_TABLE_NEXT = re.compile(r"(?:\bfrom|\bjoin|\bdescribe|\bsummarize|^\s*\.schema)\s+[^\s,;()=<>+\-*/|]*$", re.IGNORECASE)
_TABLES = re.compile(r"\b(?:from|join)\s+([\w.\"]+)", re.IGNORECASE)
COMMANDS = (".help", ".schema", ".tables")


# The shell
class Completer:
    """Completion of the last word of a line. `names` are tables and macros with their columns, from
    `tables_and_macros`."""

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self.names = names

    def complete(self, line: str) -> list[str]:
        """Return the possible completions of the last word, sorted.

        >>> completer = Completer({"quiz.scores": ["model", "value"], "runs": ["run_id"], "quiz.worst()": ["n"]})
        >>> completer.complete("select mo"), completer.complete("select avg(value) from q")
        (['model'], ['quiz.scores', 'quiz.worst('])
        >>> completer.complete("from runs where run"), completer.complete("from runs g"), completer.complete(".t")
        (['run_id'], ['group by all'], ['.tables'])
        """
        match = _WORD.search(line)
        begun = match[0] if match is not None else ""
        if not line.strip() or (line.lstrip() == begun and begun.startswith(".")):
            return [command for command in COMMANDS if command.startswith(begun)] if begun else []
        if _TABLE_NEXT.search(line):
            return self._that_begin(begun, (name.replace("()", "(") for name in self.names))
        row, point, _ = begun.rpartition(".")
        columns = self._columns_of(line)
        if point:
            return self._that_begin(begun, (f"{row}.{column}" for column in columns))
        matching = self._that_begin(begun, columns)
        return matching + [word for word in self._that_begin(begun, KEYWORDS) if word not in matching]

    def _columns_of(self, line: str) -> list[str]:
        """Return the columns of the tables named in the line, or of all tables if it names none."""
        asked = [name for name in _TABLES.findall(line) if name in self.names or f"{name}()" in self.names]
        tables = asked or [name for name in self.names if not name.endswith("()")]
        parameters = [f"{each} := " for name in asked for each in self.names.get(f"{name}()", ())]
        return [*parameters, *(column for name in tables for column in self.names.get(name, ()))]

    @staticmethod
    def _that_begin(begun: str, words: Iterable[str]) -> list[str]:
        return sorted({word for word in words if word.casefold().startswith(begun.casefold())})


PROMPT, MORE = "tripos> ", "   ...> "
WELCOME = "end a query with `;`, leave with `exit` or Ctrl-D; `.help` lists the commands, Tab completes names"
HELP = """\
.tables          every table and macro that can be asked
.schema NAME     the columns and types of a table, or the parameters of a macro
.help            this text
exit             leave; so does Ctrl-D, and Ctrl-C drops what is being typed
query;           DuckDB SQL over as many lines as it takes, up to `;`"""
HISTORY_LINES = 2_000


class SqlShell:
    """A shell that reads queries from a terminal or a file and answers them."""

    def __init__(self, connection: Connection, output: str | None) -> None:
        self.connection = connection
        self.output = output
        self.names = tables_and_macros(connection)

    def run(self) -> ExitCode:
        """Answer queries to the end of input. Return exit code 2 if input is not interactive and a query failed."""
        interactive = sys.stdin.isatty()
        if not interactive and isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(encoding="utf-8", errors="strict")
        if interactive:
            _prepare_terminal(Completer(self.names))
            show_message(WELCOME)
        waiting: list[str] = []
        failed = False
        while True:
            try:
                line = input((MORE if waiting else PROMPT) if interactive else "")
            except EOFError:
                break
            except UnicodeDecodeError as error:
                message = "the queries on standard input are not text in UTF-8"
                raise TriposError("R0202", message, "save them as a text file in UTF-8") from error
            except KeyboardInterrupt:
                if not interactive:
                    raise
                show_text()
                waiting = []
                continue
            if not waiting and line.strip().casefold().rstrip(";") in ("exit", "quit", ".exit", ".quit"):
                break
            if not waiting and line.lstrip().startswith("."):
                failed |= not self._try(partial(self._command, line.split()))
                continue
            waiting.append(line)
            if line.rstrip().endswith(";"):
                failed |= not self._answer("\n".join(waiting))
                waiting = []
        if "".join(waiting).strip():
            failed |= not self._answer("\n".join(waiting))
        # A person sees each error and can fix it; a script needs the exit code.
        return ExitCode.USAGE if failed and not interactive else ExitCode.SUCCESS

    def _answer(self, query: str) -> bool:
        if query.strip().rstrip(";").strip().casefold() == "help":  # not an SQL statement
            show_message(HELP)
            return True
        return self._try(lambda: Outcome(lines=answer_lines(self.connection, query, self.output)).show("text"))

    def _try(self, do: Callable[[], None]) -> bool:
        """Call `do` and print its error, if any. Return true on success."""
        try:
            do()
        except StoreError as error:
            show_diagnostic("error", error.code, error.message, error.hint)
            return False
        except KeyboardInterrupt:
            show_message("interrupted", stderr=True)
            return False
        return True

    def _command(self, words: list[str]) -> None:
        match words:
            case [".help"]:
                show_message(HELP)
            case [".tables"]:
                show_message("\n".join(sorted(self.names)))
            case [".schema", name]:
                self._schema(name.rstrip(";").removesuffix("()"))
            case [".schema"]:
                raise StoreError("S0207", "`.schema` needs a name", "such as `.schema samples`; `.tables` lists them")
            case _:
                raise StoreError("S0207", f"no command `{words[0]}`", "`.help` lists the commands")

    def _schema(self, name: str) -> None:
        if f"{name}()" in self.names:
            show_text(f"{name}({', '.join(self.names[f'{name}()'])})")
            return
        query = f"select column_name, column_type from (describe {name})"
        Outcome(lines=answer_lines(self.connection, query, None)).show("text")


def _prepare_terminal(completer: Completer) -> None:
    """Set up editing, history and completion, if this Python has readline."""
    try:
        import atexit
        import readline
    except ImportError:  # Windows
        return
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "tripos"
    history = state / "sql_history"
    with suppress(OSError):
        readline.read_history_file(history)
    readline.set_history_length(HISTORY_LINES)

    def keep() -> None:
        with suppress(OSError):
            state.mkdir(parents=True, exist_ok=True, mode=0o700)
            readline.write_history_file(history)

    atexit.register(keep)
    found: list[str] = []

    def complete(text: str, number: int) -> str | None:
        nonlocal found
        if number == 0:
            found = completer.complete(readline.get_line_buffer()[: readline.get_endidx()])
        return found[number] if number < len(found) else None

    # A dotted name is one word, and a quote begins a word.
    readline.set_completer_delims(" \t\n,;()=<>+-*/|")
    readline.set_completer(complete)
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")


def answer_lines(connection: Connection, query: str, output: str | None) -> list[str]:
    """Return the lines of the result of a query, or write it to `output`. Raises `StoreError`."""
    from tripos_warehouse.query.results import run_query, write_answer
    from tripos_warehouse.tables.text import render_table

    table = run_query(connection, query)
    if output is None:
        return [render_table(table, table_width())]
    write_answer(table, output)
    rows = f"{table.num_rows:,} row{'' if table.num_rows == 1 else 's'}"
    return [Remark(message(f"{rows} written to {output}", sys.stderr))]
