"""The programs of a unit and of a pair: their steps, from the first question to the last score.

**Tool calls.** If a call names no tool, has wrong arguments or raises an error, its result is a description of the
mistake, and the state does not change. The model may then correct its call.

**Scores and columns.** A row has a single value, or one value for each element of a list.

**Conversations.** Each turn is answered before the next is needed. The name of a turn follows from its conversation and
its number, and the name of a conversation from everything that determines it. So an interrupted conversation continues
after its last turn, and a conversation that several treatments or models share takes place once."""

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


def evaluate_with_scorers(evaluation: Callable[[], Any]) -> Program:
    """Return the result of an evaluation. It is repeated after each value of an external scorer that it needs."""
    values: dict[str, Any] = {}
    while True:
        try:
            with suspending(values):
                return evaluation()
        except Suspended as call:
            values[call.key] = yield ScorerNeed(call.scorer, call.request)


def by_judge(calls: Iterable[StepCall]) -> list[list[StepCall]]:
    """Return the calls grouped by judge."""
    groups: dict[str, list[StepCall]] = {}
    for call in calls:
        groups.setdefault(call.model, []).append(call)
    return list(groups.values())


def run_side_by_side(programs: list[Program]) -> Program:
    """Run programs side by side and return their results."""
    if len(programs) == 1:
        return [(yield from programs[0])]
    results = (yield programs) if programs else []
    return results


def judge_replies(calls: Sequence[StepCall], prompt: JudgePrompt, question: Question, certain: bool) -> Program:
    """Return every reply of one judge to the same prompt, or the reason why one is missing."""
    needs = [answer_program(ReplyNeed(call, prompt, question, call.number, certain)) for call in calls]
    answers = yield from run_side_by_side(needs)
    reasons = [answer for answer in answers if isinstance(answer, Unavailable)]
    return next((reason for reason in reasons if is_pending(reason)), reasons[0]) if reasons else answers


def answer_program(need: ReplyNeed) -> Program:
    """Return the answer to one need, as a program that can run side by side with others."""
    answer = yield need
    return answer


def last_user_message(sent: Sequence[Message]) -> str:
    """Return the user's last message before a reply; an empty text if tool results came after it."""
    chat = [message for message in sent if message.role != TOOL]
    return chat[-1].content if chat and chat[-1].role == "user" else ""


USER = "user"
"""The speaker of the prompts of a loop in which no role answers as the user."""


def run_tool_calls(step: Ask, reply: str, prompt: Prompt, names: StepValues) -> Program:
    """Make the tool calls of a reply, and add their results to the values, together with what the loop has so far: the
    state, the calls, the replies and the turns. A forecast makes no call, so their results stay pending."""
    own, (text, calls) = names.values[step.name], split_text_and_calls(reply)
    try:
        user_text = last_user_message(prompt.messages())
        earlier = evaluate(Ref(path=(str(step.continues), "so_far")), names.values) if step.takes_results else None
        state = evaluate(step.acts[0].args[0], names.values)  # type: ignore[union-attr]
        results: list[dict[str, Any]] = []
        for call in calls:
            state, result, failed = yield from _call_tool(step, call, state)
            results.append({"name": call.name, "text": result, "failed": failed})
    except Unavailable as reason:
        names.failed(step, reason)
        return
    turns = (step.user or USER, user_text), (step.role, text)
    so_far: dict[str, Any] = {
        "state": state,
        "results": results,
        "calls": own["calls"],
        "replies": [] if calls else [text],
        "turns": [{"speaker": speaker, "text": turn} for speaker, turn in turns if turn],
        **{tool.name: own[tool.name] for tool in step.tools},
    }
    if earlier is not None:
        so_far = {key: value if key == "state" else [*earlier[key], *value] for key, value in so_far.items()}
    so_far |= {"text": text, "ended": LIMIT if calls else REPLIED}
    names.add_tool_results(step, so_far, (write_calls(text, calls), [each["text"] for each in results]))


def _call_tool(step: Ask, call: ToolCall, state: Any) -> Program:
    """Return the state after a call, its result, and whether the result is an error message."""
    tool = next((each for each in step.tools if each.name == call.name), None)
    if tool is None:
        return state, f"Error: there is no tool `{call.name}`", True
    error = argument_error(tool, call)
    if error is not None:
        return state, f"Error: {error}", True
    result = yield from evaluate_with_scorers(partial(_tool_result, tool, state, call))
    return result.state, result.text, result.failed


