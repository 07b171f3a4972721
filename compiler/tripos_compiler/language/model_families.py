"""Families of models: who trained them, as far as a name says it. Judges favour their own."""

from __future__ import annotations

import re
from functools import lru_cache

FAMILIES = {
    "gpt": r"gpt|chatgpt|davinci|o[1345](?:-|$)",
    "claude": r"claude",
    "gemini": r"gemini|gemma|palm",
    "llama": r"llama|vicuna|alpaca",
    "qwen": r"qwen|qwq|qvq",
    "deepseek": r"deepseek",
    "mistral": r"mistral|mixtral|codestral|ministral|magistral|pixtral",
    "glm": r"glm",
    "grok": r"grok",
    "command": r"command-|c4ai|aya",
    "phi": r"phi-?\d",
    "kimi": r"kimi|moonshot",
    "doubao": r"doubao|seed-",
    "ernie": r"ernie",
    "hunyuan": r"hunyuan",
    "yi": r"yi-",
    "internlm": r"internlm",
    "nova": r"nova-",
    "granite": r"granite",
    "smollm": r"smollm",
}
"""Family to what the names of its models contain, from the start of a word on."""
PEOPLE = "human/"
"""What the name of a judge begins with that is a person."""


@lru_cache(maxsize=4096)
def families_in_name(model: str) -> frozenset[str]:
    """Return the families that a model's name shows; a distilled model has two, a model of no known name none.

    >>> sorted(families_in_name("openrouter/deepseek/deepseek-r1-distill-qwen-32b"))
    ['deepseek', 'qwen']
    >>> families_in_name("azure/prod-7")
    frozenset()
    """
    name = model.casefold()
    return frozenset(family for family, pattern in FAMILIES.items() if re.search(rf"(?<![a-z0-9])(?:{pattern})", name))


def shares_family(judge: str, model: str) -> bool:
    """Return true if a judge is that model, or of a family that it is of. A person is of none.

    >>> shares_family("openai/gpt-5", "azure/gpt-4o-mini"), shares_family("mock/careful", "mock/careful")
    (True, True)
    >>> claude = "anthropic/claude-sonnet-4-5"
    >>> shares_family(claude, "openai/gpt-5"), shares_family("human/claude", claude)
    (False, False)
    """
    return judge == model or (not judge.startswith(PEOPLE) and bool(families_in_name(judge) & families_in_name(model)))
