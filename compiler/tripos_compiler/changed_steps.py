"""What changed of the steps of a treatment, each in a few words, with the results that count no longer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tripos_compiler.plan import Grade, Judging, Part, Plan, Scorer, Settings, Step, Treatment
from tripos_compiler.semantics.outside import outside_changes

_KINDS = {
    "prompt": "prompt",
    "system": "prompt",
    "chat": "prompt",
    "continues": "prompt",
    "shots": "prompt",
    "returns": "prompt",
    "settings": "settings",
    "samples": "settings",
    "repeat": "settings",
    "limit": "settings",
    "metrics": "allocation",
    "weights": "allocation",
}
"""The kind of change that a field of a step is; of any other field it is the step's own."""
_HIDDEN = frozenset(("step", "name", "fingerprint", "judgement", "needs"))

GONE, NEW = "is gone", "is new"

Told = tuple[str, str, str, frozenset[str]]
"""The kind, the step, what of it, and the fingerprints of results that count no longer."""


def step_changes(was: Treatment, now: Treatment, before: Plan, after: Plan) -> Iterator[Told]:
    """What changed between two versions of a treatment. A step of which no field changed is told with the input
    that did."""
    pairs, gone, added = _paired(was.steps, now.steps)
    for step in gone:
        yield step.step, step.name, GONE, _prints(step)
    for step in added:
        yield step.step, step.name, NEW, frozenset()
    for old, new in pairs:
        told = list(_changed(old, new, before, after))
        lost = _prints(old) - _prints(new)
        for kind, what in told:
            yield kind, new.name, what, lost
        if lost and not told:
            moved = any(step.name in new.needs and step.fingerprint not in before.fingerprints for step in now.steps)
            yield new.step, new.name, _followed(outside_changes(old, new, before, after), moved), lost


def _followed(inputs: Sequence[str], moved: bool) -> str:
    """Why results of a step count no longer of which no field changed."""
    if inputs:
        return f"depends on {', '.join(inputs)}"
    return "follows what it builds on" if moved else "is computed or named otherwise by another version of Tripos"


def _paired(was: Sequence[Step], now: Sequence[Step]) -> tuple[list[tuple[Step, Step]], list[Step], list[Step]]:
    """The steps that are one in both, those gone, and those that are new. Several may have one name, each under
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


def _changed(old: Step, new: Step, before: Plan, after: Plan) -> Iterator[tuple[str, str]]:
    if old.step != new.step:
        yield new.step, f"is a {new.step} now, and was a {old.step}"
        return
    for field, told in _fields(old, new, _HIDDEN):
        yield _KINDS.get(field, new.step), told
    if isinstance(old, Judging) and isinstance(new, Judging) and old.scorer == new.scorer:
        yield from _scorer(before.scorer(old.scorer), after.scorer(new.scorer))
    if isinstance(old, Grade) and isinstance(new, Grade):
        for name in (each for each in old.metrics if each in new.metrics):
            if _rubric(before, name) != _rubric(after, name):
                yield "metric", f"grades `{name}` by another rubric"


def _scorer(old: Scorer, new: Scorer) -> Iterator[tuple[str, str]]:
    for _, told in _fields(old, new, frozenset()):
        yield "scorer", f"is graded by `{new.name}`, of which {told}"


def _fields(old: Part, new: Part, hidden: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The fields of a part that differ, each with how in words."""
    was, now = (each.model_dump(mode="json", exclude=set(hidden)) for each in (old, new))
    for field in type(new).model_fields:
        if was.get(field) != now.get(field):
            yield field, _told(field, _value(old, was, field), _value(new, now, field), getattr(new, field))


def _value(part: Part, written: dict[str, Any], field: str) -> Any:
    """A field as it is written, where it is; a default, which is left out, as it is."""
    return written.get(field, getattr(part, field))


def _told(field: str, was: Any, now: Any, value: Any) -> str:
    """A change of one field in words.

    >>> _told("samples", 1, 4, 4)
    'samples 1 → 4'
    """
    if isinstance(value, Settings):
        was, now = (each if isinstance(each, dict) else {} for each in (was, now))
        names = [name for name in dict.fromkeys((*was, *now)) if was.get(name) != now.get(name)]
        return ", ".join(f"{name} {_shown(was.get(name))} → {_shown(now.get(name))}" for name in names)
    if field in ("prompt", "system") and was and now:
        changed = sorted(language for language in {*was, *now} if was.get(language) != now.get(language))
        return f"the {field} ({', '.join(changed)}) is other than before"
    if isinstance(now, int | float | str) and isinstance(was, int | float | str):
        return f"{field} {_shown(was)} → {_shown(now)}"
    if field == "metrics":
        told = [*(f"+ {each}" for each in now if each not in was), *(f"- {each}" for each in was if each not in now)]
        return f"metrics {', '.join(told) or 'in another order'}"
    words = {"when": "the condition", "value": "the expression", "args": "what the scorer is given"}
    return f"{words.get(field, field)} is other than before"


def _shown(value: Any) -> str:
    text = "unset" if value is None or value == [] else str(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _rubric(plan: Plan, name: str) -> Any:
    return plan.metric(name).model_dump(mode="json", exclude={"dimension"})


def _prints(step: Step) -> frozenset[str]:
    return frozenset((step.fingerprint, *([step.judgement] if isinstance(step, Judging) else [])))
