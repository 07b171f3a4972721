"""Lowering of `ask`: its chat or continued conversation, plain text, likelihoods, tools, shots and options.

A name that `options` defines is replaced by its expression, like the name of a `let`. So the secrecy proof, the counts
of calls and the fingerprints need no rule of their own for such names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.constructs.table import CONSTRUCTS
from tripos_compiler.diagnostics.diagnostic import Label, suggest
from tripos_compiler.language.references import direct_dependencies, paths_in, subexpressions, transitive_dependencies
from tripos_compiler.library.calls import call, name_of
from tripos_compiler.library.functions import lists, multiple_choice, texts
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.types import TEXTS, fits, type_notation, without_optional
from tripos_compiler.lowering.folding import FALSE, fold_arms
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
from tripos_compiler.lowering.requests import Request, count_of, lower_request, lower_samples
from tripos_compiler.lowering.steps import (
    REQUEST_UNDEFINED,
    SamplesAfter,
    Steps,
    note_shown_names,
    warn_undefined,
    warn_undefined_request,
)
from tripos_compiler.plan import (
    LIKELIHOODS,
    REPLY_PARTS,
    Arm,
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
    ERROR,
    ERROR_TYPE,
    Binding,
    LoadedDataset,
    Program,
    Scope,
    Typed,
    expr_of,
    has_skipped_part,
    numbers_of,
    record_fields,
    row_fields,
)
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import Name, Syntax, Text
from tripos_compiler.typecheck.expressions import Elaborator, check_condition
from tripos_compiler.typecheck.templates import CheckedHole, LocalizedTemplate, lower_texts
from tripos_compiler.typecheck.types import is_secret

# Chats and continued conversations

FIRST_ASK_ONLY = ("system", "shots")
"""Constructs that only the first ask of a chat can have, not an ask that continues it."""


def lower_chat(steps: Steps, statement: Statement) -> Typed | None:
    """Return the dialogue of an ask's `chat`; None if it has none."""
    chat = statement.one_of("chat")
    return None if chat is None else steps.check(chat.syntax("value"), DialogueType(), "what is chatted")


def lower_continued(steps: Steps, statement: Statement, role: Name) -> str | None:
    """Return the name of the conversation or ask that an ask continues; None if it continues none, or a wrong one."""
    continuation = statement.one_of("continue")
    if continuation is None:
        return None
    program, name = steps.program, continuation.name("step")
    earlier = next((step for step in steps.lowered if step.name == name.text), None)
    binding = steps.scope.get(name.text)
    if not isinstance(earlier, Ask | Converse) or binding is None:
        if binding is not None and binding.is_error:
            program.diagnostics.follows()
            return None
        if steps.parts_of(name.text):
            message = f"`{name.text}` asks several times, and cannot be continued"
            help_ = f"ask what follows in `{name.text}` itself, or have both roles talk in a `converse`"
            program.diagnostics.error(
                "E0301",
                message,
                name.span,
                Label(steps.model_steps[steps.parts_of(name.text)[0]].span, "the ask"),
                help=help_,
            )
            return None
        help_ = suggest(
            name.text,
            [step.name for step in steps.lowered if isinstance(step, Ask | Converse) and step.name in steps.scope],
            "name an `ask` or a `converse` step that stands before",
        )
        program.diagnostics.error(
            "E0201", f"nothing called `{name.text}` can be continued here", name.span, help=help_, unknown=name.text
        )
        return None
    program.index.use(name.span, binding.span)
    if role.text in program.roles:
        if isinstance(earlier, Ask):
            _check_can_be_continued(steps, statement, earlier)
        _check_speaker(steps, earlier, role, name)
    return earlier.name


def _check_speaker(steps: Steps, earlier: Ask | Converse, role: Name, name: Name) -> None:
    """Check that the role spoke in the step that it continues."""
    if isinstance(earlier, Ask):
        message, help_ = f"`{earlier.name}` is a reply of `{earlier.role}`", f"ask `{earlier.role}`"
        is_speaker = role.text == earlier.role
    else:
        message = f"`{role.text}` took no part in `{earlier.name}`"
        help_ = f"its speakers are {' and '.join(f'`{speaker.role}`' for speaker in earlier.speakers)}"
        is_speaker = role.text in [speaker.role for speaker in earlier.speakers]
    if not is_speaker:
        steps.program.diagnostics.error("E0208", message, name.span, help=help_)


