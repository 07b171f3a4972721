"""Needles in a haystack, made by a program: recall by depth and length, as RULER and its like count it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.field.running import figures_of
from tripos.runs.compilation import find_spec

PROGRAM = '''
"""Haystacks of several lengths, with a number at several depths."""

import os
import random


def rows():
    assert "SECRET_KEY" not in os.environ
    for length in (10, 40):
        for depth in range(3):
            for seed in range(4):
                dice = random.Random(f"{length} {depth} {seed}")
                lines = [f"Line {n} tells of {dice.choice(['rain', 'bread', 'trains'])}." for n in range(length)]
                number = dice.randrange(1000, 9999)
                lines.insert(depth * length // 3, f"The number of the day is {number}.")
                yield {"text": "\\n".join(lines), "number": number, "depth": depth, "length": length}
'''
SPEC = """
benchmark hay "1.0.0" {
  languages en
  license   "CC0-1.0"
}
role candidate compared

dataset needle from "needles.py:rows" {
  text    text  # allow W0505: the number stands in the haystack
  number  integer secret
  depth   0..2
  length  integer
}

scenario find {
  over needle as n
  ask reply by candidate { prompt "{{ n.text }}\\nWhich is the number of the day?" }
  score found = same_number(last_number(reply.text), n.number)

  measure by_depth  = mean(found) by n.depth
  measure by_length = mean(found) by n.length
  measure average   = mean(mean(found) by n.length, n.depth)
}
"""


def answer(text: str) -> str:
    """Find the number where it stands in the first 15 lines."""
    found = re.findall(r"number of the day is (\d+)", "\n".join(text.splitlines()[:15]))
    return f"It is {found[0]}." if found else "I cannot find one."


def write(folder: Path) -> None:
    (folder / "spec.tripos").write_text(SPEC, "utf-8")
    (folder / "needles.py").write_text(PROGRAM, "utf-8")


def test_rows_of_a_program_are_fetched_and_then_rows_like_any(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "k")
    write(tmp_path)
    spec = tmp_path / "spec.tripos"
    told = [each for each in find_spec(str(spec)).compile().diagnostics if each.code == "E0307"]
    assert [each.help for each in told] == [f"make them: `tripos fetch {spec}`"]
    assert not (tmp_path / "rows").exists()  # nothing was executed
    said = tripos("fetch", str(spec))
    assert said.code == 0 and "needles.py:rows is in" in said.out
    assert not (tmp_path / "__pycache__").exists()
    found = figures_of(tmp_path, SPEC, {}, answer)
    assert found.by("find.by_length") == {"10": 1.0, "40": pytest.approx(2 / 3)}  # line 26 of 40 is beyond its reach
    assert found.by("find.by_depth") == {"0": 1.0, "1": 1.0, "2": pytest.approx(1 / 2)}
    assert found["find.average"].value == pytest.approx(5 / 6)
    (dataset,) = found.plan.datasets
    assert dataset.files[0].path in {path.relative_to(tmp_path).as_posix() for path in (tmp_path / "rows").iterdir()}


def test_another_program_needs_other_rows_and_one_that_fails_leaves_none(tmp_path: Path, tripos: Command) -> None:
    write(tmp_path)
    assert tripos("fetch", str(tmp_path / "spec.tripos")).code == 0
    (tmp_path / "needles.py").write_text(PROGRAM + "\nraise ValueError('no hay')\n", "utf-8")
    assert "the rows of `needles.py:rows` are not made" in tripos("check", str(tmp_path / "spec.tripos")).err
    failed = tripos("fetch", str(tmp_path / "spec.tripos"))
    assert failed.code == 2
    assert "ValueError: no hay" in failed.err
    assert len([*(tmp_path / "rows").iterdir()]) == 1  # those of the first program


@pytest.mark.parametrize("ends", ["raise SystemExit(0)", "__import__('os')._exit(0)"])
def test_a_program_that_ends_before_its_last_row_leaves_no_rows(tmp_path: Path, tripos: Command, ends: str) -> None:
    write(tmp_path)
    early = f"\nrows_of_all = rows\n\n\ndef rows():\n    yield next(rows_of_all())\n    {ends}\n"
    (tmp_path / "needles.py").write_text(PROGRAM + early, "utf-8")
    failed = tripos("fetch", str(tmp_path / "spec.tripos"))
    assert failed.code == 2 and "ended before its last row" in " ".join(failed.err.split())
    assert not [*(tmp_path / "rows").glob("*")]


def test_a_release_has_the_rows_and_needs_no_program(tmp_path: Path, tripos: Command) -> None:
    folder = tmp_path / "hay"
    folder.mkdir()
    write(folder)
    assert tripos("fetch", str(folder / "spec.tripos")).code == 0
    made = tripos("release", str(folder / "spec.tripos"), "--to", str(tmp_path / "to"))
    assert made.code == 0, made.err
    (frozen,) = [path for path in (tmp_path / "to").iterdir() if path.is_dir()]
    assert not list(frozen.rglob("*.py"))
    assert tripos("verify", str(frozen)).code == 0
    ran = tripos("run", str(frozen), "--model", "mock/careful", "--store", str(tmp_path / "results"))
    assert ran.code == 0, ran.err
