"""Lowering of the steps of a scenario, common to all its arms: scopes, verdicts of judges, `let` and `retrieve`.

A `let` leaves no step: its name is replaced by its value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from typing import Any

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Label
from tripos_compiler.language.evaluation import NoValue, Unavailable, elements, evaluate
from tripos_compiler.language.references import names_in, roles_called, subexpressions, transitive_dependencies
from tripos_compiler.language.row_scales import scale_arguments, scorer_in_case
from tripos_compiler.library.calls import call, search_index_of
from tripos_compiler.library.function import SearchIndex
from tripos_compiler.library.functions import lists
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.types import fits, type_notation
from tripos_compiler.lowering.folding import map_expression, map_loop
from tripos_compiler.lowering.requests import Request, RowSelection, count_of
from tripos_compiler.plan import (
    Arm,
    Ask,
    AtElement,
    Call,
    Compare,
    Converse,
    Each,
    Expr,
    ListType,
    Loop,
    NumberType,
    Ref,
    Retrieve,
    Scorer,
    Step,
    Type,
    Verdict,
)
from tripos_compiler.resolve.program import ERROR, Binding, Program, Typed, expr_of, record_fields, undefined_in
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import CallExpr, Name, Syntax
from tripos_compiler.typecheck.calls import Judge, LoopSyntax
from tripos_compiler.typecheck.expressions import Elaborator, check, check_condition, rows_binding
from tripos_compiler.typecheck.types import named_choice

# Steps of a scenario

SIDES = ("first", "second")
"""The names of the two models in a comparison."""
NAMED_STEPS = ("ask", "converse", "retrieve", "let", "options")
"""The constructs of a scenario whose names are used in expressions."""
NOT_A_SIDE = "`{}` names a side of the comparisons of this scenario"
JUDGE_INPUT_UNDEFINED = "what the judge is given may have no value, and it is not asked then"
REQUEST_UNDEFINED = "what is asked may have no value, and nothing is asked then"
CONDITION_UNDEFINED = "this condition may have no value, and nothing is asked then"


@dataclass(frozen=True)
class RepeatBound:
    """The list of a repeated ask, and the upper bound of its length. `noun` names its elements in messages."""

    span: Span
    """The place of the bound in the source."""
    listed: Expr
    most: int
    noun: str


@dataclass(frozen=True)
class SamplesAfter:
    """`samples count after each step` of an ask. Of an ask of several turns or elements, `step` is the first."""

    count: int
    step: str


def list_length(listed: Expr, names: Mapping[str, Any]) -> int | None:
    """Return the length of a list in a case; None if it is unknown."""
    try:
        return len(evaluate(listed, names))
    except (Unavailable, LookupError):
        return None


@dataclass
class Steps:
    """The steps of one scenario while they are lowered."""

    program: Program
    scenario: str
    scope: dict[str, Binding]
    alias: str | None = None
    """The name of the rows."""
    where: Expr | None = None
    """The condition that selects the rows."""
    key: Expr | None = None
    """The key that groups the rows."""
    known_names: frozenset[str] = frozenset()
    """The names whose values are known before a run: the axes, and the rows if they are read from a file."""
    lowered: list[Step] = field(default_factory=list)
    mentioned: dict[str, set[str]] = field(default_factory=dict)
    """By language, the names that the texts print."""
    spans: dict[str, Label] = field(default_factory=dict)
    scores: dict[str, tuple[Label, Statement]] = field(default_factory=dict)
    """The first score of each name. Several can share a name if each has a `when`."""
    baselines: list[tuple[Name, Span]] = field(default_factory=list)
    """Scores with a condition that depend on no reply of the compared role, with the places of their values.

    Another score of the same name is measured against them.
    """
    definitions: list[Statement] = field(default_factory=list)
    """Every valid `let` and `options` so far."""
    elements: dict[str, list[tuple[LoopSyntax, Loop]]] = field(default_factory=dict)
    """The loops of element scores, by the element's name; empty if all of them are wrong."""
    repeat_bounds: list[RepeatBound] = field(default_factory=list)
    """The lists of all repeated asks."""
    requests: dict[str, tuple[Expr, list[Expr]]] = field(default_factory=dict)
    """By name, each ask for the elements of a list: the list, and the expressions about an element with its reply."""
    cases: Sequence[Mapping[str, Any]] | None = None
    """The values of the names in every case, if they are known at compile time."""
    model_steps: dict[str, Name] = field(default_factory=dict)
    """The declared names of the steps that call a model; of asks that share a name, that of the first."""
    arms: Sequence[Arm] = ()
    """The arms of the scenario."""
    places: dict[int, Name] = field(default_factory=dict)
    """The declared name of every further ask of a name, by the identity of its lowered step."""
    samples_after: dict[int, SamplesAfter] = field(default_factory=dict)
    """The asks with `samples N after each STEP`, by the identity of the lowered step. Its number of samples is the
    greatest of any arm; that of an arm depends on the step there.
    """

    @property
    def rows(self) -> RowSelection:
        """The rows that the steps ask about."""
        return RowSelection(self.alias, self.where)

    @property
    def options(self) -> list[Statement]:
        """Every valid `options` so far."""
        return [statement for statement in self.definitions if statement.construct == "options"]

    def __post_init__(self) -> None:
        self.attempt = self.program.diagnostics.attempt()
        """The lowering of the current statement."""

    def lower(self, statement: Statement, lower: Callable[[Steps, Statement], None]) -> None:
        """Lower a statement. The name of a wrong one stands for something wrong, so that its uses are not reported."""
        self.attempt = self.program.diagnostics.attempt()
        lower(self, statement)
        name = statement.find_name("name")
        if name is not None and self.attempt.failed and statement.construct in NAMED_STEPS:
            self.scope.setdefault(name.text, Binding((name.text,), span=name.span))

    def named(self, name: Name) -> None:
        """Check that a step that calls a model can have this name."""
        scored = self.scores.get(name.text)
        if scored is not None:
            message = f"`{name.text}` is a score of this scenario already"
            self.program.diagnostics.error("E0202", message, name.span, scored[0], help="rename one")
        self.free(name)

    def place(self, step: Step) -> Name:
        """Return the declared name of a lowered step that calls a model."""
        return self.places.get(id(step), self.model_steps[step.name])

    def parts_of(self, name: str) -> list[str]:
        """Return the names of the lowered steps of a declared step that calls a model: several for an ask of several
        turns or elements."""
        return [part for part, declared in self.model_steps.items() if declared.text == name]

    def asks_named(self, name: str) -> list[Ask]:
        """Return the lowered asks of a name: several only if no arm has more than one of them."""
        return [step for step in self.lowered if isinstance(step, Ask) and step.name == name]

    def free(self, name: Name) -> None:
        """Check that no step, row, axis or arm has this name."""
        earlier = self.spans.setdefault(name.text, Label(name.span, "first declared here"))
        if earlier.span is not name.span:
            message = f"`{name.text}` is declared twice in this scenario"
            self.program.diagnostics.error("E0202", message, name.span, earlier, help="rename one")
        elif name.text in self.scope:
            message = f"`{name.text}` is a name of this scenario's rows, axes or arms"
            self.program.diagnostics.error("E0202", message, name.span, help="take another name")
        elif name.text in SIDES and any(isinstance(step, Compare) for step in self.lowered):
            self.program.diagnostics.error("E0202", NOT_A_SIDE.format(name.text), name.span, help="take another name")

    def elaborator(self, judge: Judge | None = None) -> Elaborator:
        """Return a checker of expressions in the current scope."""
        return Elaborator(self.program, self.scope, judge)

    def check(
        self, syntax: Syntax, wanted: Type | None = None, what: str = "this", judge: Judge | None = None
    ) -> Typed:
        """Check an expression in the current scope."""
        return check(self.program, syntax, self.scope, wanted, what, judge)

    def is_asked(self, role: Name) -> bool:
        """Return true if a role is declared and answers questions; a panel only grades. Otherwise report it."""
        if not self.program.is_declared("role", role):
            return False
        if self.kind(role.text) != "panel":
            return True
        message = f"`{role.text}` is a panel: it grades, and answers no questions"
        help_ = "ask a role of its own, or declare this one without `panel`"
        self.program.diagnostics.error("E0208", message, role.span, help=help_)
        return False

    def condition(self, statement: Statement) -> Typed | None:
        """Return the condition of a step; None without one."""
        condition = statement.find("cond")
        if condition is None:
            return None
        typed = check_condition(self.program, condition, self.scope, VerdictBuilder(self))
        warn_undefined(self, typed, "this condition may have no value, and what it decides on is undefined then")
        return typed

    def let(self, statement: Statement) -> None:
        """Lower `let NAME = VALUE`."""
        name = statement.name()
        self.free(name)
        typed = self.check(statement.syntax("value"))
        if self.attempt.failed:
            return
        self.definitions.append(statement)
        self.define("let", name, typed.type)
        self.program.index.mean(typed.expr, Label(name.span, f"`{name.text}` holds it"))
        self.scope[name.text] = Binding((name.text,), typed.type, {}, typed.expr, name.span, typed.may)

    def define(self, kind: str, name: Name, type_: Type | None, detail: str = "") -> None:
        """Record a declared name in the index."""
        text = detail or (type_notation(type_) if type_ is not None else "")
        self.program.index.define(kind, name.text, name.span, f"scenario {self.scenario}", text)

    def kind(self, role: str) -> str | None:
        """Return the kind of a role; None if it is not declared."""
        declared = self.program.roles.get(role)
        return declared.kind if declared is not None else None

    def uses(self, *exprs: Expr | None) -> set[str]:
        """Return the steps that expressions use directly."""
        names = {name for expr in exprs if expr is not None for name in names_in(expr)}
        return {step.name for step in self.lowered if step.name in names}

    def compared(self, *exprs: Expr | None) -> bool:
        """Return true if expressions depend on a reply of the compared role in any arm."""
        dependencies = transitive_dependencies(self.lowered, self.uses(*exprs))
        return any(
            self.kind(role) == "compared"
            for step in self.lowered
            if step.name in dependencies
            for role in roles_called(step)
        )

    def replied(self, *exprs: Expr) -> bool:
        """Return true if expressions depend on a reply of any model."""
        dependencies = transitive_dependencies(self.lowered, self.uses(*exprs))
        return any(step.name in dependencies for step in self.lowered if isinstance(step, Ask | Converse | Verdict))


