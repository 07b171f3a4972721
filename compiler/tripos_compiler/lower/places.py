"""In which cases a step takes place. What rows and axes decide is decided here; what a reply decides is left open.

A step takes place where its condition holds and whatever it takes from other steps is there. It takes nothing that
stands in a passage which is not printed, or behind an `and` or `or` that is decided before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from tripos_compiler.plan import (
    Ask,
    Binary,
    Call,
    Compare,
    Converse,
    Expr,
    Get,
    Grade,
    Hole,
    Items,
    Passage,
    Ref,
    Retrieve,
    Step,
    Texts,
    Unary,
    Verdict,
)
from tripos_compiler.semantics.evaluate import Unavailable, evaluate
from tripos_compiler.semantics.library import FUNCTIONS
from tripos_compiler.semantics.names import names_in, parts_of

Case = Mapping[str, Any]
"""The names of one case: its axes, and its row under the alias."""


@dataclass(frozen=True)
class Need:
    """A step whose result is taken where all of `guards` hold."""

    step: str
    guards: tuple[Expr, ...] = ()


class Places:
    """Tells it of the steps of one treatment. `names` are those that a case has."""

    def __init__(self, steps: Sequence[Step], names: Set[str]) -> None:
        self.names = names
        self._decides: dict[int, bool] = {}
        self._held: list[Expr] = []
        called = {step.name for step in steps if isinstance(step, Ask | Converse | Retrieve | Verdict)}
        self.whens = {step.name: step.when for step in steps if step.name in called}
        self.needs = {step.name: [need for need in _needs(step) if need.step in called] for step in steps}

    def always(self, step: Step) -> bool:
        """Whether a step takes place in every case, whatever is replied."""
        return step.when is None and all(self._always(need.step) for need in self.needs[step.name])

    def _always(self, name: str) -> bool:
        return self.whens[name] is None and all(self._always(need.step) for need in self.needs[name])

    def in_case(self, step: Step, case: Case) -> bool | None:
        """Whether a step takes place in a case; None where a reply decides."""
        return _all([self._holds(step.when, case), *(self._there(need, case) for need in self.needs[step.name])])

    def _there(self, need: Need, case: Case) -> bool | None:
        """Whether what is needed is there, or not needed in this case."""
        needed = _all([self._holds(guard, case) for guard in need.guards])
        if needed is False:
            return True
        others = [self._there(each, case) for each in self.needs[need.step]]
        there = _all([self._holds(self.whens[need.step], case), *others])
        return there if needed or there else None

    def _decided(self, when: Expr) -> bool:
        """Whether the names of a case decide a condition; looked into once, since there are many cases."""
        found = self._decides.get(id(when))
        if found is None:
            found = names_in(when) <= self.names and all(_is_known(part) for part in parts_of(when))
            self._decides[id(when)] = found
            self._held.append(when)  # an id names it as long as it lives
        return found

    def _holds(self, when: Expr | None, case: Case) -> bool | None:
        if when is None:
            return True
        if self._decided(when):
            try:
                return bool(evaluate(when, case))
            except Unavailable:
                return False  # it has no value, and then the step is not done
        match when:
            case Unary(operator="not", value=value):
                inner = self._holds(value, case)
                return None if inner is None else not inner
            case Binary(operator="and", left=left, right=right):
                return _all([self._holds(left, case), self._holds(right, case)])
            case Binary(operator="or", left=left, right=right):
                sides = [self._holds(left, case), self._holds(right, case)]
                return True if True in sides else None if None in sides else False
        return None


def _all(parts: Sequence[bool | None]) -> bool | None:
    return False if False in parts else None if None in parts else True


def _is_known(part: Expr) -> bool:
    """Whether the compiler can evaluate it: no data set, no tree, no function of the user's."""
    return part.op not in ("data", "tree") and (not isinstance(part, Call) or part.function in FUNCTIONS)


def _needs(step: Step) -> Iterator[Need]:
    """What a step takes from others. Of shots, what is taken where there are some."""
    if step.when is not None:
        yield from _taken(step.when)
    match step:
        case Ask():
            yield from _in_texts(step.system)
            yield from _in_texts(step.prompt)
            if step.chat is not None:
                yield from _taken(step.chat)
            if step.continues is not None:
                yield Need(step.continues)
            for shots in step.shots:
                where = () if shots.where is None else (shots.where,)
                for expr in where:
                    yield from _taken(expr)
                for need in (*_in_texts(shots.prompt), *_in_texts(shots.reply)):
                    yield Need(need.step, (*where, *need.guards))
        case Converse():
            for speaker in step.speakers:
                yield from _in_texts(speaker.system)
        case Retrieve():
            for expr in (step.source, step.by, *step.include, *([step.where] if step.where is not None else [])):
                yield from _taken(expr)
        case Verdict() | Grade() | Compare():
            for expr in step.args.values():
                yield from _taken(expr)


def _in_texts(texts: Texts | None) -> Iterator[Need]:
    for template in (texts or {}).values():
        for part in template.parts:
            if isinstance(part, Hole):
                yield from _taken(part.expr)
            elif isinstance(part, Passage):
                if part.when is not None:
                    yield from _taken(part.when)
                guards = () if part.when is None else (part.when,)
                for need in (need for hole in part.parts if isinstance(hole, Hole) for need in _taken(hole.expr)):
                    yield Need(need.step, (*guards, *need.guards))


def _taken(expr: Expr) -> Iterator[Need]:
    """The names that an expression looks up, and where it does."""
    match expr:
        case Ref(path=("first" | "second", name, *_)):
            yield Need(name)
            yield Need(expr.path[0])
        case Ref(path=(name, *_)):
            yield Need(name)
        case Binary(operator="and" | "or", left=left, right=right):
            yield from _taken(left)
            guard = left if expr.operator == "and" else Unary(operator="not", value=left)
            for need in _taken(right):
                yield Need(need.step, (guard, *need.guards))
        case _:
            for part in _inside(expr):
                yield from _taken(part)


def _inside(expr: Expr) -> tuple[Expr, ...]:
    """What an expression is made of, directly."""
    match expr:
        case Unary(value=value):
            return (value,)
        case Binary(left=left, right=right):
            return (left, right)
        case Items(values=values):
            return values
        case Call(args=args, named=named):
            return (*args, *named.values())
        case Get(of=of):
            return (of,)
    return ()
