"""Takes a case through its steps without asking anybody: which replies are there, and which would be asked for.

The invariant: what is foreseen is what `stepping` would do. A condition or a prompt that needs a reply which is not
there is left open; everything else is evaluated, with the replies that are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

import orjson

from tripos_compiler.plan import Ask, Grade, Hole, Metric, Passage, Plan, Settings, Template, Verdict
from tripos_compiler.semantics.evaluate import Missing, Unavailable, evaluate
from tripos_compiler.semantics.render import rubric, show
from tripos_runtime.asking import Question, text_reader
from tripos_runtime.cases import Case
from tripos_runtime.chats import chat_messages
from tripos_runtime.grading import grade_schema
from tripos_runtime.ledger import Row
from tripos_runtime.prompting import ask_messages, grade_messages
from tripos_runtime.reading import format_note, read, schema_of
from tripos_runtime.shots import shot_messages
from tripos_runtime.sources import Sources
from tripos_runtime.statuses import OK, TRUNCATED
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
    unit: Unit
    fate: Fate
    size: Size = Size()
    awaits: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Foresight:
    """Goes through cases. `sources` has the rows and axes of the plan."""

    plan: Plan
    sources: Sources
    _questions: dict[str, Question] = field(default_factory=dict)

    def of(self, case: Case, units: Sequence[Unit], kept: Mapping[str, str], rows: Mapping[str, Row]) -> list[Foreseen]:
        """Every call of a case once. `kept` has the statuses of what need not be asked again, `rows` the samples among
        them that calls may build on."""
        view = _View(self, case, kept, rows)
        for unit in units:
            view.go_through(unit)
        return list(view.found.values())

    def question(self, step: Ask | Grade | Verdict) -> Question:
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

    def size(self, step: Ask | Grade | Verdict, names: Mapping[str, Any], case: Case) -> Size:
        """The size of what is sent. Raises `Unavailable` where that needs what a kept reply did not yield."""
        question = self.question(step)
        try:
            if isinstance(step, Ask):
                sent = ask_messages(step, question, case, names, self.sources)
            else:
                sent = grade_messages(step, question, case, names, self.sources, self._metrics(step))
        except Unavailable as reason:
            if reason.status != PENDING:
                raise
            return self._outline(step, question, names, case)
        return _sum(Size.of(message.content) for message in sent)

    def _outline(self, step: Ask | Grade | Verdict, question: Question, names: Mapping[str, Any], case: Case) -> Size:
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
        except Unavailable as reason:
            if reason.status != PENDING:
                raise
            size += Size(pending=(reason.step,))
        return size

    def _metrics(self, step: Grade | Verdict) -> tuple[Metric, ...]:
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

    def __init__(self, foresight: Foresight, case: Case, kept: Mapping[str, str], rows: Mapping[str, Row]) -> None:
        self.foresight, self.case, self.kept, self.rows = foresight, case, kept, rows
        self.found: dict[str, Foreseen] = {}
        self.sizes: dict[tuple[object, ...], Size | str] = {}
        self.answers: dict[str, tuple[str | None, Any, str, str]] = {}

    def go_through(self, unit: Unit) -> None:
        if all(call.name in self.kept for call in unit.calls):
            for call in unit.calls:
                self._note(Foreseen(call, unit, Fate.REUSED))
            return
        names = Names(self.case.names)
        awaits: dict[str, str] = {}
        perhaps: set[str] = set()
        calls = iter(unit.calls)
        for step in unit.wiring.treatment.steps:
            if isinstance(step, Ask):
                call = next(calls)
                fate, size = self._fate(unit, step, names, awaits, perhaps, call.name in self.kept)
                if fate is Fate.RULED_OUT:
                    names.skipped(step, str(size))
                elif fate is Fate.REUSED:
                    self._answer(step, call.name, names)
                else:
                    names.skipped(step, PENDING)
                mine = _awaited(step.needs, awaits)
                self._note(Foreseen(call, unit, fate, size if isinstance(size, Size) else Size(), mine))
                if fate in (Fate.PERHAPS, Fate.CERTAIN):
                    awaits[step.name] = call.model
                    if fate is Fate.PERHAPS:
                        perhaps.add(step.name)
            elif isinstance(step, Grade | Verdict):
                own_calls = [next(calls) for _ in unit.evaluators(step)]
                there = all(call.name in self.kept for call in own_calls)
                fate, size = self._fate(unit, step, names, awaits, perhaps, there)
                mine = _awaited(step.needs, awaits)
                for call in own_calls:
                    own = Fate.REUSED if call.name in self.kept and fate is not Fate.RULED_OUT else fate
                    self._note(Foreseen(call, unit, own, size if isinstance(size, Size) else Size(), mine))
                if isinstance(step, Verdict):
                    self._give(step, own_calls, fate, size, names)
                    if fate in (Fate.PERHAPS, Fate.CERTAIN):
                        awaits[step.name] = own_calls[0].model
                        if fate is Fate.PERHAPS:
                            perhaps.add(step.name)

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

    def _note(self, seen: Foreseen) -> None:
        before = self.found.get(seen.call.name)
        if before is None or before.fate < seen.fate:
            self.found[seen.call.name] = seen

    def _fate(
        self,
        unit: Unit,
        step: Ask | Grade | Verdict,
        names: Names,
        awaits: Mapping[str, str],
        perhaps: set[str],
        there: bool,
    ) -> tuple[Fate, Size | str]:
        """What becomes of a step, and the size of its prompt, or the status of what is not done. `there`: every reply
        to it is."""
        fate = Fate.PERHAPS if perhaps.intersection(step.needs) else Fate.CERTAIN
        status = names.holds(step)
        if status == PENDING:
            fate = Fate.PERHAPS
        elif status is not None:
            return Fate.RULED_OUT, status
        if there:
            return Fate.REUSED, Size()
        # Prompts that take in the same replies are the same, and those still to come are as long for the same model.
        needs = tuple(awaits.get(need) or each for need in step.needs for each in unit.upstream([need]))
        key = (step.fingerprint, *needs)
        if key not in self.sizes:
            self.sizes[key] = self._size(step, names)
        size = self.sizes[key]
        return (fate if isinstance(size, Size) else Fate.RULED_OUT), size

    def _size(self, step: Ask | Grade | Verdict, names: Names) -> Size | str:
        try:
            return self.foresight.size(step, names.values, self.case)
        except Unavailable as reason:
            return reason.status

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


def _arguments(step: Grade | Verdict, names: Mapping[str, Any]) -> dict[str, Any]:
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