# Verdicts of judges in expressions


@dataclass
class VerdictBuilder:
    """Checker of judge calls in expressions. Each different call becomes one `Verdict` step."""

    steps: Steps
    when: Typed | None = None
    loops: tuple[Loop, ...] = ()
    """The loops around the call, from the outermost to the innermost."""
    programs: bool = False
    """Whether programs can be called too, as in the value of a score."""

    def for_elements(self, loop: Loop) -> VerdictBuilder:
        """Return the checker for calls that are made for each element of a list."""
        return replace(self, loops=(*self.loops, loop))

    def __call__(self, call: CallExpr, scorer: Scorer, arguments: dict[str, Typed]) -> Typed:
        """Check a judge call and return its verdict, adding a step for a new call."""
        if scorer.gives is None:
            help_ = f"write `score {scorer.name}(…)`"
            message = f"`{scorer.name}` gives several metrics, which is no value"
            self.steps.program.diagnostics.error("E0301", message, call.span, help=help_)
            return ERROR
        if scorer.then is not None:
            message = f"`{scorer.name}` is a cascade, which grades a reply and is no value in an expression"
            help_ = f"write `score {scorer.name} = {scorer.name}(…)`"
            self.steps.program.diagnostics.error("E0301", message, call.span, help=help_)
            return ERROR
        if not self._needs_no_program(call, scorer, arguments):
            return ERROR
        when = self.when.expr if self.when is not None else None
        args = {key: typed.expr for key, typed in arguments.items()}
        loops = _loops_read(self.loops, args.values())
        if not self._is_bounded(call, loops) or not has_scale(self.steps, call.span, scorer, args, loops, self.when):
            return ERROR
        verdicts = [step for step in self.steps.lowered if isinstance(step, Verdict) and step.scorer == scorer.name]
        aliases = tuple(loop.alias for loop in loops)
        args, loops = _with_earlier_names(verdicts, args, loops)
        same = (step for step in verdicts if (step.args, step.when, step.loops) == (args, when, loops))
        verdict_step = next(same, None)
        if verdict_step is None:
            verdict_step = Verdict(
                name=f"{scorer.name}({len(verdicts) + 1})",
                scorer=scorer.name,
                args=args,
                loops=loops,
                when=when,
                judgement="",
                fingerprint="",
            )
            self.steps.lowered.append(verdict_step)
            self.steps.program.index.judged[(self.steps.scenario, verdict_step.name)] = call.span
        verdict: Expr = Ref(path=(verdict_step.name,))
        if loops:
            verdict = AtElement(of=Ref(path=(verdict_step.name,)), loops=aliases)
        return Typed(verdict, named_choice(scorer.value_type or scorer.gives), undefined_in(arguments.values()))

    def _is_bounded(self, call: CallExpr, loops: Sequence[Loop]) -> bool:
        """Return true if the number of calls has an upper bound before a run; otherwise report it."""
        known = self.steps.known_names
        for loop in loops:
            looked_at = [part for part in subexpressions(loop.of) if part.op in ("data", "tree") or _calls_plugin(part)]
            if names_in(loop.of) <= known and not looked_at:
                known |= {loop.alias}
            elif loop.most is None:
                what = "a list that only a run knows has no bound, and a judge is asked about each of its elements"
                help_ = f"say how many it may have: `each {loop.alias} in … at most 20`"
                self.steps.program.diagnostics.error("E0804", what, call.span, help=help_)
                return False
        return True

    def _needs_no_program(self, call: CallExpr, scorer: Scorer, arguments: Mapping[str, Typed]) -> bool:
        """Return true if neither the inputs of a judge nor its loops need a program; otherwise report it.

        Programs are started for scores only.
        """
        loops = [expr for loop in self.loops for expr in (loop.of, loop.where) if expr is not None]
        plugins = self.steps.program.plugins
        for expr in (*(typed.expr for typed in arguments.values()), *loops):
            for part in subexpressions(expr):
                plugin = plugins.get(part.function) if isinstance(part, Call) else None
                if plugin is not None and plugin.external is not None:
                    message = f"`{scorer.name}` is a judge, and `{plugin.name}` is a program, which no judge is shown"
                    help_ = f"write a `score` of its own: `score {plugin.name}(…)`"
                    self.steps.program.diagnostics.error("E0303", message, call.span, help=help_)
                    return False
        return True


