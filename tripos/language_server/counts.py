"""How much a scenario asks, in a few words, and the lenses that show it above each."""

from __future__ import annotations

from lsprotocol.types import CodeLens, Command

from tripos.language_server.outline import name_of
from tripos.language_server.session import View
from tripos_compiler.plan import CallCount, Plan


def counted(plan: Plan, scenario: str) -> str:
    """The contexts and items of a scenario, and its calls for one model in every role."""
    found = next((each for each in plan.scenarios if each.name == scenario), None)
    if found is None:
        return ""
    parts = [_number(found.cells, "context"), _number(found.row_count, "item")]
    calls = [each for each in plan.calls if each.scenario == scenario]
    for role in dict.fromkeys(each.role for each in calls):
        parts.append(f"{role}: {_span([each for each in calls if each.role == role])}")
    return " · ".join(parts)


def _span(calls: list[CallCount]) -> str:
    least, most = sum(each.least for each in calls), sum(each.most for each in calls)
    return _number(most, "call") if least == most else f"{least:,} to {_number(most, 'call')}"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else noun + 's'}"


def lenses(view: View) -> list[CodeLens]:
    """What every scenario of a document asks, where a benchmark that it is part of compiles."""
    plan = next((each.plan for each in view.compilations if each.plan is not None), None)
    if plan is None:
        return []
    found: list[CodeLens] = []
    for statement in view.outline.statements:
        name = name_of(statement)
        text = counted(plan, name.text) if statement.construct == "scenario" and name is not None else ""
        if text:
            place = view.range(statement.head.start, statement.head.end)
            found.append(CodeLens(place, command=Command(text, "")))
    return found
