"""Lowering of the small declarations: benchmark, titles, roles, axes, arms, metrics, tools and trees;
and the order of declarations that build on each other.

A draft of a tree is a file `NAME.draft.yaml` or `.json`. Approving it creates `NAME.yaml` and next to it
`NAME.approved.json`, with the SHA-256 of the approved text and the person who approved it. A tree written by a person
needs neither.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath
from typing import Any

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Label
from tripos_compiler.library.functions.trees import ParsedTree, TreeFault, joined_trees, read_tree
from tripos_compiler.library.types import type_notation
from tripos_compiler.plan import (
    TOOL_REPLY_FIELDS,
    Arm,
    ArmValue,
    Axis,
    AxisValue,
    Benchmark,
    ChoiceType,
    Expr,
    JsonType,
    Level,
    Metric,
    Role,
    Tool,
    ToolParameter,
    Tree,
    TreeFile,
    Type,
    digest,
    tool_function_name,
)
from tripos_compiler.resolve.program import (
    Binding,
    Program,
    has_skipped_part,
    has_skipped_values,
    locale_of,
)
from tripos_compiler.resolve.python_functions import is_compile_time, read_tool_function
from tripos_compiler.source.inputs import DataError, ResolvedFile
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import Name, Number, RangeExpr, Syntax, Text
from tripos_compiler.typecheck.expressions import check_condition
from tripos_compiler.typecheck.types import axis_type, field_type, type_parts

# Titles

TITLED_KINDS = ("axis", "arm", "dimension", "scenario", "measure", "table")
"""Declarations whose title no model sees. The titles of metrics and values are printed in prompts."""
REFERRED_BY_NAME = ("axis", "group", "arm", "input", "measure", "table")
"""Declarations that the plan refers to by name only, so that their title is stored separately even if it is a single
text.
"""


def lower_titles(program: Program) -> None:
    """Check the titles of all declarations, and store those that the plan has nowhere else."""
    for kind, name, what, statement in _titled(program):
        lower_title(program, kind, name, what, statement)


def lower_title(program: Program, kind: str, name: str, what: str, statement: Statement) -> None:
    """Check the title of a declaration, which is called `what` in messages, and store it."""
    labels = statement.labels()
    texts = program.localised(labels, statement.head, what, for_readers=True)
    if texts is not None and (kind in REFERRED_BY_NAME or any(language is not None for language, _ in labels)):
        program.titles.setdefault(kind, {})[name] = {language: text.value for language, text in texts.items()}


def _titled(program: Program) -> Iterator[tuple[str, str, str, Statement]]:
    """Yield every titled declaration: its kind, its name in the plan, its name in messages, and the statement."""
    for benchmark in program.of("benchmark")[:1]:
        title = benchmark.one_of("title")
        if title is not None:
            yield "benchmark", benchmark.name().text, "the title", title
    for kind in TITLED_KINDS:
        for statement in program.of(kind):
            if statement.labels():
                name = statement.name().text
                yield kind, name, f"{kind} `{name}`", statement
    for axis in program.of("axis"):
        for group in axis.of("group"):
            if group.labels():
                name = group.name().text
                yield "group", f"{axis.name().text}.{name}", f"group `{name}`", group
    for scenario in program.of("scenario"):
        for measure in scenario.of("measure"):
            if measure.labels():
                name = measure.name().text
                yield "measure", f"{scenario.name().text}.{name}", f"measure `{name}`", measure


def plain_title(statement: Statement, languages: Sequence[str]) -> str:
    """Return the title where no language is requested: in the benchmark's first language, without a language, or the
    first.
    """
    texts = {language.text if language is not None else None: text.value for language, text in statement.labels()}
    return next(
        (texts[language] for language in (*languages[:1], None) if language in texts), next(iter(texts.values()))
    )


# Benchmark, roles, axes and arms

RESERVED_BENCHMARKS = frozenset({"main", "temp", "system", "information_schema", "pg_catalog"})
"""Existing schemas of the database: a benchmark's results are a schema of its name."""