def _check_can_be_continued(steps: Steps, statement: Statement, earlier: Ask) -> None:
    """Check that the ask `statement` can continue an earlier one."""
    program = steps.program
    for construct in FIRST_ASK_ONLY:
        for misplaced in statement.of(construct):
            message = f"an ask that continues `{earlier.name}` takes no `{construct}`"
            help_ = f"write it in `{earlier.name}`: a chat has it once, at its beginning"
            program.diagnostics.error("E0107", message, misplaced.head, help=help_)
    if earlier.plain is not None:
        span = statement.of("continue")[0].name("step").span
        message, help_ = f"`{earlier.name}` is a plain text, which has no turns", "name an ask without `plain`"
        program.diagnostics.error("E0107", message, span, help=help_)
    if earlier.calls_tools:
        span = statement.of("continue")[0].name("step").span
        message = f"`{earlier.name}` may call tools, and a call without its result cannot be gone on from"
        program.diagnostics.error("E0107", message, span, help="name an ask without `tools`")


# Plain texts, likelihoods and token probabilities

SINGLE_VALUE_KINDS = ("bool", "integer", "number", "choice")
"""Kinds of types whose value is one part of the reply, so that the tokens of the value can be found."""


def lower_plain(steps: Steps, ask: Statement) -> Plain | None:
    """Return the separators of the plain text that an ask sends; None if it sends a chat.

    An ask with `likelihood` sends a plain text too.
    """
    statement, likelihood = ask.one_of("plain"), ask.one_of("likelihood")
    if statement is None and likelihood is None:
        if (template := ask.one_of("chat_template")) is not None:
            help_ = "write `plain`; any other ask is sent as a chat, and the model's server puts it into its template"
            message = "`chat_template` is for an ask with `plain` or `likelihood`"
            steps.program.diagnostics.error("E0107", message, template.head, help=help_)
        return None
    slots = {} if statement is None else {"parted": statement.find("separator"), "link": statement.find("link")}
    return Plain(**{name: text.value for name, text in slots.items() if isinstance(text, Text)})


def lower_likelihood(steps: Steps, ask: Statement) -> Typed | None:
    """Return the texts whose likelihood an ask requests; None if it requests a reply."""
    statement = ask.one_of("likelihood")
    if statement is None:
        return None
    value, check = statement.syntax("options"), steps.elaborator()
    options = check.infer(value)
    if options.type.kind in ("text", "choice"):
        return replace(options, expr=Items(values=(options.expr,)), type=TEXTS)
    return check.typed_as(options, value, TEXTS, "what the likelihood is of")


def check_logprobs(steps: Steps, ask: Statement, returns: Type | None) -> None:
    """Check that an ask with `top_logprobs` returns a single value. The setting in an ask with `likelihood` is reported
    elsewhere."""
    if ask.one_of("top_logprobs") is None or ask.one_of("likelihood") is not None:
        return
    if returns is not None and returns is not ERROR_TYPE and returns.kind not in SINGLE_VALUE_KINDS:
        help_ = "ask for one value, such as `returns choice(A, B)`, or for a text"
        message = "an ask with `top_logprobs` returns one value"
        steps.program.diagnostics.error("E0107", message, ask.of("returns")[0].head, help=help_)


# Tools


@dataclass(frozen=True)
class OfferedTools:
    """The tools of an ask: declared tools, or `listed`, an expression for a row's list of tools."""

    declared: tuple[Tool, ...] = ()
    listed: Typed | None = None


def lower_offered_tools(steps: Steps, ask: Statement) -> OfferedTools:
    """Return the tools of an ask, without those in which a mistake was reported."""
    statement = ask.one_of("tools")
    if statement is None:
        return OfferedTools()
    declared: dict[str, Tool] = {}
    listed: Typed | None = None
    for syntax in statement.many("tools"):
        if isinstance(syntax, Name) and syntax.text not in steps.scope:
            if (tool := _declared_tool(steps, syntax)) is not None:
                _check_first_mention(steps, syntax, syntax.text in declared)
                declared[tool.name] = tool
        elif not (typed := _tools_of_row(steps, syntax)).is_error:
            _check_first_mention(steps, syntax, listed is not None)
            listed = typed
    if declared and listed is not None:
        message = "these tools are declared, and those of a column stand beside them"
        help_ = "take the tools of the column, or those that are declared"
        steps.program.diagnostics.error("E0107", message, statement.head, help=help_)
    return OfferedTools(tuple(declared.values()), listed)


def _declared_tool(steps: Steps, name: Name) -> Tool | None:
    """Return the declared tool of a name; None if it is unknown or wrong."""
    if not steps.program.is_declared("tool", name):
        return None
    tool = steps.program.tools.get(name.text)
    if tool is None:
        steps.program.diagnostics.follows()
    return tool


