"""One table of speed and memory: Tripos, its peers and what is wanted, measured in one session.

    python tests/bench/all.py [--write] [--rounds 3] [--samples 3000] [--scores 1100000] [--cache .peers] [--make-peers]

The rows come from the scripts beside this one. Processes that are compared take turns, and their medians are shown.
A peer needs an environment of its own below `--cache`; `--make-peers` makes those that are missing, and without it
a peer that is not there is left out, which the table says. `--write` puts the table into docs/explanation/performance.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE / "peers"), str(REPOSITORY)]

import calls  # noqa: E402
import check  # noqa: E402
import exact_match  # noqa: E402
import large_store  # noqa: E402
import peers  # noqa: E402
from processes import (  # noqa: E402
    TRIPOS,
    Server,
    Taken,
    fastest_s,
    median,
    more_files,
    server_option,
    serving,
    take,
    take_tripos,
)

from tripos_warehouse.store.store import Store  # noqa: E402
from tripos_warehouse.views.connect import connect  # noqa: E402

PAGE = REPOSITORY / "docs" / "explanation/performance.md"
BEGIN, END = "<!-- measured: tests/bench/all.py -->", "<!-- measured end -->"
LEADERBOARD = "from edubench_shipped.means()"
SCORES_A_SAMPLE = 11
"""A sample of the large store has about so many scores."""
CONCURRENCY, CONNECTIONS, LATENCY_MS = 64, 512, 200


@dataclass(frozen=True)
class Row:
    """A line of the table: what was measured, of Tripos and of what it is compared with, the ratio, what is wanted."""

    what: str
    tripos: str
    other: str = ""
    ratio: str = ""
    wanted: str = ""

    @property
    def cells(self) -> str:
        """The line in Markdown."""
        return f"| {self.what} | {self.tripos} | {self.other} | {self.ratio} | {self.wanted} |"


def start_rows(rounds: int) -> list[Row]:
    """Measure the start of a process and the check of 1,000 lines, beside a Python that does nothing."""
    with tempfile.TemporaryDirectory() as name:
        ours, _ = check.write(Path(name), 1000)
        commands = {
            "bare": [sys.executable, "-c", "pass"],
            "help": [*TRIPOS, "--help"],
            "check": [*TRIPOS, "check", str(ours / "bench.tripos")],
        }
        times = check.in_turn(commands, rounds, Path(name))
    cpu = {each: median(taken).cpu_s for each, taken in times.items()}
    bare = f"Python that does nothing: {cpu['bare']:.2f} s"
    return [
        Row("`tripos --help`, CPU", f"{cpu['help']:.2f} s", bare, _times(cpu["help"] / cpu["bare"])),
        Row("`tripos check` of 1,000 lines, CPU", f"{cpu['check']:.2f} s", bare, "", "0.5 s"),
    ]


def call_rows(options: argparse.Namespace, server: Server, folder: Path) -> list[Row]:
    """Measure the CPU of a call beside a bare client, with the start and without it."""
    given = argparse.Namespace(concurrency=CONCURRENCY, rounds=options.rounds)
    less, more = options.samples, options.samples * 4
    few, many = (calls.measure(folder / f"calls{count}", count, given, server) for count in (less, more))
    whole = [each.cpu_s / more * 1000 for each in many]
    one = [(many[who].cpu_s - few[who].cpu_s) / (more - less) * 1000 for who in (0, 1)]
    return [
        Row(
            f"CPU of a call, whole process of {more:,} calls",
            f"{whole[0]:.2f} ms",
            f"bare aiohttp: {whole[1]:.2f} ms",
            _times(whole[0] / whole[1]),
            "3.0 times",
        ),
        Row(
            f"CPU of one more call, {less:,} to {more:,}",
            f"{one[0]:.2f} ms",
            f"bare aiohttp: {one[1]:.2f} ms",
            _times(one[0] / one[1]),
            "3.0 times",
        ),
    ]


def peer_rows(options: argparse.Namespace, server: Server, folder: Path) -> list[Row]:
    """Measure the same benchmark by Tripos and by every peer that is there."""
    bench = peers.Bench(folder, Path(options.cache), options.samples, CONNECTIONS, server)
    exact_match.write(folder, options.samples, server)
    for file in ("inspect_task.py", "echo.yaml"):
        shutil.copy(HERE / "peers" / file, folder)
    there = [each for each in peers.PACKAGES if options.make_peers or (bench.cache / each / "made").exists()]
    times: dict[str, list[Taken]] = {name: [] for name in ("tripos", *there)}
    versions = {name: bench.version(name) for name in there}
    for turn in range(options.peer_rounds or options.rounds):
        for name, taken in times.items():
            server.asked()
            taken.append(peers.RUNNERS[name](bench, turn))
    ours = median(times["tripos"])
    what = f"{options.samples:,} samples with a score, whole process"
    rows = [Row(f"{what}: memory at the peak", f"{ours.rss_mb:.0f} MB", "", "", "200 MB")]
    for name, wanted in (("inspect", "1/20"), ("lm-eval", "1/5")):
        if name not in times:
            rows.append(Row(f"{what}: time", f"{ours.wall_s:.1f} s", f"{name}: not installed here", "", wanted))
            continue
        theirs = median(times[name])
        other = f"{name} {versions[name]}: {theirs.wall_s:.1f} s, {theirs.rss_mb:.0f} MB"
        rows.append(Row(f"{what}: time", f"{ours.wall_s:.1f} s", other, f"1/{theirs.wall_s / ours.wall_s:.1f}", wanted))
        cpu = f"{name}: {theirs.cpu_s:.1f} s"
        rows.append(Row(f"{what}: CPU", f"{ours.cpu_s:.1f} s", cpu, f"1/{theirs.cpu_s / ours.cpu_s:.1f}"))
    return rows


def rate_row(options: argparse.Namespace, folder: Path) -> Row:
    """Measure the calls a second between the first request and the last reply, where replies take their time."""
    ideal = CONNECTIONS / (LATENCY_MS / 1000)
    count = options.samples * 4
    rates: list[float] = []
    with serving(options.server, LATENCY_MS) as server:
        exact_match.write(folder, count, server)
        for turn in range(options.rounds):
            server.asked()
            exact_match.check(take(exact_match.run(f"results{turn}", CONNECTIONS), folder).out, count, server.asked())
            rates.append(count / exact_match.ask(folder, exact_match.SPAN, f"results{turn}"))
    rate = statistics.median(rates)
    what = f"calls a second, {LATENCY_MS} ms a reply, {CONNECTIONS} connections"
    return Row(what, f"{rate:,.0f}", f"possible: {ideal:,.0f}", f"{rate / ideal:.0%}", "90 % with workers")


def store_rows(options: argparse.Namespace, folder: Path) -> list[Row]:
    """Measure the leaderboard over a large store, warm and as a process."""
    root = Path(options.folder or folder) / "results"
    if not root.exists():
        large_store.build(root, options.scores // SCORES_A_SAMPLE)
    store = Store.open(root, create=False)
    connect(store).close()
    connection = connect(store)
    [(scores,)] = connection.execute("select count(*) from scores").fetchall()
    warm = fastest_s(lambda: connection.execute(LEADERBOARD).fetchall(), options.rounds + 1)
    connection.close()
    ours = ["sql", "--store", str(root), LEADERBOARD]
    whole = min(take_tripos(ours, folder).wall_s for _ in range(options.rounds + 1))
    floor = [sys.executable, "-c", "import duckdb; duckdb.connect().execute('select 1').fetchall()"]
    bare = min(take(floor, folder, beside_server=False).wall_s for _ in range(options.rounds + 1))
    what = f"leaderboard over {scores / 1e6:.1f} M scores"
    return [
        Row(f"{what}, warm", f"{warm:.2f} s", "", "", "0.1 s"),
        Row(f"{what}, a process", f"{whole:.2f} s", f"only DuckDB: {bare:.2f} s", _times(whole / bare), "0.25 s"),
    ]


def table(options: argparse.Namespace) -> list[str]:
    """Measure everything, and return the lines of the page."""
    loads, commit = [os.getloadavg()[0]], _commit()
    rows: list[Row] = []

    def add(measured: list[Row]) -> None:
        """Take in rows, and tell them at once: a later measurement may fail."""
        loads.append(os.getloadavg()[0])
        rows.extend(measured)
        print(*(row.cells for row in measured), sep="\n", file=sys.stderr, flush=True)

    add(start_rows(options.rounds))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with serving(options.server) as server:
            add(call_rows(options, server, folder))
            add(peer_rows(options, server, folder / "peers"))
        add([rate_row(options, folder / "rate")])
        add(store_rows(options, folder))
    busy = max(loads)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    told = f"{datetime.now(UTC):%Y-%m-%d}, begun at commit {commit}, Python {platform.python_version()}, {platform.system()}"
    machine = f"{platform.machine()} with {cores} cores, load at most {busy:.1f}"
    state = (
        "Other work shared the cores: quote the ratios of CPU alone. Seconds and rates say little."
        if busy > cores
        else "Quote the ratios, which depend less on the machine than the seconds do."
    )
    fewer = options.peer_rounds not in (None, options.rounds)
    peers_told = f", with the peers of {options.peer_rounds}" if fewer else ""
    return [
        f"Measured on {told},",
        f"{machine}, medians of {options.rounds} rounds in one session{peers_told}.",
        state,
        "",
        "| | Tripos | compared with | ratio | wanted |",
        "| --- | --- | --- | --- | --- |",
        *(row.cells for row in rows),
    ]


def write(lines: list[str]) -> None:
    """Put the table into the page, in place of the one that stands there."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", "utf-8")


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times"


def _commit() -> str:
    command = ["git", "-C", str(REPOSITORY), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into docs/explanation/performance.md")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer-rounds", type=int, help="rounds of the peers, which take long; else as many as all")
    parser.add_argument("--samples", type=int, default=3000)
    parser.add_argument("--scores", type=int, default=1_100_000)
    parser.add_argument("--cache", default=".peers", help="where the environments of the peers are kept")
    parser.add_argument("--make-peers", action="store_true", help="install the peers that are missing")
    parser.add_argument("--folder", help="where the large store is, or is left; without it, nothing is")
    server_option(parser)
    options = parser.parse_args()
    more_files()
    lines = table(options)
    print(*lines, sep="\n")
    if options.write:
        write(lines)


if __name__ == "__main__":
    main()