RESERVED_AXES = frozenset(
    """
    attempts choice cluster_id comparison_id conversation_id conversation_number cost_usd created_at dataset df
    dimension drawn_of element_place element_value ended ended_by enlarged epoch error evaluator fields fingerprint
    finish_reason first_model first_sample_id given high identity item_id items judged_by judgement_id latency_s
    least left_out logprobs low m mean messages metric model model_served models n note_flag note_id note_outdated
    note_text noted_by number pair parsed parts pull reason rejections repeat reply reply_thinking role round run_id
    sample_id sample_number scenario score_id scorer second_model second_sample_id shown_run slot_id source
    standard_error status step text tokens_in tokens_out tokens_reasoning total total_tokens transcript turn_id turns
    value written_by
    """.split()  # noqa: SIM905 - sixty lines of one word each say no more
)
"""Columns of the views and of the SQL of measures, in which axes are columns too."""


LANGUAGES = {"en": {"en": "English", "zh": "英语"}, "zh": {"en": "Chinese", "zh": "中文"}}
"""Names of languages in other languages. Any other language is called by its code."""

VERSION = re.compile(r"\d+\.\d+\.\d+([-+][\w.]+)?")


def lower_benchmark(program: Program) -> None:
    """Lower the `benchmark` statement: name, version, languages, title, license and citations."""
    statements = program.of("benchmark")
    if not statements:
        return
    statement = statements[0]
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
    """Lower every `role`. Reports a benchmark without a compared role."""
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
    """Return true if the grades of people count together with those of the role's models. Reports a compared role."""
    if not statement.has("people"):
        return False
    if statement.has("compared"):
        message = f"`{statement.name().text}` is compared, and nobody grades in it"
        help_ = "write `with people` at the role that grades"
        program.diagnostics.error("E0208", message, statement.head, help=help_)
        return False
    return True


def _default_role(program: Program, statement: Statement) -> str | None:
    """Return the role whose models fill a role without models. Reports one that cannot."""
    written = statement.find_name("role")
    if written is None or not program.is_declared("role", written):
        return None
    other = next(role for role in program.of("role") if role.name().text == written.text)
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
    """Lower every `axis` with its groups and guards."""
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
    """Return true if no axis or arm can have this name, and report it."""
    if name.text.casefold() not in RESERVED_AXES:
        return False
    help_ = f"{'axes' if noun == 'axis' else 'arms'} become columns beside that one in SQL; take another name"
    program.diagnostics.error("E0207", f"no {noun} can be called `{name.text}`", name.span, help=help_)
    return True


def lower_arms(program: Program) -> None:
    """Lower every `arm` with its values."""
    for statement in program.of("arm"):
        name = statement.name()
        if name.text in program.declared.get("axis", {}) or name.text == "language":
            message = f"`{name.text}` is an axis already"
            program.diagnostics.error("E0202", message, name.span, help="take another name for the arm")
            continue
        if _is_reserved(program, "arm", name):
            continue
        values: dict[str, ArmValue] = {}
        attempt = program.diagnostics.attempt()
        for value in statement.of("value"):
            own = value.name()
            program.index.define("value", own.text, own.span, f"arm {name.text}")
            if own.text in values:
                message = f"`{own.text}` is a value of `{name.text}` twice"
                program.diagnostics.error("E0202", message, own.span, help="rename one")
                continue
            labels = _labels(program, value)
            program.value_spans.setdefault((name.text, own.text), own.span)
            values[own.text] = ArmValue(name=own.text, labels=labels or {})
        if len(values) < 2 and not attempt.failed:
            help_ = f"write `arm {name.text} {{ without, with }}`"
            lacking = statement.block.span if statement.block is not None else None
            message = f"arm `{name.text}` compares nothing: it needs two values"
            program.diagnostics.error("E0603", message, statement.head, help=help_, lacking=lacking)
        elif not attempt.failed:
            program.arms.setdefault(name.text, Arm(name=name.text, values=tuple(values.values())))


def _language_axis(languages: tuple[str, ...]) -> Axis:
    return Axis(
        name="language",
        values=tuple(
            AxisValue(
                name=code, labels={language: LANGUAGES.get(code, {}).get(language, code) for language in languages}
            )
            for code in languages
        ),
    )