def _tools_of_row(steps: Steps, syntax: Syntax) -> Typed:
    """Return an expression for a row's list of tools, or `ERROR` if the expression has another type or is wrong."""
    typed = steps.check(syntax)
    if typed.is_error:
        return ERROR
    if typed.type != JsonType(form="tools"):
        message = f"these are no tools: `{type_notation(typed.type)}`"
        help_ = "name tools that are declared, or a column of type `tools`: `functions tools`"
        steps.program.diagnostics.error("E0301", message, syntax.span, help=help_)
        return ERROR
    warn_undefined(steps, typed, REQUEST_UNDEFINED)
    return typed


def _check_first_mention(steps: Steps, syntax: Syntax, is_repeated: bool) -> None:
    """Report a repeated tool or a second column of tools."""
    if is_repeated:
        message = "these tools are named twice" if isinstance(syntax, Name) else "only one column can have tools"
        steps.program.diagnostics.error("E0202", message, syntax.span, help="remove one")


# Options: shuffled texts with letters


def lower_shown_options(steps: Steps, statement: Statement) -> None:
    """Lower `options NAME from OPTIONS with key KEY [shuffled by DRAW] [lettered LETTERS] [marked MARK]`."""
    name = statement.name()
    steps.free(name)
    steps.program.index.scopes.append((statement.syntax("options").span, dict(steps.scope)))
    binding = bind_options(steps.program, steps.scope, statement)
    if binding is None or steps.attempt.failed:
        return
    steps.definitions.append(statement)
    steps.define("options", name, None, "options, text, letters, right, letter")
    steps.scope[name.text] = binding


def bind_options(program: Program, scope: Scope, statement: Statement) -> Binding | None:
    """Return the binding of the name of `options`, with a field for each part that a prompt may show; None if it is
    wrong.

    With a draw, `right` is the position of the key after the shuffle.
    """
    attempt = program.diagnostics.attempt()
    check = Elaborator(program, scope)
    typed = check.expression(statement.syntax("options"), TEXTS, "what is chosen from")
    key = check.expression(statement.syntax("key"))
    draw = statement.find("draw")
    seed = check.expression(draw, TextType(), "what shuffles the options") if draw is not None else None
    if not key.is_error and key.type.kind not in ("integer", "text", "choice"):
        message = "the key must be the position of the right option, or its letter"
        help_ = "write its position where the key is the text of the option: `rank(answer, options)`"
        program.diagnostics.error("E0301", message, statement.syntax("key").span, help=help_)
    if attempt.failed:
        return None
    letters, mark = _literal_argument(statement, "letters"), _literal_argument(statement, "mark")
    fault = FUNCTIONS[name_of(texts.lettered)].check({name: literal.value for name, literal in mark.items()})
    if isinstance(fault, str):
        program.diagnostics.error("E0303", fault, statement.syntax("mark").span, help='for example `marked "({}) "`')
        return None
    options = typed.expr if seed is None else call(lists.shuffled, typed.expr, seed.expr)
    shown_letters = call(texts.letters_for, options, **letters)
    position: Expr = key.expr
    if key.type.kind != "integer":
        position = call(multiple_choice.key_place, key.expr, typed.expr, **letters)
    if seed is not None:
        position = call(multiple_choice.shuffled_place, position, typed.expr, seed.expr)
    elif key.type.kind == "integer":
        # Convert the position to its letter and back, so that a position beyond the options is undefined.
        position = call(multiple_choice.key_place, call(lists.nth, shown_letters, position), typed.expr, **letters)
    may = tuple(reason for part in (typed, key, seed) if part is not None for reason in part.may)
    name, span = statement.name().text, statement.name().span
    fields: dict[str, tuple[Type, Expr]] = {
        "options": (TEXTS, options),
        "text": (TextType(), call(texts.lettered, options, **letters, **mark)),
        "letters": (TEXTS, shown_letters),
        "right": (IntegerType(), position),
        "letter": (TextType(), call(lists.nth, shown_letters, position)),
    }
    bindings = {field: Binding((name, field), type_, {}, expr, span, may) for field, (type_, expr) in fields.items()}
    return Binding((name,), None, bindings, span=span)


def _literal_argument(statement: Statement, slot: str) -> dict[str, Literal_]:
    """Return the string in a slot as a named argument; empty if the slot is empty."""
    node = statement.find(slot)
    return {slot: Literal_(value=node.value)} if isinstance(node, Text) else {}


