"""Scripted models for trial runs: other roles repeat what they received, the compared role replies as its script says.

Every reply is a function of what the role received. So if a secret reaches a role, its reply differs between worlds in
which the secret differs. The same holds for the placeholders of Python functions."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np

from tripos_compiler.language.references import expressions_of, subexpressions
from tripos_compiler.library.functions.tools import NoTools, read_allowed_calls
from tripos_compiler.plan import Literal_, Plan, Plugin, ToolCall, Type, canonical, split_text_and_calls, write_calls
from tripos_runtime.asking.functions.tools import placeholder_result
from tripos_runtime.asking.questions import dumps
from tripos_runtime.models.base import FREE, TOOL, Message, Model, ModelError, Reply, Request
from tripos_runtime.models.mocks import ANY_JSON, draw, likelihoods, token_probabilities, tool_calls_text, value_of
from tripos_runtime.models.vectors import Vector
from tripos_runtime.reading.schema import schema_of
from tripos_runtime.scheduling.calling import Called
from tripos_runtime.secrecy_trial.seen_requests import SETTINGS

MOST_TOLD = 2000
"""The largest number of characters that a role repeats of what it received. Without a limit, a conversation would
double at every turn. The rest counts too, since every reply contains a number that is a hash of all that was
received."""
OPTIONS = "\nA. one\nB. two\nC. three\nD. four"
"""The end of texts that a role gives as part of a reply: they may have to be questions with options."""
LENGTH = 64
"""The dimension of a vector."""


@dataclass(frozen=True)
class Script:
    """The behaviour of the roles in a pair of worlds. `unreliable` roles are sometimes silent, refuse, or reply
    unreadably, depending on what they received. If a role `guesses_secrets`, it states secrets of the first world, as
    if by chance."""

    seed: int
    unreliable: bool = False
    guesses_secrets: bool = False

    def dice(self, *about: object) -> random.Random:
        """Return a random generator that depends on these parts alone."""
        return random.Random(int.from_bytes(blake2b(repr((self.seed, *about)).encode(), digest_size=8).digest()))


@dataclass
class ScriptedModel(Model):
    """One role's model and caller. `on_request` receives every request before it is answered, and returns what a
    compared role would guess."""

    role: str
    name: str
    script: Script
    on_request: Callable[[ScriptedModel, Request], Sequence[Any]]
    words: Sequence[str] = ()
    """The words that the spec looks for in replies."""
    compared: bool = False
    silent: bool = False
    """True if it returns a number and writes nothing: a reward or an embedding model."""
    structured = True
    price = FREE

    @property
    def model(self) -> ScriptedModel:
        """The model itself: it is its own caller."""
        return self

    def halt(self) -> None:
        """Do nothing."""

    async def ask(self, request: Request) -> Reply:
        """Return the reply to a request. Raises `ModelError` if it refuses."""
        guesses = self.on_request(self, request)
        text = self._reply_text(request.without_stated, guesses)
        text = text if request.stated is None else request.stated.from_json(text, "")
        told = token_probabilities(request, text, text)
        return Reply(text, self.name, "stop", 0, 0, 0.0, logprobs=told)

    async def call(self, request: Request, lane: tuple[str, str] = ("", "")) -> Called:
        """Return the reply as a caller does, at once."""
        return Called(await self.ask(request), 1, 0.0)

    def _reply_text(self, request: Request, guesses: Sequence[Any]) -> str:
        told = as_text([*request.messages, *(Message(TOOL, tool) for tool in request.tools)])
        told = "\n\n".join((told, *(text for _, text in settings_told(request))))
        dice = self.script.dice(self.name, told, request.number)
        number = dice.randrange(10**9)
        if self.silent:
            return str(number / 10**9)
        if self.script.unreliable and not self.compared:
            # Half of the failures are permanent: it stays silent however often it is asked.
            lasting = self.script.dice(self.name, as_text(request.messages[:2]))
            mood = (lasting if lasting.random() < 0.5 else dice).random()
            if mood < 0.15:
                raise ModelError("R0108", "this role would not answer", "", status="refused")
            if mood < 0.3:
                return ""
            if request.schema is not None and mood < 0.4:
                return "nothing that could be read"
            if mood < 0.6 and request.schema is None:
                return dice.choice([*self.words, *map(_said, guesses), "; ".join(map(_said, guesses)), "the same"])
        if request.options:
            return likelihoods(request, str(number))
        if request.tools:
            return self._called(request, str(number), told, guesses)
        if request.schema is not None:
            return json.dumps(self._typed(request.schema, str(number), told, guesses), ensure_ascii=False)
        if self.compared:
            if guesses:
                said = _said(dice.choice(list(guesses))) if dice.random() < 0.5 else "; ".join(map(_said, guesses))
                return said if self.script.seed % 2 else f"ANSWER: {said}"
            return f"{dice.choice(('yes', 'no', *self.words))} {number}"
        word = dice.choice(("yes", "no"))
        return f"{number} {word} {_short(told)} {number}"

    def _called(self, request: Request, key: str, told: str, guesses: Sequence[Any]) -> str:
        """Return a reply with calls: those that a guess says are right, or one with values derived from the request."""
        for guess in guesses if self.compared else ():
            try:
                right = read_allowed_calls(guess)
            except NoTools:
                continue
            guessed = [ToolCall(name, _first(values)) for each in right for name, values in each.items()]
            return write_calls(_short(told), guessed)
        made = tool_calls_text(request.tools, key, careless=self.script.unreliable)
        text, calls = split_text_and_calls(made)
        return write_calls(text if self.compared else f"{text} {_short(told)}", calls)

    def _typed(self, schema: Mapping[str, Any], key: str, told: str, guesses: Sequence[Any]) -> Any:
        """Return a value that fits a schema: a guess that fits, or a value derived from the request."""
        if self.compared:
            for guess in guesses:
                if _fits(schema, guess):
                    return guess
        schema = schema or ANY_JSON
        match schema.get("type"):
            case "object":
                parts = schema.get("properties", {})
                return {name: self._typed(part, f"{key}/{name}", told, guesses) for name, part in parts.items()}
            case "string" if "enum" not in schema and not self.compared:
                dice = self.script.dice(self.name, key)
                if self.script.unreliable and dice.random() < 0.5:
                    return dice.choice([*self.words, *map(_said, guesses), "; ".join(map(_said, guesses)), "the same"])
                return f"{key} {_short(told)}{OPTIONS}"
        if "anyOf" in schema:
            if int(key.partition("/")[0]) % 4 == 1:
                return None
            return self._typed(schema["anyOf"][0], key, told, guesses)
        return value_of(dict(schema), key, "mixed")


def _first(values: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the arguments of a call that is right."""
    return {name: allowed[0] for name, allowed in values.items() if allowed}