def _value_statements(axis: Statement) -> list[Statement]:
    return [value for inner in axis.body for value in ([inner] if inner.construct == "value" else inner.of("value"))]


def _axis(program: Program, statement: Statement, scope: dict[str, Binding]) -> Axis | None:
    """Lower an axis; None if it is wrong."""
    attempt = program.diagnostics.attempt()
    values: list[AxisValue] = []
    statements: dict[str, Statement] = {}
    for inner in statement.body:
        guard: Expr | None = None
        group: str | None = None
        members = [inner]
        if inner.construct == "group":
            group, members = inner.name().text, inner.of("value")
            program.index.define("group", group, inner.name().span, f"axis {statement.name().text}")
            condition = inner.find("cond")
            if condition is not None:
                bindings = {name: binding for name, binding in scope.items() if name != statement.name().text}
                typed = check_condition(program, condition, bindings)
                guard = typed.expr
                is_compile_time(program, guard, condition.span)
        for value in members:
            name = value.name()
            earlier = statements.setdefault(name.text, value)
            if earlier is not value:
                label = Label(earlier.head, "first written here")
                message = f"`{name.text}` is a value of `{statement.name().text}` twice"
                program.diagnostics.error("E0202", message, name.span, label, help="rename one")
                continue
            program.value_spans.setdefault((statement.name().text, name.text), name.span)
            labels = _labels(program, value)
            program.index.define("value", name.text, name.span, f"axis {statement.name().text}", _shown(labels))
            values.append(AxisValue(name=name.text, labels=labels or {}, group=group, guard=guard))
    if not values:
        message = f"axis `{statement.name().text}` has no values"
        if not has_skipped_values(program, statement.name().text):
            program.diagnostics.error("E0603", message, statement.head, help="write one value a line in its block")
        return None
    return None if attempt.failed else Axis(name=statement.name().text, values=tuple(values))


def _shown(labels: dict[str, str] | None) -> str:
    return ", ".join(f'{language} "{text}"' for language, text in (labels or {}).items())


def _labels(program: Program, value: Statement) -> dict[str, str] | None:
    if not value.labels():
        text = value.name().text.replace("_", " ")
        return dict.fromkeys(program.languages, text)
    return program.labels(value, f"`{value.name().text}`")


# Dimensions and metrics


def lower_metrics(program: Program) -> None:
    """Lower every `metric` of every `dimension`."""
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
    """Lower a metric. Reports mistakes and returns None."""
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
    if bounds is not None and bounds[0] == bounds[1]:
        message, help_ = f"the scale {bounds[0]}..{bounds[1]} holds one number", "write it from low to high: `1..10`"
        program.diagnostics.error("E0302", message, scale.syntax("range").span, help=help_)
        return None
    labels = [label for ask in asks for label in ask.labels()]
    text = program.diagnostics.attempt()
    question = program.localised(labels, asks[0].head, f"the question of `{name}`")
    if has_skipped_part(program, statement):
        text.discard("E0402")
    scale_levels = program.diagnostics.attempt()
    levels = _levels(program, statement, bounds)
    if has_skipped_part(program, statement):
        scale_levels.discard("E0604")
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
    what = "this range runs downwards" if _is_integer_range(syntax) else "this is not a range of whole numbers"
    program.diagnostics.error("E0302", what, syntax.span, help="write it from low to high: `1..10`")
    return None


def _is_integer_range(syntax: Syntax) -> bool:
    match syntax:
        case RangeExpr(low=Number(value=int()), high=Number(value=int())):
            return True
    return False


def _levels(program: Program, statement: Statement, bounds: tuple[int, int] | None) -> tuple[Level, ...] | None:
    """Return the levels from high to low. They must tile the scale without gaps, overlaps or values outside."""
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


# Tools

LONGEST_TOOL_NAME = 64
TOOL_NAME = re.compile(r"[A-Za-z0-9_]+")
"""Names that all providers accept."""
ARGUMENT_KINDS = frozenset({"text", "integer", "number", "bool", "choice", "list", "set", "record", "optional", "json"})
"""The kinds of types that a model can pass as an argument."""


