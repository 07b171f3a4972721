"""The replies of a run that a role grades, and their views: a person is one more evaluator of each grade.

Judgements and scores have the names that a model in the role would have given them, so the rest of Tripos does not
distinguish people. A person may grade a reply, compare two, or label the elements of a list; each label is a score of
its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import orjson

from tripos.annotation.batch import OtherReply, RequestedGrade, key_of
from tripos.annotation.i18n import label_of, words_for
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.i18n import chosen_language
from tripos_compiler.errors import TriposError
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.references import names_in
from tripos_compiler.language.row_scales import scorer_in_case
from tripos_compiler.library.functions.texts import json
from tripos_compiler.plan import (
    VERDICT,
    ChoiceType,
    Compare,
    Grade,
    Hole,
    Metric,
    Passage,
    Plan,
    Scenario,
    Score,
    Scorer,
    Type,
    Verdict,
    digest,
)
from tripos_runtime.asking.judging import comparison_worth, worth_of
from tripos_runtime.asking.ledger import Row
from tripos_runtime.datasets.cases import Case
from tripos_runtime.datasets.data_files import DataFolders
from tripos_runtime.datasets.sources import Sources
from tripos_runtime.drivers.human import HumanGrader
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.program.needs import PlanContext
from tripos_runtime.program.units import BoundTreatment, Pair, Unit, element_name, pairs_of
from tripos_warehouse.ledger.imported_scores import imported_score
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.store.schemas import HUMAN
from tripos_warehouse.views.runs import RunRecord

Places = tuple[int, ...]


@dataclass(frozen=True)
class LabelledElement:
    """An element of a reply that a role labels. `step` asks about it, and `score` stores its label."""

    score: Score
    step: Verdict
    places: Places
    value: str
    """The element as JSON."""

    @property
    def place(self) -> str:
        """The position in the list, as in the rows of scores."""
        return element_name(self.places)

    def score_id(self, evaluator: str, sample_id: str, binding: str, round: int | None) -> str:
        """Return the name of its score by a person."""
        return digest(["element score", self.score.fingerprint, evaluator, sample_id, binding, self.place, round])

    def judgement_id(self, unit: Unit, evaluator: str, sample_id: str, binding: str, round: int | None) -> str:
        """Return the name of a person's judgement: in the first round the same as for a model in the role."""
        if round is None:
            calls = (call for call in unit.calls if call.step is self.step and call.element == self.places)
            return next(call.name for call in calls if call.model == evaluator)
        about = evaluator, round, sample_id, binding, self.place
        return digest(["imported judgement", self.step.judgement, *about])


def labels_of(bound: BoundTreatment, role: str) -> list[tuple[Score, Verdict]]:
    """Return the scores of a treatment that are exactly a role's choice for each element of one list."""
    found = []
    for score in bound.treatment.steps:
        if not isinstance(score, Score) or score.judge is None or score.when is not None or score.earlier:
            continue
        for step in bound.treatment.steps:
            asked = isinstance(step, Verdict) and step.scorer == score.judge and step.name in names_in(score.value)
            if asked and isinstance(step, Verdict) and len(step.loops) == 1 and bound.role_of(step) == role:
                found.append((score, step))
    return found


def elements_of(human: HumanGrader, unit: Unit, score: Score, step: Verdict) -> Iterator[LabelledElement]:
    """Yield the elements that a judge would be asked about, in order. Raises `LookupError` if they depend on data
    outside the store."""
    alias = step.loops[0].alias
    for places, names in human.names_of_elements(unit, step).items():
        yield LabelledElement(score, step, places, orjson.dumps(names[alias], default=str).decode())


def names_of(human: HumanGrader, unit: Unit, element: LabelledElement) -> Mapping[str, Any] | None:
    """Return the names in a judge's question about an element, or None if it would not be asked."""
    return human.names_of_elements(unit, element.step).get(element.places)


