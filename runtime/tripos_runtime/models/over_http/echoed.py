"""Likelihoods from a server that goes on with a text in OpenAI's form and says the probabilities of the text too.

A request has the text alone and the text with each option, `echo` and `logprobs`. What the text alone has of tokens
belongs to the text, and what follows to the option: so the LM Evaluation Harness counts too. A blank at the end of the
text is left to the options, since tokens begin with a blank and do not end with one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tripos_compiler.plan import OptionLikelihood, write_likelihoods
from tripos_runtime.models.base import ModelError, Request
from tripos_runtime.models.over_http.replies import whole

NO_LIKELIHOODS = "R0125"
HINT = "use a server that knows `echo` with `logprobs`, such as vLLM, or `local/…`"


def request_for_echo(request: Request) -> dict[str, Any]:
    """Return the body of a request for likelihoods, but for the name of the model. Servers differ in whether they take
    0 tokens for nothing or for no limit, so one is written."""
    texts = [whole(text) for text in request.texts if text]
    return {"prompt": texts, "max_tokens": 1, "temperature": 0, "logprobs": 1, "echo": True}


def echoed_reply(request: Request, choices: Sequence[Mapping[str, Any]], name: str) -> str:
    """Return the likelihoods in the choices of an answer, as the text of a reply. Raises `ModelError` R0125 where they
    are not there."""
    alone, *texts = request.texts
    told = [_Echo(each, name) for each in sorted(choices, key=lambda each: each.get("index") or 0)]
    if len(told) != len(texts) + bool(alone):
        raise _refused(name, f"sent {len(told)} of {len(texts) + bool(alone)} texts")
    after = told[bool(alone) :]
    found = []
    for option, text, each in zip(request.options, texts, after, strict=True):
        each.check(whole(text))
        begin = told[0].count if alone else each.begin
        found.append(OptionLikelihood(option, *each.after(begin)))
    return write_likelihoods(found)


class _Echo:
    """A text that a server says the probabilities of, with the one token that it wrote after it."""

    def __init__(self, choice: Mapping[str, Any], name: str) -> None:
        told = choice.get("logprobs")
        told = told if isinstance(told, dict) else {}
        lists = [told.get(key) for key in ("tokens", "token_logprobs", "top_logprobs")]
        if not all(isinstance(each, list) and each and len(each) == len(lists[0] or ()) for each in lists):
            raise _refused(name, "does not say the probabilities of a text that it is sent")
        self.name = name
        self.text = choice.get("text")
        self.tokens: list[Any] = lists[0] or []
        self.logprobs: list[Any] = lists[1] or []
        self.tops: list[Any] = lists[2] or []

    @property
    def count(self) -> int:
        """Return how many tokens the text has, without the one that was written."""
        return len(self.tokens) - 1

    @property
    def begin(self) -> int:
        """Return where a text begins that has nothing before it: behind the token that begins every text, of models
        that have one."""
        return int("".join(map(str, self.tokens[1:])) == self.text)

    def check(self, text: str) -> None:
        """Raise `ModelError` where it is not the text that was sent."""
        if not isinstance(self.text, str) or not self.text.startswith(text):
            raise _refused(self.name, "does not repeat the text that it is sent")

    def after(self, begin: int) -> tuple[float, int, bool]:
        """Return the logarithm of the probability of all tokens from `begin` on, their number, and whether each is the
        most likely one."""
        logprobs, tops = self.logprobs[begin : self.count], self.tops[begin : self.count]
        if not logprobs:
            raise _refused(self.name, "reads an option as no token of its own")
        if not all(isinstance(each, int | float) for each in logprobs):
            raise _refused(self.name, "gives no probability to the first token of a text")
        greedy = all(
            isinstance(top, dict) and logprob >= max(top.values(), default=logprob)
            for logprob, top in zip(logprobs, tops, strict=True)
        )
        return float(sum(logprobs)), len(logprobs), greedy


def _refused(name: str, what: str) -> ModelError:
    return ModelError(NO_LIKELIHOODS, f"`{name}` {what}, so it gives no likelihoods", HINT, fatal=True)
