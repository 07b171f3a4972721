"""The forecast driver: answers programs from kept results, and records what a run would ask for the rest.

A run executes the same programs, so the forecast matches the run. A missing reply is pending: a condition or a prompt
that needs it stays open, and everything else is evaluated with the kept replies. Vectors that are kept are used too,
and replies that a run would adopt count as kept."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, cast

from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.library.functions.texts import json
from tripos_compiler.plan import (
    Ask,
    Column,
    Converse,
    Grade,
    JudgedStep,
    Plan,
    Retrieve,
    Score,
    Step,
    Verdict,
    serialized_form,
)
from tripos_compiler.plan.outcomes import NOT_ASKED, OK, PENDING, RETRIED_NEXT_RUN
from tripos_runtime.asking.ledger import NOTHING_KEPT, OtherReplies, ReuseCounts, Row, condition_id
from tripos_runtime.asking.questions import Adopted, Answer, Question, read_again
from tripos_runtime.asking.replies import answer_of, conversation_of, turn_of
from tripos_runtime.datasets.cases import Case
from tripos_runtime.drivers.encoding import TABLE, vector_id, vectors_of_others
from tripos_runtime.forecast.sizes import (
    CallCertainty,
    ForecastCall,
    Known,
    NamedPlaceholders,
    ReplySource,
    Size,
    SizedPlaceholders,
    models_of,
    pending_size,
    with_conversation_turns,
)
from tripos_runtime.models.base import Message
from tripos_runtime.models.vectors import Vector, from_text
from tripos_runtime.program.adoption import CurrentCase, ReplyReuse, Wanted, subject_of
from tripos_runtime.program.needs import (
    Answered,
    CallSkipped,
    ConversationEnded,
    ConversationNeed,
    ConversationSkipped,
    JudgePrompt,
    Need,
    PlanContext,
    ProgramEvent,
    ReplyNeed,
    RetrievalEmpty,
    ScorerNeed,
    SimilarityNeed,
    pending,
)
from tripos_runtime.program.retrieval import Chooser, Values, VectorIndex, index_of
from tripos_runtime.program.running import drive_now
from tripos_runtime.program.steps import RetrievalResults, TurnPrompt, UnitProgram, pair_program
from tripos_runtime.program.units import (
    BoundTreatment,
    Conversation,
    Pair,
    Unit,
    conversation_calls,
    is_complete,
    pairs_of,
)
from tripos_runtime.program.values import StepValues


class Statuses(Protocol):
    """A reader of kept results."""

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]: ...

    def rows(self, table: str, ids: Collection[str]) -> Mapping[str, Mapping[str, Any]]: ...


@dataclass(frozen=True)
class VectorNeeds:
    """The calls of an embedding model that one row needs.

    `stored` is the number of kept vectors that no earlier row needed, `texts` the texts to embed by the names of their
    vectors, `waiting` the number of texts that are not known yet. `again` are names that an earlier row needed."""

    stored: int = 0
    texts: Mapping[str, str] = field(default_factory=dict)
    waiting: int = 0
    again: tuple[str, ...] = ()


@dataclass
class ForecastVectors:
    """The vectors that rows need. It remembers texts across rows, since each is embedded once."""

    statuses: Statuses
    identities: Mapping[str, str] = field(default_factory=dict)
    others: OtherReplies = NOTHING_KEPT
    """Other stores, whose vectors are adopted."""
    reuse: ReuseCounts = field(default_factory=ReuseCounts)
    """The counts of adopted vectors."""
    _met: set[str] = field(default_factory=set)
    _sources: dict[str, int] = field(default_factory=dict)
    _indexes: dict[str, VectorIndex | None] = field(default_factory=dict)

    def values(self, step: Retrieve, model: str, names: StepValues, chooser: Chooser) -> dict[int, Values] | None:
        """Return the similarities for a row, by the number of the measure; None if a vector is missing. Raises
        `Unavailable` if it needs a value that an earlier step did not yield."""
        found: dict[int, Values] = {}
        collection = chooser.collection(step, names.values)
        for number, measure in enumerate(chooser.split(step).measures):
            if not measure.embeds:
                continue
            source = f"{model} {id(collection)} {serialized_form(measure.text).model_dump_json()}"
            if source not in self._indexes:
                self._indexes[source] = self._index(model, collection.texts(measure.text, names.values))
            index = self._indexes[source]
            asked = self._vectors(model, [evaluate(measure.query, names.values)])
            if index is None or asked is None:
                return None
            found[number] = index.near(next(iter(asked.values())))
        return found

    def _index(self, model: str, texts: Sequence[str | None]) -> VectorIndex | None:
        told = list(dict.fromkeys(text for text in texts if text is not None))
        by_text = self._vectors(model, told)
        return None if by_text is None else index_of(texts, by_text)

    def _vectors(self, model: str, texts: Sequence[str]) -> dict[str, Vector] | None:
        ids = {vector_id(self.identities.get(model, model), text): text for text in texts}
        statuses = dict(zip(ids, self.statuses.statuses(TABLE, list(ids)), strict=True))
        elsewhere = vectors_of_others(self.others, [name for name in ids if _is_open(statuses[name])])
        if any(status != OK and name not in elsewhere for name, status in statuses.items()):
            return None
        rows = self.statuses.rows(TABLE, [name for name in ids if name not in elsewhere])
        return {
            text: elsewhere[name][2] if name in elsewhere else from_text(rows[name]["vector"])
            for name, text in ids.items()
        }

    def of(self, step: Retrieve, model: str, names: StepValues, chooser: Chooser, surety: int) -> VectorNeeds:
        """Return what a row needs: its own text, and for the first row that searches a source, the texts of its
        elements. A greater `surety` means that the step is more certain to run."""
        wanted: list[str] = []
        waiting = 0
        try:
            collection = chooser.collection(step, names.values)
        except Unavailable as reason:
            return VectorNeeds(waiting=step.top if reason.status == PENDING else 0)
        for measure in chooser.split(step).measures:
            if not measure.embeds:
                continue
            try:
                wanted.append(evaluate(measure.query, names.values))
            except Unavailable as reason:
                if reason.status != PENDING:
                    return VectorNeeds()
                waiting += 1
            source = f"{model} {id(collection)} {serialized_form(measure.text).model_dump_json()}"
            if self._sources.get(source, -1) < surety:  # again if the certainty has increased
                self._sources[source] = surety
                wanted += [text for text in collection.texts(measure.text, names.values) if text is not None]
        ids = {vector_id(self.identities.get(model, model), text): text for text in wanted}
        new = [name for name in ids if name not in self._met]
        again = tuple(name for name in ids if name in self._met)
        statuses = self.statuses.statuses(TABLE, new)
        self._met.update(new)
        open_ = [name for name, status in zip(new, statuses, strict=True) if _is_open(status)]
        elsewhere = vectors_of_others(self.others, open_)
        for row, found_in, _ in elsewhere.values():
            self.reuse.add(found_in.place, row)
        asked = [name for name in open_ if name not in elsewhere]
        return VectorNeeds(len(new) - len(asked), {name: ids[name] for name in asked}, waiting, again)


def _is_open(status: str | None) -> bool:
    """Return true if a vector with this status is asked for."""
    return status is None or status in RETRIED_NEXT_RUN


def retrieval_size(step: Retrieve, names: Mapping[str, Any], case: Case, chooser: Chooser) -> Size:
    """Return the size of what a step retrieves with missing vectors: the size of what a search by letters finds, and
    the longest elements as a bound. Raises `Unavailable` if it needs a reply."""
    seen = chooser.chosen(step, names, case.fields)
    size = Size.of(json(seen))
    elements = chooser.collection(step, names).elements
    most = step.top * max((_most(Size.of(json(element))) for element in elements), default=0)
    included = sum(_most(Size.of(json(evaluate(expr, names)))) for expr in step.include)
    return size + Size(waits=frozenset(((step.name, False),)), most=most + included)


def _most(size: Size) -> int:
    """Return a number of alphabetic characters of the same size."""
    return size.narrow + 4 * size.wide


class KeptResults(Protocol):
    """A reader of kept results; a `Ledger` is one."""

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        """Return the status of each of these rows; `None` for those that are not kept."""
        ...

    def rows(self, table: str, ids: Collection[str]) -> Mapping[str, Row]:
        """Return whole rows by id."""
        ...

    def fingerprints(self) -> Collection[str]:
        """Return the fingerprints of the plan that have kept results."""
        ...

    def repliers(self, table: str) -> Collection[str]:
        """See `Ledger.repliers`."""
        ...

    def replies(self, table: str, request: str) -> Sequence[tuple[Row, Row | None]]:
        """See `Ledger.replies`."""
        ...


@dataclass
class CaseReuse:
    """The reuse of replies for one case. `statuses` and `rows` receive what was adopted."""

    adoption: ReplyReuse | None
    case: CurrentCase
    statuses: dict[str, str] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)

    def may(self, table: str, model: str) -> bool:
        """Return true if there may be a reply of a model."""
        return self.adoption is not None and self.adoption.may_find(table, model)

    def find(self, need: ReplyNeed, sent: tuple[Message, ...], unit: Unit) -> Row | None:
        """Return the row of a reply to exactly this request, adopted for this call."""
        call = need.call
        if self.adoption is None or not self.may(call.table, call.model):
            return None
        request = need.question.digest(unit.bound.binding.identity_of(call.model), sent, need.number)
        wanted = Wanted(call.table, call.name, call.model, request, need.number, subject_of(call, unit))
        adopted = self.adoption.find(wanted, self.case)
        return None if adopted is None else reused_row(adopted, need.question)


def reused_row(found: Adopted, question: Question) -> Row:
    """Return the row that an adopted reply will get, as far as later steps read it."""
    row, key = found.row, "reply" if "reply" in found.row else "text"
    if row[key] is None:
        return row
    kept = {
        "reply": row[key],
        "finish_reason": row["finish_reason"],
        "logprobs": row.get("logprobs"),
        "thinking": row.get("thinking"),
    }
    replied, outcome = read_again(question, kept, found.draft)
    status = row["status"] if outcome is None else outcome.status
    return {**row, **replied, key: replied.get("reply", row[key]), "status": status}


def is_read(plan: Plan, step: object) -> bool:
    """Return true if a judge's answer matters: to an expression, or to who is asked next."""
    return isinstance(step, Verdict) or (isinstance(step, Grade) and plan.scorer(step.scorer).then is not None)


