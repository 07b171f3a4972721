"""`tripos annotate`: assigns replies to a person as a spreadsheet or a page, and imports the grades."""

from __future__ import annotations

import secrets
from argparse import Namespace
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import orjson

from tripos.annotation.assignment import Assignment, AssignmentDesk, AssignmentOptions, check_name, expected_gains
from tripos.annotation.batch import Batch, GradeError, IngestedGrades, ReturnedGrades, check_grades, get_batch
from tripos.annotation.carry_over import carry_to_other_runs
from tripos.annotation.notes import ReturnedNotes, read_notes
from tripos.annotation.page import GradingPage
from tripos.annotation.replies import grading_role
from tripos.annotation.sheet import GradesFile, read_grades
from tripos.cli.context import Context, Outcome
from tripos.runs.records import media_store
from tripos.runs.selection import chosen_scenarios, chosen_subset, parse_filters
from tripos.settings.options import STORE, SUBSET, AnnotateParameters
from tripos.terminal import escape_controls, message, show_message, terminal_width
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.diagnostics.text_format import counted
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.language.contexts import Drawn, select_treatments
from tripos_warehouse.ledger.imported_scores import KeptCounts, store_scores
from tripos_warehouse.store.schemas import JUDGEMENTS
from tripos_warehouse.store.store import Store
from tripos_warehouse.tables.text import fold, pad
from tripos_warehouse.views.connect import connect, connect_run
from tripos_warehouse.views.notes import FLAGS, add_notes, flagged_replies
from tripos_warehouse.views.runs import find_run, get_selected, known_in_run, marked_items

SHEET = ".xlsx"
MOST_FAULTS = 40


def main(context: Context) -> Outcome:
    """Assign replies, or import grades."""
    _check(context.options)
    return _import_grades(context) if context.options.take else _assign(context)


def _check(options: Namespace) -> None:
    """Raise `TriposError` R0202 if options for assigning and for importing are combined."""
    if options.take is None:
        return
    of_import = ("take", "partial", "json", "store", "profile")
    for option in AnnotateParameters.options:
        if option.name not in of_import and option.is_in(options):
            fault = f"`{option}` is for drawing replies, and `{AnnotateParameters.take}` imports the grades of a file"
            raise TriposError("R0202", fault, "leave it out: the file has the person, the run and the replies")


# Assignment


def _assign(context: Context) -> Outcome:
    options = context.options
    path = _output(options)
    store = context.store(writes=True)
    connection, run = connect_run(store, options.run)
    with connection:
        plan = get_selected(connection, run)
        plan = select_treatments(plan, parse_filters(options.only, plan))
        context.read_in([plan])
        role = grading_role(plan, options.role, run.compared_role)
        desk = AssignmentDesk(store, connection, plan, run, role, options.name, _round(options))
        choice = _choice(options, desk)
        if options.page:
            begun = path.exists() and path.stat().st_size > 0
            hand = desk.again(_resumed(desk, path)) if begun else desk.assign(choice, _now)
        else:
            hand = desk.assign(choice, _now)
            _write_sheet(path, hand)
        gains = tuple(expected_gains(connection, plan, hand.batch))
        of = None if choice.items is None else known_in_run(connection, run.run_id, options.subset, len(choice.items))
    texts = _assignment_texts(hand, path, options)
    if options.page and begun and (ignored := _differing(choice, hand.batch, options)):
        names = ", ".join(f"`{name}`" for name in ignored)
        texts.append(f"{path} goes on with the replies that it has, without {names}; another file of `-o` draws anew")
    for each in gains:
        now = f"{each.measure} of {each.model}: ±{each.now:.3g} with {each.items:,} graded items"
        texts.append(f"{now}, about ±{each.then:.3g} with {each.items_then:,}")
    if of is not None and not of.is_complete:
        texts.append(f"{of.describe(options.subset)} are in this run")
    if not options.page:
        return Outcome(lines=map(message, texts))
    for text in texts:  # before the page is served
        show_message(text)
    return Outcome(lines=map(message, _serve(hand, path, context)))


def _round(options: Namespace) -> int | None:
    """Return the round, or None for the first, which grades without a round belong to."""
    return options.round if options.round and options.round > 1 else None


def _output(options: Namespace) -> Path:
    if not options.name:
        raise TriposError(
            "R0202",
            "the name of the person is missing",
            f"give {AnnotateParameters.name} NAME; the scores will say human/NAME",
        )
    check_name(options.name)
    later = "" if _round(options) is None else f"-round{options.round}"
    path = Path(options.output or f"{options.name}{later}{'.jsonl' if options.page else SHEET}")
    if options.page:
        if path.suffix == SHEET:
            raise TriposError(
                "R0202", "a page keeps its grades in JSON Lines", "name a file such as anna.jsonl with `-o`"
            )
        return path
    if path.suffix.lower() != SHEET:
        raise TriposError(
            "R0202", f"`{path}` is no spreadsheet", f"end the name in {SHEET}, or give {AnnotateParameters.page}"
        )
    if path.exists():
        raise TriposError(
            "S0703", f"`{path}` is there already, perhaps with grades in it", "name another file with `-o`"
        )
    return path


