"""Settings that a model is known not to take: what a request would go without, told before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tripos_compiler.plan import Ask, Converse, DeclaredSettings, Plan, Settings
from tripos_compiler.source import dataclass
from tripos_runtime.roles.binding import RoleBinding


@dataclass(frozen=True)
class Untaken:
    """A model that takes none of these settings, which the steps or scorers `where` give."""

    model: str
    settings: tuple[str, ...]
    where: tuple[str, ...]

    @property
    def shown(self) -> str:
        """In a line, for people."""
        named = [f"`{each}`" for each in self.settings]
        return f"{self.model} is asked without {', '.join(named)} in {', '.join(f'`{each}`' for each in self.where)}"


def untaken(plan: Plan, binding: RoleBinding, refused: Callable[[str, Settings], tuple[str, ...]]) -> list[Untaken]:
    """Return what each model would be asked without, in the order of the steps; `refused` says what a model does not
    take."""
    found: dict[tuple[str, tuple[str, ...]], dict[str, None]] = {}
    for where, role, settings in _given(plan):
        for name in binding.models.get(role, ()):
            if settings.given and (left_out := refused(name, settings)):
                found.setdefault((name, left_out), {})[where] = None
    return [Untaken(model, settings, tuple(where)) for (model, settings), where in found.items()]


def _given(plan: Plan) -> Iterator[tuple[str, str, Settings]]:
    """Yield every step or scorer that gives settings, with the role that it gives them to."""
    for scenario in plan.scenarios:
        for step in scenario.steps:
            if isinstance(step, Ask):
                yield from ((step.name, step.role, each) for each in _every(step.settings))
            elif isinstance(step, Converse):
                for speaker in step.speakers:
                    yield from ((step.name, speaker.role, each) for each in _every(speaker.settings))
    for scorer in plan.scorers:
        yield from ((scorer.name, role, each) for role in scorer.roles for each in _every(scorer.settings))
    for made in plan.made:
        yield from ((made.name, ask.role, each) for ask in made.asks for each in _every(ask.settings))


def _every(settings: DeclaredSettings) -> Iterator[Settings]:
    """Yield what every request is sent, and then each value that only some of them have."""
    yield settings.otherwise
    for name in settings.varied:
        yield from (settings.otherwise.model_copy(update={name: value}) for value in settings.values(name))
