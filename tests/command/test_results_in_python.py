"""`tripos.open`: the results of a store in Python."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tripos
from tests.conftest import Command

MODELS = ("--model", "mock/careful", "--role", "judge=mock/careful:a,mock/careless:b")


@pytest.fixture
def results(quiz: Path, once: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[tripos.Results]:
    monkeypatch.chdir(quiz if quiz.is_dir() else quiz.parent)
    assert once("run", ".", *MODELS, "--json").code == 0
    import tripos as package

    with package.open("results") as opened:
        yield opened


def test_a_query_gives_a_relation_that_can_be_asked_further(results: tripos.Results) -> None:
    relation = results.sql("select model, value from quiz.scores")
    assert relation.filter("value is not null").aggregate("count(*)").fetchall()[0][0] > 0
    assert relation.to_arrow_table().column_names == ["model", "value"]


def test_parameters_fill_a_query(results: tripos.Results) -> None:
    assert results.sql("select ? || 'x' as a", ["it's "]).fetchall() == [("it's x",)]
    assert results.sql("from quiz.means(metric := $m)", {"m": "CLEAR"}).fetchall()


def test_of_several_queries_the_last_is_the_answer(results: tripos.Results) -> None:
    assert results.sql("select 1; select 2").fetchall() == [(2,)]
    assert results.sql("-- nothing").fetchall() == []


def test_a_mistake_has_a_code_and_a_hint(results: tripos.Results) -> None:
    with pytest.raises(tripos.StoreError) as caught:
        results.sql("select valu from quiz.scores")
    assert (caught.value.code, caught.value.hint) == ("S0204", "did you mean `value`?")


def test_runs_and_reports_are_there(results: tripos.Results) -> None:
    (listed,) = results.runs()
    report = results.report()
    assert report.run.run_id == listed.run.run_id == results.report(listed.run.run_id[:6]).run.run_id
    assert results.plan().benchmark.name == "quiz"
    with pytest.raises(tripos.StoreError, match="S0301"):
        results.report("nothing")


def test_a_refresh_sees_what_was_committed_since(results: tripos.Results, once: Command, quiz: Path) -> None:
    assert once("run", ".", "--model", "mock/slow", *MODELS[2:], "--json").code == 0
    assert len(results.runs()) == 1
    results.refresh()
    assert len(results.runs()) == 2


def test_tables_names_views_and_macros(results: tripos.Results) -> None:
    assert "value" in results.tables()["quiz.scores"]
    assert results.tables()["spending()"] == ["benchmark"]


def test_no_store_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(tripos.StoreError, match="S0101"):
        tripos.open(tmp_path)


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, tripos; print([m for m in ('duckdb', 'pyarrow', 'numpy', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_quick_query_loads_neither_arrow_nor_numpy_nor_pydantic(results: tripos.Results) -> None:
    code = (
        "import sys; from tripos.cli.main import run_command; run_command(['sql', 'from quiz.means()']);"
        " print([m for m in ('pyarrow', 'numpy', 'pydantic', 'scipy', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "mock/careful" in done.stdout
