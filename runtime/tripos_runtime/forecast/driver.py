"""The forecast driver: it answers programs from what is kept, and notes what a run would ask for the rest.

A run goes through the same programs, so what is foreseen is what is done. A reply that is not there is pending: a
condition or a prompt that needs it is left open, and everything else is evaluated, with the replies that are kept.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from tripos_compiler.language import Unavailable
from tripos_compiler.plan import Ask, Column, Converse, Judging, Retrieve, Score, Step, Verdict
from tripos_runtime.asking import NOT_ASKED, PENDING, Answer, Row, answer_of, condition_id, talk_of, turn_of
from tripos_runtime.datasets import Case
from tripos_runtime.forecast.call_outcomes import Fate, Foreseen
from tripos_runtime.forecast.prior_results import Adopting
from tripos_runtime.forecast.sizes import (
    Known,
    NamedPlaceholders,
    Saying,
    Size,
    SizedPlaceholders,
    is_waiting,
    models_of,
    whole,
)
from tripos_runtime.forecast.vectors import ForeseenVectors, nearest
from tripos_runtime.models import Message
from tripos_runtime.program import (
    Adoption,
    BoundTreatment,
    Conversation,
    Found,
    Got,
    HeldConversation,
    Here,
    JudgePrompt,
    Names,
    Nearness,
    Need,
    Pair,
    ProgramValue,
    ReplyNeed,
    Result,
    Talked,
    TurnPrompt,
    Unasked,
    Unfound,
    Unheld,
    Unit,
    UnitProgram,
    World,
    calls_of,
    drive,
    is_kept,
    pair_program,
    pairs_of,
    pending,
)
from tripos_runtime.retrieval import Values


@dataclass
class Foresight:
    """Goes through cases. `world` has the rows and axes of the plan."""

    world: World
    embedding: dict[tuple[str, ...], tuple[Unit, Retrieve, Names, Fate]] = field(default_factory=dict)
    """The texts for which the case at hand needs vectors, each once, and how sure that is."""
    made_by: Mapping[str, Saying] = field(default_factory=dict)
    """The sources of the rows of data sets that are yet to be made."""
    known: Known = field(default_factory=dict)
    """The sizes of what is not there of the case at hand but can be told."""
    vectors: ForeseenVectors | None = None
    """The record of the vectors that are there."""
    adoption: Adoption | None = None
    """The adoption of replies that the ledger has under other names."""
    read: Callable[[ReplyNeed, tuple[Message, ...]], None] | None = None
    """Called with each prompt, whose pending parts have their names."""
    _steps: dict[BoundTreatment, Sequence[Step]] = field(default_factory=dict)

    def of(self, case: Case, units: Sequence[Unit], kept: Mapping[str, str], rows: Mapping[str, Row]) -> list[Foreseen]:
        """Return every call of a case once. `kept` has the statuses of what need not be asked again, `rows` the samples
        among them that calls may build on."""
        self.embedding = {}
        pairs = pairs_of(units)
        shown = {side for pair in pairs if not is_kept(pair, kept) for side in (pair.first, pair.second)}
        view = _CaseView(self, case, kept, rows, Here(units))
        for unit in units:
            view.go_through(unit, shown=unit in shown)
        for pair in pairs:
            view.compare(pair)
        return list(view.found.values())

    def steps(self, bound: BoundTreatment) -> Sequence[Step]:
        """Return the steps that may ask: scores are counted by what they are taken from."""
        if bound not in self._steps:
            steps = bound.treatment.steps
            self._steps[bound] = tuple(step for step in steps if not isinstance(step, Score | Column))
        return self._steps[bound]


@dataclass(slots=True)
class _At:
    """The state of a unit or a pair: the names that its expressions see, what it waits for and by whom, the fate of
    each step that is yet to be asked, and the sizes that are known of what is not there."""

    part: Unit | Pair
    names: Names
    awaits: dict[str, str] = field(default_factory=dict)
    said_by: dict[str, Saying] = field(default_factory=dict)
    fates: dict[str, Fate] = field(default_factory=dict)
    known: dict[tuple[str, ...], Size] = field(default_factory=dict)
    out: list[Result] = field(default_factory=list)
    sides: tuple[_At, ...] = ()
    """Of a pair: what its units came to."""

    @property
    def unit(self) -> Unit:
        """The unit; of a pair the first."""
        return self.part.first if isinstance(self.part, Pair) else self.part

    def wait(self, name: str, model: str, fate: Fate, saying: Saying) -> None:
        """Note a step that is yet to be asked."""
        self.awaits[name], self.fates[name], self.said_by[name] = model, fate, saying

    def key(self, step: Ask | Judging) -> tuple[object, ...]:
        """Prompts that take in the same replies are the same. Of those still to come nothing is known but what is sent
        for them, whoever gives them."""
        if self.sides:
            return tuple(side.key(step) for side in self.sides)
        needs: list[object] = []
        for need in step.needs:
            known = need not in self.awaits
            needs += self.unit.upstream([need]) if known else [PENDING, self.known.get((need, "prompt"))]
        return (step.fingerprint, step.condition, *needs)


class _CaseView:
    """One case: what its units have in common is worked out once."""

    def __init__(
        self, foresight: Foresight, case: Case, kept: Mapping[str, str], rows: Mapping[str, Row], here: Here
    ) -> None:
        self.foresight, self.case, self.kept, self.rows = foresight, case, kept, rows
        self.adopting = Adopting(foresight.adoption, here)
        if foresight.adoption is not None:  # what is adopted counts as kept
            self.kept = ChainMap(self.adopting.kept, cast("dict[str, str]", kept))
            self.rows = ChainMap(self.adopting.rows, cast("dict[str, Row]", rows))
        self.found: dict[str, Foreseen] = {}
        self.sizes: dict[tuple[object, ...], Size | Unavailable] = {}
        self.sent: dict[tuple[object, ...], tuple[Message, ...]] = {}
        """The messages, by the same keys, where all of them are known."""
        self.answers: dict[str, Answer] = {}
        self.retrieved: Found = {}
        self.sides: dict[Unit, _At] = {}

    def go_through(self, unit: Unit, shown: bool) -> None:
        """`shown`: what it comes to is compared."""
        if not shown and self._is_whole(unit):
            for call in unit.calls:
                self._note(Foreseen(call, unit, Fate.REUSED))
            for talk in unit.talks.values():
                self._over(talk, unit)
            return
        foresight = self.foresight
        names = Names(self.case.names)
        at = self.sides[unit] = _At(unit, names, said_by=dict(foresight.made_by), known=dict(foresight.known))
        program = UnitProgram(foresight.world, unit, names, at.out, self.retrieved)
        drive(program.go(foresight.steps(unit.bound)), partial(self._meet, at), partial(self._take, at))

    def compare(self, pair: Pair) -> None:
        """Record the fate of the calls of a pair, after its sides."""
        if is_kept(pair, self.kept):
            for call in pair.calls:
                self._note(Foreseen(call, pair, Fate.REUSED))
            return
        first, second = self.sides[pair.first], self.sides[pair.second]
        both = _At(
            pair, pair.names(first.names, second.names), {**second.awaits, **first.awaits}, sides=(first, second)
        )
        for place, side in (("first", first), ("second", second)):
            both.fates |= {f"{place}.{name}": fate for name, fate in side.fates.items()}
            both.said_by |= {f"{place}.{name}": saying for name, saying in side.said_by.items()}
            both.known |= {(place, *path): size.on_side(place) for path, size in side.known.items()}
        # What both sides have in common stands below neither.
        both.fates |= first.fates
        both.said_by |= first.said_by
        both.known |= first.known
        program = pair_program(self.foresight.world, pair, both.names, both.out)
        drive(program, partial(self._meet, both), partial(self._take, both))

    def _is_whole(self, unit: Unit) -> bool:
        """Return true if nothing is asked for a unit. Where scores are to be taken, what it looks for is looked for
        again."""
        every = any(unit.bound.retrieved.values())
        return all(name in self.kept for table, name in unit.results if every or table != "scores")

    def _is_sure(self, name: str, step: Ask | Converse | Judging) -> bool:
        """Return true if a result that is kept was asked for under the condition of its step."""
        return not step.condition or condition_id(name, step.condition) in self.kept

    def _meet(self, at: _At, need: Need) -> Got:
        """Return what is sent for a need."""
        match need:
            case ReplyNeed(talk=None):
                return self._reply(at, need)
            case ReplyNeed():
                return self._turn(at, need)
            case HeldConversation():
                return self._hold(at, need)
            case Nearness():
                return self._near(at, need)
            case ProgramValue():  # no program runs before a run
                return pending("program")

    def _take(self, at: _At) -> None:
        """Note what is not asked."""
        for result in at.out:
            match result:
                case Unasked(call=call):
                    self._note(Foreseen(call, at.part, Fate.RULED_OUT))
                case Unheld(talk=talk) | Talked(talk=talk):
                    self._over(talk, at.unit)
                case Unfound(step=step, status=status) if status == PENDING and (step.name,) not in at.known:
                    at.known[(step.name,)] = is_waiting(step.name, f"what `{step.name}` finds")
                    at.fates[step.name] = Fate.PERHAPS
        at.out.clear()

    def _reply(self, at: _At, need: ReplyNeed) -> Answer | Unavailable:
        """Return a reply that is kept, here or under another name, or else that there is none yet."""
        call, step = need.call, need.call.step
        assert isinstance(step, Ask | Judging)
        if call.name in self.kept and self._is_sure(call.name, step):
            return self._reuse(at, need)
        key = at.key(step) if call.element is None else (*at.key(step), call.element)
        size = self._size(key, need, at)
        if isinstance(size, Unavailable):
            return size
        if call.name in self.kept:
            return self._reuse(at, need)
        if key in self.sent and self._holds(need, self.adopting.find(need, self.sent[key], at.unit)):
            return self._reuse(at, need)
        fate = self._as_sure(size, need.certain, at)
        self._note_open(need, at, fate, size)
        if isinstance(step, Ask | Verdict):
            model = call.model if isinstance(step, Ask) else at.unit.evaluators(step)[0]
            at.wait(step.name, model, fate, (self.case.scenario.name, step.name, model))
        if isinstance(step, Ask):
            at.known[step.name, "prompt"] = size.as_prompt(step.name)
        return pending(step.name)

    def _turn(self, at: _At, need: ReplyNeed) -> Answer | Unavailable:
        """A turn that is kept, or else that there is none yet."""
        call, prompt, talk = need.call, need.prompt, need.talk
        assert isinstance(prompt, TurnPrompt)
        assert talk is not None
        if call.name in self.kept or self._adopts_turn(at, need):
            return self._reuse(at, need)
        size = self._size((call.step.fingerprint, talk.name, prompt.number), need, at)
        if isinstance(size, Unavailable):  # nothing can be told to one of them
            return size
        name = talk.step.name
        at.said_by |= {each: (self.case.scenario.name, name, model) for each, model in models_of(talk).items()}
        fate = self._as_sure(size, need.certain, at)
        self._note_open(need, at, fate, size)
        if prompt.number == len(prompt.turns) + 1:  # the next one
            at.awaits[name], at.fates[name] = talk.models[at.unit.bound.told_by(talk.step)], fate
        return pending(name)

    def _hold(self, at: _At, need: HeldConversation) -> Answer | Unavailable:
        """Return a conversation that is kept, or what its program comes to."""
        talk = need.talk
        if talk.name not in self.kept:
            got: Answer | Unavailable = drive(need.program(), partial(self._meet, at), partial(self._take, at))
            return got
        if not self._is_sure(talk.name, talk.step):
            try:
                need.systems()
            except Unavailable as reason:
                return reason
        self._over(talk, at.unit)
        row = self.rows.get(talk.name)
        return pending(talk.step.name) if row is None else talk_of(row)

    def _near(self, at: _At, need: Nearness) -> Mapping[int, Values] | Unavailable:
        """Return how near the elements are where all vectors are there, or else about how long what is found is."""
        fate = Fate.CERTAIN if need.certain else Fate.PERHAPS
        foresight = self.foresight
        before = foresight.embedding.get(need.key)
        if before is None or before[-1] < fate:
            foresight.embedding[need.key] = (need.unit, need.step, need.names, fate)
        if not need.certain:
            return pending(need.step.name)
        values = self._values(need)
        if values is not None:
            return values
        if need.key not in self.sizes:
            try:
                self.sizes[need.key] = nearest(need.step, need.names.values, self.case, foresight.world.chooser)
            except Unavailable as reason:
                self.sizes[need.key] = reason
        size = self.sizes[need.key]
        if isinstance(size, Unavailable):
            return size
        at.known[(need.step.name,)], at.fates[need.step.name] = size, Fate.LIKELY
        return pending(need.step.name)

    def _values(self, need: Nearness) -> Mapping[int, Values] | None:
        """Return how near the elements are by vectors that are there. It matters to whoever adopts."""
        foresight = self.foresight
        if foresight.vectors is None or foresight.adoption is None:
            return None
        try:
            (model,) = need.unit.bound.retrieved[need.step.name]
            return foresight.vectors.values(need.step, model, need.names, foresight.world.chooser)
        except Unavailable:
            return None

    def _over(self, talk: Conversation, unit: Unit) -> None:
        """Note the turns of a conversation of which nothing more is asked."""
        for call in calls_of(talk):
            self._note(Foreseen(call, unit, Fate.REUSED if call.name in self.kept else Fate.RULED_OUT))

    def _reuse(self, at: _At, need: ReplyNeed) -> Answer | Unavailable:
        """Return a reply that is kept, as a run reads it."""
        call, name = need.call, need.call.name
        self._note(Foreseen(call, at.part, Fate.REUSED))
        if self.kept[name] in NOT_ASKED and need.talk is None:
            return Unavailable(call.step.name, self.kept[name])
        if name not in self.answers:
            row = self.rows.get(name)
            if row is None:  # of a grade, which nothing builds on; or another process is about to write it
                return pending(call.step.name)
            self.answers[name] = turn_of(row) if need.talk is not None else answer_of(row, need.question)
        return self.answers[name]

    def _note_open(self, need: ReplyNeed, at: _At, fate: Fate, size: Size) -> None:
        call = need.call
        awaits = {each: at.awaits[each] for each in call.step.needs if each in at.awaits}
        if fate is Fate.CERTAIN and size.waits and self.adopting.may(call.table, call.model):
            fate = Fate.LIKELY  # once it is known what is sent, a reply to just that may turn up
        said_by = {name: at.said_by[name] for name in {*size.pending, *size.beyond} if name in at.said_by}
        self._note(Foreseen(call, at.part, fate, size, awaits, said_by, need.question.settings))

    def _note(self, seen: Foreseen) -> None:
        if seen.fate is Fate.REUSED and self.kept.get(seen.call.name) in NOT_ASKED:  # nor is it asked now
            seen = replace(seen, fate=Fate.RULED_OUT)
        before = self.found.get(seen.call.name)
        if before is None or before.fate < seen.fate:
            self.found[seen.call.name] = seen

    def _size(self, key: tuple[object, ...], need: ReplyNeed, at: _At) -> Size | Unavailable:
        """Return the size of a prompt, which is the same under the same key; or why there is nothing to ask."""
        if key not in self.sizes:
            try:
                self.sizes[key] = self._measured(key, need, at)
            except Unavailable as reason:
                self.sizes[key] = reason
        return self.sizes[key]

    def _measured(self, key: tuple[object, ...], need: ReplyNeed, at: _At) -> Size:
        names = need.prompt.names if isinstance(need.prompt, JudgePrompt) else at.names.values
        placeholders = SizedPlaceholders(names, at.known)
        sent = need.prompt.messages(placeholders)
        if self.foresight.read is not None:
            self.foresight.read(need, need.prompt.messages(NamedPlaceholders(names, at.known)))
        if placeholders.is_empty:
            self.sent[key] = sent
        return whole(placeholders.size(sent), self.case.scenario)

    def _adopts_turn(self, at: _At, need: ReplyNeed) -> bool:
        """Return true if another conversation has a turn after the same ones; it is among the rows from then on."""
        assert need.talk is not None
        if not any(self.adopting.may("turns", model) for model in need.talk.models.values()):
            return False
        try:
            sent = need.prompt.messages()
        except Unavailable:
            return False
        return self._holds(need, self.adopting.find(need, sent, at.unit))

    def _holds(self, need: ReplyNeed, row: Row | None) -> bool:
        """Put a row that is adopted under its new name among those that are kept."""
        if row is not None:
            self.adopting.kept[need.call.name], self.adopting.rows[need.call.name] = row["status"], row
        return row is not None

    def _as_sure(self, size: Size, certain: bool, at: _At) -> Fate:
        """Return how sure a call is to be made, given what it waits for: a reply may not come, but what is sent for one
        does."""
        found = Fate.CERTAIN if certain else Fate.PERHAPS
        for name, only_sent in size.waits:
            fate = at.fates.get(name, Fate.CERTAIN)
            found = min(found, fate if only_sent else min(fate, Fate.LIKELY))
        return found
