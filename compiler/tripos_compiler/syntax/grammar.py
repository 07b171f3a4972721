"""The tables of the grammar: the pattern of all tokens and the LALR tables, made by lark and kept between runs.

They are plain data, which `automaton.py` runs, so that lark is imported only where they must be made. They are kept in
the user's cache folder: a file there is data only, named by all that determines the tables and checked against its own
digest, in a folder that nobody else may read or write. Whatever goes wrong with it, the tables are made anew; nothing
is said about it.

The shift-reduce automaton that turns tokens into branches, by the tables of the grammar.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import field
from functools import cache, cached_property
from hashlib import sha256
from importlib.machinery import PathFinder
from pathlib import Path
from re import Pattern
from typing import Any, NamedTuple

from tripos_compiler.source.data_classes import dataclass

GRAMMAR = "grammar.lark"
STARTS = ("file", "hole")


class Rule(NamedTuple):
    """A reduction of the last `size` values: a branch named `label` takes their place.

    `kept` are the values that become its children, each with whether its own children stand in for it; None where all
    stay as they are. A rule that is `transparent` and has one child leaves that child alone in its place.
    """

    origin: str
    label: str
    size: int
    kept: tuple[tuple[int, bool], ...] | None
    transparent: bool


@dataclass(frozen=True)
class GrammarTables:
    """Tokens and states of the grammar.

    `terminals` are names and regular expressions, the first that matches wins; `words` says which words that match
    `NAME` are tokens of their own. In a row of `states`, a symbol leads to the next state where the number is not
    negative, and else, as `~number`, to the rule to reduce by. `starts` and `ends` are the first and last states of
    each way to begin.
    """

    terminals: list[tuple[str, str]]
    words: dict[str, str]
    ignored: frozenset[str]
    rules: list[Rule]
    states: list[dict[str, int]]
    starts: dict[str, int]
    ends: dict[str, int]
    chains: dict[tuple[int, int, str], int] = field(default_factory=dict, compare=False)
    """Ways through the states that `machine.py` has found."""

    @cached_property
    def pattern(self) -> Pattern[str]:
        """One expression for every token, after what is ignored: the group that matches names its kind, none the end
        of the text. It matches everywhere, and what is ignored begins as no token does."""
        ignored = "|".join(expression for name, expression in self.terminals if name in self.ignored)
        tokens = "|".join(
            f"(?P<{name}>{expression})" for name, expression in self.terminals if name not in self.ignored
        )
        return re.compile(rf"(?:{ignored})*+(?:{tokens}|\Z)")

    @cached_property
    def passing(self) -> frozenset[int]:
        """The rules that only pass one value on."""
        rules = enumerate(self.rules)
        return frozenset(number for number, rule in rules if rule.transparent and rule.size == 1 and rule.kept is None)

    def to_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
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
        """Return the inverse of `to_data`. Raises `KeyError`, `TypeError` or `ValueError` on anything else."""
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
    """Keeps the terminals that no rule names: they catch what is not a token, so that lexing never raises."""

    always_accept = ("UNKNOWN", "UNCLOSED_STRING", "UNCLOSED_TEXT")

    def process(self, stream: Any) -> Any:
        return stream


def build_tables(grammar: str) -> GrammarTables:
    """Return the tables of a grammar in lark's notation; takes some 50 ms."""
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
    numbers = {name: number for number, name in enumerate(table.states)}
    rules = {rule: number for number, rule in enumerate(lark.rules)}
    states = [
        {
            symbol: numbers[target] if action is Shift else ~rules[target]
            for symbol, (action, target) in sorted(row.items())
        }
        for row in table.states.values()
    ]
    name = next(terminal for terminal in lexer.terminals if terminal.name == "NAME")
    words = {
        each.pattern.value: each.name
        for each in lexer.terminals
        if isinstance(each.pattern, PatternStr) and each not in lexer.scanner.terminals
    }
    assert set(lexer.callback) == {name.name}, "another token than NAME has words of its own"
    return GrammarTables(
        [(each.name, each.pattern.to_regexp()) for each in lexer.scanner.terminals],
        words,
        frozenset(lexer.ignore_types),
        [_rule(rule) for rule in lark.rules],
        states,
        {start: numbers[table.start_states[start]] for start in STARTS},
        {start: numbers[table.end_states[start]] for start in STARTS},
    )


def _rule(rule: Any) -> Rule:
    """As lark shapes its trees: a token whose name begins with `_` is dropped, the children of such a rule are its
    parent's, and a rule with a `?` and without an alias is dropped where it has one child."""
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


FORMAT = 1
"""To be raised with the layout of the data."""


@cache
def tables() -> GrammarTables:
    """Return the tables of our grammar, read or made once a process."""
    return tables_of(Path(__file__).with_name(GRAMMAR).read_text("utf-8"), cache_folder())


def tables_of(grammar: str, folder: Path | None) -> GrammarTables:
    """Return the tables of a grammar, from the folder where it has them, and else put there; None keeps nothing."""
    maker = _maker()
    if maker is None:
        return build_tables(grammar)
    key = _digest("\n".join([str(FORMAT), ".".join(map(str, sys.version_info[:2])), maker, grammar]))
    path = None if folder is None else folder / f"grammar-{key[:16]}.json"
    found = None if path is None else _read(path, key)
    if found is not None:
        return found
    made = build_tables(grammar)
    if path is not None:
        _write(path, key, made)
    return made


def _maker() -> str | None:
    """Return what tells one lark from another: the text that says its version. None where there is no such file, as in
    a bundle."""
    found = PathFinder.find_spec("lark")
    try:
        return None if found is None or found.origin is None else Path(found.origin).read_text("utf-8")
    except (OSError, ValueError):
        return None


def cache_folder() -> Path | None:
    """Return the folder for this in the user's cache: below `$XDG_CACHE_HOME` where that is set, else where the system
    keeps such things; None where the user has no home."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    if Path(given).is_absolute():
        return Path(given) / "tripos" / "grammar"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "tripos" / "grammar"
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "tripos" / "grammar"


def _read(path: Path, key: str) -> GrammarTables | None:
    try:
        if not _ours(path.parent):
            return None
        head, _, body = path.read_text("utf-8").partition("\n")
        return GrammarTables.from_data(json.loads(body)) if head == f"{key} {_digest(body)}" else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, key: str, made: GrammarTables) -> None:
    """Write a file of its own, then give it its name, so that a reader finds a whole one or none."""
    body = json.dumps(made.to_data(), separators=(",", ":"))
    part = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _ours(path.parent):
            return
        part.write_text(f"{key} {_digest(body)}\n{body}", "utf-8")
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _ours(folder: Path) -> bool:
    """Return true if only this user can put something there."""
    if sys.platform == "win32":  # a folder in the user's profile is the user's
        return True
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


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
