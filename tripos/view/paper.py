"""The report of a run as PDF: what the page of a report shows first, its tables and its notes, on paper.

Typst sets it, from the extra `pdf`; no browser is needed. All texts go to `paper.typ` as JSON and none is markup. The
PDF conforms to PDF/UA-1, which refuses characters that no font shows, so that no box stands for one in silence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tripos.settings.options import ReportParameters
from tripos_compiler.diagnostics.i18n import localized, titles_language
from tripos_compiler.errors import TriposError
from tripos_warehouse.report.leaderboard import Board, board_notes, board_verdict
from tripos_warehouse.report.remarks import STAND_IN_NOTE
from tripos_warehouse.report.run_report import Report
from tripos_warehouse.report.tables import board_table, has_one_evaluator
from tripos_warehouse.report.text import baseline_sentence, expectation_status, header_facts, header_title
from tripos_warehouse.tables.model import Column, Table

TEMPLATE = Path(__file__).with_name("paper.typ")
NO_TYPST, NO_GLYPH = "S0625", "S0626"
MOST_BESIDE = 3
"""The number of columns with intervals that have them beside their values; of more columns, they are below."""
MOST_COLUMNS = 7
"""The number of columns of numbers that fit on a page; a table with more is continued below, with its texts."""
MOST_CHARACTERS = 20
"""The number of characters without a font that an error names."""
BREAKS = "/_-."
"""The characters after which a heading may break."""


def report_pdf(report: Report, boards: Sequence[Board], measures: Sequence[Table], declared: Sequence[Table]) -> bytes:
    """Return the report of a run as PDF: its headlines as boards, its measures as tables, and the tables that its
    benchmark declares. The same results give the same bytes on one machine. Raises `TriposError`: S0625
    without Typst, and S0626 if no font shows a character."""
    ranked = [board_table(board, [note.text for note in board_notes(board)]) for board in boards if board.entries]
    sections = [
        ("headline", ranked),
        ("measures", measures),
        ("tables of the benchmark", declared),
    ]
    title = header_title(report)
    return typeset(
        {
            "title": title,
            **language_tags(titles_language()),
            "footer": f"{title} · {report.run.run_id}",
            "sentences": [*_opening(report), *_verdicts(boards), *_advice(report)],
            "warnings": list(_warnings(report)),
            "facts": [{"name": name, "value": value} for name, value in header_facts(report).items()],
            "sections": [
                {"title": localized(name), "parts": [part for table in tables for part in table_parts(table)]}
                for name, tables in sections
                if tables
            ],
        }
    )


def language_tags(language: str) -> dict[str, str | None]:
    """Return the language and the region of a document, as Typst takes them, of a language of a benchmark, which may
    have any name.

    >>> language_tags("pt_BR"), language_tags("zh_Hant"), language_tags("classical")
    ({'language': 'pt', 'region': 'BR'}, {'language': 'zh', 'region': None}, {'language': 'en', 'region': None})
    """
    first, *others = re.split("[_-]", language)
    region = next((part for part in others if re.fullmatch("[A-Za-z]{2}", part)), None)
    return {"language": first if re.fullmatch("[A-Za-z]{2,3}", first) else "en", "region": region}


def _opening(report: Report) -> Iterator[str]:
    """Yield what was asked of whom, and who graded."""
    run = report.run
    yield localized(f"{run.items:,} items were asked of {', '.join(run.models)}.")
    names = list(dict.fromkeys(name for models in run.evaluators.values() for name in models))
    names += [name for name in report.people if name not in names]
    graded = f"Graded by {', '.join(names)}." if names else "Scored by the rules of the benchmark: nobody graded."
    yield localized(graded)


def _advice(report: Report) -> Iterator[str]:
    """Yield what a larger study of the same kind would show."""
    for design in report.design_advice:
        if text := " ".join(map(localized, design.sentences)):
            yield text


def _verdicts(boards: Sequence[Board]) -> Iterator[str]:
    """Yield what the differences of each headline show."""
    for board in boards:
        if verdict := board_verdict(board):
            yield f"{board.named}{localized(': ')}{'; '.join(map(localized, verdict))}."


def _warnings(report: Report) -> Iterator[str]:
    """Yield what a reader must know before the figures: what is missing, baselines, expectations and remarks."""
    if report.uses_stand_in_models:
        yield localized(STAND_IN_NOTE)
    for gap in report.gaps:
        yield localized(gap.kind) + localized(": ") + localized(gap.shown)
    if (text := baseline_sentence(report, report.measures, 10_000)) is not None:
        yield text
    for gate in report.expectations:
        yield f"{expectation_status(gate)}{localized(': ')}{gate.expectation.shown}"
    for remark in report.remarks:
        yield localized("note") + localized(": ") + localized(remark.text)
    single = [table.measure.name for table in report.measures if has_one_evaluator(table)]
    if single:
        yield localized(f"Of several evaluators, and here is one: {', '.join(single)}.")


def table_parts(table: Table) -> Iterator[dict[str, Any]]:
    """Yield a table in parts that fit on a page, with its notes below the last one."""
    table = table.without_repeats()
    texts = [column for column in table.columns if column.is_text]
    numbers = [column for column in table.columns if not column.is_text]
    below = sum(column.has_intervals for column in numbers) > MOST_BESIDE
    starts = range(0, max(len(numbers), 1), MOST_COLUMNS)
    marks = (localized("Bold"), localized("Underlined"))
    notes = [localized(note) for note in table.reading_notes("ci", marks) if note != STAND_IN_NOTE]
    whole = len(numbers) <= MOST_COLUMNS
    for start in starts:
        some = numbers[start : start + MOST_COLUMNS]
        columns = [] if table.height == 0 else list(table.columns) if whole else [*texts, *some]
        yield {
            "caption": localized(table.caption) if start == 0 and table.caption else "",
            "columns": [{"text": _heading(column), "right": not column.is_text} for column in columns],
            "groups": _groups(columns),
            "rows": list(_rows(table, columns, below=below)),
            "note": " ".join(notes) if start == starts[-1] else "",
        }


def _heading(column: Column) -> str:
    """Return a heading that may break within long names."""
    heading = column.title if column.is_name else localized(column.title)
    return "".join(f"{char}\u200b" if char in BREAKS else char for char in _clean(heading))


def _groups(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Return the headings above neighbouring columns; empty if there are none."""
    groups: list[dict[str, Any]] = []
    for column in columns:
        if groups and column.group is not None and groups[-1]["text"] == column.group:
            groups[-1]["span"] += 1
        else:
            groups.append({"text": column.group or "", "span": 1})
    return groups if any(group["text"] for group in groups) else []


