"""Templates of messages: constant texts with holes between them, and the one way in which a message fits one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from string import Formatter

from tripos_compiler.source import dataclass

NUMBER = re.compile(r"[-−+]?[\d,]*\.?\d+(?:[eE][-+]?\d+)?%?")
TICK = "`"


@dataclass(frozen=True)
class MessageTemplate:
    """Constant texts, one more than there are holes. A hole may be for a number alone."""

    constants: tuple[str, ...]
    numbers: tuple[bool, ...] = ()

    def fill(self, values: Sequence[str]) -> str:
        """Return the message with these values in its holes.

        >>> parse_template("there is no `{0}`").fill(["judge"])
        'there is no `judge`'
        """
        parts = [self.constants[0]]
        for value, constant in zip(values, self.constants[1:], strict=True):
            parts += (value, constant)
        return "".join(parts)

    def match(self, text: str) -> tuple[str, ...] | None:
        """Return the values with which the template says a text; None where there are none, or more than one way to
        part it.

        A value between backticks holds none, and any other as many as pair up.

        >>> template = parse_template("`{0}` has no field `{1}`")
        >>> template.match("`item` has no field `anser`")
        ('item', 'anser')
        >>> template.match("`a` has no field `b` has no field `c`")
        """
        first, last = self.constants[0], self.constants[-1]
        if not self.numbers:
            return () if text == first else None
        if not (text.startswith(first) and text.endswith(last)) or len(text) < len(first) + len(last):
            return None
        places = self._places(text)
        if places is None:
            return None
        values = tuple(text[start:end] for start, end in places)
        return values if all(map(self._is_fit, range(len(values)), values)) else None

    def _places(self, text: str) -> list[tuple[int, int]] | None:
        """Return where the values stand: the constants as far left as they can stand must stand as far right."""
        begin, end = len(self.constants[0]), len(text) - len(self.constants[-1])
        middle = self.constants[1:-1]
        starts, at = [], begin
        for constant in middle:
            at = text.find(constant, at, end)
            if at < 0:
                return None
            starts.append(at)
            at += len(constant)
        at = end
        for constant, start in zip(reversed(middle), reversed(starts), strict=True):
            at = text.rfind(constant, begin, at)
            if at != start:
                return None
        befores = [begin, *(start + len(constant) for start, constant in zip(starts, middle, strict=True))]
        return list(zip(befores, [*starts, end], strict=True))

    def _is_fit(self, place: int, value: str) -> bool:
        if self.numbers[place]:
            return NUMBER.fullmatch(value) is not None
        return TICK not in value if self.quoted[place] else value.count(TICK) % 2 == 0

    @cached_property
    def quoted(self) -> tuple[bool, ...]:
        """For every hole whether it is between backticks."""
        found, seen = [], 0
        for constant in self.constants[:-1]:
            seen += constant.count(TICK)
            found.append(seen % 2 == 1)
        return tuple(found)

    @cached_property
    def size(self) -> int:
        """The characters of its constants."""
        return sum(map(len, self.constants))


def parse_template(key: str) -> MessageTemplate:
    """Return the template that a key of the catalogue writes: `{0}` is a hole, `{0:n}` one for a number, and a brace is
    written twice.

    >>> parse_template("{0:n} of {{x}}").constants
    ('', ' of {x}')
    """
    constants, numbers, text = [], [], ""
    for constant, name, spec, _ in Formatter().parse(key):
        text += constant
        if name is not None:
            constants.append(text)
            numbers.append(spec == "n")
            text = ""
    return MessageTemplate((*constants, text), tuple(numbers))


def fill_translation(text: str, values: Sequence[str], inner: Callable[[str], str]) -> str:
    """Return a translation with values in its holes: `{0}` takes a value as it is, `{0~}` what `inner` makes of it.

    >>> fill_translation("{1} 中没有 {0~}", ["field", "`item`"], str.upper)
    '`item` 中没有 FIELD'
    """
    parts = []
    for constant, name, _, _ in Formatter().parse(text):
        parts.append(constant)
        if name is not None:
            value = values[int(name.rstrip("~"))]
            parts.append(inner(value) if name.endswith("~") else value)
    return "".join(parts)
