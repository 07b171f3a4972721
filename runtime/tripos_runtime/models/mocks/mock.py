"""Models that need no network: deterministic characters for first runs, tests and demonstrations.

A reply is a function of the request and the model's name. `mock/careful:ada` is as careful as `mock/careful` and
judges differently, so several of them make a panel.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tripos_compiler.language.library import media_in, without_media
from tripos_compiler.plan import OptionLikelihood, write_likelihoods, write_token_probabilities
from tripos_runtime.models.base import FREE, RESULT, Message, ModelError, Price, Reply, Request
from tripos_runtime.models.catalog import tokens_of
from tripos_runtime.models.mocks.mock_answers import answered, carelessly_answered, filled_form, in_brackets
from tripos_runtime.models.mocks.mock_author import author_text
from tripos_runtime.models.mocks.mock_careless import careless_text
from tripos_runtime.models.mocks.mock_student import student_named
from tripos_runtime.models.mocks.mock_teacher import points_chosen, teacher_text
from tripos_runtime.models.mocks.mock_tools import calls_made
from tripos_runtime.models.mocks.mock_values import draw, sentences, value_of
from tripos_runtime.models.over_http import as_objects

SHIFTS = {"fair": 0, "severe": -1, "lenient": 1, "noisy": 0}
"""By how many fifths of a scale a character is off; `noisy` by up to one, either way, as its name and the request have
it."""


def judged(character: str, schema: dict[str, Any], shared: str, own: str, *, chinese: bool = False) -> Any:
    """Return a value that fits the schema. What is on a scale goes by `shared`, the key of the request, and by the bias
    of the character; everything else by `own`, the key of the request and the judge.

    >>> scale = {"type": "integer", "minimum": 1, "maximum": 10}
    >>> fair, severe, lenient = (judged(each, scale, "k", "mine") for each in ("fair", "severe", "lenient"))
    >>> fair - severe, lenient - fair
    (2, 2)
    """
    if "enum" not in schema:
        options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
        if options:
            return judged(character, options[0], shared, own, chinese=chinese)
        if schema.get("type") == "object":
            parts: dict[str, Any] = schema.get("properties", {})
            return {
                name: judged(character, part, f"{shared}/{name}", f"{own}/{name}", chinese=chinese)
                for name, part in parts.items()
            }
        if schema.get("type") == "integer" and {"minimum", "maximum"} <= schema.keys():
            return _on_scale(character, int(schema["minimum"]), int(schema["maximum"]), shared, own)
    return value_of(schema, own, "kind", chinese=chinese)


def _on_scale(character: str, low: int, high: int, shared: str, own: str) -> int:
    """The fair value lies a fifth of the scale inside either end; the bias moves it by at most so much."""
    reach = math.ceil((high - low) / 5)
    room = max(high - low + 1 - 2 * reach, 1)
    fair = min(low + reach + draw(room, shared), high)
    off = draw(2 * reach + 1, own) - reach if character == "noisy" else SHIFTS[character] * reach
    return max(low, min(high, fair + off))


SLOW_S = 0.05
SORTED = json.JSONEncoder(sort_keys=True)
CHARACTERS = (
    "careful",
    "careless",
    "author",
    "teacher",
    "student",
    "student-A-R",
    *SHIFTS,
    "refuses",
    "broken-json",
    "slow",
    "fails-N",
    "wrong-key",
    "down",
)
UNWILLING = ("refuses", "broken-json", "slow", "fails", "wrong-key", "down")
"""The characters that do not answer at once, or do not answer what is asked."""
LIKELY = 0.25
"""The part of the options that a mock would write itself."""
REFUSALS = ("I'm sorry, but I can't help with that.", "I apologize, but I am unable to assist with this request.")
CHINESE_REFUSALS = ("抱歉，我无法回答这个问题。", "对不起，我不能协助完成这个请求。")
BROKEN = ('{"reason": "a clear answer that', "My marks: { [ }", "```json\n{\n```", "The answer deserves {high marks")
WORD = re.compile(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+")
CHINESE_CHARACTER = re.compile(r"[\u3400-\u9fff]")


@dataclass
class MockModel:
    """A mock model. `failures` is how many asks of a request fail before one is answered."""

    name: str
    character: str
    failures: int
    sleep: Callable[[float], Awaitable[None]]
    structured: bool = True
    slots: int | None = None
    price: Price | None = FREE
    most_samples: int = 1
    _asked: dict[str, int] = field(default_factory=dict)

    @property
    def endpoint(self) -> str:
        """A place of its own: what befalls one mock befalls no other."""
        return self.name

    async def ask(self, request: Request) -> Reply:
        """Return the character's reply to the request. Raises `ModelError` where failing is in character."""
        key = _key(self.name, request)
        chinese = _is_chinese(request)
        match self.character:
            case writer if request.options and writer not in UNWILLING:
                text = likelihoods(request, key)
            case "careful" | "slow" if _is_answered(request):
                text = sentences(3, key, chinese=chinese)
            case "careless" if request.tools:
                text = calls_made(request.tools, key, careless=True, chinese=chinese)
            case writer if request.tools and writer not in UNWILLING:
                text = calls_made(request.tools, key, chinese=chinese)
            case "careful":
                text = _careful_text(request, key, chinese=chinese)
            case "slow":
                await self.sleep(SLOW_S)
                text = _careful_text(request, key, chinese=chinese)
            case "fails":
                self._fail_first(key)
                text = _careful_text(request, key, chinese=chinese)
            case judge if judge in SHIFTS and request.schema is not None:
                shared = _key("", request)
                text = json.dumps(judged(judge, request.schema, shared, key, chinese=chinese), ensure_ascii=False)
            case "fair" | "severe" | "lenient" | "noisy":
                text = _careful_text(request, key, chinese=chinese)
            case "careless" if request.schema is not None:
                text = careless_text(request.schema, key, chinese=chinese)
            case "careless":
                text = carelessly_answered(_last(request), key, plain=request.plain, chinese=chinese)
            case "author":
                text = author_text(request.schema, key, chinese=chinese)
            case "teacher" if request.schema is None:
                text = teacher_text(request.messages, key, chinese=chinese)
            case "teacher":
                value = value_of(request.schema or {}, key, "kind", chinese=chinese)
                text = json.dumps(points_chosen(request.messages, value, key), ensure_ascii=False)
            case "student":
                return self._student(request, chinese=chinese)
            case "refuses":
                text = _pick(CHINESE_REFUSALS if chinese else REFUSALS, key)
            case "broken-json":
                text = _pick(BROKEN, key)
            case "wrong-key":
                raise ModelError("R0102", f"the key for `{self.name}` was refused", "use another mock", fatal=True)
            case _:
                raise ModelError("R0101", f"`{self.name}` cannot be reached", "use another mock", retryable=True)
        tokens_in = sum(_sent_tokens(request, message.content) for message in request.messages)
        tokens_out, told = _tokens(text), token_probabilities(request, text, key)
        # The same request has the same reply, however often it is asked for.
        other = Reply(text, self.name, "stop", 0, tokens_out, 0.0, logprobs=told)
        others = (other,) * (request.samples - 1)
        return Reply(text, self.name, "stop", tokens_in, tokens_out, 0.0, logprobs=told, others=others)

    async def close(self) -> None:
        """Nothing to let go of."""

    def _student(self, request: Request, *, chinese: bool) -> Reply:
        """Return the replies of a student, of which each sample has its own."""
        student = student_named(self.name.removeprefix("mock/"))
        assert student is not None
        tokens_in = sum(_sent_tokens(request, message.content) for message in request.messages)
        replies: list[Reply] = []
        for number in range(request.number, request.number + request.samples):
            text = student.text(request.messages, request.schema, number, chinese=chinese)
            told = token_probabilities(request, text, f"{self.name} {number} {text}")
            tokens = 0 if replies else tokens_in, _tokens(text)
            replies.append(Reply(text, self.name, "stop", *tokens, 0.0, logprobs=told))
        return replace(replies[0], others=tuple(replies[1:]))

    def _fail_first(self, key: str) -> None:
        asked = self._asked[key] = self._asked.get(key, 0) + 1
        if asked <= self.failures:
            raise ModelError("R0111", f"`{self.name}` answered with status 503", "try again", retryable=True)


