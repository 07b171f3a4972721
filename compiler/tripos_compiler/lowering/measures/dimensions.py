"""Dimensions: what a measure goes by, a sample is drawn per, and an export is made per.

A dimension is an axis, an arm, a field of the rows (`q.subject`) or of a record in them (`q.source.book`), or one of
`scenario metric dimension evaluator pair`. Two go by a level above the values: `stage.group` by the groups of an axis,
and `q.point.nodes` by every node of a tree at or above a path.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import nearest, suggest
from tripos_compiler.library.types import PLAIN, type_notation, without_optional
from tripos_compiler.lowering.declarations import RESERVED_AXES
from tripos_compiler.plan import BUILT_IN_DIMENSIONS, ChoiceType, RecordType, Scenario, Type
from tripos_compiler.resolve.program import KINDS, Program
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import BinaryExpr, Member, Name, Syntax, describe_syntax

# Uses of rows and fields, for editors


def note_rows(program: Program, alias: Name, field: Name, scenarios: Collection[str]) -> None:
    """Record the uses of a row name and of a field if each has one meaning in all the scenarios."""
    rows: set[Span | None] = set()
    fields: set[Span | None] = set()
    for statement in program.of("scenario"):
        if statement.name().text in scenarios:
            rows.add(_rows(program, statement))
            fields.add(_field(program, statement, field.text))
    for name, spans in ((alias, rows), (field, fields)):
        if len(spans) == 1:
            program.index.use(name.span, next(iter(spans)))


def _rows(program: Program, scenario: Statement) -> Span | None:
    """Return the place of the declaration of a scenario's row name."""
    over = scenario.one_of("over")
    alias = over.find_name("alias") if over is not None else None
    if alias is not None:
        return alias.span
    local = _local(scenario)
    if local is not None:
        return local.name().span
    declared = program.declared["dataset"].get(over.name("dataset").text) if over is not None else None
    return declared.span if declared is not None else None


def _field(program: Program, scenario: Statement, field: str) -> Span | None:
    """Return the place of the declaration of a field of a scenario's rows."""
    local, over = _local(scenario), scenario.one_of("over")
    if local is not None:
        return next((statement.name().span for statement in local.of("field") if statement.name().text == field), None)
    loaded = program.top_level_datasets.get(over.name("dataset").text) if over is not None else None
    return loaded.spans.get(field) if loaded is not None else None


def _local(scenario: Statement) -> Statement | None:
    """Return the data set declared inside a scenario that it runs over."""
    over = scenario.one_of("over")
    statements = [statement for statement in scenario.body if statement.construct in KINDS["dataset"]]
    return next(
        (statement for statement in statements if over is None or statement.name().text == over.name("dataset").text),
        None,
    )


# Reading dimensions

GROUP, NODES = "group", "nodes"
"""The suffixes for the groups of an axis, and for the nodes at and above a path."""


@dataclass(frozen=True)
class Groupable:
    """Something that dimensions can divide, a figure or a sample: `named` in messages, over `scenarios`.

    `fixed` are the built-in dimensions it has. `arms`: it can go by arms. `across`: it compares its evaluators. If it
    is not `complete`, a scenario with a reported mistake may have what these lack, and nothing missing is reported.
    """

    named: str
    scenarios: tuple[Scenario, ...]
    fixed: frozenset[str]
    arms: bool = True
    across: bool = False
    complete: bool = True
    elements: Mapping[str, Type] = field(default_factory=dict)
    """The names and types of elements that are scored separately."""


def read_dimension(program: Program, syntax: Syntax, groupables: Sequence[Groupable]) -> str | None:
    """Return the dimension; None if one of `groupables` does not have it, which is reported once."""
    groupables = [
        groupable for groupable in groupables if groupable.complete or _has_dimension(program, groupable, syntax)
    ]
    match syntax:
        case Name() if groupables and all(syntax.text in groupable.elements for groupable in groupables):
            if syntax.text.casefold() in RESERVED_AXES:  # it would collide with that column
                message = f"`{syntax.text}` is a name of the results, and a figure goes by no element of this name"
                program.diagnostics.error("E0621", message, syntax.span, help="call the element something else")
                return None
            return _of_rows(program, [syntax], groupables)
        case Name():
            return _single_name(program, syntax, groupables)
        case Member(of=Name() as axis, name=word) if axis.text in program.axes:
            return _groups_of(program, axis, word, groupables)
        case Member() if (path := _path(syntax)) is not None:
            return _of_rows(program, path, groupables)
    program.diagnostics.error(
        "E0106", f"{describe_syntax(syntax)} is not a dimension", syntax.span, help="name an axis"
    )
    return None


