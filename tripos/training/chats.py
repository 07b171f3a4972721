"""Chats to learn from: reading them from an export, their tokens, and the loss of their replies.

Each chat has the item that it comes from, so that chats of one item are not split between training and held-out data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tripos.files import MOST_DATA_BYTES, read_untrusted, read_untrusted_json
from tripos.training.environment import changed_after_export
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import digest
from tripos_warehouse.files import provenance_path

IGNORED = -100
"""The label of a token without loss, as in torch's cross entropy."""


@dataclass(frozen=True)
class Tokens:
    """The token `ids` of a chat, the first `prompt_length` of which belong to the prompt."""

    ids: tuple[int, ...]
    prompt_length: int

    @property
    def labels(self) -> tuple[int, ...]:
        """The target of each position.

        >>> Tokens((5, 6, 7), prompt_length=2).labels
        (-100, -100, 7)
        """
        return (*(IGNORED for _ in range(self.prompt_length)), *self.ids[self.prompt_length :])


def as_tokens(tokenizer: Any, chat: Chat) -> Tokens:
    """Return a chat in the tokenizer's template. Prompt and reply are tokenized separately, since at inference the
    prompt is tokenized before a reply exists.

    Raises `TriposError` S0814 if the template refuses the chat, or changes the prompt once it has a reply.
    """
    before = _written(tokenizer, chat.prompt, asked=True)
    whole = _written(tokenizer, (*chat.prompt, {"role": "assistant", "content": chat.reply}), asked=False)
    if not whole.startswith(before):
        # Some templates begin a reply with an empty thought, and drop it once there is a reply.
        before = _written(tokenizer, chat.prompt, asked=False)
    if not whole.startswith(before) or len(whole) == len(before):
        hint = "use another model, or give its tokenizer a template that continues after the prompt"
        raise TriposError("S0814", "the model's chat template writes a prompt otherwise once it has a reply", hint)
    prompt = _ids(tokenizer, before)
    return Tokens((*prompt, *_ids(tokenizer, whole[len(before) :])), len(prompt))


def indices_within(tokens: Iterable[Tokens | None], most: int) -> list[int]:
    """Return the indices of those that are no longer than `most`.

    >>> indices_within([Tokens((1, 2), 1), Tokens((1, 2, 3), 1)], most=2)
    [0]
    """
    return [place for place, token in enumerate(tokens) if token is not None and len(token.ids) <= most]


def _ids(tokenizer: Any, text: str) -> tuple[int, ...]:
    return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])


def _written(tokenizer: Any, messages: Iterable[Message], *, asked: bool) -> str:
    try:
        return str(
            tokenizer.apply_chat_template(
                [dict(message) for message in messages], tokenize=False, add_generation_prompt=asked
            )
        )
    except Exception as error:  # a template may raise any exception
        text = (str(error).strip().splitlines() or [type(error).__name__])[0]
        hint = "take another model, or ask without a system message"
        raise TriposError("S0814", f"the model's chat template refuses a chat: {text}", hint) from error


def loss_of(model: Any, tokens: Sequence[Tokens], at_once: int, pad: int) -> float | None:
    """Return the mean negative log-likelihood of the replies' tokens in nats, or None without chats. Every token has
    the same weight, independent of the batches. The model's mode is restored."""
    import torch

    if not tokens:
        return None
    device = next(model.parameters()).device
    training = model.training
    model.eval()
    total, count = 0.0, 0
    # Sort by length to reduce padding; the sum does not depend on the order.
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
    longest = max(len(tokens.ids) for tokens in batch)
    ids = [[*tokens.ids, *[pad] * (longest - len(tokens.ids))] for tokens in batch]
    return ids, [[*tokens.labels, *[IGNORED] * (longest - len(tokens.ids))] for tokens in batch]


# Files of chats
Message = Mapping[str, str]


@dataclass(frozen=True)
class Chat:
    """A line: the messages of the `prompt`, the `reply` to learn, and the `group` for splits, which is its item, or its
    prompt if the item is unknown."""

    prompt: tuple[Message, ...]
    reply: str
    group: str


@dataclass(frozen=True)
class Chats:
    """The lines of a file with its SHA-256, and its `provenance` if there is one."""

    path: Path
    sha256: str
    chats: tuple[Chat, ...]
    provenance: Mapping[str, Any] | None = None

    @property
    def grouped_by(self) -> str:
        """The unit that a split keeps together: `item` or `prompt`."""
        return "item" if self.provenance is not None else "prompt"


def read_chats(path: Path) -> Chats:
    """Read JSON Lines with `messages` that end with the assistant's, or with `prompt` and `completion`.

    Raises `TriposError` S0813 for an unreadable file, a line of another form, and a provenance of other content.
    """
    try:
        content = read_untrusted(path, MOST_DATA_BYTES)
    except OSError as error:
        hint = "`tripos export distillation -o FILE` writes one"
        raise TriposError("S0813", f"cannot read `{path}`: {error.strerror or error}", hint) from error
    sha256 = hashlib.sha256(content).hexdigest()
    provenance = _provenance(path, sha256)
    lines = [(number, line) for number, line in enumerate(content.splitlines(), 1) if line.strip()]
    items = [str(line["item"]) for line in provenance["lines"]] if provenance is not None else []
    if provenance is not None and len(items) != len(lines):
        raise changed_after_export("S0813", path)
    chats = []
    for place, (number, line) in enumerate(lines):
        prompt, reply = _chat(path, number, line)
        chats.append(Chat(prompt, reply, items[place] if items else digest([dict(each) for each in prompt])))
    return Chats(path, sha256, tuple(chats), provenance)


def _provenance(path: Path, sha256: str) -> Mapping[str, Any] | None:
    try:
        told = read_untrusted_json(provenance_path(path), MOST_DATA_BYTES)
        items = [line["item"] for line in told["lines"]]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "export again, or take it away: then lines are kept together by their prompts"
        raise TriposError("S0813", f"`{provenance_path(path)}` is not the provenance of training data", hint) from error
    if told.get("sha256") != sha256 or told.get("kind") not in ("distillation", None) or not isinstance(items, list):
        if told.get("kind") == "preferences":
            hint = "export `distillation`, or an `export` of the spec with `best of`"
            raise TriposError("S0813", f"`{path}` has pairs of replies, and no chats", hint)
        raise changed_after_export("S0813", path)
    return dict(told)


def _chat(path: Path, number: int, line: bytes) -> tuple[tuple[Message, ...], str]:
    def wrong(what: str) -> TriposError:
        hint = "a line has `messages` that end with the assistant's, or `prompt` and `completion`"
        return TriposError("S0813", f"{path}:{number}: {what}", hint)

    try:
        read = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise wrong("not JSON") from error
    match read:
        case {"messages": [*prompt, {"role": "assistant", "content": str(reply)}]} if prompt:
            pass
        case {"prompt": str(text), "completion": str(reply)}:
            prompt = [{"role": "user", "content": text}]
        case {"prompt": _, "chosen": _, "rejected": _}:
            raise wrong("a pair of replies, and no chat")
        case _:
            raise wrong("no chat")
    if not _is_messages(prompt):
        raise wrong("a message has no `role` or no `content` that is a text")
    if not reply.strip():
        raise wrong("the reply is empty")
    return tuple({"role": each["role"], "content": each["content"]} for each in prompt), reply


def _is_messages(prompt: Sequence[Any]) -> bool:
    return all(
        isinstance(each, dict) and isinstance(each.get("role"), str) and isinstance(each.get("content"), str)
        for each in prompt
    )
