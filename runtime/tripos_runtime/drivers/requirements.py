"""What the roles of a plan require of their models: judges of their own family, media, ignored settings, reply lengths.

Each is determined from the plan and the binding before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from tripos_compiler.language.aggregates import families_in_name
from tripos_compiler.language.rendering import media_printed
from tripos_compiler.library.media import MediumKind
from tripos_compiler.plan import (
    Ask,
    Compare,
    Converse,
    DeclaredSettings,
    Grade,
    JudgedStep,
    Plan,
    Scenario,
    Settings,
    Texts,
    Verdict,
)
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.program.binding import BindingError, RoleBinding


@dataclass(frozen=True)
class SelfJudging:
    """A judge that grades replies of itself or of its own model family."""

    role: str
    judge: str
    model: str
    family: str

    @property
    def shown(self) -> str:
        """The text of a message."""
        if self.judge == self.model:
            return f"{self.role} {self.judge} grades its own replies"
        return f"{self.role} {self.judge} grades {self.model}: both are of the {self.family} family"


def self_judging(plan: Plan, binding: RoleBinding) -> list[SelfJudging]:
    """Return every judge that would grade a compared model of its own family, in the order of the roles."""
    judgings: list[SelfJudging] = []
    for role in _judges(plan, several=len(binding.of(binding.compared)) > 1):
        for judge in binding.models.get(role, ()):
            judgings += _family_judging(role, judge, binding.of(binding.compared))
    return judgings


def _judges(plan: Plan, *, several: bool) -> list[str]:
    """Return the roles that judge replies; roles that compare models only if there are several models."""
    scorers = {scorer.name: scorer for scorer in plan.scorers}
    used = [
        step.scorer
        for scenario in plan.scenarios
        for step in scenario.steps
        if isinstance(step, Grade | Verdict) or (isinstance(step, Compare) and several)
    ]
    return list(dict.fromkeys(role for name in used for role in scorers[name].roles))


def _family_judging(role: str, judge: str, models: Sequence[str]) -> list[SelfJudging]:
    own = families_in_name(judge)
    return [
        SelfJudging(role, judge, model, ", ".join(sorted(own & families_in_name(model))) or judge)
        for model in models
        if judge == model or own & families_in_name(model)
    ]


TakesMedium = Callable[[str, MediumKind], bool | None]
"""Returns whether a model of that name accepts a kind of medium; None if unknown."""
CODE = "R0126"
ARTICLES = {"image": "an image", "audio": "a recording", "file": "a file"}


@dataclass(frozen=True)
class UnknownMediaSupport:
    """A model for which it is unknown whether it accepts a kind of medium that `where` shows it."""

    model: str
    kind: MediumKind
    where: str

    @property
    def shown(self) -> str:
        """The text of a message."""
        return f"{self.model} is shown {ARTICLES[self.kind]} by `{self.where}`"


def check_media(plan: Plan, binding: RoleBinding, takes: TakesMedium) -> None:
    """Raise `BindingError` R0126 for the first model that is shown a medium which it is known not to accept."""
    for where, role, kind in _shown(plan):
        for name in binding.models.get(role, ()):
            if takes(name, kind) is False:
                message = f"`{where}` shows {ARTICLES[kind]}, and `{name}` takes none"
                hint = f'give another model, or declare `media = ["{kind}"]` of its endpoint in tripos.toml'
                raise BindingError(CODE, message, hint)


def unknown_media_support(plan: Plan, binding: RoleBinding, takes: TakesMedium) -> list[UnknownMediaSupport]:
    """Return the models for which it is unknown whether they accept what they are shown."""
    supports = {
        (name, kind): UnknownMediaSupport(name, kind, where)
        for where, role, kind in reversed(list(_shown(plan)))
        for name in binding.models.get(role, ())
        if takes(name, kind) is None
    }
    return [supports[key] for key in sorted(supports)]


def _shown(plan: Plan) -> Iterator[tuple[str, str, MediumKind]]:
    """Yield the steps that show a kind of medium, and the role that sees it."""
    for scenario in plan.scenarios:
        for step in scenario.steps:
            if isinstance(step, Ask):
                yield from ((step.name, step.role, kind) for kind in _media_in(*_texts_of(step)))
            elif isinstance(step, Converse):
                for speaker in step.speakers:
                    yield from ((step.name, speaker.role, kind) for kind in _media_in(speaker.system))
    for scorer in plan.scorers:
        yield from (
            (scorer.name, role, kind) for role in scorer.roles for kind in _media_in(scorer.system, scorer.prompt)
        )
    for dataset in plan.made:
        yield from ((dataset.name, ask.role, kind) for ask in dataset.asks for kind in _media_in(*_texts_of(ask)))


def _texts_of(step: Ask) -> tuple[Texts | None, ...]:
    return (step.system, step.prompt, *(text for shots in step.shots for text in (shots.prompt, shots.reply)))


def _media_in(*texts: Texts | None) -> list[MediumKind]:
    return sorted({kind for text in texts if text is not None for one in text.values() for kind in media_printed(one)})


@dataclass(frozen=True)
class IgnoredSettings:
    """A model that ignores these settings, which the steps or scorers `where` set."""

    model: str
    settings: tuple[str, ...]
    where: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The text of a message."""
        named = [f"`{setting}`" for setting in self.settings]
        return f"{self.model} is asked without {', '.join(named)} in {', '.join(f'`{each}`' for each in self.where)}"


