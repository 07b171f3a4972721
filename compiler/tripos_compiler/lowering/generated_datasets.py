"""Lowering of generated data sets, written by a role or computed from other rows, and the order in which data sets are
lowered.

The steps of a row are the role that writes it, walks, computed fields, verifiers, conditions and `distinct`.
"""

from __future__ import annotations

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.constructs.table import SETTINGS
from tripos_compiler.language.references import (
    expressions_of,
    is_used_by_lookups_only,
    names_in,
    paths_in,
    subexpressions,
)
from tripos_compiler.library.types import element_type, type_notation, without_optional
from tripos_compiler.lowering.call_counts import may_be_undefined
from tripos_compiler.lowering.datasets import check_key, lower_file, lower_like
from tripos_compiler.lowering.declarations import in_order
from tripos_compiler.lowering.generation_sources import (
    GenerationLowering,
    GenerationStep,
    bind_axis,
    count_rows,
    is_counted,
    lower_context,
    lower_filter,
    lower_source,
    lower_start,
    walk_calls,
)
from tripos_compiler.lowering.requests import Request, count_of, lower_request, returned_record
from tripos_compiler.plan import (
    Ask,
    Axis,
    CallCount,
    Data,
    Dataset,
    Derived,
    Distinct,
    Expr,
    GeneratedDataset,
    ListType,
    Part,
    PathType,
    RecordType,
    Settings,
    SetType,
    TextType,
    Type,
    Verify,
    Walk,
    digest,
)
from tripos_compiler.plan.steps import fields_with
from tripos_compiler.resolve.incremental import LoweredCache, Memory, fork_program, program_additions
from tripos_compiler.resolve.program import (
    KINDS,
    Binding,
    LoadedDataset,
    Program,
    Scope,
    Typed,
    expr_of,
    has_skipped_part,
    no_rows_of,
    numbers_of,
)
from tripos_compiler.source.tree import Name, Number, free_names
from tripos_compiler.typecheck.expressions import check, check_condition
from tripos_compiler.typecheck.templates import free_variables_of
from tripos_compiler.typecheck.types import is_secret

# Near duplicates

ABOVE = 0.8
"""The default overlap from which on two texts are nearly the same."""


def lower_distinct(making: GenerationLowering) -> tuple[Distinct, ...]:
    """Return every `distinct VALUE from OTHERS [above NUMBER]` of a data set, without the wrong ones.

    The run compares the texts and shows them to nobody, so the other texts may be secret.
    """
    distincts = (_lower_distinct(making, statement) for statement in making.statement.of("distinct"))
    return tuple(distinct for distinct in distincts if distinct is not None)


def _lower_distinct(making: GenerationLowering, statement: Statement) -> Distinct | None:
    value, node = statement.syntax("value"), statement.syntax("others")
    attempt = making.program.diagnostics.attempt()
    typed = check(making.program, value, making.row(), TextType(), "what is compared")
    above = _above(making, statement)
    if making.too_early(free_names(node)):
        return None
    # Equal for every row, so no row or axis is in scope: `raw.stem` is a column, even if `raw` is the source.
    among = check(making.program, node, {})
    if attempt.failed:
        return None
    of = element_type(among.type)
    if of is None or without_optional(of).kind != "text":
        help_ = "take a column of a data set: `from raw.stem`"
        making.error("E0301", f"`{type_notation(among.type)}` holds no texts to compare with", node.span, help=help_)
        return None
    return Distinct(value=typed.expr, others=among.expr, above=above)


def _above(making: GenerationLowering, statement: Statement) -> float:
    node = statement.find("number")
    if not isinstance(node, Number):
        return ABOVE
    if not 0 < node.value <= 1:
        help_ = "write a share of what two texts have in common, such as `above 0.8`"
        making.error("E0301", f"{node.value} is not above 0 and at most 1", node.span, help=help_)
    return float(node.value)


# The steps that make a row

ASKED = ("prompt", "system", "returns", *Settings.model_fields)
"""Constructs of a request to the role that writes rows."""
BRANCHES = ListType(of=TextType())
CHOSEN = SetType(of=TextType())
"""The reply at every node of a walk: some of its branches."""


