"""`--untrusted`: a benchmark of somebody else executes nothing, opens no connection, and is read within limits."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import tripos as api
from tests.conftest import Command
from tests.releases.test_releases import LESSONS, release
from tripos.api.errors import ReleaseError, RunError, SpecError
from tripos.cli.parser import COMMANDS, build_parser
from tripos.settings.trust import time_limit, trust_in
from tripos_compiler.errors import TriposError
from tripos_runtime.datasets import trust as trusting

SPEC = """benchmark mine "1.0.0" { languages en }
role candidate compared
scorer mark(text: text) -> number from "marks.py:mark"
scenario own {
  ask reply by candidate { prompt "What is 6 * 7?" }
  score right = mark(reply.text)
}
"""
DATA = """benchmark mine "1.0.0" { languages en }
role candidate compared
dataset item from "SOURCE" { question text }
scenario own {
  over item
  ask reply by candidate { prompt "{item.question}" }
  score right = contains(reply.text, "42")
}
"""
READERS = ("check", "describe", "diff", "fetch", "fmt", "lock", "plan", "release", "report", "run", "teach", "verify")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stranger's folder, with Python that leaves a trace where it is executed."""
    (tmp_path / "mine.tripos").write_text(SPEC, "utf-8")
    trace = 'open("trace", "w").close()\n\ndef mark(text: str) -> float:\n    return 1.0\n'
    (tmp_path / "marks.py").write_text(trace, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a connection was opened")

    for name in ("create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)


@pytest.mark.parametrize("verb", READERS)
def test_every_verb_that_reads_a_benchmark_has_the_option(verb: str) -> None:
    given = {"diff": ["a", "b"], "report": [], "teach": ["a", "--name", "x"]}.get(verb, ["a"])
    assert build_parser(verb).parse_args([verb, *given, "--untrusted"]).untrusted
    assert verb in COMMANDS


@pytest.mark.parametrize("by", ["option", "variable"])
def test_python_is_read_and_not_executed(
    folder: Path, tripos: Command, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--untrusted"] if by == "option" else []
    if by == "variable":
        monkeypatch.setenv("TRIPOS_UNTRUSTED", "1")
    for verb in ("check", "plan"):
        assert tripos(verb, "mine.tripos", *words).code == 0
    done = tripos("run", "mine.tripos", "--model", "mock/careful", *words)
    assert done.code == 2 and "R0270" in done.err and "`mark`" in done.err
    assert not (folder / "trace").exists()
    monkeypatch.delenv("TRIPOS_UNTRUSTED", raising=False)
    assert tripos("run", "mine.tripos", "--model", "mock/careful").code == 0
    assert (folder / "trace").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("fetch", "mine.tripos"),
        ("fetch", "https://example.org/x-1.0.0"),
        ("run", "mine.tripos", "--fetch", "--model", "mock/careful"),
        ("check", "https://example.org/x-1.0.0"),
        ("check", "mine.tripos", "--against", "hf://lab/quiz"),
        ("plan", "s3://lab/x-1.0.0", "mine.tripos"),
        ("verify", "https://example.org/x-1.0.0"),
        ("diff", "mine.tripos", "hf://lab/quiz"),
        ("release", "mine.tripos", "--push", "s3://lab/x"),
        ("check", "mine.tripos", "--allow-outside"),
    ],
)
@pytest.mark.usefixtures("no_network")
def test_no_connection_is_opened_and_no_leave_is_given(folder: Path, tripos: Command, words: tuple[str, ...]) -> None:
    done = tripos(*words, "--untrusted")
    assert done.code == 2 and "R0270" in done.err


def test_the_settings_of_the_folder_are_not_read(folder: Path, tripos: Command) -> None:
    (folder / "tripos.toml").write_text('store = "elsewhere"\nmodels = ["mock/careful"]\n', "utf-8")
    (folder / ".env").write_text("TRIPOS_MODEL=mock/careful\n", "utf-8")
    (folder / "mine.tripos").write_text(
        SPEC.replace('scorer mark(text: text) -> number from "marks.py:mark"\n', "").replace(
            "mark(reply.text)", 'contains(reply.text, "42")'
        )
    )
    done = tripos("run", "mine.tripos", "--untrusted")
    assert done.code == 2 and "R0201" in done.err
    assert "TRIPOS_MODEL" not in os.environ
    assert tripos("run", "mine.tripos", "--untrusted", "--model", "mock/careful").code == 0
    assert (folder / "results").is_dir() and not (folder / "elsewhere").exists()


def test_a_variable_that_says_neither_is_refused(tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIPOS_UNTRUSTED", "perhaps")
    assert "R0203" in tripos("list").err
    for said, meant in (("yes", True), ("0", False), ("", False)):
        assert trust_in(False, {"TRIPOS_UNTRUSTED": said}).untrusted is meant


@pytest.mark.parametrize(
    ("limit", "name", "text"),
    [
        ("data_bytes", "rows.jsonl", '{"question": "a"}\n' * 10),
        ("whole_bytes", "rows.jsonl", json.dumps({"question": "a" * 200}) + "\n"),
        ("whole_bytes", "rows.csv", "question\n" + "a" * 200 + "\n"),
        ("whole_bytes", "rows.json", json.dumps([{"question": "a"}] * 20)),
        ("rows", "rows.csv", "question\n" + "".join(f"{number}\n" for number in range(101))),
    ],
)
def test_data_are_read_within_limits(
    folder: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch, limit: str, name: str, text: str
) -> None:
    lowered = trusting.Trust(True, trusting.ReadLimits(**{limit: 100}))
    monkeypatch.setattr("tripos.settings.trust.UNTRUSTED", lowered)
    (folder / name).write_text(text, "utf-8")
    (folder / "mine.tripos").write_text(DATA.replace("SOURCE", name), "utf-8")
    assert tripos("check", "mine.tripos").code == 0
    done = tripos("check", "mine.tripos", "--untrusted")
    assert done.code == 2 and ("more than 100 rows" if limit == "rows" else "at most 100 are") in done.err
    assert limit == "rows" or "E0307" in done.err


def test_the_limits_of_strangers_are_lower() -> None:
    for name, most in vars(trusting.ReadLimits()).items():
        lowered = getattr(trusting.LOWERED, name)
        assert lowered is not None and (most is None or lowered < most)


def test_a_spec_may_have_so_many_bytes(folder: Path, tripos: Command) -> None:
    (folder / "mine.tripos").write_text(SPEC + "// more\n" * 600_000, "utf-8")
    done = tripos("check", "mine.tripos", "--untrusted")
    assert done.code == 2 and "more than 1,048,576 bytes" in done.err
    assert "more than 1,048,576 bytes" in tripos("fmt", "--check", "mine.tripos", "--untrusted").err


def test_what_takes_too_long_is_stopped_even_where_exceptions_are_taken_for_damage() -> None:
    with pytest.raises(TriposError, match="seconds, which") as caught, time_limit(0.05):
        for _ in range(2):
            try:
                time.sleep(30)
            except TriposError:
                if _:
                    raise
    assert caught.value.code == "R0271"
    with time_limit(None):
        pass


def test_a_release_is_read_with_the_same_limits(tmp_path: Path, tripos: Command) -> None:
    made = release(LESSONS, tmp_path).path
    assert tripos("verify", str(made), "--untrusted").code == 0
    assert tripos("plan", str(made), "--untrusted").code == 0


def test_the_python_api_has_the_keyword(folder: Path) -> None:
    with pytest.raises(SpecError, match="refuses `allow_outside=True`"):
        api.compile("mine.tripos", allow_outside=True, untrusted=True)
    with pytest.raises(RunError, match="refuses the Python"):
        api.compile("mine.tripos", untrusted=True).run("mock/careful")
    with pytest.raises(ReleaseError, match="refuses a connection"):
        api.verify("https://example.org/x-1.0.0", untrusted=True)
    assert not (folder / "trace").exists()


def test_a_link_in_a_folder_is_not_formatted(folder: Path, tripos: Command) -> None:
    (folder / "inner").mkdir()
    (folder / "outside").write_text("role  judge\n", "utf-8")
    (folder / "inner" / "a.tripos").symlink_to(folder / "outside")
    done = tripos("fmt", "inner")
    assert done.code == 2 and "leads out of" in done.err
    assert (folder / "outside").read_text("utf-8") == "role  judge\n"


def test_programs_in_the_settings_of_a_repository_are_not_started(folder: Path, tripos: Command) -> None:
    """git would start them for `git status` and `git archive`."""
    spec = SPEC.replace('scorer mark(text: text) -> number from "marks.py:mark"\n', "")
    (folder / "mine.tripos").write_text(spec.replace("mark(reply.text)", 'contains(reply.text, "42")'), "utf-8")
    (folder / ".gitattributes").write_text("* filter=odd\n", "utf-8")

    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    trace = f"touch '{folder}/started'; cat"
    for name in ("filter.odd.clean", "filter.odd.smudge", "core.fsmonitor"):
        git("config", name, trace)
    git("config", "filter.odd.required", "true")
    os.utime(folder / "mine.tripos", (1, 1))
    assert tripos("run", "mine.tripos", "--model", "mock/careful").code == 0
    done = tripos("diff", "HEAD:mine.tripos", "mine.tripos")
    assert done.code == 0 and "nothing changed" in done.out
    assert not (folder / "started").exists()
    subprocess.run(["git", "status", "--porcelain"], check=False, capture_output=True)
    assert (folder / "started").exists(), "git itself starts them"
