"""The building blocks of the SQL of measures: common table expressions, rows of what is scored, tables of figures.

A figure is a set of tables: its cells, its leaf cells with their derivatives, and the influences of units on leaf cells
(`influences`). A formula counts each score once, although several of its parts may use it: `a` and `a[hint: none]` use
the same scores in the cell of `none`. Whether one part contains another follows from the conditions on their rows.

A reply is unread if it arrived and has no value: it was refused, was cut off, or lacks what the score needs. A call
that was never answered is not unread, and neither is a missing grade by a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Literal

from tripos_compiler.language.aggregates import declared_aggregate
from tripos_compiler.language.intervals import metric_range, ranges_of
from tripos_compiler.language.scored_values import ScoredStep, conversations_before, element_name, judged_steps
from tripos_compiler.library.functions.trees import BETWEEN
from tripos_compiler.library.ranges import Interval
from tripos_compiler.plan import (
    BUILT_IN_DIMENSIONS,
    Aggregate,
    Compare,
    Dataset,
    GeneratedDataset,
    Grade,
    Missing,
    Plan,
    RecordType,
    Score,
    Type,
)
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.sql import name as named, text as quoted, texts
from tripos_warehouse.store.index import RETRIED_STATUSES
from tripos_warehouse.store.schemas import HUMAN
from tripos_warehouse.views.benchmark_views import NOT_GIVEN, Graders, is_separate_person, separate_people_scorers
from tripos_warehouse.views.dimensions import arm_columns

End = Literal["low", "high"]
"""The end of the range of a score that holds its worst value."""
SCORED = "scored"
UNREAD = "is unread"
"""The column that marks an unread row."""


def is_unread(text: str) -> str:
    """Return the SQL condition that a row has no value although a reply arrived. `text` is the SQL of its name or
    text."""
    other_statuses = texts((SCORED, *RETRIED_STATUSES, NOT_GIVEN))
    return f"(value is null and {text} is null and status not in {other_statuses})"


def worst_value(plan: Plan, figure: Aggregate, scored: ScoredStep, end: End) -> str | None:
    """Return the SQL of the worst value that a row of a scored step may have; None if unread replies have another
    meaning for the aggregate, or if a range has no bound at that end."""
    if declared_aggregate(figure.function).unread != "worst":
        return None
    ranges, place = ranges_of(plan), ("low", "high").index(end)
    if figure.true_of:
        return _number(place)
    metrics = {metric.name: metric_range(metric) for metric in plan.metrics}
    worst: dict[tuple[str, str], float] = {}
    for scenario in scored.scenarios:
        for step in scenario.steps:
            if step not in scored.steps:
                continue
            if isinstance(step, Grade) and step.metrics:
                names = [name for name in step.metrics if scored.kind != "metric" or name == scored.name]
                by_key: dict[tuple[str, str], Interval | None] = {("metric", name): metrics.get(name) for name in names}
            else:
                by_key = {("fingerprint", step.fingerprint): ranges.of_step(scenario, step)}
            if any(range_ is None or range_.ends[place] is None for range_ in by_key.values()):
                return None
            worst |= {key: float(range_[place]) for key, range_ in by_key.items() if range_ is not None}
    return _by_row(worst) if worst else None


def _by_row(values: Mapping[tuple[str, str], float]) -> str:
    """Return the SQL that picks a row's value by its metric or fingerprint: `values` has the column and its content as
    keys."""
    if len(set(values.values())) == 1:
        return _number(next(iter(values.values())))
    whens = " ".join(
        f"when {column} = {quoted(name)} then {_number(value)}" for (column, name), value in sorted(values.items())
    )
    return f"case {whens} end"


def _number(value: float) -> str:
    return f"({float(value)!r}::double)"


Labels = Literal["none", "judges", "people"]
"""The scores that count: all scores of judges, those of judges on replies that people graded at random, or the grades
by people in their place."""
Weights = Mapping[str, Mapping[str, float]]
"""The weights of metrics, by scenario and metric."""
CONVERSATION = '"of conversation"'
"""The column with the number of the conversation that a reply follows. Axes have no space in their names, so the column
collides with none."""


NODES = ".nodes"
"""The suffix of a dimension that goes by every node above a path."""
_WORD = re.compile(r"\w+")


def columns(dims: Sequence[str], of: str = "") -> str:
    """Return the columns of a cell: the model, then the dimensions.

    >>> columns(("hint",), "c1")
    'c1.model, c1."hint"'
    """
    prefix = f"{of}." if of else ""
    return ", ".join(f"{prefix}{name}" for name in ("model", *map(named, dims)))


def ordered(aggregate: str, value: str) -> str:
    """Return an aggregate that takes its numbers in ascending order. In another order the last bits of a sum differ, so
    a figure would depend on how its rows are stored.

    >>> ordered("sum", "influence ** 2")
    'sum(influence ** 2 order by influence ** 2)'
    """
    return f"{aggregate}({value} order by {value})"


def same(one: str, other: str, dims: Sequence[str]) -> str:
    """Return the SQL condition that rows of two tables belong to one cell; a dimension that a scenario lacks is NULL in
    both."""
    conditions = [f"{one}.model = {other}.model"]
    conditions += [f"{one}.{named(dim)} is not distinct from {other}.{named(dim)}" for dim in dims]
    return " and ".join(conditions)


@dataclass
class Parts:
    """The common table expressions of a query, in order."""

    expressions: list[tuple[str, str]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, stem: str, body: str) -> str:
        """Add an expression under a new name that starts with `stem`, and return that name."""
        self.counts[stem] = self.counts.get(stem, 0) + 1
        name = f"{stem}{self.counts[stem]}"
        self.expressions.append((name, body))
        return name

    def query(self, answer: str) -> Query:
        """Return the query with these expressions and a final `select`."""
        return Query(dict(self.expressions), answer)


@dataclass(frozen=True)
class Query:
    """A query: its common table expressions by name, in order, and its final `select`."""

    parts: Mapping[str, str]
    answer: str

    @property
    def text(self) -> str:
        """Return the SQL text."""
        parts = ", ".join(f"{name} as (\n{indented(body)}\n)" for name, body in self.parts.items())
        return f"with {parts}\n{self.answer}" if parts else self.answer

    def needed(self, *names: str) -> dict[str, str]:
        """Return these parts and all parts that they read, in order."""
        words = set(names)
        read_parts: dict[str, str] = {}
        for name, body in reversed(list(self.parts.items())):
            if name in words:
                read_parts[name] = body
                words.update(_WORD.findall(body))
        return dict(reversed(list(read_parts.items())))

    def without(self, *names: str) -> Query:
        """Return the query without these parts, and without parts that only they read."""
        query = Query({name: body for name, body in self.parts.items() if name not in names}, self.answer)
        return Query(query.needed(*_WORD.findall(self.answer)), self.answer)


def indented(text: str) -> str:
    """Indent lines of SQL."""
    return "\n".join(f"  {line}" for line in text.splitlines())


ELEMENT_PLACE = "element_place"
"""The column that distinguishes the elements of a list."""


@dataclass(frozen=True)
class RowSelection:
    """A selection of rows: the dimensions that split them into cells, the values that a slice fixes, and whose scores
    count."""

    dims: tuple[str, ...] = ()
    fixed: tuple[tuple[str, str], ...] = ()
    graders: Graders = "counted"
    labels: Labels = "none"
    unread: tuple[tuple[str, End], ...] = ()
    """The scores whose unreadable replies count as wrong, by name, each with the worst end of its range. Empty if they
    are left out, or treated as the measure says."""

    @property
    def per_evaluator(self) -> bool:
        """True if evaluators are kept separate, or one is named."""
        return self.graders == "each" or "evaluator" in dict(self.fixed)


def condition(plan: Plan, scored: ScoredStep, cut: RowSelection) -> str:
    """Return the SQL condition for the rows of a scored step in a view, by the graders of the selection."""
    column = {"scorer": "scorer", "compare": "step"}.get(scored.kind, "metric")
    within = f" and scenario = {quoted(scored.within)}" if scored.within is not None else ""
    return f"{column} = {quoted(scored.name)}{within}{_by_graders(plan, scored, cut)}"


def has_separate_scores(plan: Plan, scored: ScoredStep) -> bool:
    """Return true if a scored step has scores by people that are kept separate from others."""
    return bool(set(_judges_of(scored)) & set(separate_people_scorers(plan)))


def _by_graders(plan: Plan, scored: ScoredStep, cut: RowSelection) -> str:
    """Return the SQL condition, after ` and`, for the scores by people, or for all others; empty if the selection does
    not separate them."""
    if cut.per_evaluator or not has_separate_scores(plan, scored):
        return ""
    judges = _judges_of(scored)
    has_computed = len(judges) < len(scored.steps)
    by_person = is_separate_person(plan, scorers=None if has_computed else set(judges))
    if cut.graders == "people":
        return f" and {by_person}"
    return f" and not coalesce({by_person}, false)" if has_computed else f" and not {by_person}"


def _judges_of(scored: ScoredStep) -> list[str]:
    """Return the scorer of each step that a judge scores; for scores of elements, only if the judge's choice is the
    score."""
    graded = [step.scorer for step in scored.steps if isinstance(step, Grade | Compare)]
    return graded + [step.judge for step in scored.steps if isinstance(step, Score) and step.judge is not None]


def weights_of(scored: ScoredStep) -> Weights:
    """Return the weights of a judge's metrics, if they differ; a single metric needs none."""
    if scored.kind != "scorer":
        return {}
    grades = {step.fingerprint: step for step in judged_steps(scored)}
    by_scenario: dict[str, dict[str, float]] = {}
    for scenario in scored.scenarios:
        grade = next(grades[step.fingerprint] for step in scenario.steps if step.fingerprint in grades)
        by_scenario[scenario.name] = grade_weights(grade)
    alike = {weight for weights in by_scenario.values() for weight in weights.values()}
    return by_scenario if len(alike) > 1 else {}