def lower_tools(program: Program) -> None:
    """Lower every `tool` with its parameters."""
    for statement in program.of("tool"):
        name = statement.name()
        about = program.labels(statement, f"tool `{name.text}`")
        parameters = _parameters(program, statement)
        if not _is_tool_name(program, statement) or about is None or parameters is None:
            continue
        tool = Tool(name=name.text, about=about, parameters=parameters)
        program.tools.setdefault(name.text, tool)
        if statement.find("path") is not None:
            _lower_function(program, statement, tool)


def _lower_function(program: Program, statement: Statement, tool: Tool) -> None:
    """Lower the Python function of a tool, which a run calls for a model."""
    read = read_tool_function(program, statement)
    name = tool_function_name(tool.name)
    if read is None:
        program.diagnostics.skipped_names.add(name)
        return
    plugin, python = read
    (_, *taken), of = python.parameters, tool.arguments.fields

    def differs(message: str, where: Span, help_: str) -> None:
        notes = [f"declared: `{tool.name}({', '.join(of)})`", f"in Python: `{python.notation}`"]
        program.diagnostics.error("E0313", message, where, Label(python.span, "the function"), help=help_, notes=notes)
        program.diagnostics.skipped_names.add(name)

    for parameter in statement.of("tool_parameter"):
        own = parameter.name()
        if own.text not in taken:
            differs(f"`{plugin.function}` has no parameter `{own.text}`", own.span, "remove it, or add it there")
        elif of[own.text].kind == "optional" and own.text not in python.optional:
            help_ = f"write `{own.text}=None` there, or a type without `?` here"
            differs(f"`{plugin.function}` must be given `{own.text}`, which may be left out", own.span, help_)
    for missing in [name for name in taken if name not in of and name not in python.optional]:
        message = f"`{plugin.function}` needs `{missing}`, which `{tool.name}` does not take"
        differs(message, statement.name().span, f"add `{missing}` to the tool")
    own_ = {"name": name, "parameters": of, "returns": JsonType(), "external": "tool"}
    optional = tuple(name for name, type_ in of.items() if type_.kind == "optional")
    program.plugins[name] = plugin.model_copy(update={**own_, "optional": optional})


def _is_tool_name(program: Program, statement: Statement) -> bool:
    """Return true if a tool can have its name; otherwise report it."""
    name = statement.name()
    message = help_ = ""
    if name.text in TOOL_REPLY_FIELDS:
        message = f"no tool can be called `{name.text}`"
        help_ = "a reply with calls has a value of that name already; take another"
    elif len(name.text) > LONGEST_TOOL_NAME or not TOOL_NAME.fullmatch(name.text):
        message = f"no tool can be called `{name.text}`"
        help_ = f"providers take at most {LONGEST_TOOL_NAME} letters, digits and `_`"
    if not message:
        return True
    program.diagnostics.error("E0207", message, name.span, help=help_)
    return False


def _parameters(program: Program, tool: Statement) -> tuple[ToolParameter, ...] | None:
    attempt = program.diagnostics.attempt()
    parameters: dict[str, ToolParameter] = {}
    spans: dict[str, Label] = {}
    for statement in tool.of("tool_parameter"):
        name = statement.name()
        earlier = spans.setdefault(name.text, Label(name.span, "first declared here"))
        type_ = field_type(program, statement)
        about = program.labels(statement, f"parameter `{name.text}`") if statement.labels() else {}
        if earlier.span is not name.span:
            message = f"parameter `{name.text}` is declared twice"
            program.diagnostics.error("E0202", message, name.span, earlier, help="rename one")
        elif type_ is None or about is None:
            continue
        elif wrong := next(
            (
                type_part
                for type_part in type_parts(type_)
                if type_part.kind not in ARGUMENT_KINDS or _is_form(type_part)
            ),
            None,
        ):
            message = f"an argument cannot be `{type_notation(wrong)}`"
            help_ = "write text, integer, number, bool, 1..5, choice(A, B), list<…>, { … } or json"
            program.diagnostics.error("E0302", message, statement.head, help=help_)
        else:
            program.index.define("parameter", name.text, name.span, f"tool {tool.name().text}", type_notation(type_))
            parameters[name.text] = ToolParameter(name=name.text, type=type_, about=about)
    return None if attempt.failed else tuple(parameters.values())


