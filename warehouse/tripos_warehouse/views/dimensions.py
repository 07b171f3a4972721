"""The values of a measure's dimensions in plan order with their titles and the languages of these, the columns of arms,
and baselines without a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from typing import Any

from tripos_compiler.diagnostics.diagnostic import nearest
from tripos_compiler.diagnostics.i18n import LANGUAGES, localized, matching_language
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import ArmValue, Ask, AxisValue, Column, Converse, Grade, Plan, Score, Treatment
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql

LANGUAGE = "language"
GROUP = ".group"
"""The end of the name of a dimension of the groups of an axis."""


@dataclass(frozen=True)
class Enumerations:
    """The enumeration types of one benchmark's schema: their statements, and the type of each column that has one."""

    statements: tuple[str, ...]
    types: Mapping[str, str]

    def cast(self, column: str, expression: str) -> str:
        """Return `expression` cast to the type of the column, under the column's name.

        It is `try_cast`, since a condition on the column may be evaluated before the one that excludes other
        benchmarks.
        """
        type_ = self.types.get(column)
        value = expression if type_ is None else f"try_cast({expression} as {type_})"
        return f"{value} as {sql.name(column)}"


def enumerations(plan: Plan, values: Mapping[str, Sequence[str]]) -> Enumerations:
    """Return the enumerations of a plan. Values of the data (`values`) that the plan does not list follow those that it
    lists, sorted by name.

    A column without values stays text, since an enumeration cannot be empty.
    """
    schema = sql.name(plan.benchmark.name)
    statements, types = [], {}
    for column, listed in _planned_values(plan).items():
        names = dict.fromkeys([*listed, *sorted(values.get(column, ()))])
        if names:
            types[column] = f"{schema}.{sql.name(column)}"
            statements.append(f"create or replace type {types[column]} as enum ({', '.join(map(sql.text, names))})")
    return Enumerations(tuple(statements), types)


def _planned_values(plan: Plan) -> dict[str, Iterable[str]]:
    """Return the values of each enumeration column that the plan lists, in its order."""
    computed = (step.name for scenario in plan.scenarios for step in scenario.steps if isinstance(step, Score))
    columns: dict[str, Iterable[str]] = {
        "scenario": [scenario.name for scenario in plan.scenarios],
        "metric": [*(metric.name for metric in plan.metrics), *computed],
        "dimension": [metric.dimension for metric in plan.metrics],
        LANGUAGE: plan.benchmark.languages,
    }
    axes = {axis.name: [value.name for value in axis.values] for axis in plan.axes}
    return columns | axes | {arm.name: [value.name for value in arm.values] for arm in plan.arms}


def reader_language_in(wanted: str, plans: Iterable[Plan]) -> str:
    """Return the language of the plans, or of Tripos, that a reader names. Raises `TriposError` R0202 if none has
    it."""
    of_titles = list(dict.fromkeys(language for plan in plans for language in plan.title_languages))
    known = [*of_titles, *(language for language in LANGUAGES if language not in of_titles)]
    if (found := matching_language(wanted, known)) is not None:
        return found
    titles = ", ".join(f"`{language}`" for language in of_titles) or "none"
    hint = f"titles are in {titles}; Tripos has words in {', '.join(f'`{language}`' for language in LANGUAGES)}"
    if (close := nearest(wanted, known)) is not None:
        hint = f"did you mean `{close}`? {hint}"
    raise TriposError("R0202", f"nothing here is in the language `{wanted}`", hint)


def dimension_label(plan: Plan, dimension: str, value: Any, language: str | None = None) -> str:
    """Return the text for a value of a dimension: a title in the plan, or the value itself.

    `language` is that of the reader, by default the first of the benchmark. The text for None, the value of a row
    without that axis, is `—`.
    """
    if value is None:
        return "—"
    titles: dict[str, str] = {}
    match dimension:
        case "metric":
            titles = {metric.name: plan.text_in(metric.title, language) or "" for metric in plan.metrics}
        case "scenario":
            titles = {
                scenario.name: plan.title_of("scenario", scenario.name, language) or scenario.title
                for scenario in plan.scenarios
            }
        case "dimension" if language is not None:
            return plan.title_of("dimension", str(value), language) or str(value)
        case _ if (axis := dimension.removesuffix(GROUP)) != dimension:
            return plan.title_of("group", f"{axis}.{value}", language) or str(value)
        case _:
            titles = {named.name: plan.text_in(named.labels, language) or "" for named in _values(plan, dimension)}
    return titles.get(str(value)) or str(value)


def dimension_heading(plan: Plan, dimension: str, language: str) -> str:
    """Return the heading of a dimension: the title of its axis or arm, or its name."""
    axis = dimension.removesuffix(GROUP)
    if axis != dimension and (title := plan.title_of("axis", axis, language)) is not None:
        return f"{title} ({localized('group', language)})"
    title = plan.title_of("axis", dimension, language) or plan.title_of("arm", dimension, language)
    return title or localized(dimension.replace("_", " "), language)


def dimension_place(plan: Plan, dimension: str) -> Callable[[Any], tuple[int, str]]:
    """Return a sort key for values of a dimension: those in the plan first, in its order."""
    listed = {value: index for index, value in enumerate(dict.fromkeys(listed_values(plan, dimension)))}
    return lambda value: (listed.get(value, len(listed)), "" if value is None else str(value))


def listed_values(plan: Plan, dimension: str) -> list[str]:
    """Return the values of a dimension that the plan lists, in its order; empty for one known only in a run."""
    match dimension:
        case "metric":
            return [metric.name for metric in plan.metrics]
        case "dimension":
            return [metric.dimension for metric in plan.metrics]
        case "scenario":
            return [scenario.name for scenario in plan.scenarios]
        case "language":
            return list(plan.benchmark.languages)
        case _:
            return [value.name for value in _values(plan, dimension)]


