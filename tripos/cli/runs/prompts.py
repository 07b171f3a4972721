"""Prints the prompts that a run would send."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

import orjson

from tripos.ui import harmless, show_json, show_message, show_text, terminal_width
from tripos_compiler.diagnostics import localized, wrap
from tripos_runtime.models import TOOL
from tripos_warehouse.formats import fold

if TYPE_CHECKING:
    from tripos.api import RunPreview
    from tripos_runtime.datasets import Case
    from tripos_runtime.forecast import PromptPreview
    from tripos_runtime.models import Message

INDENT = "    "
BULLET = "  - "
NAMED = 5
"""So many items without a prompt are named."""


def show_prompts(preview: RunPreview, *, as_json: bool) -> None:
    """Print prompts as text, item by item, or as a list of JSON objects; then the items and scenarios without one, with
    JSON on stderr."""
    prompts = preview.prompts
    if as_json:
        show_json(orjson.dumps([_to_data(each) for each in prompts], option=orjson.OPT_INDENT_2).decode())
        for told in _without(preview):
            show_message(told, stderr=True)
        return
    width = terminal_width()
    for (scenario, item, context), group in groupby(prompts, key=_item):
        show_text("\n".join(wrap(f"{scenario}  {harmless(item)}  {context}".rstrip(), width)))
        for each in group:
            show_text()
            show_text("\n".join(wrap(_head(each), width)))
            for line in _about(each):
                folded = wrap(line, width - len(BULLET))
                show_text("\n".join(f"{' ' * len(BULLET) if at else BULLET}{part}" for at, part in enumerate(folded)))
            for message in each.messages:
                show_text(f"  {message.role}:")
                content = _readable(message)
                lines = [part for line in content.split("\n") for part in fold(line, width - len(INDENT))]
                show_text("\n".join(f"{INDENT}{line}".rstrip() for line in lines))
        show_text()
    if any("⟨" in message.content for each in prompts for message in each.messages):
        show_text("\n".join(wrap(localized("Parts in ⟨⟩ are not known before models reply."), width)))
    for told in _without(preview):
        show_text("\n".join(wrap(localized(told), width)))


def _without(preview: RunPreview) -> Iterator[str]:
    """Yield which items and scenarios have no prompt, and why."""
    for scenario, group in groupby(preview.unasked, key=lambda case: case.scenario.name):
        items = [_label(each) for each in group]
        names = ", ".join([*(f"`{harmless(each)}`" for each in items[:NAMED]), *["…"][: len(items) > NAMED]])
        count = len(items)
        yield (
            f"Nothing is sent for {count:,} of the items of `{scenario}`: the `when` of each step that asks is false, "
            f"or a part of what it asks has no value: {names}"
        )
    if preview.without:
        names = ", ".join(f"`{name}`" for name in preview.without)
        yield f"No prompt of {names}: the rows are yet to be made, or no item is selected."


def _label(case: Case) -> str:
    return " ".join([case.item_id, *case.context.values()])


def _item(prompt: PromptPreview) -> tuple[str, str, str]:
    context = ", ".join(f"{axis} {value}" for axis, value in prompt.context.items())
    return prompt.scenario, prompt.item_id, context


def _head(prompt: PromptPreview) -> str:
    """Return which step asks whom, under which treatments, and whether it is certain."""
    arms = f", {prompt.arms}" if prompt.arms else ""
    perhaps = "" if prompt.certain else localized(", if a reply asks for it")
    element = "" if prompt.element is None else f"[{prompt.element}]"
    turn = "" if prompt.turn is None else localized(f", turn {prompt.turn}")
    return f"`{prompt.step}{element}` → {prompt.role}{arms}{turn}{perhaps}"


def _about(prompt: PromptPreview) -> Iterator[str]:
    """Yield what is sent besides the messages, and the secrets that stand in them, as sentences."""
    told = [f"{name} {_value(value)}" for name, value in prompt.settings.items()]
    if told:
        yield localized(f"settings: {', '.join(told)}")
    if prompt.samples > 1:
        seeded = localized("; each has a seed of its own, one more than the last") if "seed" in prompt.settings else ""
        yield localized(f"replies: {prompt.samples}") + seeded
    if prompt.schema is not None:
        yield localized("the reply is held to a JSON Schema by a model that can be")
    if prompt.secrets:
        yield localized(f"shows what is secret: {', '.join(f'`{each}`' for each in prompt.secrets)}")


def _value(value: object) -> str:
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else _json(value)


def _json(value: object, option: int = 0) -> str:
    return orjson.dumps(value, option=option).decode()


def _readable(message: Message) -> str:
    """Return the content of a message; of a tool its description on several lines."""
    if message.role != TOOL:
        return message.content
    return _json(orjson.loads(message.content), orjson.OPT_INDENT_2)


def _to_data(prompt: PromptPreview) -> dict[str, object]:
    return {
        "scenario": prompt.scenario,
        "item_id": prompt.item_id,
        "context": dict(prompt.context),
        "step": prompt.step,
        "element": prompt.element,
        "turn": prompt.turn,
        "role": prompt.role,
        "arms": prompt.arms,
        "certain": prompt.certain,
        "messages": [{"role": each.role, "content": each.content} for each in prompt.messages],
        "settings": dict(prompt.settings),
        "schema": prompt.schema,
        "samples": prompt.samples,
        "secrets": list(prompt.secrets),
    }
