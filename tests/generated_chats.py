"""Asks of generated benchmarks that have several turns, and what later steps may take from a step."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.generated_specs import _Writer


@dataclass
class Step:
    """What later steps may take from a step: expressions that are texts, numbers, true or false, and `printed`, which
    are anything that can stand in a prompt. The first text is all that it said."""

    name: str
    compared: bool
    texts: list[str]
    numbers: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    role: str = ""
    """The role that is asked; none where it is no `ask`."""


def go_on(writer: _Writer, role: str, lines: list[str]) -> None:
    """Let an ask go on from an earlier one of its role, by the chance of the writer."""
    before = [step.name for step in writer.steps if step.role == role]
    dice = random.Random(" ".join(lines))
    if before and dice.random() < writer.continues:
        said_once = ("    system ", "    shots ")
        kept = [each for each in lines[1:] if not each.startswith(said_once)]
        lines[1:] = [f"    continue {dice.choice(before)}", *kept]
        writer.uses.add("continue")


def script(writer: _Writer, role: str) -> str:
    """Return several questions to a role, one after another."""
    name, text = writer.fresh("chat"), writer.dice.choice(writer.base)
    flag = writer.dice.choice([*writer.flags, *(each for step in writer.steps for each in step.flags)])
    questions = f'("{name}", "so, ", join(("about", "{name}"), " "))'
    lines = [
        f"  ask {name} by {role}{writer.when(0.3)} {{",
        f'    system "{{{{ {text} }}}} {writer.hole()}"',
        f'    prompts [q each q in {questions} where {flag} or q != "so, "] at most 3',
    ]
    if writer.chance(0.6):
        ends = (f'contains({name}, "seven")', f"length({name}.replies) > 1", f"words(transcript({name}.turns)) > 20")
        lines.append(f"    until {writer.dice.choice(ends)}")
    if writer.chance(0.25):
        lines.append("    samples 2")
    writer.uses.add("prompts")
    compared = role == "candidate" or writer._built("\n".join(lines))
    said = [name, f"last({name}.replies)", f"transcript({name}.turns)"]
    writer.steps.append(Step(name, compared, said, [f"length({name}.replies)"], [f"length({name}.replies) > 1"]))
    return "\n".join([*lines, "  }"])
