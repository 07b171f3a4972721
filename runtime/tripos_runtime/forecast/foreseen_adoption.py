"""What a forecast finds of replies that are kept under other names: as a run adopts them, but nothing is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tripos_compiler.language.conversations import opening
from tripos_compiler.language.library.types import Dialogue
from tripos_compiler.plan import Ask, Converse
from tripos_runtime.asking.asking import Adopted, Question, reread, text_reader
from tripos_runtime.asking.ledger import Row
from tripos_runtime.asking.questions import Questions
from tripos_runtime.models.base import Message
from tripos_runtime.program.adopting import Adoption, Here, Wanted
from tripos_runtime.program.calls import Call
from tripos_runtime.program.conversing import said_to
from tripos_runtime.program.talks import Talk
from tripos_runtime.program.units import Unit


@dataclass
class Adopting:
    """Adopts for one case. `kept` and `rows` have what was."""

    adoption: Adoption | None
    questions: Questions
    here: Here
    kept: dict[str, str] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)

    def may(self, table: str, model: str) -> bool:
        """Whether there may be a reply of a model."""
        return self.adoption is not None and self.adoption.could(table, model)

    def could(self, talk: Talk) -> bool:
        """Whether there may be turns of those who talk."""
        return any(self.may("turns", model) for model in talk.models.values())

    def reply(self, call: Call, sent: tuple[Message, ...], unit: Unit) -> Row | None:
        """A row to be that of a call which would be sent just that."""
        step = call.step
        if isinstance(step, Converse) or not self.may(call.table, call.model):
            return None
        question = self.questions.of(step, unit.case.language)
        number = unit.number % step.samples if isinstance(step, Ask) else 0
        about = (unit.case.item_id, *unit.samples.values())
        request = question.digest(unit.wiring.binding.identity_of(call.model), sent, number)
        return self._row(Wanted(call.table, call.name, call.model, request, number, about), question)

    def turn(
        self, talk: Talk, turns: Dialogue, before: Sequence[Row], told: Mapping[str, str], unit: Unit
    ) -> Row | None:
        """A row to be that of the next turn of a conversation, after those `before`."""
        number = len(turns) + 1
        role, step = talk.speaker(number), talk.step
        own = [row["left_out"] for place, row in enumerate(before, 1) if talk.speaker(place) == role]
        begun = opening(unit.case.language) if role == step.opens else None
        sent = said_to(role, told, turns, begun, own[-1] if own else 0)
        settings = next(speaker.settings for speaker in step.speakers if speaker.role == role)
        question, model = Question(None, None, settings, None, text_reader), talk.models[role]
        request = question.digest(unit.wiring.binding.identity_of(model), sent, talk.number)
        wanted = Wanted("turns", talk.turns[number - 1], model, request, talk.number, (unit.case.item_id,))
        return self._row(wanted, question)

    def _row(self, wanted: Wanted, question: Question) -> Row | None:
        found = None if self.adoption is None else self.adoption.find(wanted, self.here)
        return None if found is None else foreseen_row(found, question)


def foreseen_row(found: Adopted, question: Question) -> Row:
    """The row that an adopted reply will be, as far as others build on it."""
    row, key = found.row, "reply" if "reply" in found.row else "text"
    if row[key] is None:
        return row
    kept = {"reply": row[key], "finish_reason": row["finish_reason"]}
    replied, outcome = reread(question, kept, found.draft)
    status = row["status"] if outcome is None else outcome.status
    return {**row, **replied, key: replied.get("reply", row[key]), "status": status}
