"""The binding of a plan: the models in its roles, and which of them are part of the names of a step's results.

Models that generate data sets are part of the names of results that read these data sets, since other models generate
other rows. `requirements` yields the abilities that a plan requires of the models in its roles, and `unmet` the models
that lack one. All checks and warnings about bound models follow from these two."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Literal, NamedTuple

from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.errors import TriposError
from tripos_compiler.language.aggregates import families_in_name
from tripos_compiler.language.references import datasets_of
from tripos_compiler.language.rendering import media_printed
from tripos_compiler.library.media import MediumKind
from tripos_compiler.plan import (
    Ask,
    Compare,
    Converse,
    DeclaredSettings,
    GeneratedDataset,
    Grade,
    JudgedStep,
    Plan,
    Retrieve,
    Scenario,
    Settings,
    Step,
    Texts,
    Verdict,
    digest,
)
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.baselines import is_baseline
from tripos_runtime.models.embeddings import LOCAL, MOCK, embeds, only_writes
from tripos_runtime.models.families import accepts_tools, gives_likelihoods, gives_token_probabilities, has_template
from tripos_runtime.models.rewards import is_reward


def generators_of_inputs(plan: Plan, step: Step, models: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the models that generate the data sets that a step reads values or shots from, and the data sets that
    these are generated from. `models` are by role. The author of the row itself is not among them, since the content of
    a row is its name."""
    return generators_of(plan, datasets_of(step), models)


