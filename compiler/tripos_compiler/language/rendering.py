"""Rendering of templates and conversations to text. The value of a hole is printed once and never read as a template.

A template can be rendered while some values are pending: the text then has a `PLACEHOLDER` for each pending part. So
known and pending texts come from one renderer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from typing import Any, Protocol

from tripos_compiler.language.evaluation import Unavailable, attribute_to_condition, evaluate
from tripos_compiler.library.functions.texts import json
from tripos_compiler.library.media import MediumKind, joined_media, unmarked
from tripos_compiler.library.types import MEDIA, Turn, without_optional
from tripos_compiler.plan import Axis, Expr, Hole, Metric, Passage, Template, Type
from tripos_compiler.replies.text import nfkc

PLACEHOLDER = "\ufffc"
"""Stands for a pending part of a text."""
LEVEL_WORDS = {"zh": ("分", "：")}


class Placeholders(Protocol):
    """Handler of pending values. Each method raises `reason` if the value will never exist."""

    def hole(self, hole: Hole, reason: Unavailable) -> str:
        """Return the text for a pending hole: one `PLACEHOLDER`."""
        ...

    def condition(self, when: Expr, reason: Unavailable) -> None:
        """Record the pending condition of a passage."""
        ...

    def passage(self, render: Callable[[], str]) -> str | None:
        """Return the text of a passage with a pending condition, obtained by `render`; `None` omits it."""
        ...


def render(
    template: Template,
    names: Mapping[str, Any],
    language: str,
    axes: Mapping[str, Axis],
    metrics: Sequence[Metric] = (),
    placeholders: Placeholders | None = None,
) -> str:
    """Return the text of a template.

    Values of an axis are printed by their label in `language`, and `{{ metrics }}` as a rubric. Passages whose
    condition holds are separated by an empty line. Raises `Unavailable` if a value is missing and there are no
    `placeholders` for it.
    """
    passages = [part for part in template.parts if isinstance(part, Passage)]
    if passages:
        held = [(part, holds) for part in passages if (holds := _holds(part.when, names, placeholders)) is not False]
        texts: list[str | None] = []
        for part, holds in held:
            if holds is None and placeholders is not None:
                text = partial(_passage, part, names, language, axes, metrics, placeholders)
                texts.append(placeholders.passage(text))
            else:
                texts.append(_passage(part, names, language, axes, metrics, placeholders))
        return "\n\n".join(each for each in texts if each is not None)
    plain = [part for part in template.parts if not isinstance(part, Passage)]
    return _printed(plain, names, language, axes, metrics, placeholders)


def media_printed(template: Template) -> set[MediumKind]:
    """Return the kinds of media that the holes of a template print."""
    parts = [part for each in template.parts for part in (each.parts if isinstance(each, Passage) else (each,))]
    types = [without_optional(part.type) for part in parts if isinstance(part, Hole)]
    shown = [type_.of if type_.kind == "list" else type_ for type_ in types]
    return {type_.kind for type_ in shown if type_.kind in ("image", "audio", "file")}


def _holds(when: Expr | None, names: Mapping[str, Any], placeholders: Placeholders | None) -> bool | None:
    """Return true if a passage is printed, or `None` if its condition is pending."""
    if when is None:
        return True
    try:
        return bool(evaluate(when, names))
    except Unavailable as reason:
        if placeholders is None:
            raise
        placeholders.condition(when, reason)
        return None


def _passage(
    passage: Passage,
    names: Mapping[str, Any],
    language: str,
    axes: Mapping[str, Axis],
    metrics: Sequence[Metric],
    placeholders: Placeholders | None,
) -> str:
    if passage.when is None:
        return _printed(passage.parts, names, language, axes, metrics, placeholders)
    with attribute_to_condition(passage.when, names):
        return _printed(passage.parts, names, language, axes, metrics, placeholders)


def _printed(
    parts: Sequence[str | Hole],
    names: Mapping[str, Any],
    language: str,
    axes: Mapping[str, Axis],
    metrics: Sequence[Metric],
    placeholders: Placeholders | None,
) -> str:
    printed: list[str] = []
    for part in parts:
        if isinstance(part, str):
            printed.append(unmarked(part))
        elif part.type.kind == "metrics":
            printed.append(print_rubric(metrics, language))
        else:
            try:
                value = evaluate(part.expr, names)
            except Unavailable as reason:
                if placeholders is None:
                    raise
                printed.append(placeholders.hole(part, reason))
            else:
                printed.append(_show(part.type, value, language, axes))
    return joined_media(printed)


def _show(type_: Type, value: Any, language: str, axes: Mapping[str, Axis]) -> str:
    """Return the printed form of a value. The mark of an image or file is printed only if the type is a medium."""
    bare = without_optional(type_)
    if value is not None and bare.kind in MEDIA:
        return str(value)
    if value is not None and bare.kind == "list" and bare.of.kind in MEDIA:
        return "\n".join(value)
    return unmarked(_shown(type_, value, language, axes))


def _shown(type_: Type, value: Any, language: str, axes: Mapping[str, Axis]) -> str:
    if value is None:
        return ""
    if type_.kind == "optional":
        return _shown(type_.of, value, language, axes)
    if type_.kind == "choice" and type_.axis is not None and type_.axis in axes:
        return label(axes[type_.axis], str(value), language)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if isinstance(value, list | Set) and all(isinstance(item, str) for item in value):
        items = sorted(value) if isinstance(value, Set) else value
        of = type_.of if type_.kind in ("list", "set") else None
        return ", ".join(item if of is None else _shown(of, item, language, axes) for item in items)
    return json(value)


def label(axis: Axis, value: str, language: str) -> str:
    """Return the label of an axis value in a language."""
    for candidate in axis.values:
        if candidate.name == value:
            return candidate.labels[language]
    return value


def print_rubric(metrics: Sequence[Metric], language: str) -> str:
    """Return the metrics as a rubric for a grader: code, name, question, scale and levels, in `language`."""
    unit, colon = LEVEL_WORDS.get(language, ("", ": "))
    lines: list[str] = []
    for metric in metrics:
        head = f"{metric.name} ({metric.title[language]}), {metric.low}-{metric.high}{unit}"
        lines.append(f"{head}{colon}{metric.asks[language]}")
        lines.extend(f"  {level.low}-{level.high}{unit}{colon}{level.text[language]}" for level in metric.levels)
    return "\n".join(lines)


OPENINGS = {"en": "Please begin.", "zh": "请开始。"}
"""First user message to the side that opens: many models reject a dialogue that begins with their own turn."""
SILENT = "…"
"""Stands for an empty turn: many models reject an empty message."""
FIRST = 2
"""Number of turns at the beginning, one of each side, that are never omitted."""
EMPHASIS = re.compile(r"[*_~`\u200b-\u200d\ufeff]")


def opening_text(language: str) -> str:
    """Return the first user message to the side that opens, in a language.

    >>> opening_text("zh"), opening_text("fi")
    ('请开始。', 'Please begin.')
    """
    return OPENINGS.get(language, OPENINGS["en"])


def dialogue_from_side(role: str, turns: Sequence[Turn], begun: str | None, left_out: int = 0) -> list[tuple[str, str]]:
    """Return a dialogue from one side, as pairs of role and text: its own turns are the assistant's, the other's the
    user's.

    `begun` is the first user message to the side that opens. `left_out` turns after the first exchange are omitted.

    >>> talk = [{"speaker": "teacher", "text": "Why?"}, {"speaker": "pupil", "text": ""}]
    >>> dialogue_from_side("teacher", talk, "Please begin.")
    [('user', 'Please begin.'), ('assistant', 'Why?'), ('user', '…')]
    >>> dialogue_from_side("pupil", talk[:1], None)
    [('user', 'Why?')]
    """
    shown = [*turns[:FIRST], *turns[FIRST + left_out :]] if left_out else turns
    seen = [] if begun is None else [("user", begun)]
    for turn in shown:
        seen.append(("assistant" if turn["speaker"] == role else "user", unmarked(turn["text"].strip()) or SILENT))
    return seen


def count_left_out(count: int, left_out: int) -> int | None:
    """Return how many turns to omit from a dialogue of `count` turns if omitting `left_out` was not enough: half of
    those between the first exchange and the last turn, in whole exchanges. None if nothing is left to omit.

    >>> [count_left_out(21, left_out) for left_out in (0, 10, 14, 18)], count_left_out(2, 0)
    ([10, 14, 16, None], None)
    """
    between = count - FIRST - 1 - left_out
    exchanges = between // 2
    return None if exchanges < 1 else left_out + 2 * -(-exchanges // 2)


def ends_conversation(text: str, wanted: str) -> bool:
    """Return true if a turn contains the ending phrase, regardless of case, emphasis, full-width letters and position.

    >>> ends_conversation("Well done. **Teach\\u3000DONE**!", "teach done")
    True
    >>> ends_conversation("ＴＥＡＣＨ　ＤＯＮＥ", "teach done")
    True
    >>> ends_conversation("*TEACH* _DONE_", "teach done"), ends_conversation("Are we done teaching?", "teach done")
    (True, False)
    """
    needle = _without_emphasis(wanted)
    return needle in _without_emphasis(text) if needle else wanted in text


def _without_emphasis(text: str) -> str:
    return " ".join(EMPHASIS.sub("", nfkc(text)).casefold().split())