def grade_weights(grade: Grade) -> dict[str, float]:
    """Return the weights of the metrics of a judge in a scenario."""
    return dict(zip(grade.metrics, grade.weights or (1.0,) * len(grade.metrics), strict=True))


def weight_sql(weights: Weights) -> str:
    """Return the SQL of the weight of a row, 1 by default."""
    rows = [
        f"when scenario = {quoted(scenario)} and metric = {quoted(metric)} then {weight!r}"
        for scenario, metrics in weights.items()
        for metric, weight in metrics.items()
        if weight != 1
    ]
    return "\n      ".join(["case", *rows, "else 1 end"]) if rows else "1"


def is_choice(scored: ScoredStep) -> bool:
    """Return true if judges choose among names."""
    return scored.stored and scored.type.kind == "choice"


def given_column(scored: ScoredStep) -> str:
    """Return the column of a view that holds the name or the text of a scored step."""
    return "given" if scored.kind == "column" else "choice"


def rows_sql(
    plan: Plan, scored: ScoredStep, cut: RowSelection, more: Sequence[str] = (), worst: str | None = None
) -> str:
    """Return the SQL of the rows of a scored step: `model`, the dimensions, `item_id`, `cluster_id`, `sample_id`,
    `value`, `given`, and the columns `more`. `worst` is the SQL of the value of unread replies."""
    view = "columns" if scored.kind == "column" else "scores"
    given_sql = "given" if scored.kind == "column" else "NULL::varchar as given"
    if is_choice(scored):
        given_sql = "to_json(choice)::varchar as given"
    value = "value"
    if worst is not None:
        value = f"case when {is_unread(given_column(scored))} then {worst} else value end as value"
    own = [name for name in ("scenario", "metric") if name not in cut.dims]
    picked = [columns(cut.dims), *own, "item_id", "cluster_id", "sample_id", value, given_sql, *more]
    return _from_view(plan, view, picked, scored, cut)


