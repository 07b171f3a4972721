"""Learns all weights of a base model and its head: for a GPU, or for patience."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tripos.training.common import Device, split_by_group
from tripos.training.reward.learners import Reward, accuracy, loss_of
from tripos.training.reward.pairs import Numbers, Preferences
from tripos.training.reward.recipe import RewardRecipe
from tripos.ui import SOME_FAILED, Failure
from tripos_runtime.models.reward import RewardNetwork

HEAD_RATE = 100.0
"""The head starts at nothing, and learns by so much more than the base."""


@dataclass
class TunedLearner:
    """Learns with all weights, each time from `base` on. `held_out` has the figures of the last fit on what
    it held out."""

    base: RewardNetwork
    recipe: RewardRecipe
    device: Device
    tell: Callable[[str], None]
    name: str = "model"
    held_out: Mapping[str, float] = field(default_factory=dict)

    def learn(self, learned: Preferences, seed: int) -> Reward:
        """Return a network of the pairs that the seed does not hold out."""
        return self.reward(self.fit(learned, seed))

    def reward(self, network: RewardNetwork) -> Reward:
        """Return what a network gives for the replies of preferences. It takes the device's memory only meanwhile."""

        def rewards(pairs: Preferences) -> Numbers:
            network.model.to(self.device.kind)
            found = np.array(network.rewards(pairs.texts, self._at_once))
            network.model.to("cpu")
            return found

        return rewards

    @property
    def _at_once(self) -> int:
        return self.recipe.at_once or (64 if self.device.kind == "cuda" else 32)

    def fit(self, learned: Preferences, seed: int) -> RewardNetwork:
        """Return the network, on the CPU or the GPU, after the epoch that does best on the groups that the seed holds
        out."""
        import torch

        torch.manual_seed(seed)
        recipe = self.recipe
        split = split_by_group(learned.groups, recipe.held_out, seed)
        taught, kept = learned.only(split.learned), learned.only(split.held_out)
        network = RewardNetwork(copy.deepcopy(self.base.model), self.base.tokenizer, self.base.shape)
        device = self.device.kind
        network.model.to(device)
        width = network.pooled([network.ids(*taught.texts[int(taught.better[0])])]).shape[1]
        weight = torch.zeros(width, device=device, requires_grad=True)
        even = {"mean": torch.zeros(width), "scale": torch.ones(width)}
        groups = [
            {"params": list(network.model.parameters()), "lr": recipe.learning_rate},
            {"params": [weight], "lr": recipe.learning_rate * HEAD_RATE},
        ]
        optimizer = torch.optim.AdamW(groups, weight_decay=0.0)
        batches = _batches(taught, recipe.batch)
        total = max(1, recipe.epochs * len(batches))
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, total, recipe.warmup))
        draw = np.random.default_rng(seed)
        best: tuple[float, Any, Any] | None = None
        for epoch in range(recipe.epochs):
            network.model.train()
            for place in draw.permutation(len(batches)):
                self._step(network, weight, taught.only(batches[place]), optimizer)
                schedule.step()
            network.head = {"weight": weight.detach().cpu().float(), **even}
            on = kept if len(kept) else taught
            rewards = _rewards_of(network, on, self._at_once)
            loss = loss_of(rewards, on, margins=False)
            if not math.isfinite(loss):
                hint = "take a lower `--learning-rate`"
                raise Failure("S0817", "the loss is not a number any more: nothing was written", hint, SOME_FAILED)
            found = {"loss": loss, "accuracy": accuracy(rewards, on)}
            self.tell(f"  epoch {epoch + 1} of {recipe.epochs}: {found['accuracy']:.3f} right on what is held out")
            if best is None or loss < best[0]:
                state = copy.deepcopy(network.model.state_dict()) if recipe.epochs > 1 else None
                best, self.held_out = (loss, state, network.head), found
        assert best is not None, "there is an epoch"
        if best[1] is not None:
            network.model.load_state_dict(best[1])
        network.head = best[2]
        network.model.eval()
        return network

    def _step(self, network: RewardNetwork, weight: Any, pairs: Preferences, optimizer: Any) -> None:
        """One step on all pairs of a batch: every reply goes through the network once."""
        import torch

        used, places = np.unique(np.concatenate([pairs.better, pairs.worse]), return_inverse=True)
        better, worse = (torch.tensor(each, device=weight.device) for each in np.split(places, 2))
        rows = [network.ids(*pairs.texts[place]) for place in used]
        margins = torch.tensor(pairs.margins, device=weight.device, dtype=torch.float32)
        try:
            with torch.autocast(self.device.kind, torch.bfloat16, enabled=self.device.bf16):
                rewards = network.pooled(rows).float() @ weight
            loss = -torch.nn.functional.logsigmoid(rewards[better] - rewards[worse] - margins).mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_([*network.model.parameters(), weight], self.recipe.max_norm)
            optimizer.step()
        except torch.OutOfMemoryError as error:
            hint = "a smaller `--batch`, fewer `--max-tokens`, or less `--context`"
            raise Failure("S0817", "the device has no memory left", hint, SOME_FAILED) from error


def _rewards_of(network: RewardNetwork, pairs: Preferences, at_once: int) -> Numbers:
    """Return the rewards of those replies that the pairs are of; of the others nothing."""
    used = np.unique(np.concatenate([pairs.better, pairs.worse]))
    rewards = np.full(len(pairs.texts), np.nan)
    rewards[used] = network.rewards([pairs.texts[place] for place in used], at_once)
    return rewards


def _batches(pairs: Preferences, size: int) -> Sequence[Sequence[int]]:
    """Return pairs of the same prompt together, at most as many prompts a batch as give `size` pairs or one
    prompt's."""
    of: dict[str, list[int]] = {}
    for place, better in enumerate(pairs.better):
        of.setdefault(pairs.texts[better][0], []).append(place)
    batches: list[list[int]] = []
    for places in of.values():
        if batches and len(batches[-1]) + len(places) <= size:
            batches[-1] += places
        else:
            batches.append(list(places))
    return batches


def _rate(step: int, total: int, warmup: float) -> float:
    """The learning rate's share of its highest: a rise, then a cosine."""
    rise = max(1, round(warmup * total))
    if step < rise:
        return (step + 1) / rise
    return 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1, total - rise)))
