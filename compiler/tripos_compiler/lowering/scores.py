"""Lowering of what is computed from replies: scores, grades, columns of measures, and comparisons of two models."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import chain

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Label, nearest
from tripos_compiler.language.references import names_in, roles_called, transitive_dependencies
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.types import holds_media, type_notation, without_optional
from tripos_compiler.lowering.folding import map_expression
from tripos_compiler.lowering.steps import (
    JUDGE_INPUT_UNDEFINED,
    NOT_A_SIDE,
    SIDES,
    Steps,
    VerdictBuilder,
    has_scale,
    warn_undefined,
)
from tripos_compiler.plan import (
    Ask,
    AtElement,
    ChoiceType,
    Column,
    Compare,
    Each,
    Expr,
    Grade,
    Ref,
    Retrieve,
    Score,
    Scorer,
    Type,
    Verdict,
    serialized_form,
)
from tripos_compiler.resolve.files import scorer_name
from tripos_compiler.resolve.program import ERROR, Binding, NamedColumn, Program, Scope, expr_of
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import CallExpr, Name, Syntax, free_names
from tripos_compiler.typecheck.calls import LoopSyntax, element_values, is_score, scored_loop, scorer_arguments
from tripos_compiler.typecheck.expressions import Elaborator, check_condition

# Scores


def lower_score(steps: Steps, statement: Statement) -> None:
    """Lower `score NAME = VALUE [when COND]`."""
    value, name = statement.syntax("value"), statement.name()
    if not is_score_name_available(steps, name, statement):
        return
    steps.define("score", name, None, "a score")
    if not statement.has("each") and _judge_of(steps, value) is not None:
        lower_grade(steps, statement, name)
    else:
        _scored_value(steps, statement, name, value)


def _scored_value(steps: Steps, statement: Statement, name: Name, value: Syntax) -> None:
    """Lower a score that is an expression, possibly for each element of a list."""
    when = steps.condition(statement)
    condition = expr_of(when)
    steps.program.index.scopes.append((value.span, dict(steps.scope)))
    judging = VerdictBuilder(steps, when, programs=True)
    elaborator = steps.elaborator(judging)
    loop = scored_loop(elaborator, statement) if statement.has("each") else None
    listed = element_values(elaborator, value, loop) if loop is not None else None
    if loop is not None:
        of_name = steps.elements.setdefault(loop.name.text, [])
        if listed is not None and isinstance(listed.all.expr, Each):
            of_name.append((loop, listed.all.expr.loop))
    typed = elaborator.expression(value) if not statement.has("each") else ERROR if listed is None else listed.one
    if steps.attempt.failed:
        return
    type_ = without_optional(typed.type)
    chosen = type_ if isinstance(type_, ChoiceType) else None
    if typed.type.kind == "optional" and (is_score(type_) or chosen is not None):
        help_ = f"give a default: `default(…, {'0' if chosen is None else chosen.values[0]})`"
        steps.program.diagnostics.error("E0306", "this score may be missing", value.span, help=help_)
        return
    if not is_score(type_) and chosen is None:
        help_ = "a score is a bool, a number or a choice"
        message = f"this is `{type_notation(typed.type)}`, not a score"
        steps.program.diagnostics.error("E0301", message, value.span, help=help_)
        return
    whole = typed if listed is None else listed.all
    judge = None if chosen is None else _judge_in(steps, typed.expr)
    if condition is not None and not steps.compared(condition, whole.expr):
        steps.baselines.append((name, value.span))
    elif not depends_on_compared_role(steps, value.span, condition, whole.expr):
        return
    warn_undefined(steps, whole, "this score may be undefined", when)
    steps.lowered.append(
        Score(
            name=name.text,
            value=whole.expr,
            of="",
            needs=(),
            truth=typed.type.kind == "bool",
            gives=chosen if judge is None or not isinstance(judge.gives, ChoiceType) else judge.gives,
            judge=judge.name if judge is not None and listed is not None else None,
            element=listed.element if listed is not None else None,
            when=condition,
            fingerprint="",
        )
    )


def _judge_in(steps: Steps, expr: Expr) -> Scorer | None:
    """Return the judge of an expression that is only its verdict; None for other expressions."""
    verdict = expr.of if isinstance(expr, AtElement) else expr
    name = verdict.path[0] if isinstance(verdict, Ref) and len(verdict.path) == 1 else None
    judged = next((step for step in steps.lowered if isinstance(step, Verdict) and step.name == name), None)
    return None if judged is None else steps.program.scorers[judged.scorer]


def _judge_of(steps: Steps, value: Syntax) -> Name | None:
    """Return the name of the judge that a value is a plain call of; None for other values."""
    if not isinstance(value, CallExpr) or not isinstance(value.function, Name):
        return None
    name = value.function
    declared = steps.program.declared.get("scorer", {})
    computed = name.text in steps.program.formulas or name.text in steps.program.plugins
    return name if name.text in declared and not computed else None


def _is_misspelt(program: Program, statement: Statement, scorer: str) -> bool:
    """Return true if the value of a score calls a function that does not exist, by nearly the name of a scorer."""
    value = statement.syntax("value") if statement.construct == "score" else None
    if not isinstance(value, CallExpr) or not isinstance(value.function, Name):
        return False
    called = value.function.text
    declared = (program.declared.get(kind, {}) for kind in ("function", "scorer"))
    known = {*FUNCTIONS, *program.formulas, *program.plugins, *chain.from_iterable(declared)}
    return called not in known and nearest(called, [scorer]) is not None


def is_score_name_available(steps: Steps, name: Name, statement: Statement) -> bool:
    """Return true if a score can have this name; otherwise report it.

    No scorer, metric or step may have it, and no other score unless both have a condition.
    """
    own = scorer_name(statement.syntax("value")) if statement.construct == "score" else name
    if statement.has("each"):  # its scores are of elements, not of the judge
        own = None
    for kind in ("scorer", "metric"):
        taken = steps.program.declared.get(kind, {}).get(name.text)
        if kind == "scorer" and name.text not in steps.program.scorers:
            continue  # formulas and functions have no scores of their own name
        if taken is not None and kind == "scorer" and _is_misspelt(steps.program, statement, name.text):
            continue  # there is no such function, which is reported
        if taken is not None and (own is None or own.text != name.text):
            label = Label(taken.span, "declared here")
            message = f"`{name.text}` is a {kind} already, and their means would mix"
            steps.program.diagnostics.error("E0202", message, name.span, label, help="rename the score")
            return False
    if name.text in steps.model_steps:  # dependencies are looked up by step name
        label = Label(steps.model_steps[name.text].span, "declared here")
        message = f"`{name.text}` is a step of this scenario already"
        steps.program.diagnostics.error("E0202", message, name.span, label, help="rename one")
        return False
    earlier, first = steps.scores.setdefault(name.text, (Label(name.span, "first declared here"), statement))
    apart = (first.construct == "compare") is not (statement.construct == "compare")  # no measure accepts both
    if first is not statement and (apart or not (first.find("cond") and statement.find("cond"))):
        message = f"score `{name.text}` is declared twice in this scenario"
        help_ = "rename one" if apart else "rename one, or give each its `when`"
        steps.program.diagnostics.error("E0202", message, name.span, earlier, help=help_)
        return False
    return True


def depends_on_compared_role(steps: Steps, span: Span, *exprs: Expr | None) -> bool:
    """Return true if a score depends on a reply of the compared role; otherwise report it."""
    if steps.compared(*exprs) or _is_verdict_on_row(steps, *exprs):
        return True
    if all(role.kind != "compared" for role in steps.program.roles.values()):
        steps.program.diagnostics.follows()
        return False
    help_ = (
        "score something that depends on a reply of the role under test, such as `answer.text`; what the rows or a "
        "`retrieve` show is a measure of the scenario: `measure NAME = mean(…)`"
    )
    message = "this score depends on no reply of the compared role"
    steps.program.diagnostics.error("E0301", message, span, help=help_)
    return False


def _is_verdict_on_row(steps: Steps, *exprs: Expr | None) -> bool:
    """Return true if the expressions are verdicts on the row alone, and the compared role is asked too."""
    dependencies = transitive_dependencies(steps.lowered, steps.uses(*exprs))
    used = [step for step in steps.lowered if step.name in dependencies]
    asked = any(steps.kind(role) == "compared" for step in steps.lowered for role in roles_called(step))
    return asked and bool(used) and all(isinstance(step, Verdict) for step in used)


def check_baselines(steps: Steps) -> None:
    """Check that every conditional score that depends on no reply of the compared role has a namesake that does."""
    scores = [step for step in steps.lowered if isinstance(step, Score | Grade)]
    about = {step.name for step in scores if steps.compared(*_expressions_of(step))}
    for name, span in steps.baselines:
        if name.text not in about:
            depends_on_compared_role(steps, span)


def _expressions_of(step: Score | Grade) -> list[Expr | None]:
    return [step.when, step.value] if isinstance(step, Score) else [step.when, *step.args.values()]


# Grades


def lower_grade(steps: Steps, statement: Statement, name: Name | None = None) -> None:
    """Lower `score SCORER(…)` or `score NAME = SCORER(…)`."""
    program = steps.program
    call = statement.syntax("value") if name is not None else statement.syntax("call")
    if not isinstance(call, CallExpr) or not isinstance(call.function, Name):
        help_ = "it is written `score NAME = VALUE` or `score SCORER(…)`"
        program.diagnostics.error("E0106", "this is not a scorer applied", call.span, help=help_)
        return
    function = call.function
    if not program.is_declared("scorer", function):
        return
    if function.text in program.formulas or function.text in program.plugins:
        if is_score_name_available(steps, function, statement):
            _scored_value(steps, statement, function, call)
        return
    title = name.text if name is not None else function.text
    when = steps.condition(statement)
    scorer = program.scorers.get(function.text)
    if scorer is None:
        program.diagnostics.follows()
    if scorer is None or steps.attempt.failed:
        return
    program.index.scopes.append((call.span, dict(steps.scope)))
    args = scorer_arguments(steps.elaborator(), call, scorer)
    if args is None:
        return
    if name is None and not is_score_name_available(steps, function, statement):
        return
    metrics = _metrics(steps, scorer, statement, name)
    condition = expr_of(when)
    exprs = {key: typed.expr for key, typed in args.items()}
    of_row = any(names_in(expr) for expr in exprs.values()) and not steps.uses(condition, *exprs.values())
    if name is not None and scorer.gives is not None and scorer.then is None and of_row:
        _scored_value(steps, statement, name, call)  # the verdict is on the row alone
        return
    if metrics is None or not depends_on_compared_role(steps, call.span, condition, *exprs.values()):
        return
    if not has_scale(steps, call.span, scorer, exprs, (), when):
        return
    for argument in args.values():
        warn_undefined(steps, argument, JUDGE_INPUT_UNDEFINED, when)
    weights = program.weights.get(scorer.name, {}).get(steps.scenario, ()) if metrics else ()
    program.index.judged.setdefault((steps.scenario, title), call.span)
    steps.lowered.append(
        Grade(
            name=title,
            scorer=scorer.name,
            args=exprs,
            of="",
            needs=(),
            metrics=metrics,
            weights=weights,
            when=condition,
            judgement="",
            fingerprint="",
        )
    )


def _metrics(steps: Steps, scorer: Scorer, statement: Statement, name: Name | None) -> tuple[str, ...] | None:
    """Return the allocated metrics of a grade; empty if the scorer gives one value, and None if they are wrong."""
    program = steps.program
    if scorer.gives is not None:
        if name is None:
            message = f"`{scorer.name}` gives one value, which needs a name"
            help_ = f"write `score NAME = {scorer.name}(…)`"
            program.diagnostics.error("E0106", message, statement.head, help=help_)
            return None
        return ()
    tables = [table for table in program.of("allocate") if table.name("scorer").text == scorer.name]
    has_row = steps.scenario in program.table_rows.get(scorer.name, {steps.scenario})
    if not (tables and has_row) and any(not _declared(program, table) for table in program.of("allocate")):
        program.diagnostics.follows()  # probably the table whose scorer was reported
        return None
    if not tables:
        message = f"no table allocates the metrics of `{scorer.name}`"
        help_ = f"write `allocate {scorer.name} {{ | | METRIC | … }}`"
        program.diagnostics.error("E0602", message, statement.head, help=help_, unknown=scorer.name)
        return None
    if not has_row:
        message = f"the table of `{scorer.name}` has no row for scenario `{steps.scenario}`"
        table = Label(tables[0].head, "the table")
        program.diagnostics.error("E0602", message, statement.head, table, help="add a row for it")
        return None
    declared = program.allocation.get(scorer.name, {}).get(steps.scenario)
    if declared is None or any(metric not in program.metrics for metric in declared):
        program.diagnostics.follows()
        return None
    return declared


def _declared(program: Program, table: Statement) -> bool:
    return table.name("scorer").text in program.declared.get("scorer", {})


# Columns of measures


def lower_column(steps: Steps, hint: str, syntax: Syntax, where: Syntax | None = None) -> NamedColumn | None:
    """Return the column of a measure's argument, for the replies for which `where` holds; None if it is wrong."""
    attempt = steps.program.diagnostics.attempt()
    steps.program.index.scopes.append((syntax.span, dict(steps.scope)))
    elaborator = steps.elaborator(VerdictBuilder(steps))
    loop = _loop_of_column(steps, syntax, where)
    listed = None if loop is None else element_values(elaborator, syntax, loop)
    if attempt.failed:
        return None
    typed = elaborator.expression(syntax) if listed is None else listed.one
    if typed.is_error or not _is_measurable(steps, typed.type, syntax):
        return None
    whole, when = typed if listed is None else listed.all, None
    if where is not None and listed is None:
        condition = check_condition(steps.program, where, steps.scope)
        if condition.is_error:
            return None
        warn_undefined(steps, condition, "this condition may have no value, and what it decides on is undefined then")
        when = condition.expr
    if not depends_on_reply_or_case(steps, whole.expr):
        depends_on_compared_role(steps, syntax.span, whole.expr)
        return None
    warn_undefined(steps, whole, "what this measure looks at may be undefined")
    columns = [step for step in steps.lowered if isinstance(step, Column)]
    lowered = next((step for step in columns if step.value == whole.expr and step.when == when), None)
    if lowered is None:
        name = hint
        while any(step.name == name for step in columns):
            name = f"{hint}.{len(columns) + 1}"
        element = listed.element if listed is not None else None
        column = Column(name=name, value=whole.expr, type=typed.type, when=when, of="", needs=(), fingerprint="")
        lowered = column.model_copy(update={"element": element})
        steps.lowered.append(lowered)
        steps.spans.setdefault(name, Label(syntax.span, "declared here"))
    return NamedColumn(lowered.name, lowered.type)


