"""The programs of a unit and of a pair: their steps, from the first question to the last score.

**Tool calls.** A call that names no tool, has wrong arguments or raises an error is answered with a description of what
is wrong. The model may then correct its call; the state has not changed.

**Scores and columns.** The value of one row is a single value, or one value for each element of a list.

**Conversations.** Each turn is answered before the next is needed. A turn is named by its conversation and its number,
and a conversation by everything that determines it. So an interrupted conversation continues after its last turn, and a
conversation that several treatments or models share is held once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import field
from functools import partial
from typing import Any, NamedTuple

import orjson

from tripos_compiler.language.evaluation import MissingValue, Unavailable, evaluate
from tripos_compiler.language.references import names_in
from tripos_compiler.language.rendering import count_left_out, dialogue_from_side, opening_text, render
from tripos_compiler.library.functions.dialogues import transcript
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.library.types import Dialogue, Turn, type_notation
from tripos_compiler.plan import (
    LIMIT,
    REPLIED,
    Ask,
    Call,
    Column,
    Converse,
    Grade,
    JudgedStep,
    RecordType,
    Ref,
    Retrieve,
    SampleList,
    Score,
    Scorer,
    Step,
    Tool,
    ToolCall,
    Verdict,
    fit_arguments,
    split_text_and_calls,
    tool_function_name,
    write_calls,
)
from tripos_compiler.plan.outcomes import NOT_APPLICABLE, OK, PENDING, RETRIED_NEXT_RUN, SCORED
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.functions.external import Suspended, suspending
from tripos_runtime.asking.judging import combine_repeats, confidence, score_rows, worth_of
from tripos_runtime.asking.prompts import PromptPlaceholders
from tripos_runtime.asking.questions import Answer, Question
from tripos_runtime.asking.replies import CONTEXT_EXCEEDED, Sent
from tripos_runtime.datasets.cases import Case
from tripos_runtime.models.base import TOOL, Message
from tripos_runtime.program.needs import (
    CallSkipped,
    ComparisonResult,
    ConversationEnded,
    ConversationNeed,
    ConversationSkipped,
    JudgePrompt,
    ListElement,
    PlanContext,
    Program,
    ProgramEvent,
    Prompt,
    ReplyNeed,
    RetrievalEmpty,
    ScoreResult,
    ScorerNeed,
    SimilarityNeed,
    elements_in,
    is_pending,
    pending,
    prompt_of,
    step_condition,
)
from tripos_runtime.program.units import (
    LIMIT as UNITS_LIMIT,
    SAID,
    Conversation,
    Pair,
    StepCall,
    Unit,
    conversation_calls,
    is_last_turn,
)
from tripos_runtime.program.values import ConditionFalse, ElementValue, StepValues, panel_verdict


def evaluate_with_scorers(evaluated: Callable[[], Any]) -> Program:
    """Return the value of an expression, evaluated again after each value of an external scorer that it needs."""
    told: dict[str, Any] = {}
    while True:
        try:
            with suspending(told):
                return evaluated()
        except Suspended as call:
            told[call.key] = yield ScorerNeed(call.scorer, call.request)


def by_judge(calls: Iterable[StepCall]) -> list[list[StepCall]]:
    """Return the calls grouped by judge."""
    found: dict[str, list[StepCall]] = {}
    for call in calls:
        found.setdefault(call.model, []).append(call)
    return list(found.values())


def run_side_by_side(programs: list[Program]) -> Program:
    """Run programs side by side and return their results."""
    if len(programs) == 1:
        return [(yield from programs[0])]
    found = (yield programs) if programs else []
    return found


def judge_replies(calls: Sequence[StepCall], prompt: JudgePrompt, question: Question, certain: bool) -> Program:
    """Return every reply of one judge to the same prompt, or the reason why one is missing."""
    needs = [answer_program(ReplyNeed(call, prompt, question, call.number, certain)) for call in calls]
    answers = yield from run_side_by_side(needs)
    against = [answer for answer in answers if isinstance(answer, Unavailable)]
    return next((unavailable for unavailable in against if is_pending(unavailable)), against[0]) if against else answers


def answer_program(need: ReplyNeed) -> Program:
    """Return the answer to one need, as a program that can run side by side with others."""
    got = yield need
    return got


def last_user_message(sent: Sequence[Message]) -> str:
    """Return the user's last message before a reply; an empty text if tool results came after it."""
    chat = [message for message in sent if message.role != TOOL]
    return chat[-1].content if chat and chat[-1].role == "user" else ""


