"""The size of prompts, from known characters and pending replies whose length is estimated, and the forecast calls of a
run: how certain each call is, and the size of its prompt.

`SizedPlaceholders` replace pending parts, so that a forecast renders prompts with the run's own renderer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from enum import IntEnum
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from tripos_compiler.language.evaluation import MissingValue, Unavailable, evaluate
from tripos_compiler.language.rendering import PLACEHOLDER
from tripos_compiler.library.function import Evaluation
from tripos_compiler.library.functions.texts import json
from tripos_compiler.library.media import Medium, media_in, without_media
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.types import without_optional
from tripos_compiler.plan import (
    Binary,
    Call,
    Converse,
    Expr,
    Get,
    Hole,
    Items,
    RecordValue,
    Ref,
    Scenario,
    Settings,
    Shots,
    Unary,
)
from tripos_compiler.plan.outcomes import PENDING
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import OPTION, DialogueTurn, Message, texts_read
from tripos_runtime.program.needs import is_pending
from tripos_runtime.program.units import Conversation, Pair, StepCall, Unit, speaker_of

WIDE = re.compile("[\u2e80-\uffff\U00020000-\U0003ffff]")
"""Characters of which a token holds few: Chinese, Japanese, Korean."""
FIELD = ":"
"""The separator of a step and a field of its pending reply."""
Waiting = tuple[str, bool]
"""A pending step. True if only its prompt counts, which is known if the step is asked."""
ReplySource = tuple[str, str, str]
"""The source of a pending reply: the scenario and the step whose replies are similar, and the model."""


@dataclass(frozen=True)
class Size:
    """The length of a prompt.

    `narrow` and `wide` are characters, in `messages` messages. `pending` are missing replies in it, repeated if they
    occur more than once; of the replies in `beyond` only some may come; `most` are characters that may be added;
    `unknown` are parts of unknown length. It `waits` for the replies that it builds on."""

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
        media = tuple(replace(medium, sha256="", size=0) for medium in media_in(text))
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
        """True if nothing is pending."""
        return not (self.pending or self.beyond or self.unknown or self.most)

    def as_prompt(self, step: str) -> Size:
        """Return the size of a step's prompt, as part of what builds on it."""
        waits = frozenset(((step, True),))
        return Size(self.narrow, self.wide, self.pending, self.beyond, self.unknown, waits, 0, self.most, self.media)

    def on_side(self, place: str) -> Size:
        """Return the size as seen from a pair that has it on one side."""
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
"""The known sizes of missing values, by the path under which expressions see them."""


def sum_of(sizes: Iterable[Size]) -> Size:
    """Return the sum of sizes."""
    return reduce(add, sizes, NO_SIZE)


def pending_size(step: str, unknown: str = "", field: str = "") -> Size:
    """Return the size of a step's result, of one field of it, or of something `unknown`."""
    waits = frozenset(((step, False),))
    name = f"{step}{FIELD}{field}" if field else step
    return Size(unknown=(unknown,), waits=waits) if unknown else Size(pending=(name,), waits=waits)


