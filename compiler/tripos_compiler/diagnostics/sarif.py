"""Diagnostics as SARIF 2.1.0 (OASIS Standard, 27 March 2020), for `--format sarif` and what shows findings in a review.

Braces in messages are not doubled as §3.11.5 has it: no message has arguments, and viewers show such text as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

from tripos_compiler.diagnostics.codes import CODES, find_page
from tripos_compiler.diagnostics.model import Diagnostic, Edit, Label
from tripos_compiler.diagnostics.silence import Silenced
from tripos_compiler.source import Span

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"

PathFrom = Callable[[str], str]
"""Turns the path of a spec file into one from the root of the project, or absolute where it is not in it."""


def to_sarif(
    diagnostics: Iterable[Diagnostic], silenced: Iterable[Silenced] = (), *, version: str, path_from: PathFrom
) -> dict[str, Any]:
    """A SARIF log of one run. Every code that occurs is a rule with its page; what is silenced is a suppressed result.

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