def lower_author(making: GenerationLowering) -> None:
    """Lower the role that writes the rows, if there is one."""
    statement, role = making.statement, making.statement.find_name("role")
    if role is None:
        clause = next((inner for inner in statement.body if inner.construct in ASKED), None)
        if clause is not None:
            message = f"no role is asked, so `{clause.construct}` is said to nobody"
            making.error(
                "E0206", message, clause.head, help=f"say who writes the rows: `dataset {making.row_name} by ROLE …`"
            )
            making.open = True
        return
    making.check_author(role)
    texts = [inner for inner in statement.body if inner.construct in ("prompt", "system", *SETTINGS)]
    making.too_early(name for inner in texts for name in free_variables_of(inner))
    question = _question(making, making.scope, statement)
    record = returned_record(making.program, statement, question.returns)
    if record is None:
        making.open = making.open or statement.one_of("returns") is None
    _add_written_fields(making, statement, record)
    _check_prompted(making, statement, f"`{role.text}` is asked nothing")
    if record is None or making.attempt.failed:
        return
    making.steps.append(_ask(making, "prompt", role, question, record))


def lower_walk(making: GenerationLowering, statement: Statement) -> None:
    """Lower `walk NAME through TREE by ROLE { … }`."""
    attempt = making.program.diagnostics.attempt()
    name, tree, role = statement.name(), statement.name("tree"), statement.name("role")
    making.check_author(role)
    declared = making.program.is_declared("tree", tree)
    scope = making.row()
    if "branches" in scope:
        message = "`branches` is what a walk chooses among, and is something else here"
        making.error("E0202", message, statement.head, help="take another name for the other")
    scope["branches"] = Binding(("branches",), BRANCHES)
    start = lower_start(making, statement, tree) if declared else None
    question = _question(making, scope, statement)
    _check_prompted(making, statement, f"`{role.text}` is asked nothing")
    returns = _walk_returns(making, statement, question)
    making.add("walk", name.text, name.span, ListType(of=PathType()))
    if returns is None or attempt.failed:
        return
    if tree.text not in making.program.trees:
        making.program.diagnostics.follows()
    if not any("branches" in names_in(hole.typed.expr) for hole in question.revealed_holes):
        head = statement.of("prompt")[0].head
        message = "this prompt does not show the branches to choose among"
        making.error("E0612", message, head, help="put `{{ bullets(branches) }}` in it")
    below, starts = start if start is not None else (None, {})
    ask = _ask(making, name.text, role, question, returns)
    making.steps.append(Walk(tree=tree.text, ask=ask, below=below, starts=starts))


def _walk_returns(making: GenerationLowering, statement: Statement, question: Request) -> Type | None:
    """Return the type of a walk's reply, the chosen branches and the other fields of `returns`; None if it is wrong.

    These fields are stored with the reply and are not fields of the row.
    """
    written = statement.one_of("returns")
    if written is None:
        return CHOSEN
    attempt = making.program.diagnostics.attempt()
    record = returned_record(making.program, statement, question.returns)
    name = statement.name()
    for inner in written.body:
        if is_secret(inner):
            help_ = "remove it: only what is written into the rows can be secret"
            making.error("E0106", "the reply of a walk has no secret fields", inner.head, help=help_)
        if inner.name().text == name.text:
            message = f"`{name.text}` is what the walk calls the branches that it chose"
            making.error("E0202", message, inner.name().span, help="take another name")
    if record is None or attempt.failed:
        return None
    return RecordType(fields={name.text: CHOSEN, **record.fields})


def lower_derived(making: GenerationLowering, statement: Statement) -> None:
    """Lower `let NAME = VALUE`: a field computed from the row."""
    name, value = statement.name(), statement.syntax("value")
    typed = check(making.program, value, making.row())
    type_: Type | None = None if typed.is_error else typed.type
    if type_ is not None and type_.kind in ("tree", "metrics"):
        making.error("E0301", f"a row cannot hold `{type_.kind}`", value.span, help="take some value of it")
        type_ = None
    making.add("let", name.text, name.span, type_)
    if not making.attempt.failed:
        making.steps.append(Derived(name=name.text, value=typed.expr))


