"""Lowers data sets that are made: written by a role, or row by row from another data set or from values."""

from __future__ import annotations

from tripos_compiler.constructs import Statement
from tripos_compiler.language import expressions_of, is_only_looked_at, paths_in, subexpressions
from tripos_compiler.plan import Ask, Axis, CallCount, Data, Dataset, Derived, Expr, Made, Part, Verify, Walk, digest
from tripos_compiler.resolve import Binding, LoadedDataset, Program, Scope, Typed, has_lost_part
from tripos_compiler.source import Number
from tripos_compiler.statements.analysis import may_be_undefined
from tripos_compiler.statements.datasets.files import lower_key
from tripos_compiler.statements.datasets.generation_scope import MadeStep, Making
from tripos_compiler.statements.datasets.generation_source import (
    bind_axis,
    count_rows,
    is_counted,
    lower_context,
    lower_filter,
    lower_source,
)
from tripos_compiler.statements.datasets.generation_steps import (
    ASKED,
    lower_author,
    lower_conditions,
    lower_derived,
    lower_distinct,
    lower_verify,
    lower_walk,
)
from tripos_compiler.statements.datasets.walks import walk_calls

RETRIES = 3
"""Further attempts at a row that is refused, where nothing is said."""
MOST_RETRIES = 100


def lower_made(
    program: Program,
    statement: Statement,
    name: str,
    scenario: str | None = None,
    axes: list[Axis] | None = None,
    scope: Scope | None = None,
) -> LoadedDataset | None:
    """`dataset NAME [by ROLE] [from SOURCE] [as ALIAS] [where FILTER] { … }`, under the name it has in the plan.

    Inside a scenario `axes` and `scope` are those of its context. None where what its rows hold cannot be told, because
    something was reported.
    """
    making = Making(program, statement, name, [], {})
    if scenario is None:
        _own_name(making)
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
    _something(making)
    count, retries = _count(making), _retries(making)
    _language(making)
    _mentions(making)
    if where is False or key is False or (source is None and statement.find("source") is not None):
        making.sound = False
    condition = where.expr if isinstance(where, Typed) else None
    rows = count_rows(making, source, condition, count) if making.sound else 0
    if making.sound and rows == 0:
        place = statement.find("filter") or statement.find("source")
        help_ = "look at `where`" if statement.find("filter") is not None else "its source is empty"
        making.error("E0603", "this data set has no row", place.span if place else statement.head, help=help_)
    made: Made | None = None
    if making.sound:
        made = Made(
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
            key=key.expr if isinstance(key, Typed) else None,
            rows=rows,
            fingerprint="",
        )
        made = made.model_copy(update={"fingerprint": _print(making, made)})
    return None if making.open else _loaded(making, made)


def _loaded(making: Making, made: Made | None) -> LoadedDataset:
    return LoadedDataset(
        Dataset(name=making.name, source="", fields=tuple(making.fields), files=()),
        (),
        making.spans,
        tuple(making.poisoned),
        sound=making.sound,
        span=making.statement.name().span,
        made=made,
        count=made.rows if made is not None else 0,
        axes=tuple(each.name for each in making.fields if each.type.kind == "choice" and each.type.axis == each.name),
        known=False,
    )


def _own_name(making: Making) -> None:
    context = making.statement.one_of("context")
    name = making.statement.name()
    if context is not None and name.text in making.program.declared.get("axis", {}):
        message = f"`{name.text}` is an axis, and its rows could not be told from it"
        making.error("E0202", message, name.span, help="take another name")


def _given_context(making: Making, axes: list[Axis], scope: Scope) -> None:
    """The context of the scenario; an axis of which something was reported is a field without a type."""
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


def _key(making: Making) -> Typed | bool | None:
    """Return what rows that belong together have in common, an expression of the fields alone."""
    written = making.statement.one_of("key")
    if written is None:
        return None
    if making.open:
        return False
    fields = making.bindings()
    scope = {**fields, making.own: Binding((), None, fields, span=making.statement.name().span)}
    if making.alias is not None and making.alias.text not in scope:
        below = {name: fields[name] for name in making.scope[making.alias.text].fields if name in fields}
        scope[making.alias.text] = Binding((), None, below, span=making.alias.span)
    return lower_key(making.program, written, scope)


def _something(making: Making) -> None:
    """There must be something that says what the rows are."""
    statement = making.statement
    if any(inner.construct in (*ASKED, "walk", "let", "verify") for inner in statement.body):
        return
    if statement.find("source") is None and statement.find_name("role") is None:
        lacking = statement.block.span if statement.block is not None else None
        help_ = f'read them: `dataset {making.own} from "items.jsonl" {{ … }}`, or say who writes them: `by ROLE`'
        message = "nothing says what the rows of this data set are"
        making.error("E0206", message, statement.head, help=help_, lacking=lacking)
        making.open = True


def _asks(making: Making) -> bool:
    """Return true if any role is asked."""
    asked = any(inner.construct in ("walk", "verify") for inner in making.statement.body)
    return asked or making.statement.find_name("role") is not None


def _count(making: Making) -> int:
    written = making.statement.one_of("count")
    value = written.syntax("count") if written is not None else None
    if written is None or not isinstance(value, Number):
        return 1
    if value.value < 1:
        making.error("E0301", "`count` must be 1 or more", value.span, help="write `count 1`, or leave it out")
    elif making.statement.find_name("role") is None and not making.statement.of("walk"):
        help_ = "say who writes them: `by ROLE`, or leave it out"
        message = "nobody writes these rows, so all of a `count` would be the same"
        making.error("E0107", message, written.head, help=help_)
    return max(1, int(value.value))


