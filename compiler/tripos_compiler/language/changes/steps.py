"""Changes of the steps of a plan: what differs between two steps, and which stored results count no longer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel

from tripos_compiler.language.changes.notation import expression_notation
from tripos_compiler.language.references import outside_changes
from tripos_compiler.plan import (
    DeclaredSettings,
    Grade,
    Judging,
    Part,
    Plan,
    Settings,
    Settling,
    Speaker,
    Step,
    Treatment,
    canonical,
)
from tripos_compiler.source import dataclass

Weight = Literal["major", "minor", "patch"]
WEIGHTS: tuple[Weight, ...] = ("major", "minor", "patch")
"""From the weightiest."""

_KINDS = {
    "prompt": "prompt",
    "system": "prompt",
    "chat": "prompt",
    "continues": "prompt",
    "shots": "prompt",
    "plain": "prompt",
    "options": "prompt",
    "tools": "prompt",
    "offered": "prompt",
    "returns": "prompt",
    "settings": "settings",
    "samples": "settings",
    "repeat": "settings",
    "limit": "settings",
    "metrics": "allocation",
    "weights": "allocation",
}
"""The kind of change that a field of a step is; of any other field it is the step's own."""
_NOUNS = {
    "ask": "an ask",
    "converse": "a conversation",
    "verdict": "a verdict",
    "grade": "a score",
    "compare": "a comparison",
}
_HIDDEN = frozenset(("step", "name", "fingerprint", "judgement", "needs", "inputs", "condition"))
_SAID = {
    "when": "the condition",
    "earlier": "the condition of an earlier score of its name",
    "value": "the expression",
    "args": "what the scorer is given",
}
_BRIEF = {
    "until": "what ends it",
    "value": "computed in another way",
    "weights": "weights of the metrics",
    "when": "its condition",
    "earlier": "the condition of an earlier one",
}
_MEANING = frozenset(("scorer", "metric", "allocation", "grade", "verdict", "compare", "score"))
"""The kinds of change after which a score means something else, but for the fields `_SAME_MEANING`."""
_SAME_MEANING = frozenset(("name", "when", "earlier", "of"))
_NO_REPLY = frozenset(
    ("name", "samples", "repeat", "then", "unsure_below", "weighted", "weights", "when", "earlier", "of")
)
"""Fields that change no reply and no judgement."""
LONGEST = 40
"""Characters of a value that is shown."""

GONE, NEW = "is gone", "is new"


@dataclass(frozen=True)
class Change:
    """One difference between two plans: of what kind of thing, which one, what of it, and the part of the version that
    it raises. `stale` are the fingerprints whose stored results count no longer. A change of a step has its name in
    `step`, and the field that differs in `field`, `name` where the step itself is new or gone."""

    part: Weight
    kind: str
    name: str
    what: str
    stale: frozenset[str] = frozenset()
    brief: tuple[str, ...] | None = None
    """The same in few words; empty for what only follows from other changes, `None` where `what` is brief enough."""
    step: str = ""
    field: str = ""

    @property
    def text(self) -> str:
        """All of it in words.

        >>> Change("minor", "measure", "by_level", "is new").text
        'measure `by_level`: is new'
        """
        return f"{self.kind} `{self.name}`: {self.what}"

    @property
    def can_change_scores(self) -> bool:
        """True if figures before and after it may not be compared."""
        return self.part == "major"

    @property
    def changes_meaning(self) -> bool:
        """True if scores before and after it mean different things, so that their difference tells of no model."""
        return bool(self.step and self.brief) and self.kind in _MEANING and self.field not in _SAME_MEANING


def step_changes(was: Treatment, now: Treatment, before: Plan, after: Plan) -> Iterator[Change]:
    """Yield what changed between two versions of a treatment. A step of which no field changed is told with the input
    that did."""
    pairs, gone, added = _paired(was.steps, now.steps)
    for step in gone:
        yield _change(step, step.step, GONE, ("taken out",), "name", _prints(step))
    for step in added:
        yield _change(step, step.step, NEW, ("new",), "name")
    found = [(old, new, list(field_changes(old, new, before, after))) for old, new in pairs]
    changed = {new.name for _, new, told in found if told}
    for old, new, told in found:
        lost = _prints(old) - _prints(new)
        yield from (replace(each, stale=lost) for each in told)
        if lost and not told:
            inputs = outside_changes(old, new, before, after)
            moved = any(
                step.name in new.needs and (step.name in changed or step.fingerprint not in before.fingerprints)
                for step in now.steps
            )
            yield _change(new, new.step, _followed(inputs, moved), inputs, stale=lost)


def reply_changes(old: Step, new: Step, before: Plan, after: Plan) -> list[str]:
    """Return what changes the replies or judgements of a step, in few words: fields of its own, of its scorer and
    rubric, or else what it takes from data sets, trees, functions and labels. Nothing where only what it builds on
    changed."""
    found = [each for each in field_changes(old, new, before, after) if each.field not in _NO_REPLY]
    return [brief for each in found for brief in each.brief or ()] or outside_changes(old, new, before, after)


