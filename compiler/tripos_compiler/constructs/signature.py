"""Signatures of statements: `ask NAME by ROLE [when COND] BLOCK`, parsed once and matched against statement heads.

Lower-case words are keywords, upper-case words are slots, `[…]` is optional, `a|b` are alternative keywords, and a slot
that ends in `...` takes the rest of the line. `LABELS` is any number of strings, each optionally preceded by a
language. `BLOCK` is a block in braces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property

from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import Block, CallExpr, Member, Name, Number, RangeExpr, SymbolExpr, Syntax, Text

Labels = list[tuple[Name | None, Text]]

KINDS = {
    "NAME": "a name",
    "ROLE": "the name of a role",
    "TOOL": "the name of a tool",
    "STRONGER": "the name of a role",
    "DATASET": "the name of a data set",
    "BASE": "the name of another one",
    "STATEMENT": "the first word of a statement",
    "SCENARIO": "the name of a scenario",
    "SCORER": "the name of a scorer",
    "ALIAS": "a name",
    "LANGUAGES": "a language such as `en`",
    "DIMS": "a name",
    "SUBSETS": "the name of a subset",
    "STEP": "the name of a step",
    "TREE": "the name of a tree",
    "MEASURE": "the name of a measure",
    "MEASURES": "the name of a measure",
    "SOURCE": "the name of a data set",
    "PATH": "a string",
    "STRING": "a string",
    "VERSION": "a string",
    "COLUMN": "a string",
    "OTHER": "a string",
    "COUNT": "a whole number",
    "NUMBER": "a number",
    "RANGE": "a range such as `1..10`",
    "LABELS": "a string",
    "PARAMETER": "the name of a parameter",
    "FIELD": "a name or a string",
    "TYPE": "a type",
    "PLACE": "a string",
    "DIGEST": "a string",
    "SEPARATOR": "a string",
    "LETTERS": "a string",
    "MARK": "a string",
    "LINK": "a string",
    "NAMES": "a name",
    "LOCALE": "a locale such as `de`",
    "AXIS": "the name of an axis",
    "FACETS": "the name of a role or an arm",
}
"""Description of the content of a slot; a slot that is not listed takes any expression."""

NAME_SLOTS = frozenset(
    {
        *("NAME", "ROLE", "DATASET", "SCENARIO", "SCORER", "ALIAS", "LANGUAGES", "STEP", "TREE", "SUBSETS", "NAMES"),
        *("AXIS", "LOCALE", "STRONGER", "TOOL", "BASE", "STATEMENT", "PARAMETER"),
    }
)
STRING_SLOTS = frozenset(
    {"PATH", "STRING", "VERSION", "COLUMN", "OTHER", "PLACE", "DIGEST", "SEPARATOR", "LINK", "LETTERS", "MARK"}
)


@dataclass(frozen=True)
class Word:
    """Keyword, or alternative keywords."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Slot:
    """Place of content of a kind; of the rest of the line if it takes `many`."""

    kind: str
    many: bool = False

    @property
    def key(self) -> str:
        """Key of its content in a match."""
        return self.kind.lower()


@dataclass(frozen=True)
class Maybe:
    """Items that may be left out together."""

    items: tuple[Item, ...]


Item = Word | Slot | Maybe
Value = Name | Text | Number | Syntax | Labels | list[Syntax] | bool | str


@dataclass(frozen=True)
class Mismatch:
    """Position up to which a head matches, and what was expected there."""

    index: int
    expected: tuple[str, ...]


