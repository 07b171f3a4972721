"""Recipes of supervised fine-tuning: the settings of a training, and those that papers publish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from tripos.settings.options import TrainSftParameters
from tripos_compiler.errors import TriposError

FULL_RATE, LORA_RATE = 2e-5, 2e-4
"""Default learning rates. Adapters are small and start at zero, so they tolerate ten times as much."""


@dataclass(frozen=True)
class PublishedRecipe:
    """The recipe of a paper: `full` for all weights, `lora` for adapters, or None if it trains none."""

    paper: str
    full: Mapping[str, Any]
    lora: Mapping[str, Any] | None = None


RECIPES: Mapping[str, PublishedRecipe] = MappingProxyType(
    {
        "edubench": PublishedRecipe("arXiv:2505.16160", {"learning_rate": 1e-5, "batch": 8, "at_once": 1}),
        "cjeval": PublishedRecipe(
            "arXiv:2409.16202",
            {"learning_rate": 2e-5, "epochs": 1.0, "warmup": 0.1, "weight_decay": 0.1},
            {"learning_rate": 3e-4, "epochs": 5.0, "warmup": 0.1, "weight_decay": 0.1},
        ),
    }
)
"""Recipes by name. Settings that a paper does not state keep their defaults."""


def settings_of(name: str | None, lora: int) -> dict[str, Any]:
    """Return the settings of a named recipe, for adapters of rank `lora` or all weights. Raises `TriposError` R0202 if
    its paper trains no adapters.

    >>> settings_of("cjeval", 8)["epochs"], settings_of("edubench", 0)["batch"], settings_of(None, 0)
    (5.0, 8, {})
    """
    if name is None:
        return {}
    recipe = RECIPES[name]
    told = recipe.lora if lora else recipe.full
    if told is None:
        message = f"the recipe `{name}` trains all weights, and `{TrainSftParameters.lora}` adapters"
        raise TriposError("R0202", message, "leave out one of them")
    return dict(told)


@dataclass(frozen=True)
class Recipe:
    """The settings of a training. `batch` lines make a step, with `at_once` of them in a forward pass; `max_steps` ends
    training early. `held_out` is the share of items that are not learned. `lora` is the rank of adapters, or 0 to train
    all weights. `warmup` is the share of steps with a rising learning rate, before it falls as a cosine. `name` is a
    published recipe that gives the defaults."""

    model: str
    seed: int = 0
    epochs: float = 1.0
    max_steps: int | None = None
    learning_rate: float | None = None
    batch: int = 16
    at_once: int | None = None
    max_tokens: int = 2048
    held_out: float = 0.1
    lora: int = 0
    warmup: float = 0.03
    weight_decay: float = 0.0
    max_norm: float = 1.0
    name: str | None = None

    @property
    def rate(self) -> float:
        """The highest learning rate.

        >>> Recipe("m").rate, Recipe("m", lora=16).rate, Recipe("m", learning_rate=1e-5).rate
        (2e-05, 0.0002, 1e-05)
        """
        if self.learning_rate is not None:
            return self.learning_rate
        return LORA_RATE if self.lora else FULL_RATE

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as JSON values with the effective learning rate. The model is left out, since the report
        names it by its digest."""
        values = {**asdict(self), "learning_rate": self.rate}
        del values["model"]
        return values