def _with_earlier_names(
    known: Iterable[Verdict], args: dict[str, Expr], loops: tuple[Loop, ...]
) -> tuple[dict[str, Expr], tuple[Loop, ...]]:
    """Return the arguments and loops of a judge call with the element names of an earlier call of the same question, if
    there is one.

    An element has one verdict, whatever its name.
    """
    used = {name for arg in args.values() for name in _names_and_elements(arg)}
    for step in known:
        names = {mine.alias: other.alias for mine, other in zip(loops, step.loops, strict=False)}
        others = {mine: other for mine, other in names.items() if mine != other}
        if not others or len(step.loops) != len(loops) or used & {*others.values()}:
            continue
        renamed = {key: map_expression(arg, partial(_renamed, others)) for key, arg in args.items()}
        mine = [map_loop(loop, partial(_renamed, others)) for loop in loops]
        if renamed == step.args and [loop.of for loop in mine] == [loop.of for loop in step.loops]:
            return renamed, tuple(loop.model_copy(update={"alias": names[loop.alias]}) for loop in mine)
    return args, loops


def _renamed(names: Mapping[str, str], part: Expr) -> Expr:
    match part:
        case Ref(path=(first, *rest)) if first in names:
            return part.model_copy(update={"path": (names[first], *rest)})
        case AtElement(loops=loops):
            return part.model_copy(update={"loops": tuple(names.get(loop, loop) for loop in loops)})
    return part