def lower_verify(making: GenerationLowering, statement: Statement, number: int) -> None:
    """Lower `verify by ROLE { … }`, the `number`th of this data set."""
    role = statement.name("role")
    title = "verify" if number == 1 else f"verify_{number}"
    making.check_author(role)
    scope = making.row()
    question = _question(making, scope, statement)
    record = returned_record(making.program, statement, question.returns)
    for written in statement.of("returns"):
        for inner in written.body:
            name = inner.name()
            if is_secret(inner):
                help_ = "remove it: only what is written into the rows can be secret"
                making.error("E0106", "the reply of a `verify` has no secret fields", inner.head, help=help_)
            if name.text in scope:
                message = f"`{name.text}` is a name of this data set's rows or axes"
                making.error("E0202", message, name.span, help="take another name")
            type_ = record.fields.get(name.text) if record is not None else None
            scope[name.text] = Binding((name.text,), type_, span=name.span)
            making.program.index.define("field", name.text, name.span, f"verify {making.row_name}")
    required = [_condition(making, scope, inner) for inner in statement.of("require")]
    if not required:
        lacking = statement.block.span if statement.block is not None else None
        message = "nothing is required of what is said of a row"
        making.error("E0206", message, statement.head, help="write `require CONDITION` in its block", lacking=lacking)
    _check_prompted(making, statement, f"`{role.text}` is asked nothing")
    if record is None or making.attempt.failed:
        return
    making.steps.append(Verify(ask=_ask(making, title, role, question, record), require=tuple(required)))