def _path(syntax: Syntax) -> list[Name] | None:
    """Return the parts of a dotted name; None for other syntax."""
    match syntax:
        case Name():
            return [syntax]
        case Member(of=of, name=name):
            before = _path(of)
            return None if before is None else [*before, name]
    return None


def _groups_of(program: Program, axis: Name, word: Name, groupables: Sequence[Groupable]) -> str | None:
    """Return the dimension of the groups of an axis; None if it is wrong."""
    if word.text != GROUP:
        message, help_ = f"an axis has no `{word.text}`", f"go by its values, `{axis.text}`, or by `{axis.text}.group`"
        program.diagnostics.error("E0201", message, word.span, help=help_, unknown=word.text)
        return None
    if any(not groupable.arms for groupable in groupables):
        message = f"a sample goes by the values of `{axis.text}` themselves"
        program.diagnostics.error("E0621", message, word.span, help=f"write `{axis.text}` alone")
        return None
    if _single_name(program, axis, groupables) is None:
        return None
    if all(value.group is None for value in program.axes[axis.text].values):
        help_ = "put its values into groups: `group NAME { … }`"
        program.diagnostics.error("E0621", f"the axis `{axis.text}` has no groups", word.span, help=help_)
        return None
    return f"{axis.text}.{GROUP}"


def read_dimensions(
    program: Program, written: Sequence[Syntax], groupables: Sequence[Groupable]
) -> tuple[str, ...] | None:
    """Return the dimensions without repetition; None if one is wrong."""
    dimensions = [read_dimension(program, syntax, groupables) for syntax in written]
    known = [dim for dim in dimensions if dim is not None]
    return tuple(dict.fromkeys(known)) if len(known) == len(dimensions) else None


def check_names(program: Program, written: Sequence[Syntax]) -> None:
    """Report names that cannot be dimensions of anything, for a figure that is wrong."""
    known = _declared_dimensions(program)
    for name in written:
        if isinstance(name, Name) and name.text not in names_of_dimensions(program):
            help_ = suggest(name.text, known, f"it goes by {', '.join(known[:8])}")
            message = f"there is no dimension `{name.text}`"
            program.diagnostics.error("E0201", message, name.span, help=help_, unknown=name.text)


def _declared_dimensions(program: Program) -> list[str]:
    """Return the names of dimensions that do not depend on what is divided."""
    return [*BUILT_IN_DIMENSIONS, *program.declared.get("axis", {}), *program.declared.get("arm", {}), "language"]


def names_of_dimensions(program: Program) -> set[str]:
    """Return the names that are a dimension of some figure, including those of elements."""
    return {*_declared_dimensions(program), *element_names(program)}


def element_names(program: Program) -> set[str]:
    """Return the names of the elements of all element scores, including wrong ones."""
    loops = (score.find("elements") for statement in program.of("scenario") for score in statement.of("score"))
    return {loop.left.text for loop in loops if isinstance(loop, BinaryExpr) and isinstance(loop.left, Name)}


def check_own_line(program: Program, written: Sequence[Syntax], words: Sequence[str]) -> bool:
    """Return true if no keyword of another line was read as a dimension after a comma; otherwise report it."""
    clause = next((name for name in written if isinstance(name, Name) and name.text in words), None)
    if clause is None:
        return True
    message = f"`{clause.text}` needs a line of its own"
    program.diagnostics.error("E0106", message, clause.span, help="the commas of this line part what it lists")
    return False


def known_dimensions(program: Program, groupables: Sequence[Groupable]) -> list[str]:
    """Return the dimensions that all of `groupables` have."""
    fixed = [dim for dim in BUILT_IN_DIMENSIONS if all(dim in groupable.fixed for groupable in groupables)]
    axes = [axis for axis in program.axes if all(_has_axis(groupable, axis) for groupable in groupables)]
    arms = [arm for arm in program.arms if all(_has_arm(groupable, arm) for groupable in groupables)]
    return [*fixed, *axes, *arms]


def _has_axis(groupables: Groupable, axis: str) -> bool:
    return any(axis in scenario.axes for scenario in groupables.scenarios)


def _has_arm(groupables: Groupable, arm: str) -> bool:
    return groupables.arms and any(arm in scenario.arms for scenario in groupables.scenarios)


def _has_dimension(program: Program, groupables: Groupable, syntax: Syntax) -> bool:
    match syntax:
        case Name(text=text):
            return (
                text in {*groupables.fixed, *groupables.elements}
                or _has_axis(groupables, text)
                or _has_arm(groupables, text)
            )
    path = _path(syntax) or []
    if len(path) == 2 and path[1].text == GROUP and path[0].text in program.axes:
        return _has_axis(groupables, path[0].text)
    return ".".join(name.text for name in path[:2]) in fields_by(program, [groupables])


