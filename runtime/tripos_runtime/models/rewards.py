"""Reward models: they return a number for a chat.

They fill the roles of scorers with `reward`, and no others. For the rest of the runtime a reward model is a `Model`
whose reply is the number (`BatchedReward`), so scheduling, budgets and the ledger need no special case. Each unit asks
for one chat; the model gets many chats together, since an encoder needs little more time for sixteen than for one.

`mock/reward` needs no weights: its number is a hash of the text. The other kinds are servers, or models on this machine
(`trained_rewards.py`). The servers:

| name | sends | reads |
| --- | --- | --- |
| `vllm-pooling/NAME` | `POST /pooling`, `{"model", "input": [texts]}` | a number, or the last of many |
| | for a dialogue `POST /pooling`, `{"model", "messages", "use_activation": false}` | the same |
| `vllm-score/NAME` | `POST /score`, `{"model", "text_1": [before], "text_2": [last]}` | `data[i].score` |
| `tei/NAME` | `POST /predict`, `{"inputs": [[text], …], "raw_scores": true}` | the score of the one label |"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

import orjson

from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import FREE, DialogueTurn, Endpoint, Message, Model, ModelError, Price, Reply, Request
from tripos_runtime.models.catalog import Provider, is_local_endpoint
from tripos_runtime.models.chat_completions import base_url_of, key_of, openai_headers
from tripos_runtime.models.errors import CallTarget, answer_error, model_error
from tripos_runtime.models.http import ModelConnection, headers_of

Chat = tuple[Message, ...]

PREFIXES = ("mock/reward", "reward/", "vllm-pooling/", "vllm-score/", "tei/")
"""The prefixes of the names of reward models."""
FULL = 16
"""The number of chats that are worth a call of their own; fewer wait briefly for others."""
MOST = 64
"""The largest number of chats at once, also for a model that accepts more."""
AT_ONCE = 256
"""The largest number of questions to a reward model in flight: they fill the next batch while one is computed."""
LINGER_S = 0.004
"""How long a batch of fewer chats waits for others, in seconds."""


class RewardModel(Protocol):
    """A model that returns a number for a chat. `endpoint` and `price` are as for `Model`; `most` is how many chats it
    accepts at once, `batches` how many concurrent calls of `score`."""

    @property
    def name(self) -> str: ...

    @property
    def endpoint(self) -> str: ...

    @property
    def price(self) -> Price | None: ...

    @property
    def most(self) -> int: ...

    @property
    def batches(self) -> int: ...

    async def score(self, chats: Sequence[Chat]) -> Sequence[float]:
        """Return a finite number for each chat, in their order. More is better, and the scale is the model's own. An
        implementation must not block the event loop: it computes in a thread. Raises `ModelError`."""
        ...

    async def close(self) -> None:
        """Close connections, threads and processes."""
        ...


def is_reward(name: str) -> bool:
    """Return true if the model of that name returns numbers instead of text.

    >>> is_reward("mock/reward"), is_reward("reward/models/tutor"), is_reward("mock/careful")
    (True, True, False)
    """
    return name.startswith(PREFIXES)


def as_text(chat: Chat) -> str:
    """Return a chat as one text, for models without messages; the turns of a dialogue become a transcript.

    >>> as_text((Message("system", "You grade."), Message("user", "2 + 2 = 5")))
    'You grade.\\n\\n2 + 2 = 5'
    >>> turns = DialogueTurn("user", "5", "Ann"), DialogueTurn("assistant", "Why?", "Teacher")
    >>> as_text((Message("user", "2 + 2?"), *turns))
    '2 + 2?\\n\\nAnn: 5\\nTeacher: Why?'
    """
    turns = "\n".join(f"{message.speaker}: {message.content}" for message in chat if isinstance(message, DialogueTurn))
    return "\n\n".join(
        [*(message.content for message in chat if not isinstance(message, DialogueTurn)), *([turns] if turns else [])]
    )


def before_and_reply(chat: Chat) -> tuple[str, str] | None:
    """Return the text before the judged reply, without the system message, and the reply; None if the chat contains no
    dialogue.

    >>> turns = DialogueTurn("user", "5", "Ann"), DialogueTurn("assistant", "Why?", "T")
    >>> before_and_reply((Message("system", "Judge."), *turns))
    ('Ann: 5', 'Why?')
    """
    if not chat or not isinstance(chat[-1], DialogueTurn):
        return None
    return as_text(tuple(message for message in chat[:-1] if message.role != "system")), chat[-1].content


@dataclass
class BatchedReward(Model):
    """A reward model as a `Model`: the reply to a request is the number as text. Waiting requests are sent together."""

    model: RewardModel
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    at_once: int = AT_ONCE
    """How many requests may be in flight if no limit is set."""
    _waiting: list[tuple[Chat, asyncio.Future[float]]] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _free: int = field(init=False)
    """How many further calls of `score` the model accepts."""

    def __post_init__(self) -> None:
        self._free = max(1, self.model.batches)
        self.name, self.endpoint, self.price = self.model.name, self.model.endpoint, self.model.price

    async def ask(self, request: Request) -> Reply:
        """Return the reward of the request's messages. Raises `ModelError`."""
        answer = asyncio.get_running_loop().create_future()
        self._waiting.append((request.messages, answer))
        self._begin()
        value = await answer
        cost = 0.0 if self.price == FREE else None
        return Reply(repr(value), self.name, "stop", None, None, cost)

    async def close(self) -> None:
        """Wait for calls in flight and close the model."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.model.close()

    def _begin(self) -> None:
        if self._free and self._waiting:
            self._free -= 1
            task = asyncio.get_running_loop().create_task(self._work())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self) -> None:
        """Take batches until no request waits."""
        try:
            while self._waiting:
                if len(self._waiting) < FULL:
                    await self.sleep(LINGER_S)
                most = max(1, min(MOST, self.model.most))
                batch, self._waiting = self._waiting[:most], self._waiting[most:]
                batch = [(chat, answer) for chat, answer in batch if not answer.done()]
                if batch:
                    await self._answer(batch)
        finally:
            self._free += 1

    async def _answer(self, batch: Sequence[tuple[Chat, asyncio.Future[float]]]) -> None:
        """Score the chats of a batch, and set the result of each."""
        try:
            values = finite_rewards(self.name, await self.model.score([chat for chat, _ in batch]), len(batch))
        except ModelError as error:
            if len(batch) > 1 and not error.retryable and not error.fatal:
                for one in batch:  # one text that is too long must not fail the others
                    await self._answer([one])
                return
            values = [error] * len(batch)
        except Exception as error:
            text = f"`{self.name}` failed: {type(error).__name__}: {error}"
            values = [ModelError("R0233", text, "read the log of the model server")] * len(batch)
        for (_, answer), value in zip(batch, values, strict=True):
            if answer.done():
                continue
            if isinstance(value, ModelError):
                answer.set_exception(value)
            else:
                answer.set_result(value)


def finite_rewards(name: str, values: Sequence[float], count: int) -> list[float | ModelError]:
    """Return a model's numbers for `count` chats, with an error for each that is not finite. Raises `ModelError` R0233
    if the count differs.

    >>> finite_rewards("reward/x", [0.5, 2], 2)
    [0.5, 2.0]
    """
    if len(values) != count:
        message = f"`{name}` gave {len(values)} rewards for {count} texts"
        raise ModelError("R0233", message, "check that it is a reward model, which gives one number a text")
    error = ModelError("R0233", f"`{name}` gave no finite number", "check that the text fits the model's context")
    return [float(value) if math.isfinite(value) else error for value in values]


SPREAD = 8.0
"""The range of the mock's rewards: from minus half of this to half of it."""