USER = "user"
"""The speaker of a prompt that is not spoken by a role."""


def run_tool_calls(step: Ask, reply: str, prompt: Prompt, names: StepValues) -> Program:
    """Make the tool calls of a reply, and add their results and the state after the earlier turns to the values. A
    forecast makes no call, so their results stay pending."""
    own, (text, calls) = names.values[step.name], split_text_and_calls(reply)
    try:
        said_before = last_user_message(prompt.messages())
        earlier = evaluate(Ref(path=(str(step.continues), "so_far")), names.values) if step.takes_results else None
        state = evaluate(step.acts[0].args[0], names.values)  # type: ignore[union-attr]
        results: list[dict[str, Any]] = []
        for call in calls:
            state, result, failed = yield from _call_tool(step, call, state)
            results.append({"name": call.name, "text": result, "failed": failed})
    except Unavailable as reason:
        names.failed(step, reason)
        return
    spoken = (_loop_user(step), said_before), (step.role, text)
    so_far: dict[str, Any] = {
        "state": state,
        "results": results,
        "calls": own["calls"],
        "replies": [] if calls else [text],
        "turns": [{"speaker": who, "text": said} for who, said in spoken if said],
        **{tool.name: own[tool.name] for tool in step.tools},
    }
    if earlier is not None:
        so_far = {key: value if key == "state" else [*earlier[key], *value] for key, value in so_far.items()}
    so_far |= {"text": text, "ended": LIMIT if calls else REPLIED}
    names.add_tool_results(step, so_far, (write_calls(text, calls), [each["text"] for each in results]))


def _loop_user(step: Ask) -> str:
    """Return who speaks as the user of a loop: the role that answers, if it is one."""
    return step.user or USER


def _call_tool(step: Ask, call: ToolCall, state: Any) -> Program:
    """Return the state after a call, its result, and whether the result is an error message."""
    tool = next((each for each in step.tools if each.name == call.name), None)
    if tool is None:
        return state, f"Error: there is no tool `{call.name}`", True
    wrong = argument_error(tool, call)
    if wrong is not None:
        return state, f"Error: {wrong}", True
    done = yield from evaluate_with_scorers(partial(_called, tool, state, call))
    return done.state, done.text, done.failed


def _called(tool: Tool, state: Any, call: ToolCall) -> Any:
    fitted: Mapping[str, Any] = fit_arguments(tool.arguments, call.arguments) or {}
    given = {name: value for name, value in fitted.items() if value is not None}
    names = {"state": state, "arguments": given}
    function = tool_function_name(tool.name)
    return evaluate(Call(function=function, args=(Ref(path=("state",)), Ref(path=("arguments",)))), names)


def argument_error(tool: Tool, call: ToolCall) -> str | None:
    """Return what is wrong with a tool call, as a message for the model; None if the call is valid.

    >>> from tripos_compiler.plan import IntegerType, ToolParameter
    >>> ping = Tool(name="ping", about={}, parameters=(ToolParameter(name="n", type=IntegerType()),))
    >>> argument_error(ping, ToolCall("ping", {"m": 1})), argument_error(ping, ToolCall("ping", {"n": 1}))
    ('`ping` has no parameter `m`', None)
    >>> argument_error(ping, ToolCall("ping", {"n": "x"}))
    '`n` of `ping` must be `integer`'
    """
    if not isinstance(call.arguments, Mapping):
        return f"the arguments are no JSON object: {call.arguments}"
    for name in call.arguments:
        if name not in tool.arguments.fields:
            return f"`{tool.name}` has no parameter `{name}`"
    for name, type_ in tool.arguments.fields.items():
        if name not in call.arguments and type_.kind != "optional":
            return f"`{tool.name}` needs `{name}`"
        if fit_arguments(RecordType(fields={name: type_}), {name: call.arguments.get(name)}) is None:
            return f"`{name}` of `{tool.name}` must be `{type_notation(type_)}`"
    return None


