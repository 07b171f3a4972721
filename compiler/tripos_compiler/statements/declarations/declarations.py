"""Lowers the small declarations: benchmark, roles, axes, dimensions and metrics."""

from __future__ import annotations

import re

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.plan import (
    Arm,
    ArmValue,
    Axis,
    AxisValue,
    Benchmark,
    ChoiceType,
    Expr,
    Level,
    Metric,
    Role,
)
from tripos_compiler.resolve import Binding, Program, forget_diagnostics, has_lost_part, has_lost_values, locale_of
from tripos_compiler.resolve.plugins import is_known_early
from tripos_compiler.source import Name, Number, RangeExpr, Syntax
from tripos_compiler.statements.declarations.titles import plain_title
from tripos_compiler.typing import Elaborator, axis_type

RESERVED_BENCHMARKS = frozenset({"main", "temp", "system", "information_schema", "pg_catalog"})
"""The results of a benchmark are a schema of its name in the database, which has these already."""

RESERVED_AXES = frozenset(
    """
    attempts choice cluster_id comparison_id conversation_id conversation_number cost_usd created_at dataset df
    dimension drawn_of element_place element_value ended ended_by enlarged epoch error evaluator fields fingerprint
    finish_reason first_model first_sample_id given high identity item_id items judged_by judgement_id latency_s
    least left_out logprobs low m mean messages metric model model_served models n number pair parsed parts pull
    reason rejections repeat reply reply_thinking role round run_id sample_id sample_number scenario score_id scorer
    second_model second_sample_id shown_run slot_id source standard_error status step text tokens_in tokens_out
    tokens_reasoning total total_tokens transcript turn_id turns value written_by
    """.split()  # noqa: SIM905 - sixty lines of one word each say no more
)
"""Axes are columns beside these, in views and in the SQL of measures."""


LANGUAGES = {"en": {"en": "English", "zh": "英语"}, "zh": {"en": "Chinese", "zh": "中文"}}
"""How languages are called in each other; any other is called by its code."""

VERSION = re.compile(r"\d+\.\d+\.\d+([-+][\w.]+)?")


def lower_benchmark(program: Program) -> None:
    """The `benchmark` statement: names, languages and what is cited."""
    found = program.of("benchmark")
    if not found:
        return
    statement = found[0]
    version = statement.text("version")
    if not VERSION.fullmatch(version.value):
        message = f'"{version.value}" is not a version'
        program.diagnostics.error("E0106", message, version.span, help='write three numbers: "1.0.0"')
    name = statement.name()
    if name.text.casefold() in RESERVED_BENCHMARKS:
        message = f"no benchmark can be called `{name.text}`"
        help_ = "the database that answers questions about it uses that name; take another"
        program.diagnostics.error("E0207", message, name.span, help=help_)
    program.numbers = locale_of(program, statement)
    languages = statement.one_of("languages")
    if languages is None:
        message = "this benchmark names no language"
        help_, block = "write `languages en` in its block", statement.block
        lacking = block.span if block is not None else None
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
        return
    written = [element for element in languages.many("languages") if isinstance(element, Name)]
    names = [element.text for element in written]
    for index, element in enumerate(written):
        if element.text in names[:index]:
            message = f"`{element.text}` is named twice"
            program.diagnostics.error("E0202", message, element.span, help="remove one")
    title, license_ = statement.one_of("title"), statement.one_of("license")
    program.benchmark = Benchmark(
        name=statement.name().text,
        version=version.value,
        title=plain_title(title, names) if title else statement.name().text,
        license=license_.text("string").value if license_ else None,
        cites=tuple(cite.text("string").value for cite in statement.of("cites")),
        languages=tuple(dict.fromkeys(names)),
    )