def letter_shown(scope: Scope, options: Sequence[Statement], printed: Sequence[Expr]) -> Binding | None:
    """Return the letter of the right option of the first `options` statement whose options a prompt prints; None if it
    prints those of none."""
    shown = {serialized_form(part).model_dump_json() for expr in printed for part in subexpressions(expr)}
    for statement in options:
        fields = scope[statement.name().text].fields
        values = [value for name in ("text", "options") if (value := fields[name].value) is not None]
        if any(serialized_form(value).model_dump_json() in shown for value in values):
            return fields["letter"]
    return None


# Shots


def lower_shots(steps: Steps, statement: Statement, returns: Type | None) -> tuple[Shots, ...]:
    """Lower every `shots` of an ask, without those in which a mistake was reported."""
    lowered = (_one_shots(steps, statement, shots, returns) for shots in statement.of("shots"))
    return tuple(shots for shots in lowered if shots is not None)


def _one_shots(steps: Steps, ask: Statement, statement: Statement, returns: Type | None) -> Shots | None:
    """Lower one `shots` of an ask; None if it is wrong."""
    attempt = steps.program.diagnostics.attempt()
    program, dataset = steps.program, statement.name("dataset")
    if not program.is_declared("dataset", dataset):
        return None
    loaded = program.top_level_datasets.get(dataset.text)
    if loaded is None or not loaded.sound:
        program.diagnostics.follows()
        return None
    count = count_of(program, statement)
    if attempt.failed:
        return None
    alias = statement.find_name("alias") or dataset
    if alias.text in steps.scope:
        message = f"`{alias.text}` is a name of this scenario already"
        program.diagnostics.error("E0202", message, alias.span, help="give the shots another name: `as x`")
        return None
    scope = {**steps.scope, alias.text: _shot_row_binding(loaded, alias)}
    where = None if (node := statement.find("filter")) is None else check_condition(program, node, scope)
    when = None if (node := statement.find("cond")) is None else check_condition(program, node, steps.scope)
    drawn = None if (draw := statement.find("draw")) is None else steps.check(draw, TextType(), "what draws the shots")
    if attempt.failed:
        return None
    if drawn is not None:
        warn_undefined(steps, drawn, REQUEST_UNDEFINED)
    if statement.block is not None:
        texts = _texts_of_block(steps, statement, scope)
    else:
        texts = _texts_of_ask(steps, ask, statement, loaded, alias, returns)
    if texts is None:
        return None
    condition = all_of(expr_of(when), expr_of(where))  # if `when` is false, no row is a shot
    prompt, reply = texts
    return Shots(
        count=count,
        dataset=loaded.dataset.name,
        alias=alias.text,
        where=condition,
        drawn=expr_of(drawn),
        prompt=prompt.texts,
        reply=reply.texts,
    )


def _shot_row_binding(loaded: LoadedDataset, alias: Name) -> Binding:
    """Return the binding of a row that is a shot."""
    return Binding((alias.text,), None, row_fields(loaded, alias.text), span=alias.span)


def _texts_of_block(
    steps: Steps, shots: Statement, scope: dict[str, Binding]
) -> tuple[LocalizedTemplate, LocalizedTemplate] | None:
    """Return the prompt and the reply in the block of `shots`; None if one is wrong or missing."""
    templates: list[LocalizedTemplate] = []
    attempt = steps.program.diagnostics.attempt()
    for construct, keyword in (("shot_prompt", "prompt"), ("reply", "reply")):
        statements = shots.of(construct)
        if not statements:
            help_ = f'write `{keyword} "…"` in its block'
            lacking = shots.block.span if shots.block is not None else None
            message = f"these shots have no `{keyword}`"
            steps.program.diagnostics.error("E0206", message, shots.head, help=help_, lacking=lacking)
            continue
        templates.append(lower_texts(steps.program, scope, statements, f"the {keyword}"))
    return None if attempt.failed else (templates[0], templates[1])


