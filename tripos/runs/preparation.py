"""The preparation of a run: settings, models, recordings and releases, combined into a `PreparedRun`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tripos.releases.artefacts import open_artefact
from tripos.runs.compilation import CompiledSpec
from tripos.runs.records import Recording
from tripos.runs.selection import RunRequest, bind_roles, check_people, local_artefacts, select_cases
from tripos.settings.config import Config, programs_of
from tripos.settings.options import DIVIDE, ROLE, TIMEOUT
from tripos.settings.runtime import budget_share, check_divisible, endpoints_of, limits_of, limits_share, prices_of
from tripos_compiler.diagnostics.diagnostic import ALL_WARNINGS
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.progress import RunProgress
from tripos_runtime.datasets.selection import Shard
from tripos_runtime.drivers.prepared import PreparedRun, RunInputs, prepare_run
from tripos_runtime.models.base import Model
from tripos_runtime.models.catalog import DIRECT, variables_of
from tripos_runtime.models.embeddings import open_embedding
from tripos_runtime.models.families import (
    IgnoredSettingsOf,
    accepts_media,
    ignored_settings_by_name,
    ignores_nothing,
    open_model,
)
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.scheduling.budget import Budget
from tripos_runtime.scheduling.limits import Limits
from tripos_warehouse.errors import StoreError

if TYPE_CHECKING:
    from tripos.releases.lock import Lock
    from tripos_warehouse.store.store import DamageListener


@dataclass(frozen=True)
class LockFile:
    """A lock file that a run must match."""

    path: Path
    config: Config

    def check(self, plan: Plan, binding: RoleBinding) -> None:
        """Raise `TriposError` R0260 if the run differs from the lock file."""
        from tripos.releases.lock import check_lock

        check_lock(self._lock, make_lock(plan, binding, self.config))

    def check_served(self, run_id: str) -> None:
        """Raise `TriposError` R0261 if replies of a run came from models other than the locked ones."""
        from tripos.releases.lock import check_served, served_in

        check_served(self._lock, served_in(Path(self.config.store), run_id))

    @cached_property
    def _lock(self) -> Lock:
        from tripos.releases.lock import read_lock

        return read_lock(self.path)


def make_lock(plan: Plan, binding: RoleBinding, config: Config, *, served: bool = False) -> Lock:
    """Return the lock of a run in its current state; with `served`, also with the model snapshots that the store knows.
    Raises `TriposError`."""
    from tripos.releases.lock import lock_of, served_in
    from tripos.runs.forecast import known_prices

    addresses = known_addresses(binding.all_models, config)
    known = served_in(Path(config.store)) if served else {}
    return lock_of(plan, binding, known_prices(binding, config), addresses, known)


def known_addresses(models: Iterable[str], config: Config, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the address of each model that is set in `tripos.toml` or the environment, without user and password.

    >>> known_addresses(["openai/gpt-4o"], Config(), {"OPENAI_BASE_URL": "https://me:secret@proxy.example/v1/"})
    {'openai/gpt-4o': 'https://proxy.example/v1'}
    """
    addresses = {}
    for name in models:
        provider = name.partition("/")[0]
        set_here = config.endpoints.get(name) or config.endpoints.get(provider)
        direct = DIRECT.get(provider)
        variables = {} if direct is None else variables_of(direct, environ)
        names = direct.base_urls if direct is not None and variables else ()
        address = set_here.base_url if set_here is not None else next(filter(None, map(variables.get, names)), None)
        if address is not None:
            addresses[name] = _bare(address)
    return addresses


def _bare(address: str) -> str:
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl().rstrip("/")


@dataclass(frozen=True)
class RunWarning:
    """A warning about a prepared run: code, message, the places where it applies, and a hint."""

    code: str
    message: str
    places: tuple[str, ...]
    hint: str


def binding_warnings(prepared: PreparedRun) -> Iterator[RunWarning]:
    """Yield the warnings about the models of a run: judges that would grade models of their own family, settings that
    a model ignores, and media of which it is unknown whether a model accepts them."""
    if judging := prepared.self_judging():
        message = "a judge would grade its own family, which judges favour"
        yield RunWarning("W1205", message, tuple(judging), f"give the role another model: {ROLE} NAME=PROVIDER/MODEL")
    if ignored := prepared.ignored_settings():
        message = "a model does not take a setting, and is asked without it"
        hint = f"take the setting out of the step, or give the role another model: {ROLE} NAME=PROVIDER/MODEL"
        yield RunWarning("W1209", message, tuple(ignored), hint)
    if unknown := prepared.unknown_media():
        message = "nobody knows whether a model takes what it is shown"
        hint = 'declare it: `media = ["image"]` of the endpoint in tripos.toml'
        yield RunWarning("W1210", message, tuple(unknown), hint)


