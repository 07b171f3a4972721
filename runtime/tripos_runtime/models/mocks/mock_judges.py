"""Mock judges whose bias is known: they agree on how good a reply is, and differ in what they make of it.

How good a reply is follows from the request alone and so is the same for all of them: on a scale of 1 to 10 it is 3 to
8, so that neither two points less nor two more leave the scale.
"""

from __future__ import annotations

import math
from typing import Any

from tripos_runtime.models.mocks.mock_values import draw, value_of

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