def _texts_of_ask(
    steps: Steps,
    ask: Statement,
    shots: Statement,
    loaded: LoadedDataset,
    alias: Name,
    returns: Type | None,
) -> tuple[LocalizedTemplate, LocalizedTemplate] | None:
    """Return the texts of `shots` without a block; None if they are unclear.

    The prompt is that of the ask, filled from the shot's row. The reply is the letter of the right option if the prompt
    prints options, otherwise the only field of the row that the prompt does not print and whose type fits.
    """
    program = steps.program
    help_ = 'give them texts of their own: `shots … { prompt "…", reply "…" }`'
    row = _shot_row_binding(loaded, alias)
    scope = _scope_of_shot(steps, loaded, alias, row)
    attempt = program.diagnostics.attempt()
    prompt = lower_texts(program, scope, ask.of("prompt"), "the prompt") if ask.of("prompt") else None
    errors = [item for item in attempt.reported if item.severity == "error"]
    attempt.discard()
    if prompt is None or attempt.failed:
        reason = f": {errors[0].message}" if errors else ""
        message = f"the prompt cannot be filled from a row of `{loaded.dataset.name}`{reason}"
        program.diagnostics.error("E0404", message, shots.head, help=help_)
        return None
    if (letter := letter_shown(scope, steps.options, [hole.typed.expr for hole in prompt.all_holes()])) is not None:
        return prompt, _reply_template(steps, letter, TextType(), shots.head, returns)
    printed = {
        name
        for hole in prompt.all_holes()
        for name in (field.name for field in loaded.dataset.fields)
        if (alias.text, name) in _top_paths(hole.typed)
    }
    type_ = returns if returns is not None else TextType()
    answers = [f for f in loaded.dataset.fields if f.name not in printed and fits(f.type, type_)]
    if len(answers) != 1:
        candidates = ", ".join(f"`{field.name}`" for field in answers) or "none"
        message = f"which field of `{loaded.dataset.name}` is the answer? {candidates} would do"
        program.diagnostics.error("E0404", message, shots.head, help=help_)
        return None
    binding = row.fields[answers[0].name]
    return prompt, _reply_template(steps, binding, answers[0].type, shots.head, returns)


def _scope_of_shot(steps: Steps, loaded: LoadedDataset, alias: Name, row: Binding) -> dict[str, Binding]:
    """Return the scope of the ask's prompt when it is filled from the row of a shot.

    The names of the row, of its axes, and of each `let` and `options` refer to the shot's row. The names of other steps
    keep referring to the results for the current case.
    """
    bindings = {steps.alias: row} if steps.alias is not None else {}
    axes = {field.name: row.fields[field.name] for field in loaded.dataset.fields if _is_axis(field)}
    defined = {definition.name().text for definition in steps.definitions}
    others = {name: binding for name, binding in steps.scope.items() if name not in defined}
    scope = {**others, **{name: axis for name, axis in axes.items() if name in others}, **bindings, alias.text: row}
    attempt = steps.program.diagnostics.attempt()
    for definition in steps.definitions:
        name = definition.name()
        if definition.construct == "options":
            binding = bind_options(steps.program, scope, definition)
        else:
            typed = Elaborator(steps.program, scope).expression(definition.syntax("value"))
            binding = Binding((name.text,), typed.type, {}, typed.expr, name.span, typed.may)
            binding = None if typed.is_error else binding
        if binding is not None:
            scope[name.text] = binding
    attempt.withdraw()  # a definition that is wrong for the shots' rows matters only if the prompt uses its name
    return scope


def _is_axis(field: DataField) -> bool:
    """Return true if a field is the value of an axis of the same name."""
    return field.type.kind == "choice" and field.type.axis == field.name


def _reply_template(steps: Steps, binding: Binding, type_: Type, span: Span, returns: Type | None) -> LocalizedTemplate:
    """Return the template of a shot's reply, which consists of one value. It is JSON if the ask's reply is."""
    expr = binding.value or Ref(path=binding.path)
    hole = Hole(expr=expr, type=type_)
    if returns is not None and without_optional(returns).kind in ("list", "set", "record", "json"):
        hole = Hole(expr=call(texts.json, expr), type=TextType())
    prompts: Texts = {language: Template(parts=(hole,)) for language in steps.program.languages}
    filled = CheckedHole(Typed(hole.expr, hole.type), span)
    return LocalizedTemplate(prompts, dict.fromkeys(steps.program.languages, (filled,)))


def _top_paths(typed: Typed) -> set[tuple[str, ...]]:
    """Return the paths that an expression reads, each up to its second part: a row and a field."""
    return {path[:2] for path in paths_in(typed.expr)}


# The ask itself


EXCLUDING_CONSTRUCTS = tuple(construct for construct in CONSTRUCTS if construct.excludes)
"""Constructs that exclude others in the same block."""
REQUIRED = {construct.name: construct.requires for construct in CONSTRUCTS if construct.requires is not None}


def _check_excluded(program: Program, statement: Statement) -> None:
    """Check that no construct in the block of an ask excludes another one there."""
    excluded: set[str] = set()
    for construct in EXCLUDING_CONSTRUCTS:
        if construct.name in excluded or not statement.of(construct.name):
            continue
        for exclusion in construct.excludes:
            for other in (inner for name in exclusion.constructs for inner in statement.of(name)):
                if other.construct not in excluded:
                    message = f"an ask with `{construct.starts_with}` takes no `{other.construct}`"
                    program.diagnostics.error("E0107", message, other.head, help=exclusion.help)
            excluded |= {name for name in exclusion.constructs if statement.of(name)}