def open_mock(which: str, sleep: Callable[[float], Awaitable[None]]) -> MockModel:
    """Return the mock of that character, such as `careful`, `careful:ada` or `fails-2`. Raises `ModelError` for any
    other."""
    character, _, _ = which.partition(":")
    failures = re.fullmatch(r"fails-(\d{1,4})", character)
    if failures:
        return MockModel(f"mock/{which}", "fails", int(failures[1]), sleep)
    if character == "fails-N":
        hint = "write a number for N, such as `mock/fails-2`"
        raise ModelError("R0103", f"there is no model `mock/{which}`", hint, fatal=True)
    if student_named(which) is not None:
        return MockModel(f"mock/{which}", "student", 0, sleep)
    if character.startswith("student-"):
        hint = "write an ability and a rate in per cent, such as `mock/student-40-30`; the rate is 66 at most"
        raise ModelError("R0103", f"there is no model `mock/{which}`", hint, fatal=True)
    if character not in CHARACTERS:
        close = difflib.get_close_matches(character, CHARACTERS, n=1)
        hint = f"did you mean `mock/{close[0]}`?" if close else f"the mocks are {', '.join(CHARACTERS)}"
        raise ModelError("R0103", f"there is no model `mock/{which}`", hint, fatal=True)
    return MockModel(f"mock/{which}", character, 0, sleep)


