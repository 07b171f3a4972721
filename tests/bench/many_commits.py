"""How long a store of many commits takes to open, the first time and once the commits are listed together.

    python tests/bench/many_commits.py [--commits 100000] [--bucket]

Each commit lists one part of one row. Printed is CPU time, of a new process each: of `Store.open` with the list of live
commits, and of the files that they name. With `--bucket` the store is on a stand-in of S3, and all of its parts lie in
the copy of this machine already: to fetch each of them would measure the stand-in.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bucket.stand_in import BUCKET, serving
from tripos_warehouse.store.bucket.bucket import Bucket
from tripos_warehouse.store.bucket.catalog import BucketPart, CatalogCommit
from tripos_warehouse.store.commits import COMMITS, Commit, to_json
from tripos_warehouse.store.paths import copy_of
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
size = "" if store.bucket is None else f"; the catalog has {len(store.bucket.catalog().content()):,} bytes"
print(f"{live:,} live commits, {files:,} parts: {took}, CPU{size}", flush=True)
"""
LINKS = 30_000
"""A file has so many names at most."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", type=int, default=100_000)
    parser.add_argument("--bucket", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if options.bucket:
            with serving() as server:
                os.environ.update(server.environment, XDG_CACHE_HOME=name)
                address = f"s3://{BUCKET}/many"
                make_bucket(address, options.commits)
                measure(address)
        else:
            make(Path(name), options.commits)
            measure(name)


def measure(place: str) -> None:
    """Open a store in three processes, one after another."""
    for _ in range(3):
        subprocess.run([sys.executable, "-c", OPEN, place], check=True)


def make_bucket(address: str, count: int) -> None:
    """Make a store on a bucket with so many commits, whose parts are in the copy on this machine."""
    bucket = Bucket.open(address, create=True)
    root = copy_of(address)
    commits = []
    for commit in make(root, count):
        [part] = commit.parts
        of = BucketPart(
            table=part.table, path=part.path, rows=part.rows, bytes=part.size, version=part.version, base=1,
            sha256="0" * 64,
        )  # fmt: skip
        commits.append(CatalogCommit(name=commit.name, written_at=commit.written_at, parts=(of,)))
        (root / COMMITS / f"{commit.name}.json").unlink()
    bucket.change(lambda now: now.following(commits=tuple(commits)), lambda now: bool(now.commits))


def make(root: Path, count: int) -> list[Commit]:
    """Return the commits of a new store of so many, none of which was compacted."""
    made = Store.open(root, create=True).append({"run_items": [{"run_id": "r", "scenario": "QA", "item_id": "1"}]})
    [part] = made.parts
    content = (root / part.path).read_bytes()
    commits = []
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
        commits.append(commit)
    return commits


if __name__ == "__main__":
    main()
