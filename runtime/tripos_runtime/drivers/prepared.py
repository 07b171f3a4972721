"""A prepared run: models for the roles, cases, budget, functions and lock, all settled before the first call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from tripos_compiler.plan import Plan, Settings
from tripos_compiler.source import dataclass
from tripos_runtime.asking.functions import NO_PROGRAMS, AllowedPrograms, Loaded, load_plugins
from tripos_runtime.datasets import CaseSource, Selection, check_approved
from tripos_runtime.models import Model
from tripos_runtime.roles import (
    Kinship,
    RoleBinding,
    TakesMedium,
    UnknownSight,
    Untaken,
    check_embedding,
    check_sight,
    embedding_roles,
    kin,
    reply_lengths,
    unknown_sight,
    untaken,
    with_majority,
)
from tripos_runtime.scheduling import Budget, Limits, check_bounds, check_prices


class HeldLock(Protocol):
    """A lock that a run is held to."""

    def check(self, plan: Plan, binding: RoleBinding) -> None:
        """Raise where the plan, its data or its models differ from what is pinned."""
        ...

    def check_served(self, run_id: str) -> None:
        """Raise where the replies of a finished run came from other models than those that are pinned."""
        ...


@dataclass(frozen=True)
class RunInputs:
    """The parts of a run that come from outside of the runtime: settings, endpoints, recordings and releases."""

    open_model: Callable[[str, bool], Model]
    """Open the model of a name; the second argument says that it embeds texts."""
    refused: Callable[[str, Settings], tuple[str, ...]]
    """Name the settings that a model does not take."""
    takes: TakesMedium
    """Say whether a model takes images, recordings or files."""
    limits: Callable[[Mapping[str, Model]], Limits]
    """Give the limits of calls to these models."""
    plugin_folder: Path
    """The folder of the spec's main file, from which the paths of plug-ins are seen."""
    release_folders: Mapping[str, str] = field(default_factory=dict)
    """The folders of releases that the spec extends, by `NAME-VERSION`."""
    programs: AllowedPrograms = NO_PROGRAMS
    """The programs that may be started."""
    recorded: frozenset[str] = frozenset()
    """The models that answer from a recording or from a release, and are not opened by name."""
    batch: bool = False
    """True if models are asked in batches of their providers, at the price of batches."""
    close: Callable[[], None] = lambda: None
    """Let go of what the wiring opened."""


@dataclass(frozen=True)
class PreparedRun:
    """A plan with models for its roles, the cases that are selected, the budget and the lock.

    `functions` and `models` are opened when they are first used: a forecast needs neither. A prepared run is run once,
    since a run closes its models at its end.
    """

    plan: Plan
    source: CaseSource
    selection: Selection
    binding: RoleBinding
    wiring: RunInputs
    budget: Budget | None = None
    lock: HeldLock | None = None

    @cached_property
    def functions(self) -> Mapping[str, Loaded]:
        """The plug-ins of the plan, loaded. Raises `PluginError`."""
        wiring = self.wiring
        return load_plugins(self.plan, wiring.plugin_folder, wiring.release_folders, self.source.trust, wiring.programs)

    @cached_property
    def models(self) -> Mapping[str, Model]:
        """The models of all roles, opened. Raises `ModelError`."""
        embedding = {name for role in embedding_roles(self.plan) for name in self.binding.of(role)}
        return {name: self.wiring.open_model(name, name in embedding) for name in self.binding.every}

    @cached_property
    def limits(self) -> Limits:
        """The limits of calls to the models. Raises `ModelError`."""
        return self.wiring.limits(self.models)

    def judges_of_their_own_family(self) -> list[Kinship]:
        """List the judges that would grade replies of their own model family."""
        return kin(self.plan, self.binding)

    def settings_not_taken(self) -> list[Untaken]:
        """List the settings of requests that a model does not take."""
        return untaken(self.plan, self.binding, self.wiring.refused)

    def models_of_unknown_sight(self) -> list[UnknownSight]:
        """List the models of which nobody knows whether they take the images and files that they are shown."""
        return unknown_sight(self.plan, self.binding, self.wiring.takes)

    def check_budget(self) -> None:
        """Raise `BudgetError` if the budget is in USD and the price of a model is unknown, or if the budget bounds
        usage and nothing bounds the replies of a model."""
        check_prices(self.models.values(), self.budget)
        lengths = reply_lengths(self.plan, self.selection.chosen(self.plan), self.source.unmade(self.selection))
        check_bounds(
            ((where, self.models[name], most) for where, role, most in lengths for name in self.binding.of(role)),
            self.budget,
        )


def prepare_run(
    plan: Plan,
    source: CaseSource,
    selection: Selection,
    binding: RoleBinding,
    wiring: RunInputs,
    *,
    budget: Budget | Collection[str] | None = None,
    lock: HeldLock | None = None,
    approved: bool = True,
) -> PreparedRun:
    """Settle everything about a run before its first call. A `budget` is one that earlier runs have spent of, or its
    bounds in words such as `5usd`. With `approved` a plan with an unreviewed draft is refused.

    Raises `NotApproved`, `NoEmbedding`, `BindingError` and `BudgetError`, and whatever the `lock` raises.
    """
    if approved:
        check_approved(plan)
    check_embedding(plan, selection.chosen(plan), binding.models)
    check_sight(plan, binding, wiring.takes)
    binding = with_majority(binding, plan, source, selection)
    if budget is not None and not isinstance(budget, Budget):
        budget = Budget.parse(budget) if budget else None
    if lock is not None:
        lock.check(plan, binding)
    return PreparedRun(plan, source, selection, binding, wiring, budget, lock)
