"""`tripos check --worlds`: what it prints, in every format, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.unproved import unproved, written
from tripos.runs.compilation import SpecSource
from tripos_compiler.compile import Compilation

ROWS = [{"question": f"What is {n} * {n}?", "answer": f"It is {n * n}, surely."} for n in range(2, 8)]
SPEC = """benchmark g "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, answer text secret }
scenario squares {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = contains(reply.text, item.answer)
}
"""
LEAKING = SPEC.replace("{{ item.question }}", "{{ item.question }} {{ words(item.answer) }} {{ item.answer }}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, SPEC, {"items.jsonl": ROWS})
    return tmp_path


@pytest.fixture
def leaking(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec that tells a secret, and that the compiler takes all the same."""
    (folder / "s.tripos").write_text(LEAKING, "utf-8")

    def compile_(self: SpecSource, *_: object, **__: object) -> Compilation:
        found = unproved(self.path)
        return Compilation(found.plan, (), found.compilation.sources, (), found.compilation.index)

    monkeypatch.setattr(SpecSource, "compile", compile_)
    return folder


def test_where_nothing_differs_it_says_how_much_was_compared(folder: Path, tripos: Command) -> None:
    done = tripos("check", "s.tripos", "--worlds")
    assert done.code == 0
    _, came, scenario = done.out.splitlines()
    assert came.startswith("s.tripos: 4 pairs of worlds, 48 messages compared: none differs (")
    assert scenario == "  squares  6 of 6 items, 24 requests to the compared role"


def test_there_are_as_many_pairs_as_are_asked_for(folder: Path, tripos: Command) -> None:
    assert "s.tripos: 1 pair of worlds, 12 messages compared" in tripos("check", "s.tripos", "--worlds", "1").out
    assert tripos("check", "s.tripos", "--worlds", "0").code == 2
    assert "worlds" not in tripos("check", "s.tripos").out


def test_a_difference_is_an_error_with_the_two_messages(leaking: Path, tripos: Command) -> None:
    done = tripos("check", "s.tripos", "--worlds")
    assert done.code == 1
    assert "error[R0501]: the prompt of `candidate` in `reply` of `squares` depends on the\n" in done.err
    assert "--> s.tripos:6:7" in done.err
    assert ": 1 depends on a secret (" in done.out
    [was] = [line for line in done.err.splitlines() if "note: - " in line]
    [is_] = [line for line in done.err.splitlines() if "note: + " in line]
    assert was != is_
    assert "surely." in was
    assert max(map(len, done.err.splitlines())) <= 80


ALL = SPEC.replace("over item", "over item as q").replace("item.answer)", "q.answer)")
FILED = (
    ALL.replace('"items.jsonl"', '"q.{group}.jsonl"')
    .replace("text secret", "text, group text secret")
    .replace("{{ item.question }}", "{{ q.question }} First: {{ first(item).question }}")
)
OWN = ALL.replace("{{ item.question }}", "{{ q.question }} {{ bullets(reveal(item.answer, rows: 6)) }}")


@pytest.mark.parametrize(
    ("spec", "told"),
    [(FILED, "depends on how `group` puts rows into files"), (OWN, "depends on which row has which `answer`")],
)
def test_an_order_that_tells_a_secret_is_told_as_such(leaking: Path, tripos: Command, spec: str, told: str) -> None:
    files = {"items.jsonl": ROWS, "q.even.jsonl": ROWS[::2], "q.odd.jsonl": ROWS[1::2]}
    written(leaking, spec, files)
    done = tripos("check", "s.tripos", "--worlds")
    assert done.code == 1
    assert told in " ".join(done.err.split())
    assert "sorted(…)" in done.err


def test_a_difference_is_one_of_the_mistakes_in_json(leaking: Path, tripos: Command) -> None:
    done = tripos("check", "s.tripos", "--worlds", "--format", "json")
    assert done.code == 1
    [found] = json.loads(done.out)
    assert (found["code"], found["severity"]) == ("R0501", "error")
    assert found["labels"][0]["start"] == {"line": 6, "column": 7}


@pytest.mark.parametrize("format_", ["sarif", "github"])
def test_a_difference_is_one_of_the_mistakes_in_every_format(leaking: Path, tripos: Command, format_: str) -> None:
    assert "R0501" in tripos("check", "s.tripos", "--worlds", "--format", format_).out


def test_a_spec_that_does_not_compile_is_not_tried(folder: Path, tripos: Command) -> None:
    (folder / "s.tripos").write_text(SPEC.replace("item.question", "item.quesiton"), "utf-8")
    done = tripos("check", "s.tripos", "--worlds")
    assert done.code == 2
    assert "worlds" not in done.out


def test_what_the_compiler_refuses_for_a_secret_is_tried_all_the_same(folder: Path, tripos: Command) -> None:
    (folder / "s.tripos").write_text(LEAKING, "utf-8")
    done = tripos("check", "s.tripos", "--worlds")
    assert done.code == 2
    assert {"error[E0501]", "error[R0501]"} <= {word.rstrip(":") for word in done.err.split()}
    assert ": 1 depends on a secret (" in done.out


def test_a_refused_spec_whose_messages_do_not_differ_is_said_to_be_one(folder: Path, tripos: Command) -> None:
    told = SPEC.replace("over item", "over item where words(item.answer) == 4")
    held = told.replace('prompt "{{ item.question }}"', 'prompt "{{ item.question }}" when words(item.answer) == 4')
    (folder / "s.tripos").write_text(held, "utf-8")
    done = tripos("check", "s.tripos", "--worlds")
    assert done.code == 2
    assert "error[E0501]" in done.err
    assert "none differs" in done.out
