"""In which cases a step takes place. What rows and axes decide is decided here; what a reply decides is left open.

A step takes place where its condition holds and whatever it prints has a value. It takes nothing that stands in a
passage which is not printed, or behind an `and` or `or` that is decided before. A reply may not come, since a model may
decline: what takes anything of it but the prompt that was sent may not take place.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from functools import partial
from typing import Any, Final

from tripos_compiler.language import LAZY, Unavailable, evaluate, names_in, subexpressions, without_reveal
from tripos_compiler.language.library import FUNCTIONS, lack_of
from tripos_compiler.plan import (
    Ask,
    Binary,
    Call,
    Compare,
    Converse,
    Data,
    Each,
    Expr,
    Grade,
    Hole,
    Judging,
    Passage,
    RecordValue,
    Ref,
    Retrieve,
    SampleList,
    Shots,
    Step,
    Template,
    Texts,
    Unary,
    Verdict,
    parts_of,
)
from tripos_compiler.source import dataclass
from tripos_compiler.statements.analysis.step_uses import CALLING, asked_for, taken

Case = Mapping[str, Any]
"""The names of one case: its axes, and its row under the alias."""
YES: Final = "yes"
"""It is there; of a condition, that it holds."""
NO: Final = "no"
VOID: Final = "void"
"""It has no value."""
OPEN: Final = frozenset((YES, NO))
UNSURE: Final = frozenset((YES, NO, VOID))
BOUNDED: Final = ("text", "choice", "bool", "path", "list", "set", "record", "dialogue")
"""The kinds of which a value that a name stands for is no number."""


def may_be_undefined(expr: Expr) -> bool:
    """Return true if an expression may have no value, though every name in it has one."""
    return any(_is_partial(part) for part in subexpressions(expr))


@dataclass
class _Branch:
    """The next node of a case, and what follows from what is seen: another branch, or what was found."""

    look: Callable[[Case], Hashable]
    after: dict[Hashable, _Branch | bool | None] = field(default_factory=dict)


class StepOutcomes:
    """Tells it of the steps of one treatment. `names` are those that a case has.

    What a step comes to in a case follows from what is looked at in the case, one thing after another, and what to look
    at next from what was seen. So that is kept as a tree: of many cases few come to anything that none did before.
    """

    def __init__(self, steps: Sequence[Step], names: Set[str]) -> None:
        self.names = names
        self.steps = {step.name: step for step in steps if isinstance(step, CALLING)}
        self.is_paired = any(isinstance(step, Compare) for step in steps)
        """True if `first` and `second` are the sides of a comparison, and no step."""
        self._open: dict[int, bool] = {}
        self._decides: dict[int, bool] = {}
        self._held: list[Expr | Step] = []
        """What an id stands for, which names it as long as it lives."""
        self._trees: dict[int, _Branch | bool | None] = {}
        self._looks: dict[Hashable, tuple[Callable[[Case], Hashable], Hashable]] = {}
        """What was looked at in the case at hand, in order, and what was seen."""
        self._outcomes: dict[int, frozenset[bool]] = {}
        self._values: dict[int, tuple[Expr, frozenset[str]]] = {}

    def always(self, step: Step) -> bool:
        """Return true if a step takes place in every case, whatever is replied."""
        ask = step if isinstance(step, Ask) else None
        chooses = ask is not None and ask.options is not None and names_in(ask.options)  # there may be no option
        if (
            step.when is not None
            or _earlier(step)
            or chooses
            or (ask is not None and ask.prompt is None and ask.continues is None)
        ):
            return False
        return not any(self._may_be_void(expr) for expr in taken(step))

    def in_case(self, step: Step, case: Case) -> bool | None:
        """Return true if a step takes place in a case; None where a reply decides."""
        if id(step) not in self._trees:
            self._held.append(step)
            self._trees[id(step)] = self._followed(step, case)[0]
        at = self._trees[id(step)]
        while isinstance(at, _Branch):
            seen = at.look(case)
            if seen not in at.after:
                return self._grown(step, case)
            at = at.after[seen]
        return at

    def _grown(self, step: Step, case: Case) -> bool | None:
        """As `in_case`, of a case in which something is seen that was not before."""
        _, looks, found = self._followed(step, case)
        at = self._trees[id(step)]
        for number, (_, seen) in enumerate(looks, 1):
            assert isinstance(at, _Branch)
            if seen not in at.after:
                at.after[seen] = _Branch(looks[number][0]) if number < len(looks) else found
            at = at.after[seen]
        return found

    def _followed(
        self, step: Step, case: Case
    ) -> tuple[_Branch | bool | None, Sequence[tuple[Callable[[Case], Hashable], Hashable]], bool | None]:
        """Return the beginning of a step's tree, what is looked at in a case and what was seen, and what it comes
        to."""
        self._looks, self._outcomes, self._values = {}, {}, {}
        done = self._done(step, case)
        found = None if len(done) > 1 else True in done
        looks = list(self._looks.values())
        return _Branch(looks[0][0]) if looks else found, looks, found

    def _seen(self, key: Hashable, look: Callable[[Case], Hashable], case: Case) -> Any:
        """Return what is seen in a case; each thing is looked at once."""
        if key not in self._looks:
            self._looks[key] = (look, look(case))
        return self._looks[key][1]

    def known(self, expr: Expr, case: Case) -> str | None:
        """Return the text that an expression gives in a case; None where that is not known, or it gives none."""
        if not self._decided(expr):
            return None
        try:
            value = evaluate(expr, case)
        except Unavailable:
            return None
        return value if isinstance(value, str) else None

    def _done(self, step: Step, case: Case) -> frozenset[bool]:
        """Return what may be of a step: that it takes place, and that it does not. It is worked out once a case."""
        if (known := self._outcomes.get(id(step))) is not None:
            return known
        found = {each == YES for each in (self._value(step.when, case) if step.when is not None else (YES,))}
        for earlier in _earlier(step):
            found = found - {True} | {False} if self._rules_out(earlier, case) else found
            found = found | {False} if self._rules_out(earlier, case) is None else found
        if True in found:
            for lacks in self._lacking(step, case):
                found = {False} if lacks is True else found | {False} if lacks is None else found
                if found == {False}:
                    break
        self._outcomes[id(step)] = done = frozenset(found)
        return done

    def _rules_out(self, earlier: Expr, case: Case) -> bool | None:
        """Return true if the condition of an earlier score leaves none to one of its name; None where a reply decides.
        It holds, or has no value for want of a reply; where the row is why it has none, that score does not apply."""
        value = self._value(earlier, case)
        if self._decided(earlier):
            return value == {YES}
        return value == {YES} or (None if value != {NO} else False)

    def _lacking(self, step: Step, case: Case) -> Iterator[bool | None]:
        """Of all that a step takes, whether it lacks a value; None where a reply or a row decides."""
        match step:
            case Ask():
                yield from self._lacking_texts(step.system, case)
                yield from self._lacking_texts(step.prompt, case)
                others = (*step.settings.conditions(), *([] if step.offered is None else [step.offered]))
                yield from (_lacks(self._value(each, case)) for each in others)
                if step.chat is not None:
                    yield _lacks(self._value(step.chat, case))
                    yield self._asks_nothing(step, step.chat, case)
                if step.options is not None:
                    yield self._lacks_options(step.options, case)
                if step.continues is not None:
                    yield _lacks(self._yielded(Ref(path=(step.continues, "turns")), case))
                for shots in step.shots:
                    yield from self._lacking_shots(shots, case)
            case Converse():
                for speaker in step.speakers:
                    yield from self._lacking_texts(speaker.system, case)
                    yield from (_lacks(self._value(when, case)) for when in speaker.settings.conditions())
            case Retrieve():
                yield _lacks(self._value(step.source, case))
                for expr in (*step.include, *asked_for(step)):  # texts may be embedded before that is seen
                    yield None if _lacks(self._value(expr, case)) is not False else False
            case SampleList(of=of):
                yield _lacks(self._yielded(Ref(path=(of, "text")), case))
            case Verdict(loops=loops) if loops:
                yield _lacks(self._value(loops[0].of, case))
            case Verdict() | Grade() | Compare():
                for expr in step.args.values():
                    yield _lacks(self._value(expr, case))

    def _asks_nothing(self, step: Ask, chat: Expr, case: Case) -> bool | None:
        """Return true if all that is sent is a dialogue without a turn; None where that is not known."""
        if step.prompt is not None or not self._decided(chat):
            return False if step.prompt is not None else None
        return {VOID: True, YES: False, NO: None}[self._seen(id(chat), partial(_outcome, chat), case)]

    def _lacks_options(self, options: Expr, case: Case) -> bool | None:
        """Return true if there is no option, or one without a text; None where that is not known."""
        lacks = _lacks(self._value(options, case))
        if lacks or not self._decided(options):
            return lacks or None
        return bool(self._seen(("options", id(options)), lambda known: not all(evaluate(options, known) or [""]), case))

    def _lacking_texts(self, texts: Texts | None, case: Case) -> Iterator[bool | None]:
        if texts is None:
            return
        own = self._seen("language", lambda known: known.get("language"), case) if len(texts) > 1 else None
        for template in [texts[own]] if own in texts else texts.values():
            yield from self._lacking_text(template, case)

    def _lacking_text(self, template: Template, case: Case) -> Iterator[bool | None]:
        passages = [part for part in template.parts if isinstance(part, Passage)]
        for hole in () if passages else template.parts:
            if isinstance(hole, Hole):
                yield self._lacks_hole(hole, case)
        for passage in passages:
            held = self._value(passage.when, case) if passage.when is not None else frozenset((YES,))
            yield _lacks(held)
            if YES not in held:
                continue
            for part in passage.parts:
                if isinstance(part, Hole):
                    lacks = self._lacks_hole(part, case)
                    yield None if lacks and NO in held else lacks

    def _lacks_hole(self, hole: Hole, case: Case) -> bool | None:
        if isinstance(hole.expr, Ref) and hole.type.kind in BOUNDED and self._decided(hole.expr):
            return False  # no name of a case is without a value; a number may lie past all bounds
        return _lacks(self._value(hole.expr, case))

    def _lacking_shots(self, shots: Shots, case: Case) -> Iterator[bool | None]:
        """Yield a condition without a value rules out a row, and no more, unless it is for want of a reply; of texts
        that may have none it depends on the rows."""
        yield False if shots.drawn is None else _lacks(self._value(shots.drawn, case))
        if shots.where is not None:
            for part in subexpressions(shots.where):
                if isinstance(part, Ref) and self._step_of(part) is not None and VOID in self._value(part, case):
                    yield None
        for texts in (shots.prompt, shots.reply):
            for lacks in self._lacking_texts(texts, case):
                yield False if lacks is False else None

    def _value(self, expr: Expr, case: Case) -> frozenset[str]:
        """Return what may be of an expression: that it is there or holds, that it does not hold, that it has no
        value. It is worked out once a case."""
        if id(expr) not in self._values:
            self._values[id(expr)] = (expr, self._new_value(expr, case))
        return self._values[id(expr)][1]

    def _new_value(self, expr: Expr, case: Case) -> frozenset[str]:
        if self._decided(expr):
            return frozenset((self._seen(id(expr), partial(_outcome, expr), case),))
        match expr:
            case Ref():
                return self._yielded(expr, case)
            case Unary(operator="not", value=value):
                swapped = {YES: NO, NO: YES, VOID: VOID}
                return frozenset(swapped[each] for each in self._value(value, case))
            case Binary(operator="and" | "or", left=left, right=right):
                ends = NO if expr.operator == "and" else YES
                first = self._value(left, case)
                after = self._value(right, case) if first - {ends, VOID} else frozenset[str]()
                return (first & {ends, VOID}) | after
        parts = [self._value(part, case) for part in parts_of(expr)]
        if isinstance(expr, RecordValue):  # a field of it may have no value, and another one is looked at
            return UNSURE if any(VOID in part for part in parts) else OPEN
        if isinstance(expr, Call) and expr.function in LAZY:  # what has no value may not be looked at
            return UNSURE if any(VOID in part for part in parts) or _is_partial(expr) else OPEN
        if any(part == {VOID} for part in parts):
            return frozenset((VOID,))
        return UNSURE if _is_partial(expr) or any(VOID in part for part in parts) else OPEN

    def _yielded(self, ref: Ref, case: Case) -> frozenset[str]:
        """Return what may be of a name. A turn of a conversation, a judge and an embedding model may decline as any
        model."""
        step = self._step_of(ref)
        if step is None:
            return OPEN
        done = self._done(step, case)
        if True not in done:
            return frozenset((VOID,))
        return OPEN if done == {True} and not _may_lack(step, ref) else UNSURE

    def _step_of(self, ref: Ref) -> Step | None:
        """Return the step that a name is of; of a pair that of either side."""
        sided = self.is_paired and ref.path[0] in ("first", "second") and len(ref.path) > 1
        path = ref.path[1:] if sided else ref.path
        return self.steps.get(path[0])

    def _may_be_void(self, expr: Expr) -> bool:
        """Return true if an expression may have no value in some case; looked into once."""
        found = self._open.get(id(expr))
        if found is None:
            found = may_be_undefined(expr) or any(
                (step := self._step_of(part)) is not None and (_may_lack(step, part) or not self.always(step))
                for part in subexpressions(expr)
                if isinstance(part, Ref)
            )
            self._open[id(expr)] = found
            self._held.append(expr)
        return found

    def _decided(self, expr: Expr) -> bool:
        """Return true if the names of a case decide an expression; looked into once, too."""
        found = self._decides.get(id(expr))
        if found is None:
            found = names_in(expr) <= self.names and all(is_evaluable(part) for part in subexpressions(expr))
            self._decides[id(expr)] = found
            self._held.append(expr)
        return found


def _earlier(step: Step) -> tuple[Expr, ...]:
    """Return the conditions of earlier scores of the name of one."""
    return (step.earlier or ()) if isinstance(step, Judging) else ()


def _outcome(expr: Expr, case: Case) -> str:
    """Return what an expression comes to that a case decides."""
    try:
        return YES if evaluate(expr, case) else NO
    except Unavailable:
        return VOID


def _lacks(value: frozenset[str]) -> bool | None:
    """Return true if a value is lacking; None where it may be."""
    return VOID in value if len(value) == 1 or VOID not in value else None


def _may_lack(step: Step, ref: Ref) -> bool:
    """Return true if a step that took place may not yield that. What was sent is there in any event."""
    if isinstance(step, Ask):
        return "prompt" not in ref.path[1:3]
    return step.using is not None if isinstance(step, Retrieve) else True


def _is_partial(part: Expr) -> bool:
    """Return true if it may have no value, itself: a division, a function where it is partial, one of the user's."""
    match part:
        case Binary(operator="/"):
            return True
        case Each(loop=loop):
            return loop.most is not None
        case Call(function=function, args=args, named=named):
            if function == "picked":  # of columns of one data set, which are as long as each other
                bare = [without_reveal(arg) for arg in args[:2]]
                columns = {arg.dataset if isinstance(arg, Data) else "" for arg in bare}
                return len(columns) > 1 or "" in columns
            if function in ("examples_for", "siblings"):
                return len(args) + len(named) > 2  # a field that rows lack
            return function == "readable" or function not in FUNCTIONS or lack_of(part) is not None
    return False


def is_evaluable(part: Expr) -> bool:
    """Return true if the compiler can evaluate it: no data set, no tree, no function of the user's."""
    return part.op not in ("data", "tree") and (not isinstance(part, Call) or part.function in FUNCTIONS)
