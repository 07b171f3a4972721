"""Specs with thousands of mistakes, and lines as long as a file: what is shown is capped, and takes linear time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.compiler.compiling import compile_text
from tests.compiler.counting import steps
from tests.each import each
from tests.lengths import sized
from tripos_compiler.diagnostics.diagnostic import Diagnostic
from tripos_compiler.diagnostics.renderers import MAX_SHOWN, render_text
from tripos_compiler.diagnostics.text_format import wrap

HEAD = """benchmark demo "1.0.0" { languages en }
role candidate compared
scenario sums {
  ask answer by candidate { prompt "What?" }
  score right = contains(answer.text, "4")
}
"""
MARKS = "a" + "\u0301\u0323" * 4_000


def checked(text: str) -> str:
    return render_text(compile_text(text).diagnostics, most=MAX_SHOWN)


SHAPES: dict[str, Callable[[int], str]] = {
    "errors on one line": lambda n: HEAD + "let x = [" + ", ".join(f"nosuch{i}" for i in range(n)) + "]\n",
    "an unknown character": lambda n: HEAD + "§" * n + "\n",
    "unknown characters apart": lambda n: HEAD + "§ ¤ " * n + "\n",
    "lines that are none": lambda n: HEAD + "§\n" * n,
    "brackets that close nothing": lambda n: HEAD + ") ] " * n + "\n",
    "brackets that stay open": lambda n: HEAD + "( [ " * n + "\n",
    "statements in a block": lambda n: HEAD.replace('"4")', '"4")' + "\n  let = )\n" * n),
    "a title of combining marks": lambda n: HEAD.replace("}", 'nosuch "a' + "\u0301\u0323" * n + '" }', 1),
}


@each("name", SHAPES)
def test_work_grows_with_the_text(name: str) -> None:
    less, more = (steps(partial(checked, SHAPES[name](n))) for n in sized((400, 800), (800, 1_600)))
    assert more < 2.5 * less + 50_000


@each("sign", ["§", "§ ", "，", "; ", ") ", "( "])
def test_a_run_of_one_character_is_one_mistake(sign: str) -> None:
    found = [item for item in compile_text(HEAD + sign * 50 + "\n").diagnostics if item.code in ("E0103", "E0104")]
    assert len(found) == 1
    assert "50 " in found[0].message
    assert found[0].labels[0].span.end - found[0].labels[0].span.start >= 50


def test_a_run_ends_with_its_line_and_with_another_character() -> None:
    found = compile_text(HEAD + "§§ ¤\n§\n").diagnostics
    assert [item.message.partition(": ")[2] for item in found] == ["it stands 2 times in a row", "", ""]


def test_a_hundred_are_shown_and_the_rest_is_counted() -> None:
    found = compile_text(HEAD + "§\n" * 2_080).diagnostics
    text = render_text(found, most=MAX_SHOWN, others=": `tripos check --all` shows them")
    assert text.count("error[") == MAX_SHOWN
    assert text.endswith("\n\nand 1,980 more: `tripos check --all` shows them\n")


def test_errors_are_shown_before_warnings() -> None:
    warning = Diagnostic("W0209", "nothing uses it", (), severity="warning")
    found = [warning, Diagnostic("E0101", "it does not fit", ()), warning]
    assert render_text(found, most=1).startswith("error[E0101]")
    assert render_text(found, most=2).startswith("warning[W0209]: nothing uses it\n\nerror[E0101]")


def test_marks_above_a_letter_are_wrapped_and_cut_in_one_go() -> None:
    assert wrap(f"one {MARKS} two", 9) == [f"one {MARKS} two"]
    assert steps(lambda: wrap(" ".join("\u0301" for _ in range(4_000)), 40)) < 200_000


def test_check_shows_all_of_them_when_asked(tmp_path: Path) -> None:
    (tmp_path / "spec.tripos").write_text(HEAD + "§\n" * 120, "utf-8")
    shown = []
    for more in ([], ["--all"]):
        command = [sys.executable, "-m", "tripos", "check", "spec.tripos", *more]
        shown.append(subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stderr)
    assert [text.count("error[E0104]") for text in shown] == [100, 120]
    assert "and 20 more: `tripos check --all` shows them" in shown[0]