def lower_roles(program: Program) -> None:
    """Every `role`; one at least must be compared."""
    for statement in program.of("role"):
        name = statement.name().text
        kind = "compared" if statement.has("compared") else "panel" if statement.has("panel") else "single"
        default = _default_role(program, statement)
        role = Role(name=name, kind=kind, default=default, with_people=_with_people(program, statement))
        program.roles.setdefault(name, role)
    benchmarks = program.of("benchmark")
    compared = [statement for statement in program.of("role") if statement.has("compared")]
    if benchmarks and not compared:
        message = "no role is compared"
        help_ = "mark the role under test: `role candidate compared`"
        program.diagnostics.error("E0206", message, benchmarks[0].head, help=help_, lacking=program.lost)
    for extra in compared[1:]:
        if extra.name().text == compared[0].name().text:
            continue  # reported as declared twice
        label = Label(compared[0].head, "the first")
        message = "a second role is compared"
        program.diagnostics.error(
            "E0202", message, extra.head, label, help="compare one role, and give the rest models"
        )


def _with_people(program: Program, statement: Statement) -> bool:
    """Return true if the grades of people count with those of the models in a role; reports one that gives none."""
    if not statement.has("people"):
        return False
    if statement.has("compared"):
        message = f"`{statement.name().text}` is compared, and nobody grades in it"
        help_ = "write `with people` at the role that grades"
        program.diagnostics.error("E0208", message, statement.head, help=help_)
        return False
    return True


def _default_role(program: Program, statement: Statement) -> str | None:
    """Return the role whose models fill a role that is given none; reports one that cannot."""
    written = statement.find_name("role")
    if written is None or not program.is_declared("role", written):
        return None
    other = next(each for each in program.of("role") if each.name().text == written.text)
    name = statement.name().text
    message = help_ = ""
    if statement.has("compared"):
        message = f"`{name}` is compared, and takes no model from another role"
        help_ = "leave out `defaults to`"
    elif other.has("compared"):
        message = f"`{written.text}` is compared, so its models would take the part of `{name}` for each other"
        help_ = "name a role that is not compared"
    elif other.find_name("role") is not None:
        message = f"`{written.text}` takes its models from another role itself"
        help_ = f"name that role, or `{other.name().text}` without a default"
    elif other.has("panel") and not statement.has("panel"):
        message = f"`{written.text}` is a panel, and `{name}` takes one model"
        help_ = f"declare `role {name} panel defaults to {written.text}`"
    if not message:
        return written.text
    program.diagnostics.error("E0208", message, written.span, help=help_)
    return None


def lower_axes(program: Program) -> None:
    """Every `axis`, with its groups and guards."""
    bare: dict[str, Binding] = {}
    for statement in program.of("axis"):
        values = tuple(value.name().text for value in _value_statements(statement))
        if values:
            name = statement.name().text
            bare[name] = Binding((name,), ChoiceType(values=values, axis=name), span=statement.name().span)
    if program.languages:
        program.axes["language"] = _language_axis(program.languages)
        bare["language"] = Binding(("language",), axis_type(program.axes["language"]))
    for statement in program.of("axis"):
        written = statement.name()
        if written.text == "language":
            message = "`language` is the axis of the benchmark's languages already"
            program.diagnostics.error("E0202", message, written.span, help="take another name")
            continue
        if _is_reserved(program, "axis", written):
            continue
        axis = _axis(program, statement, bare)
        if axis is not None:
            program.axes.setdefault(written.text, axis)


def _is_reserved(program: Program, noun: str, name: Name) -> bool:
    """Return true for a name that no axis and no arm can have, and report it."""
    if name.text.casefold() not in RESERVED_AXES:
        return False
    help_ = f"{'axes' if noun == 'axis' else 'arms'} become columns beside that one in SQL; take another name"
    program.diagnostics.error("E0207", f"no {noun} can be called `{name.text}`", name.span, help=help_)
    return True


