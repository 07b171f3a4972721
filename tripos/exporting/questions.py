"""The questions of a spec that other tools can ask, and the parts of it that they cannot express.

A question is a prompt of the compared role that does not depend on replies, with checks for its scores. A check
compares a reply with a value of the row. Everything else is recorded as a loss with its place: judges, comparisons,
conversations, steps that build on replies, and measures other than means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tripos.exporting import Emitter
from tripos_compiler.language.evaluation import NoValue, evaluate
from tripos_compiler.language.references import paths_in
from tripos_compiler.language.scored_values import mean_in
from tripos_compiler.library.calls import is_call
from tripos_compiler.library.functions import texts
from tripos_compiler.library.types import without_optional
from tripos_compiler.plan import (
    Aggregate,
    Ask,
    Binary,
    Call,
    Compare,
    Converse,
    Expr,
    Grade,
    Measure,
    Plan,
    Ref,
    Scenario,
    Score,
)
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.forecast.prompts import PromptPreview, placeholder_models, preview_prompts
from tripos_runtime.models.base import Message

Kind = Literal["equals", "contains", "likeliest", "likeliest_by_character"]


# Checks
@dataclass(frozen=True)
class Check:
    """A comparison with a `target`: of the text of a reply, or of a `field` of a reply in JSON."""

    name: str
    kind: Kind
    target: Any
    trim: bool = False
    lower: bool = False
    field: str | None = None


def check_of(score: Score, step: Ask, values: Mapping[str, Any]) -> Check | str:
    """Return the check for a score of a reply to `step`, with its target for the row that `values` belong to; or the
    reason why there is none.

    >>> from tripos_compiler.plan import Ref
    >>> right = Binary(operator="==", left=Ref(path=("reply", "text")), right=Ref(path=("item", "answer")))
    >>> score = Score(name="right", value=right, of="reply", needs=(), truth=True, fingerprint="")
    >>> check_of(score, Ask(name="reply", role="candidate", fingerprint=""), {"item": {"answer": "42"}})
    Check(name='right', kind='equals', target='42', trim=False, lower=False, field=None)
    """
    if score.when is not None or score.earlier:
        return "it has a condition"
    if score.element is not None:
        return "it is of each element of a list"
    match score.value:
        case Binary(operator="==", left=left, right=right):
            for reply, other in ((left, right), (right, left)):
                check = _read(reply, step)
                if check is not None:
                    return _with_target(replace(check, name=score.name), other, step, values)
        case Call(args=(whole, part)) if is_call(score.value, texts.contains):
            check = _read(whole, step)
            if check is not None and not check.lower:
                return _with_target(replace(check, name=score.name, kind="contains"), part, step, values)
    return "its expression has no counterpart"


def _with_target(found: Check, expr: Expr, step: Ask, values: Mapping[str, Any]) -> Check | str:
    if any(path[0] == step.name for path in paths_in(expr)):
        return "it compares a reply with itself"
    try:
        target = evaluate(expr, values)
    except (NoValue, KeyError):
        return "its target has no value in some rows"
    if isinstance(target, str | bool | int | float) and (isinstance(target, str) or found.kind != "contains"):
        return replace(found, target=target)
    return "its target is no text and no number"


def _read(expr: Expr, step: Ask) -> Check | None:
    """Return a check without a target for what an expression reads of a reply, or None for any other expression."""
    match expr:
        case Call(args=(inner,)) if is_call(expr, texts.trim, texts.lower):
            check = _read(inner, step)
            if check is None or check.kind != "equals":
                return None
            return replace(check, trim=True) if is_call(expr, texts.trim) else replace(check, lower=True)
        case Ref(path=(name, part)) if name == step.name:
            if step.options is not None:
                kinds: dict[str, Kind] = {
                    "likeliest": "likeliest",
                    "likeliest_by_character": "likeliest_by_character",
                }
                return Check("", kinds[part], None) if part in kinds else None
            if part == "text":
                return Check("", "equals", None)
            if step.returns is None or without_optional(step.returns).kind == "json":  # which is not in a field
                return None
            return Check("", "equals", None, field=part)
    return None


ALL = 2**62
PENDING = "⟨"
"""The mark of a part of a prompt that a reply will fill."""


# Questions
@dataclass(frozen=True)
class Unsupported:
    """A part of a spec that a format cannot express, with the reason."""

    place: str
    why: str


@dataclass(frozen=True)
class EmittedQuestion:
    """A prompt of the compared role for one item, with the checks of its reply."""

    scenario: str
    item_id: str
    context: Mapping[str, str]
    arms: str
    step: str
    messages: tuple[Message, ...]
    settings: Mapping[str, Any]
    schema: Mapping[str, Any] | None
    """The JSON Schema of the reply, which models that enforce one are sent."""
    samples: int
    checks: tuple[Check, ...]

    @property
    def text(self) -> str | None:
        """The prompt, if it is one text; `None` for a chat with several messages."""
        messages = [message for message in self.messages if message.role in ("user", "text")]
        return messages[0].content if len(messages) == 1 == len(self.messages) else None

    @property
    def options(self) -> tuple[str, ...]:
        """The options of a likelihood."""
        return tuple(message.content for message in self.messages if message.role == "option")

    @property
    def about(self) -> dict[str, str]:
        """The metadata of the question."""
        told = {"scenario": self.scenario, "item_id": self.item_id, **self.context}
        return {**told, "arms": self.arms} if self.arms else told


@dataclass
class SpecQuestions:
    """The questions of a spec for another format, and the losses."""

    plan: Plan
    questions: list[EmittedQuestion] = field(default_factory=list)
    losses: dict[Unsupported, None] = field(default_factory=dict)

    def lose(self, place: str, why: str) -> None:
        """Record a loss, unless it was recorded before."""
        self.losses.setdefault(Unsupported(place, why))

    def lose_schemas(self) -> None:
        """Record for a form without JSON Schemas of replies that these are not sent. Prompts describe them."""
        for question in self.questions:
            if question.schema is not None:
                why = "approximately: the JSON Schema, which models that enforce one are sent too"
                self.lose(f"{question.scenario}.{question.step}", why)

    def by_scenario(self) -> Iterator[tuple[str, list[EmittedQuestion]]]:
        """Yield each scenario that has questions, with its questions."""
        for scenario in self.plan.scenarios:
            if questions := [question for question in self.questions if question.scenario == scenario.name]:
                yield scenario.name, questions


def collect(plan: Plan, source: CaseSource) -> SpecQuestions:
    """Return the questions of a spec over all its rows. Raises `DataError` if a data file has changed."""
    emission = SpecQuestions(plan)
    compared = next((role.name for role in plan.roles if role.kind == "compared"), None)
    for scenario in plan.scenarios:
        _add_unsupported_steps(emission, scenario, compared)
    _add_unsupported_measures(emission)
    cases = _values(plan, source)
    asks = {(scenario.name, step.name): step for scenario in plan.scenarios for step in _asks(scenario)}
    shown: set[tuple[str, str]] = set()
    for prompt in preview_prompts(plan, source, Selection(), placeholder_models(plan), ALL):
        step = asks.get((prompt.scenario, prompt.step))
        if step is None or prompt.role != compared:
            continue
        place = f"{prompt.scenario}.{prompt.step}"
        shown.add((prompt.scenario, prompt.step))
        if any(PENDING in message.content for message in prompt.messages) or not prompt.certain:
            emission.lose(place, "the prompt depends on a reply")
        elif prompt.secrets:
            emission.lose(place, f"the prompt reveals {', '.join(prompt.secrets)}, and no other tool proves secrecy")
        else:
            values = cases[prompt.scenario, prompt.item_id]
            emission.questions.append(_question(emission, prompt, step, values))
    for (name, step_name), step in asks.items():
        if (name, step_name) not in shown and step.role == compared:
            emission.lose(
                f"{name}.{step_name}", "no prompt can be shown: its rows are yet to be made, or there are none"
            )
    return emission


@dataclass(frozen=True)
class EmittedSpec:
    """The files that were written, the number of questions in them, and what the form cannot express."""

    files: tuple[Path, ...]
    questions: int
    losses: tuple[Unsupported, ...]


def emit(emitter: Emitter, plan: Plan, source: CaseSource, folder: Path) -> EmittedSpec:
    """Write a spec in a form to a folder. Raises `DataError` if a data file has changed since the plan was made, and
    `StoreError` S0604 if a file cannot be written."""
    emission = collect(plan, source) if emitter.reads_rows else SpecQuestions(plan)
    files = emitter.write(emission, folder)
    return EmittedSpec(tuple(files), len(emission.questions), tuple(emission.losses))


def _question(emission: SpecQuestions, prompt: PromptPreview, step: Ask, values: Mapping[str, Any]) -> EmittedQuestion:
    scenario = next(each for each in emission.plan.scenarios if each.name == prompt.scenario)
    checks = []
    for score in _scores(scenario, step):
        found = check_of(score, step, values)
        if isinstance(found, Check):
            checks.append(found)
        else:
            emission.lose(f"{prompt.scenario}.{score.name}", found)
    for name in prompt.awaited:
        emission.lose(f"{prompt.scenario}.{prompt.step}", f"the setting `{name}`, which depends on a reply")
    return EmittedQuestion(
        prompt.scenario,
        prompt.item_id,
        prompt.context,
        prompt.arms,
        prompt.step,
        prompt.messages,
        {name: value for name, value in prompt.settings.items() if name not in prompt.awaited},
        prompt.schema,
        prompt.samples,
        tuple(checks),
    )


def _values(plan: Plan, source: CaseSource) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the values that expressions read from every row, by scenario and item."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for scenario in plan.scenarios:
        only = replace(Selection(), scenarios=(scenario.name,))
        for case in () if source.has_ungenerated(only) else source.cases(only):
            found[scenario.name, case.item_id] = case.names
    return found


def _asks(scenario: Scenario) -> Sequence[Ask]:
    return [step for step in scenario.steps if isinstance(step, Ask)]


def _scores(scenario: Scenario, step: Ask) -> list[Score]:
    """Return the scores of a step's replies that every treatment has."""
    every = [{each.fingerprint for each in treatment.steps} for treatment in scenario.treatments]
    scores = [each for each in scenario.steps if isinstance(each, Score) and each.of == step.name]
    return [score for score in scores if all(score.fingerprint in held for held in every)]


