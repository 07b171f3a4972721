"""The page of `tripos view` over a million scores, in headless Chromium: first pictures, filters, memory of the tab.

    python tests/bench/page.py [--samples 100000] [--folder DIR] [--rounds 3]

The store is that of `large_store.py`, with 11 scores a sample; `--folder` says where it is, or is left. Server and
browser run on this machine, so seconds include the work of both. A time is the median of the rounds, each with a
server and a browser of its own; the first round of a store that was just written also reads it from disk.
"""

from __future__ import annotations

import argparse
import asyncio
import os
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
from tripos.view.server import app_of  # noqa: E402
from tripos_warehouse.store.store import Store  # noqa: E402

TOKEN = "t" * 32
RUN = "large"
FIRST_S, FILTER_S, TAB_MB = 2.0, 0.3, 500
"""The goals."""
COUNT = "document.querySelector('.bar [role=status]')?.innerText"
CHANGED = f"""(act => new Promise(done => {{
  const before = {COUNT}, start = performance.now();
  const look = () => {COUNT} === before ? requestAnimationFrame(look) : requestAnimationFrame(
    () => done((performance.now() - start) / 1000));
  act(); look();
}}))"""
BOX = "() => document.querySelectorAll('.filters input[type=checkbox]')[{0}].click()"
PICK = """() => {{ const all = [...document.querySelectorAll('.filters select')];
  const one = all.find(each => each.parentElement.innerText.startsWith('{0}'));
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
        goal = TAB_MB if "MB" in what else FILTER_S if what.startswith("filter") else FIRST_S
        missed += value > goal
        print(f"{what:60} {value:8.2f}   wanted {goal:g}{'  MISSED' if value > goal else ''}")
    return int(missed > 0)


async def measured(root: Path, made: Path) -> dict[str, float]:
    """Return seconds and megabytes, by what they are of."""
    view = ViewFiles(lambda: Store.open(root, create=False), made)
    found: dict[str, float] = {}
    async with Browser() as browser, browser.page() as page, TestServer(app_of(view, TOKEN)) as server:
        where = str(server.make_url(f"/{TOKEN}/"))
        found["first picture: runs, seconds"] = await opened(page, f"{where}#/", ".list tbody tr")
        samples = f"{where}#/run/{RUN}/samples"
        found["first picture: samples, whose table is made, seconds"] = await opened(page, samples, ".line .score")
        found["first picture: samples again, seconds"] = await opened(page, samples, ".line .score")
        found["first picture: one sample, seconds"] = await opened(page, f"{where}#/run/{RUN}/sample/70000", ".reply")
        await opened(page, samples, ".line .score")
        found["filter: language, seconds"] = await page.evaluate(f"{CHANGED}({BOX.format(0)})")
        found["filter: language off, seconds"] = await page.evaluate(f"{CHANGED}({BOX.format(0)})")
        found["filter: scenario, seconds"] = await page.evaluate(f"{CHANGED}({PICK.format('scenario', 2)})")
        first = await page.evaluate(f"{CHANGED}({PICK.format('metric', 2)})")
        found["first picture: a metric, with 1.1 M scores to read, seconds"] = first
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
    await page.until(f"document.querySelector({shown!r})")
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