def settings_told(request: Request) -> list[tuple[str, str]]:
    """Return the settings of a request as a part of what a role receives; none if all are left to the model."""
    given = request.settings.given
    return [(SETTINGS, canonical(given).decode())] if given else []


def as_text(messages: Sequence[Message]) -> str:
    """Return what a role receives, as one text."""
    return "\n\n".join(f"{message.role}: {message.content}" for message in messages)


def _said(guess: Any) -> str:
    return guess if isinstance(guess, str) else json.dumps(guess, ensure_ascii=False, default=str)


def _short(told: str) -> str:
    half = MOST_TOLD // 2
    return told if len(told) <= MOST_TOLD else f"{told[:half]} … {told[-half:]}"


def _fits(schema: Mapping[str, Any], value: Any) -> bool:
    """Return true if a guess fits a place in the schema that is not an object with known fields."""
    if not schema:
        return isinstance(value, str | int | float | bool | list | dict)
    if "enum" in schema:
        return value in schema["enum"]
    match schema.get("type"):
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            low, high = schema.get("minimum", value), schema.get("maximum", value)
            return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list) and all(_fits(schema.get("items", {}), each) for each in value)
    return False


def expected_words(plan: Plan) -> list[str]:
    """Return the texts that a spec compares with, and those that end its conversations: likely words of a role."""
    found = {part.value for expr in expressions_of(plan) for part in subexpressions(expr) if isinstance(part, Literal_)}
    texts = {each for each in found if isinstance(each, str) and 0 < len(each) <= 40}
    ends = {until.text for scenario in plan.scenarios for talk in scenario.conversations for until in talk.until}
    return sorted(texts | ends)


@dataclass
class Vectors:
    """Vectors of texts by their words, in place of embedding models. `on_embed` receives what a model embeds."""

    on_embed: Callable[[str, Sequence[str]], None]
    _vectors: dict[str, Vector] = field(default_factory=dict)

    async def vectors(self, model: str, texts: Sequence[str], lane: tuple[str, str]) -> list[Vector]:
        """See `Encoder.vectors`."""
        self.on_embed(model, texts)
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        if text not in self._vectors:
            vector = np.full(LENGTH, 0.01, np.float32)
            for word in text.casefold().split():
                place = int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=4).digest()) % LENGTH
                vector[place] += 1
            self._vectors[text] = vector
        return self._vectors[text]


def placeholder_functions(plan: Plan, world: str) -> Mapping[str, Callable[..., Any]]:
    """Return placeholders for the Python functions of a plan, by name, since a check runs no Python of the plan. Their
    values depend on the arguments. A function that is not pure may have read the files, so its value differs between
    worlds."""
    found: dict[str, Callable[..., Any]] = {}
    for plugin in plan.plugins:
        made = placeholder_result if plugin.external == "tool" else _placeholder
        found[plugin.name] = partial(made, plugin, "" if plugin.pure else world)
    return found


def _placeholder(plugin: Plugin, world: str, *args: Any, **named: Any) -> Any:
    return _value(plugin.returns, dumps([plugin.name, world, list(args), named]))


def _value(type: Type, key: str) -> Any:
    match type.kind:
        case "text":
            return _number(key)
        case "optional":
            return None if draw(4, key) == 0 else _value(type.of, key)
        case "set":
            return frozenset(_value(type.of, f"{key}{i}") for i in range(1 + draw(3, key)))
        case "list":
            return [_value(type.of, f"{key}{i}") for i in range(draw(4, key))]
        case "dialogue":
            return [{"speaker": "a", "text": _number(key)}]
    found = value_of(schema_of(type), key, "mixed")
    return found if type.kind in ("record", "json") else found["value"]


def _number(key: str) -> str:
    """Return a text without meaning that differs for other arguments."""
    return f"{draw(10**9, key)}"
