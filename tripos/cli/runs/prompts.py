"""Prints the prompts that a run would send."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import orjson

from tripos.ui import harmless, show_json, show_text, terminal_width
from tripos_compiler.diagnostics import localized, wrap
from tripos_warehouse.formats import fold

if TYPE_CHECKING:
    from tripos_runtime.forecast import PromptPreview

INDENT = "    "


def show_prompts(prompts: Sequence[PromptPreview], without: Sequence[str], *, as_json: bool) -> None:
    """Print prompts as text, item by item, or as a list of JSON objects; as text also the scenarios `without` one."""
    if as_json:
        show_json(orjson.dumps([_to_data(each) for each in prompts], option=orjson.OPT_INDENT_2).decode())
        return
    width = terminal_width()
    for (scenario, item, context), group in groupby(prompts, key=_item):
        show_text("\n".join(wrap(f"{scenario}  {harmless(item)}  {context}".rstrip(), width)))
        for each in group:
            show_text()
            show_text("\n".join(wrap(_head(each), width)))
            for message in each.messages:
                show_text(f"  {message.role}:")
                lines = [part for line in message.content.split("\n") for part in fold(line, width - len(INDENT))]
                show_text("\n".join(f"{INDENT}{line}".rstrip() for line in lines))
        show_text()
    if any("⟨" in message.content for each in prompts for message in each.messages):
        show_text("\n".join(wrap(localized("Parts in ⟨⟩ are not known before models reply."), width)))
    if without:
        names = ", ".join(f"`{name}`" for name in without)
        told = f"No prompt of {names}: the rows are yet to be made, or no item is selected."
        show_text("\n".join(wrap(localized(told), width)))


def _item(prompt: PromptPreview) -> tuple[str, str, str]:
    context = ", ".join(f"{axis} {value}" for axis, value in prompt.context.items())
    return prompt.scenario, prompt.item_id, context


def _head(prompt: PromptPreview) -> str:
    """Return which step asks whom, under which treatments, and whether it is certain."""
    arms = f", {prompt.arms}" if prompt.arms else ""
    perhaps = "" if prompt.certain else localized(", if a reply asks for it")
    element = "" if prompt.element is None else f"[{prompt.element}]"
    return f"`{prompt.step}{element}` → {prompt.role}{arms}{perhaps}"


def _to_data(prompt: PromptPreview) -> dict[str, object]:
    return {
        "scenario": prompt.scenario,
        "item_id": prompt.item_id,
        "context": dict(prompt.context),
        "step": prompt.step,
        "element": prompt.element,
        "role": prompt.role,
        "arms": prompt.arms,
        "certain": prompt.certain,
        "messages": [{"role": each.role, "content": each.content} for each in prompt.messages],
    }
