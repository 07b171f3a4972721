"""Whatever a folder, a benchmark or a data file is called, no terminal obeys it: all output goes through one place."""

from __future__ import annotations

import ast
import io
import json
import re
import unicodedata
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.releases.test_releases import LESSONS
from tests.sources import modules, nodes_of
from tripos.terminal import replace_controls, show_json, show_output, show_text

PRODUCT = Path(__file__).parents[2] / "tripos"
ODD = "x\x1b[8m\x1b]0;t\x07\u202etxt\u2066\x9b5m\x7f"
"""Conceals what follows, sets the title of the window, turns the direction of text."""
MODELS = ("--model", "mock/careful", "--role", "judge=mock/careless")
WRITERS = {"print", "input"}
ALLOWED = {
    "terminal.py": "the one place",
    "cli/sql.py": "`input` of the shell, with our own prompt",
    "cli/init.py": "`input` with our own questions",
    "cli/progress.py": "events, through `harmless_json`, and the live view of rich",
    "cli/report.py": "captured, then shown",
    "cli/plan.py": "captured, then shown",
    "cli/help.py": "captured, then shown; and the protocol of the language server",
}


def raw(text: str) -> set[str]:
    """The characters of a text that a terminal would obey."""
    return {char for char in text if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cf", "Cs")}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a name that a terminal obeys, with a benchmark that has such a title."""
    folder = tmp_path / ODD
    folder.mkdir()
    text = f"""benchmark mine "1.0.0" {{ title "Mine {ODD}" languages en license "CC0-1.0" }}
dataset item from "rows{ODD}.jsonl" {{ question text topic text }}
role candidate compared
role judge
scenario own {{
  over item
  ask reply by candidate {{ prompt "{{item.question}} {ODD}" }}
  ask grade by judge {{ prompt "{{reply}}" returns int 1..5 }}
  score right = contains(reply.text, "a")
  score good = grade
}}
measure right = mean(own.right) by topic
export pairs {{ best of own.reply by own.right }}
"""
    (folder / "mine.tripos").write_text(text, "utf-8")
    rows = [{"question": f"What? {ODD} {number}", "topic": f"t{ODD}"} for number in range(4)]
    (folder / f"rows{ODD}.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    monkeypatch.chdir(folder)
    return folder


def test_the_language_may_refuse_such_a_spec_and_its_message_is_harmless(folder: Path, tripos: Command) -> None:
    done = tripos("check", str(folder / "mine.tripos"))
    assert raw(done.out + done.err) == set()


@pytest.mark.parametrize("colors", [False, True])
def test_no_verb_prints_what_a_terminal_obeys(
    folder: Path, tripos: Command, colors: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if colors:
        monkeypatch.setenv("FORCE_COLOR", "1")
    else:
        monkeypatch.setenv("NO_COLOR", "1")
    spec, store, away = str(LESSONS), ("--store", str(folder / "results")), str(folder / "none")
    release, pool = str(folder / "releases"), str(folder)
    commands: list[tuple[str, ...]] = [
        ("check", spec), ("check", spec, "--format", "json"), ("check", spec, "--format", "github"),
        ("check", away), ("check", str(folder)), ("fmt", str(folder)), ("fmt", "--diff", str(folder)),
        ("fmt", away), ("plan", spec, *MODELS, *store), ("plan", spec, "--json"), ("plan", away),
        ("describe", spec), ("describe", spec, "--format", "csv"), ("describe", away, "--data", away),
        ("run", spec, *MODELS, *store), ("run", spec, *MODELS, *store, "--json"), ("run", away, *MODELS),
        ("run", spec, *MODELS, *store, "--dry-run"), ("run", spec, *MODELS, *store, "--events", "-"),
        ("run", spec, *MODELS, "--store", str(folder / "mine.tripos")), ("list", *store), ("report", *store),
        ("report", *store, "--json"), ("report", ODD, *store), ("leaderboard", *store), ("compare", *store),
        ("leaderboard", "--published", away, *store), ("show", *store), ("show", ODD, *store), ("why", ODD, *store),
        ("sql", "select * from samples", *store), ("sql", f"select '{ODD}' as \"{ODD}\"", *store),
        ("sql", "from samples", "-o", str(folder / "out.csv"), *store),
        ("export", "csv", "-o", str(folder / "tables"), *store), ("export", "eee", "-o", str(folder / "eee"), *store),
        ("export", "distillation", "-o", str(folder / "sft.jsonl"), *store),
        ("export", ODD, "-o", away, *store), ("annotate", "--name", "anna", "-o", str(folder / "anna.xlsx"), *store),
        ("annotate", "--take", away, *store), ("annotate", "--take", str(folder / "anna.xlsx"), "--partial", *store),
        ("store", "check", *store), ("store", "compact", *store), ("store", "gc", *store), ("list", "--store", away),
        ("release", spec, "--to", release), ("release", spec, "--to", release, "--zip", "--json"),
        ("verify", f"{release}/lessons-1.2.3"), ("verify", away), ("verify", f"{release}/lessons-1.2.3.zip"),
        ("diff", spec, f"{release}/lessons-1.2.3"), ("diff", away, spec), ("diff", f"HEAD:{ODD}", spec),
        ("fetch", f"https://{ODD}/x"), ("fetch", away), ("lock", spec, *MODELS, "-o", str(folder / "tripos.lock")),
        ("lock", spec, *MODELS, "-o", f"{away}/x"), ("import", "scores", away, *store), ("doctor", *store),
        ("import", "samples", away, "--spec", spec, *store), ("approve", away), ("explain", ODD), (ODD,),
        ("check", f"--{ODD}"), ("check", spec, "--data", away), ("check", spec, "--deny", ODD), ("check", pool, spec),
        ("run", spec, pool, *MODELS, *store), ("report", "--profile", ODD), ("train", "sft", away, "-o", away),
    ]  # fmt: skip
    bad: dict[tuple[str, ...], set[str]] = {}
    good = 0
    for words in commands:
        done = tripos(*words)
        good += done.code == 0
        assert "internal error" not in done.err, (words, done.err)
        text = (
            re.sub(r"\x1b\[(?:0|1|2|3|4|[349][0-7]|39|1;[349][0-7]|4;94)?m", "", done.out + done.err)
            if colors
            else done.out + done.err
        )
        if found := raw(text):
            bad[words] = found
    assert bad == {}
    assert good > 30


def test_json_says_the_same_and_has_nothing_that_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"name": f"{ODD}\U000e0041 学 é"}
    show_json(json.dumps(value, ensure_ascii=False))
    shown = capsys.readouterr().out
    assert json.loads(shown) == value and raw(shown) == set() and "学 é" in shown


def test_output_for_programs_stays_as_it_is_except_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, plain in ((io.StringIO(), True), (Terminal(), False)):
        monkeypatch.setattr("sys.stdout", stream)
        show_output(ODD)
        assert (stream.getvalue() == ODD) is plain and (raw(stream.getvalue()) == set()) is not plain


def test_styled_text_keeps_colours_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    show_text("\x1b[1mbold\x1b[0m \x1b[2J\x1b]0;t\x07", styled=True)
    assert capsys.readouterr().out == "\x1b[1mbold\x1b[0m \\x1b[2J\\x1b]0;t\\x07\n"
    show_text("\x1b[1mbold", sep="", end="", stderr=True)
    assert capsys.readouterr().err == "\\x1b[1mbold"
    assert len(replace_controls(ODD)) == len(ODD) and raw(replace_controls(ODD)) == set()


def writes(path: Path) -> list[int]:
    """The lines of a module that write to a terminal by themselves."""
    found: list[int] = []
    for node in nodes_of(path):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in WRITERS or re.search(r"(^|\.)(stdout|stderr|console|_console)\.(write|writelines|print)$", name):
                found.append(node.lineno)
        if isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) == "sys.stdout.buffer":
            found.append(node.lineno)
    return found


def test_nothing_else_writes_to_a_terminal() -> None:
    found = {path.relative_to(PRODUCT).as_posix() for path in modules("tripos") if writes(path)}
    assert found <= set(ALLOWED)
    assert {"terminal.py", "cli/progress.py"} <= found


def test_what_writes_is_found(tmp_path: Path) -> None:
    for number, text in enumerate(("print(1)", "import sys\nsys.stderr.write('a')", "console.print(1)")):
        path = tmp_path / f"{number}.py"
        path.write_text(text)
        assert writes(path)
