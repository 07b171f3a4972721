"""Writes the editor grammar and the snippets from the table of constructs: `python editors/vscode/generate.py`.

The grammar follows the blocks of a spec as the lexer in `tripos_compiler.editing.highlighting` does, with the same
patterns: a rule for each place holds the statements that may begin there, a rule for each statement the words that may
follow. Patterns use only what Python and Oniguruma both have, since the tests try them in both.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from itertools import count
from pathlib import Path
from typing import Any

from tripos_compiler.constructs.signature import STRING_SLOTS, Slot, Word
from tripos_compiler.constructs.table import CONSTRUCTS, FILE, Construct
from tripos_compiler.editing.highlighting import (
    AT_THE_TOP,
    CONSTANTS,
    NAME,
    NUMBER,
    OPERATOR,
    RECORD,
    TYPES,
    WORD_OPERATORS,
    Head,
    heads_in,
    places,
)

HERE = Path(__file__).parent
Rule = dict[str, Any]

FILLINGS = {
    "VERSION": "1.0.0",
    "STRING": "text",
    "LABELS": "text",
    "PATH": "file.jsonl",
    "COUNT": "1",
    "NUMBER": "0",
    "RANGE": "1..5",
    "TYPE": "text",
    "CALL": "rubric(reply.text)",
    "LANGUAGES": "en",
    "DIMS": "scenario",
    "AXES": "language",
    "DIGEST": "…",
    "PLACE": "https://…",
}
"""What a snippet puts into a slot; any other slot holds its own name."""


def grammar() -> Rule:
    """Return the TextMate grammar of `.tripos` files."""
    rules: dict[str, Rule] = {
        "comment": {"name": "comment.line.number-sign.tripos", "match": "#.*$"},
        "string": _string('"', r'"|$', "double", [{"include": "#string-hole"}]),
        "text": _string('"""', '"""', "triple", [{"include": "#text-hole"}]),
        "string-hole": _hole(r'\{\{(?=(?:\\.|[^"\\])*?\}\})', r'\}\}|(?=")|$'),
        "text-hole": _hole(r'\{\{(?=(?:(?!""").)*?\}\}|[^"}]*$)', r'\}\}|(?=""")'),
        "row": _row(),
        "expression": {"patterns": _expression()},
    }
    rules["string"]["patterns"].insert(0, {"name": "constant.character.escape.tripos", "match": r'\\["\\nt]'})
    rules["string"]["patterns"].insert(1, {"match": r"\\."})
    for place in places():
        heads = heads_in(place)
        names = [f"{_key(place)}-{number}" for number in range(len(heads))]
        statements = _included(*names, *([] if heads[-1].keyword == "" else ["stray"]))
        rules[_key(place)] = {
            "patterns": _included("comment", "row") + statements + _included("expression") + [_punctuation()]
        }
        if place != FILE:
            rules[f"{_key(place)}-block"] = _bracketed("block", r"\{", r"\}", [{"include": f"#{_key(place)}"}])
        for name, head in zip(names, heads, strict=True):
            rules[name] = _statement(head)
            rules[_rest(head)] = {"patterns": _following(head)}
            rules[f"{_rest(head)}-brackets"] = _bracketed("brackets", r"[(\[]", r"[)\]]|(?=\})", _included(_rest(head)))
    rules["stray"] = {**_statement(heads_in(RECORD)[0]), "beginCaptures": {}}
    return {
        "information_for_contributors": ["Written by generate.py from the table of constructs: do not edit."],
        "name": "Tripos",
        "scopeName": "source.tripos",
        "fileTypes": ["tripos"],
        "patterns": [{"include": f"#{_key(FILE)}"}],
        "repository": rules,
    }


def _key(place: str) -> str:
    return f"in-{place.replace(' ', '-')}"


def _included(*names: str) -> list[Rule]:
    return [{"include": f"#{name}"} for name in names]


def _punctuation() -> Rule:
    return {"name": "punctuation.separator.tripos", "match": "[,:]"}


def _one_of(words: tuple[str, ...]) -> str:
    return rf"\b(?:{'|'.join(words)})\b"


def _rest(head: Head) -> str:
    """Return the name of the rule for what follows a keyword; statements that go on alike share it."""
    return "-".join(["rest", *head.words, *(["typed"] if head.typed else []), _key(head.opens)])


def _statement(head: Head) -> Rule:
    """From a statement's keyword to the end of its line; what stands in its braces and brackets may go on."""
    if head.keyword:
        declared = rf"(?:[ \t]+({NAME})\b(?!\())?" if head.declares else ""
        guard = f"(?={head.guard})" if head.guard else ""
        begin = rf"\b({head.keyword})\b{guard}{declared}"
        captures = {"1": {"name": "keyword.control.tripos"}, "2": {"name": "entity.name.type.tripos"}}
    else:
        begin, captures = f"({NAME})", {"1": {"name": "variable.other.property.tripos"}}
    going_on = {"begin": r",[ \t]*(?=#|$)", "end": r"(?=[^\s#])", "patterns": _included("comment")}
    return {
        "begin": begin,
        "beginCaptures": captures,
        "end": rf"{'(?=})' if head.listed else '(?=[,}])'}|$|{AT_THE_TOP}",
        "patterns": [*([going_on] if head.listed else []), *_included(_rest(head))],
    }


def _bracketed(kind: str, begin: str, end: str, patterns: list[Rule]) -> Rule:
    return {
        "begin": begin,
        "beginCaptures": {"0": {"name": f"punctuation.section.{kind}.begin.tripos"}},
        "end": rf"{end}|{AT_THE_TOP}",
        "endCaptures": {"0": {"name": f"punctuation.section.{kind}.end.tripos"}},
        "patterns": patterns,
    }