class Raters(NamedTuple):
    """The judges that each give a score of an element, and the name of their verdict."""

    verdict: str
    judges: tuple[str, ...]


def score_of(names: StepValues, step: Score | Column, raters: Raters | None = None) -> Program:
    """Return the score of a step."""
    if step.element is not None:
        return (yield from _scored_elements(names, step, raters))
    found, against = yield from evaluate_with_scorers(partial(names.value_of, step))
    value, given = None, None
    if against is None:
        value, given = _score_value(step, found) if isinstance(step, Score) else kept_value(found)
    status, reason = (SCORED, None) if against is None else (against.status, against.reason)
    return ScoreResult(step, None, None, {step.name: (value, status)}, given, reason)


def _score_value(step: Score, value: Any) -> tuple[float | None, str | None]:
    """Return a score as a number, or as JSON text if it is a name. A name may have a numeric value."""
    if step.gives is None:
        return float(value), None
    return worth_of(step.gives, value), orjson.dumps(str(value)).decode()


def _scored_elements(names: StepValues, step: Score | Column, raters: Raters | None) -> Program:
    judges: tuple[str | None, ...] = (None,) if raters is None else raters.judges
    elements: list[KeptElement] = []
    lacking: list[Unavailable] = []
    for judge in judges:
        values = names if judge is None or raters is None else names.with_verdict_of(raters.verdict, judge)
        found = yield from evaluate_with_scorers(partial(values.element_values, step))
        against = found if isinstance(found, Unavailable) else missing_element_reason(found)
        lacking += [] if against is None else [against]
        if not isinstance(found, Unavailable):
            elements += [_kept_element(step, each, judge) for each in found]
        elif judge is not None:
            elements.append(KeptElement({"evaluator": judge}, _kept_reason(found)))
    listed = orjson.dumps([element.element for element in elements], default=str).decode() if elements else None
    given = orjson.dumps([element.value for element in elements]).decode() if elements else None
    against = next(
        (unavailable for unavailable in lacking if unavailable.status in RETRIED_NEXT_RUN),
        lacking[0] if lacking else None,
    )
    status, reason = (SCORED, None) if against is None else (against.status, against.reason)
    return ScoreResult(step, None, None, {step.name: (None, status)}, given, reason, listed)


class KeptElement(NamedTuple):
    """An element and its value, as the row of a score keeps them."""

    element: dict[str, Any]
    value: dict[str, Any]


def _kept_element(step: Score | Column, found: ElementValue, judge: str | None) -> KeptElement:
    element = {"place": str(found.place), "element": _plain(found.element)}
    if judge is not None:
        element["evaluator"] = judge
    if found.against is not None:
        return KeptElement(element, _kept_reason(found.against))
    chosen = isinstance(step, Score) and step.gives is not None
    number, text = _score_value(step, found.value) if chosen else kept_value(found.value)  # type: ignore[arg-type]
    return KeptElement(element, {"value": number, "status": SCORED} | ({} if text is None else {"given": text}))


def _kept_reason(against: Unavailable) -> dict[str, Any]:
    return {"value": None, "status": against.status, "error": against.reason}


def missing_element_reason(values: Sequence[ElementValue]) -> Unavailable | None:
    """Return the reason why an element has no score because of a reply; None if there is no such element. Reasons that
    the next run retries come first."""
    lacking = [
        value.against for value in values if value.against is not None and value.against.status != NOT_APPLICABLE
    ]
    return next(
        (unavailable for unavailable in lacking if unavailable.status in RETRIED_NEXT_RUN),
        lacking[0] if lacking else None,
    )


