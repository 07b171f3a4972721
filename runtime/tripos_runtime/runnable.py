"""What of a plan this runtime runs: whatever it does not is refused before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator

from tripos_compiler.plan import Ask, Plan, Scenario

CODE = "R0204"


class NotRunnable(Exception):
    """A plan asks for what this version compiles and does not run."""

    def __init__(self, missing: list[str]) -> None:
        self.code = CODE
        self.message = f"this version compiles {_listed(missing)}, and does not run it yet"
        self.hint = "run the scenarios without it: `--scenario NAME`; `tripos plan` shows what each would do"
        super().__init__(self.message)


def check_runnable(plan: Plan, chosen: tuple[Scenario, ...]) -> None:
    """Raises `NotRunnable` where a chosen scenario has a part that is not run."""
    missing = list(dict.fromkeys(part for scenario in chosen for part in _missing(plan, scenario)))
    if missing:
        raise NotRunnable(missing)


def _missing(plan: Plan, scenario: Scenario) -> Iterator[str]:
    here = f"of scenario `{scenario.name}`"
    if scenario.arms:
        yield f"the arms {here}"
    if scenario.rows is not None and scenario.rows.dataset in {made.name for made in plan.made}:
        yield f"the data set `{scenario.rows.dataset}`, which is made"
    scorers = {scorer.name: scorer for scorer in plan.scorers}
    for step in scenario.steps:
        match step.step:
            case "converse" | "retrieve" | "compare" | "verdict":
                yield f"the {step.step} `{step.name}` {here}"
            case "ask" if isinstance(step, Ask) and (step.shots or step.chat is not None or step.continues is not None):
                what = "shots" if step.shots else "chat"
                yield f"the {what} of `{step.name}` {here}"
            case "grade" if scorers[step.scorer].reward:
                yield f"the reward model of `{step.name}` {here}"


def _listed(parts: list[str]) -> str:
    shown = parts[:3]
    more = f" and {len(parts) - 3} more parts" if len(parts) > 3 else ""
    return ", ".join(shown) + more
