"""A view as a folder: for a static host, or to be opened from disk."""

from __future__ import annotations

import base64
import itertools
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from tripos.ui import Failure
from tripos.view.files import OF_RUN, ViewFiles
from tripos.view.server import PAGE, page_part

MOST_FOR_DISK = 64 * 2**20
"""Bytes of files of which twins are written that a page opened from disk can load; more needs a host."""
MOST_COMPARED = 6
"""Models of one run of which every pair is compared."""
MARK = "tripos-view.json"
"""The file that says that a folder is a view, so that it may be replaced."""


def write_folder(view: ViewFiles, target: Path, runs: Iterable[str] = ()) -> list[str]:
    """Write the page and all files of a view to `target`, and return remarks on what it cannot do. `runs` are the ids
    of the runs to include, or none for all.

    Raises `Failure` S0703 for a folder that holds something else, S0102 where the disk refuses, and what `ViewFiles`
    raises.
    """
    wanted = set(runs)
    with _emptied(target):
        for name in PAGE:
            (target / name).write_bytes(page_part(name))
        for path, content in _files(view, wanted):
            place = target / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                shutil.copyfile(content, place)
            else:
                place.write_bytes(content)
        return _write_twins(target)


def write_page(page: str, target: Path) -> None:
    """Write a page that has all its data to `target`, for a static host. Raises `Failure` as `write_folder` does."""
    with _emptied(target):
        (target / "index.html").write_text(page, "utf-8")


@contextmanager
def _emptied(target: Path) -> Iterator[None]:
    """Make an empty folder of a view, in the place of an earlier one."""
    if target.exists() and (not target.is_dir() or (any(target.iterdir()) and not (target / MARK).is_file())):
        raise Failure("S0703", f"`{target}` is not empty and not a view", "name a new folder")
    try:
        if target.exists():
            shutil.rmtree(target)
        target.mkdir(parents=True)
        (target / MARK).write_text('{"format": "tripos.view/1"}\n', "utf-8")
        yield
    except OSError as error:
        raise Failure("S0102", f"cannot write `{target}`: {error.strerror}", "write it somewhere else") from error


def _files(view: ViewFiles, wanted: set[str]) -> Iterator[tuple[str, bytes | Path]]:
    """Yield the path of every file, and its content or where it lies."""
    index = orjson.loads(view.json("index.json") or b"{}")
    index["runs"] = [run for run in index["runs"] if not wanted or run["run_id"] in wanted]
    index["benchmarks"] = sorted({run["benchmark"] for run in index["runs"]})
    yield "index.json", orjson.dumps(index)
    paths = [f"benchmarks/{name}.json" for name in index["benchmarks"]]
    for run in index["runs"]:
        paths += [f"runs/{run['run_id']}/{what}.json" for what in OF_RUN]
    paths += [f"compare/{a}~{b}.json" for a, b in _pairs(index["runs"])]
    for path in paths:
        if (data := view.json(path)) is not None:
            yield path, data
    for run in index["runs"]:
        tables = view.tables(run["run_id"])
        yield f"runs/{run['run_id']}/tables.json", orjson.dumps(tables)
        for table in tables["tables"].values():
            if (found := view.table(table["path"])) is not None:
                yield table["path"], found
        for sha256 in sorted(view.shown(run["run_id"])):
            if (content := view.medium(sha256)) is not None:
                yield f"media/{sha256}", content


def _pairs(runs: list[dict[str, object]]) -> Iterator[tuple[str, str]]:
    """Yield the pairs that are compared: of the models of one run, and of each run with the one before."""
    before: dict[object, dict[str, object]] = {}
    for run in reversed(runs):
        models = list(map(str, run["models"]))  # type: ignore[call-overload]
        for m, n in itertools.combinations(range(min(len(models), MOST_COMPARED)), 2):
            yield f"{run['run_id']}.{m}", f"{run['run_id']}.{n}"
        former = before.get(run["benchmark"])
        if former is not None:
            earlier = list(map(str, former["models"]))  # type: ignore[call-overload]
            for m, model in enumerate(models[:MOST_COMPARED]):
                if model in earlier:
                    yield f"{run['run_id']}.{m}", f"{former['run_id']}.{earlier.index(model)}"
        before[run["benchmark"]] = run


def _write_twins(target: Path) -> list[str]:
    """Write a script beside every file of data: browsers let a page that was opened from disk load scripts only."""
    files = sorted(path for path in target.rglob("*") if path.suffix in (".json", ".parquet") and path.name != MARK)
    size = sum(path.stat().st_size for path in files)
    if size > MOST_FOR_DISK:
        return [f"{size / 2**20:.0f} MiB are too much to open from disk: serve the folder by any web server"]
    for path in files:
        name = path.relative_to(target).as_posix()
        text = base64.b64encode(path.read_bytes()).decode()
        path.with_name(f"{path.name}.js").write_text(f'tripos_file("{name}","{text}");\n', "ascii")
    return []
