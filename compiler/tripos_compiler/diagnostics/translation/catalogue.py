"""The catalogue of a language: templates of English messages, and what each says in it.

A message is finished, in English, before it comes here, so what is stored, compared or read by programs never depends
on the language. A text that fits no template, or several that say different things, stays English.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from tripos_compiler.diagnostics.translation.reader import reader_language

if TYPE_CHECKING:
    from tripos_compiler.diagnostics.translation.templates import MessageTemplate

PARTS = "parts.json"
"""The file with parts of messages, which only stand in a hole; alone they are too short to know a message by."""
DEEPEST = 6
"""So many messages inside each other are translated."""
HOLE = re.compile(r"(?<!\{)\{(\d+)(~?)\}")
"""A hole of a translation, and whether its value is translated too."""
CHOICE = re.compile(r"\[([^\[\]{}|]*\|[^\[\]{}]*)\]")
"""Words of a key of which a message has one, such as a noun in the singular or the plural."""
SHORT = 16
"""A template with fewer characters of its own needs values that it knows."""
JOINTS = {": ": "：", "; ": "；", ". ": ". ", ", ": "，"}
QUOTED = re.compile(r"`[^`]*`|“[^”]*”|\"[^\"]*\"")
PROSE = re.compile(r"[a-z]{2,} [a-z]{2,}|\d [a-z]{2,}")


def localized(text: str, language: str | None = None) -> str:
    """Return a finished message in the reader's language, or as it is where the catalogue does not have it.

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
    # The template that says most of the text itself is the message; where two say as much, nobody knows.
    most = max(size for size, _ in found)
    best = {filled for size, filled in found if size == most}
    return best.pop() if len(best) == 1 else text


def _filled(template: MessageTemplate, said: str, values: tuple[str, ...], language: str, depth: int) -> str | None:
    """Return the translation with its values; None where a hole took words that belong to another message."""
    from tripos_compiler.diagnostics.translation import templates

    def inner(value: str) -> str:
        return _translated(value, language, depth + 1) if depth < DEEPEST else value

    for place, translates in HOLE.findall(said):
        value = values[int(place)]
        left = value if not translates or template.size < SHORT else ""
        if left and not template.quoted[int(place)] and _is_prose(left) and (not translates or inner(left) == left):
            return None
    return templates.fill_translation(said, values, inner)


def _is_prose(text: str) -> bool:
    return PROSE.search(QUOTED.sub("", text)) is not None


def _joined(text: str, language: str, depth: int) -> str | None:
    """Return two messages that a colon or the like joins, both translated; None where the text is no such pair. What
    stands before the sign may also be a place or a number."""
    if depth >= DEEPEST:
        return None
    for sign, said in JOINTS.items():
        for found in itertools.islice(re.finditer(re.escape(sign), text), DEEPEST):
            before, after = text[: found.start()], text[found.end() :]
            if before.count("`") % 2 or not after:
                continue
            first, second = _translated(before, language, depth + 1), _translated(after, language, depth + 1)
            if second != after and (first != before or not _is_prose(before)):
                return f"{first}{said}{second}"
    return None


@cache
def _loaded(language: str, parts: bool) -> tuple[dict[str, str], list[tuple[MessageTemplate, str]]]:
    """Return the messages without holes, and the templates of the others."""
    from tripos_compiler.diagnostics.translation import templates

    exact: dict[str, str] = {}
    holed: list[tuple[MessageTemplate, str]] = []
    for key, said in translations(language, parts=parts).items():
        template = templates.parse_template(key)
        if template.numbers:
            holed.append((template, said))
        else:
            exact[template.constants[0]] = templates.fill_translation(said, (), str)
    return exact, holed


@cache
def translations(language: str, *, parts: bool = True) -> dict[str, str]:
    """Return the translations by the key of their template; with `parts` also of what only stands in holes."""
    from importlib.resources import files  # which every command would wait for

    found: dict[str, str] = {}
    folder = files("tripos_compiler.diagnostics.translation").joinpath(language)
    for path in sorted(folder.iterdir(), key=lambda each: each.name):
        if path.name.endswith(".json") and (parts or path.name != PARTS):
            found.update(entries(json.loads(path.read_text("utf-8"))))
    return found


def entries(written: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the entries of a file, those of a key with alternatives one by one.

    >>> list(entries({"{0:n} [row|rows]": "{0} 行"}))
    [('{0:n} row', '{0} 行'), ('{0:n} rows', '{0} 行')]
    """
    for key, said in written.items():
        constants = CHOICE.split(key)
        parts = [part.split("|") if place % 2 else [part] for place, part in enumerate(constants)]
        yield from (("".join(way), said) for way in itertools.product(*parts))
