"""Compilation of a spec: parse, resolve, check and lower, prove secrecy, build the plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tripos_compiler.diagnostics.diagnostic import Diagnostic, Diagnostics, Silenced, split_silenced
from tripos_compiler.language.plan_diff import check_version
from tripos_compiler.lowering.call_counts import count_embeddings_once
from tripos_compiler.lowering.datasets import check_origins
from tripos_compiler.lowering.declarations import (
    lower_arms,
    lower_axes,
    lower_benchmark,
    lower_metrics,
    lower_roles,
    lower_titles,
    lower_tools,
    lower_trees,
)
from tripos_compiler.lowering.exports import lower_exports, lower_subsets
from tripos_compiler.lowering.generated_datasets import generation_calls, lower_datasets
from tripos_compiler.lowering.measures.measures import (
    check_directions,
    check_settling,
    lower_expectations,
    lower_headline,
    lower_measures,
)
from tripos_compiler.lowering.protocol_checks import check_held_out, check_learned, check_unused_declarations
from tripos_compiler.lowering.scenarios import lower_scenarios
from tripos_compiler.lowering.scorers import (
    lower_aggregates,
    lower_allocation,
    lower_early_scorers,
    lower_functions,
    lower_scorers,
)
from tripos_compiler.lowering.tables import lower_tables
from tripos_compiler.plan import ExtendedRelease, Plan
from tripos_compiler.resolve.files import check_released, resolve
from tripos_compiler.resolve.incremental import Memory
from tripos_compiler.resolve.program import Index, Program, ReadText
from tripos_compiler.secrecy.proof import check_marks, prove
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.inputs import DataReader, NoData, ReleaseFinder, ResolvedRelease
from tripos_compiler.source.text import Source


@dataclass(frozen=True)
class Compilation:
    """Result of a compilation. `plan` is None if there is an error."""

    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...]
    sources: tuple[Source, ...]
    silenced: tuple[Silenced, ...] = ()
    """Warnings silenced by a comment; they are not in `diagnostics`."""
    index: Index = field(default_factory=Index)
    """Declarations and uses of names, for editors."""
    releases: tuple[ResolvedRelease, ...] = ()
    """Releases of other benchmarks that the spec extends."""
    unpinned: tuple[ResolvedRelease, ...] = ()
    """Releases that the spec names without a digest."""

    @property
    def release_folders(self) -> dict[str, str]:
        """Folders of the extended releases by `NAME-VERSION`."""
        return {release.label: release.folder for release in self.releases}


def compile_spec(
    path: str,
    read: ReadText,
    data: DataReader | None = None,
    memory: Memory | None = None,
    against: Plan | None = None,
    releases: ReleaseFinder | None = None,
    secrecy: bool = True,
) -> Compilation:
    """Compile the spec whose main file is at `path`.

    `read` returns the text of a spec file by path. `data` finds and reads data files. `releases` finds releases that
    the spec extends. Raises `OSError` or `UnicodeDecodeError` if the main file cannot be read; every other user mistake
    is a diagnostic.

    `memory` is the cache of earlier compilations of the same spec: unchanged parts are not compiled again. Pass the
    same `data` reader as long as the data is unchanged. Spans of earlier results then refer to positions in the new
    text.

    `against` is the plan of an earlier version: the version number must reflect the changes since then. With
    `secrecy=False` (for tests of the proof) secrets may reach the compared role.

    >>> compile_spec("x.tripos", lambda path: 'rol candidate compared').diagnostics[0].message
    'there is no statement `rol`'
    """
    program = Program(Diagnostics(), data if data is not None else NoData())
    program.copies = memory.copies if memory is not None else program.copies
    program.finder = releases if releases is not None else program.finder
    resolve(program, path, read, memory)
    lower_benchmark(program)
    lower_roles(program)
    if program.benchmark is not None:  # without its languages no text can be checked
        lower_titles(program)
        lower_functions(program)
        lower_aggregates(program)
        lower_axes(program)
        lower_arms(program)
        lower_metrics(program)
        lower_trees(program)
        lower_tools(program)
        deferred = lower_early_scorers(program)
        lower_datasets(program, memory)
        check_origins(program)
        lower_scorers(program, deferred)
        lower_allocation(program)
        lower_scenarios(program, memory)
        lower_measures(program)
        lower_headline(program)
        lower_expectations(program)
        lower_subsets(program)
        lower_exports(program)
        lower_tables(program)
        check_directions(program)
        if secrecy:
            prove(program)
        check_learned(program)
        check_held_out(program)
        check_marks(program)
        check_released(program)
        check_unused_declarations(program)
    plan = None if program.diagnostics.failed else _plan(program)
    if plan is not None:
        check_settling(program, plan)
        plan = None if program.diagnostics.failed else plan
    if plan is not None and against is not None:
        check_version(against, plan, program.of("benchmark")[0].text("version").span, program.diagnostics)
        plan = None if program.diagnostics.failed else plan
    diagnostics, silenced = split_silenced(program.diagnostics.sorted(), program.sources)
    return Compilation(
        plan,
        diagnostics,
        tuple(program.sources),
        silenced,
        program.index,
        tuple(program.releases.values()),
        tuple(import_.release for import_ in program.extended if not import_.pinned),
    )


def _plan(program: Program) -> Plan:
    """Return the plan.

    The parts were validated when they were created, and a reader of a plan file validates the whole plan. So a check
    skips the validator of whole plans.
    """
    assert program.benchmark is not None
    assert not program.diagnostics.failures, "something is wrong, and nothing was reported"
    return Plan.model_construct(
        benchmark=program.benchmark,
        extends=tuple(sorted(_extended(program), key=lambda release: release.name)),
        roles=tuple(program.roles.values()),
        axes=tuple(program.axes.values()),
        arms=tuple(program.arms.values()),
        trees=tuple(program.trees.values()),
        plugins=(*program.plugins.values(), *program.aggregates.values()),
        metrics=tuple(program.metrics.values()),
        datasets=tuple(program.datasets.values()),
        made=tuple(program.generated.values()),
        scenarios=tuple(program.scenarios.values()),
        scorers=tuple(program.scorers.values()),
        measures=tuple(program.measures.values()),
        expectations=tuple(program.expectations),
        subsets=tuple(program.subsets.values()),
        exports=tuple(program.exports.values()),
        tables=tuple(program.tables.values()),
        reveals=tuple(program.reveals),
        titles=program.titles,
        calls=(
            *(count for dataset in program.generated.values() for count in generation_calls(program, dataset)),
            *count_embeddings_once(program.calls, program.scenarios.values()),
        ),
    )


def _extended(program: Program) -> Iterator[ExtendedRelease]:
    for release in program.releases.values():
        scenarios = [name for name in program.scenarios if program.home("scenario", name) == release.name]
        made = [name for name in program.generated if program.home("dataset", name) == release.name]
        yield ExtendedRelease(
            name=release.name,
            version=release.version,
            digest=release.digest,
            scenarios=tuple(sorted(scenarios)),
            made=tuple(sorted(made)),
        )
