"""A report as one file of HTML: the page, its script and its data, without a server."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from tripos.view.files import OF_RUN, ViewFiles
from tripos.view.server import page_part
from tripos.view.tables import TABLES
from tripos_warehouse.measures import items_json, tables_json

MOST_BYTES = 8 * 2**20
"""The size of the replies and their judgements in a report; others are left out, and the page says so."""

OF_BOARD = ("about", "report", "boards", "judges")
"""The files of a run that a board shows."""
UNTOLD = "the board does not show the reason"

_PAGE = """<!doctype html>
<html lang="en">
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
    """Return one page with the report of `run` and as many of its replies as fit, those with the lowest scores first.
    Raises what `ViewFiles` does."""
    index = orjson.loads(view.json("index.json") or b"{}")
    index["runs"] = [each for each in index["runs"] if each["run_id"] == run]
    index["benchmarks"] = sorted({each["benchmark"] for each in index["runs"]})
    data: dict[str, Any] = {}
    # The whole of the list is here, so nothing is shown before it, and replies that are left out are in no file.
    paths = [f"runs/{run}/{what}.json" for what in OF_RUN if what != "first"]
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
    """Return one page with the figures of `run` alone: it has no text of an item, a reply, a judgement or the spec, and
    nothing of other runs of the store. Raises what `ViewFiles` does.

    What is shown is named here, file by file, so that a file that is new is left out.
    """
    read = {what: orjson.loads(view.json(f"runs/{run}/{what}.json") or b"{}") for what in OF_BOARD}
    index = orjson.loads(view.json("index.json") or b"{}")
    index["runs"] = [each for each in index["runs"] if each["run_id"] == run]
    index["benchmarks"] = [index["runs"][0]["benchmark"]]
    index["left_out"] = ["items, replies, judgements, the spec and its queries"]
    state = read["about"]["state"]
    report = read["report"]
    # Reasons quote what a reply or a row says, and queries what the spec does.
    report["gaps"] = [{**each, "reason": UNTOLD} for each in report["gaps"]]
    report["measures"] = [{**each, "sql": ""} for each in report["measures"]]
    tables = {name: {"path": name, "rows": 0, "bytes": 0} for name in TABLES}
    data: dict[str, Any] = {f"runs/{run}/{what}.json": found for what, found in read.items()}
    data |= {name: [] for name in TABLES}
    data |= {
        "index.json": index,
        f"benchmarks/{index['benchmarks'][0]}.json": {"boards": read["boards"]["boards"], "history": []},
        f"runs/{run}/tables.json": {"state": state, "dimensions": [], "tables": tables},
        f"runs/{run}/items.json": {"state": state, **items_json((), 0)},
        f"runs/{run}/confusion.json": {"state": state, **tables_json(())},
        f"runs/{run}/spec.json": {"state": state, "files": [], "missing": [], "places": [], "measures": []},
    }
    return _page(index, run, data)


def _page(index: dict[str, Any], run: str, data: dict[str, Any]) -> str:
    # A script ends at `</script`, whatever it holds; JSON may write `<` otherwise.
    text = orjson.dumps(data, default=str).decode().replace("<", "\\u003c")
    script, style = page_part("view.js").decode(), page_part("view.css").decode()
    title = f"{index['runs'][0]['benchmark']} · {run}"
    return _PAGE.format(
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
    """Return the rows of every table that belong to the replies that fit, numbered anew, and what is left out."""
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
    """Return about how many bytes each reply takes with its judgements and turns."""
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