def _tool_result(tool: Tool, state: Any, call: ToolCall) -> Any:
    """Call the function of a tool."""
    fitted: Mapping[str, Any] = fit_arguments(tool.arguments, call.arguments) or {}
    arguments = {name: value for name, value in fitted.items() if value is not None}
    names = {"state": state, "arguments": arguments}
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
    """The judges of whom each gives a score of every element, and the verdict that combines them."""

    verdict: str
    judges: tuple[str, ...]


def score_of(names: StepValues, step: Score | Column, raters: Raters | None = None) -> Program:
    """Return the `ScoreResult` of a step."""
    if step.element is not None:
        return (yield from _element_scores(names, step, raters))
    result, against = yield from evaluate_with_scorers(partial(names.value_of, step))
    value, label = None, None
    if against is None:
        value, label = _score_value(step, result) if isinstance(step, Score) else kept_value(result)
    status, reason = (SCORED, None) if against is None else (against.status, against.reason)
    return ScoreResult(step, None, None, {step.name: (value, status)}, label, reason)


def _score_value(step: Score, value: Any) -> tuple[float | None, str | None]:
    """Return a score as a number, and as JSON text if it is a name. A name without a worth has no number."""
    if step.gives is None:
        return float(value), None
    return worth_of(step.gives, value), orjson.dumps(str(value)).decode()


def _element_scores(names: StepValues, step: Score | Column, raters: Raters | None) -> Program:
    """Return the `ScoreResult` of a step that scores each element of a list."""
    judges: tuple[str | None, ...] = (None,) if raters is None else raters.judges
    elements: list[KeptElement] = []
    reasons: list[Unavailable] = []
    for judge in judges:
        values = names if judge is None or raters is None else names.with_verdict_of(raters.verdict, judge)
        scored = yield from evaluate_with_scorers(partial(values.element_values, step))
        against = scored if isinstance(scored, Unavailable) else missing_element_reason(scored)
        reasons += [] if against is None else [against]
        if not isinstance(scored, Unavailable):
            elements += [_kept_element(step, each, judge) for each in scored]
        elif judge is not None:
            elements.append(KeptElement({"evaluator": judge}, _kept_reason(scored)))
    listed = orjson.dumps([element.element for element in elements], default=str).decode() if elements else None
    label = orjson.dumps([element.value for element in elements]).decode() if elements else None
    against = _first_reason(reasons)
    status, reason = (SCORED, None) if against is None else (against.status, against.reason)
    return ScoreResult(step, None, None, {step.name: (None, status)}, label, reason, listed)


class KeptElement(NamedTuple):
    """An element and its value, in the form of the columns `elements` and `given` of a score's row."""

    element: dict[str, Any]
    value: dict[str, Any]


def _kept_element(step: Score | Column, scored: ElementValue, judge: str | None) -> KeptElement:
    element = {"place": str(scored.place), "element": _plain(scored.element)}
    if judge is not None:
        element["evaluator"] = judge
    if scored.against is not None:
        return KeptElement(element, _kept_reason(scored.against))
    is_name = isinstance(step, Score) and step.gives is not None
    number, text = _score_value(step, scored.value) if is_name else kept_value(scored.value)  # type: ignore[arg-type]
    return KeptElement(element, {"value": number, "status": SCORED} | ({} if text is None else {"given": text}))


def _kept_reason(against: Unavailable) -> dict[str, Any]:
    return {"value": None, "status": against.status, "error": against.reason}


def missing_element_reason(values: Sequence[ElementValue]) -> Unavailable | None:
    """Return the reason why an element has no score, other than that the score does not apply; None if there is no such
    element. A reason that the next run retries counts before others."""
    return _first_reason(
        [value.against for value in values if value.against is not None and value.against.status != NOT_APPLICABLE]
    )


def _first_reason(reasons: Sequence[Unavailable]) -> Unavailable | None:
    """Return the first reason that the next run retries; if there is none, the first reason, if any."""
    retried = (reason for reason in reasons if reason.status in RETRIED_NEXT_RUN)
    return next(retried, reasons[0] if reasons else None)