def _is_form(type_: Type) -> bool:
    return type_.kind == "json" and type_.form != "json"


# Trees

DRAFT = ".draft"
APPROVED = ".approved"


def approval_name(path: str) -> str:
    """Return the path of the approval of a tree's file.

    >>> approval_name("syllabus/history.yaml")
    'syllabus/history.approved.json'
    """
    own = PurePosixPath(path)
    return own.with_name(f"{own.stem}{APPROVED}.json").as_posix()


def approved_name(path: str) -> str | None:
    """Return the path of a draft after its approval; None if the file is not a draft.

    >>> approved_name("syllabus/history.draft.yaml"), approved_name("syllabus/history.yaml")
    ('syllabus/history.yaml', None)
    """
    own = PurePosixPath(path)
    if not own.stem.endswith(DRAFT):
        return None
    return own.with_name(f"{own.stem.removesuffix(DRAFT)}{own.suffix}").as_posix()


def tree_files(program: Program, path: Text, resolved: Sequence[ResolvedFile]) -> tuple[TreeFile, ...]:
    """Return the files of a tree with their approvals. Reports files that are not approved.

    Skips approvals, and drafts whose approved file is also there. Raises `DataError` if no file is left or an approval
    cannot be read.
    """
    names = {file.path for file in resolved}
    files: list[TreeFile] = []
    for file in resolved:
        if PurePosixPath(file.path).stem.endswith(APPROVED) or approved_name(file.path) in names:
            continue
        if approved_name(file.path) is not None:
            message = f"{file.path} is a draft that nobody has approved"
            help_ = f"read it, fix it, then `tripos approve {file.location} --name YOU`"
            program.diagnostics.warning("W0399", message, path.span, help=help_)
            files.append(TreeFile(path=file.path, sha256=file.sha256, draft=True))
            continue
        approval = _approval(program, path, file)
        if approval is None:
            files.append(TreeFile(path=file.path, sha256=file.sha256))
            continue
        same = approval[0] == file.sha256
        if not same:
            message = f"{file.path} is not what {approval[1]} approved: it was changed since"
            help_ = f"read it again, then `tripos approve {file.location} --name YOU`"
            program.diagnostics.warning("W0399", message, path.span, help=help_)
        by = approval[1] if same else None
        files.append(TreeFile(path=file.path, sha256=file.sha256, draft=not same, approved_by=by))
    if not files:
        raise DataError(f"`{path.value}` means no tree", "name the file")
    return tuple(files)


def _approval(program: Program, path: Text, file: ResolvedFile) -> tuple[str, str] | None:
    """Return the approved SHA-256 and the person who approved it; None without an approval. Raises `DataError`."""
    own = file.location if PurePosixPath(path.value).is_absolute() else file.path
    try:
        (resolved_file,) = program.data.find(approval_name(own), path.span.source.path)
    except (DataError, ValueError):
        return None
    approval = program.data.document(resolved_file)
    match approval:
        case {"sha256": str(sha256), "approved_by": str(by)}:
            return sha256, by
    raise DataError(f"{resolved_file.path} is no approval", "remove it, or approve the tree again: `tripos approve`")


MOST_REPORTED = 3
"""The most mistakes of a tree that are listed; the rest are counted."""


def lower_trees(program: Program) -> None:
    """Lower every `tree NAME from PATH`."""
    for statement in program.of("tree"):
        tree = _tree(program, statement)
        if tree is not None:
            program.trees.setdefault(tree.name, tree)
        else:
            program.diagnostics.skipped_names.add(statement.name().text)  # so that its uses are not reported


def branches_of(program: Program, name: str) -> Mapping[str, Any] | None:
    """Return the branches of a tree, read again; None if it is missing or changed.

    Few data sets are made from a tree, and trees are small, so nothing is cached.
    """
    tree = program.trees.get(name)
    statement = next((declared for declared in program.of("tree") if declared.name().text == name), None)
    if tree is None or statement is None:
        return None
    try:
        files = {file.path: file for file in program.data.find(tree.source, statement.span.source.path)}
        trees = [read_tree(program.data.document(files[file.path])).tree for file in tree.files if file.path in files]
    except DataError:
        return None
    joined = joined_trees(trees)
    return joined.branches if isinstance(joined, ParsedTree) else None


