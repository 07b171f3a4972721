"""Descriptions of a release for other programs: the Hub's data card, Croissant metadata, and a citation file."""

from __future__ import annotations

import importlib.util
import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tripos.releases.artefacts import open_roles
from tripos.releases.manifest import (
    HUB_LICENSES,
    CitationTerms,
    ExternalFile,
    Manifest,
    ReleasedArtefact,
    ReleasedFile,
    ReleasedItems,
    ReleaseToml,
)
from tripos.settings.options import DATA, MODEL, ROLE, ReportParameters
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Plan, Scenario
from tripos_warehouse.report.result_tables import empty_table
from tripos_warehouse.tables.data import to_json
from tripos_warehouse.tables.markup import to_markdown
from tripos_warehouse.tables.model import Column, Table

CROISSANT = "croissant.json"
TABLES_JSON, TABLES_PAGE = "result-tables.json", "result-tables.md"
CONFORMS_TO = "http://mlcommons.org/croissant/1.1"
RAI = "http://mlcommons.org/croissant/RAI/1.0"
PARQUET = "application/vnd.apache.parquet"
_TYPES = {"int64": "INTEGER", "double": "FLOAT", "bool": "BOOL"}


def croissant_of(
    plan: Plan,
    license_: str,
    items: Sequence[ReleasedItems],
    files: Sequence[ReleasedFile],
    folder: Path,
    day: date | None,
    measures: str,
    about: ReleaseToml,
) -> bytes:
    """Return the bytes of the Croissant file for the items below `folder`. Raises `ValueError` if the library finds an
    error."""
    import mlcroissant as mlc

    released_files = {file.path: file for file in files}
    distribution, records = [], []
    for item in items:
        if item.path is None:
            continue
        distribution.append(
            mlc.FileObject(
                id=item.path,
                name=item.path,
                content_url=item.path,
                content_size=f"{released_files[item.path].bytes} B",
                encoding_formats=[PARQUET],
                sha256=released_files[item.path].sha256,
            )
        )
        fields = [
            mlc.Field(
                id=f"{item.scenario}/{column.name}",
                name=column.name,
                data_types=[getattr(mlc.DataType, _TYPES.get(str(column.type), "TEXT"))],
                source=mlc.Source(file_object=item.path, extract=mlc.Extract(column=column.name)),
            )
            for column in pq.read_schema(folder / item.path)
        ]
        records.append(mlc.RecordSet(id=item.scenario, name=item.scenario, fields=fields))
    with _quiet():
        metadata = mlc.Metadata(
            name=plan.benchmark.name,
            description=measures,
            version=plan.benchmark.version,
            license=[license_],
            in_language=list(plan.benchmark.languages),
            cite_as="; ".join(plan.benchmark.cites) or None,
            date_published=None if day is None else datetime(day.year, day.month, day.day),
            data_limitations=list(about.limits) or None,
            **about.rai.said,
            distribution=distribution,
            record_sets=records,
        )
        made: Any = metadata.to_json() | {"conformsTo": [CONFORMS_TO, RAI] if about.rai.said else CONFORMS_TO}
    return (json.dumps(made, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()


def croissant_faults(path: Path, manifest: Manifest) -> list[str]:
    """Return the errors that the library finds in a Croissant file, and the files of items that it describes otherwise
    than the manifest of its release."""
    import mlcroissant as mlc

    with _quiet():
        try:
            metadata = mlc.Dataset(jsonld=path).metadata
        except Exception as error:  # the library raises many kinds for an invalid file
            return [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    described = {(each.content_url, each.content_size, each.sha256) for each in metadata.distribution}
    paths = {each.path for each in manifest.items}
    listed = {(each.path, f"{each.bytes} B", each.sha256) for each in manifest.files if each.path in paths}
    names = sorted({str(name) for name, *_ in described ^ listed})
    return [f"describes `{name}` otherwise than the manifest" for name in names]


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the library's warnings about optional properties while the block runs."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


LIBRARIES = ("license_expression", "mlcroissant", "huggingface_hub")


def missing_library() -> list[str]:
    """Return the names of missing libraries."""
    return [name for name in LIBRARIES if importlib.util.find_spec(name) is None]


def require_extra() -> None:
    """Raise `TriposError` S0857 if a library is missing; its hint is the command that installs it."""
    if found := missing_library():
        some = ", ".join(f"`{name}`" for name in found)
        raise TriposError("S0857", f"releasing needs {some}", "pip install 'tripos[release]'")


CITATION = "CITATION.cff"


def citation_of(plan: Plan, license_: str, about: ReleaseToml, terms: CitationTerms, day: date | None) -> str:
    """Return the citation file of a release, in Citation File Format 1.2.0. The format has no place for a licence
    expression or an own licence; these are only in the file `LICENSE`."""
    import yaml

    said: dict[str, Any] = {
        "cff-version": "1.2.0",
        "type": "dataset",
        "message": "Cite this benchmark as below.",
        "title": _benchmark_title(plan),
        "version": plan.benchmark.version,
        "abstract": describe_measures(plan, about),
        "authors": [
            {name.replace("_", "-"): text for name, text in author.model_dump().items() if text is not None}
            for author in terms.authors
        ],
    }
    said |= {"license": license_} if not _is_other(license_) else {}
    said |= {name: text for name, text in (("doi", terms.doi), ("url", terms.url)) if text is not None}
    said |= {} if day is None else {"date-released": day.isoformat()}
    return str(yaml.safe_dump(said, allow_unicode=True, sort_keys=False, width=110))


CARD = "README.md"
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def card_of(
    plan: Plan,
    license_: str,
    items: Sequence[ReleasedItems],
    external: Sequence[ExternalFile],
    about: ReleaseToml,
    artefacts: Sequence[ReleasedArtefact] = (),
) -> str:
    """Return the data card: configurations, licence, languages and size for programs; and for people what the benchmark
    measures, its limits and baselines, what it reveals of secrets, and how to run and verify it."""
    from huggingface_hub import DatasetCardData

    published = [item for item in items if item.path is not None]
    more: dict[str, Any] = {"license_name": license_, "license_link": "LICENSE"} if _is_other(license_) else {}
    data = DatasetCardData(
        pretty_name=_benchmark_title(plan),
        language=list(plan.benchmark.languages),
        license="other" if _is_other(license_) else license_.lower(),
        size_categories=size_category(sum(item.rows - len(item.withheld) for item in published)),
        tags=["benchmark", "tripos"],
        configs=[
            {"config_name": released_items.scenario, "data_files": [{"split": "test", "path": released_items.path}]}
            for released_items in published
        ],
        **more,
    )
    body = "\n".join(_body(plan, license_, items, external, about, artefacts))
    return f"---\n{data.to_yaml().strip()}\n---\n\n{body}\n"


def describe_tables(plan: Plan) -> dict[str, str]:
    """Return the files with the tables that a benchmark declares, by path: without results, and with the figures that
    were published. Empty if it declares none."""
    if not plan.tables:
        return {}
    tables = [empty_table(plan, table, "en") for table in plan.tables]
    return {TABLES_JSON: to_json(tables), TABLES_PAGE: to_markdown(tables)}


def size_category(rows: int) -> str:
    """Return the Hub's name for a size category.

    >>> size_category(198), size_category(4_128), size_category(2_000_000)
    ('n<1K', '1K<n<10K', '1M<n<10M')
    """
    return next((name for most, name in _SIZES if rows < most), "1M<n<10M")


def describe_measures(plan: Plan, about: ReleaseToml) -> str:
    """Return one paragraph on what a benchmark measures: from `release.toml`, or else the titles of its scenarios."""
    if about.measures:
        return about.measures.strip()
    titles = ", ".join(_scenario_title(plan, scenario) for scenario in plan.scenarios)
    return f"{_benchmark_title(plan)}: {titles}."


def _benchmark_title(plan: Plan) -> str:
    """Return the title in English, the language of the card."""
    return plan.title_of("benchmark", plan.benchmark.name, "en") or plan.benchmark.title


def _scenario_title(plan: Plan, scenario: Scenario) -> str:
    """Return the title in English, the language of the card."""
    return plan.title_of("scenario", scenario.name, "en") or scenario.title or scenario.name


def _is_other(license_: str) -> bool:
    """Return true if the Hub has no name for a licence: an expression, an own licence, or a rare one."""
    return license_.lower() not in HUB_LICENSES


def _body(
    plan: Plan,
    license_: str,
    items: Sequence[ReleasedItems],
    external: Sequence[ExternalFile],
    about: ReleaseToml,
    artefacts: Sequence[ReleasedArtefact],
) -> Iterator[str]:
    benchmark = plan.benchmark
    yield from (f"# {_benchmark_title(plan)} {benchmark.version}", "", describe_measures(plan, about), "")
    yield from ("```console", f"$ tripos verify {benchmark.name}-{benchmark.version}")
    roles = "".join(f" {ROLE} {role.name}=PROVIDER/MODEL" for role in plan.roles if role.kind != "compared")
    yield from (f"$ tripos run {benchmark.name}-{benchmark.version} {MODEL} PROVIDER/MODEL{roles}", "```", "")
    yield from ("## Items", "")
    titles = {scenario.name: _scenario_title(plan, scenario) for scenario in plan.scenarios}
    columns = (
        Column("scenario", tuple(f"`{item.scenario}`" for item in items), has_code=True),
        Column("items", tuple(map(_item_count, items)), right=True),
        Column("what is asked", tuple(titles[item.scenario] for item in items)),
    )
    yield from to_markdown([Table(columns)]).splitlines()
    yield from ("", "## Measures", "")
    for measure in plan.measures:
        by = f" by {', '.join(measure.by)}" if measure.by else ""
        bounds = (
            f", {measure.low:g} to {measure.high:g}" if measure.low is not None and measure.high is not None else ""
        )
        yield f"- `{measure.name}`{by}{bounds}"
    if plan.tables:
        titles_of_tables = [plan.title_of("table", table.name, "en") or table.name for table in plan.tables]
        named = [
            f"`{table.name}`" if title == table.name else f"`{table.name}`: {title}"
            for table, title in zip(plan.tables, titles_of_tables, strict=True)
        ]
        yield from _list("Tables", named, "")
        yield from (
            "",
            f"`{TABLES_PAGE}` has their form and the figures that were published; this fills one from a run:",
        )
        yield from ("", "```console", f"$ tripos report {ReportParameters.table} {plan.tables[0].name}", "```")
    yield from _list("Known limits", about.limits, "None were stated by those who released it.")
    yield from _list("Baselines", about.baselines, "None were stated by those who released it.")
    reveals = [f"`{reveal.scenario}`, `{reveal.step}`: {reveal.shown}" for reveal in plan.reveals]
    yield from _list(
        "What is revealed", reveals, "Nothing that the spec marks as secret is shown to a model under test."
    )
    if plan.extends:
        extends = [f"{extended.name} {extended.version}, digest `{extended.digest}`" for extended in plan.extends]
        yield from _list("Extends", extends, "")
    models = [_artefact(artefact) for artefact in artefacts]
    models += [
        f"`{role}` takes a reward model, and this release does not say which: figures may be compared where the same "
        "one gave the rewards"
        for role in open_roles(plan, tuple(artefacts))
    ]
    if models:
        yield from _list("Models that score", models, "")
    needed = [
        f"`{file.path}` from `{file.source}`, SHA-256 `{file.sha256}`" + (f", {file.license}" if file.license else "")
        for file in external
    ]
    if needed:
        yield from _list("Data that is not in this folder", needed, "")
        yield from ("", f"Put it below a folder and say so: `{DATA} DIR`.")
    yield from ("", "## Licence", "", f"{license_}, see `LICENSE`.")
    if benchmark.cites:
        yield from ("", "## Cite", "", *(f"- {cite}" for cite in benchmark.cites))


def _artefact(said: ReleasedArtefact) -> str:
    where = f"in `{said.path}`, {said.bytes:,} bytes" if said.path is not None else "not in this folder"
    more = [f"from `{said.source}`"] if said.source is not None else []
    more += [said.license] if said.license is not None else []
    return ", ".join((f"`{said.role}`: {where}", f"SHA-256 `{said.digest}`", *more))


def _list(title: str, entries: Sequence[str], nothing: str) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield from ([f"- {entry}" for entry in entries] or [nothing])


def _item_count(items: ReleasedItems) -> str:
    """Return the number of items of a scenario, and how many of them are not published."""
    hidden = f" ({len(items.withheld):,} withheld)" if items.withheld else ""
    return f"{items.rows:,}{hidden if items.path is not None else ' (not in this folder)'}"