def kept_value(value: Any) -> tuple[float | None, str | None]:
    """Return a value as a number, and as JSON text if it is not a number. True and false are 1 and 0, and a set is a
    sorted list. A missing value gives neither.

    >>> kept_value(True), kept_value("B"), kept_value({"b", "a"}), kept_value(None)
    ((1.0, None), (None, '"B"'), (None, '["a","b"]'), (None, None))
    """
    if value is None:
        return None, None
    if isinstance(value, bool | int | float):
        number = float(value)
        return (number, None) if in_bounds(number) else (None, None)
    return None, orjson.dumps(_plain(value), default=str).decode()


def _plain(value: Any) -> Any:
    match value:
        case str():
            return str(value)
        case AbstractSet():
            return sorted((_plain(each) for each in value), key=repr)
        case list() | tuple():
            return [_plain(each) for each in value]
        case Mapping():
            return {name: _plain(each) for name, each in value.items() if not isinstance(each, MissingValue)}
    return value


@dataclass(slots=True)
class Systems:
    """The system messages of a conversation's speakers, rendered once."""

    world: PlanContext
    step: Converse
    case: Case
    names: Mapping[str, Any]
    _messages: dict[str, str] | None = None

    def __call__(self) -> dict[str, str]:
        """Return the system message of each role that has one. Raises `Unavailable` if a message needs a value that an
        earlier step did not yield."""
        if self._messages is None:
            self._messages = self._rendered("", None)
        return self._messages

    def question(self, role: str) -> Question:
        """Return the question that a role is asked in each of its turns."""
        return self.world.questions.turn(self.step, role, self.case.language, self.names)

    def messages_for(self, role: str, placeholders: PromptPlaceholders | None) -> dict[str, str]:
        """Return the system messages for a turn of `role`; `placeholders` replace pending replies."""
        try:
            return self()
        except Unavailable:
            if placeholders is None:
                raise
            return self._rendered(role, placeholders)

    def _rendered(self, role: str, placeholders: PromptPlaceholders | None) -> dict[str, str]:
        found = {}
        for speaker in self.step.speakers:
            prompt_placeholders = placeholders if placeholders is None or speaker.role == role else placeholders.aside()
            self.question(speaker.role).settle(prompt_placeholders)
            if speaker.system is not None:
                template, language = speaker.system[self.case.language], self.case.language
                text = render(template, self.names, language, self.world.sources.axes, placeholders=prompt_placeholders)
                if text:
                    found[speaker.role] = text
        return found


@dataclass(frozen=True, slots=True)
class TurnPrompt:
    """The prompt of turn `number` of a conversation. `turns` are those that exist; the other earlier turns are
    pending."""

    talk: Conversation
    number: int
    turns: Dialogue
    systems: Systems
    left_out: int = 0

    @property
    def role(self) -> str:
        """The role that speaks the turn."""
        return self.talk.speaker(self.number)

    def messages(self, placeholders: PromptPlaceholders | None = None) -> Sent:
        """Return the messages. Raises `Unavailable` if a system message has no value, or a turn is pending without a
        placeholder."""
        step, turns = self.talk.step, self.turns
        later = range(len(turns) + 1, self.number)
        if later and placeholders is None:
            raise Unavailable(step.name, PENDING)
        if placeholders is not None:
            said_by = self.talk.speaker
            turns = [*turns, *(Turn(speaker=said_by(each), text=placeholders.turn(step, each)) for each in later)]
        return self._messages(turns, self.left_out, placeholders)

    def shorter(self, left_out: int) -> tuple[int, Sent] | None:
        """See `Prompt.shorter`."""
        more = count_left_out(len(self.turns), left_out)
        return None if more is None else (more, self._messages(self.turns, more))

    def _messages(self, turns: Dialogue, left_out: int, placeholders: PromptPlaceholders | None = None) -> Sent:
        role = self.role
        told = self.systems.messages_for(role, placeholders)
        begun = opening_text(self.systems.case.language) if role == self.talk.step.opens else None
        system = [Message("system", told[role])] if role in told else []
        return (*system, *(Message(*each) for each in dialogue_from_side(role, turns, begun, left_out)))