def without_repeated_fields(pending: Iterable[str]) -> list[str]:
    """Return pending replies such that the fields of one reply together count at most once.

    >>> without_repeated_fields(["draft:sum", "draft:why", "draft:why", "hint"])
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
    """The sum of several prompts: characters, messages, pending replies by source, possible further replies (`beyond`),
    and other parts."""

    calls: int = 0
    narrow: int = 0
    wide: int = 0
    messages: int = 0
    most: int = 0
    pending: Counter[ReplySource] = field(default_factory=Counter)
    beyond: Counter[ReplySource] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    media: Counter[Medium] = field(default_factory=Counter)

    def add(self, size: Size, said_by: Mapping[str, ReplySource], times: int) -> None:
        """Add a prompt that stands for `times` prompts."""
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
        """True if anything is pending."""
        return bool(self.pending or self.beyond or self.unknown)


SHORT = ("integer", "number", "bool", "choice")
"""Types whose values are printed in a few characters, at most `SHORT_TEXT`."""
SHORT_TEXT = 24
LONGER, DIGITS = 4, 72
WHOLE = ("text", "value", "turns", "thinking", "raw")
"""Fields that contain the whole reply."""


class SizedPlaceholders:
    """Placeholders for the pending parts of one prompt, whose expressions see `names`. They record the size of each
    part. `known_sizes` has the known sizes of missing values, such as the prompts of steps to be asked, by path."""

    __slots__ = ("args", "known_sizes", "names", "outer", "parts", "waits")

    def __init__(self, names: Mapping[str, Any], known: Known) -> None:
        self.names, self.known_sizes = names, known
        self.args: Mapping[str, Expr] = {}
        """The expressions of a judge's arguments, which `outer` evaluates."""
        self.outer: SizedPlaceholders | None = None
        self.parts: list[Size] = []
        """The sizes of the parts with a placeholder."""
        self.waits: set[Waiting] = set()
        """The replies that the prompt builds on, whether it contains them or not."""

    def size(self, messages: Iterable[Message]) -> Size:
        """Return the size of messages that were rendered with these placeholders."""
        told = list(messages)
        size = Size.sent(told)
        if not (self.parts or self.waits):
            return size
        read = 1 + sum(message.role == OPTION for message in told)  # a text is read again with every option
        marks = Size(wide=-len(self.parts) * read, waits=frozenset(self.waits))
        return sum_of((size, marks, *self.parts * read))

    @property
    def is_empty(self) -> bool:
        """True if nothing is pending."""
        return not (self.parts or self.waits)

    def hole(self, hole: Hole, reason: Unavailable) -> str:
        """Record the size of a hole's text."""
        size = self._pending_size(hole.expr, _pending(reason))
        size = _as_json(size) if without_optional(hole.type).kind == "json" else size
        return self._placeholder(Size(narrow=SHORT_TEXT, waits=size.waits) if hole.type.kind in SHORT else size)

    def condition(self, when: Expr, reason: Unavailable) -> None:
        """Record the replies that the condition of a passage waits for."""
        self.waits |= self._pending_size(when, _pending(reason)).waits

    def passage(self, render: Callable[[], str]) -> str | None:
        """Return a passage as if its condition held; None if nothing could be sent then."""
        before = len(self.parts)
        try:
            return render()
        except Unavailable:
            del self.parts[before:]
            return None

    def argument(self, expr: Expr, reason: Unavailable) -> MissingValue:
        """Return a missing value, which raises again if it is printed. The prompt builds on it in any case."""
        self.waits |= self._pending_size(expr, _pending(reason)).waits
        return MissingValue(reason.step, PENDING)

    def inside(self, args: Mapping[str, Expr], names: Mapping[str, Any]) -> SizedPlaceholders:
        """Return the placeholders of a judge's prompt; their sizes are added to these."""
        placeholders = type(self)(names, self.known_sizes)
        placeholders.args, placeholders.outer, placeholders.parts, placeholders.waits = (
            args,
            self,
            self.parts,
            self.waits,
        )
        return placeholders

    def dialogue(self, turns: Expr, reason: Unavailable) -> list[DialogueTurn]:
        """Return one message for a dialogue, whose number of messages depends on what is pending."""
        return [DialogueTurn("assistant", self._placeholder(self._pending_size(turns, _pending(reason)), messages=-1))]

    def examples(self, shots: Shots, reason: Unavailable) -> list[Message]:
        """Return one message for worked examples of unknown length."""
        size = pending_size(_pending(reason).step, f"worked examples from `{shots.dataset}`")
        return [Message("assistant", self._placeholder(size, messages=-1))]

    def turn(self, step: Converse, number: int) -> str:
        """Return a placeholder for a turn of a running conversation."""
        return self._placeholder(Size(pending=(turn_name(step, number),)))

    def aside(self) -> SizedPlaceholders:
        """Return placeholders for a text that is not sent, but must be known before anything is."""
        placeholders = type(self)(self.names, self.known_sizes)
        placeholders.waits = self.waits
        return placeholders

    def _placeholder(self, size: Size, messages: int = 0) -> str:
        self.waits |= size.waits
        self.parts.append(size + Size(messages=messages) if messages else size)
        return PLACEHOLDER

    def expression(self, expr: Expr) -> Size:
        """Return the size of a value, or of its parts if it is missing."""
        try:
            value = evaluate(expr, self.names)
            if (lacking := _missing_part(value)) is not None:
                raise Unavailable(lacking.step, lacking.status, lacking.reason)
            return Size.of(value if isinstance(value, str) else json(value))
        except Unavailable as reason:
            return self._pending_size(expr, _pending(reason))

    def _pending_size(self, expr: Expr, waited: Unavailable) -> Size:
        """Return the size of the parts of a missing value."""
        match expr:
            case Ref(path=path):
                return self._name(path, waited)
            case Unary(value=value):
                return Size(narrow=SHORT_TEXT, waits=self.expression(value).waits)
            case Binary(left=left, right=right):
                return Size(narrow=SHORT_TEXT, waits=self.expression(left).waits | self._later(right).waits)
            case Items(values=values):
                return sum_of(self.expression(value) for value in values)
            case RecordValue(fields=fields):
                return sum_of(self.expression(value) for value in fields.values())
            case Get(of=of):
                return self.expression(of)
            case Call(function=function, args=args, named=named):
                return self._call(function, [*args, *named.values()])
        return pending_size(waited.step, waited.step)

    def _later(self, expr: Expr) -> Size:
        """Return the size of parts that may not be used once the pending replies are known."""
        try:
            return self.expression(expr)
        except Unavailable:
            return NO_SIZE

    def _call(self, function: str, args: Sequence[Expr]) -> Size:
        own = FUNCTIONS.get(function)
        lazy = own is not None and own.evaluation is not Evaluation.EAGER
        size = sum_of(self._later(arg) if lazy else self.expression(arg) for arg in args)
        if own is None:  # a Python function of the plan, which is not called
            return size + pending_size(f"the function `{function}`", f"the function `{function}`")
        if own.returns is not None and own.returns.kind in SHORT:
            return Size(narrow=SHORT_TEXT, waits=size.waits)
        if not own.no_longer_than_arguments:
            return Size(unknown=(f"`{function}` of what is not there yet",), waits=size.waits)
        return size

    def _name(self, path: tuple[str, ...], waited: Unavailable) -> Size:
        for length in range(len(path), 0, -1):
            if path[:length] in self.known_sizes:
                return self.known_sizes[path[:length]]
        if self.outer is not None and path[0] in self.args:
            return self.outer.expression(self.args[path[0]])
        sided = path[0] in ("first", "second") and waited.step != path[0]  # a step may have such a name too
        step = f"{path[0]}.{waited.step}" if sided else waited.step
        field = path[2 if sided else 1 :][:1]
        return pending_size(step, field=field[0] if field and field[0] not in WHOLE else "")


