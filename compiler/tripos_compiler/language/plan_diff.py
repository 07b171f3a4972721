"""Difference of two plans of a benchmark, and its effect on comparability.

A change is `major` if it can change a score, an existing figure, or the items behind it; `minor` if it adds something
that no earlier figure includes; `patch` if it only changes descriptions of the benchmark.

Versions are `major.minor.patch`: figures of two versions with the same `major` may be compared. Below 1.0.0 the `minor`
takes the place of the `major`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeVar, assert_never

from pydantic import BaseModel

from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.language.contexts import allowed_cells
from tripos_compiler.language.references import external_input_changes, row_identity
from tripos_compiler.plan import (
    MIRRORED,
    Aggregate,
    AtElement,
    Axis,
    Binary,
    Branches,
    Call,
    Data,
    Dataset,
    DeclaredSettings,
    Each,
    Expr,
    Figure,
    Formula,
    Get,
    Grade,
    Items,
    JudgedStep,
    Literal_,
    Measure,
    Named,
    Part,
    Plan,
    RecordValue,
    Ref,
    Scenario,
    Settings,
    Speaker,
    Step,
    StoppingCriterion,
    Treatment,
    Unary,
    canonical,
)
from tripos_compiler.plan.steps import Effect, FieldMark, field_marks
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span

# Notation of expressions

BINDING = {
    "or": 1,
    "and": 2,
    "in": 4,
    "not in": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    **dict.fromkeys(MIRRORED, 4),
}
"""Precedence of operators; `not` is between `and` and comparisons."""
NOT, NEGATION, ALONE = 3, 7, 8


def expression_notation(expr: Expr) -> str:
    """Return an expression in the notation of a spec. A choice is written as a text, which means the same.

    >>> kind = Binary(operator="in", left=Ref(path=("q", "kind")), right=Items(values=(Literal_(value="a"),)))
    >>> expression_notation(Unary(operator="not", value=Binary(operator="and", left=kind, right=Ref(path=("hard",)))))
    'not (q.kind in ("a") and hard)'
    """
    return _written(expr)[0]


def _written(expr: Expr) -> tuple[str, int]:
    """Return an expression's notation and the precedence of its outermost operator."""
    match expr:
        case Literal_(value=value):
            return json.dumps(value, ensure_ascii=False), ALONE
        case Ref(path=path):
            return ".".join(path), ALONE
        case Unary(operator="not", value=value):
            return f"not {_inside(value, NOT)}", NOT
        case Unary(value=value):
            return f"-{_inside(value, NEGATION)}", NEGATION
        case Binary(operator=operator, left=left, right=right):
            own = BINDING[operator]
            return f"{_inside(left, own)} {operator} {_inside(right, own + 1)}", own
        case Items(values=values):
            return f"({', '.join(map(expression_notation, values))})", ALONE
        case RecordValue(fields=fields):
            return (
                f"({', '.join(f'{name}: {expression_notation(field_value)}' for name, field_value in fields.items())})",
                ALONE,
            )
        case Call(function=function, args=args, named=named):
            arguments = [
                *map(expression_notation, args),
                *(f"{key}: {expression_notation(v)}" for key, v in named.items()),
            ]
            return f"{function}({', '.join(arguments)})", ALONE
        case Get(of=of, field=field):
            return f"{_inside(of, ALONE)}.{field}", ALONE
        case Data(dataset=dataset, field=field):
            return dataset if field is None else f"{dataset}.{field}", ALONE
        case Branches(tree=tree):
            return tree, ALONE
        case Each(loop=loop, value=value):
            where = "" if loop.where is None else f" where {expression_notation(loop.where)}"
            return f"[{expression_notation(value)} each {loop.alias} in {expression_notation(loop.of)}{where}]", ALONE
        case AtElement(of=of):
            return _written(of)
    assert_never(expr)


def _inside(expr: Expr, least: int) -> str:
    text, binds = _written(expr)
    return text if binds >= least else f"({text})"


# Changes of steps

Weight = Literal["major", "minor", "patch"]
WEIGHTS: tuple[Weight, ...] = ("major", "minor", "patch")
"""Parts of a version, from the weightiest."""

_NOUNS = {
    "ask": "an ask",
    "converse": "a conversation",
    "verdict": "a verdict",
    "grade": "a score",
    "compare": "a comparison",
}
_MEANING = frozenset(("scorer", "metric", "allocation", "grade", "verdict", "compare", "score"))
"""Kinds of change after which a score has another meaning, unless the field only decides whether the step runs."""
LONGEST = 40
"""Largest number of characters of a printed value."""

GONE, NEW = "is gone", "is new"