def _loops_read(loops: Sequence[Loop], args: Iterable[Expr]) -> tuple[Loop, ...]:
    """Return the loops whose elements the judge's arguments depend on.

    The verdict is the same for all elements of the other loops, so they become `any` conditions: an element is judged
    if it is needed for any of theirs.
    """
    names = {name for arg in args for name in _names_and_elements(arg)}
    kept: list[Loop] = []
    for loop in reversed(loops):
        if loop.alias in names:
            kept.insert(0, loop)
            names |= names_in(loop.of)
    read: list[Loop] = []
    for loop in kept:
        where = loop.where
        others = [other for other in loops[: loops.index(loop)] if other not in kept]
        for other in reversed(others):
            if where is not None and other.alias in _names_and_elements(where):
                where = call(lists.some, Each(loop=other, value=where))
        read.append(loop if where is loop.where else loop.model_copy(update={"where": where}))
    return tuple(read)


def _names_and_elements(expr: Expr) -> set[str]:
    """Return the names in an expression, including the elements that it takes verdicts on."""
    at = (part for part in subexpressions(expr) if isinstance(part, AtElement))
    return {*names_in(expr), *(alias for part in at for alias in part.loops)}


def _calls_plugin(part: Expr) -> bool:
    return isinstance(part, Call) and part.function not in FUNCTIONS


