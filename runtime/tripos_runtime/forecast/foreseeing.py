"""Takes a case through its steps without asking anybody: which replies are there, and which would be asked for.

The invariant: what is foreseen is what `stepping` would do. A condition or a prompt that needs a reply which is not
there is left open; everything else is evaluated, with the replies that are kept.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, NamedTuple, cast

from tripos_compiler.language.evaluation import Missing, Unavailable
from tripos_compiler.plan import Ask, Converse, Grade, Judging, Retrieve, Verdict
from tripos_runtime.asking.kept_rows import answer_of, dialogue_of
from tripos_runtime.asking.ledger import Row
from tripos_runtime.asking.statuses import NOT_APPLICABLE, NOT_ASKED, OK
from tripos_runtime.datasets.cases import Case
from tripos_runtime.forecast.foreseen_adoption import Adopting
from tripos_runtime.forecast.sizes.foreseen_talks import calls_of, is_over, models_of
from tripos_runtime.forecast.sizes.prompt_sizes import PromptSizes
from tripos_runtime.forecast.sizes.sizes import NO_SIZE, PENDING, Known, Size, can_be, is_pending, is_waiting
from tripos_runtime.forecast.vectors import ForeseenVectors
from tripos_runtime.models.base import Message
from tripos_runtime.program.adopting import Adoption, Here
from tripos_runtime.program.calls import Call
from tripos_runtime.program.conversing import systems
from tripos_runtime.program.pairs import Pair, is_kept, pairs_of
from tripos_runtime.program.steps import said
from tripos_runtime.program.talks import Talk, turns_so_far
from tripos_runtime.program.units import Names, Unit
from tripos_runtime.retrieval.choosing import Chooser
from tripos_runtime.retrieval.indexes import Values


class Where(NamedTuple):
    """What calls are counted by. `arm` says which treatments share them, such as `hints yes`; empty: all."""

    scenario: str
    arm: str
    step: str
    role: str
    model: str


class Fate(IntEnum):
    """What becomes of a call. Of several fates of one name the greatest holds. A call that is `LIKELY` is made unless a
    reply before it does not come or does not yield what it takes; one that is `SPARE` only where others come to
    nothing."""

    RULED_OUT = 0
    SPARE = 1
    PERHAPS = 2
    LIKELY = 3
    CERTAIN = 4
    REUSED = 5


OPEN = (Fate.SPARE, Fate.PERHAPS, Fate.LIKELY, Fate.CERTAIN)
"""The fates of calls that are made, or may be."""
Saying = tuple[str, str, str]
"""Who gives a reply that is waited for: the scenario and the step whose replies are like it, and the model."""


@dataclass(frozen=True)
class Foreseen:
    """One call of a case. `size` is that of its prompt, for those that would be made; `awaits` are the steps it builds
    on that would be asked first, by the model that answers each; `said_by` tells who gives what its prompt waits for,
    turns of conversations included."""

    call: Call
    unit: Unit | Pair
    fate: Fate
    size: Size = NO_SIZE
    awaits: Mapping[str, str] = field(default_factory=dict)
    said_by: Mapping[str, Saying] = field(default_factory=dict)


@dataclass
class Foresight(PromptSizes):
    """Goes through cases. `sources` has the rows and axes of the plan."""

    embedding: dict[tuple[str, ...], tuple[Unit, Retrieve, Names, Fate]] = field(default_factory=dict)
    """What the case at hand needs vectors for, each once, whichever of its steps do, and how sure that is."""
    made_by: Mapping[str, Saying] = field(default_factory=dict)
    """Who writes the rows of data sets that are yet to be made."""
    known: Known = field(default_factory=dict)
    """The sizes of what is not there of the case at hand but can be told."""
    vectors: ForeseenVectors | None = None
    """Who knows which vectors are there."""
    adoption: Adoption | None = None
    """Who finds replies that the ledger has under other names."""

    def of(self, case: Case, units: Sequence[Unit], kept: Mapping[str, str], rows: Mapping[str, Row]) -> list[Foreseen]:
        """Every call of a case once. `kept` has the statuses of what need not be asked again, `rows` the samples among
        them that calls may build on."""
        self.embedding = {}
        pairs = pairs_of(units)
        shown = {side for pair in pairs if not is_kept(pair, kept) for side in (pair.first, pair.second)}
        view = _View(self, case, kept, rows, Here(units))
        for unit in units:
            view.go_through(unit, shown=unit in shown)
        for pair in pairs:
            view.compare(pair)
        return list(view.found.values())


@dataclass
class _Walked:
    """What a unit came to so far: the names that its expressions see, what it waits for and by whom, the fate of each
    step that is yet to be asked, and the sizes that are known of what is not there."""

    names: Names
    awaits: dict[str, str] = field(default_factory=dict)
    said_by: dict[str, Saying] = field(default_factory=dict)
    fates: dict[str, Fate] = field(default_factory=dict)
    known: dict[tuple[str, ...], Size] = field(default_factory=dict)

    def wait(self, name: str, model: str, fate: Fate, saying: Saying) -> None:
        """Notes a step that is yet to be asked."""
        self.awaits[name], self.fates[name], self.said_by[name] = model, fate, saying


class _View:
    """One case: what its units have in common is worked out once."""

    def __init__(
        self, foresight: Foresight, case: Case, kept: Mapping[str, str], rows: Mapping[str, Row], here: Here
    ) -> None:
        self.foresight, self.case, self.kept, self.rows = foresight, case, kept, rows
        self.adopting = Adopting(foresight.adoption, foresight.questions, here)
        if foresight.adoption is not None:  # what is adopted counts as kept
            self.kept = ChainMap(self.adopting.kept, cast("dict[str, str]", kept))
            self.rows = ChainMap(self.adopting.rows, cast("dict[str, Row]", rows))
        self.found: dict[str, Foreseen] = {}
        self.sizes: dict[tuple[object, ...], Size | str] = {}
        self.sent: dict[tuple[object, ...], tuple[Message, ...]] = {}
        """What is sent, by the same keys, where all of it is known."""
        self.answers: dict[str, tuple[str | None, Any, str, str]] = {}
        self.retrieved: dict[tuple[str, ...], Any] = {}
        self.sides: dict[Unit, _Walked] = {}

    def go_through(self, unit: Unit, shown: bool) -> None:
        """`shown`: what it comes to is compared."""
        if not shown and self._is_whole(unit):
            for call in unit.calls:
                self._note(Foreseen(call, unit, Fate.REUSED))
            for talk in unit.talks.values():
                self._over(talk, unit)
            return
        at = self.sides[unit] = _Walked(
            Names(self.case.names), said_by=dict(self.foresight.made_by), known=dict(self.foresight.known)
        )
        calls = iter(unit.calls)
        for step in unit.wiring.treatment.steps:
            if isinstance(step, Ask):
                self._ask(unit, step, next(calls), at)
            elif isinstance(step, Retrieve):
                self._retrieve(unit, step, at)
            elif isinstance(step, Converse):
                self._talk(unit, unit.talks[step.name], at)
            elif isinstance(step, Grade | Verdict):
                self._judge(unit, step, [next(calls) for _ in unit.evaluators(step)], at)

    def _is_whole(self, unit: Unit) -> bool:
        """Whether nothing is asked for a unit. Where scores are to be taken, what it looks for is looked for again."""
        searched = any(isinstance(step, Retrieve) and step.using is not None for step in unit.wiring.treatment.steps)
        if searched and not all(name in self.kept for _, name in unit.results):
            return False
        talked = all(talk.name in self.kept for talk in unit.talks.values())
        return talked and all(call.name in self.kept for call in unit.calls)

    def _ask(self, unit: Unit, step: Ask, call: Call, at: _Walked) -> None:
        key = _key(unit, step, at)
        fate, size = self._fate(key, step, at, call.name in self.kept)
        if fate in OPEN and self._adopts(call, key, unit):
            fate, size = Fate.REUSED, NO_SIZE
        self._note_open(call, unit, fate, size, step.needs, at)
        if fate is Fate.RULED_OUT:
            at.names.skipped(step, str(size))
        elif fate is Fate.REUSED:
            self._answer(step, call.name, at.names, unit.case.language)
        else:
            at.names.skipped(step, PENDING)
        if fate in OPEN and isinstance(size, Size):
            at.wait(step.name, call.model, fate, (self.case.scenario.name, step.name, call.model))
            at.known[step.name, "prompt"] = Size(
                size.narrow, size.wide, size.pending, size.beyond, size.unknown, frozenset(((step.name, True),)),
                most=size.most,
            )  # fmt: skip

    def _judge(self, unit: Unit, step: Grade | Verdict, calls: Sequence[Call], at: _Walked) -> None:
        there = all(call.name in self.kept for call in calls)
        key = _key(unit, step, at)
        fate, size = self._fate(key, step, at, there)
        if fate in OPEN:
            for call in calls:
                self._adopts(call, key, unit)
            if all(call.name in self.kept for call in calls):
                fate, size = Fate.REUSED, NO_SIZE
        for call in calls:
            own = Fate.REUSED if call.name in self.kept and fate is not Fate.RULED_OUT else fate
            self._note_open(call, unit, own, size, step.needs, at)
        if isinstance(step, Verdict):
            self._give(step, calls, fate, size, at.names, unit.case.language)
            if fate in OPEN:
                saying = (self.case.scenario.name, step.name, calls[0].model)
                at.wait(step.name, calls[0].model, fate, saying)

    def _retrieve(self, unit: Unit, step: Retrieve, at: _Walked) -> None:
        """What a step finds. Of one that needs vectors nothing is known but about how long it is."""
        status = self._status(step, at)
        if status not in (None, PENDING):
            at.names.found(step, Missing(step.name, str(status)))
            return
        key = (step.fingerprint, str(status), *unit.upstream(step.needs))
        if key not in self.retrieved:
            near = self._near(unit, step, at)
            seen: Any = found(self.foresight.chooser, unit, step, at.names, near or {})
            if step.using is not None and near is None and not isinstance(seen, Missing):
                try:
                    seen = self.foresight.nearest(step, at.names.values, seen)
                except Unavailable as reason:
                    seen = Missing(step.name, reason.status)
            if step.using is not None:
                fate = Fate.CERTAIN if status is None else Fate.PERHAPS
                place = (step.fingerprint, *unit.upstream(step.needs))
                before = self.foresight.embedding.get(place)
                if before is None or before[-1] < fate:
                    self.foresight.embedding[place] = (unit, step, at.names, fate)
            self.retrieved[key] = seen
        seen = self.retrieved[key]
        if isinstance(seen, Size):
            at.known[(step.name,)] = seen
            at.fates[step.name] = Fate.LIKELY
            seen = Missing(step.name, PENDING)
        elif isinstance(seen, Missing) and seen.status == PENDING:
            at.known[(step.name,)] = is_waiting(step.name, f"what `{step.name}` finds")
            at.fates[step.name] = Fate.PERHAPS
        at.names.found(step, seen)

    def _near(self, unit: Unit, step: Retrieve, at: _Walked) -> Mapping[int, Values] | None:
        """How near the elements are by vectors, where all of these are there. It matters to whoever adopts."""
        foresight = self.foresight
        if step.using is None or foresight.vectors is None or foresight.adoption is None:
            return None
        try:
            (model,) = unit.wiring.retrieved[step.name]
            return foresight.vectors.values(step, model, at.names, foresight.chooser)
        except Unavailable:
            return None

    def _talk(self, unit: Unit, talk: Talk, at: _Walked) -> None:
        """What becomes of the turns of a conversation."""
        step = talk.step
        status = self._status(step, at)
        if status not in (None, PENDING):
            for call in calls_of(talk):
                self._note(Foreseen(call, unit, Fate.RULED_OUT))
            at.names.lacks(step, str(status))
            return
        self._adopt_turns(talk, unit, at.names)
        if is_over(talk, self.kept, self.rows):
            self._over(talk, unit)
            row = self.rows.get(talk.name)
            if row is not None:
                at.names.talked(step, dialogue_of(row), row["status"])
            else:
                turns = turns_so_far(talk, self.rows, self.kept)
                after = "" if len(turns) == len(talk.turns) else self.kept.get(talk.turns[len(turns)], "")
                at.names.talked(step, turns, after or OK)
            return
        turns = turns_so_far(talk, self.rows, self.kept)
        scenario = self.case.scenario.name
        speaking = {name: (scenario, step.name, model) for name, model in models_of(talk).items()}
        at.said_by |= speaking
        begins = Fate.RULED_OUT
        for number, call in enumerate(calls_of(talk), 1):
            if number <= len(turns):
                self._note(Foreseen(call, unit, Fate.REUSED))
                continue
            key = (step.fingerprint, talk.name, number)
            if key not in self.sizes:
                try:
                    self.sizes[key] = self.foresight.turn(talk, number, turns, at.names.values, self.case, at.known)
                except Unavailable as reason:
                    self.sizes[key] = reason.status
            size = self.sizes[key]
            if isinstance(size, str):  # nothing can be told to one of them
                self._note(Foreseen(call, unit, Fate.RULED_OUT))
                at.names.lacks(step, size)
                continue
            fate = Fate.PERHAPS
            if number == len(turns) + 1:
                fate = begins = self._as_sure(size, status, at)
            self._note_open(call, unit, fate, size, step.needs, at)
        if begins is not Fate.RULED_OUT:
            at.names.lacks(step, PENDING)
            at.awaits[step.name] = talk.models[unit.wiring.told_by(step)]
            at.fates[step.name] = begins

    def _over(self, talk: Talk, unit: Unit) -> None:
        """Notes the turns of a conversation that was held."""
        for call in calls_of(talk):
            self._note(Foreseen(call, unit, Fate.REUSED if call.name in self.kept else Fate.RULED_OUT))

    def _give(
        self, step: Verdict, calls: Sequence[Call], fate: Fate, size: Size | str, names: Names, language: str
    ) -> None:
        """Puts a verdict among the names: its value, where every judgement that it is taken from is there."""
        if fate is Fate.RULED_OUT:
            names.lacks(step, str(size))
            return
        question = self.foresight.questions.of(step, language)
        rows = [self.rows.get(call.name) for call in calls]
        answers = [answer_of(row, question.reader) for row in rows if row is not None]
        whole_ = fate is Fate.REUSED and len(answers) == len(calls)
        scorer = self.foresight.plan.scorer(step.scorer)
        names.gave(step.name, said(step, scorer, answers) if whole_ else Missing(step.name, PENDING))

    def compare(self, pair: Pair) -> None:
        """What becomes of the calls of a pair, once its sides were gone through."""
        if is_kept(pair, self.kept):
            for call in pair.calls:
                self._note(Foreseen(call, pair, Fate.REUSED))
            return
        step, first, second = pair.step, self.sides[pair.first], self.sides[pair.second]
        both = _Walked(pair.names(first.names, second.names), {**second.awaits, **first.awaits})
        for place, side in (("first", first), ("second", second)):
            both.fates |= {f"{place}.{name}": fate for name, fate in side.fates.items()}
            both.said_by |= {f"{place}.{name}": saying for name, saying in side.said_by.items()}
            both.known |= {(place, *path): _on_side(size, place) for path, size in side.known.items()}
        # What both sides have in common stands below neither.
        both.fates |= first.fates
        both.said_by |= first.said_by
        both.known |= first.known
        key = (_key(pair.first, step, first), _key(pair.second, step, second))
        there = all(call.name in self.kept for call in pair.calls)
        fate, size = self._fate(key, step, both, there)
        for call in pair.calls:
            if fate in OPEN:
                self._adopts(call, key, pair.first)
            own = Fate.REUSED if call.name in self.kept and fate is not Fate.RULED_OUT else fate
            self._note_open(call, pair, own, size, step.needs, both)

    def _note_open(
        self, call: Call, unit: Unit | Pair, fate: Fate, size: Size | str, needs: Sequence[str], at: _Walked
    ) -> None:
        awaits = {need: at.awaits[need] for need in needs if need in at.awaits}
        own = size if isinstance(size, Size) else Size()
        if fate is Fate.CERTAIN and own.waits and self.adopting.may(call.table, call.model):
            fate = Fate.LIKELY  # once it is known what is sent, a reply to just that may turn up
        said_by = {name: at.said_by[name] for name in {*own.pending, *own.beyond} if name in at.said_by}
        self._note(Foreseen(call, unit, fate, own, awaits, said_by))

    def _note(self, seen: Foreseen) -> None:
        if seen.fate is Fate.REUSED and self.kept.get(seen.call.name) in NOT_ASKED:  # nor is it asked now
            seen = replace(seen, fate=Fate.RULED_OUT)
        before = self.found.get(seen.call.name)
        if before is None or before.fate < seen.fate:
            self.found[seen.call.name] = seen

    def _fate(self, key: tuple[object, ...], step: Ask | Judging, at: _Walked, there: bool) -> tuple[Fate, Size | str]:
        """What becomes of a step, and the size of its prompt, which is the same under the same key; or the status of
        what is not done. `there`: every reply to it is."""
        status = self._status(step, at)
        if status not in (None, PENDING):
            return Fate.RULED_OUT, str(status)
        if there:
            return Fate.REUSED, Size()
        if key not in self.sizes:
            try:
                self.sizes[key] = self._size(key, step, at)
            except Unavailable as reason:
                self.sizes[key] = reason.status
        size = self.sizes[key]
        return (self._as_sure(size, status, at) if isinstance(size, Size) else Fate.RULED_OUT), size

    def _size(self, key: tuple[object, ...], step: Ask | Judging, at: _Walked) -> Size:
        if not self.foresight.waits(step, at.names.values, self.case):
            try:
                sent = self.sent[key] = self.foresight.sent(step, at.names.values, self.case)
                return Size.sent(sent)
            except Unavailable as reason:
                if not is_pending(reason):
                    raise
        return self.foresight.outline(step, at.names.values, self.case, at.known)

    def _adopts(self, call: Call, key: tuple[object, ...], unit: Unit) -> bool:
        """Whether a reply to what would be sent is there under another name; it is among the rows from then on."""
        if key not in self.sent or call.name in self.kept:
            return False
        return self._holds(call.name, self.adopting.reply(call, self.sent[key], unit))

    def _adopt_turns(self, talk: Talk, unit: Unit, names: Names) -> None:
        """Takes over the turns that another conversation has after the same ones."""
        if talk.name in self.kept or not self.adopting.could(talk):
            return
        try:
            told = systems(talk.step, self.case, names.values, self.foresight.sources)
        except Unavailable:
            return
        while not is_over(talk, self.kept, self.rows):
            turns = turns_so_far(talk, self.rows, self.kept)
            before = [self.rows[name] for name in talk.turns[: len(turns)]]
            if not self._holds(talk.turns[len(turns)], self.adopting.turn(talk, turns, before, told, unit)):
                return

    def _holds(self, name: str, row: Row | None) -> bool:
        """Puts a row that is adopted under a name among those that are kept."""
        if row is not None:
            self.adopting.kept[name], self.adopting.rows[name] = row["status"], row
        return row is not None

    def _status(self, step: Ask | Converse | Retrieve | Judging, at: _Walked) -> str | None:
        """None where a step's condition holds, `PENDING` where that is open, else the status of what is not done."""
        status = at.names.holds(step)
        if status == PENDING and step.when is not None and not can_be(True, step.when, at.names.values):
            return NOT_APPLICABLE
        return status

    def _as_sure(self, size: Size, status: str | None, at: _Walked) -> Fate:
        """How sure a call is to be made, given what it waits for: a reply may not come, but what is sent for one does.
        `status` is that of its condition."""
        fates = [Fate.PERHAPS if status == PENDING else Fate.CERTAIN]
        for name, only_sent in size.waits:
            fate = at.fates.get(name, Fate.CERTAIN)
            fates.append(fate if only_sent else min(fate, Fate.LIKELY))
        return min(fates)

    def _answer(self, step: Ask, name: str, names: Names, language: str) -> None:
        """Puts a kept reply among the names, as `stepping` does."""
        if name not in self.answers:
            row = self.rows.get(name)
            if row is None:  # another process is about to write it
                names.skipped(step, PENDING)
                return
            if row["status"] in NOT_ASKED:
                names.skipped(step, row["status"])
                return
            answer = answer_of(row, self.foresight.questions.of(step, language).reader)
            self.answers[name] = (answer.text, answer.value, answer.status, answer.prompt)
        names.answered(step, *self.answers[name])


