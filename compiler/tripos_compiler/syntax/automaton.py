"""The shift-reduce automaton that turns tokens into branches, by the tables of the grammar."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tripos_compiler.syntax.grammar_tables import GrammarTables, Rule

END = "$END"


class Token(NamedTuple):
    """A token of a kind of the grammar's, with its text and its place `start:end`."""

    kind: str
    text: str
    start: int
    end: int


class Branch(NamedTuple):
    """A parsed rule of the grammar; `start:end` includes tokens that are no children, such as brackets."""

    rule: str
    start: int
    end: int
    children: list[Branch | Token]

    def branches(self) -> Iterator[Branch]:
        """Return the children that are no tokens."""
        return (child for child in self.children if isinstance(child, Branch))


class Machine:
    """One parse, from a way to begin. Tokens are fed to it one after the other."""

    def __init__(self, tables: GrammarTables, start: str) -> None:
        self._tables, self._rules, self._last = tables, tables.rules, tables.ends[start]
        self._states = [tables.starts[start]]
        self._values: list[Branch | Token] = []

    def feed(self, token: Token) -> bool:
        """Take a token; False where it does not fit, which leaves the machine before it."""
        kind, states, rows, chains = token.kind, self._states, self._tables.states, self._tables.chains
        while (action := rows[states[-1]].get(kind)) is not None:
            if action >= 0:
                states.append(action)
                self._values.append(token)
                return True
            if ~action in self._tables.passing:
                step = (states[-2], states[-1], kind)
                end = chains.get(step)
                states[-1] = self._chain(*step) if end is None else end
            else:
                self._reduce(self._rules[~action])
        return False

    def finish(self) -> Branch | None:
        """Return the whole, or None where something is missing."""
        while (action := self._tables.states[self._states[-1]].get(END)) is not None:
            self._reduce(self._rules[~action])
            if self._states[-1] == self._last:
                whole = self._values[-1]
                assert isinstance(whole, Branch)
                return whole
        return None

    def expected(self) -> set[str]:
        """Return the kinds of tokens that would fit here."""
        return {symbol for symbol in self._tables.states[self._states[-1]] if symbol.isupper()}

    @property
    def top(self) -> str | None:
        """The kind of the token that was taken last, where nothing was read from it yet."""
        value = self._values[-1] if self._values else None
        return value.kind if isinstance(value, Token) else None

    def is_inside(self, kind: str) -> bool:
        """Return true if what a token of that kind began is not complete."""
        return any(isinstance(value, Token) and value.kind == kind for value in self._values)

    def extend(self, kind: str, end: int) -> None:
        """Let the token that was taken last reach to a place, where it is of that kind and nothing was read from it."""
        value = self._values[-1] if self._values else None
        if isinstance(value, Token) and value.kind == kind:
            self._values[-1] = value._replace(end=max(value.end, end))

    def takes(self, kind: str) -> bool:
        """Return true if a token of that kind can stand here."""
        return kind in self._tables.states[self._states[-1]]

    def pop(self) -> Branch | Token | None:
        """Go back by one value, and give it; None where the machine is at its beginning."""
        if not self._values:
            return None
        self._states.pop()
        return self._values.pop()

    def _reduce(self, rule: Rule) -> None:
        origin, label, size, kept, transparent = rule
        states, values = self._states, self._values
        parts = values[len(values) - size :]
        children = parts if kept is None else _shaped(parts, kept)
        if transparent and len(children) == 1:
            values[len(values) - size :] = children
        else:
            first, last = (parts[0].start, parts[-1].end) if parts else (0, 0)
            values[len(values) - size :] = [Branch(label, first, last, children)]
        del states[len(states) - size :]
        states.append(self._tables.states[states[-1]][origin])

    def _chain(self, below: int, top: int, kind: str) -> int:
        """Return the state that a value comes to before a token of that kind, by rules that only pass it on. An
        expression goes through ten of them, one for every level of precedence, so the way is walked once."""
        rows, state = self._tables.states, top
        while (action := rows[state].get(kind, 0)) < 0 and ~action in self._tables.passing:
            state = rows[below][self._rules[~action].origin]
        return self._tables.chains.setdefault((below, top, kind), state)


def _shaped(parts: list[Branch | Token], kept: tuple[tuple[int, bool], ...]) -> list[Branch | Token]:
    children: list[Branch | Token] = []
    for index, spliced in kept:
        part = parts[index]
        if spliced:
            assert isinstance(part, Branch)
            if children:
                children += part.children
            else:  # a repetition is read from the left: what it has so far goes on
                children = part.children
        else:
            children.append(part)
    return children
