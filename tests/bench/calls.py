"""Calls a second and CPU a call: `tripos run` as a whole process beside a bare aiohttp client in the same session.

    python tests/bench/calls.py [--calls 2000] [--concurrency 64] [--server ../shared/bench/mock_openai.py]

The server is any OpenAI-compatible mock that takes `--port`. Medians of three, in turn; the ratio is what to quote.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

SPEC = """\
benchmark calls "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text }
scenario echo {
  over item
  ask answer by candidate { prompt "{{ item.question }}" }
  score correct = contains(answer.text, "ANSWER: 42")
}
measure accuracy = mean(correct)
"""

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
                    right += "ANSWER: 42" in text
        await asyncio.gather(*(work() for _ in range(concurrency)))
    assert right == calls
asyncio.run(main())
"""


def timed(command: list[str], folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    env = os.environ | {"OPENAI_API_KEY": "x"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=env, check=False)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--server", default="../shared/bench/mock_openai.py")
    options = parser.parse_args()
    if not Path(options.server).exists():
        sys.exit(f"no mock server at {options.server}: name one with --server")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([sys.executable, options.server, "--port", str(port)], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        server.stdout.readline()
        with tempfile.TemporaryDirectory() as name:
            measure(options, port, Path(name))
    finally:
        server.terminate()


def measure(options: argparse.Namespace, port: int, folder: Path) -> None:
    base = f"http://127.0.0.1:{port}/v1"
    (folder / "calls.tripos").write_text(SPEC)
    (folder / "bare.py").write_text(BARE)
    (folder / "tripos.toml").write_text(f'[endpoints."openai/mock-model"]\nbase_url = "{base}"\n')
    rows = (json.dumps({"question": f"question {number}"}) for number in range(options.calls))
    (folder / "items.jsonl").write_text("\n".join(rows))
    tripos: list[tuple[float, float]] = []
    bare: list[tuple[float, float]] = []
    run = [sys.executable, "-m", "tripos", "run", "calls.tripos", "--model", "openai/mock-model", "--json"]
    for turn in range(options.rounds):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/reset").read()
        limit = ["--max-connections", str(options.concurrency), "--store", f"results{turn}"]
        tripos.append(timed([*run, *limit], folder))
        asked = json.loads(urllib.request.urlopen(f"http://127.0.0.1:{port}/stats").read())["requests"]
        assert asked == options.calls, f"the server counted {asked} requests"
        client = [sys.executable, "bare.py", f"{base}/chat/completions", str(options.calls), str(options.concurrency)]
        bare.append(timed(client, folder))
    start, _ = timed([sys.executable, "-c", "import litellm, duckdb, pyarrow"], folder)
    show("tripos", tripos, options.calls)
    show("bare aiohttp", bare, options.calls)
    ratio = statistics.median(cpu for _, cpu in tripos) / statistics.median(cpu for _, cpu in bare)
    print(f"CPU ratio {ratio:.1f}; importing litellm, duckdb and pyarrow alone takes {start:.1f} s of each tripos run")


def show(name: str, times: list[tuple[float, float]], calls: int) -> None:
    wall = statistics.median(each for each, _ in times)
    cpu = statistics.median(each for _, each in times)
    print(f"{name:13} {calls / wall:8.0f} calls/s  {cpu / calls * 1000:6.2f} ms CPU a call  {wall:6.2f} s wall")


if __name__ == "__main__":
    main()
