"""Slips of a hand, by chance but from a seed: in characters, tokens, lines, statements and values of a spec."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from tripos_compiler.constructs.table import CONSTRUCTS
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.syntax.grammar import Token
from tripos_compiler.syntax.lexer import raw_tokens

EXPRESSION = re.compile(
    r"(?:=|\b(?:where|when|require|unique|key|by|expect|from|over|context|using)\b|\{\{)(?P<value>[^\n{}]+)"
)
"""What may stand for a value: behind a sign or word that one follows, and in a hole."""

KEYWORDS = sorted(
    {word for each in CONSTRUCTS for word in re.findall(r"[a-z_]+", each.signature)} | {"true", "false", "compared"}
)
TYPES = ["text", "integer", "number", "bool", "dialogue", "path", "1..5", "choice(a, b)", "list<text>", "set<text>"]
TYPES += ["list<{ a text? }>", "text?", "text secret", "{ a text, b list<number> }"]
CHARS = [
    *"\"'{}()[]<>|,.:;=#?!*/+-\\_ \n\t\r\0\x07\x1b\x7f",
    *"，、。：；（）｛｝＝“”‘’《》｜　",
    *"éß难İ𝔘🎓\u200d\u2028\ufeff\u0301\u202e",
]
SIGNS = [
    '"""', "{{", "}}", "{{ }}", "..", "->", "==", "!=", "<=", ">=", "{ }", "()", "[]", "not in", "\r\n",
    "# allow W0309", "\\u0041",
]  # fmt: skip
OPERATORS = ["+", "-", "*", "/", "==", "!=", ">=", "and", "or", "in", "not in", "..", ","]
NUMBERS = [
    "0",
    "-1",
    "1",
    "2.5",
    "-0.0",
    "10000000000",
    "1" + "0" * 30,
    "9" * 400,
    "1e400",
    "-1e400",
    "1e-400",
    "0.1e1",
    "1..0",
    "0..0",
]
STRINGS = [
    '""', '"{{ }}"', '"{{ x }}"', '"{{ 1 + }}"', '"{{ item }}"', '"{{ \\"a\\" }}"', '"}} {{"', '"\\\\"', '"\\x"',
    '"{a}/*.json"',
]  # fmt: skip
STRINGS += [
    '"..//x"',
    '"hf://a/b/c.json"',
    '"难"',
    '"\t"',
    '""""""',
    '"""\n  {{ question }}\n"""',
    '"{{ {{ a }} }}"',
    '"1.0"',
    '"\0"',
    '"*"',
]


@dataclass(frozen=True)
class Scraps:
    """Insertions into a text: tokens, statements and expressions of other specs, keywords, signs and values."""

    tokens: list[str]
    statements: list[str]
    expressions: list[str]


Slip = Callable[[Random, str, Scraps], str]


def scraps_of(texts: Sequence[str]) -> Scraps:
    """Return what can be taken from these texts, and what the language knows."""
    tokens = {token.text for text in texts for token in raw_tokens(text) if len(token.text) <= 200}
    return Scraps(
        [*sorted(tokens), *KEYWORDS * 2, *sorted(FUNCTIONS), *TYPES, *SIGNS * 2, *NUMBERS, *STRINGS],
        sorted({text[start:end] for text in texts for start, end in statements(text) if end - start <= 2000}),
        sorted({found["value"].strip() for text in texts for found in EXPRESSION.finditer(text)}),
    )


# --- characters ---


def character_in(random: Random, text: str, scraps: Scraps) -> str:
    at = random.randint(0, len(text))
    return text[:at] + random.choice(CHARS) + text[at:]


def characters_out(random: Random, text: str, scraps: Scraps) -> str:
    at = random.randint(0, len(text))
    return text[:at] + text[at + random.choice([1, 1, 1, 2, 5, 40]) :]


def character_replaced(random: Random, text: str, scraps: Scraps) -> str:
    at = random.randint(0, len(text))
    return text[:at] + random.choice(CHARS) + text[at + 1 :]


def characters_swapped(random: Random, text: str, scraps: Scraps) -> str:
    at = random.randint(0, max(len(text) - 2, 0))
    return text[:at] + text[at : at + 2][::-1] + text[at + 2 :]


def text_ends_early(random: Random, text: str, scraps: Scraps) -> str:
    return text[: random.randint(0, len(text))]


