"""Likelihoods from a local model: each option is written token by token, under a grammar that allows nothing else. A
grammar does not take tokens that are a part of a character; an option with such tokens is asked for one by one.

llama.cpp's server does not say the probabilities of a prompt, but those of every token that it writes, over all tokens
and before the grammar and the settings count. It sums over them in single precision, and what is computed in other
batches differs too.
"""

from __future__ import annotations

from typing import Any

import orjson

from tripos_compiler.plan import OptionLikelihood, write_likelihoods
from tripos_runtime.models.base import FREE, Endpoint, ModelError, Reply, Request
from tripos_runtime.models.over_http import DirectModel, ModelConnection

ONE: dict[str, Any] = {"n_probs": 1, "temperature": 0}
"""What is asked of a token: its logarithm, and the likeliest one beside it."""
ALL: dict[str, Any] = {"n_probs": 1 << 20, "temperature": 0}
"""What is asked of a place: the logarithm of every token."""
SURELY = 1000
"""What is added to a token that alone may be written; its logarithm is taken before that."""


class LocalLikelihoods(DirectModel):
    """The likelihoods of a model that a server of llama.cpp has at `address`; `in_chat` the texts have the marks of its
    template."""

    def __init__(self, name: str, address: str, timeout_s: float, *, in_chat: bool = False) -> None:
        super().__init__(name, Endpoint(address), price=FREE, own_price=True, sent_as=name, timeout_s=timeout_s)
        self._lines = {
            path: ModelConnection(f"{address}/{path}", self.headers, timeout_s) for path in ("tokenize", "completion")
        }
        self._start: list[int] | None = None
        self._in_chat = in_chat

    async def ask(self, request: Request) -> Reply:
        """Return the likelihoods of the options of a request. Raises `ModelError`."""
        alone, *texts = request.texts
        before = await self._tokens(alone) if alone else await self._beginning()
        found: list[OptionLikelihood] = []
        for option, text in zip(request.options, texts, strict=True):
            pieces = await self._pieces(text)
            pieces = pieces[len(before) :] if alone else pieces
            tokens = [each["id"] for each in pieces]
            if not tokens:
                message = f"`{self.name}` reads the option {option!r} as no token of its own"
                raise ModelError("R0125", message, "part the options from the prompt: `answers after`", fatal=True)
            whole = all(isinstance(each["piece"], str) for each in pieces)
            written = await (self._written(before, tokens) if whole else self._one_by_one(before, pieces))
            found.append(self._likelihood(option, tokens, written))
        read = sum(len(before) + each.tokens for each in found)
        return Reply(write_likelihoods(found), self.name, "stop", read, 0, 0.0)

    async def close(self) -> None:
        """Let go of the connections."""
        for line in (self._line, *self._lines.values()):
            await line.close()

    async def _written(self, before: list[int], tokens: list[int]) -> list[dict[str, Any]]:
        """Return what is said of each token, written in one go."""
        grammar = f"root ::= {' '.join(f'<[{token}]>' for token in tokens)}"
        told = await self._post("completion", prompt=before, n_predict=len(tokens), grammar=grammar, **ONE)
        return list(told.get("completion_probabilities") or [])

    async def _one_by_one(self, before: list[int], pieces: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return what is said of each token, each asked for alone. The server says nothing of a part of a character
        that it writes: such a token is looked up among all that may stand in the place of another."""
        found: list[dict[str, Any]] = []
        other = (await self._tokens("."))[-1]
        tokens = [each["id"] for each in pieces]
        for place, (token, piece) in enumerate(zip(tokens, pieces, strict=True)):
            whole = isinstance(piece["piece"], str)
            told = await self._post(
                "completion",
                prompt=[*before, *tokens[:place]],
                n_predict=1,
                logit_bias=[[token if whole else other, SURELY]],
                **(ONE if whole else ALL),
            )
            said = told.get("completion_probabilities") or []
            if not whole:
                top = said[0]["top_logprobs"] if said else []
                said = [{**each, "top_logprobs": top[:1]} for each in top if each["id"] == token]
            found += said
        return found

    def _likelihood(self, option: str, tokens: list[int], written: list[dict[str, Any]]) -> OptionLikelihood:
        if [each.get("id") for each in written[: len(tokens)]] != tokens:
            message = f"`{self.name}` did not write the option {option!r} as it was told to"
            raise ModelError("R0125", message, "use another model: this one gives no likelihoods", fatal=True)
        greedy = all(each["top_logprobs"][0]["id"] == each["id"] for each in written)
        return OptionLikelihood(option, float(sum(each["logprob"] for each in written)), len(tokens), greedy)

    async def _tokens(self, text: str) -> list[int]:
        """Return the tokens of a text, with the one before every text, of models that have one."""
        return [each["id"] for each in await self._pieces(text)]

    async def _pieces(self, text: str) -> list[dict[str, Any]]:
        """Return the tokens of a text, each with its `piece`: a text, or bytes where it is a part of a character."""
        told = await self._post(
            "tokenize", content=text, add_special=True, parse_special=self._in_chat, with_pieces=True
        )
        return list(told["tokens"])

    async def _beginning(self) -> list[int]:
        """Return the tokens that stand for the beginning of a text, before a text that has nothing before it."""
        if self._start is None:
            address = self._lines["tokenize"].url.removesuffix("tokenize")
            props = orjson.loads((await self._lines["tokenize"].send("GET", f"{address}props")).body)
            begins = props.get("bos_token") or props.get("eos_token") or ""
            told = await self._post("tokenize", content=begins, add_special=False, parse_special=True)
            self._start = list(told["tokens"])
        return self._start

    async def _post(self, path: str, **content: Any) -> dict[str, Any]:
        return self._completed(await self._lines[path].post(orjson.dumps(content)))
