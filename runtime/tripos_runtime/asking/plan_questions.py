"""The questions of the steps of a plan, independent of models and items; each is made once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any

from tripos_compiler.language.evaluation import MissingValue, Unavailable, evaluate
from tripos_compiler.language.references import subexpressions
from tripos_compiler.language.row_scales import scorer_in_case
from tripos_compiler.library.calls import arguments_of
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.types import holds_json
from tripos_compiler.plan import (
    Ask,
    Axis,
    Call,
    Column,
    Compare,
    Converse,
    DeclaredSettings,
    Expr,
    Form,
    IntegerType,
    JudgedStep,
    Literal_,
    Metric,
    NoLikelihoods,
    Plan,
    Ref,
    Score,
    Scorer,
    Settings,
    TokenProbability,
    Tool,
    Type,
    read_calls,
    read_likelihoods,
    reply_probabilities,
)
from tripos_compiler.plan.outcomes import PARSE_FAILURE
from tripos_compiler.replies.number_tokens import DEFAULT
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.judging import (
    grade_probabilities,
    grade_reader,
    grade_schema,
    stated_reply,
    verdict_reader,
)
from tripos_runtime.asking.questions import ProbabilityReader, Question, Reader, ReadOutcome, text_reader
from tripos_runtime.models.base import Message
from tripos_runtime.reading.schema import schema_of
from tripos_runtime.reading.typed import read


@dataclass
class Questions:
    """The questions of a plan's steps. `axes` are those whose values replies may name. A question depends on the
    language only through the notation of numbers and of verdicts, and on the row only through its settings and the
    scale of a judge."""

    plan: Plan
    axes: Sequence[Axis]
    _questions: dict[tuple[str, ...], Question] = field(default_factory=dict)
    _with_settings: dict[tuple[Any, ...], Question] = field(default_factory=dict)

    def of(self, step: Ask | JudgedStep, language: str, names: Mapping[str, Any]) -> Question:
        """Return the question of a step in a language. `names` are the values for the conditions of its settings, and
        for the scale of a judge."""
        key, question, settings = self._key(step, language), self.widest(step, language), self._settings(step)
        if not isinstance(step, Ask) and self.plan.scorer(step.scorer).maximum is not None:
            key, question = self._on_scale(step, key, language, names)
        if settings.cases and not isinstance(step, Ask):
            names = with_arguments(step, names)
        return self._settle(key, question, settings, language, names)

    def _on_scale(
        self, step: JudgedStep, key: tuple[str, ...], language: str, names: Mapping[str, Any]
    ) -> tuple[tuple[str, ...], Question]:
        """Return the question of a judge with the scale that the row gives, and its key."""
        declared = self.plan.scorer(step.scorer)
        try:
            scorer = scorer_in_case(declared, step.args, names)
        except Unavailable as reason:
            assert declared.maximum is not None
            return key, replace(self.widest(step, language), unsettled=((declared.maximum, reason),))
        assert isinstance(scorer.gives, IntegerType)
        key = (*key, str(scorer.gives.high))
        if key not in self._questions:
            self._questions[key] = self._of_judge(step, scorer, key[1], language)
        return key, self._questions[key]

    def widest(self, step: Ask | JudgedStep, language: str) -> Question:
        """Return the question with the largest request and the longest reply that are possible."""
        key = self._key(step, language)
        if key not in self._questions:
            if isinstance(step, Ask):
                self._questions[key] = self._of_ask(step, key[1])
            else:
                self._questions[key] = self._of_judge(step, self.plan.scorer(step.scorer), key[1], language)
        return self._questions[key]

    def turn(self, step: Converse, role: str, language: str, names: Mapping[str, Any]) -> Question:
        """Return the question for a turn of a role: the messages are the dialogue alone, and the reply is read as
        text."""
        settings = next(speaker.settings for speaker in step.speakers if speaker.role == role)
        return self._settle((step.fingerprint, role), self.longest_turn(step, role), settings, language, names)

    def longest_turn(self, step: Converse, role: str) -> Question:
        """Return the question for a turn with the longest reply that is possible."""
        key = step.fingerprint, role
        if key not in self._questions:
            settings = next(speaker.settings for speaker in step.speakers if speaker.role == role)
            self._questions[key] = Question(None, None, settings.widest, None, text_reader, form="turn")
        return self._questions[key]

    def _settings(self, step: Ask | JudgedStep) -> DeclaredSettings:
        return step.settings if isinstance(step, Ask) else self.plan.scorer(step.scorer).settings

    def _key(self, step: Ask | JudgedStep, language: str) -> tuple[str, ...]:
        """Return the key of a step's question: what its reader depends on in a language."""
        if isinstance(step, Ask):
            return step.fingerprint, step.numbers.get(language, DEFAULT)
        scorer = self.plan.scorer(step.scorer)
        return step.fingerprint, scorer.numbers.get(language, DEFAULT), scorer.form.get(language, "")

    def _settle(
        self,
        key: tuple[str, ...],
        question: Question,
        settings: DeclaredSettings,
        language: str,
        names: Mapping[str, Any],
    ) -> Question:
        """Return a question with the settings of one request. This is the only place that decides them. If a condition
        has no value, the question is `unsettled`."""
        if not settings.cases:
            return question
        unsettled: list[tuple[Expr, Unavailable]] = []

        def holds(when: Expr) -> bool:
            try:
                return bool(evaluate(when, names))
            except Unavailable as reason:
                unsettled.append((when, reason))
                return False

        chosen = settings.of(language, holds)
        if unsettled:
            return replace(question, unsettled=(*question.unsettled, *unsettled), varied=settings.varied)
        if (*key, chosen) not in self._with_settings:
            self._with_settings[*key, chosen] = replace(question, settings=chosen)
        return self._with_settings[*key, chosen]

    def metrics(self, step: JudgedStep) -> tuple[Metric, ...]:
        """Return the metrics of a judge; none if it gives one value."""
        return tuple(self.plan.metric(each) for each in getattr(step, "metrics", ()))

    def _of_ask(self, step: Ask, locale: str) -> Question:
        settings = step.settings.widest
        if step.options is not None:
            return Question(step.system, step.prompt, settings, None, likelihood_reader, form="number", chooses=True)
        if step.calls_tools:
            return Question(step.system, step.prompt, settings, None, calls_reader(step.tools), form="tools")
        schema = schema_of(step.returns) if step.returns is not None else None
        reader = reply_reader(step.returns, self.axes, locale)
        add_probabilities = None if settings.top_logprobs is None else probability_reader(step.returns)
        form: Form = "text" if step.returns is None else "typed"
        exact = step.returns is not None and holds_json(step.returns)
        return Question(
            step.system,
            step.prompt,
            settings,
            schema,
            reader,
            readable=self._readable.get(step.fingerprint, ()),
            form=form,
            add_probabilities=add_probabilities,
            exact=exact,
        )

    @cached_property
    def _readable(self) -> dict[str, tuple[str, ...]]:
        """Replies that the scores can read, by the fingerprint of the ask: those of the first function that reads the
        text of its reply."""
        found: dict[str, tuple[str, ...]] = {}
        for scenario in self.plan.scenarios:
            for treatment in scenario.treatments:
                for step in treatment.steps:
                    for name, replies in readers_in(step.value) if isinstance(step, Score | Column) else ():
                        asks = (ask for ask in treatment.steps if isinstance(ask, Ask) and ask.name == name)
                        for ask in asks:
                            found.setdefault(ask.fingerprint, replies)
        return found

    def _of_judge(self, step: JudgedStep, scorer: Scorer, locale: str, language: str) -> Question:
        metrics = self.metrics(step)
        form = scorer.form.get(language)
        if isinstance(step, Compare):
            reader = verdict_reader(scorer, locale, form)
        else:
            reader = grade_reader(scorer, metrics, locale, form)
        schema = grade_schema(scorer, metrics)
        add_probabilities = None if isinstance(step, Compare) else grade_probabilities(scorer, form)
        settings = scorer.settings.widest
        kind: Form = "typed" if scorer.writes else "number"
        return Question(
            scorer.system,
            scorer.prompt,
            settings,
            schema,
            reader,
            stated_reply(scorer, metrics, language),
            chat=scorer.chat,
            form=kind,
            add_probabilities=add_probabilities,
        )


