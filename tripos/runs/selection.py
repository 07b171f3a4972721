"""The request for a run: the models of its roles, those that reply from a table, and the selection of its cases."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import field, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tripos.releases.artefacts import artefact_folders, with_artefacts
from tripos.releases.frozen import restore_given
from tripos.runs.compilation import CompiledSpec
from tripos.runs.records import Recording, find_recording
from tripos.settings.config import Config
from tripos.settings.environment import ROLE as ROLE_PREFIX, set_variables
from tripos.settings.option import listed_names
from tripos.settings.options import (
    BATCH,
    DIVIDE,
    LIMIT,
    MARGIN,
    MODEL,
    ONLY,
    ROLE,
    SCENARIO,
    SEED,
    SHARD,
    SUBSET,
    UNTIL,
    RunParameters,
)
from tripos.settings.runtime import with_identities
from tripos.source_files import SourceFolder
from tripos_compiler.diagnostics.diagnostic import nearest, suggest
from tripos_compiler.errors import TriposError
from tripos_compiler.language.sequential_stopping import has_stopping_rule
from tripos_compiler.plan import Plan, Subset
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.inputs import DataError, ResolvedRelease
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.formats import check_size, rows_in
from tripos_runtime.datasets.selection import Selection, Shard, StopRule
from tripos_runtime.datasets.trust import TRUSTED, Trust
from tripos_runtime.models.catalog import all_variables, plugin_of
from tripos_runtime.models.kinds import REPLIES, kind_of
from tripos_runtime.models.reply_table import ReplyTableModel, file_of, read_replies, table_identity
from tripos_runtime.models.trained_rewards import pinned_name
from tripos_runtime.program.binding import RoleBinding, bind


@dataclass(frozen=True)
class RunRequest:
    """The models named for a run, and the restrictions of its cases."""

    models: tuple[str, ...] = ()
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    scenario: Sequence[str] = ()
    only: Sequence[str] = ()
    """Texts such as `tone=warm,plain`."""
    subset: str | None = None
    limit: int | None = None
    seed: int | None = None
    shard: str | None = None
    """A text such as `1/3`."""
    until: str | None = None
    """`settled` to stop the run when it is settled, `end` to go on to its last item; `None` to follow the benchmark."""
    margin: float | None = None
    """With early stopping: the maximum distance of every measure from its value over all items."""
    divide: bool = False
    """True if the limits and the budget are those of all shards together."""
    batch: bool = False
    """True if calls are sent in batches of their providers."""


def request_of(options: Namespace) -> RunRequest:
    """Return the request in the options of a command. Raises `TriposError` for a `--role` without a model."""
    return RunRequest(
        models=listed_names(options.model),
        roles=parse_roles(options.role),
        scenario=SCENARIO.of(options),
        only=ONLY.of(options),
        subset=SUBSET.of(options),
        limit=LIMIT.of(options),
        seed=SEED.of(options),
        shard=SHARD.of(options),
        until=UNTIL.of(options),
        margin=MARGIN.of(options),
        divide=DIVIDE.of(options),
        batch=BATCH.of(options),
    )


class BoundRoles(NamedTuple):
    """The models of every role, the recording that they reply from, if any, and the models among them that reply from a
    table, by name."""

    binding: RoleBinding
    recording: Recording | None
    tables: Mapping[str, ReplyTableModel]


def bind_roles(
    choices: RunRequest,
    path: str,
    config: Config,
    plan: Plan,
    extended: Sequence[ResolvedRelease] = (),
    trust: Trust = TRUSTED,
) -> BoundRoles:
    """Return the models of every role.

    Options take precedence over the recording, and the recording over `tripos.toml`. Reward models of a release, and of
    `extended` releases, fill their roles. Raises `TriposError` if a role has no model, and R0270 for the provider of a
    plug-in if the benchmark is untrusted, and the errors of `open_reply_table`.
    """
    flags = choices.roles
    compared = next(role.name for role in plan.roles if role.kind == "compared")
    if choices.models and compared in flags:
        message = f"`{MODEL}` and `{ROLE} {compared}=…` fill the same role"
        raise TriposError("R0202", message, "give one of them")
    models = choices.models or flags.get(compared) or config.models or config.roles.get(compared, ())
    # tripos.toml may serve several benchmarks, so roles that this one lacks are ignored there, but not in options.
    known = {role.name for role in plan.roles}
    for name in sorted(config.roles.keys() - known):
        _check_misspelt_role(name, known, config)
    shared = {name: role for name, role in config.roles.items() if name in known}
    others = {name: flag for name, flag in flags.items() if name != compared}
    recording = find_recording(models, others, config.store)
    if recording is not None:
        shared = dict(recording.binding_models)
        models = shared.get(compared, ())
    others = {name: tuple(map(pinned_name, each)) for name, each in {**shared, **others}.items() if name != compared}
    by_hand = flags if recording is None else others
    others = with_artefacts(path, plan, extended, others, by_hand)
    for name in (*models, *chain.from_iterable(others.values())) if trust.untrusted else ():
        if package := plugin_of(name):
            trust.check(f"the plug-in of {package}, which serves `{name}`", f"run it without {RunParameters.untrusted}")
    binding = bind(plan, models, others)
    recorded = frozenset() if recording is None else recording.models
    tables = open_reply_tables([name for name in binding.all_models if name not in recorded], trust)
    binding = with_identities(binding, config, {name: table.identity for name, table in tables.items()})
    if recording is not None:
        own = {name: by for name, by in binding.identities.items() if name not in recorded}
        binding = replace(binding, identities={**own, **recording.run.identities})
    return BoundRoles(binding, recording, tables)


def _check_misspelt_role(name: str, known: AbstractSet[str], config: Config) -> None:
    """Raise `TriposError` R0203 if a role of the settings that a benchmark lacks is nearly one of its roles, `known`,
    that has no model. For a role of a variable, the models of other variables count, and not those of `tripos.toml`,
    which the variable was to replace."""
    variables = {place[1]: variable for variable, place, _ in set_variables(all_variables()) if place[0] == "roles"}
    close = nearest(name, known - (variables if name in variables else config.roles).keys())
    if close is not None:
        message, meant = f"tripos.toml has a model for a role `{name}`, which this benchmark does not have", close
        if name in variables:
            message = f"`{variables[name]}` has a model for a role `{name}`, which this benchmark does not have"
            meant = f"{ROLE_PREFIX}{close.upper()}"
        raise TriposError("R0203", message, f"did you mean `{meant}`?")


def local_artefacts(
    choices: RunRequest, path: str, config: Config, plan: Plan, extended: Sequence[ResolvedRelease]
) -> dict[str, Path]:
    """Return the local folders of the models that a release, or an extended one, names, by model name."""
    given = [*choices.roles.values(), *config.roles.values()]
    names = [name for names in given for name in names]
    return artefact_folders(path, plan, extended, names)


def check_people(people: AbstractSet[str], binding: RoleBinding, choices: RunRequest) -> None:
    """Raise `TriposError` R0201 if a person in the compared role would also fill other roles by default, as a model
    does. A person who tags, writes or grades has seen texts that are secret from the compared role."""
    named = set(choices.roles)
    empty = [
        name
        for name, models in binding.models.items()
        if name not in {binding.compared, *named} and not people.isdisjoint(models)
    ]
    if empty:
        text = f"no model fills the role{'s' if len(empty) > 1 else ''} {', '.join(f'`{name}`' for name in empty)}"
        flags = " ".join(f"{ROLE} {name}=PROVIDER/MODEL" for name in empty)
        raise TriposError("R0201", text, f"you would see hidden texts; give {flags}")


def names_any_model(choices: RunRequest, config: Config) -> bool:
    """Return true if the request or the settings name a model."""
    return bool(choices.models or choices.roles or config.models or config.roles)


def parse_roles(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the models of roles from texts such as `judge=a/b,c/d`. Raises `TriposError` R0202 for a text without a
    model."""
    flags: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, models = text.partition("=")
        if not equals or not listed_names([models]):
            raise TriposError("R0202", f"`{ROLE} {text}` names no model", f"write {ROLE} NAME=PROVIDER/MODEL")
        flags[name] = (*flags.get(name, ()), *listed_names([models]))
    return flags


