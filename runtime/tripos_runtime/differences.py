"""How two steps differ: what of a question or a judgement is not as it was, in a few words each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from tripos_compiler.plan import Ask, Converse, Grade, Hole, Judging, Plan, Scenario, Settings, Texts
from tripos_runtime.asking import dumps

_KINDS = {
    "ask": "an ask",
    "converse": "a conversation",
    "verdict": "a verdict",
    "grade": "a score",
    "compare": "a comparison",
}
LONGEST = 40
"""Characters of a value that is shown."""


def changes(before: Ask | Converse | Judging, after: Ask | Converse | Judging, old: Plan, new: Plan) -> list[str]:
    """What of a step itself changed between two plans, in words; nothing where only what it builds on did.

    Of a grade these are the scorer, the rubric and what the scorer is given. What changes neither a reply nor a score
    (titles, places in files) is not looked at.
    """
    if isinstance(before, Ask) and isinstance(after, Ask):
        found = _asks(before, after)
    elif isinstance(before, Converse) and isinstance(after, Converse):
        found = _talks(before, after)
    elif isinstance(before, Judging) and isinstance(after, Judging) and type(before) is type(after):
        found = _grades(before, after, old, new)
    else:
        return [f"{_KINDS[after.step]} now"]
    labels = _labels(before, old) != _labels(after, new)
    return [*found, *(["the labels it prints"] if labels and not found else [])]


def _asks(before: Ask, after: Ask) -> list[str]:
    found = [
        *_texts("prompt", before.prompt, after.prompt),
        *_texts("system", before.system, after.system),
        *_settings(before.settings, after.settings),
        *_returns(before.returns, after.returns),
    ]
    if before.role != after.role:
        found.append(f"role ({before.role} → {after.role})")
    for part in ("shots", "chat", "continues"):
        if _plain(getattr(before, part)) != _plain(getattr(after, part)):
            found.append(part)
    return found


def _talks(before: Converse, after: Converse) -> list[str]:
    found: list[str] = []
    was = {speaker.role: speaker for speaker in before.speakers}
    if was.keys() != {speaker.role for speaker in after.speakers}:
        found.append("who talks")
    for now in after.speakers:
        if now.role in was:
            found += _texts(f"system of {now.role}", was[now.role].system, now.system)
            found += [f"{each} of {now.role}" for each in _settings(was[now.role].settings, now.settings)]
    if before.opens != after.opens:
        found.append(f"who opens ({before.opens} → {after.opens})")
    if before.until != after.until:
        found.append("what ends it")
    if before.limit != after.limit:
        found.append(f"limit {before.limit} → {after.limit}")
    return found


def _grades(before: Judging, after: Judging, old: Plan, new: Plan) -> list[str]:
    was, now = old.scorer(before.scorer), new.scorer(after.scorer)
    found = [
        *_texts("prompt of the scorer", was.prompt, now.prompt),
        *_texts("system of the scorer", was.system, now.system),
        *_settings(was.settings, now.settings),
        *_returns(was.gives, now.gives, "gives"),
    ]
    rubric = [*_rubric(before, after, old, new)] if isinstance(before, Grade) and isinstance(after, Grade) else []
    given = {name: _plain(expr) for name, expr in before.args.items()}
    gives = {name: _plain(expr) for name, expr in after.args.items()}
    found += [f"what it is given as `{name}`" for name in gives if gives[name] != given.get(name)]
    return [*rubric, *found]


def _rubric(before: Grade, after: Grade, old: Plan, new: Plan) -> Iterable[str]:
    added = [each for each in after.metrics if each not in before.metrics]
    gone = [each for each in before.metrics if each not in after.metrics]
    if added:
        yield f"{_named('metric', added)} added"
    if gone:
        yield f"{_named('metric', gone)} left out"
    both = [each for each in after.metrics if each in before.metrics]
    changed = [each for each in both if _metric(old, each) != _metric(new, each)]
    if changed:
        yield f"rubric of {_named('metric', changed)} changed"
    elif [each for each in before.metrics if each in both] != both:
        yield "order of the metrics"


def _metric(plan: Plan, name: str) -> Any:
    return plan.metric(name).model_dump(mode="json", exclude={"dimension"})


def _texts(title: str, before: Texts | None, after: Texts | None) -> list[str]:
    if (before is None) != (after is None):
        return [f"{title} {'added' if before is None else 'taken out'}"]
    if before is None or after is None:
        return []
    languages = [each for each in after if _plain(before.get(each)) != _plain(after[each])]
    if not languages:
        return []
    return [title] if len(languages) == len(after) else [f"{title} ({', '.join(languages)})"]


def _settings(before: Settings, after: Settings) -> list[str]:
    was, now = before.given, after.given
    told = [
        f"{name} {_value(was.get(name))} → {_value(now.get(name))}"
        for name in Settings.model_fields
        if was.get(name) != now.get(name)
    ]
    return [f"settings ({', '.join(told)})"] if told else []


def _returns(before: Any, after: Any, title: str = "returns") -> list[str]:
    if _plain(before) == _plain(after):
        return []
    if before is None or after is None or before.kind != "record" or after.kind != "record":
        return [title]
    was, now = before.fields, after.fields
    told = [f"+ {name}" for name in now if name not in was] + [f"- {name}" for name in was if name not in now]
    told += [name for name in now if name in was and _plain(was[name]) != _plain(now[name])]
    return [f"{title} ({', '.join(told)})" if told else title]


def _labels(step: Ask | Converse | Judging, plan: Plan) -> Any:
    """The labels of the axes that a step prints."""
    if isinstance(step, Ask):
        texts, types = [step.system, step.prompt], [step.returns]
    elif isinstance(step, Converse):
        texts, types = [speaker.system for speaker in step.speakers], []
    else:
        scorer = plan.scorer(step.scorer)
        texts, types = [scorer.system, scorer.prompt], []
    axes = {axis.name: [value.labels for value in axis.values] for axis in plan.axes}
    used = {name for each in (*(_holes(text) for text in texts), types) for name in _axes(each)}
    return {name: axes[name] for name in sorted(used & axes.keys())}


def _holes(texts: Texts | None) -> list[Any]:
    parts = [part for template in (texts or {}).values() for part in template.parts]
    inner = [each for part in parts for each in getattr(part, "parts", (part,))]
    return [each.type for each in inner if isinstance(each, Hole)]


def _axes(types: Iterable[Any]) -> set[str]:
    found: set[str] = set()
    for each in types:
        if each is None:
            continue
        if each.kind == "choice" and each.axis is not None:
            found.add(each.axis)
        elif each.kind == "record":
            found |= _axes(each.fields.values())
        elif each.kind in ("list", "set", "optional"):
            found |= _axes([each.of])
    return found


def renamed_from(scenario: Scenario, old: Plan, new: Plan) -> str | None:
    """The scenario of an earlier plan that this one, which that plan has not, is by its steps; `None` where there is
    none, or more than one."""
    names = {each.name for each in new.scenarios}
    gone = [each for each in old.scenarios if each.name not in names]
    same = [each for each in gone if _shape(each, old) == _shape(scenario, new)]
    return same[0].name if len(same) == 1 else None


def _shape(scenario: Scenario, plan: Plan) -> Any:
    """What a scenario does, whatever its name."""

    def hidden(step: BaseModel) -> Any:
        return step.model_dump(mode="json", exclude={"fingerprint", "judgement"})

    scorers = {step.scorer: _plain(plan.scorer(step.scorer)) for step in scenario.steps if isinstance(step, Judging)}
    return [[[one.arms, [hidden(step) for step in one.steps]] for one in scenario.treatments], scorers]


def _named(noun: str, names: Iterable[str]) -> str:
    names = list(names)
    shown = ", ".join(f"`{name}`" for name in names[:3])
    return f"{noun}{'s' if len(names) > 1 else ''} {shown}" + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _value(value: Any) -> str:
    if value is None:
        return "unset"
    text = value if isinstance(value, str) else dumps(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _plain(value: Any) -> Any:
    """Anything of a plan as JSON values."""
    match value:
        case BaseModel():
            return value.model_dump(mode="json")
        case Mapping():
            return {name: _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
    return value
