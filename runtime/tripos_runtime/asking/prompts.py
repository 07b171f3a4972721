"""The messages of a question: the system message, worked examples, a dialogue and the prompt, in that order.

Messages can be made while replies that they quote are pending: `PromptPlaceholders` fill the gaps. So a run and a
forecast share one renderer.

Worked examples are the first rows of their data set for which a condition holds, in file order or in an order drawn
from a seed text. Without a condition or a draw that depends on the case, every case sees the same rows. If the
condition holds for fewer rows, fewer are shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import chain, islice
from typing import Any, Protocol

from tripos_compiler.language.evaluation import REPLIES, NoValue, Unavailable, evaluate
from tripos_compiler.language.references import names_in
from tripos_compiler.language.rendering import (
    SILENT,
    Placeholders,
    count_left_out,
    dialogue_from_side,
    opening_text,
    render,
)
from tripos_compiler.library.functions.tools import json_schema
from tripos_compiler.library.media import unmarked
from tripos_compiler.library.types import Turn
from tripos_compiler.plan import Ask, Axis, Converse, Expr, Hole, JudgedStep, Metric, Plain, Ref, Shots, Texts, TextType
from tripos_compiler.plan.outcomes import NOT_APPLICABLE
from tripos_runtime.asking.questions import Question
from tripos_runtime.datasets.cases import Case
from tripos_runtime.datasets.sources import SourceRow, Sources, SplitCondition, condition_holds
from tripos_runtime.models.base import CALLED, OPTION, PLAIN, RESULT, TOOL, DialogueTurn, Message
from tripos_runtime.reading.schema import described_tool

NONE = object()
"""The key of a row without one: equal to no other key."""


def shot_messages(shots: Shots, case: Case, names: Mapping[str, Any], sources: Sources) -> Iterator[Message]:
    """Yield a user message and a reply for each shot, in the case's language. `names` are the values of the asking
    step.

    Raises `Unavailable` if the condition or the texts need a value that an earlier step did not yield."""
    selection = sources.examples.of(shots)
    for row in islice(chosen_rows(shots, case, names, sources), shots.count):
        place = (case.language, row.origin)
        texts = selection.texts.get(place)
        if texts is None:
            texts = _texts(shots, row, case.language, names, sources)
            if selection.alone:
                selection.texts[place] = texts
        yield Message("user", texts[0])
        yield Message("assistant", texts[1])


def _texts(shots: Shots, row: SourceRow, language: str, names: Mapping[str, Any], sources: Sources) -> tuple[str, str]:
    """Return the question and the reply of a shot."""
    seen = {**names, shots.alias: row.values}
    asked, replied = (
        render(templates[language], seen, language, sources.axes) for templates in (shots.prompt, shots.reply)
    )
    return asked, replied


def chosen_rows(
    shots: Shots, case: Case, names: Mapping[str, Any], sources: Sources, begin: int = 0
) -> Iterator[SourceRow]:
    """Yield the rows that may be shown before this case: rows for which the condition holds, except the case's own row
    and rows that share its key. They come in file order or in the drawn order, starting at position `begin` among the
    rows for which the condition's equalities hold."""
    own = _key(case.dataset, case.fields, sources)
    seen = dict(names)
    where = sources.examples.of(shots).where
    known: dict[int, bool] = {}
    rows = _in_order(shots, _candidates(shots, where, names, sources), names, sources)
    turn = begin % len(rows) if rows else 0
    for row in chain(islice(rows, turn, None), islice(rows, turn)):
        seen[shots.alias] = row.values
        if not all(_holds(where, place, seen, known) for place in range(len(where.rest))):
            continue
        if row.origin == case.origin or row.item_id == case.item_id:
            continue
        if own is NONE or _key(shots.dataset, row.values, sources) != own:
            yield row


def _holds(where: SplitCondition, place: int, seen: Mapping[str, Any], known: dict[int, bool]) -> bool:
    """Return true if a part of the condition holds. A part that does not depend on the row is evaluated once; `known`
    is its value then."""
    if place not in where.fixed:
        return condition_holds(where.rest[place], seen)
    if place not in known:
        known[place] = condition_holds(where.rest[place], seen)
    return known[place]


