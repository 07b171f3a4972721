"""A message that quotes a name out of a file is cut, for the name may be as long as the file."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Command
from tripos.terminal import MAX_MESSAGE


def test_a_message_is_no_longer_than_a_page(quiz: Path, tripos: Command) -> None:
    (quiz / "tripos.toml").write_text(f"{'x' * 50_000} = 1\n", "utf-8")
    done = tripos("check", "quiz.tripos")
    assert done.code == 2
    assert done.err.startswith("error[R0203]: ") and "more characters)" in done.err
    assert len(done.err) < 2 * MAX_MESSAGE + 500
