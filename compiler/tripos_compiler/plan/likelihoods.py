"""The likelihood of options, and the probabilities of a reply's tokens: how they are said, and what expressions see.

The reply to a step with `likelihood of` is JSON: for each option its text, the natural logarithm of its probability
after the prompt, the number of its tokens, and whether it is what the model would write at temperature 0.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from tripos_compiler.plan.expressions import (
    BoolType,
    ChoiceType,
    IntegerType,
    ListType,
    NumberType,
    RecordType,
    TextType,
    Type,
)
from tripos_compiler.source import dataclass

LIKELIHOODS = RecordType(
    fields={
        "likeliest": IntegerType(),
        "likeliest_by_character": IntegerType(),
        "likeliest_by_byte": IntegerType(),
        "likeliest_by_token": IntegerType(),
        "confidence": NumberType(),
        "logprobs": ListType(of=NumberType()),
        "probabilities": ListType(of=NumberType()),
        "tokens": ListType(of=IntegerType()),
        "greedy": ListType(of=BoolType()),
    }
)
"""What a step with `likelihood of` yields."""


class NoLikelihoods(ValueError):
    """A text does not say how likely options are."""


@dataclass(frozen=True)
class OptionLikelihood:
    """An option, and how likely a model says it is."""

    text: str
    logprob: float
    tokens: int
    greedy: bool


def write_likelihoods(options: Sequence[OptionLikelihood]) -> str:
    """Return likelihoods as the text of a reply.

    >>> write_likelihoods([OptionLikelihood("yes", -0.5, 1, True)])
    '{"options": [{"text": "yes", "logprob": -0.5, "tokens": 1, "greedy": true}]}'
    """
    told = [
        {"text": each.text, "logprob": each.logprob, "tokens": each.tokens, "greedy": each.greedy} for each in options
    ]
    return json.dumps({"options": told}, ensure_ascii=False)


def read_likelihoods(text: str) -> dict[str, Any]:
    """Return the values of `LIKELIHOODS` that a reply says. Raises `NoLikelihoods`.

    The likeliest option is the first of the greatest logarithm, or of the greatest one divided by the characters, the
    bytes in UTF-8 or the tokens of the option: `acc`, `acc_norm` and `acc_bytes` of the LM Evaluation Harness, whose
    lengths are those of the option alone, and `acc_per_token`. Probabilities are those among the options, as if there
    were no other text.

    >>> options = [OptionLikelihood("no", -2.0, 1, False), OptionLikelihood("certainly", -4.0, 2, False)]
    >>> found = read_likelihoods(write_likelihoods(options))
    >>> found["likeliest"], found["likeliest_by_character"], round(found["confidence"], 3)
    (0, 1, 0.881)
    """
    options = _options(text)
    logprobs = [each.logprob for each in options]
    highest = max(logprobs)
    weights = [math.exp(each - highest) for each in logprobs]
    total = math.fsum(weights)
    return {
        "likeliest": _highest(options, lambda _: 1),
        "likeliest_by_character": _highest(options, lambda each: len(each.text)),
        "likeliest_by_byte": _highest(options, lambda each: len(each.text.encode("utf-8", "replace"))),
        "likeliest_by_token": _highest(options, lambda each: each.tokens),
        "confidence": max(weights) / total,
        "logprobs": logprobs,
        "probabilities": [each / total for each in weights],
        "tokens": [each.tokens for each in options],
        "greedy": [each.greedy for each in options],
    }


def _highest(options: Sequence[OptionLikelihood], length: Callable[[OptionLikelihood], int]) -> int:
    """Return the place of the first option whose logarithm divided by its length is the greatest."""
    return max(range(len(options)), key=lambda place: options[place].logprob / length(options[place]))


def _options(text: str) -> list[OptionLikelihood]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise NoLikelihoods("it is no JSON") from error
    listed = found.get("options") if isinstance(found, dict) else None
    if not isinstance(listed, list) or not listed:
        raise NoLikelihoods("it has no options")
    return [_option(each) for each in listed]


def _option(found: Any) -> OptionLikelihood:
    match found:
        case {"text": str(text), "logprob": int() | float() as logprob, "tokens": int(tokens), "greedy": bool(greedy)}:
            if text and tokens > 0 and math.isfinite(logprob) and not isinstance(logprob, bool):
                return OptionLikelihood(text, float(logprob), tokens, greedy)
    raise NoLikelihoods("an option lacks its text, logarithm, tokens or `greedy`")


TOKEN_PROBABILITIES: dict[str, Type] = {
    "tokens": ListType(of=TextType()),
    "logprobs": ListType(of=NumberType()),
    "top_tokens": ListType(of=TextType()),
    "top_logprobs": ListType(of=NumberType()),
}
"""What a reply to a step with `top_logprobs` has besides."""


class NoTokenProbabilities(ValueError):
    """A reply does not say how likely its tokens are, or not where the answer stands."""


@dataclass(frozen=True)
class TokenProbability:
    """A token of a reply, the natural logarithm of its probability, and the likeliest tokens in its place. `bytes` is
    the part of the reply that it is, in UTF-8."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...]
    bytes: bytes


