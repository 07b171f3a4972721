"""Lowering of asks that are several: tool loops (`state`), prompts in one chat (`prompts`), and asks for the elements
of a list (`each`).

Each becomes as many `Ask` steps as there may be turns, prompts or elements. Turns and prompts continue the step before.
Whatever is proved, counted and stored for an ask therefore holds for each of them. The name of the whole is an
expression over their replies: the result of the first turn after which the chat ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.language.references import names_in, subexpressions
from tripos_compiler.library.calls import call, choose
from tripos_compiler.library.functions import dialogues, lists, texts
from tripos_compiler.library.types import TEXTS, type_notation
from tripos_compiler.lowering.call_counts import is_evaluable
from tripos_compiler.lowering.folding import map_part
from tripos_compiler.lowering.requests import Request, count_of, lower_request
from tripos_compiler.lowering.steps import (
    CONDITION_UNDEFINED,
    REQUEST_UNDEFINED,
    RepeatBound,
    Steps,
    VerdictBuilder,
    list_length,
    note_shown_names,
    warn_undefined,
    warn_undefined_request,
)
from tripos_compiler.plan import (
    CALLED,
    LIMIT,
    SAID,
    TOOL_LOOP_FIELDS,
    Ask,
    Call,
    DialogueType,
    Each,
    Expr,
    Get,
    Hole,
    Items,
    JsonType,
    ListType,
    Loop,
    RecordType,
    RecordValue,
    Ref,
    Template,
    Texts,
    TextType,
    Tool,
    Type,
    all_of,
    any_of,
    compare,
    lit,
    negated,
    tool_function_name,
    tool_loop_type,
)
from tripos_compiler.resolve.program import Binding, Typed
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import Name
from tripos_compiler.typecheck.calls import LoopSyntax, check_loop, scored_loop
from tripos_compiler.typecheck.expressions import Elaborator

# Tool loops

STATE_SO_FAR = "so_far"
"""The field of a turn with the state of the loop up to it."""


@dataclass(frozen=True)
class LoopUser:
    """The role that answers turns without a tool call, its request, and the texts by which it ends the loop."""

    role: Name
    question: Request
    ends: tuple[str, ...]

    def ended(self, utterance: Expr) -> Expr:
        """Return the condition that the user's turn `utterance` ends the loop."""
        over = any_of(*(call(texts.contains, utterance, lit(end)) for end in self.ends))
        return lit(False) if over is None else over


@dataclass(frozen=True)
class ToolLoop:
    """The initial state of the tools, the most turns of the model, the user, and the tools that end the loop."""

    state: Typed
    most: int
    user: LoopUser | None = None
    ends: tuple[str, ...] = ()
    """The tools whose call ends the loop."""


def lower_state(steps: Steps, statement: Statement, tools: Sequence[Tool], *, are_tools_known: bool) -> ToolLoop | None:
    """Return the tool loop of an ask; None without one. If one of the tools is wrong, they are not all known."""
    written, user = statement.one_of("state"), _user(steps, statement)
    ends = _ending_tools(steps, statement, tools, are_tools_known)
    if written is None:
        return None
    program = steps.program
    value = written.syntax("value")
    for tool in tools:
        name = tool_function_name(tool.name)
        if name not in program.plugins:
            help_ = f'write `tool {tool.name} from "tools.py:{tool.name}" "…" {{ … }}`'
            message = f"`{tool.name}` has no function, so nothing comes of its calls"
            program.diagnostics.error("E0206", message, written.head, help=help_, unknown=name)
        if tool.name in TOOL_LOOP_FIELDS:
            help_ = "the reply has a value of that name already; take another"
            program.diagnostics.error("E0207", f"no tool can be called `{tool.name}` here", written.head, help=help_)
    if statement.of("tools") and not tools and are_tools_known:
        help_ = "name tools of this file; those of a column have no functions"
        program.diagnostics.error("E0107", "`state` needs tools that are declared", written.head, help=help_)
    state = steps.check(value)
    if not state.is_error and state.type != JsonType():
        message = f"this is no state: `{type_notation(state.type)}`"
        program.diagnostics.error("E0301", message, value.span, help="take a column of type `json`")
    return ToolLoop(state, count_of(program, written), user, ends)


