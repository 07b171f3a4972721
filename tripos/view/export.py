"""Exports of a view: a folder for a static host or for opening from disk, and a report or board as one HTML file."""

from __future__ import annotations

import base64
import hashlib
import itertools
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from tripos.files import writing
from tripos.settings.options import ViewParameters
from tripos.view.files import RUN_FILES, ViewFiles
from tripos.view.server import PAGE, language_attribute, page_part
from tripos.view.tables import TABLES
from tripos_compiler.diagnostics.text_format import counted
from tripos_compiler.errors import TriposError
from tripos_warehouse.measures.confusion import tables_json
from tripos_warehouse.measures.items import items_json

MOST_FOR_DISK = 64 * 2**20
"""Maximum bytes of data that are duplicated as scripts for opening from disk. More needs a web server."""
MOST_COMPARED = 6
"""Maximum models of one run that are compared in pairs."""
MARK = "tripos-view.json"
"""The file that marks a folder as a view, so that it may be replaced."""
ENTRIES = (MARK, *PAGE, "index.json", "index.json.js", "benchmarks", "runs", "compare", "media")
"""What a view has at the top of its folder."""


def write_folder(view: ViewFiles, target: Path, runs: Iterable[str] = ()) -> list[str]:
    """Write the page and all files of a view to `target`, and return remarks on its limits and on people's notes in it.

    `runs` are the ids of the runs to include; empty means all. Files that others put beside an earlier view stay.

    Raises `TriposError` S0703 if the folder has other content, S0102 if it cannot be written, and what `ViewFiles`
    raises.
    """
    wanted = set(runs)
    with _view_folder(target):
        for name in PAGE:
            part = page_part(name)
            if name == "index.html":
                part = part.replace(b"<html", b"<html" + language_attribute().encode(), 1)
            (target / name).write_bytes(part)
        written, noted = [], Counter[str]()
        for path, content in _files(view, wanted):
            written.append(path)
            if path.endswith("/notes.json") and isinstance(content, bytes):
                noted.update(note["name"] for note in orjson.loads(content)["notes"])
            place = target / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                shutil.copyfile(content, place)
            else:
                place.write_bytes(content)
        return [*_noted_remarks(noted), *_write_twins(target, written)]


def _noted_remarks(noted: Counter[str]) -> Iterator[str]:
    """Yield how many notes a page has, and of whom: it may be published."""
    if noted:
        people = ", ".join(sorted(noted))
        yield f"it has {counted(noted.total(), 'note')} of {people}: `{ViewParameters.no_notes}` leaves them out"


def write_page(page: str, target: Path) -> None:
    """Write a self-contained page to the folder `target`, for a static host. Raises `TriposError` as `write_folder`
    does.
    """
    with _view_folder(target):
        (target / "index.html").write_text(page, "utf-8")


@contextmanager
def _view_folder(target: Path) -> Iterator[None]:
    """Provide a folder for a view, without the files of an earlier view."""
    if target.exists() and (not target.is_dir() or (any(target.iterdir()) and not (target / MARK).is_file())):
        raise TriposError("S0703", f"`{target}` is not empty and not a view", "name a new folder")
    with writing(target):
        target.mkdir(parents=True, exist_ok=True)
        for entry in ENTRIES:  # and nothing else: it may be a working tree with a `CNAME` and a `.git`
            path = target / entry
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        (target / MARK).write_text('{"format": "tripos.view/1"}\n', "utf-8")
        yield


def _files(view: ViewFiles, wanted: set[str]) -> Iterator[tuple[str, bytes | Path]]:
    """Yield the path of every file with its content or its location."""
    index = orjson.loads(view.json("index.json") or b"{}")
    index["runs"] = [run for run in index["runs"] if not wanted or run["run_id"] in wanted]
    index["benchmarks"] = sorted({run["benchmark"] for run in index["runs"]})
    yield "index.json", orjson.dumps(index)
    paths = [f"benchmarks/{name}.json" for name in index["benchmarks"]]
    for run in index["runs"]:
        paths += [f"runs/{run['run_id']}/{run_file}.json" for run_file in (*RUN_FILES, "notes")]
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
    """Yield the pairs of models to compare: within each run, and of each run with the one before."""
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