def _in_order(shots: Shots, places: Sequence[int], names: Mapping[str, Any], sources: Sources) -> Sequence[SourceRow]:
    """Return the rows at these positions in the order of selection. A draw uses positions, since a row may contain
    secrets, which a digest of its content would reveal."""
    rows = sources.rows[shots.dataset]
    if shots.drawn is None:
        return rows if len(places) == len(rows) else [rows[place] for place in places]
    drawn = str(evaluate(shots.drawn, names)).encode("utf-8", "surrogatepass")
    orders, whole = sources.examples.of(shots).orders, len(places) == len(rows)
    if not whole or drawn not in orders:
        order = sorted(places, key=lambda place: blake2b(b"%d %b" % (place, drawn), digest_size=16).digest())
        if not whole:
            return [rows[place] for place in order]
        orders.clear()  # draws that differ per item are not kept
        orders[drawn] = order
    return [rows[place] for place in orders[drawn]]


def _candidates(shots: Shots, where: SplitCondition, names: Mapping[str, Any], sources: Sources) -> Sequence[int]:
    """Return the positions of the rows for which the condition's equalities hold, in order, found by an index since
    there may be many rows."""
    rows = sources.rows[shots.dataset]
    kept: list[int] | None = None
    for same in where.same:
        try:
            value = evaluate(same.other, names)
        except NoValue:
            return ()
        places = sources.places(shots.dataset, shots.alias, same, value)
        kept = places if kept is None else sorted(set(kept).intersection(places))
    return range(len(rows)) if kept is None else kept


def _key(dataset: str | None, values: Mapping[str, Any], sources: Sources) -> Any:
    """Return the value that a row shares with the rows of its group; `NONE` if the data set has no key."""
    key = None if dataset is None else sources.key_of(dataset)
    if key is None:
        return NONE
    try:
        return evaluate(key, values)
    except Unavailable:
        return NONE


ASSISTANTS = frozenset(("assistant", "gpt", "model"))
"""The names that data sets of chats use for the assistant."""


class PromptPlaceholders(Placeholders, Protocol):
    """Fills in for pending parts of a prompt. Each method raises `reason` if the part will never be available."""

    def argument(self, expr: Expr, reason: Unavailable) -> Any:
        """Return a placeholder for an argument of a judge, whether or not it is printed."""
        ...

    def inside(self, args: Mapping[str, Expr], names: Mapping[str, Any]) -> PromptPlaceholders:
        """Return placeholders for the prompt of a judge, who sees `names`; `args` are the expressions of some of
        these."""
        ...

    def dialogue(self, turns: Expr, reason: Unavailable) -> list[DialogueTurn]:
        """Return a placeholder for a dialogue."""
        ...

    def examples(self, shots: Shots, reason: Unavailable) -> list[Message]:
        """Return a placeholder for worked examples."""
        ...

    def turn(self, step: Converse, number: int) -> str:
        """Return a placeholder for a turn of a running conversation."""
        ...

    def aside(self) -> PromptPlaceholders:
        """Return placeholders for a text that is not sent, but must be known before anything is."""
        ...


def chat_messages(turns: Sequence[Mapping[str, str]], role: str) -> list[Message]:
    """Return the turns in order as messages: the role's own turns as replies, all others as user messages. Consecutive
    turns of one side become one message, since many models require alternating sides. If several other speakers occur,
    their turns begin with the speaker's name.

    >>> talk = [{"speaker": "Ann", "text": "It is 18."}, {"speaker": "Teacher", "text": "Why?"}]
    >>> [(each.role, each.content) for each in chat_messages(talk, "teacher")]
    [('user', 'It is 18.'), ('assistant', 'Why?')]
    >>> [(each.role, each.content) for each in chat_messages([*talk, {"speaker": "Bob", "text": "I know!"}], "teacher")]
    [('user', 'Ann: It is 18.'), ('assistant', 'Why?'), ('user', 'Bob: I know!')]
    """
    own = own_speaker(turns, role)
    others = {turn["speaker"] for turn in turns} - {own}
    said = []
    for turn in turns:
        if turn["speaker"] == own:
            said.append(Message("assistant", unmarked(turn["text"])))
        else:
            text = f"{turn['speaker']}: {turn['text']}" if len(others) > 1 else turn["text"]
            said.append(Message("user", unmarked(text)))
    return merge_turns(said)


