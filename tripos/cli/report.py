"""`tripos report` and `tripos list`: the measures of a run with intervals and SQL, its expectations, and all runs."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tripos.cli.context import PAPER_FORMATS, Context, Outcome, Styled
from tripos.cli.tables import printed_lines
from tripos.files import write_file
from tripos.settings.options import FORMAT, JUNIT, ONLY, PROFILE, SQL, STORE, CompareParameters, ReportParameters
from tripos.terminal import is_colored, message, replace_controls, table_width, terminal_width
from tripos_compiler.diagnostics.i18n import chosen_language, localized, titles_language
from tripos_compiler.diagnostics.text_format import display_width
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.language.contexts import select_treatments
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.confusion import FigureTable, figure_tables, tables_json
from tripos_warehouse.measures.items import AnalysedItem, analysed_items, items_json
from tripos_warehouse.query.results import encode_answer
from tripos_warehouse.report.best_values import best_values
from tripos_warehouse.report.result_tables import filled_tables, find_tables, needs_single_scores
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
from tripos_warehouse.tables.data import to_csv, to_json
from tripos_warehouse.tables.model import Column
from tripos_warehouse.tables.render import to_text
from tripos_warehouse.views.connect import connect, connect_run
from tripos_warehouse.views.runs import RunRecord, get_selected, list_runs

if TYPE_CHECKING:
    from rich.text import Text


def list_main(context: Context) -> Outcome:
    """Return the runs of a store, newest first."""
    rows = [listed.to_row() for listed in list_runs(connect(context.store()))]
    columns = [
        Column("run", tuple(row["run_id"] for row in rows), shrinks="never"),
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
    return Outcome(lambda: rows, printed_lines(*columns))


def _status(row: Mapping[str, Any]) -> str:
    """Return the status of a run in words, with its shard and the number of items withheld."""
    status = localized(row["status"])
    status += localized(f", shard {row['shard']}") if row["shard"] else ""
    return status + (localized(f", {row['withheld']:,} items withheld") if row["withheld"] else "")


TABLE_OPTIONS = (ReportParameters.table, ReportParameters.tables)


def main(context: Context) -> Outcome:
    """Return the report of a run. The exit code is 1 if a measure could not be computed, 100 if an `expect` failed."""
    options, form = context.options, context.form
    plan = None if options.spec is None else _plan_of(context)
    if options.html and (plan is not None or options.only):
        fault = f"`{ReportParameters.html}` shows a run as it was, without `{ReportParameters.spec}` and `{ONLY}`"
        raise TriposError("R0202", fault, "write the page of the whole run; it filters by every axis")
    shown = (SQL, ReportParameters.confusion, ReportParameters.items, ReportParameters.html, ReportParameters.pdf)
    for option in shown:
        if option.is_in(options) and form not in ("text", "json"):
            raise TriposError("R0202", f"`{option}` has no use with `{FORMAT} {form}`", "leave one of them out")
    declared = next((each for each in TABLE_OPTIONS if each.is_in(options)), None)
    for option in (*shown, JUNIT):
        if declared is not None and option.is_in(options):
            raise TriposError("R0202", f"`{option}` has no use with `{declared}`", "leave one of them out")
    from tripos_warehouse.statistics.user_functions import python_refused

    store = context.store()
    with python_refused(context.trust.untrusted):
        report = make_report(store, options.run, plan, options.only)
    context.read_in([report.plan])
    if declared is not None:
        return _declared_tables(store, report, options.table, form, of_run=options.spec is None)
    tables = _figure_tables(store, report) if options.confusion else ()
    items = _items(store, report) if options.items else ()
    best = _best_values(store, report) if form in PAPER_FORMATS else frozenset()
    if options.html:
        from tripos.cli.views import write_html

        write_html(context, report, options.html)
    if options.pdf:
        from tripos.cli.views import write_pdf

        write_pdf(store, report, options.pdf)
    written = [path for path in (options.html, options.pdf) if path]
    if options.junit:
        write_junit(report, options.junit)
    return Outcome(
        lambda: {
            **report.to_json(),
            **(tables_json(tables) if options.confusion else {}),
            **(items_json(items) if options.items else {}),
        },
        [message(f"written to {path}") for path in written] or _report_lines(report, tables, items, options),
        {"csv": lambda: encode_answer(report.to_export(), "csv")},
        lambda: report_tables(report, best),
        exit_code_of(report),
    )


def exit_code_of(report: Report) -> ExitCode:
    """Return the exit code of a report: 1 if a measure could not be computed, 100 if an `expect` failed."""
    if report.failed:
        return ExitCode.SOME_FAILED
    return ExitCode.SUCCESS if report.passed else ExitCode.EXPECTATION_FAILED


def _report_lines(
    report: Report, tables: Sequence[FigureTable], items: Sequence[AnalysedItem], options: Namespace
) -> Iterator[str]:
    yield styled_text(render_report(report, terminal_width(), options.sql, store_options(options), table_width()))
    if options.confusion:
        yield from ("", figure_tables_text(tables, table_width()).rstrip("\n") or localized(NO_TABLES))
    if options.items:
        text = items_text(items, report.plan, table_width()).rstrip("\n")
        yield from ("", text or localized(NO_ITEMS))


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


def _declared_tables(store: Store, report: Report, wanted: Sequence[str], form: str, *, of_run: bool) -> Outcome:
    """Return the wanted tables of a benchmark, or all, with the results that a report is of. `of_run` if its plan is
    the one that the run has kept. Titles are in the language of the reader; in files, unless one is chosen, in the
    first of the benchmark."""
    declared = find_tables(report.plan, wanted, of_run=of_run)
    sums = not needs_single_scores(declared)
    connection, _ = connect_run(store, report.run.run_id, report.plan, report.only, sums=sums)
    with connection:
        language = titles_language() if form == "text" else chosen_language()
        tables = filled_tables(connection, report, declared, language)
    return Outcome(
        lambda: to_json(tables),
        [to_text(tables, table_width()).rstrip("\n")],
        {"csv": lambda: to_csv(tables)},
        lambda: tables,
        exit_code_of(report),
    )


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
        return analysed_items(connection, report.plan)


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


def headline_lines(report: Report, options: Namespace) -> Iterator[str]:
    """Yield the headline of a report, and the next commands. `options` determine how these name the store."""
    yield styled_text(render_headline(report, terminal_width(), table_width(), options.sql))
    yield from ("", *next_lines(report, store_options(options)))


def styled_text(text: Text) -> Styled:
    """Return a text of rich as a line, with its colours if standard output has them."""
    from rich.console import Console

    console = Console(file=sys.stdout, width=terminal_width(), highlight=False, force_terminal=is_colored(sys.stdout))
    text.plain = replace_controls(text.plain)
    with console.capture() as captured:  # rich would end the program if standard output is closed
        console.print(text, soft_wrap=True, end="")
    return Styled(captured.get().removesuffix("\n"))


def write_junit(report: Report, path: str) -> None:
    """Write the results of the expectations as JUnit XML. Raises `TriposError` S0102 if the file cannot be written."""
    from tripos_warehouse.report.junit import junit

    write_xml(junit(report), path)


def check_xml_place(path: str) -> None:
    """Raise `TriposError` S0102 if JUnit XML cannot be written to a path, before a run costs anything."""
    folder = Path(path).parent
    fault = "it is a folder" if Path(path).is_dir() else None if folder.is_dir() else f"there is no folder `{folder}`"
    if fault is not None:
        raise TriposError("S0102", f"cannot write `{path}`: {fault}", "write it somewhere else")


def write_xml(text: str, path: str) -> None:
    """Write JUnit XML to a file. Raises `TriposError` S0102 if the file cannot be written."""
    write_file(Path(path), text)


def _plan_of(context: Context) -> Plan:
    """Return the plan of the spec whose measures are requested, after printing its diagnostics."""
    spec = context.compiled(context.options.spec)
    if not context.trust.untrusted and any(plugin.aggregate for plugin in spec.plan.plugins):
        from tripos.runs.records import allow_user_aggregates

        allow_user_aggregates(spec.plan, spec.main.parent, spec.compilation.release_folders)
    return spec.plan


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
