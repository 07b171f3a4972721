"""The values of a measure's dimensions, in the order and words of the plan, and the arms of shared results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from typing import Any

from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.plan import ArmValue, Ask, AxisValue, Column, Converse, Grade, Labels, Plan, Score, Treatment
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql

LANGUAGE = "language"


@dataclass(frozen=True)
class Enumerations:
    """The types of one benchmark's schema: the statements that make them, and the type of each column that has one."""

    statements: tuple[str, ...]
    types: Mapping[str, str]

    def cast(self, column: str, expression: str) -> str:
        """`expression` as what the column is, under the column's name.

        Tried, since a condition on the column may be looked at before the one that leaves out other benchmarks' rows.
        """
        type_ = self.types.get(column)
        value = expression if type_ is None else f"try_cast({expression} as {type_})"
        return f"{value} as {sql.name(column)}"


def enumerations(plan: Plan, values: Mapping[str, Sequence[str]]) -> Enumerations:
    """Return those of a plan. What the data have beside what the plan lists (`values`) sorts after it, by name.

    A column without any value stays text, since an enumeration of nothing cannot be made.
    """
    schema = sql.name(plan.benchmark.name)
    statements, types = [], {}
    for column, listed in _positions(plan).items():
        every = dict.fromkeys([*listed, *sorted(values.get(column, ()))])
        if every:
            types[column] = f"{schema}.{sql.name(column)}"
            statements.append(f"create or replace type {types[column]} as enum ({', '.join(map(sql.text, every))})")
    return Enumerations(tuple(statements), types)


def _positions(plan: Plan) -> dict[str, Iterable[str]]:
    computed = (step.name for scenario in plan.scenarios for step in scenario.steps if isinstance(step, Score))
    columns: dict[str, Iterable[str]] = {
        "scenario": [scenario.name for scenario in plan.scenarios],
        "metric": [*(metric.name for metric in plan.metrics), *computed],
        "dimension": [metric.dimension for metric in plan.metrics],
        LANGUAGE: plan.benchmark.languages,
    }
    axes = {axis.name: [value.name for value in axis.values] for axis in plan.axes}
    return columns | axes | {arm.name: [value.name for value in arm.values] for arm in plan.arms}


def dimension_label(plan: Plan, dimension: str, value: Any, language: str | None = None) -> str:
    """Return what to print for a value of a dimension: a title of the plan, or the value itself.

    `language` is that of the reader; by default the first of the benchmark. `None`, which a row without that axis has,
    is `—`.
    """
    if value is None:
        return "—"
    titles: dict[str, str] = {}
    match dimension:
        case "metric":
            titles = {metric.name: _in(metric.title, plan, language) for metric in plan.metrics}
        case "scenario":
            titles = {
                each.name: plan.title_of("scenario", each.name, language) or each.title for each in plan.scenarios
            }
        case "dimension" if language is not None:
            return plan.title_of("dimension", str(value), language) or str(value)
        case _:
            titles = {each.name: _in(each.labels, plan, language) for each in _values(plan, dimension)}
    return titles.get(str(value)) or str(value)


def dimension_heading(plan: Plan, dimension: str, language: str) -> str:
    """Return what to print above the values of a dimension: the title of its axis or arm, or its name."""
    title = plan.title_of("axis", dimension, language) or plan.title_of("arm", dimension, language)
    return title or localized(dimension.replace("_", " "), language)


def dimension_place(plan: Plan, dimension: str) -> Callable[[Any], tuple[int, str]]:
    """Return a sort key for values of a dimension: those that the plan lists come first, in its order."""
    listed = {value: index for index, value in enumerate(dict.fromkeys(_listed(plan, dimension)))}
    return lambda value: (listed.get(value, len(listed)), "" if value is None else str(value))


def _listed(plan: Plan, dimension: str) -> list[str]:
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
    """Return the values of the axis, or the arm, of that name."""
    found: list[AxisValue | ArmValue] = [each for axis in plan.axes if axis.name == dimension for each in axis.values]
    return found + [each for arm in plan.arms if arm.name == dimension for each in arm.values]


def _in(labels: Labels, plan: Plan, language: str | None) -> str:
    for choice in (language, *plan.benchmark.languages):
        if choice is not None and choice in labels:
            return labels[choice]
    return ""


def arm_columns(plan: Plan) -> list[str]:
    """Return the columns of the arms, in plan order."""
    return [arm.name for arm in plan.arms]