def kept_value(value: Any) -> tuple[float | None, str | None]:
    """Return a value as a number, or as JSON text if it is not a number. True and false are 1 and 0, and a set becomes
    a sorted list. A missing value and a number out of bounds give neither.

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
    """The system messages and the questions of a conversation's speakers. The messages are rendered once."""

    world: PlanContext
    step: Converse
    case: Case
    names: Mapping[str, Any]
    _messages: dict[str, str] | None = None

    def __call__(self) -> dict[str, str]:
        """Return the system message of each role that has one. Raises `Unavailable` if a message needs a value that an
        earlier step did not yield."""
        if self._messages is None:
            self._messages = self._render("", None)
        return self._messages

    def question(self, role: str) -> Question:
        """Return the question of each turn of a role."""
        return self.world.questions.turn(self.step, role, self.case.language, self.names)

    def messages_for(self, role: str, placeholders: PromptPlaceholders | None) -> dict[str, str]:
        """Return the system messages for a turn of `role`; `placeholders` replace pending replies."""
        try:
            return self()
        except Unavailable:
            if placeholders is None:
                raise
            return self._render(role, placeholders)

    def _render(self, role: str, placeholders: PromptPlaceholders | None) -> dict[str, str]:
        """Return the system message of each role. The messages of roles other than `role` are not part of the request,
        so they have placeholders `aside`."""
        messages = {}
        for speaker in self.step.speakers:
            prompt_placeholders = placeholders if placeholders is None or speaker.role == role else placeholders.aside()
            self.question(speaker.role).settle(prompt_placeholders)
            if speaker.system is not None:
                template, language = speaker.system[self.case.language], self.case.language
                text = render(template, self.names, language, self.world.sources.axes, placeholders=prompt_placeholders)
                if text:
                    messages[speaker.role] = text
        return messages


@dataclass(frozen=True, slots=True)
class TurnPrompt:
    """The prompt of turn `number` of a conversation. `turns` are the known earlier turns; the others are pending."""

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
        """Return the messages. Raises `Unavailable` if a system message has no value, or a turn is pending and there
        are no placeholders."""
        step, turns = self.talk.step, self.turns
        pending_turns = range(len(turns) + 1, self.number)
        if pending_turns and placeholders is None:
            raise Unavailable(step.name, PENDING)
        if placeholders is not None:
            speaker = self.talk.speaker
            added = (Turn(speaker=speaker(each), text=placeholders.turn(step, each)) for each in pending_turns)
            turns = [*turns, *added]
        return self._messages(turns, self.left_out, placeholders)

    def shorter(self, left_out: int) -> tuple[int, Sent] | None:
        """See `Prompt.shorter`."""
        more_left_out = count_left_out(len(self.turns), left_out)
        return None if more_left_out is None else (more_left_out, self._messages(self.turns, more_left_out))

    def _messages(self, turns: Dialogue, left_out: int, placeholders: PromptPlaceholders | None = None) -> Sent:
        role = self.role
        system_messages = self.systems.messages_for(role, placeholders)
        opening = opening_text(self.systems.case.language) if role == self.talk.step.opens else None
        system = [Message("system", system_messages[role])] if role in system_messages else []
        return (*system, *(Message(*each) for each in dialogue_from_side(role, turns, opening, left_out)))


def talk_program(
    world: PlanContext, talk: Conversation, systems: Systems, certain: bool, out: list[ProgramEvent]
) -> Program:
    """Ask for the turns of a conversation. Return an `Answer` whose value is the turns, or the reason why there is
    none. If a turn is pending, the later ones are asked for as well, since each of them may be needed."""
    step = talk.step
    turns: Dialogue = []
    turn_columns: list[Mapping[str, Any]] = []
    left_out: dict[str, int] = {}
    status, ended, error, has_pending = OK, UNITS_LIMIT, None, False
    for number, call in enumerate(conversation_calls(talk), 1):
        prompt = TurnPrompt(talk, number, turns, systems, left_out.get(call.role, 0))
        is_certain = certain and not has_pending
        answer = yield ReplyNeed(call, prompt, systems.question(call.role), talk.number, is_certain, talk)
        if isinstance(answer, Unavailable):
            if not is_pending(answer):
                return answer
            has_pending = True
            continue
        turn_columns.append(answer.columns)
        left_out[call.role] = answer.columns["left_out"]
        if answer.text is None:
            too_long = str(answer.columns["error"]).startswith(CONTEXT_EXCEEDED)
            status, error = answer.status, answer.columns["error"]
            ended = "context_exceeded" if too_long else status
            break
        turns.append({"speaker": call.role, "text": answer.text})
        if is_last_turn(step, call.role, answer.text):
            ended = SAID
            break
    if has_pending:
        return pending(step.name)
    status, reason = talk.outcome(turns, status)
    error = reason or error
    out.append(ConversationEnded(talk, systems, turns, turn_columns, status, ended, error))
    return Answer(status, transcript(turns) if turns else None, turns, "", {})


RetrievalResults = dict[tuple[str, ...], Any]
"""The results of the retrieving steps of a case, by the step's fingerprint and inputs."""


class PanelVerdict(NamedTuple):
    """A panel's verdict on an element, and the verdict of each of its judges."""

    value: Any
    by_judge: Mapping[str, Any]