def found(chooser: Chooser, unit: Unit, step: Retrieve, names: Names, values: Mapping[int, Values]) -> Any:
    """What a step finds by these similarities, or else without embeddings, whoever should embed; `Missing` where its
    condition rules it out or a value is not there."""
    against = names.against(step)
    if against is not None:
        return Missing(step.name, against.status, against.reason)
    try:
        return chooser.chosen(step, names.values, unit.case.fields, values)
    except Unavailable as reason:
        return Missing(step.name, reason.status, reason.reason)


def _on_side(size: Size, place: str) -> Size:
    """A size as it is seen from a pair that has it on one side."""
    pending, beyond = (tuple(f"{place}.{name}" for name in names) for names in (size.pending, size.beyond))
    waits = frozenset((f"{place}.{name}", sent) for name, sent in size.waits)
    return Size(size.narrow, size.wide, pending, beyond, size.unknown, waits, size.messages, size.most)


def _key(unit: Unit, step: Ask | Judging, at: _Walked) -> tuple[object, ...]:
    """Prompts that take in the same replies are the same. Of those still to come nothing is known but what is sent for
    them, whoever gives them."""
    needs: list[object] = []
    for need in step.needs:
        needs += unit.upstream([need]) if need not in at.awaits else [PENDING, at.known.get((need, "prompt"))]
    return (step.fingerprint, *needs)
