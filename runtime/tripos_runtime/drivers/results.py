"""The common part of drivers that keep results: rows into the ledger, and counts of what was done and what was not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from tripos_compiler.plan import Ask, Converse, Judging, Plan
from tripos_compiler.source import dataclass
from tripos_runtime.asking import (
    AGAIN,
    NOT_APPLICABLE,
    NOT_ASKED,
    Adopted,
    Answer,
    CallCounters,
    Draft,
    Keeper,
    Listing,
    draft_of,
)
from tripos_runtime.datasets import Sources
from tripos_runtime.drivers.rows import ResultRows, Row, unasked
from tripos_runtime.program import (
    Compared,
    Conversation,
    Pair,
    Result,
    Scored,
    Shared,
    StepCall,
    Talked,
    Unasked,
    Unfound,
    Unheld,
    Unit,
    is_told,
    most_turns,
)

CONDITIONS = "conditions"
"""The table which says under which conditions results were asked for."""


@dataclass
class Keeping:
    """Keeps the results of one run. What is asked for is in the ledger before a program goes on."""

    plan: Plan
    sources: Sources
    ledger: Keeper
    tally: CallCounters
    work: Listing
    run_id: str
    now: Callable[[], datetime]
    whole: bool = True
    """True if nothing failed so far that a later run would try again."""
    scored: dict[str, float | None] | None = None
    """Where values of scores that count are noted by name, for whoever looks at them during the run."""

    @cached_property
    def row(self) -> ResultRows:
        """Make the rows."""
        return ResultRows(self.plan, self.run_id, self.now)

    def take(self, result: Result, part: Unit | Pair, shared: Shared) -> None:
        """Keep and count what a program came to."""
        match result:
            case Scored():
                self._keep_scores(result, part, shared)
            case Unasked():
                self._skip(result, part, shared)
            case Talked():
                self._keep_talk(result, part, shared)
            case Unheld():
                self._skip_talk(result, part, shared)
            case Compared():
                self._keep_comparison(result, part, shared)
            case Unfound(status=status) if status in AGAIN:
                self.whole = False

    def reuse(self, unit: Unit, shared: Shared) -> None:
        """Count a unit of which the ledger has everything."""
        for call in unit.calls:
            self._reuse_call(call, unit.case.scenario.name, shared)
        for talk in unit.talks.values():
            self.count_kept(unit, talk, shared)
        names = [call.name for call in unit.calls]
        for (fingerprint, _), scores in unit.scores.items():
            names += scores.values()
            if fingerprint in unit.bound.columns:
                continue
            self.tally.scores.update(shared.kept[name] for name in scores.values() if shared.first(name))
        self.work.add(names)

    def reuse_pair(self, pair: Pair, shared: Shared) -> None:
        """Count a pair of which the ledger has everything."""
        for call in pair.calls:
            self._reuse_call(call, pair.case.scenario.name, shared)
        outcomes = [name for name in pair.comparisons.values() if shared.first(name)]
        self.tally.comparisons.update(shared.kept[name] for name in outcomes)
        self.work.add([name for table, name in pair.results if table != CONDITIONS])

    def _reuse_call(self, call: StepCall, scenario: str, shared: Shared) -> None:
        """Count a call of which the ledger has the result; one that was not made then is not made now."""
        if not shared.reuses(call.name):
            return
        status = shared.kept[call.name]
        counter = self.tally.skipped if status in NOT_ASKED else self.tally.reused
        counter[call.role, scenario] += 1
        if status in NOT_ASKED:
            self.tally.unasked[call.role, "what was to be asked has no value"] += 1
        else:
            self.count_status(call.table, status)

    def count_kept(self, unit: Unit, talk: Conversation, shared: Shared) -> None:
        """Count a conversation of which the ledger has everything."""
        if not shared.reuses(talk.name):
            return
        said = sum(name in shared.kept for name in talk.turns)
        scenario = unit.case.scenario.name
        for number in range(1, len(talk.turns) + 1):
            counter = self.tally.reused if number <= said else self.tally.skipped
            counter[talk.speaker(number), scenario] += 1
        self.tally.samples[shared.kept[talk.name]] += 1
        self.work.add([talk.name])

    def keep_answer(
        self, call: StepCall, name: str, answer: Answer, row: Row, lane: tuple[str, str], shared: Shared
    ) -> None:
        """Keep the answer to a call that was made, or to a sample that was asked for with it."""
        self.ledger.keep({call.table: [row], **self._beside(call, name, row, shared)})
        self.tally.count(lane, call.model, answer)
        self._settle_call(call, name, answer)

    def adopt(
        self, call: StepCall, name: str, answer: Answer, row: Row, found: Adopted, lane: tuple[str, str], shared: Shared
    ) -> None:
        """Keep a reply that was asked for under another name, which costs nothing but what it is asked once more."""
        rows = {call.table: [{**row, **found.columns}], **self._beside(call, name, row, shared)}
        if (
            found.draft is not None and found.columns["reused_from"] is not None
        ):  # the store may lack that of the origin
            rows["drafts"] = [self.row.draft(row, name, draft_of(found.draft))]
        self.ledger.keep(rows)
        self.tally.adopt(lane, call.model, answer, found)
        self._settle_call(call, name, answer)

    def under_condition(
        self, step: Ask | Converse | Judging, name: str, item_id: str | None, shared: Shared
    ) -> dict[str, list[Row]]:
        """Return what is kept beside a result: that the condition of its step held, where it has one of which that was
        not kept yet."""
        if shared.is_sure(name, step):
            return {}
        row = self.row.condition(step, name, item_id)
        shared.conditions.add(row["condition_id"])
        return {CONDITIONS: [row]}

    def keep_condition(self, step: Ask | Converse | Judging, name: str, part: Unit | Pair, shared: Shared) -> None:
        """Keep that the condition of a step held for a result, where it was kept under other conditions only."""
        if rows := self.under_condition(step, name, part.case.item_id, shared):
            self.ledger.keep(rows)

    def _beside(self, call: StepCall, name: str, row: Row, shared: Shared) -> dict[str, list[Row]]:
        """Return what is kept beside a reply; a turn stands under the condition of its conversation."""
        return self.under_condition(call.step, call.part_of or name, row["item_id"], shared)

    def keep_draft(self, row: Mapping[str, Any], name: str, draft: Draft) -> None:
        """Keep a reply that is going to be asked for once more."""
        self.ledger.keep({"drafts": [self.row.draft(row, name, draft)]})
        self.tally.repaired += 1

    def count_status(self, table: str, status: str) -> None:
        """Count a reply by its status."""
        (self.tally.samples if table == "samples" else self.tally.judgements)[status] += 1

    def settled(self, names: Sequence[str], status: str) -> None:
        """Say that these results are kept with this status."""
        if status in AGAIN:
            self.whole = False
        else:
            self.work.add(names)

    def _settle_call(self, call: StepCall, name: str, answer: Answer) -> None:
        if call.table != "turns":  # what its turns come to is counted with the conversation
            self.count_status(call.table, answer.status)
            self.settled([name], answer.status)

    def _skip(self, result: Unasked, part: Unit | Pair, shared: Shared) -> None:
        """Count a call that is not made, once for all units. Where what it asks has no value, that is kept as a result
        of its own."""
        call, against = result
        if against.status in AGAIN:  # no row may say so
            self.whole = False
        if not shared.first(call.name):
            return
        shared.skipped.add(call.name)
        self.tally.skipped[call.role, part.case.scenario.name] += 1
        if not is_told(against):
            return
        self.tally.unasked[call.role, against.reason] += 1
        if call.name not in shared.kept:
            own = (
                self.row.sample(part, call, call.name, part.number % call.step.samples)  # type: ignore[arg-type,union-attr]
                if call.table == "samples"
                else self.row.judgement(part, call)
            )
            beside = self.under_condition(call.step, call.name, part.case.item_id, shared)
            self.ledger.keep({call.table: [{**own, **unasked(against)}], **beside})
        else:
            self.keep_condition(call.step, call.name, part, shared)
        self.settled([call.name], against.status)

    def _skip_talk(self, result: Unheld, part: Unit | Pair, shared: Shared) -> None:
        """Count the turns of a conversation that is not held, once for all units; one in which a speaker cannot be told
        what it is to be told is kept as a result."""
        talk, against = result
        if against.status in AGAIN:  # no row may say so
            self.whole = False
        if not shared.first(talk.name):
            return
        shared.skipped.add(talk.name)
        for role, most in most_turns(talk.step):
            self.tally.skipped[role, part.case.scenario.name] += most
        if is_told(against):
            self.tally.unasked[talk.step.opens, against.reason] += 1
            if talk.name not in shared.kept:
                error = f"not held: {against.reason}"
                self._keep_held(Talked(talk, dict, [], (), against.status, against.status, error), part, shared)
            else:
                self.keep_condition(talk.step, talk.name, part, shared)

    def _keep_talk(self, talked: Talked, part: Unit | Pair, shared: Shared) -> None:
        """Keep a conversation that was held, and count the turns that nobody had to say."""
        talk = talked.talk
        for number in range(len(talked.taken) + 1, len(talk.turns) + 1):
            self.tally.skipped[talk.speaker(number), part.case.scenario.name] += 1
        self._keep_held(talked, part, shared)

    def _keep_held(self, talked: Talked, part: Unit | Pair, shared: Shared) -> None:
        assert isinstance(part, Unit)
        talk = talked.talk
        beside = self.under_condition(talk.step, talk.name, part.case.item_id, shared)
        self.ledger.keep({"samples": [self.row.talk(part, talked)], **beside})
        self.tally.samples[talked.status] += 1
        self.settled([talk.name], talked.status)

    def _keep_scores(self, scored: Scored, part: Unit | Pair, shared: Shared) -> None:
        """Keep the scores that the ledger has not yet."""
        assert isinstance(part, Unit)
        step = scored.step
        names = part.scores[step.fingerprint, scored.evaluator]
        rows: list[dict[str, Any]] = []
        for title, (_, status) in scored.values.items():
            name = names[title]
            if self.scored is not None and status != NOT_APPLICABLE:
                self.scored[name] = self.row.score(part, scored, title)["value"]
            if not shared.first(name):
                continue
            if step.fingerprint not in part.bound.columns:
                self.tally.scores[status] += 1
            self.settled([name], status)
            if name not in shared.kept:
                rows.append(self.row.score(part, scored, title))
        if rows:
            self.ledger.keep({"scores": rows})

    def _keep_comparison(self, compared: Compared, part: Unit | Pair, shared: Shared) -> None:
        """Keep an outcome that the ledger has not yet."""
        assert isinstance(part, Pair)
        name = part.comparisons[compared.call.model]
        if not shared.first(name):
            return
        self.tally.comparisons[compared.status] += 1
        self.settled([name], compared.status)
        if name not in shared.kept:
            self.ledger.keep({"comparisons": [self.row.comparison(part, compared)]})
