"""The loss of a language model on chats that it does not learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripos.training.tokens import IGNORED, Tokens


def loss_of(model: Any, tokens: Sequence[Tokens], at_once: int, pad: int) -> float | None:
    """The mean negative log likelihood of a reply's token, in nats; every token of every reply counts alike, whatever
    batch it is in. `None` without any chat. The model is left in the mode that it was in.
    """
    import torch

    if not tokens:
        return None
    device = next(model.parameters()).device
    training = model.training
    model.eval()
    total, count = 0.0, 0
    # Neighbours in length are together, so that little is computed on padding; the sum does not depend on it.
    order = sorted(range(len(tokens)), key=lambda place: len(tokens[place].ids))
    try:
        with torch.no_grad():
            for start in range(0, len(order), at_once):
                batch = [tokens[place] for place in order[start : start + at_once]]
                ids, labels = _padded(batch, pad)
                inputs = torch.tensor(ids, device=device)
                wanted = torch.tensor(labels, device=device)[:, 1:]
                mask = torch.tensor([[1] * len(each.ids) + [0] * (len(ids[0]) - len(each.ids)) for each in batch])
                logits = model(input_ids=inputs, attention_mask=mask.to(device)).logits[:, :-1].float()
                summed = torch.nn.functional.cross_entropy(
                    logits.reshape(-1, logits.shape[-1]), wanted.reshape(-1), ignore_index=IGNORED, reduction="sum"
                )
                total += float(summed)
                count += int((wanted != IGNORED).sum())
    finally:
        model.train(training)
    return total / count if count else None


def _padded(batch: Sequence[Tokens], pad: int) -> tuple[list[list[int]], list[list[int]]]:
    longest = max(len(each.ids) for each in batch)
    ids = [[*each.ids, *[pad] * (longest - len(each.ids))] for each in batch]
    return ids, [[*each.labels, *[IGNORED] * (longest - len(each.ids))] for each in batch]
