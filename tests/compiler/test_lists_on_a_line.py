"""A statement behind the list of another, on one line, is a statement."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.compiler.compiling import compile_files

REST = """
role candidate compared
scenario quiz {
  context language
  ask reply by candidate { prompt en "Hi" de "Hallo" }
  score long = words(reply.text) > 3
}
measure right = mean(long)
measure other = mean(long)
"""
PARTS = ('title "Quiz"', "languages en, de", "headline right, other", 'license "MIT"')


@pytest.mark.parametrize("order", list(itertools.permutations(PARTS)))
def test_the_parts_of_a_benchmark_stand_on_one_line_in_any_order(tmp_path: Path, order: tuple[str, ...]) -> None:
    plans = [
        compile_files(folder, {"spec.tripos": f'benchmark demo "1.0.0" {{ {between.join(parts)} }}{REST}'})
        for folder, between, parts in ((tmp_path / "one", ", ", order), (tmp_path / "lines", "\n", PARTS))
    ]
    assert [each.diagnostics for each in plans] == [(), ()]
    one, lines = (each.plan for each in plans)
    assert one is not None and lines is not None
    assert one.benchmark == lines.benchmark and one.digest == lines.digest
