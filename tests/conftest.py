"""What every test shares: small specs on disk, and the command line in this process."""

from __future__ import annotations

import gc
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from tests.lengths import ALL, MARKED, MINUTES, sized
from tests.long_tests import ROOT, is_long
from tripos.cli.main import run_command
from tripos.runs import job
from tripos.settings import env_file
from tripos_runtime.models.catalog import set_file_variables
from tripos_warehouse.query.connection import SMALL

# The same examples in every run: whoever changes nothing sees nothing fail. How fast a machine is proves nothing.
settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=sized(30, 100))
settings.load_profile("fixed")
# Messages are compared in English, whatever language the system speaks.
os.environ["TRIPOS_LANG"] = "en"
NO_TIME = "no time is left for it"
# The first process says until when tests begin, and those that it starts inherit it.
UNTIL = float(os.environ.setdefault("TESTS_UNTIL", str(time.time() + 60 * MINUTES)))


def pytest_configure(config: pytest.Config) -> None:
    """Have Hypothesis read no constants out of our modules in the short form: it parses every module that is imported,
    in each process, and its examples would differ with what ran before."""
    if not ALL:
        patched = pytest.MonkeyPatch()
        patched.setattr(providers, "_get_local_constants", lambda: providers._local_constants, raising=False)
        config.add_cleanup(patched.undo)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out files and folders that are long as a whole, so that no process imports what they need."""
    return None if MARKED else is_long(_from_root(collection_path)) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests as `long` that stand in the table, and leave out all that are, but for `make test-all`."""
    for item in items:
        if is_long(_from_root(item.path) + item.nodeid[item.nodeid.find("::") :]):
            item.add_marker(pytest.mark.long)
    long = [] if MARKED else [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


def _from_root(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what tests let be executed in a folder of theirs."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Leave out what would begin too late."""
    if time.time() > UNTIL:
        pytest.skip(NO_TIME)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which tests did not run."""
    if not MARKED:
        terminalreporter.write_line("long tests are left out: `make test-all` runs them, and TESTS_LENGTH=long some")
    late = [each for each in terminalreporter.getreports("skipped") if NO_TIME in each.longreprtext]
    if late:
        files = sorted({each.nodeid.partition("::")[0] for each in late})
        terminalreporter.write_line(
            f"{len(late)} tests had no time within TESTS_MINUTES={MINUTES:g}. To run them:\n"
            f'make test-long TESTS="{" ".join(files)}"'
        )


def pytest_collection_finish() -> None:
    """Look for cycles rarely: what was imported and collected stays to the end. It takes a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def _heap_stays_frozen() -> Iterator[None]:
    """Keep runs from collecting and thawing the heap. Before its first call a run collects what its process has made,
    which here is pytest and all tests, and afterwards it undoes `pytest_collection_finish`."""

    def nothing(*_: object) -> None:
        pass

    unused = dict.fromkeys(("collect", "freeze", "unfreeze", "set_threshold"), nothing)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gc, "freeze", nothing)
        patched.setattr(gc, "unfreeze", nothing)
        patched.setattr(job, "gc", SimpleNamespace(get_threshold=gc.get_threshold, **unused))
        yield


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
    """The output of a command, and its exit code."""

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
    """Run a command of the `tripos` script in this process."""

    def run(*arguments: str) -> Outcome:
        capsys.readouterr()
        try:
            code = run_command(arguments)
        finally:
            set_file_variables(())  # in a process of its own it would go with it
            env_file._warned.clear()
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return run


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """Has nothing wait for the disk: no test of this process pulls the plug, and a run waits some thirty times."""

    def is_open(handle: int) -> None:
        os.fstat(handle)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", is_open)
        yield


@pytest.fixture(scope="session", autouse=True)
def _memory_stays_for_the_next_query() -> Iterator[None]:
    """Has a small store hand no memory back between queries: another test asks the next one, and it takes a tenth of
    the time of a report."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(SMALL, "allocator_bulk_deallocation_flush_threshold", "16MB")
        yield


@pytest.fixture(scope="module", autouse=True)
def _let_go() -> Iterator[None]:
    """Collect what modules of tests left behind, once files and sockets are in it: a process soon has too many open.
    It takes a quarter of a second."""
    yield
    if _open_files() > 100:
        gc.collect()


def _open_files() -> int:
    """Return how many files and sockets this process has open, where the system says so."""
    listed = Path("/dev/fd")
    return len(list(listed.iterdir())) if listed.is_dir() else 0


Left = dict[tuple[object, ...], tuple[Path, Any]]
Doing = Callable[[tuple[str, ...], Callable[[], Any]], Any]


@pytest.fixture(scope="session")
def _left() -> Left:
    return {}


def _state(folder: Path) -> frozenset[tuple[str, bytes]]:
    """Return every file of a folder and of those in it."""
    return frozenset(
        (path.relative_to(folder).as_posix(), path.read_bytes()) for path in folder.rglob("*") if path.is_file()
    )


@pytest.fixture
def done_once(tmp_path_factory: pytest.TempPathFactory, _left: Left) -> Doing:
    """Do something in this folder, or copy here what it left when an earlier test did it in a folder with the same
    files. `name` says what is done; it returns the same each time."""

    def do(name: tuple[str, ...], act: Callable[[], Any]) -> Any:
        here = Path.cwd()
        assert here.is_relative_to(tmp_path_factory.getbasetemp()), "it is no folder of a test"
        variables = frozenset((name, value) for name, value in os.environ.items() if not name.startswith("PYTEST"))
        found = (name, _state(here), variables)
        if found not in _left:
            returned = act()
            left = tmp_path_factory.mktemp("left")
            shutil.copytree(here, left, dirs_exist_ok=True)
            _left[found] = left, returned
            return returned
        left, returned = _left[found]
        for path in here.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(left, here, dirs_exist_ok=True)
        return returned

    return do


@pytest.fixture
def once(tripos: Command, done_once: Doing) -> Command:
    """Run a command in this folder, or copies here what it left when an earlier test ran it in a folder with the same
    files.

    For what a test begins with, a run after a run too. A command that is itself what is tested is run by `tripos`.
    """

    def run(*arguments: str) -> Outcome:
        given = tuple(argument.replace(str(Path.cwd()), ".") for argument in arguments)
        outcome: Outcome = done_once(given, lambda: tripos(*arguments))
        return outcome

    return run
