"""A dialogue as messages, seen from the side of the role that is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tripos_runtime.models.base import Message, Turn

ASSISTANTS = frozenset(("assistant", "gpt", "model"))
"""What data sets of chats call the side that is asked."""


def chat_messages(turns: Sequence[Mapping[str, str]], role: str) -> list[Message]:
    """The turns in order: the role's own as replies, all others as messages of the user. Turns of one side that follow
    each other are one message, since many models take only sides that alternate. Where several others speak, each of
    their turns begins with the speaker's name.

    >>> talk = [{"speaker": "Ann", "text": "It is 18."}, {"speaker": "Teacher", "text": "Why?"}]
    >>> [(each.role, each.content) for each in chat_messages(talk, "teacher")]
    [('user', 'It is 18.'), ('assistant', 'Why?')]
    >>> [(each.role, each.content) for each in chat_messages([*talk, {"speaker": "Bob", "text": "I know!"}], "teacher")]
    [('user', 'Ann: It is 18.'), ('assistant', 'Why?'), ('user', 'Bob: I know!')]
    """
    own = own_speaker(turns, role)
    others = {turn["speaker"] for turn in turns} - {own}
    said = []
    for turn in turns:
        if turn["speaker"] == own:
            said.append(Message("assistant", turn["text"]))
        else:
            text = f"{turn['speaker']}: {turn['text']}" if len(others) > 1 else turn["text"]
            said.append(Message("user", text))
    return joined(said)


def judged_messages(turns: Sequence[Mapping[str, str]]) -> list[Turn]:
    """The turns of a dialogue whose last one is judged: those of whoever spoke last as replies, all others as messages
    of the user, each on its own and with the name of its speaker.

    >>> talk = [{"speaker": "Ann", "text": "It is 18."}, {"speaker": "Teacher", "text": "Why?"}]
    >>> [(each.role, each.content, each.speaker) for each in judged_messages(talk)]
    [('user', 'It is 18.', 'Ann'), ('assistant', 'Why?', 'Teacher')]
    """
    last = turns[-1]["speaker"] if turns else None
    roles = ["assistant" if each["speaker"] == last else "user" for each in turns]
    return [Turn(role, each["text"], each["speaker"]) for role, each in zip(roles, turns, strict=True)]


def own_speaker(turns: Sequence[Mapping[str, str]], role: str) -> str | None:
    """Which speaker the role is: the one of its name; or one that data sets call the assistant; or else whoever spoke
    last before the one who spoke last of all, since the reply answers the last turn. None where nobody can be meant.

    >>> own_speaker([{"speaker": "老师", "text": "为什么？"}, {"speaker": "学生", "text": "我不知道。"}], "candidate")
    '老师'
    """
    speakers = list(dict.fromkeys(turn["speaker"] for turn in reversed(turns)))  # who spoke last comes first
    for names in ({role.casefold()}, ASSISTANTS):
        for speaker in speakers:
            if speaker.strip().casefold() in names:
                return speaker
    return speakers[1] if len(speakers) > 1 else None


def joined(messages: Sequence[Message]) -> list[Message]:
    """Messages of one side that follow each other put together, with an empty line between them.

    >>> [each.content for each in joined([Message("user", "a"), Message("user", "b"), Message("assistant", "c")])]
    ['a\\n\\nb', 'c']
    """
    found: list[Message] = []
    for message in messages:
        if found and found[-1].role == message.role:
            found[-1] = Message(message.role, f"{found[-1].content}\n\n{message.content}")
        else:
            found.append(message)
    return found
