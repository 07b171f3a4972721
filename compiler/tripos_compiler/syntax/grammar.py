"""Grammar tables, built by lark, and the shift-reduce automaton that runs them.

The tables are plain data in `grammar.json`, which is generated from `grammar.lark` and comes with the package: to
import lark and build them takes 0.13 s of CPU, in every process. If the file belongs to another grammar, as while one
is being edited, the tables are built in memory. `TRIPOS_UPDATE_GOLDEN=1` with `tests/compiler/test_tables.py` writes
the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import field
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from re import Pattern
from typing import Any, NamedTuple

from tripos_compiler.source.data_classes import dataclass

# Tables

GRAMMAR = "grammar.lark"
STARTS = ("file", "hole")


class Rule(NamedTuple):
    """Reduction of the last `size` values to a branch named `label`.

    `children` are the values that become its children, each with a flag for splicing in its own children; None keeps
    all unchanged. A `transparent` rule with a single child is replaced by that child."""

    origin: str
    label: str
    size: int
    children: tuple[tuple[int, bool], ...] | None
    transparent: bool


@dataclass(frozen=True)
class GrammarTables:
    """Tokens and states of the grammar.

    `terminals` are names and regular expressions; the first match wins. `words` are the words matching `NAME` that are
    tokens of their own. In a row of `states`, a symbol maps to the next state if the number is not negative, otherwise,
    as `~number`, to the rule to reduce by. `starts` and `ends` are the first and last states of each start symbol.
    """

    terminals: list[tuple[str, str]]
    words: dict[str, str]
    ignored: frozenset[str]
    rules: list[Rule]
    states: list[dict[str, int]]
    starts: dict[str, int]
    ends: dict[str, int]
    chains: dict[tuple[int, int, str], int] = field(default_factory=dict, compare=False)
    """Cached results of `Machine._chain`."""

    @cached_property
    def pattern(self) -> Pattern[str]:
        """Regular expression for the next token, after ignored text. The matching group is the kind of the token; no
        group means the end of the text. It matches everywhere, and no token begins like ignored text."""
        ignored = "|".join(expression for name, expression in self.terminals if name in self.ignored)
        tokens = "|".join(
            f"(?P<{name}>{expression})" for name, expression in self.terminals if name not in self.ignored
        )
        return re.compile(rf"(?:{ignored})*+(?:{tokens}|\Z)")

    @cached_property
    def passing(self) -> frozenset[int]:
        """Rules that only pass on a single value."""
        rules = enumerate(self.rules)
        return frozenset(
            number for number, rule in rules if rule.transparent and rule.size == 1 and rule.children is None
        )

    def to_data(self) -> dict[str, Any]:
        """Return the tables as plain data for JSON."""
        return {
            "terminals": self.terminals,
            "words": self.words,
            "ignored": sorted(self.ignored),
            "rules": self.rules,
            "states": self.states,
            "starts": self.starts,
            "ends": self.ends,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> GrammarTables:
        """Return the inverse of `to_data`."""
        return cls(
            [(name, expression) for name, expression in data["terminals"]],
            dict(data["words"]),
            frozenset(data["ignored"]),
            [_rule_of(*rule) for rule in data["rules"]],
            list(data["states"]),
            dict(data["starts"]),
            dict(data["ends"]),
        )


class _KeepUnused:
    """Keeps the terminals that no rule uses: they match invalid text, so that lexing never raises."""

    always_accept = ("UNKNOWN", "UNCLOSED_STRING", "UNCLOSED_TEXT")

    def process(self, stream: Any) -> Any:
        return stream


def build_tables(grammar: str) -> GrammarTables:
    """Return the tables of a grammar in lark's notation; takes about 50 ms."""
    from lark import Lark
    from lark.lexer import BasicLexer, PatternStr
    from lark.parsers.lalr_analysis import Shift

    lark: Any = Lark(
        grammar,
        parser="lalr",
        lexer="basic",
        postlex=_KeepUnused(),
        start=list(STARTS),
        maybe_placeholders=False,
    )
    lexer = BasicLexer(lark.lexer_conf)
    table = lark.parser.parser._parse_table
    numbers = {state: number for number, state in enumerate(_reached(table))}
    rules = {rule: number for number, rule in enumerate(lark.rules)}
    states = [
        {
            symbol: numbers[target] if action is Shift else ~rules[target]
            for symbol, (action, target) in sorted(row.items())
        }
        for row in (table.states[state] for state in numbers)
    ]
    name = next(terminal for terminal in lexer.terminals if terminal.name == "NAME")
    words = {
        terminal.pattern.value: terminal.name
        for terminal in lexer.terminals
        if isinstance(terminal.pattern, PatternStr) and terminal not in lexer.scanner.terminals
    }
    assert set(lexer.callback) == {name.name}, "another token than NAME has words of its own"
    return GrammarTables(
        [(terminal.name, terminal.pattern.to_regexp()) for terminal in lexer.scanner.terminals],
        words,
        frozenset(lexer.ignore_types),
        [_rule(rule) for rule in lark.rules],
        states,
        {start: numbers[table.start_states[start]] for start in STARTS},
        {start: numbers[table.end_states[start]] for start in STARTS},
    )