def generators_of(plan: Plan, datasets: Collection[str], models: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the models that generate these data sets and the data sets that they are generated from, each with its
    role."""
    generated = {dataset.name: dataset for dataset in plan.made}
    waiting = generated.keys() & datasets
    makers: set[str] = set()
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        dataset = generated[name]
        makers.update(f"{ask.role} {model}" for ask in dataset.asks for model in models.get(ask.role, ()))
        waiting |= (datasets_of(dataset) & generated.keys()) - seen
    return tuple(sorted(makers))


def generation_binding(
    plan: Plan, made: GeneratedDataset, fingerprint: str, models: Mapping[str, Sequence[str]]
) -> str:
    """Return the binding of the results of a generated data set: their names without the slot. All makers are part of
    it, since a prompt may say why the attempt of another maker was rejected."""
    return digest(["made", fingerprint, *generators_of(plan, [made.name], models)])


class BindingError(TriposError):
    """The given models do not fit the roles of the plan."""


@dataclass(frozen=True)
class RoleBinding:
    """The models of every role, by the role's name."""

    models: Mapping[str, tuple[str, ...]]
    compared: str
    identities: Mapping[str, str] = field(default_factory=dict)
    """The identity behind the name of a model, if the name does not determine it; see `identity_of` in
    `models/families.py`."""

    def of(self, role: str) -> tuple[str, ...]:
        """Return the models that fill a role."""
        return self.models[role]

    def identity_of(self, model: str) -> str:
        """Return the identity of a model in the names of its replies."""
        return self.identities.get(model, model)

    def identity_if_distinct(self, model: str) -> str | None:
        """Return the identity of a model if it differs from its name, else `None`."""
        return self.identities.get(model)

    @property
    def answering(self) -> dict[str, tuple[str, ...]]:
        """The identities of the models of every role, by the role's name."""
        return {role: tuple(map(self.identity_of, models)) for role, models in self.models.items()}

    @property
    def all_models(self) -> tuple[str, ...]:
        """Every model once, sorted."""
        return tuple(sorted({model for models in self.models.values() for model in models}))


REWARD_HINT = "give one: --role {}=reward/PATH, one on a server, or `mock/reward` to try it out"
EMBEDDING_HINT = f"give one: --role {{}}={LOCAL}, one that litellm knows, or `{MOCK}` to try it out"

Work = Literal["text", "likelihoods", "reward", "embedding"]
"""What a model is asked for: a text that it writes, likelihoods of given texts, a number, or vectors."""
RETURNS: Mapping[str, Work] = {"reply": "text", "reward": "reward", "similarity": "embedding"}
"""What the models of a scorer are asked for, by its `source`."""


class RoleUse(NamedTuple):
    """A place in a plan where the models of a role are asked: a step, a speaker, a scorer, or a request of a generated
    data set."""

    where: str
    role: str
    work: Work
    settings: DeclaredSettings = DeclaredSettings()
    texts: tuple[Texts | None, ...] = ()
    tools: bool = False


def role_uses(
    plan: Plan, scenarios: Sequence[Scenario] | None = None, made: Collection[str] | None = None
) -> Iterator[RoleUse]:
    """Yield every use of a role in these scenarios and generated data sets, or in the whole plan.

    A step has the same roles in all treatments, so the steps of the scenario suffice."""
    steps = [step for scenario in (plan.scenarios if scenarios is None else scenarios) for step in scenario.steps]
    for step in steps:
        if isinstance(step, Ask):
            yield _use_by_ask(step.name, step)
        elif isinstance(step, Converse):
            for speaker in step.speakers:
                yield RoleUse(step.name, speaker.role, "text", speaker.settings, (speaker.system,))
        elif isinstance(step, Retrieve) and step.using is not None:
            yield RoleUse(step.name, step.using, "embedding")
    judging = {step.scorer for step in steps if isinstance(step, JudgedStep)}
    for scorer in plan.scorers:
        if scenarios is None or scorer.name in judging:
            texts = (scorer.system, scorer.prompt)
            for role in scorer.roles:
                yield RoleUse(scorer.name, role, RETURNS[scorer.source], scorer.settings, texts)
    for dataset in plan.made:
        if made is None or dataset.name in made:
            yield from (_use_by_ask(dataset.name, ask) for ask in dataset.asks)


def _use_by_ask(where: str, ask: Ask) -> RoleUse:
    texts = (ask.system, ask.prompt, *(text for shots in ask.shots for text in (shots.prompt, shots.reply)))
    work: Work = "text" if ask.options is None else "likelihoods"
    return RoleUse(where, ask.role, work, ask.settings, texts, ask.calls_tools)


def reward_roles(plan: Plan) -> frozenset[str]:
    """Return the roles that give rewards."""
    return frozenset(use.role for use in role_uses(plan) if use.work == "reward")


def embedding_roles(plan: Plan, scenarios: Sequence[Scenario] | None = None) -> frozenset[str]:
    """Return the roles that embed texts in these scenarios, or in all: for retrieval or for a similarity."""
    return frozenset(use.role for use in role_uses(plan, scenarios) if use.work == "embedding")


Ability = Literal[
    "embedding", "not embedding", "reward", "not a baseline", "text", "likelihoods", "probabilities", "template",
    "tools", "image", "audio", "file", "settings",
]  # fmt: skip


class Requirement(NamedTuple):
    """An ability that the models of a role must have. `where` is the use that requires it; empty if the role itself
    does. `value` is the kind of a medium, or the settings of a request."""

    ability: Ability
    role: str
    where: str = ""
    value: MediumKind | Settings | None = None


def requirements(plan: Plan) -> Iterator[Requirement]:
    """Yield everything that a plan requires of the models in its roles."""
    embedding = embedding_roles(plan)
    for declared in plan.roles:
        if declared.name not in embedding:
            yield Requirement("not embedding", declared.name)
        if declared.kind != "compared":
            yield Requirement("not a baseline", declared.name)
    for use in role_uses(plan):
        yield Requirement(use.work, use.role, use.where)
        if use.tools:
            yield Requirement("tools", use.role, use.where)
        for ability, setting in SETTING_ABILITIES.items():
            if use.settings.values(setting) != (None,):
                yield Requirement(ability, use.role, use.where)
        kinds = {kind for text in use.texts if text is not None for one in text.values() for kind in media_printed(one)}
        yield from (Requirement(kind, use.role, use.where, kind) for kind in sorted(kinds))
        yield from (Requirement("settings", use.role, use.where, each) for each in _each_setting(use.settings))


SETTING_ABILITIES: Mapping[Ability, str] = {"probabilities": "top_logprobs", "template": "chat_template"}
"""The settings that may not be left out of a request, by the ability that they require."""


def _each_setting(settings: DeclaredSettings) -> Iterator[Settings]:
    """Yield the settings without conditions, and these with each value of a setting that only some requests have."""
    varied = ((name, value) for name in settings.varied for value in settings.values(name))
    variants = (settings.otherwise, *(settings.otherwise.model_copy(update={name: value}) for name, value in varied))
    yield from (each for each in variants if each.given)


class Unmet(NamedTuple):
    """A model that lacks an ability that its role requires; if `known` is false, it is unknown whether it does."""

    requirement: Requirement
    model: str
    known: bool

    def error(self) -> BindingError:
        """Return the error of a model that is known to lack the ability."""
        (ability, role, where, _), name = self.requirement, self.model
        match ability:
            case "embedding":
                gives = "gives rewards" if is_reward(name) else "writes text"
                message = f"the role `{role}` embeds texts, and `{name}` {gives}"
                return BindingError("R0256", message, EMBEDDING_HINT.format(role))
            case "not embedding":
                message = f"`{name}` embeds texts, and the role `{role}` is asked for others"
                return BindingError("R0256", message, f"give another: --role {role}=PROVIDER/MODEL")
            case "reward":
                message = f"the role `{role}` takes a reward model, and `{name}` writes text"
                return BindingError("R0231", message, REWARD_HINT.format(role))
            case "not a baseline":
                message = f"`{name}` is a baseline, and the role `{role}` is not compared"
                return BindingError("R0236", message, f"give it as a model: --model {name}")
            case "text":
                message = f"`{name}` is a reward model, and the role `{role}` writes text"
                return BindingError("R0232", message, f"give another: --role {role}=PROVIDER/MODEL")
            case "likelihoods":
                message = f"`{where}` asks for likelihoods, and `{name}` gives none"
                hint = "give a local model, or a server of completions: --model text-completion-openai/NAME"
                return BindingError("R0125", message, hint)
            case "probabilities":
                message = f"`{where}` asks for the probabilities of tokens, and `{name}` gives none"
                hint = "give a model with a chat that has `top_logprobs`, such as `openai/gpt-4o`"
                return BindingError("R0125", message, hint)
            case "template":
                message = f"`{where}` asks in the template of the model, and `{name}` has none that is known"
                hint = "give a local model with a template, or leave out `chat_template`"
                return BindingError("R0129", message, hint)
            case "tools":
                message = f"`{where}` offers tools, and `{name}` cannot call them"
                hint = "give a model with a chat that takes tools, such as `openai/gpt-4o`"
                return BindingError("R0128", message, hint)
            case "image" | "audio" | "file":
                message = f"`{where}` shows {ARTICLES[ability]}, and `{name}` takes none"
                hint = f'give another model, or declare `media = ["{ability}"]` of its endpoint in tripos.toml'
                return BindingError("R0126", message, hint)
            case "settings":
                raise ValueError("a model is asked without a setting that it ignores")


Facts = Mapping[Ability, Callable[..., bool | None]]
"""Functions that return whether a model has an ability; None if unknown. Each takes the name of the model and the
`value` of the requirement, if that has one."""
BY_NAME: Facts = {
    "embedding": lambda name: not only_writes(name) and not is_reward(name),
    "not embedding": lambda name: not embeds(name),
    "reward": is_reward,
    "not a baseline": lambda name: not is_baseline(name),
    "text": lambda name: not is_reward(name),
    "likelihoods": gives_likelihoods,
    "probabilities": gives_token_probabilities,
    "template": has_template,
    "tools": accepts_tools,
}
"""The abilities that the name of a model determines, in the order in which a lack is reported."""
ARTICLES: Mapping[Ability, str] = {"image": "an image", "audio": "a recording", "file": "a file"}


def unmet(plan: Plan, models: Mapping[str, Sequence[str]], facts: Facts) -> Iterator[Unmet]:
    """Yield the models that lack a required ability among those of `facts`, or for which this is unknown, in the order
    of `facts`. `models` are by role. A model that embeds for one role can do nothing else."""
    required = list(requirements(plan))
    embedders = {model for each in required if each.ability == "embedding" for model in models.get(each.role, ())}
    for ability, has in facts.items():
        for requirement in required:
            for model in models.get(requirement.role, ()) if requirement.ability == ability else ():
                able = has(model) if requirement.value is None else has(model, requirement.value)
                if not able or (ability == "not embedding" and model in embedders):
                    yield Unmet(requirement, model, able is not None)


class NoEmbedding(TriposError):
    """A role that embeds texts has no model of its own."""

    def __init__(self, role: str) -> None:
        super().__init__("R0255", f"no embedding model fills the role `{role}`", EMBEDDING_HINT.format(role))


def check_embedding(plan: Plan, scenarios: Sequence[Scenario], models: Mapping[str, Sequence[str]]) -> None:
    """Raise `NoEmbedding` for the first role that embeds texts in these scenarios and has no model."""
    for role in sorted(embedding_roles(plan, scenarios)):
        if not models.get(role):
            raise NoEmbedding(role)


TakesMedium = Callable[[str, MediumKind], bool | None]
"""Returns whether a model of that name accepts a kind of medium; None if unknown."""


def check_media(plan: Plan, models: Mapping[str, Sequence[str]], takes: TakesMedium) -> None:
    """Raise `BindingError` R0126 for the first model that is shown a medium which it is known not to accept."""
    for each in unmet(plan, models, dict.fromkeys(ARTICLES, takes)):
        if each.known:
            raise each.error()


def unknown_media(plan: Plan, models: Mapping[str, Sequence[str]], takes: TakesMedium) -> list[str]:
    """Return a text for each model and kind of medium for which it is unknown whether the model accepts it."""
    shown: dict[tuple[str, str], str] = {}
    for (kind, _, where, _), name, known in unmet(plan, models, dict.fromkeys(ARTICLES, takes)):
        if not known:
            shown.setdefault((name, kind), f"{name} is shown {ARTICLES[kind]} by `{where}`")
    return [shown[key] for key in sorted(shown)]


def ignored_settings(
    plan: Plan, models: Mapping[str, Sequence[str]], refused: Callable[[str, Settings], tuple[str, ...]]
) -> list[str]:
    """Return a text for each model and the settings that it would ignore, in the order of the steps. `refused` returns
    the settings that a model ignores."""
    places: dict[tuple[str, tuple[str, ...]], dict[str, None]] = {}
    for requirement, name, _ in unmet(plan, models, {"settings": lambda *asked: not refused(*asked)}):
        assert isinstance(requirement.value, Settings)
        places.setdefault((name, refused(name, requirement.value)), {})[requirement.where] = None
    return [
        f"{name} is asked without {_quoted(left_out)} in {_quoted(where)}" for (name, left_out), where in places.items()
    ]


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def self_judging(plan: Plan, binding: RoleBinding) -> list[str]:
    """Return a text for every judge that would grade its own replies or those of a compared model of its family, in the
    order of the roles. Judges that compare replies count only if there are several compared models."""
    compared = binding.of(binding.compared)
    scorers = {scorer.name: scorer for scorer in plan.scorers}
    used = [
        step.scorer
        for scenario in plan.scenarios
        for step in scenario.steps
        if isinstance(step, Grade | Verdict) or (isinstance(step, Compare) and len(compared) > 1)
    ]
    return [
        text
        for role in dict.fromkeys(role for name in used for role in scorers[name].roles)
        for judge in binding.models.get(role, ())
        for text in _family_judging(role, judge, compared)
    ]


def _family_judging(role: str, judge: str, models: Sequence[str]) -> Iterator[str]:
    own = families_in_name(judge)
    for model in models:
        if judge == model:
            yield f"{role} {judge} grades its own replies"
        elif family := own & families_in_name(model):
            yield f"{role} {judge} grades {model}: both are of the {', '.join(sorted(family))} family"


def bind(plan: Plan, compared: tuple[str, ...], others: Mapping[str, tuple[str, ...]]) -> RoleBinding:
    """Fill the roles of a plan: the models `compared` fill the compared role, and `others` the other roles, by name. A
    role without a model takes its default, else the compared model, if there is only one or if all are mock models.

    Raises `BindingError` if a role stays empty, is unknown, or gets more models than it takes."""
    role = next(role for role in plan.roles if role.kind == "compared")
    known = {declared.name: declared for declared in plan.roles}
    for name in others:
        if name not in known:
            hint = suggest(name, known, f"its roles are {', '.join(known)}")
            raise BindingError("R0201", f"the benchmark has no role `{name}`", hint)
    models = {role.name: compared or tuple(others.get(role.name, ()))}
    if not models[role.name]:
        raise BindingError(
            "R0201",
            f"no model fills the role `{role.name}`",
            "give one: --model PROVIDER/MODEL, or --model mock/careful to try without a key",
        )
    used = {use.role for use in role_uses(plan) if use.work != "embedding"}
    trial = all(model.startswith("mock/") for model in models[role.name])  # it does not matter which of them judges
    empty = []
    for name, other in known.items():
        if name == role.name:
            continue
        given = tuple(dict.fromkeys(others.get(name) or others.get(other.default or "", ())))
        if not given and name in used and name in reward_roles(plan):
            raise BindingError("R0231", f"no reward model fills the role `{name}`", REWARD_HINT.format(name))
        if not given and name in used:
            if len(models[role.name]) != 1 and not trial:
                empty.append(name)
            given = models[role.name][:1]
        if len(given) > 1 and other.kind == "single":
            hint = f"give one model, or declare `role {name} panel`"
            raise BindingError("R0201", f"role `{name}` takes one model, not {len(given)}", hint)
        models[name] = given
    if empty:
        roles, give = ("roles", "give each one") if len(empty) > 1 else ("role", "give one")
        text = f"no model fills the {roles} {', '.join(f'`{name}`' for name in empty)}"
        raise BindingError("R0201", text, f"{give}: {' '.join(f'--role {name}=PROVIDER/MODEL' for name in empty)}")
    models[role.name] = tuple(dict.fromkeys(models[role.name]))
    if (first := next(unmet(plan, models, BY_NAME), None)) is not None:
        raise first.error()
    return RoleBinding(models, role.name)
