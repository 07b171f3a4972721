"""Files of grades: the spreadsheet of a batch, written and read, and the file that the grading page appends to.

A sheet has a row for each reply, a column with a drop-down list for each metric, and the rubric on another sheet. Only
grades and rationales can be edited. A text is never interpreted as a formula.

The page's file has a line of JSON for each grade, which is on disk before the page reports it as saved. The last line
for a cell counts. A partial last line, which a crash may leave, is ignored.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson
from openpyxl import Workbook, load_workbook
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE, Cell
from openpyxl.styles import Alignment, Border, Font, PatternFill, Protection, Side
from openpyxl.utils import get_column_letter
from openpyxl.utils.escape import unescape
from openpyxl.worksheet.cell_range import MultiCellRange
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.hyperlink import Hyperlink
from openpyxl.worksheet.worksheet import Worksheet

from tripos.annotation.batch import AssignedReply, Batch, EnteredGrade, GradeError, ReturnedGrades
from tripos.annotation.i18n import words_for
from tripos.annotation.replies import ShownReply, ShownScale
from tripos.files import MOST_DATA_BYTES, read_untrusted
from tripos.importing.rows import SHEET_MARK, cell_text
from tripos.settings.options import AnnotateParameters
from tripos_compiler.diagnostics.text_format import display_width
from tripos_compiler.errors import TriposError
from tripos_warehouse.exports.tables import put_text
from tripos_warehouse.tables.values import Range, range_text

FORMAT = "tripos.grades/1"


CHECK_PATH = f"check the path: `tripos annotate {AnnotateParameters.name} NAME` writes the file, and says where"


def read_grades(path: Path) -> ReturnedGrades:
    """Read the page's file. Raises `TriposError` S0706 if it is unreadable or another file."""
    try:
        lines = complete_lines(read_untrusted(path, MOST_DATA_BYTES))
    except OSError as error:
        raise TriposError("S0706", f"`{path}` cannot be read ({error.strerror})", CHECK_PATH) from error
    try:
        head = orjson.loads(lines[0])
        if head["format"] != FORMAT:
            raise ValueError
        batch = str(head["batch"])
    except (IndexError, ValueError, KeyError, TypeError) as error:
        raise TriposError(
            "S0706", f"`{path}` is no file of `tripos annotate`", "give the file that it wrote; a sheet ends in .xlsx"
        ) from error
    rows: dict[str, str] = {}
    entries: dict[tuple[str, str], EnteredGrade] = {}
    rationales: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            said = orjson.loads(line)
            row = str(said["row"])
            if "rationale" in said:
                rationales[row] = str(said["rationale"]).strip()
            else:
                entries[row, str(said["metric"])] = EnteredGrade(
                    row, str(said["metric"]), said["value"], f"line {number}"
                )
        except (ValueError, KeyError, TypeError) as error:
            raise TriposError(
                "S0706", f"line {number} of `{path}` is no grade", "it was changed by hand: put it back"
            ) from error
        rows.setdefault(row, f"line {number}")
    grades = tuple(entry for entry in entries.values() if entry.value is not None)
    return ReturnedGrades(batch, rows, grades, {row: text for row, text in rationales.items() if text})


def complete_lines(content: bytes) -> list[bytes]:
    """Return the lines of the page's file. A last line without a line end counts if it is whole.

    >>> complete_lines(b'{"a": 1}\\n{"b": 2}'), complete_lines(b'{"a": 1}\\n{"b":')
    ([b'{"a": 1}', b'{"b": 2}'], [b'{"a": 1}'])
    """
    *lines, last = content.split(b"\n")
    try:
        return [*lines, last] if isinstance(orjson.loads(last), dict) else lines
    except ValueError:
        return lines