def computed_score(steps: Steps, scenario: Statement, name: Syntax) -> Syntax | None:
    """Return the expression of a score that a scenario computes for every reply without a judge; None for other
    scores.
    """
    named = [step for step in steps.lowered if isinstance(name, Name) and getattr(step, "name", None) == name.text]
    match named:
        case [Score(when=None, element=None, value=value) as score]:
            declared = next(
                statement
                for statement in scenario.body
                if statement.construct == "score" and statement.name().text == score.name
            )
            if not any(isinstance(step, Verdict) and step.name in steps.uses(value) for step in steps.lowered):
                steps.program.index.use(name.span, declared.name().span)
                return declared.syntax("value")
    return None


def _loop_of_column(steps: Steps, syntax: Syntax, where: Syntax | None) -> LoopSyntax | None:
    """Return the loop over the elements that a measure's argument refers to; None if it refers to a reply as a whole.

    Reports elements of two lists.
    """
    names = [name for node in (syntax, where) for name in free_names(node)]
    used = {name.text: name for name in names if name.text in steps.elements and name.text not in steps.scope}
    if not used:
        return None
    if not all(steps.elements[text] for text in used):
        steps.program.diagnostics.follows()
        return None
    loops = {serialized_form(loop.of).model_dump_json() for text in used for _, loop in steps.elements[text]}
    if len(loops) > 1:
        name = next(iter(used.values()))
        message = "this looks at elements of two lists, which are no pairs"
        help_ = "give the elements of each list a name of their own, and look at those of one"
        steps.program.diagnostics.error("E0301", message, name.span, help=help_)
        return None
    loop, _ = steps.elements[next(iter(used))][0]
    return replace(loop, where=where)


