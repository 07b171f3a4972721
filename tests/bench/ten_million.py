"""Memory and CPU of reading a store of ten million units, of four models with ten samples each and one score a sample.

    python tests/bench/ten_million.py [--units 10000000] [--folder DIR] [--only report ...]

The first item is run with mock models; the rows of all others are those rows, under names and texts of their own, so
that the run, its report and its forecast know every one. Printed are the CPU, the time and the memory at the peak of
each command. A store that is in the folder already is taken as it is.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import million  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from processes import take_tripos  # noqa: E402

from tripos_compiler.plan import digest  # noqa: E402
from tripos_warehouse.store.schemas import TABLES  # noqa: E402
from tripos_warehouse.store.store import Store  # noqa: E402

RUN = ["run", "million.tripos", "--model", ",".join(million.MODELS), "--json"]
COMMANDS = {
    "forecast": [*RUN, "--dry-run"],
    "leaderboard": ["leaderboard", "--json"],
    "means": ["sql", "from million.means()"],
    "report": ["report", "--json"],
}
ITEMS_A_PART = 10_000
Columns = dict[str, list[Any]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=10_000_000)
    parser.add_argument("--folder", help="where the store is, or is left; without it, nothing is")
    parser.add_argument("--only", nargs="*", choices=[*COMMANDS, "none"], default=list(COMMANDS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(options.folder or name)
        if not (folder / "results").exists():
            started_s = time.process_time()
            make(folder, -(-options.units // million.EACH))
            print(f"{time.process_time() - started_s:8.1f} s CPU   the store is made", flush=True)
        for each in options.only:
            if each in COMMANDS:
                show(each, folder)
    return 0


def show(what: str, folder: Path) -> None:
    """Run a command to its end, and print what it took."""
    taken = take_tripos(COMMANDS[what], folder)
    (folder / f"{what}.json").write_text(taken.out, "utf-8")
    print(f"{taken.cpu_s:8.2f} s CPU {taken.wall_s:8.2f} s {taken.rss_mb:7.0f} MB   {what}", flush=True)


def make(folder: Path, items: int) -> None:
    """Make the store of a finished run over so many items."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "million.tripos").write_text(million.SPEC, "utf-8")
    texts = [f"Why is {number} a number?" for number in range(items)]
    rows = folder / "items.jsonl"
    rows.write_text(json.dumps({"question": texts[0]}) + "\n", "utf-8")
    take_tripos(RUN, folder)
    rows.write_text("".join(json.dumps({"question": text}) + "\n" for text in texts), "utf-8")
    store = Store.open(folder / "results", create=False)
    first = {name: pq.read_table(store.parts(name)) for name in ("items", "run_items", "samples", "scores")}
    for start in range(1, items, ITEMS_A_PART):
        store.append_arrow(_copies(first, texts[start : start + ITEMS_A_PART], start))


def _copies(first: dict[str, pa.Table], texts: list[str], seed: int) -> dict[str, pa.Table]:
    """Return the rows of further items, as those of the first."""
    samples, scores = first["samples"].to_pylist(), first["scores"].to_pylist()
    place = {row["sample_id"]: number for number, row in enumerate(samples)}
    scores.sort(key=lambda row: place[row["sample_id"]])
    own: dict[str, Columns] = {
        "items": {"item_id": [], "fields": []},
        "run_items": {"item_id": []},
        "samples": {"sample_id": [], "item_id": [], "messages": [], "request_digest": [], "created_at": []},
        "scores": {"score_id": [], "sample_id": [], "item_id": [], "value": [], "created_at": []},
    }
    chance, at = random.Random(seed), datetime(2026, 3, 1, tzinfo=UTC)
    for text in texts:
        item, ease = digest({"question": text}), chance.gauss(34, 6)
        sent = json.dumps([{"content": text, "role": "user"}], separators=(",", ":"))
        asked = digest(sent)
        own["items"]["item_id"].append(item)
        own["items"]["fields"].append(json.dumps({"question": text}, separators=(",", ":")))
        own["run_items"]["item_id"].append(item)
        names = [_digest("sample", row["fingerprint"], item, row["model"], row["sample_number"]) for row in samples]
        own["samples"]["sample_id"] += names
        own["scores"]["sample_id"] += names
        own["scores"]["score_id"] += [
            _digest("score", row["fingerprint"], row["metric"], None, name)
            for row, name in zip(scores, names, strict=True)
        ]
        own["scores"]["value"] += [float(max(0, round(chance.gauss(ease, 3)))) for _ in scores]
        for table, rows in (("samples", samples), ("scores", scores)):
            own[table]["item_id"] += [item] * len(rows)
            own[table]["created_at"] += [at] * len(rows)
        own["samples"]["messages"] += [sent] * len(samples)
        own["samples"]["request_digest"] += [asked] * len(samples)
    kept = {"items": first["items"], "run_items": first["run_items"], "samples": first["samples"]}
    kept["scores"] = pa.Table.from_pylist(scores, TABLES["scores"].schema)
    return {name: _table(name, kept[name], own[name], len(texts)) for name in own}


def _table(name: str, one: pa.Table, own: Columns, times: int) -> pa.Table:
    schema = TABLES[name].schema
    places = pa.array([*range(one.num_rows)] * times)
    whole = one.combine_chunks().take(places)
    arrays = [pa.array(own[each.name], each.type) if each.name in own else whole[each.name] for each in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _digest(*parts: object) -> str:
    return hashlib.blake2b(json.dumps(parts, separators=(",", ":")).encode(), digest_size=16).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
