"""How the settings of a request are written: the fields of `plan.Settings`, which is slow to import and so not asked.

A test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tripos_compiler.source import dataclass


@dataclass(frozen=True)
class Setting:
    """The value of a setting, as in a signature, and the numbers that it takes."""

    written: str
    summary: str
    least: float | None = None
    most: float | None = None
    places: tuple[str, ...] = ()
    """The constructs that have it; none where all have it that ask a model."""
    one: bool = False
    """Whether it is the same in all requests of a step, as what decides how replies are read."""

    @property
    def signature(self) -> str:
        """The value and the condition, as in a signature."""
        condition = "" if self.one else "[when COND]"
        parts = (condition, self.written) if self.written == "BLOCK" else (self.written, condition)
        return " ".join(filter(None, parts))

    @property
    def words(self) -> tuple[str, ...]:
        """The words of which it is one; none where it is something else."""
        return () if self.written.isupper() else tuple(self.written.split("|"))


PROVIDER_FIELDS = frozenset(
    {"repetition_penalty", "length_penalty", "min_p", "typical_p", "logprobs", "top_logprobs", "logit_bias"}
    | {"enable_thinking", "thinking", "service_tier", "response_format"}
)
"""Fields of requests that are no settings, as some providers know them."""


def place_of_setting(name: str) -> str | None:
    """Return where a request setting is written that somebody gave elsewhere; None of any other word.

    >>> place_of_setting("--top-p")
    'it is set in the spec, as part of what is asked: `top_p …` inside of `ask`, beside its `prompt`'
    >>> place_of_setting("--budget")
    """
    bare = name.lstrip("-").replace("-", "_")
    if bare not in SETTINGS and bare not in PROVIDER_FIELDS:
        return None
    written = f"{bare} …" if bare in SETTINGS else f"provider {{ {bare} … }}"
    return f"it is set in the spec, as part of what is asked: `{written}` inside of `ask`, beside its `prompt`"


SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {
        "temperature": Setting("NUMBER", "sampling temperature", 0, 2),
        "max_tokens": Setting("COUNT", "longest reply, in tokens", 1),
        "stop": Setting("LABELS", "text at which the reply ends, maybe one for each language"),
        "top_p": Setting("NUMBER", "nucleus sampling: share of the probability mass to sample from", 0, 1),
        "top_k": Setting("COUNT", "number of most likely tokens to sample from", 1),
        "seed": Setting("COUNT", "seed of the sampling; the next sample has the next number"),
        "presence_penalty": Setting("NUMBER", "penalty for tokens that have occurred", -2, 2),
        "frequency_penalty": Setting("NUMBER", "penalty for tokens by their frequency so far", -2, 2),
        "reasoning_effort": Setting("none|minimal|low|medium|high|xhigh", "amount of reasoning before the reply"),
        "top_logprobs": Setting(
            "COUNT",
            "the probabilities of so many tokens at each place of the reply",
            0,
            20,
            places=("ask", "scorer"),
            one=True,
        ),
        "image_detail": Setting("low|high|auto", "how closely the model looks at images", places=("ask", "scorer")),
        "chat_template": Setting(
            "own", "puts a plain text into the template of a chat that the model's file has", places=("ask",), one=True
        ),
        "provider": Setting("BLOCK", "fields for the provider, sent unchanged"),
    }
)
"""By the name of the field. A text may be written several times, anything else once for each condition."""