def ignored_settings(
    plan: Plan, binding: RoleBinding, refused: Callable[[str, Settings], tuple[str, ...]]
) -> list[IgnoredSettings]:
    """Return the settings that each model would ignore, in the order of the steps; `refused` returns what a model
    ignores."""
    found: dict[tuple[str, tuple[str, ...]], dict[str, None]] = {}
    for where, role, settings in _given_settings(plan):
        for name in binding.models.get(role, ()):
            if settings.given and (left_out := refused(name, settings)):
                found.setdefault((name, left_out), {})[where] = None
    return [IgnoredSettings(model, settings, tuple(where)) for (model, settings), where in found.items()]


def _given_settings(plan: Plan) -> Iterator[tuple[str, str, Settings]]:
    """Yield every step or scorer that sets settings, with its role."""
    for scenario in plan.scenarios:
        for step in scenario.steps:
            if isinstance(step, Ask):
                yield from ((step.name, step.role, settings) for settings in _every(step.settings))
            elif isinstance(step, Converse):
                for speaker in step.speakers:
                    yield from ((step.name, speaker.role, settings) for settings in _every(speaker.settings))
    for scorer in plan.scorers:
        yield from ((scorer.name, role, settings) for role in scorer.roles for settings in _every(scorer.settings))
    for dataset in plan.made:
        yield from ((dataset.name, ask.role, settings) for ask in dataset.asks for settings in _every(ask.settings))


def _every(settings: DeclaredSettings) -> Iterator[Settings]:
    """Yield the settings of every request, and then each value that only some requests have."""
    yield settings.otherwise
    for name in settings.varied:
        yield from (settings.otherwise.model_copy(update={name: value}) for value in settings.values(name))


class ReplyLength(NamedTuple):
    """The largest number of tokens of a role's reply to a step or scorer; `None` if the plan sets no limit."""

    where: str
    role: str
    max_tokens: int | None


def reply_lengths(plan: Plan, scenarios: Sequence[Scenario], made: Collection[str] = ()) -> Iterator[ReplyLength]:
    """Yield the limit of each step, speaker and scorer that writes replies in these scenarios, or for these generated
    data sets. Of settings that depend on the row, the widest counts."""
    steps = [step for scenario in scenarios for step in scenario.steps]
    for step in steps:
        if isinstance(step, Ask) and step.options is None:
            yield ReplyLength(step.name, step.role, step.settings.widest.max_tokens)
        elif isinstance(step, Converse):
            for speaker in step.speakers:
                yield ReplyLength(step.name, speaker.role, speaker.settings.widest.max_tokens)
    judging = {step.scorer for step in steps if isinstance(step, JudgedStep)}
    for scorer in plan.scorers:
        if scorer.name in judging and scorer.source != "similarity":
            for role in scorer.roles:
                yield ReplyLength(scorer.name, role, scorer.settings.widest.max_tokens)
    for dataset in plan.made:
        for ask in dataset.asks if dataset.name in made else ():
            yield ReplyLength(dataset.name, ask.role, ask.settings.widest.max_tokens)
