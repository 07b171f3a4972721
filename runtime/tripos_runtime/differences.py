"""How two steps differ: what of a question or a judgement is not as it was, in a few words each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from tripos_compiler.plan import Ask, Converse, Grade, Judging, Part, Plan, Scenario, Scorer, Settings, Speaker, Texts
from tripos_compiler.semantics.outside import outside_changes
from tripos_runtime.asking import dumps

_KINDS = {
    "ask": "an ask",
    "converse": "a conversation",
    "verdict": "a verdict",
    "grade": "a score",
    "compare": "a comparison",
}
_NO_INPUT: Mapping[type[Part], frozenset[str]] = {
    Ask: frozenset(("samples",)),
    Converse: frozenset(("repeat",)),
    Grade: frozenset(("scorer", "metrics", "weights")),
    Scorer: frozenset(("name", "role", "params")),
}
"""Fields that change no reply, or that are compared by what they name."""
_OF_STEPS = frozenset(("step", "name", "of", "needs", "when", "judgement", "fingerprint", "scorer"))
_WORDS = {"until": "what ends it"}
LONGEST = 40
"""Characters of a value that is shown."""


def changes(before: Ask | Converse | Judging, after: Ask | Converse | Judging, old: Plan, new: Plan) -> list[str]:
    """What of a step itself changed between two plans, in words that name each field; where no field did, what it takes
    from data sets, trees, functions and labels. Nothing where only what it builds on changed.

    Of a grade these are the scorer, the rubric and what the scorer is given. What changes neither a reply nor a score
    (titles, places in files) is not looked at.
    """
    if type(before) is not type(after):
        return [f"{_KINDS[after.step]} now"]
    found = _fields(before, after)
    if isinstance(before, Judging) and isinstance(after, Judging):
        rubric = _rubric(before, after, old, new) if isinstance(before, Grade) and isinstance(after, Grade) else ()
        found = [*rubric, *_fields(old.scorer(before.scorer), new.scorer(after.scorer), " of the scorer"), *found]
    return found or outside_changes(before, after, old, new)


def _fields(before: Part, after: Part, of: str = "") -> list[str]:
    """The fields that differ, each in words; `of` says whose its texts are."""
    hidden = _NO_INPUT.get(type(after), frozenset()) | (_OF_STEPS if hasattr(after, "step") else frozenset())
    told = [
        _told(name, getattr(before, name), getattr(after, name), of)
        for name in type(after).model_fields
        if name not in hidden
    ]
    return [each for some in told for each in some]


def _told(field: str, was: Any, now: Any, of: str) -> list[str]:
    """How a field differs, in words; nothing where it does not."""
    if _plain(was) == _plain(now):
        return []
    match field:
        case "prompt" | "system":
            return _texts(f"{field}{of}", was, now)
        case "settings":
            return _settings(was, now)
        case "returns" | "gives":
            return _returns(was, now, field)
        case "speakers":
            return _speakers(was, now)
        case "shots" if len(was) == len(now):
            return [each for one, two in zip(was, now, strict=True) for each in _within(one, two, " of the shots")]
        case "args":
            return [f"what it is given as `{name}`" for name in now if _plain(now[name]) != _plain(was.get(name))] or [
                f"what it is given: no `{name}`" for name in was if name not in now
            ]
        case "role" | "opens":
            return [f"{'who opens' if field == 'opens' else field} ({was} → {now})"]
    if _is_shown(was) and _is_shown(now):
        return [f"{field} {_value(was)} → {_value(now)}"]
    return [_WORDS.get(field, field)]


def _is_shown(value: Any) -> bool:
    return isinstance(value, int | float | str)


def _speakers(before: tuple[Speaker, ...], after: tuple[Speaker, ...]) -> list[str]:
    was = {speaker.role: speaker for speaker in before}
    found = [] if was.keys() == {speaker.role for speaker in after} else ["who talks"]
    for now in after:
        if now.role in was:
            found += _within(was[now.role], now, f" of {now.role}")
    return found or ["the order of who talks"]


def _within(before: Part, after: Part, of: str) -> list[str]:
    """The fields of one part of a step that differ, each with whose it is."""
    return [each if each.endswith(of) else f"{each}{of}" for each in _fields(before, after, of)]


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
        return [f"{title} (no {', '.join(each for each in before if each not in after)})"]
    return [title] if len(languages) == len(after) else [f"{title} ({', '.join(languages)})"]


def _settings(before: Settings, after: Settings) -> list[str]:
    was, now = before.given, after.given
    told = [
        f"{name} {_value(was.get(name))} → {_value(now.get(name))}"
        for name in Settings.model_fields
        if was.get(name) != now.get(name)
    ]
    return [f"settings ({', '.join(told)})"]


def _returns(before: Any, after: Any, title: str) -> list[str]:
    if before is None or after is None or before.kind != "record" or after.kind != "record":
        return [title]
    was, now = before.fields, after.fields
    told = [f"+ {name}" for name in now if name not in was] + [f"- {name}" for name in was if name not in now]
    told += [name for name in now if name in was and _plain(was[name]) != _plain(now[name])]
    return [f"{title} ({', '.join(told)})" if told else title]


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
