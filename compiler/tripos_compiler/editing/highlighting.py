"""Syntax highlighting derived from the table of constructs, and a Pygments lexer.

No word is reserved, so the meaning of a word depends on its block: `prompt` begins a statement in an `ask` and is the
name of a field in a `dataset`. The lexer and the editor grammar follow the blocks through `heads_in`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, default, include, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

from tripos_compiler.constructs.signature import NAME_SLOTS, STRING_SLOTS, Item, Maybe, Slot, Word
from tripos_compiler.constructs.table import CONSTRUCTS, FILE, REPEATED, Construct, constructs_in
from tripos_compiler.source.data_classes import dataclass

NAME = r"[^\W\d]\w*"
NUMBER = r"(?<![\w)\]])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|(?<=\.\.)-?\d+(?:\.\d+)?"
OPERATOR = r"==|!=|<=|>=|->|\.\.|[<>=+\-*/?]"
TYPES = (
    *("audio", "bool", "calls", "choice", "dialogue", "file", "image", "integer", "json", "list", "number", "path"),
    *("set", "text", "tools"),
)
"""Names of types. They are repeated here because the module of the types is slow to import; a test compares the two."""
CONSTANTS = ("false", "true")
WORD_OPERATORS = ("and", "in", "not", "or")
RECORD = "record"
"""Place inside braces without entries in the table: every statement is a field."""


@dataclass(frozen=True)
class Head:
    """Beginning of a statement in a place; `keyword` is empty for a free entry.

    `guard` is a regular expression for the text after the keyword, empty if it may be anything. `words` are the further
    words of its signatures. `declares`: a name comes first. `listed`: commas on the line belong to the statement.
    `typed`: it may contain a type. `opens` is the place inside its braces.
    """

    keyword: str
    guard: str
    words: tuple[str, ...]
    declares: bool
    listed: bool
    typed: bool
    opens: str


def places() -> tuple[str, ...]:
    """Return the file and then every kind of block, in the order of the table."""
    bodies = [construct.body for construct in CONSTRUCTS if construct.body is not None]
    return tuple(dict.fromkeys([FILE, *bodies, RECORD]))


def top_words() -> tuple[str, ...]:
    """Return the words that begin a statement only at the top of a file: at the left margin, one of them closes all
    braces.

    >>> "scenario" in top_words(), "dataset" in top_words()
    (True, False)
    """
    words = {word for place in places() if place not in (FILE, REPEATED) for word in constructs_in(place)}
    return tuple(sorted(set(constructs_in(FILE)) - words))


AT_THE_TOP = rf"^(?=(?:{'|'.join(top_words())})\b)"
"""End of a block that was never closed."""


def heads_in(place: str) -> tuple[Head, ...]:
    """Return the statements that may begin in a place. Of several with one keyword, the first whose guard matches
    applies.

    >>> [head.keyword for head in heads_in("axis")]
    ['group', '']
    >>> [(head.guard != "", head.opens) for head in heads_in("file") if head.keyword == "dataset"]
    [(True, 'dataset'), (False, 'made')]
    """
    heads: list[Head] = []
    for keyword, constructs in sorted(constructs_in(place).items(), reverse=True):
        openers = {construct.body or RECORD: construct for construct in constructs if construct.shape.block != "none"}
        *guarded, last = openers.items() or [(RECORD, constructs[0])]
        for opens, construct in guarded:
            heads.append(_head(keyword, constructs, opens, _guard(construct.shape.items[1:])))
        heads.append(_head(keyword, constructs, last[0], ""))
    return tuple(heads)


def _head(keyword: str, constructs: Sequence[Construct], opens: str, guard: str) -> Head:
    signatures = [construct.signature for construct in constructs]
    known = {word for signature in signatures for word in re.findall(r"\b[a-z][a-z_]*\b", signature)}
    return Head(
        keyword,
        guard,
        words=tuple(sorted(known - {keyword})),
        declares=any(signature.startswith(f"{keyword} NAME") for signature in signatures if keyword),
        listed=any(construct.shape.takes_list for construct in constructs),
        typed=any(
            "TYPE" in construct.signature or (construct.inside == (FILE,) and "CALL" in construct.signature)
            for construct in constructs
        ),
        opens=opens,
    )


def _guard(items: Sequence[Item]) -> str:
    """Return a regular expression for the part of a signature that single words can decide."""
    pattern = ""
    for item in items:
        match item:
            case Word(texts=texts):
                pattern += rf"[ \t]+(?:{'|'.join(texts)})\b"
            case Slot(kind=kind) if kind in NAME_SLOTS:
                pattern += rf'[ \t]+(?:{NAME}|"[^"\n]*")'
            case Slot(kind=kind) if kind in STRING_SLOTS:
                return pattern + r'[ \t]*"'
            case Slot() | Maybe():
                break
    return pattern


def _states() -> dict[str, list[Any]]:
    """Return the states of the lexer: one for each place, and two for each head in it, outside and inside of
    brackets."""
    states: dict[str, list[Any]] = {
        "root": [include("body file")],
        "spaces": [(r"(?:[^\S\n]|\ufeff)+", Whitespace), (r"#[^\n]*", Comment.Single)],
        "declared": [
            (r"[ \t]+", Whitespace),
            (rf"{NAME}\b(?!\()", Name.Class, "#pop"),
            default("#pop"),
        ],
        "member": [(NAME, Name.Attribute, "#pop")],
        "line break": [(r"\n", Whitespace), include("spaces"), default("#pop")],
        "row": [
            (r"\|", Punctuation),
            (r"\s+", Whitespace),
            (r"[x✓](?=\s*\|)", Keyword.Constant),
            (r"[.\-](?=\s*\|)", Punctuation),
            (r"-?\d+(?:\.\d+)?(?=\s*\|)", Number),
            (r"[^|\s#][^|\n#]*?(?=\s*\|)", Name),
            default("#pop"),
        ],
        "strings": [(r'"""', String, "text"), (r'"', String, "string")],
        "string": [
            (r'\\["\\nt]', String.Escape),
            (r'\{\{(?=(?:\\.|[^"\\\n])*?\}\})', String.Interpol, "hole"),
            (r'"', String, "#pop"),
            (r'[^"\\\n{]+|\\.|\{', String),
            default("#pop"),
        ],
        "text": [
            (r'\{\{(?=(?:(?!""")[\s\S])*?\}\})', String.Interpol, "hole"),
            (r'"""', String, "#pop"),
            (r'[^"{]+|"|\{', String),
        ],
        "hole": [
            (r"\}\}", String.Interpol, "#pop"),
            (r"\s+", Whitespace),
            (r'\\"(?:\\[^"]|[^"\\])*\\"', String),
            include("expression"),
            (r"[()\[\]{},:]", Punctuation),
        ],
        "expression": [
            include("strings"),
            (words(CONSTANTS, r"\b", r"\b"), Keyword.Constant),
            (words(WORD_OPERATORS, r"\b", r"\b"), Operator.Word),
            (NUMBER, Number),
            (OPERATOR, Operator),
            (rf"\.(?={NAME})", Punctuation, "member"),
            (rf"{NAME}(?=\()", Name.Function),
            (rf"{NAME}(?=[ \t]*:)", Name.Variable),
            (rf'{NAME}(?=[ \t]*")', Name.Label),
            (NAME, Name),
            (r"[.:]", Punctuation),
        ],
    }
    for place in places():
        states[f"body {place}"] = _body(place)
        for number, head in enumerate(heads_in(place)):
            outside, inside = f"head {place} {number}", f"brackets {place} {number}"
            shared = [
                (r"\{", Punctuation, f"body {head.opens}"),
                (r"[(\[]", Punctuation, inside),
                *([(words(TYPES, r"\b", r"\b(?![ \t]*:)"), Keyword.Type)] if head.typed else []),
                *([(words(head.words, r"\b", r"\b(?!\(|[ \t]*:)"), Keyword)] if head.words else []),
                include("expression"),
            ]
            states[outside] = [
                (AT_THE_TOP, Text, "#pop"),
                (r"\n", Whitespace, "#pop"),
                (r"(?=\})", Text, "#pop"),
                include("spaces"),
                (",", Punctuation, "line break" if head.listed else "#pop"),
                *shared,
            ]
            states[inside] = [
                (r"[)\]]", Punctuation, "#pop"),
                (rf"(?=\}})|{AT_THE_TOP}", Text, "#pop"),
                (r"\n", Whitespace),
                (",", Punctuation),
                include("spaces"),
                *shared,
            ]
    return states


