"""Translation of messages and pages into the reader's language.

A message is translated when it is shown, by matching its finished English text against the templates of a catalogue.
So whatever is stored, compared or read by programs does not depend on the language. A text stays English if it matches
no template, or several templates with different translations.

Pages are translated by paragraph. The key of a translation is the English text of the paragraph, so an outdated
translation is never shown. Code, and paragraphs without a translation, stay English.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property, lru_cache
from string import Formatter
from typing import TYPE_CHECKING

from tripos_compiler.source.data_classes import dataclass

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

# Language of the reader

LANGUAGE = "TRIPOS_LANG"
"""Environment variable for the language of messages, before those of `LOCALES`."""
LANGUAGES = ("en", "zh")
"""Supported languages of messages."""
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
    """Return the language of messages: `TRIPOS_LANG`, else the language of the system, else English. An unsupported
    `TRIPOS_LANG` gives English here; the command line refuses it.

    >>> reader_language({"LANG": "zh_CN.UTF-8"}), reader_language({"LC_ALL": "C", "LANG": "zh_CN"}), reader_language({})
    ('zh', 'en', 'en')
    >>> reader_language({"LANG": "en_GB", "TRIPOS_LANG": "zh"})
    'zh'

    A language that the reader chose (`reading_in`) comes before all: itself if there are messages in it, else English.
    """
    if environ is None and (chosen := chosen_language()) is not None:
        return words_language(chosen)
    environ = os.environ if environ is None else environ
    text = environ.get(LANGUAGE, "").strip() or next((environ[name] for name in LOCALES if environ.get(name)), "")
    return named_language(text) or "en"


_CHOSEN: ContextVar[str | None] = ContextVar("the language that the reader chose", default=None)


@contextmanager
def reading_in(language: str | None) -> Iterator[None]:
    """Show titles and words in a language that the reader chose; with None, as the environment and the benchmark say.

    >>> with reading_in("de"):
    ...     titles_language(), reader_language()
    ('de', 'en')
    """
    token = _CHOSEN.set(language)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def choose_language(language: str) -> None:
    """Choose the language of titles and words until the end of the `reading_in` around it."""
    _CHOSEN.set(language)


def chosen_language() -> str | None:
    """Return the language that the reader chose, such as by `--language`, or None. Files and tables for papers have the
    titles and words of this language."""
    return _CHOSEN.get()


def titles_language() -> str:
    """Return the language of titles that a person reads at once: the chosen one, else that of messages. It may be a
    language of the benchmark without messages."""
    return chosen_language() or reader_language()


def words_language(chosen: str) -> str:
    """Return the language of Tripos's own words beside titles in a chosen language: the same, or English.

    >>> words_language("zh"), words_language("de")
    ('zh', 'en')
    """
    return chosen if chosen in LANGUAGES else "en"


def matching_language(text: str, known: Iterable[str]) -> str | None:
    """Return the language among the known ones that a reader names, or None. A country counts only if it is known.

    >>> matching_language("DE-ch", ["en", "de"]), matching_language("pt_BR", ["pt_BR"]), matching_language("fr", ["en"])
    ('de', 'pt_BR', None)
    """
    name = text.strip().replace("-", "_").casefold()
    by_name = {language.replace("-", "_").casefold(): language for language in known}
    return by_name.get(name) or by_name.get(name.partition("_")[0])


# Messages

PARTS = "parts.json"
"""File with templates of fragments, which are matched only inside other messages: they are too short for a reliable
match of a whole message."""
MAX_DEPTH = 6
"""Largest depth of messages inside messages."""
HOLE = re.compile(r"(?<!\{)\{(\d+)(~?)\}")
"""Placeholder of a translation: its number, and `~` if its value is translated too."""
ALTERNATIVES = re.compile(r"\[([^\[\]{}|]*\|[^\[\]{}]*)\]")
"""Alternatives in a key, such as the singular and the plural of a noun: `[row|rows]`."""
MIN_CONSTANT_LENGTH = 16
"""Number of constant characters from which on a match of a template is reliable. A match of a shorter template counts
only if its values that are prose have a translation."""
SEPARATORS = {": ": "：", "; ": "；", ". ": ". ", ", ": "，"}
"""English separators of two joined messages, with their Chinese forms."""
QUOTED = re.compile(r"`[^`]*`|“[^”]*”|\"[^\"]*\"")
PROSE = re.compile(r"[a-z]{2,} [a-z]{2,}|\d [a-z]{2,}")
"""Two adjacent words, or a number and a word."""


def localized(text: str, language: str | None = None) -> str:
    """Return a finished message in the reader's language, or unchanged if the catalogue has no translation of it.

    >>> localized("there is no such thing", "zh"), localized("wrong argument", "en")
    ('there is no such thing', 'wrong argument')
    """
    language = language or reader_language()
    return text if not text or words_language(language) == "en" else _translated(text, language, 0)


def localized_in_file(text: str) -> str:
    """Return a message for a file or a table for a paper: in the language that the reader chose, else in English."""
    return text if chosen_language() is None else localized(text)


@lru_cache(maxsize=4096)
def _translated(text: str, language: str, depth: int) -> str:
    exact, templates = _catalogue(language, depth > 0)
    if text in exact:
        return exact[text]
    matches = [
        ((template.size, sum(template.numbers)), filled)
        for template, translation in templates
        if (values := template.match(text)) is not None
        and (filled := _fill_if_plausible(template, translation, values, language, depth)) is not None
    ]
    if not matches:
        return _translated_pair(text, language, depth) or text
    # The most specific template applies: the one with the most constant text, and then with the most numbers. The
    # message is ambiguous if several are equally specific and their translations differ.
    most = max(specificity for specificity, _ in matches)
    best = {filled for specificity, filled in matches if specificity == most}
    return best.pop() if len(best) == 1 else text


def _fill_if_plausible(
    template: MessageTemplate, translation: str, values: tuple[str, ...], language: str, depth: int
) -> str | None:
    """Return a translation with its values, or None if the template has probably matched another message.

    That is so if a value outside backticks is English prose and stays English. In a long template, a value for which
    the translation expects a message (`~`) may do so.
    """

    def inner(value: str) -> str:
        return _translated(value, language, depth + 1) if depth < MAX_DEPTH else value

    for number, is_message in HOLE.findall(translation):
        value = values[int(number)]
        if template.quoted[int(number)] or not _is_prose(value):
            continue
        if not is_message or (template.size < MIN_CONSTANT_LENGTH and inner(value) == value):
            return None
    return fill_translation(translation, values, inner)


def _is_prose(text: str) -> bool:
    return PROSE.search(QUOTED.sub("", text)) is not None


def _translated_pair(text: str, language: str, depth: int) -> str | None:
    """Return the translation of two messages joined by a colon or another separator, or None if the text is not such a
    pair. The part before the separator may also be a text without prose, such as a file and a line."""
    if depth >= MAX_DEPTH:
        return None
    for separator, translated_separator in SEPARATORS.items():
        for match in itertools.islice(re.finditer(re.escape(separator), text), MAX_DEPTH):
            before, after = text[: match.start()], text[match.end() :]
            if before.count("`") % 2 or not after:
                continue
            first, second = _translated(before, language, depth + 1), _translated(after, language, depth + 1)
            if second != after and (first != before or not _is_prose(before)):
                return f"{first}{translated_separator}{second}"
    return None


@cache
def _catalogue(language: str, parts: bool) -> tuple[dict[str, str], list[tuple[MessageTemplate, str]]]:
    """Return the translations of messages without placeholders by message, and the templates of all other messages with
    their translations."""
    exact: dict[str, str] = {}
    templates: list[tuple[MessageTemplate, str]] = []
    for key, translation in translations(language, parts=parts).items():
        template = parse_template(key)
        if template.numbers:
            templates.append((template, translation))
        else:
            exact[template.constants[0]] = fill_translation(translation, (), str)
    return exact, templates


@cache
def translations(language: str, *, parts: bool = True) -> dict[str, str]:
    """Return the translations of messages by the key of their template, with `parts` also those of fragments."""
    by_key: dict[str, str] = {}
    for path in _catalogue_files(language):
        if parts or path.name != PARTS:
            by_key.update(entries(json.loads(path.read_text("utf-8"))))
    return by_key


def _catalogue_files(language: str, *subfolders: str) -> list[Traversable]:
    """Return the JSON files in a folder of the catalogue of a language, sorted by name."""
    from importlib.resources import files  # imported late, since commands in English do not need it

    folder = files("tripos_compiler.diagnostics").joinpath("translation", language, *subfolders)
    return sorted((path for path in folder.iterdir() if path.name.endswith(".json")), key=lambda path: path.name)


def entries(file_content: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the entries of a catalogue file; a key with alternatives yields one entry for each combination.

    >>> list(entries({"{0:n} [row|rows]": "{0} 行"}))
    [('{0:n} row', '{0} 行'), ('{0:n} rows', '{0} 行')]
    """
    for key, text in file_content.items():
        segments = ALTERNATIVES.split(key)  # every second segment is a group of alternatives
        choices = [segment.split("|") if index % 2 else [segment] for index, segment in enumerate(segments)]
        yield from (("".join(chosen), text) for chosen in itertools.product(*choices))