def talk_program(
    world: PlanContext, talk: Conversation, told: Systems, certain: bool, out: list[ProgramEvent]
) -> Program:
    """Hold a conversation. Return an `Answer` whose value is the turns, or the reason why there is none."""
    step = talk.step
    turns: Dialogue = []
    taken: list[Mapping[str, Any]] = []
    left_out: dict[str, int] = {}
    status, ended, error, waits = OK, UNITS_LIMIT, None, False
    for number, call in enumerate(conversation_calls(talk), 1):
        left = left_out.get(call.role, 0)
        prompt = TurnPrompt(talk, number, turns, told, left)
        got = yield ReplyNeed(call, prompt, told.question(call.role), talk.number, certain and not waits, talk)
        if isinstance(got, Unavailable):
            if not is_pending(got):
                return got
            waits = True
            continue
        taken.append(got.columns)
        left_out[call.role] = got.columns["left_out"]
        if got.text is None:
            passed = str(got.columns["error"]).startswith(CONTEXT_EXCEEDED)
            status, error = got.status, got.columns["error"]
            ended = "context_exceeded" if passed else status
            break
        turns.append({"speaker": call.role, "text": got.text})
        if is_last_turn(step, call.role, got.text):
            ended = SAID
            break
    if waits:
        return pending(step.name)
    out.append(ConversationEnded(talk, told, turns, taken, status, ended, error))
    return Answer(status, transcript(turns) if turns else None, turns, "", {})


Found = dict[tuple[str, ...], Any]
"""The results of the retrieving steps of a case, by their fingerprint and inputs."""


class PanelVerdict(NamedTuple):
    """A panel's verdict on an element, and the value that each of its judges gave."""

    value: Any
    by_judge: Mapping[str, Any]


