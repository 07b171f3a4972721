"""The likelihood of options: how a reply says it, and the values that expressions see.

The reply to a step with `likelihood of` is JSON: for each option its text, the natural logarithm of its probability
after the prompt, the number of its tokens, and whether it is what the model would write at temperature 0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from tripos_compiler.plan.expressions import BoolType, IntegerType, ListType, NumberType, RecordType
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
