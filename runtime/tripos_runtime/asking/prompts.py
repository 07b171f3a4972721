"""The messages of a question: the system message, worked examples, a dialogue and the prompt, in that order.

Messages can be rendered while replies that they quote are pending: `PromptPlaceholders` stand for the missing parts. So
a run and a forecast share one renderer.

Worked examples are rows of a data set: the first ones for which a condition holds, in the order of the file or in a
random order that a seed text determines. Every case gets the same rows, unless the condition or the seed text depends
on the case. If the condition holds for too few rows, fewer examples are shown."""

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

NO_KEY = object()
"""The group key of a row that has none. It differs from every other key."""


def shot_messages(shots: Shots, case: Case, names: Mapping[str, Any], sources: Sources) -> Iterator[Message]:
    """Yield two messages for each worked example: the user's and the reply, in the language of the case. `names` are
    the values that the step can use, by name.

    Raises `Unavailable` if the condition or the texts need a value that an earlier step did not yield."""
    selection = sources.examples.of(shots)
    for row in islice(chosen_rows(shots, case, names, sources), shots.count):
        text_key = (case.language, row.origin)
        texts = selection.texts.get(text_key)
        if texts is None:
            texts = _shot_texts(shots, row, case.language, names, sources)
            if selection.alone:
                selection.texts[text_key] = texts
        yield Message("user", texts[0])
        yield Message("assistant", texts[1])


def _shot_texts(
    shots: Shots, row: SourceRow, language: str, names: Mapping[str, Any], sources: Sources
) -> tuple[str, str]:
    """Return the question and the reply of a shot."""
    row_names = {**names, shots.alias: row.values}
    question, reply = (
        render(templates[language], row_names, language, sources.axes) for templates in (shots.prompt, shots.reply)
    )
    return question, reply


def chosen_rows(
    shots: Shots, case: Case, names: Mapping[str, Any], sources: Sources, begin: int = 0
) -> Iterator[SourceRow]:
    """Yield the rows that may be worked examples for this case: rows for which the condition holds, except the case's
    own row and rows of its group. They come in file order or in the random order, which starts at position `begin` of
    the rows for which the equalities of the condition hold, and wraps around."""
    own_key = _group_key(case.dataset, case.fields, sources)
    row_names = dict(names)
    where = sources.examples.of(shots).where
    fixed_values: dict[int, bool] = {}
    rows = _ordered_rows(shots, _candidate_positions(shots, where, names, sources), names, sources)
    offset = begin % len(rows) if rows else 0
    for row in chain(islice(rows, offset, None), islice(rows, offset)):
        if row.origin == case.origin or row.item_id == case.item_id:
            continue
        row_names[shots.alias] = row.values
        if not all(_part_holds(where, position, row_names, fixed_values) for position in range(len(where.rest))):
            continue
        if own_key is NO_KEY or _group_key(shots.dataset, row.values, sources) != own_key:
            yield row


def _part_holds(where: SplitCondition, position: int, names: Mapping[str, Any], fixed_values: dict[int, bool]) -> bool:
    """Return true if the part of a condition at this position in `where.rest` holds. A part that does not depend on the
    row is evaluated once, and its value is stored in `fixed_values`."""
    if position not in where.fixed:
        return condition_holds(where.rest[position], names)
    if position not in fixed_values:
        fixed_values[position] = condition_holds(where.rest[position], names)
    return fixed_values[position]


def _ordered_rows(
    shots: Shots, positions: Sequence[int], names: Mapping[str, Any], sources: Sources
) -> Sequence[SourceRow]:
    """Return the rows at these positions, in file order or in a random order determined by a seed text. The random
    order depends on positions only: an order by the content of rows would reveal something about their secrets."""
    rows = sources.rows[shots.dataset]
    if shots.drawn is None:
        return rows if len(positions) == len(rows) else [rows[position] for position in positions]
    seed_text = str(evaluate(shots.drawn, names)).encode("utf-8", "surrogatepass")
    orders, all_rows = sources.examples.of(shots).orders, len(positions) == len(rows)
    if not all_rows or seed_text not in orders:
        order = sorted(
            positions, key=lambda position: blake2b(b"%d %b" % (position, seed_text), digest_size=16).digest()
        )
        if not all_rows:
            return [rows[position] for position in order]
        orders.clear()  # keep only the last order, since seed texts may differ between cases
        orders[seed_text] = order
    return [rows[position] for position in orders[seed_text]]