def depends_on_reply(steps: Steps, column: NamedColumn) -> bool:
    """Return true if a column depends on a reply of the compared role, or on what was retrieved for its prompt."""
    values = [step.value for step in steps.lowered if isinstance(step, Column) and step.name == column.name]
    return any(steps.compared(value) or _reads_retrieved(steps, value) for value in values)


def _reads_retrieved(steps: Steps, expr: Expr) -> bool:
    used = steps.uses(expr)
    return any(isinstance(step, Retrieve) and step.name in used for step in steps.lowered)


def depends_on_reply_or_case(steps: Steps, expr: Expr) -> bool:
    """Return true if a column depends on a reply or on the case, such as the right answer."""
    case = {name for name, binding in steps.scope.items() if binding.path[0] in {steps.alias, name}}
    steps_names = {step.name for step in steps.lowered}
    of_case = bool(names_in(expr) & (case - steps_names)) or _is_verdict_on_row(steps, expr)
    return steps.compared(expr) or _reads_retrieved(steps, expr) or of_case


def _is_measurable(steps: Steps, type_: Type, syntax: Syntax) -> bool:
    if type_.kind not in ("tree", "metrics", "dialogue", "record") and not holds_media(type_):
        return True
    help_ = "measure a number, a choice, a text or a set"
    message = f"`{type_notation(type_)}` cannot be measured"
    steps.program.diagnostics.error("E0301", message, syntax.span, help=help_)
    return False


