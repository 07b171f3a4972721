"""`tripos report` and `tripos list`: the measures of a run with intervals and SQL, its expectations, and all runs."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tripos.cli.context import open_store
from tripos.cli.tables import PAPER_FORMATS, output_format, printed_lines, show_tables
from tripos.settings.options import ONLY, PROFILE, SQL, STORE, CompareParameters, ReportParameters
from tripos.terminal import (
    is_colored,
    print_json,
    replace_controls,
    show_message,
    show_output,
    show_text,
    table_width,
    terminal_width,
)
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.diagnostics.text_format import display_width
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.language.contexts import select_treatments
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.confusion import FigureTable, figure_tables, tables_json
from tripos_warehouse.measures.items import AnalysedItem, analysed_items, items_json
from tripos_warehouse.query.results import encode_answer
from tripos_warehouse.report.best_values import best_values
from tripos_warehouse.report.result_tables import filled_tables, find_tables
from tripos_warehouse.report.run_report import Report, report as report_of
from tripos_warehouse.report.tables import BestValue, report_tables
from tripos_warehouse.report.text import (
    figure_tables_text,
    further_query,
    items_text,
    render_headline,
    render_report,
)
from tripos_warehouse.store.store import Store
from tripos_warehouse.tables.model import Column, Table
from tripos_warehouse.views.connect import connect, connect_run
from tripos_warehouse.views.runs import RunRecord, get_selected, list_runs

if TYPE_CHECKING:
    from rich.text import Text


def list_main(options: Namespace) -> ExitCode:
    """Print the runs of a store, newest first."""
    rows = [listed.to_row() for listed in list_runs(connect(open_store(options)))]
    if options.json:
        print_json(rows)
        return ExitCode.SUCCESS
    columns = [
        Column("run", tuple(row["run_id"] for row in rows), shrinks="last"),
        Column("benchmark", tuple(f"{row['benchmark']} {row['version']}" for row in rows)),
        Column("models", tuple(", ".join(row["models"]) for row in rows)),
        Column("samples", tuple(row["samples"] for row in rows), "count"),
        Column("scores", tuple(row["scores"] for row in rows), "count"),
        Column("scored", tuple(row["scored_share"] for row in rows), "share"),
        Column("by people", tuple(row["people_scores"] for row in rows), "count"),
        Column("status", tuple(map(_status, rows))),
    ]
    if not any(row["people_scores"] for row in rows):
        columns = [column for column in columns if column.key != "by people"]
    show_text(*printed_lines(*columns), sep="\n", styled=True)
    return ExitCode.SUCCESS


def _status(row: Mapping[str, Any]) -> str:
    """Return the status of a run in words, with its shard and the number of items withheld."""
    status = localized(row["status"])
    status += localized(f", shard {row['shard']}") if row["shard"] else ""
    return status + (localized(f", {row['withheld']:,} items withheld") if row["withheld"] else "")


def main(options: Namespace) -> ExitCode:
    """Print the report of a run. Return exit code 1 if a measure could not be computed, 100 if an `expect` failed."""
    plan = None
    if options.spec is not None:
        plan = _plan_of(options)
        if plan is None:
            return ExitCode.USAGE
    if options.html and (plan is not None or options.only):
        message = f"`{ReportParameters.html}` shows a run as it was, without `{ReportParameters.spec}` and `{ONLY}`"
        raise TriposError("R0202", message, "write the page of the whole run; it filters by every axis")
    from tripos.settings.trust import trust_of
    from tripos_warehouse.statistics.user_functions import python_refused

    plain = {
        SQL.flag: options.sql,
        ReportParameters.confusion.flag: options.confusion,
        ReportParameters.items.flag: options.items,
    }
    form = output_format(options, text_only={**plain, ReportParameters.html.flag: options.html is not None})
    best: frozenset[BestValue] = frozenset()
    tables: Sequence[FigureTable] = ()
    items: Sequence[AnalysedItem] = ()
    store = open_store(options)
    with python_refused(trust_of(options).untrusted):
        report = make_report(store, options.run, plan, options.only)
    if options.table or options.tables:
        show_tables(_declared_tables(store, report, options.table), form, options)
        return ExitCode.SOME_FAILED if report.failed else ExitCode.SUCCESS
    if options.confusion:
        tables = _figure_tables(store, report)
    if options.items:
        items = _items(store, report)
    if form in PAPER_FORMATS:
        best = _best_values(store, report)
    if options.html:
        from tripos.cli.views import write_html

        write_html(options, report, options.html)
    if options.junit:
        write_junit(report, options.junit)
    if form == "json":
        more = tables_json(tables) if options.confusion else {}
        more |= items_json(items) if options.items else {}
        print_json({**report.to_json(), **more})
    elif form == "csv":
        show_output(encode_answer(report.to_export(), form))
    elif form in PAPER_FORMATS:
        show_tables(report_tables(report, best), form, options)
    elif options.html:
        show_message(f"written to {options.html}")
    else:
        show_report(report, sql=options.sql, options=options)
        if options.confusion:
            show_text("", figure_tables_text(tables, table_width()).rstrip("\n") or localized(NO_TABLES), sep="\n")
        if options.items:
            text = items_text(items, report.run.benchmark, table_width()).rstrip("\n")
            show_text("", text or localized(NO_ITEMS), sep="\n")
    if report.failed:
        return ExitCode.SOME_FAILED
    return ExitCode.SUCCESS if report.passed else ExitCode.EXPECTATION_FAILED


def make_report(store: Store, run_id: str | None, plan: Plan | None = None, wanted: Sequence[str] = ()) -> Report:
    """Return the report of a run; by default of the newest one. With a `plan`, compute its measures from the rows of
    the run. `wanted` restricts the values of axes and arms. Raises `StoreError`, and `TriposError` for values that the
    run does not have."""
    connection, run = connect_run(store, run_id, plan, sums=True)
    with connection:
        own = get_selected(connection, run) if plan is None else select_treatments(plan, run.only)
        if not wanted:
            return report_of(connection, own, run)
    from tripos.runs.selection import parse_filters

    only = _within(run, parse_filters(wanted, own))
    connection, run = connect_run(store, run.run_id, plan, only, sums=True)
    with connection:
        return report_of(connection, select_treatments(own, only), run, only)


def _declared_tables(store: Store, report: Report, wanted: Sequence[str]) -> list[Table]:
    """Return the wanted tables of a benchmark, or all, with the results that a report is of."""
    tables = find_tables(report.plan, wanted)
    connection, _ = connect_run(store, report.run.run_id, report.plan, report.only, sums=True)
    with connection:
        return filled_tables(connection, report, tables, None)


NO_TABLES = "no measure holds classes against gold ones, or probabilities against what came true"


def _figure_tables(store: Store, report: Report) -> Sequence[FigureTable]:
    """Return the tables behind the figures of a report, restricted to its rows."""
    connection, _ = connect_run(store, report.run.run_id, report.plan, report.only)
    with connection:
        return figure_tables(connection, report.plan)


NO_ITEMS = "no item has a score with a value"


def _items(store: Store, report: Report) -> Sequence[AnalysedItem]:
    """Return the items behind a report, restricted to its rows."""
    connection, _ = connect_run(store, report.run.run_id, report.plan, report.only, sums=True)
    with connection:
        return analysed_items(connection, report.run.benchmark)


def _best_values(store: Store, report: Report) -> frozenset[BestValue]:
    """Return the best values of a report, restricted to its rows."""
    connection, _ = connect_run(store, report.run.run_id, report.plan, report.only)
    with connection:
        return best_values(connection, report)


def _within(run: RunRecord, only: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the selection within a run that was itself restricted. Raises `TriposError` if they have no value in
    common."""
    found = {}
    for name, values in only.items():
        own = run.only.get(name, values)
        found[name] = tuple(value for value in values if value in own)
        if not found[name]:
            message = f"run `{run.run_id}` has nothing of `{name}={','.join(values)}`"
            raise TriposError("R0202", message, f"it was made with `{ONLY} {name}={','.join(own)}`")
    return found