def judged_messages(turns: Sequence[Mapping[str, str]]) -> list[DialogueTurn]:
    """Return the turns of a dialogue whose last turn is judged: the turns of the last speaker as replies, all others as
    user messages. Turns are not merged, and keep the names of their speakers.

    >>> talk = [{"speaker": "Ann", "text": "It is 18."}, {"speaker": "Teacher", "text": "Why?"}]
    >>> [(each.role, each.content, each.speaker) for each in judged_messages(talk)]
    [('user', 'It is 18.', 'Ann'), ('assistant', 'Why?', 'Teacher')]
    """
    last = turns[-1]["speaker"] if turns else None
    roles = ["assistant" if turn["speaker"] == last else "user" for turn in turns]
    return [
        DialogueTurn(role, unmarked(turn["text"]), turn["speaker"]) for role, turn in zip(roles, turns, strict=True)
    ]


def own_speaker(turns: Sequence[Mapping[str, str]], role: str) -> str | None:
    """Return the speaker that the role continues: the speaker of its name; else one that data sets call the assistant;
    else the last speaker other than the speaker of the final turn, since the reply answers that turn. None if there is
    none.

    >>> own_speaker([{"speaker": "老师", "text": "为什么？"}, {"speaker": "学生", "text": "我不知道。"}], "candidate")
    '老师'
    """
    speakers = list(dict.fromkeys(turn["speaker"] for turn in reversed(turns)))  # who spoke last comes first
    for names in ({role.casefold()}, ASSISTANTS):
        for speaker in speakers:
            if speaker.strip().casefold() in names:
                return speaker
    return speakers[1] if len(speakers) > 1 else None


