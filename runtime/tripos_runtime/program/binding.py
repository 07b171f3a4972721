"""The binding of a plan: the models in its roles, and which of them name a step's results.

Models that generate data sets are part of the names of results that read these data sets, since other models generate
other rows. The module also finds the first model that cannot do what its role asks for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.errors import TriposError
from tripos_compiler.language.references import datasets_of
from tripos_compiler.plan import Ask, GeneratedDataset, JudgedStep, Plan, Retrieve, Scenario, Step, digest
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.baselines import is_baseline
from tripos_runtime.models.embeddings import LOCAL, MOCK, embeds, only_writes
from tripos_runtime.models.families import accepts_tools, gives_likelihoods, gives_token_probabilities, has_template
from tripos_runtime.models.rewards import is_reward


def generators_of_inputs(plan: Plan, step: Step, models: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the models that generate the data sets that a step reads values from or draws shots from, and the data
    sets behind these. `models` are by role. The author of the row itself is not among them: a row is named by its
    content."""
    return generators_of(plan, datasets_of(step), models)


def generators_of(plan: Plan, datasets: Collection[str], models: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the models that generate these data sets and the data sets that they are generated from, each with its
    role."""
    generated_datasets = {generated_dataset.name: generated_dataset for generated_dataset in plan.made}
    waiting = generated_datasets.keys() & datasets
    found: set[str] = set()
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        dataset = generated_datasets[name]
        found.update(f"{ask.role} {model}" for ask in dataset.asks for model in models.get(ask.role, ()))
        waiting |= (datasets_of(dataset) & generated_datasets.keys()) - seen
    return tuple(sorted(found))


def generation_binding(
    plan: Plan, made: GeneratedDataset, fingerprint: str, models: Mapping[str, Sequence[str]]
) -> str:
    """Return the binding of everything asked and decided for a generated data set: its name without the slot. It names
    all makers, since one maker is told what another one's attempt was rejected for."""
    return digest(["made", fingerprint, *generators_of(plan, [made.name], models)])


REWARD_HINT = "give one: --role {}=reward/PATH, one on a server, or `mock/reward` to try it out"


def reward_roles(plan: Plan) -> frozenset[str]:
    """Return the roles that give rewards."""
    return frozenset(scorer.role for scorer in plan.scorers if scorer.source == "reward")


def unmet_likelihood(plan: Plan, models: Mapping[str, Sequence[str]]) -> tuple[str, str, str] | None:
    """Return code, message and hint for the first model that is asked for likelihoods of texts and cannot return them;
    None if there is none."""
    for scenario in plan.scenarios:
        for step in scenario.steps:
            for name in models.get(step.role, ()) if isinstance(step, Ask) and step.options is not None else ():
                if not gives_likelihoods(name):
                    message = f"`{step.name}` asks for likelihoods, and `{name}` gives none"
                    hint = "give a local model, or a server of completions: --model text-completion-openai/NAME"
                    return "R0125", message, hint
    return None


def unmet_probabilities(plan: Plan, models: Mapping[str, Sequence[str]]) -> tuple[str, str, str] | None:
    """Return code, message and hint for the first model that is asked for token probabilities and cannot return them;
    None if there is none."""
    asked = [
        (step.name, step.role)
        for scenario in plan.scenarios
        for step in scenario.steps
        if isinstance(step, Ask) and step.settings.top_logprobs is not None
    ]
    asked += [
        (scorer.name, role)
        for scorer in plan.scorers
        if scorer.settings.top_logprobs is not None
        for role in scorer.roles
    ]
    for step, role in asked:
        for name in models.get(role, ()):
            if not gives_token_probabilities(name):
                message = f"`{step}` asks for the probabilities of tokens, and `{name}` gives none"
                return "R0125", message, "give a model with a chat that has `top_logprobs`, such as `openai/gpt-4o`"
    return None


def unmet_template(plan: Plan, models: Mapping[str, Sequence[str]]) -> tuple[str, str, str] | None:
    """Return code, message and hint for the first model that should use a prompt template of its own and has none; None
    if there is none."""
    for scenario in plan.scenarios:
        for step in scenario.steps:
            for name in models.get(step.role, ()) if isinstance(step, Ask) and step.settings.chat_template else ():
                if not has_template(name):
                    message = f"`{step.name}` asks in the template of the model, and `{name}` has none that is known"
                    return "R0129", message, "give a local model with a template, or leave out `chat_template`"
    return None


def unmet_tools(plan: Plan, models: Mapping[str, Sequence[str]]) -> tuple[str, str, str] | None:
    """Return code, message and hint for the first model that is offered tools and cannot call them; None if there is
    none."""
    for scenario in plan.scenarios:
        for step in scenario.steps:
            for name in models.get(step.role, ()) if isinstance(step, Ask) and step.calls_tools else ():
                if not accepts_tools(name):
                    message = f"`{step.name}` offers tools, and `{name}` cannot call them"
                    return "R0128", message, "give a model with a chat that takes tools, such as `openai/gpt-4o`"
    return None


def unmet_reward(plan: Plan, models: Mapping[str, Sequence[str]]) -> tuple[str, str, str] | None:
    """Return code, message and hint for the first role that should, or should not, be filled by reward models and is
    not filled accordingly; None if there is none."""
    giving = reward_roles(plan)
    writing = {role for scorer in plan.scorers if scorer.writes for role in scorer.roles} | (
        {step.role for scenario in plan.scenarios for step in scenario.steps if step.step == "ask"}
    )
    compared = next(role.name for role in plan.roles if role.kind == "compared")
    for role, names in models.items():
        for name in names:
            if role in giving and not is_reward(name):
                message = f"the role `{role}` takes a reward model, and `{name}` writes text"
                return "R0231", message, REWARD_HINT.format(role)
            if role != compared and is_baseline(name):
                message = f"`{name}` is a baseline, and the role `{role}` is not compared"
                return "R0236", message, f"give it as a model: --model {name}"
            if role in writing and is_reward(name):
                message = f"`{name}` is a reward model, and the role `{role}` writes text"
                return "R0232", message, f"give another: --role {role}=PROVIDER/MODEL"
    return None


HINT = f"give one: --role {{}}={LOCAL}, one that litellm knows, or `{MOCK}` to try it out"


def embedding_roles(plan: Plan, scenarios: Sequence[Scenario] | None = None) -> frozenset[str]:
    """Return the roles that embed texts in these scenarios, or in all: for retrieval or for a similarity.

    All treatments of a step have the roles of the step, so it is enough to look at the steps as written."""
    steps = [step for scenario in (plan.scenarios if scenarios is None else scenarios) for step in scenario.steps]
    found = {step.using for step in steps if isinstance(step, Retrieve) and step.using is not None}
    judged = {step.scorer for step in steps if isinstance(step, JudgedStep)}
    return frozenset(
        found | {scorer.role for scorer in plan.scorers if scorer.source == "similarity" and scorer.name in judged}
    )


class NoEmbedding(TriposError):
    """A role that embeds texts has no model of its own."""

    def __init__(self, role: str) -> None:
        super().__init__("R0255", f"no embedding model fills the role `{role}`", HINT.format(role))


def check_embedding(plan: Plan, scenarios: Sequence[Scenario], models: Mapping[str, Sequence[str]]) -> None:
    """Raise `NoEmbedding` for the first role that embeds texts in these scenarios and has no model."""
    for role in sorted(embedding_roles(plan, scenarios)):
        if not models.get(role):
            raise NoEmbedding(role)


def unmet_embedding(plan: Plan, models: Mapping[str, Sequence[str]]) -> tuple[str, str, str] | None:
    """Return code, message and hint for the first role that should, or should not, be filled by embedding models and is
    not filled accordingly; None if there is none."""
    embedding = embedding_roles(plan)
    embedders = {name for role in embedding for name in models.get(role, ())}
    for role in sorted(embedding):
        for name in models.get(role, ()):
            if only_writes(name) or is_reward(name):
                gives = "gives rewards" if is_reward(name) else "writes text"
                return "R0256", f"the role `{role}` embeds texts, and `{name}` {gives}", HINT.format(role)
    for role, names in models.items():
        for name in names:
            if role not in embedding and (embeds(name) or name in embedders):
                message = f"`{name}` embeds texts, and the role `{role}` is asked for others"
                return "R0256", message, f"give another: --role {role}=PROVIDER/MODEL"
    return None


class BindingError(TriposError):
    """The models given do not fit the roles of the plan."""


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
        """Return the identity that names the replies of a model."""
        return self.identities.get(model, model)

    def identity_if_distinct(self, model: str) -> str | None:
        """Return the identity of a model if it differs from its name, else `None`."""
        return self.identities.get(model)

    @property
    def answering(self) -> dict[str, tuple[str, ...]]:
        """Return the identities that name the replies of every role, by the role's name."""
        return {role: tuple(map(self.identity_of, models)) for role, models in self.models.items()}

    @property
    def all_models(self) -> tuple[str, ...]:
        """Every model once, sorted."""
        return tuple(sorted({model for models in self.models.values() for model in models}))


def generating_roles(plan: Plan) -> set[str]:
    """Return the roles that generate data sets."""
    return {ask.role for dataset in plan.made for ask in dataset.asks}


def bind(plan: Plan, compared: tuple[str, ...], others: Mapping[str, tuple[str, ...]]) -> RoleBinding:
    """Fill the roles of a plan: `compared` models the compared role, `others` the other roles by name. A role without a
    model takes its default; else the compared model if there is only one, or the first of several mock models.

    Raises `BindingError` if a role stays empty, is unknown, or gets more models than it takes."""
    role = next(role for role in plan.roles if role.kind == "compared")
    known = {r.name: r for r in plan.roles}
    for name in others:
        if name not in known:
            hint = suggest(name, known, f"its roles are {', '.join(known)}")
            raise BindingError("R0201", f"the benchmark has no role `{name}`", hint)
    models = {role.name: compared or tuple(others.get(role.name, ()))}
    if not models[role.name]:
        raise BindingError("R0201", f"no model fills the role `{role.name}`", "give one: --model PROVIDER/MODEL")
    used = {step.role for scenario in plan.scenarios for step in scenario.steps if step.step == "ask"}
    used |= {speaker.role for scenario in plan.scenarios for talk in scenario.talks for speaker in talk.speakers}
    used |= {role for scorer in plan.scorers for role in scorer.roles} - embedding_roles(plan)
    used |= generating_roles(plan)
    trial = all(model.startswith("mock/") for model in models[role.name])  # there is nothing to learn of who grades
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
    misfilled = (
        *(unmet_embedding, unmet_reward, unmet_likelihood, unmet_probabilities),
        *(unmet_template, unmet_tools),
    )
    if (wrong := next(filter(None, (check(plan, models) for check in misfilled)), None)) is not None:
        raise BindingError(*wrong)
    return RoleBinding(models, role.name)