def _write_twins(target: Path, written: Iterable[str]) -> list[str]:
    """Write a script for every data file among the written ones: a page opened from disk can load only scripts."""
    files = sorted(path for path in map(target.joinpath, written) if path.suffix in (".json", ".parquet"))
    size = sum(path.stat().st_size for path in files)
    if size > MOST_FOR_DISK:
        return [f"{size / 2**20:.0f} MiB are too much to open from disk: serve the folder by any web server"]
    for path in files:
        name = path.relative_to(target).as_posix()
        text = base64.b64encode(path.read_bytes()).decode()
        path.with_name(f"{path.name}.js").write_text(f'tripos_file("{name}","{text}");\n', "ascii")
    return []


MOST_BYTES = 8 * 2**20
"""Maximum bytes of replies and judgements in a report. The page reports how many are left out."""

BOARD_FILES = ("about", "report", "boards", "judges", "result_tables")
"""The files of a run that a board shows."""
HIDDEN_REASON = "the board does not show the reason"

_PAGE = """<!doctype html>
<html lang="en"{language}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '{script_hash}'; \
style-src '{style_hash}'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<noscript>This page needs JavaScript.</noscript>
<script type="application/json" id="tripos-data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def write_report(view: ViewFiles, run: str, most: int = MOST_BYTES) -> str:
    """Return one page with the report of `run` and as many replies as fit, lowest scores first. Raises what `ViewFiles`
    raises."""
    index = orjson.loads(view.json("index.json") or b"{}")
    index["runs"] = [each for each in index["runs"] if each["run_id"] == run]
    index["benchmarks"] = sorted({each["benchmark"] for each in index["runs"]})
    data: dict[str, Any] = {}
    # The page has the whole list, so `first.json`, which may have left-out replies, is not needed.
    paths = [f"runs/{run}/{run_file}.json" for run_file in RUN_FILES if run_file != "first"]
    paths.append(f"benchmarks/{index['runs'][0]['benchmark']}.json")
    for path in paths:
        data[path] = orjson.loads(view.json(path) or b"{}")
    tables = view.tables(run)
    rows, left_out = _bounded(view, tables, most)
    for name in TABLES:
        tables["tables"][name].update(path=name, rows=len(rows[name]), bytes=0)
        data[name] = rows[name]
    index["left_out"] = left_out
    data[f"runs/{run}/tables.json"] = tables
    data["index.json"] = index
    return _page(index, run, data)


def write_board(view: ViewFiles, run: str) -> str:
    """Return one page with only the figures of `run`: no text of items, replies, judgements or the spec, and nothing of
    other runs. Raises what `ViewFiles` raises.

    The content is an explicit list of files, so that a new kind of file is left out by default.
    """
    read = {board_file: orjson.loads(view.json(f"runs/{run}/{board_file}.json") or b"{}") for board_file in BOARD_FILES}
    index = orjson.loads(view.json("index.json") or b"{}")
    index["runs"] = [each for each in index["runs"] if each["run_id"] == run]
    index["benchmarks"] = [index["runs"][0]["benchmark"]]
    index["left_out"] = ["items, replies, judgements, the spec and its queries"]
    state = read["about"]["state"]
    report = read["report"]
    # Reasons may quote a reply or a row, and queries the spec.
    report["gaps"] = [{**each, "reason": HIDDEN_REASON} for each in report["gaps"]]
    report["measures"] = [{**each, "sql": ""} for each in report["measures"]]
    titled = read["result_tables"]["titled"].values()
    for table in [table for tables in (read["result_tables"]["tables"], *titled) for table in tables]:
        table["rows"] = [[_without_reason(cell) for cell in row] for row in table["rows"]]
        del table["copies"]["csv"]  # it has the reasons too
    benchmark_file = f"benchmarks/{index['benchmarks'][0]}.json"
    benchmark = orjson.loads(view.json(benchmark_file) or b"{}")
    tables = {name: {"path": name, "rows": 0, "bytes": 0} for name in TABLES}
    data: dict[str, Any] = {f"runs/{run}/{what}.json": found for what, found in read.items()}
    data |= {name: [] for name in TABLES}
    data |= {
        "index.json": index,
        benchmark_file: {
            **{key: benchmark[key] for key in ("titles", "languages")},
            "boards": read["boards"]["boards"],
            "history": [],
        },
        f"runs/{run}/tables.json": {"state": state, "dimensions": [], "tables": tables},
        f"runs/{run}/items.json": {"state": state, **items_json((), 0)},
        f"runs/{run}/confusion.json": {"state": state, **tables_json(())},
        f"runs/{run}/spec.json": {"state": state, "files": [], "missing": [], "places": [], "measures": []},
    }
    return _page(index, run, data)


def _without_reason(cell: dict[str, Any]) -> dict[str, Any]:
    return {**cell, "reason": HIDDEN_REASON} if "reason" in cell else cell


def _page(index: dict[str, Any], run: str, data: dict[str, Any]) -> str:
    # A script element ends at any `</script`, so escape `<` in the JSON.
    text = orjson.dumps(data, default=str).decode().replace("<", "\\u003c")
    script, style = page_part("view.js").decode(), page_part("view.css").decode()
    title = f"{index['runs'][0]['benchmark']} · {run}"
    return _PAGE.format(
        language=language_attribute(),
        title=title,
        data=text,
        script=script.replace("</script", "<\\/script"),
        style=style,
        script_hash=_hash(script.replace("</script", "<\\/script")),
        style_hash=_hash(style),
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _bounded(view: ViewFiles, tables: dict[str, Any], most: int) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Return the rows of every table for the replies that fit, renumbered, and a note on the others."""
    paths = {name: view.table(tables["tables"][name]["path"]) for name in TABLES}
    read: dict[str, Any] = {name: pq.read_table(path) for name, path in paths.items() if path is not None}
    samples = read["samples"].to_pylist()
    texts = read["texts"]
    order = sorted(range(len(samples)), key=lambda n: (not samples[n]["compared"], _score(samples[n]), n))
    kept, used = set(), 0
    sizes = _sizes(read, len(samples))
    for n in order:
        if used + sizes[n] > most:
            break
        used += sizes[n]
        kept.add(n)
    places = {n: place for place, n in enumerate(sorted(kept))}
    rows: dict[str, list[dict[str, Any]]] = {
        "samples": [samples[n] for n in places],
        "texts": texts.take(pa.array(list(places), pa.int64())).to_pylist(),
        "comparisons": [],
    }
    for name in ("marks", "scores", "judgements", "turns"):
        table = read[name]
        mine = [at for at, n in enumerate(table.column("n").to_pylist()) if n in kept]
        rows[name] = [{**row, "n": places[row["n"]]} for row in table.take(pa.array(mine, pa.int64())).to_pylist()]
        if name == "marks":
            continue
        starts: dict[int, int] = {}
        for at, row in enumerate(rows[name]):
            starts.setdefault(row["n"], at)
        for place, sample in enumerate(rows["samples"]):
            sample[f"{name}_at"] = starts.get(place)
    shown = sorted({sample["item_at"] for sample in rows["samples"]} - {None})
    rows["items"] = read["items"].take(pa.array(shown, pa.int64())).to_pylist()
    items = {at: place for place, at in enumerate(shown)}
    for sample in rows["samples"]:
        sample["item_at"] = items.get(sample["item_at"])
    lost = len(samples) - len(kept)
    return rows, [f"{lost:,} of {len(samples):,} replies, those with the highest scores"] if lost else []


def _score(sample: dict[str, Any]) -> float:
    return 2.0 if sample["score"] is None else float(sample["score"])


def _sizes(read: dict[str, Any], count: int) -> list[int]:
    """Return the approximate bytes of each reply with its judgements and turns."""
    sizes = [700] * count
    for at, row in enumerate(read["texts"].select(["messages", "reply", "parsed"]).to_pylist()):
        sizes[at] += sum(len(value or "") for value in row.values())
    for name, columns in (("judgements", ["n", "messages", "reply", "parsed"]), ("turns", ["n", "text"])):
        for row in read[name].select(columns).to_pylist():
            sizes[row.pop("n")] += 200 + sum(len(value or "") for value in row.values())
    for name, size in (("scores", 200), ("marks", 80)):
        for n in read[name].column("n").to_pylist():
            sizes[n] += size
    return sizes
