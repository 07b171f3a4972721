"""A judge's verdict in a form that its prompt states, and the reasons beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from tripos_compiler.diagnostics.text_format import shorten
from tripos_compiler.plan import BoolType, ChoiceType, Counted, IntegerType, NumberType, RecordType, Type
from tripos_compiler.replies.number_tokens import DEFAULT
from tripos_compiler.replies.stated_forms import StatedVerdict, is_open, leading_number, stated_verdicts, verdict_name
from tripos_compiler.replies.text import ReplyText
from tripos_compiler.replies.truth import truth_word
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.reading.plain_text import AmbiguousNumberError, is_refusal, stated_number, too_long
from tripos_runtime.reading.typed import REFUSED, Unreadable, as_bool, as_integer, as_number, read

MOST_NAMED = 4
"""The largest number of different verdicts that an error names."""
CLAUSE_END = re.compile(r"(?<!^)[.,;:!?。，；：！？、(（|\n]")


@dataclass(frozen=True)
class VerdictRead:
    """The verdict of a reply: a `value` with its reasons, or the `error`.

    `reason` is the text of the reasons, and `reasons` has them by field if there are several. `place` is the position
    of the verdict in the answer of a reply that has a form."""

    value: Any
    error: str | None = None
    status: Literal["ok", "parse_failure", "refused"] = "ok"
    reason: str | None = None
    reasons: dict[str, Any] | None = None
    place: int | None = None


def read_verdict(gives: Type, form: str, text: str, counts: Counted = "every", locale: str = DEFAULT) -> VerdictRead:
    """Return the verdict of a reply in free text, and the text before it as its reason, or after it if nothing is
    before.

    If `every` verdict counts, all that the reply gives must be the same. A place of the form without a number is none
    if a number is wanted: `[[rating]]`.

    >>> read_verdict(IntegerType(low=1, high=10), "Rating: [[{}]]", "It is short. **Rating:** [[5]]").value
    5
    >>> read_verdict(ChoiceType(values=("A", "B")), "[[{}]]", "[[A]] was my thought, but [[B]]").error
    'the reply gives different verdicts: A, B'
    >>> read_verdict(ChoiceType(values=("A", "B")), "[[{}]]", "[[A]] was my thought, but [[B]]", "last").value
    'B'
    >>> read_verdict(IntegerType(low=1, high=5), "Score: {}", "Score: 9").error
    '9 is not in 1..5'
    """
    if (error := too_long(text)) is not None:
        return VerdictRead(None, error, "parse_failure")
    answer = ReplyText.parse(text).answer
    numeric = isinstance(gives, IntegerType | NumberType)
    places = [each for each in stated_verdicts(form, answer) if not numeric or _states_number(form, each)]
    if not places:
        if is_refusal(answer):
            return VerdictRead(None, REFUSED, "refused")
        return VerdictRead(None, f"the reply states no verdict in the form `{form}`", "parse_failure")
    places = places[:1] if counts == "first" else places[-1:] if counts == "last" else places
    values: list[Any] = []
    for place in places:
        try:
            values.append(_value(gives, form, place.verdict, locale))
        except Unreadable as unreadable:
            return VerdictRead(None, str(unreadable), "parse_failure")
    distinct = list(dict.fromkeys(values))
    if len(distinct) > 1:
        named = ", ".join(shorten(_shown(value)) for value in distinct[:MOST_NAMED])
        more = ", …" if len(distinct) > MOST_NAMED else ""
        return VerdictRead(None, f"the reply gives different verdicts: {named}{more}", "parse_failure")
    last = places[-1]
    reason = answer[: last.start].rstrip(" \t\n*_#`\"'“").strip() or answer[last.end :].strip(" \t\n*_`\"'”.。")
    return VerdictRead(values[-1], reason=reason or None, place=last.verdict_start)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _states_number(form: str, place: StatedVerdict) -> bool:
    return leading_number(place.verdict) is not None if is_open(form) else any(map(str.isdigit, place.verdict))


def _value(gives: Type, form: str, said: str, locale: str) -> Any:
    """Return the value of a verdict. Raises `Unreadable`."""
    alone = not is_open(form)
    match gives:
        case ChoiceType(values=names):
            name = verdict_name(said, names, alone=alone)
            if name is None:
                raise Unreadable(f"`{shorten(said)}` is none of {', '.join(names)}")
            return name
        case BoolType():
            return _truth(said, alone)
        case IntegerType(low=low, high=high):
            return as_integer(_number(said, alone, high, locale), low, high)
        case NumberType():
            return as_number(_number(said, alone, None, locale))
    raise AssertionError(f"no verdict is {gives.kind}")


def _truth(said: str, alone: bool) -> bool:
    """Return the truth value that a verdict is: all of it, or if not `alone`, its first clause. Raises `Unreadable`,
    also if the next clause is the other value."""
    first, *more = (clause.strip(" *_`\"'") for clause in CLAUSE_END.split(said.strip(), maxsplit=2)[:2])
    value = _one_truth(said) if alone else as_bool(first)
    try:
        contradicts = not alone and any(as_bool(clause) != value for clause in more)
    except Unreadable:
        contradicts = False
    if value is None or contradicts:
        raise Unreadable(f"`{shorten(said)}` is not one of yes and no")
    return value


def _one_truth(said: str) -> bool | None:
    """Return the truth value of all the words of a verdict, such as `Yes, true`; None if they differ."""
    values = {truth_word(word) for word in CLAUSE_END.split(said.strip())}
    return values.pop() if len(values) == 1 else truth_word(said)


def _number(said: str, alone: bool, scale: int | None, locale: str) -> int | float:
    text = said if alone else leading_number(said)
    try:
        number = None if text is None else stated_number(text, scale, locale)
    except AmbiguousNumberError as error:
        raise Unreadable(str(error)) from None
    if number is None:
        raise Unreadable(f"`{shorten(text or said)}` is not one number")
    return number


def read_verdict_record(record: RecordType, verdict: str, text: str, locale: str = DEFAULT) -> VerdictRead:
    """Return the verdict of a reply that is a record, of which one field is the `verdict` and the others are reasons.

    >>> from tripos_compiler.plan import TextType
    >>> record = RecordType(fields={"why": TextType(), "score": IntegerType(low=1, high=5)})
    >>> found = read_verdict_record(record, "score", '{"why": "It is short.", "score": 4}')
    >>> found.value, found.reason
    (4, 'It is short.')
    """
    reply = read(record, text, locale=locale)
    if reply.error is not None:
        return VerdictRead(None, reply.error, reply.status)
    reasons = {name: part for name, part in reply.value.items() if name != verdict and part not in (None, [])}
    texts = {name: _joined(part) for name, part in reasons.items()}
    if len(texts) > 1:
        reason = "\n\n".join(f"{name}: {part}" for name, part in texts.items())
        return VerdictRead(reply.value[verdict], reason=reason, reasons=reasons)
    return VerdictRead(reply.value[verdict], reason=next(iter(texts.values()), None))


def _joined(part: str | Sequence[str]) -> str:
    return part if isinstance(part, str) else "\n".join(part)
