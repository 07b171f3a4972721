"""How fast a large store answers: 100,000 samples with about ten scores each, written by our own writer.

    python tests/bench/queries.py [--samples 100000] [--rounds 5] [--folder DIR]

Printed are the seconds to open the store, the first time and afterwards; the leaderboard, warm and as a whole process;
one sample with its judgements; and every query of docs/how-to/query-with-sql.md. Of each the fastest round: what others do on the
machine only adds to it. Beside it stands what is asked of it, and `over` where it took longer.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import large_store  # noqa: E402

from tripos_warehouse.store.store import Store  # noqa: E402
from tripos_warehouse.views.connect import connect  # noqa: E402
from tripos_warehouse.views.view_cache import CACHE  # noqa: E402

REPOSITORY = HERE.parents[1]
COOKBOOK = REPOSITORY / "docs/how-to/query-with-sql.md"
RECIPE = re.compile(r"^### (\d+\. [^\n]*)\n.*?```sql\n(.*?)```", re.DOTALL | re.MULTILINE)
# Comparisons and conversations, which some recipes ask about, lie beside the large benchmark.
SMALL = (
    "specs/edubench/bias.tripos --limit 2 --model mock/careful,mock/careless --role judge=mock/careful:a"
    " --role reasoner=mock/careless:b",
    "docs/examples/teachbench.tripos --model mock/teacher --role student=mock/careful --role tagger=mock/teacher"
    " --role author=mock/author --role verifier=mock/author",
)
LEADERBOARD = "from edubench_shipped.means()"
WARM_S, PROCESS_S, RECIPE_S, SAMPLE_S = 0.1, 0.25, 1.0, 0.05


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where the store is, or is left; without it, nothing is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(options.folder or name) / "results"
        if not root.exists():
            seconds = timed(lambda: large_store.build(root, options.samples), 1)
            print(f"{seconds:7.2f} s   the store is made")
            for asked in SMALL:
                process([sys.executable, "-m", "tripos", "run", *asked.split(), "--store", str(root)], REPOSITORY)
        store = Store.open(root, create=False)
        shutil.rmtree(root / CACHE, ignore_errors=True)
        print(f"{timed(lambda: connect(store).close(), 1):7.3f} s   opened for the first time")
        print(f"{timed(lambda: connect(store).close(), options.rounds):7.3f} s   opened again")
        connection = connect(store)
        counts = connection.execute("select (select count(*) from samples), (select count(*) from scores)").fetchone()
        assert counts is not None
        load = os.getloadavg()[0]
        print(f"            {counts[0]:,} samples, {counts[1]:,} scores; {os.cpu_count()} cores, load {load:.1f}")
        over = 0

        def show(what: str, seconds: float, most_s: float) -> None:
            nonlocal over
            over += seconds > most_s
            print(f"{seconds:7.3f} s   {what} (at most {most_s:g} s){'  over' if seconds > most_s else ''}")

        def ask(query: str, *values: str) -> list[tuple[object, ...]]:
            return connection.execute(query, list(values)).fetchall()

        show("leaderboard, warm", timed(lambda: ask(LEADERBOARD), options.rounds), WARM_S)
        command = [sys.executable, "-m", "tripos", "sql", "--store", str(root), LEADERBOARD]
        show("leaderboard, a process", timed(lambda: process(command, root.parent), options.rounds), PROCESS_S)
        floor = [sys.executable, "-c", "import duckdb; duckdb.connect().execute('select 1').fetchall()"]
        print(
            f"{timed(lambda: process(floor, root.parent), options.rounds):7.3f} s   a process that only imports DuckDB"
        )
        ids = [
            str(row[0]) for row in ask("select sample_id from samples using sample reservoir(50 rows) repeatable (1)")
        ]
        chosen = iter(ids * 20)

        def one() -> None:
            chosen_id = next(chosen)
            ask("select * from main.samples where sample_id = ?", chosen_id)
            ask("select * from main.judgements where sample_id = ?", chosen_id)

        show("one sample with its judgements", timed(one, options.rounds * 2), SAMPLE_S)
        for title, query in RECIPE.findall(COOKBOOK.read_text("utf-8")):
            show(title, timed(lambda query=query: ask(query), options.rounds), RECIPE_S)  # type: ignore[misc]
        connection.close()
    return 1 if over else 0


def timed(do: Callable[[], object], rounds: int) -> float:
    """Return the seconds of the fastest round."""
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        do()
        best = min(best, time.perf_counter() - started)
    return best


def process(command: list[str], folder: Path) -> None:
    """Run a command to its end; its first run compiles what it imports."""
    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