def _tree(program: Program, statement: Statement) -> Tree | None:
    """Lower a tree. Reports mistakes and returns None."""
    name, path = statement.name(), statement.text("path")
    try:
        resolved_files = {file.path: file for file in program.data.find(path.value, statement.span.source.path)}
        files = tree_files(program, path, list(resolved_files.values()))
        parsed_trees = [_read(program, path, resolved_files[file.path]) for file in files]
    except DataError as error:
        program.diagnostics.error("E0307", error.message, path.span, help=error.hint)
        return None
    trees = [tree for tree in parsed_trees if tree is not None]
    if len(trees) < len(parsed_trees):
        return None
    joined = joined_trees(trees)
    if isinstance(joined, str):
        places = [file.path for file, tree in zip(files, trees, strict=True) if joined in tree.branches]
        message = f"`{joined}` is at the top of {places[0]} and of {places[1]}"
        program.diagnostics.error("E0315", message, path.span, help="a branch stands in one file: put the two together")
        return None
    leaves = len(joined.leaves())
    detail = f"{leaves} leaves, {joined.depth} levels"
    program.index.define("tree", name.text, name.span, detail=detail)
    several = len(files) > 1
    return Tree(
        name=name.text,
        source=path.value,
        path=files[0].path,
        sha256=digest([file.sha256 for file in files], size=32) if several else files[0].sha256,
        files=files,
        leaves=leaves,
        inner=joined.inner,
        depth=joined.depth,
    )


def _read(program: Program, path: Text, file: ResolvedFile) -> ParsedTree | None:
    """Return the tree of one file. Reports mistakes and returns None."""
    tree_read = read_tree(program.data.document(file))
    if not tree_read.faults:
        return tree_read.tree
    # Line numbers are slow to compute, so only a tree with mistakes gets them.
    faults = read_tree(program.data.placed(file)).faults
    for fault in faults[:MOST_REPORTED]:
        program.diagnostics.error("E0315", _where(file, fault), path.span, help=fault.help)
    if len(faults) > MOST_REPORTED:
        message = f"{file.path}: {len(faults) - MOST_REPORTED} more branches are out of shape"
        program.diagnostics.error("E0315", message, path.span, help="fix the file")
    return None


def _where(file: ResolvedFile, fault: TreeFault) -> str:
    line = "" if fault.line is None else f", line {fault.line}"
    return f"{file.path}{line}: {fault.message}"


def in_order(needs: Mapping[str, Collection[str]]) -> tuple[list[str], list[list[str]]]:
    """Return the names, each after those that it needs and otherwise as given, and the cycles.

    A cycle begins with the name that is given first, and each name needs the next. Cycles have no name in common. A
    need without an entry is ignored.

    >>> in_order({"a": ["c"], "b": [], "c": []})
    (['c', 'a', 'b'], [])
    >>> in_order({"a": ["b"], "b": ["c"], "c": ["b"]})
    (['b', 'a', 'c'], [['b', 'c']])
    """
    left = {name: [need for need in wanted if need in needs] for name, wanted in needs.items()}
    cycles: list[list[str]] = []
    while (cycle := _cycle(left)) is not None:
        start = cycle.index(min(cycle, key=list(needs).index))
        cycles.append([*cycle[start:], *cycle[:start]])
        left |= {name: [] for name in cycle}
    return _sorted(left), cycles


def _cycle(needs: Mapping[str, Collection[str]]) -> list[str] | None:
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        # graphlib repeats the first name at the end, and puts each name before its user.
        cycle: list[str] = error.args[1][:0:-1]
        return cycle
    return None


def _sorted(needs: Mapping[str, Collection[str]]) -> list[str]:
    ordered: dict[str, None] = {}
    waiting = list(needs)[::-1]
    while waiting:
        missing = [need for need in needs[waiting[-1]] if need not in ordered]
        if missing:
            waiting += reversed(missing)
        else:
            ordered[waiting.pop()] = None
    return list(ordered)