# Cases
def select_cases(spec: CompiledSpec, choices: RunRequest) -> tuple[CaseSource, Selection]:
    """Open the data of a spec, and select the cases of a run. Raises `TriposError`."""
    source = CaseSource(spec.plan, spec.folders, tuple(each.path for each in spec.compilation.sources))
    restore_given(source, spec.path, spec.compilation.releases)
    selection = chosen_cases(choices, spec.plan)
    if choices.subset:
        selection = source.in_subset(selection, chosen_subset(choices.subset, spec.plan))
    selection = replace(selection, until=_stop_rule(choices, spec.plan))
    if choices.shard is not None:
        selection = replace(selection, shard=_shard(choices.shard))
        if source.has_ungenerated(selection):
            message = f"`{SHARD} {choices.shard}` would write the data sets of this benchmark once for every shard"
            raise TriposError(
                "R0202", message, f"leave it out, use {RunParameters.workers} N, or release the benchmark with its rows"
            )
    return source, selection


def _stop_rule(choices: RunRequest, plan: Plan) -> StopRule | None:
    """Return the rule for early stopping, or None. Raises `TriposError` R0202 if the request is inconsistent."""
    if choices.margin is not None and choices.until != "settled":
        raise TriposError(
            "R0202", f"`{MARGIN}` says when a run is settled, and it does not stop", f"add {UNTIL} settled"
        )
    declared = choices.until is None and has_stopping_rule(plan)
    if choices.until != "settled" and not declared:
        return None
    if choices.shard is not None:
        name = RunParameters.on.flag if choices.divide else SHARD.flag
        hint = f"leave out {name}, and share the run with {RunParameters.workers}"
        if declared:
            hint = f"leave out {name}, and share the run with {RunParameters.workers}, or give {UNTIL} end"
        option = "the `until settled` of the spec" if declared else f"`{UNTIL} settled`"
        raise TriposError("R0202", f"`{name}` asks for items at once that {option} asks in turn", hint)
    return StopRule(choices.margin, choices.seed or 0, declared)


