"""The designs that `tripos plan --detect` and `--spend` find, as text."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Iterator

from tripos.api import DesignPlan, DesignQuestion, RunPlan, design_run
from tripos.settings import Config
from tripos.ui import GOOD, Failure, columns_of, print_json, show_text, table_lines, terminal_width
from tripos_compiler.diagnostics import localized, usd, wrap

SHOWN = 7
PILOT = 20


def wanted_of(options: Namespace) -> DesignQuestion | None:
    """Return the question of `--detect` or `--spend`; `None` without. Raises `Failure`."""
    from tripos_runtime.scheduling import BudgetError, read_amounts

    if options.detect is None and options.spend is None:
        given = {"--measure": options.measure, "--pilot": options.pilot, "--label-price": options.label_price}
        name = next((name for name, value in given.items() if value is not None), None)
        if name is not None:
            raise Failure("R0202", f"`{name}` goes with `--detect` or `--spend`", "give one of them")
        return None
    if options.detect is not None and options.spend is not None:
        raise Failure("R0202", "`--detect` and `--spend` exclude each other", "give one of them")
    if options.detect is not None:
        return DesignQuestion(detect=options.detect, measure=options.measure, label_price=options.label_price)
    try:
        ((unit, amount),) = read_amounts([options.spend]).items()
    except BudgetError as error:
        raise Failure(error.code, error.message, error.hint) from error
    if unit == "tokens":
        raise Failure("R0401", f"`{options.spend}` is no sum to plan with", "write it as `5usd` or `1000calls`")
    if unit != "USD" and options.label_price is not None:
        raise Failure("R0202", "a label costs money, and no calls", "write the amount as `--spend 20usd`")
    return DesignQuestion(spend=float(amount), unit=unit, measure=options.measure, label_price=options.label_price)


def show_designs(found: RunPlan, wanted: DesignQuestion, config: Config, options: Namespace) -> int:
    """Print the designs that answer a question, or all that is known of them as JSON."""
    plan = design_run(found, config, wanted)
    if options.json:
        print_json(plan.to_json())
        return GOOD
    show_text("\n".join(design_lines(plan, str(options.path), options.pilot or PILOT, terminal_width())))
    return GOOD


def design_lines(plan: DesignPlan, path: str, pilot: int, width: int) -> list[str]:
    """Return the lines of designs, none wider than `width` columns."""
    lines = wrap(localized(_title(plan)), width)
    if plan.designs:
        lines += ["", *_table(plan), ""]
    for told in _notes(plan, path, pilot):
        lines += wrap(localized(told), width)
    return lines


def _title(plan: DesignPlan) -> str:
    name, wanted = plan.measure.name, plan.wanted
    if wanted.detect is not None:
        return f"To detect a difference of {wanted.detect:g} in `{name}` between two models (80 % power, level 5 %):"
    assert wanted.spend is not None
    amount = f"{usd(wanted.spend)} USD" if plan.unit == "USD" else f"{wanted.spend:,.0f} calls"
    return f"The least difference in `{name}` between two models that {amount} detect (80 % power, level 5 %):"


def _table(plan: DesignPlan) -> list[str]:
    shown = plan.designs[:SHOWN]
    repeats = any(each.design.levers.repeats > 1 for each in shown)
    batches = any(each.design.levers.batch for each in shown)
    labels = any(each.design.labels for each in shown)
    heads = ["design", "items", "samples", "judges", "repeats", "labels", "asked", plan.unit, "detects"]
    rows = [
        [
            localized(each.label),
            f"{each.design.items:,}",
            str(each.design.levers.samples),
            str(len(each.judges) or "—"),
            str(each.design.levers.repeats),
            f"{each.design.labels:,}" if each.design.labels else "—",
            localized("in batches" if each.design.levers.batch else "live"),
            usd(each.design.cost) if plan.unit == "USD" else f"{each.design.cost:,.0f}",
            f"{each.design.detects:.3g}" if math.isfinite(each.design.detects) else "—",
        ]
        for each in shown
    ]
    told = {"repeats": repeats, "labels": labels, "asked": batches}
    left_out = {name for name, is_there in told.items() if not is_there}
    places = [place for place, head in enumerate(heads) if head not in left_out]
    return list(
        table_lines(
            columns_of([heads[place] for place in places], [[row[place] for place in places] for row in rows],
                       left=("design", "asked"))
        )
    )  # fmt: skip


def _notes(plan: DesignPlan, path: str, pilot: int) -> Iterator[str]:
    best = plan.designs[0] if plan.designs else None
    for each in plan.clusterings:
        yield f"{each.sentence}; a design counts clusters."
    if best is None:
        yield "No design costs as little as that."
    elif not best.design.reaches:
        yield f"No design detects that with the {best.design.items:,} items that there are."
        if plan.beyond is not None:
            yield f"The cheapest that does needs {plan.beyond:,} items."
    if best is not None and plan.learned is not None and len(best.judges) < len(plan.designs[1].judges):
        yield f"The best design has these judges alone, taken to be as good as others: {', '.join(best.judges)}."
        if plan.parts.panel:
            yield (
                f"Judges differ by {math.sqrt(plan.parts.panel):.2g} (standard deviation) in the difference that they"
                " see: the figure of a smaller panel speaks of these judges."
            )
    yield from _learned(plan, path, pilot)
    yield from _labels(plan)
    if plan.unit == "calls":
        yield "Costs are counted in calls, since no price is known, or nothing costs anything."
    yield "Costs are of two models, all asked anew; replies that the store has cost nothing."


def _labels(plan: DesignPlan) -> Iterator[str]:
    if plan.labels is not None:
        yield (
            f"People graded {plan.labels.items:,} items in the store: an item's difference as they see it has a"
            f" variance of {plan.labels.parts.people:.3g}, and a covariance of {plan.labels.parts.items:.3g} with that"
            " of judges."
        )
        yield "A label is a person's grade of both replies to an item. A design with labels speaks of people."
        if not plan.measure.corrected:
            yield "A design without speaks of its judges."
    elif plan.no_labels is not None:
        yield f"No design has labels: {plan.no_labels}. `tripos annotate --sample 20` hands out a random part."


def _learned(plan: DesignPlan, path: str, pilot: int) -> Iterator[str]:
    learned, parts = plan.learned, plan.parts
    if learned is None:
        yield (
            f"The worst case is taken, with a correlation of 0.5 between two models on an item: {plan.unknown}."
            " Only the number of items is chosen."
        )
        cost = f"{usd(pilot * plan.per_item)} USD" if plan.unit == "USD" else f"{pilot * plan.per_item:,.0f} calls"
        yield f"A pilot says more: `tripos run {path} --limit {pilot} --seed 1` with two models takes {cost}."
        return
    samples, judges, repeats = parts.observed
    whole = parts.variance(samples, judges, repeats)
    shares = {
        "items": parts.items,
        "samples": parts.samples / samples,
        "judges on an item": parts.judges / judges,
        "judges on a reply": parts.gradings / samples / judges,
        "repeats": parts.repeats / samples / judges / repeats,
    }
    told = ", ".join(f"{100 * part / whole:.0f} % {name}" for name, part in shares.items() if part >= 0.005 * whole)
    yield (
        f"From {learned.items:,} items in the store, with scores of {', '.join(learned.models)}: an item's difference"
        f" has a variance of {whole:.3g}, of which {told}."
    )
    if plan.others:
        yield f"The store has no scores of or by {', '.join(plan.others)}: they are taken to vary alike."
    if parts.models > 1:
        yield f"Scores of two models on an item correlate by {parts.correlation(samples, judges, repeats):.2f}."
    else:
        yield "Scores of two models on an item are taken to correlate by 0.5."
    unknown = [name for name in ("samples", "judges") if name not in parts.known]
    if "judges" in unknown and not learned.judges:
        unknown.remove("judges")
    for name in unknown:
        yield (
            f"The store has no item with several {name}, so nothing says what more would bring: they stay as they were."
        )
