"""Lowering of `ask`: its chat or continued conversation, plain text, likelihoods, tools, shots and options.

Each name that `options` defines is replaced by its expression, like the name of a `let`, so that whatever is proved,
counted or stored for the expression also holds for the name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.constructs.table import CONSTRUCTS
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.language.references import direct_dependencies, subexpressions, transitive_dependencies
from tripos_compiler.library.calls import call, name_of
from tripos_compiler.library.functions import lists, multiple_choice, texts
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.types import TEXTS, fits, type_notation, without_optional
from tripos_compiler.lowering.multi_turn_asks import (
    ElementAsks,
    PromptSequence,
    ToolLoop,
    add_element_asks,
    add_loop_turns,
    add_prompt_turns,
    lower_element_asks,
    lower_prompts,
    lower_state,
)
from tripos_compiler.lowering.requests import count_of, lower_request, lower_samples
from tripos_compiler.lowering.steps import (
    REQUEST_UNDEFINED,
    Steps,
    note_shown_names,
    warn_undefined,
    warn_undefined_request,
)
from tripos_compiler.plan import (
    LIKELIHOODS,
    REPLY_PARTS,
    Ask,
    Converse,
    DataField,
    DialogueType,
    Expr,
    Hole,
    IntegerType,
    Items,
    JsonType,
    ListType,
    Literal_,
    Plain,
    RecordType,
    Ref,
    SampleList,
    Shots,
    Template,
    Texts,
    TextType,
    Tool,
    Type,
    all_of,
    probability_fields,
    serialized_form,
    tool_reply_type,
)
from tripos_compiler.resolve.program import (
    Binding,
    LoadedDataset,
    Program,
    Scope,
    Typed,
    has_skipped_part,
    numbers_of,
    record_fields,
    row_fields,
)
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import Name, Syntax, Text
from tripos_compiler.typecheck.expressions import Elaborator
from tripos_compiler.typecheck.templates import LocalizedTemplate, lower_texts
from tripos_compiler.typecheck.types import is_secret

# Chats and continued conversations

SETTLED = ("system", "shots")
"""Constructs that only the first ask of a chat can have."""


def lower_chat(steps: Steps, statement: Statement) -> Typed | bool | None:
    """Return the dialogue of `chat`; None without one, False if it is wrong."""
    written = statement.one_of("chat")
    if written is None:
        return None
    value = written.syntax("value")
    return steps.elaborator().expression(value, DialogueType(), "what is chatted") or False


def lower_continued(steps: Steps, statement: Statement, role: Name) -> str | bool | None:
    """Return the name of the conversation or ask that is continued; None without one, False if it is wrong."""
    written = statement.one_of("continue")
    if written is None:
        return None
    program, name = steps.program, written.name("step")
    found = next((step for step in steps.lowered if step.name == name.text), None)
    binding = steps.scope.get(name.text)
    if not isinstance(found, Ask | Converse) or binding is None:
        if binding is not None and binding.type is None and not binding.fields:
            return False  # it was reported
        help_ = suggest(
            name.text,
            [step.name for step in steps.lowered if isinstance(step, Ask | Converse)],
            "name an `ask` or a `converse` step that stands before",
        )
        program.diagnostics.error(
            "E0201", f"nothing called `{name.text}` can be continued here", name.span, help=help_, unknown=name.text
        )
        return False
    program.index.use(name.span, binding.span)
    if role.text not in program.roles:
        return False  # it was reported
    good = _can_continue(steps, statement, found) if isinstance(found, Ask) else True
    return found.name if _took_part(steps, found, role, name) and good else False


def _took_part(steps: Steps, found: Ask | Converse, role: Name, name: Name) -> bool:
    """Return true if the role spoke in the continued step; otherwise report it."""
    if isinstance(found, Ask):
        message, help_ = f"`{found.name}` is a reply of `{found.role}`", f"ask `{found.role}`"
        took_part = role.text == found.role
    else:
        message = f"`{role.text}` took no part in `{found.name}`"
        help_ = f"its speakers are {' and '.join(f'`{speaker.role}`' for speaker in found.speakers)}"
        took_part = role.text in [speaker.role for speaker in found.speakers]
    if not took_part:
        steps.program.diagnostics.error("E0208", message, name.span, help=help_)
    return took_part


def _can_continue(steps: Steps, statement: Statement, found: Ask) -> bool:
    """Return true if an ask can continue another one; otherwise report why not."""
    program, good = steps.program, True
    for construct in SETTLED:
        for form in statement.of(construct):
            message = f"an ask that continues `{found.name}` takes no `{construct}`"
            help_ = f"write it in `{found.name}`: a chat has it once, at its beginning"
            program.diagnostics.error("E0107", message, form.head, help=help_)
            good = False
    if found.plain is not None:
        span = statement.of("continue")[0].name("step").span
        message, help_ = f"`{found.name}` is a plain text, which has no turns", "name an ask without `plain`"
        program.diagnostics.error("E0107", message, span, help=help_)
        good = False
    if found.calls_tools:
        span = statement.of("continue")[0].name("step").span
        message = f"`{found.name}` may call tools, and a call without its result cannot be gone on from"
        program.diagnostics.error("E0107", message, span, help="name an ask without `tools`")
        good = False
    return good


# Plain texts, likelihoods and token probabilities

SINGLE = ("bool", "integer", "number", "choice")
"""Types whose value is a known part of the reply, so that its tokens can be found."""


def lower_plain(steps: Steps, ask: Statement) -> Plain | bool | None:
    """Return how the text of an ask is joined; None for a chat, False if it is both, which is reported.

    An ask with `likelihood` is a plain text too.
    """
    statement, likelihood = ask.one_of("plain"), ask.one_of("likelihood")
    if statement is None and likelihood is None:
        if (template := ask.one_of("chat_template")) is not None:
            help_ = "write `plain`; any other ask is sent as a chat, and the model's server puts it into its template"
            message = "`chat_template` is for an ask with `plain` or `likelihood`"
            steps.program.diagnostics.error("E0107", message, template.head, help=help_)
            return False
        return None
    slots = {} if statement is None else {"parted": statement.find("separator"), "link": statement.find("link")}
    return Plain(**{name: text.value for name, text in slots.items() if isinstance(text, Text)})


def lower_likelihood(steps: Steps, ask: Statement) -> Typed | bool | None:
    """Return the texts of `likelihood of`; None without one, False if they are wrong, which is reported."""
    statement = ask.one_of("likelihood")
    if statement is None:
        return None
    value, check = statement.syntax("options"), steps.elaborator()
    options = check.infer(value)
    if options is not None and options.type.kind in ("text", "choice"):
        options = replace(options, expr=Items(values=(options.expr,)), type=TEXTS)
    elif options is not None:
        options = check.typed_as(options, value, TEXTS, "what the likelihood is of")
    return False if options is None else options


def may_have_logprobs(steps: Steps, ask: Statement, returns: Type | None) -> bool:
    """Return true if an ask has no `top_logprobs` or may have it; otherwise report why not."""
    statement = ask.one_of("top_logprobs")
    if (
        statement is None or ask.one_of("likelihood") is not None
    ):  # with a likelihood, the setting is reported elsewhere
        return True
    if returns is None or returns.kind in SINGLE:
        return True
    help_ = "ask for one value, such as `returns choice(A, B)`, or for a text"
    message = "an ask with `top_logprobs` returns one value"
    steps.program.diagnostics.error("E0107", message, ask.of("returns")[0].head, help=help_)
    return False


# Tools


@dataclass(frozen=True)
class OfferedTools:
    """The tools of an ask: declared ones, or an expression for those of the row."""

    declared: tuple[Tool, ...] = ()
    listed: Typed | None = None


def lower_offered_tools(steps: Steps, ask: Statement) -> OfferedTools | None:
    """Return the tools of an ask. Reports a mistake and returns None."""
    statement = ask.one_of("tools")
    if statement is None:
        return OfferedTools()
    good = True
    declared: dict[str, Tool] = {}
    listed: Typed | None = None
    for syntax in statement.many("tools"):
        if isinstance(syntax, Name) and syntax.text not in steps.scope:
            tool = _declared(steps, syntax)
            good = good and tool is not None and _is_new(steps, syntax, syntax.text in declared)
            if tool is not None:
                declared[tool.name] = tool
            continue
        typed = _listed(steps, syntax)
        good = good and typed is not None and _is_new(steps, syntax, listed is not None)
        listed = typed
    if declared and listed is not None:
        message = "these tools are declared, and those of a column stand beside them"
        help_ = "take the tools of the column, or those that are declared"
        steps.program.diagnostics.error("E0107", message, statement.head, help=help_)
        good = False
    return OfferedTools(tuple(declared.values()), listed) if good else None


def _declared(steps: Steps, name: Name) -> Tool | None:
    if not steps.program.is_declared("tool", name):
        return None
    return steps.program.tools.get(name.text)  # one that is wrong was reported


def _listed(steps: Steps, syntax: Syntax) -> Typed | None:
    steps.program.index.scopes.append((syntax.span, dict(steps.scope)))
    typed = steps.elaborator().infer(syntax)
    if typed is None:
        return None
    if typed.type != JsonType(form="tools"):
        message = f"these are no tools: `{type_notation(typed.type)}`"
        help_ = "name tools that are declared, or a column of type `tools`: `functions tools`"
        steps.program.diagnostics.error("E0301", message, syntax.span, help=help_)
        return None
    warn_undefined(steps, typed, REQUEST_UNDEFINED)
    return typed


def _is_new(steps: Steps, syntax: Syntax, known: bool) -> bool:
    """Return true if a tool or column of tools is named for the first time; otherwise report it."""
    if known:
        message = "these tools are named twice" if isinstance(syntax, Name) else "only one column can have tools"
        steps.program.diagnostics.error("E0202", message, syntax.span, help="remove one")
    return not known


# Options: texts that are shuffled and lettered


def lower_shown_options(steps: Steps, statement: Statement) -> bool:
    """Lower `options NAME from OPTIONS with key KEY [shuffled by DRAW] [lettered LETTERS] [marked MARK]`."""
    name = statement.name()
    good = steps.free(name)
    steps.program.index.scopes.append((statement.syntax("options").span, dict(steps.scope)))
    binding = bind_options(steps.program, steps.scope, statement)
    if binding is None or not good:
        steps.unknown(name)
        return False
    steps.options.append(statement)
    steps.define("options", name, None, "options, text, letters, right, letter")
    steps.scope[name.text] = binding
    return True


def bind_options(program: Program, scope: Scope, statement: Statement) -> Binding | None:
    """Return the binding of the name of `options`. Reports a mistake and returns None."""
    check = Elaborator(program, scope)
    typed = check.expression(statement.syntax("options"), TEXTS, "what is chosen from")
    key = check.expression(statement.syntax("key"))
    draw = statement.find("draw")
    by = check.expression(draw, TextType(), "what shuffles the options") if draw is not None else None
    if key is not None and key.type.kind not in ("integer", "text", "choice"):
        message = "the key must be the position of the right option, or its letter"
        help_ = "write its position where the key is the text of the option: `rank(answer, options)`"
        program.diagnostics.error("E0301", message, statement.syntax("key").span, help=help_)
        return None
    if typed is None or key is None or (draw is not None and by is None):
        return None
    letters, mark = _literal(statement, "letters"), _literal(statement, "mark")
    wrong = FUNCTIONS[name_of(texts.lettered)].check({name: literal.value for name, literal in mark.items()})
    if isinstance(wrong, str):
        program.diagnostics.error("E0303", wrong, statement.syntax("mark").span, help='for example `marked "({}) "`')
        return None
    options = typed.expr if by is None else call(lists.shuffled, typed.expr, by.expr)
    shown = call(texts.letters_for, options, **letters)
    place: Expr = key.expr
    if key.type.kind != "integer":
        place = call(multiple_choice.key_place, key.expr, typed.expr, **letters)
    if by is not None:
        place = call(multiple_choice.shuffled_place, place, typed.expr, by.expr)
    elif key.type.kind == "integer":  # a position or letter beyond the options is undefined
        place = call(multiple_choice.key_place, call(lists.nth, shown, place), typed.expr, **letters)
    may = tuple(lack for each in (typed, key, by) if each is not None for lack in each.may)
    name, span = statement.name().text, statement.name().span
    fields: dict[str, tuple[Type, Expr]] = {
        "options": (TEXTS, options),
        "text": (TextType(), call(texts.lettered, options, **letters, **mark)),
        "letters": (TEXTS, shown),
        "right": (IntegerType(), place),
        "letter": (TextType(), call(lists.nth, shown, place)),
    }
    bound = {field: Binding((name, field), type_, {}, expr, span, may) for field, (type_, expr) in fields.items()}
    return Binding((name,), None, bound, span=span)


def _literal(statement: Statement, slot: str) -> dict[str, Literal_]:
    """Return the string in a slot as a named argument; empty if the slot is empty."""
    node = statement.find(slot)
    return {slot: Literal_(value=node.value)} if isinstance(node, Text) else {}


def letter_shown(scope: Scope, options: Sequence[Statement], told: Sequence[Expr]) -> Binding | None:
    """Return the letter of the right option of the first `options` that a prompt shows; None if it shows none."""
    shown = {serialized_form(part).model_dump_json() for expr in told for part in subexpressions(expr)}
    for option in options:
        fields = scope[option.name().text].fields
        values = [value for name in ("text", "options") if (value := fields[name].value) is not None]
        if any(serialized_form(value).model_dump_json() in shown for value in values):
            return fields["letter"]
    return None


# Shots


def lower_shots(steps: Steps, statement: Statement, returns: Type | None) -> tuple[Shots, ...] | None:
    """Lower every `shots` of an ask. Reports a mistake and returns None."""
    shotses = [_shots(steps, statement, written, returns) for written in statement.of("shots")]
    good = tuple(shots for shots in shotses if shots is not None)
    return good if len(good) == len(shotses) else None


def _shots(steps: Steps, ask: Statement, written: Statement, returns: Type | None) -> Shots | None:
    """Lower one `shots`. Reports a mistake and returns None."""
    program, dataset = steps.program, written.name("dataset")
    if not program.is_declared("dataset", dataset):
        return None
    loaded = program.top_level_datasets.get(dataset.text)
    if loaded is None or not loaded.sound:
        return None
    count = count_of(program, written)
    if count is None:
        return None
    alias = written.find_name("alias") or dataset
    if alias.text in steps.scope:
        message = f"`{alias.text}` is a name of this scenario already"
        program.diagnostics.error("E0202", message, alias.span, help="give the shots another name: `as x`")
        return None
    scope = {**steps.scope, alias.text: _row(loaded, alias)}
    where = _condition(steps, written, "filter", scope)
    when = _condition(steps, written, "cond", dict(steps.scope))
    drawn = _drawn(steps, written)
    if where is False or when is False or drawn is False:
        return None
    if written.block is not None:
        texts = _written(steps, written, scope)
    else:
        texts = _texts_of_ask(steps, ask, written, loaded, alias, returns)
    if texts is None:
        return None
    expr, chosen = (each.expr if isinstance(each, Typed) else None for each in (when, where))
    condition = all_of(expr, chosen)  # a shot that is not shown has a condition that fails
    prompt, reply = texts
    return Shots(
        count=count,
        dataset=loaded.dataset.name,
        alias=alias.text,
        where=condition,
        drawn=drawn.expr if isinstance(drawn, Typed) else None,
        prompt=prompt.texts,
        reply=reply.texts,
    )


def _row(loaded: LoadedDataset, alias: Name) -> Binding:
    """Return the binding of a row of the shots."""
    return Binding((alias.text,), None, row_fields(loaded, alias.text), span=alias.span)


def _drawn(steps: Steps, written: Statement) -> Typed | bool | None:
    """Return the text that seeds the draw of the shots; None to take the first rows, False if it is wrong, which is
    reported.
    """
    syntax = written.find("draw")
    if syntax is None:
        return None
    steps.program.index.scopes.append((syntax.span, dict(steps.scope)))
    typed = steps.elaborator().expression(syntax, TextType(), "what draws the shots")
    if typed is not None:
        warn_undefined(steps, typed, REQUEST_UNDEFINED)
    return typed or False


def _condition(steps: Steps, written: Statement, key: str, scope: dict[str, Binding]) -> Typed | bool | None:
    syntax = written.find(key)
    if syntax is None:
        return None
    steps.program.index.scopes.append((syntax.span, scope))
    return Elaborator(steps.program, scope).condition(syntax) or False


def _written(
    steps: Steps, written: Statement, scope: dict[str, Binding]
) -> tuple[LocalizedTemplate, LocalizedTemplate] | None:
    """Return the texts of the shots' block."""
    templates: list[LocalizedTemplate] = []
    for construct, what in (("shot_prompt", "prompt"), ("reply", "reply")):
        statements = written.of(construct)
        if not statements:
            help_ = f'write `{what} "…"` in its block'
            lacking = written.block.span if written.block is not None else None
            message = f"these shots have no `{what}`"
            steps.program.diagnostics.error("E0206", message, written.head, help=help_, lacking=lacking)
            continue
        texts = lower_texts(steps.program, scope, statements, f"the {what}")
        if texts is not None:
            templates.append(texts)
    return (templates[0], templates[1]) if len(templates) == 2 else None