def _rows(table: Table, columns: Sequence[Column], *, below: bool) -> Iterator[dict[str, Any]]:
    for row in range(table.height + 1):
        for text in table.separators.get(row, ()):
            yield {"separator": localized(text)}
        if row < table.height:
            yield {"cells": [_cell(column, row, below=below) for column in columns]}


def _cell(column: Column, row: int, *, below: bool) -> dict[str, Any]:
    value, ends = column.parts(row)
    return {
        "text": value,
        "ends": ends,
        "below": below,
        "rank": column.emphasis.get(row, 0),
        "dagger": column.is_significant(row),
    }


def _clean(value: Any) -> Any:
    """Return a value in which spaces replace the control characters of texts."""
    if isinstance(value, dict):
        return {name: _clean(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_clean(each) for each in value]
    if isinstance(value, str):
        return "".join(char if char.isprintable() or char == "\u200b" else " " for char in value)
    return value


def typeset(data: dict[str, Any]) -> bytes:
    """Return a document as PDF."""
    try:
        import typst
    except ImportError as error:
        raise TriposError(NO_TYPST, "a report as PDF needs `typst`", "pip install 'tripos[pdf]'") from error
    content = json.dumps(_clean(data), ensure_ascii=False)
    try:
        return _compile(TEMPLATE.read_bytes(), content)
    except typst.TypstError as error:
        lacking = [char for char in sorted(set(content)) if ord(char) > 126 and not _is_drawn(char)]
        if not lacking:
            raise
        named = ", ".join(f"{char} (U+{ord(char):04X})" for char in lacking[:MOST_CHARACTERS])
        named += ", …" if len(lacking) > MOST_CHARACTERS else ""
        fault = f"no font of this machine shows these characters of the report: {named}"
        hint = f"install one that does, such as Noto Sans CJK for Chinese, or write the page: `{ReportParameters.html}`"
        raise TriposError(NO_GLYPH, fault, hint) from error


def _is_drawn(char: str) -> bool:
    """Return true if a font shows a character."""
    import typst

    template = b'#set document(title: "t", date: none)\n#set text(lang: "en")\n#sys.inputs.data'
    try:
        _compile(template, char)
    except typst.TypstError:
        return False
    return True


def _compile(template: bytes, content: str) -> bytes:
    import typst

    pdf = typst.compile(template, format="pdf", sys_inputs={"data": content}, pdf_standards="ua-1")
    assert isinstance(pdf, bytes)
    return pdf
