"""Images, recordings and files that a plan shows to roles, and models that do not take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tripos_compiler.language import media_printed
from tripos_compiler.language.library import MediumKind
from tripos_compiler.plan import Ask, Converse, Plan, Texts
from tripos_compiler.source import dataclass
from tripos_runtime.roles.binding import BindingError, RoleBinding

TakesMedium = Callable[[str, MediumKind], bool | None]
"""Says of a model's name whether it takes a kind of medium; None where nobody knows."""
CODE = "R0126"
ARTICLES = {"image": "an image", "audio": "a recording", "file": "a file"}


@dataclass(frozen=True)
class UnknownSight:
    """A model of which nobody knows that it takes a kind of medium, which `where` shows it."""

    model: str
    kind: MediumKind
    where: str

    @property
    def shown(self) -> str:
        """In a line, for people."""
        return f"{self.model} is shown {ARTICLES[self.kind]} by `{self.where}`"


def check_sight(plan: Plan, binding: RoleBinding, takes: TakesMedium) -> None:
    """Raise `BindingError` R0126 for the first model that is shown what it is known not to take."""
    for where, role, kind in _shown(plan):
        for name in binding.models.get(role, ()):
            if takes(name, kind) is False:
                message = f"`{where}` shows {ARTICLES[kind]}, and `{name}` takes none"
                hint = f'give another model, or declare `media = ["{kind}"]` of its endpoint in tripos.toml'
                raise BindingError(CODE, message, hint)


def unknown_sight(plan: Plan, binding: RoleBinding, takes: TakesMedium) -> list[UnknownSight]:
    """List the models of which nobody knows whether they take what they are shown."""
    found = {
        (name, kind): UnknownSight(name, kind, where)
        for where, role, kind in reversed(list(_shown(plan)))
        for name in binding.models.get(role, ())
        if takes(name, kind) is None
    }
    return [found[key] for key in sorted(found)]


def _shown(plan: Plan) -> Iterator[tuple[str, str, MediumKind]]:
    """Yield what shows a kind of medium, and to which role."""
    for scenario in plan.scenarios:
        for step in scenario.steps:
            if isinstance(step, Ask):
                yield from ((step.name, step.role, kind) for kind in _of(*_texts_of(step)))
            elif isinstance(step, Converse):
                for speaker in step.speakers:
                    yield from ((step.name, speaker.role, kind) for kind in _of(speaker.system))
    for scorer in plan.scorers:
        yield from ((scorer.name, role, kind) for role in scorer.roles for kind in _of(scorer.system, scorer.prompt))
    for made in plan.made:
        yield from ((made.name, ask.role, kind) for ask in made.asks for kind in _of(*_texts_of(ask)))


def _texts_of(step: Ask) -> tuple[Texts | None, ...]:
    return (step.system, step.prompt, *(text for shots in step.shots for text in (shots.prompt, shots.reply)))


def _of(*texts: Texts | None) -> list[MediumKind]:
    return sorted({kind for each in texts if each is not None for one in each.values() for kind in media_printed(one)})