def _add_unsupported_steps(emission: SpecQuestions, scenario: Scenario, compared: str | None) -> None:
    whole = {score.fingerprint for step in _asks(scenario) for score in _scores(scenario, step)}
    for step in scenario.steps:
        place = f"{scenario.name}.{step.name}"
        match step:
            case Ask() if step.role != compared:
                emission.lose(place, f"a call of another role, `{step.role}`")
            case Ask() if step.calls_tools:
                emission.lose(place, "it offers tools")
            case Converse():
                emission.lose(place, "a conversation")
            case Grade():
                emission.lose(place, "a score by a judge")
            case Compare():
                emission.lose(place, "a comparison of two replies")
            case Score() if step.fingerprint not in whole:
                emission.lose(place, "a score in some arms, or of no reply")


def _add_unsupported_measures(emission: SpecQuestions) -> None:
    names = {step.name for scenario in emission.plan.scenarios for step in scenario.steps if isinstance(step, Score)}
    for measure in emission.plan.measures:
        if not _is_mean(measure, names):
            emission.lose(measure.name, "a measure that is no mean of a score")


def _is_mean(measure: Measure, scores: set[str]) -> bool:
    figure = measure.figure
    if not isinstance(figure, Aggregate) or mean_in(figure) != figure or measure.by or figure.of_condition:
        return False
    return len(figure.values) == 1 and figure.values[0] in scores