def _texts_of_ask(
    steps: Steps,
    ask: Statement,
    written: Statement,
    loaded: LoadedDataset,
    alias: Name,
    returns: Type | None,
) -> tuple[LocalizedTemplate, LocalizedTemplate] | None:
    """Return the ask's own prompt filled from a row of the shots, with the only field that can be the answer."""
    program = steps.program
    help_ = 'give them texts of their own: `shots … { prompt "…", reply "…" }`'
    row = _row(loaded, alias)
    scope = _for_the_row(steps, loaded, alias, row)
    items = program.diagnostics.items
    mark = len(items)
    prompt = lower_texts(program, scope, ask.of("prompt"), "the prompt") if ask.of("prompt") else None
    wrong = [item for item in items[mark:] if item.severity == "error"]
    del items[mark:]
    if prompt is None or wrong:
        reason = f": {wrong[0].message}" if wrong else ""
        message = f"the prompt cannot be filled from a row of `{loaded.dataset.name}`{reason}"
        program.diagnostics.error("E0404", message, written.head, help=help_)
        return None
    if (letter := letter_shown(scope, steps.options, [hole.typed.expr for hole in prompt.all_holes()])) is not None:
        return prompt, _reply(steps, letter, TextType(), written.head, returns)
    printed = {
        name
        for hole in prompt.all_holes()
        for name in (field.name for field in loaded.dataset.fields)
        if (alias.text, name) in _paths(hole.typed)
    }
    type_ = returns if returns is not None else TextType()
    answers = [f for f in loaded.dataset.fields if f.name not in printed and fits(f.type, type_)]
    if len(answers) != 1:
        found = ", ".join(f"`{field.name}`" for field in answers) or "none"
        message = f"which field of `{loaded.dataset.name}` is the answer? {found} would do"
        program.diagnostics.error("E0404", message, written.head, help=help_)
        return None
    binding = row.fields[answers[0].name]
    return prompt, _reply(steps, binding, answers[0].type, written.head, returns)


