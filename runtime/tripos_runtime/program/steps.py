"""The programs of a unit and of a pair: their steps, from the first question to the last score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from tripos_compiler.language import Missing, Unavailable, names_in
from tripos_compiler.plan import (
    Ask,
    Column,
    Converse,
    Grade,
    Judging,
    Retrieve,
    SampleList,
    Score,
    Scorer,
    Step,
    Verdict,
)
from tripos_runtime.asking import (
    NOT_APPLICABLE,
    PENDING,
    Answer,
    PreparedQuestion,
    confidence,
    repeated,
    score_rows,
)
from tripos_runtime.program.answers import acted, answered, by_judge, replies, side_by_side
from tripos_runtime.program.calls import StepCall
from tripos_runtime.program.conversing import Systems, talk_program
from tripos_runtime.program.names import Names, RuledOut, said
from tripos_runtime.program.needs import (
    Compared,
    HeldConversation,
    ListElement,
    Nearness,
    Program,
    ReplyNeed,
    Result,
    Scored,
    Unasked,
    Unfound,
    Unheld,
    elements_in,
    holds,
    is_pending,
)
from tripos_runtime.program.pairs import Pair
from tripos_runtime.program.prompts import JudgePrompt, World, prompt_of
from tripos_runtime.program.scoring import Raters, score_of
from tripos_runtime.program.units import Unit

Found = dict[tuple[str, ...], Any]
"""The results of the retrieving steps of a case, by their fingerprint and what they build on."""


class PanelVerdict(NamedTuple):
    """What a panel says of an element, and what each of its judges does."""

    value: Any
    by_judge: Mapping[str, Any]


@dataclass(slots=True)
class UnitProgram:
    """Takes a unit through its steps. `names` are those that its expressions see, and grow; what it comes to is put in
    `out`. Units of one case share what is `found`."""

    world: World
    unit: Unit
    names: Names
    out: list[Result] = field(default_factory=list)
    found: Found = field(default_factory=dict)

    def go(self, steps: Sequence[Step] | None = None) -> Program:
        """Return the program of the unit's steps, or of some of them."""
        self.unit.unasked = ()
        for step, *others in _about_one_list(self.unit.bound.treatment.steps if steps is None else steps):
            match step:
                case Ask() if others:
                    asks = [each for each in (step, *others) if isinstance(each, Ask)]
                    yield from side_by_side([self._ask(each) for each in asks])
                case Ask():
                    yield from self._ask(step)
                case Score() | Column():
                    self.out.append((yield from score_of(self.names, step, self._raters(step))))
                case Grade():
                    yield from self._grade(step)
                case Converse():
                    yield from self._converse(step)
                case Verdict():
                    yield from self._take_verdict(step)
                case Retrieve():
                    yield from self._retrieve(step)
                case SampleList():
                    yield from self._list_samples(step)

    def _ask(self, step: Ask) -> Program:
        unit, names = self.unit, self.names
        model = unit.bound.model_of(step, unit.model)
        call = StepCall("samples", unit.samples[step.name], step.role, model, step)
        against, certain = holds(step, names)
        if against is None:
            prompt = prompt_of(self.world, step, unit.bound.asks, unit.case, names.values)
            question = prompt.question
            got = yield ReplyNeed(call, prompt, question, unit.number % step.samples, certain)
            if isinstance(got, Answer):
                names.answered(step, got)
                if step.acts and got.text is not None:
                    yield from acted(step, got.text, prompt, names)
                return
            against = got
        if not is_pending(against):
            self.out.append(Unasked(call, against))
            unit.unasked = (*unit.unasked, step.name)
        names.skipped(step, against.status, against.reason)

    def _list_samples(self, step: SampleList) -> Program:
        """Wait for all samples of an ask, which are sent the same."""
        unit, names, ask = self.unit, self.names, self.unit.bound.asks[step.of]
        against, certain = holds(ask, names)
        if against is None:
            prompt = prompt_of(self.world, ask, unit.bound.asks, unit.case, names.values)
            question = prompt.question
            model = unit.bound.model_of(ask, unit.model)
            calls = [StepCall("samples", name, ask.role, model, ask) for name in unit.listed[step.name]]
            needs = [ReplyNeed(call, prompt, question, number, certain) for number, call in enumerate(calls)]
            got = yield from side_by_side([answered(need) for need in needs])
            lacking = [each for each in got if isinstance(each, Unavailable)]
            if not lacking:
                names.listed(step, [(each.text, each.value, each.status) for each in got])
                return
            against = next((each for each in lacking if is_pending(each)), lacking[0])
        names.gave(step.name, Missing(step.of, against.status, against.reason))

    def _converse(self, step: Converse) -> Program:
        unit, names, talk = self.unit, self.names, self.unit.talks[step.name]
        against, certain = holds(step, names)
        if against is None:
            told = Systems(self.world, step, unit.case, names.values)
            program = partial(talk_program, self.world, talk, told, certain, self.out)
            got = yield HeldConversation(talk, told, program, certain)
            if isinstance(got, Answer):
                names.talked(step, got.value, got.status)
                return
            against = got
        if not is_pending(against):
            self.out.append(Unheld(talk, against))
        names.lacks(step, against.status, against.reason)

    def _grade(self, step: Grade) -> Program:
        against, certain = holds(step, self.names)
        question, prompt = self._judged(step)
        against = prompt.because_of_item(against)
        calls = [call for call in self.unit.calls if call.step is step]
        if self.unit.stronger(step):
            yield from self._cascade(step, calls, prompt, question, against, certain)
            return
        programs = [self._graded(step, each, prompt, question, against, certain) for each in by_judge(calls)]
        yield from side_by_side(programs)

    def _cascade(
        self,
        step: Grade,
        calls: Sequence[StepCall],
        prompt: JudgePrompt,
        question: PreparedQuestion,
        against: Unavailable | None,
        certain: bool,
    ) -> Program:
        """Take what the first judges say where enough of them say the same, and else what the stronger ones say."""
        scorer, evaluator = self.world.plan.scorer(step.scorer), self.unit.evaluators(step)[0]
        first = [call for call in calls if call.role == scorer.role]
        stronger = [call for call in calls if call.role != scorer.role]
        asked, open_ = first, calls
        if against is None:
            got = yield from replies(first, prompt, question, certain)
            if isinstance(got, Unavailable) and is_pending(got):
                yield from replies(stronger, prompt, question, False)
                return
            if not isinstance(got, Unavailable):
                sure = confidence(step, got)
                if sure is not None and sure < scorer.unsure_below:
                    asked, got = stronger, (yield from replies(stronger, prompt, question, certain))
                else:
                    settled = RuledOut(step.name, NOT_APPLICABLE, "the first judges are sure")
                    self.out.extend(Unasked(call, settled) for call in stronger)
            if not isinstance(got, Unavailable):
                self.out.append(Scored(step, asked[0].name, evaluator, score_rows(step, scorer, got)))
                return
            if is_pending(got):
                return
            against, open_ = got, stronger if asked is stronger else calls
        self.out.extend(Unasked(call, against) for call in open_)
        empty = dict.fromkeys(step.metrics or (step.name,), (None, against.status))
        self.out.append(Scored(step, None, evaluator, empty, reason=against.reason))

    def _graded(
        self,
        step: Grade,
        calls: Sequence[StepCall],
        prompt: JudgePrompt,
        question: PreparedQuestion,
        against: Unavailable | None,
        certain: bool,
    ) -> Program:
        """Return what one judge says of a reply."""
        judge = calls[0]
        if against is None:
            got = yield from replies(calls, prompt, question, certain)
            if not isinstance(got, Unavailable):
                values = score_rows(step, self.world.plan.scorer(step.scorer), got)
                self.out.append(Scored(step, judge.name, judge.model, values))
                return
            if is_pending(got):
                return
            against = got
        self.out.extend(Unasked(call, against) for call in calls)
        empty = dict.fromkeys(step.metrics or (step.name,), (None, against.status))
        self.out.append(Scored(step, None, judge.model, empty, reason=against.reason))

    def _take_verdict(self, step: Verdict) -> Program:
        if step.loops:
            yield from self._take_each(step)
            return
        names = self.names
        against, certain = holds(step, names)
        question, prompt = self._judged(step)
        calls = [call for call in self.unit.calls if call.step is step]
        if against is None:
            judges = by_judge(calls)
            answers = yield from side_by_side([replies(each, prompt, question, certain) for each in judges])
            reasons = [each for each in answers if isinstance(each, Unavailable)]
            if not reasons:
                names.gave(step.name, said(step, self.world.plan.scorer(step.scorer), answers))
                return
            against = next((each for each in reasons if not is_pending(each)), reasons[0])
        if not is_pending(against):
            self.out.extend(Unasked(call, against) for call in calls)
        names.lacks(step, against.status, against.reason)

    def _take_each(self, step: Verdict) -> Program:
        """Ask judges about each element of a list, all of them side by side."""
        names = self.names
        against, certain = holds(step, names)
        calls: dict[tuple[int, ...] | None, list[StepCall]] = {}
        for call in self.unit.calls:
            if call.step is step:
                calls.setdefault(call.element, []).append(call)
        if against is None:
            try:
                found = [each for each in elements_in(step.loops, names.values) if each.places in calls]
            except Unavailable as reason:
                against = reason
            else:
                asked = [self._about(step, each, calls.pop(each.places), certain) for each in found]
                told = (yield from side_by_side(asked)) if asked else []
                ruled_out = RuledOut(step.name, NOT_APPLICABLE, f"`{step.name}` has no such element")
                self.out.extend(Unasked(call, ruled_out) for each in calls.values() for call in each)
                if all(each.certain for each in found):
                    named = [(each.places, one) for each, one in zip(found, told, strict=True)]
                    names.gave(step.name, {places: one.value for places, one in named})
                    for judge in self.unit.evaluators(step):
                        names.gave_by_judge(step, judge, {places: one.by_judge[judge] for places, one in named})
                else:
                    names.lacks(step, PENDING)
                return
        if not is_pending(against):
            self.out.extend(Unasked(call, against) for each in calls.values() for call in each)
        names.lacks(step, against.status, against.reason)

    def _about(self, step: Verdict, element: ListElement, calls: Sequence[StepCall], certain: bool) -> Program:
        """Return what judges say of one element, a `PanelVerdict`; `Missing` where they say nothing."""
        question, prompt = self._judged(step, element.names)
        sure, scorer, judges = certain and element.certain, self.world.plan.scorer(step.scorer), by_judge(calls)
        answers = yield from side_by_side([replies(each, prompt, question, sure) for each in judges])
        own = {
            asked[0].model: Missing(step.name, each.status, each.reason)
            if isinstance(each, Unavailable)
            else said(step, scorer, [each])
            for asked, each in zip(judges, answers, strict=True)
        }
        reasons = [each for each in answers if isinstance(each, Unavailable)]
        if not reasons:
            return PanelVerdict(said(step, scorer, answers), own)
        against = next((each for each in reasons if not is_pending(each)), reasons[0])
        if not is_pending(against):
            self.out.extend(Unasked(call, against) for call in calls)
        return PanelVerdict(Missing(step.name, against.status, against.reason), own)

    def _raters(self, step: Score | Column) -> Raters | None:
        """Return the judges each of whom gives a score of an element; None where all come to one."""
        if not isinstance(step, Score) or step.judge is None:
            return None
        verdict = next(
            each
            for each in self.unit.bound.treatment.steps
            if isinstance(each, Verdict) and each.scorer == step.judge and each.name in names_in(step.value)
        )
        return Raters(verdict.name, self.unit.evaluators(verdict))

    def _judged(self, step: Judging, names: Mapping[str, Any] | None = None) -> tuple[PreparedQuestion, JudgePrompt]:
        case, seen = self.unit.case, self.names.values if names is None else names
        question = self.world.questions.of(step, case.language, seen)
        return question, JudgePrompt(self.world, step, question, case, seen)

    def _retrieve(self, step: Retrieve) -> Program:
        """Put what a step finds among the names. Its condition is no part of its fingerprint."""
        against, certain = holds(step, self.names)
        if against is not None:
            seen: Any = Missing(step.name, against.status, against.reason)
        else:
            seen = yield from self._find(step, certain)
        if isinstance(seen, Missing):
            self.out.append(Unfound(step, seen.status))
        self.names.found(step, seen)

    def _find(self, step: Retrieve, certain: bool) -> Program:
        """Return what a step finds; `Missing` where a value or a vector is not there."""
        key = (step.fingerprint, *self.unit.upstream([*step.needs, step.name]))
        if certain and key in self.found:
            return self.found[key]
        values = {}
        if step.using is not None:
            values = yield Nearness(step, self.unit, self.names, key, certain)
            if isinstance(values, Unavailable):
                return Missing(step.name, values.status, values.reason)
        if not certain:
            return Missing(step.name, PENDING)
        if key not in self.found:
            try:
                self.found[key] = self.world.chooser.chosen(step, self.names.values, self.unit.case.fields, values)
            except Unavailable as reason:
                self.found[key] = Missing(step.name, reason.status, reason.reason)
        return self.found[key]