class GradesFile:
    """The open file of one batch. `values` and `rationales` have the current grades by row."""

    def __init__(self, path: Path, batch: Batch, now: str) -> None:
        """Open the file, and continue an existing one of this batch. Raises `TriposError` S0706 if it is another kind
        of file, and S0703 if it belongs to another batch or cannot be written."""
        self.path = path
        self.values: dict[str, dict[str, Any]] = {row.row: {} for row in batch.rows}
        self.rationales: dict[str, str] = {}
        answers = read_grades(path) if path.exists() and path.stat().st_size else None
        if answers is not None and answers.batch != batch.batch:
            raise TriposError("S0703", f"`{path}` belongs to another batch", "name another file with `-o`")
        try:
            self._file = path.open("ab", buffering=0)
            if answers is None:
                head = {"format": FORMAT, "batch": batch.batch, "run": batch.run_id, "role": batch.role}
                self._append({**head, "name": batch.name, "at": now})
                return
            content = path.read_bytes()
            whole = b"\n".join(complete_lines(content)) + b"\n"
            self._file.truncate(min(len(content), len(whole)))
            if len(content) < len(whole):
                self._write(b"\n")
        except OSError as error:
            raise TriposError("S0703", f"cannot write `{path}`: {error.strerror}", "name another with `-o`") from error
        for entry in answers.entries:
            self.values.setdefault(entry.row, {})[entry.metric] = entry.value
        self.rationales.update(answers.rationales)

    def grade(self, row: str, metric: str, value: float | None, at: str) -> None:
        """Store a grade, or remove it with None. Raises `OSError`."""
        self._append({"row": row, "metric": metric, "value": value, "at": at})
        self.values[row][metric] = value
        if value is None:
            del self.values[row][metric]

    def explain(self, row: str, text: str, at: str) -> None:
        """Store a rationale. Raises `OSError`."""
        self._append({"row": row, "rationale": text, "at": at})
        self.rationales[row] = text

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _append(self, said: Mapping[str, Any]) -> None:
        self._write(orjson.dumps(said) + b"\n")

    def _write(self, line: bytes) -> None:
        place = self._file.seek(0, os.SEEK_END)
        try:
            if self._file.write(line) != len(line):
                raise OSError(28, "the disk is full")
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(place)  # otherwise the next line would follow half of this one
            raise


# Spreadsheets, read
def read_sheet(path: Path) -> ReturnedGrades:
    """Read a spreadsheet. Empty cells are skipped.

    Raises `TriposError` S0706 if it is unreadable or not from `tripos annotate`.
    """
    try:
        # Warnings of openpyxl, such as missing styles, do not concern grades.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Read row by row: formatted columns have a million cells each.
            book = load_workbook(path, read_only=True, data_only=True)
            try:
                return _read(path, book)
            finally:
                book.close()
    except TriposError:
        raise
    except Exception as error:
        # openpyxl and its parsers raise many kinds of errors for a damaged file.
        text = error.strerror if isinstance(error, OSError) and error.strerror else " ".join(str(error).split())
        raise TriposError(
            "S0706",
            f"`{path}` cannot be read ({text[:LONGEST_REASON]})",
            CHECK_PATH if isinstance(error, FileNotFoundError) else "save it as .xlsx again, and retry",
        ) from error


LONGEST_REASON = 300
"""Maximum characters of a library's message about a damaged file, since it may quote the file."""


