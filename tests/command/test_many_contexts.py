"""A product of a thousand million contexts is counted, and its first ones are run; it is never listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Command

AXES = [f"a{number}" for number in range(9)]


@pytest.fixture
def big(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    values = "\n".join(f"  v{number}" for number in range(10))
    lines = ['benchmark big "1.0.0" { languages en }', "role candidate compared"]
    lines += [f"axis {name} {{\n{values}\n}}" for name in AXES]
    prompt = " ".join(f"{{{{ {name} }}}}" for name in AXES)
    lines += ["scenario own {", f"  context {' * '.join(AXES)}", f'  ask reply by candidate {{ prompt "{prompt}" }}']
    lines += ['  score right = contains(reply.text, "42")', "}", "measure m = mean(own.right) by a0"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "big.tripos").write_text("\n".join(lines) + "\n", "utf-8")
    return "big.tripos"


@pytest.mark.parametrize("words", [("check",), ("plan",), ("plan", "--limit", "10")])
def test_contexts_are_counted(big: str, tripos: Command, words: tuple[str, ...]) -> None:
    done = tripos(words[0], big, *words[1:])
    assert done.code == 0 and "1,000,000,000" in done.out, done.err


def test_the_first_ones_are_run(big: str, tripos: Command) -> None:
    done = tripos("run", big, "--model", "mock/careful", "--limit", "2")
    assert done.code == 0 and "2 calls asked" in done.err, done.err


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--model", "mock/careful"),
        ("run", "--model", "mock/careful", "--dry-run"),
        ("plan", "--model", "mock/careful"),
        ("plan", "--only", "a1=v1"),
        ("run", "--model", "mock/careful", "--limit", "2", "--seed", "1"),
    ],
)
def test_they_are_refused_to_be_listed(big: str, tripos: Command, words: tuple[str, ...]) -> None:
    done = tripos(words[0], big, *words[1:])
    assert done.code != 0 and "1,000,000,000 contexts" in done.err and "--limit N" in done.err, done.err
    assert "internal error" not in done.err