def compared_sql(plan: Plan, scored: ScoredStep, cut: RowSelection, more: Sequence[str] = ()) -> str:
    """Return the SQL of comparisons: the dimensions, the arms, the columns that identify the replies and the judge, and
    the columns `more`."""
    own = [
        "item_id",
        "cluster_id",
        "evaluator",
        "first_model",
        "second_model",
        "first_sample_id",
        "second_sample_id",
        '"round"',
    ]
    arms = [named(arm) for arm in arm_columns(plan)]
    picked = dict.fromkeys([*map(_dimension_name, cut.dims), "scenario", *own, *arms, "value", *more])
    return _from_view(plan, "comparisons", list(picked), scored, cut)


def with_conversation(plan: Plan, parts: Parts, rows: str, scored: ScoredStep) -> str:
    """Return the name of a table of the rows with the number of the conversation that each reply follows; the given
    table if no reply follows one of several conversations."""
    conversations = conversations_before(scored)
    if not conversations:
        return rows
    numbers = " ".join(
        f"when {quoted(fingerprint)} then sample_number % {count}" for fingerprint, count in conversations.items()
    )
    conversation_of_sample = parts.add(
        "conversations",
        f"""select distinct sample_id, case fingerprint {numbers} end as {CONVERSATION}
from {named(plan.benchmark.name)}.samples
where fingerprint in ({", ".join(map(quoted, conversations))})""",
    )
    return parts.add("rows", f"select * from {rows} left join {conversation_of_sample} using (sample_id)")


