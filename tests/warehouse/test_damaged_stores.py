"""Stores with damaged files: every verb ends with an answer or a code, and what is left out is said."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import tripos
from tests.conftest import ITEMS, QUIZ
from tests.lengths import ALL, sized, spread
from tests.warehouse.keeping import PRINTS, die, score, unit
from tests.warehouse.rewriting import journal_line, take_as_written, write_commit
from tripos.cli.main import run_command
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.store.digests import SEAL, sealed
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store

Build = Callable[..., dict[str, list[dict[str, Any]]]]

FIGURE = "select count(*), avg(value) from scores"
READING = (
    ["list"],
    ["report"],
    ["report", "--json"],
    ["leaderboard"],
    ["compare", "r1", "r2"],
    ["show", "r1"],
    ["why", "0" * 32],
    ["export", "scores", "-o", "{aside}/scores.csv"],
    ["sql", "select scenario, count(*), avg(value) from edubench.scores group by all"],
    ["sql", "--run", "r1", "from edubench.items"],
)
UPKEEP = (["store", "check"], ["store", "compact"], ["store", "gc", "--grace", "0s"], ["doctor"])
KINDS: tuple[Any, ...] = (None, True, -1, 2**70, 1.5, "", "x\0y", "2026-01-01T00:00:00", [], [None], {}, {"a": [{}]})


@dataclass
class Said:
    code: int
    out: str
    err: str


def say(*words: str) -> Said:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_command(list(words))
    said = Said(code, out.getvalue(), err.getvalue())
    assert code != 70 and "internal error" not in said.err and "Traceback" not in said.err, (words, said)
    return said


def every_verb(root: Path, aside: Path, some: slice = slice(None)) -> None:
    for words in (*READING, *UPKEEP)[some]:
        say(*(word.format(aside=aside) for word in words), "--store", str(root))


def ask(root: Path, query: str) -> Said:
    """Return the rows of an answer as JSON, and what else was said."""
    path = root.parent / "answer.json"
    path.unlink(missing_ok=True)
    said = say("sql", query, "-o", str(path), "--store", str(root))
    said.out = path.read_text() if path.exists() else ""
    return said


def figure(root: Path) -> Said:
    return ask(root, FIGURE)


@pytest.fixture
def template(tmp_path: Path, run_rows: Build) -> Path:
    """A store with two runs, one of them compacted, the views of an opening, and what a process left behind."""
    store = Store.open(tmp_path / "template", create=True)
    store.append(run_rows("r1"), "first")
    store.append(run_rows("r2", minutes=9, value=lambda model, item: 7.0 - model), "second")
    tripos.open(store.root).close()
    ledger = open_ledger(store, PRINTS)
    ledger.keep(unit(1))
    ledger.keep(unit(2))
    die(ledger)
    return store.root


@pytest.fixture
def copied(template: Path) -> Callable[[], contextlib.AbstractContextManager[Path]]:
    @contextlib.contextmanager
    def copy() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(shutil.copytree(template, Path(folder) / "results"))

    return copy


def chosen(data: st.DataObject) -> slice:
    """Return every verb, or some of them where there is little time."""
    return slice(None) if ALL else slice(data.draw(st.integers(0, 3)), None, 4)


def kind(value: Any) -> type:
    return float if type(value) is int else type(value)


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return every place in a JSON value."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(spot for key, each in below for spot in spots(each, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    value[path[0]] = put(value[path[0]], path[1:], new)
    return value


def nullable(path: tuple[Any, ...]) -> bool:
    """Return true if the place is one of a column that may be empty: `rows, table, row, column` of a journal line."""
    if len(path) == 4 and path[1] in TABLES and path[3] in TABLES[path[1]].schema.names:
        return bool(TABLES[path[1]].schema.field(path[3]).nullable)
    return len(path) > 4  # what a map holds


@given(data=st.data())
@settings(max_examples=sized(4, 400), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_value_of_another_kind_in_any_file_is_told(copied: Any, data: st.DataObject) -> None:
    with copied() as root:
        whole = figure(root)
    with copied() as root:
        files = ["commits/first.json", "commits/second.json", "cache/views.json", "tripos-store.json", "journal"]
        name = data.draw(st.sampled_from(files))
        path = next((root / "journal").glob("*.jsonl")) if name == "journal" else root / name
        lines = path.read_bytes().splitlines() if name == "journal" else [path.read_bytes()]
        place = data.draw(st.integers(0, len(lines) - 1))
        body = orjson.loads(lines[place])
        spot = data.draw(st.sampled_from(spots(body)))
        was = body
        for key in spot:
            was = was[key]
        others = [each for each in KINDS if kind(each) is not kind(was) and not (each is None and nullable(spot))]
        body = put(body, spot, data.draw(st.sampled_from(others)))
        lines[place] = json.dumps(body).encode()
        if isinstance(body, dict) and "rows" in body and spot[:1] == ("rows",):
            lines[place] = journal_line(json.dumps(body["rows"]).encode())
        elif isinstance(body, dict) and name.startswith("commits/") and spot != (SEAL,):
            lines[place] = sealed({field: value for field, value in body.items() if field != SEAL})
        path.write_bytes(b"\n".join(lines) + b"\n")
        shown = figure(root)
        assert shown.out == whole.out or shown.err, shown
        every_verb(root, root.parent, chosen(data))


@given(data=st.data())
@settings(max_examples=sized(1, 300), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_bytes_that_changed_in_any_file_are_told(copied: Any, data: st.DataObject) -> None:
    with copied() as root:
        path = data.draw(
            st.sampled_from(sorted(path for path in root.rglob("*") if path.is_file() and path.stat().st_size > 2))
        )
        path.chmod(0o644)
        content = bytearray(path.read_bytes())
        at = data.draw(st.integers(0, len(content) - 1))
        match data.draw(st.sampled_from(["cut", "garble", "insert", "nest"])):
            case "cut":
                del content[at:]
            case "garble":
                content[at : at + 40] = b"\xff\0" * 20
            case "insert":
                content[at:at] = data.draw(st.binary(min_size=1, max_size=9))
            case _:
                content[:] = b"[" * 200_000
        path.write_bytes(bytes(content))
        every_verb(root, root.parent, chosen(data))


@pytest.mark.parametrize(
    "line",
    spread(
        [
            b'{"scores":[null]}',
            b'{"scores":null}',
            b"null",
            b'{"samples":[{"sample_id":1}]}',
            orjson.dumps({"scores": [score(7, created_at="2026-01-01T00:00:00")]}),
            orjson.dumps({"scores": [score(7, judged_by=["a", None])]}),
            orjson.dumps({"scores": [score(7, given="{no json")]}),
            orjson.dumps({"scores": [score(7, round=2**63)]}),
            orjson.dumps({"scores": [score(7, created_at="0001-01-01T00:00:00+23:59")]}),
            orjson.dumps({"no_table": [{}]}),
        ],
        4,
    ),
)
@pytest.mark.parametrize("seal", [True, False])
def test_one_bad_row_of_a_journal_is_set_aside_and_the_rest_is_there(template: Path, line: bytes, seal: bool) -> None:
    line = journal_line(line) if seal else line
    [path] = (template / "journal").glob("*.jsonl")
    path.write_bytes(path.read_bytes() + line + b"\n")
    shown = ask(template, "select count(*) as n from scores")
    assert shown.code == 0 and "error[S0404]: 1 line of kept rows" in shown.err
    assert json.loads(shown.out)[0]["n"] == 16 + 2
    [aside] = (template / "journal" / "rejected").glob("*.jsonl")
    assert aside.read_bytes() == line + b"\n"


def test_an_answer_without_rows_that_were_committed_is_no_success(template: Path) -> None:
    for words in (["report", "--store", str(template)], ["list", "--store", str(template)]):
        assert say(*words).code == 0
    assert ask(template, "select count(*) as n from scores").code == 0
    for path in (template / "parts" / "scores").glob("*.parquet"):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.chmod(0o644)
        path.write_bytes(content)
    for words in (["report", "--store", str(template)], ["list", "--store", str(template)]):
        shown = say(*words)
        assert shown.code == 1 and "error[S0103]" in shown.err, shown.err
    shown = ask(template, "select count(*) as n from scores")
    assert shown.code == 1 and "error[S0103]" in shown.err, shown.err


@pytest.mark.parametrize("header", [b'{"format":7}', b"[]", b"x"])
def test_a_journal_whose_first_line_is_damaged_is_committed(template: Path, header: bytes) -> None:
    [path] = (template / "journal").glob("*.jsonl")
    path.write_bytes(b"\n".join([header, *path.read_bytes().split(b"\n")[1:]]))
    shown = ask(template, "select count(*) as n from scores")
    assert shown.code == 0 and "error[S0404]: 1 line of kept rows" in shown.err
    assert json.loads(shown.out)[0]["n"] == 16 + 2
    assert say("store", "check", "--store", str(template)).code == 1


@pytest.mark.parametrize(
    "header",
    [b'{"format":"tripos.journal/1","versions":{}}', b'{"format":"tripos.journal/2","versions":{"scores":"5"}}'],
)
def test_a_journal_of_another_tripos_is_left_and_told(template: Path, header: bytes) -> None:
    [path] = (template / "journal").glob("*.jsonl")
    path.write_bytes(b"\n".join([header, *path.read_bytes().split(b"\n")[1:]]))
    shown = say("list", "--store", str(template))
    assert shown.code == 0 and "error[S0404]: the journal segment" in shown.err and path.exists()


@pytest.mark.parametrize(
    "change",
    spread([{"bytes": None}, {"bytes": "9"}, {"version": "5"}, {"rows": True}, {"table": 1}, {"path": None}], 2),
)
def test_a_damaged_commit_is_left_out_and_told_and_who_writes_stops(template: Path, change: dict[str, Any]) -> None:
    path = template / "commits" / "second.json"
    body = json.loads(path.read_text())
    body["parts"][0] |= change
    write_commit(path, body)
    shown = say("list", "--json", "--store", str(template))
    assert shown.code == 1 and "error[S0402]" in shown.err and "what it held is left out" in shown.err
    assert [run["run_id"] for run in json.loads(shown.out)] == ["r1"]
    for verb in (["store", "gc"], ["store", "compact"]):
        said = say(*verb, "--store", str(template))
        assert said.code == 2 and "error[S0402]" in said.err
    assert say("store", "check", "--store", str(template)).code == 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with tripos.open(template) as results:
            assert [listed.run.run_id for listed in results.runs()] == ["r1"]
    assert any("S0402" in str(each.message) for each in caught)


def rewrite(root: Path, table: str, column: str, values: Callable[[list[Any]], list[Any]]) -> None:
    """A part of the second run as somebody else may have written it, listed as whole by its commit."""
    path = root / "commits" / "second.json"
    body = json.loads(path.read_text())
    [part] = [part for part in body["parts"] if part["table"] == table]
    content = pq.read_table(root / part["path"])
    place = content.schema.names.index(column)
    new = values(content[column].to_pylist())
    content = content.set_column(place, pa.field(column, pa.array(new).type), pa.array(new))
    (root / part["path"]).unlink()
    pq.write_table(content, root / part["path"])
    take_as_written(root)


@pytest.mark.parametrize(
    ("table", "column", "values"),
    spread(
        [
            ("runs", "roles", lambda old: ["{no json"] * len(old)),
            ("runs", "roles", lambda old: ['{"candidate": 7}'] * len(old)),
            ("runs", "options", lambda old: ['{"only": {"a": 7}}'] * len(old)),
            ("runs", "run_id", lambda old: [1] * len(old)),
            ("runs", "run_id", lambda old: [None] * len(old)),
            ("items", "fields", lambda old: ["{"] * len(old)),
            ("scores", "value", lambda old: ["seven"] * len(old)),
            ("samples", "messages", lambda old: ['{"a":1}'] * len(old)),
            ("run_items", "item_id", lambda old: [[1]] * len(old)),
        ],
        3,
    ),
)
def test_rows_of_another_shape_are_left_out_by_those_who_need_them(
    template: Path, tmp_path: Path, table: str, column: str, values: Callable[[list[Any]], list[Any]]
) -> None:
    rewrite(template, table, column, values)
    every_verb(template, tmp_path, slice(None) if ALL else slice(1, None, 5))
    checked = say("store", "check", "--store", str(template))
    assert checked.code == 1 and "error[S0401]" in checked.err


def test_a_plan_that_cannot_be_read_hides_one_benchmark_and_no_other(template: Path, run_rows: Build) -> None:
    store = Store.open(template, create=False)
    rows = run_rows("other", minutes=20)
    for table in ("runs", "items", "samples", "judgements", "scores"):
        rows[table] = [{**row, "benchmark": "strange"} for row in rows[table]]
    rows["runs"][0]["plan"] = "{}"
    store.append(rows)
    shown = ask(template, "select count(*) as n from edubench.scores")
    assert shown.code == 0 and "error[S0104]: the plan of run `other`" in shown.err
    assert json.loads(shown.out)[0]["n"] > 0


@pytest.mark.parametrize(("table", "column", "value"), [("runs", "roles", "7"), ("items", "fields", "x")])
def test_verbs_that_write_name_the_damaged_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, column: str, value: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("quiz.tripos").write_text(QUIZ, "utf-8")
    Path("items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in ITEMS), "utf-8")
    models = ("--model", "mock/careful", "--role", "judge=mock/careful:a")
    assert say("run", "quiz.tripos", *models, "--store", "results").code == 0
    for path in Path("results/commits").glob("*.json"):
        body = json.loads(path.read_text())
        for part in body["parts"]:
            if part["table"] == table:
                file = Path("results") / part["path"]
                content = pq.read_table(file)
                place = content.schema.names.index(column)
                new = content.set_column(place, pa.field(column, pa.string()), pa.array([value] * len(content)))
                file.unlink()
                pq.write_table(new, file)
    take_as_written(Path("results"))
    said = say("annotate", "--role", "judge", "--name", "anna", "-o", "anna.xlsx", "--store", "results")
    assert said.code == 2 and "error[S0103]" in said.err
