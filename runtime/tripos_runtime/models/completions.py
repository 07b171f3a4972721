"""Models that continue a text, in OpenAI's form of completions, and likelihoods from such servers.

These models have no chat, so the messages of a request are sent as one transcript. litellm is not used: it opens a
connection for every call, and takes several messages for several prompts.

A request for likelihoods sends the text alone and the text with each option, with `echo` and `logprobs`. The tokens of
the text alone belong to the text and the following ones to the option, as in the LM Evaluation Harness. A space at the
end of the text is moved to the options, since tokens begin with a space and do not end with one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from tripos_compiler.plan import OptionLikelihood, write_likelihoods
from tripos_compiler.replies.text import storable
from tripos_runtime.models.base import Message, ModelError, Reply, Request
from tripos_runtime.models.chat_completions import DirectModel
from tripos_runtime.models.replies import read_reply

NO_LIKELIHOODS = "R0125"
"""The error code of a server that returns no likelihoods."""
HINT = "use a server that knows `echo` with `logprobs`, such as vLLM, or `local/…`"


def request_for_echo(request: Request) -> dict[str, Any]:
    """Return the body of a request for likelihoods, without the name of the model. One token is generated, since
    servers disagree whether 0 tokens means none or no limit."""
    texts = [storable(text) for text in request.texts if text]
    return {"prompt": texts, "max_tokens": 1, "temperature": 0, "logprobs": 1, "echo": True}


def echoed_reply(request: Request, choices: Sequence[Mapping[str, Any]], name: str) -> str:
    """Return the likelihoods in the choices of an answer, as the text of a reply. Raises `ModelError` R0125 if they are
    missing."""
    alone, *texts = request.texts
    echoes = [_Echo(choice, name) for choice in sorted(choices, key=lambda each: each.get("index") or 0)]
    if len(echoes) != len(texts) + bool(alone):
        raise _no_likelihoods(name, f"sent {len(echoes)} of {len(texts) + bool(alone)} texts")
    option_echoes = echoes[bool(alone) :]
    likelihoods = []
    for option, text, echo in zip(request.options, texts, option_echoes, strict=True):
        echo.check(storable(text))
        begin = echoes[0].count if alone else echo.begin
        likelihoods.append(OptionLikelihood(option, *echo.after(begin)))
    return write_likelihoods(likelihoods)


class _Echo:
    """A text echoed with its token probabilities, and the one token generated after it."""

    def __init__(self, choice: Mapping[str, Any], name: str) -> None:
        logprobs = choice.get("logprobs")
        logprobs = logprobs if isinstance(logprobs, dict) else {}
        lists = [logprobs.get(key) for key in ("tokens", "token_logprobs", "top_logprobs")]
        if not all(isinstance(each, list) and each and len(each) == len(lists[0] or ()) for each in lists):
            raise _no_likelihoods(name, "does not say the probabilities of a text that it is sent")
        self.name = name
        self.text = choice.get("text")
        self.tokens: list[Any] = lists[0] or []
        self.logprobs: list[Any] = lists[1] or []
        self.tops: list[Any] = lists[2] or []

    @property
    def count(self) -> int:
        """The number of tokens of the text, without the generated one."""
        return len(self.tokens) - 1

    @property
    def begin(self) -> int:
        """The index of the first token of a text without a context: 1 after a beginning-of-text token, else 0."""
        return int("".join(map(str, self.tokens[1:])) == self.text)

    def check(self, text: str) -> None:
        """Raise `ModelError` if the echo is not of the text that was sent."""
        if not isinstance(self.text, str) or not self.text.startswith(text):
            raise _no_likelihoods(self.name, "does not repeat the text that it is sent")

    def after(self, begin: int) -> tuple[float, int, bool]:
        """Return the log-probability of all tokens from `begin` on, their number, and whether each is the most likely
        one."""
        logprobs, tops = self.logprobs[begin : self.count], self.tops[begin : self.count]
        if not logprobs:
            raise _no_likelihoods(self.name, "reads an option as no token of its own")
        if not all(isinstance(logprob, int | float) for logprob in logprobs):
            raise _no_likelihoods(self.name, "gives no probability to the first token of a text")
        greedy = all(
            isinstance(top, dict) and logprob >= max(top.values(), default=logprob)
            for logprob, top in zip(logprobs, tops, strict=True)
        )
        return float(sum(logprobs)), len(logprobs), greedy


def _no_likelihoods(name: str, what: str) -> ModelError:
    return ModelError(NO_LIKELIHOODS, f"`{name}` {what}, so it gives no likelihoods", HINT, fatal=True)


LABELS = {"user": "User", "assistant": "Assistant"}
"""The labels of speakers in a transcript, by the role of the message."""
MOST_TOKENS = 1024
"""The longest reply if no limit is set: most servers would stop after 16 tokens."""
MOST_STOPS = 4
"""The largest number of stop texts."""


def as_transcript(messages: Sequence[Message]) -> str:
    """Return a single user message as it is; several messages as a transcript with the label of the next speaker at the
    end.

    >>> as_transcript([Message("user", "2 + 2 =")])
    '2 + 2 ='
    >>> print(as_transcript([Message("system", "Teach."), Message("user", "It is 5.")]))
    Teach.
    <BLANKLINE>
    User: It is 5.
    <BLANKLINE>
    Assistant:
    """
    if len(messages) == 1 and messages[0].role == "user":
        return messages[0].content
    texts = [
        f"{LABELS[message.role]}: {message.content}" if message.role in LABELS else message.content
        for message in messages
    ]
    return "\n\n".join([*texts, f"{LABELS['assistant']}:"])


def as_transcript_request(request: Request) -> Request:
    """Return the request with the transcript as its only message. The reply to a transcript of several messages stops
    before the next turn of the user. The request has no schema, since completions do not enforce one."""
    text, stop, longest = as_transcript(request.messages), request.settings.stop, request.settings.max_tokens
    is_plain = len(request.messages) == 1 and text == request.messages[0].content
    ends = () if is_plain or len(stop) >= MOST_STOPS else (f"\n{LABELS['user']}:",)
    return replace(
        request,
        messages=(Message("user", text),),
        settings=request.settings.model_copy(
            update={"stop": (*stop, *ends), "max_tokens": MOST_TOKENS if longest is None else longest}
        ),
        schema=None,
    )


def trimmed(reply: Reply) -> Reply:
    """Return a reply and its further choices without the white space around their texts.

    >>> trimmed(Reply(" It is so.\\n", "m", "stop", 1, 1, None)).text
    'It is so.'
    """
    return replace(reply, text=reply.text.strip(), further_choices=tuple(map(trimmed, reply.further_choices)))


class ContinuingModel(DirectModel):
    """A model that continues a text: its `completion_name` begins with `OPENAI_COMPLETION`."""

    path = "/completions"
    field = "prompt"

    def _connect(self) -> None:
        super()._connect()
        self.structured, self.most_samples = False, 1

    async def ask(self, request: Request) -> Reply:
        """Return the continuation of the transcript of a request's messages. Raises `ModelError`."""
        if request.options:
            return await self._likelihoods(request)
        transcript = as_transcript_request(request)
        body = self._head + orjson.dumps(storable(transcript.messages[0].content)) + self._tails.part(transcript)
        answer = await self._answer(body)
        choices = [{**choice, "message": {"content": choice.get("text")}} for choice in self._choices(answer)]
        return trimmed(read_reply({**answer, "choices": choices}, self.name, self.price, own_price=self.own_price))

    async def _likelihoods(self, request: Request) -> Reply:
        """Return the likelihoods of the options of a request. Raises `ModelError`."""
        fields, provider_fields = request_for_echo(request), request.settings.given.get("provider", {})
        answer = await self._answer(orjson.dumps({"model": self._model, **fields, **provider_fields}))
        text = echoed_reply(request, self._choices(answer), self.name)
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        return read_reply({**answer, "choices": [choice]}, self.name, self.price, own_price=self.own_price)

    def _choices(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        choices = answer.get("choices")
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            hint = "check the server: it must answer `/completions`"
            raise ModelError("R0111", f"`{self.name}` sent a reply without a choice", hint, retryable=True)
        return choices