def lower_conditions(making: GenerationLowering) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Return the conditions of `require` and the values of `unique`."""
    scope = making.row()
    required = tuple(_condition(making, scope, inner) for inner in making.statement.of("require"))
    single = (check(making.program, inner.syntax("value"), scope) for inner in making.statement.of("unique"))
    return required, tuple(typed.expr for typed in single)


def _condition(making: GenerationLowering, scope: Scope, statement: Statement) -> Expr:
    return check_condition(making.program, statement.syntax("cond"), scope).expr


def _question(making: GenerationLowering, scope: Scope, statement: Statement) -> Request:
    """Lower the request to a role."""
    question = lower_request(making.program, dict(scope), statement)
    making.mention(question)
    return question


def _check_prompted(making: GenerationLowering, statement: Statement, message: str) -> None:
    if not statement.of("prompt"):
        lacking = statement.block.span if statement.block is not None else None
        making.error("E0206", message, statement.head, help='write `prompt "…"` in its block', lacking=lacking)


def _add_written_fields(making: GenerationLowering, statement: Statement, record: RecordType | None) -> None:
    """Add the fields that a role writes."""
    first: dict[str, Name] = {}
    for returns in statement.of("returns"):
        for inner in returns.body:
            name = inner.name()
            if first.setdefault(name.text, name) is not name:
                continue  # it was reported with the record
            type_ = record.fields.get(name.text) if record else None
            making.add("field", name.text, name.span, type_, secret=is_secret(inner))


def _ask(making: GenerationLowering, name: str, role: Name, question: Request, returns: Type) -> Ask:
    ask = Ask(
        name=name,
        role=role.text,
        system=question.system.texts if question.system else None,
        prompt=question.prompt.texts if question.prompt else None,
        returns=returns,
        numbers=numbers_of(making.program, returns),
        settings=question.settings,
        fingerprint="",
    )
    finished = making.prints.of(ask)
    assert isinstance(finished, Ask)
    return finished


# Generated data sets

RETRIES = 3
"""The default number of further attempts at a refused row."""
MOST_RETRIES = 100


def lower_generated(
    program: Program,
    statement: Statement,
    name: str,
    scenario: str | None = None,
    axes: list[Axis] | None = None,
    scope: Scope | None = None,
) -> LoadedDataset | None:
    """Lower `dataset NAME [by ROLE] [from SOURCE] [as ALIAS] [where FILTER] { … }`. `name` is its name in the plan.

    Inside a scenario, `axes` and `scope` are those of its context. Returns None if the fields of its rows are unknown.
    """
    making = GenerationLowering(program, statement, name, [], {})
    if scenario is None:
        _check_name(making)
        lower_context(making)
    else:
        _given_context(making, axes or [], scope or {})
    source = lower_source(making)
    where = lower_filter(making)
    lower_author(making)
    verified = 0
    for inner in statement.body:
        if inner.construct == "walk":
            lower_walk(making, inner)
        elif inner.construct == "let":
            lower_derived(making, inner)
        elif inner.construct == "verify":
            verified += 1
            lower_verify(making, inner, verified)
    require, unique = lower_conditions(making)
    distinct = lower_distinct(making)
    key = _key(making)
    _require_content(making)
    count, retries = _count(making), _retries(making)
    _check_language(making)
    _check_mentioned(making)
    condition = expr_of(where)
    rows = 0 if making.attempt.failed else count_rows(making, source, condition, count)
    if not making.attempt.failed and rows == 0:
        place = statement.find("filter") or statement.find("source")
        parts = subexpressions(source) if source is not None else ()
        fault = no_rows_of(program.top_level_datasets.get(part.dataset) for part in parts if isinstance(part, Data))
        filtered = fault is None and statement.find("filter") is not None
        help_ = "look at `where`" if filtered else "its source is empty"
        span = place.span if place else statement.head
        making.error("E0603", "this data set has no row", span, help=help_, fault=fault)
    dataset: GeneratedDataset | None = None
    if not making.attempt.failed:
        dataset = GeneratedDataset(
            name=name,
            scenario=scenario,
            source=source,
            alias=making.alias.text if making.alias is not None else None,
            where=condition,
            axes=tuple(axis.name for axis in making.axes),
            count=count,
            retries=retries,
            fields=tuple(making.fields),
            steps=tuple(making.steps),
            require=require,
            unique=unique,
            distinct=distinct,
            key=expr_of(key),
            rows=rows,
            fingerprint="",
        )
        dataset = dataset.model_copy(update={"fingerprint": _fingerprint(making, dataset)})
    return None if making.open else _loaded_dataset(making, dataset)


def _loaded_dataset(making: GenerationLowering, made: GeneratedDataset | None) -> LoadedDataset:
    return LoadedDataset(
        Dataset(name=making.name, source="", fields=tuple(making.fields), files=()),
        (),
        making.spans,
        tuple(making.poisoned),
        sound=not making.attempt.failed,
        span=making.statement.name().span,
        generated=made,
        count=made.rows if made is not None else 0,
        axes=tuple(
            field.name for field in making.fields if field.type.kind == "choice" and field.type.axis == field.name
        ),
        rows_known=False,
    )


def _check_name(making: GenerationLowering) -> None:
    context = making.statement.one_of("context")
    name = making.statement.name()
    if context is not None and name.text in making.program.declared.get("axis", {}):
        message = f"`{name.text}` is an axis, and its rows could not be distinguished from it"
        making.error("E0202", message, name.span, help="take another name")


def _given_context(making: GenerationLowering, axes: list[Axis], scope: Scope) -> None:
    """Take the context of the scenario. An axis with a reported mistake becomes a field without a type."""
    name = making.statement.name()
    making.axes = list(axes)
    for axis in axes:
        bind_axis(making, axis, name)
    for other in scope:
        if other not in making.scope:
            making.add("", other, name.span, None)
    making.scope = dict(scope)
    context = making.statement.one_of("context")
    if context is not None:
        help_ = "remove it, or move the data set to the top of the file"
        making.error("E0107", "inside a scenario the scenario's context holds", context.head, help=help_)


def _key(making: GenerationLowering) -> Typed | None:
    """Return the key that groups rows, an expression of their fields; None without one, or for unknown fields."""
    statement = making.statement.one_of("key")
    if statement is None or making.open:
        return None
    fields = making.bindings()
    scope = {**fields, making.row_name: Binding((), None, fields, span=making.statement.name().span)}
    if making.alias is not None and making.alias.text not in scope:
        below = {name: fields[name] for name in making.scope[making.alias.text].fields if name in fields}
        scope[making.alias.text] = Binding((), None, below, span=making.alias.span)
    return check_key(making.program, statement.syntax("value"), scope)


def _require_content(making: GenerationLowering) -> None:
    """Report a data set without anything that determines its rows."""
    statement = making.statement
    if any(inner.construct in (*ASKED, "walk", "let", "verify") for inner in statement.body):
        return
    if statement.find("source") is None and statement.find_name("role") is None:
        lacking = statement.block.span if statement.block is not None else None
        help_ = f'read them: `dataset {making.row_name} from "items.jsonl" {{ … }}`, or say who writes them: `by ROLE`'
        message = "nothing says what the rows of this data set are"
        making.error("E0206", message, statement.head, help=help_, lacking=lacking)
        making.open = True


def _asks_a_role(making: GenerationLowering) -> bool:
    """Return true if a role is asked."""
    asked = any(inner.construct in ("walk", "verify") for inner in making.statement.body)
    return asked or making.statement.find_name("role") is not None


def _count(making: GenerationLowering) -> int:
    statement = making.statement.one_of("count")
    value = statement.syntax("count") if statement is not None else None
    if statement is None or not isinstance(value, Number):
        return 1
    attempt = making.program.diagnostics.attempt()
    count = count_of(making.program, statement)
    if not attempt.failed and making.statement.find_name("role") is None and not making.statement.of("walk"):
        help_ = "say who writes them: `by ROLE`, or leave it out"
        message = "nobody writes these rows, so all of a `count` would be the same"
        making.error("E0107", message, statement.head, help=help_)
    return count


def _retries(making: GenerationLowering) -> int:
    statement = making.statement.one_of("retries")
    value = statement.syntax("count") if statement is not None else None
    if statement is None or not isinstance(value, Number):
        return RETRIES if _asks_a_role(making) else 0
    if not _asks_a_role(making) and not has_skipped_part(making.program, making.statement):
        message = "nobody is asked for these rows, so another attempt would be the same"
        making.error("E0107", message, statement.head, help="leave it out: a row that is refused is left out")
    elif value.value > MOST_RETRIES:
        message = f"{value.value} further attempts at every row are too many"
        making.error("E0802", message, value.span, help=f"write {MOST_RETRIES} at most, and require less")
    return int(value.value)


def _check_language(making: GenerationLowering) -> None:
    """Require a language for every request."""
    several = len(making.program.languages) > 1
    if not several or making.open or "language" in making.spans or not _asks_a_role(making):
        return
    context = making.statement.one_of("context")
    where = context.head if context is not None else making.statement.head
    message = "the benchmark has several languages, and this data set does not say which"
    making.error("E0401", message, where, help="write `context language`, or make it from rows that say it")


def _check_mentioned(making: GenerationLowering) -> None:
    """Report every axis of the data set's own context that no prompt mentions."""
    context = making.statement.one_of("context")
    if context is None or making.attempt.failed or not _asks_a_role(making):
        return
    for axis in making.axes:
        languages = making.program.languages
        silent = [language for language in languages if axis.name not in making.mentioned.get(language, set())]
        if axis.name == "language" or not silent:
            continue
        where = "" if len(silent) == len(languages) else f" in {' and '.join(silent)}"
        help_ = f"put `{{{{ {axis.name} }}}}` in a prompt, or take it out of the context"
        making.error("E0401", f"no prompt mentions `{axis.name}`{where}", context.head, help=help_)