def write_token_probabilities(content: Sequence[Mapping[str, Any]]) -> str:
    """Return the tokens of a reply, in OpenAI's form, as the text that is kept: without what does not count.

    >>> write_token_probabilities([{"token": "A", "logprob": -0.5, "bytes": [65], "top_logprobs": []}])
    '[{"token":"A","logprob":-0.5,"top_logprobs":[]}]'
    """
    kept = []
    for each in content:
        told = {"token": each.get("token"), "logprob": each.get("logprob")}
        own, said = each.get("bytes"), each.get("token")
        if isinstance(own, list) and isinstance(said, str) and own != list(said.encode("utf-8", "replace")):
            told["bytes"] = own  # a part of a character
        top = each.get("top_logprobs")
        listed = top if isinstance(top, list) else []
        told["top_logprobs"] = [
            {"token": one.get("token"), "logprob": one.get("logprob")} for one in listed if isinstance(one, Mapping)
        ]
        kept.append(told)
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))


def read_token_probabilities(text: str | None) -> list[TokenProbability]:
    """Return the tokens that a text which is kept says. Raises `NoTokenProbabilities`."""
    try:
        found = json.loads(text or "null")
    except ValueError as error:
        raise NoTokenProbabilities("they are no JSON") from error
    if not isinstance(found, list) or not found:
        raise NoTokenProbabilities("the reply came without them")
    return [_token(each) for each in found]


def _token(found: Any) -> TokenProbability:
    match found:
        case {"token": str(text), "logprob": int() | float() as logprob, "top_logprobs": list(top)}:
            told = [(one.get("token"), one.get("logprob")) for one in top if isinstance(one, dict)]
            likeliest = tuple(
                (token, float(one)) for token, one in told if isinstance(token, str) and _is_logarithm(one)
            )
            own = found.get("bytes")
            if _is_logarithm(logprob):
                said = bytes(own) if isinstance(own, list) and _are_bytes(own) else text.encode("utf-8", "replace")
                return TokenProbability(text, float(logprob), likeliest, said)
    raise NoTokenProbabilities("a token lacks its text or its logarithm")


def _are_bytes(found: Sequence[Any]) -> bool:
    return all(isinstance(each, int) and 0 <= each < 256 for each in found)


def _is_logarithm(found: Any) -> TypeGuard[float]:
    return isinstance(found, int | float) and not isinstance(found, bool) and math.isfinite(found) and found <= MOST_LOG


MOST_LOG = 1e-3
"""More than 0 is no logarithm of a probability; providers round."""


def weighed_fields(returns: Type | None) -> dict[str, Type]:
    """Return what a reply has besides that says the probabilities of its tokens: those of the values of its type too,
    where the type has few."""
    if returns is None or _values(returns) is None:
        return TOKEN_PROBABILITIES
    more: dict[str, Type] = {"likeliest": returns, "probabilities": ListType(of=NumberType())}
    more |= {"confidence": NumberType()} | ({} if returns.kind == "choice" else {"expected": NumberType()})
    return {**TOKEN_PROBABILITIES, **more}


def told_probabilities(
    tokens: Sequence[TokenProbability], returns: Type | None = None, value: object = None
) -> dict[str, Any]:
    """Return the values of `weighed_fields` that a reply has, of which the `value` was read. Where it is not clear with
    which token the answer begins, or none of the likeliest is a value of the type, the fields are left out that say
    that."""
    found: dict[str, Any] = {"tokens": [each.text for each in tokens], "logprobs": [each.logprob for each in tokens]}
    place = place_of_answer(tokens, None if returns is None else value)
    if place is None:
        return found
    top = tokens[place].top
    found |= {"top_tokens": [text for text, _ in top], "top_logprobs": [logprob for _, logprob in top]}
    values = None if returns is None else _values(returns)
    shares = option_shares([text for text, _ in values], top) if values is not None else None
    if values is None or shares is None:
        return found
    found |= {"likeliest": values[shares.index(max(shares))][1], "probabilities": shares, "confidence": max(shares)}
    numbers = [float(each) for _, each in values if not isinstance(each, str)]
    if numbers:
        mean = math.fsum(number * share for number, share in zip(numbers, shares, strict=True))
        found["expected"] = min(max(mean, min(numbers)), max(numbers))  # rounding may pass an end of the scale
    return found