def _single_name(program: Program, name: Name, groupables: Sequence[Groupable]) -> str | None:
    """Check a dimension of one name: a built-in one, an axis or an arm; None if it is wrong."""
    text = name.text
    for kind, table in (("axis", program.axes), ("arm", program.arms)):
        declared = program.declared.get(kind, {}).get(text)
        if declared is not None:
            program.index.use(name.span, declared.span)
            if text not in table:
                return None  # it was reported
    if text in BUILT_IN_DIMENSIONS:
        stranger = next((groupable for groupable in groupables if text not in groupable.fixed), None)
        if stranger is not None:
            _report_dimension(program, name, _why_no_built_in(text, stranger), groupables)
            return None
        return text
    if text in program.axes or text in program.arms:
        has = _has_axis if text in program.axes else _has_arm
        stranger = next((groupable for groupable in groupables if not has(groupable, text)), None)
        if stranger is None:
            return text
        if text in program.arms and not stranger.arms:
            message = f"`{text}` is an arm: every item is tried under each of its values"
        else:
            what = "axis" if text in program.axes else "arm"
            message = f"no scenario of {stranger.named} has the {what} `{text}`"
        _report_dimension(program, name, message, groupables)
        return None
    if not groupables and text in element_names(program):
        return None  # the scores of these elements were reported
    fields = fields_by(program, groupables)
    if of_rows := [dim for dim in fields if dim.startswith(f"{text}.")]:
        help_ = f"name a field of the rows: {', '.join(f'`{dim}`' for dim in of_rows[:8])}"
        message = f"`{text}` is a row, and figures go by fields of rows"
        program.diagnostics.error("E0201", message, name.span, help=help_, unknown=text)
        return None
    same = [dim for dim in fields if text in dim.split(".")]
    close = same[0] if same else nearest(text, [*BUILT_IN_DIMENSIONS, *program.axes, *program.arms, *fields])
    known = known_dimensions(program, groupables)
    help_ = f"did you mean `{close}`?" if close else f"it goes by {', '.join(known)}"
    program.diagnostics.error("E0201", f"there is no dimension `{text}`", name.span, help=help_, unknown=text)
    return None


def _why_no_built_in(text: str, groupables: Groupable) -> str:
    if not groupables.arms:
        return f"an item has no `{text}`: the replies to it have"
    match text:
        case "evaluator" if groupables.across:
            return f"{groupables.named} compares evaluators, so it does not go by them"
        case "evaluator":
            return f"{groupables.named} is of scores that are computed, which have no `evaluator`"
        case "pair":
            return f"{groupables.named} compares nobody, so it does not go by pairs of evaluators"
        case "dimension" | "metric":
            return f"{groupables.named} has no {'metrics of a rubric' if text == 'dimension' else 'metric'}"
    return f"{groupables.named} does not go by `{text}`"


def _report_dimension(program: Program, name: Name, message: str, groupables: Sequence[Groupable]) -> None:
    known = known_dimensions(program, groupables)
    help_ = f"it goes by {', '.join(f'`{dim}`' for dim in known)}" if known else "leave it out"
    program.diagnostics.error("E0621", message, name.span, help=help_)


def _of_rows(program: Program, path: Sequence[Name], groupables: Sequence[Groupable]) -> str | None:
    """Check a dotted dimension: a field of rows or of elements; None if it is wrong."""
    alias, field, *further = path if len(path) > 1 else [path[0], path[0]]
    for groupable in groupables:
        if alias.text in groupable.elements:
            if not _goes_by(program, path, groupable.elements[alias.text], 1):
                return None
            continue
        rows = [s.rows for s in groupable.scenarios if s.rows is not None and s.rows.alias == alias.text]
        if not rows:
            aliases = sorted({s.rows.alias for s in groupable.scenarios if s.rows is not None})
            close = nearest(alias.text, aliases)
            if close:
                help_ = f"did you mean `{close}.{field.text}`?"
            elif aliases:
                help_ = f"its rows are {', '.join(f'`{other}`' for other in aliases)}"
            else:
                help_ = "its scenarios run over no rows; go by an axis"
            message = f"{groupable.named} has no rows `{alias.text}`"
            program.diagnostics.error("E0201", message, alias.span, help=help_, unknown=alias.text)
            return None
        types: dict[str, Type] = {}
        for row in rows:
            types |= fields_of(program, row.dataset)
        type_ = types.get(field.text)
        if type_ is None:
            if any(loaded.poisoned for loaded in program.top_level_datasets.values()):
                return None
            help_ = suggest(field.text, types, f"it has {', '.join(f'`{name}`' for name in types)}")
            message = f"`{alias.text}` has no field `{field.text}`"
            program.diagnostics.error("E0308", message, field.span, help=help_, unknown=field.text)
            return None
        if further and not groupable.arms:
            help_ = "declare it as a field of its own"
            message = f"a sample goes by the values of `{field.text}` themselves"
            program.diagnostics.error("E0621", message, further[0].span, help=help_)
            return None
        if not _goes_by(program, path, type_):
            return None
        sharing = {s.name for s in groupable.scenarios if s.rows is not None and s.rows.alias == alias.text}
        note_rows(program, alias, field, sharing)
    return ".".join(name.text for name in path)


