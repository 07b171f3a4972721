"""Templates to text. What fills a hole is printed once; it is never read as a template again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from tripos_compiler.language.evaluation import decided_by, evaluate
from tripos_compiler.language.library import json
from tripos_compiler.plan import Axis, Hole, Metric, Passage, Template, Type

LEVEL_WORDS = {"zh": ("分", "：")}


def render(
    template: Template,
    names: Mapping[str, Any],
    language: str,
    axes: Mapping[str, Axis],
    metrics: Sequence[Metric] = (),
) -> str:
    """Return the text of a template: values of an axis by their label in `language`, `{{ metrics }}` as a rubric. Of
    passages those are printed whose condition holds, with an empty line between them."""
    passages = [part for part in template.parts if isinstance(part, Passage)]
    if passages:
        held = [part for part in passages if part.when is None or evaluate(part.when, names)]
        return "\n\n".join(_passage(part, names, language, axes, metrics) for part in held)
    plain = [part for part in template.parts if not isinstance(part, Passage)]
    return _printed(plain, names, language, axes, metrics)


def _passage(
    passage: Passage, names: Mapping[str, Any], language: str, axes: Mapping[str, Axis], metrics: Sequence[Metric]
) -> str:
    if passage.when is None:
        return _printed(passage.parts, names, language, axes, metrics)
    with decided_by(passage.when, names):
        return _printed(passage.parts, names, language, axes, metrics)


def _printed(
    parts: Sequence[str | Hole],
    names: Mapping[str, Any],
    language: str,
    axes: Mapping[str, Axis],
    metrics: Sequence[Metric],
) -> str:
    printed: list[str] = []
    for part in parts:
        if isinstance(part, str):
            printed.append(part)
        elif part.type.kind == "metrics":
            printed.append(print_rubric(metrics, language))
        else:
            printed.append(print_value(part, evaluate(part.expr, names), language, axes))
    return "".join(printed)


def print_value(hole: Hole, value: Any, language: str, axes: Mapping[str, Axis]) -> str:
    """Return a value as it is printed in a prompt."""
    return _show(hole.type, value, language, axes)


def _show(type_: Type, value: Any, language: str, axes: Mapping[str, Axis]) -> str:
    if value is None:
        return ""
    if type_.kind == "optional":
        return _show(type_.of, value, language, axes)
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
        return ", ".join(item if of is None else _show(of, item, language, axes) for item in items)
    return json(value)


def label(axis: Axis, value: str, language: str) -> str:
    """Return the label of an axis's value in a language."""
    for candidate in axis.values:
        if candidate.name == value:
            return candidate.labels[language]
    return value


def print_rubric(metrics: Sequence[Metric], language: str) -> str:
    """Return the metrics spelt out for a grader: code, name, question, scale and levels, in `language`."""
    unit, colon = LEVEL_WORDS.get(language, ("", ": "))
    lines: list[str] = []
    for metric in metrics:
        head = f"{metric.name} ({metric.title[language]}), {metric.low}-{metric.high}{unit}"
        lines.append(f"{head}{colon}{metric.asks[language]}")
        lines.extend(f"  {level.low}-{level.high}{unit}{colon}{level.text[language]}" for level in metric.levels)
    return "\n".join(lines)
