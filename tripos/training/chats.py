"""Chats to learn from: the lines of an export, each with the item that it must not be parted from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tripos.failure import Failure
from tripos_compiler.plan import digest
from tripos_warehouse.exports.files import beside

Message = Mapping[str, str]


@dataclass(frozen=True)
class Chat:
    """One line: the messages of the `prompt`, the `reply` to learn, and the `group` that it is split with: its item,
    or where that is not known its prompt."""

    prompt: tuple[Message, ...]
    reply: str
    group: str


@dataclass(frozen=True)
class Chats:
    """The lines of a file: its SHA-256, and its `provenance` where that stands beside it."""

    path: Path
    sha256: str
    chats: tuple[Chat, ...]
    provenance: Mapping[str, Any] | None = None

    @property
    def grouped_by(self) -> str:
        """What keeps lines together: `item` or `prompt`."""
        return "item" if self.provenance is not None else "prompt"


def read_chats(path: Path) -> Chats:
    """Reads JSON Lines with `messages` that end with the assistant's, or with `prompt` and `completion`.

    Raises `Failure` W0813 for a file that cannot be read, a line that is neither, and a provenance that is of other
    bytes.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        hint = "`tripos export distillation -o FILE` writes one"
        raise Failure("W0813", f"cannot read `{path}`: {error.strerror or error}", hint) from error
    sha256 = hashlib.sha256(content).hexdigest()
    provenance = _provenance(path, sha256)
    lines = [(number, line) for number, line in enumerate(content.splitlines(), 1) if line.strip()]
    items = [str(line["item"]) for line in provenance["lines"]] if provenance is not None else []
    if provenance is not None and len(items) != len(lines):
        raise _other_bytes(path)
    chats = []
    for place, (number, line) in enumerate(lines):
        prompt, reply = _chat(path, number, line)
        chats.append(Chat(prompt, reply, items[place] if items else digest([dict(each) for each in prompt])))
    return Chats(path, sha256, tuple(chats), provenance)


def _provenance(path: Path, sha256: str) -> Mapping[str, Any] | None:
    try:
        told = json.loads(beside(path).read_text("utf-8"))
        items = [line["item"] for line in told["lines"]]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "export again, or take it away: then lines are kept together by their prompts"
        raise Failure("W0813", f"`{beside(path)}` is not the provenance of training data", hint) from error
    if told.get("sha256") != sha256 or told.get("kind") not in ("distillation", None) or not isinstance(items, list):
        if told.get("kind") == "preferences":
            hint = "export `distillation`, or an `export` of the spec with `best of`"
            raise Failure("W0813", f"`{path}` has pairs of replies, and no chats", hint)
        raise _other_bytes(path)
    return dict(told)


def _other_bytes(path: Path) -> Failure:
    hint = "export again; or, where the change was meant, take the provenance away"
    return Failure("W0813", f"`{path}` was changed after `{beside(path).name}` was written", hint)


def _chat(path: Path, number: int, line: bytes) -> tuple[tuple[Message, ...], str]:
    def wrong(what: str) -> Failure:
        hint = "a line has `messages` that end with the assistant's, or `prompt` and `completion`"
        return Failure("W0813", f"{path}:{number}: {what}", hint)

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
