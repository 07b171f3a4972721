"""Translation of messages and pages into the reader's language.

A finished English message is matched against the templates of a catalogue. So whatever is stored, compared or read by
programs is independent of the language. A text that matches no template, or several with different translations, stays
English.

Pages are translated by paragraph. A paragraph is identified by its English words, so an outdated translation is never
shown. Paragraphs without a translation and code stay English.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from string import Formatter

from tripos_compiler.source.data_classes import dataclass

# Language of the reader

LANGUAGE = "TRIPOS_LANG"
LANGUAGES = ("en", "zh")
"""Languages of messages."""
LOCALES = ("LC_ALL", "LC_MESSAGES", "LANG")
"""Environment variables for the language of messages; the first that is set applies."""


def named_language(text: str) -> str | None:
    """Return the language of a locale, or None if it is not supported.

    >>> named_language("zh_CN.UTF-8"), named_language("ZH"), named_language("en-GB"), named_language("fr")
    ('zh', 'zh', 'en', None)
    """
    name = text.strip().replace("-", "_").partition(".")[0].partition("_")[0].casefold()
    return name if name in LANGUAGES else None


def reader_language(environ: Mapping[str, str] | None = None) -> str:
    """Return the language of messages: `TRIPOS_LANG`, else that of the system, else English. An unsupported
    `TRIPOS_LANG` gives English; the command line refuses it.

    >>> reader_language({"LANG": "zh_CN.UTF-8"}), reader_language({"LC_ALL": "C", "LANG": "zh_CN"}), reader_language({})
    ('zh', 'en', 'en')
    >>> reader_language({"LANG": "en_GB", "TRIPOS_LANG": "zh"})
    'zh'
    """
    environ = os.environ if environ is None else environ
    text = environ.get(LANGUAGE, "").strip() or next((environ[name] for name in LOCALES if environ.get(name)), "")
    return named_language(text) or "en"


# Messages

PARTS = "parts.json"
"""File with templates of fragments that occur only inside other messages; alone they are too short for a reliable
match."""
DEEPEST = 6
"""Largest depth of nested messages."""
HOLE = re.compile(r"(?<!\{)\{(\d+)(~?)\}")
"""Placeholder of a translation, and whether its value is translated too."""
CHOICE = re.compile(r"\[([^\[\]{}|]*\|[^\[\]{}]*)\]")
"""Alternatives in a key, such as the singular and the plural of a noun."""
SHORT = 16
"""Number of constant characters below which a template requires values that have a translation."""
JOINTS = {": ": "：", "; ": "；", ". ": ". ", ", ": "，"}
QUOTED = re.compile(r"`[^`]*`|“[^”]*”|\"[^\"]*\"")
PROSE = re.compile(r"[a-z]{2,} [a-z]{2,}|\d [a-z]{2,}")


def localized(text: str, language: str | None = None) -> str:
    """Return a finished message in the reader's language, or unchanged if the catalogue does not have it.

    >>> localized("there is no such thing", "zh"), localized("wrong argument", "en")
    ('there is no such thing', 'wrong argument')
    """
    language = language or reader_language()
    return text if language == "en" or not text else _translated(text, language, 0)


@lru_cache(maxsize=4096)
def _translated(text: str, language: str, depth: int) -> str:
    exact, templates = _loaded(language, depth > 0)
    if text in exact:
        return exact[text]
    found = [
        ((template.size, sum(template.numbers)), filled)
        for template, said in templates
        if (values := template.match(text)) is not None
        and (filled := _filled(template, said, values, language, depth)) is not None
    ]
    if not found:
        return _joined(text, language, depth) or text
    # The template with the most constant text is the message. A tie is ambiguous.
    most = max(size for size, _ in found)
    best = {filled for size, filled in found if size == most}
    return best.pop() if len(best) == 1 else text


def _filled(template: MessageTemplate, said: str, values: tuple[str, ...], language: str, depth: int) -> str | None:
    """Return the translation with its values, or None if a value contains words of another message."""

    def inner(value: str) -> str:
        return _translated(value, language, depth + 1) if depth < DEEPEST else value

    for place, translates in HOLE.findall(said):
        value = values[int(place)]
        left = value if not translates or template.size < SHORT else ""
        if left and not template.quoted[int(place)] and _is_prose(left) and (not translates or inner(left) == left):
            return None
    return fill_translation(said, values, inner)


def _is_prose(text: str) -> bool:
    return PROSE.search(QUOTED.sub("", text)) is not None


def _joined(text: str, language: str, depth: int) -> str | None:
    """Return the translation of two messages joined by a colon or similar sign, or None if the text is not such a pair.
    The part before the sign may also be a place or a number."""
    if depth >= DEEPEST:
        return None
    for sign, joint in JOINTS.items():
        for match in itertools.islice(re.finditer(re.escape(sign), text), DEEPEST):
            before, after = text[: match.start()], text[match.end() :]
            if before.count("`") % 2 or not after:
                continue
            first, second = _translated(before, language, depth + 1), _translated(after, language, depth + 1)
            if second != after and (first != before or not _is_prose(before)):
                return f"{first}{joint}{second}"
    return None


@cache
def _loaded(language: str, parts: bool) -> tuple[dict[str, str], list[tuple[MessageTemplate, str]]]:
    """Return the messages without placeholders, and the templates of the others."""

    exact: dict[str, str] = {}
    holed: list[tuple[MessageTemplate, str]] = []
    for key, translation in translations(language, parts=parts).items():
        template = parse_template(key)
        if template.numbers:
            holed.append((template, translation))
        else:
            exact[template.constants[0]] = fill_translation(translation, (), str)
    return exact, holed


@cache
def translations(language: str, *, parts: bool = True) -> dict[str, str]:
    """Return the translations by the key of their template; with `parts` including those of fragments."""
    from importlib.resources import files  # which every command would wait for

    found: dict[str, str] = {}
    folder = files("tripos_compiler.diagnostics").joinpath("translation", language)
    for path in sorted(folder.iterdir(), key=lambda each: each.name):
        if path.name.endswith(".json") and (parts or path.name != PARTS):
            found.update(entries(json.loads(path.read_text("utf-8"))))
    return found


def entries(written: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the entries of a file; a key with alternatives yields one entry for each.

    >>> list(entries({"{0:n} [row|rows]": "{0} 行"}))
    [('{0:n} row', '{0} 行'), ('{0:n} rows', '{0} 行')]
    """
    for key, text in written.items():
        constants = CHOICE.split(key)
        parts = [part.split("|") if place % 2 else [part] for place, part in enumerate(constants)]
        yield from (("".join(way), text) for way in itertools.product(*parts))


