"""Which scores of a run are its own where judges take part inside expressions: those that its judges gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tripos_compiler.plan import Plan, Verdict
from tripos_warehouse import sql


def judged_inside(plan: Plan, roles: Mapping[str, Sequence[str]], compared: str) -> str:
    """A further condition on rows of `scores`, with `and` before it: what judges inside an expression were asked for is
    judged by those who fill their roles in `roles`. Where the `compared` role judges, each of its models does so for
    itself. Rows that do not say who judged are kept; empty where a plan has no such judge."""
    found: dict[str, frozenset[str]] = {}
    for scenario in plan.scenarios:
        for treatment in scenario.treatments:
            verdicts = [step for step in treatment.steps if isinstance(step, Verdict)]
            judging = {step.name: plan.scorer(step.scorer).role for step in verdicts}
            for step in treatment.steps:
                asked = frozenset(role for name in step.needs if (role := judging.get(name)) is not None)
                if asked:
                    found[step.fingerprint] = asked
    conditions = []
    for asked in sorted({*found.values()}, key=sorted):
        prints = sorted(each for each, roles_of in found.items() if roles_of == asked)
        names = sorted({sql.text(model) for role in asked if role != compared for model in roles.get(role, ())})
        given = f"list_sort(list_distinct([{', '.join([*names, *(['scores.model'] if compared in asked else [])])}]))"
        of_it = f"scores.fingerprint in ({', '.join(map(sql.text, prints))})"
        conditions.append(f" and (not {of_it} or scores.judged_by is null or scores.judged_by = {given})")
    return "".join(conditions)