def _body(place: str) -> list[Any]:
    rules: list[Any] = [(r"\n", Whitespace), include("spaces"), (r"\|(?=[^\n#]*\|)", Punctuation, "row")]
    if place != FILE:
        rules += [(AT_THE_TOP, Text, "#pop"), (r"\}", Punctuation, "#pop")]
    for number, head in enumerate(heads_in(place)):
        then = (f"head {place} {number}", "declared") if head.declares else f"head {place} {number}"
        if head.keyword:
            guard = f"(?={head.guard})" if head.guard else ""
            rules.append((rf"{head.keyword}\b{guard}", Keyword, then))
        else:
            rules.append((NAME, Name.Attribute, then))
    rules.append((NAME, Name, f"head {RECORD} 0"))
    return [*rules, include("expression"), (r"[()\[\]{},]", Punctuation)]


class TriposLexer(RegexLexer):
    """Lexer for `.tripos` files, for Sphinx, MkDocs, `pygmentize` and everything else that uses Pygments.

    >>> list(TriposLexer().get_tokens("role judge panel"))[:3]
    [(Token.Keyword, 'role'), (Token.Text.Whitespace, ' '), (Token.Name.Class, 'judge')]
    """

    name = "Tripos"
    aliases: ClassVar[list[str]] = ["tripos"]
    filenames: ClassVar[list[str]] = ["*.tripos"]
    mimetypes: ClassVar[list[str]] = ["text/x-tripos"]
    flags = re.MULTILINE
    tokens = _states()
