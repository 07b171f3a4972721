"""Formats of tables on standard output: for papers, pages and programs, beside text for the terminal."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from tripos.failure import Failure
from tripos.ui import show_output, show_text
from tripos_warehouse.formats import WRITERS, PaperTable
from tripos_warehouse.query import encode_answer

PAPER = ("md", "latex", "html")
"""Formats that people read, in which values stand with their intervals."""


def chosen_format(options: Namespace, *, text_only: Mapping[str, bool] = {}) -> str:
    """Return the format that is wanted. Raises `Failure` R0202 for an option that the format has no use for:
    `--interval`, and those in `text_only` that are given."""
    form = "json" if getattr(options, "json", False) else str(options.format)
    if getattr(options, "json", False) and options.format not in ("text", "json"):
        raise Failure("R0202", f"`--json` and `--format {options.format}` exclude each other", "give one of them")
    if getattr(options, "interval", None) is not None and form not in PAPER:
        message = f"`--interval` has no use with `--format {form}`"
        raise Failure("R0202", message, f"it is for {', '.join(PAPER)}; csv and json have both ends of an interval")
    for name, given in text_only.items():
        if given and form not in ("text", "json"):
            raise Failure("R0202", f"`{name}` has no use with `--format {form}`", "leave one of them out")
    return form


def show_tables(tables: Sequence[PaperTable], form: str, options: Namespace) -> None:
    """Print tables in one of the formats of `PAPER`."""
    show_text(WRITERS[form](tables, getattr(options, "interval", None) or "ci"), end="")


def show_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as CSV, in which no text is a formula."""
    import pyarrow as pa

    show_output(encode_answer(pa.Table.from_pylist(list(rows)), "csv"))
