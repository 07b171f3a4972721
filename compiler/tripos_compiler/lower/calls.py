"""Counts the model calls of a plan, exactly, before any is made."""

from __future__ import annotations

from tripos_compiler.plan import Ask, CallCount, Grade, Role, Scenario, Scorer


def count_calls(
    scenarios: dict[str, Scenario], roles: dict[str, Role], scorers: dict[str, Scorer]
) -> tuple[CallCount, ...]:
    """The calls of every ask and grade. A step with `when` is counted as if it always held."""
    counts: list[CallCount] = []
    for scenario in scenarios.values():
        asks = {step.name: step for step in scenario.steps if isinstance(step, Ask)}
        times: dict[str, tuple[str, ...]] = {}
        for step in scenario.steps:
            if isinstance(step, Ask):
                upstream = [role for name in step.needs for role in times[name]]
                times[step.name] = tuple(dict.fromkeys((*upstream, *_several(step.role, roles))))
                calls = scenario.row_count * step.samples
                counts.append(_count(scenario, step.name, step.role, calls, times[step.name]))
            elif isinstance(step, Grade):
                role = scorers[step.scorer].role
                upstream = [several for name in step.needs for several in times[name]]
                multiplied = tuple(dict.fromkeys((*upstream, *_several(role, roles))))
                calls = scenario.row_count * max(asks[name].samples for name in step.needs)
                counts.append(_count(scenario, step.name, role, calls, multiplied))
    return tuple(counts)


def _several(role: str, roles: dict[str, Role]) -> tuple[str, ...]:
    return (role,) if roles[role].kind != "single" else ()


def _count(scenario: Scenario, step: str, role: str, calls: int, times: tuple[str, ...]) -> CallCount:
    return CallCount(scenario=scenario.name, step=step, role=role, calls=calls, times=times)