# Pages

PAGES = "pages"
"""Subfolder of a language with the paragraphs of pages, one file for each family of codes."""
FENCE = "```"
"""Beginning of the first and the last line of a code block."""
MARKDOWN_PREFIX = re.compile(r"(?:#+ |[-*] )?")
"""Mark of a heading or a list item, or nothing."""


def localized_page(page: str, language: str) -> str:
    """Return a Markdown page with the paragraphs that have a translation in a language.

    >>> print(localized_page("## How to fix it\\n\\nOdd words.\\n\\n```\\nHow to fix it\\n```\\n", "zh"), end="")
    ## 怎样改正
    <BLANKLINE>
    Odd words.
    <BLANKLINE>
    ```
    How to fix it
    ```
    """
    by_english = page_translations(language)
    return "".join(part if is_fixed else _translated_part(part, by_english) for is_fixed, part in blocks(page))


def _translated_part(part: str, by_english: dict[str, str]) -> str:
    """Return a heading, list item or paragraph in its translation, on one line, or unchanged if it has none."""
    line = unwrapped(part)
    prefix = MARKDOWN_PREFIX.match(line)
    assert prefix is not None
    translation = by_english.get(line[prefix.end() :])
    return part if translation is None else f"{prefix[0]}{translation}\n"


def unwrapped(part: str) -> str:
    """Return a paragraph on one line."""
    return " ".join(part.split())