def damage_warning(error: StoreError) -> RunWarning:
    """Return a warning about a damaged part of a store."""
    return RunWarning(error.code, error.message, ("what it held is left out",), error.hint)


def damage_note(tally: RunProgress) -> DamageListener:
    """Return a function that adds damage of a store to the notes of a run."""
    return lambda error: tally.notes.append(f"{error.code} {error.message}: what it held is left out")


def check_denied(warning: RunWarning, denied: Mapping[str, str]) -> None:
    """Raise `TriposError` if the warning counts as an error."""
    if {warning.code, ALL_WARNINGS} & set(denied):
        raise TriposError(warning.code, warning.message, f"{warning.places[0]}; {warning.hint}")


def prepare(
    spec: CompiledSpec,
    choices: RunRequest,
    config: Config,
    *,
    people: Mapping[str, Model] = {},
    budget: Budget | None = None,
    locked: str | Path | None = None,
    approved: bool = True,
) -> PreparedRun:
    """Prepare a run.

    `people` maps the names of persons to models that reply for them. `budget` is one that earlier runs have spent from.
    `locked` is the path of a lock file. Without `approved`, a plan with an unreviewed draft is accepted.

    Raises `TriposError`.
    """
    plan, releases = spec.plan, spec.compilation.releases
    binding, recording, tables = bind_roles(choices, spec.path, config, plan, releases, spec.folders.trust)
    artefacts = local_artefacts(choices, spec.path, config, plan, releases)
    check_people(people.keys(), binding, choices)
    source, selection = select_cases(spec, choices)
    shard = selection.shard if choices.divide else None
    if shard is not None and budget is not None:
        message = f"`{DIVIDE}` does not divide one budget of several benchmarks"
        raise TriposError("R0202", message, "run one benchmark after another, each with a budget")
    if shard is not None:
        budget = budget_share(config.budget, shard.number - 1, shard.count)
    return prepare_run(
        plan,
        source,
        selection,
        binding,
        _wiring(spec, config, recording, tables, people, artefacts, shard, batch=choices.batch),
        budget=config.budget if budget is None else budget,
        lock=None if locked is None else LockFile(Path(locked), config),
        approved=approved,
    )


def _wiring(
    spec: CompiledSpec,
    config: Config,
    recording: Recording | None,
    tables: Mapping[str, Model],
    people: Mapping[str, Model],
    artefacts: Mapping[str, Path],
    shard: Shard | None,
    *,
    batch: bool,
) -> RunInputs:
    """Return the functions with which the runtime opens models and reads limits."""
    endpoints, prices, timeout_s = endpoints_of(config), prices_of(config), TIMEOUT.setting_in(config)
    recorded = frozenset({*artefacts, *(() if recording is None else recording.models)})

    def opened(name: str, embeds: bool) -> Model:
        if name in people:
            return people[name]
        if recording is not None and name in recording.models:
            return recording.open(name)
        if name in artefacts:
            return open_artefact(name, artefacts[name])
        if name in tables:
            return tables[name]
        if embeds:
            return open_embedding(name, endpoints, prices=prices, timeout_s=timeout_s)
        model = open_model(name, endpoints, prices=prices, timeout_s=timeout_s)
        if not batch:
            return model
        from tripos_runtime.models.batches import asked_live, open_batches

        return model if asked_live(name) else open_batches(model, timeout_s)

    @cache
    def refuses(name: str) -> IgnoredSettingsOf:
        return ignores_nothing if name in recorded else ignored_settings_by_name(name, endpoints)

    def limits(models: Mapping[str, Model]) -> Limits:
        whole = limits_of(config, models)
        if shard is None:
            return whole
        check_divisible(whole, shard.count, "shards")
        return limits_share(whole, shard.number - 1, shard.count)

    return RunInputs(
        open_model=opened,
        refused=lambda name, settings: refuses(name)(settings),
        takes=lambda name, kind: True if name in recorded else accepts_media(name, kind, endpoints),
        limits=limits,
        plugin_folder=spec.main.parent,
        release_folders=spec.compilation.release_folders,
        programs=programs_of(config),
        recorded=recorded,
        batch=batch,
        close=(lambda: None) if recording is None else recording.close,
    )