def _ending_tools(steps: Steps, statement: Statement, tools: Sequence[Tool], are_tools_known: bool) -> tuple[str, ...]:
    """Return the tools whose call ends the loop of an ask."""
    program, role = steps.program, statement.name("role").text
    ending: list[str] = []
    for clause in statement.of("called") if statement.of("state") else ():
        caller, tool = clause.name("role"), clause.name("tool")
        if role not in program.roles:
            program.diagnostics.follows()
        elif caller.text != role:
            message, help_ = f"`{caller.text}` calls no tools here", f"write `until {role} calls {tool.text}`"
            program.diagnostics.error("E0201", message, caller.span, help=help_, unknown=caller.text)
        elif not program.is_declared("tool", tool):
            continue
        elif tool.text not in [one.name for one in tools] and are_tools_known:
            message, help_ = f"`{tool.text}` is none of the tools of this ask", "name it after `tools` too"
            program.diagnostics.error("E0201", message, tool.span, help=help_, unknown=tool.text)
        elif tool.text in ending:
            message = f"the call of `{tool.text}` ends this loop already"
            program.diagnostics.error("E0202", message, clause.head, help="remove one")
        else:
            ending.append(tool.text)
    return tuple(ending)


def _user(steps: Steps, statement: Statement) -> LoopUser | None:
    """Return the user of a loop; None without one, or if its role is wrong."""
    program, written = steps.program, statement.one_of("user")
    if written is None or not statement.of("state"):
        return None
    role = written.name("role")
    if not steps.is_asked(role):
        return None
    if role.text == statement.name("role").text:
        help_ = "declare a role for the user; one model may fill both"
        program.diagnostics.error("E0202", f"`{role.text}` cannot be its own user", role.span, help=help_)
    ends: list[str] = []
    for condition in statement.of("until"):
        speaker, text = condition.name("role"), condition.text("string")
        if speaker.text != role.text:
            message, help_ = f"`{speaker.text}` is not the user", f"write `until {role.text} says …`"
            program.diagnostics.error("E0201", message, speaker.span, help=help_, unknown=speaker.text)
        elif not text.value.strip():
            message = "every turn would end it: this text is empty"
            program.diagnostics.error("E0803", message, text.span, help='write what is said: "done"')
        ends.append(text.value)
    return LoopUser(role, lower_request(program, dict(steps.scope), written, steps.rows), tuple(ends))


def add_loop_turns(steps: Steps, statement: Statement, first: Ask, loop: ToolLoop) -> None:
    """Add an ask for each possible turn. `first` has what they share, and what is sent first."""
    name, user = statement.name(), loop.user
    warn_undefined(steps, loop.state, REQUEST_UNDEFINED)
    if user is not None:
        warn_undefined_request(steps, user.question, None)
        note_shown_names(steps, user.question)
    turns: list[_LoopTurn] = []
    for number in range(1, loop.most + 1):
        before = turns[-1] if turns else None
        state = loop.state.expr if before is None else Ref(path=(before.ask.name, STATE_SO_FAR, "state"))
        acts = tuple(Call(function=tool_function_name(tool.name), args=(state,)) for tool in first.tools)
        ask = first.model_copy(
            update={"name": f"{name.text}({number})", "acts": acts, "user": user.role.text if user else None}
        )
        if before is not None:
            prompt = None if before.user_text is None else _prompt(steps, before.user_text)
            alone = {"system": None, "shots": (), "chat": None, "prompt": prompt, "continues": before.ask.name}
            ask = ask.model_copy(update={**alone, "when": all_of(first.when, before.more)})
        answer = None if user is None else _answer(first, ask, user)
        turns.append(_LoopTurn(ask, answer, user, loop.ends))
        for step in (ask, answer):
            if step is not None:
                steps.lowered.append(step)
                steps.model_steps[step.name] = name
    type_ = tool_loop_type(first.tools, called=bool(loop.ends))
    steps.scope[name.text] = _loop_binding(name, type_, turns)
    steps.define("ask", name, type_)


