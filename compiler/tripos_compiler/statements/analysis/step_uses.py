"""The inputs of a step of a plan, and which roles it asks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from tripos_compiler.language import looped, names_in, paths_in, subexpressions
from tripos_compiler.plan import (
    Ask,
    Column,
    Compare,
    Converse,
    Expr,
    Grade,
    Hole,
    Items,
    Judging,
    Passage,
    Ref,
    Retrieve,
    SampleList,
    Score,
    Step,
    Template,
    Texts,
    Verdict,
)

CALLING = (Ask, Converse, Retrieve, SampleList, Verdict)


def with_dependencies(steps: Sequence[Step], names: Collection[str], whole: bool = True) -> set[str]:
    """Return the steps of those names, and those that they build on; without those of lists of samples, which are the
    same for every sample, where not the `whole` is wanted."""
    uses = {
        step.name: names_used(step) if whole or not isinstance(step, SampleList) else set()
        for step in steps
        if isinstance(step, CALLING)
    }
    found: set[str] = set()
    waiting = [name for name in names if name in uses]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [other for other in uses[name] if other in uses]
    return found


def names_used(step: Step) -> set[str]:
    """Return the names that a step looks up, directly; of a conversation that it continues too."""
    found = {name for expr in step_expressions(step) for name in names_in(expr)}
    if isinstance(step, Compare):
        found |= {name for expr in step_expressions(step) for name in _below_sides(expr)}
    if isinstance(step, SampleList):
        found.add(step.of)
    if isinstance(step, Ask) and step.continues is not None:
        found.add(step.continues)
    return found


def judged_names(step: Judging) -> set[str]:
    """Return the names that the arguments of a judge look up. Conditions on when it is asked, and on which elements,
    are no part of the question."""
    loops = tuple(loop.model_copy(update={"where": None}) for loop in step.loops) if isinstance(step, Verdict) else ()
    asked = Items(values=tuple(step.args.values()))
    exprs = [looped(loops, asked)] if loops else [*step.args.values()]
    found = {name for expr in exprs for name in names_in(expr)}
    return found | {name for expr in exprs for name in _below_sides(expr)} if isinstance(step, Compare) else found


def _below_sides(expr: Expr) -> set[str]:
    return {path[1] for path in paths_in(expr) if path[0] in ("first", "second") and len(path) > 1}


def step_expressions(step: Step) -> Iterator[Expr]:
    """Yield every expression of a step, those of its texts included."""
    if step.when is not None:
        yield step.when
    if isinstance(step, Score | Verdict | Grade | Compare):
        yield from step.earlier or ()
    match step:
        case Ask():
            yield from _texts(step.system)
            yield from _texts(step.prompt)
            yield from step.settings.conditions()
            if step.chat is not None:
                yield step.chat
            if step.options is not None:
                yield step.options
            if step.offered is not None:
                yield step.offered
            for shots in step.shots:
                own = [*_texts(shots.prompt), *_texts(shots.reply)]
                own += [each for each in (shots.where, shots.drawn) if each is not None]
                yield from own
        case Converse():
            for speaker in step.speakers:
                yield from _texts(speaker.system)
                yield from speaker.settings.conditions()
        case Retrieve():
            yield from (step.source, step.by, *step.include, *([step.where] if step.where is not None else []))
        case Score() | Column():
            yield step.value
        case Verdict(loops=loops) if loops:
            yield looped(loops, Items(values=tuple(step.args.values())))
        case Verdict() | Grade() | Compare():
            yield from step.args.values()


def _texts(texts: Texts | None) -> Iterator[Expr]:
    for template in (texts or {}).values():
        yield from template_expressions(template)


def template_expressions(template: Template) -> Iterator[Expr]:
    """Yield every expression of a template, the conditions of its passages included."""
    for part in template.parts:
        if isinstance(part, Passage):
            if part.when is not None:
                yield part.when
            yield from (inner.expr for inner in part.parts if isinstance(inner, Hole))
        elif isinstance(part, Hole):
            yield part.expr


def taken(step: Step) -> Iterator[Expr]:
    """Yield all that a step takes but its condition."""
    match step:
        case Ask():
            yield from _in_texts((step.system, step.prompt))
            yield from step.settings.conditions()
            yield from (each for each in (step.chat, step.options, step.offered) if each is not None)
            if step.continues is not None:
                yield Ref(path=(step.continues, "turns"))
            for shots in step.shots:
                if shots.where is not None:
                    yield from (part for part in subexpressions(shots.where) if isinstance(part, Ref))
                yield from filter(None, (shots.drawn,))
                yield from _in_texts((shots.prompt, shots.reply))
        case Converse():
            yield from _in_texts([speaker.system for speaker in step.speakers])
            yield from (when for speaker in step.speakers for when in speaker.settings.conditions())
        case Retrieve():
            yield from (step.source, *step.include, *asked_for(step))
        case SampleList(of=of):
            yield Ref(path=(of, "text"))
        case Verdict(loops=loops) if loops:
            yield looped(loops, Items(values=tuple(step.args.values())))
        case Verdict() | Grade() | Compare():
            yield from step.args.values()


def asked_for(step: Retrieve) -> Iterator[Expr]:
    """Yield what of the row at hand elements are compared with. An element without a value is left out, and no more."""
    for expr in (step.by, *([step.where] if step.where is not None else [])):
        yield from (part for part in subexpressions(expr) if step.alias not in names_in(part))


def _in_texts(every: Iterable[Texts | None]) -> Iterator[Expr]:
    for texts in every:
        for template in (texts or {}).values():
            yield from template_expressions(template)


def roles_called(step: Step) -> tuple[str, ...]:
    """Return the roles whose models a step calls, those of scorers not included."""
    if isinstance(step, Ask):
        return (step.role,)
    if step.step == "converse":
        return tuple(speaker.role for speaker in step.speakers)
    return ()