def lower_arms(program: Program) -> None:
    """Every `arm`, with its values."""
    for statement in program.of("arm"):
        name = statement.name()
        if name.text in program.declared.get("axis", {}) or name.text == "language":
            message = f"`{name.text}` is an axis already"
            program.diagnostics.error("E0202", message, name.span, help="take another name for the arm")
            continue
        if _is_reserved(program, "arm", name):
            continue
        values: dict[str, ArmValue] = {}
        good = True
        for value in statement.of("value"):
            own = value.name()
            program.index.define("value", own.text, own.span, f"arm {name.text}")
            if own.text in values:
                message = f"`{own.text}` is a value of `{name.text}` twice"
                program.diagnostics.error("E0202", message, own.span, help="rename one")
                good = False
                continue
            labels = _labels(program, value)
            program.value_spans.setdefault((name.text, own.text), own.span)
            good = good and labels is not None
            values[own.text] = ArmValue(name=own.text, labels=labels or {})
        if len(values) < 2 and good:
            help_ = f"write `arm {name.text} {{ without, with }}`"
            lacking = statement.block.span if statement.block is not None else None
            message = f"arm `{name.text}` compares nothing: it needs two values"
            program.diagnostics.error("E0603", message, statement.head, help=help_, lacking=lacking)
        elif good:
            program.arms.setdefault(name.text, Arm(name=name.text, values=tuple(values.values())))


def _language_axis(languages: tuple[str, ...]) -> Axis:
    return Axis(
        name="language",
        values=tuple(
            AxisValue(name=code, labels={shown: LANGUAGES.get(code, {}).get(shown, code) for shown in languages})
            for code in languages
        ),
    )


def _value_statements(axis: Statement) -> list[Statement]:
    return [value for inner in axis.body for value in ([inner] if inner.construct == "value" else inner.of("value"))]


def _axis(program: Program, statement: Statement, scope: dict[str, Binding]) -> Axis | None:
    values: list[AxisValue] = []
    seen: dict[str, Statement] = {}
    good = True
    for inner in statement.body:
        guard: Expr | None = None
        group: str | None = None
        members = [inner]
        if inner.construct == "group":
            group, members = inner.name().text, inner.of("value")
            program.index.define("group", group, inner.name().span, f"axis {statement.name().text}")
            condition = inner.find("cond")
            if condition is not None:
                others = {name: binding for name, binding in scope.items() if name != statement.name().text}
                program.index.scopes.append((condition.span, others))
                typed = Elaborator(program, others).condition(condition)
                good = good and typed is not None
                guard = typed.expr if typed is not None else None
                good = good and (guard is None or is_known_early(program, guard, condition.span))
        for value in members:
            name = value.name()
            earlier = seen.setdefault(name.text, value)
            if earlier is not value:
                label = Label(earlier.head, "first written here")
                message = f"`{name.text}` is a value of `{statement.name().text}` twice"
                program.diagnostics.error("E0202", message, name.span, label, help="rename one")
                good = False
                continue
            program.value_spans.setdefault((statement.name().text, name.text), name.span)
            labels = _labels(program, value)
            program.index.define("value", name.text, name.span, f"axis {statement.name().text}", _shown(labels))
            good = good and labels is not None
            values.append(AxisValue(name=name.text, labels=labels or {}, group=group, guard=guard))
    if not values:
        message = f"axis `{statement.name().text}` has no values"
        if not has_lost_values(program, statement.name().text):
            program.diagnostics.error("E0603", message, statement.head, help="write one value a line in its block")
        return None
    return Axis(name=statement.name().text, values=tuple(values)) if good else None


def _shown(labels: dict[str, str] | None) -> str:
    return ", ".join(f'{language} "{text}"' for language, text in (labels or {}).items())


def _labels(program: Program, value: Statement) -> dict[str, str] | None:
    if not value.labels():
        shown = value.name().text.replace("_", " ")
        return dict.fromkeys(program.languages, shown)
    return program.labels(value, f"`{value.name().text}`")


def lower_metrics(program: Program) -> None:
    """Every `metric` of every `dimension`."""
    names: dict[str, Name] = {}
    for dimension in program.of("dimension"):
        for statement in dimension.of("metric"):
            name = statement.name()
            earlier = names.setdefault(name.text, name)
            if earlier is not name:
                label = Label(earlier.span, "first declared here")
                message = f"metric `{name.text}` is declared twice"
                program.diagnostics.error("E0202", message, name.span, label, help="rename one")
                continue
            metric = _metric(program, dimension.name().text, statement)
            detail = _range(metric) if metric is not None else ""
            program.index.define("metric", name.text, name.span, f"dimension {dimension.name().text}", detail)
            program.value_spans.setdefault(("metric", name.text), name.span)
            if metric is not None:
                program.metrics[name.text] = metric
    program.declared["metric"] = names