def _choice(options: Namespace, desk: AssignmentDesk) -> AssignmentOptions:
    return AssignmentOptions(
        options.limit,
        parse_filters(options.only, desk.plan),
        chosen_scenarios(options.scenario, desk.plan),
        options.sample,
        options.overlap,
        options.seed or 0,
        options.subset,
        _items(options.subset, desk),
        options.whole_items or None,
        options.optimal or None,
        tuple(options.balance),
        options.flagged,
        _flagged(options.flagged, desk),
    )


def _differing(choice: AssignmentOptions, batch: Batch, options: Namespace) -> list[str]:
    """Return the options of the draw that were given, and are not those that the batch was drawn with."""
    drawn = orjson.loads(orjson.dumps(choice.recorded))
    fields = {"scenarios": "scenario"}
    given = {option.name: str(option) for option in AnnotateParameters.options if option.is_in(options)}
    return [
        given[option]
        for name, value in drawn.items()
        if (option := fields.get(name, name)) in given and batch.chosen.get(name) != value
    ]


def _items(name: str | None, desk: AssignmentDesk) -> Drawn | None:
    """Return the items that the run has marked as those of a subset. Raises `TriposError` R0202 if there are none."""
    if name is None:
        return None
    chosen_subset(name, desk.plan)
    found = marked_items(desk.connection, desk.run.run_id, name)
    if not found:
        hint = f"run them: `tripos run SPEC {SUBSET} {name}`"
        raise TriposError("R0202", f"run `{desk.run.run_id}` has no item of the subset `{name}`", hint)
    return found


def _flagged(flag: str | None, desk: AssignmentDesk) -> frozenset[str] | None:
    """Return the ids of the flagged replies, or None without a flag. Raises `TriposError` S0707 if there are none."""
    if flag is None:
        return None
    found = flagged_replies(desk.connection, desk.run.benchmark, FLAGS if flag == "any" else [flag])
    if not found:
        fault = f"no reply of run `{desk.run.run_id}` has {'a flag' if flag == 'any' else f'the flag `{flag}`'}"
        raise TriposError("S0707", fault, "flag replies on the page of results: `tripos view`")
    return found


def _resumed(desk: AssignmentDesk, path: Path) -> Batch:
    """Return the batch of a file in progress. Raises `TriposError` S0703 if it belongs to another person, role or
    run."""
    batch = get_batch(desk.store, read_grades(path).batch)
    wanted = desk.run.run_id, desk.role, desk.name, desk.round
    if (batch.run_id, batch.role, batch.name, batch.round) != wanted:
        round_ = "" if batch.round is None else f" in round {batch.round}"
        told = f"`{path}` is of `{batch.name}` as `{batch.role}` on run `{batch.run_id}`{round_}"
        raise TriposError("S0703", told, "name another file with `-o`")
    return batch


def _write_sheet(path: Path, hand: Assignment) -> None:
    from tripos.annotation.sheet import sheet_bytes

    content = sheet_bytes(hand.batch, hand.views, datetime.fromisoformat(hand.batch.made_at))
    try:
        with path.open("xb") as file:
            try:
                file.write(content)
            except OSError:  # half a sheet would be in the way of the next try
                path.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise TriposError("S0703", f"cannot write `{path}`: {error.strerror}", "name another file with `-o`") from error


def _assignment_texts(hand: Assignment, path: Path, options: Namespace) -> list[str]:
    batch = hand.batch
    scenarios = len({row.scenario for row in batch.rows})
    marks = sum(len(row.marks) for row in batch.rows)
    summary = (
        f"{counted(len(batch.rows), 'reply')} of run {batch.run_id} for {batch.name}:"
        f" {counted(scenarios, 'scenario')}, {counted(marks, 'grade')}"
    )
    texts = [summary if batch.round is None else f"{summary}, round {batch.round}"]
    if hand.shared is not None:
        texts.append(f"{counted(hand.shared, 'reply', 'replies')} that somebody else was assigned too")
    if hand.graded:
        texts.append(f"not assigned again: {counted(hand.graded, 'reply', 'replies')} that {batch.name} has graded")
    if hand.lacking:
        texts.append(f"{hand.lacking:,} fewer than `{AnnotateParameters.sample}`: there are no more")
    texts.append(f"batch {batch.batch}, seed {batch.seed}: the store has the order")
    if not options.page:
        texts.append(f"written to {path}; when it is filled in: {_import_command(path, options)}")
    return texts


def _serve(hand: Assignment, path: Path, context: Context) -> list[str]:
    """Serve the page until it is interrupted, and return what was graded in sentences."""
    from tripos.view.server import serve, with_language

    grades = GradesFile(path, hand.batch, _now().isoformat(timespec="seconds"))
    page = GradingPage(hand, grades, _now, media_store(context.store()).load)
    try:
        token = secrets.token_urlsafe(24)
        takers = {"grade": page.take}
        serve(
            page,
            context.options.port or 0,
            token,
            lambda address: _open_at(f"{with_language(address)}#/grade", path),
            takers,
        )
    finally:
        grades.close()
    done = page.done
    is_done = done == len(hand.batch.rows)
    unfinished = "" if is_done else f" {AnnotateParameters.partial}"
    return [
        f"\n{done} of {counted(len(hand.batch.rows), 'reply', 'replies')} graded, kept in {path}",
        *([] if is_done else ["the same command goes on with it"]),
        f"import the grades: {_import_command(path, context.options)}{unfinished}",
    ]