class NamedPlaceholders(SizedPlaceholders):
    """Placeholders that show the names of pending parts, for a person who reads the prompt."""

    __slots__ = ()

    def _placeholder(self, size: Size, messages: int = 0) -> str:
        super()._placeholder(size, messages)
        names = [*size.unknown, *(f"`{name.replace(FIELD, '.')}`" for name in (*size.pending, *size.beyond))]
        names = names or sorted(f"`{name}`" for name, _ in size.waits)
        return f"⟨{', '.join(dict.fromkeys(names))}⟩"


def _as_json(size: Size) -> Size:
    """Return the size of a JSON value as printed. With spaces after commas and colons, and all digits of numbers such
    as `1e15`, it is up to `LONGER` times as long as written; a single number has up to `DIGITS`."""
    replies = tuple(name.partition(FIELD)[0] for name in size.pending)
    return replace(size, beyond=(*size.beyond, *replies * (LONGER - 1)), most=size.most + DIGITS)


def _missing_part(value: Any) -> MissingValue | None:
    """Return the missing part of a record or a list: an element for a pending reply exists, but its text does not."""
    if isinstance(value, MissingValue):
        return value
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return next((missing_value for each in value if (missing_value := _missing_part(each)) is not None), None)
    return None


def _pending(reason: Unavailable) -> Unavailable:
    """Return the reason why a value is pending; raise it if the value will never exist."""
    if not is_pending(reason):
        raise reason
    return reason