def told_share(returns: Type, told: Mapping[str, Any], value: object) -> float:
    """Return the probability of a value among those of its type, as `told_probabilities` tells it: 0 where it is not
    clear with which token the value begins."""
    values = [each for _, each in _values(returns) or []]
    return float(told["probabilities"][values.index(value)]) if "probabilities" in told and value in values else 0.0


MOST_VALUES = 100
"""The most whole numbers of a scale whose probabilities are told."""


def _values(returns: Type) -> list[tuple[str, str | int | bool]] | None:
    """Return the values of a type as they are written and as they are; None where it has many."""
    match returns:
        case ChoiceType(values=values):
            return [(each, each) for each in values]
        case BoolType():
            return [("false", False), ("true", True)]
        case IntegerType(low=int(low), high=int(high)) if high - low < MOST_VALUES:
            return [(str(each), each) for each in range(low, high + 1)]
    return None


def option_shares(options: Sequence[str], top: Sequence[tuple[str, float]]) -> list[float] | None:
    """Return the probability of each option among them, given the likeliest tokens in the place where an answer begins
    and their natural logarithms; None where no token is an option.

    >>> option_shares(["A", "B"], [("A", -0.5), (" b", -0.5), ("The", -2.0)]), option_shares(["A"], [("I", -0.1)])
    ([0.5, 0.5], None)
    """
    shares = [0.0] * len(options)
    for token, logprob in top:
        place = _option_begun(options, token)
        if place is not None:
            shares[place] += math.exp(min(logprob, 0.0))
    total = math.fsum(shares)
    return [share / total for share in shares] if total > 0 else None


def _option_begun(options: Sequence[str], token: str) -> int | None:
    """Return the place of the option that a token is, or that it alone begins; in another case where that is the only
    one."""
    bare = token.strip().strip(AROUND) or token.strip()
    for said in (token, token.strip(), bare):
        if said and said in options:
            return list(options).index(said)
    folded = [option.casefold() for option in options]
    if bare and folded.count(bare.casefold()) == 1:
        return folded.index(bare.casefold())
    for said, among in ((bare, options), (bare.casefold(), folded)):
        begun = {place for place, option in enumerate(among) if said and option.startswith(said)}
        if len(begun) == 1:
            return begun.pop()
    return None


AROUND = " \"'`*().:,;{}[]"
"""Marks that a token may have around the letters of an option."""


def place_of_answer(tokens: Sequence[TokenProbability], value: object = None) -> int | None:
    """Return the place of the token with which a reply's answer begins: of a text the first that is not blank; of a
    `value` that was read from the reply the one with which the value begins, which stands under `value` or `score` in
    JSON, at the beginning, or nowhere else. None where that is not clear.

    >>> said = [TokenProbability(each, -0.1, (), each.encode()) for each in ('{"', "value", '": ', '"', "B", '"}')]
    >>> place_of_answer(said, "B"), place_of_answer(said[4:5], "B"), place_of_answer(said[:3], "B")
    (4, 0, None)
    """
    if value is None:
        return next((place for place, each in enumerate(tokens) if each.text.strip()), None)
    said = b"".join(each.bytes for each in tokens)
    written = re.escape(_written(value).encode("utf-8", "replace"))
    alone = rb"(?![\w.])" if isinstance(value, int | float) and not isinstance(value, bool) else rb"(?!\w)"
    found = [each.end() for each in re.finditer(rb'(?i)"(?:value|score)"\s*:\s*"?(?=%s%s)' % (written, alone), said)]
    if not found:
        first = re.match(rb"(?i)\s*(?=%s%s)" % (written, alone), said)
        found = [first.end()] if first is not None else []
    if not found:
        found = [each.start() for each in re.finditer(rb"(?<!\w)%s%s" % (written, alone), said)]
        if len(found) > 1:
            return None
    if not found:
        return None
    at = 0
    for place, each in enumerate(tokens):
        at += len(each.bytes)
        if at > found[-1]:
            return place
    return None


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
