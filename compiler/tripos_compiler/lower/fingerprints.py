"""Fingerprints: a hash of what determines the output of a step, and nothing else.

Everything that changes a reply or a score must be in one of these; what is not in them costs nothing to change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from tripos_compiler.plan import Ask, Axis, Expr, Metric, Scorer, Texts, Type, digest


def ask_print(place: Sequence[str], ask: Ask, asks: Mapping[str, Ask], axes: Mapping[str, Axis]) -> str:
    """Of a reply: its texts with the labels they print, its type and settings, and the replies that it builds on."""
    texts = [each for each in (ask.system, ask.prompt) if each is not None]
    types = [ask.returns] if ask.returns is not None else []
    return digest(
        [
            place,
            ask.role,
            [_texts(each) for each in texts],
            _labels(texts, types, axes),
            _plain(ask.returns),
            _plain(ask.settings),
            [asks[name].fingerprint for name in sorted(ask.needs)],
        ]
    )


def judgement_print(
    place: Sequence[str],
    scorer: Scorer,
    args: Mapping[str, Expr],
    metrics: Iterable[Metric],
    needs: Iterable[str],
    asks: Mapping[str, Ask],
    axes: Mapping[str, Axis],
) -> str:
    """Of a judge's reply: the scorer's texts, the rubric, what it is given, and the replies that that builds on."""
    texts = [each for each in (scorer.system, scorer.prompt) if each is not None]
    return digest(
        [
            place,
            [_texts(each) for each in texts],
            _labels(texts, [], axes),
            _plain(scorer.gives),
            _plain(scorer.settings),
            {name: _plain(expr) for name, expr in args.items()},
            [metric.model_dump(mode="json", exclude={"dimension"}) for metric in metrics],
            [asks[name].fingerprint for name in sorted(needs)],
        ]
    )


def score_print(
    place: Sequence[str],
    name: str,
    value: Expr | str,
    when: Expr | None,
    needs: Iterable[str],
    asks: Mapping[str, Ask],
) -> str:
    """Of scores: their name, the expression or the judgement that they are taken from, and when and how often."""
    source = value if isinstance(value, str) else _plain(value)
    upstream = [[asks[each].fingerprint, _plain(asks[each].when), asks[each].samples] for each in sorted(needs)]
    return digest([place, name, source, _plain(when), upstream])


def _labels(texts: Sequence[Texts], types: Sequence[Type], axes: Mapping[str, Axis]) -> object:
    """The labels of every axis whose values are printed, or offered as a choice."""
    printed = [
        part.type
        for localised in texts
        for template in localised.values()
        for part in template.parts
        if not isinstance(part, str)
    ]
    used = {name for type_ in (*printed, *types) for name in _axes_in(type_)}
    return [[value.labels for value in axes[name].values] for name in sorted(used) if name in axes]


def _axes_in(type_: Type) -> set[str]:
    match type_.kind:
        case "choice":
            return {type_.axis} if type_.axis is not None else set()
        case "list" | "set" | "optional":
            return _axes_in(type_.of)
        case "record":
            return {name for of in type_.fields.values() for name in _axes_in(of)}
    return set()


def _texts(texts: Texts) -> object:
    return {language: _plain(template) for language, template in texts.items()}


def _plain(part: BaseModel | None) -> Any:
    return None if part is None else part.model_dump(mode="json")
