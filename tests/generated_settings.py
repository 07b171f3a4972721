"""Settings of generated benchmarks, some of them by condition. Other dice decide on them, so that the rest of a spec is
what it is without them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.generated_specs import _Writer

LONGEST, SHORTER = 48, 20
LEVEL = f"""temperature 0.3 when contains(said, "sun")
  max_tokens {SHORTER} when words(said) > 2, max_tokens {LONGEST}"""
"""Of a judge who is told what was `said`."""


def of_ask(writer: _Writer) -> list[str]:
    """Return lines of an ask."""
    with _other_dice(writer):
        if not writer.chance(0.3):
            return []
        writer.uses.add("settings")
        found = writer.dice.sample(["temperature 0", f"max_tokens {LONGEST}", "seed 5"], writer.dice.randrange(3))
        for name, other in (("temperature", "0.5"), ("max_tokens", str(SHORTER)), ("stop", '"zzz"')):
            if writer.chance(0.5):
                found.insert(0, f"{name} {other} when {writer.flag(writer.arms, alone=True)}")
        return [f"    {each}" for each in found]


def of_speaker(writer: _Writer) -> str:
    """Return what stands in the block of a speaker."""
    with _other_dice(writer):
        flag = writer.flag(writer.arms, alone=True)
        return f", max_tokens {SHORTER} when {flag}, max_tokens {LONGEST}" if writer.chance(0.3) else ""


def of_author(writer: _Writer) -> list[str]:
    """Return lines of a data set that a model writes."""
    with _other_dice(writer):
        if not writer.chance(0.3):
            return []
        writer.uses.add("settings")
        return [f"    max_tokens {SHORTER} when kind == a, max_tokens {LONGEST}, temperature 0.2 when kind == b"]


@contextmanager
def _other_dice(writer: _Writer) -> Iterator[None]:
    dice, writer.dice = writer.dice, writer.aside
    yield
    writer.dice = dice
