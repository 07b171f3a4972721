"""The calls of a forecast as the table of a plan shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tripos_compiler.plan import Made, Plan, Scenario
from tripos_runtime.datasets import Planned
from tripos_runtime.forecast.call_outcomes import Fate
from tripos_runtime.forecast.lines import Forecast
from tripos_runtime.generate import place_of


def planned(found: Forecast, plan: Plan) -> list[Planned]:
    """Return the calls of every step as a forecast has them, those that are kept included: what the table of a plan
    shows where it is known who fills the roles, and what a store has."""
    arms = {
        (scenario.name, name, arms_in_words(each, scenario)): each
        for scenario in plan.scenarios
        for (name, _), each in treatments_sharing(scenario).items()
    }
    made = {title: each.name for each in plan.made for title in _titles(each)}
    counted: dict[tuple[str, str, str, str], Planned] = {}
    for where, line in found.lines.items():
        place = made.get((where.scenario, where.step), where.scenario)
        step = where.step.rpartition(".")[2] if place != where.scenario else where.step
        before = counted.get(where[:4], Planned(place, step, where.role, (), 0, 0, 0))
        least, likely = line.reused + line.certain, line.load.calls[Fate.LIKELY] + line.load.calls[Fate.PERHAPS]
        counted[where[:4]] = replace(
            before,
            arms=tuple(arms.get((where.scenario, where.step, where.arm), ())) if where.arm else (),
            least=before.least + least,
            calls=before.calls + least + likely,
            most=before.most + line.reused + line.most,
        )
    return list(counted.values())


def _titles(made: Made) -> Iterator[tuple[str, str]]:
    """Yield what the steps of a data set that is made are called in a forecast, with their place."""
    own = made.name.rpartition(".")[2]
    for step in (own, *(f"{own}.{ask.name}" for ask in made.asks)):
        yield place_of(made), step


def arms_of(scenario: Scenario) -> dict[tuple[str, str], str]:
    """Return which treatments share a step, in words, by its name and fingerprint; empty for all of them."""
    return {key: arms_in_words(arms, scenario) for key, arms in treatments_sharing(scenario).items()}


def treatments_sharing(scenario: Scenario) -> dict[tuple[str, str], list[dict[str, str]]]:
    """Return the treatments that share a step, by its name and fingerprint."""
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for treatment in scenario.treatments:
        for step in treatment.steps:
            found.setdefault((step.name, step.fingerprint), []).append(treatment.arms)
    return found


def arms_in_words(shared: Sequence[Mapping[str, str]], scenario: Scenario) -> str:
    """Return the treatments that share a step, by the values of their arms; empty for all of them."""
    if len(shared) == len(scenario.treatments):
        return ""
    told: list[str] = []
    for arm in scenario.arms:
        values = dict.fromkeys(one[arm] for one in shared)
        if len(values) < len({treatment.arms[arm] for treatment in scenario.treatments}):
            told.append(f"{arm} {', '.join(values)}")
    return "; ".join(told)