def _reached(table: Any) -> Iterator[Any]:
    """Yield the states of a parse table as they are reached from the start, in the order of symbols: lark's own numbers
    differ from process to process."""
    from lark.parsers.lalr_analysis import Shift

    waiting = [table.start_states[start] for start in STARTS]
    reached = dict.fromkeys(waiting)
    while waiting:
        state = waiting.pop(0)
        yield state
        row = table.states[state]
        targets = dict.fromkeys(row[symbol][1] for symbol in sorted(row) if row[symbol][0] is Shift)
        waiting += [target for target in targets if target not in reached]
        reached |= targets


def _rule(rule: Any) -> Rule:
    """Return a rule that shapes trees like lark: a token whose name begins with `_` is dropped, the children of such a
    rule are spliced into its parent, and a rule with `?` and without an alias is replaced by its only child."""
    kept = [
        (index, not symbol.is_term and symbol.name.startswith("_"))
        for index, symbol in enumerate(rule.expansion)
        if not (symbol.is_term and symbol.filter_out)
    ]
    whole = len(kept) == len(rule.expansion) and not any(spliced for _, spliced in kept)
    transparent = bool(rule.options.expand1 and not rule.alias)
    origin = str(rule.origin.name)
    return Rule(origin, rule.alias or origin, len(rule.expansion), None if whole else tuple(kept), transparent)


def _rule_of(origin: str, label: str, size: int, kept: list[list[Any]] | None, transparent: bool) -> Rule:
    pairs = None if kept is None else tuple((index, spliced) for index, spliced in kept)
    return Rule(origin, label, size, pairs, transparent)


# Generated tables

TABLES = "grammar.json"
"""File with the digest of the grammar, a line feed, and its tables as JSON."""


@cache
def tables() -> GrammarTables:
    """Return the tables of the Tripos grammar, read once for each process."""
    folder = Path(__file__).parent
    return tables_of((folder / GRAMMAR).read_text("utf-8"), (folder / TABLES).read_text("utf-8"))


def tables_of(grammar: str, generated: str) -> GrammarTables:
    """Return the tables of a grammar: the generated ones, or new ones if those belong to another grammar."""
    head, _, body = generated.partition("\n")
    return GrammarTables.from_data(json.loads(body)) if head == _digest(grammar) else build_tables(grammar)


def generated_tables(grammar: str) -> str:
    """Return the content of `TABLES` for a grammar."""
    return f"{_digest(grammar)}\n{json.dumps(build_tables(grammar).to_data(), separators=(',', ':'))}\n"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


# The automaton

END = "$END"


class Token(NamedTuple):
    """Token of the grammar with its kind, text and position `start:end`."""

    kind: str
    text: str
    start: int
    end: int


class Branch(NamedTuple):
    """Parsed rule of the grammar; `start:end` includes tokens that are not children, such as brackets."""

    rule: str
    start: int
    end: int
    children: list[Branch | Token]

    def branches(self) -> Iterator[Branch]:
        """Yield the children that are not tokens."""
        return (child for child in self.children if isinstance(child, Branch))


class Machine:
    """State of one parse from a start symbol. Tokens are fed one after the other."""

    def __init__(self, tables: GrammarTables, start: str) -> None:
        self._tables, self._rules, self._last = tables, tables.rules, tables.ends[start]
        self._states = [tables.starts[start]]
        self._values: list[Branch | Token] = []

    def feed(self, token: Token) -> bool:
        """Accept a token. Returns False if it does not fit; the machine is then unchanged."""
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
        """Return the complete branch, or None if something is missing."""
        while (action := self._tables.states[self._states[-1]].get(END)) is not None:
            self._reduce(self._rules[~action])
            if self._states[-1] == self._last:
                whole = self._values[-1]
                assert isinstance(whole, Branch)
                return whole
        return None

    def expected(self) -> set[str]:
        """Return the kinds of tokens that fit next."""
        return {symbol for symbol in self._tables.states[self._states[-1]] if symbol.isupper()}

    @property
    def top(self) -> str | None:
        """Kind of the last token if it has not been reduced yet, else None."""
        value = self._values[-1] if self._values else None
        return value.kind if isinstance(value, Token) else None

    def is_inside(self, kind: str) -> bool:
        """Return true if a construct that began with a token of that kind is incomplete."""
        return any(isinstance(value, Token) and value.kind == kind for value in self._values)

    def last(self, kind: str) -> Token | None:
        """Return the last token of a kind that is not part of a complete construct; None without one."""
        tokens = (value for value in reversed(self._values) if isinstance(value, Token))
        return next((token for token in tokens if token.kind == kind), None)

    def extend(self, kind: str, end: int) -> None:
        """Extend the last token to a position, if it is of that kind and has not been reduced."""
        value = self._values[-1] if self._values else None
        if isinstance(value, Token) and value.kind == kind:
            self._values[-1] = value._replace(end=max(value.end, end))

    def takes(self, kind: str) -> bool:
        """Return true if a token of that kind fits next."""
        return kind in self._tables.states[self._states[-1]]

    def pop(self) -> Branch | Token | None:
        """Remove and return the last value; None if there is none."""
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
        """Return the state of a value before a token of that kind, after all rules that only pass it on. The result is
        cached: an expression passes through ten such rules, one for each level of precedence."""
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
