"""Lowers `join`: the files whose columns are added to the rows of a data set."""

from __future__ import annotations

from tripos_compiler.constructs import Statement
from tripos_compiler.plan import DataFile, Dataset, Join
from tripos_compiler.resolve import Program
from tripos_compiler.source import DataError, FoundFile, JoinedFiles, dataclass


@dataclass(frozen=True)
class FoundJoins:
    """The joins of a data set as the plan has them, and their files."""

    joins: tuple[Join, ...] = ()
    files: tuple[JoinedFiles, ...] = ()


def lower_joins(program: Program, statement: Statement, dataset: Dataset) -> FoundJoins | None:
    """Return what `join PATH on COLUMN [to OTHER]` adds; None where anything was reported.

    Of each file those columns are taken that a field reads and that it has.
    """
    wanted = {name for each in dataset.fields for name in each.columns}
    joins: list[Join] = []
    found: list[JoinedFiles] = []
    for written in statement.of("join"):
        path, column = written.text("path"), written.text("column").value
        other = written.text("other").value if written.has("other") else column
        try:
            files = program.data.find(path.value, written.span.source.path)
            read = [_columns(program, file) for file in files]
        except DataError as error:
            program.diagnostics.error("E0307", error.message, path.span, help=error.help)
            continue
        there = {name for names, _ in read for name in names}
        if other not in there:
            message = f"{files[0].path} has no column `{other}`, by which its rows are found"
            listed = ", ".join(f"`{name}`" for name in sorted(there)[:10]) or "no columns"
            span = written.text("other" if written.has("other") else "column").span
            program.diagnostics.error("E0304", message, span, help=f'write `to "COLUMN"`: the file has {listed}')
            continue
        later = {each.text("column").value for each in statement.of("join")}
        taken = tuple(sorted(there & (wanted | later)))
        described = tuple(
            DataFile(path=file.path, sha256=file.sha256, rows=rows, captures=dict(file.captures))
            for file, (_, rows) in zip(files, read, strict=True)
        )
        joins.append(Join(source=path.value, column=column, other=other, columns=taken, files=described))
        found.append(JoinedFiles(tuple(files), column, other, taken))
    return FoundJoins(tuple(joins), tuple(found)) if len(joins) == len(list(statement.of("join"))) else None


def _columns(program: Program, file: FoundFile) -> tuple[set[str], int]:
    """Return the columns of a file, and how many rows it has."""
    names, count = set(file.captures), 0
    for record in program.data.rows(file):
        names.update(record)
        count += 1
    return names, count
