"""The design of a run that costs least: what the store teaches about the noise of a measure, and what calls cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tripos.api.planning.detection import Detection
from tripos.api.planning.prices import Places, design_prices
from tripos.runs import find_store
from tripos.ui import Failure
from tripos_compiler.diagnostics import nearest
from tripos_compiler.language import Clustering
from tripos_compiler.plan import Ask, Measure, Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures import (
    GradedItems,
    MeasureComponents,
    MoreLabels,
    call_costs,
    find_more_labels,
    label_components,
    measure_components,
    scored_step,
)
from tripos_warehouse.report import headlines
from tripos_warehouse.statistics.design import (
    MOST_ITEMS,
    Design,
    DifferenceComponents,
    Levers,
    Prices,
    Space,
    Unknown,
    cheapest,
    paired_variance,
    sharpest,
)
from tripos_warehouse.views import all_runs, connect, get_selected

if TYPE_CHECKING:
    from tripos.api.planning.run_plan import RunPlan
    from tripos.settings import Config

CORRELATION = 0.5


@dataclass(frozen=True)
class DesignQuestion:
    """The question: a difference to `detect`, in the unit of the measure, or an amount to `spend` of `unit`."""

    detect: float | None = None
    spend: float | None = None
    unit: str = "USD"
    measure: str | None = None
    label_price: float | None = None
    """The price in USD of a reply that a person grades; `None` where nobody is to be asked."""


@dataclass(frozen=True)
class LabelledDesign:
    """A design, and why it is in the list."""

    label: str
    design: Design
    judges: tuple[str, ...]
    """Who judges in it."""


@dataclass(frozen=True)
class DesignPlan:
    """The designs that answer a question, the best first, and what they rest on."""

    wanted: DesignQuestion
    measure: Measure
    learned: MeasureComponents | None
    """What the store teaches; `None` where the worst case is taken."""
    unknown: str | None
    """Why the store teaches nothing."""
    parts: DifferenceComponents
    unit: str
    """What costs are counted in: `USD`, or `calls` where a price is not known or nothing costs anything."""
    prices: Prices
    designs: tuple[LabelledDesign, ...]
    beyond: int | None
    """The items of the cheapest design, where there are not as many and none reaches the difference."""
    others: tuple[str, ...]
    """The models and judges of the plan that the store has no scores of or by, so that it speaks of others."""
    per_item: float
    """What an item costs as it is planned, so that a pilot has a price."""
    labels: GradedItems | None = None
    """What people's grades in the store teach, where labels have a price."""
    no_labels: str | None = None
    """Why labels are in no design, though they have a price."""
    clusterings: tuple[Clustering, ...] = ()
    """What items are clustered by, where some were drawn together: `items` of a design are clusters then."""
    detection: Detection | None = None
    """How the measure weighs the items that are planned."""

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON values."""
        parts = self.parts
        return {
            "format": "tripos.design/1",
            "measure": self.measure.name,
            "detect": self.wanted.detect,
            "spend": self.wanted.spend,
            "unit": self.unit,
            "power": 0.8,
            "level": 0.05,
            "components": {
                "learned_from": None
                if self.learned is None
                else {
                    "items": self.learned.items,
                    "models": list(self.learned.models),
                    "judges": list(self.learned.judges),
                },
                "unknown": self.unknown,
                **{name: getattr(parts, name) for name in ("items", "samples", "judges", "gradings", "repeats")},
                "panel": parts.panel,
                "correlation": parts.correlation(*parts.observed) if self.learned is not None else CORRELATION,
                "known": sorted(parts.known),
            },
            "prices": {
                "replies": self.prices.replies,
                "judgements": list(self.prices.judgements),
                "batch": self.prices.batch,
                "labels": self.prices.labels,
            },
            "labels": None
            if self.labels is None
            else {
                "items": self.labels.items,
                "people": self.labels.parts.people,
                "with_judges": self.labels.parts.items,
            },
            "not_learned_from": list(self.others),
            **({"clusters": [each.to_json() for each in self.clusterings]} if self.clusterings else {}),
            "items_beyond": self.beyond,
            "effective_items": None if self.detection is None else self.detection.effective_items,
            "designs": [
                {
                    "label": each.label,
                    "items": each.design.items,
                    "samples": each.design.levers.samples,
                    "judges": list(each.judges),
                    "repeats": each.design.levers.repeats,
                    "labels": each.design.labels,
                    "batch": each.design.levers.batch,
                    "cost": each.design.cost,
                    "detects": each.design.detects if math.isfinite(each.design.detects) else None,
                    "reaches": each.design.reaches,
                }
                for each in self.designs
            ],
        }


@dataclass(frozen=True)
class Learned:
    """The lessons of a store about a measure."""

    measure: Measure | None
    """`None` where no measure comes to one value for each model."""
    components: MeasureComponents | Unknown
    costs: Mapping[str, float] = field(default_factory=dict)
    """What a kept call of a model cost on average, in USD."""
    labels: GradedItems | Unknown = field(default_factory=lambda: Unknown("nobody graded anything"))
    """What people's grades teach."""