def with_sample_numbers(plan: Plan, parts: Parts, rows: str) -> str:
    """Return the name of a table of the rows with the number of each sample."""
    samples = f"{named(plan.benchmark.name)}.samples"
    numbers = parts.add("numbers", f"select distinct sample_id, sample_number\nfrom {samples}")
    return parts.add("rows", f"select * from {rows} left join {numbers} using (sample_id)")


def _dimension_name(dim: str) -> str:
    """Return the SQL name of a dimension, without quotes if it is built in, so that it equals a column that is selected
    anyway."""
    return dim if dim in BUILT_IN_DIMENSIONS else named(dim)


def _from_view(plan: Plan, view: str, picked: Sequence[str], scored: ScoredStep, cut: RowSelection) -> str:
    """Return the SQL of the columns `picked` of the rows of a scored step in a view, with the dimensions that are not
    columns of the view: fields of elements, fields of items, groups of axis values, and nodes of paths."""
    schema = named(plan.benchmark.name)
    dims = dict.fromkeys((*cut.dims, *(name for name, _ in cut.fixed)))
    elements = [name for name in dims if goes_by_elements(scored, name)]
    fields = dict.fromkeys(name for name in dims if "." in name and name not in elements)
    lines = [f"select {', '.join(picked)}", f"from {schema}.{view}"]
    if elements:
        element_fields = ", ".join(f"element_value ->> {quoted(path_of(name))} as {named(name)}" for name in elements)
        is_known = "element_place is not null"  # a reply whose list is unknown belongs to no cell
        lines[-1] = f"from (select *, {element_fields} from {schema}.{view} where {is_known})"
    groups = [name for name in fields if name.partition(".")[0] in {axis.name for axis in plan.axes}]
    nodes = [name for name in fields if _goes_by_nodes(plan, scored, name)]
    plain = [f"fields ->> {quoted(path_of(name))} as {named(name)}" for name in fields if name not in (*groups, *nodes)]
    # Each list of nodes needs a separate join: two lists unnested in parallel would not be combined.
    for joined in [", ".join(plain), *(f"{_nodes_sql(name)} as {named(name)}" for name in nodes)]:
        if joined:
            items = f"select scenario, item_id, {joined} from {schema}.items"
            lines.append(f"left join ({items}) using (scenario, item_id)")
    lines += [_groups_sql(plan, name) for name in groups]
    fixed = "".join(f" and {named(name)} = {quoted(value)}" for name, value in cut.fixed)
    lines.append(f"where {condition(plan, scored, cut)}{fixed} and status <> 'not_applicable'")
    return "\n".join(lines)


def goes_by_elements(scored: ScoredStep, dim: str) -> bool:
    """Return true if a dimension is the scored element, or a field of it."""
    return dim.partition(".")[0] in {element_name(step) for step in scored.steps}


def _groups_sql(plan: Plan, name: str) -> str:
    """Return the join that adds the group of a row's axis value: `stage.group`."""
    axis = next(axis for axis in plan.axes if axis.name == name.partition(".")[0])
    rows = ", ".join(
        f"({quoted(value.name)}, {quoted(value.group)})" for value in axis.values if value.group is not None
    )
    column = f"{axis.name} value"
    groups = f"select * from (values {rows}) as groups ({named(column)}, {named(name)})"
    return f"left join ({groups}) on {named(axis.name)}::varchar = {named(column)}"


def _nodes_sql(name: str) -> str:
    """Return the SQL of the nodes above or at the path of a row, from the top: `q.point.nodes`."""
    names = f"string_split(fields ->> {quoted(path_of(name.removesuffix(NODES)))}, {quoted(BETWEEN)})"
    upper = f"array_to_string({names}[:depth], {quoted(BETWEEN)}) for depth in range(1, len({names}) + 1)"
    return f"unnest([{upper}])"


