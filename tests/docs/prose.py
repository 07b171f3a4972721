"""Checks of prose: banned openings of sentences and banned phrases, in Markdown, help, messages and docstrings.

The rules are those of a reader with a second language: the field's noun, a subject first, and no sentence or heading
that opens with a relative clause.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

OPENING = re.compile(r"(?:What|Whatever|Whether|Whoever|Whose|Who|So many|Those that|Those who)\b")
"""Openings of a sentence, a heading or a table cell that make a reader read it twice."""
THIRD_PERSON = re.compile(
    r"(?:Adds|Answers|Asks|Binds|Checks|Closes|Compiles|Copies|Counts|Draws|Fills|Forgets|Gives|Goes|Has|Holds|Keeps"
    r"|Lays|Lets|Looks|Makes|Marks|Names|Notes|Opens|Prints|Puts|Raises|Reads|Removes|Reports|Runs|Says|Scores|Shows"
    r"|Takes|Trains|Waits|Warns|Writes)\b"
)
"""First words of a function's docstring that are not imperative."""
PHRASES = (
    "failed in passing",
    "fills another role",
    "stand for a tree",
    "in the one way",
    "so many calls",
    "what becomes of",
    "What becomes of",
    "what came of",
    "What came of",
    "whose are meant",
    "is no business of",
    "does not answer since",
    "are taken to be as long as: a guess",
    "cannot be had",
)
"""Phrases that the field has a word for."""

FENCE = re.compile(r"^( *)```[^`\n]*\n.*?^ *```[ \t]*$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
ITEM = re.compile(r"(?:[-*]|\d+\.) ")
SENTENCE = re.compile(r"(?<=[.!?:])[\"”)*]*\s+")


def blocks_of(markdown: str) -> Iterator[str]:
    """Yield paragraphs, list items, headings and table cells of Markdown, without code."""
    paragraph: list[str] = []
    for line in [*COMMENT.sub("", FENCE.sub("\n", markdown)).splitlines(), ""]:
        text = line.strip()
        begins = not text or text[0] in "#|" or ITEM.match(text) is not None
        if begins and paragraph:
            yield " ".join(paragraph)
            paragraph = []
        if text.startswith("#"):
            yield text.lstrip("# ")
        elif text.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", text)]
            yield from (cell[0].upper() + cell[1:] for cell in cells if cell)
        elif text:
            paragraph.append(ITEM.sub("", text, count=1) if not paragraph else text)


def sentences_of(block: str) -> Iterator[str]:
    """Yield the sentences of a block, without marks before their first word."""
    for sentence in SENTENCE.split(block):
        yield sentence.lstrip("*_ ([>")


def faults_in(text: str) -> list[str]:
    """Return the sentences of a text in Markdown that have a banned opening or phrase."""
    return [
        sentence
        for block in blocks_of(text)
        for sentence in sentences_of(block)
        if OPENING.match(sentence) or any(phrase in sentence for phrase in PHRASES)
    ]


def helps_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield every help text of a parser and of the parsers below it."""
    if parser.description:
        yield parser.description
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from (choice.help or "" for choice in action._choices_actions)
            for inner in action.choices.values():
                yield from helps_of(inner)
        elif action.help and action.help is not argparse.SUPPRESS:
            yield action.help


MESSAGES = {"error", "warning", "report", "note", "hint", "suggest"}
"""Calls that report something."""
MESSAGE_NAMES = {"message", "help_", "hint", "label", "text_"}
"""Variables whose texts are reported."""


def messages_of(tree: ast.AST) -> Iterator[str]:
    """Yield the literal texts of calls that report an error or a warning."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            named = any(getattr(target, "id", "") in MESSAGE_NAMES for target in node.targets)
            yield from [literal(node.value)] if named and literal(node.value) else []
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name not in MESSAGES and not name.endswith("Error"):
            continue
        for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
            if text := literal(value):
                yield text


def literal(node: ast.expr) -> str:
    """Return the text of a string or an f-string, with a mark for every value in it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
    return ""


def docstring_faults(path: Path) -> Iterator[str]:
    """Yield the docstrings of a module that open wrongly: a banned opening, or a function's not in the imperative."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        text = ast.get_docstring(node) or ""
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if OPENING.match(text) or (function and THIRD_PERSON.match(text)):
            yield f"{path.name}: {text.splitlines()[0]}"
