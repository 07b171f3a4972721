"""Takes a case through its steps without asking anybody: which replies are there, and which would be asked for.

The invariant: what is foreseen is what `stepping` would do. A condition or a prompt that needs a reply which is not
there is left open; everything else is evaluated, with the replies that are kept.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple, cast

import orjson

from tripos_compiler.plan import (
    Ask,
    Converse,
    Grade,
    Hole,
    Judging,
    Metric,
    Passage,
    Plan,
    Retrieve,
    Settings,
    Template,
    Verdict,
)
from tripos_compiler.semantics.conversations import opening
from tripos_compiler.semantics.evaluate import Missing, Unavailable, evaluate
from tripos_compiler.semantics.library.kinds import Dialogue
from tripos_compiler.semantics.render import rubric, show
from tripos_runtime.adopting import Adoption, Here, Wanted
from tripos_runtime.asking import Adopted, Question, reread, text_reader
from tripos_runtime.cases import Case
from tripos_runtime.chats import chat_messages
from tripos_runtime.conversing import kept_turns, said_to, systems
from tripos_runtime.foreseen_talks import awaited, calls_of, is_over, models_of, whole
from tripos_runtime.grading import grade_schema
from tripos_runtime.ledger import Row
from tripos_runtime.models.base import Message
from tripos_runtime.pairs import Pair, is_kept, pairs_of
from tripos_runtime.prompting import ask_messages, continued, grade_messages
from tripos_runtime.questions import question_of
from tripos_runtime.reading import format_note, read, schema_of
from tripos_runtime.retrieval.choosing import Chooser
from tripos_runtime.retrieval.foreseen import ForeseenVectors
from tripos_runtime.retrieval.indexes import Values
from tripos_runtime.retrieval.retrieving import found
from tripos_runtime.shots import shot_messages
from tripos_runtime.sources import Sources
from tripos_runtime.statuses import OK, TRUNCATED
from tripos_runtime.talks import Talk, turns_so_far
from tripos_runtime.units import Call, Names, Unit
from tripos_runtime.verdicts import judged, said

PENDING = "pending"
"""Stands where the status of a reply would, while there is no reply."""
WIDE = re.compile("[\u2e80-\uffff\U00020000-\U0003ffff]")
"""Characters of which a token holds few: Chinese, Japanese, Korean."""


class Where(NamedTuple):
    """What calls are counted by. `arm` says which treatments share them, such as `hints yes`; empty: all."""

    scenario: str
    arm: str
    step: str
    role: str
    model: str


class Fate(IntEnum):
    """What becomes of a call. Of several fates of one name the greatest holds."""

    RULED_OUT = 0
    PERHAPS = 1
    CERTAIN = 2
    REUSED = 3


@dataclass(frozen=True)
class Size:
    """How long a prompt is: characters of alphabets, wide characters, and the steps whose replies go into it, once for
    every time, that are not there yet."""

    narrow: int = 0
    wide: int = 0
    pending: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> Size:
        """The size of a text.

        >>> Size.of("E = 能量")
        Size(narrow=4, wide=2, pending=())
        """
        wide = 0 if text.isascii() else len(WIDE.findall(text))
        return cls(len(text) - wide, wide)

    def __add__(self, other: Size) -> Size:
        return Size(self.narrow + other.narrow, self.wide + other.wide, self.pending + other.pending)


@dataclass(frozen=True)
class Foreseen:
    """One call of a case. `size` is that of its prompt, for those that would be made; `awaits` are the steps it builds
    on that would be asked first, by the model that answers each."""

    call: Call
    unit: Unit | Pair
    fate: Fate
    size: Size = Size()
    awaits: Mapping[str, str] = field(default_factory=dict)
    turns: Mapping[str, str] = field(default_factory=dict)
    """The models that say the turns which its prompt waits for, by step and role."""


@dataclass
class Foresight:
    """Goes through cases. `sources` has the rows and axes of the plan."""

    plan: Plan
    sources: Sources
    chooser: Chooser = field(default_factory=Chooser)
    embedding: list[tuple[Unit, Retrieve, Names]] = field(default_factory=list)
    """The steps of the case at hand that need vectors, each once."""
    vectors: ForeseenVectors | None = None
    """Who knows which vectors are there."""
    adoption: Adoption | None = None
    """Who finds replies that the ledger has under other names."""
    _questions: dict[str, Question] = field(default_factory=dict)
    _asked: dict[str, Question] = field(default_factory=dict)

    def of(self, case: Case, units: Sequence[Unit], kept: Mapping[str, str], rows: Mapping[str, Row]) -> list[Foreseen]:
        """Every call of a case once. `kept` has the statuses of what need not be asked again, `rows` the samples among
        them that calls may build on."""
        self.embedding = []
        pairs = pairs_of(units)
        shown = {side for pair in pairs if not is_kept(pair, kept) for side in (pair.first, pair.second)}
        view = _View(self, case, kept, rows, Here(units))
        for unit in units:
            view.go_through(unit, shown=unit in shown)
        for pair in pairs:
            view.compare(pair)
        return list(view.found.values())

    def question(self, step: Ask | Judging) -> Question:
        """What is sent for a step, apart from who is asked."""
        if step.fingerprint not in self._questions:
            if isinstance(step, Ask):
                schema = None if step.returns is None else schema_of(step.returns)
                made = Question(step.system, step.prompt, step.settings, schema, text_reader)
            else:
                scorer = self.plan.scorer(step.scorer)
                schema = grade_schema(scorer, self._metrics(step))
                settings = Settings(max_tokens=0) if scorer.reward else scorer.settings  # it writes nothing
                made = Question(scorer.system, scorer.prompt, settings, schema, text_reader)
            self._questions[step.fingerprint] = made
        return self._questions[step.fingerprint]

    def sent(self, step: Ask | Judging, names: Mapping[str, Any], case: Case) -> tuple[Message, ...]:
        """What is sent. Raises `Unavailable` where that needs a reply that is not there, or what a kept one did not
        yield."""
        question = self.question(step)
        if isinstance(step, Ask):
            return ask_messages(step, question, case, names, self.sources)
        return grade_messages(step, question, case, names, self.sources, self._metrics(step))

    def outline(self, step: Ask | Judging, names: Mapping[str, Any], case: Case) -> Size:
        """The size of what is sent where that needs replies which are not there. Raises `Unavailable` where it needs
        what a kept reply did not yield."""
        size = self._outline(step, self.question(step), names, case)
        return Size(size.narrow, size.wide, whole(size.pending, case.scenario))

    def asked(self, step: Ask | Judging) -> Question:
        """The question of a step, with how its replies are read."""
        if step.fingerprint not in self._asked:
            axes = tuple(self.sources.axes.values())
            self._asked[step.fingerprint] = question_of(self.plan, axes, step)
        return self._asked[step.fingerprint]

    def _outline(self, step: Ask | Judging, question: Question, names: Mapping[str, Any], case: Case) -> Size:
        """The size of what is sent but for the replies that are not there yet."""
        seen = names if isinstance(step, Ask) else {**self.sources.names, **_arguments(step, names)}
        metrics = () if isinstance(step, Ask) else self._metrics(step)
        texts = [each[case.language] for each in (question.system, question.prompt) if each is not None]
        size = _sum(self._printed(template, seen, case.language, metrics) for template in texts)
        if question.schema is not None:
            size += Size.of(format_note(question.schema, case.language))
        if not isinstance(step, Ask):
            return size
        try:
            if step.chat is not None:
                size += _sum(Size.of(each.content) for each in chat_messages(evaluate(step.chat, names), step.role))
            for shots in step.shots:
                size += _sum(Size.of(each.content) for each in shot_messages(shots, case, names, self.sources))
            if step.continues is not None:
                size += _sum(
                    Size.of(each.content) for each in continued(step.continues, step.role, names, case.language)
                )
        except Unavailable as reason:
            if reason.status != PENDING:
                raise
            size += Size(pending=(reason.step,))
        return size

    def turn(self, talk: Talk, number: int, turns: Dialogue, names: Mapping[str, Any], case: Case) -> Size:
        """The size of what is sent for turn `number` of a conversation of which `turns` are there. Raises `Unavailable`
        where that needs what a kept reply did not yield."""
        step, role = talk.step, talk.speaker(number)
        try:
            told = systems(step, case, names, self.sources)
            size = Size()
        except Unavailable as reason:
            if reason.status != PENDING:
                raise
            told = {}
            size = Size(pending=(reason.step,))
            for speaker in step.speakers:
                if speaker.role == role and speaker.system is not None:
                    size = self._printed(speaker.system[case.language], names, case.language, ())
        begun = opening(case.language) if role == step.opens else None
        size += _sum(Size.of(each.content) for each in said_to(role, told, turns, begun))
        size += Size(pending=awaited(step, len(turns) + 1, number - 1))
        return Size(size.narrow, size.wide, whole(size.pending, case.scenario))

    def _metrics(self, step: Judging) -> tuple[Metric, ...]:
        return tuple(self.plan.metric(each) for each in getattr(step, "metrics", ()))

    def _printed(self, template: Template, names: Mapping[str, Any], language: str, metrics: Sequence[Metric]) -> Size:
        size = Size()
        for part in _parts(template, names):
            if isinstance(part, str):
                size += Size.of(part)
            elif part.type.kind == "metrics":
                size += Size.of(rubric(metrics, language))
            else:
                try:
                    size += Size.of(show(part, evaluate(part.expr, names), language, self.sources.axes))
                except Unavailable as reason:
                    if reason.status != PENDING:
                        raise
                    size += Size(pending=(reason.step,))
        return size


class _View:
    """One case: what its units have in common is worked out once."""

    def __init__(
        self, foresight: Foresight, case: Case, kept: Mapping[str, str], rows: Mapping[str, Row], here: Here
    ) -> None:
        self.foresight, self.case, self.kept, self.rows = foresight, case, kept, rows
        self.found: dict[str, Foreseen] = {}
        self.sizes: dict[tuple[object, ...], Size | str] = {}
        self.answers: dict[str, tuple[str | None, Any, str, str]] = {}
        self.retrieved: dict[tuple[str, ...], Any] = {}
        self.sides: dict[Unit, _Side] = {}
        self.sent: dict[tuple[object, ...], tuple[Message, ...]] = {}
        """What is sent, by the same keys as the sizes."""
        self.here = here
        self.guessed: set[str] = set()
        """The retrieving steps of which it is not known what they find."""

    def go_through(self, unit: Unit, shown: bool) -> None:
        """`shown`: what it comes to is compared."""
        talked = all(talk.name in self.kept for talk in unit.talks.values())
        if not shown and talked and all(call.name in self.kept for call in unit.calls):
            for call in unit.calls:
                self._note(Foreseen(call, unit, Fate.REUSED))
            for talk in unit.talks.values():
                self._over(talk, unit)
            return
        names = Names(self.case.names)
        awaits: dict[str, str] = {}
        perhaps: set[str] = set()
        self.sides[unit] = _Side(names, awaits, perhaps)
        calls = iter(unit.calls)
        for step in unit.wiring.treatment.steps:
            if isinstance(step, Ask):
                call = next(calls)
                key = _key(unit, step, awaits)
                fate, size = self._fate(key, step, names, perhaps, call.name in self.kept)
                if self._adopted(call, key, unit, fate):
                    fate, size = Fate.REUSED, Size()
                elif fate is Fate.CERTAIN and self._is_guessed(call):
                    fate = Fate.PERHAPS
                if fate is Fate.RULED_OUT:
                    names.skipped(step, str(size))
                elif fate is Fate.REUSED:
                    self._answer(step, call.name, names)
                else:
                    names.skipped(step, PENDING)
                mine = _awaited(step.needs, awaits)
                said_by = _speakers(unit, step.needs)
                self._note(Foreseen(call, unit, fate, size if isinstance(size, Size) else Size(), mine, said_by))
                if fate in (Fate.PERHAPS, Fate.CERTAIN):
                    awaits[step.name] = call.model
                    if fate is Fate.PERHAPS:
                        perhaps.add(step.name)
            elif isinstance(step, Retrieve):
                self._retrieve(unit, step, names)
            elif isinstance(step, Converse):
                self._talk(unit, unit.talks[step.name], names, awaits, perhaps)
            elif isinstance(step, Grade | Verdict):
                own_calls = [next(calls) for _ in unit.evaluators(step)]
                there = all(call.name in self.kept for call in own_calls)
                key = _key(unit, step, awaits)
                fate, size = self._fate(key, step, names, perhaps, there)
                adopted = [self._adopted(call, key, unit, fate) for call in own_calls]
                if any(adopted) and all(call.name in self.kept for call in own_calls):
                    fate, size = Fate.REUSED, Size()
                mine, said_by = _awaited(step.needs, awaits), _speakers(unit, step.needs)
                for call in own_calls:
                    own = Fate.REUSED if call.name in self.kept and fate is not Fate.RULED_OUT else fate
                    self._note(Foreseen(call, unit, own, size if isinstance(size, Size) else Size(), mine, said_by))
                if isinstance(step, Verdict):
                    self._give(step, own_calls, fate, size, names)
                    if fate in (Fate.PERHAPS, Fate.CERTAIN):
                        awaits[step.name] = own_calls[0].model
                        if fate is Fate.PERHAPS:
                            perhaps.add(step.name)

    def _found(self, unit: Unit, step: Retrieve, names: Names) -> Any:
        vectors, chooser = self.foresight.vectors, self.foresight.chooser
        values: Mapping[int, Values] | None = {}
        if step.using is not None and names.holds(step) is None:
            values = None
            if vectors is not None and self.foresight.adoption is not None:
                with suppress(Unavailable):
                    values = vectors.values(step, *unit.wiring.retrieved[step.name], names, chooser)
            if values is None:
                self.guessed.add(step.name)
        return found(chooser, unit, step, names, values or {})

    def _retrieve(self, unit: Unit, step: Retrieve, names: Names) -> None:
        """What a step finds. Of one that needs vectors, which may not be there, what letters find: it is as long."""
        key = (step.fingerprint, *unit.upstream(step.needs))
        if key not in self.retrieved:
            self.retrieved[key] = self._found(unit, step, names)
            if step.using is not None and names.holds(step) is None:
                self.foresight.embedding.append((unit, step, names))
        names.values[step.name] = self.retrieved[key]

    def _talk(self, unit: Unit, talk: Talk, names: Names, awaits: dict[str, str], perhaps: set[str]) -> None:
        """What becomes of the turns of a conversation."""
        step = talk.step
        status = names.holds(step)
        if status not in (None, PENDING):
            for call in calls_of(talk):
                self._note(Foreseen(call, unit, Fate.RULED_OUT))
            names.lacks(step, str(status))
            return
        self._adopt_turns(talk, names)
        if is_over(talk, self.kept, self.rows):
            self._over(talk, unit)
            row = self.rows.get(talk.name)
            if row is not None:
                names.talked(step, kept_turns(row), row["status"])
            else:
                turns = turns_so_far(talk, self.rows, self.kept)
                after = "" if len(turns) == len(talk.turns) else self.kept.get(talk.turns[len(turns)], "")
                names.talked(step, turns, after or OK)
            return
        turns = turns_so_far(talk, self.rows, self.kept)
        open_ = status is None and not perhaps.intersection(step.needs)
        mine, said_by = _awaited(step.needs, awaits), {**_speakers(unit, step.needs), **models_of(talk)}
        for number, call in enumerate(calls_of(talk), 1):
            if number <= len(turns):
                self._note(Foreseen(call, unit, Fate.REUSED))
                continue
            key = (step.fingerprint, talk.name, number)
            if key not in self.sizes:
                try:
                    self.sizes[key] = self.foresight.turn(talk, number, turns, names.values, self.case)
                except Unavailable as reason:
                    self.sizes[key] = reason.status
            size = self.sizes[key]
            if isinstance(size, str):  # nothing can be told to one of them
                self._note(Foreseen(call, unit, Fate.RULED_OUT))
                names.lacks(step, size)
                continue
            fate = Fate.CERTAIN if open_ and number == len(turns) + 1 else Fate.PERHAPS
            self._note(Foreseen(call, unit, fate, size, mine, said_by))
        if isinstance(size, Size):
            names.lacks(step, PENDING)
            awaits[step.name] = talk.models[unit.wiring.told_by(step)]
            perhaps.update(() if open_ else (step.name,))

    def _over(self, talk: Talk, unit: Unit) -> None:
        """Notes the turns of a conversation that was held."""
        for call in calls_of(talk):
            self._note(Foreseen(call, unit, Fate.REUSED if call.name in self.kept else Fate.RULED_OUT))

    def _give(self, step: Verdict, calls: Sequence[Call], fate: Fate, size: Size | str, names: Names) -> None:
        """Puts a verdict among the names: its value, where every judgement that it is taken from is there."""
        if fate is Fate.RULED_OUT:
            names.values[step.name] = Missing(step.name, str(size))
            return
        rows = [self.rows.get(call.name) for call in calls]
        scorer = self.foresight.plan.scorer(step.scorer)
        answers = [judged(scorer, row) for row in rows if row is not None]
        whole = fate is Fate.REUSED and len(answers) == len(calls)
        names.values[step.name] = said(step, scorer, answers) if whole else Missing(step.name, PENDING)

    def compare(self, pair: Pair) -> None:
        """What becomes of the calls of a pair, once its sides were gone through."""
        if is_kept(pair, self.kept):
            for call in pair.calls:
                self._note(Foreseen(call, pair, Fate.REUSED))
            return
        step, first, second = pair.step, self.sides[pair.first], self.sides[pair.second]
        names = pair.names(first.names, second.names)
        key = (_key(pair.first, step, first.awaits), _key(pair.second, step, second.awaits))
        there = all(call.name in self.kept for call in pair.calls)
        fate, size = self._fate(key, step, names, first.perhaps | second.perhaps, there)
        for call in pair.calls:
            self._adopted(call, key, pair.first, fate)
        # A reply that is awaited from either side counts as one of the first: in the other order it is the other's.
        awaits = _awaited(step.needs, {**second.awaits, **first.awaits})
        for call in pair.calls:
            own = Fate.REUSED if call.name in self.kept and fate is not Fate.RULED_OUT else fate
            self._note(Foreseen(call, pair, own, size if isinstance(size, Size) else Size(), awaits))

    def _note(self, seen: Foreseen) -> None:
        before = self.found.get(seen.call.name)
        if before is None or before.fate < seen.fate:
            self.found[seen.call.name] = seen

    def _fate(
        self, key: tuple[object, ...], step: Ask | Judging, names: Names, perhaps: set[str], there: bool
    ) -> tuple[Fate, Size | str]:
        """What becomes of a step, and the size of its prompt, which is the same under the same key; or the status of
        what is not done. `there`: every reply to it is."""
        fate = Fate.PERHAPS if perhaps.intersection(step.needs) else Fate.CERTAIN
        status = names.holds(step)
        if status == PENDING:
            fate = Fate.PERHAPS
        elif status is not None:
            return Fate.RULED_OUT, status
        if there:
            return Fate.REUSED, Size()
        if key not in self.sizes:
            self.sizes[key] = self._size(key, step, names)
        size = self.sizes[key]
        return (fate if isinstance(size, Size) else Fate.RULED_OUT), size

    def _size(self, key: tuple[object, ...], step: Ask | Judging, names: Names) -> Size | str:
        try:
            sent = self.sent[key] = self.foresight.sent(step, names.values, self.case)
            return _sum(Size.of(message.content) for message in sent)
        except Unavailable as reason:
            if reason.status != PENDING:
                return reason.status
        try:
            return self.foresight.outline(step, names.values, self.case)
        except Unavailable as reason:
            return reason.status

    def _adopted(self, call: Call, key: tuple[object, ...], unit: Unit, fate: Fate) -> bool:
        """Whether a reply to what would be sent is there under another name; it is among the rows from then on."""
        adoption, sent = self.foresight.adoption, self.sent.get(key)
        if fate not in (Fate.PERHAPS, Fate.CERTAIN) or adoption is None or sent is None:
            return False
        if not self.guessed.isdisjoint(call.step.needs):
            return False
        if call.name in self.kept or not adoption.could(call.table, call.model):
            return False
        assert not isinstance(call.step, Converse)
        question = self.foresight.asked(call.step)
        number = unit.number % call.step.samples if isinstance(call.step, Ask) else 0
        about = (self.case.item_id, *unit.samples.values())
        request = question.digest(call.model, sent)
        return self._take(Wanted(call.table, call.name, call.model, request, number, about), question)

    def _is_guessed(self, call: Call) -> bool:
        """Whether a reply may be there under another name, and nobody knows before what will be sent."""
        adoption = self.foresight.adoption
        guessed = not self.guessed.isdisjoint(call.step.needs)
        return guessed and adoption is not None and adoption.could(call.table, call.model)

    def _take(self, wanted: Wanted, question: Question) -> bool:
        adoption = self.foresight.adoption
        found = None if adoption is None else adoption.find(wanted, self.here)
        if found is None:
            return False
        row = foreseen_row(found, question)
        self.kept = self.kept if isinstance(self.kept, ChainMap) else ChainMap({}, cast("dict[str, str]", self.kept))
        self.rows = self.rows if isinstance(self.rows, ChainMap) else ChainMap({}, cast("dict[str, Row]", self.rows))
        self.kept.maps[0][wanted.name] = row["status"]
        self.rows.maps[0][wanted.name] = row
        return True

    def _adopt_turns(self, talk: Talk, names: Names) -> None:
        """Takes over the turns that another conversation has after the same ones."""
        step, adoption = talk.step, self.foresight.adoption
        if adoption is None or talk.name in self.kept or not self.guessed.isdisjoint(step.needs):
            return
        try:
            told = systems(step, self.case, names.values, self.foresight.sources)
        except Unavailable:
            return
        while not is_over(talk, self.kept, self.rows):
            turns = turns_so_far(talk, self.rows, self.kept)
            number = len(turns) + 1
            role = talk.speaker(number)
            model, name = talk.models[role], talk.turns[number - 1]
            if not adoption.could("turns", model):
                return
            own = [self.rows[talk.turns[each - 1]] for each in range(1, number) if talk.speaker(each) == role]
            begun = opening(self.case.language) if role == step.opens else None
            sent = said_to(role, told, turns, begun, own[-1]["left_out"] if own else 0)
            settings = next(speaker.settings for speaker in step.speakers if speaker.role == role)
            question = Question(None, None, settings, None, text_reader)
            wanted = Wanted("turns", name, model, question.digest(model, sent), talk.number, (self.case.item_id,))
            if not self._take(wanted, question):
                return

    def _answer(self, step: Ask, name: str, names: Names) -> None:
        """Puts a kept reply among the names, as `stepping` does."""
        if name not in self.answers:
            row = self.rows.get(name)
            if row is None:  # another process is about to write it
                names.skipped(step, PENDING)
                return
            text, value = row["reply"], None
            if text is not None and row["status"] in (OK, TRUNCATED) and step.returns is not None:
                value = read(step.returns, text, tuple(self.foresight.sources.axes.values())).value
            sent = "\n\n".join(each["content"] for each in orjson.loads(row["messages"]))
            self.answers[name] = (text, value, row["status"], sent)
        names.answered(step, *self.answers[name])


def foreseen_row(found: Adopted, question: Question) -> Row:
    """The row that an adopted reply will be, as far as others build on it."""
    row = found.row
    if row.get("reply", row.get("text")) is None:
        return row
    kept = {"reply": row.get("reply", row.get("text")), "finish_reason": row["finish_reason"]}
    replied, outcome = reread(question, kept, found.draft)
    text = replied.get("reply", kept["reply"])
    return {**row, **replied, "text": text, "status": row["status"] if outcome is None else outcome.status}


@dataclass(frozen=True)
class _Side:
    """What a unit came to that is compared with another."""

    names: Names
    awaits: Mapping[str, str]
    perhaps: set[str]


def _key(unit: Unit, step: Ask | Judging, awaits: Mapping[str, str]) -> tuple[object, ...]:
    """Prompts that take in the same replies are the same, and those still to come are as long for the same model."""
    needs = (awaits.get(need) or each for need in step.needs for each in unit.upstream([need]))
    return (step.fingerprint, *needs)


def _speakers(unit: Unit, needs: Sequence[str]) -> dict[str, str]:
    """Who says the turns of the conversations among these steps."""
    found: dict[str, str] = {}
    for name in needs:
        if name in unit.talks:
            found |= models_of(unit.talks[name])
    return found


def _arguments(step: Judging, names: Mapping[str, Any]) -> dict[str, Any]:
    """The values that a scorer is given; what waits for a reply is missing."""
    values: dict[str, Any] = {}
    for param, expr in step.args.items():
        try:
            values[param] = evaluate(expr, names)
        except Unavailable as reason:
            if reason.status != PENDING:
                raise
            values[param] = Missing(reason.step, PENDING)
    return values


def _parts(template: Template, names: Mapping[str, Any]) -> list[str | Hole]:
    """The parts that are printed; passages whose condition waits for a reply are taken to be."""
    found: list[str | Hole] = []
    passages = any(isinstance(part, Passage) for part in template.parts)
    for part in template.parts:
        if not isinstance(part, Passage):
            found += [] if passages else [part]
            continue
        try:
            held = part.when is None or bool(evaluate(part.when, names))
        except Unavailable as reason:
            if reason.status != PENDING:
                raise
            held = True
        if held:
            found += part.parts
    return found


def _sum(sizes: Iterable[Size]) -> Size:
    total = Size()
    for size in sizes:
        total += size
    return total


def _awaited(needs: Sequence[str], awaits: Mapping[str, str]) -> dict[str, str]:
    return {need: awaits[need] for need in needs if need in awaits}
