"""Diagnostics for programs: JSON, workflow commands of GitHub Actions, and SARIF 2.1.0 (OASIS, 27 March 2020).

Braces in messages are not doubled as §3.11.5 of SARIF has it: no message has arguments, and viewers show such text as
it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

from tripos_compiler.diagnostics.codes import CODES, find_page
from tripos_compiler.diagnostics.model import Diagnostic, Edit, Label
from tripos_compiler.diagnostics.suppressions import Silenced
from tripos_compiler.source import Span


def to_github(diagnostics: Iterable[Diagnostic], *, path_from: Callable[[str], str]) -> str:
    """Return a line a diagnostic, each ending in a line feed. `path_from` gives the path of a file from the
    repository's root.

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
    r"""Return a text as a workflow command has it, where `%` and line breaks are written as in a URL.

    >>> _escaped("100%\nof a:b", ":,")
    '100%25%0Aof a%3Ab'
    """
    for sign in "%\r\n" + signs:
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text


SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"

PathFrom = Callable[[str], str]
"""Turns the path of a spec file into one from the root of the project, or absolute where it is not in it."""


def to_sarif(
    diagnostics: Iterable[Diagnostic], silenced: Iterable[Silenced] = (), *, version: str, path_from: PathFrom
) -> dict[str, Any]:
    """Return a SARIF log of one run. Every code that occurs is a rule with its page; what is silenced is a suppressed
    result.

    Columns are code points, as everywhere in Tripos, and ends exclusive. `version` is that of Tripos.
    """
    told: list[tuple[Diagnostic, list[Silenced]]] = [(item, []) for item in diagnostics]
    told.extend((each.diagnostic, [each]) for each in silenced)
    codes = sorted({item.code for item, _ in told})
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "tripos", "version": version, "rules": [_rule(code) for code in codes]}},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {ROOT: {"description": {"text": "the root of the project that was checked"}}},
                "results": [
                    _result(item, codes.index(item.code), path_from)
                    | {"suppressions": [_suppression(each, path_from) for each in silencing]}
                    for item, silencing in told
                ],
            }
        ],
    }


def _rule(code: str) -> dict[str, Any]:
    page = find_page(code) or ""
    return {"id": code, "shortDescription": {"text": CODES[code]}, "help": {"text": page, "markdown": page}}


def _result(item: Diagnostic, rule: int, path_from: PathFrom) -> dict[str, Any]:
    said = [item.message, *(f"note: {note}" for note in item.notes), *([f"help: {item.help}"] if item.help else [])]
    result: dict[str, Any] = {
        "ruleId": item.code,
        "ruleIndex": rule,
        "level": item.severity,
        "message": {"text": "\n".join(said)},
        "locations": [_location(label, path_from) for label in item.labels[:1]],
    }
    if item.labels[1:]:
        result["relatedLocations"] = [
            {"id": number} | _location(label, path_from) for number, label in enumerate(item.labels[1:], 1)
        ]
    if item.edits:
        result["fixes"] = [_fix(item, path_from)]
    return result


def _location(label: Label, path_from: PathFrom) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": _artifact(label.span, path_from), "region": _region(label.span)}
    }
    if label.text:
        location["message"] = {"text": label.text}
    return location


def _artifact(span: Span, path_from: PathFrom) -> dict[str, Any]:
    path = path_from(span.source.path)
    if path.startswith("/") or re.match("[A-Za-z]:/", path):
        return {"uri": f"file:///{quote(path.lstrip('/'), safe='/:')}"}
    return {"uri": quote(path), "uriBaseId": ROOT}


def _region(span: Span) -> dict[str, int]:
    start, end = span.source.position(span.start), span.source.position(span.end)
    return {"startLine": start[0], "startColumn": start[1], "endLine": end[0], "endColumn": end[1]}


def _fix(item: Diagnostic, path_from: PathFrom) -> dict[str, Any]:
    by_file: dict[str, list[Edit]] = {}
    for edit in item.edits:
        by_file.setdefault(edit.span.source.path, []).append(edit)
    changes = [
        {
            "artifactLocation": _artifact(edits[0].span, path_from),
            "replacements": [
                {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}} for edit in edits
            ],
        }
        for edits in by_file.values()
    ]
    fix: dict[str, Any] = {"artifactChanges": changes}
    return ({"description": {"text": item.help}} if item.help else {}) | fix


def _suppression(silenced: Silenced, path_from: PathFrom) -> dict[str, Any]:
    suppression = {"kind": "inSource", "location": _location(Label(silenced.comment), path_from)}
    return suppression | ({"justification": silenced.reason} if silenced.reason else {})


def to_data(diagnostics: Iterable[Diagnostic], silenced: Iterable[Silenced] = ()) -> list[dict[str, Any]]:
    """Return each diagnostic as a JSON object, then those that are silenced, with the reason, which may be empty.

    Lines and columns count from 1, columns in code points, ends are exclusive.
    """
    return [
        *(_object(diagnostic) | {"silenced": None} for diagnostic in diagnostics),
        *(_object(each.diagnostic) | {"silenced": {"reason": each.reason}} for each in silenced),
    ]


def _object(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "notes": list(diagnostic.notes),
        "labels": [_place(label.span) | {"text": label.text} for label in diagnostic.labels],
        "edits": [_place(edit.span) | {"text": edit.text} for edit in diagnostic.edits],
    }


def _place(span: Span) -> dict[str, Any]:
    start, end = span.source.position(span.start), span.source.position(span.end)
    return {
        "path": span.source.path,
        "start": {"line": start[0], "column": start[1]},
        "end": {"line": end[0], "column": end[1]},
    }
