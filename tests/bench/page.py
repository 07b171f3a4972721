"""The page of `tripos view` over a million scores, in headless Chromium: first pictures, filters, memory of the tab.

    python tests/bench/page.py [--samples 100000] [--folder DIR] [--rounds 3]

The store is that of `large_store.py`, with 11 scores a sample; `--folder` says where it is, or is left. Server and
browser run on this machine, so seconds include the work of both. A time is the median of the rounds, each with a
servers and browsers of its own; the first round of a store that was just written also reads it from disk. A second
server finds what the first kept in the store.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT)]

import large_store  # noqa: E402
from aiohttp.test_utils import TestServer  # noqa: E402

from tests.view.chromium import PROGRAM, Browser, Page  # noqa: E402
from tripos.view.files import ViewFiles  # noqa: E402
from tripos.view.server import make_app  # noqa: E402
from tripos_warehouse.store.store import Store  # noqa: E402

TOKEN = "t" * 32
RUN = "large"
GOALS = {"first picture": 2.0, "filter": 0.3, "memory of the tab": 500}
"""The goals, by how the lines begin."""
COUNT = "document.querySelector('.bar [role=status]')?.innerText"
WHOLE = "document.querySelector('[aria-busy=false] .line .score')"
CHANGED = f"""(act => new Promise(done => {{
  const before = {COUNT}, start = performance.now();
  const look = () => {COUNT} === before ? requestAnimationFrame(look) : requestAnimationFrame(
    () => done((performance.now() - start) / 1000));
  act(); look();
}}))"""
BOX = "() => document.querySelectorAll('.filters input[type=checkbox]')[{0}].click()"
PICK = """() => {{ const all = [...document.querySelectorAll('.filters select')];
  const one = all.find(each => each.parentElement.innerText.toLowerCase().startsWith('{0}'));
  one.value = one.options[{1}].value; one.dispatchEvent(new Event('change')); }}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder")
    options = parser.parse_args()
    if PROGRAM is None:
        sys.exit("there is no Chromium on this machine")
    with tempfile.TemporaryDirectory() as name:
        root = Path(options.folder or name) / "results"
        if not root.exists():
            large_store.build(root, options.samples)
        found: dict[str, list[float]] = defaultdict(list)
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as made:
                for what, value in asyncio.run(measured(root, Path(made))).items():
                    found[what].append(value)
    missed = 0
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, medians of {options.rounds}")
    for what, values in found.items():
        value = statistics.median(values)
        goal = next((each for start, each in GOALS.items() if what.startswith(start)), None)
        missed += goal is not None and value > goal
        told = "" if goal is None else f"   wanted {goal:g}{'  MISSED' if value > goal else ''}"
        print(f"{what:60} {value:8.2f}{told}")
    return int(missed > 0)


async def measured(root: Path, made: Path) -> dict[str, float]:
    """Return seconds and megabytes, by what they are of."""
    lasting = root / "cache/view"
    shutil.rmtree(lasting, ignore_errors=True)
    found = {**await new_store(root, made / "one", lasting), **await known_store(root, made / "two", lasting)}
    found["kept in the store, MB"] = sum(path.stat().st_size for path in lasting.rglob("*") if path.is_file()) / 1e6
    return found


async def new_store(root: Path, made: Path, lasting: Path) -> dict[str, float]:
    """Measure a store of which nobody looked at this state."""
    view = ViewFiles(lambda: Store.open(root, create=False), made, lasting=lasting)
    found: dict[str, float] = {}
    async with Browser() as browser, browser.page() as page, TestServer(make_app(view, TOKEN)) as server:
        where = str(server.make_url(f"/{TOKEN}/"))
        found["first picture: runs, seconds"] = await opened(page, f"{where}#/", ".list tbody tr")
        samples = f"{where}#/run/{RUN}/samples"
        found["first picture: samples, seconds"] = await opened(page, samples, ".line .score")
        started = time.perf_counter()
        await page.until(WHOLE)
        found["then until all samples are there, seconds"] = time.perf_counter() - started
        found["first picture: one sample, seconds"] = await opened(page, f"{where}#/run/{RUN}/sample/70000", ".reply")
        await opened(page, samples, WHOLE)
        first = await page.evaluate(f"{CHANGED}({PICK.format('metric', 2)})")
        found["then the marks by metric, seconds"] = first
        while not all((lasting / path).is_file() for path in paths_of(view)):
            await asyncio.sleep(0.5)
        assert page.problems == [], page.problems
    view.close()
    return found


def paths_of(view: ViewFiles) -> list[str]:
    """Return where the tables lie that the server makes ahead."""
    tables = json.loads(view.json(f"runs/{RUN}/tables.json") or b"{}")["tables"]
    return [f"{view.state()}/{tables[name]['path']}" for name in ("marks", "scores", "judgements")]


async def known_store(root: Path, made: Path, lasting: Path) -> dict[str, float]:
    """Measure a store that another process looked at before, in the same state."""
    view = ViewFiles(lambda: Store.open(root, create=False), made, lasting=lasting)
    found: dict[str, float] = {}
    async with Browser() as browser, browser.page() as page, TestServer(make_app(view, TOKEN)) as server:
        where = str(server.make_url(f"/{TOKEN}/"))
        samples = f"{where}#/run/{RUN}/samples"
        found["first picture: samples again, seconds"] = await opened(page, samples, ".line .score")
        started = time.perf_counter()
        await page.until(WHOLE)
        found["then until all samples are there again, seconds"] = time.perf_counter() - started
        found["first picture: one sample again, seconds"] = await opened(
            page, f"{where}#/run/{RUN}/sample/70000", ".reply"
        )
        await opened(page, samples, WHOLE)
        found["filter: language, seconds"] = await page.evaluate(f"{CHANGED}({BOX.format(0)})")
        found["filter: language off, seconds"] = await page.evaluate(f"{CHANGED}({BOX.format(0)})")
        found["filter: scenario, seconds"] = await page.evaluate(f"{CHANGED}({PICK.format('scenario', 2)})")
        found["filter: a metric, seconds"] = await page.evaluate(f"{CHANGED}({PICK.format('metric', 2)})")
        found["filter: another metric, seconds"] = await page.evaluate(f"{CHANGED}({PICK.format('metric', 1)})")
        found["memory of the tab, MB"] = tab_mb(browser.profile)
        assert page.problems == [], page.problems
    view.close()
    return found


async def opened(page: Page, address: str, shown: str) -> float:
    """Return the seconds until an element is in sight, in a page that was elsewhere before."""
    await page.call("Page.navigate", url="about:blank")
    started = time.perf_counter()
    await page.call("Page.navigate", url=address)
    await page.until(shown if shown == WHOLE else f"document.querySelector({shown!r})")
    return time.perf_counter() - started


def tab_mb(profile: str) -> float:
    """Return the memory of the largest process that draws a page of the browser with this profile."""
    found = [0.0]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_text()
            if "--type=renderer" in command and profile in command:
                pages = int((process / "statm").read_text().split()[1])
                found.append(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
        except OSError:
            continue
    return max(found)


if __name__ == "__main__":
    sys.exit(main())