def paragraphs(page: str) -> Iterator[str]:
    """Yield the translatable texts of a page, each on one line without its Markdown prefix.

    >>> list(paragraphs("# A\\n\\nOne\\ntwo.\\n- three\\n\\n```\\ncode\\n```\\n"))
    ['A', 'One two.', 'three']
    """
    for is_fixed, part in blocks(page):
        line = unwrapped(part)
        if not is_fixed and line:
            yield MARKDOWN_PREFIX.sub("", line, count=1)


def blocks(page: str) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a page, each after a flag that says whether it is never translated. Joined, they are the page.

    Code blocks and empty lines are never translated; headings, list items and paragraphs can be.
    """
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
    by_english: dict[str, str] = {}
    for path in _catalogue_files(language, PAGES):
        by_english.update(json.loads(path.read_text("utf-8")))
    return by_english


# Templates

NUMBER = re.compile(r"[-−+]?[\d,]*\.?\d+(?:[eE][-+]?\d+)?%?")
"""Number as messages print it, with separators of thousands, an exponent or a percent sign."""
TICK = "`"


@dataclass(frozen=True)
class MessageTemplate:
    """Template of messages: `constants` are the texts before, between and after the placeholders. `numbers` says for
    each placeholder whether it takes only numbers."""

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
        """Return the values with which the template produces a text, or None if no values do, or different values do.

        A value between backticks contains no backtick; any other value contains an even number of backticks.

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
        spans = self._value_spans(text)
        if spans is None:
            return None
        values = tuple(text[start:end] for start, end in spans)
        return values if all(map(self._is_possible_value, range(len(values)), values)) else None

    def _value_spans(self, text: str) -> list[tuple[int, int]] | None:
        """Return the start and end of each value, or None if the constants between them occur nowhere or at several
        positions: their leftmost and their rightmost positions must be the same."""
        begin, end = len(self.constants[0]), len(text) - len(self.constants[-1])
        inner_constants = self.constants[1:-1]
        starts, position = [], begin
        for constant in inner_constants:
            position = text.find(constant, position, end)
            if position < 0:
                return None
            starts.append(position)
            position += len(constant)
        position = end
        for constant, start in zip(reversed(inner_constants), reversed(starts), strict=True):
            position = text.rfind(constant, begin, position)
            if position != start:
                return None
        ends = [start + len(constant) for start, constant in zip(starts, inner_constants, strict=True)]
        return list(zip([begin, *ends], [*starts, end], strict=True))

    def _is_possible_value(self, placeholder: int, value: str) -> bool:
        if self.numbers[placeholder]:
            return NUMBER.fullmatch(value) is not None
        return TICK not in value if self.quoted[placeholder] else value.count(TICK) % 2 == 0

    @cached_property
    def quoted(self) -> tuple[bool, ...]:
        """For each placeholder, whether it is between backticks."""
        flags, ticks = [], 0
        for constant in self.constants[:-1]:
            ticks += constant.count(TICK)
            flags.append(ticks % 2 == 1)
        return tuple(flags)

    @cached_property
    def size(self) -> int:
        """Number of constant characters."""
        return sum(map(len, self.constants))


def parse_template(key: str) -> MessageTemplate:
    """Return the template for a key of the catalogue, in the syntax of `str.format`: `{0}` is a placeholder, `{0:n}` is
    a placeholder for a number, and `{{` is a brace.

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
    """Return a translation with values in its placeholders: `{0}` inserts a value unchanged, `{0~}` inserts the result
    of `inner` for it.

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
