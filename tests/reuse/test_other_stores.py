"""Replies of another store: a run asks what neither store has, keeps what it took over, and never writes there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.lengths import sized
from tests.reuse.counting import Bench, Ran, difference, results
from tests.reuse.edits import EDITS
from tests.reuse.quiz import MODELS, ROLES, files
from tests.reuse.test_reuse import plain, ran
from tests.warehouse.rewriting import take_as_written

NAMES = tuple(EDITS)
SAMPLED = NAMES[:: sized(39, 3)]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A store in which the benchmark was run once."""
    return ran(tmp_path_factory.mktemp("other") / "class", files())[0]


def beside(first: Bench, folder: Path, spec: dict[str, str] | None = None) -> Bench:
    """Return a folder with an empty store that reuses the first one."""
    folder.mkdir()
    bench = Bench(folder, MODELS, ROLES, past=first.past.copy(), others=(first.store,))
    bench.write(files() if spec is None else spec)
    return bench


def contents(store: Path) -> dict[str, tuple[bytes, int]]:
    """Return what is in a folder, with the times of the files."""
    files = (path for path in store.rglob("*") if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def check_exact(done: Ran) -> None:
    """Hold the forecast to what was asked and what was taken over."""
    assert done.foreseen.certain <= done.asked <= done.foreseen.certain + done.foreseen.perhaps
    if not done.foreseen.perhaps:
        assert done.foreseen.reused == done.reused
        assert done.foreseen.reuse == done.taken


def test_a_run_beside_a_store_that_has_everything_asks_nothing_and_writes_nothing_there(
    first: Bench, tmp_path: Path
) -> None:
    before = contents(first.store)
    bench = beside(first, tmp_path / "mine")
    done = bench.run()
    check_exact(done)
    assert (done.sent.total(), done.asked, done.damages) == (0, 0, [])
    assert done.taken.calls.total() == done.reused
    assert results(bench) == results(first)
    assert contents(first.store) == before
    again = bench.run()
    assert (again.sent.total(), again.taken.calls.total()) == (0, 0), "what was taken over is in the run's own store"
    alone = Bench(bench.folder, MODELS, ROLES, past=bench.past)
    assert alone.run().sent.total() == 0


@pytest.mark.parametrize("name", SAMPLED)
def test_after_an_edit_what_neither_store_has_is_asked_and_nothing_else(
    first: Bench, name: str, tmp_path: Path
) -> None:
    changed = EDITS[name](files())
    bench = beside(first, tmp_path / "mine", changed)
    done = bench.run()
    fresh, wanted = ran(tmp_path / "fresh", changed)
    assert difference(first.past, done, wanted) == (0, 0)
    check_exact(done)
    there = results(bench)
    for key, row in results(fresh).items():
        assert plain(there[key]) == plain(row), key


def test_a_store_is_passed_over_where_it_is_the_runs_own(first: Bench, tmp_path: Path) -> None:
    bench = first.copy(tmp_path / "same")
    bench.others = (bench.store,)
    done = bench.run()
    assert (done.sent.total(), done.taken.calls.total()) == (0, 0)


SMALL = {
    "q.tripos": """\
benchmark q "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score said = words(reply.text) > 0
}
measure m = mean(said)
""",
    "items.jsonl": '{"question": "one?"}\n{"question": "two?"}\n{"question": "three?"}\n',
}


def small(folder: Path, others: tuple[Path, ...] = (), items: slice = slice(None)) -> Bench:
    folder.mkdir()
    bench = Bench(folder, ("m",), {}, others=others)
    lines = SMALL["items.jsonl"].splitlines(keepends=True)
    bench.write({**SMALL, "items.jsonl": "".join(lines[items])})
    return bench


@pytest.mark.parametrize("damage", ["gone", "cut", "overwritten", "foreign"])
def test_a_damaged_part_of_another_store_is_told_and_its_calls_are_made(damage: str, tmp_path: Path) -> None:
    lab = small(tmp_path / "lab", items=slice(1))
    lab.run()
    lab.write(SMALL)
    lab.run()
    paths = sorted((lab.store / "parts" / "samples").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    path = paths[0]
    path.chmod(0o644)
    match damage:
        case "gone":
            path.unlink()
        case "cut":
            path.write_bytes(path.read_bytes()[:-20])
        case "overwritten":
            content = path.read_bytes()
            path.write_bytes(content[:4] + b"\xff" * (len(content) // 2) + content[4 + len(content) // 2 :])
        case "foreign":
            rewrite(path, reply=lambda texts: [b"\x00"] * len(texts))
    done = small(tmp_path / "mine", (lab.store,)).run()
    check_exact(done)
    assert (done.asked, done.taken.calls.total()) == (1, 2)
    assert {error.code for error in done.damages} == {"S0103"}


def rewrite(path: Path, **columns: Callable[[list[Any]], list[Any]]) -> None:
    """Write columns of a part anew, and correct what the commit that lists it says of it."""
    content = pq.read_table(path)
    for name, change in columns.items():
        place = content.schema.get_field_index(name)
        content = content.set_column(place, name, pa.array(change(content[name].to_pylist())))
    pq.write_table(content, path)
    take_as_written(path.parents[2])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("sample_id", "../../x"),
        ("messages", "no json"),
        ("messages", '{"role": 1}'),
        ("messages", "[1]"),
        ("messages", '[{"role": "user", "content": 1}]'),
        ("adopted_from", "zz"),
        ("status", "splendid"),
        ("reply", None),
    ],
)
def test_a_row_of_a_stranger_that_is_not_sound_is_told_and_left_out(
    column: str, value: str | None, tmp_path: Path
) -> None:
    lab = small(tmp_path / "lab")
    lab.run()
    (path,) = (lab.store / "parts" / "samples").iterdir()
    path.chmod(0o644)
    rewrite(path, **{column: lambda texts: [value, *texts[1:]] if column != "adopted_from" else [value, None, None]})
    done = small(tmp_path / "mine", (lab.store,)).run()
    check_exact(done)
    assert (done.asked, done.taken.calls.total()) == (1, 2)
    assert {error.code for error in done.damages} == {"S0103"}


def test_two_stores_with_replies_to_the_same_give_one_each(tmp_path: Path) -> None:
    one, two = small(tmp_path / "one", items=slice(2)), small(tmp_path / "two")
    two.past["anything"] = 1
    one.run()
    two.run()
    done = small(tmp_path / "mine", (one.store, two.store)).run()
    check_exact(done)
    assert done.asked == 0
    assert sorted(done.taken.calls.values()) == [1, 2]
    assert done.taken.cost_usd.keys() == done.taken.calls.keys()