@dataclass(frozen=True)
class MockReward:
    """A mock that returns a hash of the text as its reward. `mock/reward:b` gives other rewards than `mock/reward`."""

    name: str = "mock/reward"
    price: Price | None = FREE
    most: int = 64
    batches: int = 1

    @property
    def endpoint(self) -> str:
        """An endpoint of its own."""
        return self.name

    async def score(self, chats: Sequence[Chat]) -> Sequence[float]:
        """Return the rewards, computed in a thread like those of a real model."""
        return await asyncio.to_thread(lambda: [mock_reward(self.name, as_text(chat)) for chat in chats])

    async def close(self) -> None:
        """Do nothing."""


def open_mock_reward(name: str) -> MockReward:
    """Return the mock of that name. Raises `ModelError` for any other.

    >>> open_mock_reward("mock/rewards")
    Traceback (most recent call last):
    tripos_runtime.models.base.ModelError: R0103: there is no model `mock/rewards`
      help: did you mean `mock/reward`?
    """
    if name != "mock/reward" and not name.startswith("mock/reward:"):
        hint = "did you mean `mock/reward`?"
        raise ModelError("R0103", f"there is no model `{name}`", hint, fatal=True)
    return MockReward(name)


def mock_reward(name: str, text: str) -> float:
    """Return the reward of a text: evenly distributed, and the same in every process.

    >>> mock_reward("mock/reward", "What do you know?") == mock_reward("mock/reward", "What do you know?")
    True
    """
    drawn = hashlib.blake2b(f"{name}\0{text}".encode("utf-8", "replace"), digest_size=6).digest()
    return round((int.from_bytes(drawn) / 2**48 - 0.5) * SPREAD, 6)