def _goes_by(program: Program, path: Sequence[Name], type_: Type, known: int = 2) -> bool:
    """Return true if rows can be grouped by a dotted name; otherwise report it. `type_` is the type of its first
    `known` parts.
    """
    named = ".".join(name.text for name in path[:known])
    type_ = without_optional(type_)
    for name in path[known:]:
        if known > 1 and type_.kind == "path" and name.text == NODES and name is path[-1]:
            return True
        if type_.kind != "record" or name.text not in type_.fields:
            fields = list(type_.fields) if type_.kind == "record" else [NODES] if type_.kind == "path" else []
            help_ = suggest(name.text, fields, f"it has {', '.join(fields)}" if fields else "go by it alone")
            program.diagnostics.error(
                "E0308", f"`{named}` has no field `{name.text}`", name.span, help=help_, unknown=name.text
            )
            return False
        named, type_ = f"{named}.{name.text}", without_optional(type_.fields[name.text])
    if type_.kind not in PLAIN:
        message = f"`{named}` is `{type_notation(type_)}`, which nothing can go by"
        help_ = "go by a field of it" if type_.kind == "record" else "go by a text, a number, a bool or a choice"
        program.diagnostics.error("E0621", message, path[-1].span, help=help_)
        return False
    return True


def values_of(program: Program, dim: str, groupables: Sequence[Groupable]) -> tuple[str, Sequence[str] | None]:
    """Return the kind of a dimension that is no axis or arm, and its values; None if not all of them are known."""
    first, *path = dim.split(".")
    if first in program.axes:
        groups = (value.group for value in program.axes[first].values)
        return "choice", list(dict.fromkeys(group for group in groups if group is not None))
    for groupable in groupables:
        sources = [s.rows.dataset for s in groupable.scenarios if s.rows is not None and s.rows.alias == first]
        starts = [groupable.elements.get(first), *(RecordType(fields=fields_of(program, name)) for name in sources)]
        for type_ in [_at(start, path) for start in starts]:
            if isinstance(type_, ChoiceType):
                return type_.kind, list(type_.values)
            if type_ is not None:
                plain = type_.kind == "text" and len(path) == 1 and first not in groupable.elements
                return type_.kind, _values_in(program, sources, path[0]) if plain else None
    return "path", None  # the nodes of a tree


def _at(type_: Type | None, path: Sequence[str]) -> Type | None:
    """Return the type at a path in records."""
    for name in path:
        type_ = type_.fields.get(name) if isinstance(type_, RecordType) else None
        type_ = None if type_ is None else without_optional(type_)
    return type_


def _values_in(program: Program, sources: Sequence[str], field: str) -> list[str] | None:
    """Return the texts in a field of data sets; None if not all rows are known."""
    known = [program.known_rows(name) for name in sources]
    if not all(known):
        return None
    values = (row.get(field) for rows in known for row in rows or ())
    return list(dict.fromkeys(value for value in values if isinstance(value, str)))


def fields_of(program: Program, dataset: str) -> dict[str, Type]:
    """Return the fields of a data set, by its name in the plan."""
    declared = program.datasets.get(dataset) or program.generated.get(dataset)
    return {field.name: field.type for field in declared.fields} if declared is not None else {}


def fields_by(program: Program, groupables: Sequence[Groupable]) -> list[str]:
    """Return the row fields that all of `groupables` can go by, in source notation."""
    every: list[set[str]] = []
    for groupable in groupables:
        rows = [scenario.rows for scenario in groupable.scenarios if scenario.rows is not None]
        every.append({f"{r.alias}.{name}" for r in rows for name in fields_of(program, r.dataset)})
    return sorted(set.intersection(*every)) if every else []
