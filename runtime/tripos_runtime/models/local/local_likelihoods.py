"""Likelihoods from a local model: each option is written token by token, under a grammar that allows nothing else.

llama.cpp's server does not say the probabilities of a prompt, but those of every token that it writes, over all tokens
and before the grammar and the settings count. It sums over them in single precision: a logarithm is right to about
0.0002 a token.
"""

from __future__ import annotations

from typing import Any

import orjson

from tripos_compiler.plan import OptionLikelihood, write_likelihoods
from tripos_runtime.models.base import FREE, Endpoint, ModelError, Reply, Request
from tripos_runtime.models.over_http import DirectModel, ModelConnection


class LocalLikelihoods(DirectModel):
    """The likelihoods of a model that a server of llama.cpp has at `address`."""

    def __init__(self, name: str, address: str, timeout_s: float) -> None:
        super().__init__(name, Endpoint(address), price=FREE, own_price=True, sent_as=name, timeout_s=timeout_s)
        self._lines = {
            path: ModelConnection(f"{address}/{path}", self.headers, timeout_s) for path in ("tokenize", "completion")
        }
        self._start: list[int] | None = None

    async def ask(self, request: Request) -> Reply:
        """Return the likelihoods of the options of a request. Raises `ModelError`."""
        alone, *texts = request.texts
        before = await self._tokens(alone) if alone else await self._beginning()
        found: list[OptionLikelihood] = []
        for option, text in zip(request.options, texts, strict=True):
            tokens = await self._tokens(text)
            tokens = tokens[len(before) :] if alone else tokens
            if not tokens:
                message = f"`{self.name}` reads the option {option!r} as no token of its own"
                raise ModelError("R0125", message, "part the options from the prompt: `answers after`", fatal=True)
            found.append(await self._likelihood(option, before, tokens))
        read = sum(len(before) + each.tokens for each in found)
        return Reply(write_likelihoods(found), self.name, "stop", read, 0, 0.0)

    async def close(self) -> None:
        """Let go of the connections."""
        for line in (self._line, *self._lines.values()):
            await line.close()

    async def _likelihood(self, option: str, before: list[int], tokens: list[int]) -> OptionLikelihood:
        told = await self._post(
            "completion",
            prompt=before,
            n_predict=len(tokens),
            grammar=f"root ::= {' '.join(f'<[{token}]>' for token in tokens)}",
            n_probs=1,
            temperature=0,
        )
        written = told.get("completion_probabilities") or []
        if [each.get("id") for each in written[: len(tokens)]] != tokens:
            message = f"`{self.name}` did not write the option {option!r} as it was told to"
            raise ModelError("R0125", message, "use another model: this one gives no likelihoods", fatal=True)
        greedy = all(each["top_logprobs"][0]["id"] == each["id"] for each in written)
        return OptionLikelihood(option, float(sum(each["logprob"] for each in written)), len(tokens), greedy)

    async def _tokens(self, text: str) -> list[int]:
        """Return the tokens of a text, with the one before every text, of models that have one."""
        return list((await self._post("tokenize", content=text, add_special=True, parse_special=False))["tokens"])

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
