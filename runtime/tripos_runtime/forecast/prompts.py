"""Preview of the prompts of a run, in full, before any call."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.references import expressions_of, paths_in, subexpressions
from tripos_compiler.library.registry import with_functions
from tripos_compiler.plan import Ask, Converse, Data, Dataset, GeneratedDataset, JudgedStep, Plan, Scenario, Verdict
from tripos_compiler.plan.outcomes import PENDING
from tripos_runtime.asking.ledger import NOTHING_KEPT
from tripos_runtime.asking.questions import Question
from tripos_runtime.datasets.cases import Case, CaseSource
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.drivers.lookup import Lookup, bound_treatments
from tripos_runtime.forecast.driver import ForecastDriver
from tripos_runtime.forecast.run_forecast import arms_of, not_called
from tripos_runtime.forecast.sizes import CallCertainty
from tripos_runtime.models.base import Message
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.program.needs import PlanContext, ReplyNeed
from tripos_runtime.program.steps import TurnPrompt

STAND_INS = ("mock/first", "mock/second")
EMBEDDED = "input"
"""The role of a text that is embedded."""


@dataclass(frozen=True)
class PromptPreview:
    """The messages of a question about one item, as a model in `role` would receive them. Parts that need other replies
    are shown in ⟨⟩."""

    scenario: str
    item_id: str
    context: Mapping[str, str]
    step: str
    role: str
    messages: tuple[Message, ...]
    certain: bool
    """False if a reply decides whether this is asked."""
    arms: str
    """The treatments that ask this, in words; empty if all do."""
    element: str | None = None
    """The position of the list element that a judge is asked about, from 0; `0.2` for a list in a list."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The request's settings from the spec as JSON values; of several samples, those of the first."""
    schema: Mapping[str, Any] | None = None
    """The JSON Schema of the reply. It is sent to models that enforce schemas; for others the prompt describes it."""
    samples: int = 1
    """The number of replies asked for."""
    turn: int | None = None
    """The turn of a conversation, from 1."""
    secrets: tuple[str, ...] = ()
    """The secret columns in the messages, or that decide about them."""
    awaited: tuple[str, ...] = ()
    """The settings that depend on a reply."""


def preview_prompts(
    plan: Plan,
    source: CaseSource,
    selection: Selection,
    binding: RoleBinding,
    number: int,
    unasked: Callable[[Case], None] = lambda case: None,
) -> Iterator[PromptPreview]:
    """Yield each prompt once for the first `number` items of every scenario; of a conversation, the first turns of both
    speakers. No store is read and no Python function of the plan is called. A scenario over rows that are not generated
    yet yields none. `unasked` is called for each item for which nothing is sent. Raises `DataError` if a data file has
    changed since the plan was made."""
    chosen = selection.chosen(plan)
    lookup = Lookup(NOTHING_KEPT, bound_treatments(chosen, plan, binding), binding)
    with with_functions({plugin.name: not_called(plugin.name) for plugin in plan.plugins}):
        for scenario in chosen:
            only = replace(selection, scenarios=(scenario.name,))
            for case in () if source.has_ungenerated(only) else itertools.islice(source.cases(only), number):
                previews = list(_of_case(plan, source, lookup, case))
                yield from previews
                if not previews:
                    unasked(case)


def _of_case(plan: Plan, source: CaseSource, lookup: Lookup, case: Case) -> Iterator[PromptPreview]:
    previews: dict[tuple[object, ...], PromptPreview] = {}
    arms = arms_of(case.scenario)

    def note(found: PromptPreview) -> None:
        about = orjson.dumps([found.settings, found.schema], option=orjson.OPT_SORT_KEYS)
        previews.setdefault((found.step, found.role, found.messages, about), found)

    def read(need: ReplyNeed, messages: tuple[Message, ...]) -> None:
        turn = need.prompt.number if isinstance(need.prompt, TurnPrompt) else None
        if turn is not None and turn > 2:
            return
        step, role, question = need.call.step, need.call.role, need.question
        samples = step.samples if isinstance(step, Ask | Converse) else plan.scorer(step.scorer).samples
        prompt_preview = PromptPreview(
            case.scenario.name,
            case.item_id,
            case.context,
            step.name,
            role,
            messages,
            need.certain,
            arms.get((step.name, step.fingerprint), ""),
            need.call.element_name,
            _settings_shown(question),
            question.schema,
            samples,
            turn,
            tuple(sorted(_secrets(plan, case.scenario, step, role))),
            question.varied if question.unsettled else (),
        )
        note(prompt_preview)

    foresight = ForecastDriver(PlanContext(plan, source.sources), on_reply_read=read)
    treatments = frozenset(lookup.bound_treatments[case.scenario.name])
    foresight.of(case, lookup.units(case, treatments), {}, {})
    for preview in _embedded(plan, foresight, case):
        note(preview)
    yield from previews.values()