@dataclass(frozen=True)
class _LoopTurn:
    """A turn of the model, and the user's answer if the model calls no tool."""

    ask: Ask
    answer: Ask | None
    user: LoopUser | None
    ends: tuple[str, ...] = ()

    @property
    def calls(self) -> Expr:
        """The condition that the turn calls a tool."""
        return compare(">", call(lists.length, Ref(path=(self.ask.name, "calls"))), 0)

    @property
    def over(self) -> Expr | None:
        """The condition that the turn has a valid call that ends the loop; None if no tool ends it."""
        return any_of(*(compare(">", call(lists.length, Ref(path=(self.ask.name, tool))), 0) for tool in self.ends))

    @property
    def user_text(self) -> Expr | None:
        """The text of the user's answer."""
        return None if self.answer is None else Ref(path=(self.answer.name, "text"))

    @property
    def more(self) -> Expr:
        """The condition that another turn follows, unless this is the last."""
        more = self.calls
        if self.user_text is not None and self.user is not None:
            more = any_of(more, negated(self.user.ended(self.user_text)))
        return more if self.over is None else all_of(negated(self.over), more)

    def value(self, field: str, *, last: bool) -> Expr:
        """Return the value of a field of the loop if it ends with this turn."""
        expr = self._without_call(field, last=last)
        if field != "ended" or self.over is None:
            return expr
        return choose(self.over, lit(CALLED), expr)

    def _without_call(self, field: str, *, last: bool) -> Expr:
        """Return the value of a field if no call ends the loop."""
        ref = Ref(path=(self.ask.name, STATE_SO_FAR, field))
        if self.user_text is None or self.user is None:
            return ref
        if field == "turns":
            with_answer = call(dialogues.with_turn, ref, lit(self.user.role.text), self.user_text)
            return choose(self.calls, ref, with_answer)
        if field == "ended":
            over = lit(SAID)
            return choose(self.more, lit(LIMIT), over) if last else over
        return ref


def _prompt(steps: Steps, utterance: Expr) -> Texts:
    hole = Hole(expr=utterance, type=TextType())
    return {language: Template(parts=(hole,)) for language in steps.program.languages}


def _answer(first: Ask, turn: Ask, user: LoopUser) -> Ask:
    """Return the ask to the user after a turn."""
    silent = compare("==", call(lists.length, Ref(path=(turn.name, "calls"))), 0)
    number = turn.name.removeprefix(turn.script)
    return Ask(
        name=f"{turn.script}.{user.role.text}{number}",
        role=user.role.text,
        system=user.question.system.texts if user.question.system else None,
        chat=Ref(path=(turn.name, STATE_SO_FAR, "turns")),
        opened=True,
        samples=first.samples,
        settings=user.question.settings,
        when=all_of(first.when, silent),
        fingerprint="",
    )


def _loop_binding(name: Name, type_: RecordType, turns: Sequence[_LoopTurn]) -> Binding:
    """Return the binding of a loop's name: its last text, and the fields of its result."""

    def at_the_end(field: str) -> Expr:
        expr = turns[-1].value(field, last=True)
        for turn in reversed(turns[:-1]):
            expr = choose(turn.more, expr, turn.value(field, last=False))
        return expr

    last = at_the_end("text")
    fields = {"text": Binding((name.text, "text"), TextType(), {}, last, name.span)}
    for field, of in type_.fields.items():
        if field != "text":
            fields[field] = Binding((name.text, field), of, {}, at_the_end(field), name.span)
    return Binding((name.text,), TextType(), fields, last, name.span)


# Prompts in one chat

ASKER = "user"
"""The speaker of the prompts in a dialogue."""


@dataclass(frozen=True)
class PromptSequence:
    """The prompts of an ask: a list with at most `most` elements."""

    prompts: Typed
    most: int


def lower_prompts(steps: Steps, statement: Statement) -> PromptSequence | None:
    """Return the prompts of an ask with several; None without `prompts`."""
    written = statement.one_of("prompts")
    if written is None:
        return None
    prompts = steps.check(written.syntax("list"), TEXTS, "what is asked")
    return PromptSequence(prompts, count_of(steps.program, written))


