"""The bytes of a run in our store and in Inspect's log, and the time to load its samples as a data frame or table.

    python tests/bench/peers/logs.py [--samples 20000] [--rounds 3] [--cache .peers] [--python PYTHON]

Both run the same benchmark against the same server, and keep what they always keep; our store is compacted, as it is
after a long run. Inspect's samples are loaded by `samples_df` in an environment that has it with pandas and pyarrow
(`--python`), ours by `tripos.open` into Arrow, once with the columns that `samples_df` has and once with every text.
Asked for: a fifth of the bytes, and a fiftieth of the time.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import exact_match  # noqa: E402
import peers  # noqa: E402
from processes import more_files, server_option, serving  # noqa: E402

from tripos_warehouse.compaction import compact  # noqa: E402
from tripos_warehouse.store import Store  # noqa: E402

LOAD = """
import json, sys, time
from inspect_ai.analysis import samples_df
times = []
for _ in range(int(sys.argv[2])):
    started = time.perf_counter()
    frame = samples_df(sys.argv[1], quiet=True)
    times.append(time.perf_counter() - started)
print(json.dumps([min(times), len(frame)]))
"""
COLUMNS = "sample_id, item_id, epoch, messages, model, status, error, tokens_in, tokens_out, total_tokens, latency_s, attempts"
SAMPLES = (
    f"select {COLUMNS}, value from calls.samples join (select sample_id, value from calls.scores) using (sample_id)"
)
WHOLE = "from calls.samples"


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
        inspect_s, rows = json.loads(done.stdout.splitlines()[-1])
        table_s, table_rows = load(store.root, SAMPLES, options.rounds)
        whole_s, _ = load(store.root, WHOLE, options.rounds)
        if {rows, table_rows} != {options.samples}:
            sys.exit(f"{rows} and {table_rows} rows of {options.samples} samples")
    print(f"bytes of {options.samples:,} samples: {ours:,} in the store, {theirs:,} in the log: 1/{theirs / ours:.1f}")
    print(
        f"samples_df {inspect_s:.2f} s; the same columns here {table_s:.3f} s: {inspect_s / table_s:.0f} times as fast"
    )
    print(f"every column, with all texts: {whole_s:.3f} s: {inspect_s / whole_s:.0f} times as fast")
    return 0 if theirs >= 5 * ours and inspect_s >= 50 * table_s else 1


def make(bench: peers.Bench) -> None:
    """Lets both run the benchmark, which leaves their results in the folder."""
    exact_match.write(bench.folder, bench.calls, bench.server)
    shutil.copy(HERE / "inspect_task.py", bench.folder)
    bench.server.asked()
    peers.tripos(bench, 0)
    bench.server.asked()
    peers.inspect(bench, 0)


def size(paths: list[Path]) -> int:
    """The bytes of files."""
    return sum(path.stat().st_size for path in paths)


def load(root: Path, query: str, rounds: int) -> tuple[float, int]:
    """The seconds to open the store and load what a query gives, of the fastest round, and its rows."""
    import tripos

    times, rows = [], 0
    for _ in range(rounds):
        started = time.perf_counter()
        with tripos.open(root) as results:
            rows = results.sql(query).to_arrow_table().num_rows
        times.append(time.perf_counter() - started)
    return min(times), rows


if __name__ == "__main__":
    sys.exit(main())