def _fingerprint(making: GenerationLowering, made: GeneratedDataset) -> str:
    """Return the fingerprint of the rows: their source, context, steps and conditions."""
    outside = making.prints.outside

    def own(part: Part) -> object:
        counted = fields_with(type(part), "content", "draw")
        values = tuple(getattr(part, name) for name in counted)
        return [part.model_dump(mode="json", include=set(counted)), [outside(expr) for expr in expressions_of(values)]]

    def step_print(step: GenerationStep) -> object:
        match step:
            case Ask():
                return step.fingerprint
            case Walk():
                starts = step.starts if step.below is not None else {}
                tree = making.program.trees[step.tree]
                return [tree.sha256, step.ask.fingerprint, own(step.model_copy(update={"starts": starts}))]
            case Verify():
                return [step.ask.fingerprint, own(step)]
            case Derived():
                return own(step)

    values = [[axis.name, [[value.name, own(value)] for value in axis.values]] for axis in making.axes]
    return digest(
        [
            making.prints.place,
            own(made),
            values,
            [step_print(step) for step in made.steps],
        ]
    )


# Calls and bounds


def generation_calls(program: Program, made: GeneratedDataset) -> list[CallCount]:
    """Return the calls that generating the rows takes.

    A walk counts as one path from its start to a leaf; at least as its first call, where nothing is chosen, and at most
    as every branch. Only the first request about a row is certain, because models can decline. It is not certain either
    if the source rows or the row itself can be refused before it, or if the data set is only looked up row by row, so
    that not all of it need be generated.
    """
    looked_at = is_used_by_lookups_only(made.name, tuple(program.scenarios.values()), tuple(program.generated.values()))
    certain = not looked_at and not _may_lack_source_rows(program, made) and not _fails_before(made)
    counts: list[CallCount] = []
    for step in made.steps:
        if isinstance(step, Derived):
            continue
        least = calls = most = made.rows
        row: tuple[int, int] | None = None
        if isinstance(step, Walk):
            walk = walk_calls(program, made, step)
            least, calls, most = walk.least, walk.calls, walk.most
            row = (walk.fewest if certain else 0, walk.widest * (1 + made.retries))
        counts.append(
            CallCount(
                scenario=made.name,
                step=step.name if isinstance(step, Ask | Walk) else step.ask.name,
                role=step.role if isinstance(step, Ask) else step.ask.role,
                calls=calls,
                least=least if certain else 0,
                most=most * (1 + made.retries),
                times=(),
                row=row,
            )
        )
        certain = False
    return counts


