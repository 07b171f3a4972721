"""Every verb under `TRIPOS_LANG=zh`, over a benchmark whose texts are all Chinese: no English sentence is left."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.command.test_encodings import commands, folder, told
from tripos.cli.parser import COMMANDS, build_parser
from tripos_compiler.diagnostics.codes import CODES
from tripos_compiler.diagnostics.i18n import localized

__all__ = ["folder"]

CODE = re.compile(
    r"`[^`]*`|\b(?:language|kind) \w+|\"[^\"]*\"|“[^”]*”|\btripos \w.*|\bselect\b.*|(?<!\S)[^\s]*[/\\.=_][^\s]*|^ *[0-9]+ \|.*|^ *\| .*"
)
"""Words that are no prose: quotations, commands, SQL, paths, names with a sign, lines of a spec that are shown."""
SENTENCE = re.compile(r"\b[A-Za-z][a-z'’-]*(?:,? [A-Za-z][a-z'’-]+){3,}")
ALLOWED = (
    ("completion",),  # a script
    ("fmt",),  # a difference of two specs
    ("new", "scenario", "again"),  # a part of a spec
    ("explain", "functions"),  # a page of the documentation
    ("lsp",),  # a protocol
    ("emit",),  # losses name parts of a spec with English reasons, as their JSON does
)
"""Commands that print programs, specs, the documentation or such reasons alone."""
FOR_PROGRAMS = {"json", "--json", "csv", "--events", "--format"}


def english_in(text: str) -> Iterator[str]:
    """Yield the lines of a text that hold four words of English in a row, but for code, also over two lines.

    >>> list(english_in("还有 `select a from b` 行\\n写 --role NAME=A\\nthe last four of them"))
    ['the last four of them']
    """
    fenced, text = False, re.sub(r"`[^`\n]*\n[^`\n]*`", "·", text)
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        if not fenced and SENTENCE.search(CODE.sub("·", line)):
            yield line


def ids(folder: Path) -> dict[str, str]:
    """Return the id of one row of every table of results that `tripos show` and `why` take."""
    found = {}
    for table, column in (("samples", "sample_id"), ("judgements", "judgement_id"), ("scores", "score_id")):
        files = [path.as_posix() for path in (folder / "results").rglob("*.parquet") if f"/{table}/" in path.as_posix()]
        [[found[table]]] = duckdb.sql(f"select min({column}) from read_parquet({files})").fetchall()
    return found


def further(folder: Path) -> list[tuple[str, ...]]:
    """Return commands that name something of the store."""
    of = ids(folder)
    return [
        *(("why", of[table]) for table in of),
        ("show", of["samples"]),
        ("new", "metric", "SHORT", "--in", "汉字.tripos"),
        ("new", "scenario", "again", "--in", "对话.tripos"),
        ("annotate", "--take", "王芳.xlsx"),
        ("store", "gc"),
        ("store", "compact"),
        ("explain",),
        ("describe", "汉字.tripos"),
        ("diff", "汉字.tripos", "对话.tripos"),
        ("check", "汉字.tripos", "--worlds", "2"),
    ]


@pytest.mark.long
def test_no_verb_says_a_sentence_in_english(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIPOS_LANG", "zh")
    monkeypatch.setenv("COLUMNS", "200")
    english = []
    every = commands("汉字.tripos", "对话.tripos")
    for words in [*every, ("further",)]:
        for command in further(folder) if words == ("further",) else [words]:
            if FOR_PROGRAMS & set(command) or any(command[: len(each)] == each for each in ALLOWED):
                continue
            _, out, err = told(command, "utf-8", monkeypatch)
            english += [(" ".join(command), line) for line in english_in((out + err).decode())]
    assert english == []


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser and every parser below it."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from parsers(inner)


def test_no_help_says_a_sentence_in_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIPOS_LANG", "zh")
    monkeypatch.setenv("COLUMNS", "200")
    every = list(parsers(build_parser()))
    english = [(each.prog, line) for each in every for line in english_in(each.format_help())]
    assert (english, len(every) > len(COMMANDS)) == ([], True)


def test_every_code_has_a_headline_in_chinese() -> None:
    assert [code for code, headline in CODES.items() if localized(headline, "zh") == headline] == []
