"""How long prompts are that are not whole yet: what is known of them, and what is waited for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from tripos_compiler.language import LAZY, Unavailable, evaluate, print_rubric, print_value
from tripos_compiler.language.library import FUNCTIONS, json
from tripos_compiler.plan import (
    Axis,
    Binary,
    Call,
    Expr,
    Get,
    Hole,
    Items,
    Metric,
    Passage,
    Ref,
    Template,
    Unary,
)
from tripos_runtime.models import Message
from tripos_runtime.program import is_pending

WIDE = re.compile("[\u2e80-\uffff\U00020000-\U0003ffff]")
"""Characters of which a token holds few: Chinese, Japanese, Korean."""
SHORT = ("integer", "number", "bool", "choice")
"""Types whose values are printed in a few characters, `SHORT_TEXT` at the most."""
SHORT_TEXT = 24
BOUNDED = frozenset((
    "after", "boxed", "bullets", "choose", "default", "distinct", "drawn", "each_before", "first", "join", "json",
    "last", "lettered", "lines", "lower", "nth", "numbered", "picked", "readable", "simplified", "sorted", "split",
    "speaker_turns", "transcript", "trim", "upper", "without_last", "min", "max", "leaf", "parent", "renamed",
    "with_turn",
))  # fmt: skip
"""The functions whose results hold no more text than their arguments."""
FIELD = ":"
"""Stands between a step and the field of its reply that is waited for."""
WHOLE = ("text", "value", "turns")
"""Fields that hold all of a reply."""
Waiting = tuple[str, bool]
"""A step that is waited for; true where only what is sent for it is, which is known to come if the step is asked."""


@dataclass(frozen=True)
class Size:
    """How long a prompt is: characters of alphabets and wide ones, in so many messages; the replies that go into it,
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

    @classmethod
    def of(cls, text: str) -> Size:
        """Return the size of a text.

        >>> size = Size.of("E = 能量")
        >>> size.narrow, size.wide, size.is_known
        (4, 2, True)
        """
        wide = 0 if text.isascii() else len(WIDE.findall(text))
        return cls(len(text) - wide, wide)

    @classmethod
    def sent(cls, messages: Iterable[Message]) -> Size:
        """Return the size of messages."""
        every = list(messages)
        total = sum_of(cls.of(message.content) for message in every)
        return cls(total.narrow, total.wide, messages=len(every))

    @property
    def is_known(self) -> bool:
        """True if nothing is waited for."""
        return not (self.pending or self.beyond or self.unknown or self.most)

    def as_prompt(self, step: str) -> Size:
        """Return the size of what is sent for a step, as part of what builds on it."""
        waits = frozenset(((step, True),))
        return Size(self.narrow, self.wide, self.pending, self.beyond, self.unknown, waits, most=self.most)

    def on_side(self, place: str) -> Size:
        """Return the size as it is seen from a pair that has it on one side."""
        pending, beyond = (tuple(f"{place}.{name}" for name in names) for names in (self.pending, self.beyond))
        waits = frozenset((f"{place}.{name}", sent) for name, sent in self.waits)
        return Size(self.narrow, self.wide, pending, beyond, self.unknown, waits, self.messages, self.most)

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


