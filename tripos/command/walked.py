"""What `tripos plan` says of walks through trees: the calls that one takes at least, as a rule and at most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tripos_compiler.plan import Plan, Walk
from tripos_runtime.datasets.cases import Planned


def walk_lines(plan: Plan, planned: Sequence[Planned]) -> Iterator[str]:
    """A line for every walk: a call is made at every inner node that it visits."""
    walks = {(made.name, step.name) for made in plan.made for step in made.steps if isinstance(step, Walk)}
    for each in planned:
        if (each.place, each.step) in walks and each.least != each.most:
            yield (
                f"`{each.place}.{each.step}` asks {each.role} at every node it visits: {each.least:,} calls where"
                f" nothing is chosen at the first, {each.calls:,} with one path for each row,"
                f" {each.most:,} with every branch at every attempt."
            )
