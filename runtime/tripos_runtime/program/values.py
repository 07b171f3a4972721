"""The names that the expressions of a unit see, and why a step is not done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from tripos_compiler.language.evaluation import (
    DIVIDED,
    PLACE,
    REPLIES,
    Divided,
    Missing,
    NoValue,
    Unavailable,
    element_value,
    elements,
    evaluate,
    votes_in,
)
from tripos_compiler.language.references import names_in
from tripos_compiler.library.functions.dialogues import transcript
from tripos_compiler.library.types import Dialogue
from tripos_compiler.plan import (
    REPLY_PARTS,
    Ask,
    Binary,
    Column,
    Converse,
    Each,
    Expr,
    Judging,
    Loop,
    Retrieve,
    SampleList,
    Score,
    Scorer,
    Step,
    Unary,
    Verdict,
)
from tripos_compiler.plan.outcomes import NOT_APPLICABLE, OK, PENDING, SCORED, UNDEFINED
from tripos_runtime.asking.judging import VERDICT, Said, repeated
from tripos_runtime.asking.questions import Answer


class RuledOut(Unavailable):
    """The condition of a step does not hold, or has no value itself. It is no part of what names a reply, so another
    treatment may ask for the same one."""


def is_told(against: Unavailable) -> bool:
    """Return true if a call that is not made for that reason is a result of its own: what it was to ask has no value,
    and so in every treatment that shares the reply."""
    if isinstance(against, RuledOut):
        return False
    return isinstance(against, NoValue) or against.status == UNDEFINED


def has_namesakes(step: Step) -> TypeGuard[Score | Judging]:
    """Return true if several scores have the name of a step, or of the score that a verdict is for, one of which speaks
    for an item."""
    return isinstance(step, Score | Judging) and step.earlier is not None


def can_be(wanted: bool, when: Expr, names: Mapping[str, Any]) -> bool:
    """Return true if a condition, part of which waits for a reply, may turn out so."""
    try:
        return bool(evaluate(when, names)) is wanted
    except Unavailable as reason:
        if reason.status != PENDING:
            return False
    match when:
        case Unary(operator="not", value=value):
            return can_be(not wanted, value, names)
        case Binary(operator="and" | "or", left=left, right=right):
            both = (when.operator == "and") is wanted
            sides = (can_be(wanted, left, names), can_be(wanted, right, names))
            return all(sides) if both else any(sides)
    return True


OF_REPLY = "of this reply"
"""What ends the reason of a condition that does not hold for what a reply says, and not for the row alone."""
NO_OPTION_SEEN = "it is not clear where the answer stands, or no option is among its likeliest tokens"
"""The reason why a reply that was read does not have all that the probabilities of its tokens tell."""


class Names:
    """The names that a unit's expressions see, growing step by step."""

    __slots__ = ("_by_judge", "_replies", "values")

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)
        self._replies: set[str] = set(values.get(REPLIES, ()))
        self.values[REPLIES] = self._replies
        self._by_judge: dict[tuple[str, str], Any] = {}

    def gave(self, name: str, value: Any) -> None:
        """Add what follows from what a model said."""
        self._replies.add(name)
        self.values[name] = value
        if votes_in(value) is not None:
            self.values[DIVIDED] = {**self.values.get(DIVIDED, {}), name: frozenset((name,))}

    def gave_by_judge(self, step: Verdict, judge: str, value: Any) -> None:
        """Keep what one judge of a panel said of each element, beside what all of it came to."""
        self._by_judge[step.name, judge] = value

    def as_said_by(self, verdict: str, judge: str) -> Names:
        """Return the names in which a verdict is that of one judge."""
        if (verdict, judge) not in self._by_judge:
            return self
        found = Names(self.values)
        found.values[verdict] = self._by_judge[verdict, judge]
        found.values[DIVIDED] = {name: of for name, of in self.values.get(DIVIDED, {}).items() if name != verdict}
        return found

    def found(self, step: Retrieve, value: Any) -> None:
        """Add what a step retrieved, for what a model said or for what stands in the row."""
        if self._replies.isdisjoint(step.needs):
            self.values[step.name] = value
        else:
            self.gave(step.name, value)

    def answered(self, ask: Ask, answer: Answer) -> None:
        """Add a reply. What it did not yield is `Missing`, with the reply's status. A field of its value comes before a
        part of the reply of that name."""
        value, status = answer.value, answer.status
        missing = Missing(ask.name, status)
        fields: dict[str, Any] = {"prompt": answer.prompt}
        if answer.text is None:
            fields |= dict.fromkeys(REPLY_PARTS, missing)
        else:
            fields |= {"text": answer.text, "thinking": answer.thinking, "raw": answer.raw}
        if (type_ := ask.read_as) is not None:
            if type_.kind == "record":
                read: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
                lacking = missing if status != OK else Missing(ask.name, UNDEFINED, NO_OPTION_SEEN)
                fields |= {name: read.get(name, lacking) for name in type_.fields}
            else:
                fields["value"] = missing if value is None else value
        self.gave(ask.name, fields)

    def acted(self, ask: Ask, so_far: Mapping[str, Any], came: tuple[str, Sequence[str]]) -> None:
        """Add what came of the calls of a reply, and what its loop came to up to it."""
        self.values[ask.name] |= {"so_far": so_far, "came": came}

    def failed(self, ask: Ask, reason: Unavailable) -> None:
        """Add that nothing came of the calls of a reply, and why."""
        missing = Missing(ask.name, reason.status, reason.reason)
        self.values[ask.name] |= {"so_far": missing, "came": missing}

    def talked(self, step: Converse, turns: Dialogue, status: str) -> None:
        """Add a conversation. One that went wrong is `Missing`, with its status."""
        if status != OK:
            self.lacks(step, status)
            return
        self.gave(step.name, {"turns": list(turns), "text": transcript(turns)})

    def lacks(self, step: Converse | Verdict, status: str, reason: str = "") -> None:
        """Add a conversation or a verdict that is not there, and why."""
        self.gave(step.name, Missing(step.name, status, reason))

    def listed(self, step: SampleList, replies: Sequence[tuple[str | None, Any, str]]) -> None:
        """Add all samples of an ask, each as its text, value and status. Where one has no value, the list has none."""
        lacking = next((status for text, _, status in replies if status != OK or text is None), None)
        if lacking is not None:
            self.gave(step.name, Missing(step.of, lacking, "one of the samples has no value"))
            return
        self.gave(step.name, [shown(text, value) for text, value, _ in replies])

    def skipped(self, ask: Ask, status: str, reason: str = "") -> None:
        """Add a step that was not asked, and why."""
        self.gave(ask.name, Missing(ask.name, status, reason))

    def against(self, step: Ask | Converse | Retrieve | Score | Column | Judging) -> Unavailable | None:
        """Return why a step is not done: its condition does not hold, or has no value; or, of a score, an earlier one
        of its name speaks for the item. None where it is done."""
        against = None if step.when is None else self._against(step.name, step.when)
        if (against is not None and against.status == NOT_APPLICABLE) or not has_namesakes(step):
            return against
        for condition in step.earlier or ():
            spoken = self._against(step.name, condition)
            if spoken is None:
                return RuledOut(step.name, NOT_APPLICABLE, f"an earlier score `{step.name}` applies")
            if spoken.status == PENDING:
                against = spoken
            elif spoken.status != NOT_APPLICABLE:
                return RuledOut(step.name, NOT_APPLICABLE, f"an earlier score `{step.name}` says what is lacking")
        return against

    def _against(self, name: str, condition: Expr) -> RuledOut | None:
        """Return why a condition rules a step out."""
        try:
            held = evaluate(condition, self.values)
        except Unavailable as reason:
            return RuledOut(name, reason.status, reason.reason)
        if held:
            return None
        told = f"the condition of `{name}` does not hold" + f" {OF_REPLY}" * self._hangs_on_reply(condition)
        return RuledOut(name, NOT_APPLICABLE, told)

    def _hangs_on_reply(self, condition: Expr) -> bool:
        """Return true if a condition might hold of the row, were the replies others."""
        replies = names_in(condition) & self._replies
        pending = {each: Missing(each, PENDING) for each in replies}
        return bool(replies) and can_be(True, condition, self.values | pending)

    def value_of(self, step: Score | Column) -> tuple[Any, Unavailable | None]:
        """Return the value of a step, or why it has none. Where a reply is why the condition has no value, and the item
        alone is why there would be none, it is the item: a score applies or not whether a model replied or not. Of
        several scores of one name it is the reply, for it would have told which of them applies."""
        against = self.against(step)
        if against is not None and against.status == NOT_APPLICABLE:
            return None, against
        try:
            found = evaluate(step.value, self.values)
        except Unavailable as reason:
            return None, self._why(step, reason, against)
        return found, against

    def _why(self, step: Score | Column, reason: Unavailable, against: Unavailable | None) -> Unavailable:
        """Return why there is no value: `reason`, or `against`, which is why the condition of the step has none."""
        if against is None or (reason.status == NOT_APPLICABLE and not has_namesakes(step)):
            return reason
        return against

    def element_values(self, step: Score | Column) -> list[ElementValue] | Unavailable:
        """Return the value of every element that a step scores, or why each has none; or why it is not known which
        elements there are, or there is none."""
        against = self.against(step)
        if against is not None and against.status == NOT_APPLICABLE:
            return against
        assert isinstance(step.value, Each)
        loop, found = step.value.loop, list[ElementValue]()
        try:
            for names in elements(loop, self.values):
                lacking, value = against, None
                try:
                    held = element_value(step.value, names)
                    if not held:
                        continue
                    value = held[0] if against is None else None
                except Unavailable as reason:
                    lacking = self._why(step, reason, against)
                found.append(ElementValue(names[PLACE + loop.alias], names[loop.alias], value, lacking))
        except Unavailable as reason:
            return self._why(step, reason, against)
        return found or against or self._nothing_in(loop)

    def _nothing_in(self, loop: Loop) -> NoValue:
        """Say that a list has no element to score: because of a reply, or because of the row."""
        looked_at = names_in(loop.of) | (names_in(loop.where) if loop.where is not None else set())
        said = not self._replies.isdisjoint(looked_at)
        return NoValue(UNDEFINED if said else NOT_APPLICABLE, "the list has no element")