def likelihoods(request: Request, key: str) -> str:
    """Return likelihoods of the options of a request, which depend on `key`: a word is a token, and each is from 1 in
    20 to certain."""
    found = []
    for option in request.options:
        tokens = max(_tokens(option), 1)
        share = (1 + draw(10**6, key, option)) / 10**6
        found.append(OptionLikelihood(option, -3.0 * share * tokens, tokens, share < LIKELY))
    return write_likelihoods(found)


def token_probabilities(request: Request, text: str, key: str) -> str | None:
    """Return probabilities of the tokens of a reply, where the request asks for them, which depend on `key`: a word or
    a mark is a token. In the place of a letter, a number or a truth value stand others of its kind."""
    most = request.settings.top_logprobs
    if most is None:
        return None
    content = []
    for place, token in enumerate(TOKEN.findall(text)):
        share = 0.4 + 0.6 * (1 + draw(10**6, key, str(place))) / 10**6
        rest, top = 1.0 - share, [{"token": token, "logprob": math.log(share)}]
        for other in _others(token)[: max(most - 1, 0)]:
            rest /= 2
            top += [{"token": other, "logprob": math.log(rest)}] if rest > 0 else []
        content.append({"token": token, "logprob": math.log(share), "top_logprobs": top[:most]})
    return write_token_probabilities(content) if content else None


TOKEN = re.compile(r"\s*(?:[^\W\d_]+|\d+|.)", re.DOTALL)
KINDS = ("ABCDEFGHIJ", "0123456789")


def _others(token: str) -> list[str]:
    """Return the tokens that may stand in the place of one."""
    bare = token.strip()
    blank = token[: len(token) - len(bare)] if token.endswith(bare) else ""
    if bare in ("true", "false"):
        return [blank + ("false" if bare == "true" else "true")]
    kind = next((kind for kind in KINDS if len(bare) == 1 and bare in kind), "")
    return [blank + each for each in sorted(kind, key=lambda each: (abs(ord(each) - ord(bare)), each)) if each != bare]


def _key(name: str, request: Request) -> str:
    asked: list[Any] = [name, request.settings.seed, request.schema]
    asked += [list(each) for each in (request.options, request.tools) if each]
    asked += [[message.role, message.content] for message in request.messages]
    return SORTED.encode(asked)


def _careful_text(request: Request, key: str, *, chinese: bool) -> str:
    if request.options:
        return likelihoods(request, key)
    if request.tools:
        return calls_made(request.tools, key, chinese=chinese)
    if request.schema is None:
        text = sentences(3, key, chinese=chinese)
        text = answered(text, _last(request), key, plain=request.plain, chinese=chinese)
        told = "\n".join(each.content for each in request.messages)
        return filled_form(in_brackets(text, told, key), told, key)
    return json.dumps(value_of(request.schema, key, "kind", chinese=chinese), ensure_ascii=False)


def _last(request: Request) -> str:
    """Return the last message."""
    return request.messages[-1].content if request.messages else ""


def _is_answered(request: Request) -> bool:
    """Return true if a model has the results of what it called."""
    return any(message.role == RESULT for message in request.messages)


def _is_chinese(request: Request) -> bool:
    last = _last(request)
    if last.isascii():
        return False
    return 4 * len(CHINESE_CHARACTER.findall(last)) > len(WORD.findall(last))


def _sent_tokens(request: Request, text: str) -> int:
    """Return the tokens of a message: its words, and what the images and other files in it take, which are read as
    they would be to be sent. Raises `ModelError` R0127 where one is not to be had."""
    as_objects([Message("user", text)], request.contents)
    media = sum(
        math.ceil(tokens_of(request.model, medium, request.settings.image_detail).expected) for medium in media_in(text)
    )
    return _tokens(without_media(text)) + media


def _tokens(text: str) -> int:
    return len(text.split()) if text.isascii() else len(WORD.findall(text))


def _pick(texts: tuple[str, ...], key: str) -> str:
    return texts[draw(len(texts), key)]