def _check_required(program: Program, statement: Statement) -> None:
    """Check that every construct in the block of an ask has the one that it requires."""
    for inner in statement.body:
        requirement = REQUIRED.get(inner.construct)
        if requirement is not None and not statement.of(requirement.construct):
            program.diagnostics.error(requirement.code, requirement.message, inner.head, help=requirement.help)


def lower_ask(steps: Steps, statement: Statement) -> None:
    """Lower `ask NAME by ROLE [each ELEMENTS] [when COND] { … }`."""
    when = steps.condition(statement)
    if statement.find("elements") is None:
        _ask(steps, statement, when)
        return
    name, outer_scope, elements = statement.name().text, steps.scope, lower_element_asks(steps, statement)
    if elements is None:
        return
    steps.scope = dict(elements.scope)
    try:
        _ask(steps, statement, when, elements)
    finally:
        outer_scope |= {name: steps.scope[name]} if name in steps.scope else {}
        steps.scope = outer_scope


def _ask(steps: Steps, statement: Statement, when: Typed | None, elements: ElementAsks | None = None) -> None:
    """Lower the body of an ask. `elements` is the list of an ask for each element."""
    program, name, role = steps.program, statement.name(), statement.name("role")
    earlier_asks = _namesakes(steps, statement, when)
    _check_excluded(program, statement)
    _check_required(program, statement)
    steps.is_asked(role)
    request_attempt = program.diagnostics.attempt()
    question = lower_request(program, dict(steps.scope), statement, steps.rows)
    is_request_wrong = request_attempt.failed
    chat = lower_chat(steps, statement)
    earlier = lower_continued(steps, statement, role)
    script = lower_prompts(steps, statement)
    if not any(statement.of(construct) for construct in ("prompt", "chat", "prompts", "ends")):
        help_ = 'write `prompt "…"` in its block'
        lacking = statement.block.span if statement.block is not None else None
        message = f"`{name.text}` asks nothing"
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
        return
    _check_secrets(steps, statement)
    if has_skipped_part(program, statement):  # its reply type, chat and shots are unknown
        program.diagnostics.follows()
        return
    shots = () if is_request_wrong else lower_shots(steps, statement, question.returns)
    plain, options = lower_plain(steps, statement), lower_likelihood(steps, statement)
    tools_attempt = program.diagnostics.attempt()
    tools = lower_offered_tools(steps, statement)
    loop = lower_state(steps, statement, tools.declared, are_tools_known=not tools_attempt.failed)
    check_logprobs(steps, statement, question.returns)
    if steps.attempt.failed:
        return
    returns = LIKELIHOODS if options is not None else question.returns
    returns = tool_reply_type(tools.declared) if statement.of("tools") else returns
    ask = Ask(
        name=name.text,
        role=role.text,
        system=question.system.texts if question.system else None,
        shots=shots,
        chat=expr_of(chat),
        continues=earlier,
        prompt=question.prompt.texts if question.prompt else None,
        plain=plain,
        options=expr_of(options),
        tools=tools.declared,
        offered=expr_of(tools.listed),
        returns=returns,
        numbers=numbers_of(program, question.returns),
        samples=lower_samples(statement),
        settings=question.settings,
        when=expr_of(when),
        fingerprint="",
    )
    repeated = elements or script or loop
    ask, follows = _with_samples_after(steps, statement, ask, repeated)
    _check_alike(steps, statement, ask, earlier_asks)
    if steps.attempt.failed:
        return
    warn_undefined_request(steps, question, when)
    for typed in (chat, options):
        if typed is not None:
            warn_undefined(steps, typed, REQUEST_UNDEFINED, when)
    before = {id(step) for step in steps.lowered}
    _add_asks(steps, statement, question, ask, repeated)
    if follows is not None:
        added = (step for step in steps.lowered if isinstance(step, Ask) and id(step) not in before)
        steps.samples_after |= {id(step): follows for step in added}


Repeated = ElementAsks | PromptSequence | ToolLoop
"""What an ask of several replies is repeated for: elements, prompts or turns."""


def _add_asks(steps: Steps, statement: Statement, question: Request, ask: Ask, repeated: Repeated | None) -> None:
    """Add an ask to the steps: one, or one for each element, prompt or turn."""
    draws = [shot.drawn for shot in ask.shots]
    exprs = [expr for expr in (ask.chat, ask.options, ask.offered, *draws, _source(repeated)) if expr is not None]
    note_shown_names(steps, question, *exprs)
    match repeated:
        case ElementAsks():
            add_element_asks(steps, statement, ask, repeated)
        case PromptSequence():
            add_prompt_turns(steps, statement, ask, repeated)
        case ToolLoop():
            add_loop_turns(steps, statement, ask, repeated)
        case None:
            _add_ask(steps, statement, ask)


