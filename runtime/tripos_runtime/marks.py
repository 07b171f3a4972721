"""Which subsets of the spec an item is in. A run knows the whole benchmark, so it says so; nobody can tell later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tripos_compiler.data import DataError
from tripos_compiler.semantics.subsets import Drawn

if TYPE_CHECKING:
    from tripos_runtime.cases import Case, CaseSource


@dataclass(frozen=True)
class Marks:
    """What was drawn for every subset of a plan, by its name."""

    source: CaseSource
    drawn: Mapping[str, Drawn]

    def of(self, case: Case) -> list[str] | None:
        """The subsets that a case is in, in the order of the plan; `None` where the plan has none."""
        if not self.drawn:
            return None
        key = (case.scenario.name, self.source.drawn_as(case))
        return [name for name, drawn in self.drawn.items() if key in drawn]


def drawn_counts(source: CaseSource) -> dict[str, int]:
    """How many items every subset has in the whole benchmark; those apart of which nobody can tell before other data
    are made. Data that cannot be read are told when they are run over."""
    if not source.plan.subsets or not all(map(source.is_listable, source.plan.scenarios)):
        return {}
    try:
        return {name: len(drawn) for name, drawn in source.drawn().items()}
    except DataError:
        return {}