class ElementValue(NamedTuple):
    """An element that is looked at: its place in the list, and its value or why there is none."""

    place: int
    element: Any
    value: Any
    against: Unavailable | None


def shown(text: str | None, value: Any) -> Any:
    """Return a reply as an element of a list: its text, its value, or its fields with the text."""
    if isinstance(value, Mapping):
        return {"text": text, **value}
    return text if value is None else value


def said(step: Verdict, scorer: Scorer, answers: Sequence[Sequence[Answer]]) -> Any:
    """Return the value that an expression sees, from the replies of each judge: what the judge gave; of a panel the
    mean, or what more than half of it said where that is true, false or a name. Where one of them gave none there is
    none, for the reason that it has. Where no name has more than half, the votes decide a condition on it."""
    values: list[Said] = []
    for replies in answers:
        told = [(each.value or {}).get(VERDICT, (None, each.status)) for each in replies]
        value, status = repeated(scorer, told)
        if value is None or status != SCORED:
            return Missing(step.name, status)
        values.append(value)
    if scorer.gives is not None and scorer.gives.kind == "choice":
        most = max(values, key=values.count)
        return most if 2 * values.count(most) > len(values) else Divided(step.name, scorer.name, values)
    numbers = [float(value) for value in values]
    mean = sum(numbers) / len(numbers)
    kind = None if scorer.gives is None else scorer.gives.kind
    if kind == "bool":
        return mean > 0.5
    return int(mean) if kind == "integer" and mean.is_integer() else mean
