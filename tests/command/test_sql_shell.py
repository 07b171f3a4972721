"""The shell of `tripos sql`: several lines, commands with a dot, completion; and the snippet."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.conftest import Command
from tests.each import each
from tests.lengths import spread
from tripos.cli.context import Context
from tripos.cli.parser import build_parser
from tripos.cli.sql import Completer, quick_answer

MODELS = ("--model", "mock/careful", "--role", "judge=mock/careful:a,mock/careless:b")
NAMES = {
    "quiz.scores": ["scenario", "model", "metric", "value"],
    "quiz.samples": ["scenario", "model", "reply"],
    "quiz.means()": ["per", "metric"],
    "runs": ["run_id", "status"],
}


@pytest.fixture
def ran(quiz: Path, tripos: Command, once: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line in a folder with the results of a quiz, on a terminal of 80 columns."""
    monkeypatch.chdir(quiz if quiz.is_dir() else quiz.parent)
    monkeypatch.setenv("COLUMNS", "80")
    assert once("run", ".", *MODELS, "--json").code == 0
    return tripos


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_a_query_may_take_several_lines_and_commands_show_names(ran: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(
        monkeypatch,
        "select\n  count(*) as n\nfrom runs;\nselect 7 as m;\n.tables\n.schema runs\n.schema quiz.means()\n",
    )
    done = ran("sql")
    assert done.code == 0
    lines = [line.strip() for line in done.out.splitlines()]
    assert [line for line in lines if line in ("n", "1", "m", "7")] == ["n", "1", "m", "7"]
    assert {"runs", "quiz.scores", "quiz.means()", "spending()"} <= set(lines)
    assert "started_at" in done.out
    assert "quiz.means(per, metric, scenario, evaluator)" in done.out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (".foo", "error[S0207]: no command `.foo`"),
        (".schema", "error[S0207]: `.schema` needs a name"),
        (".schema nothing", "error[S0204]"),
        ("select valu from quiz.scores;", "did you mean `value`?"),
    ],
)
def test_a_mistake_is_told_and_the_shell_goes_on(
    ran: Command, monkeypatch: pytest.MonkeyPatch, line: str, said: str
) -> None:
    typed(monkeypatch, f"{line}\nselect 'still' as here;\n")
    done = ran("sql")
    assert done.code == 2
    assert said in done.err
    assert "still" in done.out


@each(
    "line, words",
    [
        ("from q", ["quiz.means(", "quiz.samples", "quiz.scores"]),
        ("select avg(value) from runs join quiz.s", ["quiz.samples", "quiz.scores"]),
        ("select re", ["reply"]),
        ("select model from quiz.samples where re", ["reply"]),
        ("select s from runs where st", ["status"]),
        ("from quiz.means(pe", ["per := "]),
        ("select s.mo", ["s.model"]),
        ("select model, avg(value) from quiz.scores gr", ["group by all"]),
        (".s", [".schema"]),
        (".schema ru", ["runs"]),
        ("", []),
        ("select zzz", []),
    ],
)
def test_the_last_word_is_completed_by_what_may_stand_there(line: str, words: list[str]) -> None:
    assert [each for each in Completer(NAMES).complete(line) if each not in ("partition by",)] == words


def test_the_snippet_gives_a_bare_duckdb_the_same_answers(ran: Command) -> None:
    text = ran("sql", "--snippet").out
    database = duckdb.connect()
    database.execute(text)
    query = "select model, metric, value from quiz.scores order by all"
    ran("sql", query, "-o", "ours.csv")
    ours = duckdb.sql("from read_csv('ours.csv')").fetchall()
    assert ours
    assert [tuple(map(str, row)) for row in database.execute(query).fetchall()] == [
        tuple(map(str, row)) for row in ours
    ]


def test_a_database_file_has_the_views(ran: Command) -> None:
    assert ran("sql", "--duckdb", "results.duckdb").code == 0
    assert ran("sql", "--duckdb", "results.duckdb").code == 0  # again, after a run
    with duckdb.connect("results.duckdb", read_only=True) as database:
        assert database.execute("from quiz.means()").fetchall()


def test_a_file_of_somebody_elses_is_not_written_over(ran: Command) -> None:
    with duckdb.connect("mine.duckdb") as database:
        database.execute("create table t as select 1")
    Path("notes.txt").write_text("mine")
    for name in ("mine.duckdb", "notes.txt"):
        before = Path(name).read_bytes()
        done = ran("sql", "--duckdb", name)
        assert (done.code, done.err.splitlines()[0][:12]) == (2, "error[S0206]")
        assert Path(name).read_bytes() == before


@pytest.mark.parametrize(
    "query",
    spread(
        [
            "from quiz.means()",
            "select metric, model, value, created_at, low from quiz.scores order by all",
            "select sum(tokens_in) as sum, avg(latency_s) as mean, true as yes, null as nothing, 1.5 as decimal from samples",
            "select context, [1, 2] as list, {'a': 1} as struct, date '2026-03-01' as day from samples limit 3",
            "select 1 as one where false",
            "show all tables",
            "select t_quantile(0.975, 9) as t",
        ],
        4,
    ),
)
def test_the_quick_answer_is_the_same_as_the_other(ran: Command, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = ran("sql", query)
    assert quick_answer(Context(build_parser().parse_args(["sql", query]))) is not None
    monkeypatch.setattr("tripos.cli.sql.quick_answer", lambda context: None)
    assert (quick.code, quick.out) == (0, ran("sql", query).out)


EVERY_TYPE = """select 1::hugeint as huge, 1.5::decimal(9, 3) as decimal, 'x'::blob as blob, '101'::bit as bits,
  time '08:00:01' as time, interval 90 minute as span, uuid '00000000-0000-0000-0000-000000000001' as id,
  map {'a': [1, null]} as map, {'a': date '2026-03-01'} as struct, scenario, created_at, 'nan'::double as nan
from quiz.scores order by all limit 3"""


def test_a_quick_answer_needs_the_database_and_not_the_package_around_it(ran: Command) -> None:
    ran("sql", EVERY_TYPE)
    wanted = ran("sql", EVERY_TYPE).out  # quick as well, in a process that has the package
    code = f"""
import sys
from tripos.cli.main import run_command
assert run_command(["sql", {EVERY_TYPE!r}]) == 0
print(sorted(sys.modules.keys() & {{"duckdb", "pyarrow", "numpy", "pydantic"}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{wanted}[]\n"


def test_a_file_and_a_format_are_not_given_together(quiz: Path, tripos: Command) -> None:
    """The file was not written, and nothing said so."""
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/fair").code == 0
    for form in ("json", "csv", "md"):
        outcome = tripos("sql", "select 1 as a", "--format", form, "-o", "a.json")
        assert (outcome.code, "R0202" in outcome.err) == (2, True), form
    assert not Path("a.json").exists()