def _settings_shown(question: Question) -> dict[str, Any]:
    """Return the settings of a request as JSON values; one that a reply decides is shown by its name in ⟨⟩."""
    awaited = ", ".join(dict.fromkeys(f"`{reason.step}`" for _, reason in question.unsettled))
    return question.settings.given | dict.fromkeys(question.varied if question.unsettled else (), f"⟨{awaited}⟩")


def _embedded(plan: Plan, foresight: ForecastDriver, case: Case) -> Iterator[PromptPreview]:
    """Yield the query texts of an item for retrieval; the texts of the elements are not shown. A text that waits for a
    reply is replaced by its name."""
    for _, step, names, fate in foresight.embedding.values():
        told = arms_of(case.scenario).get((step.name, step.fingerprint), "")
        for measure in foresight.world.chooser.split(step).measures:
            if not measure.embeds or step.using is None:
                continue
            try:
                text = evaluate(measure.query, names.values)
            except Unavailable as reason:
                if reason.status != PENDING:
                    continue
                text = f"⟨`{reason.step}`⟩"
            found = (Message(EMBEDDED, str(text)),)
            where = (case.scenario.name, case.item_id, case.context, step.name, step.using)
            secrets = tuple(sorted(_secret_columns(plan, case.scenario, (measure.query,))))
            yield PromptPreview(*where, found, fate is CallCertainty.CERTAIN, told, secrets=secrets)


def _secrets(plan: Plan, scenario: Scenario, step: Ask | Converse | JudgedStep, role: str) -> set[str]:
    """Return the secret columns that a step's messages to a role read."""
    match step:
        case Ask():
            shown = _secret_columns(
                plan,
                scenario,
                (step.system, step.settings, step.chat, step.prompt, step.options, step.tools, step.offered),
            )
            before = next((each for each in scenario.steps if each.name == step.continues), None)
            if isinstance(before, Ask):
                shown |= _secrets(plan, scenario, before, role)
            for shots in step.shots:
                texts = (shots.prompt, shots.reply, shots.drawn)
                shown |= _secret_columns(plan, scenario, texts, {shots.alias: shots.dataset})
            return shown
        case Converse():
            return _secret_columns(plan, scenario, [side for side in step.speakers if side.role == role])
    scorer = plan.scorer(step.scorer)
    loops = step.loops if isinstance(step, Verdict) else ()
    given: list[object] = [step.args, *(loop.of for loop in loops), scorer.settings]
    given += [scorer.system, scorer.prompt, scorer.chat]
    return _secret_columns(plan, scenario, given)


def _secret_columns(
    plan: Plan, scenario: Scenario, parts: Iterable[object], aliases: Mapping[str, str] = {}
) -> set[str]:
    """Return the secret columns that parts of a plan read, such as `item.answer`; `aliases` are the data sets whose
    rows have a name in addition to those of the scenario."""
    rows = {**({} if scenario.rows is None else {scenario.rows.alias: scenario.rows.dataset}), **aliases}
    datasets: tuple[Dataset | GeneratedDataset, ...] = (*plan.datasets, *plan.made)
    secret = {each.name: {one.name for one in each.fields if one.secret} for each in datasets}
    found: set[str] = set()
    for expr in (expr for part in parts for expr in expressions_of(part)):
        looked = [(alias, rows[alias], rest[:1]) for alias, *rest in map(_row_path, paths_in(expr)) if alias in rows]
        inner = (subexpression for subexpression in subexpressions(expr) if isinstance(subexpression, Data))
        looked += [(data.dataset, data.dataset, [data.field] if data.field else []) for data in inner]
        for name, dataset, column in looked:
            found |= {f"{name}.{each}" for each in secret.get(dataset, set()).intersection(column or secret[dataset])}
    return found


def _row_path(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return a path without the side of a pair."""
    return path[1:] if path[0] in ("first", "second") and len(path) > 1 else path


def placeholder_models(plan: Plan) -> RoleBinding:
    """Return placeholder models for every role of a plan, two for the compared role."""
    compared = next(role.name for role in plan.roles if role.kind == "compared")
    return RoleBinding({role.name: STAND_INS[: 1 + (role.name == compared)] for role in plan.roles}, compared)
