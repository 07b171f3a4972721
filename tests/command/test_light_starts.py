"""Imports of commands: a library is loaded by the command that uses it, and by no other."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WATCHED = (
    *("aiohttp", "duckdb", "http.client", "importlib.metadata", "litellm", "numpy", "numpy.ma", "obstore"),
    *("openpyxl", "pandas", "pyarrow", "pyarrow.compute", "scipy"),
)
SPEC = """\
benchmark light "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text }
scenario echo {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score said = words(reply.text) > 0
}
measure share = mean(said)
"""


def imported(folder: Path, *command: str) -> set[str]:
    """Return which of the watched libraries a command imports, which must succeed."""
    code = (
        "import sys; from tripos.cli.main import main\ntry:\n  main()\n"
        f"finally:\n  print('IMPORTED', *({set(WATCHED)!r} & set(sys.modules)), file=sys.stderr)"
    )
    path = os.pathsep.join(str(ROOT / leg) for leg in (".", "compiler", "runtime", "warehouse"))
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split("IMPORTED")[1].split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("light")
    (made / "light.tripos").write_text(SPEC, "utf-8")
    (made / "items.jsonl").write_text('{"question": "Why?"}\n{"question": "How?"}\n{"question": "Who?"}', "utf-8")
    return made


def test_a_check_imports_no_library_of_runs_or_stores(folder: Path) -> None:
    assert imported(folder, "check", "light.tripos") == set()


def test_a_run_and_its_report_import_no_library_that_they_do_not_use(folder: Path) -> None:
    run = imported(folder, "run", "light.tripos", "--model", "mock/careful", "--store", "kept")
    assert {"pyarrow"} <= run
    assert not run & {
        "duckdb",
        "http.client",
        "importlib.metadata",
        "litellm",
        "openpyxl",
        "pandas",
        "pyarrow.compute",
        "scipy",
    }
    assert not imported(folder, "report", "--store", "kept") & {"aiohttp", "litellm", "openpyxl", "pandas", "scipy"}


LARGE = """\
import sys
from tripos.cli.main import run_command
from tripos_warehouse.views import connect, derived
connect.LARGE_BYTES = connect.MANY_BYTES = derived.LEAST_BYTES = 0
assert "duckdb" not in sys.modules
assert run_command(sys.argv[1:]) == 0
"""


@pytest.mark.parametrize("command", ["leaderboard", "store check"])
def test_a_command_that_reads_a_store_asks_the_engine_where_nothing_else_made_relations(
    folder: Path, command: str
) -> None:
    """In a process of its own, over a store that counts as large: what it keeps of parts is made anew."""
    store = folder / "large"
    if not store.exists():
        imported(folder, "run", "light.tripos", "--model", "mock/careful", "--store", str(store))
    shutil.rmtree(store / "cache", ignore_errors=True)
    path = os.pathsep.join(str(ROOT / leg) for leg in (".", "compiler", "runtime", "warehouse"))
    words = [sys.executable, "-c", LARGE, *shlex.split(command), "--store", str(store)]
    environ = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if command == "leaderboard":
        assert list((store / "cache" / "sums").iterdir())


def test_tables_become_frames_of_pandas_all_the_same() -> None:
    code = (
        "import tripos_warehouse.store, pyarrow as pa; from tripos_warehouse.store.schemas import TABLES;"
        " pa.array([1]); import sys; assert 'pandas' not in sys.modules;"
        " frame = pa.table({'a': [1, 2]}).to_pandas(); assert frame.a.sum() == 3;"
        " assert pa.Table.from_pandas(frame).num_rows == 2 and pa.array(frame.a).to_pylist() == [1, 2]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_what_is_to_happen_at_the_end_of_a_command_happens(folder: Path) -> None:
    """Python is not taken apart at the end, but threads are waited for, and what was registered is called."""
    code = (
        "import atexit, sys, threading, time, tripos.cli.main as cli\n"
        "def late():\n  time.sleep(0.1)\n  print('late')\n"
        "def run(arguments):\n  atexit.register(print, 'last')\n  threading.Thread(target=late).start()\n  return 7\n"
        "class Whole:\n  def __del__(self):\n    print('taken apart')\n"
        "kept = Whole()\ncli.run_command = run\ncli.main()"
    )
    path = os.pathsep.join(str(ROOT / leg) for leg in (".", "compiler", "runtime", "warehouse"))
    environ = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environ)
    assert (done.returncode, done.stdout.split("\n"), done.stderr) == (7, ["late", "last", ""], "")