@dataclass
class ForecastDriver:
    """The forecast of cases. `world` has the rows and axes of the plan."""

    world: PlanContext
    embedding: dict[tuple[str, ...], tuple[Unit, Retrieve, StepValues, CallCertainty]] = field(default_factory=dict)
    """The texts that the current case needs vectors of, each once, with the certainty."""
    made_by: Mapping[str, ReplySource] = field(default_factory=dict)
    """The makers of the rows of data sets that are not generated yet."""
    known_fields: Known = field(default_factory=dict)
    """The known sizes of missing values of the current case."""
    vectors: ForecastVectors | None = None
    """The vectors that are kept."""
    adoption: ReplyReuse | None = None
    """The reuse of replies that the ledger has under other names."""
    on_reply_read: Callable[[ReplyNeed, tuple[Message, ...]], None] | None = None
    """Called with each prompt; its pending parts are replaced by their names."""
    _steps: dict[BoundTreatment, Sequence[Step]] = field(default_factory=dict)

    def of(
        self, case: Case, units: Sequence[Unit], kept: Mapping[str, str], rows: Mapping[str, Row]
    ) -> list[ForecastCall]:
        """Return every call of a case once. `kept` has the statuses of valid results, `rows` the samples that calls may
        build on."""
        self.embedding = {}
        pairs = pairs_of(units)
        shown = {side for pair in pairs if not is_complete(pair, kept) for side in (pair.first, pair.second)}
        view = _CaseView(self, case, kept, rows, CurrentCase(units))
        for unit in units:
            view.go_through(unit, shown=unit in shown)
        for pair in pairs:
            view.compare(pair)
        return list(view.retrievals.values())

    def steps(self, bound: BoundTreatment) -> Sequence[Step]:
        """Return the steps that may ask. Scores are counted by their inputs."""
        if bound not in self._steps:
            steps = bound.treatment.steps
            self._steps[bound] = tuple(step for step in steps if not isinstance(step, Score | Column))
        return self._steps[bound]