def _shard(text: str) -> Shard:
    """Parse `--shard`. Raises `TriposError` R0202."""
    number, slash, count = text.partition("/")
    if slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return Shard(int(number), int(count))
    raise TriposError("R0202", f"`{SHARD} {text}` is no shard", f"write {SHARD} 1/3 for the first of three")


def chosen_cases(choices: RunRequest, plan: Plan) -> Selection:
    """Return the selected cases. Raises `TriposError` for an unknown scenario."""
    scenarios = chosen_scenarios(choices.scenario, plan)
    draws = choices.until == "settled" or (choices.until is None and has_stopping_rule(plan))
    if choices.seed is not None and choices.limit is None and not draws:
        raise TriposError("R0202", f"`{SEED}` draws items, but their number is missing", f"give {LIMIT} N too")
    return Selection(scenarios, choices.limit, choices.seed, parse_filters(choices.only, plan))


def chosen_subset(name: str, plan: Plan) -> Subset:
    """Return the subset of `--subset`. Raises `TriposError` R0202 if it is unknown."""
    found = next((subset for subset in plan.subsets if subset.name == name), None)
    if found is not None:
        return found
    known = [subset.name for subset in plan.subsets]
    there = (
        f"its subsets are {', '.join(known)}" if known else "declare one with `subset NAME { take 10 per scenario }`"
    )
    raise TriposError("R0202", f"the benchmark has no subset `{name}`", suggest(name, known, there))


