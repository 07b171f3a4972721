"""The settings that kept replies were asked with: the store has the digest of a request, and none of its settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from tripos_compiler.plan import Ask, DeclaredSettings, Grade, Plan, Settings, Verdict
from tripos_compiler.source import dataclass
from tripos_runtime.asking import PreparedQuestion, Questions, settings_sent
from tripos_runtime.models import Message
from tripos_warehouse.store import REQUEST, Row


@dataclass(frozen=True)
class AskedWith:
    """The settings that requests of a step may have had, and its question."""

    settings: DeclaredSettings
    question: PreparedQuestion | None = None

    def of(self, messages: str, identity: str, number: int, request: str | None) -> Settings | None:
        """Return the settings of one request, by what was sent as JSON, who answered, which sample it is and its
        digest; None where it was sent otherwise at first, with more turns of a dialogue, or nobody was asked."""
        if not self.settings.cases or self.question is None:
            return self.settings.otherwise
        try:
            sent = [Message(each["role"], each["content"]) for each in orjson.loads(messages)]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return None
        return settings_sent(self.settings, self.question, identity, sent, number, request or "")

    def any_of(self, messages: str, identity: str, number: int, request: str | None) -> Iterable[Settings]:
        """Return the same; where the store does not tell which, all that there may be."""
        found = self.of(messages, identity, number, request)
        return self.settings.possible if found is None else (found,)


def settings_asked(
    plan: Plan | None, row: Row, step: Ask | Grade | Verdict | None, declared: DeclaredSettings | None, number: int
) -> Mapping[str, Any] | None:
    """Return the settings that the reply of a row was asked with, as JSON values; all lines of the spec where the store
    does not tell which, and None where nobody knows what the spec had."""
    if declared is None:
        return None
    found: Settings | None = None
    if declared.cases and plan is not None and step is not None:
        question = Questions(plan, plan.axes).at_most(step, plan.benchmark.languages[0])
        by = row["identity"] or row["model" if isinstance(step, Ask) else "evaluator"]
        found = AskedWith(declared, question).of(row["messages"], by, number, row[REQUEST])
    return declared.given if found is None else found.given