def field_changes(old: Step, new: Step, before: Plan, after: Plan) -> Iterator[Change]:
    """Yield the fields of a step that differ, the rubric and the scorer first."""
    if old.step != new.step:
        now = f"{_NOUNS.get(new.step, f'a {new.step}')} now"
        yield _change(new, new.step, f"is a {new.step} now, and was a {old.step}", (now,), "step")
        return
    if isinstance(old, Grade) and isinstance(new, Grade):
        yield from _rubric(old, new, before, after)
    if isinstance(old, Judging) and isinstance(new, Judging):
        told = _fields(before.scorer(old.scorer), after.scorer(new.scorer), " of the scorer")
        if old.scorer != new.scorer:
            brief = [each for field, _, some in told if field not in ("name", "role", "params") for each in some]
            yield _change(new, new.step, f"scorer {old.scorer} → {new.scorer}", brief, "scorer")
        else:
            for field, what, brief in told:
                shown = () if field in ("role", "params") else brief
                yield _change(new, "scorer", f"is graded by `{new.scorer}`, of which {what}", shown, f"scorer.{field}")
    for field, what, brief in _fields(old, new):
        if field not in ("scorer", "metrics"):
            yield _change(new, _KINDS.get(field, new.step), what, brief, field)


def _change(
    step: Step,
    kind: str,
    what: str,
    brief: Iterable[str],
    field: str = "",
    stale: frozenset[str] = frozenset(),
) -> Change:
    return Change("major", kind, step.name, what, stale, tuple(brief), step.name, field)


def _followed(inputs: Sequence[str], moved: bool) -> str:
    """Return why results of a step count no longer of which no field changed."""
    if inputs:
        return f"depends on {', '.join(inputs)}"
    return "follows what it builds on" if moved else "is computed or named otherwise by another version of Tripos"


def _paired(was: Sequence[Step], now: Sequence[Step]) -> tuple[list[tuple[Step, Step]], list[Step], list[Step]]:
    """Return the steps that are one in both, those gone, and those that are new. Several may have one name, each under
    a condition of its own: then those that are the same belong together, and of the others those that come first."""
    pairs, gone, added = [], [], []
    for name in dict.fromkeys(step.name for step in (*was, *now)):
        old, new = ([step for step in each if step.name == name] for each in (was, now))
        for step in list(old):
            same = next((each for each in new if each.fingerprint == step.fingerprint), None)
            if same is not None:
                pairs.append((step, same))
                old.remove(step)
                new.remove(same)
        pairs += zip(old, new, strict=False)
        gone += old[len(new) :]
        added += new[len(old) :]
    return pairs, gone, added


def _rubric(old: Grade, new: Grade, before: Plan, after: Plan) -> Iterator[Change]:
    added = [each for each in new.metrics if each not in old.metrics]
    gone = [each for each in old.metrics if each not in new.metrics]
    both = [each for each in old.metrics if each in new.metrics]
    changed = [each for each in both if _metric(before, each) != _metric(after, each)]
    if old.metrics != new.metrics:
        what = ", ".join([*(f"+ {each}" for each in added), *(f"- {each}" for each in gone)]) or "in another order"
        brief = [f"{_named(some)} {verb}" for some, verb in ((added, "added"), (gone, "left out")) if some]
        if not changed and [each for each in new.metrics if each in both] != both:
            brief.append("order of the metrics")
        yield _change(new, "allocation", f"metrics {what}", brief, "metrics")
    for name in changed:
        brief = [f"rubric of {_named(changed)} changed"] if name == changed[0] else []
        yield _change(new, "metric", f"grades `{name}` by another rubric", brief, "rubric")


def _metric(plan: Plan, name: str) -> Any:
    return plan.metric(name).model_dump(mode="json", exclude={"dimension"})


def _named(metrics: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in metrics[:3])
    return f"metric{'s' if len(metrics) > 1 else ''} {shown}" + (f" and {len(metrics) - 3} more" * (len(metrics) > 3))


def _fields(old: Part, new: Part, of: str = "") -> list[tuple[str, str, list[str]]]:
    """Return the fields of a part that differ, each with how: in words, and in few words, where `of` says whose its
    texts are."""
    hidden = _HIDDEN if hasattr(new, "step") else frozenset()
    fields = [field for field in type(new).model_fields if field not in hidden]
    values = [(field, getattr(old, field), getattr(new, field)) for field in fields]
    return [(field, *_told(field, was, now, of)) for field, was, now in values if _json_value(was) != _json_value(now)]