def _for_the_row(steps: Steps, loaded: LoadedDataset, alias: Name, row: Binding) -> dict[str, Binding]:
    """Return the scope of the ask's prompt when it is filled from a row of the shots.

    The row, its axes and each `let` are those of the shot. Results of other steps remain those of the current row.
    """
    bindings = {steps.alias: row} if steps.alias is not None else {}
    axes = {field.name: row.fields[field.name] for field in loaded.dataset.fields if _is_axis(field)}
    lets = {let.name().text for let in (*steps.lets, *steps.options)}
    given = {name: binding for name, binding in steps.scope.items() if name not in lets}
    scope = {**given, **{name: axis for name, axis in axes.items() if name in given}, **bindings, alias.text: row}
    items = steps.program.diagnostics.items
    mark = len(items)
    for let in steps.lets:
        name = let.name()
        typed = Elaborator(steps.program, scope).expression(let.syntax("value"))
        if typed is not None:
            scope[name.text] = Binding((name.text,), typed.type, {}, typed.expr, name.span, typed.may)
    for options in steps.options:
        found = bind_options(steps.program, scope, options)
        if found is not None:
            scope[options.name().text] = found
    del items[mark:]  # a mistake for such rows matters only if the prompt uses the name
    return scope


def _is_axis(field: DataField) -> bool:
    return field.type.kind == "choice" and field.type.axis == field.name


