"""Diagnostics for machines: SARIF that its official schema accepts, and annotations that GitHub reads back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest
from compiling import ROOT, compile_file

from tripos_compiler.diagnostics.codes import CODES, find_page
from tripos_compiler.diagnostics.diagnostic import Diagnostic, Edit, Label, Silenced
from tripos_compiler.diagnostics.renderers import to_data, to_github, to_sarif
from tripos_compiler.source.text import Source, Span

SCHEMA = json.loads((ROOT / "tests" / "data" / "sarif-schema-2.1.0.json").read_text("utf-8"))
BROKEN = sorted((ROOT / "tests" / "golden" / "broken").glob("*.tripos"))
SPEC = Source("specs/难度 1.tripos", 'role 评委 "难度"\n  rol 考生 {\n}\n')


def place(words: str, said: str = "") -> Label:
    start = SPEC.text.index(words)
    return Label(Span(SPEC, start, start + len(words)), said)


MISTAKE = Diagnostic(
    "E0204",
    "there is no statement `rol`: 100% sure, is it\nso?",
    (place("rol 考", "this word"), place("评委", "as here"), place("{\n}", "")),
    "did you mean `role`?",
    ("a note",),
    edits=(Edit(place("rol 考").span, "role 考"), Edit(Span(SPEC, 0, 0), "# 1\n")),
)
QUIET = Diagnostic("W0309", "row 2 says what row 1 says", (place("role"),), severity="warning")
SILENCED = Silenced(QUIET, "so published", place("评委").span)


def sarif(*diagnostics: Diagnostic, silenced: tuple[Silenced, ...] = ()) -> Any:
    log = to_sarif(diagnostics, silenced, version="1.2.3", path_from=str)
    jsonschema.Draft7Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(log)
    return json.loads(json.dumps(log))["runs"][0]


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_the_mistakes_of_a_broken_spec_are_sarif(path: Path) -> None:
    found = compile_file(path)
    run = sarif(*found.diagnostics, silenced=found.silenced)
    assert [result["ruleId"] for result in run["results"]] == [item.code for item in found.diagnostics]


def test_every_code_that_occurs_is_a_rule_with_its_headline_and_page() -> None:
    run = sarif(MISTAKE, QUIET, MISTAKE)
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["E0204", "W0309"]
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == ["E0204", "W0309", "E0204"]
    assert rules[0]["shortDescription"] == {"text": CODES["E0204"]}
    assert rules[0]["help"]["markdown"] == find_page("E0204")
    assert "helpUri" not in rules[0]


def test_a_result_has_level_message_places_and_fix() -> None:
    [result] = sarif(MISTAKE)["results"]
    assert result["level"] == "error"
    assert result["message"]["text"] == f"{MISTAKE.message}\nnote: a note\nhelp: did you mean `role`?"
    [location] = result["locations"]
    assert location["message"] == {"text": "this word"}
    assert location["physicalLocation"]["region"] == {"startLine": 2, "startColumn": 3, "endLine": 2, "endColumn": 8}
    first, second = result["relatedLocations"]
    assert (first["id"], first["message"]["text"]) == (1, "as here")
    assert first["physicalLocation"]["region"]["startColumn"] == 6
    assert second["physicalLocation"]["region"]["endLine"] == 3
    [change] = result["fixes"][0]["artifactChanges"]
    assert [each["insertedContent"]["text"] for each in change["replacements"]] == ["role 考", "# 1\n"]
    assert change["replacements"][1]["deletedRegion"] == {
        "startLine": 1,
        "startColumn": 1,
        "endLine": 1,
        "endColumn": 1,
    }


def test_a_path_is_a_relative_uri_from_the_root() -> None:
    artifact = sarif(MISTAKE)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact["uri"] == "specs/%E9%9A%BE%E5%BA%A6%201.tripos"
    assert (unquote(artifact["uri"]), artifact["uriBaseId"]) == (SPEC.path, "%SRCROOT%")


@pytest.mark.parametrize(
    ("path", "uri"), [("/tmp/a b.tripos", "file:///tmp/a%20b.tripos"), ("C:/a.tripos", "file:///C:/a.tripos")]
)
def test_a_path_outside_the_root_is_an_absolute_uri(path: str, uri: str) -> None:
    label = Label(Span(Source(path, "role"), 0, 4))
    artifact = sarif(Diagnostic("E0201", "m", (label,)))["results"][0]["locations"][0]["physicalLocation"][
        "artifactLocation"
    ]
    assert artifact == {"uri": uri}


def test_a_silenced_warning_is_a_suppressed_result_with_its_reason() -> None:
    shown, silenced = sarif(MISTAKE, silenced=(SILENCED,))["results"]
    assert shown["suppressions"] == []
    [suppression] = silenced["suppressions"]
    assert (silenced["level"], suppression["kind"], suppression["justification"]) == (
        "warning",
        "inSource",
        "so published",
    )
    assert suppression["location"]["physicalLocation"]["region"]["startColumn"] == 6


def test_a_diagnostic_without_a_place_has_no_location() -> None:
    assert sarif(Diagnostic("E0206", "m", ()))["results"][0]["locations"] == []


def unescape(text: str) -> str:
    return re.sub("%(25|0D|0A|3A|2C)", lambda found: chr(int(found[1], 16)), text)


def read_back(command: str) -> tuple[str, dict[str, str], str]:
    """Return what GitHub's runner reads from a workflow command: its name, properties and message."""
    found = re.fullmatch("::([a-z]+) ([^:]*)::(.*)", command)
    assert found is not None
    properties = dict(part.split("=", 1) for part in found[2].split(","))
    return found[1], {name: unescape(value) for name, value in properties.items()}, unescape(found[3])


def test_an_annotation_is_read_back_whole() -> None:
    path = "specs/a:b, 100%.tripos"
    [line] = to_github([MISTAKE], path_from=lambda _: path).splitlines()
    name, properties, message = read_back(line)
    assert name == "error"
    assert properties == {
        "file": path,
        "line": "2",
        "endLine": "2",
        "col": "3",
        "endColumn": "8",
        "title": "E0204 unknown statement",
    }
    assert message.splitlines() == [
        "there is no statement `rol`: 100% sure, is it",
        "so?",
        "this word",
        f"{path}:1: as here",
        f"{path}:2",
        "note: a note",
        "help: did you mean `role`?",
    ]


def test_an_annotation_of_several_lines_has_no_columns() -> None:
    [line] = to_github([Diagnostic("E0204", "m", (place("{\n}"),))], path_from=str).splitlines()
    _, properties, _ = read_back(line)
    assert (properties["line"], properties["endLine"]) == ("2", "3")
    assert not {"col", "endColumn"} & set(properties)


def test_an_annotation_without_a_place_has_only_its_title() -> None:
    assert to_github([Diagnostic("E0206", "m", ())], path_from=str) == "::error title=E0206 missing declaration::m\n"


def test_data_has_edits_and_what_is_silenced() -> None:
    mistake, quiet = to_data([MISTAKE], [SILENCED])
    assert mistake["edits"][1] == {
        "path": SPEC.path,
        "start": {"line": 1, "column": 1},
        "end": {"line": 1, "column": 1},
        "text": "# 1\n",
    }
    assert mistake["silenced"] is None
    assert quiet["silenced"] == {"reason": "so published"}