@dataclass(slots=True)
class UnitProgram:
    """The program of a unit. `names` are the values that its expressions see; they grow step by step. Events are
    appended to `out`. Units of one case share `retrieved`, the retrieval results."""

    world: PlanContext
    unit: Unit
    names: StepValues
    out: list[ProgramEvent] = field(default_factory=list)
    retrieved: Found = field(default_factory=dict)

    def go(self, steps: Sequence[Step] | None = None) -> Program:
        """Return the program of the unit's steps, or of some of them."""
        self.unit.unasked = ()
        for step, *others in _about_one_list(self.unit.bound.treatment.steps if steps is None else steps):
            match step:
                case Ask() if others:
                    asks = [each for each in (step, *others) if isinstance(each, Ask)]
                    yield from run_side_by_side([self._ask(ask) for ask in asks])
                case Ask():
                    yield from self._ask(step)
                case Score() | Column():
                    self.out.append((yield from score_of(self.names, step, self._raters(step))))
                case Grade():
                    yield from self._grade(step)
                case Converse():
                    yield from self._converse(step)
                case Verdict():
                    yield from self._take_verdict(step)
                case Retrieve():
                    yield from self._retrieve(step)
                case SampleList():
                    yield from self._list_samples(step)

    def _ask(self, step: Ask) -> Program:
        unit, names = self.unit, self.names
        model = unit.bound.model_of(step, unit.model)
        call = StepCall("samples", unit.samples[step.name], step.role, model, step)
        against, certain = step_condition(step, names)
        if against is None:
            prompt = prompt_of(self.world, step, unit.bound.asks, unit.case, names.values)
            question = prompt.question
            got = yield ReplyNeed(call, prompt, question, unit.number % step.samples, certain)
            if isinstance(got, Answer):
                names.answered(step, got)
                if step.acts and got.text is not None:
                    yield from run_tool_calls(step, got.text, prompt, names)
                return
            against = got
        if not is_pending(against):
            self.out.append(CallSkipped(call, against))
            unit.unasked = (*unit.unasked, step.name)
        names.skipped(step, against.status, against.reason)

    def _list_samples(self, step: SampleList) -> Program:
        """Wait for all samples of an ask, which get the same prompt."""
        unit, names, ask = self.unit, self.names, self.unit.bound.asks[step.of]
        against, certain = step_condition(ask, names)
        if against is None:
            prompt = prompt_of(self.world, ask, unit.bound.asks, unit.case, names.values)
            question = prompt.question
            model = unit.bound.model_of(ask, unit.model)
            calls = [StepCall("samples", name, ask.role, model, ask) for name in unit.listed[step.name]]
            needs = [ReplyNeed(call, prompt, question, number, certain) for number, call in enumerate(calls)]
            got = yield from run_side_by_side([answer_program(need) for need in needs])
            lacking = [each for each in got if isinstance(each, Unavailable)]
            if not lacking:
                names.listed(step, [(each.text, each.value, each.status) for each in got])
                return
            against = next((unavailable for unavailable in lacking if is_pending(unavailable)), lacking[0])
        names.set_reply_value(step.name, MissingValue(step.of, against.status, against.reason))

    def _converse(self, step: Converse) -> Program:
        unit, names, talk = self.unit, self.names, self.unit.talks[step.name]
        against, certain = step_condition(step, names)
        if against is None:
            systems = Systems(self.world, step, unit.case, names.values)
            program = partial(talk_program, self.world, talk, systems, certain, self.out)
            got = yield ConversationNeed(talk, systems, program, certain)
            if isinstance(got, Answer):
                names.add_conversation(step, got.value, got.status)
                return
            against = got
        if not is_pending(against):
            self.out.append(ConversationSkipped(talk, against))
        names.lacks(step, against.status, against.reason)

    def _grade(self, step: Grade) -> Program:
        against, certain = step_condition(step, self.names)
        question, prompt = self._judged(step)
        against = prompt.because_of_item(against)
        calls = [call for call in self.unit.calls if call.step is step]
        if self.unit.stronger(step):
            yield from self._cascade(step, calls, prompt, question, against, certain)
            return
        programs = [
            self._grade_once(step, step_calls, prompt, question, against, certain) for step_calls in by_judge(calls)
        ]
        yield from run_side_by_side(programs)

    def _cascade(
        self,
        step: Grade,
        calls: Sequence[StepCall],
        prompt: JudgePrompt,
        question: Question,
        against: Unavailable | None,
        certain: bool,
    ) -> Program:
        """Return the verdict of the first judges if enough of them agree, else that of the stronger judges."""
        scorer, evaluator = self.world.plan.scorer(step.scorer), self.unit.evaluators(step)[0]
        first = [call for call in calls if call.role == scorer.role]
        stronger = [call for call in calls if call.role != scorer.role]
        step_calls, open_ = first, calls
        if against is None:
            got = yield from judge_replies(first, prompt, question, certain)
            if isinstance(got, Unavailable) and is_pending(got):
                yield from judge_replies(stronger, prompt, question, False)
                return
            if not isinstance(got, Unavailable):
                sure = confidence(step, got)
                if sure is not None and sure < scorer.unsure_below:
                    step_calls, got = stronger, (yield from judge_replies(stronger, prompt, question, certain))
                else:
                    false = ConditionFalse(step.name, NOT_APPLICABLE, "the first judges are sure")
                    self.out.extend(CallSkipped(call, false) for call in stronger)
            if not isinstance(got, Unavailable):
                self.out.append(ScoreResult(step, step_calls[0].name, evaluator, score_rows(step, scorer, got)))
                return
            if is_pending(got):
                return
            against, open_ = got, stronger if step_calls is stronger else calls
        self.out.extend(CallSkipped(call, against) for call in open_)
        empty = dict.fromkeys(step.metrics or (step.name,), (None, against.status))
        self.out.append(ScoreResult(step, None, evaluator, empty, reason=against.reason))

    def _grade_once(
        self,
        step: Grade,
        calls: Sequence[StepCall],
        prompt: JudgePrompt,
        question: Question,
        against: Unavailable | None,
        certain: bool,
    ) -> Program:
        """Return the judgement of a reply by one judge."""
        judge = calls[0]
        if against is None:
            got = yield from judge_replies(calls, prompt, question, certain)
            if not isinstance(got, Unavailable):
                values = score_rows(step, self.world.plan.scorer(step.scorer), got)
                self.out.append(ScoreResult(step, judge.name, judge.model, values))
                return
            if is_pending(got):
                return
            against = got
        self.out.extend(CallSkipped(call, against) for call in calls)
        empty = dict.fromkeys(step.metrics or (step.name,), (None, against.status))
        self.out.append(ScoreResult(step, None, judge.model, empty, reason=against.reason))

    def _take_verdict(self, step: Verdict) -> Program:
        if step.loops:
            yield from self._judge_elements(step)
            return
        names = self.names
        against, certain = step_condition(step, names)
        question, prompt = self._judged(step)
        calls = [call for call in self.unit.calls if call.step is step]
        if against is None:
            judges = by_judge(calls)
            answers = yield from run_side_by_side([judge_replies(judge, prompt, question, certain) for judge in judges])
            reasons = [answer for answer in answers if isinstance(answer, Unavailable)]
            if not reasons:
                names.set_reply_value(step.name, panel_verdict(step, self.world.plan.scorer(step.scorer), answers))
                return
            against = next((reason for reason in reasons if not is_pending(reason)), reasons[0])
        if not is_pending(against):
            self.out.extend(CallSkipped(call, against) for call in calls)
        names.lacks(step, against.status, against.reason)

    def _judge_elements(self, step: Verdict) -> Program:
        """Ask judges about each element of a list, side by side."""
        names = self.names
        against, certain = step_condition(step, names)
        calls: dict[tuple[int, ...] | None, list[StepCall]] = {}
        for call in self.unit.calls:
            if call.step is step:
                calls.setdefault(call.element, []).append(call)
        if against is None:
            try:
                elements = [element for element in elements_in(step.loops, names.values) if element.places in calls]
            except Unavailable as reason:
                against = reason
            else:
                asked = [self._about(step, element, calls.pop(element.places), certain) for element in elements]
                told = (yield from run_side_by_side(asked)) if asked else []
                ruled_out = ConditionFalse(step.name, NOT_APPLICABLE, f"`{step.name}` has no such element")
                self.out.extend(CallSkipped(call, ruled_out) for step_calls in calls.values() for call in step_calls)
                if all(element.certain for element in elements):
                    named = [(element.places, one) for element, one in zip(elements, told, strict=True)]
                    names.set_reply_value(step.name, {places: one.value for places, one in named})
                    for judge in self.unit.evaluators(step):
                        names.set_judge_value(step, judge, {places: one.by_judge[judge] for places, one in named})
                else:
                    names.lacks(step, PENDING)
                return
        if not is_pending(against):
            self.out.extend(CallSkipped(call, against) for step_calls in calls.values() for call in step_calls)
        names.lacks(step, against.status, against.reason)

    def _about(self, step: Verdict, element: ListElement, calls: Sequence[StepCall], certain: bool) -> Program:
        """Return the panel's verdict on one element; `MissingValue` if the judges give none."""
        question, prompt = self._judged(step, element.names)
        sure, scorer, judges = certain and element.certain, self.world.plan.scorer(step.scorer), by_judge(calls)
        answers = yield from run_side_by_side([judge_replies(judge, prompt, question, sure) for judge in judges])
        own = {
            judge[0].model: MissingValue(step.name, answer.status, answer.reason)
            if isinstance(answer, Unavailable)
            else panel_verdict(step, scorer, [answer])
            for judge, answer in zip(judges, answers, strict=True)
        }
        reasons = [answer for answer in answers if isinstance(answer, Unavailable)]
        if not reasons:
            return PanelVerdict(panel_verdict(step, scorer, answers), own)
        against = next((reason for reason in reasons if not is_pending(reason)), reasons[0])
        if not is_pending(against):
            self.out.extend(CallSkipped(call, against) for call in calls)
        return PanelVerdict(MissingValue(step.name, against.status, against.reason), own)

    def _raters(self, step: Score | Column) -> Raters | None:
        """Return the judges that each give a score of an element; None if the panel gives one verdict."""
        if not isinstance(step, Score) or step.judge is None:
            return None
        verdict = next(
            each
            for each in self.unit.bound.treatment.steps
            if isinstance(each, Verdict) and each.scorer == step.judge and each.name in names_in(step.value)
        )
        return Raters(verdict.name, self.unit.evaluators(verdict))

    def _judged(self, step: JudgedStep, names: Mapping[str, Any] | None = None) -> tuple[Question, JudgePrompt]:
        case, seen = self.unit.case, self.names.values if names is None else names
        question = self.world.questions.of(step, case.language, seen)
        return question, JudgePrompt(self.world, step, question, case, seen)

    def _retrieve(self, step: Retrieve) -> Program:
        """Add the result of a retrieving step to the values. Its condition is not part of its fingerprint."""
        against, certain = step_condition(step, self.names)
        if against is not None:
            seen: Any = MissingValue(step.name, against.status, against.reason)
        else:
            seen = yield from self._find(step, certain)
        if isinstance(seen, MissingValue):
            self.out.append(RetrievalEmpty(step, seen.status))
        self.names.add_retrieved(step, seen)

    def _find(self, step: Retrieve, certain: bool) -> Program:
        """Return the result of a retrieving step; `MissingValue` if a value or a vector is missing."""
        key = (step.fingerprint, *self.unit.upstream([*step.needs, step.name]))
        if certain and key in self.retrieved:
            return self.retrieved[key]
        values = {}
        if step.using is not None:
            values = yield SimilarityNeed(step, self.unit, self.names, key, certain)
            if isinstance(values, Unavailable):
                return MissingValue(step.name, values.status, values.reason)
        if not certain:
            return MissingValue(step.name, PENDING)
        if key not in self.retrieved:
            try:
                self.retrieved[key] = self.world.chooser.chosen(step, self.names.values, self.unit.case.fields, values)
            except Unavailable as reason:
                self.retrieved[key] = MissingValue(step.name, reason.status, reason.reason)
        return self.retrieved[key]


