"""How a model is trained: everything that decides what comes out, besides the data and the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from tripos.ui import Failure

FULL_RATE, LORA_RATE = 2e-5, 2e-4
"""Learning rates where none is given: adapters are small and start at nothing, so they bear ten times as much."""


@dataclass(frozen=True)
class PublishedRecipe:
    """A paper's recipe: `full` for all weights, `lora` for adapters, None where it trains none."""

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
"""The recipes that have a name. What a paper does not say is as without one."""


def settings_of(name: str | None, lora: int) -> dict[str, Any]:
    """Return the settings that a named recipe says, for adapters of rank `lora` or all weights. Raises `Failure` R0202
    where its paper trains no adapters.

    >>> settings_of("cjeval", 8)["epochs"], settings_of("edubench", 0)["batch"], settings_of(None, 0)
    (5.0, 8, {})
    """
    if name is None:
        return {}
    found = RECIPES[name]
    told = found.lora if lora else found.full
    if told is None:
        message = f"the recipe `{name}` trains all weights, and `--lora` adapters"
        raise Failure("R0202", message, "leave out one of them")
    return dict(told)


@dataclass(frozen=True)
class Recipe:
    """A recipe. `batch` lines make a step, of which `at_once` go through the model together; `max_steps` ends training
    early; `held_out` is the share of the items that are not learned; `lora` is the rank of adapters, 0 for training all
    weights; `warmup` is the share of the steps in which the learning rate rises, before it falls as a cosine. `name` is
    that of the published recipe whose settings hold where nothing else is said."""

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
        """Return the recipe as JSON values, with the learning rate that holds; without the model, which the report
        names by what it is."""
        values = {**asdict(self), "learning_rate": self.rate}
        del values["model"]
        return values