def add_prompt_turns(steps: Steps, statement: Statement, first: Ask, script: PromptSequence) -> None:
    """Add an ask for each possible prompt. `first` has what they share, and what comes before them."""
    name, languages = statement.name(), steps.program.languages
    prompts, most = script.prompts.expr, script.most
    warn_undefined(steps, script.prompts, REQUEST_UNDEFINED)
    count = call(lists.length, prompts)
    turns: list[Ask] = []
    ends: list[Expr] = []
    """For each turn, the condition that it is the last."""
    for number in range(most):
        reached = compare("<=", count, most), compare(">", count, number)
        hole = Hole(expr=call(lists.nth, prompts, lit(number)), type=TextType())
        turn = first.model_copy(
            update={
                "name": f"{name.text}({number + 1})",
                "prompt": {language: Template(parts=(hole,)) for language in languages},
                "when": all_of(first.when, *reached, *map(negated, ends)),
            }
        )
        if turns:
            before = {"system": None, "shots": (), "chat": None, "continues": turns[-1].name}
            turn = turn.model_copy(update=before)
        turns.append(turn)
        steps.lowered.append(turn)
        steps.model_steps[turn.name] = name
        if number + 1 < most:
            attempt = steps.program.diagnostics.attempt()
            ends += _end(steps, statement, turns, prompts)
            if number:  # reported with the first turn
                attempt.discard()
            if attempt.failed:
                return
    steps.repeat_bounds.append(RepeatBound(statement.of("prompts")[0].syntax("count").span, prompts, most, "prompts"))
    steps.scope[name.text] = _prompts_binding(name, turns, prompts, ends)
    steps.define("ask", name, TextType())


def _end(steps: Steps, statement: Statement, turns: Sequence[Ask], prompts: Expr) -> list[Expr]:
    """Return the conditions of `until` after these turns."""
    name, exprs = statement.name(), list[Expr]()
    outer = steps.scope
    steps.scope = {**outer, name.text: _prompts_binding(name, turns, prompts, [])}
    try:
        for written in statement.of("ends"):
            condition = written.syntax("cond")
            if len(turns) == 1:
                steps.program.index.scopes.append((condition.span, steps.scope))
            typed = Elaborator(steps.program, steps.scope, VerdictBuilder(steps)).condition(condition)
            warn_undefined(steps, typed, CONDITION_UNDEFINED)
            exprs.append(typed.expr)
    finally:
        steps.scope = outer
    return [any_of(*exprs)] if exprs else []


def _prompts_binding(name: Name, turns: Sequence[Ask], prompts: Expr, ends: Sequence[Expr]) -> Binding:
    """Return the binding of an ask's name after at most these turns: its last reply, with all replies and the dialogue
    as fields.

    They are the values of the first turn after which the chat ends.
    """
    count, span = call(lists.length, prompts), name.span
    replied = [Ref(path=(turn.name, "text")) for turn in turns]
    calls = [call(lists.nth, prompts, lit(number)) for number in range(len(turns))]

    def dialogue(number: int) -> Expr:
        expr: Expr = Items(values=())
        for prompt, text in list(zip(calls, replied, strict=True))[:number]:
            for speaker, spoken in ((ASKER, prompt), (turns[0].role, text)):
                expr = call(dialogues.with_turn, expr, lit(speaker), spoken)
        return expr

    def at_the_end(value: Callable[[int], Expr]) -> Expr:
        expr = value(len(turns))
        for number in range(len(turns) - 1, 0, -1):
            if ends:  # separate from the length test, which does not depend on a reply
                expr = choose(ends[number - 1], value(number), expr)
            expr = choose(compare("<=", count, number), value(number), expr)
        return expr

    last = at_the_end(lambda number: replied[number - 1])
    replies = at_the_end(lambda number: Items(values=tuple(replied[:number])))
    fields = {
        "text": Binding((name.text, "text"), TextType(), {}, last, span),
        "replies": Binding((name.text, "replies"), TEXTS, {}, replies, span, most=len(turns)),
        "turns": Binding((name.text, "turns"), DialogueType(), {}, at_the_end(dialogue), span),
    }
    return Binding((name.text,), TextType(), fields, last, span)


# Asks for each element of a list

MOST_ELEMENTS = 50


@dataclass(frozen=True)
class ElementAsks:
    """The list of an ask for each element: the element's name in the spec and in the plan, its type, and the upper
    bound of the length.

    `replied` are the elements themselves if they are the replies of another such ask.
    """

    name: Name
    alias: str
    of: Expr
    element: Type
    most: int
    scope: Mapping[str, Binding]
    replied: tuple[Expr, ...] = ()


