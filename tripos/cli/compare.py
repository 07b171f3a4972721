"""`tripos compare`: compares two runs, or two models of a run, item by item; refuses incomparable ones."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
from rich.cells import cell_len

from tripos.cli.context import Context, Outcome
from tripos.cli.report import write_xml
from tripos.settings.options import CompareParameters
from tripos.terminal import escape_controls, table_width, terminal_width
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.plan import Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.measure_rows import SEQUENCE
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.query.results import encode_answer
from tripos_warehouse.report.comparison import (
    ChangeLine,
    ComparedRow,
    Comparison,
    Equivalence,
    RunSide,
    changes_between,
    compare,
    notes_of,
    verdicts,
)
from tripos_warehouse.report.junit import comparison_junit
from tripos_warehouse.report.remarks import STAND_IN_NOTE
from tripos_warehouse.report.run_report import STAND_IN_PREFIXES
from tripos_warehouse.report.tables import comparison_tables
from tripos_warehouse.report.text import render_comparison
from tripos_warehouse.store.store import Store
from tripos_warehouse.tables.text import fold
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import RunRecord, find_previous, get_selected

MOST_CHANGES = 12
"""The maximum number of changes of the spec that are shown. The rest are counted."""


def main(context: Context) -> Outcome:
    """Return the differences of two runs or two models."""
    options = context.options
    if len(options.runs) > 2:
        raise TriposError(
            "R0202", f"{len(options.runs)} runs cannot be compared at once", "give two: tripos compare A B"
        )
    store = context.store()
    with ExitStack() as open_:
        one, two = _sides(store, options, open_)
        context.read_in([two.plan])
        changed, by_judge = changes_between(one, two, anyway=options.anyway)
        comparison = compare(one, two, by_judge=by_judge, margins=dict(options.within))
    if options.junit:
        write_xml(comparison_junit(one, two, comparison), options.junit)
    failures = _failures(comparison, options.fail_on) if options.fail_on else []
    undirected = list(dict.fromkeys(row.name for row in _without_direction(comparison))) if options.fail_on else []
    caption = f"{two.run.benchmark} {two.run.version}"
    a, b = (f"{', '.join(side.models)} ({side.run.run_id})" for side in (one, two))
    return Outcome(
        lambda: _data(one, two, changed, comparison) | {"failed": failures, "without_direction": undirected},
        _text(one, two, changed, comparison, failures, undirected),
        {"csv": lambda: encode_answer(pa.Table.from_pylist(_data(one, two, changed, comparison)["rows"]), "csv")},
        lambda: comparison_tables(comparison, caption, a, b),
        exit_code=ExitCode.EXPECTATION_FAILED if failures else ExitCode.SUCCESS,
    )


def _failures(comparison: Comparison, fail_on: str) -> list[str]:
    """Return a line for each figure that fails the comparison, and one if nothing can fail since no row has a
    direction; with `undecided`, also for those that show nothing, cannot be compared, or differ without a
    direction."""
    named = [
        (f"{section.kind} {row.name} ({row.of})" if row.of else f"{section.kind} {row.name}", row)
        for section in comparison.sections
        for row in section.rows
    ]
    failures = [f"{name}: {row.regression}" for name, row in named if row.regression is not None]
    if named and not any(row.graded or row.equivalence is not None for _, row in named):
        failures.append("nothing says of any row which way it is better, so none can be worse")
    if fail_on == "undecided":
        failures += [f"{name}: undecided" for name, row in named if row.regression is None and row.is_undecided]
        failures += [
            f"measure {row.name}: differs, and nothing says which way it is better"
            for row in _without_direction(comparison)
            if row.is_apart
        ]
        failures += [f"measure {name}: not compared, {why}" for name, why in comparison.unpaired]
        failures += [] if named else ["nothing is compared"]
    return failures


def _without_direction(comparison: Comparison) -> list[ComparedRow]:
    """Return the rows of measures that cannot be worse: they have no margin, and nothing says which way is better."""
    rows = (row for section in comparison.sections if section.kind == "measure" for row in section.rows)
    return [row for row in rows if not row.graded and row.equivalence is None]


def _text(
    one: RunSide,
    two: RunSide,
    changed: list[ChangeLine],
    comparison: Comparison,
    failures: list[str],
    undirected: list[str],
) -> Iterator[str]:
    ending = ["", "failed:", *(f"  {failure}" for failure in failures)] if failures else []
    notes: list[str] = []
    if undirected:
        names = ", ".join(f"`{name}`" for name in undirected)
        text = localized(
            f"note: nothing says which way {names} is better, so it cannot be worse: write `higher is better` or"
            " `lower is better` behind the measure"
        )
        notes = ["", *fold(text, table_width())]
    for line in (*_head(one, two, changed), *render_comparison(comparison, table_width()), *notes, *ending):
        yield from _fit(line)


def _sides(store: Store, options: Namespace, open_: ExitStack) -> tuple[RunSide, RunSide]:
    found: list[tuple[Connection, Plan, RunRecord]] = []
    wanted = list(options.runs) or [None]
    while wanted:
        opened, run = connect_run(store, wanted.pop())
        connection: Connection = open_.enter_context(opened)
        found.insert(0, (connection, get_selected(connection, run), run))
        if not options.runs and len(found) == 1 and len(run.models) == 1:
            wanted += find_previous(connection, run)
    (connection, plan, run), (connection_b, plan_b, run_b) = found[0], found[-1]
    a, b = _models(options, run, run_b, len(found) == 1)
    return RunSide(connection, plan, a, run), RunSide(connection_b, plan_b, b, run_b)


def _models(options: Namespace, one: RunRecord, two: RunRecord, alone: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the models of both sides; models at the same position are compared. Raises `StoreError` S0614 if they do
    not match."""
    named = [name.strip() for model in options.models for name in model.split(",") if name.strip()]
    if named:
        if len(named) != 2:
            raise StoreError(
                "S0614",
                f"`{CompareParameters.models}` names {len(named)}, and two are compared",
                f"write {CompareParameters.models} A,B",
            )
        return _model(named[0], one), _model(named[1], two)
    if alone:
        if len(one.models) != 2:
            some = ", ".join(one.models)
            requested = "one model: give two runs" if len(one.models) == 1 else f"{len(one.models)} models: {some}"
            raise StoreError(
                "S0614", f"run `{one.run_id}` compares {requested}", f"say which two: {CompareParameters.models} A,B"
            )
        return one.models[:1], one.models[1:]
    shared = tuple(model for model in one.models if model in two.models)
    if shared:
        return shared, shared
    if len(one.models) == len(two.models) == 1:
        return one.models, two.models
    raise StoreError(
        "S0614", "the two runs have no model in common", f"say which to compare: {CompareParameters.models} A,B"
    )


