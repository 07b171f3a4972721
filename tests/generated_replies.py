"""The replies of models of generated benchmarks: a pure function of what is sent to them.

A reply is the same in every run, in any order, in process or behind a server. It is a text with the reason why it
ended, or the `ModelError` of a model that declines (`R0108`). Some replies that should be JSON are none; of these some
are mended when they are asked for once more. Some are cut off, empty, or without their optional fields. Models whose
name ends in `calm` do none of that.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tripos_runtime.models.base import Message, ModelError

WORDS = ("sun", "rain", "stone", "river", "seven", "42", "seven plus two", "ANSWER: 12", "maybe", "no", "yes", "tree")
AGAIN = "That reply could not be used"
"""Begins the message that asks for a reply once more."""


@dataclass(frozen=True)
class Said:
    """The reply of a model, and why it ended."""

    text: str
    finish_reason: str = "stop"


def script(
    model: str, messages: Sequence[Message], schema: Mapping[str, Any] | None, number: int = 0
) -> Said | ModelError:
    """Return what a model replies to these messages as sample `number`, given the JSON Schema that the reply should
    fit."""
    again = AGAIN in messages[-1].content
    asked = messages[:-2] if again else messages
    told = json.dumps([model, number, [[each.role, each.content] for each in asked]])
    dice = random.Random(int.from_bytes(hashlib.blake2b(told.encode(), digest_size=8).digest()))
    wild = not model.endswith("calm")
    mood = dice.random() if wild else 1.0
    if mood < 0.05:
        return ModelError("R0108", "declined", "", status="refused")
    if schema is None:
        said = " ".join(dice.choice(WORDS) for _ in range(dice.randrange(0 if wild else 1, 6)))
        return Said(said, "length" if 0.05 < mood < 0.1 else "stop")
    if mood < 0.1 or (mood < 0.25 and not again):
        return Said("no JSON from me", "length" if mood < 0.07 else "stop")
    if not schema:
        return Said(_any_json(dice, wild))
    return Said(json.dumps(_value(schema, dice)))


def _any_json(dice: random.Random, wild: bool) -> str:
    """Return JSON of one form or another, with text around it; a `wild` one may be broken."""
    said = " ".join(dice.choice(WORDS) for _ in range(dice.randrange(1, 4)))
    found: Any = {"sum": dice.choice((0, 3, 7, "7", None)), "why": said, "more": [1.5, {"a": said}]}
    for name in ("sum", "why", "more"):
        if dice.random() < 0.2:
            del found[name]
    found = dice.choice((found, found, found, [found], said, 12))
    text = json.dumps(found, separators=dice.choice((None, (",", ":"))))
    text = text[:-1] if wild and dice.random() < 0.2 else text
    return dice.choice(("{}", "{}", "Here:\n```json\n{}\n```")).replace("{}", text)


def _value(schema: Mapping[str, Any], dice: random.Random) -> Any:
    """Return a value that fits a schema."""
    match schema:
        case {"enum": options}:
            return dice.choice(options)
        case {"anyOf": options}:
            return _value(dice.choice(options), dice)
        case {"type": "object", "properties": properties}:
            return {name: _value(each, dice) for name, each in properties.items()}
        case {"type": "array", "items": items}:
            return [_value(items, dice) for _ in range(dice.randrange(3))]
        case {"type": "integer", **bounds}:
            return dice.randint(bounds.get("minimum", 0), bounds.get("maximum", 9))
        case {"type": "number"}:
            return dice.randrange(10) / 2
        case {"type": "boolean"}:
            return dice.random() < 0.7
        case {"type": "null"}:
            return None
    return " ".join(dice.choice(WORDS) for _ in range(dice.randrange(1, 4)))