# Scales of rows


def has_scale(
    steps: Steps, span: Span, scorer: Scorer, args: Mapping[str, Expr], loops: Sequence[Loop], when: Typed | None
) -> bool:
    """Return true if each case that is known gives the end of a judge's scale; otherwise report it. `loops` are those
    around the call, and `when` its condition.
    """
    known = {*steps.known_names, *([] if steps.alias is None else [steps.alias])}
    for loop in loops:
        known |= {loop.alias} if names_in(loop.of) <= known else set()
    arguments = scale_arguments(scorer, args)
    for param, arg in arguments.items():
        if not names_in(arg) <= known:
            message = f"the scale of `{scorer.name}` ends at `{param}`, which only a run knows here"
            help_ = "give it a field of the row, which is known before a reply is"
            steps.program.diagnostics.error("E0314", message, span, help=help_)
            return False
    for number, row in enumerate((steps.cases or ()) if arguments else (), 1):
        for names in _judged_elements(row, loops):
            if when is not None and not _may_hold(when.expr, names):
                continue
            try:
                scorer_in_case(scorer, args, names)
            except NoValue as error:
                message = f"row {number} of this scenario: {error.reason}"
                help_ = "fix the row, or leave it out with `over … where …`"
                steps.program.diagnostics.error("E0305", message, span, help=help_)
                return False
            except (Unavailable, LookupError):
                continue  # an arm, a reply, or rows that are made
    return True


def _judged_elements(names: Mapping[str, Any], loops: Sequence[Loop]) -> Iterator[Mapping[str, Any]]:
    """Yield the names for each combination of elements that is judged, as far as a case tells."""
    if not loops:
        yield names
        return
    loop, *inner = loops
    with suppress(Unavailable, LookupError):
        for element in elements(loop, names):
            if loop.where is None or _may_hold(loop.where, element):
                yield from _judged_elements(element, inner)