def _open_at(url: str, path: Path) -> None:
    show_message(f"open {url}", flush=True)
    show_message(f"every grade is kept in {path} at once; Ctrl-C ends it", flush=True)


def _import_command(path: Path, options: Namespace) -> str:
    return f"tripos annotate {AnnotateParameters.take} {path}" + (f" {STORE} {options.store}" if options.store else "")


# Import of grades


def _import_grades(context: Context) -> Outcome:
    path, partial = Path(context.options.take), context.options.partial
    if path.suffix.lower() != SHEET and (notes := read_notes(path, _now())) is not None:
        return _import_notes(context, notes)
    answers = _read(path)
    store = context.store(writes=True)
    batch = get_batch(store, answers.batch)
    taken = check_grades(batch, answers, partial=partial)
    kept = KeptCounts() if taken.faults else _store_grades(store, batch, taken)
    failure = None
    if taken.faults:
        hint = "fix it and take it again" + (
            f"; `{AnnotateParameters.partial}` leaves out unfinished replies" if taken.unfinished else ""
        )
        fault = f"{counted(len(taken.faults), 'thing')} in `{path}` cannot be taken, so nothing was"
        failure = TriposError("S0705", fault, hint, ExitCode.SOME_FAILED)
    return Outcome(
        lambda: {
            "batch": batch.batch,
            "evaluator": batch.evaluator,
            "new": kept.new,
            "changed": kept.changed,
            "same": kept.same,
            "open": len(taken.unfinished),
            "faults": [{"address": each.address, "reason": each.reason} for each in taken.faults],
        },
        _fault_lines(taken.faults) if taken.faults else _import_lines(store, batch, taken, kept),
        failure=failure,
    )


def _import_notes(context: Context, returned: ReturnedNotes) -> Outcome:
    """Import the notes of a file, all or none, or with `--partial` those that fit the store."""
    partial = context.options.partial
    added = add_notes(context.store(writes=True), returned.notes, partial=partial)
    faults = [GradeError(returned.addresses[fault.note_id], fault.reason) for fault in added.faults]
    failure = None
    if faults and not partial:
        fault = f"{counted(len(faults), 'note')} in `{context.options.take}` cannot be taken, so nothing was"
        hint = f"`{AnnotateParameters.partial}` leaves them out"
        failure = TriposError("S0709", fault, hint, ExitCode.SOME_FAILED)
    summary = message(f"{returned.noted_by}: {counted(added.new, 'note')} added, {added.same} as before")
    return Outcome(
        lambda: {
            "evaluator": returned.noted_by,
            "new": added.new,
            "same": added.same,
            "faults": [{"address": each.address, "reason": each.reason} for each in faults],
        },
        [*(_fault_lines(faults) if faults else ()), *([] if failure else [summary])],
        failure=failure,
    )


def _read(path: Path) -> ReturnedGrades:
    if path.suffix.lower() == SHEET:
        from tripos.annotation.sheet import read_sheet

        return read_sheet(path)
    return read_grades(path)


def _store_grades(store: Store, batch: Batch, taken: IngestedGrades) -> KeptCounts:
    connection = connect(store)
    with connection:
        find_run(connection, batch.run_id)  # grades of a run that this store lacks would not count
    kept = store_scores(store, taken.scores, _now())
    carry_to_other_runs(store, taken.scores)
    return kept


def _import_lines(store: Store, batch: Batch, taken: IngestedGrades, kept: KeptCounts) -> Iterator[str]:
    unfinished = {row.judgement_id for row in taken.unfinished}
    yield message(
        f"{batch.evaluator}: {counted(kept.new, 'reply', 'replies')} graded, {kept.changed} changed,"
        f" {kept.same} as before" + (f", {len(unfinished)} not graded yet" if unfinished else "")
    )
    if earlier := len(store.rows(JUDGEMENTS.name, unfinished, ("judgement_id",))):
        yield message(f"{earlier} of the {len(unfinished)} not graded yet keep the grades of an earlier file")


def _fault_lines(faults: Sequence[GradeError]) -> Iterator[str]:
    from rich.cells import cell_len

    room = max(40, terminal_width())
    shown = faults[:MOST_FAULTS]
    wide = min(max(cell_len(escape_controls(each.address)) for each in shown), 24)
    for each in shown:
        first, *rest = fold(escape_controls(localized(" ".join(each.reason.split()))), room - wide - 2)
        yield f"{pad(escape_controls(each.address), wide)}  {first}"
        yield from (f"{'':<{wide}}  {line}" for line in rest)
    if len(faults) > MOST_FAULTS:
        yield message(f"and {len(faults) - MOST_FAULTS} more")


def _now() -> datetime:
    return datetime.now(UTC)