def _following(head: Head) -> list[Rule]:
    types = {"name": "support.type.tripos", "match": rf"{_one_of(TYPES)}(?![ \t]*:)"}
    further = {"name": "keyword.other.tripos", "match": rf"{_one_of(head.words)}(?!\(|[ \t]*:)"}
    return [
        *_included("comment", f"{_key(head.opens)}-block", f"{_rest(head)}-brackets"),
        *([types] if head.typed else []),
        *([further] if head.words else []),
        *_included("expression"),
        _punctuation(),
    ]


def _string(begin: str, end: str, kind: str, patterns: list[Rule]) -> Rule:
    return {
        "name": f"string.quoted.{kind}.tripos",
        "begin": begin,
        "beginCaptures": {"0": {"name": "punctuation.definition.string.begin.tripos"}},
        "end": end,
        "endCaptures": {"0": {"name": "punctuation.definition.string.end.tripos"}},
        "patterns": patterns,
    }


def _hole(begin: str, end: str) -> Rule:
    """Return a placeholder; a string in it is written with `\\"` where the text around it is on one line."""
    escaped = {"name": "string.quoted.double.tripos", "match": r'\\"(?:\\[^"]|[^"\\])*\\"'}
    brackets = {"name": "punctuation.section.brackets.tripos", "match": r"[()\[\]{}]"}
    return {
        "contentName": "meta.embedded.hole.tripos",
        "begin": begin,
        "beginCaptures": {"0": {"name": "punctuation.section.embedded.begin.tripos"}},
        "end": end,
        "endCaptures": {"0": {"name": "punctuation.section.embedded.end.tripos"}},
        "patterns": [escaped, *_included("expression"), brackets, _punctuation()],
    }


def _row() -> Rule:
    """Return a row of a table: names, weights, and marks for what applies and what does not."""
    separator = "punctuation.separator.table.tripos"
    return {
        "name": "meta.table.row.tripos",
        "begin": r"\|(?=[^#]*\|)",
        "beginCaptures": {"0": {"name": separator}},
        "end": "(?=#)|$",
        "patterns": [
            {"name": separator, "match": r"\|"},
            {"name": "constant.language.mark.tripos", "match": r"[x✓](?=\s*\|)"},
            {"name": "punctuation.definition.mark.tripos", "match": r"[.\-](?=\s*\|)"},
            {"name": "constant.numeric.tripos", "match": r"-?\d+(?:\.\d+)?(?=\s*\|)"},
            {"name": "variable.other.tripos", "match": r"[^|\s#][^|#]*?(?=\s*\|)"},
        ],
    }


def _expression() -> list[Rule]:
    return [
        *_included("text", "string"),
        {"name": "constant.language.boolean.tripos", "match": _one_of(CONSTANTS)},
        {"name": "keyword.operator.wordlike.tripos", "match": _one_of(WORD_OPERATORS)},
        {"name": "constant.numeric.tripos", "match": NUMBER},
        {"name": "keyword.operator.tripos", "match": OPERATOR},
        {
            "match": rf"(\.)({NAME})",
            "captures": {
                "1": {"name": "punctuation.accessor.tripos"},
                "2": {"name": "variable.other.member.tripos"},
            },
        },
        {"name": "entity.name.function.tripos", "match": rf"{NAME}(?=\()"},
        {"name": "variable.parameter.tripos", "match": rf"{NAME}(?=[ \t]*:)"},
        {"name": "variable.other.enummember.language.tripos", "match": rf'{NAME}(?=[ \t]*")'},
        {"name": "variable.other.tripos", "match": NAME},
    ]


def snippets() -> dict[str, Rule]:
    """Return a snippet for every statement, under its signature, which editors show beside it."""
    bodies = written()
    return {
        construct.shape.shown: {
            "prefix": construct.starts_with,
            "body": (bodies.get(construct.name) or from_signature(construct)).split("\n"),
            "description": construct.summary,
        }
        for construct in CONSTRUCTS
        if construct.starts_with
    }


def written() -> dict[str, str]:
    """Return the bodies of the snippets that are written by hand, by construct."""
    tables = tomllib.loads((HERE / "snippets.toml").read_text("utf-8"))
    return {name: table["body"].strip("\n") for name, table in tables.items()}


def from_signature(construct: Construct) -> str:
    """Return the shortest statement that a signature allows, as the body of a snippet.

    For `limit COUNT turns` that is `limit ${1:1} turns`.
    """
    numbers, parts = count(1), []
    for item in construct.shape.items:
        match item:
            case Word(texts=(text,)):
                parts.append(text)
            case Word(texts=texts):
                parts.append(f"${{{next(numbers)}|{','.join(texts)}|}}")
            case Slot(kind=kind):
                filling = f"${{{next(numbers)}:{FILLINGS.get(kind, kind.lower())}}}"
                parts.append(f'"{filling}"' if kind in STRING_SLOTS or kind == "LABELS" else filling)
    return " ".join(parts) + (" {\n\t$0\n}" if construct.shape.block == "required" else "")


def files() -> dict[Path, str]:
    """Return what is written, by where it stands."""
    contents = {"syntaxes/tripos.tmLanguage.json": grammar(), "snippets/tripos.json": snippets()}
    return {HERE / name: json.dumps(content, ensure_ascii=False, indent=1) + "\n" for name, content in contents.items()}


if __name__ == "__main__":
    for path, text in files().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        sys.stdout.write(f"{path.relative_to(HERE)}: {len(re.findall('$', text, re.MULTILINE))} lines\n")