def last_turns(plan: Plan, apart: Sequence[str] = ()) -> str:
    """Return a benchmark's samples as a table of SQL, without those after which another turn of the same ask with
    several prompts came, or one for a later element of its list: a score of that is kept with its last reply. All turns
    of the steps `apart` are there."""
    samples = f"{sql.name(plan.benchmark.name)}.samples"
    if not any(isinstance(step, Ask) and step.script for scenario in plan.scenarios for step in scenario.steps):
        return samples
    # With their table: a macro that has a parameter of a column's name could not be made (`run_rows.py`).
    turn = r"try_cast(regexp_extract(said.step, '\((\d+)\)$', 1) as integer)"
    chat = ["shown_run", "scenario", "item_id", "model", "sample_number", *map(sql.name, arm_columns(plan))]
    same = f"{', '.join(f'said.{name}' for name in chat)}, regexp_replace(said.step, '\\(\\d+\\)$', '')"
    whole = f" or said.step in ({', '.join(map(sql.text, apart))})" if apart else ""
    return f"(from {samples} as said qualify {turn} is null or {turn} = max({turn}) over (partition by {same}){whole})"


def join_arms(plan: Plan, row: str, *, asked: bool = False) -> str:
    """Return the join that puts each arm's value beside the rows known as `row`, one for every combination that has the
    step; the combinations are known as `treatment`. Rows of a scenario without arms stay single, with NULL for every
    arm. With `asked` they are rows of what was asked for, each with the `conditions` that held for it."""
    if not plan.arms:
        return ""
    arms = [arm.name for arm in plan.arms]
    found: dict[tuple[str | None, ...], set[str]] = {}
    for scenario in plan.scenarios:
        for treatment in scenario.treatments:
            for step in treatment.steps if treatment.arms else ():
                for fingerprint in (step.fingerprint, getattr(step, "judgement", step.fingerprint)):
                    key = (fingerprint, *(treatment.arms.get(arm) for arm in arms))
                    found.setdefault(key, set()).add(getattr(step, "condition", ""))
    columns = ", ".join(["fingerprint", *map(sql.name, arms)])
    under = asked and plan.conditional
    if not found:
        nothing = ", ".join(["NULL::varchar"] * (1 + len(arms)))
        values = f"select * from (values ({nothing})) as treatment ({columns}) where false"
    else:
        columns += ", conditions" if under else ""
        values = ", ".join(
            f"({', '.join([*map(sql.optional_text, each), *([_listed_texts(conditions)] if under else [])])})"
            for each, conditions in found.items()
        )
        values = f"select * from (values {values}) as treatment ({columns})"
    holds = ""
    if under and found:
        holds = f" and (treatment.conditions is null or list_has_any({row}.conditions, treatment.conditions))"
    return f"\n        left join ({values}) as treatment on treatment.fingerprint = {row}.fingerprint{holds}"


def _listed_texts(conditions: AbstractSet[str]) -> str:
    """Return some conditions as a list of SQL; NULL where one of them is that there is none."""
    return "NULL::varchar[]" if "" in conditions else sql.texts(sorted(conditions))


@dataclass(frozen=True)
class Baselines:
    """The scores in which no compared model took part: their `fingerprints`; `alone` are the fingerprints, by scenario,
    of those whose scenario has no others."""

    fingerprints: tuple[str, ...]
    alone: dict[str, tuple[str, ...]]


def baselines(plan: Plan, compared: str) -> Baselines:
    """Return the baselines of a plan, where the role `compared` is the one that is compared."""
    found: dict[str, None] = {}
    alone: dict[str, tuple[str, ...]] = {}
    for scenario in plan.scenarios:
        own: dict[str, bool] = {}
        for treatment in scenario.treatments:
            own |= _about(treatment, compared)
        without = tuple(fingerprint for fingerprint, about in own.items() if not about)
        found |= dict.fromkeys(without)
        if len(without) == len(own) and without:
            alone[scenario.name] = without
    return Baselines(tuple(found), alone)


def shows_several_times(plan: Plan, compared: str) -> bool:
    """Return true if the views of a benchmark may show one result in several rows."""
    return bool(plan.arms) or bool(baselines(plan, compared).fingerprints)


def _about(treatment: Treatment, compared: str) -> dict[str, bool]:
    """Of every score's fingerprint, whether the score is about the compared models."""
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
