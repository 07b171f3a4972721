"""Embedding models: what they are sent, what is read of their answers, and what their vectors are kept as."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from tripos_runtime.models.base import Endpoint, Message, ModelError, Price, Reply, Request
from tripos_runtime.models.embeddings import mock_vector, open_embedding
from tripos_runtime.models.vectors import from_text, replies_of, to_text

TEXTS = ("一次函数", "光的折射", "a")


class Server(ThreadingHTTPServer):
    """Answers every request with `answer`, a status and a body, and keeps what it was sent."""

    answer: tuple[int, Any]
    sent: list[tuple[str, Any]]


class Handler(BaseHTTPRequestHandler):
    """One request."""

    def do_POST(self) -> None:
        """Keep it and answers."""
        server = self.server
        assert isinstance(server, Server)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.sent.append((self.path, body))
        status, answer = server.answer
        said = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as made:
        made.sent = []
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server: Server, texts: tuple[str, ...] = TEXTS) -> Reply:
    """Return what an embedding model at the server replies to the texts."""
    endpoint = Endpoint(f"http://127.0.0.1:{server.server_port}/v1")
    model = open_embedding("openai/bge", {"openai": endpoint}, prices={"openai/bge": Price(1e-6, 0.0)})

    async def asked() -> Reply:
        try:
            return await model.ask(Request("openai/bge", tuple(Message("user", text) for text in texts)))
        finally:
            await model.close()

    return asyncio.run(asked())


def entries(*vectors: list[float]) -> dict[str, Any]:
    data = [{"object": "embedding", "index": at, "embedding": each} for at, each in enumerate(vectors)]
    return {"object": "list", "model": "bge-m3", "data": data, "usage": {"prompt_tokens": 9, "total_tokens": 9}}


def test_many_texts_go_in_one_request_and_each_has_its_vector_and_its_share(server: Server) -> None:
    server.answer = 200, entries([1.0, 0.0], [0.0, 1.0], [0.5, 0.5])
    reply = ask(server)
    replies = (reply, *reply.others)
    assert [path for path, _ in server.sent] == ["/v1/embeddings"]
    assert server.sent[0][1]["input"] == list(TEXTS)
    assert [from_text(each.text).tolist() for each in replies] == [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    assert sum(each.tokens_in or 0 for each in replies) == 9
    assert sum(each.cost_usd or 0 for each in replies) == pytest.approx(9e-6)
    assert {each.model_served for each in replies} == {"bge-m3"}


def test_too_few_vectors_are_an_error(server: Server) -> None:
    server.answer = 200, entries([1.0, 0.0])
    with pytest.raises(ModelError, match="1 vectors for 3 texts") as caught:
        ask(server)
    assert caught.value.code == "R0257"


def test_a_busy_server_may_be_asked_again(server: Server) -> None:
    server.answer = 429, {"error": {"message": "slow down"}}
    with pytest.raises(ModelError) as caught:
        ask(server)
    assert (caught.value.code, caught.value.retryable) == ("R0104", True)


def test_a_vector_outlives_being_text() -> None:
    vector = np.asarray([0.1, -2.5, 3e-9], np.float32)
    assert from_text(to_text(vector)).tolist() == vector.tolist()


@pytest.mark.parametrize("text", ["", "?", "AAA", to_text([float("nan")]), to_text([float("inf")])])
def test_what_is_no_finite_vector_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a vector"):
        from_text(text)


def test_the_shares_of_tokens_sum_up_to_the_whole() -> None:
    texts = ["a" * size for size in (1, 7, 30, 2)]
    reply = replies_of([[1.0]] * 4, texts, "m", 11, Price(2e-6, 0.0))
    assert sum(each.tokens_in or 0 for each in (reply, *reply.others)) == 11


def test_the_mock_knows_likeness_of_letters() -> None:
    one, near, far = (np.asarray(mock_vector(text)) for text in ("一元二次方程", "二元一次方程", "光的折射"))
    assert one @ near > 2 * (one @ far)