@dataclass(slots=True)
class ForecastState:
    """The state of a unit or a pair: the values that its expressions see, what it waits for and from whom, the
    certainty of each step to be asked, and the known sizes of missing values."""

    part: Unit | Pair
    names: StepValues
    awaits: dict[str, str] = field(default_factory=dict)
    reply_sources: dict[str, ReplySource] = field(default_factory=dict)
    fates: dict[str, CallCertainty] = field(default_factory=dict)
    known_sizes: dict[tuple[str, ...], Size] = field(default_factory=dict)
    out: list[ProgramEvent] = field(default_factory=list)
    sides: tuple[ForecastState, ...] = ()
    """For a pair: the states of its units."""

    @property
    def unit(self) -> Unit:
        """The unit; for a pair, the first one."""
        return self.part.first if isinstance(self.part, Pair) else self.part

    def wait(self, name: str, model: str, fate: CallCertainty, saying: ReplySource) -> None:
        """Record a step that will be asked."""
        self.awaits[name], self.fates[name], self.reply_sources[name] = model, fate, saying

    def key(self, step: Ask | JudgedStep) -> tuple[object, ...]:
        """Return the key of a step's prompt. Prompts with the same replies are equal; a missing reply is represented by
        its own prompt, whoever gives it."""
        if self.sides:
            return tuple(side.key(step) for side in self.sides)
        needs: list[object] = []
        for need in step.needs:
            known = need not in self.awaits
            needs += self.unit.upstream([need]) if known else [PENDING, self.known_sizes.get((need, "prompt"))]
        return (step.fingerprint, step.condition, *needs)


