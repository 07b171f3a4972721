"""Checks of prose: banned openings of sentences and banned words, in Markdown, help, messages and docstrings.

The rules are those of a reader with a second language: the field's noun, a subject first, and no sentence or heading
that opens with a relative clause. `python -m tests.docs.prose` prints how many sentences of each page are long, which
is a figure and no rule.
"""

from __future__ import annotations

import argparse
import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.sources import nodes_of

OPENING = re.compile(r"(?:What|Whatever|Whether|Whoever|Whose|Who|So many|Those that|Those who)\b")
"""Openings of a sentence, a heading or a table cell that make a reader read it twice."""
THIRD_PERSON = re.compile(
    r"(?:Adds|Answers|Asks|Binds|Checks|Closes|Compiles|Copies|Counts|Draws|Fills|Forgets|Gives|Goes|Has|Holds|Keeps"
    r"|Lays|Lets|Looks|Makes|Marks|Names|Notes|Opens|Prints|Puts|Raises|Reads|Removes|Reports|Runs|Says|Scores|Shows"
    r"|Takes|Trains|Waits|Warns|Writes)\b"
)
"""First words of a function's docstring that are not imperative."""
WORDS = {
    re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE): instead
    for pattern, instead in tomllib.loads((Path(__file__).parent / "words.toml").read_text("utf-8"))["words"].items()
}
"""Words and phrases that the field has a word for, each with that word."""

LONG = 25
"""The number of words above which a sentence counts as long."""
FENCE = re.compile(r"^( *)```[^`\n]*\n.*?^ *```[ \t]*$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
GENERATED = re.compile(
    r"<!-- (generated|columns|providers|python|settings|commands|coverage)\b.*?<!-- end.*?-->", re.DOTALL
)
"""Parts of pages that are written from texts of the source."""
SPAN = re.compile(r"`[^`]*`")
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


def faults_in(text: str, *, words: bool = True) -> list[str]:
    """Return the sentences of a text in Markdown that have a banned opening, or with `words` a banned word."""
    return [
        sentence
        for block in blocks_of(text)
        for sentence in sentences_of(block)
        if OPENING.match(sentence) or (words and banned_words(sentence))
    ]


def hand_written(text: str) -> str:
    """Return the prose of a page: without code, and without what is generated."""
    return " ".join(FENCE.sub("", GENERATED.sub("", text)).split())


def banned_words(text: str) -> list[str]:
    """Return the banned words of a text outside of code, each with the word to use.

    >>> banned_words("It mends `anew`.")
    ['mends: fix']
    """
    plain = SPAN.sub("`", text)
    return [f"{match[0]}: {instead}" for pattern, instead in WORDS.items() for match in pattern.finditer(plain)]


def long_sentences(text: str) -> tuple[int, int]:
    """Return how many sentences of prose a page has, and how many of them have more than `LONG` words.

    >>> long_sentences("One two. " + "word " * 26 + "end.")
    (2, 1)
    """
    prose = "\n".join(line for line in FENCE.sub("", text).splitlines() if not line.lstrip().startswith(("|", "#")))
    lengths = [len(sentence.split()) for block in blocks_of(prose) for sentence in sentences_of(block)]
    return len(lengths), sum(length > LONG for length in lengths)


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


def messages_of(path: Path) -> Iterator[str]:
    """Yield the literal texts of calls that report an error or a warning."""
    for node in nodes_of(path):
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
    for node in nodes_of(path):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        text = ast.get_docstring(node) or ""
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if OPENING.match(text) or (function and THIRD_PERSON.match(text)):
            yield f"{path.name}: {text.splitlines()[0]}"


def main() -> None:
    """Print the share of long sentences of every page, the worst pages first."""
    root = Path(__file__).parents[2]
    counts = {path: long_sentences(path.read_text("utf-8")) for path in (root / "docs").rglob("*.md")}
    for path, (sentences, long) in sorted(counts.items(), key=lambda each: -each[1][1]):
        print(f"{long:4} of {sentences:4}  {path.relative_to(root)}")
    total, long = (sum(each) for each in zip(*counts.values(), strict=True))
    print(f"{long:4} of {total:4} sentences have more than {LONG} words: {long / total:.1%}")


if __name__ == "__main__":
    main()
