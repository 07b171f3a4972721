"""Reward models behind an HTTP server: vLLM's pooling and scoring, and `/predict` of Text Embeddings Inference.

| name | sends | reads |
| --- | --- | --- |
| `vllm-pooling/NAME` | `POST /pooling`, `{"model", "input": [texts]}` | `data[i].data`: a number, or one for each token, of which the last counts |
| | for a dialogue that is judged `POST /pooling`, `{"model", "messages": [messages], "use_activation": false}`, one request for each | the same |
| `vllm-score/NAME` | `POST /score`, `{"model", "text_1": [texts], "text_2": [texts]}`: all but the last message, and the last | `data[i].score` |
| `tei/NAME` | `POST /predict`, `{"inputs": [[text], …], "raw_scores": true}` | the score of the one label |
"""  # noqa: E501 - the forms of requests are told from each other in one glance

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from tripos_runtime.models.base import FREE, DialogueTurn, Endpoint, ModelError, Price
from tripos_runtime.models.catalog import CallPlace, Provider, answer_error, is_here, model_error
from tripos_runtime.models.over_http import ModelConnection, base_url_of, headers_of, key_of, openai_headers
from tripos_runtime.models.reward.rewards import Chat, as_text

NO_KEY = "none"
AT_A_TIME = 4
"""The number of batches that are under way together: the server puts them together with others as it can."""


@dataclass(frozen=True)
class _Form:
    """The protocol of a kind of server. `most` is the number of texts of one request where nobody changed it."""

    provider: Provider
    path: str
    most: int
    body: Callable[[str, Sequence[Chat]], Mapping[str, Any]]
    values: Callable[[Any], list[float]]
    dialogue: Callable[[str, Chat], Mapping[str, Any]] | None = None
    """The request of one dialogue that is judged, where it is not sent as a text."""


class ServedReward:
    """A reward model at an address. Raises `ModelError` R0101 where nothing says where that is, and R0102 where its key
    is not set."""

    batches = AT_A_TIME

    def __init__(
        self, name: str, endpoint: Endpoint | None = None, *, price: Price | None = None, timeout_s: float = 300.0
    ) -> None:
        kind, _, self._model = name.partition("/")
        self.name = name
        self.price = FREE if price is None and is_here(endpoint) else price
        self._form = FORMS[kind]
        self.most = self._form.most
        base_url = base_url_of(name, self._form.provider, endpoint).removesuffix("/v1")
        variable, key = key_of(name, self._form.provider, endpoint)
        self.endpoint = f"{base_url} {variable}".strip()
        self._place = CallPlace(name, base_url, variable, (key,))
        headers = openai_headers(self._form.provider, key)
        if key == NO_KEY:
            del headers["Authorization"]
        self._line = ModelConnection(f"{base_url}{self._form.path}", headers, timeout_s, (key,))

    async def score(self, chats: Sequence[Chat]) -> Sequence[float]:
        """Return the rewards of some chats, from one request, or of dialogues from one each. Raises `ModelError`."""
        alone = self._form.dialogue
        if alone is None or not all(isinstance(chat[-1], DialogueTurn) for chat in chats):
            return await self._asked(self._form.body(self._model, chats))
        found = await asyncio.gather(*(self._asked(alone(self._model, chat)) for chat in chats))
        return [reward for each in found for reward in each]

    async def _asked(self, body: Mapping[str, Any]) -> list[float]:
        try:
            answer = await self._line.post(orjson.dumps(body))
        except OSError as error:
            raise model_error(error, self.name, self._place.address, self._place.key_variables) from error
        if answer.status != 200:
            raise answer_error(answer.status, answer.body, headers_of(answer.headers), self._place)
        try:
            return self._form.values(orjson.loads(answer.body))
        except (ValueError, TypeError, LookupError) as error:
            message = f"`{self.name}` answered without a reward for each text: {_brief(error)}"
            hint = "check that it is a reward model, which gives one number a text, and that the server is of its kind"
            raise ModelError("R0233", message, hint) from error

    async def close(self) -> None:
        """Let go of the connections."""
        await self._line.close()


def _pooling_body(model: str, chats: Sequence[Chat]) -> Mapping[str, Any]:
    return {"model": model, "input": [as_text(chat) for chat in chats]}


def _dialogue_body(model: str, chat: Chat) -> Mapping[str, Any]:
    """The server puts the messages into the model's chat template. A reward is the number itself: a server that applies
    an activation would make all high ones equal."""
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


def _in_order(said: Any) -> list[Any]:
    """Return the entries of vLLM's `data`, by their index."""
    return sorted(said["data"], key=lambda entry: int(entry["index"]))


def _pooled(said: Any) -> list[float]:
    """Return the number in each entry of `/pooling`.

    >>> _pooled({"data": [{"index": 1, "data": [[0.25], [1.5]]}, {"index": 0, "data": -2.0}]})
    [-2.0, 1.5]
    """
    return [_last_number(entry["data"]) for entry in _in_order(said)]


def _last_number(value: Any) -> float:
    if not isinstance(value, list):
        return float(value)
    last = value[-1] if value else None
    if last is None or (len(value) > 1 and not isinstance(last, list)):
        raise ValueError(f"{len(value)} numbers for one text")
    return _last_number(last)


def _scored(said: Any) -> list[float]:
    return [float(entry["score"]) for entry in _in_order(said)]


def _predicted(said: Any) -> list[float]:
    """Return the score of the one label of each text.

    >>> _predicted([[{"label": "LABEL_0", "score": 0.5}], [{"label": "LABEL_0", "score": -1.0}]])
    [0.5, -1.0]
    """
    found: list[float] = []
    for labels in said:
        if len(labels) != 1:
            raise ValueError(f"{len(labels)} labels for one text")
        found.append(float(labels[0]["score"]))
    return found


def _brief(error: Exception) -> str:
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)[:100]


_VLLM = Provider(None, ("VLLM_API_KEY",), ("VLLM_BASE_URL",), key_unset=NO_KEY)
_TEI = Provider(None, ("TEI_API_KEY",), ("TEI_BASE_URL",), key_unset=NO_KEY)

FORMS: Mapping[str, _Form] = {
    "vllm-pooling": _Form(_VLLM, "/pooling", 64, _pooling_body, _pooled, _dialogue_body),
    "vllm-score": _Form(_VLLM, "/score", 64, _score_body, _scored),
    "tei": _Form(_TEI, "/predict", 32, _predict_body, _predicted),
}
"""The kinds of servers, by the beginning of a model's name. 32 is what Text Embeddings Inference takes at once."""
