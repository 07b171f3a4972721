"""Texts of a generated spec: strings, templates, names, and notes on how each part was translated."""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tripos.source_files import SourceFile
from tripos_compiler.lowering.declarations import RESERVED_BENCHMARKS

Translation = Literal["exactly", "approximately", "not"]
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_BLOCK_LINES = 4
"""A text of at least this many lines is written as a block, if the block has exactly the same content."""


OPERATORS = frozenset({"and", "or", "not", "in"})
"""Words of the language that cannot be names."""
LONGEST_NAME = 120
"""Maximum bytes of a name. Names also become file names, with a suffix and a number."""


class NotTranslatable(Exception):
    """A part of a task without a counterpart in the language; the message names it."""


@dataclass(frozen=True)
class Note:
    """How a part of a task was translated."""

    part: str
    how: Translation
    why: str = ""


@dataclass
class ImportedTask:
    """An imported task or group: the spec, its other files, and the translation of each part."""

    name: str
    text: str
    notes: list[Note]
    files: dict[str, str] = field(default_factory=dict)
    copies: dict[str, SourceFile] = field(default_factory=dict)
    """Local files to copy next to the spec."""

    @property
    def is_complete(self) -> bool:
        """Return true if every part was translated."""
        return all(note.how != "not" for note in self.notes)


@dataclass(frozen=True)
class Code:
    """An expression in a hole of a template. `texted` is the expression for its text, if it has another type."""

    text: str
    text_expression: str = ""

    @property
    def as_text(self) -> str:
        """Return an expression of type `text`."""
        return self.text_expression or self.text


Pieces = Sequence[str | Code]
"""A template: literal texts and expressions, in order."""


def quoted(text: str) -> str:
    r"""Return a text as a string of the language. Raises `NotTranslatable` for a control character.

    >>> print(quoted('say "a\\b"\n'))
    "say \"a\\b\"\n"
    """
    if any(ord(each) < 32 and each not in _ESCAPES for each in text):
        raise NotTranslatable("a control character in a text")
    return '"' + "".join(_ESCAPES.get(each, each) for each in text) + '"'


def literal(text: str) -> str:
    """Return a text as a string without holes. Raises `NotTranslatable` for two adjacent braces."""
    return template([text])


def title(text: str) -> str:
    r"""Return a text as the string of a title: one line, without control characters and double braces.

    >>> title("a {{ b }}\n\0c")
    '"a { b } c"'
    """
    plain = "".join(each if each.isprintable() else " " for each in text)
    return quoted(" ".join(plain.replace("{{", "{").replace("}}", "}").split()))


def template(pieces: Pieces, indent: int = 0) -> str:
    r"""Return a template as a string: on one line, or as a block if that is equivalent and easier to read.

    >>> print(template(["Q: ", Code("doc.question"), "\nA:"]))
    "Q: {{ doc.question }}\nA:"
    """
    literals = "".join(piece for piece in pieces if isinstance(piece, str))
    if "{{" in literals or "}}" in literals:
        raise NotTranslatable("two braces in a row in a text")
    if any(ord(each) < 32 and each not in _ESCAPES for each in literals):
        raise NotTranslatable("a control character in a text")
    text = "".join(piece if isinstance(piece, str) else f"{{{{ {piece.text} }}}}" for piece in pieces)
    if indent and _fits_block(text):
        space = " " * indent
        lines = [space + line if line else "" for line in text.split("\n")]
        return '"""\n' + "\n".join(lines) + f'\n{space}"""'
    return '"' + "".join(_ESCAPES.get(each, each) for each in text) + '"'


def _fits_block(text: str) -> bool:
    """Return true if a block preserves a text exactly: no line begins or ends with a space, and the first and last are
    not empty."""
    lines = text.split("\n")
    if len(lines) < _BLOCK_LINES or '"""' in text or "\t" in text or "\\" in text:
        return False
    return bool(lines[0] and lines[-1]) and all(line == line.strip() for line in lines)


def joined(pieces: Pieces) -> str:
    """Return a template as an expression for its text.

    >>> joined(["A: ", Code("doc.a")]), joined([Code("doc.a")]), joined([])
    ('join(("A: ", doc.a), "")', 'doc.a', '""')
    """
    parts = [piece.as_text if isinstance(piece, Code) else quoted(piece) for piece in pieces if piece != ""]
    if not parts:
        return '""'
    return parts[0] if len(parts) == 1 else f'join(({", ".join(parts)}), "")'


def listed(parts: Sequence[str]) -> str:
    """Return expressions as a list.

    >>> listed(["1", "2"]), listed(["1"])
    ('(1, 2)', '[1]')
    """
    return f"[{parts[0]}]" if len(parts) == 1 else f"({', '.join(parts)})"


def name_of(text: str, taken: Sequence[str] = ()) -> str:
    """Return a valid name for any text, distinct from those in `taken`.

    >>> name_of("Answer Key"), name_of("2 hops"), name_of("chrf++"), name_of("a", ["a"]), name_of("in")
    ('Answer_Key', 'n_2_hops', 'chrf', 'a_2', 'in_2')
    """
    found = re.sub(r"\W+", "_", text.strip()).strip("_") or "column"
    found = f"n_{found}" if found[0].isdigit() or not found[0].isidentifier() else found
    found = found.encode()[:LONGEST_NAME].decode(errors="ignore").strip("_")
    return unused_name(found, OPERATORS.union(taken))


def benchmark_name(text: str) -> str:
    """Return a valid name of a benchmark for any text.

    >>> benchmark_name("MMLU Pro"), benchmark_name("main")
    ('MMLU_Pro', 'main_2')
    """
    return name_of(text, tuple(RESERVED_BENCHMARKS))


def unused_name(name: str, taken: Container[str]) -> str:
    """Return a name, with a number from 2 on if it is in `taken`.

    >>> unused_name("a", ()), unused_name("a", {"a", "a_2"})
    ('a', 'a_3')
    """
    names = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(2)))
    return next(each for each in names if each not in taken)


def commented(text: str, before: str = "") -> list[str]:
    """Return a text as lines of comments."""
    lines = text.replace("\r", " ").split("\n")
    return [f"# {before}{lines[0]}".rstrip(), *(f"#   {line}".rstrip() for line in lines[1:])]
