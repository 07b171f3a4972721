"""The results that a forecast goes by: those of a ledger, or none; and the replies that a run would adopt."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tripos_compiler.plan import Grade, Plan, Verdict
from tripos_runtime.asking import Adopted, EmptyLedger, PreparedQuestion, Row, reread
from tripos_runtime.models import Message
from tripos_runtime.program import Adoption, Here, ReplyNeed, Unit, Wanted, about


class Kept(Protocol):
    """A reader of kept results: a `Ledger`, of which nothing else is needed."""

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        """Return the status of each of these rows; `None` for those that are not kept."""
        ...

    def rows(self, table: str, ids: Collection[str]) -> Mapping[str, Row]:
        """Return whole rows, by id."""
        ...

    def held(self) -> Collection[str]:
        """Return the fingerprints of the plan of which anything is kept."""
        ...

    def repliers(self, table: str) -> Collection[str]:
        """As `Ledger.repliers`."""
        ...

    def replies(self, table: str, request: str) -> Sequence[tuple[Row, Row | None]]:
        """As `Ledger.replies`."""
        ...


class NothingKept(EmptyLedger):
    """The kept results of an empty store."""

    def held(self) -> Collection[str]:
        """Of none."""
        return ()


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

    def find(self, need: ReplyNeed, sent: tuple[Message, ...], unit: Unit) -> Row | None:
        """Return a row to be that of a reply for which just that would be sent."""
        call = need.call
        if self.adoption is None or not self.may(call.table, call.model):
            return None
        request = need.question.digest(unit.bound.binding.identity_of(call.model), sent, need.number)
        wanted = Wanted(call.table, call.name, call.model, request, need.number, about(call, unit))
        found = self.adoption.find(wanted, self.here)
        return None if found is None else foreseen_row(found, need.question)


def foreseen_row(found: Adopted, question: PreparedQuestion) -> Row:
    """Return the row that an adopted reply will be, as far as others build on it."""
    row, key = found.row, "reply" if "reply" in found.row else "text"
    if row[key] is None:
        return row
    kept = {
        "reply": row[key],
        "finish_reason": row["finish_reason"],
        "logprobs": row.get("logprobs"),
        "thinking": row.get("thinking"),
    }
    replied, outcome = reread(question, kept, found.draft)
    status = row["status"] if outcome is None else outcome.status
    return {**row, **replied, key: replied.get("reply", row[key]), "status": status}


def is_read(plan: Plan, step: object) -> bool:
    """Return true if it matters what a judge said: to an expression, or to who is asked after it."""
    return isinstance(step, Verdict) or (isinstance(step, Grade) and plan.scorer(step.scorer).then is not None)