def lower_element_asks(steps: Steps, statement: Statement) -> ElementAsks | None:
    """Return the list of `each NAME in LIST [where COND] [at most COUNT]`; None if it is wrong."""
    program, elaborator = steps.program, steps.elaborator()
    for construct, keyword in (("prompts", "prompts"), ("ends", "until"), ("state", "state")):
        for other in statement.of(construct):
            message = f"an ask for each element of a list takes no `{keyword}`"
            program.diagnostics.error("E0107", message, other.head, help="remove one of the two, or ask in two steps")
            return None
    syntax = scored_loop(elaborator, statement)
    checked = check_loop(elaborator, syntax) if syntax is not None else None
    if syntax is None or checked is None:
        return None
    loop, of, replied = checked.loop, checked.loop.of, list[Expr]()
    if loop.where is None and isinstance(syntax.of, Name) and syntax.of.text in steps.requests:
        of, replied = steps.requests[syntax.of.text]
    elif loop.where is not None or checked.listed.kind != "list":
        of = Each(loop=loop.model_copy(update={"most": None}), value=Ref(path=(loop.alias,)))
    warn_undefined(steps, Typed(of, ListType(of=checked.element), checked.may), REQUEST_UNDEFINED)
    most = _most_elements(steps, syntax, loop, of)
    if most is None:
        return None
    if syntax.most is not None:
        steps.repeat_bounds.append(RepeatBound(syntax.most.span, of, most, "elements"))
    return ElementAsks(syntax.name, loop.alias, of, checked.element, most, checked.inside.scope, tuple(replied))


def _most_elements(steps: Steps, written: LoopSyntax, loop: Loop, of: Expr) -> int | None:
    """Return the upper bound of the elements: the bound in the spec, or the longest list in a file.

    Reports a bound that is unknown or too high and returns None.
    """
    diagnostics, most = steps.program.diagnostics, loop.most
    span = written.of.span if written.most is None else written.most.span
    if not names_in(of) <= steps.known_names:
        of = loop.of  # the unfiltered list, since a reply or arm decides the filter
    if most is None and names_in(of) <= steps.known_names and all(is_evaluable(part) for part in subexpressions(of)):
        if steps.cases is None and diagnostics.failures:  # the missing rows were reported, here or with the data set
            return 1
        if steps.cases is not None:
            most = max((list_length(of, names) or 0 for names in steps.cases), default=0) or 1
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


def add_element_asks(steps: Steps, statement: Statement, ask: Ask, listed: ElementAsks) -> None:
    """Add an ask for each possible element. `ask` refers to the element by its name."""
    name, own = statement.name(), listed.name
    shown: dict[str, Type] = {own.text: listed.element}
    read: dict[str, Type] = {} if ask.options is not None else {"text": TextType()}
    if (returns := ask.read_as) is not None:
        read |= returns.fields if returns.kind == "record" else {"value": returns}
    if own.text in read:
        message = f"a reply has a field `{own.text}`, which the element would be called too"
        steps.program.diagnostics.error("E0202", message, own.span, help="take another name for the element")
        return
    count, records = call(lists.length, listed.of), list[Expr]()
    for place in range(listed.most):
        element = listed.replied[place] if place < len(listed.replied) else call(lists.nth, listed.of, lit(place))
        when = all_of(ask.when, compare("<=", count, listed.most), compare(">", count, place))
        named = {"name": f"{name.text}({place + 1})", "element": place, "when": when}
        put = partial(_substitute_element, steps.program.index.places, listed.alias, element)
        one = map_part(ask.model_copy(update={"when": None}), put)
        one = one.model_copy(update=named)
        steps.lowered.append(one)
        steps.model_steps[one.name] = name
        refs = {field: Ref(path=(one.name, field)) for field in read}
        records.append(RecordValue(fields={own.text: element, **refs}))
    steps.requests[name.text] = (listed.of, records)
    of = listed.of
    bounded = Each(loop=Loop(alias=listed.alias, of=of, most=listed.most), value=lit(True))
    length = call(lists.length, bounded)
    there = call(lists.slice_, Items(values=tuple(records)), lit(0), length)
    none = Items(values=(call(lists.nth, of, lit(0)),))
    value = choose(compare(">", length, 0), there, none)
    type_ = ListType(of=RecordType(fields={**shown, **read}))
    steps.scope[name.text] = Binding((name.text,), type_, {}, value, name.span, most=listed.most)
    steps.define("ask", name, type_)


def _substitute_element(places: dict[int, tuple[object, Span]], alias: str, element: Expr, part: Expr) -> Expr:
    """Return an element, or a field of it, in place of its name. Copies the source span of the name in `places`."""
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