def _retries(making: Making) -> int:
    written = making.statement.one_of("retries")
    value = written.syntax("count") if written is not None else None
    if written is None or not isinstance(value, Number):
        return RETRIES if _asks(making) else 0
    if not _asks(making) and not has_lost_part(making.program, making.statement):
        message = "nobody is asked for these rows, so another attempt would be the same"
        making.error("E0107", message, written.head, help="leave it out: a row that is refused is left out")
    elif value.value > MOST_RETRIES:
        message = f"{value.value} further attempts at every row are too many"
        making.error("E0802", message, value.span, help=f"write {MOST_RETRIES} at most, and require less")
    return int(value.value)


def _language(making: Making) -> None:
    """Require a language for every request."""
    several = len(making.program.languages) > 1
    if not several or making.open or "language" in making.spans or not _asks(making):
        return
    context = making.statement.one_of("context")
    where = context.head if context is not None else making.statement.head
    message = "the benchmark has several languages, and this data set does not say which"
    making.error("E0401", message, where, help="write `context language`, or make it from rows that say it")


def _mentions(making: Making) -> None:
    """Every axis of its own context should be said to somebody."""
    context = making.statement.one_of("context")
    if context is None or not making.sound or not _asks(making):
        return
    for axis in making.axes:
        languages = making.program.languages
        silent = [each for each in languages if axis.name not in making.mentioned.get(each, set())]
        if axis.name == "language" or not silent:
            continue
        where = "" if len(silent) == len(languages) else f" in {' and '.join(silent)}"
        help_ = f"put `{{{{ {axis.name} }}}}` in a prompt, or take it out of the context"
        making.error("E0401", f"no prompt mentions `{axis.name}`{where}", context.head, help=help_)


def _print(making: Making, made: Made) -> str:
    """Return a hash of what determines the rows: their source, context and steps, and what refuses them."""
    outside = making.prints.outside

    def own(part: Part, *but: str) -> object:
        counting = tuple(getattr(part, name) for name in type(part).model_fields if name not in but)
        return [part.model_dump(mode="json", exclude=set(but)), [outside(expr) for expr in expressions_of(counting)]]

    def step_print(step: MadeStep) -> object:
        match step:
            case Ask():
                return step.fingerprint
            case Walk():
                unused = () if step.below is not None else ("starts",)
                tree = making.program.trees[step.tree]
                return [tree.sha256, step.ask.fingerprint, own(step, "tree", "ask", *unused)]
            case Verify():
                return [step.ask.fingerprint, own(step, "ask")]
            case Derived():
                return own(step)

    values = [
        [axis.name, [[value.name, own(value, "name", "labels", "group")] for value in axis.values]]
        for axis in making.axes
    ]
    return digest(
        [
            making.prints.place,
            own(made, "name", "scenario", "axes", "fields", "steps", "key", "rows", "fingerprint"),
            values,
            [step_print(step) for step in made.steps],
        ]
    )


def generation_calls(program: Program, made: Made) -> list[CallCount]:
    """Return the calls that making the rows takes. A walk is counted as one path from where it begins to a leaf; at the
    least nothing is chosen there, at the most every branch is. Only the first question about a row is certain: whoever
    is asked may decline. Where rows that it is made from may be refused, the row itself before a step, or nobody looks
    at its point, not even that is."""
    looked_at = is_only_looked_at(made.name, tuple(program.scenarios.values()), tuple(program.made.values()))
    certain = not looked_at and not _from_fewer(program, made) and not _fails_before(made)
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


def may_have_fewer_rows(program: Program, made: Made) -> bool:
    """Return true if a run may have fewer rows than the compiler counts: some are refused, or whoever is asked
    declines."""
    refused = bool(made.require or made.unique or made.distinct)
    return refused or bool(made.asks) or _fails_before(made) or _from_fewer(program, made)


def _fails_before(made: Made) -> bool:
    """Return true if a row may be refused before anybody is asked about it."""
    late: set[str] = set()
    taken: list[Expr] = []
    for number, step in enumerate(made.steps):
        if not isinstance(step, Derived):
            late = {name for each in made.steps[number:] for name in _fields_of(each)}
            prompts = step if isinstance(step, Ask) else step.ask
            taken += [expr for part in (prompts.system, prompts.prompt) for expr in expressions_of(part)]
            taken += [step.below] if isinstance(step, Walk) and step.below is not None else []
            break
        taken.append(step.value)
    own = made.name.rpartition(".")[2]
    conditions = [*made.require, *(each.value for each in made.distinct)]
    early = [
        expr for expr in conditions if not any(path[:1] == (own,) and {*path[1:2]} & late for path in paths_in(expr))
    ]
    return bool(early) or any(may_be_undefined(expr) for expr in taken)


def _fields_of(step: Ask | Walk | Derived | Verify) -> tuple[str, ...]:
    """Return the fields of the row that a step makes."""
    if isinstance(step, Ask):
        return tuple(step.returns.fields) if step.returns is not None and step.returns.kind == "record" else ()
    return () if isinstance(step, Verify) else (step.name,)


def _from_fewer(program: Program, made: Made) -> bool:
    """Return true if a run may have fewer rows to make these from than the compiler counts."""
    used = {part.dataset for part in subexpressions(made.source) if isinstance(part, Data)} if made.source else set()
    unknown = made.where is not None and not is_counted(program, made.source, made.where)
    return unknown or any(may_have_fewer_rows(program, program.made[name]) for name in used if name in program.made)