NO_KEY = "none"
"""The key of a server for which none is set."""
AT_A_TIME = 4
"""The number of concurrent batches: the server combines them with others."""


@dataclass(frozen=True)
class _Form:
    """The protocol of a kind of server. `most` is the default number of texts per request."""

    provider: Provider
    path: str
    most: int
    body: Callable[[str, Sequence[Chat]], Mapping[str, Any]]
    values: Callable[[Any], list[float]]
    dialogue: Callable[[str, Chat], Mapping[str, Any]] | None = None
    """Returns the body of a request for one judged dialogue; None if a dialogue is sent as a text."""


class ServedReward:
    """A reward model at an address. Raises `ModelError` R0101 if the address is unknown, and R0102 if its key is not
    set."""

    batches = AT_A_TIME

    def __init__(
        self, name: str, endpoint: Endpoint | None = None, *, price: Price | None = None, timeout_s: float = 300.0
    ) -> None:
        kind, _, self._model = name.partition("/")
        self.name = name
        self.price = FREE if price is None and is_local_endpoint(endpoint) else price
        self._form = FORMS[kind]
        self.most = self._form.most
        base_url = base_url_of(name, self._form.provider, endpoint).removesuffix("/v1")
        variable, key = key_of(name, self._form.provider, endpoint)
        self.endpoint = f"{base_url} {variable}".strip()
        self._target = CallTarget(name, base_url, variable, (key,))
        headers = openai_headers(self._form.provider, key)
        if key == NO_KEY:
            del headers["Authorization"]
        self._connection = ModelConnection(f"{base_url}{self._form.path}", headers, timeout_s, (key,))

    async def score(self, chats: Sequence[Chat]) -> Sequence[float]:
        """Return the rewards of chats from one request, or of dialogues from one request each. Raises `ModelError`."""
        dialogue_body = self._form.dialogue
        if dialogue_body is None or not all(isinstance(chat[-1], DialogueTurn) for chat in chats):
            return await self._request(self._form.body(self._model, chats))
        rewards = await asyncio.gather(*(self._request(dialogue_body(self._model, chat)) for chat in chats))
        return [reward for each in rewards for reward in each]

    async def _request(self, body: Mapping[str, Any]) -> list[float]:
        try:
            answer = await self._connection.post(orjson.dumps(body))
        except OSError as error:
            raise model_error(error, self.name, self._target.address, self._target.key_variables) from error
        if answer.status != 200:
            raise answer_error(answer.status, answer.body, headers_of(answer.headers), self._target)
        try:
            return self._form.values(orjson.loads(answer.body))
        except (ValueError, TypeError, LookupError) as error:
            message = f"`{self.name}` answered without a reward for each text: {_brief(error)}"
            hint = "check that it is a reward model, which gives one number a text, and that the server is of its kind"
            raise ModelError("R0233", message, hint) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()