def _candidate_positions(
    shots: Shots, where: SplitCondition, names: Mapping[str, Any], sources: Sources
) -> Sequence[int]:
    """Return the positions of the rows for which all equalities of the condition hold, in ascending order. An index
    finds them, since there may be many rows."""
    rows = sources.rows[shots.dataset]
    candidates: list[int] | None = None
    for equality in where.same:
        try:
            value = evaluate(equality.other, names)
        except NoValue:
            return ()
        matching = sources.places(shots.dataset, shots.alias, equality, value)
        candidates = matching if candidates is None else sorted(set(candidates).intersection(matching))
    return range(len(rows)) if candidates is None else candidates


def _group_key(dataset: str | None, values: Mapping[str, Any], sources: Sources) -> Any:
    """Return the key that a row shares with the rows of its group; `NO_KEY` if the data set declares no key, or if the
    key has no value for this row."""
    key = None if dataset is None else sources.key_of(dataset)
    if key is None:
        return NO_KEY
    try:
        return evaluate(key, values)
    except Unavailable:
        return NO_KEY


ASSISTANTS = frozenset(("assistant", "gpt", "model"))
"""The names that data sets of chats use for the assistant."""


class PromptPlaceholders(Placeholders, Protocol):
    """The placeholders for pending parts of a prompt. A method with a `reason` raises it if the part will never be
    available."""

    def argument(self, expr: Expr, reason: Unavailable) -> Any:
        """Return a placeholder for an argument of a judge, whether or not it is printed."""
        ...

    def inside(self, args: Mapping[str, Expr], names: Mapping[str, Any]) -> PromptPlaceholders:
        """Return placeholders for the prompt of a judge. `names` are the values that the prompt can use; `args` are the
        expressions of those that are arguments."""
        ...

    def dialogue(self, turns: Expr, reason: Unavailable) -> list[DialogueTurn]:
        """Return a placeholder for a dialogue."""
        ...

    def examples(self, shots: Shots, reason: Unavailable) -> list[Message]:
        """Return a placeholder for worked examples."""
        ...

    def turn(self, step: Converse, number: int) -> str:
        """Return a placeholder for the turn of this number in a conversation that is not finished."""
        ...

    def aside(self) -> PromptPlaceholders:
        """Return placeholders for a text that is not part of the request, but must be known before the request is
        sent."""
        ...


def chat_messages(turns: Sequence[Mapping[str, str]], role: str) -> list[Message]:
    """Return the turns of a dialogue as messages: the role's own turns as replies, all others as user messages.
    Consecutive turns of one side become one message, since many models require alternating sides. If there are several
    other speakers, their turns begin with the speaker's name.

    >>> talk = [{"speaker": "Ann", "text": "It is 18."}, {"speaker": "Teacher", "text": "Why?"}]
    >>> [(each.role, each.content) for each in chat_messages(talk, "teacher")]
    [('user', 'It is 18.'), ('assistant', 'Why?')]
    >>> [(each.role, each.content) for each in chat_messages([*talk, {"speaker": "Bob", "text": "I know!"}], "teacher")]
    [('user', 'Ann: It is 18.'), ('assistant', 'Why?'), ('user', 'Bob: I know!')]
    """
    own_name = own_speaker(turns, role)
    others = {turn["speaker"] for turn in turns} - {own_name}
    result = []
    for turn in turns:
        if turn["speaker"] == own_name:
            result.append(Message("assistant", unmarked(turn["text"])))
        else:
            text = f"{turn['speaker']}: {turn['text']}" if len(others) > 1 else turn["text"]
            result.append(Message("user", unmarked(text)))
    return merge_turns(result)


