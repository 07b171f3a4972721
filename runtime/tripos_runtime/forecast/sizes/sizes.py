"""The sizes of prompts: what is known of them, and what is waited for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from functools import reduce
from operator import add

from tripos_compiler.language.library import Medium, media_in, without_media
from tripos_compiler.source import dataclass
from tripos_runtime.models import Message, texts_read

WIDE = re.compile("[\u2e80-\uffff\U00020000-\U0003ffff]")
"""Characters of which a token holds few: Chinese, Japanese, Korean."""
FIELD = ":"
"""Stands between a step and the field of its reply that is waited for."""
Waiting = tuple[str, bool]
"""A step that is waited for; true where only what is sent for it is, which is known to come if the step is asked."""
Saying = tuple[str, str, str]
"""The source of a reply that is waited for: the scenario and the step whose replies are like it, and the model."""


@dataclass(frozen=True)
class Size:
    """The length of a prompt: characters of alphabets and wide ones, in so many messages; the replies that go into it,
    once for every time, that are not there yet; and those of which only some may come (`beyond`), characters that there
    may be more (`most`), and what goes into it of which nobody knows how long it is. `waits` for what it builds on."""

    narrow: int = 0
    wide: int = 0
    pending: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    waits: frozenset[Waiting] = frozenset()
    messages: int = 0
    most: int = 0
    media: tuple[Medium, ...] = ()
    """The images and other files that it shows."""

    @classmethod
    def of(cls, text: str) -> Size:
        """Return the size of a text.

        >>> size = Size.of("E = 能量")
        >>> size.narrow, size.wide, size.is_known
        (4, 2, True)
        """
        if text.isascii():
            return cls(len(text))
        media = tuple(replace(each, sha256="", size=0) for each in media_in(text))
        written = without_media(text) if media else text
        wide = len(WIDE.findall(written))
        return cls(len(written) - wide, wide, media=media)

    @classmethod
    def sent(cls, messages: Iterable[Message]) -> Size:
        """Return the size of messages."""
        texts = texts_read(messages)
        total = cls.of("".join(texts))
        return cls(total.narrow, total.wide, messages=len(texts), media=total.media)

    @property
    def is_known(self) -> bool:
        """True if nothing is waited for."""
        return not (self.pending or self.beyond or self.unknown or self.most)

    def as_prompt(self, step: str) -> Size:
        """Return the size of what is sent for a step, as part of what builds on it."""
        waits = frozenset(((step, True),))
        return Size(self.narrow, self.wide, self.pending, self.beyond, self.unknown, waits, 0, self.most, self.media)

    def on_side(self, place: str) -> Size:
        """Return the size as it is seen from a pair that has it on one side."""
        pending, beyond = (tuple(f"{place}.{name}" for name in names) for names in (self.pending, self.beyond))
        waits = frozenset((f"{place}.{name}", sent) for name, sent in self.waits)
        return Size(self.narrow, self.wide, pending, beyond, self.unknown, waits, self.messages, self.most, self.media)

    def __add__(self, other: Size) -> Size:
        if other is NO_SIZE:
            return self
        if self is NO_SIZE:
            return other
        return Size(
            self.narrow + other.narrow,
            self.wide + other.wide,
            self.pending + other.pending,
            self.beyond + other.beyond,
            self.unknown + other.unknown,
            self.waits | other.waits,
            self.messages + other.messages,
            self.most + other.most,
            self.media + other.media,
        )


NO_SIZE = Size()
Known = Mapping[tuple[str, ...], Size]
"""The sizes of what is not there but can be told, by the path under which expressions see it."""


def sum_of(sizes: Iterable[Size]) -> Size:
    """Return all of them together."""
    return reduce(add, sizes, NO_SIZE)


def is_waiting(step: str, unknown: str = "", field: str = "") -> Size:
    """Return the size of what a step yields, or of one field of it, or of something that is `unknown`."""
    waits = frozenset(((step, False),))
    name = f"{step}{FIELD}{field}" if field else step
    return Size(unknown=(unknown,), waits=waits) if unknown else Size(pending=(name,), waits=waits)


def one_reply(pending: Iterable[str]) -> list[str]:
    """Return replies that are waited for, with the fields of one reply together no longer than that reply.

    >>> one_reply(["draft:sum", "draft:why", "draft:why", "hint"])
    ['draft', 'draft', 'hint']
    """
    fields: dict[str, Counter[str]] = {}
    found: list[str] = []
    for name in pending:
        step, _, field = name.partition(FIELD)
        if field:
            fields.setdefault(step, Counter())[field] += 1
        else:
            found.append(name)
    return [step for step, counts in fields.items() for _ in range(max(counts.values()))] + found


@dataclass
class CountedPrompts:
    """Prompts counted together: their characters and messages, and the replies that go into them by who gives each, the
    further ones that there may be (`beyond`), and what else goes into them."""

    calls: int = 0
    narrow: int = 0
    wide: int = 0
    messages: int = 0
    most: int = 0
    pending: Counter[Saying] = field(default_factory=Counter)
    beyond: Counter[Saying] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    media: Counter[Medium] = field(default_factory=Counter)

    def add(self, size: Size, said_by: Mapping[str, Saying], times: int) -> None:
        """Take in a prompt that stands for so many."""
        self.calls += times
        self.narrow += size.narrow * times
        self.wide += size.wide * times
        self.messages += size.messages * times
        self.most += size.most * times
        for names, counted in ((size.pending, self.pending), (size.beyond, self.beyond)):
            for name in names:
                if name in said_by:
                    counted[said_by[name]] += times
                else:
                    self.unknown[f"what `{name}` yields"] += times
        for what in size.unknown:
            self.unknown[what] += times
        for medium in size.media:
            self.media[medium] += times

    @property
    def waits(self) -> bool:
        """True if anything is waited for."""
        return bool(self.pending or self.beyond or self.unknown)