def _about_one_list(steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
    """Yield the steps in their order, those that ask about the elements of one list together."""
    together: list[Ask] = []
    for step in steps:
        listed = step if isinstance(step, Ask) and step.element is not None else None
        if together and (listed is None or listed.script != together[0].script):
            yield together
            together = []
        if listed is None:
            yield (step,)
        else:
            together.append(listed)
    yield from [together] if together else ()


def pair_program(world: World, pair: Pair, names: Names, out: list[Result]) -> Program:
    """Take a pair to its judges. `names` are those of both sides, which have been gone through."""
    step = pair.step
    against, certain = holds(step, names)
    question = world.questions.of(step, pair.case.language, names.values)
    prompt = JudgePrompt(world, step, question, pair.case, names.values)
    against = prompt.because_of_item(against)
    scorer = world.plan.scorer(step.scorer)
    programs = [_compared(scorer, calls, prompt, question, against, certain, out) for calls in by_judge(pair.calls)]
    yield from side_by_side(programs)


def _compared(
    scorer: Scorer,
    calls: Sequence[StepCall],
    prompt: JudgePrompt,
    question: PreparedQuestion,
    against: Unavailable | None,
    certain: bool,
    out: list[Result],
) -> Program:
    """Return what one judge says of a pair."""
    if against is None:
        got = yield from replies(calls, prompt, question, certain)
        if not isinstance(got, Unavailable):
            value, status = repeated(scorer, [each.value or (None, each.status) for each in got])
            out.append(Compared(calls[0], calls[0].name, value, status))
            return
        if is_pending(got):
            return
        against = got
    out.extend(Unasked(call, against) for call in calls)
    out.append(Compared(calls[0], None, None, against.status, against.reason))
