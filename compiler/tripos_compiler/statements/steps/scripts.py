"""Lowers `prompts`: an ask with several user messages, one after another, each after the reply to the one before.

It is as many asks as there may be prompts, each of which continues the one before. So whatever is proved, counted and
kept of an ask holds of each turn, and what the name of the whole means is an expression over their replies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Literal

from tripos_compiler.constructs import Statement
from tripos_compiler.plan import (
    Ask,
    Binary,
    Call,
    DialogueType,
    Expr,
    Hole,
    Items,
    ListType,
    Literal_,
    Ref,
    Template,
    TextType,
    Unary,
)
from tripos_compiler.resolve import Binding, Typed
from tripos_compiler.source import Name, Number, dataclass
from tripos_compiler.statements.steps.steps import NOT_ASKED, NOT_DECIDED, Judging, Steps, warn_undefined
from tripos_compiler.typing import Elaborator

TEXTS = ListType(of=TextType())
MOST_PROMPTS = 20
ASKER = "user"
"""The speaker of the prompts in a dialogue."""
BESIDE = ("prompt", "returns", "plain", "likelihood", "tools", "state")
"""What an ask with several prompts has not."""


@dataclass(frozen=True)
class PromptList:
    """The prompts of an ask: a list, of which no more than `most` may be asked."""

    prompts: Typed
    most: int


def lower_script(steps: Steps, statement: Statement) -> PromptList | bool | None:
    """Return the prompts of an ask that has several; None where it has one, False where anything is wrong, which is
    reported."""
    written = statement.one_of("prompts")
    program, good = steps.program, True
    if written is None:
        for end in statement.of("ends"):
            help_ = "write `prompts LIST at most COUNT`, or leave it out"
            program.diagnostics.error("E0107", "`until` ends an ask with several `prompts`", end.head, help=help_)
            good = False
        return None if good else False
    for construct in BESIDE:
        for other in statement.of(construct):
            message = f"an ask with `prompts` takes no `{construct}`"
            program.diagnostics.error("E0107", message, other.head, help="remove one of the two, or ask in two steps")
            good = False
    value, count = written.syntax("list"), written.syntax("count")
    program.index.scopes.append((value.span, dict(steps.scope)))
    prompts = steps.elaborator().expression(value, TEXTS, "what is asked")
    most = int(count.value) if isinstance(count, Number) else 0
    if not 1 <= most <= MOST_PROMPTS:
        message = f"an ask has between 1 and {MOST_PROMPTS} prompts"
        program.diagnostics.error("E0803", message, count.span, help=f"write a number up to {MOST_PROMPTS}")
        good = False
    return PromptList(prompts, most) if prompts is not None and good else False


def lower_turns(steps: Steps, statement: Statement, first: Ask, script: PromptList) -> bool:
    """Add an ask for each prompt that there may be; `first` has all that they have in common, and what stands before
    them. Return False where a condition that ends them is wrong, which is reported."""
    name, languages, items = statement.name(), steps.program.languages, steps.program.diagnostics.items
    prompts, most = script.prompts.expr, script.most
    warn_undefined(steps, script.prompts, NOT_ASKED)
    count = Call(function="length", args=(prompts,))
    turns: list[Ask] = []
    ends: list[Expr] = []
    """The condition that there is no more after each turn."""
    for number in range(most):
        fits = Binary(operator="<=", left=count, right=Literal_(value=most))
        more = Binary(operator=">", left=count, right=Literal_(value=number))
        asked_when = [*([first.when] if first.when is not None else []), fits, more]
        asked_when += [Unary(operator="not", value=each) for each in ends]
        hole = Hole(expr=Call(function="nth", args=(prompts, Literal_(value=number))), type=TextType())
        turn = first.model_copy(
            update={
                "name": f"{name.text}({number + 1})",
                "prompt": {language: Template(parts=(hole,)) for language in languages},
                "when": _joined("and", asked_when),
            }
        )
        if turns:
            before = {"system": None, "shots": (), "chat": None, "continues": turns[-1].name}
            turn = turn.model_copy(update=before)
        turns.append(turn)
        steps.lowered.append(turn)
        steps.wholes[turn.name] = name
        if number + 1 < most:
            mark = len(items)
            end = _end(steps, statement, turns, prompts)
            if end is None:
                return False
            if number:  # it was said of the first turn
                del items[mark:]
            ends += end
    steps.scripts.append((statement, prompts, most))
    steps.scope[name.text] = _whole(name, turns, prompts, ends)
    steps.define("ask", name, TextType())
    return True


def _end(steps: Steps, statement: Statement, turns: Sequence[Ask], prompts: Expr) -> list[Expr] | None:
    """Return the conditions of `until` after some turns; None where one is wrong."""
    name, found = statement.name(), list[Expr]()
    outer = steps.scope
    steps.scope = {**outer, name.text: _whole(name, turns, prompts, [])}
    try:
        for written in statement.of("ends"):
            condition = written.syntax("cond")
            if len(turns) == 1:
                steps.program.index.scopes.append((condition.span, steps.scope))
            typed = Elaborator(steps.program, steps.scope, Judging(steps)).condition(condition)
            if typed is None:
                return None
            warn_undefined(steps, typed, NOT_DECIDED)
            found.append(typed.expr)
    finally:
        steps.scope = outer
    return [_joined("or", found)] if found else []


def _whole(name: Name, turns: Sequence[Ask], prompts: Expr, ends: Sequence[Expr]) -> Binding:
    """Return what the name of an ask means after so many turns at most: its last reply, and behind a dot all replies
    and the dialogue. They are of the first turn after which there is no more."""
    count, span = Call(function="length", args=(prompts,)), name.span
    texts = [Ref(path=(turn.name, "text")) for turn in turns]
    said = [Call(function="nth", args=(prompts, Literal_(value=number))) for number in range(len(turns))]

    def dialogue(number: int) -> Expr:
        found: Expr = Items(values=())
        for prompt, text in list(zip(said, texts, strict=True))[:number]:
            for speaker, spoken in ((ASKER, prompt), (turns[0].role, text)):
                found = Call(function="with_turn", args=(found, Literal_(value=speaker), spoken))
        return found

    def at_the_end(value: Callable[[int], Expr]) -> Expr:
        found = value(len(turns))
        for number in range(len(turns) - 1, 0, -1):
            if ends:  # parted from the number, which no reply decides
                found = Call(function="choose", args=(ends[number - 1], value(number), found))
            over = Binary(operator="<=", left=count, right=Literal_(value=number))
            found = Call(function="choose", args=(over, value(number), found))
        return found

    last = at_the_end(lambda number: texts[number - 1])
    replies = at_the_end(lambda number: Items(values=tuple(texts[:number])))
    fields = {
        "text": Binding((name.text, "text"), TextType(), {}, last, span),
        "replies": Binding((name.text, "replies"), TEXTS, {}, replies, span, most=len(turns)),
        "turns": Binding((name.text, "turns"), DialogueType(), {}, at_the_end(dialogue), span),
    }
    return Binding((name.text,), TextType(), fields, last, span)


def _joined(operator: Literal["and", "or"], conditions: Sequence[Expr]) -> Expr:
    return reduce(lambda left, right: Binary(operator=operator, left=left, right=right), conditions)
