"""What every test shares: small specs on disk, and the command line in this process."""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tripos.command.main import run_command

# The same examples in every run: whoever changes nothing sees nothing fail.
settings.register_profile("fixed", derandomize=True, deadline=None)  # how fast a machine is proves nothing
settings.load_profile("fixed")

SHARED_DATA = Path(__file__).parent.parent.parent / "shared" / "data"

QUIZ = """\
benchmark quiz "1.0.0" {
  languages en
}
role candidate compared
role judge panel
dataset item from "items.jsonl" {
  question  text
  answer    text secret
}
dimension quality "Quality" {
  metric CLEAR "Clarity" {
    scale 1..10
    asks "Is the reply clear?"
  }
  metric RIGHT "Correctness" {
    scale 1..10
    asks "Is the reply right?"
  }
}
scorer rubric(task: text, response: text) by judge {
  prompt "{{ metrics }} Task: {{ task }} Reply: {{ response }}"
  gives allocated metrics
}
allocate rubric {
  |       | CLEAR | RIGHT |
  | sums  |   x   |   x   |
  | words |   x   |   .   |
}
scenario sums "Sums" {
  over item
  ask reply by candidate {
    prompt "{{ item.question }}"
  }
  score long = words(reply.text) > 3
  score rubric(task: item.question, response: reply.text)
}
scenario words "Words" {
  over item where length(item.question) > 4
  ask reply by candidate {
    prompt "Say it in words: {{ item.question }}"
    returns { said text, sure bool }
  }
  score sure = reply.sure
  score rubric(task: item.question, response: reply.said)
}
measure by_metric = mean(rubric) by metric
measure length = mean(long)
"""

ITEMS = [
    {"question": "1+1", "answer": "2"},
    {"question": "12 + 30", "answer": "42"},
    {"question": "half of 9", "answer": "4.5"},
]


@dataclass
class Outcome:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The output as JSON."""
        return json.loads(self.out)


Command = Callable[..., Outcome]


@pytest.fixture
def quiz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small benchmark, which is also the working directory."""
    (tmp_path / "quiz.tripos").write_text(QUIZ, "utf-8")
    (tmp_path / "items.jsonl").write_text("\n".join(json.dumps(item) for item in ITEMS), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def tripos(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command of the `tripos` script in this process."""

    def run(*arguments: str) -> Outcome:
        capsys.readouterr()
        gc.freeze()  # a run collects what was made before its first call: in this process, that is pytest and all tests
        try:
            code = run_command(arguments)
        finally:
            gc.unfreeze()
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return run


@pytest.fixture(scope="module", autouse=True)
def _let_go() -> Iterator[None]:
    """Collects what a module of tests left behind: with files and sockets in it, a process soon has too many open."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def _left(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], tuple[Path, Outcome]]:
    return {}


@pytest.fixture
def once(
    tripos: Command, tmp_path_factory: pytest.TempPathFactory, _left: dict[tuple[str, ...], tuple[Path, Outcome]]
) -> Command:
    """Runs a command in this folder, or copies here what it left in one of the same files earlier in this session.

    For what a test begins with. A command that is itself what is tested is run by `tripos`.
    """

    def run(*arguments: str) -> Outcome:
        here = Path.cwd()
        found = (*arguments, *(f"{path.name}: {path.read_text('utf-8')}" for path in sorted(here.glob("*.*"))))
        if found not in _left:
            outcome = tripos(*arguments)
            left = tmp_path_factory.mktemp("left")
            shutil.copytree(here, left, dirs_exist_ok=True)
            _left[found] = left, outcome
        left, outcome = _left[found]
        shutil.copytree(left, here, dirs_exist_ok=True)
        return outcome

    return run