@dataclass(slots=True)
class UnitProgram:
    """The program of a unit. `names` are the values that its expressions can use; each step adds its own. Events are
    appended to `out`. The units of one case share `retrieved`, the results of retrieving steps."""

    world: PlanContext
    unit: Unit
    names: StepValues
    out: list[ProgramEvent] = field(default_factory=list)
    retrieved: RetrievalResults = field(default_factory=dict)

    def go(self, steps: Sequence[Step] | None = None) -> Program:
        """Return the program of the unit's steps, or of some of them."""
        self.unit.unasked = ()
        for step, *others in _by_list(self.unit.bound.treatment.steps if steps is None else steps):
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
            answer = yield ReplyNeed(call, prompt, question, unit.number % step.samples, certain)
            if isinstance(answer, Answer):
                names.answered(step, answer)
                if step.acts and answer.text is not None:
                    yield from run_tool_calls(step, answer.text, prompt, names)
                return
            against = answer
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
            answers = yield from run_side_by_side([answer_program(need) for need in needs])
            reasons = [each for each in answers if isinstance(each, Unavailable)]
            if not reasons:
                names.listed(step, [(each.text, each.value, each.status) for each in answers])
                return
            against = next((reason for reason in reasons if is_pending(reason)), reasons[0])
        names.set_reply_value(step.name, MissingValue(step.of, against.status, against.reason))

    def _converse(self, step: Converse) -> Program:
        unit, names, talk = self.unit, self.names, self.unit.talks[step.name]
        against, certain = step_condition(step, names)
        if against is None:
            systems = Systems(self.world, step, unit.case, names.values)
            program = partial(talk_program, self.world, talk, systems, certain, self.out)
            answer = yield ConversationNeed(talk, systems, program, certain)
            if isinstance(answer, Answer):
                names.add_conversation(step, answer.value, *talk.outcome(answer.value, answer.status))
                return
            against = answer
        if not is_pending(against):
            self.out.append(ConversationSkipped(talk, against))
        names.lacks(step, against.status, against.reason)

    def _grade(self, step: Grade) -> Program:
        against, certain = step_condition(step, self.names)
        question, prompt = self._judge_prompt(step)
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
        """Emit the verdict of the first judges if enough of them agree, else that of the stronger judges."""
        scorer, evaluator = self.world.plan.scorer(step.scorer), self.unit.evaluators(step)[0]
        first = [call for call in calls if call.role == scorer.role]
        stronger = [call for call in calls if call.role != scorer.role]
        deciding, skipped = first, calls
        if against is None:
            answers = yield from judge_replies(first, prompt, question, certain)
            if isinstance(answers, Unavailable) and is_pending(answers):
                yield from judge_replies(stronger, prompt, question, False)
                return
            if not isinstance(answers, Unavailable):
                agreement = confidence(step, answers)
                if agreement is not None and agreement < scorer.unsure_below:
                    deciding, answers = stronger, (yield from judge_replies(stronger, prompt, question, certain))
                else:
                    reason = ConditionFalse(step.name, NOT_APPLICABLE, "the first judges are sure")
                    self.out.extend(CallSkipped(call, reason) for call in stronger)
            if not isinstance(answers, Unavailable):
                self.out.append(ScoreResult(step, deciding[0].name, evaluator, score_rows(step, scorer, answers)))
                return
            if is_pending(answers):
                return
            against, skipped = answers, stronger if deciding is stronger else calls
        self.out.extend(CallSkipped(call, against) for call in skipped)
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
        """Emit the scores of a reply by one judge."""
        judge = calls[0]
        if against is None:
            answers = yield from judge_replies(calls, prompt, question, certain)
            if not isinstance(answers, Unavailable):
                values = score_rows(step, self.world.plan.scorer(step.scorer), answers)
                self.out.append(ScoreResult(step, judge.name, judge.model, values))
                return
            if is_pending(answers):
                return
            against = answers
        self.out.extend(CallSkipped(call, against) for call in calls)
        empty = dict.fromkeys(step.metrics or (step.name,), (None, against.status))
        self.out.append(ScoreResult(step, None, judge.model, empty, reason=against.reason))

    def _take_verdict(self, step: Verdict) -> Program:
        """Add a panel's verdict to the values."""
        if step.loops:
            yield from self._judge_elements(step)
            return
        names = self.names
        against, certain = step_condition(step, names)
        question, prompt = self._judge_prompt(step)
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
                programs = [
                    self._element_verdict(step, element, calls.pop(element.places), certain) for element in elements
                ]
                verdicts = (yield from run_side_by_side(programs)) if programs else []
                no_element = ConditionFalse(step.name, NOT_APPLICABLE, f"`{step.name}` has no such element")
                self.out.extend(CallSkipped(call, no_element) for step_calls in calls.values() for call in step_calls)
                if all(element.certain for element in elements):
                    by_places = {element.places: verdict for element, verdict in zip(elements, verdicts, strict=True)}
                    names.set_reply_value(step.name, {places: one.value for places, one in by_places.items()})
                    for judge in self.unit.evaluators(step):
                        values = {places: one.by_judge[judge] for places, one in by_places.items()}
                        names.set_judge_value(step, judge, values)
                else:
                    names.lacks(step, PENDING)
                return
        if not is_pending(against):
            self.out.extend(CallSkipped(call, against) for step_calls in calls.values() for call in step_calls)
        names.lacks(step, against.status, against.reason)

    def _element_verdict(
        self, step: Verdict, element: ListElement, calls: Sequence[StepCall], certain: bool
    ) -> Program:
        """Return the `PanelVerdict` on one element. Its values are `MissingValue` if the judges give none."""
        question, prompt = self._judge_prompt(step, element.names)
        is_certain, scorer, judges = certain and element.certain, self.world.plan.scorer(step.scorer), by_judge(calls)
        answers = yield from run_side_by_side([judge_replies(judge, prompt, question, is_certain) for judge in judges])
        by_each = {
            judge[0].model: MissingValue(step.name, answer.status, answer.reason)
            if isinstance(answer, Unavailable)
            else panel_verdict(step, scorer, [answer])
            for judge, answer in zip(judges, answers, strict=True)
        }
        reasons = [answer for answer in answers if isinstance(answer, Unavailable)]
        if not reasons:
            return PanelVerdict(panel_verdict(step, scorer, answers), by_each)
        against = next((reason for reason in reasons if not is_pending(reason)), reasons[0])
        if not is_pending(against):
            self.out.extend(CallSkipped(call, against) for call in calls)
        return PanelVerdict(MissingValue(step.name, against.status, against.reason), by_each)

    def _raters(self, step: Score | Column) -> Raters | None:
        """Return the judges of whom each gives a score of every element; None if the step has no such judges."""
        if not isinstance(step, Score) or step.judge is None:
            return None
        verdict = next(
            each
            for each in self.unit.bound.treatment.steps
            if isinstance(each, Verdict) and each.scorer == step.judge and each.name in names_in(step.value)
        )
        return Raters(verdict.name, self.unit.evaluators(verdict))

    def _judge_prompt(self, step: JudgedStep, names: Mapping[str, Any] | None = None) -> tuple[Question, JudgePrompt]:
        case, values = self.unit.case, self.names.values if names is None else names
        question = self.world.questions.of(step, case.language, values)
        return question, JudgePrompt(self.world, step, question, case, values)

    def _retrieve(self, step: Retrieve) -> Program:
        """Add the result of a retrieving step to the values. The condition is evaluated for each unit, since it is not
        part of the fingerprint by which results are shared."""
        against, certain = step_condition(step, self.names)
        if against is not None:
            result: Any = MissingValue(step.name, against.status, against.reason)
        else:
            result = yield from self._find(step, certain)
        if isinstance(result, MissingValue):
            self.out.append(RetrievalEmpty(step, result.status))
        self.names.add_retrieved(step, result)

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


def _by_list(steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
    """Yield the steps in their order. Asks about the elements of one list are yielded together, any other step
    alone."""
    asks: list[Ask] = []
    for step in steps:
        element_ask = step if isinstance(step, Ask) and step.element is not None else None
        if asks and (element_ask is None or element_ask.script != asks[0].script):
            yield asks
            asks = []
        if element_ask is None:
            yield (step,)
        else:
            asks.append(element_ask)
    yield from [asks] if asks else ()


def pair_program(world: PlanContext, pair: Pair, names: StepValues, out: list[ProgramEvent]) -> Program:
    """Ask the judges of a pair, and emit the outcomes. `names` are the values of both units, which have run before."""
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
    """Emit the outcome of a comparison by one judge."""
    if against is None:
        answers = yield from judge_replies(calls, prompt, question, certain)
        if not isinstance(answers, Unavailable):
            value, status = combine_repeats(scorer, [each.value or (None, each.status) for each in answers])
            out.append(ComparisonResult(calls[0], calls[0].name, value, status))
            return
        if is_pending(answers):
            return
        against = answers
    out.extend(CallSkipped(call, against) for call in calls)
    out.append(ComparisonResult(calls[0], None, None, against.status, against.reason))