def _values(plan: Plan, dimension: str) -> list[AxisValue | ArmValue]:
    """Return the values of the axis or arm of that name."""
    values: list[AxisValue | ArmValue] = [
        value for axis in plan.axes if axis.name == dimension for value in axis.values
    ]
    return values + [value for arm in plan.arms if arm.name == dimension for value in arm.values]


# Arms
def arm_columns(plan: Plan) -> list[str]:
    """Return the columns of the arms in plan order."""
    return [arm.name for arm in plan.arms]


def last_turns(plan: Plan, with_all_turns: Sequence[str] = ()) -> str:
    """Return a benchmark's samples as a `from` item, without replies that are followed by a later turn of the same ask.

    A later turn is that of another prompt, or of a later list element: a score of the conversation is stored with its
    last reply. All turns of the steps `with_all_turns` are included.
    """
    samples = f"{sql.name(plan.benchmark.name)}.samples"
    if not any(isinstance(step, Ask) and step.script for scenario in plan.scenarios for step in scenario.steps):
        return samples
    # Qualified with their table, or a macro with a parameter of such a name could not be created (`run_rows.py`).
    turn = r"try_cast(regexp_extract(turn.step, '\((\d+)\)$', 1) as integer)"
    keys = ["shown_run", "scenario", "item_id", "model", "sample_number", *map(sql.name, arm_columns(plan))]
    ask = f"{', '.join(f'turn.{name}' for name in keys)}, regexp_replace(turn.step, '\\(\\d+\\)$', '')"
    other = f" or turn.step in ({', '.join(map(sql.text, with_all_turns))})" if with_all_turns else ""
    return f"(from {samples} as turn qualify {turn} is null or {turn} = max({turn}) over (partition by {ask}){other})"


def join_arms(plan: Plan, row: str, *, asked: bool = False) -> str:
    """Return the join that adds the value of each arm to the alias `row`, once for every combination of arms that has
    the step. The joined rows have the alias `treatment`.

    A row of a scenario without arms is not repeated, and has NULL for every arm. With `asked` the rows are requests,
    each with the `conditions` under which it was made.
    """
    if not plan.arms:
        return ""
    arms = [arm.name for arm in plan.arms]
    conditions_of: dict[tuple[str | None, ...], set[str]] = {}
    for scenario in plan.scenarios:
        for treatment in scenario.treatments:
            for step in treatment.steps if treatment.arms else ():
                for fingerprint in (step.fingerprint, getattr(step, "judgement", step.fingerprint)):
                    key = (fingerprint, *(treatment.arms.get(arm) for arm in arms))
                    conditions_of.setdefault(key, set()).add(getattr(step, "condition", ""))
    columns = ", ".join(["fingerprint", *map(sql.name, arms)])
    has_conditions = asked and plan.conditional
    if not conditions_of:
        nothing = ", ".join(["NULL::varchar"] * (1 + len(arms)))
        values = f"select * from (values ({nothing})) as treatment ({columns}) where false"
    else:
        columns += ", conditions" if has_conditions else ""
        values = ", ".join(
            f"({', '.join([*map(sql.optional_text, key), *([_listed_texts(conditions)] if has_conditions else [])])})"
            for key, conditions in conditions_of.items()
        )
        values = f"select * from (values {values}) as treatment ({columns})"
    condition = ""
    if has_conditions and conditions_of:
        condition = f" and (treatment.conditions is null or list_has_any({row}.conditions, treatment.conditions))"
    return f"\n        left join ({values}) as treatment on treatment.fingerprint = {row}.fingerprint{condition}"


def _listed_texts(conditions: AbstractSet[str]) -> str:
    """Return conditions as a SQL list; NULL if one of them is empty, which is no condition."""
    return "NULL::varchar[]" if "" in conditions else sql.texts(sorted(conditions))


# Scores without a compared model
@dataclass(frozen=True)
class Baselines:
    """The fingerprints of scores without a compared model. `alone` has those of scenarios without other scores, by
    scenario.
    """

    fingerprints: tuple[str, ...]
    alone: dict[str, tuple[str, ...]]


def baselines(plan: Plan, compared: str) -> Baselines:
    """Return the scores of a plan without a compared model. `compared` is the compared role."""
    fingerprints: dict[str, None] = {}
    alone: dict[str, tuple[str, ...]] = {}
    for scenario in plan.scenarios:
        is_about_compared: dict[str, bool] = {}
        for treatment in scenario.treatments:
            is_about_compared |= _about_compared(treatment, compared)
        without = tuple(fingerprint for fingerprint, is_about in is_about_compared.items() if not is_about)
        fingerprints |= dict.fromkeys(without)
        if len(without) == len(is_about_compared) and without:
            alone[scenario.name] = without
    return Baselines(tuple(fingerprints), alone)


def shows_several_times(plan: Plan, compared: str) -> bool:
    """Return true if the views of a benchmark may show one result in several rows."""
    return bool(plan.arms) or bool(baselines(plan, compared).fingerprints)


def _about_compared(treatment: Treatment, compared: str) -> dict[str, bool]:
    """Return whether every score of a treatment is about the compared models, by fingerprint."""
    roles: dict[str, set[str]] = {}
    for step in treatment.steps:
        if isinstance(step, Ask):
            roles[step.name] = {step.role}
        elif isinstance(step, Converse):
            roles[step.name] = {speaker.role for speaker in step.speakers}
    scores = [step for step in treatment.steps if isinstance(step, Score | Column | Grade)]
    return {
        step.fingerprint: any(compared in roles.get(name, ()) for name in (*step.needs, step.of)) for step in scores
    }
