"""The `README.md` of a release: a data-set card as the Hugging Face Hub reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tripos.releases.about import About
from tripos.releases.artefacts import open_roles
from tripos.releases.licences import HUB
from tripos.releases.manifest import ExternalFile, ReleasedArtefact, ReleasedItems
from tripos_compiler.plan import Plan

CARD = "README.md"
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def card_of(
    plan: Plan,
    license_: str,
    items: Sequence[ReleasedItems],
    external: Sequence[ExternalFile],
    about: About,
    artefacts: Sequence[ReleasedArtefact] = (),
) -> str:
    """The card: for machines its configurations, licence, languages and size; for people what the benchmark measures,
    its limits and baselines, what it shows of its secrets, and how it is run and checked."""
    from huggingface_hub import DatasetCardData

    shown = [each for each in items if each.path is not None]
    more: dict[str, Any] = {"license_name": license_, "license_link": "LICENSE"} if _is_other(license_) else {}
    data = DatasetCardData(
        pretty_name=plan.benchmark.title,
        language=list(plan.benchmark.languages),
        license="other" if _is_other(license_) else license_.lower(),
        size_categories=size_category(sum(each.rows for each in items)),
        tags=["benchmark", "tripos"],
        configs=[
            {"config_name": each.scenario, "data_files": [{"split": "test", "path": each.path}]} for each in shown
        ],
        **more,
    )
    body = "\n".join(_body(plan, license_, items, external, about, artefacts))
    return f"---\n{data.to_yaml().strip()}\n---\n\n{body}\n"


def size_category(rows: int) -> str:
    """The Hub's name for a size.

    >>> size_category(198), size_category(4_128), size_category(2_000_000)
    ('n<1K', '1K<n<10K', '1M<n<10M')
    """
    return next((name for most, name in _SIZES if rows < most), "1M<n<10M")


def what_it_measures(plan: Plan, about: About) -> str:
    """One paragraph on what a benchmark measures: what `release.toml` says, or its scenarios by title."""
    if about.measures:
        return about.measures.strip()
    titles = ", ".join(scenario.title or scenario.name for scenario in plan.scenarios)
    return f"{plan.benchmark.title}: {titles}."


def _is_other(license_: str) -> bool:
    """Whether the Hub has no name for it: a combination of licences, one of somebody's own, or one that is rare."""
    return license_.lower() not in HUB


def _body(
    plan: Plan,
    license_: str,
    items: Sequence[ReleasedItems],
    external: Sequence[ExternalFile],
    about: About,
    artefacts: Sequence[ReleasedArtefact],
) -> Iterator[str]:
    benchmark = plan.benchmark
    yield from (f"# {benchmark.title} {benchmark.version}", "", what_it_measures(plan, about), "")
    yield from ("```console", f"$ tripos verify {benchmark.name}-{benchmark.version}")
    yield from (f"$ tripos run {benchmark.name}-{benchmark.version} --model PROVIDER/MODEL", "```", "")
    yield from ("## Items", "", "| scenario | items | what is asked |", "| --- | ---: | --- |")
    titles = {scenario.name: scenario.title for scenario in plan.scenarios}
    for each in items:
        hidden = f" ({len(each.withheld):,} withheld)" if each.withheld else ""
        held = hidden if each.path is not None else " (not in this folder)"
        yield f"| `{each.scenario}` | {each.rows:,}{held} | {_cell(titles[each.scenario])} |"
    yield from ("", "## Measures", "")
    for measure in plan.measures:
        by = f" by {', '.join(measure.by)}" if measure.by else ""
        bounds = (
            f", {measure.low:g} to {measure.high:g}" if measure.low is not None and measure.high is not None else ""
        )
        yield f"- `{measure.name}`{by}{bounds}"
    yield from _list("Known limits", about.limits, "None were stated by those who released it.")
    yield from _list("Baselines", about.baselines, "None were stated by those who released it.")
    reveals = [f"`{each.scenario}`, `{each.step}`: {each.shown}" for each in plan.reveals]
    yield from _list(
        "What is revealed", reveals, "Nothing that the spec marks as secret is shown to a model under test."
    )
    if plan.extends:
        extends = [f"{each.name} {each.version}, digest `{each.digest}`" for each in plan.extends]
        yield from _list("Extends", extends, "")
    models = [_artefact(each) for each in artefacts]
    models += [
        f"`{role}` takes a reward model, and this release does not say which: figures may be compared where the same "
        "one gave the rewards"
        for role in open_roles(plan, tuple(artefacts))
    ]
    if models:
        yield from _list("Models that score", models, "")
    needed = [
        f"`{each.path}` from `{each.source}`, SHA-256 `{each.sha256}`" + (f", {each.license}" if each.license else "")
        for each in external
    ]
    if needed:
        yield from _list("Data that is not in this folder", needed, "")
        yield from ("", "Put it below a folder and say so: `--data DIR`.")
    yield from ("", "## Licence", "", f"{license_}, see `LICENSE`.")
    if benchmark.cites:
        yield from ("", "## Cite", "", *(f"- {each}" for each in benchmark.cites))


def _artefact(said: ReleasedArtefact) -> str:
    where = f"in `{said.path}`, {said.bytes:,} bytes" if said.path is not None else "not in this folder"
    more = [f"from `{said.source}`"] if said.source is not None else []
    more += [said.license] if said.license is not None else []
    return ", ".join((f"`{said.role}`: {where}", f"SHA-256 `{said.digest}`", *more))


def _list(title: str, entries: Sequence[str], nothing: str) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield from ([f"- {each}" for each in entries] or [nothing])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