def chosen_scenarios(names: Sequence[str], plan: Plan) -> tuple[str, ...]:
    """Return the scenarios of `--scenario`. Raises `TriposError` if one is unknown."""
    known = [scenario.name for scenario in plan.scenarios]
    for name in names:
        if name not in known:
            hint = suggest(name, known, f"its scenarios are {', '.join(known)}")
            raise TriposError("R0202", f"the benchmark has no scenario `{name}`", hint)
    return tuple(names)


def parse_filters(texts: Sequence[str], plan: Plan) -> dict[str, tuple[str, ...]]:
    """Parse values of axes and arms from texts such as `tone=warm,plain`. Raises `TriposError` if one is unknown."""
    only: dict[str, tuple[str, ...]] = {}
    axes = {axis.name: [value.name for value in axis.values] for axis in plan.axes}
    axes |= {arm.name: [value.name for value in arm.values] for arm in plan.arms}
    arms = [arm.name for arm in plan.arms]
    for text in texts:
        axis, _, values = text.partition("=")
        if axis not in axes:
            close = nearest(axis, axes)
            known = ", ".join(axis.name for axis in plan.axes)
            its = f"its axes are {known}, and its arms {', '.join(arms)}" if arms else f"its axes are {known}"
            hint = f"did you mean `{close}`?" if close else its
            raise TriposError("R0202", f"the benchmark has no axis{' or arm' if arms else ''} `{axis}`", hint)
        named = listed_names([values])
        for value in named:
            if value not in axes[axis]:
                hint = suggest(value, axes[axis], f"its values are {', '.join(axes[axis][:12])}")
                kind = "arm" if axis in arms else "axis"
                raise TriposError("R0202", f"{kind} `{axis}` has no value `{value}`", hint)
        if not named:
            raise TriposError("R0202", f"`{ONLY} {text}` names no value", f"write {ONLY} AXIS=VALUE[,VALUE]")
        only[axis] = (*only.get(axis, ()), *named)
    return only


def open_reply_tables(names: Iterable[str], trust: Trust = TRUSTED) -> dict[str, ReplyTableModel]:
    """Return the models among `names` that reply from a table, by name. Raises as `open_reply_table` does."""
    return {name: open_reply_table(name, trust) for name in names if kind_of(name).table}


def open_reply_table(name: str, trust: Trust = TRUSTED) -> ReplyTableModel:
    """Return the model `mock/replies:FILE` of that name. The file is JSON Lines, CSV or another table of the formats
    that data sets have. It is read within the limits of the command's trust, and once: identity and replies are those
    of a copy.

    Raises `TriposError` R0106 if there is no such file, and R0114 if it is no table of replies.

    >>> open_reply_table("mock/replies:none.jsonl")
    Traceback (most recent call last):
    tripos_compiler.errors.TriposError: R0106: there is no file `none.jsonl` of replies
      help: check the path after `mock/replies:`; it is relative to the working directory
    """
    path, shown = file_of(name), name.removeprefix(REPLIES.prefix)
    if not path.is_file():
        hint = f"check the path after `{REPLIES.prefix}`; it is relative to the working directory"
        raise TriposError("R0106", f"there is no file `{shown}` of replies", hint)
    try:
        check_size(path, path.name, trust.limits)
        with TemporaryDirectory() as folder:
            copy = Path(folder) / path.name
            SourceFolder.around(path, trust).file(path).copy(copy)
            rows = list(rows_in(copy, path.name, trust.limits))
            identity = table_identity(copy)
    except DataError as error:
        raise TriposError("R0114", error.message, error.hint) from error
    except OSError as error:
        raise TriposError("R0114", f"cannot read `{shown}`: {error.strerror}", "check the path") from error
    return ReplyTableModel(name, read_replies(rows, path.name), path.name, identity)