@dataclass(frozen=True, eq=False)
class GradableReply:
    """A gradable reply, by the name of its future judgement."""

    unit: Unit
    step: Grade | Compare | Verdict
    sample_id: str
    """The graded reply: the last one of a chat, or the first shown of a pair."""
    judgement_id: str
    model: str
    binding: str
    marks: tuple[RequestedGrade, ...]
    pair: Pair | None = None
    other: OtherReply | None = None
    element: LabelledElement | None = None
    """The list element to label, if it is not the whole reply."""
    also: tuple[GradableReply, ...] = ()
    """The same judgement under further scores, which may have other conditions."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its scores."""
        return self.step.fingerprint if self.element is None else self.element.score.fingerprint

    @property
    def key(self) -> tuple[str, str]:
        """The identity of the reply, independent of the person."""
        beside = None if self.other is None else self.other.sample_id
        return key_of(self.sample_id, beside if self.element is None else self.element.place, self.fingerprint)

    @property
    def of(self) -> str:
        """The model of the reply, or the two models of a pair, sorted by name."""
        return self.model if self.other is None else " & ".join(sorted((self.model, self.other.model)))

    @property
    def arms(self) -> Mapping[str, str]:
        """The arms of its treatment with their values."""
        return self.unit.bound.treatment.arms

    @property
    def value_names(self) -> Iterable[str]:
        """The axes, arms and columns that it has a value for."""
        return {*self.unit.case.context, *self.arms, *self.unit.case.fields}

    def value_of(self, name: str) -> str:
        """Return its value of an axis, arm or column as text, or an empty text."""
        case = self.unit.case
        return str(case.context.get(name, self.arms.get(name, case.fields.get(name, ""))))

    @property
    def scenario(self) -> str:
        """The name of its scenario."""
        return self.unit.case.scenario.name


def pairs_to_compare(units: Sequence[Unit], role: str) -> Iterator[Pair]:
    """Yield every pair of replies that a role compares, in one order that depends on their names: half of them in each
    order, the same for everyone."""
    for pair in pairs_of(units):
        if pair.bound.role_of(pair.step) == role and _is_shown(pair):
            yield pair


def _is_shown(pair: Pair) -> bool:
    own, other = (side.about(pair.step) for side in pair.sides)
    turned = int(digest(["shown first", pair.step.name, *sorted((own, other))])[:8], 16) % 2 == 1
    return (own > other) == turned


def gradable_pair(plan: Plan, pair: Pair, binding: str, evaluator: str, round: int | None) -> GradableReply:
    """Return a pair as something to grade. In a later round, the judgement has another name."""
    step, scorer = pair.step, plan.scorer(pair.step.scorer)
    assert isinstance(scorer.gives, ChoiceType)
    choices = tuple((name, comparison_worth(scorer, name) or 0.0) for name in scorer.gives.values)
    judgement, name = pair.calls[0].name, pair.comparisons[evaluator]
    first, second = (side.about(step) for side in pair.sides)
    if round is not None:
        about = evaluator, round, first, second, binding
        judgement = digest(["imported judgement", step.judgement, *about])
        name = digest(["imported comparison", step.fingerprint, *about])
    mark = RequestedGrade(step.name, VERDICT, name, 1, len(choices), True, choices)
    other = OtherReply(step.name, pair.second.model, second)
    return GradableReply(pair.first, step, first, judgement, pair.first.model, binding, (mark,), pair, other)


@dataclass(frozen=True)
class ShownReply:
    """A person's view of a reply: texts in the item's language, as in the judge's prompt, below headings in the same
    language, or in the one that the reader chose (`headings`)."""

    language: str
    headings: str
    title: str
    texts: tuple[tuple[str, str], ...]
    scales: tuple[ShownScale, ...]
    of: GradableReply


@dataclass(frozen=True)
class ShownScale:
    """A metric as shown to a person. `levels` are `(low, high, text)`, highest first. With `names`, each value is the
    position of one of them, from 1."""

    metric: str
    title: str
    asks: str
    low: int | None
    high: int | None
    whole: bool
    levels: tuple[tuple[int, int, str], ...]
    names: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[int, ...]:
        """The values to choose from; empty if there are too many or no bounds."""
        if self.low is None or self.high is None or not self.whole or (self.high - self.low > 20 and not self.names):
            return ()
        return tuple(range(self.low, self.high + 1))