def _metric(program: Program, dimension: str, statement: Statement) -> Metric | None:
    name = statement.name().text
    title = program.labels(statement, f"metric `{name}`")
    scale, asks = statement.one_of("scale"), statement.of("asks")
    if scale is None or not asks:
        what = "scale" if scale is None else "question"
        help_ = "write `scale 1..10`" if scale is None else 'write `asks "…"`'
        lacking = statement.block.span if statement.block is not None else None
        message = f"metric `{name}` has no {what}"
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
        return None
    bounds = _bounds(program, scale.syntax("range"))
    labels = [label for ask in asks for label in ask.labels()]
    mark = len(program.diagnostics.items)
    question = program.localised(labels, asks[0].head, f"the question of `{name}`")
    if has_lost_part(program, statement):
        forget_diagnostics(program, mark, "E0402")
    mark = len(program.diagnostics.items)
    levels = _levels(program, statement, bounds)
    if has_lost_part(program, statement):
        forget_diagnostics(program, mark, "E0604")
    if title is None or bounds is None or question is None or levels is None:
        return None
    return Metric(
        name=name,
        title=title,
        dimension=dimension,
        low=bounds[0],
        high=bounds[1],
        outside="keep" if scale.has("keep") else "clip" if scale.has("clip") else "refuse",
        asks={language: text.value for language, text in question.items()},
        levels=levels,
    )


def _range(metric: Metric) -> str:
    return f"{metric.low}..{metric.high}" + (f" outside {metric.outside}" if metric.outside != "refuse" else "")


def _bounds(program: Program, syntax: Syntax) -> tuple[int, int] | None:
    match syntax:
        case RangeExpr(low=Number(value=int() as low), high=Number(value=int() as high)) if low <= high:
            return low, high
    what = "this range runs downwards" if _whole(syntax) else "this is not a range of whole numbers"
    program.diagnostics.error("E0302", what, syntax.span, help="write it from low to high: `1..10`")
    return None


def _whole(syntax: Syntax) -> bool:
    match syntax:
        case RangeExpr(low=Number(value=int()), high=Number(value=int())):
            return True
    return False


def _levels(program: Program, statement: Statement, bounds: tuple[int, int] | None) -> tuple[Level, ...] | None:
    """Return the levels from high to low. They must tile the scale: no gap, no overlap, nothing outside."""
    levels: list[tuple[Level, Statement]] = []
    for inner in statement.of("level"):
        band = _bounds(program, inner.syntax("range"))
        labels = program.labels(inner, "this level")
        if band is None or labels is None:
            return None
        levels.append((Level(low=band[0], high=band[1], text=labels), inner))
    if not levels or bounds is None:
        return ()
    levels.sort(key=lambda pair: pair[0].low)
    expected = bounds[0]
    for level, inner in levels:
        if level.low != expected:
            own = f"{level.low}..{level.high}"
            if level.low > expected:
                message = f"no level covers {_band(expected, level.low - 1)} of the scale"
            else:
                message = f"level {own} overlaps the one below it, or lies outside the scale"
            help_ = f"the levels must tile {bounds[0]}..{bounds[1]}"
            program.diagnostics.error("E0604", message, inner.head, help=help_)
            return None
        expected = level.high + 1
    if expected != bounds[1] + 1:
        last = levels[-1][1]
        low, high = sorted((expected, bounds[1]))
        message = f"no level covers {_band(low, high)} of the scale"
        if expected > bounds[1]:
            message = "this level lies above the scale"
        help_ = f"the levels must tile {bounds[0]}..{bounds[1]}"
        program.diagnostics.error("E0604", message, last.head, help=help_)
        return None
    return tuple(level for level, _ in reversed(levels))


def _band(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}..{high}"