# Pages

PAGES = "pages"
"""Folder of a language with the paragraphs of its pages, one file for each family of codes."""
FENCE = "```"
MARK = re.compile(r"(?:#+ |[-*] )?")


def localized_page(page: str, language: str) -> str:
    """Return a Markdown page in a language.

    >>> print(localized_page("## How to fix it\\n\\nOdd words.\\n\\n```\\nHow to fix it\\n```\\n", "zh"), end="")
    ## 怎样改正
    <BLANKLINE>
    Odd words.
    <BLANKLINE>
    ```
    How to fix it
    ```
    """
    said = page_translations(language)
    parts = (part if code else _told(part, said) for code, part in blocks(page))
    return "".join(parts)


def _told(part: str, said: dict[str, str]) -> str:
    words = unwrapped(part)
    mark = MARK.match(words)
    assert mark is not None
    found = said.get(words[mark.end() :])
    return part if found is None else f"{mark[0]}{found}\n"


def unwrapped(part: str) -> str:
    """Return a paragraph on one line."""
    return " ".join(part.split())


def paragraphs(page: str) -> Iterator[str]:
    """Yield the translatable texts of a page, each on one line without its Markdown prefix.

    >>> list(paragraphs("# A\\n\\nOne\\ntwo.\\n- three\\n\\n```\\ncode\\n```\\n"))
    ['A', 'One two.', 'three']
    """
    for code, part in blocks(page):
        words = unwrapped(part)
        if not code and words:
            yield MARK.sub("", words, count=1)


