"""`tripos fmt`: formats spec files in the standard layout."""

from __future__ import annotations

import difflib
import stat
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from tripos.cli.context import Context, Outcome, Output, Remark, show_diagnostics
from tripos.terminal import message
from tripos_compiler.diagnostics.diagnostic import Diagnostic
from tripos_compiler.diagnostics.renderers import summary, to_data
from tripos_compiler.diagnostics.text_format import not_utf8
from tripos_compiler.editing.formatter import Unparsable, format_text
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.files import write_atomically

WOULD_CHANGE = ExitCode.SOME_FAILED
"""The exit code of `--check` if a file is not in the layout."""
STDIN = "-"
STDIN_SHOWN = "<stdin>"


def main(context: Context) -> Outcome:
    """Format every file. The exit code is 2 if one has a syntax error; that file is left unchanged."""
    options = context.options
    if STDIN in options.paths and len(options.paths) > 1:
        raise TriposError("R0202", "`-` stands alone", "format standard input, or files")
    wrong: list[Diagnostic] = []
    changed: list[str] = []
    lines: list[str] = []
    failure = None
    for path in _files(options.paths):
        shown = STDIN_SHOWN if path is None else path.as_posix()
        content = _read(path, context.trust.limits.text_bytes)
        try:
            formatted = format_text(_decoded(content, shown), shown)
        except Unparsable as error:
            wrong += error.diagnostics
            continue
        if content != formatted.encode():
            changed.append(shown)
            if path is not None and not (options.check or options.diff):
                try:
                    write_spec(path, formatted)
                except TriposError as error:
                    failure = error
                    break
            lines += _change_lines(shown, content.decode(), formatted, options)
        elif path is None and not (options.check or options.diff):
            lines.append(Output(formatted))
    if wrong and context.form == "text":
        show_diagnostics(wrong, every=True)
        lines.append(Remark(summary(wrong)))
    code = ExitCode.USAGE if wrong else WOULD_CHANGE if options.check and changed else ExitCode.SUCCESS
    return Outcome(lambda: {"changed": changed, "diagnostics": to_data(wrong)}, lines, exit_code=code, failure=failure)


def _change_lines(shown: str, before: str, after: str, options: Namespace) -> Iterator[str]:
    """Yield the lines about a change: the change itself, or its file."""
    if options.diff:
        yield Output(_difference(before, after, shown))
    if options.check:
        text = f"would format {shown}"
        yield Remark(message(text, sys.stderr)) if options.diff else message(text)
    elif not options.diff:
        yield Output(after) if shown == STDIN_SHOWN else message(f"formatted {shown}")


def _files(paths: Sequence[str]) -> list[Path | None]:
    """Return the distinct files to format, those of a folder sorted by name. None denotes standard input. Raises
    `TriposError` if there are none."""
    files: dict[Path, Path | None] = {}
    for path in paths:
        given = Path(path)
        if path == STDIN:
            return [None]
        if given.is_dir():
            below = sorted(each for each in given.rglob("*.tripos") if each.is_file())
            inside = given.resolve()
            for each in below:
                if not each.resolve().is_relative_to(inside):
                    raise TriposError("E0108", f"`{each}` is a link that leads out of `{path}`", "name the file itself")
            if not below:
                raise TriposError("E0108", f"there is no .tripos file below `{path}`", "name a file, or another folder")
        elif given.exists():
            below = [given]
        else:
            raise TriposError("E0108", f"there is no file at `{path}`", "give .tripos files, or folders that hold some")
        for each in below:
            files.setdefault(each.resolve(), each)
    return list(files.values())


def _read(path: Path | None, most: int) -> bytes:
    try:
        if path is None:
            content = sys.stdin.buffer.read(most + 1)
        else:
            with path.open("rb") as file:
                content = file.read(most + 1)
    except OSError as error:
        raise TriposError("E0108", f"cannot read {path}: {error.strerror}", "check its permissions") from error
    if len(content) > most:
        raise TriposError("E0108", f"cannot read {path}: it has more than {most:,} bytes", "split it")
    return content


def _decoded(content: bytes, shown: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        reason, hint = not_utf8(content, shown)
        raise TriposError("E0108", f"cannot read {shown}: {reason}", hint) from error


def _difference(before: str, after: str, shown: str) -> str:
    """Return a unified diff for `patch`. Only LF ends a line; a CR is part of its line."""
    return "".join(difflib.unified_diff(_lines(before), _lines(after), shown, shown))


def _lines(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [f"{line}\n" for line in lines] + ([f"{last}\n\\ No newline at end of file\n"] if last else [])


def write_spec(path: Path, text: str) -> None:
    """Replace a file atomically, keeping its mode and following links. Raises `TriposError` if it cannot be written."""
    target = path.resolve()
    try:
        write_atomically(target, text.encode(), mode=stat.S_IMODE(target.stat().st_mode))
    except OSError as error:
        raise TriposError(
            "E0108", f"cannot write {path}: {error.strerror}", "check its folder's permissions"
        ) from error