def learned_components(
    plan: Plan, store_path: str, wanted: str | None = None, models: Sequence[str] = (), labelled: bool = False
) -> Learned:
    """Return a measure of a plan, and the components of a difference in it that the latest state of a store has.

    Without a name it is the first headline. With `labelled`, those of people's grades are taken too, and of a measure
    that people correct the judges' own. Raises `Failure` S0602 for a measure that the plan has not.
    """
    measure = _measure(plan, wanted)
    if measure is None:
        return Learned(None, Unknown("no measure comes to one value for each model"))
    if scored_step(plan, measure) is None:
        return Learned(measure, Unknown(f"`{measure.name}` is no mean of scores"))
    try:
        store = find_store(store_path)
        if store is None:
            return Learned(measure, Unknown("there is no store yet"))
        with connect(store) as connection:
            runs = [run for run in all_runs(connection) if run.benchmark == plan.benchmark.name]
            if not runs:
                return Learned(measure, Unknown("the store has no run of this benchmark"))
            kept = get_selected(connection, max(runs, key=lambda run: (run.started_at, run.run_id)))
            same = next((each for each in kept.measures if each.name == measure.name), None)
            if same is None or same.figure != measure.figure:
                return Learned(measure, Unknown(f"the last run had another measure `{measure.name}`"))
            every = {model for run in runs for model in run.models}
            own = tuple(model for model in models if model in every)
            judged = same.model_copy(update={"corrected": False}) if labelled else same
            found = measure_components(connection, kept, judged, own if len(own) > 1 else ())
            costs = call_costs(connection, kept)
            if not labelled:
                return Learned(measure, found, costs)
            return Learned(measure, found, costs, label_components(connection, kept, judged, own))
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error


def expected_labels(plan: Plan, store_path: str) -> list[MoreLabels]:
    """Return what more labels would bring to the headlines of a plan that people correct, as the latest state of a
    store has them; nothing where nobody graded."""
    if not any(measure.corrected for measure in headlines(plan)):
        return []
    try:
        store = find_store(store_path)
        if store is None:
            return []
        with connect(store) as connection:
            runs = [run for run in all_runs(connection) if run.benchmark == plan.benchmark.name]
            if not runs:
                return []
            kept = get_selected(connection, max(runs, key=lambda run: (run.started_at, run.run_id)))
            same = [each for each in headlines(kept) if each in plan.measures]
            return [more for measure in same for more in find_more_labels(connection, kept, measure)]
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error


def design_run(found: RunPlan, config: Config, wanted: DesignQuestion) -> DesignPlan:
    """Return the designs that detect a difference for least, or that are sharpest for a sum of money.

    Costs are those of two models on every item, as `found` foresees them. Raises `Failure`: S0602 for a measure that is
    not there, R0404 where money is to be spent and a price is not known, R0202 where nothing can be said.
    """
    models = () if found.prepared is None else found.prepared.binding.models[found.prepared.binding.compared]
    known = learned_components(found.plan, config.store, wanted.measure, models, wanted.label_price is not None)
    measure, learned = known.measure, known.components
    if measure is None or isinstance(learned, Unknown):
        reason = learned.reason if isinstance(learned, Unknown) else None
        if measure is None or measure.low is None or measure.high is None:
            message = f"nothing says how much scores vary: {reason}, and the scale has no ends"
            raise Failure("R0202", message, "run 20 items first, and ask again: tripos run … --limit 20")
    scored = scored_step(found.plan, measure)
    scenarios = found.plan.scenarios if scored is None else scored.scenarios
    samples = max(
        (step.samples for each in scenarios for step in each.steps if isinstance(step, Ask) and _is_of(step, scored)),
        default=1,
    )
    roles = () if scored is None else scored.judges
    panel = _panel(found, roles, learned)
    detection = found.detection_of(measure)
    items = 1 if detection is None else detection.items
    design = None if detection is None or detection.design is None else detection.design.mean
    times = 1.0 if design is None else items * design.variance
    if isinstance(learned, Unknown):
        parts = _worst(measure, samples, max(1, len(panel))).scaled(times)
    else:
        parts = learned.planned(times)
    names = tuple(each.name for each in scenarios)
    rows = sum(found.items.get(name, 0) for name in names) / (
        sum(found.independent.get(name, 0) for name in names) or 1
    )
    places = Places(names, tuple(roles), panel, items * samples, known.costs, max(1.0, rows))
    unit, prices = design_prices(found, config, wanted.unit, wanted.spend is not None, wanted.label_price, places)
    labels = None if isinstance(known.labels, Unknown) or prices.labels is None else known.labels
    space = Space(
        parts,
        prices,
        None if labels is None else labels.parts,
        most_items=max(2, items),
        planned=design,
        only_labelled=labels is not None and bool(measure.corrected),
    )
    beyond = None
    if wanted.spend is not None:
        ranked = sharpest(space, wanted.spend)
    else:
        assert wanted.detect is not None
        ranked = cheapest(space, wanted.detect)
        if not ranked[0].reaches:
            free = cheapest(replace(space, most_items=MOST_ITEMS), wanted.detect)[0]
            beyond = free.items if free.reaches else None
    now = Levers(
        samples if "samples" in parts.known else parts.observed[0],
        max(1, len(panel)) if "judges" in parts.known or isinstance(learned, Unknown) else parts.observed[1],
        parts.observed[2],
        labels is not None and space.only_labelled,
    )
    planned = space.design(now, max(2, items), labels.items if labels is not None and now.labels else 0)
    designs = _labelled(ranked, planned, panel)
    return DesignPlan(
        wanted,
        measure,
        None if isinstance(learned, Unknown) else learned,
        learned.reason if isinstance(learned, Unknown) else None,
        parts,
        unit,
        prices,
        designs,
        beyond,
        () if isinstance(learned, Unknown) else _others((*models, *panel), learned),
        space.per_item(now),
        labels,
        None if wanted.label_price is None or not isinstance(known.labels, Unknown) else known.labels.reason,
        found.clusterings,
        detection,
    )


