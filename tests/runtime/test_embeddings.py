"""Embedding models: what they are sent, what is read of their answers, and what their vectors are kept as."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import Command
from tests.json_server import Posted, json_server
from tripos_runtime.models.base import Endpoint, Message, ModelError, Price, Reply, Request
from tripos_runtime.models.embeddings import mock_vector, open_embedding
from tripos_runtime.models.vectors import from_text, replies_of, to_text

TEXTS = ("一次函数", "光的折射", "a")


class Server:
    """Answers every request with `said`, a status and a body, and keeps what it was sent."""

    address: str
    said: tuple[int, Any]

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []

    def answer(self, posted: Posted) -> tuple[int, Any]:
        self.sent.append((posted.path, posted.data))
        return self.said


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    with json_server(made.answer) as made.address:
        yield made


def ask(server: Server, texts: tuple[str, ...] = TEXTS) -> Reply:
    """Return what an embedding model at the server replies to the texts."""
    endpoint = Endpoint(server.address)
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
    server.said = 200, entries([1.0, 0.0], [0.0, 1.0], [0.5, 0.5])
    reply = ask(server)
    replies = (reply, *reply.further_choices)
    assert [path for path, _ in server.sent] == ["/v1/embeddings"]
    assert server.sent[0][1]["input"] == list(TEXTS)
    assert [from_text(each.text).tolist() for each in replies] == [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    assert sum(each.tokens_in or 0 for each in replies) == 9
    assert sum(each.cost_usd or 0 for each in replies) == pytest.approx(9e-6)
    assert {each.model_served for each in replies} == {"bge-m3"}


def test_too_few_vectors_are_an_error(server: Server) -> None:
    server.said = 200, entries([1.0, 0.0])
    with pytest.raises(ModelError, match="1 vectors for 3 texts") as caught:
        ask(server)
    assert caught.value.code == "R0257"


def test_a_busy_server_may_be_asked_again(server: Server) -> None:
    server.said = 429, {"error": {"message": "slow down"}}
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
    assert sum(each.tokens_in or 0 for each in (reply, *reply.further_choices)) == 11


def test_the_mock_knows_likeness_of_letters() -> None:
    one, near, far = (np.asarray(mock_vector(text)) for text in ("一元二次方程", "二元一次方程", "光的折射"))
    assert one @ near > 2 * (one @ far)


def similar(server: Server, one: str, other: str) -> Reply:
    """Return what an embedding model at the server replies to a pair."""
    endpoint = Endpoint(server.address)
    model = open_embedding("openai/bge", {"openai": endpoint}, prices={"openai/bge": Price(1e-6, 0.0)})
    messages = Message("system", "How similar?"), Message("user", json.dumps([one, other]))

    async def asked() -> Reply:
        try:
            return await model.ask(Request("openai/bge", messages))
        finally:
            await model.close()

    return asyncio.run(asked())


@pytest.mark.parametrize("seed", range(20))
def test_a_pair_is_sent_as_two_texts_and_its_reply_is_their_cosine(seed: int, server: Server) -> None:
    one, other = np.random.default_rng(seed).normal(size=(2, 8)).round(3)
    server.said = 200, entries(one.tolist(), other.tolist())
    reply = similar(server, "光的折射", "a")
    assert server.sent[0][1]["input"] == ["光的折射", "a"]
    assert float(reply.text) == pytest.approx(one @ other / np.linalg.norm(one) / np.linalg.norm(other), abs=1e-6)
    assert (reply.tokens_in, reply.tokens_out, reply.model_served) == (9, 0, "bge-m3")
    assert reply.cost_usd == pytest.approx(9e-6)


@pytest.mark.parametrize(("one", "other", "value"), [("", " \n", 1.0), ("a", "", 0.0), (" ", "a", 0.0)])
def test_a_blank_text_of_a_pair_is_not_sent(one: str, other: str, value: float, server: Server) -> None:
    reply = similar(server, one, other)
    assert float(reply.text) == value
    assert reply.cost_usd == 0.0
    assert server.sent == []


@pytest.mark.parametrize("vectors", [([1.0, 0.0], [0.0, 0.0]), ([1.0], [1.0, 2.0]), ([1.0, 2.0],)])
def test_vectors_without_a_cosine_are_an_error(vectors: tuple[list[float], ...], server: Server) -> None:
    server.said = 200, entries(*vectors)
    with pytest.raises(ModelError) as caught:
        similar(server, "a", "b")
    assert caught.value.code == "R0257"


SPEC = """\
benchmark close "1.0.0" { languages en }
role candidate compared
role encoder
dataset item from "items.jsonl" { question text, answer text secret }
scorer near(one: text, other: text) by encoder { gives similarity }
scenario once {
  over item
  retrieve like from item as p { where p.question != item.question, top 1 by similarity(item.question, p.question) using encoder }
  ask reply by candidate { prompt "{{ item.question }} {{ json(like.question) }}" }
  score near   = near(reply.text, item.answer)
  score nearer = near(reply.text, item.answer) > near(reply.text, item.question)
}
measure closeness = mean(near)
"""
ITEMS = [{"question": f"What is {n} and {n + 1}?", "answer": f"It is {2 * n + 1}." if n else ""} for n in range(6)]


def test_a_similarity_is_asked_for_once_and_equals_that_of_the_vectors(
    tripos: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ITEMS), "utf-8")
    Path("close.tripos").write_text(SPEC, "utf-8")
    run = ("run", "close.tripos", "--model", "mock/careful", "--role", "encoder=mock/embedding", "--json")
    calls = json.loads(tripos(*run).out)["calls"]
    assert (calls["asked"], calls["left"]) == (4 * len(ITEMS), 0)  # a vector, a reply and two similarities an item
    sql = """
    select fields ->> 'answer' as answer, reply, value from close.scores join close.items using (item_id)
    join close.samples using (sample_id) where metric = 'near'
    """
    rows = json.loads(tripos("sql", sql, "--format", "json").out)
    assert len(rows) == len(ITEMS)
    for row in rows:
        one, other = (np.asarray(mock_vector(text)) for text in (row["reply"], row["answer"]))
        norm = np.linalg.norm(one) * np.linalg.norm(other)
        assert row["value"] == pytest.approx(one @ other / norm if norm else 0.0, abs=1e-6)
    assert json.loads(tripos(*run).out)["calls"]["asked"] == 0
