"""Attempts to let the teacher of a lesson know the question: each is refused, with the way that the question took."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from compiling import ROOT, compile_file

from tripos_compiler.diagnostics.renderers import render_text

SPECS = sorted((ROOT / "tests" / "golden" / "lessons").glob("*.tripos"))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_a_teacher_never_comes_to_know_the_question(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    compilation = compile_file(Path(path.name))
    assert compilation.plan is None
    assert {item.code for item in compilation.diagnostics} == {"E0501"}
    assert all("`teacher`" in item.labels[0].text for item in compilation.diagnostics)
    golden = path.with_suffix(".txt")
    text = render_text(compilation.diagnostics)
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        golden.write_text(text, "utf-8")
    assert text == golden.read_text("utf-8")


def test_there_are_ten_attempts_at_least() -> None:
    assert len(SPECS) >= 10


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_it_is_secrecy_alone_that_stops_an_attempt(path: Path, tmp_path: Path) -> None:
    for data in path.parent.glob("*.json*"):
        (tmp_path / data.name).write_bytes(data.read_bytes())
    open_ = tmp_path / path.name
    open_.write_text(path.read_text("utf-8").replace(" secret", ""), "utf-8")
    compilation = compile_file(open_)
    assert compilation.plan is not None, [(item.code, item.message) for item in compilation.diagnostics]
