"""Diagnostics as workflow commands of GitHub Actions, which shows them as annotations in a review."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tripos_compiler.diagnostics.codes import CODES
from tripos_compiler.diagnostics.model import Diagnostic, Label


def to_github(diagnostics: Iterable[Diagnostic], *, path_from: Callable[[str], str]) -> str:
    """A line a diagnostic, each ending in a line feed. `path_from` gives the path of a file from the repository's root.

    Notes, help and the other places are in the message. Of a place of several lines no columns are told: GitHub takes
    them on one line only.
    """
    return "".join(f"{_command(item, path_from)}\n" for item in diagnostics)


def _command(item: Diagnostic, path_from: Callable[[str], str]) -> str:
    properties: dict[str, str | int] = {}
    if item.labels:
        span = item.labels[0].span
        (line, column), (last, end) = span.source.position(span.start), span.source.position(span.end)
        properties = {"file": path_from(span.source.path), "line": line, "endLine": last}
        if line == last:
            properties |= {"col": column, "endColumn": end}
    properties["title"] = f"{item.code} {CODES[item.code]}"
    said = [item.message]
    if item.labels and item.labels[0].text:
        said.append(item.labels[0].text)
    said.extend(_told(label, path_from) for label in item.labels[1:])
    said.extend(f"note: {note}" for note in item.notes)
    if item.help:
        said.append(f"help: {item.help}")
    told = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in properties.items())
    return f"::{item.severity} {told}::{_escaped(chr(10).join(said))}"


def _told(label: Label, path_from: Callable[[str], str]) -> str:
    source = label.span.source
    place = f"{path_from(source.path)}:{source.position(label.span.start)[0]}"
    return f"{place}: {label.text}" if label.text else place


def _escaped(text: str, signs: str = "") -> str:
    r"""A text as a workflow command has it, where `%` and line breaks are written as in a URL.

    >>> _escaped("100%\nof a:b", ":,")
    '100%25%0Aof a%3Ab'
    """
    for sign in "%\r\n" + signs:
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text
