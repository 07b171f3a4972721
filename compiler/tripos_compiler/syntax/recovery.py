"""Tokens to branches, with recovery: every independent mistake is reported in one run.

After a mistake the parser pops to the start of the statement, takes it as broken and goes on at the next one; a
block that follows a broken head is still read, so that the mistakes inside it are found too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import field

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.source import Source, Span, dataclass
from tripos_compiler.syntax.automaton import END, Branch, Machine, Token
from tripos_compiler.syntax.grammar_tables import tables
from tripos_compiler.syntax.lexer import CLOSERS, OPENERS

OPERATORS = frozenset(
    ("AND", "OR", "NOT", "IN", "NOT_IN", "EQ", "NE", "LE", "GE", "LT", "GT", "PLUS", "MINUS", "STAR", "SLASH", "EQUALS")
)
BOUNDARIES = frozenset(("_NL", "_LBRACE", "_RBRACE", "_COMMA"))

HUMAN = {
    "_RPAR": "`)`",
    "_RSQB": "`]`",
    "_RBRACE": "`}`",
    "_LBRACE": "`{`",
    "_NL": "the end of the line",
    "_COMMA": "`,`",
    END: "the end of the file",
    "EQUALS": "`=`",
    "ARROW": "`->`",
    "NAME": "a name",
    "STRING": "a string",
    "TEXT": "a string",
    "NUMBER": "a number",
}


VERSION = re.compile(r"(?<![\w.])\d+\.\d+\.\d+(?![\w.])")
FOLLOWING = re.compile(r"[ \t]*([\w.]+)")
"""The word that follows a colon."""

BROKEN = "ERROR"
"""The token that stands for a statement which could not be read."""

Place = Callable[[int, int], Span]
"""The span of the stretch `start:end` of what is parsed, where tokens count from its start."""


@dataclass
class SyntaxReport:
    """Where mistakes are reported, and with what code. `unclosed` are the places of the round and square brackets that
    are never closed; `slipped` tells whether a bracket that does not pair was reported earlier in the file."""

    place: Place
    diagnostics: Diagnostics
    code: str
    unclosed: frozenset[int] = frozenset()
    slipped: bool = False
    seen: int = 0
    """So many diagnostics were looked through."""
    lines: set[int] = field(default_factory=set)
    """The lines that have a syntax error."""
    unpaired: int | None = None
    """The first place of a bracket that does not pair."""

    def look_through(self, source: Source) -> None:
        """Notes where syntax errors of a source have been reported."""
        for earlier in self.diagnostics.items[self.seen :]:
            place = earlier.labels[0].span if earlier.labels else None
            if earlier.code.startswith("E010") and place and place.source is source:
                self.lines.add(source.position(place.start)[0])
                if earlier.code == "E0103":
                    self.unpaired = place.start if self.unpaired is None else min(self.unpaired, place.start)
        self.seen = len(self.diagnostics.items)


def read_lines(tokens: Iterable[Token], report: SyntaxReport) -> Branch:
    """Return the branch of a file, or of a piece of one."""
    return _read("file", tokens, report) or Branch("file", 0, 0, [])


def read_hole(tokens: Iterable[Token], report: SyntaxReport) -> Branch | None:
    """Return the branch of a placeholder; None where it is malformed, which is reported once."""
    return _read("hole", tokens, report)


def _read(start: str, tokens: Iterable[Token], report: SyntaxReport) -> Branch | None:
    diagnostics = report.diagnostics
    machine = Machine(tables(), start)
    skipping = False
    depth = lost = 0
    last: Token | None = None
    for token in tokens:
        if skipping:
            # Skip to where the broken statement ends, or to its block.
            if depth or token.kind not in BOUNDARIES:
                opens = token.kind in OPENERS and token.start not in report.unclosed
                depth = max(0, depth + opens - (token.kind in CLOSERS))
                lose(diagnostics, token)
                lost = token.end
                continue
            skipping = False
            machine.extend(BROKEN, lost)
        if not machine.feed(token):
            _report(machine, token, last, report)
            if start == "hole":
                return None
            lose(diagnostics, token)
            if not _recover(machine, token, diagnostics):
                diagnostics.lost_files = True
                return None
            skipping = True
            depth = 0
            ends = token.kind in BOUNDARIES
            lost = last.end if ends and last is not None else token.end
            # Where a line ends in an operator, the next was meant to go on: it is part of the mistake.
            if ends and not (token.kind == "_NL" and last is not None and last.kind in OPERATORS):
                machine.extend(BROKEN, lost)
                skipping = not machine.feed(token)
        last = token
    if skipping:
        machine.extend(BROKEN, lost)
    whole = machine.finish()
    if whole is None:
        end = last or Token(END, "", 0, 0)
        _report(machine, end, None, report)
        if start == "hole":
            return None
        if _recover(machine, end, diagnostics):
            machine.extend(BROKEN, end.end)
            whole = machine.finish()
        if whole is None:
            diagnostics.lost_files = True
    return whole


def _recover(machine: Machine, token: Token, diagnostics: Diagnostics) -> bool:
    """Pop to a state that takes a broken statement, and feeds one. What follows a block on its line is taken for a
    statement of its own; else the way back would lead into the block. `_read` extends it to all that is left out."""
    start = token.start
    if machine.top == "_RBRACE":
        machine.feed(Token("_NL", "\n", start, start))
    while not machine.takes(BROKEN):
        value = machine.pop()
        if value is None:
            return False
        start = lose(diagnostics, value, start)
    return machine.feed(Token(BROKEN, "", start, start))


def lose(diagnostics: Diagnostics, value: Branch | Token, start: int | None = None) -> int:
    """Note the names in what is left out, and return the first place of it, or `start` where that is before."""
    first = value.start if start is None else start
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Branch):
            waiting.extend(item.children)
            continue
        first = min(first, item.start)
        if item.kind == "NAME":
            diagnostics.lost_names.add(item.text)
    return first


def _version_at(text: str, place: int) -> str | None:
    """Return the version that stands around a place without its quotation marks.

    >>> _version_at("benchmark quiz 1.2.0 {", 19), _version_at("score a = 1 2", 12)
    ('1.2.0', None)
    """
    line = text[text.rfind("\n", 0, place) + 1 :]
    at = place - (len(text) - len(line))
    return next(
        (each[0] for each in VERSION.finditer(line.partition("\n")[0]) if each.start() <= at < each.end()), None
    )


def _report(machine: Machine, token: Token, last: Token | None, report: SyntaxReport) -> None:
    span = report.place(token.start, token.end)
    source, start = span.source, span.start
    line = source.position(start)[0]
    ends = token.kind in ("_NL", "_LBRACE", "_RBRACE")
    if report.slipped and ends:
        return
    report.look_through(source)
    if line in report.lines:  # one syntax error a line: the rest follow from the first
        return
    if ends and report.unpaired is not None and report.unpaired <= start:
        return
    found = "the line ends too early" if token.kind == "_NL" else f"`{token.text}` does not fit here"
    expected = sorted({HUMAN[name] for name in machine.expected() if name in HUMAN})
    help_ = f"expected {' or '.join(expected)}" if 0 < len(expected) <= 3 else None
    if token.kind == "_NL" and last is not None and last.kind in OPERATORS:
        found = f"a line cannot end in `{last.text}`"
        help_ = "go on on this line, or put the whole expression in brackets"
    if token.kind == "NUMBER" and token.text.startswith("-"):
        help_ = f"for a difference write a space after the minus: `- {token.text[1:]}`"
    if last is not None and last.kind == "NAME" and token.text == ":":
        after = FOLLOWING.match(source.text, span.end)
        shown = f"{last.text} {after[1]}" if after is not None else f"{last.text} …"
        help_ = f"write names and values side by side, without a colon: `{shown}`"
    if last is not None and last.kind == "_RBRACE" and token.kind == "NAME" and not machine.is_inside("_LANGLE"):
        help_ = f"a block ends its statement: write `{token.text}` before the `{{`, or on a line of its own"
    if token.kind == "NUMBER" and (version := _version_at(source.text, start)) is not None:
        help_ = f'write a version in quotation marks: `"{version}"`'
    if last is not None and last.kind == "EQUALS" and token.kind in ("GT", "LT"):
        help_ = f"did you mean `{token.text}=`?"
    report.diagnostics.error(report.code, found, span, help=help_)