def _goes_by_nodes(plan: Plan, scored: ScoredStep, name: str) -> bool:
    """Return true if a dimension means the nodes of a path, and is not a field of that name."""
    if not name.endswith(NODES):
        return False
    alias, *path = name.removesuffix(NODES).split(".")
    dataset_names = {
        scenario.rows.dataset
        for scenario in scored.scenarios
        if scenario.rows is not None and scenario.rows.alias == alias
    }
    datasets: list[Dataset | GeneratedDataset] = [*plan.datasets, *plan.made]
    type_: Type | None = RecordType(
        fields={f.name: f.type for dataset in datasets if dataset.name in dataset_names for f in dataset.fields}
    )
    for step in path:
        type_ = type_.of if type_ is not None and type_.kind == "optional" else type_
        type_ = type_.fields.get(step) if type_ is not None and type_.kind == "record" else None
    return type_ is not None and (type_.of if type_.kind == "optional" else type_).kind == "path"


def path_of(name: str) -> str:
    """Return the JSON path of a field in the JSON of its item.

    >>> path_of("q.subject"), path_of("q.source.book")
    ('$."subject"', '$."source"."book"')
    """
    return "".join(["$", *(f'."{part}"' for part in name.split(".")[1:])])


def given_value(missing: Missing) -> str:
    """Return the SQL of the column `value`, with 0 for a missing value if `missing` is `zero`."""
    return "coalesce(value, 0)" if missing == "zero" else "value"


WITH_AXES = ("scores", "columns", "comparisons")
"""The views with a column for each axis and arm."""
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"(?P<schema>\.)?|(?P<word>\w+)""")


def renamed(text: str, schema: str, axes: Iterable[str], dims: Iterable[str]) -> str:
    """Return a query in which no axis or arm has a name that the query uses for something else; the same query if there
    is no collision. `dims` are the dimensions that the query returns.

    Generated SQL quotes the names of axes and arms, and no other name without a space. So unquoted words belong to the
    query, and a quoted name that equals one of them is replaced by another, which the query also gives to that column
    of the views.

    >>> print(renamed('select "n", count(*) as n\\nfrom "b".scores group by "n"', "b", ["n"], ["n"]))
    select * exclude ("its n"), "its n" as "n"
    from (
      select "its n", count(*) as n
      from (select * exclude ("n"), "n" as "its n" from "b".scores) group by "its n"
    )
    """
    words = {match["word"].casefold() for match in _TOKEN.finditer(text) if match["word"]}
    new_names = {axis: named(f"its {axis}") for axis in axes if axis.casefold() in words}
    if not new_names:
        return text
    new_columns = {named(axis): new_name for axis, new_name in new_names.items()}

    def new_token(token: re.Match[str]) -> str:
        return token[0] if token["schema"] else new_columns.get(token[0], token[0])

    written = _TOKEN.sub(new_token, text)
    if written == text:
        return text
    columns = ", ".join(new_columns)
    aliases = ", ".join(f"{column} as {new_column}" for column, new_column in new_columns.items())
    for view in WITH_AXES:
        read = f"{named(schema)}.{view}"
        written = re.sub(
            rf"{re.escape(read)}\b", lambda match: f"(select * exclude ({columns}), {aliases} from {match[0]})", written
        )
    renamed_dims = {dim: new_names[dim] for dim in dims if dim in new_names}
    if not renamed_dims:
        return written
    original = ", ".join(f"{new_name} as {named(dim)}" for dim, new_name in renamed_dims.items())
    return f"select * exclude ({', '.join(renamed_dims.values())}), {original}\nfrom (\n{indented(written)}\n)"


PAIR = "pair"
"""The dimension with a value for every pair of evaluators."""
PAIR_SEPARATOR = " & "
"""The text between the two evaluators in a value of `PAIR`."""
REPLY_TO_ITEM = '"of item" || chr(31) || subject'
"""The SQL of the subject of a rating with its item as a prefix; `query.aggregates` splits them at the separator."""


IS_ITEM = "not starts_with(cluster_id, chr(31))"
"""The condition that a unit is an item, and not the study behind a rate of a judge (`query.aggregates.STUDY`)."""

Conditions = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RowSource:
    """The rows that an aggregate reads: `required` are the columns that select them, each with its value in SQL, and
    `conditions` further facts about them. A dimension of the aggregate has the value of the cell, `base`."""

    required: Conditions = ()
    conditions: Conditions = ()


