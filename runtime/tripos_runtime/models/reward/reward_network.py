"""The network of a trained reward model: an encoder or a causal model of transformers, what is taken of its layers, and
a linear head. Training and scoring go through the same code, so a text gets the number that it was trained to.

What is scored is the reply: the tokens before it are read along, `context` of them, and the rest is left out.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import orjson

from tripos_compiler.source import dataclass

BASE, HEAD = "base", "head.safetensors"
"""Beside the manifest: the folder of the base model, and the weights of the head."""
AT_ONCE = 32
MOST_PACKED = 500_000_000
"""Larger models are not packed, for their weights are in memory twice then."""
DIGITS = 4

Pool = Literal["layers", "mean", "last"]


@dataclass(frozen=True)
class Shape:
    """The shape of the network that makes numbers of texts. `pool` says what the head sees: the means of a reply's
    tokens in every layer, in the last one, or the last token of the last layer. `marker` is what stands before a reply
    in a text that is scored, `context` how many tokens before the reply are read, `most` how many of the reply at
    most."""

    pool: Pool = "layers"
    marker: str = "Teacher:"
    context: int = 0
    most: int = 256

    def to_json(self) -> dict[str, Any]:
        """Return the shape as JSON values."""
        return asdict(self)


def parted(text: str, marker: str) -> tuple[str, str]:
    """Return what comes before the reply, and the reply: what follows the last `marker` that begins a line. A text
    without one is all reply.

    >>> parted("Student: 4?\\nTeacher: Why 4?", "Teacher:")
    ('Student: 4?', 'Why 4?')
    >>> parted("Why 4?", "Teacher:")
    ('', 'Why 4?')
    """
    before, found, reply = ("\n" + text).rpartition("\n" + marker)
    return (before.strip(), reply.strip()) if found else ("", text.strip())


@dataclass
class RewardNetwork:
    """A base model with its tokenizer and a head. `head` maps features to one number: `weight` of shape `[features]`
    and a `mean` and `scale` of that shape, by which features are brought to one size first. With a `bias` of shape
    `[criteria]` it is classifiers, of `weight` `[features, criteria]`, and the number is the sum of their chances."""

    model: Any
    tokenizer: Any
    shape: Shape
    head: Any = None

    def ids(self, before: str, reply: str) -> tuple[list[int], int]:
        """Return the tokens of a reply and what comes before it, and how many of them are before the reply."""
        tokenizer, shape = self.tokenizer, self.shape
        tail = tokenizer(before, add_special_tokens=False)["input_ids"][-shape.context :] if shape.context else []
        said = tokenizer(reply, add_special_tokens=False)["input_ids"][: shape.most]
        first = [tokenizer.cls_token_id] if tokenizer.cls_token_id is not None else []
        last = [tokenizer.sep_token_id] if tokenizer.sep_token_id is not None else [tokenizer.eos_token_id]
        given = [*first, *tail, *(last if tail and tokenizer.sep_token_id is not None else [])]
        return [*given, *said, *last], len(given)

    def pooled(self, rows: Sequence[tuple[list[int], int]]) -> Any:
        """Return the features of token rows, of shape `[rows, features]`, in 32 bits; gradients flow where they are
        on."""
        import torch

        device = next(self.model.parameters()).device
        longest = max(len(ids) for ids, _ in rows)
        pad = self.tokenizer.pad_token_id or 0
        inputs = torch.full((len(rows), longest), pad, dtype=torch.long)
        mask = torch.zeros((len(rows), longest))
        said = torch.zeros((len(rows), longest))
        for row, (ids, given) in enumerate(rows):
            inputs[row, : len(ids)] = torch.tensor(ids)
            mask[row, : len(ids)] = 1
            said[row, (given if len(ids) > given else 0) : len(ids)] = 1
        layers = self.shape.pool == "layers"
        found = self.model(input_ids=inputs.to(device), attention_mask=mask.to(device), output_hidden_states=layers)
        weights = (said / said.sum(1, keepdim=True)).to(device)[..., None]
        if layers:
            return torch.cat([(each.float() * weights).sum(1) for each in found.hidden_states], 1)
        last = found.last_hidden_state.float()
        if self.shape.pool == "mean":
            return (last * weights).sum(1)
        ends = torch.tensor([len(ids) - 1 for ids, _ in rows], device=device)
        return last[torch.arange(len(rows), device=device), ends]

    def features(self, texts: Sequence[tuple[str, str]], at_once: int = AT_ONCE) -> Any:
        """Return the features of replies with what comes before them, each given once, of shape `[texts, features]`, on
        the CPU. Texts of like length go through together."""
        import torch

        rows = [self.ids(before, reply) for before, reply in texts]
        found: list[Any] = [None] * len(rows)
        self.model.eval()
        with torch.inference_mode():
            for batch in by_length([len(ids) for ids, _ in rows], at_once):
                for place, feature in zip(batch, self.pooled([rows[each] for each in batch]).cpu(), strict=True):
                    found[place] = feature
        return torch.stack(found)

    def rewards(self, texts: Sequence[tuple[str, str]], at_once: int = AT_ONCE) -> list[float]:
        """Return the rewards of replies with what comes before them, in their order.

        They are rounded to what 32 bits can tell: the same text in another batch must tie with itself, and not win by
        the order in which sums were taken.
        """
        if not texts:
            return []
        values = ((self.features(texts, at_once) - self.head["mean"]) / self.head["scale"]) @ self.head["weight"]
        if "bias" in self.head:
            values = (values + self.head["bias"]).sigmoid().sum(1)
        return [round(float(value), DIGITS) for value in values]


def by_length(lengths: Sequence[int], at_once: int) -> Iterator[list[int]]:
    """Yield places in batches of neighbours in length, so that little is computed on padding.

    >>> list(by_length([5, 1, 4, 2], 2))
    [[1, 3], [2, 0]]
    """
    order = sorted(range(len(lengths)), key=lambda place: lengths[place])
    for start in range(0, len(order), at_once):
        yield order[start : start + at_once]


def load_base(where: str, shape: Shape) -> RewardNetwork:
    """Return a base model of transformers without its own head, in 32 bits, on the CPU. Raises what transformers
    raises."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    local = Path(where).exists()
    tokenizer = AutoTokenizer.from_pretrained(where, local_files_only=local)
    model = AutoModel.from_pretrained(where, dtype=torch.float32, local_files_only=local)
    model.eval()
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return RewardNetwork(model, tokenizer, shape)


