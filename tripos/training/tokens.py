"""Chats as tokens, with those marked that are learned: the reply's, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tripos.failure import Failure
from tripos.training.chats import Chat, Message

IGNORED = -100
"""The label of a token that is not learned, as torch's cross entropy has it."""


@dataclass(frozen=True)
class Tokens:
    """A chat as `ids`, the first `given` of which are the prompt's."""

    ids: tuple[int, ...]
    given: int

    @property
    def labels(self) -> tuple[int, ...]:
        """What the model is to say at each place.

        >>> Tokens((5, 6, 7), given=2).labels
        (-100, -100, 7)
        """
        return (*(IGNORED for _ in range(self.given)), *self.ids[self.given :])


def as_tokens(tokenizer: Any, chat: Chat) -> Tokens:
    """A chat in the template of the tokenizer. The prompt and the reply are cut into tokens apart from each other,
    since a model that is asked sees the prompt's tokens before there is a reply.

    Raises `Failure` W0814 where the template refuses the chat, or writes the prompt otherwise once it has a reply.
    """
    before = _written(tokenizer, chat.prompt, asked=True)
    whole = _written(tokenizer, (*chat.prompt, {"role": "assistant", "content": chat.reply}), asked=False)
    if not whole.startswith(before):
        # Some templates open a reply with an empty thought, which is not there once the reply is.
        before = _written(tokenizer, chat.prompt, asked=False)
    if not whole.startswith(before) or len(whole) == len(before):
        hint = "take another model, or give its tokenizer a template that goes on where the prompt ends"
        raise Failure("W0814", "the model's chat template writes a prompt otherwise once it has a reply", hint)
    prompt = _ids(tokenizer, before)
    return Tokens((*prompt, *_ids(tokenizer, whole[len(before) :])), len(prompt))


def within(tokens: Iterable[Tokens | None], most: int) -> list[int]:
    """The places of those that are no longer than `most`.

    >>> within([Tokens((1, 2), 1), Tokens((1, 2, 3), 1)], most=2)
    [0]
    """
    return [place for place, each in enumerate(tokens) if each is not None and len(each.ids) <= most]


def _ids(tokenizer: Any, text: str) -> tuple[int, ...]:
    return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])


def _written(tokenizer: Any, messages: Iterable[Message], *, asked: bool) -> str:
    try:
        return str(
            tokenizer.apply_chat_template(
                [dict(each) for each in messages], tokenize=False, add_generation_prompt=asked
            )
        )
    except Exception as error:  # a template may raise whatever it likes
        told = (str(error).strip().splitlines() or [type(error).__name__])[0]
        hint = "take another model, or ask without a system message"
        raise Failure("W0814", f"the model's chat template refuses a chat: {told}", hint) from error
