"""The preparation of a run: settings, models, recordings and releases, wired into one `PreparedRun`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tripos.api.choices import Choices, artefacts_here, check_people, chosen_binding, select_cases
from tripos.api.compiled import CompiledSpec
from tripos.api.lockcheck import LockFile
from tripos.cassettes import Cassette
from tripos.config import Config
from tripos.failure import Failure
from tripos.releases.artefact_roles import open_artefact
from tripos.wiring import endpoints_of, limits_of, prices_of
from tripos_runtime.datasets.runnable import NotApproved
from tripos_runtime.drivers.prepared import PreparedRun, RunWiring, prepare_run
from tripos_runtime.models import Model, open_model
from tripos_runtime.models.embeddings import open_embedding
from tripos_runtime.models.unopened.refusing import Refuses, nothing, refusing
from tripos_runtime.roles.binding import BindingError
from tripos_runtime.roles.embedding_roles import NoEmbedding
from tripos_runtime.scheduling.budget import Budget, BudgetError


def prepare(
    spec: CompiledSpec,
    choices: Choices,
    config: Config,
    *,
    people: Mapping[str, Model] = {},
    budget: Budget | None = None,
    locked: str | Path | None = None,
    approved: bool = True,
) -> PreparedRun:
    """Prepare a run. `people` are models that answer for a person, by name; a `budget` is one that earlier runs have
    spent of; `locked` is a lock file. Without `approved` a plan with an unreviewed draft is prepared too.

    Raises `Failure`.
    """
    plan, releases = spec.plan, spec.compilation.releases
    binding, cassette = chosen_binding(choices, spec.path, config, plan, releases)
    artefacts = artefacts_here(choices, spec.path, config, plan, releases)
    check_people(people.keys(), binding, choices)
    source, selection = select_cases(spec, choices)
    try:
        return prepare_run(
            plan,
            source,
            selection,
            binding,
            _wiring(spec, config, cassette, people, artefacts),
            budget=config.budget if budget is None else budget,
            lock=None if locked is None else LockFile(Path(locked), config),
            approved=approved,
        )
    except (NotApproved, NoEmbedding, BudgetError, BindingError) as error:
        raise Failure(error.code, error.message, error.hint) from error


def _wiring(
    spec: CompiledSpec,
    config: Config,
    cassette: Cassette | None,
    people: Mapping[str, Model],
    artefacts: Mapping[str, Path],
) -> RunWiring:
    endpoints, prices, timeout_s = endpoints_of(config), prices_of(config), config.limits.timeout_s
    recorded = frozenset({*artefacts, *(() if cassette is None else cassette.models)})

    def opened(name: str, embeds: bool) -> Model:
        if name in people:
            return people[name]
        if cassette is not None and name in cassette.models:
            return cassette.open(name)
        if name in artefacts:
            return open_artefact(name, artefacts[name])
        if embeds:
            return open_embedding(name, endpoints, prices=prices, timeout_s=timeout_s)
        return open_model(name, endpoints, prices=prices, timeout_s=timeout_s)

    @cache
    def refuses(name: str) -> Refuses:
        return nothing if name in recorded else refusing(name, endpoints)

    return RunWiring(
        open_model=opened,
        refused=lambda name, settings: refuses(name)(settings),
        limits=lambda models: limits_of(config, models),
        plugin_folder=spec.main.parent,
        release_folders=spec.compilation.release_folders,
        recorded=recorded,
        close=(lambda: None) if cassette is None else cassette.close,
    )