def _reply(steps: Steps, binding: Binding, type_: Type, span: Span, returns: Type | None) -> LocalizedTemplate:
    expr = binding.value or Ref(path=binding.path)
    hole = Hole(expr=expr, type=type_)
    if returns is not None and without_optional(returns).kind in ("list", "set", "record", "json"):
        hole = Hole(expr=call(texts.json, expr), type=TextType())
    from tripos_compiler.typecheck.templates import CheckedHole

    prompts: Texts = {language: Template(parts=(hole,)) for language in steps.program.languages}
    filled = CheckedHole(Typed(hole.expr, hole.type), span)
    return LocalizedTemplate(prompts, dict.fromkeys(steps.program.languages, (filled,)))


def _paths(typed: Typed) -> set[tuple[str, ...]]:
    from tripos_compiler.language.references import paths_in

    return {path[:2] for path in paths_in(typed.expr)}


# The ask itself


EXCLUDING = tuple(construct for construct in CONSTRUCTS if construct.excludes)
REQUIRED = {construct.name: construct.requires for construct in CONSTRUCTS if construct.requires is not None}


def _has_no_excluded(program: Program, statement: Statement) -> bool:
    """Return true if no construct in the block of an ask excludes another one there; otherwise report it."""
    excluded: set[str] = set()
    for construct in EXCLUDING:
        if construct.name in excluded or not statement.of(construct.name):
            continue
        for exclusion in construct.excludes:
            for other in (found for name in exclusion.constructs for found in statement.of(name)):
                if other.construct not in excluded:
                    message = f"an ask with `{construct.starts_with}` takes no `{other.construct}`"
                    program.diagnostics.error("E0107", message, other.head, help=exclusion.help)
            excluded |= {name for name in exclusion.constructs if statement.of(name)}
    return not excluded