def may_have_fewer_rows(program: Program, made: GeneratedDataset) -> bool:
    """Return true if a run may have fewer rows than counted, because some are refused or a model declines."""
    refused = bool(made.require or made.unique or made.distinct)
    return refused or bool(made.asks) or _fails_before(made) or _may_lack_source_rows(program, made)


def _fails_before(made: GeneratedDataset) -> bool:
    """Return true if a row can be refused before a model is asked about it."""
    late: set[str] = set()
    exprs: list[Expr] = []
    for number, step in enumerate(made.steps):
        if not isinstance(step, Derived):
            late = {name for step in made.steps[number:] for name in _fields_of(step)}
            prompts = step if isinstance(step, Ask) else step.ask
            exprs += [expr for part in (prompts.system, prompts.prompt) for expr in expressions_of(part)]
            exprs += [step.below] if isinstance(step, Walk) and step.below is not None else []
            break
        exprs.append(step.value)
    own = made.name.rpartition(".")[2]
    conditions = [*made.require, *(distinct.value for distinct in made.distinct)]
    early = [
        expr for expr in conditions if not any(path[:1] == (own,) and {*path[1:2]} & late for path in paths_in(expr))
    ]
    return bool(early) or any(may_be_undefined(expr) for expr in exprs)


def _fields_of(step: Ask | Walk | Derived | Verify) -> tuple[str, ...]:
    """Return the fields of the row that a step adds."""
    if isinstance(step, Ask):
        return tuple(step.returns.fields) if step.returns is not None and step.returns.kind == "record" else ()
    return () if isinstance(step, Verify) else (step.name,)


def _may_lack_source_rows(program: Program, made: GeneratedDataset) -> bool:
    """Return true if a run may have fewer source rows than counted."""
    used = {part.dataset for part in subexpressions(made.source) if isinstance(part, Data)} if made.source else set()
    unknown = made.where is not None and not is_counted(program, made.source, made.where)
    return unknown or any(
        may_have_fewer_rows(program, program.generated[name]) for name in used if name in program.generated
    )


# Order of data sets


def lower_datasets(program: Program, memory: Memory | None = None) -> None:
    """Lower every top-level data set into `program.top_level_datasets`, and into `program.datasets` or
    `program.generated`. Data sets in the cache are not read again.
    """
    cache = memory.datasets if memory is not None else LoweredCache()
    around = program.of("benchmark", "axis", *KINDS["scorer"])  # a key may be a formula
    cache.enter((*around, frozenset(program.diagnostics.skipped_names), program.data))
    _lower_in_order(program, cache)