# Comparisons


def lower_compare(steps: Steps, statement: Statement) -> None:
    """Lower `compare NAME using SCORER(…) [when COND]`."""
    program, name, call = steps.program, statement.name(), statement.syntax("call")
    if not isinstance(call, CallExpr) or not isinstance(call.function, Name):
        help_ = "it is written `compare NAME using SCORER(…)`"
        program.diagnostics.error("E0106", "this is not a scorer applied", call.span, help=help_)
        return
    if not is_score_name_available(steps, name, statement) or not program.is_declared("scorer", call.function):
        return
    for side in SIDES:
        if side in steps.scope:
            declared = steps.scope[side].span
            labels = () if declared is None else (Label(declared, "declared here"),)
            program.diagnostics.error("E0202", NOT_A_SIDE.format(side), statement.head, *labels, help="rename it")
            return
    steps.define("compare", name, None, "a comparison of every two compared models")
    scorer = program.scorers.get(call.function.text)
    scope = _paired(steps)
    elaborator = Elaborator(program, scope)
    condition = statement.find("cond")
    when = None if condition is None else check_condition(program, condition, scope)
    if steps.attempt.failed:
        return
    if scorer is None:
        program.diagnostics.follows()
        if call.function.text in program.formulas or call.function.text in program.plugins:
            help_ = "compare by a judge that `gives choice(first, second, tie)`"
            program.diagnostics.error("E0301", f"`{call.function.text}` is no judge", call.function.span, help=help_)
        return
    if not _compares(program, call.function, scorer):
        return
    program.index.scopes.append((call.span, scope))
    args = scorer_arguments(elaborator, call, scorer)
    if args is None:
        return
    for argument in args.values():
        warn_undefined(steps, argument, JUDGE_INPUT_UNDEFINED, when)
    exprs = {key: typed.expr for key, typed in args.items()}
    sides = _sides(exprs.values())
    if sides != set(SIDES):
        missing = sorted(set(SIDES) - sides)[0]
        help_ = f"name the reply of each: `{missing}.{_compared_ask(steps)}.text`"
        message = f"this compares nothing of the {missing} model"
        program.diagnostics.error("E0303", message, call.span, help=help_)
        return
    program.index.judged.setdefault((steps.scenario, name.text), call.span)
    steps.lowered.append(
        Compare(
            name=name.text,
            scorer=scorer.name,
            args=exprs,
            of="",
            needs=(),
            when=expr_of(when),
            judgement="",
            fingerprint="",
        )
    )


