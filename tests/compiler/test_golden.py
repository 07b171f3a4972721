"""Ten specs broken as people break them, and word for word what they are told.

`TRIPOS_UPDATE_GOLDEN=1` rewrites the texts; read them as someone who wants to go to bed.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from compiling import ROOT, compile_file

from tripos_compiler.diagnostics.renderers import render_text, summary
from tripos_compiler.diagnostics.text_format import display_width

BROKEN = ROOT / "tests" / "golden" / "broken"
SPECS = sorted(BROKEN.glob("*.tripos"))
WIDTH = 80


def said(path: Path) -> str:
    """Return what is printed for a spec to someone in its folder: no line breaks where the folder's own path makes
    it."""
    with contextlib.chdir(BROKEN):
        found = compile_file(Path(path.name)).diagnostics
        return render_text(found, width=WIDTH) + "\n" + summary(found) + "\n"


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_a_broken_spec_is_explained_word_for_word(path: Path) -> None:
    golden = path.with_suffix(".txt")
    text = said(path)
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        golden.write_text(text, "utf-8")
    assert text == golden.read_text("utf-8")


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_quoted_lines_fit_the_terminal(path: Path) -> None:
    quoted = [line for line in said(path).splitlines() if " | " in line]
    assert max(map(display_width, quoted)) <= WIDTH


def test_there_are_ten_broken_specs_and_a_text_for_each() -> None:
    assert [path.stem[:2] for path in SPECS] == [f"{number:02}" for number in range(1, 11)]
    assert {path.stem for path in SPECS} == {path.stem for path in BROKEN.glob("*.txt")}