BETWEEN = "/"
"""The separator of the step and the role in the name of a pending turn."""


def turn_name(step: Converse, number: int) -> str:
    """Return the name of turn `number`, counted from 1, as a pending reply."""
    return f"{step.name}{BETWEEN}{speaker_of(step, number)}"


def pending_turns(step: Converse, first: int, last: int) -> tuple[str, ...]:
    """Return the names of the turns from `first` to `last`, counted from 1, as pending replies.

    >>> from tripos_compiler.plan import Speaker, Until
    >>> sides = (Speaker(role="a"), Speaker(role="b"))
    >>> until = (Until(role="a", text="done"),)
    >>> pending_turns(Converse(name="t", speakers=sides, opens="b", until=until, limit=9, fingerprint=""), 2, 4)
    ('t/a', 't/b', 't/a')
    """
    return tuple(turn_name(step, number) for number in range(first, last + 1))


def models_of(talk: Conversation) -> dict[str, str]:
    """Return the speakers of the pending turns."""
    return {f"{talk.step.name}{BETWEEN}{role}": model for role, model in talk.models.items()}


def with_conversation_turns(size: Size, scenario: Scenario) -> Size:
    """Return a size with a conversation replaced by its turns: half of them are expected, and all may come. Names of
    one side of a pair begin with the side."""
    if not size.pending:
        return size
    talks = {step.name: step for step in scenario.conversations}
    pending: list[str] = []
    beyond, turns = [*size.beyond], 0
    for name in without_repeated_fields(size.pending):
        side, dot, talk = name.rpartition(".")
        if talk not in talks:
            pending.append(name)
            continue
        half, limit = (talks[talk].limit + 1) // 2, talks[talk].limit
        pending += (f"{side}{dot}{pending_turn}" for pending_turn in pending_turns(talks[talk], 1, half))
        beyond += (f"{side}{dot}{pending_turn}" for pending_turn in pending_turns(talks[talk], half + 1, limit))
        turns += limit
    return replace(size, pending=tuple(pending), beyond=tuple(beyond), messages=size.messages + turns)


class CallGroup(NamedTuple):
    """The key by which calls are counted. `arm` says which treatments share them, such as `hints yes`; empty if all
    do."""

    scenario: str
    arm: str
    step: str
    role: str
    model: str


class CallCertainty(IntEnum):
    """How certain it is that a call is made. If several units need the call, the highest certainty counts.

    A `LIKELY` call is made unless an earlier reply fails or lacks a value; a `SPARE` call is made only if others
    fail."""

    RULED_OUT = 0
    SPARE = 1
    PERHAPS = 2
    LIKELY = 3
    CERTAIN = 4
    REUSED = 5


OPEN = (CallCertainty.SPARE, CallCertainty.PERHAPS, CallCertainty.LIKELY, CallCertainty.CERTAIN)
"""The certainties of calls that are or may be made."""


@dataclass(frozen=True)
class ForecastCall:
    """One call of a case. `size` is the size of its prompt, if it would be made. `awaits` are the steps that it builds
    on and that are asked first, with the model of each; `reply_sources` are the sources of pending replies in its
    prompt, including turns."""

    call: StepCall
    unit: Unit | Pair
    fate: CallCertainty
    size: Size = NO_SIZE
    awaits: Mapping[str, str] = field(default_factory=dict)
    reply_sources: Mapping[str, ReplySource] = field(default_factory=dict)
    settings: Settings | None = None
    """The settings of the request, or the widest possible; None for a call that is not made."""