def _source(repeated: Repeated | None) -> Expr | None:
    """Return the list of elements or prompts, or the state, that an ask of several replies starts from."""
    match repeated:
        case ElementAsks():
            return repeated.of
        case PromptSequence():
            return repeated.prompts.expr
        case ToolLoop():
            return repeated.state.expr
        case None:
            return None


def _add_ask(steps: Steps, statement: Statement, ask: Ask) -> None:
    """Add an ask of a single reply to the steps."""
    name = statement.name()
    steps.lowered.append(ask)
    if steps.model_steps.setdefault(name.text, name) is not name:
        steps.places[id(ask)] = name
    _bind_reply(steps, statement, ask)


# Asks of one name, of which an arm has at most one


def _namesakes(steps: Steps, statement: Statement, when: Typed | None) -> list[Ask]:
    """Return the earlier asks with which an ask shares its name; empty if it has a name of its own.

    Reports a name that it cannot have.
    """
    name = statement.name()
    earlier = steps.asks_named(name.text)
    known = steps.scope.get(name.text)
    if when is not None and name.text in steps.model_steps and earlier and all(ask.when is not None for ask in earlier):
        _check_namesakes(steps, statement, when, earlier)
        return earlier
    if when is not None and name.text in steps.spans and known is not None and known.is_error:
        steps.program.diagnostics.follows()  # an ask of the same name, which was reported
    else:
        steps.named(name)
    return []


def _check_namesakes(steps: Steps, statement: Statement, when: Typed, earlier: Sequence[Ask]) -> None:
    """Report asks of one name of which an arm has several, or which are not all asks of a single reply."""
    program, name = steps.program, statement.name()
    program.index.define("ask", name.text, name.span, f"scenario {steps.scenario}")
    several = next((inner for inner in statement.body if inner.construct in ("prompts", "state")), None)
    if several is not None or statement.find("elements") is not None:
        message = f"`{name.text}` is declared twice in this scenario"
        label = Label(steps.place(earlier[0]).span, "first declared here")
        help_ = "rename one: asks of one reply only may share a name"
        program.diagnostics.error("E0202", message, name.span, label, help=help_)
        return
    for other in earlier:
        both = next(
            (
                chosen
                for chosen in _combinations(steps.arms)
                if _holds(when.expr, chosen) and _holds(other.when, chosen)
            ),
            None,
        )
        if both is None:
            continue
        where = " and ".join(f"{arm} is {value}" for arm, value in both.items()) or "their conditions hold"
        message = f"`{name.text}` is declared twice in this scenario, and both asks can run where {where}"
        label = Label(steps.place(other).span, "first declared here")
        help_ = "rename one, or give them conditions on arms that exclude each other"
        program.diagnostics.error("E0202", message, name.span, label, help=help_)
        return
    last = max(steps.lowered.index(ask) for ask in earlier)
    for step in steps.lowered[last + 1 :]:
        if not isinstance(step, SampleList) and name.text in transitive_dependencies(
            [*earlier, step], direct_dependencies(step)
        ):
            message = f"`{name.text}` is used before this ask of the same name"
            label = Label(steps.place(earlier[-1]).span, "first declared here")
            help_ = "write asks of one name before everything that uses their reply"
            program.diagnostics.error("E0202", message, name.span, label, help=help_)
            return


def _combinations(arms: Sequence[Arm]) -> Iterator[dict[str, str]]:
    """Yield every combination of the values of arms."""
    for values in product(*(arm.values for arm in arms)):
        yield {arm.name: value.name for arm, value in zip(arms, values, strict=True)}


def _holds(condition: Expr | None, chosen: Mapping[str, str]) -> bool:
    """Return true unless a condition is false whenever these arms are chosen."""
    return condition is None or fold_arms(condition, chosen) != FALSE


def _check_alike(steps: Steps, statement: Statement, ask: Ask, earlier: Sequence[Ask]) -> None:
    """Report an ask whose reply is read in another way than that of an earlier one of its name."""

    def reading(other_ask: Ask) -> tuple[object, ...]:
        return other_ask.returns, other_ask.options is None, other_ask.tools, other_ask.settings.top_logprobs

    other = next((other_ask for other_ask in earlier if reading(other_ask) != reading(ask)), None)
    if other is not None:
        name = statement.name()
        message = f"`{name.text}` is read in another way here than in the ask of the same name"
        label = Label(steps.place(other).span, "the other ask")
        help_ = "give both the same `returns`, `likelihood`, `tools` and `top_logprobs`, or rename one"
        steps.program.diagnostics.error("E0301", message, name.span, label, help=help_)