def readers_in(expr: Expr) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the asks whose replies an expression reads, each with replies that the function which is given its text
    can read.

    >>> from tripos_compiler.plan import Call, Ref
    >>> list(readers_in(Call(function="is_yes", args=(Ref(path=("reply", "text")),))))
    [('reply', ('Yes.', 'No.'))]
    """
    for part in subexpressions(expr):
        if (
            not isinstance(part, Call)
            or part.function not in FUNCTIONS
            or not (replies := FUNCTIONS[part.function].replies)
        ):
            continue
        given = arguments_of(part)
        literal = {name: str(of.value) for name, of in given.items() if isinstance(of, Literal_)}
        match next(iter(given.values())):
            case Ref(path=(name, "text")):
                yield name, tuple(_with_values(reply, literal) for reply in replies)


def _with_values(reply: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        reply = reply.replace(f"{{{name}}}", value)
    return reply


def settings_sent(
    settings: DeclaredSettings,
    question: Question,
    identity: str,
    sent: Sequence[Message],
    number: int,
    key: str,
) -> Settings | None:
    """Return the settings of the request whose digest is `key`; None if the reply came from another request, such as
    one with shorter messages."""
    if not settings.cases:
        return settings.otherwise
    questions = (replace(question, settings=each) for each in settings.possible)
    return next((each.settings for each in questions if each.digest(identity, sent, number) == key), None)


def with_arguments(step: JudgedStep, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with the arguments of a judge added. Using an argument without a value raises
    `Unavailable`."""
    values = dict(names)
    for param, expr in step.args.items():
        try:
            values[param] = evaluate(expr, names)
        except Unavailable as reason:
            values[param] = MissingValue(reason.step, reason.status, reason.reason)
    return values


