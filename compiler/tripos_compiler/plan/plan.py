"""The plan as a whole."""

from __future__ import annotations

import json
from typing import Literal

import orjson

from tripos_compiler.plan.base import Part, digest, named
from tripos_compiler.plan.datasets import Dataset, Made
from tripos_compiler.plan.declarations import Arm, Axis, Benchmark, Extended, Metric, Plugin, Role, Tree
from tripos_compiler.plan.expressions import Labels
from tripos_compiler.plan.results import Expectation, Export, Measure, Pairing, Subset
from tripos_compiler.plan.scenarios import Scenario, Scorer

PLAN_FORMAT: Literal["tripos.plan/3"] = "tripos.plan/3"


class Reveal(Part):
    """A use of `reveal`: what secret is shown, where in the spec's own words, and by which step."""

    scenario: str
    step: str
    text: str
    secret: str
    """The secrets that go through, with commas between them."""

    @property
    def shown(self) -> str:
        """Return what is shown, and of which secret it tells, where that is not the same."""
        return self.text if self.text == self.secret else f"{self.text}, which tells {self.secret}"


class CallCount(Part):
    """The calls of a step for every combination of models that fill the roles in `times`.

    `calls` are made where nothing is tried again and every condition that only a run can decide holds; there are
    `least` at the least and `most` at the most. `arms` are the treatments that share them. `pairs` is the role of whose
    models every ordered pair is compared. A reply that cannot be read is asked for once more, which is not counted.
    Where rows differ in what they may take, `row` is the least and the most for one of them.
    """

    scenario: str
    step: str
    role: str
    calls: int
    least: int
    most: int
    times: tuple[str, ...]
    arms: tuple[dict[str, str], ...] = ()
    pairs: str | None = None
    row: tuple[int, int] | None = None


class Plan(Part):
    format: Literal["tripos.plan/3"] = PLAN_FORMAT
    benchmark: Benchmark
    extends: tuple[Extended, ...] = ()
    roles: tuple[Role, ...]
    axes: tuple[Axis, ...]
    arms: tuple[Arm, ...] = ()
    trees: tuple[Tree, ...] = ()
    plugins: tuple[Plugin, ...] = ()
    metrics: tuple[Metric, ...]
    datasets: tuple[Dataset, ...]
    made: tuple[Made, ...] = ()
    scenarios: tuple[Scenario, ...]
    scorers: tuple[Scorer, ...]
    measures: tuple[Measure, ...]
    expectations: tuple[Expectation, ...] = ()
    subsets: tuple[Subset, ...] = ()
    exports: tuple[Export | Pairing, ...] = ()
    reveals: tuple[Reveal, ...] = ()
    titles: dict[str, dict[str, Labels]] = {}
    """What readers see in place of names, by kind and name: a text a language."""
    calls: tuple[CallCount, ...]

    @property
    def digest(self) -> str:
        """The plan's name, 64 hexadecimal digits."""
        return digest(self.model_dump(mode="json"), size=32)

    @property
    def fingerprints(self) -> set[str]:
        """The fingerprints of everything that a run asks and scores: of the steps of all scenarios, and of those that
        make data sets."""
        own = {each for scenario in self.scenarios for each in scenario.fingerprints}
        return own.union(*(made.fingerprints for made in self.made))

    @property
    def conditional(self) -> bool:
        """True if some calls are made only where a condition holds."""
        steps = (step for scenario in self.scenarios for each in scenario.treatments for step in each.steps)
        return any(getattr(step, "condition", "") for step in steps)

    def to_json(self) -> str:
        """Return the plan as indented JSON with sorted keys, ending in a line feed."""
        options = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        content = self.model_dump(mode="json")
        try:
            return orjson.dumps(content, option=options).decode()
        except TypeError:  # a plan that somebody wrote by hand may hold an integer of more than 64 bits
            return json.dumps(content, ensure_ascii=False, indent=2, sort_keys=True) + "\n"

    def title_of(self, kind: str, name: str, language: str | None = None) -> str | None:
        """Return the title of a scenario, dimension, axis, arm or measure, or of the benchmark: in that language, else
        in one of the benchmark; None where it has no text a language."""
        texts = self.titles.get(kind, {}).get(name, {})
        return next((texts[each] for each in (language, *self.benchmark.languages) if each in texts), None)

    def role(self, name: str) -> Role:
        """Return the role of that name. Raises `KeyError` where there is none."""
        return named(self.roles, name)

    def axis(self, name: str) -> Axis:
        """Return the axis of that name. Raises `KeyError` where there is none."""
        return named(self.axes, name)

    def metric(self, name: str) -> Metric:
        """Return the metric of that name. Raises `KeyError` where there is none."""
        return named(self.metrics, name)

    def dataset(self, name: str) -> Dataset:
        """Return the data set of that name. Raises `KeyError` where there is none."""
        return named(self.datasets, name)

    def scorer(self, name: str) -> Scorer:
        """Return the scorer of that name. Raises `KeyError` where there is none."""
        return named(self.scorers, name)