@dataclass(frozen=True)
class Change:
    """Difference between two plans: kind of part, name, what changed, and the part of the version that it raises.

    `stale` are the fingerprints whose stored results are no longer valid. A change of a step has its name in `step`,
    the changed field in `field`, which is `name` if the step is new or gone, and what depends on the field in `effect`.
    A change of a measure's direction has `lower_is_better` in `field`.
    """

    part: Weight
    kind: str
    name: str
    what: str
    stale: frozenset[str] = frozenset()
    brief: tuple[str, ...] | None = None
    """Short form; empty if the change only follows from others, `None` if `what` is short enough."""
    step: str = ""
    field: str = ""
    effect: Effect = "content"

    @property
    def text(self) -> str:
        """Change as one sentence.

        >>> Change("minor", "measure", "by_level", "is new").text
        'measure `by_level`: is new'
        """
        return f"{self.kind} `{self.name}`: {self.what}"

    @property
    def can_change_scores(self) -> bool:
        """True if figures before and after the change may not be compared."""
        return self.part == "major"

    @property
    def changes_meaning(self) -> bool:
        """True if scores before and after have different meanings, so that their difference is not a property of a
        model."""
        kept = self.field == "name" or self.effect == "applicability"
        return bool(self.step and self.brief) and self.kind in _MEANING and not kept


def step_changes(was: Treatment, now: Treatment, before: Plan, after: Plan) -> Iterator[Change]:
    """Yield the changes between two versions of a treatment. A step without a changed field of its own is reported with
    the input that changed."""
    pairs, steps, added = _paired(was.steps, now.steps)
    for step in steps:
        yield _change(step, step.step, GONE, ("taken out",), "name", _prints(step))
    for step in added:
        yield _change(step, step.step, NEW, ("new",), "name")
    compared = [(old, new, list(field_changes(old, new, before, after))) for old, new in pairs]
    changed = {new.name for _, new, differences in compared if differences}
    for old, new, changes in compared:
        lost = _prints(old) - _prints(new)
        yield from (replace(change, stale=lost) for change in changes)
        if lost and not changes:
            inputs = external_input_changes(old, new, before, after)
            moved = any(
                step.name in new.needs and (step.name in changed or step.fingerprint not in before.fingerprints)
                for step in now.steps
            )
            yield _change(new, new.step, _followed(inputs, moved), inputs, stale=lost)


def reply_changes(old: Step, new: Step, before: Plan, after: Plan) -> list[str]:
    """Return a short list of what changes the replies or judgements of a step: its own fields, its scorer and rubric,
    or else its inputs from data sets, trees, functions and labels. Empty if only preceding steps changed."""
    changes = [
        field_change
        for field_change in field_changes(old, new, before, after)
        if field_change.effect not in ("evaluation", "applicability")
    ]
    return [brief for change in changes for brief in change.brief or ()] or external_input_changes(
        old, new, before, after
    )


def field_changes(old: Step, new: Step, before: Plan, after: Plan) -> Iterator[Change]:
    """Yield the changed fields of a step, the rubric and the scorer first."""
    if old.step != new.step:
        now = f"{_NOUNS.get(new.step, f'a {new.step}')} now"
        yield _change(new, new.step, f"is a {new.step} now, and was a {old.step}", (now,), "step")
        return
    if isinstance(old, Grade) and isinstance(new, Grade):
        yield from _rubric(old, new, before, after)
    if isinstance(old, JudgedStep) and isinstance(new, JudgedStep):
        fields = _fields(before.scorer(old.scorer), after.scorer(new.scorer), " of the scorer")
        if old.scorer != new.scorer:
            brief = [change for field in fields if field.mark.effect != "elsewhere" for change in field.brief]
            yield _change(new, new.step, f"scorer {old.scorer} → {new.scorer}", brief, "scorer")
        else:
            for field in fields:
                shown = () if field.mark.effect == "elsewhere" else field.brief
                what = f"is graded by `{new.scorer}`, of which {field.what}"
                yield _change(new, "scorer", what, shown, f"scorer.{field.name}", effect=field.mark.effect)
    for field in _fields(old, new):
        if not (isinstance(new, JudgedStep) and field.mark.effect == "elsewhere"):  # reported above
            kind = field.mark.change or new.step
            yield _change(new, kind, field.what, field.brief, field.name, effect=field.mark.effect)


def _change(
    step: Step,
    kind: str,
    what: str,
    brief: Iterable[str],
    field: str = "",
    stale: frozenset[str] = frozenset(),
    effect: Effect = "content",
) -> Change:
    return Change("major", kind, step.name, what, stale, tuple(brief), step.name, field, effect)


def _followed(inputs: Sequence[str], moved: bool) -> str:
    """Return why results of a step without changed fields are no longer valid."""
    if inputs:
        return f"depends on {', '.join(inputs)}"
    return "follows what it builds on" if moved else "is computed or named otherwise by another version of Tripos"


