"""One question to one model: the messages, the call, the reading of the reply, and one repair of a bad one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tripos_compiler.plan import Axis, Metric, Settings, Texts
from tripos_compiler.semantics.render import render
from tripos_runtime.calling import Caller
from tripos_runtime.models.base import Message, ModelError, Request
from tripos_runtime.reading import format_note

REPAIR = {
    "en": "That reply could not be used: {error}. Reply again, with nothing but the JSON asked for.",
    "zh": "上面的回复无法使用：{error}。请重新回复，只输出所要求的 JSON。",
}


@dataclass(frozen=True)
class Question:
    """What is sent: texts, what fills them, and the JSON Schema that the reply should fit, if any."""

    system: Texts | None
    prompt: Texts | None
    settings: Settings
    schema: dict[str, Any] | None


@dataclass(frozen=True)
class Answer:
    """What came of a question. `value` is what the reader made of the reply; `columns` are for the store."""

    status: str
    text: str | None
    value: Any
    prompt: str
    columns: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What a reader makes of a reply: a value, or why it is not usable and with what status."""

    value: Any
    parsed: Any
    error: str | None = None
    status: str = "ok"


Reader = Callable[[str], Outcome]


def messages(
    question: Question,
    names: Mapping[str, Any],
    language: str,
    axes: Mapping[str, Axis],
    metrics: Sequence[Metric] = (),
) -> tuple[Message, ...]:
    """The messages of a question in a language, with the note on the reply's format at the end."""
    sent: list[Message] = []
    if question.system is not None:
        system = render(question.system[language], names, language, axes, metrics)
        if system:  # no condition of its texts may hold
            sent.append(Message("system", system))
    prompt = render(question.prompt[language], names, language, axes, metrics) if question.prompt is not None else ""
    if question.schema is not None:
        prompt = f"{prompt}\n\n{format_note(question.schema, language)}"
    sent.append(Message("user", prompt))
    return tuple(sent)


async def put(caller: Caller, question: Question, sent: tuple[Message, ...], language: str, read: Reader) -> Answer:
    """Asks, reads, and repairs once. A call that fails for good is an answer with a status, never an exception; only
    `Stopped` is raised, where no other call could succeed."""
    request = Request(
        model=caller.model.name,
        messages=sent,
        temperature=question.settings.temperature,
        max_tokens=question.settings.max_tokens,
        stop=question.settings.stop,
        schema=question.schema if caller.model.structured else None,
    )
    columns: dict[str, Any] = {
        "messages": _dumps([{"role": m.role, "content": m.content} for m in sent]),
        "reply": None, "parsed": None, "error": None, "finish_reason": None, "model_served": None,
        "attempts": 0, "tokens_in": None, "tokens_out": None, "cost_usd": None, "latency_s": None,
    }  # fmt: skip
    prompt = "\n\n".join(message.content for message in sent)
    best: tuple[Outcome, str] | None = None
    for repair in (False, True):
        try:
            called = await caller.call(request)
        except ModelError as error:
            columns["attempts"] += 1
            if best is not None:
                break  # the repair failed: what the first reply gave stands
            columns["error"] = f"{error.code} {error.message}"
            return Answer(error.status, None, None, prompt, columns | {"status": error.status})
        reply = called.reply
        outcome = read(reply.text)
        if best is None or outcome.error is None or _usable(outcome) > _usable(best[0]):
            best = (outcome, reply.text)
        columns["attempts"] += called.attempts
        columns |= {"finish_reason": reply.finish_reason, "model_served": reply.model_served}
        for key, more in (
            ("tokens_in", reply.tokens_in),
            ("tokens_out", reply.tokens_out),
            ("cost_usd", reply.cost_usd),
            ("latency_s", called.latency_s),
        ):
            columns[key] = _sum(columns[key], more, first=not repair)
        if outcome.error is None or question.schema is None or outcome.status == "refused":
            break
        note = REPAIR.get(language, REPAIR["en"]).format(error=outcome.error)
        request = Request(
            model=request.model,
            messages=(*sent, Message("assistant", reply.text), Message("user", note)),
            temperature=request.temperature,
            max_tokens=request.max_tokens,
            stop=request.stop,
            schema=request.schema,
        )
    assert best is not None
    outcome, text = best
    columns |= {"reply": text, "parsed": None if outcome.parsed is None else _dumps(outcome.parsed)}
    columns |= {"error": outcome.error, "status": outcome.status}
    return Answer(outcome.status, text, outcome.value, prompt, columns)


def _usable(outcome: Outcome) -> int:
    """How much of a reply could be read."""
    return len(outcome.parsed) if isinstance(outcome.parsed, Mapping) else int(outcome.parsed is not None)


def _sum(before: float | None, more: float | None, *, first: bool) -> float | None:
    if first:
        return more
    return None if before is None or more is None else before + more


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=sorted)