def _pooling_body(model: str, chats: Sequence[Chat]) -> Mapping[str, Any]:
    return {"model": model, "input": [as_text(chat) for chat in chats]}


def _dialogue_body(model: str, chat: Chat) -> Mapping[str, Any]:
    """Return the body for a dialogue. The server applies the model's chat template. No activation is used: it would
    make all high rewards nearly equal."""
    messages = [{"role": message.role, "content": message.content} for message in chat]
    return {"model": model, "messages": messages, "add_generation_prompt": False, "use_activation": False}


def _score_body(model: str, chats: Sequence[Chat]) -> Mapping[str, Any]:
    return {
        "model": model,
        "text_1": [as_text(chat[:-1]) for chat in chats],
        "text_2": [chat[-1].content for chat in chats],
    }


def _predict_body(model: str, chats: Sequence[Chat]) -> Mapping[str, Any]:
    return {"inputs": [[as_text(chat)] for chat in chats], "raw_scores": True}


def _in_order(answer: Any) -> list[Any]:
    """Return the entries of vLLM's `data` by their index."""
    return sorted(answer["data"], key=lambda entry: int(entry["index"]))


def _pooling_rewards(answer: Any) -> list[float]:
    """Return the number in each entry of `/pooling`.

    >>> _pooling_rewards({"data": [{"index": 1, "data": [[0.25], [1.5]]}, {"index": 0, "data": -2.0}]})
    [-2.0, 1.5]
    """
    return [_last_number(entry["data"]) for entry in _in_order(answer)]


def _last_number(value: Any) -> float:
    if not isinstance(value, list):
        return float(value)
    last = value[-1] if value else None
    if last is None or (len(value) > 1 and not isinstance(last, list)):
        raise ValueError(f"{len(value)} numbers for one text")
    return _last_number(last)


def _score_rewards(answer: Any) -> list[float]:
    return [float(entry["score"]) for entry in _in_order(answer)]


def _predict_rewards(answer: Any) -> list[float]:
    """Return the score of the single label of each text.

    >>> _predict_rewards([[{"label": "LABEL_0", "score": 0.5}], [{"label": "LABEL_0", "score": -1.0}]])
    [0.5, -1.0]
    """
    rewards: list[float] = []
    for labels in answer:
        if len(labels) != 1:
            raise ValueError(f"{len(labels)} labels for one text")
        rewards.append(float(labels[0]["score"]))
    return rewards


def _brief(error: Exception) -> str:
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)[:100]


_VLLM = Provider(None, ("VLLM_API_KEY",), ("VLLM_BASE_URL",), key_unset=NO_KEY)
_TEI = Provider(None, ("TEI_API_KEY",), ("TEI_BASE_URL",), key_unset=NO_KEY)

FORMS: Mapping[str, _Form] = {
    "vllm-pooling": _Form(_VLLM, "/pooling", 64, _pooling_body, _pooling_rewards, _dialogue_body),
    "vllm-score": _Form(_VLLM, "/score", 64, _score_body, _score_rewards),
    "tei": _Form(_TEI, "/predict", 32, _predict_body, _predict_rewards),
}
"""The kinds of servers by name prefix. 32 is the default batch size of Text Embeddings Inference."""