# --- tokens ---


def token_out(random: Random, text: str, scraps: Scraps) -> str:
    return _at_token(random, text, lambda token: "")


def token_doubled(random: Random, text: str, scraps: Scraps) -> str:
    return _at_token(random, text, lambda token: f"{token} {token}")


def token_replaced(random: Random, text: str, scraps: Scraps) -> str:
    return _at_token(random, text, lambda token: random.choice(scraps.tokens))


def token_in(random: Random, text: str, scraps: Scraps) -> str:
    space = random.choice(["", " "])
    return _at_token(random, text, lambda token: random.choice(scraps.tokens) + space + token)


def tokens_swapped(random: Random, text: str, scraps: Scraps) -> str:
    tokens = _tokens(text)
    if not tokens:
        return text
    at = random.randrange(len(tokens))
    near = random.randint(max(0, at - 8), min(len(tokens) - 1, at + 8))
    other = random.choice([near, random.randrange(len(tokens))])
    return _swapped(text, (tokens[at].start, tokens[at].end), (tokens[other].start, tokens[other].end))


def token_of_its_kind(random: Random, text: str, scraps: Scraps) -> str:
    """Return a name for a name, a string for a string, both of this text."""
    tokens = _tokens(text)
    if not tokens:
        return text
    token = random.choice(tokens)
    like = random.choice([other.text for other in tokens if other.kind == token.kind])
    return text[: token.start] + like + text[token.end :]


def type_replaced(random: Random, text: str, scraps: Scraps) -> str:
    return _at_token(random, text, lambda token: random.choice(TYPES), lambda token: token.text in TYPES)


# --- lines ---


def line_out(random: Random, text: str, scraps: Scraps) -> str:
    lines = text.split("\n")
    del lines[random.randrange(len(lines))]
    return "\n".join(lines)


def line_doubled(random: Random, text: str, scraps: Scraps) -> str:
    lines = text.split("\n")
    at = random.randrange(len(lines))
    return "\n".join([*lines[:at], lines[at], *lines[at:]])


def line_moved(random: Random, text: str, scraps: Scraps) -> str:
    lines = text.split("\n")
    line = lines.pop(random.randrange(len(lines)))
    lines.insert(random.randint(0, len(lines)), line)
    return "\n".join(lines)


def line_indented(random: Random, text: str, scraps: Scraps) -> str:
    lines = text.split("\n")
    at = random.randrange(len(lines))
    lines[at] = random.choice(["", " ", "\t", "　", "        "]) + lines[at].lstrip()
    return "\n".join(lines)


def lines_joined(random: Random, text: str, scraps: Scraps) -> str:
    lines = text.split("\n")
    at = random.randrange(len(lines))
    return "\n".join([*lines[:at], random.choice(["", " ", ", ", "\r"]).join(lines[at : at + 2]), *lines[at + 2 :]])


def other_line_ends(random: Random, text: str, scraps: Scraps) -> str:
    return random.choice(["", "\ufeff"]) + text.replace("\n", random.choice(["\r\n", "\r\n", "\r"]))


# --- statements with their blocks ---


def statement_out(random: Random, text: str, scraps: Scraps) -> str:
    start, end = _statement(random, text)
    return text[:start] + text[end:]


def statement_doubled(random: Random, text: str, scraps: Scraps) -> str:
    start, end = _statement(random, text)
    return text[:end] + random.choice(["\n", ", "]) + text[start:end] + text[end:]


def statement_into_a_block(random: Random, text: str, scraps: Scraps) -> str:
    start, end = _statement(random, text)
    moved, rest = text[start:end], text[:start] + text[end:]
    places = [token.end for token in raw_tokens(rest) if token.kind == "_LBRACE"]
    at = random.choice([*places, 0, len(rest)])
    return f"{rest[:at]}\n{moved}\n{rest[at:]}"


def statements_swapped(random: Random, text: str, scraps: Scraps) -> str:
    return _swapped(text, _statement(random, text), _statement(random, text))


def statement_of_another(random: Random, text: str, scraps: Scraps) -> str:
    start, end = _statement(random, text)
    at = random.choice([start, end])
    return f"{text[:at]}\n{random.choice(scraps.statements)}\n{text[random.choice([at, end]) :]}"