def packed(network: RewardNetwork) -> RewardNetwork:
    """Return the same network for a processor, with the weights of its linear layers laid out as oneDNN wants them,
    which gives the same rewards in two thirds of the time. The network itself where it cannot be packed."""
    import torch

    weights = sum(each.numel() for each in network.model.parameters())
    if not torch.backends.mkldnn.is_available() or weights > MOST_PACKED:
        return network
    trial = [("", "What did you do first?"), ("", "No. It is 12.")]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # already on import
            from torch.utils.mkldnn import to_mkldnn

            other = replace(network, model=to_mkldnn(copy.deepcopy(network.model)))
            same = torch.allclose(network.features(trial), other.features(trial), rtol=1e-3, atol=1e-4)
    except Exception:  # a layer that looks into its weights takes no packed ones
        return network
    return other if same else network


def write_network(network: RewardNetwork, folder: Path) -> None:
    """Write base, tokenizer and head. Raises `OSError`."""
    from safetensors.torch import save_file

    network.model.save_pretrained(folder / BASE)
    network.tokenizer.save_pretrained(folder / BASE)
    save_file({name: each.contiguous() for name, each in network.head.items()}, folder / HEAD)
    for file in folder.rglob("*.safetensors"):  # which are written for their owner only
        file.chmod(0o644)


def read_network(folder: Path) -> RewardNetwork:
    """Return the network that `write_network` wrote, of the shape in its manifest. Raises `OSError`, `ValueError` and
    what transformers raises."""
    from safetensors.torch import load_file

    said = orjson.loads((folder / "manifest.json").read_bytes())
    network = load_base(str(folder / BASE), Shape(**said["shape"]))
    network.head = load_file(folder / HEAD)
    return network
