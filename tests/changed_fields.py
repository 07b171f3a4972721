"""A step of every kind, and another value for each of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from tests.compiler.compiling import compile_text, plan_of
from tripos_compiler.plan import (
    Ask,
    BoolType,
    ChoiceType,
    Column,
    Compare,
    Converse,
    DeclaredSettings,
    Grade,
    Literal_,
    Loop,
    NumberType,
    Part,
    Plain,
    Plan,
    Ref,
    Retrieve,
    Score,
    SettingCase,
    Settings,
    Shots,
    Speaker,
    Step,
    Template,
    Texts,
    Tool,
    Until,
    Verdict,
)

SPEC = """\
benchmark t "1.0.0" { languages en }
role candidate compared
role judge panel
dimension quality "Quality" {
  metric CLEAR "Clarity" { scale 1..10, asks "Is it clear?" }
  metric FACT "Accuracy" { scale 1..10, asks "Is it true?" }
}
scorer grader(response: text) by judge { prompt "{{ metrics }} Grade: {{ response }}", gives allocated metrics }
scorer strict(response: text) by judge { prompt "{{ metrics }} Be strict: {{ response }}", gives allocated metrics }
allocate grader {
  |      | CLEAR | FACT |
  | sums |   x   |  x   |
}
allocate strict {
  |      | CLEAR | FACT |
  | sums |   x   |  x   |
}
scenario sums {
  ask reply by candidate { prompt "What is 6 * 7?" }
  score grader(reply.text)
  score strict(reply.text)
}
measure m = mean(grader)
"""


def texts(text: str, chinese: str = "问") -> Texts:
    return {"en": Template(parts=(text,)), "zh": Template(parts=(chinese,))}


REPLY, ITEM = Ref(path=("reply", "text")), Ref(path=("item", "question"))
SHOTS = Shots(count=2, dataset="item", alias="q", prompt=texts("P"), reply=texts("R"))
CANDIDATE, HELPER = Speaker(role="candidate"), Speaker(role="helper", system=texts("Ask."))
NONE: dict[str, Any] = {"needs": (), "fingerprint": "f"}
GIVEN: dict[str, Any] = {"scorer": "grader", "args": {"response": REPLY}, "judgement": "j", **NONE}
STEPS: tuple[Step, ...] = (
    Ask(name="reply", role="candidate", shots=(SHOTS,), prompt=texts("Why?"), fingerprint="f"),
    Converse(name="talk", speakers=(CANDIDATE, HELPER), opens="helper", until=(), limit=4, fingerprint="f"),
    Retrieve(name="near", source=ITEM, alias="e", top=3, by=ITEM, fingerprint="f"),
    Verdict(name="fair", **GIVEN),
    Score(name="long", value=REPLY, of="reply", truth=False, **NONE),
    Column(name="m.step", value=REPLY, type=NumberType(), of="reply", **NONE),
    Grade(name="grader", of="reply", metrics=("CLEAR",), weights=(1.0,), **GIVEN),
    Compare(name="duel", of="reply", **GIVEN),
)
HIDDEN = frozenset(("step", "name", "of", "needs", "inputs", "condition", "judgement", "fingerprint"))
"""Fields that name steps or results, or follow from conditions, which are fields themselves."""


def plan() -> Plan:
    """Return a plan with what the steps name."""
    return plan_of(compile_text(SPEC))


def other_settings() -> list[DeclaredSettings]:
    """Settings of which one differs from its default, for each; one of a language, and one under a condition."""
    made = [DeclaredSettings(**{name: getattr(each, name) for name in each.given}) for each in _other_settings()]
    cases = [
        SettingCase(name="stop", settings=Settings(stop=("END",)), language="en"),
        SettingCase(name="temperature", settings=Settings(temperature=0.5), when=ITEM),
    ]
    return [*made, *(DeclaredSettings(cases=(each,)) for each in cases)]


def _other_settings() -> Iterator[Settings]:
    for name in Settings.model_fields:
        for value in (0.5, 7, ("x",), "low", "own", [{"name": "x", "number": 1}]):
            try:
                made = Settings.model_validate({name: value})
            except ValidationError:
                continue
            if made != Settings():
                yield made
                break
        else:
            raise AssertionError(f"no other value of settings.{name} is known: add one here")


def _each(part: Part, others: dict[str, Any]) -> list[Part]:
    """The part with another value of each of its fields in turn."""
    assert others.keys() == type(part).model_fields.keys(), "say another value of every field here"
    return [part.model_copy(update={name: value}) for name, value in others.items()]


_SHOTS = {
    "count": 3,
    "dataset": "b",
    "alias": "r",
    "where": ITEM,
    "drawn": ITEM,
    "prompt": texts("PP"),
    "reply": texts("R", "答"),
}
_SPEAKER = {"role": "judge", "system": texts("Ask more."), "settings": DeclaredSettings(temperature=0.5)}
OTHER: dict[str, Sequence[Any]] = {
    "role": ["helper"],
    "system": [texts("Be brief."), texts("Be brief.", "简")],
    "plain": [Plain(), Plain(parted="\n"), Plain(link="")],
    "options": [ITEM],
    "tools": [(Tool(name="ping", about={"en": "Call"}),)],
    "offered": [ITEM],
    "acts": [(ITEM,)],
    "user": ["helper"],
    "opened": [True],
    "shots": [(), *((each,) for each in _each(SHOTS, _SHOTS))],
    "chat": [ITEM],
    "continues": ["talk"],
    "prompt": [texts("When?"), texts("Why?", "何时")],
    "returns": [NumberType()],
    "numbers": [{"zh": "de"}, {"en": "fr"}],
    "samples": [4],
    "draw": [1],
    "settings": other_settings(),
    "speakers": [(HELPER, CANDIDATE), *((CANDIDATE, each) for each in _each(HELPER, _SPEAKER))],
    "opens": ["candidate"],
    "until": [(Until(role="helper", text="END"),)],
    "limit": [6],
    "repeat": [3],
    "source": [REPLY],
    "alias": ["d"],
    "where": [ITEM],
    "top": [5],
    "by": [REPLY],
    "using": ["helper"],
    "include": [(ITEM,)],
    "scorer": ["strict"],
    "args": [{"response": ITEM}, {"response": REPLY, "question": ITEM}],
    "metrics": [("CLEAR", "FACT")],
    "weights": [(2.0,)],
    "value": [ITEM],
    "truth": [True],
    "gives": [ChoiceType(values=("GOOD", "POOR"))],
    "judge": ["strict"],
    "type": [BoolType()],
    "element": [BoolType()],
    "loops": [(Loop(alias="element", of=ITEM),)],
    "when": [Literal_(value=True)],
    "earlier": [(), (Literal_(value=True),)],
}
"""Other values of every field of steps, by its name."""


def changed(*kinds: type[Part]) -> list[tuple[str, Step, Step]]:
    """Return the steps of some kinds, or of all, each with another value of each of its fields, and the field's
    name."""
    return [
        (field, step, step.model_copy(update={field: value}))
        for step in STEPS
        if not kinds or isinstance(step, kinds)
        for field in type(step).model_fields
        if field not in HIDDEN
        for value in OTHER[field]
    ]