def _may_hold(condition: Expr, names: Mapping[str, Any]) -> bool:
    """Return false only if a condition is false whatever a run finds."""
    try:
        return bool(evaluate(condition, names))
    except NoValue:
        return False
    except (Unavailable, LookupError):
        return True


# Undefined values in requests


def warn_undefined_request(steps: Steps, question: Request, when: Typed | None) -> None:
    """Warn of every hole and condition of a request that can be undefined."""
    for texts in (question.system, question.prompt):
        for hole in texts.all_holes() if texts is not None else ():
            warn_undefined(steps, hole.typed, CONDITION_UNDEFINED if hole.condition else REQUEST_UNDEFINED, when)
    for condition in question.lowered.conditions:
        warn_undefined(steps, condition.typed, CONDITION_UNDEFINED, when)


def warn_undefined(steps: Steps, typed: Typed, what: str, when: Typed | None = None) -> None:
    """Warn of every part of an expression that can be undefined because of a reply, once for each place.

    Parts that the condition `when` guards are left out.
    """
    undefineds = typed.may if when is None else typed.under(when.expr)
    items = steps.program.diagnostics.items
    for may in undefineds:
        if not steps.replied(*may.lack.of):
            continue
        if any(item.code == "W0320" and item.labels[0].span == may.span for item in items):
            continue
        steps.program.diagnostics.warning("W0320", f"{what}: {may.lack.why}", may.span, help=may.lack.guard)


def note_shown_names(steps: Steps, question: Request, *more: Expr) -> None:
    """Record the names that a request prints or depends on in each language, and those in `more` expressions."""
    texts = {name for expr in (*more, *question.lowered.expressions) for name in names_in(expr)}
    for language in steps.program.languages:
        names = {
            name
            for part in (question.system, question.prompt)
            if part is not None
            for hole in part.holes.get(language, ())
            for name in names_in(hole.typed.expr)
        }
        steps.mentioned.setdefault(language, set()).update(names | texts)


# Retrieval


def lower_retrieve(steps: Steps, statement: Statement) -> None:
    """Lower `retrieve NAME from SOURCE [as ALIAS] { where …, top N by VALUE [using ROLE], include … }`."""
    program, name = steps.program, statement.name()
    steps.named(name)
    when = steps.condition(statement)
    source = _source(steps, statement, name)
    top = statement.one_of("top")
    if top is None:
        help_ = "write `top 20 by similarity(…)`"
        lacking = statement.block.span if statement.block is not None else None
        message = f"`{name.text}` does not say how many are kept"
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
    if source is None or top is None:
        return
    typed, alias, row = source
    element = typed.type.of if typed.type.kind in ("list", "set") else typed.type
    scope = {**steps.scope, alias.text: row}
    filtering = statement.one_of("where")
    where = None if filtering is None else check_condition(program, filtering.syntax("filter"), scope)
    by = check(program, top.syntax("value"), scope, NumberType(), "what is ranked by")
    count = count_of(steps.program, top)
    using = _using(steps, top)
    include = [_included(steps, clause, element) for clause in statement.of("include")]
    if not steps.attempt.failed and using is not None and not _can_embed(by.expr, alias.text):
        message = "`using` embeds what `similarity` compares: a text of the row at hand with one of the element"
        help_ = f"write `top {count} by similarity(…, {alias.text}) using {using}`"
        program.diagnostics.error("E0301", message, top.syntax("value").span, help=help_)
    if steps.attempt.failed:
        return
    steps.lowered.append(
        Retrieve(
            name=name.text,
            source=typed.expr,
            alias=alias.text,
            where=expr_of(where),
            top=count,
            by=by.expr,
            using=using,
            include=tuple(included.expr for included in include),
            when=expr_of(when),
            fingerprint="",
        )
    )
    steps.model_steps[name.text] = name
    type_ = ListType(of=element)
    steps.scope[name.text] = Binding((name.text,), type_, span=name.span)
    steps.define("retrieve", name, type_)