@dataclass(frozen=True)
class Signature:
    """Shape of a statement. `text` is shown in errors and in the reference."""

    text: str
    items: tuple[Item, ...] = field(init=False)
    block: str = field(init=False)

    def __post_init__(self) -> None:
        body, block = self.text, "none"
        if body.endswith("[BLOCK]"):
            body, block = body.removesuffix("[BLOCK]"), "optional"
        elif body.endswith("BLOCK"):
            body, block = body.removesuffix("BLOCK"), "required"
        words = re.findall(r"\[|\]|[^\s\[\]]+", body)
        object.__setattr__(self, "items", tuple(_items(iter(words))))
        object.__setattr__(self, "block", block)

    @cached_property
    def takes_list(self) -> bool:
        """True if commas on the line belong to this statement."""
        return any(isinstance(item, Slot) and item.many for item in _flat(self.items))

    @cached_property
    def has_in(self) -> bool:
        """True if `in` is one of its words, so that it is no operator there."""
        return any("in" in item.texts for item in _flat(self.items) if isinstance(item, Word))

    @cached_property
    def flags(self) -> frozenset[str]:
        """Optional single words, such as `secret`.

        >>> sorted(Signature("NAME [TYPE] [secret] [from COLUMNS] [BLOCK]").flags)
        ['secret']
        """
        alone = [item.items[0] for item in self.items if isinstance(item, Maybe) and len(item.items) == 1]
        return frozenset(text for item in alone if isinstance(item, Word) for text in item.texts)

    @cached_property
    def clauses(self) -> frozenset[str]:
        """The first words of optional parts with several words, such as `from COLUMNS`.

        >>> sorted(Signature("NAME = VALUE [lower|higher is better] [secret] [by DIMS...]").clauses)
        ['by', 'higher', 'lower']
        """
        parts = [item.items for item in self.items if isinstance(item, Maybe) and len(item.items) > 1]
        return frozenset(text for first, *_ in parts if isinstance(first, Word) for text in first.texts)

    @property
    def shown(self) -> str:
        """Signature for people."""
        return self.text.replace("[BLOCK]", "[{ … }]").replace("BLOCK", "{ … }").replace("...", ", …")

    def match(self, elements: Sequence[Syntax]) -> dict[str, Value] | Mismatch:
        """Return the content of each slot, by its name in lower case; a keyword is stored under itself."""
        state = _Match(elements)
        for end, values in state.run(self.items, 0):
            if end == len(elements):
                return dict(values)
            state.miss(end, "the end of the line" if self.block == "none" else "`{`")
        return Mismatch(state.furthest, tuple(dict.fromkeys(state.expected)))


def _items(words: Iterator[str]) -> Iterator[Item]:
    for word in words:
        if word == "]":
            return
        if word == "[":
            yield Maybe(tuple(_items(words)))
        elif word.isupper() or (word.endswith("...") and word[:-3].isupper()):
            yield Slot(word.removesuffix("..."), word.endswith("..."))
        else:
            yield Word(tuple(word.split("|")))


def _flat(items: Sequence[Item]) -> Iterator[Item]:
    for item in items:
        if isinstance(item, Maybe):
            yield from _flat(item.items)
        else:
            yield item


class _Match:
    """Backtracking match of a few elements; records the furthest position that did not fit."""

    def __init__(self, elements: Sequence[Syntax]) -> None:
        self.elements = elements
        self.furthest = 0
        self.expected: list[str] = []

    def miss(self, index: int, expected: str) -> None:
        """Record what was expected at a position."""
        if index > self.furthest:
            self.furthest, self.expected = index, []
        if index == self.furthest:
            self.expected.append(expected)

    def run(self, items: Sequence[Item], index: int) -> Iterator[tuple[int, dict[str, Value]]]:
        """Yield every match of the items from a position on: the position after it, and the content of the slots."""
        if not items:
            yield index, {}
            return
        head, rest = items[0], items[1:]
        for end, values in self.one(head, index):
            for last, more in self.run(rest, end):
                yield last, {**values, **more}

    def one(self, item: Item, index: int) -> Iterator[tuple[int, dict[str, Value]]]:
        """Yield every match of one item from a position on, like `run`."""
        element = self.elements[index] if index < len(self.elements) else None
        match item:
            case Maybe(items=items):
                yield from self.run(items, index)
                yield index, {}
            case Word(texts=texts):
                if isinstance(element, Name | SymbolExpr) and element.text in texts:
                    yield index + 1, {element.text: True}
                else:
                    self.miss(index, " or ".join(f"`{text}`" for text in texts))
            case Slot(kind="LABELS"):
                yield from self.labels(index)
            case Slot(many=True):
                end = index
                while end < len(self.elements) and _fits(item.kind, self.elements[end]):
                    end += 1
                if end > index:
                    yield end, {item.key: list(self.elements[index:end])}
                else:
                    self.miss(index, KINDS.get(item.kind, "a value"))
            case Slot(kind=kind):
                if element is not None and kind in NAME_SLOTS:
                    element = _as_name(element)
                if element is not None and _fits(kind, element):
                    yield index + 1, {item.key: element}
                else:
                    self.miss(index, KINDS.get(kind, "a value"))

    def labels(self, index: int) -> Iterator[tuple[int, dict[str, Value]]]:
        """Yield the match of a `LABELS` slot, which takes as many strings as there are."""
        labels: Labels = []
        end = index
        while end < len(self.elements):
            element = self.elements[end]
            following = self.elements[end + 1] if end + 1 < len(self.elements) else None
            if isinstance(element, Text):
                labels.append((None, element))
                end += 1
            elif isinstance(element, Name) and isinstance(following, Text):
                labels.append((element, following))
                end += 2
            else:
                break
        if not labels:
            self.miss(index, KINDS["LABELS"])
        else:
            yield end, {"labels": labels}