def lower_scenario_dataset(
    program: Program, statement: Statement, scenario: str, axes: list[Axis], scope: Scope
) -> LoadedDataset | None:
    """Return a data set inside a scenario, called `scenario.name` in the plan.

    `axes` and `scope` are those of the scenario's context. Returns None if its fields are unknown.
    """
    name = f"{scenario}.{statement.name().text}"
    program.index.define("dataset", statement.name().text, statement.name().span, f"scenario {scenario}")
    loaded = _lower_by_construct(program, statement, name, scenario, axes, scope)
    _keep(program, name, loaded)
    return loaded


def _lower_by_construct(
    program: Program,
    statement: Statement,
    name: str,
    scenario: str | None = None,
    axes: list[Axis] | None = None,
    scope: Scope | None = None,
) -> LoadedDataset | None:
    match statement.construct:
        case "dataset":
            return lower_file(program, statement, name)
        case "like":
            return lower_like(program, statement, name)
    return lower_generated(program, statement, name, scenario, axes, scope)


def _keep(program: Program, name: str, loaded: LoadedDataset | None) -> None:
    """Add a data set to the program's tables."""
    if loaded is None:
        return
    if loaded.generated is not None:
        program.generated[name] = loaded.generated
    elif loaded.rows_known:
        program.datasets[name] = loaded.dataset
        program.loaded[name] = loaded


def _lower_in_order(program: Program, kept: LoweredCache) -> None:
    """Lower each data set after those it is made from. Reports circles."""
    statements = program.of(*KINDS["dataset"])
    by_name: dict[str, Statement] = {}
    for statement in statements:
        by_name.setdefault(statement.name().text, statement)
    order, cycles = in_order({name: sorted(_dependencies(statement)) for name, statement in by_name.items()})
    for cycle in cycles:
        message = f"these data sets are made from each other in a circle: {' → '.join([*cycle, cycle[0]])}"
        if len(cycle) == 1:
            message = f"data set `{cycle[0]}` is made from itself"
        span = by_name[cycle[0]].name().span
        program.diagnostics.error("E0203", message, span, help="make one of them from something else")
    circular = {name for cycle in cycles for name in cycle}
    program.unread_datasets -= circular
    for name in order:
        if name not in circular:
            program.unread_datasets.discard(name)
            loaded = _lower_cached(program, kept, by_name[name], name)
            if loaded is not None:
                program.top_level_datasets[name] = loaded
            _keep(program, name, loaded)
    for statement in statements:
        name = statement.name().text
        if by_name[name] is not statement:  # its repeated name was reported; its content is still checked
            _lower_by_construct(program, statement, name)


def _lower_cached(program: Program, kept: LoweredCache, statement: Statement, name: str) -> LoadedDataset | None:
    """Lower a data set. One that is read from a file and depends on no other is cached."""
    if statement.construct != "dataset":
        return _lower_by_construct(program, statement, name)
    lowered = kept.find(statement)
    if lowered is None:
        own = fork_program(program)
        lowered = program_additions(program, own, _lower_by_construct(own, statement, name))
        kept.keep(statement, lowered)
    lowered.add_to(program)
    loaded: LoadedDataset | None = lowered.result
    return loaded


def _dependencies(statement: Statement) -> set[str]:
    """Return the names in a statement that mean data sets."""
    if statement.construct == "like":
        return {statement.name("dataset").text}
    if statement.construct != "made":
        return set()
    source, alias = statement.find("source"), statement.find_name("alias")
    context = statement.one_of("context")
    own = {statement.name().text}
    if alias is not None:
        own.add(alias.text)
    elif isinstance(source, Name):
        own.add(source.text)
    own |= {name.text for name in free_names(context.syntax("axes"))} if context is not None else set()
    inside = {name.text for name in free_variables_of(statement)} | {
        name for inner in statement.body for name in _outer_names(inner)
    }
    return {name.text for name in free_names(source)} | (inside - own)


def _outer_names(statement: Statement) -> set[str]:
    """Return the names in a statement of the block that refer to something outside it."""
    names = {name.text for name in free_variables_of(statement)}
    if statement.construct not in ("walk", "verify"):
        return names
    own = {field.name().text for returns in statement.of("returns") for field in returns.body} | {"branches"}
    return (names | {name for inner in statement.body for name in _outer_names(inner)}) - own
