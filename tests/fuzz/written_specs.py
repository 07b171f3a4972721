"""Specs written from the table of constructs: every statement where it may stand, its slots filled by chance.

Names come from few, so that many of them are declared; what a spec says makes no sense otherwise, but most of it gets
past the parser and the reading of statements.
"""

from __future__ import annotations

from random import Random

from tripos_compiler.constructs.signature import Item, Maybe, Slot, Word
from tripos_compiler.constructs.table import FILE, Construct, constructs_in
from tripos_compiler.library.registry import FUNCTIONS

NAMES = ("a", "b", "item", "kind", "judge", "candidate", "reply", "good", "s", "pool", "style", "m", "x", "en", "zh")
STRINGS = ("", "A text.", "{{ item.a }}", "{{ a }}", "items.jsonl", "1.0.0", "a/*.json", "{{ upper(a) }} {{ metrics }}")
TYPES = (
    "text", "integer", "number", "bool", "1..5", "0..1.5", "choice(a, b)", "list<text>", "set<choice(a, b)>", "text?",
    "{ a text, b integer? }", "list<{ a text }>", "dialogue", "path(a)", "kind", "metrics", "reward", "list<1..3>",
)  # fmt: skip
OPERATORS = ("+", "-", "*", "/", "==", "!=", "<", ">=", "and", "or", "in", "not in")
AGGREGATES = ("mean", "sum", "count", "share", "std", "median", "min", "max", "quantile", "agreement", "correlation")
DEEPEST = 4


def written_spec(random: Random) -> bytes:
    """Return a spec, at most some hundred lines."""
    lines = ['benchmark g "1.0.0" { languages en }', "role candidate compared", "role judge panel"]
    if random.random() < 0.7:
        lines += [
            "axis kind { a, b }",
            "arm style { x, m }",
            'dataset item from "items.jsonl" { a text, b integer, kind }',
        ]
    for _ in range(random.randint(1, 8)):
        lines.append(_statement(random, random.choice(_constructs(FILE)), 0))
    return "\n".join(lines).encode()


def written_expression(random: Random, depth: int = 0) -> str:
    """Return an expression of the language."""
    if depth >= DEEPEST or random.random() < 0.3:
        return random.choice(
            (*NAMES, "item.a", "item.b", "reply.text", "1", "0", "2.5", '"a"', '"{{ a }}"', "true", "[]", "1..5")
        )

    def part() -> str:
        return written_expression(random, depth + 1)

    match random.randrange(9):
        case 0 | 1 | 2:
            function = random.choice((*sorted(FUNCTIONS), *AGGREGATES))
            return f"{function}({', '.join(part() for _ in range(random.randrange(4)))})"
        case 3 | 4:
            return f"{part()} {random.choice(OPERATORS)} {part()}"
        case 5:
            return f"({part()})"
        case 6:
            return f"{random.choice(('not ', '-'))}{part()}"
        case 7:
            return f"{random.choice(NAMES)}({random.choice(NAMES)}: {part()})"
    return f"{part()}{random.choice(('.a', '.text', '[0]', f' where {part()}', f' of {part()}', f' by {part()}'))}"


def _constructs(body: str) -> list[Construct]:
    return [each for some in constructs_in(body).values() for each in some]


def _statement(random: Random, construct: Construct, depth: int) -> str:
    words = [word for item in construct.shape.items for word in _item(random, item)]
    head = " ".join(words)
    block = construct.shape.block
    if block == "none" or (block == "optional" and random.random() < 0.5):
        return "  " * depth + head
    inside = _constructs(construct.body) if construct.body else []
    if not inside or depth > DEEPEST:
        return "  " * depth + head + random.choice((" { }", " { a, b }", " {\n | | a |\n | s | x |\n}"))
    lines = [_statement(random, random.choice(inside), depth + 1) for _ in range(random.randint(1, 5))]
    return "  " * depth + head + " {\n" + "\n".join(lines) + "\n" + "  " * depth + "}"


def _item(random: Random, item: Item) -> list[str]:
    match item:
        case Maybe():
            return [word for each in item.items for word in _item(random, each)] if random.random() < 0.5 else []
        case Word():
            return [random.choice(item.texts)]
        case Slot(many=True):
            return [", ".join(_filled(random, item.kind) for _ in range(random.randint(1, 3)))]
    return [_filled(random, item.kind)]


def _filled(random: Random, kind: str) -> str:
    match kind:
        case "PATH" | "STRING" | "VERSION" | "COLUMN" | "PLACE" | "DIGEST" | "LABELS":
            label = random.choice(("", "", "", "en ", "zh ")) if kind == "LABELS" else ""
            return f'{label}"{random.choice(STRINGS)}"'
        case "COUNT" | "NUMBER":
            return random.choice(("0", "1", "2", "3", "0.5", "-1", "1000000000"))
        case "RANGE":
            return random.choice(("1..10", "0..1", "1..1", "5..1", "0..0.5", "2"))
        case "TYPE":
            return random.choice(TYPES)
        case "CALL":
            return f"{random.choice(NAMES)}({random.choice(('', 'a: text', 'a: text, b: integer', 'reply: x'))})"
        case "AXES" | "ARMS":
            return random.choice(
                ("kind", "kind * style", "a * b", "kind * kind", f"kind when {written_expression(random)}")
            )
        case "COND" | "FILTER" | "VALUE":
            return written_expression(random)
    if random.random() < 0.85:
        return random.choice(NAMES)
    return written_expression(random)