def _compares(program: Program, name: Name, scorer: Scorer) -> bool:
    """Return true if a judge can say which of two replies is better, by two or three names or by names with values.

    Reports other judges.
    """
    gives = scorer.gives
    if scorer.then is not None:
        message = f"`{scorer.name}` is a cascade, which grades replies and compares no two"
        program.diagnostics.error("E0301", message, name.span, help="let one role compare: `by ROLE`")
        return False
    if gives is None or gives.kind != "choice" or (not gives.worth and len(gives.values) > 3):
        help_ = "write `gives choice(first, second, tie)`, or give each name a value that says by how much"
        message = f"`{scorer.name}` does not say which of two is better"
        program.diagnostics.error("E0301", message, name.span, help=help_)
        return False
    if gives.worth and (max(gives.worth) <= 0 or min(gives.worth) >= 0):
        message = f"by the values of `{scorer.name}` one of the two replies is never better"
        help_ = "a value above 0 says that the first is better, one below 0 that the second is, and 0 a tie"
        program.diagnostics.error("E0301", message, name.span, help=help_)
        return False
    return True


def _sides(exprs: Iterable[Expr]) -> set[str]:
    return {name for expr in exprs for name in names_in(expr)} & set(SIDES)


def _compared_ask(steps: Steps) -> str:
    asks = [step.name for step in steps.lowered if isinstance(step, Ask) and steps.kind(step.role) == "compared"]
    return asks[-1] if asks else "answer"