def show_report(report: Report, *, sql: bool, options: Namespace) -> None:
    """Print a report. `options` determine how the commands at its end name the store."""
    _show(render_report(report, terminal_width(), sql, store_options(options), table_width()))


def show_headline(report: Report, *, sql: bool, options: Namespace) -> None:
    """Print the headline of a report, and the next commands."""
    _show(render_headline(report, terminal_width(), table_width(), sql))
    show_text("", *next_lines(report, store_options(options)), sep="\n")


def _show(text: Text) -> None:
    from rich.console import Console

    console = Console(file=sys.stdout, width=terminal_width(), highlight=False, force_terminal=is_colored(sys.stdout))
    text.plain = replace_controls(text.plain)
    with console.capture() as captured:  # rich would end the program if standard output is closed
        console.print(text, soft_wrap=True, end="")
    show_text(captured.get(), end="", styled=True)


def write_junit(report: Report, path: str) -> None:
    """Write the results of the expectations as JUnit XML. Raises `TriposError` S0102 if the file cannot be written."""
    from tripos_warehouse.report.junit import junit

    write_xml(junit(report), path)


def write_xml(text: str, path: str) -> None:
    """Write JUnit XML to a file. Raises `TriposError` S0102 if the file cannot be written."""
    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise TriposError("S0102", f"cannot write `{path}`: {error.strerror}", "write it somewhere else") from error