NO_SOURCE = RowSource()


@dataclass(frozen=True)
class FigureTables:
    """The tables of a figure, and the dimensions of its cells."""

    cells: str
    leaves: str
    """The table of leaf cells, each with its derivative (`influences`)."""
    dims: tuple[str, ...]
    influences: tuple[str, ...] = ()
    """The tables of the influences of units on leaf cells, of this figure and of its parts."""
    is_leaf: bool = False
    """True if each cell is a single leaf cell (`influences`)."""
    drawn: str | None = None
    """The table of `draws`: the value of every cell in each bootstrap draw. Only for figures whose influences give no
    interval, such as a median and its formulas."""
    classes: bool = False
    """True if the cells have `classes`: the shares of classes of which some have few items, and the items of each."""
    limited: bool = False
    """True if the cells have `limits`: the ends of an interval that does not come from their error."""
    has_counted_items: bool = False
    """True if the cells have `items that count` and `all items`, as a chance of several tries has."""
    rows: RowSource = NO_SOURCE
    """The rows that the figure reads, if it is an aggregate of scores, or of cells of such an aggregate."""
    row_sources: tuple[FigureTables, ...] = ()
    """For a formula, or an aggregate of cells of one: the tables of every aggregate of scores that it reads."""
    is_nonlinear: bool = False
    """True if it is a nonlinear formula, or made of one."""
    has_bias_bound: bool = False
    """True if the cells have an `excess`: the estimated upward bias of the value."""
    trial: str | None = None
    """For a nonlinear figure inside an aggregate of cells: the table of draws that estimates its bias; no interval
    comes from it."""


def without_pair(dims: Sequence[str]) -> tuple[str, ...]:
    """Return the dimensions without the pair of evaluators, which is not a column of the views but follows from the
    ratings."""
    return tuple(dim for dim in dims if dim != PAIR)


def by_pair(parts: Parts, rows: str) -> str:
    """Return the name of a table of the ratings, each repeated for every pair that its rater belongs to."""
    raters = f"(select distinct rater from {rows} where rater is not null)"
    pair = f"one.rater || {quoted(PAIR_SEPARATOR)} || other.rater"
    pairs = parts.add(
        "pairs",
        f"""select one.rater as one, other.rater as other, {pair} as {named(PAIR)}
from {raters} as one join {raters} as other on one.rater < other.rater""",
    )
    return parts.add(
        "rows",
        f"""select r.*, {named(PAIR)}
from {rows} as r join {pairs} as p on r.rater in (p.one, p.other)""",
    )


def pool_models(parts: Parts, rows: str) -> str:
    """Return the name of a table of the same rows with one empty model, so that a cell has the rows of all models."""
    return parts.add("rows", f"select * replace ('' as model)\nfrom {rows}")


def repeat_by_model(parts: Parts, node: FigureTables, rows: str) -> FigureTables:
    """Return a figure of all models together, repeated for each model, so that it can be combined with figures by
    model."""
    models = parts.add("models", f"select distinct model\nfrom {rows}")
    cells = f"select c.* replace (m.model as model)\nfrom {node.cells} as c cross join {models} as m"
    leaves = f"select l.* replace (m.model as model)\nfrom {node.leaves} as l cross join {models} as m"
    return replace(node, cells=parts.add("cells", cells), leaves=parts.add("leaves", leaves))


def row_source(figure: Aggregate, scored: Sequence[ScoredStep], cut: RowSelection) -> RowSource:
    """Return the description of the rows that an aggregate reads in a cell."""
    first = scored[0]
    required = {"": quoted(_TABLES.get(first.kind, "scores"))}
    if first.within is not None:
        required["scenario"] = quoted(first.within)
    column = _COLUMNS.get(first.kind, "metric")
    required[column] = quoted(" ".join(step.name for step in scored))
    if figure.across is not None:
        required["its role"] = quoted(figure.across)
    declaration = declared_aggregate(figure.function)
    if figure.of is not None and declaration.single_value:
        required["its cell"] = quoted(figure.function)
    if declaration.both_orders:
        required["its orders"] = quoted("both")
    if not cut.per_evaluator:
        required["its graders"] = quoted(cut.graders)
    required |= {name: quoted(value) for name, value in cut.fixed}
    required |= {name: f"base.{named(name)}" for name in cut.dims}
    return RowSource(tuple(required.items()), (*_implied_scorer(first), *_implied_graders(cut)))


