"""The values of a unit's steps for its expressions, and the reason why a step is skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from tripos_compiler.language.evaluation import (
    DIVIDED,
    INDEX_PREFIX,
    REPLIES,
    DividedVerdict,
    MissingValue,
    NoValue,
    Unavailable,
    divided_verdict_in,
    element_value,
    elements,
    evaluate,
)
from tripos_compiler.language.references import names_in
from tripos_compiler.library.functions.dialogues import transcript
from tripos_compiler.library.types import Dialogue
from tripos_compiler.plan import (
    REPLY_PARTS,
    VERDICT,
    Ask,
    Binary,
    Column,
    Converse,
    Each,
    Expr,
    JudgedStep,
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
from tripos_runtime.asking.judging import ScoreValue, combine_repeats
from tripos_runtime.asking.questions import Answer


class ConditionFalse(Unavailable):
    """The condition of a step is false or has no value. The condition is not part of a reply's name, so another
    treatment may ask for the same reply."""


def is_kept_as_result(reason: Unavailable) -> bool:
    """Return true if a skipped call is kept as a result: its prompt has no value, and this holds in every treatment
    that shares the reply."""
    if isinstance(reason, ConditionFalse):
        return False
    return isinstance(reason, NoValue) or reason.status == UNDEFINED


def has_namesakes(step: Step) -> TypeGuard[Score | JudgedStep]:
    """Return true if several scores share the name of a step, or of the score that a verdict is for. Only the first of
    them that applies to an item is computed."""
    return isinstance(step, Score | JudgedStep) and step.earlier is not None


def can_be(wanted: bool, when: Expr, names: Mapping[str, Any]) -> bool:
    """Return true if a condition may have the wanted value, whatever the pending replies in it will be."""
    try:
        return bool(evaluate(when, names)) is wanted
    except Unavailable as reason:
        if reason.status != PENDING:
            return False
    match when:
        case Unary(operator="not", value=value):
            return can_be(not wanted, value, names)
        case Binary(operator="and" | "or", left=left, right=right):
            needs_both = (when.operator == "and") is wanted
            sides = (can_be(wanted, left, names), can_be(wanted, right, names))
            return all(sides) if needs_both else any(sides)
    return True


OF_REPLY = "of this reply"
"""The end of a reason: the condition is false because of a reply, not because of the row alone."""
NO_OPTION_SEEN = "it is not clear where the answer stands, or no option is among its likeliest tokens"
"""The reason for missing probabilities of the tokens of a reply that was read."""


class StepValues:
    """The values for a unit's expressions, by name: the row's, and those that its steps add one after the other."""

    __slots__ = ("_by_judge", "_replies", "values")

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)
        self._replies: set[str] = set(values.get(REPLIES, ()))
        self.values[REPLIES] = self._replies
        self._by_judge: dict[tuple[str, str], Any] = {}

    def set_reply_value(self, name: str, value: Any) -> None:
        """Add a value that depends on a reply."""
        self._replies.add(name)
        self.values[name] = value
        if divided_verdict_in(value) is not None:
            self.values[DIVIDED] = {**self.values.get(DIVIDED, {}), name: frozenset((name,))}

    def set_judge_value(self, step: Verdict, judge: str, value: Any) -> None:
        """Add the verdicts of one judge of a panel on the elements, besides those of the panel."""
        self._by_judge[step.name, judge] = value

    def with_verdict_of(self, verdict: str, judge: str) -> StepValues:
        """Return a copy of the values in which a verdict is that of one judge; the values themselves if the judge has
        none."""
        if (verdict, judge) not in self._by_judge:
            return self
        values = StepValues(self.values)
        values.values[verdict] = self._by_judge[verdict, judge]
        values.values[DIVIDED] = {name: of for name, of in self.values.get(DIVIDED, {}).items() if name != verdict}
        return values

    def add_retrieved(self, step: Retrieve, value: Any) -> None:
        """Add the result of a retrieving step. It depends on a reply if the step searches by one."""
        if self._replies.isdisjoint(step.needs):
            self.values[step.name] = value
        else:
            self.set_reply_value(step.name, value)

    def answered(self, ask: Ask, answer: Answer) -> None:
        """Add a reply. A part that it does not have is `MissingValue`, with the reply's status. A field of its value
        replaces a part of the reply with the same name."""
        value, status = answer.value, answer.status
        missing = MissingValue(ask.name, status)
        fields: dict[str, Any] = {"prompt": answer.prompt}
        if answer.text is None:
            fields |= dict.fromkeys(REPLY_PARTS, missing)
        else:
            fields |= {"text": answer.text, "thinking": answer.thinking, "raw": answer.raw}
        if (type_ := ask.read_as) is not None:
            if type_.kind == "record":
                read: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
                absent = missing if status != OK else MissingValue(ask.name, UNDEFINED, NO_OPTION_SEEN)
                fields |= {name: read.get(name, absent) for name in type_.fields}
            else:
                fields["value"] = missing if value is None else value
        self.set_reply_value(ask.name, fields)

    def add_tool_results(self, ask: Ask, so_far: Mapping[str, Any], came: tuple[str, Sequence[str]]) -> None:
        """Add the state of a loop after a reply (`so_far`), and the calls of the reply with their results (`came`)."""
        self.values[ask.name] |= {"so_far": so_far, "came": came}

    def failed(self, ask: Ask, reason: Unavailable) -> None:
        """Add the reason why the calls of a reply have no results."""
        missing = MissingValue(ask.name, reason.status, reason.reason)
        self.values[ask.name] |= {"so_far": missing, "came": missing}

    def add_conversation(self, step: Converse, turns: Dialogue, status: str, reason: str = "") -> None:
        """Add a conversation. A failed one is `MissingValue`, with its status and the reason."""
        if status != OK:
            self.lacks(step, status, reason)
            return
        self.set_reply_value(step.name, {"turns": list(turns), "text": transcript(turns)})

    def lacks(self, step: Converse | Verdict, status: str, reason: str = "") -> None:
        """Add a conversation or verdict as missing, with the reason."""
        self.set_reply_value(step.name, MissingValue(step.name, status, reason))

    def listed(self, step: SampleList, replies: Sequence[tuple[str | None, Any, str]]) -> None:
        """Add all samples of an ask, each given as its text, value and status. If one of them failed, the list is
        missing."""
        failed = next((status for text, _, status in replies if status != OK or text is None), None)
        if failed is not None:
            self.set_reply_value(step.name, MissingValue(step.of, failed, "one of the samples has no value"))
            return
        self.set_reply_value(step.name, [sample_element(text, value) for text, value, _ in replies])

    def skipped(self, ask: Ask, status: str, reason: str = "") -> None:
        """Add an ask as missing, with the reason why it was skipped."""
        self.set_reply_value(ask.name, MissingValue(ask.name, status, reason))

    def against(self, step: Ask | Converse | Retrieve | Score | Column | JudgedStep) -> Unavailable | None:
        """Return the reason why a step is skipped; None if it is not. A step is skipped if its condition is false or
        has no value, or if it is a score and an earlier one of its name applies to the item."""
        against = None if step.when is None else self._against(step.name, step.when)
        if (against is not None and against.status == NOT_APPLICABLE) or not has_namesakes(step):
            return against
        for condition in step.earlier or ():
            earlier = self._against(step.name, condition)
            if earlier is None:
                return ConditionFalse(step.name, NOT_APPLICABLE, f"an earlier score `{step.name}` applies")
            if earlier.status == PENDING:
                against = earlier
            elif earlier.status != NOT_APPLICABLE:
                return ConditionFalse(step.name, NOT_APPLICABLE, f"an earlier score `{step.name}` says what is lacking")
        return against

    def _against(self, name: str, condition: Expr) -> ConditionFalse | None:
        """Return the reason why the step `name` is skipped because of a condition; None if the condition holds."""
        try:
            holds = evaluate(condition, self.values)
        except Unavailable as reason:
            return ConditionFalse(name, reason.status, reason.reason)
        if holds:
            return None
        text = f"the condition of `{name}` does not hold" + f" {OF_REPLY}" * self._depends_on_reply(condition)
        return ConditionFalse(name, NOT_APPLICABLE, text)

    def _depends_on_reply(self, condition: Expr) -> bool:
        """Return true if a condition could hold for the row with other replies."""
        replies = names_in(condition) & self._replies
        pending = {reply: MissingValue(reply, PENDING) for reply in replies}
        return bool(replies) and can_be(True, condition, self.values | pending)

    def value_of(self, step: Score | Column) -> tuple[Any, Unavailable | None]:
        """Return the value of a step, or the reason why it has none.

        If the condition has no value because of a reply, but the score has no value because of the item alone, the
        reason is the item: whether a score applies to an item must not depend on whether a model replied. Of several
        scores of one name the reason is the reply, since the reply decides which of them applies."""
        against = self.against(step)
        if against is not None and against.status == NOT_APPLICABLE:
            return None, against
        try:
            value = evaluate(step.value, self.values)
        except Unavailable as reason:
            return None, self._deciding_reason(step, reason, against)
        return value, against

    def _deciding_reason(self, step: Score | Column, reason: Unavailable, against: Unavailable | None) -> Unavailable:
        """Return the reason why there is no value, given the reason of the value and that of the step's condition,
        `against`; see `value_of`."""
        if against is None or (reason.status == NOT_APPLICABLE and not has_namesakes(step)):
            return reason
        return against

    def element_values(self, step: Score | Column) -> list[ElementValue] | Unavailable:
        """Return the value of every element that a step scores, or the reason why the element has none. If the elements
        are unknown or there are none, return the reason for the step."""
        against = self.against(step)
        if against is not None and against.status == NOT_APPLICABLE:
            return against
        assert isinstance(step.value, Each)
        loop, values = step.value.loop, list[ElementValue]()
        try:
            for names in elements(loop, self.values):
                element_reason, value = against, None
                try:
                    result = element_value(step.value, names)
                    if not result:
                        continue
                    value = result[0] if against is None else None
                except Unavailable as reason:
                    element_reason = self._deciding_reason(step, reason, against)
                values.append(ElementValue(names[INDEX_PREFIX + loop.alias], names[loop.alias], value, element_reason))
        except Unavailable as reason:
            return self._deciding_reason(step, reason, against)
        return values or against or self._no_element_reason(loop)

    def _no_element_reason(self, loop: Loop) -> NoValue:
        """Return the reason for a list without an element to score. It is undefined if the list depends on a reply, and
        does not apply if it depends only on the row."""
        names = names_in(loop.of) | (names_in(loop.where) if loop.where is not None else set())
        has_reply = not self._replies.isdisjoint(names)
        return NoValue(UNDEFINED if has_reply else NOT_APPLICABLE, "the list has no element")


class ElementValue(NamedTuple):
    """An element of a list: its position, and its value or the reason why it has none."""

    place: int
    element: Any
    value: Any
    against: Unavailable | None


def sample_element(text: str | None, value: Any) -> Any:
    """Return a reply as an element of a list of samples: its fields with the text if its value is a record, else its
    value, or its text if it has no value."""
    if isinstance(value, Mapping):
        return {"text": text, **value}
    return text if value is None else value


def panel_verdict(step: Verdict, scorer: Scorer, answers: Sequence[Sequence[Answer]]) -> Any:
    """Return the value of a panel's verdict, given the replies of each judge.

    The value of a single judge is the verdict. A panel's verdict is the mean of numbers, or the majority of truth
    values or names. If one judge gave no value, the verdict is `MissingValue` with the same status. If no name has a
    majority, it is a `DividedVerdict`, with which the votes decide a condition."""
    values: list[ScoreValue] = []
    for replies in answers:
        verdicts = [(reply.value or {}).get(VERDICT, (None, reply.status)) for reply in replies]
        value, status = combine_repeats(scorer, verdicts)
        if value is None or status != SCORED:
            return MissingValue(step.name, status)
        values.append(value)
    if scorer.gives is not None and scorer.gives.kind == "choice":
        most = max(values, key=values.count)
        return most if 2 * values.count(most) > len(values) else DividedVerdict(step.name, scorer.name, values)
    numbers = [float(value) for value in values]
    mean = sum(numbers) / len(numbers)
    kind = None if scorer.gives is None else scorer.gives.kind
    if kind == "bool":
        return mean > 0.5
    return int(mean) if kind == "integer" and mean.is_integer() else mean