def _plan_of(options: Namespace) -> Plan | None:
    """Return the plan of the spec whose measures are requested, after printing its diagnostics."""
    from tripos.cli.context import compile_command_spec
    from tripos.settings.load import chosen_settings
    from tripos.settings.trust import trust_of

    options.path = options.spec
    compilation, _ = compile_command_spec(options, chosen_settings(options).config)
    trusted = not trust_of(options).untrusted
    if trusted and compilation.plan is not None and any(plugin.aggregate for plugin in compilation.plan.plugins):
        from tripos.runs.records import allow_user_aggregates

        allow_user_aggregates(compilation.plan, Path(compilation.sources[0].path).parent, compilation.release_folders)
    return compilation.plan


UNREMARKABLE = {"samples": ("ok",), "scores": ("scored", "not_applicable"), "comparisons": ("scored", "not_applicable")}
"""The statuses of each table that need no attention."""
REASON_COLUMNS = {
    "samples": "model, status, error, reply",
    "scores": "model, metric, status, error",
    "comparisons": "first_model, second_model, status, error",
}
"""The column of each table that explains a missing value."""


def next_lines(report: Report, store: str) -> list[str]:
    """Return one line for each suggested command: its purpose and the command, which is never wrapped. `store` is the
    result of `store_options`."""
    said = {localized(label): command for label, command in _commands(report)}
    room = max(map(display_width, said))
    return [
        f"{label}{' ' * (room - display_width(label))}  {_with_store(command, store)}"
        for label, command in said.items()
    ]


def store_options(options: Namespace) -> str:
    """Return the options that make another command use the same store, as typed in a shell.

    >>> store_options(Namespace(store="my results", profile=None))
    "--store 'my results'"
    """
    if options.store:
        return f"{STORE} {shlex.quote(options.store)}"
    return f"{PROFILE} {shlex.quote(options.profile)}" if options.profile else ""


def _commands(report: Report) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield suggested commands with their purpose: the measures, the page, replies and scores without a value, and the
    difference of two models or the scores of one."""
    run, count = report.run, len(report.measures)
    yield (f"all {count} measures" if count > 1 else "the whole report"), ("report", run.run_id)
    yield "every reply", ("view", run.run_id)
    for table, good in UNREMARKABLE.items():
        if any(status not in good for status in getattr(report, table)):
            wanted = " and ".join(f"status <> '{status}'" for status in good)
            yield (
                "what failed",
                ("sql", f"select {REASON_COLUMNS[table]} from {run.benchmark}.{table} where {wanted} limit 5"),
            )
            return
    if len(run.models) > 1:
        two = (CompareParameters.models.flag, ",".join(run.models[:2])) if len(run.models) > 2 else ()
        yield "two models", ("compare", run.run_id, *two)
    else:
        yield "in SQL", ("sql", further_query(report))


def _with_store(command: tuple[str, ...], store: str) -> str:
    verb, *words = command
    quoted = [f'"{word}"' if " " in word else shlex.quote(word) for word in words]
    return " ".join(["tripos", verb, *quoted, *([store] if store else [])])