def _about_one_list(steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
    """Yield the steps in their order; steps about the elements of one list are grouped."""
    asks: list[Ask] = []
    for step in steps:
        listed = step if isinstance(step, Ask) and step.element is not None else None
        if asks and (listed is None or listed.script != asks[0].script):
            yield asks
            asks = []
        if listed is None:
            yield (step,)
        else:
            asks.append(listed)
    yield from [asks] if asks else ()


def pair_program(world: PlanContext, pair: Pair, names: StepValues, out: list[ProgramEvent]) -> Program:
    """Ask the judges of a pair. `names` are the values of both units, which have been run already."""
    step = pair.step
    against, certain = step_condition(step, names)
    question = world.questions.of(step, pair.case.language, names.values)
    prompt = JudgePrompt(world, step, question, pair.case, names.values)
    against = prompt.because_of_item(against)
    scorer = world.plan.scorer(step.scorer)
    programs = [_compare(scorer, calls, prompt, question, against, certain, out) for calls in by_judge(pair.calls)]
    yield from run_side_by_side(programs)


def _compare(
    scorer: Scorer,
    calls: Sequence[StepCall],
    prompt: JudgePrompt,
    question: Question,
    against: Unavailable | None,
    certain: bool,
    out: list[ProgramEvent],
) -> Program:
    """Return the outcome of a comparison by one judge."""
    if against is None:
        got = yield from judge_replies(calls, prompt, question, certain)
        if not isinstance(got, Unavailable):
            value, status = combine_repeats(scorer, [each.value or (None, each.status) for each in got])
            out.append(ComparisonResult(calls[0], calls[0].name, value, status))
            return
        if is_pending(got):
            return
        against = got
    out.extend(CallSkipped(call, against) for call in calls)
    out.append(ComparisonResult(calls[0], None, None, against.status, against.reason))