def _read(path: Path, book: Workbook) -> ReturnedGrades:
    about = list(book[ABOUT].iter_rows(max_row=1, max_col=2, values_only=True)) if ABOUT in book.sheetnames else []
    if not about or about[0][0] != SHEET_FORMAT or len(about[0]) < 2:
        raise TriposError(
            "S0706",
            f"`{path}` is no sheet of `tripos annotate`",
            "give the file that it wrote; a sheet that was copied into another file cannot be taken",
        )
    rows: dict[str, str] = {}
    entries: list[EnteredGrade] = []
    rationales: dict[str, str] = {}
    numbers: dict[str, Any] = {}
    faults: list[GradeError] = []
    lacks_rows = False
    for sheet in book.worksheets:
        if sheet.title == ABOUT:
            continue
        lines = sheet.iter_rows(values_only=True)
        columns = [(_text(value), column) for column, value in enumerate(next(lines, ())) if _text(value)]
        keys = dict(columns)
        if ROW_KEY not in keys or not any(key.startswith(MARK_KEY) for key in keys):
            if ROW_KEY in keys or any(ROW_KEY in line[LEAST_COLUMNS - 1 :] for line in lines):
                lost = "the hidden first row, which names the columns, was moved or removed: put it back"
                faults.append(GradeError(sheet.title, lost))
                lacks_rows = True
            continue
        for key, column in columns:
            if keys[key] != column:
                address = f"{sheet.title}!{get_column_letter(column + 1)}{KEYS_ROW}"
                again = f"column {get_column_letter(keys[key] + 1)} has the same hidden name"
                faults.append(GradeError(address, f"{again}, `{key}`: remove one of them"))
        for place, line in enumerate(lines, KEYS_ROW + 1):
            if place < FIRST_ROW:
                continue
            found = {key: line[column] if column < len(line) else None for key, column in keys.items()}
            name = _text(found[ROW_KEY])
            if not name:
                if any(_filled(found)):
                    faults.append(GradeError(f"{sheet.title}!{place}", "grades on a row that has lost its name"))
                continue
            if name in rows:
                faults.append(GradeError(f"{sheet.title}!{place}", f"this reply is at {rows[name]} already"))
                continue
            rows[name] = f"{sheet.title}!{place}"
            for key, value in found.items():
                address = f"{sheet.title}!{get_column_letter(keys[key] + 1)}{place}"
                if key.startswith(MARK_KEY) and not _empty(value):
                    # A number may be the name of a choice.
                    grade = cell_text(value) if isinstance(value, int | float) else value
                    entries.append(EnteredGrade(name, key.removeprefix(MARK_KEY), grade, address))
                elif key == RATIONALE_KEY and not _empty(value):
                    rationales[name] = unescape(cell_text(value)).strip()
                elif key == NUMBER_KEY and not _empty(value):
                    numbers[name] = value
    return ReturnedGrades(_text(about[0][1]), rows, tuple(entries), rationales, numbers, tuple(faults), lacks_rows)


def _filled(found: dict[str, Any]) -> Iterator[bool]:
    return (not _empty(value) for key, value in found.items() if key.startswith(MARK_KEY) or key == RATIONALE_KEY)


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


# Spreadsheets, written
SHEET_FORMAT = "tripos.sheet/1"
ABOUT = "tripos"
"""The hidden sheet with the name of the batch."""
KEYS_ROW, HEADINGS_ROW, FIRST_ROW = 1, 2, 3
ROW_KEY, RATIONALE_KEY, MARK_KEY, NUMBER_KEY = "row", "rationale", SHEET_MARK, "number"
LEAST_COLUMNS = 5
"""Minimum columns of a sheet with grades: number, scenario, a grade, rationale, row. Sheets of texts have fewer."""
MAX_CELL_CHARS = 32_000
"""Maximum characters of text in a cell; the format allows 32,767."""
MAX_ROW_HEIGHT = 400.0
"""Maximum row height in points; the format allows 409."""
LINE = 15.0
TEXT_FORMAT = "@"
"""Number format of cells in which spreadsheet programs keep what is typed as text."""
WIDE, NARROW, GRADE = 70, 14, 13

_TOP = Alignment(wrap_text=True, vertical="top")
_THIN = Side(style="thin", color="B8B8B8")
_BORDER = Border(left=_THIN, right=_THIN, top=_THIN, bottom=_THIN)
_HEAD = PatternFill("solid", fgColor="1F3A5F")
_EDITABLE = PatternFill("solid", fgColor="FFF9DB")
_LOCKED = PatternFill("solid", fgColor="E4E4E4")


def sheet_bytes(batch: Batch, shown: Mapping[str, ShownReply], made_at: datetime) -> bytes:
    """Return the spreadsheet as bytes, with a sheet for each language of headings. `shown` has the view of each row, by
    the name of the row."""
    book = Workbook()
    book.remove(book.active)  # type: ignore[arg-type]
    book.properties.created = book.properties.modified = made_at.replace(tzinfo=None)
    book.properties.creator = "Tripos"
    languages = list(dict.fromkeys(shown[row.row].headings for row in batch.rows))
    for language in languages:
        rows = [(number, row) for number, row in enumerate(batch.rows, 1) if shown[row.row].headings == language]
        _Grades(book, language, rows, shown, several=len(languages) > 1).write()
    about: Worksheet = book.create_sheet(ABOUT)
    about.append([SHEET_FORMAT, batch.batch])
    about.sheet_state = "veryHidden"
    _lock(about)
    out = BytesIO()
    book.save(out)
    return out.getvalue()