OF_REPLY = ("status", "messages", "reply", "parsed", "finish_reason", "error")
"""The columns of a stored reply."""
VIEW_BATCH = 256
"""Number of replies that are read from the store together."""


def grading_role(plan: Plan, role: str | None, compared: str) -> str:
    """Return the role that a person fills: `role`, or by default the only role that grades, or `judge`.

    Raises `TriposError` S0701 if the role gives no grades that a person could give.
    """
    steps = [step for scenario in plan.scenarios for step in scenario.steps]
    graded = [step.scorer for step in steps if isinstance(step, Grade | Compare)]
    graded += [step.judge for step in steps if isinstance(step, Score) and step.judge is not None]
    scorers = [plan.scorer(name) for name in graded]
    known = sorted({scorer.role for scorer in scorers if scorer.writes} - {compared})
    role = role or (known[0] if len(known) == 1 else "judge")
    if role in known:
        return role
    if not known:
        raise TriposError(
            "S0701", f"nothing in `{plan.benchmark.name}` is graded by a judge", "its scores are computed"
        )
    hint = suggest(role, known, f"the roles that grade are {', '.join(f'`{each}`' for each in known)}")
    raise TriposError("S0701", f"the role `{role}` grades nothing in `{plan.benchmark.name}`", hint)


@dataclass(frozen=True)
class RunReplies:
    """The replies of a run for the person `evaluator` in `role`. A `round` of None is the first."""

    connection: Connection
    plan: Plan
    run: RunRecord
    role: str
    evaluator: str
    round: int | None = None

    @cached_property
    def _world(self) -> PlanContext:
        """The world of expressions, without data files, which a store does not have."""
        axes = {axis.name: axis for axis in self.plan.axes}
        return PlanContext(self.plan, Sources(self.plan, DataFolders(), (), axes))

    def candidates(self, pairs: bool = True) -> Iterator[GradableReply]:
        """Yield every gradable reply once, by scenario and item, and every pair to compare. Some may have no view (see
        `show`). Scores that ask the same share one judgement."""
        role_binding = RoleBinding(self.run.roles, self.run.compared_role, self.run.identities)
        binding = replace(role_binding, models={**self.run.roles, self.role: (self.evaluator,)})
        seen: set[str] = set()
        for scenario in self.plan.scenarios:
            bound_treatments = [
                tuple(BoundTreatment(scenario, treatment, self.plan, roles) for roles in (binding, role_binding))
                for treatment in scenario.treatments
            ]
            for case in self._cases(scenario):
                units = [
                    (Unit(case, bound, model, number), of_run)
                    for bound, of_run in bound_treatments
                    for model in self.run.models
                    for number in range(bound.samples)
                ]
                self._find_ends([unit for unit, _ in units])
                replies = [gradable_reply for unit, of_run in units for gradable_reply in self._of(unit, of_run)]
                replies += self._labelled(dict(units))
                if pairs:
                    replies += self._compared(dict(units))
                alike: dict[str, dict[str, GradableReply]] = {}
                for reply in replies:
                    if reply.judgement_id not in seen:
                        alike.setdefault(reply.judgement_id, {}).setdefault(reply.fingerprint, reply)
                seen |= alike.keys()
                for first, *gradable_replies in (tuple(some.values()) for some in alike.values()):
                    yield replace(first, also=tuple(gradable_replies)) if gradable_replies else first

    def graded(self) -> set[str]:
        """Return the ids of judgements that the person has already given."""
        query = "select judgement_id from main.judgements where evaluator = ?"
        return {name for (name,) in self.connection.execute(query, [self.evaluator]).fetchall()}

    def show(self, candidates: Sequence[GradableReply]) -> dict[str, ShownReply]:
        """Return the view of each reply by judgement, for the first of its scores that applies. Replies that a judge
        would not grade, or that the store lacks data for, are left out."""
        replies: dict[str, ShownReply] = {}
        for view in self.views([score for candidate in candidates for score in (candidate, *candidate.also)]):
            replies.setdefault(view.of.judgement_id, view)
        return replies

    def views(self, candidates: Sequence[GradableReply]) -> list[ShownReply]:
        """Return the view of each score (see `show`)."""
        replies: list[ShownReply] = []
        for start in range(0, len(candidates), VIEW_BATCH):
            gradable_replies = candidates[start : start + VIEW_BATCH]
            sides = [
                side
                for gradable_reply in gradable_replies
                for side in (gradable_reply.pair.sides if gradable_reply.pair else (gradable_reply.unit,))
            ]
            kept = self._samples({name for side in sides for name in _read_by(side)})
            for reply in gradable_replies:
                if (shown_reply := self._show(reply, kept)) is not None:
                    replies.append(shown_reply)
        return replies

    def _of(self, unit: Unit, of_run: BoundTreatment) -> Iterator[GradableReply]:
        for step in unit.bound.treatment.steps:
            if not isinstance(step, Grade) or unit.bound.role_of(step) != self.role:
                continue
            if not self.plan.scorer(step.scorer).writes:
                continue
            names = unit.scores[step.fingerprint, self.evaluator]
            try:
                marks = tuple(self._mark(step, unit.case.names, title, name) for title, name in names.items())
            except Unavailable:  # its row gives no scale
                continue
            binding = of_run.pattern(unit.model, unit.number).imported_binding(step)
            judgement, model = unit.judgement(step, self.evaluator), unit.scored(step)
            reply = GradableReply(unit, step, unit.about(step), judgement, model, binding, marks)
            yield reply if self.round is None else self._again(reply, self.round)

    def _labelled(self, units: Mapping[Unit, BoundTreatment]) -> Iterator[GradableReply]:
        """Yield every list element that the role labels. Replies that the store lacks data for are skipped."""
        listed = {unit: labels for unit in units if (labels := labels_of(unit.bound, self.role))}
        human = HumanGrader(self._world, self._samples({name for unit in listed for name in _read_by(unit)}))
        for unit, labels in listed.items():
            for score, step in labels:
                try:
                    elements = list(elements_of(human, unit, score, step))
                except LookupError:
                    continue
                pattern = units[unit].pattern(unit.model, unit.number)
                for element in elements:
                    yield self._element(unit, element, pattern.imported_binding(step))

    def _element(self, unit: Unit, each: LabelledElement, binding: str) -> GradableReply:
        sample = unit.about(each.score)
        name = each.score_id(self.evaluator, sample, binding, self.round)
        mark = self._mark(each.step, unit.case.names, each.score.name, name)
        judgement = each.judgement_id(unit, self.evaluator, sample, binding, self.round)
        model = unit.scored(each.score)
        return GradableReply(unit, each.step, sample, judgement, model, binding, (mark,), element=each)

    def _compared(self, units: Mapping[Unit, BoundTreatment]) -> Iterator[GradableReply]:
        """Yield every pair of replies to an item that the role compares, in one of both orders."""
        for pair in pairs_to_compare(list(units), self.role):
            of_run = Pair(pair.step, *(units[side].pattern(side.model, side.number) for side in pair.sides))
            yield gradable_pair(self.plan, pair, of_run.imported_binding, self.evaluator, self.round)

    def _find_ends(self, units: Sequence[Unit]) -> None:
        """Record which turns of an item's chats were not asked."""
        chats = [unit for unit in units if any(ask.before in unit.bound.asks for ask in unit.bound.asks.values())]
        kept = self._samples({name for unit in chats for name in unit.samples.values()}) if chats else {}
        for unit in chats:
            try:
                HumanGrader(self._world, kept).ask_all(unit)
            except LookupError:  # depends on a judge, or on data outside the store
                unit.unasked = tuple(name for name in unit.bound.asks if unit.samples[name] not in kept)

    def _again(self, found: GradableReply, round: int) -> GradableReply:
        """Return the reply in a later round, with the names of an imported round."""
        assert isinstance(found.step, Grade)
        about = {"sample_id": found.sample_id, "binding": found.binding}
        named = [imported_score(about, found.step, mark.metric, self.evaluator, round, 0.0) for mark in found.marks]
        marks = tuple(
            replace(mark, score_id=score.score_id, key=score.key)
            for mark, score in zip(found.marks, named, strict=True)
        )
        return replace(found, judgement_id=named[0].judgement_id if named else found.judgement_id, marks=marks)

    def _mark(self, step: Grade | Verdict, names: Mapping[str, Any], title: str, score_id: str) -> RequestedGrade:
        if isinstance(step, Grade) and step.metrics:
            metric = self.plan.metric(title)
            return RequestedGrade(title, title, score_id, metric.low, metric.high, True)
        gives = scorer_in_case(self.plan.scorer(step.scorer), step.args, names).gives
        choices = tuple((name, worth_of(gives, name)) for name in gives.values) if isinstance(gives, ChoiceType) else ()
        low, high, whole = (1, len(choices), True) if choices else _bounds(gives)
        return RequestedGrade(title, VERDICT, score_id, low, high, whole, choices)

    def _cases(self, scenario: Scenario) -> Iterator[Case]:
        found = self.connection.execute(
            """select item.item_id, item.context, item.fields, item.dataset
            from main.items as item semi join main.run_items as listed
              on listed.run_id = ? and listed.scenario = item.scenario and listed.item_id = item.item_id
            where item.benchmark = ? and item.scenario = ? order by item.item_id""",
            [self.run.run_id, self.plan.benchmark.name, scenario.name],
        ).fetchall()
        for item_id, context, text, dataset in found:
            fields = orjson.loads(text)
            names = dict(context) if scenario.rows is None else {**context, scenario.rows.alias: fields}
            yield Case(scenario, item_id, dict(context), fields, dataset, names)

    def _samples(self, names: set[str]) -> dict[str, Row]:
        rows = self.connection.execute(
            f"select sample_id, {', '.join(OF_REPLY)} from main.samples"
            " where sample_id in (select unnest(?::varchar[]))",
            [sorted(names)],
        ).fetchall()
        return {row[0]: dict(zip(OF_REPLY, row[1:], strict=True)) for row in rows}

    def _show(self, each: GradableReply, kept: Mapping[str, Row]) -> ShownReply | None:
        unit, step = each.unit, each.step
        language = unit.case.language
        headings = chosen_language() or language
        try:
            names = _names_of(HumanGrader(self._world, kept), each)
            if names is None:
                return None
            scorer = self.plan.scorer(step.scorer)
            texts = tuple(
                (self._input_title(scorer, param, headings), _text(evaluate(step.args[param], names)))
                for param in shown_parameters(scorer, language)
                if param in step.args
            )
        except Unavailable:
            return None
        except LookupError:  # needs data sets, trees or Python functions, which the store does not have
            if (asked := self._model_question(each)) is None:
                return None
            texts = ((words_for(headings)["prompt"], asked),)
        scales = tuple(self._scale(each, mark, language, headings) for mark in each.marks)
        scenario = unit.case.scenario
        title = self.plan.title_of("scenario", scenario.name, headings) or scenario.title or scenario.name
        return ShownReply(language, headings, title, texts, scales, each)

    def _input_title(self, scorer: Scorer, parameter: str, language: str) -> str:
        """Return the heading of an input of a judge: its title, or its name in words."""
        return self.plan.title_of("input", f"{scorer.name}.{parameter}", language) or label_of(parameter, language)

    def _model_question(self, each: GradableReply) -> str | None:
        """Return what a model in the same role was asked about this reply, if one was."""
        found = self.connection.execute(
            """select messages from main.judgements
            where sample_id = ? and fingerprint = ? and not starts_with(evaluator, ?) order by judgement_id limit 1""",
            [each.sample_id, each.step.judgement, HUMAN],
        ).fetchone()
        if found is None:
            return None
        return "\n\n".join(message["content"] for message in orjson.loads(found[0])) or None

    def _scale(self, each: GradableReply, mark: RequestedGrade, language: str, headings: str) -> ShownScale:
        """Return the view of a metric in the language of headings. The prompt of a judge stands for the question of a
        verdict; it is in the item's language if not in that one."""
        step, prompt = each.step, self.plan.scorer(each.step.scorer).prompt or {}
        asks = prompt_outline(self.plan.scorer(step.scorer), headings if headings in prompt else language)
        bare = ShownScale(mark.metric, mark.metric, asks, mark.low, mark.high, mark.whole, ())
        if mark.choices:
            return replace(bare, names=tuple(name for name, _ in mark.choices))
        assert isinstance(step, Grade)
        if not step.metrics:
            gives, words = self.plan.scorer(step.scorer).gives, words_for(headings)
            is_truth = gives is not None and gives.kind == "bool"
            return replace(bare, levels=((1, 1, words["yes"]), (0, 0, words["no"]))) if is_truth else bare
        metric: Metric = self.plan.metric(mark.metric)
        levels = sorted(metric.levels, key=lambda level: -level.low)
        return replace(
            bare,
            title=self.plan.text_in(metric.title, headings) or metric.name,
            asks=self.plan.text_in(metric.asks, headings) or "",
            levels=tuple((level.low, level.high, self.plan.text_in(level.text, headings) or "") for level in levels),
        )


