"""The rows of results: the columns kept of a reply, a conversation, a score or a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.language.rendering import opening_text
from tripos_compiler.library.functions.dialogues import transcript
from tripos_compiler.plan import Ask, Compare, Converse, Grade, JudgedStep
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.judging import comparison_worth, score_columns
from tripos_runtime.asking.ledger import condition_id
from tripos_runtime.asking.questions import NO_REPLY, SENT_ANEW, Answer, dumps
from tripos_runtime.program.needs import ComparisonResult, ConversationEnded, ScoreResult
from tripos_runtime.program.running import RunContext
from tripos_runtime.program.units import Conversation, Pair, StepCall, Unit

Row = dict[str, Any]
SUMMED = ("attempts", "tokens_in", "tokens_out", "tokens_reasoning", "cost_usd", "latency_s")
"""The columns of a conversation that are sums over its turns."""
OF_TURN = ("thinking", "status", "error", "finish_reason", "model_served", *SUMMED)
"""The columns of a turn that are those of its answer."""


@dataclass(frozen=True)
class ResultRows:
    """The builder of the rows of one run."""

    run: RunContext

    def sample(self, unit: Unit, call: StepCall, name: str, number: int) -> Row:
        """Return the columns of a reply to an ask, without those of its answer. `number` is the number of the
        sample."""
        step, binding = call.step, unit.bound.binding
        assert isinstance(step, Ask)
        return {
            "sample_id": name,
            **self._common(unit, step.fingerprint, unit.sample_binding(step, number)),
            "step": step.name,
            "item_id": unit.case.item_id,
            "context": dict(unit.case.context),
            "role": step.role,
            "model": call.model,
            "identity": binding.identity_if_distinct(call.model),
            "sample_number": number,
        }

    def judgement(self, part: Unit | Pair, call: StepCall) -> Row:
        """Return the columns of a judgement, without those of its answer."""
        step = call.step
        assert not isinstance(step, Ask | Converse)
        unit = part.first if isinstance(part, Pair) else part
        return {
            "judgement_id": call.name,
            "sample_id": unit.about(step) if isinstance(step, Grade | Compare) else unit.last_reply(step.needs),
            "item_id": unit.case.item_id,
            **self._common(unit, step.judgement, part.pattern.judged(call)),
            "scorer": step.scorer,
            "evaluator": call.model,
            "repeat": call.number,
            "element_place": call.element_name,
            "identity": unit.bound.binding.identity_if_distinct(call.model),
        }

    def turn(self, unit: Unit, talk: Conversation, call: StepCall) -> Row:
        """Return the columns of a turn of a conversation, without those of its answer."""
        return {
            "turn_id": call.name,
            "conversation_id": talk.name,
            **self._of_talk(unit, talk),
            "conversation_number": talk.number,
            "number": talk.turns.index(call.name) + 1,
            "role": call.role,
            "model": call.model,
            "identity": unit.bound.binding.identity_if_distinct(call.model),
        }

    def condition(self, step: Ask | Converse | JudgedStep, name: str, item_id: str | None) -> Row:
        """Return the row that records that a result was asked for under the condition of its step."""
        fingerprint = step.fingerprint if isinstance(step, Ask | Converse) else step.judgement
        return {
            "condition_id": condition_id(name, step.condition),
            "result_id": name,
            "condition": step.condition,
            "run_id": self.run.run_id,
            "benchmark": self.run.plan.benchmark.name,
            "item_id": item_id,
            "fingerprint": fingerprint,
        }

    def talk(self, unit: Unit, event: ConversationEnded) -> Row:
        """Return the row of an ended conversation."""
        talk, turns = event.talk, event.turns
        step, models, role = talk.step, talk.models, unit.bound.conversation_role(talk.step)
        opening = [{"role": "user", "name": step.opens, "content": opening_text(unit.case.language)}]
        systems = [{"role": "system", "name": name, "content": text} for name, text in event.systems().items()]
        parsed = {"ended": event.ended, "ended_by": event.last, "models": dict(models), "turns": turns}
        return {
            "sample_id": talk.name,
            **self._of_talk(unit, talk),
            "context": dict(unit.case.context),
            "role": role,
            "model": models[role],
            "identity": unit.bound.binding.identity_if_distinct(models[role]),
            "sample_number": talk.number,
            "messages": dumps([*systems, *opening]),
            "reply": transcript(turns) if turns else None,
            "thinking": None,
            "parsed": dumps(parsed),
            "logprobs": None,
            "status": event.status,
            "error": event.error,
            "finish_reason": event.ended,
            "model_served": None,
            **{column: _sum([row[column] for row in event.turn_usage]) for column in SUMMED},
            "request_digest": None,
            **SENT_ANEW,
        }

    def score(self, unit: Unit, scored: ScoreResult, title: str) -> Row:
        """Return the row of a score."""
        step, (verdict, status) = scored.step, scored.values[title]
        scorer = self.run.plan.scorer(step.scorer) if isinstance(step, Grade) else None
        value, name = (verdict, None) if scorer is None else score_columns(scorer, verdict)
        return {
            "score_id": unit.scores[step.fingerprint, scored.evaluator][title],
            "sample_id": unit.about(step),
            "judgement_id": scored.judgement,
            **self._common(unit, step.fingerprint, unit.score_binding(step, scored.evaluator)),
            "item_id": unit.case.item_id,
            "model": unit.scored(step),
            "scorer": step.scorer if isinstance(step, Grade) else step.name,
            "metric": title,
            "evaluator": scored.evaluator,
            "value": value,
            "given": scored.label or name,
            "elements": scored.elements,
            "judged_by": unit.judged_by(step),
            "status": status,
            "error": scored.reason,
        }

    def comparison(self, pair: Pair, compared: ComparisonResult) -> Row:
        """Return the row of the outcome of a comparison."""
        step, judge = pair.step, compared.call.model
        return {
            "comparison_id": pair.comparisons[judge],
            "judgement_id": compared.judgement,
            **self._common(pair.first, step.fingerprint, pair.pattern.comparisons[judge]),
            "item_id": pair.case.item_id,
            "step": step.name,
            "scorer": step.scorer,
            "evaluator": judge,
            "first_model": pair.first.model,
            "second_model": pair.second.model,
            "first_sample_id": pair.first.about(step),
            "second_sample_id": pair.second.about(step),
            "value": comparison_worth(self.run.plan.scorer(step.scorer), compared.value),
            "given": None if compared.value is None else dumps(compared.value),
            "status": compared.status,
            "error": compared.reason,
        }

    def _of_talk(self, unit: Unit, talk: Conversation) -> Row:
        step = talk.step
        return {
            **self._common(unit, step.fingerprint, unit.pattern.samples[step.name]),
            "step": step.name,
            "item_id": unit.case.item_id,
        }

    def _common(self, unit: Unit, fingerprint: str, binding: str) -> Row:
        """Return the columns that every result of a unit has."""
        return {
            "run_id": self.run.run_id,
            "benchmark": self.run.plan.benchmark.name,
            "scenario": unit.case.scenario.name,
            "fingerprint": fingerprint,
            "binding": binding,
            "created_at": self.run.now(),
        }


def answered_turn(answer: Answer, left_out: int) -> Row:
    """Return the columns of a turn that come from its answer."""
    columns = {"text": answer.columns["reply"], "left_out": left_out, "batch_id": answer.columns.get("batch_id")}
    return columns | {column: answer.columns[column] for column in OF_TURN}


def skipped_columns(reason: Unavailable) -> Row:
    """Return the columns of the row that says why a call was skipped."""
    return {"messages": dumps([]), **NO_REPLY, "status": reason.status, "error": f"not asked: {reason.reason}"}


def _sum(values: Sequence[float | None]) -> float | None:
    """Return the sum of the values; None if one of them is unknown."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
