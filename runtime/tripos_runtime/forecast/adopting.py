"""The forecast of adopted replies: as a run adopts them, but nothing is kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from tripos_runtime.asking import Adopted, PreparedQuestion, Row, reread
from tripos_runtime.models import Message
from tripos_runtime.program import Adoption, Here, Reply, Unit, Wanted, about


@dataclass
class Adopting:
    """Adopts for one case. `kept` and `rows` have what was."""

    adoption: Adoption | None
    here: Here
    kept: dict[str, str] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)

    def may(self, table: str, model: str) -> bool:
        """Return true if there may be a reply of a model."""
        return self.adoption is not None and self.adoption.could(table, model)

    def find(self, need: Reply, sent: tuple[Message, ...], unit: Unit) -> Row | None:
        """Return a row to be that of a reply for which just that would be sent."""
        call = need.call
        if self.adoption is None or not self.may(call.table, call.model):
            return None
        request = need.question.digest(unit.wiring.binding.identity_of(call.model), sent, need.number)
        wanted = Wanted(call.table, call.name, call.model, request, need.number, about(call, unit))
        found = self.adoption.find(wanted, self.here)
        return None if found is None else foreseen_row(found, need.question)


def foreseen_row(found: Adopted, question: PreparedQuestion) -> Row:
    """Return the row that an adopted reply will be, as far as others build on it."""
    row, key = found.row, "reply" if "reply" in found.row else "text"
    if row[key] is None:
        return row
    kept = {"reply": row[key], "finish_reason": row["finish_reason"]}
    replied, outcome = reread(question, kept, found.draft)
    status = row["status"] if outcome is None else outcome.status
    return {**row, **replied, key: replied.get("reply", row[key]), "status": status}