def _names_of(human: HumanGrader, each: GradableReply) -> Mapping[str, Any] | None:
    if each.pair is not None:
        return human.names_of_pair(each.pair)
    if each.element is not None:
        return names_of(human, each.unit, each.element)
    assert isinstance(each.step, Grade)
    return human.names_at(each.unit, each.step)


def _read_by(unit: Unit) -> set[str]:
    """Return the ids of a unit's replies."""
    return {*unit.samples.values(), *(name for names in unit.listed.values() for name in names)}


def shown_parameters(scorer: Scorer, language: str) -> list[str]:
    """Return the parameters that a scorer's judge sees, in the order of the prompt and then the system message."""
    found: dict[str, None] = {}
    for texts in (scorer.prompt, scorer.system):
        template = None if texts is None else texts.get(language)
        for part in () if template is None else template.parts:
            for inner in part.parts if isinstance(part, Passage) else (part,):
                if isinstance(inner, Hole):
                    found |= dict.fromkeys(name for name in _roots(inner.expr.model_dump()) if name in scorer.params)
    if scorer.chat is not None:
        found |= dict.fromkeys(name for name in _roots(scorer.chat.model_dump()) if name in scorer.params)
    return list(found)


def prompt_outline(scorer: Scorer, language: str) -> str:
    """Return a scorer's prompt on one line, with `…` for each inserted value."""
    template = None if scorer.prompt is None else scorer.prompt.get(language)
    parts = () if template is None else template.parts
    inner = (each for part in parts for each in (part.parts if isinstance(part, Passage) else (part,)))
    return " ".join("".join(each if isinstance(each, str) else " … " for each in inner).split())


def _roots(expr: Any) -> Iterator[str]:
    """Yield the names that an expression refers to, given as JSON."""
    if isinstance(expr, dict):
        if expr.get("op") == "ref":
            yield expr["path"][0]
        for part in expr.values():
            yield from _roots(part)
    elif isinstance(expr, list | tuple):
        for part in expr:
            yield from _roots(part)


def _bounds(gives: Type | None) -> tuple[int | None, int | None, bool]:
    match gives:
        case None:
            return None, None, False
        case _ if gives.kind == "integer":
            return gives.low, gives.high, True
        case _ if gives.kind == "bool":
            return 0, 1, True
        case _:
            return None, None, False


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(turn, dict) and "text" in turn for turn in value):
        return "\n\n".join(f"{turn.get('speaker', '')}: {turn['text']}" for turn in value)
    if value is None:
        return ""
    return json(value) if isinstance(value, dict | list | set | frozenset) else str(value)