def _source(steps: Steps, statement: Statement, name: Name) -> tuple[Typed, Name, Binding] | None:
    """Return the source that is searched, the name of an element, and the binding of that name; None if it is wrong."""
    program, node = steps.program, statement.syntax("source")
    alias = statement.find_name("alias")
    declared = program.declared.get("dataset", {})
    is_let = isinstance(node, Name) and node.text in steps.scope and node.text not in declared
    if isinstance(node, Name) and not is_let:
        if not program.is_declared("dataset", node):
            return None
        loaded = program.top_level_datasets.get(node.text)
        if loaded is None or not loaded.sound:
            program.diagnostics.follows()
            return None
        alias = alias or node
    elif alias is None:
        help_ = f"write `retrieve {name.text} from … as x`"
        program.diagnostics.error("E0106", "the elements of the source need a name", node.span, help=help_)
        return None
    typed = (None if is_let else _rows(steps, node)) or steps.elaborator().expression(node)
    if typed.is_error:
        return None
    if typed.type.kind not in ("list", "set"):
        help_ = "name a data set, or a list such as `distinct(rows.concepts)`"
        message = f"`{type_notation(typed.type)}` holds nothing to look through"
        program.diagnostics.error("E0301", message, node.span, help=help_)
        return None
    binding = steps.scope.get(alias.text)
    if binding is not None:
        message = f"`{alias.text}` is a name of this scenario already"
        program.diagnostics.error("E0202", message, alias.span, help="give it another name: `as x`")
        return None
    fields = record_fields((alias.text,), typed.type.of, alias.span)
    if isinstance(node, Name) and not is_let:
        rows = program.top_level_datasets[node.text]
        fields = {
            data_field.name: replace(
                fields[data_field.name],
                secret=data_field.secret,
                span=rows.spans.get(data_field.name, fields[data_field.name].span),
            )
            for data_field in rows.dataset.fields
        }
    return typed, alias, Binding((alias.text,), typed.type.of, fields, span=alias.span)


def _rows(steps: Steps, written: Syntax) -> Typed | None:
    """Return all rows of the data set of that name, even if the current row has the same name."""
    if not isinstance(written, Name):
        return None
    binding = rows_binding(steps.program.top_level_datasets[written.text])
    if binding.type is None or binding.value is None:
        return None
    return Typed(binding.value, binding.type)


def _using(steps: Steps, top: Statement) -> str | None:
    """Return the role that embeds; None without one."""
    role = top.find_name("role")
    if role is None:
        return None
    if steps.program.is_declared("role", role) and steps.kind(role.text) != "single":
        message = f"`{role.text}` is filled by several models, and one must embed"
        help_ = "declare a role of its own: `role encoder`"
        steps.program.diagnostics.error("E0208", message, role.span, help=help_)
    return role.text


def _can_embed(by: Expr, alias: str) -> bool:
    """Return true if there is a function that vectors can replace, and each compares a text of the element alone with
    one without it.

    Only then can both texts be embedded separately.
    """
    calls = [
        part for part in subexpressions(by) if isinstance(part, Call) and search_index_of(part) is SearchIndex.GRAMS
    ]
    sides = [[names_in(argument) for argument in (*call.args, *call.named.values())] for call in calls]
    return bool(calls) and all(
        sum(names == {alias} for names in side) == 1 and sum(alias in names for names in side) == 1 for side in sides
    )


def _included(steps: Steps, statement: Statement, element: Type) -> Typed:
    value = statement.syntax("value")
    typed = steps.check(value)
    inner = typed.type.of if typed.type.kind in ("list", "set") else typed.type
    if not typed.is_error and not fits(inner, element):
        message = f"`{type_notation(typed.type)}` cannot be put among `{type_notation(element)}`"
        steps.program.diagnostics.error("E0301", message, value.span, help="include what the source holds")
    return typed