def blocks(page: str) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a page, whose concatenation is the page, and whether each is code: a code block, an empty
    line, or a heading, a list item or a paragraph of one or more lines."""
    part, fenced = "", False
    for line in page.splitlines(keepends=True):
        fence = line.startswith(FENCE)
        if fenced:
            part += line
            if fence:
                yield True, part
                part, fenced = "", False
            continue
        if fence or not line.strip() or re.match(r"#+ |[-*] ", line):
            if part:
                yield False, part
            part = ""
        if fence:
            part, fenced = line, True
        elif not line.strip() or line.startswith("#"):
            yield not line.strip(), line
        else:
            part += line
    if part:
        yield fenced, part


@cache
def page_translations(language: str) -> dict[str, str]:
    """Return the translations of paragraphs by their English text."""
    found: dict[str, str] = {}
    folder = files("tripos_compiler.diagnostics").joinpath("translation", language, PAGES)
    for path in sorted(folder.iterdir(), key=lambda each: each.name):
        found.update(json.loads(path.read_text("utf-8")))
    return found


# Templates

NUMBER = re.compile(r"[-−+]?[\d,]*\.?\d+(?:[eE][-+]?\d+)?%?")
TICK = "`"


@dataclass(frozen=True)
class MessageTemplate:
    """Template of messages: constant texts, one more than there are placeholders. `numbers` marks placeholders for
    numbers."""

    constants: tuple[str, ...]
    numbers: tuple[bool, ...] = ()

    def fill(self, values: Sequence[str]) -> str:
        """Return the message with these values in its placeholders.

        >>> parse_template("there is no `{0}`").fill(["judge"])
        'there is no `judge`'
        """
        parts = [self.constants[0]]
        for value, constant in zip(values, self.constants[1:], strict=True):
            parts += (value, constant)
        return "".join(parts)

    def match(self, text: str) -> tuple[str, ...] | None:
        """Return the values with which the template produces a text, or None if there are none or more than one
        solution.

        A value between backticks contains no backtick, and any other value contains paired ones.

        >>> template = parse_template("`{0}` has no field `{1}`")
        >>> template.match("`item` has no field `anser`")
        ('item', 'anser')
        >>> template.match("`a` has no field `b` has no field `c`")
        """
        first, last = self.constants[0], self.constants[-1]
        if not self.numbers:
            return () if text == first else None
        if not (text.startswith(first) and text.endswith(last)) or len(text) < len(first) + len(last):
            return None
        places = self._places(text)
        if places is None:
            return None
        values = tuple(text[start:end] for start, end in places)
        return values if all(map(self._is_fit, range(len(values)), values)) else None

    def _places(self, text: str) -> list[tuple[int, int]] | None:
        """Return the ranges of the values, or None. The leftmost and the rightmost assignment of the constants must
        agree."""
        begin, end = len(self.constants[0]), len(text) - len(self.constants[-1])
        middle = self.constants[1:-1]
        starts, at = [], begin
        for constant in middle:
            at = text.find(constant, at, end)
            if at < 0:
                return None
            starts.append(at)
            at += len(constant)
        at = end
        for constant, start in zip(reversed(middle), reversed(starts), strict=True):
            at = text.rfind(constant, begin, at)
            if at != start:
                return None
        befores = [begin, *(start + len(constant) for start, constant in zip(starts, middle, strict=True))]
        return list(zip(befores, [*starts, end], strict=True))

    def _is_fit(self, place: int, value: str) -> bool:
        if self.numbers[place]:
            return NUMBER.fullmatch(value) is not None
        return TICK not in value if self.quoted[place] else value.count(TICK) % 2 == 0

    @cached_property
    def quoted(self) -> tuple[bool, ...]:
        """For each placeholder, whether it is between backticks."""
        found, seen = [], 0
        for constant in self.constants[:-1]:
            seen += constant.count(TICK)
            found.append(seen % 2 == 1)
        return tuple(found)

    @cached_property
    def size(self) -> int:
        """Number of characters of its constants."""
        return sum(map(len, self.constants))


def parse_template(key: str) -> MessageTemplate:
    """Return the template for a key of the catalogue: `{0}` is a placeholder, `{0:n}` one for a number, and braces are
    doubled.

    >>> parse_template("{0:n} of {{x}}").constants
    ('', ' of {x}')
    """
    constants, numbers, text = [], [], ""
    for constant, name, spec, _ in Formatter().parse(key):
        text += constant
        if name is not None:
            constants.append(text)
            numbers.append(spec == "n")
            text = ""
    return MessageTemplate((*constants, text), tuple(numbers))


def fill_translation(text: str, values: Sequence[str], inner: Callable[[str], str]) -> str:
    """Return a translation with values in its placeholders: `{0}` inserts a value unchanged, `{0~}` its image under
    `inner`.

    >>> fill_translation("{1} 中没有 {0~}", ["field", "`item`"], str.upper)
    '`item` 中没有 FIELD'
    """
    parts = []
    for constant, name, _, _ in Formatter().parse(text):
        parts.append(constant)
        if name is not None:
            value = values[int(name.rstrip("~"))]
            parts.append(inner(value) if name.endswith("~") else value)
    return "".join(parts)