def _told(field: str, was: Any, now: Any, of: str) -> tuple[str, list[str]]:
    what = f"{_SAID.get(field, field)} is other than before"
    match field:
        case "prompt" | "system":
            if was and now:
                changed = sorted(
                    each for each in {*was, *now} if _json_value(was.get(each)) != _json_value(now.get(each))
                )
                what = f"the {field} ({', '.join(changed)}) is other than before"
            return what, [_texts(f"{field}{of}", was, now)]
        case "settings":
            what = _settings(was, now)
            return what, [f"settings ({what})"]
        case "returns" | "gives":
            return what, [_returns(was, now, field)]
        case "speakers":
            return what, _speakers(was, now)
        case "shots" if len(was) == len(now):
            return what, [
                each for one, two in zip(was, now, strict=True) for each in _within(one, two, " of the shots")
            ]
        case "args":
            other = [
                f"what it is given as `{name}`" for name in now if _json_value(now[name]) != _json_value(was.get(name))
            ]
            return what, other or [f"what it is given: no `{name}`" for name in was if name not in now]
        case "role" | "opens":
            brief = f"{'who opens' if field == 'opens' else field} ({was} → {now})"
            return f"{field} {was} → {now}", [brief]
    if isinstance(was, int | float | str) and isinstance(now, int | float | str):
        what = f"{field} {_shown(was)} → {_shown(now)}"
        return what, [what]
    return what, [_BRIEF.get(field, field)]


def _speakers(before: tuple[Speaker, ...], after: tuple[Speaker, ...]) -> list[str]:
    was = {speaker.role: speaker for speaker in before}
    found = [] if was.keys() == {speaker.role for speaker in after} else ["who talks"]
    for now in after:
        if now.role in was:
            found += _within(was[now.role], now, f" of {now.role}")
    return found or ["the order of who talks"]


def _within(before: Part, after: Part, of: str) -> list[str]:
    """Return the fields of one part of a step that differ, each with whose it is."""
    found = [each for _, _, brief in _fields(before, after, of) for each in brief]
    return [each if each.endswith(of) else f"{each}{of}" for each in found]


def _texts(title: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> str:
    if before is None or after is None:
        return f"{title} {'added' if before is None else 'taken out'}"
    languages = [each for each in after if _json_value(before.get(each)) != _json_value(after[each])]
    if not languages:
        return f"{title} (no {', '.join(each for each in before if each not in after)})"
    return title if len(languages) == len(after) else f"{title} ({', '.join(languages)})"


def _settings(before: DeclaredSettings, after: DeclaredSettings) -> str:
    names = [name for name in Settings.model_fields if before.given.get(name) != after.given.get(name)]
    return ", ".join(f"{name} {_setting_change(before, after, name)}" for name in names)


def _setting_change(before: DeclaredSettings, after: DeclaredSettings, name: str) -> str:
    """Return how a setting changed: the lines that are gone, and those that came in their place."""
    was, now = _setting_lines(before, name), _setting_lines(after, name)
    gone, came = ([each for each in one if each not in other] for one, other in ((was, now), (now, was)))
    return f"{', '.join(gone) or 'unset'} → {', '.join(came) or 'unset'}" if gone or came else "in another order"


def _setting_lines(settings: DeclaredSettings, name: str) -> list[str]:
    """Return the values of a setting, each with the language and the condition that it has."""
    told = []
    for each in (each for each in settings.cases if each.name == name):
        words = [f"in {each.language}"] if each.language is not None else []
        words += [f"when {expression_notation(each.when)}"] if each.when is not None else []
        value = each.value[0] if name == "stop" else each.settings.given.get(name)
        told.append(" ".join((_shown(value), *words)))
    plain = settings.otherwise.given.get(name)
    return told if plain is None else [*told, _shown(plain)]


def _returns(before: Any, after: Any, title: str) -> str:
    if before is None or after is None or before.kind != "record" or after.kind != "record":
        return title
    was, now = before.fields, after.fields
    told = [f"+ {name}" for name in now if name not in was] + [f"- {name}" for name in was if name not in now]
    told += [name for name in now if name in was and _json_value(was[name]) != _json_value(now[name])]
    return f"{title} ({', '.join(told)})" if told else title


def _shown(value: Any) -> str:
    if value is None:
        return "unset"
    text = value if isinstance(value, str) else canonical(value).decode(errors="replace")
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _json_value(value: Any) -> Any:
    """Anything of a plan as JSON values."""
    match value:
        case BaseModel():
            return value.model_dump(mode="json")
        case Mapping():
            return {name: _json_value(each) for name, each in value.items()}
        case list() | tuple():
            return [_json_value(each) for each in value]
    return value


def _prints(step: Step) -> frozenset[str]:
    return frozenset((step.fingerprint, *([step.judgement] if isinstance(step, Judging) else [])))


def settling_changes(before: Plan, after: Plan) -> Iterator[Change]:
    """Yield what runs go on for until it is settled, and did not, or the other way round."""
    was, now = map(_settling, (before, after))
    for part, name in sorted(was.keys() & now.keys()):
        if was[part, name] != now[part, name]:
            yield Change("patch", part, name, "ends runs otherwise")


def _settling(plan: Plan) -> dict[tuple[str, str], Settling | None]:
    found = {("measure", each.name): each.until for each in plan.measures}
    found |= {("expect", each.shown): each.until for each in plan.expectations}
    return found | {("benchmark", plan.benchmark.name): plan.benchmark.until}