def _paired(steps: Steps) -> Scope:
    """Return the scope of a comparison: everything that depends on a reply of the compared role is a field of `first`
    and `second`.
    """
    whose = {step.name for step in steps.lowered if steps.compared(Ref(path=(step.name,)))}
    wrong = {key: binding for key, binding in steps.scope.items() if binding.is_error}
    bindings = {key: binding for key, binding in steps.scope.items() if key in whose or _depends(steps, binding)}
    shared = {key: binding for key, binding in steps.scope.items() if key not in bindings}
    bindings |= wrong  # it may depend on a reply or not
    sides = {
        side: Binding((side,), None, {key: _binding_of_side(side, binding, whose) for key, binding in bindings.items()})
        for side in SIDES
    }
    return {**shared, **sides}


def _depends(steps: Steps, binding: Binding) -> bool:
    return binding.value is not None and steps.compared(binding.value)


def _binding_of_side(side: str, binding: Binding, whose: Collection[str]) -> Binding:
    fields = {key: _binding_of_side(side, inner, whose) for key, inner in binding.fields.items()}
    value = _of_side(binding.value, side, whose) if binding.value is not None else None
    return Binding((side, *binding.path), binding.type, fields, value, binding.span, binding.may)


def _of_side(expr: Expr, side: str, whose: Collection[str]) -> Expr:
    """Return the expression with the results of the steps in `whose` taken from one side."""

    def moved(part: Expr) -> Expr:
        if isinstance(part, Ref) and part.path[0] in whose:
            return Ref(path=(side, *part.path))
        return part

    return map_expression(expr, moved)