def _has_required(program: Program, statement: Statement) -> bool:
    """Return true if every construct in the block of an ask has the one that it requires; otherwise report it."""
    good = True
    for inner in statement.body:
        need = REQUIRED.get(inner.construct)
        if need is not None and not statement.of(need.construct):
            program.diagnostics.error(need.code, need.message, inner.head, help=need.help)
            good = False
    return good


def lower_ask(steps: Steps, statement: Statement) -> bool:
    """Lower `ask NAME by ROLE [each ELEMENTS] [when COND] { … }`."""
    when = steps.condition(statement)
    if statement.find("elements") is None:
        return _ask(steps, statement, when)
    name, outer, listed = statement.name(), steps.scope, lower_element_asks(steps, statement)
    if listed is None:
        steps.unknown(name)
        return False
    steps.scope = dict(listed.scope)
    try:
        return _ask(steps, statement, when, listed)
    finally:
        outer[name.text] = steps.scope[name.text]
        steps.scope = outer


def _ask(steps: Steps, statement: Statement, when: Typed | bool | None, listed: ElementAsks | None = None) -> bool:
    program, name, role = steps.program, statement.name(), statement.name("role")
    good = all([steps.named(name), _has_no_excluded(program, statement), _has_required(program, statement)])
    known = program.is_declared("role", role) and may_answer(steps, role)
    question = lower_request(program, dict(steps.scope), statement, steps.rows)
    chat = lower_chat(steps, statement)
    earlier = lower_continued(steps, statement, role)
    script = lower_prompts(steps, statement)
    if not statement.of("prompt") and not statement.of("chat") and script is None:
        help_ = 'write `prompt "…"` in its block'
        lacking = statement.block.span if statement.block is not None else None
        message = f"`{name.text}` asks nothing"
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
        steps.unknown(name)
        return False
    good = _has_no_secrets(steps, statement) and good
    if has_skipped_part(program, statement):  # its reply type, chat and shots are unknown
        steps.unknown(name)
        return False
    shots = lower_shots(steps, statement, question.returns) if question is not None else None
    plain, options, tools = (
        lower_plain(steps, statement),
        lower_likelihood(steps, statement),
        lower_offered_tools(steps, statement),
    )
    loop = lower_state(steps, statement, () if tools is None else tools.declared, may_answer)
    good = question is None or (may_have_logprobs(steps, statement, question.returns) and good)
    lowered = (when, chat, earlier, plain, options, script, loop)
    if not good or not known or False in lowered or question is None or shots is None or tools is None:
        steps.unknown(name)
        return False
    history = chat.expr if isinstance(chat, Typed) else None
    returns = LIKELIHOODS if isinstance(options, Typed) else question.returns
    returns = tool_reply_type(tools.declared) if statement.of("tools") else returns
    ask = Ask(
        name=name.text,
        role=role.text,
        system=question.system.texts if question.system else None,
        shots=shots,
        chat=history,
        continues=earlier if isinstance(earlier, str) else None,
        prompt=question.prompt.texts if question.prompt else None,
        plain=plain if isinstance(plain, Plain) else None,
        options=options.expr if isinstance(options, Typed) else None,
        tools=tools.declared,
        offered=tools.listed.expr if tools.listed is not None else None,
        returns=returns,
        numbers=numbers_of(program, question.returns),
        samples=lower_samples(statement),
        settings=question.settings,
        when=when.expr if isinstance(when, Typed) else None,
        fingerprint="",
    )
    asked_when = when if isinstance(when, Typed) else None
    warn_undefined_request(steps, question, asked_when)
    if isinstance(chat, Typed):
        warn_undefined(steps, chat, REQUEST_UNDEFINED, asked_when)
    if isinstance(options, Typed):
        warn_undefined(steps, options, REQUEST_UNDEFINED, asked_when)
    draws = [shot.drawn for shot in ask.shots]
    exprs = [expr for expr in (ask.chat, ask.options, ask.offered, *draws) if expr is not None]
    if listed is not None:
        note_shown_names(steps, question, listed.of, *exprs)
        if not (done := add_element_asks(steps, statement, ask, listed)):
            steps.unknown(name)
        return done
    if isinstance(script, PromptSequence):
        note_shown_names(steps, question, script.prompts.expr, *exprs)
        if not (done := add_prompt_turns(steps, statement, ask, script)):
            steps.unknown(name)
        return done
    if isinstance(loop, ToolLoop):
        note_shown_names(steps, question, loop.state.expr, *exprs)
        add_loop_turns(steps, statement, ask, loop)
        return True
    steps.lowered.append(ask)
    steps.model_steps[name.text] = name
    _bind(steps, statement, ask)
    note_shown_names(steps, question, *exprs)
    return True


