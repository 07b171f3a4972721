"""Prompts in logs: a text, or the turns of a chat, as the item that they ask about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripos.importing.logs.entries import LoggedItem, Turn
from tripos.importing.logs.log_values import entries, mapping, said_as_json, text
from tripos.settings import read_json


def item_of(name: Any, turns: Sequence[Turn], target: Any) -> LoggedItem:
    """Return what turns ask: the last one is the question, unless an assistant has it."""
    spoken = [turn for turn in turns if turn[0] != "system"]
    question = spoken.pop()[1] if spoken and spoken[-1][0] != "assistant" else ""
    system = "\n\n".join(said for role, said in turns if role == "system")
    gold = target if isinstance(target, str) else None if target is None else said_as_json(target)
    return LoggedItem(text(name) or said_as_json(name), question, system, tuple(spoken), gold)


def prompt_turns(said: Any) -> list[Turn]:
    """Return the turns of a prompt: those of a chat, also of one that is JSON text, or one of a whole text.

    >>> prompt_turns('[{"role": "system", "content": "Be brief."}]'), prompt_turns("[a]")
    ([('system', 'Be brief.')], [('user', '[a]')])
    """
    messages = said
    if isinstance(said, str) and said.lstrip().startswith("[{"):
        try:
            messages = read_json(said.encode("utf-8", "surrogatepass"))
        except ValueError:
            messages = said
    told = [mapping(each) for each in entries(messages)]
    if told and all(isinstance(each.get("content"), str) for each in told):
        return [(text(each.get("role")) or "user", str(each["content"])) for each in told]
    return [("user", said if isinstance(said, str) else "" if said is None else said_as_json(said))]


def as_messages(turns: Sequence[Turn]) -> list[dict[str, str]]:
    """Return turns as messages of a request."""
    return [{"role": role, "content": said} for role, said in turns]