@dataclass(frozen=True)
class Outline:
    """Measures templates some of whose values are not there yet. `known` has the sizes of what is not there but can be
    told, such as the prompts of steps that are yet to be asked, by their path; `args` what a scorer is given."""

    names: Mapping[str, Any]
    language: str
    axes: Mapping[str, Axis]
    known: Known
    args: Mapping[str, Expr]
    scope: Mapping[str, Any]
    """The names that `args` are of."""

    def template(self, template: Template, metrics: Sequence[Metric] = ()) -> Size:
        """Return the size of a text. Passages whose condition waits for a reply are taken to be printed. Raises
        `Unavailable` where it needs what a kept reply did not yield."""
        passages = [part for part in template.parts if isinstance(part, Passage)]
        if not passages:
            return self._parts(template.parts, metrics)  # type: ignore[arg-type]
        size = NO_SIZE
        for passage in passages:
            try:
                if passage.when is None or evaluate(passage.when, self.names):
                    size += self._parts(passage.parts, metrics)
            except Unavailable as reason:
                if not is_pending(reason):
                    raise
                size += self._parts(passage.parts, metrics) + Size(waits=self.expression(passage.when).waits)  # type: ignore[arg-type]
        return size

    def _parts(self, parts: Sequence[str | Hole], metrics: Sequence[Metric]) -> Size:
        text: list[str] = []
        later: list[Size] = []
        for part in parts:
            if isinstance(part, str):
                text.append(part)
            elif part.type.kind == "metrics":
                text.append(print_rubric(metrics, self.language))
            else:
                try:
                    text.append(print_value(part, evaluate(part.expr, self.names), self.language, self.axes))
                except Unavailable as reason:
                    if not is_pending(reason):
                        raise
                    later.append(self._hole(part, reason))
        return sum_of([Size.of("".join(text)), *later])

    def _hole(self, hole: Hole, waited: Unavailable) -> Size:
        """Return the size of what will stand in a hole."""
        size = self._yet(hole.expr, waited)
        return Size(narrow=SHORT_TEXT, waits=size.waits) if hole.type.kind in SHORT else size

    def expression(self, expr: Expr) -> Size:
        """Return the size of a value, or of what it is made of where that is not there yet."""
        try:
            value = evaluate(expr, self.names)
            return Size.of(value if isinstance(value, str) else json(value))
        except Unavailable as reason:
            if not is_pending(reason):
                raise
            return self._yet(expr, reason)

    def _yet(self, expr: Expr, waited: Unavailable) -> Size:
        """Return the size of what a value is made of that is not there yet."""
        match expr:
            case Ref(path=path):
                return self._name(path, waited)
            case Unary(value=value):
                return Size(narrow=SHORT_TEXT, waits=self.expression(value).waits)
            case Binary(left=left, right=right):
                return Size(narrow=SHORT_TEXT, waits=self.expression(left).waits | self._later(right).waits)
            case Items(values=values):
                return sum_of(self.expression(value) for value in values)
            case Get(of=of):
                return self.expression(of)
            case Call(function=function, args=args, named=named):
                return self._call(function, [*args, *named.values()], waited)
        return is_waiting(waited.step, waited.step)

    def _later(self, expr: Expr) -> Size:
        """Return the size of what may not be looked at once what is waited for is there."""
        try:
            return self.expression(expr)
        except Unavailable:
            return Size()

    def _call(self, function: str, args: Sequence[Expr], waited: Unavailable) -> Size:
        size = sum_of(self._later(arg) if function in LAZY else self.expression(arg) for arg in args)
        own = FUNCTIONS.get(function)
        if own is None:  # one of the user's, which is not called
            return size + is_waiting(f"the function `{function}`", f"the function `{function}`")
        if own.returns is not None and own.returns.kind in SHORT:
            return Size(narrow=SHORT_TEXT, waits=size.waits)
        if function not in BOUNDED:
            return Size(unknown=(f"`{function}` of what is not there yet",), waits=size.waits)
        return size

    def _name(self, path: tuple[str, ...], waited: Unavailable) -> Size:
        for length in range(len(path), 0, -1):
            if path[:length] in self.known:
                return self.known[path[:length]]
        if path[0] in self.args:
            return Outline(self.scope, self.language, self.axes, self.known, {}, self.scope).expression(
                self.args[path[0]]
            )
        sided = path[0] in ("first", "second") and len(path) > 1
        step = f"{path[0]}.{waited.step}" if sided else waited.step
        field = path[2 if sided else 1 :][:1]
        return is_waiting(step, field=field[0] if field and field[0] not in WHOLE else "")
