"""Files that a view keeps in a store are those of its state, and nobody else's."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.conftest import Command
from tripos.view import files as file_cache
from tripos.view.files import MOST_STATES, FileCache, ViewFiles
from tripos_warehouse.store.store import Store


@pytest.fixture
def lasting(ran: Path) -> Path:
    return ran / "results/cache/view"


@pytest.fixture
def another(ran: Path, tmp_path: Path, lasting: Path) -> Any:
    """Make views of the store, each as a process of its own has it."""
    made = iter(range(9))
    return lambda: ViewFiles(
        lambda: Store.open(ran / "results", create=False), tmp_path / f"made-{next(made)}", lasting=lasting
    )


def run_of(view: ViewFiles) -> str:
    found: str = json.loads(view.json("index.json") or b"")["runs"][0]["run_id"]
    return found


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a view makes anything."""

    def refuse(*_: object) -> None:
        raise AssertionError("it was made again")

    monkeypatch.setattr("tripos.view.files.connect_run", refuse)
    monkeypatch.setattr("tripos.view.files.connect", refuse)


def test_a_second_process_takes_what_the_first_made(another: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one = another()
    run = run_of(one)
    paths = [f"runs/{run}/{what}.json" for what in ("about", "first", "report", "tables")]
    made = {path: one.json(path) for path in paths}
    tables = {name: each["path"] for name, each in json.loads(made[paths[-1]] or b"")["tables"].items()}
    rows = {name: pq.read_table(one.table(path)).to_pylist() for name, path in tables.items()}
    forbid(monkeypatch)
    two = another()
    assert {path: two.json(path) for path in paths} == made
    assert {name: pq.read_table(two.table(path)).to_pylist() for name, path in tables.items()} == rows


def test_a_store_that_grew_is_read_anew_and_old_states_go(another: Any, lasting: Path, tripos: Command) -> None:
    for number in range(MOST_STATES + 2):
        view = another()
        assert len(json.loads(view.json("index.json") or b"")["runs"]) == number + 1
        assert tripos("run", "quiz.tripos", "--model", "mock/student", "--role", "judge=mock/fair").code == 0
    assert len(list(lasting.iterdir())) == MOST_STATES


def test_another_place_and_another_installation_take_nothing(
    another: Any, ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = another().state()
    shutil.copytree(ran / "results", tmp_path / "given")
    assert file_cache.state_of(Store.open(tmp_path / "given", create=False)) != mine
    monkeypatch.setattr(file_cache, "code_version", lambda *packages: "another")
    assert another().state() != mine


@pytest.mark.parametrize("what", ["file", "folder", "state"])
def test_a_link_in_a_store_leads_nowhere(tmp_path: Path, what: str) -> None:
    secret = tmp_path / "elsewhere/runs"
    secret.mkdir(parents=True)
    name = f"about.json.{hashlib.sha256(b'secret').hexdigest()}"
    (secret / name).write_text("secret")
    lasting = tmp_path / "results/cache/view"
    place = lasting / "abc/runs" / name
    link, target = {
        "file": (place, secret / name),
        "folder": (place.parent, secret),
        "state": (place.parent.parent, secret.parent),
    }[what]
    link.parent.mkdir(parents=True)
    link.symlink_to(target)
    files = FileCache(tmp_path / "made", lasting)
    assert files.find("abc", "runs/about.json") is None and files.read("abc", "runs/about.json") is None
    if what != "file":
        written = files.write("abc", "runs/about.json", lambda path: path.write_text("mine"))
        assert written.is_relative_to(tmp_path / "made") and files.read("abc", "runs/about.json") == b"mine"
    assert (secret / name).read_text() == "secret"


def test_a_store_that_takes_nothing_is_shown_all_the_same(another: Any, lasting: Path) -> None:
    lasting.parent.mkdir(exist_ok=True)
    lasting.write_text("no folder")
    view = another()
    assert view.json(f"runs/{run_of(view)}/about.json") is not None


def test_a_damaged_store_keeps_nothing(another: Any, lasting: Path, ran: Path, tmp_path: Path) -> None:
    part = max((ran / "results/parts/scores").glob("*.parquet"), key=lambda path: path.stat().st_size)
    part.write_bytes(b"PAR1 broken")
    view = ViewFiles(
        lambda: Store.open(ran / "results", create=False, tolerant=True), tmp_path / "made", lasting=lasting
    )
    assert view.json(f"runs/{run_of(view)}/about.json") is not None
    assert not list(lasting.glob("*/runs/*/about.json.*"))


def test_marks_are_the_means_of_scores_by_metric_and_evaluator(another: Any, tripos: Command) -> None:
    view = another()
    run = run_of(view)
    tables = view.tables(run)["tables"]
    path = view.table(tables["marks"]["path"])
    assert path is not None
    rows = pq.read_table(path).to_pylist()
    pairs = json.loads(pq.read_metadata(path).metadata[b"pairs"])
    starts = [place for place, row in enumerate(rows) if place == 0 or pair_of(row) != pair_of(rows[place - 1])]
    assert pairs == [[*pair_of(rows[place]), place] for place in starts] and len(pairs) == len({*map(pair_of, rows)})
    found = {(*pair_of(row), row["n"]): row["score"] for row in rows}
    assert len(found) == len(rows)
    wanted: dict[tuple[Any, ...], list[float]] = {}
    for score in pq.read_table(view.table(tables["scores"]["path"])).to_pylist():
        metric, evaluator = score["metric"], score["evaluator"]
        for pair in {(metric, None), (metric, evaluator)}:
            place = (
                (score["value"] - score["low"]) / (score["high"] - score["low"]) if score["high"] else score["value"]
            )
            wanted.setdefault((*pair, score["n"]), []).append(place)
    assert found == pytest.approx({key: sum(each) / len(each) for key, each in wanted.items()})


def pair_of(row: dict[str, Any]) -> tuple[str | None, str | None]:
    return row["metric"], row["evaluator"]


def test_the_first_replies_are_those_of_the_table(another: Any) -> None:
    view = another()
    run = run_of(view)
    first = json.loads(view.json(f"runs/{run}/first.json") or b"")
    tables = {name: pq.read_table(view.table(each["path"])) for name, each in view.tables(run)["tables"].items()}
    samples = tables["samples"].to_pylist()
    assert first["rows"] == len(samples) == 10
    assert first["compared"] == sum(sample["compared"] for sample in samples)
    assert first["values"]["model"] == sorted({sample["model"] for sample in samples})
    texts = tables["texts"].to_pylist()
    for sample, text, shown in zip(samples, texts, first["samples"], strict=True):
        assert shown.pop("excerpt") == (text["reply"] or text["error"] or "")[:400]
        assert shown == pytest.approx(sample)
    items = tables["items"].to_pylist()
    assert all(items[sample["item_at"]]["item_id"] == sample["item_id"] for sample in samples)