def _paired(was: Sequence[Step], now: Sequence[Step]) -> tuple[list[tuple[Step, Step]], list[Step], list[Step]]:
    """Return pairs of steps that correspond, steps that are gone, and new steps.

    Several steps may have one name under different conditions. Equal ones correspond first, the others in order.
    """
    pairs, steps, added = [], [], []
    for name in dict.fromkeys(step.name for step in (*was, *now)):
        old, new = ([step for step in steps if step.name == name] for steps in (was, now))
        for step in list(old):
            same = next((twin for twin in new if twin.fingerprint == step.fingerprint), None)
            if same is not None:
                pairs.append((step, same))
                old.remove(step)
                new.remove(same)
        pairs += zip(old, new, strict=False)
        steps += old[len(new) :]
        added += new[len(old) :]
    return pairs, steps, added


def _rubric(old: Grade, new: Grade, before: Plan, after: Plan) -> Iterator[Change]:
    added = [metric for metric in new.metrics if metric not in old.metrics]
    gone = [metric for metric in old.metrics if metric not in new.metrics]
    both = [metric for metric in old.metrics if metric in new.metrics]
    changed = [metric for metric in both if _metric(before, metric) != _metric(after, metric)]
    if old.metrics != new.metrics:
        what = (
            ", ".join([*(f"+ {metric}" for metric in added), *(f"- {metric}" for metric in gone)]) or "in another order"
        )
        brief = [f"{_named(some)} {verb}" for some, verb in ((added, "added"), (gone, "left out")) if some]
        if not changed and [metric for metric in new.metrics if metric in both] != both:
            brief.append("order of the metrics")
        yield _change(new, "allocation", f"metrics {what}", brief, "metrics")
    for name in changed:
        brief = [f"rubric of {_named(changed)} changed"] if name == changed[0] else []
        yield _change(new, "metric", f"grades `{name}` by another rubric", brief, "rubric")


def _metric(plan: Plan, name: str) -> Any:
    return plan.metric(name).model_dump(mode="json", exclude={"dimension"})


def _named(metrics: Sequence[str]) -> str:
    text = ", ".join(f"`{name}`" for name in metrics[:3])
    return f"metric{'s' if len(metrics) > 1 else ''} {text}" + (f" and {len(metrics) - 3} more" * (len(metrics) > 3))


class _FieldChange(NamedTuple):
    """Changed field of a part, with a description of the change and its short form."""

    name: str
    mark: FieldMark
    what: str
    brief: list[str]


def _fields(old: Part, new: Part, of: str = "") -> list[_FieldChange]:
    """Return the changed fields of a part that do not follow from others. `of` names the owner of its texts."""
    marks = field_marks(type(new)).items()
    values = [(name, mark, getattr(old, name), getattr(new, name)) for name, mark in marks if mark.effect != "derived"]
    return [
        _FieldChange(name, mark, *_field_change(name, mark, was, now, of))
        for name, mark, was, now in values
        if _json_value(was) != _json_value(now)
    ]


def _field_change(field: str, mark: FieldMark, was: Any, now: Any, of: str) -> tuple[str, list[str]]:
    what = f"{mark.title or field} is other than before"
    match mark.use:
        case "text":
            if was and now:
                changed = sorted(
                    language
                    for language in {*was, *now}
                    if _json_value(was.get(language)) != _json_value(now.get(language))
                )
                what = f"the {field} ({', '.join(changed)}) is other than before"
            return what, [_texts(f"{field}{of}", was, now)]
        case "settings":
            what = _settings(was, now)
            return what, [f"settings ({what})"]
        case "type":
            return what, [_returns(was, now, field)]
        case "speakers":
            return what, _speakers(was, now)
        case "example" if len(was) == len(now):
            return what, [
                change for one, two in zip(was, now, strict=True) for change in _within(one, two, " of the shots")
            ]
        case "arguments":
            other = [
                f"what it is given as `{name}`" for name in now if _json_value(now[name]) != _json_value(was.get(name))
            ]
            return what, other or [f"what it is given: no `{name}`" for name in was if name not in now]
        case "role" if was and now:
            return f"{field} {was} → {now}", [f"{mark.brief or field} ({was} → {now})"]
    if isinstance(was, int | float | str) and isinstance(now, int | float | str):
        what = f"{field} {_shown(was)} → {_shown(now)}"
        return what, [what]
    return what, [mark.brief or field]


def _speakers(before: tuple[Speaker, ...], after: tuple[Speaker, ...]) -> list[str]:
    was = {speaker.role: speaker for speaker in before}
    changes = [] if was.keys() == {speaker.role for speaker in after} else ["who talks"]
    for now in after:
        if now.role in was:
            changes += _within(was[now.role], now, f" of {now.role}")
    return changes or ["the order of who talks"]


def _within(before: Part, after: Part, of: str) -> list[str]:
    """Return the changed fields of a nested part of a step, each with its owner."""
    changes = [change for field in _fields(before, after, of) for change in field.brief]
    return [change if change.endswith(of) else f"{change}{of}" for change in changes]


