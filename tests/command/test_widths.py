"""Tables on terminals of any width, and in pipes: nothing is cut, and no line is wider than the terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.command.test_encodings import MODELS, SPEC
from tests.conftest import Command
from tests.each import each

LONG = "题" * 90
"""Wider than any terminal here."""
VERBS = (
    ("report",),
    ("list",),
    ("describe", "letters.tripos", "--by", "kind"),
    ("describe", "letters.tripos"),
    ("plan", "letters.tripos", *MODELS),
    ("run", "letters.tripos", *MODELS),
    ("store", "check"),
    ("plot", "heatmap", "--out", "heat.svg"),
)


@pytest.fixture
def folder(tmp_path: Path, once: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "letters.tripos").write_text(SPEC, "utf-8")
    rows = [{"kind": kind, "question": f"{kind} {LONG}？", "answer": "猫"} for kind in ("noun", "verb")]
    (tmp_path / "题目.jsonl").write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    assert once("run", "letters.tripos", *MODELS).code in (0, 100)
    return tmp_path


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal_but_commands_and_queries(
    width: int, folder: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for words in (*VERBS, ("sql", "from letters.scores")):
        lines = tripos(*words).out.splitlines()
        wide = [
            line for line in lines if cell_len(line) > width and "tripos " not in line and "in the report" not in line
        ]
        assert not wide, (words, wide)
        assert words[0] == "sql" or not any("…" in line for line in lines), words
        if words == ("list",):  # the name of a run can be copied
            assert re.search(r"\d{8}-\d{6}-[0-9a-f]{4}", "\n".join(lines))


@each("words", (*VERBS, ("sql", "select reply, fields from letters.samples join items using (item_id)"), ("show",)))
def test_a_pipe_gets_every_text_whole(words: tuple[str, ...], folder: Path, tripos: Command) -> None:
    out = tripos(*words).out
    assert "…" not in out, out
    if words[0] == "sql":
        assert out.count(LONG) == 4


def test_a_pipe_gets_every_row_of_an_answer_and_every_column(folder: Path, tripos: Command) -> None:
    columns = ", ".join(f"n as a_column_with_a_long_name_{number}" for number in range(12))
    query = f"select {columns}, repeat('长', 20000) as t from range(3000) as r(n) limit {{}}"
    done = tripos("sql", query.format(60))
    assert done.out.count("长" * 20_000) == 60 and "no room for" not in done.out and "shown" not in done.out
    many = tripos("sql", "select n from range(3000) as r(n)").out.splitlines()
    assert len(many) == 3000 + 4 and many[-1] == "3,000 rows"


def test_a_terminal_gets_the_first_rows_and_is_told_so(
    folder: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = tripos("sql", "select n from range(3000) as r(n)")
    assert "3,000 rows, the first 40 shown" in done.out


def test_colours_are_off_and_on_as_the_variables_say(
    folder: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    assert "\x1b[" not in tripos("list").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1m" in tripos("list").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in tripos("list").out + tripos("report").out
