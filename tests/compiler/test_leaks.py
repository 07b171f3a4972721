"""Secrets hidden in many ways: each is found, nothing else is reported, and the way it takes is told step by step."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from compiling import ROOT, compile_file

from tripos_compiler.diagnostics.renderers import render_text

GOLDEN = ROOT / "tests" / "golden"
LEAKS, LESSONS = (sorted((GOLDEN / kind).glob("*.tripos")) for kind in ("leaks", "lessons"))
"""Leaks to the role under test, and attempts to let the teacher of a lesson know the question."""


@pytest.mark.parametrize("path", LEAKS + LESSONS, ids=lambda path: path.stem)
def test_a_leak_is_found_and_told_step_by_step(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    compilation = compile_file(Path(path.name))
    assert compilation.plan is None
    assert {item.code for item in compilation.diagnostics} == {"E0501"}
    for item in compilation.diagnostics:
        where, *way = item.labels
        assert ("`teacher`" if path in LESSONS else "`candidate`") in where.text
        if path in LEAKS:
            assert "secret" in way[0].text
            assert [label.text.split(".")[0] for label in way] == [str(number + 1) for number in range(len(way))]
            assert where.text.startswith(f"{len(way) + 1}. ")
    golden = path.with_suffix(".txt")
    text = render_text(compilation.diagnostics)
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        golden.write_text(text, "utf-8")
    assert text == golden.read_text("utf-8")


def test_there_are_ten_ways_at_least() -> None:
    assert min(len(LEAKS), len(LESSONS)) >= 10


@pytest.mark.parametrize("path", LEAKS + LESSONS, ids=lambda path: path.stem)
def test_what_is_revealed_is_no_leak(path: Path, tmp_path: Path) -> None:
    """The same specs with the secret marks gone compile, so that it is secrecy alone that stops them."""
    for data in path.parent.glob("*.json*"):
        (tmp_path / data.name).write_bytes(data.read_bytes())
    open_ = tmp_path / path.name
    open_.write_text(path.read_text("utf-8").replace(" secret", ""), "utf-8")
    compilation = compile_file(open_)
    assert compilation.plan is not None, [(item.code, item.message) for item in compilation.diagnostics]