def block_emptied(random: Random, text: str, scraps: Scraps) -> str:
    start, end = _statement(random, text)
    opening = text.find("{", start, end)
    return text if opening < 0 else text[:opening] + random.choice(["{ }", ""]) + text[end:]


# --- values ---


def number_replaced(random: Random, text: str, scraps: Scraps) -> str:
    return _at_token(random, text, lambda token: random.choice(NUMBERS), lambda token: token.kind == "NUMBER")


def string_replaced(random: Random, text: str, scraps: Scraps) -> str:
    return _at_token(random, text, lambda token: random.choice(STRINGS), lambda token: token.kind in {"STRING", "TEXT"})


def expression_replaced(random: Random, text: str, scraps: Scraps) -> str:
    values = list(EXPRESSION.finditer(text))
    if not values:
        return text
    value, other = random.choice(values), random.choice([random.choice(values)["value"].strip(), *scraps.expressions])
    whole = random.choice([other, other, f"{value['value'].strip()} {random.choice(OPERATORS)} {other}"])
    return f"{text[: value.start('value')]} {whole} {text[value.end('value') :]}"


def hole_replaced(random: Random, text: str, scraps: Scraps) -> str:
    holes = list(re.finditer(r"\{\{(.*?)\}\}", text))
    if not holes:
        return text
    hole = random.choice(holes)
    scrap, value = random.choice(scraps.tokens), random.choice(scraps.expressions)
    filling = random.choice([scrap, value, random.choice(holes)[1], hole[1] + scrap])
    return text[: hole.start(1)] + filling + text[hole.end(1) :]


def name_misspelt(random: Random, text: str, scraps: Scraps) -> str:
    def slip(name: str) -> str:
        at = random.randrange(len(name))
        return random.choice([name[:at] + name[at + 1 :] or "x", name[:at] + name[at:][:1] + name[at:], name.upper()])

    return _at_token(random, text, slip, lambda token: token.kind == "NAME")


SLIPS: list[Slip] = [
    character_in,
    characters_out,
    character_replaced,
    characters_swapped,
    text_ends_early,
    token_out,
    token_doubled,
    token_replaced,
    token_replaced,
    token_in,
    tokens_swapped,
    token_of_its_kind,
    token_of_its_kind,
    type_replaced,
    line_out,
    line_doubled,
    line_moved,
    line_indented,
    lines_joined,
    other_line_ends,
    statement_out,
    statement_doubled,
    statement_into_a_block,
    statements_swapped,
    statement_of_another,
    block_emptied,
    number_replaced,
    string_replaced,
    expression_replaced,
    expression_replaced,
    hole_replaced,
    name_misspelt,
]


def _tokens(text: str) -> list[Token]:
    return [token for token in raw_tokens(text) if token.kind != "_NL"]


def _at_token(
    random: Random, text: str, change: Callable[[str], str], fits: Callable[[Token], bool] = lambda token: True
) -> str:
    tokens = [token for token in _tokens(text) if fits(token)]
    if not tokens:
        return text
    token = random.choice(tokens)
    return text[: token.start] + change(token.text) + text[token.end :]


def _swapped(text: str, one: tuple[int, int], other: tuple[int, int]) -> str:
    (start, end), (begin, stop) = sorted((one, other))
    if end > begin:
        return text
    return text[:start] + text[begin:stop] + text[end:begin] + text[start:end] + text[stop:]


def _statement(random: Random, text: str) -> tuple[int, int]:
    return random.choice(list(statements(text)) or [(0, len(text))])


def statements(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places `start:end` of statements, those in blocks too, each with its own block.

    >>> [text[slice(*place)] for text in ["role a\\naxis b {\\n  c\\n}"] for place in statements(text)]
    ['role a', 'c', 'axis b {\\n  c\\n}']
    """
    opened: list[int] = []  # where the statements around, and the one that is being read, began
    start = end = -1
    for token in raw_tokens(text):
        if token.kind in {"_NL", "_RBRACE"} and start >= 0:
            yield start, end
            start = -1
        match token.kind:
            case "_NL":
                continue
            case "_LBRACE":
                opened.append(start if start >= 0 else token.start)
                start = -1
                continue
            case "_RBRACE":
                start = opened.pop() if opened else token.start
            case _ if start < 0:
                start = token.start
        end = token.end
    if start >= 0:
        yield start, end