def _model(text: str, run: RunRecord) -> tuple[str, ...]:
    found = [model for model in run.models if model == text] or [
        model for model in run.models if model.endswith(f"/{text}")
    ]
    if len(found) == 1:
        return tuple(found)
    hint = suggest(text, run.models, f"its models are {', '.join(run.models)}")
    raise StoreError("S0614", f"run `{run.run_id}` has no model `{text}`", hint)


def _head(one: RunSide, two: RunSide, changed: list[ChangeLine]) -> list[str]:
    lines = [f"{two.run.benchmark} {two.run.version}"]
    for letter, side in (("A", one), ("B", two)):
        lines.append(f"{letter}  {', '.join(side.models)}  ({side.run.run_id})")
    if any(model.startswith(STAND_IN_PREFIXES) for side in (one, two) for model in side.models):
        lines += ["", *fold(localized(STAND_IN_NOTE), terminal_width())]
    if one.run.run_id != two.run.run_id:
        lines += ["", "changed in between:"] if changed else ["", "nothing of the spec changed in between"]
        lines += [f"  {'!' if line.scoring else ' '} {line}" for line in changed[:MOST_CHANGES]]
        if len(changed) > MOST_CHANGES:
            lines.append(f"    and {len(changed) - MOST_CHANGES} more")
        if any(line.scoring for line in changed):
            lines.append("  ! scores before and after mean different things")
    return lines


def _fit(line: str) -> list[str]:
    """Return a line wrapped for the terminal, with a hanging indent."""
    room = table_width()
    if cell_len(line) <= room:
        return [escape_controls(line)]
    text = line.lstrip(" ")
    start = len(line) - len(text)
    first, *rest = fold(escape_controls(text), room - start - 4)
    return [" " * start + first, *(" " * (start + 4) + each for each in rest)]


def _data(one: RunSide, two: RunSide, changed: list[ChangeLine], comparison: Comparison) -> dict[str, Any]:
    return {
        "format": "tripos.comparison/1",
        **{
            name: {"run_id": side.run.run_id, "models": list(side.models), "plan_digest": side.run.plan_digest}
            for name, side in (("a", one), ("b", two))
        },
        "changes": [line._asdict() for line in changed],
        "pairs": comparison.pairs,
        "items": comparison.items,
        "only_a": comparison.only_a,
        "only_b": comparison.only_b,
        "same": comparison.same,
        "unpaired": [{"name": name, "reason": why} for name, why in comparison.unpaired],
        "together": list(comparison.of_all_models),
        "people": list(comparison.people),
        "cautions": list(comparison.cautions),
        "tests": comparison.tests,
        "headline": list(comparison.first),
        "notes": list(notes_of(comparison)),
        "rows": [
            {
                "section": section.kind,
                "name": row.name,
                "of": row.of,
                "lower_is_better": row.lower_is_better,
                "a": row.a,
                "b": row.b,
                "difference": row.difference.value,
                "standard_error": row.difference.standard_error,
                "low": row.difference.low,
                "high": row.difference.high,
                "df": row.difference.df,
                "pairs": row.difference.n,
                "items": row.difference.clusters,
                "p": row.difference.p,
                "p_holm": row.p,
                "q": row.q,
                "ruled_out": row.ruled_out,
                **_equivalence(row.equivalence),
                "method": SEQUENCE if row.by_sequence else None,
                "reason": row.difference.reason,
                "verdict": verdict,
            }
            for section in comparison.sections
            for row, verdict in zip(section.rows, verdicts(section, comparison.tests), strict=True)
        ],
    }


def _equivalence(found: Equivalence | None) -> dict[str, Any]:
    """Return the columns on equivalence within a margin; all None for a row without one."""
    if found is None:
        return {}
    return {
        "margin": found.margin,
        "margin_low": found.low,
        "margin_high": found.high,
        "p_equivalent": found.p_equivalent,
        "p_not_worse": found.p_not_worse,
        "equivalence": found.verdict,
    }
