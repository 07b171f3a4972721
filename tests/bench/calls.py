"""CPU and memory of a call: `tripos run` as a whole process beside a bare aiohttp client, in the same session.

    python tests/bench/calls.py [--calls 5000 20000] [--concurrency 64] [--rounds 3] [--server ../shared/bench/mock_openai.py]

The two take turns, the medians are printed, and the ratio is what to quote. With two numbers of calls the CPU of one
more call is printed too: the difference of the two, so that what a process takes to start is in neither. The server is
any OpenAI-compatible mock that takes `--port`; it has a core of its own where there are two.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from pathlib import Path

import exact_match
from processes import Server, Taken, median, more_files, server_option, serving, take

BARE = """\
import asyncio, sys, aiohttp, orjson
url, calls, concurrency = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
async def main():
    numbers, right = iter(range(calls)), 0
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        async def work():
            nonlocal right
            for number in numbers:
                body = {"model": "mock-model", "messages": [{"role": "user", "content": f"question {number}"}]}
                headers = {"content-type": "application/json"}
                async with session.post(url, data=orjson.dumps(body), headers=headers) as reply:
                    text = orjson.loads(await reply.read())["choices"][0]["message"]["content"]
                    right += text.endswith("ANSWER: 42")
        await asyncio.gather(*(work() for _ in range(concurrency)))
    assert right == calls
asyncio.run(main())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, nargs="+", default=[5000, 20000])
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    server_option(parser)
    options = parser.parse_args()
    more_files()
    counts = sorted(options.calls)
    with serving(options.server) as server, tempfile.TemporaryDirectory() as name:
        taken = {calls: measure(Path(name) / str(calls), calls, options, server) for calls in counts}
    for calls in counts:
        tripos, bare = taken[calls]
        show("tripos", tripos, calls)
        show("bare aiohttp", bare, calls)
        print(f"CPU ratio {tripos.cpu_s / bare.cpu_s:.2f} with {calls:,} calls, starting included")
    for less, more in itertools.pairwise(counts):
        one_more = [(taken[more][who].cpu_s - taken[less][who].cpu_s) / (more - less) * 1000 for who in (0, 1)]
        told = f"one more call, {less:,} to {more:,}: tripos {one_more[0]:.3f} ms CPU, bare {one_more[1]:.3f} ms"
        print(f"{told}, ratio {one_more[0] / one_more[1]:.2f}")


def measure(folder: Path, calls: int, options: argparse.Namespace, server: Server) -> tuple[Taken, Taken]:
    """Return the medians of Tripos and of the bare client for so many calls."""
    exact_match.write(folder, calls, server)
    (folder / "bare.py").write_text(BARE)
    client = [sys.executable, "bare.py", f"{server.base_url}/chat/completions", str(calls), str(options.concurrency)]
    tripos: list[Taken] = []
    bare: list[Taken] = []
    for turn in range(options.rounds):
        server.asked()
        tripos.append(take(exact_match.run(f"results{turn}", options.concurrency), folder))
        exact_match.check(tripos[-1].out, calls, server.asked())
        bare.append(take(client, folder))
    return median(tripos), median(bare)


def show(name: str, taken: Taken, calls: int) -> None:
    """Print a line of figures."""
    a_call = f"{calls / taken.wall_s:8,.0f} calls/s  {taken.cpu_s / calls * 1000:6.3f} ms CPU a call"
    print(f"{name:13} {calls:7,} calls  {a_call}  {taken.wall_s:6.2f} s wall  {taken.rss_mb:5.0f} MB")


if __name__ == "__main__":
    main()
