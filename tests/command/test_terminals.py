"""Verbs under a pseudo-terminal of any width, in English and in Chinese: no line is wider than the terminal."""

from __future__ import annotations

import fcntl
import io
import os
import re
import struct
import sys
import termios
import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import duckdb
import pytest
from rich.cells import cell_len

from tests.command.test_encodings import MODELS, folder
from tripos.cli.main import run_command

__all__ = ["folder"]

SPEC = "汉字.tripos"
WIDTHS, LANGUAGES = (40, 60, 80, 120, 200), ("en", "zh")
STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
COPIED = re.compile(r"\btripos \w|\bselect\b|^ *(?:from|where|limit|group by|order by|join) ")
"""A command or a query, which stays on one line to be copied."""


def shown(words: tuple[str, ...], width: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[str]]:
    """Return the exit code of a command in a terminal of this width, and the lines that the terminal got."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    got: list[bytes] = []

    def read() -> None:
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:
                return
            if not part:
                return
            got.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    stream = io.TextIOWrapper(io.FileIO(theirs, "w"), "utf-8", write_through=True)
    with monkeypatch.context() as patched:
        for name in ("stdout", "stderr", "__stdout__"):
            patched.setattr(sys, name, stream)
        patched.delenv("COLUMNS", raising=False)
        patched.setenv("TERM", "xterm-256color")
        code = run_command(words)
    stream.close()
    reader.join()
    os.close(ours)
    return code, STYLE.sub("", b"".join(got).decode()).split("\n")


def too_wide(lines: list[str], width: int) -> Iterator[str]:
    """Yield the lines that are wider than the terminal, but for what is copied, and words without a blank."""
    for line in lines:
        longest = max(map(cell_len, line.split()), default=0)
        if cell_len(line) > width and not COPIED.search(line) and longest < width - 12:
            yield line


@pytest.fixture
def kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run."""
    assert shown(("run", SPEC, *MODELS), 80, monkeypatch)[0] in (0, 100)
    return folder


def commands(folder: Path) -> list[tuple[str, ...]]:
    """Return the verbs that people read the most."""
    files = [path.as_posix() for path in (folder / "results").rglob("*.parquet") if path.parent.name == "scores"]
    [[score, sample]] = duckdb.sql(f"select min(score_id), min(sample_id) from read_parquet({files})").fetchall()
    return [
        ("run", SPEC, *MODELS), ("report",), ("leaderboard", "letters"), ("list",), ("plan", SPEC, *MODELS),
        ("check", SPEC), ("check", "错.tripos"), ("compare",), ("show",), ("show", sample), ("why", score),
        ("doctor", *MODELS), ("describe", SPEC), ("diff", SPEC, "对话.tripos"), ("explain", "E0501"),
        ("store", "check"), ("run", "nothing"),
    ]  # fmt: skip


def wide_lines(
    every: list[tuple[str, ...]], widths: tuple[int, ...], languages: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for words, width, language in product(every, widths, languages):
        monkeypatch.setenv("TRIPOS_LANG", language)
        code, lines = shown(words, width, monkeypatch)
        assert code in (0, 1, 2, 100) and "Traceback" not in "\n".join(lines), (words, width, language, lines)
        assert any(lines), (words, width)
        found += [(words[0], width, language, line) for line in too_wide(lines, width)]
    return found


def test_no_line_is_wider_than_a_narrow_terminal(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = [each for each in commands(kept) if each[0] in ("run", "leaderboard", "why", "check")]
    assert wide_lines(short, (40,), ("zh",), monkeypatch) == []


@pytest.mark.long
def test_no_line_is_wider_than_any_terminal(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert wide_lines(commands(kept), WIDTHS, LANGUAGES, monkeypatch) == []