def put_sheet_text(cell: Cell, text: str) -> None:
    """Write a text into a cell, with normalized line ends and without illegal characters."""
    put_text(cell, ILLEGAL_CHARACTERS_RE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n")))
    cell.quotePrefix = True
    cell.alignment = _TOP


class _Grades:
    """The sheet of one language with its rubric, and a sheet for long texts if needed."""

    def __init__(
        self,
        book: Workbook,
        language: str,
        rows: Sequence[tuple[int, AssignedReply]],
        shown: Mapping[str, ShownReply],
        several: bool,
    ) -> None:
        self.words = words_for(language)
        self.rows = rows
        self.shown = shown
        end = f" {language}" if several else ""
        self.sheet: Worksheet = book.create_sheet(self.words["grades"] + end)
        self.rubric: Worksheet = book.create_sheet(self.words["rubric"] + end)
        self.book = book
        self.texts_title = self.words["texts"] + end
        self.texts: Worksheet | None = None
        replies = [shown[row.row] for _, row in rows]
        self.labels = list(dict.fromkeys(label for reply in replies for label, _ in reply.texts))
        self.scales = _common_scales(scale for reply in replies for scale in reply.scales)
        self.open_rows: dict[ShownScale, list[int]] = {}
        self.keys = [NUMBER_KEY, "", *[""] * len(self.labels), *(MARK_KEY + name for name in self.scales)]
        self.keys += [RATIONALE_KEY, ROW_KEY]

    def write(self) -> None:
        """Fill the sheets."""
        self._headings()
        level_rows = self._rubric()
        for place, (number, row) in enumerate(self.rows, FIRST_ROW):
            self._row(place, number, row)
        for scale, places in self.open_rows.items():
            # Adding cells one by one would compare each with all before it.
            validation = self._validation(scale, level_rows[scale.metric])
            column = get_column_letter(self.keys.index(MARK_KEY + scale.metric) + 1)
            validation.sqref = MultiCellRange(" ".join(ranges(column, places)))
            self.sheet.add_data_validation(validation)
        self.sheet.freeze_panes = f"B{FIRST_ROW}"
        self.sheet.row_dimensions[KEYS_ROW].hidden = True
        self.sheet.column_dimensions[get_column_letter(len(self.keys))].hidden = True
        self.sheet.print_title_rows = f"{HEADINGS_ROW}:{HEADINGS_ROW}"
        self.sheet.page_setup.orientation = "landscape"
        _lock(self.sheet)
        if self.texts is not None:
            _lock(self.texts)

    def _headings(self) -> None:
        words = self.words
        titles = [words["number"], words["scenario"], *self.labels]
        titles += [f"{scale.title}\n({name})" if scale.title != name else name for name, scale in self.scales.items()]
        titles += [words["rationale"], ROW_KEY]
        widths = [6, 16, *[WIDE] * len(self.labels), *[GRADE] * len(self.scales), 40, NARROW]
        for column, (key, title, width) in enumerate(zip(self.keys, titles, widths, strict=True), 1):
            put_sheet_text(_cell(self.sheet, KEYS_ROW, column), key)
            _heading(_cell(self.sheet, HEADINGS_ROW, column), title)
            self.sheet.column_dimensions[get_column_letter(column)].width = width
        self.sheet.row_dimensions[HEADINGS_ROW].height = 5 * LINE

    def _row(self, place: int, number: int, row: AssignedReply) -> None:
        reply = self.shown[row.row]
        texts = dict(reply.texts)
        cells = [_cell(self.sheet, place, column) for column in range(1, len(self.keys) + 1)]
        cells[0].value, cells[0].alignment = number, _TOP
        put_sheet_text(cells[1], reply.title)
        tallest = 1
        for label, cell in zip(self.labels, cells[2:], strict=False):
            text = texts.get(label, "")
            tallest = max(tallest, lines_of(text, WIDE))
            put_sheet_text(cell, self._fitting(text, number, label, cells[0]))
        marks, scales = {mark.metric for mark in row.marks}, {scale.metric: scale for scale in reply.scales}
        for name, cell in zip(self.scales, cells[2 + len(self.labels) :], strict=False):
            if name in marks:
                _grade_cell(cell)
                if self.scales[name].names:
                    cell.number_format = TEXT_FORMAT
                self.open_rows.setdefault(scales[name], []).append(place)
            else:
                cell.fill = _LOCKED
        _grade_cell(cells[-2])
        cells[-2].alignment = _TOP
        cells[-2].number_format = TEXT_FORMAT  # otherwise a rationale such as `- vague` would be a formula
        put_sheet_text(cells[-1], row.row)
        for cell in cells:
            cell.border = _BORDER
        self.sheet.row_dimensions[place].height = min(MAX_ROW_HEIGHT, max(2, tallest) * LINE)

    def _fitting(self, text: str, number: int, label: str, link: Cell) -> str:
        """Return the text that fits into a cell. A longer one is written in full to the sheet of long texts."""
        if lines_of(text, WIDE) * LINE <= MAX_ROW_HEIGHT and len(text) <= MAX_CELL_CHARS:
            return text
        if self.texts is None:
            self.texts = self.book.create_sheet(self.texts_title)
            self.texts.column_dimensions["A"].width = 110
        first = self.texts.max_row + 2
        if link.hyperlink is None:
            link.hyperlink = Hyperlink(ref=link.coordinate, location=f"'{self.texts_title}'!A{first}")
            link.font = Font(underline="single", color="1F3A5F")
        _heading(_cell(self.texts, first, 1), f"{self.words['number']} {number} · {label}")
        for place, line in enumerate(_pieces(text), first + 1):
            put_sheet_text(_cell(self.texts, place, 1), line)
        whole = f"{self.words['whole']} «{self.texts_title}», {first}"
        return text if len(text) <= MAX_CELL_CHARS else f"{text[:MAX_CELL_CHARS]}\n{whole}"

    def _validation(self, scale: ShownScale, level_rows: tuple[int, int]) -> DataValidation:
        """Return the check of a metric's cells. `level_rows` are the first and the last row of its levels on the sheet
        of the rubric, from which names are listed that a list in the check cannot hold."""
        if scale.names and not listed_names(scale.names):
            first, last = level_rows
            kind: dict[str, Any] = {"type": "list", "formula1": f"'{self.rubric.title}'!$D${first}:$D${last}"}
        elif values := listed_names(scale.names) or scale.values:
            kind = {"type": "list", "formula1": f'"{",".join(map(str, values))}"'}
        else:
            kind = {"type": "whole" if scale.whole else "decimal", **_between(scale.low, scale.high)}
        text = scale.metric
        if scale.low is not None and scale.high is not None:
            text = range_text(Range(scale.low, scale.high), str)
        found = DataValidation(**kind, allow_blank=True, showErrorMessage=True, errorStyle="stop")
        found.errorTitle, found.error = scale.metric[:32], f"{self.words['off']} {text}"[:225]
        own = scale != self.scales[scale.metric]  # the row gives its end
        asks = f"{text}. {scale.asks}" if own else scale.asks or text
        found.promptTitle, found.prompt = scale.title[:32], asks[:255]
        found.showInputMessage = True
        return found

    def _rubric(self) -> dict[str, tuple[int, int]]:
        """Fill the sheet of the rubric, and return the first and the last row of each metric's levels."""
        level_rows: dict[str, tuple[int, int]] = {}
        sheet, words = self.rubric, self.words
        for column, (title, width) in enumerate(
            ((words["metric"], 30), (words["asks"], 50), (words["score"], 10), (words["level"], 90)), 1
        ):
            _heading(_cell(sheet, 1, column), title)
            sheet.column_dimensions[get_column_letter(column)].width = width
        place = 2
        for scale in self.scales.values():
            named = tuple((None, None, name) for name in scale.names)
            levels = named or scale.levels or ((scale.low, scale.high, ""),)
            level_rows[scale.metric] = (place, place + len(levels) - 1)
            for index, (low, high, text) in enumerate(levels):
                title = f"{scale.title} ({scale.metric})" if scale.title != scale.metric else scale.metric
                ends = "" if low is None or high is None else range_text(Range(low, high), str)
                said = (title, scale.asks) if index == 0 else ("", "")
                for column, told in enumerate((*said, ends, text), 1):
                    put_sheet_text(_cell(sheet, place, column), told)
                    _cell(sheet, place, column).border = _BORDER
                place += 1
        sheet.freeze_panes = "A2"
        _lock(sheet)
        return level_rows


def _common_scales(scales: Iterable[ShownScale]) -> dict[str, ShownScale]:
    """Return the scale of each metric. If the rows give its upper end, and not all the same, it has none."""
    found: dict[str, ShownScale] = {}
    for scale in scales:
        first = found.setdefault(scale.metric, scale)
        if first.high != scale.high:
            found[scale.metric] = replace(first, high=None)
    return found


MAX_LIST_CHARS = 255
"""Maximum characters of a list of values in a cell."""


def listed_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names that can be listed in the check of a cell. Empty if one looks like a number or a list, or they are
    too long; they are listed on the sheet of the rubric then.

    >>> listed_names(("RIGHT", "WRONG")), listed_names(("1", "2")), listed_names(("a, b", "c"))
    (('RIGHT', 'WRONG'), (), ())
    """
    plain = all(re.fullmatch(r"[^\W\d][^,;\"\r\n]*", name) for name in names)
    return tuple(names) if plain and len(",".join(names)) <= MAX_LIST_CHARS else ()


def ranges(column: str, rows: Sequence[int]) -> list[str]:
    """Return ascending rows of a column as cell ranges.

    >>> ranges("E", [3, 4, 5, 7])
    ['E3:E5', 'E7']
    """
    found: list[list[int]] = []
    for row in rows:
        if found and row == found[-1][1] + 1:
            found[-1][1] = row
        else:
            found.append([row, row])
    return [f"{column}{first}" if first == last else f"{column}{first}:{column}{last}" for first, last in found]


def lines_of(text: str, width: int) -> int:
    """Return the number of lines of a text wrapped to a column's width; wide characters count as two.

    >>> lines_of("ab\\nabcd", 3), lines_of("四十二", 4)
    (3, 2)
    """
    return sum(max(1, -(-display_width(line) // width)) for line in text.split("\n"))


def _pieces(text: str) -> list[str]:
    return [line[at : at + 2000] for line in text.split("\n") for at in range(0, max(1, len(line)), 2000)]


def _between(low: int | None, high: int | None) -> dict[str, Any]:
    match low, high:
        case None, None:
            return {"operator": "between", "formula1": "-1E+300", "formula2": "1E+300"}
        case None, high:
            return {"operator": "lessThanOrEqual", "formula1": str(high)}
        case low, None:
            return {"operator": "greaterThanOrEqual", "formula1": str(low)}
        case low, high:
            return {"operator": "between", "formula1": str(low), "formula2": str(high)}


def _cell(sheet: Worksheet, row: int, column: int) -> Cell:
    cell = sheet.cell(row, column)
    assert isinstance(cell, Cell)  # no cells are merged
    return cell


def _heading(cell: Cell, title: str) -> None:
    put_sheet_text(cell, title)
    cell.font = Font(bold=True, color="FFFFFF")
    cell.fill = _HEAD
    cell.border = _BORDER


def _grade_cell(cell: Cell) -> None:
    cell.protection = Protection(locked=False)
    cell.fill = _EDITABLE
    cell.alignment = Alignment(horizontal="center", vertical="top")


def _lock(sheet: Worksheet) -> None:
    sheet.protection.sheet = True
    # False means unlocked: columns, rows and text may be formatted.
    sheet.protection.formatColumns = sheet.protection.formatRows = sheet.protection.formatCells = False
