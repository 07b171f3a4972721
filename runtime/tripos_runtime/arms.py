"""Which treatments of a scenario share a step, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tripos_compiler.plan import Scenario


def arms_of(scenario: Scenario) -> dict[tuple[str, str], str]:
    """Which treatments share a step, in words, by its name and fingerprint; empty for all of them."""
    return {key: in_words(arms, scenario) for key, arms in sharing(scenario).items()}


def sharing(scenario: Scenario) -> dict[tuple[str, str], list[dict[str, str]]]:
    """The treatments that share a step, by its name and fingerprint."""
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for treatment in scenario.treatments:
        for step in treatment.steps:
            found.setdefault((step.name, step.fingerprint), []).append(treatment.arms)
    return found


def in_words(shared: Sequence[Mapping[str, str]], scenario: Scenario) -> str:
    """The treatments that share a step, by the values of their arms; empty for all of them."""
    if len(shared) == len(scenario.treatments):
        return ""
    told: list[str] = []
    for arm in scenario.arms:
        values = dict.fromkeys(one[arm] for one in shared)
        if len(values) < len({treatment.arms[arm] for treatment in scenario.treatments}):
            told.append(f"{arm} {', '.join(values)}")
    return "; ".join(told)
