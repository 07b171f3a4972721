"""What the parser runs on: the pattern of all tokens and the LALR tables, made from the grammar by lark.

Lark reads the grammar and computes the tables; they are plain data, which `kept.py` keeps between runs. They are run by
`machine.py`, so that lark is imported only where the tables must be made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from re import Pattern
from typing import Any, NamedTuple

GRAMMAR = "grammar.lark"
STARTS = ("file", "hole")


class Rule(NamedTuple):
    """What a reduction does with the last `size` values: a branch named `label` takes their place.

    `kept` are the values that become its children, each with whether its own children stand in for it; None where all
    stay as they are. A rule that is `transparent` and has one child leaves that child alone in its place.
    """

    origin: str
    label: str
    size: int
    kept: tuple[tuple[int, bool], ...] | None
    transparent: bool


@dataclass(frozen=True)
class Tables:
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
    def from_data(cls, data: dict[str, Any]) -> Tables:
        """The inverse of `to_data`. Raises `KeyError`, `TypeError` or `ValueError` on anything else."""
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


def build_tables(grammar: str) -> Tables:
    """The tables of a grammar in lark's notation; takes some 50 ms."""
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
    return Tables(
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