def judged_messages(turns: Sequence[Mapping[str, str]]) -> list[DialogueTurn]:
    """Return the messages of a dialogue whose last turn is judged: the turns of the last speaker as replies, all others
    as user messages. Turns are not merged, and keep the names of their speakers.

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
    """Return the speaker whose part the role takes: the speaker with the role's name; else one of `ASSISTANTS`; else
    the last speaker who is not the speaker of the final turn, since the reply answers that turn. None if there is no
    such speaker.

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
    merged: list[Message] = []
    for message in messages:
        if merged and merged[-1].role == message.role and message.role not in (CALLED, RESULT):
            merged[-1] = Message(message.role, f"{merged[-1].content}\n\n{message.content}")
        else:
            merged.append(message)
    return merged


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
    """Return the messages of an ask. If it continues a conversation, the first `left_out` turns are left out; if it
    continues an ask, `earlier` are the messages of that ask. Raises `Unavailable` if the messages need a value that an
    earlier step did not yield, or if there is nothing to ask."""
    shots = [message for shot in step.shots for message in _shot_messages(shot, case, names, sources, placeholders)]
    chat: Sequence[Message] = []
    if step.chat is not None:
        opening = [Message("user", opening_text(case.language))] if step.opened else []
        chat = [
            *opening,
            *_dialogue_messages(step.chat, names, lambda turns: chat_messages(turns, step.role), placeholders),
        ]
    if step.takes_results and _has_called(step, names):
        question = replace(question, prompt=None)
    if step.continues is not None and earlier is not None:
        chat = (*(message for message in earlier if message.role != TOOL), *_continued_turn(step, names, placeholders))
    elif step.continues is not None:
        chat = _dialogue_messages(
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
    return sent if step.options is None else (*sent, *_option_messages(step.name, step.options, names, placeholders))


def plain_text(sent: Sequence[Message], plain: Plain, *, choosing: bool = False) -> Message:
    """Return messages as one text: the system message, the worked examples and the prompt, with the separator
    `plain.parted` between them. `plain.link` precedes each answer, and ends the text if the model is `choosing` an
    answer.

    >>> sent = (Message("user", "2 + 2 ="), Message("assistant", "4"), Message("user", "3 + 3 ="))
    >>> plain_text(sent, Plain(parted="; ")).content
    '2 + 2 = 4; 3 + 3 ='
    """
    parts: list[str] = []
    for previous, message in zip((None, *sent), sent, strict=False):
        if message.role == "assistant" and previous is not None and previous.role == "user":
            parts[-1] += f"{plain.link}{message.content}"
        else:
            parts.append(message.content)
    return Message(PLAIN, plain.parted.join(parts) + (plain.link if choosing else ""))


def tool_messages(step: Ask, language: str, names: Mapping[str, Any]) -> list[Message]:
    """Return a message for each tool that a model may call: the tools of the row if the step takes its tools from
    there, else the declared tools, described in a language. Raises `Unavailable` if the row has none."""
    tools = [described_tool(tool, language) for tool in step.tools]
    if step.offered is not None:
        tools = [
            {**description, "parameters": json_schema(description["parameters"])}
            for description in evaluate(step.offered, names)
        ]
    return [Message(TOOL, unmarked(json.dumps(description, ensure_ascii=False))) for description in tools]


def _option_messages(
    step: str, options: Expr, names: Mapping[str, Any], placeholders: PromptPlaceholders | None
) -> Sequence[Message]:
    """Return a message for each option to choose from. Raises `Unavailable` if there are none, or if one is empty."""
    try:
        texts = [unmarked(str(option)) for option in evaluate(options, names)]
    except Unavailable as reason:
        if placeholders is None:
            raise
        return [Message(OPTION, placeholder.content) for placeholder in placeholders.dialogue(options, reason)]
    if not texts or not all(texts):
        raise Unavailable(step, NOT_APPLICABLE, f"`{step}` has no options, or an empty one")
    return [Message(OPTION, option) for option in texts]


def _shot_messages(
    shots: Shots, case: Case, names: Mapping[str, Any], sources: Sources, placeholders: PromptPlaceholders | None
) -> Sequence[Message]:
    try:
        return list(shot_messages(shots, case, names, sources))
    except Unavailable as reason:
        if placeholders is None:
            raise
        return placeholders.examples(shots, reason)


def _dialogue_messages(
    turns: Expr,
    names: Mapping[str, Any],
    as_messages: Callable[[Any], Sequence[Message]],
    placeholders: PromptPlaceholders | None,
) -> Sequence[Message]:
    """Return the messages of a dialogue, converted by `as_messages`, or its placeholder if it is pending."""
    try:
        return as_messages(evaluate(turns, names))
    except Unavailable as reason:
        if placeholders is None:
            raise
        return placeholders.dialogue(turns, reason)


def continued_messages(turns: Sequence[Turn], role: str, language: str, left_out: int = 0) -> list[Message]:
    """Return a conversation as messages for a role that took part in it: its own turns as replies. The first `left_out`
    turns are left out."""
    opening = opening_text(language) if turns and turns[0]["speaker"] == role else None
    return [Message(*message) for message in dialogue_from_side(role, turns, opening, left_out)]


def _continued_turn(step: Ask, names: Mapping[str, Any], placeholders: PromptPlaceholders | None) -> Sequence[Message]:
    """Return the reply to the continued ask as messages: its tool calls with their results, or its text. An empty text
    is shown like an empty turn of a conversation."""
    assert step.continues is not None
    if step.takes_results and _has_called(step, names, pending=step.prompt is None):
        calls_ref = Ref(path=(step.continues, "came"))
        try:
            calls, results = evaluate(calls_ref, names)
        except Unavailable as reason:
            if placeholders is None:
                raise
            return placeholders.dialogue(calls_ref, reason)
        return [Message(CALLED, unmarked(calls)), *(Message(RESULT, unmarked(result)) for result in results)]
    text_ref = Ref(path=(step.continues, "text"))
    try:
        text = unmarked(str(evaluate(text_ref, names)))
    except Unavailable as reason:
        if placeholders is None:
            raise
        text = placeholders.hole(Hole(expr=text_ref, type=TextType()), reason)
    return [Message("assistant", text if text.strip() else SILENT)]


def _has_called(step: Ask, names: Mapping[str, Any], *, pending: bool = False) -> bool:
    """Return true if the reply to the continued ask called a tool. If that reply is not available, return `pending`."""
    try:
        return bool(evaluate(Ref(path=(str(step.continues), "calls")), names))
    except Unavailable:
        return pending


def shorter_messages(
    step: Ask, question: Question, case: Case, names: Mapping[str, Any], sources: Sources, left_out: int
) -> tuple[int, tuple[Message, ...]] | None:
    """Return the messages of an ask that continues a conversation with more than `left_out` turns left out, preceded by
    the number of those turns; None if no more can be left out."""
    turns = evaluate(Ref(path=(str(step.continues), "turns")), names)
    more_left_out = count_left_out(len(turns), left_out)
    return (
        None
        if more_left_out is None
        else (more_left_out, ask_messages(step, question, case, names, sources, more_left_out))
    )


def grade_messages(
    step: JudgedStep,
    question: Question,
    case: Case,
    names: Mapping[str, Any],
    sources: Sources,
    metrics: Sequence[Metric],
    placeholders: PromptPlaceholders | None = None,
) -> tuple[Message, ...]:
    """Return the messages to a judge, whose prompt can use the arguments of the step, data sets and trees. Raises
    `Unavailable` as `ask_messages` does."""
    args = {param: _argument(expr, names, placeholders) for param, expr in step.args.items()}
    replies = names.get(REPLIES, frozenset())
    texts = {param for param, expr in step.args.items() if not replies.isdisjoint(names_in(expr))}
    names = {**sources.names, **args, REPLIES: texts}
    inside = None if placeholders is None else placeholders.inside(step.args, names)
    judged = [] if question.chat is None else _dialogue_messages(question.chat, names, judged_messages, inside)
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
    """Return the messages of a question in a language. The prompt ends with the note on the format of the reply, if
    there is a JSON Schema. The worked examples and the turns of a chat (`before`) precede the prompt; the turns of a
    `judged` dialogue follow it. If there is only a system message, it is sent as a user message, since a chat must have
    one."""

    def text(texts: Texts | None) -> str:
        return "" if texts is None else render(texts[language], names, language, axes, metrics, placeholders)

    question.settle(placeholders)
    shots, chat = before
    system, prompt_text = text(question.system), text(question.prompt)
    prompt_parts = [prompt_text] if question.prompt is not None and (prompt_text.strip() or not judged) else []
    if question.schema is not None:
        prompt_parts.append(question.note(language))
    prompt = [Message("user", "\n\n".join(prompt_parts))] if prompt_parts else []
    rest = [*shots, *merge_turns([*chat, *prompt]), *judged]
    if not system:  # a system message is empty if all its passages are conditional
        return tuple(rest)
    return (Message("system", system), *rest) if rest else (Message("user", system),)
