"""How long a store of many commits takes to open, the first time and once the commits are listed together.

    python tests/bench/many_commits.py [--commits 100000]

Each commit lists one part of one row. Printed is CPU time, of a new process each: of `Store.open` with the list of live
commits, and of the files that they name.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tripos_warehouse.store.commits import COMMITS, Commit, to_json
from tripos_warehouse.store.store import Store

OPEN = """\
import sys, time
from tripos_warehouse.store.store import Store
started_s = time.process_time()
store = Store.open(sys.argv[1], create=False)
live = len(store.commits())
opened_s = time.process_time()
files = sum(map(len, store.files().values()))
took = f"{opened_s - started_s:.2f} s to open, {time.process_time() - opened_s:.2f} s for its files"
print(f"{live:,} live commits, {files:,} parts: {took}, CPU")
"""
LINKS = 30_000
"""A file has so many names at most."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        make(root, options.commits)
        for _ in range(3):
            subprocess.run([sys.executable, "-c", OPEN, name], check=True)


def make(root: Path, count: int) -> None:
    """Make a store of so many commits, none of which was compacted."""
    made = Store.open(root, create=True).append({"run_items": [{"run_id": "r", "scenario": "QA", "item_id": "1"}]})
    [part] = made.parts
    content = (root / part.path).read_bytes()
    at = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(count):
        written_at = at + timedelta(seconds=number)
        name = f"{written_at:%Y%m%dT%H%M%S%f}-{number:012x}"
        path = f"parts/run_items/{name}.{number:012x}.parquet"
        if number % LINKS == 0:
            source = root / path
            source.write_bytes(content)
        else:
            (root / path).hardlink_to(source)
        commit = Commit(name, written_at, (replace(part, path=path),))
        (root / COMMITS / f"{name}.json").write_bytes(to_json(commit))


if __name__ == "__main__":
    main()
