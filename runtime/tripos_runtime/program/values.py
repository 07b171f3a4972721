"""Values of a unit's steps, as expressions see them, and the reason why a step was skipped."""

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
    """Return true if several scores share the name of a step, or of the score that a verdict is for. At most one of
    them applies to an item."""
    return isinstance(step, Score | JudgedStep) and step.earlier is not None


def can_be(wanted: bool, when: Expr, names: Mapping[str, Any]) -> bool:
    """Return true if a condition, part of which waits for a reply, may have the wanted value."""
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
"""The end of the reason if a condition is false because of a reply, not because of the row alone."""
NO_OPTION_SEEN = "it is not clear where the answer stands, or no option is among its likeliest tokens"
"""The reason if a reply was read, but some probabilities of its tokens are missing."""


class StepValues:
    """The values that a unit's expressions see. They grow step by step."""

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
        """Keep the value that one judge of a panel gave each element, in addition to the panel's value."""
        self._by_judge[step.name, judge] = value

    def with_verdict_of(self, verdict: str, judge: str) -> StepValues:
        """Return the values in which a verdict is that of one judge."""
        if (verdict, judge) not in self._by_judge:
            return self
        values = StepValues(self.values)
        values.values[verdict] = self._by_judge[verdict, judge]
        values.values[DIVIDED] = {name: of for name, of in self.values.get(DIVIDED, {}).items() if name != verdict}
        return values

    def add_retrieved(self, step: Retrieve, value: Any) -> None:
        """Add the result of a retrieving step, whether it searched for a reply or for a value of the row."""
        if self._replies.isdisjoint(step.needs):
            self.values[step.name] = value
        else:
            self.set_reply_value(step.name, value)

    def answered(self, ask: Ask, answer: Answer) -> None:
        """Add a reply. A part that it did not yield is `MissingValue`, with the reply's status. A field of its value
        hides a part of the reply with the same name."""
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
                lacking = missing if status != OK else MissingValue(ask.name, UNDEFINED, NO_OPTION_SEEN)
                fields |= {name: read.get(name, lacking) for name in type_.fields}
            else:
                fields["value"] = missing if value is None else value
        self.set_reply_value(ask.name, fields)

    def add_tool_results(self, ask: Ask, so_far: Mapping[str, Any], came: tuple[str, Sequence[str]]) -> None:
        """Add the results of the calls of a reply, and the state of its loop so far."""
        self.values[ask.name] |= {"so_far": so_far, "came": came}

    def failed(self, ask: Ask, reason: Unavailable) -> None:
        """Add the reason why the calls of a reply have no results."""
        missing = MissingValue(ask.name, reason.status, reason.reason)
        self.values[ask.name] |= {"so_far": missing, "came": missing}

    def add_conversation(self, step: Converse, turns: Dialogue, status: str) -> None:
        """Add a conversation. If it failed, it is `MissingValue`, with its status."""
        if status != OK:
            self.lacks(step, status)
            return
        self.set_reply_value(step.name, {"turns": list(turns), "text": transcript(turns)})

    def lacks(self, step: Converse | Verdict, status: str, reason: str = "") -> None:
        """Add a missing conversation or verdict with the reason."""
        self.set_reply_value(step.name, MissingValue(step.name, status, reason))

    def listed(self, step: SampleList, replies: Sequence[tuple[str | None, Any, str]]) -> None:
        """Add all samples of an ask, each as its text, value and status. If one has no value, the list has none."""
        lacking = next((status for text, _, status in replies if status != OK or text is None), None)
        if lacking is not None:
            self.set_reply_value(step.name, MissingValue(step.of, lacking, "one of the samples has no value"))
            return
        self.set_reply_value(step.name, [sample_element(text, value) for text, value, _ in replies])

    def skipped(self, ask: Ask, status: str, reason: str = "") -> None:
        """Add a skipped ask with the reason."""
        self.set_reply_value(ask.name, MissingValue(ask.name, status, reason))

    def against(self, step: Ask | Converse | Retrieve | Score | Column | JudgedStep) -> Unavailable | None:
        """Return the reason why a step is skipped; None if it is done. Its condition is false or has no value; or it is
        a score, and an earlier one of its name applies to the item."""
        against = None if step.when is None else self._against(step.name, step.when)
        if (against is not None and against.status == NOT_APPLICABLE) or not has_namesakes(step):
            return against
        for condition in step.earlier or ():
            spoken = self._against(step.name, condition)
            if spoken is None:
                return ConditionFalse(step.name, NOT_APPLICABLE, f"an earlier score `{step.name}` applies")
            if spoken.status == PENDING:
                against = spoken
            elif spoken.status != NOT_APPLICABLE:
                return ConditionFalse(step.name, NOT_APPLICABLE, f"an earlier score `{step.name}` says what is lacking")
        return against

    def _against(self, name: str, condition: Expr) -> ConditionFalse | None:
        """Return the reason why a condition skips a step."""
        try:
            held = evaluate(condition, self.values)
        except Unavailable as reason:
            return ConditionFalse(name, reason.status, reason.reason)
        if held:
            return None
        text = f"the condition of `{name}` does not hold" + f" {OF_REPLY}" * self._hangs_on_reply(condition)
        return ConditionFalse(name, NOT_APPLICABLE, text)

    def _hangs_on_reply(self, condition: Expr) -> bool:
        """Return true if a condition could hold of the row with other replies."""
        replies = names_in(condition) & self._replies
        pending = {reply: MissingValue(reply, PENDING) for reply in replies}
        return bool(replies) and can_be(True, condition, self.values | pending)

    def value_of(self, step: Score | Column) -> tuple[Any, Unavailable | None]:
        """Return the value of a step, or the reason why it has none.

        If a reply is why the condition has no value, but the item alone already rules the value out, the reason is the
        item: whether a score applies does not depend on whether a model replied. Among several scores of one name the
        reason is the reply, since it would have decided which of them applies."""
        against = self.against(step)
        if against is not None and against.status == NOT_APPLICABLE:
            return None, against
        try:
            found = evaluate(step.value, self.values)
        except Unavailable as reason:
            return None, self._why(step, reason, against)
        return found, against

    def _why(self, step: Score | Column, reason: Unavailable, against: Unavailable | None) -> Unavailable:
        """Return the reason why there is no value: `reason`, or `against`, the reason why the step's condition has no
        value."""
        if against is None or (reason.status == NOT_APPLICABLE and not has_namesakes(step)):
            return reason
        return against

    def element_values(self, step: Score | Column) -> list[ElementValue] | Unavailable:
        """Return the value of every element that a step scores, or the reason why it has none. Return one reason if the
        elements are unknown or there are none."""
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
                found.append(ElementValue(names[INDEX_PREFIX + loop.alias], names[loop.alias], value, lacking))
        except Unavailable as reason:
            return self._why(step, reason, against)
        return found or against or self._nothing_in(loop)

    def _nothing_in(self, loop: Loop) -> NoValue:
        """Return the reason why a list has no element to score: a reply, or the row."""
        looked_at = names_in(loop.of) | (names_in(loop.where) if loop.where is not None else set())
        said = not self._replies.isdisjoint(looked_at)
        return NoValue(UNDEFINED if said else NOT_APPLICABLE, "the list has no element")


class ElementValue(NamedTuple):
    """An element of a list: its position, and its value or the reason why it has none."""

    place: int
    element: Any
    value: Any
    against: Unavailable | None


def sample_element(text: str | None, value: Any) -> Any:
    """Return a reply as an element of a list: its text, its value, or its fields with the text."""
    if isinstance(value, Mapping):
        return {"text": text, **value}
    return text if value is None else value


def panel_verdict(step: Verdict, scorer: Scorer, answers: Sequence[Sequence[Answer]]) -> Any:
    """Return the value of a panel's verdict, given the replies of each judge.

    One judge's value is the verdict. A panel's verdict is the mean of numbers, or the majority of truth values and
    names. If one judge gave no value, the verdict has none, for the same reason. If no name has a majority, the votes
    decide a condition on it."""
    values: list[ScoreValue] = []
    for replies in answers:
        told = [(reply.value or {}).get(VERDICT, (None, reply.status)) for reply in replies]
        value, status = combine_repeats(scorer, told)
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