def _with_samples_after(
    steps: Steps, statement: Statement, ask: Ask, repeated: Repeated | None
) -> tuple[Ask, SamplesAfter | None]:
    """Return an ask with its greatest number of samples in any arm, and its `samples N after each STEP`, if any."""
    written = statement.one_of("samples")
    step = written.find_name("step") if written is not None else None
    if step is None:
        return ask, None
    program = steps.program
    built_on = transitive_dependencies(steps.lowered, direct_dependencies(ask) | steps.uses(_source(repeated)))
    parts = steps.parts_of(step.text)
    if not parts:
        known = {name.text for name in steps.model_steps.values()}
        help_ = suggest(step.text, known, "name a step above that this ask builds on")
        program.diagnostics.error("E0201", f"there is no step `{step.text}`", step.span, help=help_, unknown=step.text)
        return ask, None
    declared = steps.model_steps[parts[0]]
    program.index.use(step.span, declared.span)
    if not built_on & set(parts):
        message = f"`{ask.name}` does not build on `{step.text}`"
        help_ = f"`continue {step.text}`, use it in the prompt, or write `samples {ask.samples}`"
        program.diagnostics.error("E0301", message, step.span, Label(declared.span, "the step"), help=help_)
        return ask, None
    counted = transitive_dependencies(steps.lowered, set(parts))
    times = max(getattr(step, "repeat", getattr(step, "samples", 1)) for step in steps.lowered if step.name in counted)
    return ask.model_copy(update={"samples": ask.samples * times}), SamplesAfter(ask.samples, parts[0])


def _check_secrets(steps: Steps, statement: Statement) -> None:
    """Check that no field of the reply is marked as secret."""
    for inner in (inner for returns in statement.of("returns") for inner in returns.body if is_secret(inner)):
        help_ = "remove it: only the rows of data sets have secrets"
        steps.program.diagnostics.error("E0106", "a reply has no secrets", inner.head, help=help_)


def _bind_reply(steps: Steps, statement: Statement, ask: Ask) -> None:
    """Bind the name of an ask to its reply, and the reply's parts as fields.

    If a case has several samples of the reply, also define their list as a step, `NAME.samples`.
    """
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
            field, type_ = inner.name(), ask.returns.fields[inner.name().text]
            fields[field.text] = replace(fields[field.text], span=field.span)
            steps.program.index.define("field", field.text, field.span, f"ask {ask.name}", type_notation(type_))
        for tool in ask.tools:
            fields[tool.name] = replace(fields[tool.name], span=steps.program.declared["tool"][tool.name].span)
        type_, path = None, (ask.name,)
        shown = RecordType(fields={"text": TextType(), **ask.returns.fields})
    elif ask.returns is not None:
        type_, path, shown = ask.returns, (ask.name, "value"), ask.returns
    if ask.settings.top_logprobs is not None and (read := ask.read_as) is not None and read.kind == "record":
        fields |= record_fields((ask.name,), RecordType(fields=probability_fields(ask.returns)), span)
        shown = RecordType(fields={"text": TextType(), **read.fields})
    asks = steps.asks_named(ask.name)
    listed = next((step for step in steps.lowered if isinstance(step, SampleList) and step.of == ask.name), None)
    if listed is not None:  # of an ask of the same name: the list is made after both
        steps.lowered.remove(listed)
    has_samples = max(ask_.samples for ask_ in asks) > 1 and ask.options is None
    if has_samples and not any(_builds_on_samples(steps, ask_) for ask_ in asks) and "samples" not in fields:
        samples = SampleList(name=f"{ask.name}.samples", of=ask.name, fingerprint="")
        steps.lowered.append(samples)
        most = max(ask_.samples for ask_ in asks)
        fields["samples"] = Binding((samples.name,), ListType(of=shown), span=span, most=most)
    steps.scope[ask.name] = Binding(path, type_, fields, span=span)
    steps.define("ask", name, ask.returns or TextType())


def _builds_on_samples(steps: Steps, ask: Ask) -> bool:
    """Return true if an ask depends on a step with several samples, so that its own samples have different requests."""
    dependencies = transitive_dependencies(steps.lowered, direct_dependencies(ask))
    return any(step.name in dependencies and getattr(step, "samples", 1) > 1 for step in steps.lowered)