def _has_no_secrets(steps: Steps, statement: Statement) -> bool:
    """Return true if no field of the reply is marked secret; otherwise report it."""
    marked = [inner for form in statement.of("returns") for inner in form.body if is_secret(inner)]
    for inner in marked:
        help_ = "remove it: only the rows of data sets have secrets"
        steps.program.diagnostics.error("E0106", "a reply has no secrets", inner.head, help=help_)
    return not marked


def may_answer(steps: Steps, role: Name) -> bool:
    """Return true if a role can be asked. A panel only grades, which is reported."""
    if steps.kind(role.text) != "panel":
        return True
    message = f"`{role.text}` is a panel: it grades, and answers no questions"
    help_ = "ask a role of its own, or declare this one without `panel`"
    steps.program.diagnostics.error("E0208", message, role.span, help=help_)
    return False


def _bind(steps: Steps, statement: Statement, ask: Ask) -> None:
    """Bind the reply and its parts."""
    name = statement.name()
    span = name.span
    fields = {
        **{part: Binding((ask.name, part), type_, span=span) for part, type_ in REPLY_PARTS.items()},
        "prompt": Binding((ask.name, "prompt"), TextType(), span=span),
    }
    binding: Binding = fields["text"]
    if ask.options is not None:
        fields = {"prompt": fields["prompt"]}
    type_: Type | None = binding.type
    path, shown = binding.path, type_ or TextType()
    if ask.returns is not None and ask.returns.kind == "record":
        fields |= record_fields((ask.name,), ask.returns, span)
        for inner in (inner for returns in statement.of("returns") for inner in returns.body):
            own, type_ = inner.name(), ask.returns.fields[inner.name().text]
            fields[own.text] = replace(fields[own.text], span=own.span)
            steps.program.index.define("field", own.text, own.span, f"ask {ask.name}", type_notation(type_))
        for tool in ask.tools:
            fields[tool.name] = replace(fields[tool.name], span=steps.program.declared["tool"][tool.name].span)
        type_, path = None, (ask.name,)
        shown = RecordType(fields={"text": TextType(), **ask.returns.fields})
    elif ask.returns is not None:
        type_, path, shown = ask.returns, (ask.name, "value"), ask.returns
    if ask.settings.top_logprobs is not None and (read := ask.read_as) is not None and read.kind == "record":
        fields |= record_fields((ask.name,), RecordType(fields=probability_fields(ask.returns)), span)
        shown = RecordType(fields={"text": TextType(), **read.fields})
    several = ask.samples > 1 and ask.options is None and not _builds_on_samples(steps, ask)
    if several and "samples" not in fields:
        listed = SampleList(name=f"{ask.name}.samples", of=ask.name, fingerprint="")
        steps.lowered.append(listed)
        fields["samples"] = Binding((listed.name,), ListType(of=shown), span=span, most=ask.samples)
    steps.scope[ask.name] = Binding(path, type_, fields, span=span)
    steps.define("ask", name, ask.returns or TextType())


def _builds_on_samples(steps: Steps, ask: Ask) -> bool:
    """Return true if an ask depends on one of several samples, so that its own samples are not repetitions of one
    request.
    """
    found = transitive_dependencies(steps.lowered, direct_dependencies(ask))
    return any(step.name in found and getattr(step, "samples", 1) > 1 for step in steps.lowered)