def _implied_scorer(scored: ScoredStep) -> Conditions:
    """Return the condition that rows of a score or a metric are by a scorer, if there is only one."""
    scorers = {step.scorer for step in judged_steps(scored)} if scored.kind in ("score", "metric") else set()
    return (("scorer", quoted(scorers.pop())),) if len(scorers) == 1 else ()


def _implied_graders(cut: RowSelection) -> Conditions:
    """Return the condition that the graders are those that count, if a slice names a model as the evaluator."""
    evaluator = dict(cut.fixed).get("evaluator")
    return () if evaluator is None or evaluator.startswith(HUMAN) else (("its graders", quoted("counted")),)


def count_without_overlap(parts: Sequence[tuple[str, RowSource]], column: str) -> str:
    """Return the SQL of the sum of a column over the tables `parts`, each with its alias, in a cell `base`. A part
    counts as 0 in cells where all its rows are among those of another part."""
    terms = []
    for place, (name, rows) in enumerate(parts):
        contained_if: list[str] = []
        for other, (_, wider) in enumerate(parts):
            contained = _contained(rows, wider)
            if other == place or contained is None:
                continue
            back = _contained(wider, rows) if other > place else None  # of equal parts only the first counts
            if back is None:
                contained_if.append(" and ".join(contained) or "true")
            elif not set(back) <= set(contained):
                contained_if.append(" and ".join([*contained, f"not ({' and '.join(back)})"]))
        plain = f"coalesce({name}.{column}, 0)"
        if not contained_if:
            terms.append(plain)
        elif "true" not in contained_if:
            terms.append(f"case when {' or '.join(contained_if)} then 0 else {plain} end")
    return " + ".join(terms)


def _contained(rows: RowSource, wider: RowSource) -> tuple[str, ...] | None:
    """Return the conditions on a cell under which the rows are among the wider ones; None if they never are."""
    known = dict(rows.conditions) | dict(rows.required)
    conditions = []
    for name, value in wider.required:
        own = known.get(name)
        if own is None or (own != value and not (own.startswith("base.") or value.startswith("base."))):
            return None
        if own != value:
            conditions.append(" is not distinct from ".join(sorted((own, value))))
    return tuple(conditions)


def over_cells(
    parts: Parts, inner: FigureTables, cells: str, dims: tuple[str, ...], of_one: Aggregate | None
) -> tuple[FigureTables, ...]:
    """Return the tables of every aggregate of scores that an aggregate of the cells of a formula reads, with the number
    of scores in its own cells.

    `inner` are the tables of the formula, `cells` is the name of the table of its cells with their weights. `of_one` is
    the aggregate if its value is that of one of the cells, such as a minimum: then only this cell is counted.
    """
    sources = []
    for tables in inner.row_sources:
        own = columns(tuple(dict.fromkeys([*dims, *tables.dims])))
        chosen = "" if of_one is None else ' where weight <> 0 or "number of cells" = 0'
        counts = parts.add(
            "counts",
            f"""select {columns(dims, "b")}, sum(t.n) as n, sum(t.total) as total
from (select distinct {own} from {cells}{chosen}) as b left join {tables.cells} as t on {same("b", "t", tables.dims)}
group by {columns(dims, "b")}""",
        )
        sources.append(FigureTables(counts, "", dims, rows=row_source_of_cells(tables, dims, of_one)))
    return tuple(sources)


def row_source_of_cells(node: FigureTables, dims: tuple[str, ...], of_one: Aggregate | None) -> RowSource:
    """Return the description of the rows that an aggregate of the cells of a figure reads. `of_one` is the aggregate if
    its value is that of one of the cells: then the rows are those of a cell that is not known here."""
    inside = {f"base.{named(dim)}" for dim in node.dims if dim not in dims}
    required = [pair for pair in node.rows.required if pair[1] not in inside]
    if of_one is not None:
        its_cell = quoted(of_one.model_dump_json())
        required += [(name, its_cell) for name, value in node.rows.required if value in inside]
    return RowSource(tuple(required), node.rows.conditions)


_TABLES = {"compare": "comparisons", "column": "columns"}
_COLUMNS = {"scorer": "scorer", "compare": "step"}
