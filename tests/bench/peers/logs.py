"""The bytes of a run in our store and in Inspect's log, and the time to load its samples as a data frame or table.

    python tests/bench/peers/logs.py [--samples 20000] [--rounds 3] [--cache .peers] [--python PYTHON]

Both run the same benchmark against the same server, and keep what they always keep; our store is compacted, as it is
after a long run. Inspect's samples are loaded by `samples_df` in an environment that has it with pandas and pyarrow
(`--python`), ours by `tripos.open` into Arrow: with the columns that `samples_df` has, from the tables of all runs and
from the views of the benchmark, and with every text. Both in a process that has imported what it needs and loaded once.
Asked for: a fifth of the bytes, and a fiftieth of the time; by CPU, which others on the machine change least.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import exact_match  # noqa: E402
import peers  # noqa: E402
from processes import more_files, server_option, serving  # noqa: E402

from tripos_warehouse.maintenance.compaction import compact  # noqa: E402
from tripos_warehouse.store.store import Store  # noqa: E402

LOAD = """
import json, statistics, sys, time
from inspect_ai.analysis import samples_df
samples_df(sys.argv[1], quiet=True)
walls, cpus = [], []
for _ in range(int(sys.argv[2])):
    wall, cpu = time.perf_counter(), time.process_time()
    frame = samples_df(sys.argv[1], quiet=True)
    walls.append(time.perf_counter() - wall)
    cpus.append(time.process_time() - cpu)
print(json.dumps([statistics.median(walls), statistics.median(cpus), len(frame)]))
"""
COLUMNS = """select sample_id, item_id, {epoch} as epoch, fields, messages, model, value, tokens_in, tokens_out,
  tokens_in + tokens_out as total_tokens, latency_s, attempts, status, error
from {schema}.samples
  join (select sample_id, value from {schema}.scores) using (sample_id)
  join (select item_id, fields from {schema}.items) using (item_id)"""
QUERIES = {
    "the same columns, of the tables": COLUMNS.format(schema="main", epoch="sample_number + 1"),
    "the same columns, of the benchmark's views": COLUMNS.format(schema="calls", epoch="epoch"),
    "every column, with all texts": "from calls.samples",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--concurrency", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cache", default=".peers", help="where the environments of the peers are kept")
    parser.add_argument("--folder", help="where the store and the log are, or are left; without it, nothing is")
    parser.add_argument("--python", help="one that has inspect-ai, pandas and pyarrow")
    server_option(parser)
    options = parser.parse_args()
    more_files()
    with serving(options.server) as server, tempfile.TemporaryDirectory() as name:
        folder = Path(options.folder or name).resolve()
        bench = peers.Bench(folder, Path(options.cache), options.samples, options.concurrency, server)
        if not (folder / "made").exists():
            make(bench)
            (folder / "made").touch()
        store = Store.open(bench.folder / "results0", create=False)
        compact(store)
        ours = size(list({path for paths in store.files().values() for path in paths}))
        theirs = size(list((bench.folder / "inspect0").glob("*.eval")))
        python = options.python or bench.script("inspect", "python")
        command = [str(python), "-c", LOAD, str(bench.folder / "inspect0"), str(options.rounds)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        wall_s, cpu_s, rows = json.loads(done.stdout.splitlines()[-1])
        loaded = {what: load(store.root, query, options.rounds) for what, query in QUERIES.items()}
        if {rows, *(taken.rows for taken in loaded.values())} != {options.samples}:
            sys.exit(f"{rows} rows, and {loaded}, of {options.samples} samples")
    print(f"bytes of {options.samples:,} samples: {ours:,} in the store, {theirs:,} in the log: 1/{theirs / ours:.1f}")
    print(f"samples_df: {wall_s:.2f} s, {cpu_s:.2f} s CPU")
    for what, taken in loaded.items():
        times = f"1/{wall_s / taken.wall_s:.0f} of the time, 1/{cpu_s / taken.cpu_s:.0f} of the CPU"
        print(f"{what}: {taken.wall_s:.3f} s, {taken.cpu_s:.3f} s CPU: {times}")
    first = next(iter(loaded.values()))
    return 0 if theirs >= 5 * ours and cpu_s >= 50 * first.cpu_s else 1


def make(bench: peers.Bench) -> None:
    """Let both run the benchmark, which leaves their results in the folder."""
    exact_match.write(bench.folder, bench.calls, bench.server)
    shutil.copy(HERE / "inspect_task.py", bench.folder)
    bench.server.asked()
    peers.tripos(bench, 0)
    bench.server.asked()
    peers.inspect(bench, 0)


def size(paths: list[Path]) -> int:
    """Return the bytes of files."""
    return sum(path.stat().st_size for path in paths)


@dataclass(frozen=True)
class Loaded:
    """The medians of the seconds to open the store and load what a query gives, and its rows."""

    wall_s: float
    cpu_s: float
    rows: int


def load(root: Path, query: str, rounds: int) -> Loaded:
    """Open the store and load what a query gives, so many times, after once that does not count."""
    import tripos

    walls, cpus, rows = [], [], 0
    for _ in range(rounds + 1):
        wall, cpu = time.perf_counter(), time.process_time()
        with tripos.open(root) as results:
            rows = results.sql(query).to_arrow_table().num_rows
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return Loaded(statistics.median(walls[1:]), statistics.median(cpus[1:]), rows)


if __name__ == "__main__":
    sys.exit(main())