def likelihood_reader(text: str) -> ReadOutcome:
    """Read the likelihoods of options."""
    try:
        likelihoods = read_likelihoods(text)
    except NoLikelihoods as error:
        return ReadOutcome(None, None, f"no likelihoods: {error}", PARSE_FAILURE)
    return ReadOutcome(likelihoods, likelihoods)


def calls_reader(tools: Sequence[Tool]) -> Reader:
    """Return a reader for the text and the calls of a reply to a step with tools. It reads any reply: an unreadable
    part of a call is reported in the call."""

    def reader(text: str) -> ReadOutcome:
        text_and_calls = read_calls(tools, text)
        return ReadOutcome(text_and_calls, text_and_calls)

    return reader


def probability_reader(returns: Type | None) -> ProbabilityReader:
    """Return a function that adds the probabilities of the reply's tokens to its value."""

    def add_probabilities(outcome: ReadOutcome, tokens: Sequence[TokenProbability]) -> ReadOutcome:
        fields = reply_probabilities(tokens, returns, outcome.value)
        return replace(outcome, value=fields if returns is None else {"value": outcome.value, **fields})

    return add_probabilities


def reply_reader(returns: Type | None, axes: Sequence[Axis], locale: str) -> Reader:
    """Return a reader for a reply of the type that a step returns. Its numbers are written as in the locale."""
    if returns is None:
        return text_reader

    def reader(text: str) -> ReadOutcome:
        reply = read(returns, text, axes, locale)
        if reply.error is not None:
            return ReadOutcome(None, None, reply.error, reply.status)
        return ReadOutcome(reply.value, reply.value)

    return reader
