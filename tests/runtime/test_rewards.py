"""Reward models: batches, what fills their roles, and the servers that they may stand behind."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.runtime.contract_server import Sent, Server, answering, hanging, serving
from tripos.runs.compilation import find_spec
from tripos.settings.config import Config
from tripos.settings.runtime import limits_of
from tripos_runtime.models.base import FREE, DialogueTurn, Endpoint, Message, Model, ModelError, Price, Reply, Request
from tripos_runtime.models.families import open_model
from tripos_runtime.models.rewards import FULL, BatchedReward, Chat
from tripos_runtime.program.binding import BindingError, bind

ROOT = Path(__file__).parents[2]


@dataclass
class Counting:
    """Gives the length of each text, and keeps how many it was given at once."""

    name: str = "reward/counting"
    endpoint: str = "here"
    price: Price | None = FREE
    most: int = 64
    batches: int = 1
    sizes: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    bad: str | None = None

    async def score(self, chats: Sequence[Chat]) -> Sequence[float]:
        self.sizes.append(len(chats))
        await asyncio.sleep(0)
        if any(message.content == self.bad for chat in chats for message in chat):
            raise ModelError("R0107", "too long", "shorten it")
        return [float(len(chat[-1].content)) for chat in chats]

    async def close(self) -> None:
        self.sizes.append(-1)


def asked(model: Model, texts: Sequence[str]) -> list[Reply | BaseException]:
    async def all_of_them() -> list[Reply | BaseException]:
        requests = [Request(model.name, (Message("user", text),)) for text in texts]
        return await asyncio.gather(*map(model.ask, requests), return_exceptions=True)

    return asyncio.run(all_of_them())


def test_those_who_ask_one_by_one_are_served_in_batches_that_the_model_takes() -> None:
    model = Counting()
    replies = asked(BatchedReward(model), ["x" * size for size in range(200)])
    assert [reply.text for reply in replies if isinstance(reply, Reply)] == [f"{float(size)}" for size in range(200)]
    assert min(model.sizes[:-1]) >= FULL
    small = Counting(most=20)
    asked(BatchedReward(small), ["x"] * 100)
    assert max(small.sizes) == 20


def test_one_text_that_cannot_be_scored_does_not_fail_the_others() -> None:
    replies = asked(BatchedReward(Counting(bad="long")), ["a", "long", "bb"])
    assert [reply.text if isinstance(reply, Reply) else type(reply) for reply in replies] == ["1.0", ModelError, "2.0"]


def test_an_error_in_a_model_and_a_number_that_is_none_reach_whoever_asked_as_errors_of_ours() -> None:
    class Failing(Counting):
        async def score(self, chats: Sequence[Chat]) -> Sequence[float]:
            if chats[0][-1].content == "fail":
                raise RuntimeError("no weights")
            return [math.nan for _ in chats]

    for text, code, told in (("nan", "R0233", ""), ("fail", None, "no weights")):
        (reply,) = asked(BatchedReward(Failing()), [text])
        assert isinstance(reply, ModelError)
        assert code in (None, reply.code) and told in reply.message


def test_the_mock_gives_the_same_reward_alone_and_among_others() -> None:
    alone = asked(open_model("mock/reward"), ["b"])[0]
    among = asked(open_model("mock/reward"), ["a", "b", "c"])[1]
    other = asked(open_model("mock/reward:second"), ["b"])[0]
    assert isinstance(alone, Reply) and isinstance(among, Reply) and isinstance(other, Reply)
    assert alone.text == among.text != other.text


def test_rewards_are_computed_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()

    def noting(name: str, text: str) -> float:
        threads.add(threading.get_ident())
        return 0.0

    monkeypatch.setattr("tripos_runtime.models.rewards.mock_reward", noting)
    asked(open_model("mock/reward"), ["a"])
    assert threads and threading.get_ident() not in threads


# Servers


def vllm_pooling(sent: Sent) -> Any:
    entries = [
        {"index": index, "object": "pooling", "data": [float(len(text))]}
        for index, text in enumerate(sent.body["input"])
    ]
    usage = {"prompt_tokens": 7, "total_tokens": 7, "completion_tokens": 0}
    return {"id": "pool-1", "object": "list", "created": 1, "model": "tutor", "data": entries[::-1], "usage": usage}


def vllm_score(sent: Sent) -> Any:
    pairs = zip(sent.body["text_1"], sent.body["text_2"], strict=True)
    entries = [
        {"index": index, "object": "score", "score": len(one) - len(other)} for index, (one, other) in enumerate(pairs)
    ]
    return {"id": "score-1", "object": "list", "created": 1, "model": "tutor", "data": entries}


def tei(sent: Sent) -> Any:
    assert sent.body["raw_scores"] is True
    return [[{"score": float(len(text)), "label": "LABEL_0"}] for (text,) in sent.body["inputs"]]


def served(
    name: str, say: Callable[[Sent], Any], chats: Sequence[Chat], key: str | None = None
) -> tuple[list[Reply | BaseException], list[Sent]]:
    async def answer(sent: Sent) -> web.StreamResponse:
        return web.json_response(say(sent))

    return at_server(name, answer, chats, key)


def at_server(
    name: str, answer: Callable[[Sent], Awaitable[web.StreamResponse]], chats: Sequence[Chat], key: str | None = None
) -> tuple[list[Reply | BaseException], list[Sent]]:
    async def talk(server: Server) -> list[Reply | BaseException]:
        kind = name.partition("/")[0]
        model = open_model(name, {kind: Endpoint(server.base_url, key)}, timeout_s=0.3)
        try:
            return await asyncio.gather(*(model.ask(Request(name, chat)) for chat in chats), return_exceptions=True)
        finally:
            await model.close()

    return serving(answer, talk)


def user(*texts: str) -> list[Chat]:
    return [(Message("user", text),) for text in texts]


def texts_of(replies: Sequence[Reply | BaseException]) -> list[str]:
    return [reply.text if isinstance(reply, Reply) else repr(reply) for reply in replies]


def test_vllm_pools_several_texts_in_one_request_and_answers_in_any_order() -> None:
    replies, sent = served("vllm-pooling/tutor", vllm_pooling, user("a", "bbb"))
    assert texts_of(replies) == ["1.0", "3.0"]
    assert [(each.path, each.body) for each in sent] == [("/pooling", {"model": "tutor", "input": ["a", "bbb"]})]


def test_of_a_reward_for_each_token_the_last_counts() -> None:
    replies, _ = served(
        "vllm-pooling/tutor", lambda sent: {"data": [{"index": 0, "data": [[0.5], [-1.25]]}]}, user("a")
    )
    assert texts_of(replies) == ["-1.25"]


def test_vllm_pools_each_dialogue_as_messages_in_a_request_of_its_own() -> None:
    chats: list[Chat] = [
        (Message("system", "judge"), DialogueTurn("user", "12?", "Student"), DialogueTurn("assistant", said, "Teacher"))
        for said in ("Why?", "No, it is 13.")
    ]

    def number(sent: Sent) -> Any:
        return {"data": [{"index": 0, "data": [[9.0], [float(len(sent.body["messages"][-1]["content"]))]]}]}

    replies, sent = served("vllm-pooling/tutor", number, chats)
    assert texts_of(replies) == ["4.0", "13.0"]
    assert {each.path for each in sent} == {"/pooling"}
    bodies = sorted((each.body for each in sent), key=lambda body: len(body["messages"][-1]["content"]))
    assert bodies[0] == {
        "model": "tutor",
        "messages": [
            {"role": "system", "content": "judge"},
            {"role": "user", "content": "12?"},
            {"role": "assistant", "content": "Why?"},
        ],
        "add_generation_prompt": False,
        "use_activation": False,
    }


def test_servers_of_texts_are_sent_a_dialogue_as_a_transcript() -> None:
    chat = (Message("user", "2 × 6?"), DialogueTurn("user", "12?", "Ann"), DialogueTurn("assistant", "Why?", "Teacher"))
    _, sent = served("tei/tutor", tei, [chat])
    assert sent[0].body["inputs"] == [["2 × 6?\n\nAnn: 12?\nTeacher: Why?"]]
    _, sent = served("vllm-score/tutor", vllm_score, [chat])
    assert (sent[0].body["text_1"], sent[0].body["text_2"]) == (["2 × 6?\n\nAnn: 12?"], ["Why?"])


def test_vllm_scores_what_comes_before_with_the_last_message() -> None:
    chat = (Message("system", "four"), Message("user", "x"))
    replies, sent = served("vllm-score/tutor", vllm_score, [chat])
    assert texts_of(replies) == ["3.0"]
    assert (sent[0].path, sent[0].body["text_1"], sent[0].body["text_2"]) == ("/score", ["four"], ["x"])


def test_tei_predicts_raw_scores_of_no_more_texts_at_once_than_it_takes() -> None:
    replies, sent = served("tei/tutor", tei, user("a", "bb"))
    assert texts_of(replies) == ["1.0", "2.0"]
    assert (sent[0].path, sent[0].body["inputs"]) == ("/predict", [["a"], ["bb"]])
    replies, sent = served("tei/tutor", tei, user(*("x" * 80)))
    assert texts_of(replies) == ["1.0"] * 80
    assert max(len(each.body["inputs"]) for each in sent) == 32


def test_a_key_is_sent_where_one_is_named_and_none_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_REWARD_KEY", "secret-of-mine")
    _, with_key = served("tei/tutor", tei, user("a"), "MY_REWARD_KEY")
    _, without = served("tei/tutor", tei, user("a"))
    assert with_key[0].headers["authorization"] == "Bearer secret-of-mine"
    assert "authorization" not in without[0].headers


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("vllm-pooling/embedder", {"data": [{"index": 0, "data": [0.1, 0.2, 0.3]}]}),
        ("vllm-pooling/short", {"data": []}),
        ("vllm-pooling/odd", {"detail": "pooling"}),
        ("tei/classes", [[{"score": 0.9, "label": "good"}, {"score": 0.1, "label": "bad"}]]),
        ("tei/odd", [[]]),
        ("vllm-score/odd", {"data": [{"index": 0, "score": None}]}),
    ],
)
def test_what_is_no_reward_is_said_to_be_none(name: str, said: Any) -> None:
    replies, _ = served(name, lambda sent: said, user("a"))
    (reply,) = replies
    assert isinstance(reply, ModelError)
    assert reply.code == "R0233"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (answering({"error": "Model is overloaded", "error_type": "overloaded"}, 429), "R0104"),
        (answering({"error": "Inference failed", "error_type": "backend"}, 424), "R0110"),
        (answering({"error": "starting"}, 503), "R0111"),
        (answering({"error": "Unauthorized"}, 401), "R0102"),
        (answering({"object": "error", "message": "The model `tutor` does not exist."}, 404), "R0103"),
        (answering({"object": "error", "message": "This model's maximum context length is 512 tokens."}, 400), "R0107"),
        (hanging, "R0109"),
    ],
)
def test_an_error_of_a_server_is_one_of_ours(
    answer: Callable[[Sent], Awaitable[web.StreamResponse]], code: str
) -> None:
    [[reply], _] = at_server("tei/tutor", answer, user("a"))
    assert isinstance(reply, ModelError)
    assert reply.code == code


def test_a_server_without_an_address_is_said_to_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEI_BASE_URL", raising=False)
    with pytest.raises(ModelError, match="there is no address for `tei/tutor`") as error:
        open_model("tei/tutor")
    assert "[endpoints]" in error.value.hint


# Folders


@pytest.mark.parametrize(
    ("manifest", "code"),
    [
        (None, "R0234"),
        ("[]", "R0234"),
        ("{}", "R0234"),
        ("not JSON", "R0234"),
        ('{"kind": "encoder"}', "R0234"),
        (json.dumps({"kind": "unheard-of", "digest": "0" * 64}), "R0235"),
    ],
)
def test_a_folder_has_a_manifest_with_a_digest_and_a_kind_that_has_an_engine(
    tmp_path: Path, manifest: str | None, code: str
) -> None:
    if manifest is not None:
        (tmp_path / "manifest.json").write_text(manifest, "utf-8")
    with pytest.raises(ModelError) as error:
        open_model(f"reward/{tmp_path}")
    assert error.value.code == code


# Roles


@pytest.mark.parametrize(
    ("models", "others", "code"),
    [
        (("mock/careful",), {}, "R0231"),
        (("mock/careful",), {"critic": ("mock/careful",)}, "R0231"),
        (("mock/reward",), {"critic": ("mock/reward",)}, "R0232"),
        (("mock/careful",), {"critic": ("baseline/echo",)}, "R0231"),
    ],
)
def test_a_role_takes_models_of_its_kind(
    models: tuple[str, ...], others: dict[str, tuple[str, ...]], code: str
) -> None:
    plan = find_spec(str(ROOT / "docs" / "examples" / "mathtutorbench.tripos")).compile().plan
    assert plan is not None
    with pytest.raises(BindingError) as error:
        bind(plan, models, others)
    assert error.value.code == code


def test_what_was_set_for_an_endpoint_counts_before_what_a_reward_model_bears() -> None:
    def most(**endpoints: dict[str, object]) -> int | None:
        config = Config.model_validate({"endpoints": {"tei": {"base_url": "http://127.0.0.1:1"}} | endpoints})
        model = open_model("tei/tutor", {"tei": Endpoint("http://127.0.0.1:1")})
        connections = limits_of(config, {"tei/tutor": model}).connections
        return connections.get("tei/tutor", connections.get("tei"))

    assert most() == 256
    assert most(tei={"base_url": "http://127.0.0.1:1", "max_connections": 8}) == 8