def _texts(title: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> str:
    if before is None or after is None:
        return f"{title} {'added' if before is None else 'taken out'}"
    languages = [language for language in after if _json_value(before.get(language)) != _json_value(after[language])]
    if not languages:
        return f"{title} (no {', '.join(language for language in before if language not in after)})"
    return title if len(languages) == len(after) else f"{title} ({', '.join(languages)})"


def _settings(before: DeclaredSettings, after: DeclaredSettings) -> str:
    names = [name for name in Settings.model_fields if before.given.get(name) != after.given.get(name)]
    return ", ".join(f"{name} {_setting_change(before, after, name)}" for name in names)


def _setting_change(before: DeclaredSettings, after: DeclaredSettings, name: str) -> str:
    """Return how a setting changed: the values that are gone and those that replace them."""
    was, now = _setting_lines(before, name), _setting_lines(after, name)
    gone, came = ([setting for setting in one if setting not in other] for one, other in ((was, now), (now, was)))
    return f"{', '.join(gone) or 'unset'} → {', '.join(came) or 'unset'}" if gone or came else "in another order"


def _setting_lines(settings: DeclaredSettings, name: str) -> list[str]:
    """Return the values of a setting, each with its language and condition."""
    texts = []
    for case_ in (setting_case for setting_case in settings.cases if setting_case.name == name):
        words = [f"in {case_.language}"] if case_.language is not None else []
        words += [f"when {expression_notation(case_.when)}"] if case_.when is not None else []
        value = case_.value[0] if name == "stop" else case_.settings.given.get(name)
        texts.append(" ".join((_shown(value), *words)))
    plain = settings.otherwise.given.get(name)
    return texts if plain is None else [*texts, _shown(plain)]


def _returns(before: Any, after: Any, title: str) -> str:
    if before is None or after is None or before.kind != "record" or after.kind != "record":
        return title
    was, now = before.fields, after.fields
    texts = [f"+ {name}" for name in now if name not in was] + [f"- {name}" for name in was if name not in now]
    texts += [name for name in now if name in was and _json_value(was[name]) != _json_value(now[name])]
    return f"{title} ({', '.join(texts)})" if texts else title


def _shown(value: Any) -> str:
    if value is None:
        return "unset"
    text = value if isinstance(value, str) else canonical(value).decode(errors="replace")
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _json_value(value: Any) -> Any:
    """Return a part of a plan as JSON values."""
    match value:
        case BaseModel():
            return value.model_dump(mode="json")
        case Mapping():
            return {name: _json_value(part) for name, part in value.items()}
        case list() | tuple():
            return [_json_value(part) for part in value]
    return value


def _prints(step: Step) -> frozenset[str]:
    return frozenset((step.fingerprint, *([step.judgement] if isinstance(step, JudgedStep) else [])))


# Changes of plans


def settling_changes(before: Plan, after: Plan) -> Iterator[Change]:
    """Yield changes of stopping rules."""
    was, now = map(_settling, (before, after))
    for part, name in sorted(was.keys() & now.keys()):
        if was[part, name] != now[part, name]:
            yield Change("patch", part, name, "ends runs otherwise")


def _settling(plan: Plan) -> dict[tuple[str, str], StoppingCriterion | None]:
    criterions = {("measure", measure.name): measure.until for measure in plan.measures}
    criterions |= {("expect", expectation.shown): expectation.until for expectation in plan.expectations}
    return criterions | {("benchmark", plan.benchmark.name): plan.benchmark.until}


N = TypeVar("N", bound=Named)


def find_changes(before: Plan, after: Plan) -> list[Change]:
    """Return the changes between two plans, the weightiest first; empty if only the version changed."""
    changes = _merged(
        [
            *_benchmark(before, after),
            *_titles(before, after),
            *_roles(before, after),
            *_scenarios(before, after),
            *_items(before, after),
            *_metrics(before, after),
            *_measures(before, after),
            *_outside(before, after),
            *_axes(before, after),
            *_rest(before, after),
        ]
    )
    lost = before.fingerprints - after.fingerprints - frozenset().union(*(change.stale for change in changes))
    if lost:  # whatever it was, it is no matter of words
        changes.append(Change("major", "benchmark", after.benchmark.name, "asks or scores otherwise", frozenset(lost)))
    if not changes and _without_version(before) != _without_version(after):
        words = Change("patch", "benchmark", after.benchmark.name, "is described in other words")
        changes += list(_declared(before, after)) or [words]
    return sorted(changes, key=lambda change: WEIGHTS.index(change.part))


def _merged(unmerged: Iterable[Change]) -> list[Change]:
    """Return changes with those that several treatments have in common reported once."""
    changes: dict[tuple[str, str, str, str], Change] = {}
    for change in unmerged:
        key = (change.part, change.kind, change.name, change.what)
        changes[key] = replace(change, stale=change.stale | changes[key].stale) if key in changes else change
    return list(changes.values())


def _benchmark(before: Plan, after: Plan) -> Iterator[Change]:
    old, new = before.benchmark, after.benchmark
    if old.name != new.name:
        yield Change("major", "benchmark", new.name, f"was called `{old.name}`")
    for field in ("title", "license", "cites"):
        if getattr(old, field) != getattr(new, field):
            yield Change("patch", "text", field, "is other than before")
    if old.headline != new.headline:
        yield _headline(old.headline, new.headline)
    yield from _extended(before, after)
    gone = [language for language in old.languages if language not in new.languages]
    added = [language for language in new.languages if language not in old.languages]
    yield from (Change("major", "language", code, "is gone") for code in gone)
    yield from (Change("minor", "language", code, "is new") for code in added)


def _titles(before: Plan, after: Plan) -> Iterator[Change]:
    """Yield changed titles of parts that are in both plans."""
    for (kind, old), new in zip(_titled(before).items(), _titled(after).values(), strict=True):
        for name in sorted(old & new):
            if before.titles.get(kind, {}).get(name) != after.titles.get(kind, {}).get(name):
                what = "title" if kind == "benchmark" else f"title of {name}"
                yield Change("patch", "text", what, "is other than before")


def _titled(plan: Plan) -> dict[str, set[str]]:
    """Return the names of parts that may have a title, by kind."""
    return {
        "arm": {arm.name for arm in plan.arms},
        "axis": {axis.name for axis in plan.axes},
        "benchmark": {plan.benchmark.name},
        "dimension": {metric.dimension for metric in plan.metrics},
        "group": {f"{axis.name}.{value.group}" for axis in plan.axes for value in axis.values if value.group},
        "input": {f"{scorer.name}.{name}" for scorer in plan.scorers for name in scorer.params},
        "measure": {measure.name for measure in plan.measures},
        "scenario": {scenario.name for scenario in plan.scenarios},
    }


def _headline(old: tuple[str, ...], new: tuple[str, ...]) -> Change:
    """Return the change of the headline measures. Declaring them for the first time invalidates nothing; changing them
    makes the headline another figure."""
    text = ", ".join(new)
    if not old:
        return Change("minor", "headline", text, "is named first")
    if set(old) == set(new):
        return Change("patch", "headline", text, "stands in another order")
    return Change("major", "headline", text or "none", f"stands for the benchmark, and {', '.join(old)} did")


def _extended(before: Plan, after: Plan) -> Iterator[Change]:
    """Yield changes of the extended releases. Their consequences are reported for the scenarios and steps."""
    for release in _gone(before.extends, after.extends):
        yield Change("patch", "extends", release.name, "is no longer extended")
    for new in _new(before.extends, after.extends):
        yield Change("patch", "extends", new.name, f"is extended, as {new.version}")
    for old, now in _both(before.extends, after.extends):
        if old.digest != now.digest:
            yield Change("patch", "extends", now.name, f"was {old.version} and is {now.version}")


def _roles(before: Plan, after: Plan) -> Iterator[Change]:
    for old, new in _both(before.roles, after.roles):
        if old.kind != new.kind:
            yield Change("major", "role", new.name, f"is {new.kind} and was {old.kind}")
        if old.default != new.default:
            filled = "has no default" if new.default is None else f"defaults to `{new.default}`"
            yield Change("minor", "role", new.name, filled)
        if old.with_people != new.with_people:
            text = "counts people with its models" if new.with_people else "shows people apart from its models"
            yield Change("major", "role", new.name, text)


def _scenarios(before: Plan, after: Plan) -> Iterator[Change]:
    for scenario in _gone(before.scenarios, after.scenarios):
        yield Change("major", "scenario", scenario.name, "is gone", frozenset(scenario.fingerprints))
    for scenario in _new(before.scenarios, after.scenarios):
        into = next((measure.name for measure in before.measures if _takes_in(measure, before, scenario)), None)
        if into is None:
            yield Change("minor", "scenario", scenario.name, "is new, and in no earlier measure")
        else:
            yield Change("major", "scenario", scenario.name, f"is new, and counts in measure `{into}`")
    for old, new in _both(before.scenarios, after.scenarios):
        yield from _scenario(old, new, before, after)


def _scenario(old: Scenario, new: Scenario, before: Plan, after: Plan) -> Iterator[Change]:
    if old.title != new.title:
        yield Change("patch", "text", f"title of {new.name}", "is other than before")
    if set(old.axes) != set(new.axes) or old.cells != new.cells:
        yield Change("major", "cells", new.name, f"are {new.cells:,}, and were {old.cells:,}")
    elif _other_cells(old, before, after):
        yield Change("major", "cells", new.name, "are others than before")
    if old.rows != new.rows:
        yield Change("major", "items", new.name, "are taken from other rows")
    elif old.row_count != new.row_count:
        yield Change("major", "items", new.name, f"are {new.row_count:,}, and were {old.row_count:,}")
    was = {_arms(treatment.arms): treatment for treatment in old.treatments}
    now = {_arms(treatment.arms): treatment for treatment in new.treatments}
    for arms in was.keys() - now.keys():
        lost = {step.fingerprint for step in was[arms].steps} - new.fingerprints
        yield Change("major", "treatment", f"{new.name} {arms}".strip(), "is gone", frozenset(lost))
    for arms in now.keys() - was.keys():
        yield Change("major", "treatment", f"{new.name} {arms}".strip(), "is new, and counts in its measures")
    for arms in sorted(now.keys() & was.keys()):
        for step_change in step_changes(was[arms], now[arms], before, after):
            part: Weight = "minor" if step_change.what == NEW and not _may_count(step_change, new, before) else "major"
            yield replace(
                step_change,
                part=part,
                name=f"{new.name}.{step_change.step}",
                stale=step_change.stale - new.fingerprints,
            )


def _other_cells(old: Scenario, before: Plan, after: Plan) -> bool:
    """Return true if changed guards allow other cells. Cells are enumerated only if they may differ."""
    was, now = ([axis for axis in plan.axes if axis.name in old.axes] for plan in (before, after))
    if all(_allowed(axis) == _allowed(other) for axis, other in _both(was, now)):
        return False
    left, leaves = ({frozenset(allowed_cell.items()) for allowed_cell in allowed_cells(axes)} for axes in (was, now))
    return left != leaves


def _allowed(axis: Axis) -> dict[str, Any]:
    return {value.name: value.guard for value in axis.values}


def _may_count(change: Change, scenario: Scenario, before: Plan) -> bool:
    """Return true if a new step may count in an existing figure.

    An ask may. A value counts if an existing measure names it or the scorer from which it comes.
    """
    if change.kind not in ("score", "column", "grade", "verdict", "compare"):
        return True
    step = next(own for own in scenario.steps if own.name == change.step)
    names = {step.name, getattr(step, "scorer", None), *getattr(step, "metrics", ())}
    return any(
        names & set(part.values)
        for measure in before.measures
        if measure.scenario in (None, scenario.name)
        for part in _aggregates(measure.figure, before, ())
        if part.scenario in (None, scenario.name)
    )


def _items(before: Plan, after: Plan) -> Iterator[Change]:
    for old, new in _both(before.datasets, after.datasets):
        if _content(old) != _content(new):
            was, now = (sum(file.rows for file in side.files) for side in (old, new))
            what = f"has {now:,} rows, and had {was:,}" if was != now else "has other rows, or reads them differently"
            brief = f"{was:,} → {now:,} rows" if was != now else f"other content ({now:,} rows)"
            if [(f.sha256, f.media) for f in old.every_file] == [(f.sha256, f.media) for f in new.every_file]:
                brief = "read in another way"
            yield Change("major", "data set", new.name, what, brief=(brief,))
        elif old.key != new.key:
            yield Change("major", "data set", new.name, "has another key: other rows belong together")
    for made_before, dataset in _both(before.made, after.made):
        if made_before.fingerprint != dataset.fingerprint or made_before.rows != dataset.rows:
            lost = frozenset(made_before.fingerprints - dataset.fingerprints)
            yield Change("major", "data set", dataset.name, "is made another way", lost)
    for old_tree, tree in _both(before.trees, after.trees):
        if old_tree.sha256 != tree.sha256:
            yield Change("major", "tree", tree.name, "has other branches")


def _metrics(before: Plan, after: Plan) -> Iterator[Change]:
    for old, new in _both(before.metrics, after.metrics):
        if old.dimension != new.dimension:
            yield Change("major", "metric", new.name, f"counts in `{new.dimension}`, and did in `{old.dimension}`")
        elif (old.low, old.high, old.asks, old.levels) != (new.low, new.high, new.asks, new.levels):
            yield Change("major", "metric", new.name, "has another rubric", brief=())  # its grades say so in few words
        elif old.outside != new.outside:
            yield Change("major", "metric", new.name, f"takes scores outside of its scale by `{new.outside}`")
        elif old.title != new.title:
            yield Change("major", "metric", new.name, "is called otherwise in the rubric")


_FIGURE_NEUTRAL = ("lower_is_better", "higher_is_better", "until", "random")
"""Fields of a measure that change no figure."""


def _measures(before: Plan, after: Plan) -> Iterator[Change]:
    yield from _gone_or_new("measure", before.measures, after.measures)
    for old, new in _both(before.measures, after.measures):
        if old.lower_is_better != new.lower_is_better:
            headlines = (*before.benchmark.headline, *after.benchmark.headline)
            turned = "is better when lower" if new.lower_is_better else "is better when lower no longer"
            part: Weight = "major" if new.name in headlines else "minor"
            yield Change(part, "measure", new.name, turned, field="lower_is_better")
        if old.random != new.random:
            what = "has an interval that speaks of other judges or prompts than before"
            yield Change("minor", "measure", new.name, what)
        if any(getattr(old, name) != getattr(new, name) for name in ("figure", "by", "missing", "corrected")):
            yield Change("major", "measure", new.name, "is computed another way")
        elif old.model_copy(update={name: getattr(new, name) for name in _FIGURE_NEUTRAL}) != new:
            yield Change("major", "measure", new.name, "is taken over other scores")


def _outside(before: Plan, after: Plan) -> Iterator[Change]:
    """Yield changes on which no score depends: gates, samples, training data."""
    yield from _gone_or_new("subset", before.subsets, after.subsets)
    for old, new in _both(before.subsets, after.subsets):
        if old.model_copy(update={"withheld": new.withheld}) != new:
            yield Change("major", "subset", new.name, "is drawn another way")
        elif old.withheld != new.withheld:
            what = "is withheld now" if new.withheld else "is withheld no longer"
            yield Change("minor", "subset", new.name, what)
    yield from _gone_or_new("table", before.tables, after.tables, gone="minor")
    for former, latter in _both(before.tables, after.tables):
        if former != latter:
            yield Change("patch", "table", latter.name, "shows its figures another way")
    yield from settling_changes(before, after)
    gates = [{expectation.shown for expectation in plan.expectations} for plan in (before, after)]
    yield from (Change("minor", "expect", gate, "is gone") for gate in sorted(gates[0] - gates[1]))
    yield from (Change("minor", "expect", gate, "is new") for gate in sorted(gates[1] - gates[0]))
    least = [
        {expectation.shown: expectation.least_coverage for expectation in plan.expectations} for plan in (before, after)
    ]
    for name in sorted(gates[0] & gates[1]):
        if least[0][name] != least[1][name]:
            yield Change("minor", "expect", name, "asks for another coverage")
    yield from _gone_or_new("export", before.exports, after.exports, gone="minor")
    for was, now in _both(before.exports, after.exports):
        if was != now:
            yield Change("minor", "export", now.name, "is other than before")


def _axes(before: Plan, after: Plan) -> Iterator[Change]:
    for old, new in _both(before.axes, after.axes):
        was, now = ({value.name: value for value in axis.values} for axis in (old, new))
        for name in was.keys() & now.keys():
            if was[name].group != now[name].group:
                yield Change("major", "axis", f"{new.name}.{name}", "is in another group")
            elif was[name].labels != now[name].labels:
                yield Change("patch", "text", f"label of {new.name}.{name}", "is other than before")
    for old_arm, arm in _both(before.arms, after.arms):
        labels = {value.name: value.labels for value in old_arm.values}
        for value in arm.values:
            if labels.get(value.name, value.labels) != value.labels:
                yield Change("patch", "text", f"label of {arm.name}.{value.name}", "is other than before")


def _rest(before: Plan, after: Plan) -> Iterator[Change]:
    for old, new in _both(before.plugins, after.plugins):
        if (old.version, old.function) != (new.version, new.function):
            yield Change("major", "function", new.name, "has another text or version")


def _declared(before: Plan, after: Plan) -> Iterator[Change]:
    """Yield changes of declarations that nothing uses."""
    for noun, field in _DECLARED.items():
        old, new = getattr(before, field), getattr(after, field)
        yield from _gone_or_new(noun, old, new, gone="minor")


_DECLARED = {
    "role": "roles",
    "axis": "axes",
    "arm": "arms",
    "tree": "trees",
    "function": "plugins",
    "metric": "metrics",
    "data set": "datasets",
    "scorer": "scorers",
}
"""Fields of a plan with declarations for use by others, by the noun for one."""


def _takes_in(measure: Measure, plan: Plan, scenario: Scenario) -> bool:
    """Return true if an existing measure includes scores of a new scenario: it names no scenario, but a score, scorer
    or column that the new scenario has."""
    if measure.scenario is not None:
        return False
    names = {name for step in scenario.steps for name in (step.name, getattr(step, "scorer", None))}
    return any(part.scenario is None and names & set(part.values) for part in _aggregates(measure.figure, plan, ()))


def _aggregates(figure: Figure, plan: Plan, seen: tuple[str, ...]) -> Iterator[Aggregate]:
    """Yield the aggregates in a figure, including those of measures that it uses."""
    match figure:
        case Aggregate():
            yield figure
            if figure.of is not None:
                yield from _aggregates(figure.of, plan, seen)
        case Formula():
            for value in figure.values:
                yield from _aggregates(value, plan, seen)
        case _:
            name = getattr(figure, "measure", None)
            for measure in plan.measures:
                if measure.name == name and measure.name not in seen and measure.scenario is None:
                    yield from _aggregates(measure.figure, plan, (*seen, measure.name))


def renamed_from(scenario: Scenario, before: Plan, after: Plan) -> str | None:
    """Return the scenario of an earlier plan that has the same steps as a new one; `None` if there is none or more than
    one."""
    shape = _shape(scenario, after)
    same = [former for former in _gone(before.scenarios, after.scenarios) if _shape(former, before) == shape]
    return same[0].name if len(same) == 1 else None


def _shape(scenario: Scenario, plan: Plan) -> Any:
    """Return the content of a scenario without its name."""

    def written(step: Step) -> Any:
        return step.model_dump(mode="json", exclude={"fingerprint", "judgement"})

    judged = {step.scorer for step in scenario.steps if isinstance(step, JudgedStep)}
    scorers = {name: plan.scorer(name).model_dump(mode="json") for name in judged}
    return [[[one.arms, [written(step) for step in one.steps]] for one in scenario.treatments], scorers]


def _content(dataset: Dataset) -> object:
    return row_identity(dataset), [(file.captures, file.repeats, file.media) for file in dataset.every_file]


def _arms(arms: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in sorted(arms.items()))


def _gone(before: Iterable[N], after: Iterable[N]) -> list[N]:
    names = {part.name for part in after}
    return [part for part in before if part.name not in names]


def _new(before: Iterable[N], after: Iterable[N]) -> list[N]:
    return _gone(after, before)


def _gone_or_new(noun: str, before: Iterable[N], after: Iterable[N], gone: Weight = "major") -> Iterator[Change]:
    yield from (Change(gone, noun, part.name, "is gone") for part in _gone(before, after))
    yield from (Change("minor", noun, part.name, "is new") for part in _new(before, after))


def _both(before: Iterable[N], after: Iterable[N]) -> list[tuple[N, N]]:
    now = {part.name: part for part in after}
    return [(part, now[part.name]) for part in before if part.name in now]


def _without_version(plan: Plan) -> Any:
    """Return a plan without its version and without the order of its declarations."""
    benchmark: Part = plan.benchmark.model_copy(update={"version": ""})
    return _unordered(plan.model_copy(update={"benchmark": benchmark}).model_dump(mode="json"))


def _unordered(value: Any) -> Any:
    match value:
        case dict():
            return {name: _unordered(part) for name, part in value.items()}
        case list():
            return sorted(map(_unordered, value), key=canonical)
    return value


# Version numbers

_PIECE = re.compile(r"(\D*)(\d*)")


def are_comparable(one: str, other: str) -> bool:
    """Return true if figures of two versions may be compared.

    >>> are_comparable("1.2.0", "1.9.1"), are_comparable("0.2.0", "0.3.0")
    (True, False)
    """
    first, second = version_numbers(one), version_numbers(other)
    return first[: 2 if first[0] == 0 else 1] == second[: 2 if second[0] == 0 else 1]


def version_numbers(version: str) -> tuple[int, int, int]:
    """Return the three numbers of a version.

    >>> version_numbers("1.2.3-rc1")
    (1, 2, 3)
    """
    major, minor, patch = (int(part) for part in re.split(r"[-+]", version)[0].split("."))
    return major, minor, patch


def version_order(version: str) -> tuple[tuple[int, int, int], bool, list[tuple[str, int]]]:
    """Return a sort key for versions: `2.0.0-rc9` comes before `2.0.0-rc10`, and both before `2.0.0`.

    >>> version_order("2.0.0-rc9") < version_order("2.0.0-rc10") < version_order("2.0.0") < version_order("2.0.1-rc1")
    True
    """
    early = version.partition("+")[0].partition("-")[2]
    return version_numbers(version), not early, [(text, int(number or 0)) for text, number in _PIECE.findall(early)]


def check_version(before: Plan, after: Plan, span: Span, diagnostics: Diagnostics) -> None:
    """Report a version number that understates the changes since `before` or is lower, at the span of the version."""
    changes = find_changes(before, after)
    if before.benchmark.name != after.benchmark.name:
        return
    if not changes:
        if version_numbers(after.benchmark.version) < version_numbers(before.benchmark.version):
            message = f"version {after.benchmark.version} is below {before.benchmark.version}, which it is held against"
            diagnostics.error(
                "E0902", message, span, help="versions go up: nothing else changed, so leave it as it was"
            )
        return
    wanted = least_version(before.benchmark.version, changes[0].part)
    if version_numbers(after.benchmark.version) >= version_numbers(wanted):
        return
    version = after.benchmark.version
    message = f"version {version} understates what changed since {before.benchmark.version}: {changes[0].text}"
    notes = [change.text for change in changes[1:6]]
    diagnostics.error("E0901", message, span, help=f"call it {wanted} or higher", notes=notes)


def least_version(version: str, part: Weight) -> str:
    """Return the least valid version after `version` for a change of that part.

    >>> least_version("1.2.3", "minor"), least_version("0.2.3", "major")
    ('1.3.0', '0.3.0')
    """
    return ".".join(map(str, _raised(version_numbers(version), part)))


def _raised(version: tuple[int, int, int], part: Weight) -> tuple[int, int, int]:
    """Return the least version that raises that part.

    >>> _raised((1, 2, 3), "minor"), _raised((0, 2, 3), "major")
    ((1, 3, 0), (0, 3, 0))
    """
    major, minor, patch = version
    if part == "patch" or (part == "minor" and major == 0):
        return major, minor, patch + 1
    return (major, minor + 1, 0) if part == "minor" or major == 0 else (major + 1, 0, 0)
