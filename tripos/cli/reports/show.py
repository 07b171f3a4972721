"""`tripos show`: one dialogue or reply, to be read, or a list of the last ones."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence

import orjson

from tripos.cli.inputs import open_store
from tripos.cli.reports.provenance import Row
from tripos.cli.reports.transcripts import Transcript, Utterance, current_rows, find, to_data
from tripos.ui import GOOD, Failure, harmless, show_json, show_text, table_width, terminal_width
from tripos_compiler.diagnostics import localized
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.formats import UNBOUNDED, fold, render_table, wrapped
from tripos_warehouse.query import Connection, run_query
from tripos_warehouse.views import connect

SHOWN = 20
"""Replies that are listed."""
BEGINNING = 60
"""Characters of a reply that are listed on a terminal, at most."""
LAST = "select * from main.samples order by created_at desc, sample_id limit {shown}"
LISTED = """
    select left(sample_id, 12) as key, scenario, model, status,
      coalesce(map_from_entries({counts})[sample_id], 0) as scores, {reply} as reply
    from ({last}) order by created_at desc, sample_id"""
WORDS = "trim(regexp_replace(reply, '\\s+', ' ', 'g'))"


def listing(connection: Connection, width: int) -> str:
    """Return the last replies of a store, the newest first, in lines of `width` columns, and how more are found. Where
    nothing bounds the width, the replies are whole."""
    reply = WORDS if width >= UNBOUNDED else f"left({WORDS}, {BEGINNING})"
    last = LAST.format(shown=SHOWN)
    rows = run_query(connection, LISTED.format(counts=_counts(connection, last), reply=reply, last=last))
    [count] = run_query(connection, "select count(*) as n from samples")["n"].to_pylist()
    shown = "all" if rows.num_rows == count else f"the last {rows.num_rows}"
    told = f"{shown} of {count} replies, with the number of their current scores; `tripos show KEY` prints one"
    table, _, _ = render_table(rows, width).rpartition("\n\n")  # without how many rows there are
    others = localized("others: ") + "tripos sql \"select sample_id from samples where status <> 'ok'\""
    return f"{table}\n\n{wrapped(localized(told), width)}\n{others}"


def _counts(connection: Connection, last: str) -> str:
    """Return how many current scores with a value the last replies have, as a list of SQL."""
    replies = connection.execute(
        f"select benchmark, list(sample_id) from ({last}) group by all order by all"
    ).fetchall()
    counts = Counter(
        row["sample_id"]
        for benchmark, samples in replies
        for row in current_rows(connection, benchmark, "scores", samples)
        if row["value"] is not None
    )
    pairs = ", ".join(f"row({sql.text(sample)}, {count})" for sample, count in counts.items())
    return f"[{pairs}]::struct(k varchar, v bigint)[]"


INDENT = "  "
MOST_SITTINGS = 12
"""So many of what followed are listed, unless all are wanted."""
NARROWEST = 20


def main(options: Namespace) -> int:
    """Print a conversation, or a reply with what was asked; without a key, the last replies."""
    if options.key is None and options.json:
        raise Failure("R0202", "`--json` prints one reply, and none is named", "write `tripos show KEY --json`")
    store = open_store(options)
    try:
        connection = connect(store)
        try:
            if options.key is None:
                show_text(listing(connection, max(table_width(), NARROWEST)))
                return GOOD
            shown = find(connection, options.key)
        finally:
            connection.close()
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    if options.json:
        show_json(orjson.dumps(to_data(shown), option=orjson.OPT_INDENT_2).decode())
    else:
        show_text("\n".join(lines_of(shown, max(terminal_width(), NARROWEST), full=options.full)))
    return GOOD


def lines_of(shown: Transcript, width: int, *, full: bool = False) -> list[str]:
    """Return the lines of what is shown, none wider than `width` columns."""
    return [line for part in _parts(shown, width, full) for line in part]


def _parts(shown: Transcript, width: int, full: bool) -> Iterator[list[str]]:
    row = shown.row
    kind = "conversation" if shown.table == "conversations" else "reply"
    yield _text(localized(f"{kind} {shown.key}"), width)
    where = f"{row['step']} in {row['scenario']} of {row['benchmark']}, item {row['item_id']}"
    yield _text(localized(where), width)
    for role, model in shown.models.items():
        yield _text(f"{role}: {model}", width)
    for line in (*shown.told, *shown.said):
        yield ["", *_said(line, width)]
    label = localized("ended" if kind == "conversation" else "status") + localized(": ")
    yield ["", *_text(f"{label}{localized(shown.ended)}", width)]
    if shown.scores:
        yield _text(f"{localized('scores')}{localized(': ')}{_scores(shown.scores)}", width)
    if shown.sittings:
        count = len(shown.sittings)
        yield ["", localized(f"followed by {count} {'reply' if count == 1 else 'replies'}")]
    some = shown.sittings if full else shown.sittings[:MOST_SITTINGS]
    for each in some:
        row = each.row
        about = localized(f"{row['step']} {row['sample_number']} by {row['model']}, {row['status']}")
        told = _scores(each.scores) or localized("no scores")
        yield _text(f"{about}{localized(': ')}{told}", width, INDENT)
        yield _text(_short(row["reply"] or "", width), width, 2 * INDENT)
    if len(some) < len(shown.sittings):
        yield _text(localized(f"… {len(shown.sittings) - len(some):,} more; --full shows all"), width, INDENT)


def _said(line: Utterance, width: int) -> list[str]:
    number = "" if line.number is None else f"{line.number} "
    note = f" ({localized(line.note)})" if line.note else ""
    return [*_text(f"{number}{localized(line.speaker)}{note}", width), *_text(line.text, width, INDENT)]


def _scores(scores: Sequence[Row]) -> str:
    told = []
    for each in scores:
        by = f" by {each['evaluator']}" if each["evaluator"] else ""
        value = f"{each['value']:g}" if each["value"] is not None else each["given"] or each["status"]
        outdated = localized(" (outdated)") if each["outdated"] else ""
        name = each["metric"] if each["element_place"] is None else f"{each['metric']}[{each['element_place']}]"
        told.append(localized(f"{name} {value}{by}") + outdated)
    return ", ".join(told)


def _short(text: str, width: int) -> str:
    """Return the beginning of a text, on one line."""
    words = " ".join(harmless(text).split())
    room = width - 2 * len(INDENT)
    lines = fold(words, room)
    return lines[0] if len(lines) == 1 else f"{fold(words, room - 2)[0]} …"


def _text(text: str, width: int, indent: str = "") -> list[str]:
    room = max(width - len(indent), NARROWEST // 2)
    lines = [each for line in harmless(text).expandtabs(4).split("\n") for each in fold(line, room)]
    return [f"{indent}{line}".rstrip() for line in lines]