def merge_turns(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with consecutive messages of one side merged, separated by an empty line.

    >>> [each.content for each in merge_turns([Message("user", "a"), Message("user", "b"), Message("assistant", "c")])]
    ['a\\n\\nb', 'c']
    """
    found: list[Message] = []
    for message in messages:
        if found and found[-1].role == message.role and message.role not in (CALLED, RESULT):
            found[-1] = Message(message.role, f"{found[-1].content}\n\n{message.content}")
        else:
            found.append(message)
    return found


def ask_messages(
    step: Ask,
    question: Question,
    case: Case,
    names: Mapping[str, Any],
    sources: Sources,
    left_out: int = 0,
    placeholders: PromptPlaceholders | None = None,
    earlier: Sequence[Message] | None = None,
) -> tuple[Message, ...]:
    """Return the messages of a step. If it continues a conversation, the first `left_out` turns are left out. `earlier`
    are the messages of the ask that it continues. Raises `Unavailable` if they need a value that an earlier step did
    not yield, or if there is nothing to ask."""
    shots = [message for shot in step.shots for message in _examples(shot, case, names, sources, placeholders)]
    chat: Sequence[Message] = []
    if step.chat is not None:
        begun = [Message("user", opening_text(case.language))] if step.opened else []
        chat = [*begun, *_dialogue(step.chat, names, lambda turns: chat_messages(turns, step.role), placeholders)]
    if step.takes_results and _has_called(step, names):
        question = replace(question, prompt=None)
    if step.continues is not None and earlier is not None:
        chat = (*(message for message in earlier if message.role != TOOL), *_replied(step, names, placeholders))
    elif step.continues is not None:
        chat = _dialogue(
            Ref(path=(step.continues, "turns")),
            names,
            lambda turns: continued_messages(turns, step.role, case.language, left_out),
            placeholders,
        )
    sent = messages(question, names, case.language, sources.axes, before=(shots, chat), placeholders=placeholders)
    if step.plain is not None:
        sent = (plain_text(sent, step.plain, choosing=step.options is not None),)
    if not sent:
        raise Unavailable(step.name, NOT_APPLICABLE, f"`{step.name}` has nothing to ask")
    if step.calls_tools:
        return (*sent, *tool_messages(step, case.language, names))
    return sent if step.options is None else (*sent, *_options(step.name, step.options, names, placeholders))


def plain_text(sent: Sequence[Message], plain: Plain, *, choosing: bool = False) -> Message:
    """Return messages as one text: the system message, every worked example and the prompt, joined by a separator. The
    link comes before each answer, and at the end too if the model is `choosing` an answer.

    >>> sent = (Message("user", "2 + 2 ="), Message("assistant", "4"), Message("user", "3 + 3 ="))
    >>> plain_text(sent, Plain(parted="; ")).content
    '2 + 2 = 4; 3 + 3 ='
    """
    parts: list[str] = []
    for before, message in zip((None, *sent), sent, strict=False):
        if message.role == "assistant" and before is not None and before.role == "user":
            parts[-1] += f"{plain.link}{message.content}"
        else:
            parts.append(message.content)
    return Message(PLAIN, plain.parted.join(parts) + (plain.link if choosing else ""))


def tool_messages(step: Ask, language: str, names: Mapping[str, Any]) -> list[Message]:
    """Return a message for each tool that a model may call: the declared tools in a language, or those of the row.
    Raises `Unavailable` if the row has none."""
    told = [described_tool(tool, language) for tool in step.tools]
    if step.offered is not None:
        told = [{**each, "parameters": json_schema(each["parameters"])} for each in evaluate(step.offered, names)]
    return [Message(TOOL, unmarked(json.dumps(each, ensure_ascii=False))) for each in told]


def _options(
    step: str, options: Expr, names: Mapping[str, Any], placeholders: PromptPlaceholders | None
) -> Sequence[Message]:
    """Return the options to choose from. Raises `Unavailable` if there are none, or if one is empty."""
    try:
        found = [unmarked(str(each)) for each in evaluate(options, names)]
    except Unavailable as reason:
        if placeholders is None:
            raise
        return [Message(OPTION, turn.content) for turn in placeholders.dialogue(options, reason)]
    if not found or not all(found):
        raise Unavailable(step, NOT_APPLICABLE, f"`{step}` has no options, or an empty one")
    return [Message(OPTION, each) for each in found]


def _examples(
    shots: Shots, case: Case, names: Mapping[str, Any], sources: Sources, placeholders: PromptPlaceholders | None
) -> Sequence[Message]:
    try:
        return list(shot_messages(shots, case, names, sources))
    except Unavailable as reason:
        if placeholders is None:
            raise
        return placeholders.examples(shots, reason)


def _dialogue(
    turns: Expr,
    names: Mapping[str, Any],
    speaker: Callable[[Any], Sequence[Message]],
    placeholders: PromptPlaceholders | None,
) -> Sequence[Message]:
    """Return a dialogue as the speaker `seen` sees it."""
    try:
        return speaker(evaluate(turns, names))
    except Unavailable as reason:
        if placeholders is None:
            raise
        return placeholders.dialogue(turns, reason)


def continued_messages(turns: Sequence[Turn], role: str, language: str, left_out: int = 0) -> list[Message]:
    """Return a conversation as messages, seen from the side of a role that took part in it."""
    begun = opening_text(language) if turns and turns[0]["speaker"] == role else None
    return [Message(*each) for each in dialogue_from_side(role, turns, begun, left_out)]


def _replied(step: Ask, names: Mapping[str, Any], placeholders: PromptPlaceholders | None) -> Sequence[Message]:
    """Return the reply to the continued step as an earlier turn, with the results of its calls. An empty reply is shown
    like an empty turn of a conversation."""
    assert step.continues is not None
    if step.takes_results and _has_called(step, names, pending=step.prompt is None):
        came = Ref(path=(step.continues, "came"))
        try:
            calls, results = evaluate(came, names)
        except Unavailable as reason:
            if placeholders is None:
                raise
            return placeholders.dialogue(came, reason)
        return [Message(CALLED, unmarked(calls)), *(Message(RESULT, unmarked(result)) for result in results)]
    ref = Ref(path=(step.continues, "text"))
    try:
        text = unmarked(str(evaluate(ref, names)))
    except Unavailable as reason:
        if placeholders is None:
            raise
        text = placeholders.hole(Hole(expr=ref, type=TextType()), reason)
    return [Message("assistant", text if text.strip() else SILENT)]


def _has_called(step: Ask, names: Mapping[str, Any], *, pending: bool = False) -> bool:
    """Return true if the previous turn called a tool; `pending` if that is not known yet."""
    try:
        return bool(evaluate(Ref(path=(str(step.continues), "calls")), names))
    except Unavailable:
        return pending


def shorter_messages(
    step: Ask, question: Question, case: Case, names: Mapping[str, Any], sources: Sources, left_out: int
) -> tuple[int, tuple[Message, ...]] | None:
    """Return the messages of a step that continues a conversation, with more turns left out than `left_out`, and the
    new number of turns left out; None if no more can be left out."""
    turns = evaluate(Ref(path=(str(step.continues), "turns")), names)
    less = count_left_out(len(turns), left_out)
    return None if less is None else (less, ask_messages(step, question, case, names, sources, less))


def grade_messages(
    step: JudgedStep,
    question: Question,
    case: Case,
    names: Mapping[str, Any],
    sources: Sources,
    metrics: Sequence[Metric],
    placeholders: PromptPlaceholders | None = None,
) -> tuple[Message, ...]:
    """Return the messages to a judge, who sees the arguments of the step, data sets and trees. Raises `Unavailable` as
    `ask_messages` does."""
    args = {param: _argument(expr, names, placeholders) for param, expr in step.args.items()}
    replies = names.get(REPLIES, frozenset())
    texts = {param for param, expr in step.args.items() if not replies.isdisjoint(names_in(expr))}
    names = {**sources.names, **args, REPLIES: texts}
    inside = None if placeholders is None else placeholders.inside(step.args, names)
    judged = [] if question.chat is None else _dialogue(question.chat, names, judged_messages, inside)
    return messages(question, names, case.language, sources.axes, metrics, judged=judged, placeholders=inside)


def _argument(expr: Expr, names: Mapping[str, Any], placeholders: PromptPlaceholders | None) -> Any:
    try:
        return evaluate(expr, names)
    except Unavailable as reason:
        if placeholders is None:
            raise
        return placeholders.argument(expr, reason)


def messages(
    question: Question,
    names: Mapping[str, Any],
    language: str,
    axes: Mapping[str, Axis],
    metrics: Sequence[Metric] = (),
    before: tuple[Sequence[Message], Sequence[Message]] = ((), ()),
    judged: Sequence[Message] = (),
    placeholders: Placeholders | None = None,
) -> tuple[Message, ...]:
    """Return the messages of a question in a language, with the note on the reply's format at the end. The shots and
    the turns of a chat (`before`) precede the prompt; the turns of a `judged` dialogue follow it. If there is only a
    system message, it is sent as the user's, since a chat must begin with a user message."""

    def text(texts: Texts | None) -> str:
        return "" if texts is None else render(texts[language], names, language, axes, metrics, placeholders)

    question.settle(placeholders)
    shots, chat = before
    system, asked = text(question.system), text(question.prompt)
    last = [asked] if question.prompt is not None and (asked.strip() or not judged) else []
    if question.schema is not None:
        last.append(question.note(language))
    prompt = [Message("user", "\n\n".join(last))] if last else []
    said = [*shots, *merge_turns([*chat, *prompt]), *judged]
    if not system:  # all of its texts may be conditional
        return tuple(said)
    return (Message("system", system), *said) if said else (Message("user", system),)