def _as_name(element: Syntax) -> Syntax:
    """Return the name that a string filled by a `for each` stands for; anything else as it is."""
    if isinstance(element, Text) and element.filled and element.value.isidentifier():
        return Name(element.span, element.value)
    return element


def _fits(kind: str, element: Syntax) -> bool:
    if kind in NAME_SLOTS:
        return isinstance(element, Name)
    if kind in STRING_SLOTS:
        return isinstance(element, Text)
    match kind:
        case "COUNT":
            return isinstance(element, Number) and isinstance(element.value, int) and element.value >= 0
        case "NUMBER":
            return isinstance(element, Number)
        case "TYPE":
            return not isinstance(element, SymbolExpr | Text)
        case "RANGE":
            return isinstance(element, RangeExpr)
        case "FIELD":
            return isinstance(element, Name | Text)
        case "DIMS" | "MEASURE" | "MEASURES":
            return isinstance(element, Name | Member)
        case "SOURCE":
            return isinstance(element, Name | CallExpr)
    return not isinstance(element, SymbolExpr)


@dataclass(frozen=True)
class Changes:
    """The statements, such as `score right`, in which a declaration differs from the one that it is like."""

    base: str
    replaced: tuple[str, ...]
    added: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The changes on one line: added ones after `+`, and those that are left out after `-`.

        >>> Changes("sums", ("over",), ("score long",), ()).shown
        '`over`, + `score long`'
        """
        signed = (*(("", name) for name in self.replaced), *(("+ ", name) for name in self.added))
        return ", ".join(f"{sign}`{name}`" for sign, name in (*signed, *(("- ", name) for name in self.left_out)))


@dataclass(frozen=True)
class Statement:
    """Statement that matches its signature."""

    construct: str
    span: Span
    head: Span
    values: dict[str, Value]
    block: Block | None
    body: tuple[Statement, ...]
    changes: Changes | None = None
    """The changes of one that is written out because it is like another one."""

    def name(self, key: str = "name") -> Name:
        """Return the name in a slot."""
        value = self.values[key]
        assert isinstance(value, Name)
        return value

    def find_name(self, key: str) -> Name | None:
        """Return the name in a slot, or None if it is empty."""
        value = self.values.get(key)
        return value if isinstance(value, Name) else None

    def text(self, key: str) -> Text:
        """Return the string in a slot."""
        value = self.values[key]
        assert isinstance(value, Text)
        return value

    def labels(self) -> Labels:
        """Return the strings of a `LABELS` slot; empty if there are none."""
        value = self.values.get("labels", [])
        assert isinstance(value, list)
        return value  # type: ignore[return-value]

    def syntax(self, key: str) -> Syntax:
        """Return the expression in a slot."""
        value = self.values[key]
        assert not isinstance(value, list | bool | str)
        return value

    def find(self, key: str) -> Syntax | None:
        """Return the expression in a slot, or None if it is empty."""
        return self.syntax(key) if key in self.values else None

    def many(self, key: str) -> list[Syntax]:
        """Return the elements of a slot that takes the rest of the line."""
        value = self.values.get(key, [])
        assert isinstance(value, list)
        return value  # type: ignore[return-value]

    def has(self, word: str) -> bool:
        """Return true if the optional word is present."""
        return word in self.values

    def of(self, construct: str) -> list[Statement]:
        """Return the statements of a construct in the block."""
        return [statement for statement in self.body if statement.construct == construct]

    def one_of(self, construct: str) -> Statement | None:
        """Return the first statement of a construct in the block, or None."""
        return next(iter(self.of(construct)), None)
