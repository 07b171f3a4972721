"""The data that a scenario reads beside its row, and what keeps a plan from being run or gone through."""

from __future__ import annotations

from collections.abc import Iterator

from tripos_compiler.language import expressions_of, subexpressions
from tripos_compiler.plan import Ask, Data, Plan, Retrieve, Scenario, Step
from tripos_runtime.errors import CodedError

CODE = "R0204"


class NotRunnable(CodedError):
    """A part of a plan needs a model that is not asked here."""

    def __init__(self, missing: list[str]) -> None:
        super().__init__(
            CODE,
            f"nobody is asked here, and {_listed(missing)} needs vectors",
            "take the scenarios without it: `--scenario NAME`; or run the benchmark",
        )


class NotApproved(CodedError):
    """A plan builds on a tree that a model drafted and nobody has approved, or not as it is now."""

    def __init__(self, drafts: list[str]) -> None:
        shown = ", ".join(f"`{path}`" for path in drafts)
        hint = "the warning W0399 says how it is approved; `tripos plan` shows without that what a run costs"
        super().__init__("R0245", f"nobody has approved {shown} as it is", hint)


def check_approved(plan: Plan) -> None:
    """Raise `NotApproved` where a tree is a draft."""
    drafts = [file.path for tree in plan.trees for file in tree.files if file.draft]
    if drafts:
        raise NotApproved(drafts)


def check_recordable(chosen: tuple[Scenario, ...]) -> None:
    """Raise `NotRunnable` where a chosen scenario cannot be gone through without asking an embedding model."""
    missing = list(dict.fromkeys(part for scenario in chosen for part in _embedding(scenario)))
    if missing:
        raise NotRunnable(missing)


def _embedding(scenario: Scenario) -> Iterator[str]:
    for step in scenario.steps:
        if isinstance(step, Retrieve) and step.using is not None:
            yield f"the retrieve `{step.name}` of scenario `{scenario.name}`"


def data_of(scenario: Scenario) -> set[str]:
    """Return the data sets that a scenario takes as values, or shots from."""
    own = scenario.rows.where if scenario.rows is not None else None
    found = {part.dataset for part in subexpressions(own) if isinstance(part, Data)} if own is not None else set()
    return found.union(*(_looked_into(step) for step in scenario.steps))


def _looked_into(step: Step) -> set[str]:
    found = {part.dataset for expr in expressions_of(step) for part in subexpressions(expr) if isinstance(part, Data)}
    return found | ({shots.dataset for shots in step.shots} if isinstance(step, Ask) else set())


def _listed(parts: list[str]) -> str:
    shown = parts[:3]
    more = f" and {len(parts) - 3} more parts" if len(parts) > 3 else ""
    return ", ".join(shown) + more
