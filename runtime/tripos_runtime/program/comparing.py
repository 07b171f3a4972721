"""Takes pairs of replies to their judges, and keeps which of the two was better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tripos_compiler.language.evaluation import Unavailable
from tripos_runtime.asking.asking import Answer, Asking
from tripos_runtime.asking.prompting import grade_messages
from tripos_runtime.models.base import Message
from tripos_runtime.program.case_cache import Shared, together
from tripos_runtime.program.pairs import Pair
from tripos_runtime.program.stepping import Stepper
from tripos_runtime.program.units import Call


class PairStepper(Stepper):
    """Works on units, and then on the pairs that they make."""

    async def compare(self, pairs: Sequence[Pair], kept: Sequence[Pair], shared: Shared) -> None:
        """Judges pairs whose units were gone through, and counts those of which the ledger has everything."""
        for pair in kept:
            self._reuse_pair(pair, shared)
        await together([self._compare(pair, shared) for pair in pairs])

    def _reuse_pair(self, pair: Pair, shared: Shared) -> None:
        for call in pair.calls:
            self.reuse_call(call, pair.case.scenario.name, shared)
        outcomes = [name for name in pair.comparisons.values() if shared.first(name)]
        self.tally.comparisons.update(shared.kept[name] for name in outcomes)
        self.work.add([name for _, name in pair.results])

    async def _compare(self, pair: Pair, shared: Shared) -> None:
        step, unit = pair.step, pair.first
        names = pair.names(shared.names[pair.first], shared.names[pair.second])
        question = self.questions.of(step, unit.case.language)
        against = names.against(step)
        sent: tuple[Message, ...] = ()
        if against is None:
            try:
                sent = grade_messages(step, question, pair.case, names.values, self.sources, ())
            except Unavailable as reason:
                against = reason

        async def judge(call: Call) -> None:
            if against is not None:
                self.skip(
                    call,
                    against,
                    unit,
                    shared,
                    lambda call: self.judgement_row(
                        unit, step, call.model, call.name, pair.pattern.judgement(call.model)
                    ),
                )
                self._keep_comparison(pair, call, None, (None, against.status), shared, against.reason)
                return

            async def make(wanted: Sequence[str]) -> Mapping[str, Answer]:
                lane = (call.role, pair.case.scenario.name)
                asking = Asking(self.callers[call.model], question, sent, pair.case.language, lane)
                calls, numbers = {call.name: call}, {call.name: 0}
                return await self.answers(
                    unit,
                    asking,
                    calls,
                    shared,
                    numbers,
                    lambda name: self.judgement_row(unit, step, call.model, name, pair.pattern.judgement(call.model)),
                )

            answer = await shared.once(call.name, [call.name], make)
            self._keep_comparison(pair, call, call.name, answer.value or (None, answer.status), shared)

        await together([judge(call) for call in pair.calls])

    def _keep_comparison(
        self,
        pair: Pair,
        call: Call,
        judgement: str | None,
        found: tuple[float | None, str],
        shared: Shared,
        reason: str | None = None,
    ) -> None:
        """Keeps an outcome that the ledger has not yet."""
        step, name = pair.step, pair.comparisons[call.model]
        value, status = found
        if not shared.first(name):
            return
        self.tally.comparisons[status] += 1
        self.settled([name], status)
        if name in shared.kept:
            return
        row: dict[str, Any] = {
            "comparison_id": name,
            "judgement_id": judgement,
            **self.common(pair.first, step.fingerprint, pair.pattern.comparisons[call.model]),
            "item_id": pair.case.item_id,
            "step": step.name,
            "scorer": step.scorer,
            "evaluator": call.model,
            "first_model": pair.first.model,
            "second_model": pair.second.model,
            "first_sample_id": pair.first.samples[step.of],
            "second_sample_id": pair.second.samples[step.of],
            "value": value,
            "status": status,
            "error": reason,
        }
        self.ledger.keep({"comparisons": [row]})
