"""The other verbs: check, plan, report, sql, list, explain."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import QUIZ, Command
from tripos.cli.parser import build_parser, show_failure
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Plan

CAREFUL = ("--model", "mock/careful", "--role", "judge=mock/careful:a,mock/careless:b")


@pytest.fixture
def ran(quiz: Path, once: Command) -> Path:
    assert once("run", "quiz.tripos", *CAREFUL, "--json").code == 0
    return quiz


def test_check_counts_what_it_read(quiz: Path, tripos: Command) -> None:
    done = tripos("check", ".")
    assert (done.code, done.err) == (0, "")
    assert done.out == ".: quiz 1.0.0 is well formed: 2 scenarios, 2 contexts, 5 items\n"


def test_check_exits_2_and_prints_every_mistake(quiz: Path, tripos: Command) -> None:
    (quiz / "quiz.tripos").write_text(QUIZ.replace("item.question }}", "item.questin }}"), "utf-8")
    done = tripos("check", "quiz.tripos")
    assert done.code == 2
    assert done.err.count("error[E0308]") == 2
    assert "did you mean `question`?" in done.err
    assert done.err.endswith("2 errors\n")


def test_check_as_json(quiz: Path, tripos: Command) -> None:
    (quiz / "quiz.tripos").write_text(QUIZ.replace("by judge", "by jugde"), "utf-8")
    done = tripos("check", "quiz.tripos", "--format", "json")
    [diagnostic] = done.data
    assert (done.code, diagnostic["code"], diagnostic["labels"][0]["start"]["line"]) == (2, "E0201", 20)


@pytest.mark.parametrize("verb", ["check", "plan", "run"])
def test_a_path_that_does_not_exist(quiz: Path, tripos: Command, verb: str) -> None:
    done = tripos(verb, "quizz.tripos")
    assert done.code == 2
    assert "there is no spec at `quizz.tripos`" in done.err


def test_plan_counts_calls_for_the_models_given(quiz: Path, tripos: Command) -> None:
    done = tripos("plan", "quiz.tripos", "--model", "a/b,c/d", "--role", "judge=e/f,g/h,i/j", "--limit", "2")
    assert done.code == 0
    [total] = [line.split() for line in done.out.splitlines() if line.startswith("total")]
    assert total == ["total", "2", "4", "8", "0..24"]


def test_plan_as_json_is_the_plan(quiz: Path, tripos: Command) -> None:
    plan = Plan.model_validate_json(tripos("plan", "quiz.tripos", "--json").out)
    assert [scenario.row_count for scenario in plan.scenarios] == [3, 2]
    calls = {(count.scenario, count.role): (count.calls, count.times) for count in plan.calls}
    assert calls["words", "judge"] == (2, ("candidate", "judge"))


def test_report_fits_80_columns_and_its_sql_runs(ran: Path, tripos: Command) -> None:
    done = tripos("report", "--sql")
    assert done.code == 0
    before, _, _ = done.out.partition("SQL of")
    assert max(map(len, before.splitlines())) <= 80
    assert "Clarity" in before
    for measure in tripos("report", "--json").data["measures"]:
        assert tripos("sql", measure["sql"]).code == 0
    for line in done.out.splitlines():
        if line.startswith("  tripos sql"):
            assert tripos("sql", line.split('"')[1]).code == 0


@pytest.mark.parametrize("form", ["csv", "parquet", "json", "jsonl"])
def test_sql_writes_files(ran: Path, tripos: Command, form: str) -> None:
    done = tripos("sql", "select scenario, model from quiz.samples", "-o", f"out.{form}")
    assert (done.code, done.err) == (0, f"5 rows written to out.{form}\n")
    assert (ran / f"out.{form}").stat().st_size > 0
    assert tripos("sql", "select 1 as one", "-o", f"out.{form}").err == f"1 row written to out.{form}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("sql", "selec 1"), "S0201", "syntax error"),
        (("sql", "select * from quiz.score"), "S0204", "scores"),
        (("sql", "copy quiz.scores to 'x.csv'"), "S0203", ""),
        (("sql", "select * from read_text('/etc/hostname')"), "S0205", ""),
        (("sql", "select 1", "-o", "x.doc"), "S0202", ".parquet"),
        (("report", "nosuch"), "S0301", "nosuch"),
        (("list", "--store", "nosuch"), "S0101", "nosuch"),
        (("list", "--store", "quiz.tripos"), "S0101", "no store at"),
        (("run", "quiz.tripos", *CAREFUL, "--store", "quiz.tripos"), "S0102", "a file is in the way"),
        (("explain", "E9999"), "R0202", "E9999"),
        (("explain", "R9"), "R0202", "the nearest is R0"),
        (("frobnicate",), "R0202", "choose from init, new, check"),
        (("rum",), "R0202", "did you mean `run`?"),
        (("run", "quiz.tripos", "--modl", "mock/careful"), "R0202", "did you mean `--model`?"),
        (("list", "quiz.tripos"), "R0202", "one word more than `tripos list` takes"),
        (("report", "--run", "x"), "R0202", "write it without: `tripos report RUN`"),
        (("plan", "quiz.tripos", "--limitt", "3"), "R0202", "did you mean `--limit`?"),
        (("run", "quiz.tripos", "--limit", "x"), "R0202", "`--limit` cannot be `x`\n  = help: it takes a whole number"),
        (("run", "quiz.tripos", "--seed", "x"), "R0202", "`--seed` cannot be `x`\n  = help: it takes a whole number"),
        (("export", "csv"), "R0202", "`tripos export` needs -o/--output"),
        (("report", "--junit"), "R0202", "`--junit` needs a value"),
        (("store", "compct"), "R0202", "did you mean `compact`?"),
        (("check", "quiz.tripos", "--format", "txt"), "R0202", "did you mean `text`?"),
        (("run", "quiz.tripos", "--model", "mock/carefull", "--dry-run"), "R0103", "did you mean `mock/careful`?"),
        (("run", "quiz.tripos", "--model", "opnai/gpt", "--dry-run"), "R0103", "did you mean `openai/gpt`?"),
    ],
)
def test_bad_questions_are_answered_with_a_code(
    ran: Path, tripos: Command, arguments: tuple[str, ...], code: str, words: str
) -> None:
    done = tripos(*arguments)
    assert done.code == 2
    assert done.err.startswith(f"error[{code}]")
    assert words in done.err
    assert "Traceback" not in done.err


def test_the_shell_answers_line_by_line(ran: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("select 41 + 1\n as answer;\nselec 1;\nselect 7 as seven\n"))
    done = tripos("sql")
    assert done.code == 2  # nobody types, so only the exit code can tell
    assert "42" in done.out
    assert "seven" in done.out
    assert "error[S0201]" in done.err


def test_help_in_the_shell_is_not_taken_for_sql(ran: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("help;\n"))
    done = tripos("sql")
    assert (done.code, ".schema NAME" in done.out) == (0, True)


def test_lines_to_write_stand_below_the_hint(capsys: pytest.CaptureFixture[str]) -> None:
    show_failure(TriposError("R0404", "no price", 'write\n[prices."a/b"]\ninput = ...'))
    assert capsys.readouterr().err.splitlines()[1:4] == [
        "  = help: write",
        '          [prices."a/b"]',
        "          input = ...",
    ]


def test_a_terminal_gets_the_words_of_a_failure_in_its_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    show_failure(TriposError("R0402", "the budget " + "goes on " * 20, "run it " + "again " * 20))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 4 and max(map(len, lines)) <= 80


def test_list_shows_runs_newest_first(ran: Path, tripos: Command, once: Command) -> None:
    once("run", "quiz.tripos", *CAREFUL, "--limit", "1", "--json")
    rows = tripos("list", "--json").data
    assert [row["samples"] for row in rows] == [2, 5]
    times = [datetime.fromisoformat(row["started_at"]) for row in rows]
    assert times == sorted(times, reverse=True) and {each.tzinfo for each in times} == {UTC}
    assert "quiz       mock/careful" in tripos("list").out


def test_explain_prints_the_page_and_lists_the_codes(tripos: Command) -> None:
    assert tripos("explain", "e0201").out.startswith("# E0201")
    assert "E0501" in tripos("explain").out


def test_a_bug_of_ours_says_so_and_shows_no_trace(quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tripos.runs.compilation.find_spec", lambda *_, **__: 1 / 0)
    done = tripos("check", "quiz.tripos")
    assert done.code == 70
    assert done.err.startswith("internal error: ZeroDivisionError")
    assert "Traceback" not in done.err


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from tripos.cli.main import build_parser; build_parser().format_help(); print(*sys.modules)"
    modules = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not modules & {"litellm", "duckdb", "pyarrow", "pydantic", "lark", "rich", "scipy", "aiohttp"}
    assert build_parser().prog == "tripos"


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_keeps_what_was_done_and_the_same_command_goes_on(quiz: Path, tripos: Command) -> None:
    lines = (json.dumps({"question": f"{n} + {n}", "answer": str(2 * n)}) for n in range(400))
    (quiz / "items.jsonl").write_text("\n".join(lines), "utf-8")
    command = ["run", "quiz.tripos", "--model", "mock/slow", "--role", "judge=mock/careful", "--scenario", "sums"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tripos", *command, "--max-connections", "4"], stderr=subprocess.PIPE, text=True
    )
    for _ in range(1200):  # until it has committed something
        time.sleep(0.05)
        if any((quiz / "results").glob("parts/samples/*.parquet")):
            break
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "finishing the calls under way" in told
    assert "goes on where this ended; what was answered is kept" in told
    tripos("sql", "select count(*) as n, count(*) filter (status = 'ok') as good from samples", "-o", "n.json")
    [kept] = json.loads((quiz / "n.json").read_text())
    assert 0 < kept["n"] == kept["good"] < 400
    again = tripos(*command, "--limit", str(kept["n"]), "--json").data
    assert again["calls"]["reused"] >= kept["n"]


@pytest.mark.skipif(os.name == "nt", reason="terminals")
def test_a_terminal_shows_counts_and_time_left(quiz: Path) -> None:
    import pty

    lines = (json.dumps({"question": f"{n} + {n}", "answer": str(2 * n)}) for n in range(30))
    (quiz / "items.jsonl").write_text("\n".join(lines), "utf-8")
    command = ["run", "quiz.tripos", "--model", "mock/slow", "--role", "judge=mock/careful", "--scenario", "sums"]
    reader, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "tripos", *command, "--max-connections", "1"],
        stderr=terminal, stdout=subprocess.DEVNULL, env=os.environ | {"TERM": "xterm", "CI": ""},
    ) as process:  # fmt: skip
        os.close(terminal)
        shown = b""
        try:
            while part := os.read(reader, 65536):
                shown += part
        except OSError:  # Linux says so when the other end has closed
            pass
    assert process.returncode == 0
    text = shown.decode()
    assert "of 60 calls" in text
    assert "left" in text
    assert "finished: 60 calls asked" in text
