"""Every verb in every encoding of a terminal: nothing stops it, and every character is written or shown in ASCII."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.each import each
from tests.lengths import ALL
from tripos.cli.main import run_command
from tripos.cli.parser import COMMANDS
from tripos.terminal import replace_unencodable, show_json, show_output, show_text

SPEC = """\
benchmark letters "1.0.0" {
  title "汉字 🎓 — Ωμέγα"
  languages zh
  license "CC0-1.0"
}
role candidate compared
role judge
axis kind {
  noun zh "名词 🎓"
  verb zh "动词"
}
dataset item from "题目.jsonl" {
  kind
  question text
  answer   text secret
}
dimension quality zh "质量" {
  metric CLEAR zh "清晰度 ±½" {
    scale 1..10
    asks zh "清楚吗？"
  }
}
scorer rubric(task: text, response: text) by judge {
  prompt zh "{{ metrics }} 题：{{ task }} 答：{{ response }}"
  gives allocated metrics
}
allocate rubric {
  |        | CLEAR |
  | naming |   x   |
}
scenario naming zh "命名 🎓" {
  context language * kind
  over item
  ask reply by candidate { prompt zh "写出这个{{ kind }}：{{ item.question }} 🎓" }
  score right = contains(reply.text, item.answer)
  score rubric(task: item.question, response: reply.text)
}
measure by_kind = mean(rubric) by kind
measure right = mean(naming.right)
expect right >= 0.5
"""
TALK = """\
benchmark talks "1.0.0" { languages zh }
role teacher compared
role student
dataset item from "题目.jsonl" { question text }
scenario lesson {
  over item
  converse talk {
    teacher { system zh "讲解：{{ item.question }}" }
    student { system zh "你是学生 🎓。" }
    opens teacher
    until teacher says "完"
    limit 4 turns
  }
  score said = length(talk.text) > 0
}
"""
ROWS = (
    {"kind": "noun", "question": "什么是“猫” 🐈？", "answer": "猫"},
    {"kind": "verb", "question": "什么是“跑” — 见图？", "answer": "跑"},
)
MODELS = ("--model", "mock/careful,mock/careless", "--role", "judge=mock/fair")
ENCODINGS = ("cp1252", "cp437", "ascii")
REPEATED = ("check", "plan", "describe", "report", "compare", "leaderboard", "sql", "list", "explain", "doctor")
"""Verbs that say the same twice."""
WRITERS = ("release", "approve", "import", "init")
Told = tuple[int, bytes, bytes]
NAMES = re.compile(rb"\d{8}-\d{6}-[0-9a-f]{4}|\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?|\b[\d.]+ m?s\b")
"""What differs between two runs of a command: names of runs, and times."""


def commands(spec: str, talk: str) -> list[tuple[str, ...]]:
    """Every verb once or more. A verb without a command here has no test, and the test below says so."""
    return [
        ("check", spec), ("check", "没有"), ("check", spec, "--format", "json"), ("check", "错.tripos"),
        ("fmt", "--diff", spec), ("plan", spec, *MODELS), ("plan", spec, "--json"), ("describe", spec, "--by", "kind"),
        ("describe", spec, "--format", "csv"), ("run", spec, *MODELS), ("run", spec, *MODELS, "--json"),
        ("run", spec, *MODELS, "--events", "-"), ("run", spec, *MODELS, "--dry-run"), ("teach", talk, "--name", "王芳",
        "--limit", "1", "--role", "student=mock/student"), ("report", "--sql"), ("report", "--json"), ("list",),
        ("list", "--json"), ("view", "--to", "page"), ("compare",), ("leaderboard", "letters"), ("show",),
        ("leaderboard", "letters", "--format", "csv"), ("why", "没有"), ("sql", "from letters.samples"),
        ("sql", "select '🎓' as \"名 ½\""), ("sql", "select reply from letters.samples", "-o", "r.csv"),
        ("export", "distillation", "-o", "sft.jsonl"), ("export", "csv", "-o", "tables"), ("store", "check"),
        ("emit", "promptfoo", spec, "-o", "发出"),
        ("train", "sft", "没有.jsonl", "-o", "away"), ("annotate", "--name", "王芳", "-o", "王芳.xlsx"),
        ("import", "scores", "没有.csv"), ("import", "tree", "大纲.txt", "-o", "树.yaml"),
        ("approve", "树.draft.yaml", "--name", "王芳"), ("release", spec, "--to", "发布"),
        ("verify", "发布/letters-1.0.0"), ("diff", spec, "发布/letters-1.0.0"), ("fetch", "没有"),
        ("lock", spec, *MODELS), ("doctor", *MODELS), ("explain", "W0903"), ("explain", "没有"), ("lsp",), ("mcp", "没有"),
        ("explain", "functions"), ("init", "题", "--yes"), ("docs", "没有", "--print"), ("completion", "bash"),
        ("new", "scenario", "again"), ("history", "right"),
        ("promote", "--list"), ("attest", "-o", "结果.json"), ("plot", "leaderboard", "--out", "图.svg"), ("judges",), ("judges", "--json"),
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where everything has a Chinese name, also the specs and their data."""
    (tmp_path / "汉字.tripos").write_text(SPEC, "utf-8")
    (tmp_path / "对话.tripos").write_text(TALK, "utf-8")
    (tmp_path / "错.tripos").write_text(SPEC.replace("item.answer", "item.答案 🎓"), "utf-8")
    (tmp_path / "题目.jsonl").write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in ROWS), "utf-8")
    (tmp_path / "大纲.txt").write_text("语文\n  词语\n    名词 🎓\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(words: tuple[str, ...], encoding: str, monkeypatch: pytest.MonkeyPatch) -> Told:
    """Return the exit code of a command and the bytes that it writes where both streams have an encoding."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding, errors="strict", write_through=True) for _ in range(2)]
    said = "我来讲：猫是动物。🎓\n\n再讲一次。\n\n".encode()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"" if words[0] == "lsp" else said), "utf-8"))
        patched.setattr(sys, "stdout", streams[0])
        patched.setattr(sys, "stderr", streams[1])
        replace_unencodable()
        code = run_command(words)
    out, err = (stream.buffer.getvalue() for stream in streams)  # type: ignore[attr-defined]
    return code, out, err


def test_every_verb_is_tried() -> None:
    assert {words[0] for words in commands("a", "b")} == set(COMMANDS)


@pytest.mark.long
def test_every_verb_writes_everything_in_ascii(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same commands in UTF-8 and in ASCII: what is written is the same but for what ASCII lacks."""
    monkeypatch.setenv("COLUMNS", "80")
    escaped = 0
    for words in commands("汉字.tripos", "对话.tripos"):
        code, out, err = told(words, "utf-8", monkeypatch)
        assert b"internal error" not in err, (words, err.decode())
        for encoding in ("ascii",):
            again, found, wrong = told(words, encoding, monkeypatch)
            assert b"internal error" not in wrong, (words, encoding, wrong.decode(encoding))
            # What wrote a file finds it there.
            assert again in ((code, 2) if words[0] in WRITERS else (code,)), (words, encoding)
            text = found.decode("utf-8" if is_for_programs(words) else encoding)
            if {"json", "--json", "--events"} & set(words):
                for line in text.splitlines() if "--events" in words else [text]:
                    json.loads(line)
            elif words[0] in REPEATED:
                expected = out if is_for_programs(words) else out.decode().encode(encoding, "tripos.shown")
                assert same(found) == same(expected), (words, encoding)
                escaped += found != out
    assert escaped > 8


def is_for_programs(words: tuple[str, ...]) -> bool:
    """Return true if standard output is a file that a program reads, which is UTF-8 everywhere."""
    return "csv" in words[:4] or words[0] == "fmt"


def same(text: bytes) -> bytes:
    """Return a text without what differs from one run of a command to the next."""
    return NAMES.sub(b"", text)


@each("encoding", ENCODINGS)
def test_the_first_verbs_write_everything(encoding: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short form of what stands above."""
    for words in (
        ("check", "错.tripos"),
        ("run", "汉字.tripos", *MODELS),
        ("report",),
        ("plan", "汉字.tripos", "--json"),
    ):
        code, out, err = told(words, encoding, monkeypatch)
        text = (out + err).decode(encoding)
        assert "internal error" not in text and code in (0, 2, 100), (words, text)
        assert "\\u" in text
    assert "名词 🎓" in json.dumps(json.loads(out.decode(encoding)), ensure_ascii=False)


def written(show: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Return the bytes of what is shown on a terminal of Windows."""
    stream = io.TextIOWrapper(io.BytesIO(), "cp1252", errors="strict", write_through=True)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", stream)
        replace_unencodable()
        show()
    return stream.buffer.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_signs_become_those_of_ascii_and_others_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    found = written(lambda: show_text("─── — … ± 学 🎓 → é"), monkeypatch)
    assert found.decode("cp1252") == "--- — … ± \\u5b66 \\U0001f393 -> é\n"


def test_json_stays_json_that_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    found = written(lambda: show_json(json.dumps({"é 学": "🎓 ─"}, ensure_ascii=False)), monkeypatch)
    text = found.decode("cp1252")
    assert json.loads(text) == {"é 学": "🎓 ─"} and "é" in text and "─" not in text


def test_what_programs_read_is_utf_8_as_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert written(lambda: show_output("é,学\n"), monkeypatch) == "é,学\n".encode()


LOCALES = (
    {"PYTHONIOENCODING": "cp1252"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "C"},
)


@each("environ", LOCALES)
def test_the_script_itself_runs_under_a_locale_of_few_characters(environ: dict[str, str], folder: Path) -> None:
    Path("letters.tripos").write_bytes(Path("汉字.tripos").read_bytes())
    base = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHONIO"))}
    # A run starts more than a plan does: one of them is enough where there is little time.
    verb = "run" if ALL or environ is LOCALES[1] else "plan"
    command = [sys.executable, "-m", "tripos", verb, "letters.tripos", *MODELS]
    done = subprocess.run(command, env={**base, **environ}, capture_output=True, check=False)
    said = (done.stdout + done.stderr).decode("cp1252", "replace")
    assert done.returncode in (0, 100) and not re.search(r"error(\[|:)", said), said
    # A run names the benchmark, and a plan its title.
    shown = {"run": [b"letters 1.0.0"], "plan": [rb"\u6c49\u5b57", "汉字".encode()]}[verb]
    assert any(text in done.stdout for text in shown), said