class _CaseView:
    """The forecast of one case. What its units share is computed once."""

    def __init__(
        self, foresight: ForecastDriver, case: Case, kept: Mapping[str, str], rows: Mapping[str, Row], here: CurrentCase
    ) -> None:
        self.foresight, self.case, self.statuses, self.rows = foresight, case, kept, rows
        self.adopting = CaseReuse(foresight.adoption, here)
        if foresight.adoption is not None:  # adopted replies count as kept
            self.statuses = ChainMap(self.adopting.statuses, cast("dict[str, str]", kept))
            self.rows = ChainMap(self.adopting.rows, cast("dict[str, Row]", rows))
        self.retrievals: dict[str, ForecastCall] = {}
        self.sizes: dict[tuple[object, ...], Size | Unavailable] = {}
        self.sent: dict[tuple[object, ...], tuple[Message, ...]] = {}
        """The messages by the same keys, if all of them are known."""
        self.answers: dict[str, Answer] = {}
        self.retrieved: RetrievalResults = {}
        self.sides: dict[Unit, ForecastState] = {}

    def go_through(self, unit: Unit, shown: bool) -> None:
        """Run the program of a unit. `shown`: its results are compared."""
        if not shown and self._is_whole(unit):
            for call in unit.calls:
                self._note(ForecastCall(call, unit, CallCertainty.REUSED))
            for talk in unit.talks.values():
                self._over(talk, unit)
            return
        foresight = self.foresight
        names = StepValues(self.case.names)
        at = self.sides[unit] = ForecastState(
            unit, names, reply_sources=dict(foresight.made_by), known_sizes=dict(foresight.known_fields)
        )
        program = UnitProgram(foresight.world, unit, names, at.out, self.retrieved)
        drive_now(program.go(foresight.steps(unit.bound)), partial(self._meet, at), partial(self._take, at))

    def compare(self, pair: Pair) -> None:
        """Record the certainty of the calls of a pair, after its units."""
        if is_complete(pair, self.statuses):
            for call in pair.calls:
                self._note(ForecastCall(call, pair, CallCertainty.REUSED))
            return
        first, second = self.sides[pair.first], self.sides[pair.second]
        state = ForecastState(
            pair, pair.names(first.names, second.names), {**second.awaits, **first.awaits}, sides=(first, second)
        )
        for place, side in (("first", first), ("second", second)):
            state.fates |= {f"{place}.{name}": fate for name, fate in side.fates.items()}
            state.reply_sources |= {f"{place}.{name}": saying for name, saying in side.reply_sources.items()}
            state.known_sizes |= {(place, *path): size.on_side(place) for path, size in side.known_sizes.items()}
        # Values that both sides share belong to neither.
        state.fates |= first.fates
        state.reply_sources |= first.reply_sources
        state.known_sizes |= first.known_sizes
        program = pair_program(self.foresight.world, pair, state.names, state.out)
        drive_now(program, partial(self._meet, state), partial(self._take, state))

    def _is_whole(self, unit: Unit) -> bool:
        """Return true if a unit asks for nothing. If scores have to be computed, its retrieval runs again."""
        every = any(unit.bound.retrieved.values())
        return all(name in self.statuses for table, name in unit.results if every or table != "scores")

    def _is_sure(self, name: str, step: Ask | Converse | JudgedStep) -> bool:
        """Return true if a kept result was asked for under the condition of its step."""
        return not step.condition or condition_id(name, step.condition) in self.statuses

    def _meet(self, at: ForecastState, need: Need) -> Answered:
        """Return what a program is sent for a need."""
        match need:
            case ReplyNeed(talk=None):
                return self._reply(at, need)
            case ReplyNeed():
                return self._turn(at, need)
            case ConversationNeed():
                return self._hold(at, need)
            case SimilarityNeed():
                return self._near(at, need)
            case ScorerNeed():  # external scorers do not run before a run
                return pending("program")

    def _take(self, at: ForecastState) -> None:
        """Record skipped steps."""
        for result in at.out:
            match result:
                case CallSkipped(call=call):
                    self._note(ForecastCall(call, at.part, CallCertainty.RULED_OUT))
                case ConversationSkipped(talk=talk) | ConversationEnded(talk=talk):
                    self._over(talk, at.unit)
                case RetrievalEmpty(step=step, status=status) if (
                    status == PENDING and (step.name,) not in at.known_sizes
                ):
                    at.known_sizes[(step.name,)] = pending_size(step.name, f"what `{step.name}` finds")
                    at.fates[step.name] = CallCertainty.PERHAPS
        at.out.clear()

    def _reply(self, at: ForecastState, need: ReplyNeed) -> Answer | Unavailable:
        """Return a reply that is kept, under this or another name, else the reason that it is pending."""
        call, step = need.call, need.call.step
        assert isinstance(step, Ask | JudgedStep)
        if call.name in self.statuses and self._is_sure(call.name, step):
            return self._reuse(at, need)
        key = at.key(step) if call.element is None else (*at.key(step), call.element)
        size = self._size(key, need, at)
        if isinstance(size, Unavailable):
            return size
        if call.name in self.statuses:
            return self._reuse(at, need)
        if key in self.sent and self._holds(need, self.adopting.find(need, self.sent[key], at.unit)):
            return self._reuse(at, need)
        fate = self._as_sure(size, need.certain, at)
        self._note_open(need, at, fate, size)
        if isinstance(step, Ask | Verdict):
            model = call.model if isinstance(step, Ask) else at.unit.evaluators(step)[0]
            at.wait(step.name, model, fate, (self.case.scenario.name, step.name, model))
        if isinstance(step, Ask):
            at.known_sizes[step.name, "prompt"] = size.as_prompt(step.name)
        return pending(step.name)

    def _turn(self, at: ForecastState, need: ReplyNeed) -> Answer | Unavailable:
        """Return a turn that is kept, else the reason that it is pending."""
        call, prompt, talk = need.call, need.prompt, need.talk
        assert isinstance(prompt, TurnPrompt)
        assert talk is not None
        if call.name in self.statuses or self._adopts_turn(at, need):
            return self._reuse(at, need)
        size = self._size((call.step.fingerprint, talk.name, prompt.number), need, at)
        if isinstance(size, Unavailable):  # a speaker's system message has no value
            return size
        name = talk.step.name
        at.reply_sources |= {each: (self.case.scenario.name, name, model) for each, model in models_of(talk).items()}
        fate = self._as_sure(size, need.certain, at)
        self._note_open(need, at, fate, size)
        if prompt.number == len(prompt.turns) + 1:  # the next one
            at.awaits[name], at.fates[name] = talk.models[at.unit.bound.conversation_role(talk.step)], fate
        return pending(name)

    def _hold(self, at: ForecastState, need: ConversationNeed) -> Answer | Unavailable:
        """Return a conversation that is kept, else the result of its program."""
        talk = need.talk
        if talk.name not in self.statuses:
            got: Answer | Unavailable = drive_now(need.program(), partial(self._meet, at), partial(self._take, at))
            return got
        if not self._is_sure(talk.name, talk.step):
            try:
                need.systems()
            except Unavailable as reason:
                return reason
        self._over(talk, at.unit)
        row = self.rows.get(talk.name)
        return pending(talk.step.name) if row is None else conversation_of(row)

    def _near(self, at: ForecastState, need: SimilarityNeed) -> Mapping[int, Values] | Unavailable:
        """Return the similarities if all vectors are kept, else the estimated length of what is retrieved."""
        fate = CallCertainty.CERTAIN if need.certain else CallCertainty.PERHAPS
        foresight = self.foresight
        before = foresight.embedding.get(need.key)
        if before is None or before[-1] < fate:
            foresight.embedding[need.key] = (need.unit, need.step, need.names, fate)
        if not need.certain:
            return pending(need.step.name)
        values = self._values(need)
        if values is not None:
            return values
        if need.key not in self.sizes:
            try:
                self.sizes[need.key] = retrieval_size(need.step, need.names.values, self.case, foresight.world.chooser)
            except Unavailable as reason:
                self.sizes[need.key] = reason
        size = self.sizes[need.key]
        if isinstance(size, Unavailable):
            return size
        at.known_sizes[(need.step.name,)], at.fates[need.step.name] = size, CallCertainty.LIKELY
        return pending(need.step.name)

    def _values(self, need: SimilarityNeed) -> Mapping[int, Values] | None:
        """Return the similarities from kept vectors. Reuse of replies depends on them."""
        foresight = self.foresight
        if foresight.vectors is None or foresight.adoption is None:
            return None
        try:
            (model,) = need.unit.bound.retrieved[need.step.name]
            return foresight.vectors.values(need.step, model, need.names, foresight.world.chooser)
        except Unavailable:
            return None

    def _over(self, talk: Conversation, unit: Unit) -> None:
        """Record the turns of a conversation that are not needed."""
        for call in conversation_calls(talk):
            self._note(
                ForecastCall(
                    call, unit, CallCertainty.REUSED if call.name in self.statuses else CallCertainty.RULED_OUT
                )
            )

    def _reuse(self, at: ForecastState, need: ReplyNeed) -> Answer | Unavailable:
        """Return a kept reply, read as in a run."""
        call, name = need.call, need.call.name
        self._note(ForecastCall(call, at.part, CallCertainty.REUSED))
        if self.statuses[name] in NOT_ASKED and need.talk is None:
            return Unavailable(call.step.name, self.statuses[name])
        if name not in self.answers:
            row = self.rows.get(name)
            if row is None:  # nothing builds on a grade, or another process is about to write the row
                return pending(call.step.name)
            self.answers[name] = turn_of(row) if need.talk is not None else answer_of(row, need.question)
        return self.answers[name]

    def _note_open(self, need: ReplyNeed, at: ForecastState, fate: CallCertainty, size: Size) -> None:
        call = need.call
        awaits = {each: at.awaits[each] for each in call.step.needs if each in at.awaits}
        if fate is CallCertainty.CERTAIN and size.waits and self.adopting.may(call.table, call.model):
            fate = CallCertainty.LIKELY  # once the prompt is known, there may be a reply to exactly that
        said_by = {name: at.reply_sources[name] for name in {*size.pending, *size.beyond} if name in at.reply_sources}
        self._note(ForecastCall(call, at.part, fate, size, awaits, said_by, need.question.settings))

    def _note(self, seen: ForecastCall) -> None:
        if seen.fate is CallCertainty.REUSED and self.statuses.get(seen.call.name) in NOT_ASKED:  # skipped then and now
            seen = replace(seen, fate=CallCertainty.RULED_OUT)
        before = self.retrievals.get(seen.call.name)
        if before is None or before.fate < seen.fate:
            self.retrievals[seen.call.name] = seen

    def _size(self, key: tuple[object, ...], need: ReplyNeed, at: ForecastState) -> Size | Unavailable:
        """Return the size of a prompt, equal for equal keys, or the reason why there is nothing to ask."""
        if key not in self.sizes:
            try:
                self.sizes[key] = self._measured(key, need, at)
            except Unavailable as reason:
                self.sizes[key] = reason
        return self.sizes[key]

    def _measured(self, key: tuple[object, ...], need: ReplyNeed, at: ForecastState) -> Size:
        names = need.prompt.names if isinstance(need.prompt, JudgePrompt) else at.names.values
        placeholders = SizedPlaceholders(names, at.known_sizes)
        messages = need.prompt.messages(placeholders)
        if self.foresight.on_reply_read is not None:
            self.foresight.on_reply_read(need, need.prompt.messages(NamedPlaceholders(names, at.known_sizes)))
        if placeholders.is_empty:
            self.sent[key] = messages
        return with_conversation_turns(placeholders.size(messages), self.case.scenario)

    def _adopts_turn(self, at: ForecastState, need: ReplyNeed) -> bool:
        """Return true if another conversation has a turn after the same turns; its row is added to the rows."""
        assert need.talk is not None
        if not any(self.adopting.may("turns", model) for model in need.talk.models.values()):
            return False
        try:
            messages = need.prompt.messages()
        except Unavailable:
            return False
        return self._holds(need, self.adopting.find(need, messages, at.unit))

    def _holds(self, need: ReplyNeed, row: Row | None) -> bool:
        """Add an adopted row under its new name to the kept rows."""
        if row is not None:
            self.adopting.statuses[need.call.name], self.adopting.rows[need.call.name] = row["status"], row
        return row is not None

    def _as_sure(self, size: Size, certain: bool, at: ForecastState) -> CallCertainty:
        """Return how certain a call is, given what it waits for: a missing reply may never come, but its prompt is
        known."""
        certainty = CallCertainty.CERTAIN if certain else CallCertainty.PERHAPS
        for name, only_sent in size.waits:
            fate = at.fates.get(name, CallCertainty.CERTAIN)
            certainty = min(certainty, fate if only_sent else min(fate, CallCertainty.LIKELY))
        return certainty
