"""The replies of `mock/author`: items that differ from each other, laid out as questions of choice are."""

from __future__ import annotations

from typing import Any

from tripos_runtime.models.mock_values import draw, value_of

SYLLABLES = "ba ce di fo gu ha ke li mo nu pa re si to vu wa ye zi cho dra fle gri plo sta tru".split()  # noqa: SIM905
CHARACTERS = "山水火木金土日月星云风雨天地人心手足目耳口田力刀弓车马牛羊鱼鸟虫草花果米竹石玉衣食住行书画琴棋诗歌"
WORDS = 8
"""Words of a line, drawn one by one, so that two items have hardly a line in common."""
OPTIONS = "ABCD"


def authored(schema: dict[str, Any], key: str, *, chinese: bool = False) -> Any:
    """A value that fits the schema. Every text is a line of invented words and four more, lettered A. to D.

    >>> print(authored({"type": "string"}, "k").splitlines()[1][:2])
    A.
    >>> authored({"type": "string"}, "k") == authored({"type": "string"}, "other")
    False
    """
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    if options:
        return authored(options[0], key, chinese=chinese)
    match schema.get("type"):
        case "object":
            parts: dict[str, Any] = schema.get("properties", {})
            return {name: authored(part, f"{key}/{name}", chinese=chinese) for name, part in parts.items()}
        case "string" if "enum" not in schema:
            lines = [_line(f"{key}/{letter}", chinese=chinese) for letter in f"-{OPTIONS}"]
            lettered = [f"{letter}. {line}" for letter, line in zip(OPTIONS, lines[1:], strict=True)]
            return "\n".join([lines[0], *lettered])[: schema.get("maxLength")]
        case _:
            return value_of(schema, key, "kind", chinese=chinese)


def _line(key: str, *, chinese: bool) -> str:
    if chinese:
        return "".join(CHARACTERS[draw(len(CHARACTERS), key, str(place))] for place in range(2 * WORDS)) + "。"
    words = []
    for place in range(WORDS):
        parts = 2 + draw(2, key, str(place))
        words.append("".join(SYLLABLES[draw(len(SYLLABLES), key, str(place), str(part))] for part in range(parts)))
    return " ".join(words).capitalize() + "."
