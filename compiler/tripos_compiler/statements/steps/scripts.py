"""Lowers an ask that is several: with `prompts`, one after another in a chat, or with `each`, one for each element of a
list.

It is as many asks as there may be prompts or elements; those of a chat continue each other. So whatever is proved,
counted and kept of an ask holds of each, and what the name of the whole means is an expression over their replies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Literal

from tripos_compiler.constructs import Statement
from tripos_compiler.language import names_in, subexpressions
from tripos_compiler.plan import (
    Ask,
    Binary,
    Call,
    DialogueType,
    Each,
    Expr,
    Get,
    Hole,
    Items,
    ListType,
    Literal_,
    Loop,
    RecordType,
    RecordValue,
    Ref,
    Template,
    TextType,
    Type,
    Unary,
)
from tripos_compiler.resolve import Binding, Typed
from tripos_compiler.source import Name, Number, Span, dataclass
from tripos_compiler.statements.analysis import is_evaluable, map_part
from tripos_compiler.statements.steps.steps import (
    NOT_ASKED,
    NOT_DECIDED,
    AskCount,
    Judging,
    Steps,
    length_in,
    warn_undefined,
)
from tripos_compiler.typing import Elaborator, LoopSyntax, check_loop, scored_loop

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
    steps.scripts.append(AskCount(statement.of("prompts")[0].syntax("count").span, prompts, most, "prompts"))
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


MOST_ELEMENTS = 50


@dataclass(frozen=True)
class AskedList:
    """The list of an ask for each element: what its elements are called, as they are written and in a plan, their type,
    and how many there may be. `replied` are the elements themselves, where they are the replies of such an ask."""

    name: Name
    alias: str
    of: Expr
    element: Type
    most: int
    scope: Mapping[str, Binding]
    replied: tuple[Expr, ...] = ()


def lower_asked_list(steps: Steps, statement: Statement) -> AskedList | None:
    """Return the list of `each NAME in LIST [where COND] [at most COUNT]`; None where it is wrong, which is
    reported."""
    program, elaborator = steps.program, steps.elaborator()
    for construct, keyword in (("prompts", "prompts"), ("ends", "until"), ("state", "state")):
        for other in statement.of(construct):
            message = f"an ask for each element of a list takes no `{keyword}`"
            program.diagnostics.error("E0107", message, other.head, help="remove one of the two, or ask in two steps")
            return None
    written = scored_loop(elaborator, statement)
    checked = check_loop(elaborator, written) if written is not None else None
    if written is None or checked is None:
        return None
    loop, of, replied = checked.loop, checked.loop.of, list[Expr]()
    if loop.where is None and isinstance(written.of, Name) and written.of.text in steps.asked:
        of, replied = steps.asked[written.of.text]
    elif loop.where is not None or checked.listed.kind != "list":
        of = Each(loop=loop.model_copy(update={"most": None}), value=Ref(path=(loop.alias,)))
    warn_undefined(steps, Typed(of, ListType(of=checked.element), checked.may), NOT_ASKED)
    most = _most_elements(steps, written, loop, of)
    if most is None:
        return None
    if written.most is not None:
        steps.scripts.append(AskCount(written.most.span, of, most, "elements"))
    return AskedList(written.name, loop.alias, of, checked.element, most, checked.inside.scope, tuple(replied))


def _most_elements(steps: Steps, written: LoopSyntax, loop: Loop, of: Expr) -> int | None:
    """Return how many elements an ask may have: as many as is said, or as the longest list of a file has. None where
    nobody knows, or they are too many, which is reported."""
    diagnostics, most = steps.program.diagnostics, loop.most
    span = written.of.span if written.most is None else written.most.span
    if not names_in(of) <= steps.known:
        of = loop.of  # of which an arm leaves some out
    if most is None and names_in(of) <= steps.known and all(is_evaluable(part) for part in subexpressions(of)):
        if steps.cases is None and diagnostics.failed:  # why there are no rows was reported
            return 1
        if steps.cases is not None:
            most = max((length_in(of, names) or 0 for names in steps.cases), default=0) or 1
    if most is None:
        message = "a list that only a run knows has no bound, and a role is asked about each of its elements"
        help_ = f"say how many it may have: `each {written.name.text} in … at most 20`"
        diagnostics.error("E0804", message, span, help=help_)
        return None
    if not 1 <= most <= MOST_ELEMENTS:
        message = f"an ask has between 1 and {MOST_ELEMENTS} elements, and this may have {most}"
        diagnostics.error("E0803", message, span, help=f"ask about {MOST_ELEMENTS} at most: `where`, or a shorter list")
        return None
    return most


def lower_asks(steps: Steps, statement: Statement, ask: Ask, listed: AskedList) -> bool:
    """Add an ask for each element that there may be; `ask` is said of the element as it is called. Return False where
    what the name means has a field twice, which is reported."""
    name, own = statement.name(), listed.name
    shown: dict[str, Type] = {own.text: listed.element}
    read: dict[str, Type] = {} if ask.options is not None else {"text": TextType()}
    if (returns := ask.read_as) is not None:
        read |= returns.fields if returns.kind == "record" else {"value": returns}
    if own.text in read:
        message = f"a reply has a field `{own.text}`, which the element would be called too"
        steps.program.diagnostics.error("E0202", message, own.span, help="take another name for the element")
        return False
    count, records = Call(function="length", args=(listed.of,)), list[Expr]()
    for place in range(listed.most):
        element = (
            listed.replied[place]
            if place < len(listed.replied)
            else Call(function="nth", args=(listed.of, Literal_(value=place)))
        )
        asked_when = [ask.when] if ask.when is not None else []
        asked_when += [Binary(operator="<=", left=count, right=Literal_(value=listed.most))]
        asked_when += [Binary(operator=">", left=count, right=Literal_(value=place))]
        named = {"name": f"{name.text}({place + 1})", "element": place, "when": _joined("and", asked_when)}
        put = partial(_put, steps.program.index.places, listed.alias, element)
        one = map_part(ask.model_copy(update={"when": None}), put)
        one = one.model_copy(update=named)
        steps.lowered.append(one)
        steps.wholes[one.name] = name
        said = {each: Ref(path=(one.name, each)) for each in read}
        records.append(RecordValue(fields={own.text: element, **said}))
    steps.asked[name.text] = (listed.of, records)
    of = listed.of
    bounded = Each(loop=Loop(alias=listed.alias, of=of, most=listed.most), value=Literal_(value=True))
    length = Call(function="length", args=(bounded,))
    some = Binary(operator=">", left=length, right=Literal_(value=0))
    there = Call(function="slice", args=(Items(values=tuple(records)), Literal_(value=0), length))
    none = Items(values=(Call(function="nth", args=(of, Literal_(value=0))),))
    value = Call(function="choose", args=(some, there, none))
    type_ = ListType(of=RecordType(fields={**shown, **read}))
    steps.scope[name.text] = Binding((name.text,), type_, {}, value, name.span, most=listed.most)
    steps.define("ask", name, type_)
    return True


def _put(places: dict[int, tuple[object, Span]], alias: str, element: Expr, part: Expr) -> Expr:
    """Return an element, or a field of it, in the place of its name, which it has in `places` too."""
    if not isinstance(part, Ref) or part.path[0] != alias:
        return part
    element = element.model_copy()
    for field in part.path[1:]:
        if isinstance(element, RecordValue):
            element = element.fields[field]
        elif isinstance(element, Ref):
            element = Ref(path=(*element.path, field))
        else:
            element = Get(of=element, field=field)
    if (written := places.get(id(part))) is not None:
        places[id(element)] = (element, written[1])
    return element
