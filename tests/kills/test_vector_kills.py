"""A run that is killed while it has texts embedded, and started again, asks for no vector twice that had arrived."""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.kills.accounts import MARGIN_S
from tests.kills.contents import contents, differences, doubles
from tests.kills.lives import LONGEST_S, Life, Starter, starting
from tests.lengths import sized
from tripos_runtime.models.embeddings import mock_vector
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
TITLES, ROWS, KILLS, LOOK_S = 400, 12, sized(2, 8), 0.004
LATENCY_S = 0.1
SPEC = """\
benchmark nearest "1.0.0" { languages en }
role candidate compared
role encoder
dataset item from "items.jsonl" { question text }
dataset pool from "pool.jsonl" { title text }
scenario find {
  over item
  retrieve near from distinct(pool.title) as t { top 3 by similarity(item.question, t) using encoder }
  ask reply by candidate { prompt "{{ item.question }} {{ bullets(near) }}" }
  score long = words(reply.text) > 3
}
"""


@dataclass
class Batch:
    """Texts that a process asked for in one request; `handed_s` is when their vectors went out."""

    process: str
    texts: tuple[str, ...]
    handed_s: float | None = None


@dataclass
class Log:
    """Every request, in the order in which they came."""

    batches: list[Batch] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def handed(self, process: str) -> int:
        """Return how many requests of a process were answered."""
        with self.lock:
            return sum(each.process == process and each.handed_s is not None for each in self.batches)


class EmbeddingServer(ThreadingHTTPServer):
    """Embeds texts in OpenAI's form; the first part of an address names the process that asks.

    A process in `most` is answered that many requests and no more, so that it is there to be killed on any machine."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.log = Log()
        self.most: dict[str, int] = {}
        self.closing = threading.Event()


class Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        assert isinstance(self.server, EmbeddingServer)
        log = self.server.log
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        batch = Batch(self.path.split("/")[1], tuple(asked["input"]))
        with log.lock:
            earlier = sum(each.process == batch.process for each in log.batches)
            log.batches.append(batch)
        if earlier >= self.server.most.get(batch.process, sys.maxsize):
            self.server.closing.wait()
            return
        time.sleep(LATENCY_S * (len(batch.texts[0]) % 3 + 1) / 3)
        entries = [{"index": at, "embedding": mock_vector(text)[:32]} for at, text in enumerate(batch.texts)]
        usage = {"prompt_tokens": len(batch.texts), "total_tokens": len(batch.texts)}
        body = json.dumps({"object": "list", "model": asked["model"], "data": entries, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        with log.lock:
            batch.handed_s = time.monotonic()


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    serving = EmbeddingServer()
    thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
    thread.start()
    yield serving
    serving.closing.set()
    serving.shutdown()
    thread.join()
    serving.server_close()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A spec whose rows look for the nearest of four hundred titles."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "nearest.tripos").write_text(SPEC, "utf-8")
    named = (f"title {number} of {number % 17} parts" + "!" * (number % 5) for number in range(TITLES))
    titles = (json.dumps({"title": title}) for title in named)
    (folder / "pool.jsonl").write_text("\n".join(titles), "utf-8")
    rows = (json.dumps({"question": f"which title has {number} parts?"}) for number in range(ROWS))
    (folder / "items.jsonl").write_text("\n".join(rows), "utf-8")
    return folder


def start(starter: Starter, name: str, server: EmbeddingServer, work: Path, store: Path) -> Life:
    cwd = starter.folder / store.name / name
    cwd.mkdir(parents=True)
    address = f"http://127.0.0.1:{server.server_port}/{name}"
    (cwd / "tripos.toml").write_text(f'[endpoints."openai/encoder"]\nbase_url = "{address}"\nname = "kills"\n', "utf-8")
    command = ["run", str(work / "nearest.tripos"), "--store", str(store), "--json", "--max-connections", "2"]
    return starter.launch(name, cwd, [*command, "--model", "mock/careful", "--role", "encoder=openai/encoder"])


def again(log: Log, stopped_s: dict[str, float]) -> list[str]:
    """Return the texts that were asked for again although their vectors had been handed over, a margin before the
    end of the process that asked, or to one that went on."""
    settled: dict[str, str] = {}
    found = []
    for batch in log.batches:
        found += [f"{text}: `{batch.process}` after `{settled[text]}`" for text in batch.texts if text in settled]
        stop = stopped_s.get(batch.process)
        if batch.handed_s is not None and (stop is None or batch.handed_s <= stop - MARGIN_S):
            settled |= dict.fromkeys(batch.texts, batch.process)
    return found


def test_no_text_is_embedded_twice_however_often_a_run_is_killed(
    tmp_path: Path, work: Path, server: EmbeddingServer
) -> None:
    rng = random.Random(9)
    with starting(tmp_path / "starter") as starter:
        peace = tmp_path / "stores" / "peace"
        first = start(starter, "peace", server, work, peace)
        assert first.end() == 0, first.told()
        wanted = {text for batch in server.log.batches for text in batch.texts}
        assert len(wanted) == TITLES + ROWS
        assert not again(server.log, {})
        server.log.batches.clear()

        store, stopped_s = tmp_path / "stores" / "killed", {}
        for number in range(KILLS):
            count, latest_s = rng.randint(1, 2), time.monotonic() + LONGEST_S
            server.most[f"life{number}"] = count
            life = start(starter, f"life{number}", server, work, store)
            while server.log.handed(life.name) < count and not life.wait(LOOK_S):
                assert time.monotonic() < latest_s, f"`{life.name}` hangs:\n{life.told()}"
            life.wait(rng.choice((0.0, 0.02, 2 * MARGIN_S)))
            life.kill()
            if life.stopped_s is not None:
                stopped_s[life.name] = life.stopped_s
        last = start(starter, "last", server, work, store)
        assert last.end() == 0, last.told()

    assert len(stopped_s) >= 2
    assert not again(server.log, stopped_s)
    assert {text for batch in server.log.batches for text in batch.texts} == wanted
    assert not differences(contents(store), contents(peace))
    assert not doubles(store)
    with connect(Store.open(store, create=False)) as connection:
        kept = connection.execute("select text from main.vectors order by text").fetchall()
    assert [text for (text,) in kept] == sorted(wanted)


def test_a_text_that_is_asked_for_after_its_vector_had_arrived_is_found() -> None:
    kept, late = Batch("one", ("a",), handed_s=1.0), Batch("one", ("b",), handed_s=2.0)
    log = Log([kept, late, Batch("two", ("a", "b"), handed_s=4.0)])
    assert again(log, {"one": 2.0 + MARGIN_S / 2}) == ["a: `two` after `one`"]