def _measure(plan: Plan, wanted: str | None) -> Measure | None:
    if wanted is None:
        return next(iter(headlines(plan)), None)
    known = {measure.name: measure for measure in plan.measures}
    if wanted not in known:
        close = nearest(wanted, tuple(known))
        hint = f"did you mean `{close}`?" if close else f"its measures are {', '.join(known)}"
        raise Failure("S0602", f"`{plan.benchmark.name}` has no measure `{wanted}`", hint)
    return known[wanted]


def _is_of(step: Ask, scored: Any) -> bool:
    return scored is None or step.name in scored.of


def _panel(found: RunPlan, roles: Sequence[str], learned: MeasureComponents | Unknown) -> tuple[str, ...]:
    """Return the judges of the run; where no models are named, those that judged before."""
    if found.prepared is not None:
        return tuple(model for role in roles for model in found.prepared.binding.models.get(role, ()))
    return () if isinstance(learned, Unknown) else learned.judges


def _others(names: Sequence[str], learned: MeasureComponents) -> tuple[str, ...]:
    known = {*learned.models, *learned.judges}
    return tuple(dict.fromkeys(name for name in names if name not in known))


def _worst(measure: Measure, samples: int, judges: int) -> DifferenceComponents:
    """Return the components that `tripos plan` takes where nothing is known: all of the worst variance, in items."""
    assert measure.low is not None
    assert measure.high is not None
    largest = ((measure.high - measure.low) / 2) ** 2
    variance = paired_variance(largest, largest, CORRELATION)
    return DifferenceComponents(variance, known=frozenset(), observed=(samples, judges, 1))


def _labelled(ranked: Sequence[Design], planned: Design, panel: Sequence[str]) -> tuple[LabelledDesign, ...]:
    """Return the best design, the one that is planned, and the best of those that keep something of it."""
    if not ranked:
        return ()
    best, now = ranked[0], planned.levers
    kinds: list[tuple[str, Sequence[Design]]] = [
        ("best", ranked),
        ("whole panel", [each for each in ranked if each.levers.judges == now.judges]),
        ("one judge", [each for each in ranked if each.levers.judges == 1]),
        ("one sample", [each for each in ranked if each.levers.samples == 1]),
        ("as many samples", [each for each in ranked if each.levers.samples == now.samples]),
        ("more samples", [each for each in ranked if each.levers.samples > best.levers.samples]),
        ("more judges", [each for each in ranked if each.levers.judges > best.levers.judges]),
        ("asked live", [each for each in ranked if not each.levers.batch]),
        ("judges alone", [each for each in ranked if not each.levers.labels]),
        ("with labels", [each for each in ranked if each.levers.labels]),
        ("one mark a judge", [each for each in ranked if each.levers.repeats == 1]),
    ]
    found: dict[Levers, LabelledDesign] = {}
    for label, those in kinds:
        if those and those[0].levers not in found:
            found[those[0].levers] = _of_panel(label, those[0], panel)
    first, *others = found.values()
    return (first, _of_panel("as planned", planned, panel), *others)


def _of_panel(label: str, design: Design, panel: Sequence[str]) -> LabelledDesign:
    return LabelledDesign(label, design, tuple(panel[place] for place in design.panel if place < len(panel)))
