"""Time from a keystroke to fresh diagnostics, in this process and over standard input and output with a real client.

    python tests/bench/keystroke.py [--lines 1000] [--edits 200] [--seed 1]

The spec is EduBench with its scenarios repeated under new names, in one file. A keystroke puts in or takes out one
character in a random place: in prose, in names, in numbers, at braces, quotes and line ends; the next one undoes it, and
counts too. In this process the time is that of the compilation and of the diagnostics as the protocol has them; over
standard input and output it is what a client waits for, the delay in which the server lets further keystrokes come
included. The ratio is to a compilation of the same texts without a memory, data files read anew.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from check import EDUBENCH, tripos_spec
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient
from pygls.uris import from_fs_path

from tripos.lsp.diagnostics import Reports
from tripos.lsp.server import GC_THRESHOLDS
from tripos.lsp.session import EditorSession
from tripos_compiler.compile import compile_spec
from tripos_runtime.datasets.data_files import DataFolders

TYPED = 'abcxyz0 .,{}()"|#=\n学'
WAIT_S = 30
Edit = tuple[int, int, str, str]
"""What stands from where to where, what is written instead, and the text afterwards."""


def keystrokes(text: str, count: int, seed: int) -> Iterator[Edit]:
    """Random edits, each of which the next one undoes."""
    chance = random.Random(seed)
    signs = [index for index, char in enumerate(text) if char in '{}()"|=,\n']
    for number in range(count // 2):
        place = chance.choice(signs) if number % 4 == 0 else chance.randrange(len(text))
        old = text[place] if chance.random() < 0.4 else ""
        new = "" if old else chance.choice(TYPED)
        changed = text[:place] + new + text[place + len(old) :]
        yield place, place + len(old), new, changed
        yield place, place + len(new), old, text


def in_process(path: Path, text: str, edits: list[Edit]) -> tuple[list[float], list[float]]:
    """Return milliseconds of each keystroke, as the server does its work, by the clock and of the processor."""
    session = EditorSession("utf-16", (str(path.parent),))
    reports = Reports(session)
    uri = str(from_fs_path(str(path)))
    session.put(uri, text, 0)
    reports.after(path.as_posix())
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    clock, processor = [], []
    for version, (_, _, _, changed) in enumerate(edits, 1):
        started, worked = time.perf_counter(), time.process_time()
        session.put(uri, changed, version)
        reports.after(path.as_posix())
        clock.append((time.perf_counter() - started) * 1000)
        processor.append((time.process_time() - worked) * 1000)
    return clock, processor


def without_memory(path: Path, edits: list[Edit]) -> tuple[list[float], list[float]]:
    """Return milliseconds of a compilation that knows nothing of earlier ones, by the clock and of the processor."""
    clock, processor = [], []
    for *_, changed in edits:
        started, worked = time.perf_counter(), time.process_time()
        compile_spec(path.as_posix(), lambda _, text=changed: text, DataFolders())
        clock.append((time.perf_counter() - started) * 1000)
        processor.append((time.process_time() - worked) * 1000)
    return clock, processor


async def over_stdio(path: Path, text: str, edits: list[Edit]) -> list[float]:
    """Return milliseconds from when a client sends a change to when it has the diagnostics of that version."""
    client = LanguageClient("bench", "1")
    news: asyncio.Queue[int | None] = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def heard(params: lsp.PublishDiagnosticsParams) -> None:
        if params.uri == uri:
            news.put_nowait(params.version)

    async def fresh(version: int) -> None:
        while await asyncio.wait_for(news.get(), WAIT_S) != version:
            pass

    uri = str(from_fs_path(str(path)))
    root = str(from_fs_path(str(path.parent)))
    await client.start_io(sys.executable, "-m", "tripos", "lsp", env=dict(os.environ))
    await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities(), root_uri=root))
    client.initialized(lsp.InitializedParams())
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "tripos", 0, text)))
    await fresh(0)
    found = []
    before = text
    for version, (start, end, new, changed) in enumerate(edits, 1):
        place = lsp.Range(position(before, start), position(before, end))
        change = lsp.TextDocumentContentChangePartial(place, new)
        document = lsp.VersionedTextDocumentIdentifier(version, uri)
        started = time.perf_counter()
        client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))
        await fresh(version)
        found.append((time.perf_counter() - started) * 1000)
        before = changed
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return found


def position(text: str, place: int) -> lsp.Position:
    """Return a place in UTF-16 units."""
    line = text.count("\n", 0, place)
    begin = text.rfind("\n", 0, place) + 1
    return lsp.Position(line, len(text[begin:place].encode("utf-16-le")) // 2)


def show(what: str, found: list[float]) -> None:
    """Print median and 95th percentile."""
    ordered = sorted(found)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    print(f"{what:<34} median {statistics.median(found):7.1f} ms   p95 {p95:7.1f} ms   worst {ordered[-1]:7.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    text = tripos_spec(options.lines)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "spec.tripos"
        path.write_text(text, "utf-8")
        (path.parent / "items").symlink_to(EDUBENCH / "items")
        edits = list(keystrokes(text, options.edits, options.seed))
        print(f"{text.count(chr(10)):,} lines, {len(edits)} keystrokes")
        kept, kept_cpu = in_process(path, text, edits)
        anew, anew_cpu = without_memory(path, edits)
        show("over standard input and output", asyncio.run(over_stdio(path, text, edits)))
        show("in process, with memory", kept)
        show("  of the processor", kept_cpu)
        show("in process, without memory", anew)
        show("  of the processor", anew_cpu)
        ratios = [one / other for one, other in zip(anew_cpu, kept_cpu, strict=True)]
        print(
            f"with memory {statistics.median(ratios):.1f} times as fast, in time of the processor (median of the ratios)"
        )


if __name__ == "__main__":
    main()
