"""Replies that follow one conversation or another: which of them are tries at the same thing.

What is asked after `repeat 3` is asked after three different conversations. A reply after one of them is no try at what
is asked after another, so a chance of `k` tries is worked out for each conversation, and an item's own is their mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tripos_compiler.lower.scored import Scored
from tripos_compiler.lower.sql_parts import Parts, named, quoted
from tripos_compiler.plan import Ask, Converse, Treatment
from tripos_compiler.program import Program

OF_TALK = '"of talk"'
"""The column that says which of its conversations a reply follows. A name with a space is no axis's."""


def talks_before(scored: Scored) -> dict[str, int]:
    """How many conversations share out the replies of every step that is scored, by its fingerprint; only of those that
    follow several."""
    found: dict[str, int] = {}
    for scenario in scored.scenarios:
        for treatment in scenario.treatments:
            for ask, talks in _followed(treatment, scored.of):
                if talks > 1:
                    found[ask.fingerprint] = talks
    return found


def most_tries(scored: Scored) -> int:
    """How many replies to one and the same question an item has at most."""
    most = [1]
    for scenario in scored.scenarios:
        for treatment in scenario.treatments:
            most += [-(-ask.samples // talks) for ask, talks in _followed(treatment, scored.of)]
            most += [step.repeat for step in treatment.steps if isinstance(step, Converse) and step.name in scored.of]
    return max(most)


def with_talks(program: Program, parts: Parts, rows: str, scored: Scored) -> str:
    """The table of rows, each with the conversation that its reply follows; the table itself where none follows
    several."""
    talks = talks_before(scored)
    if not talks:
        return rows
    assert program.benchmark is not None
    numbers = " ".join(f"when {quoted(each)} then sample_number % {count}" for each, count in talks.items())
    of_talk = parts.add(
        "talks",
        f"""select distinct sample_id, case fingerprint {numbers} end as {OF_TALK}
from {named(program.benchmark.name)}.samples
where fingerprint in ({", ".join(map(quoted, talks))})""",
    )
    return parts.add("rows", f"select * from {rows} left join {of_talk} using (sample_id)")


def _followed(treatment: Treatment, names: frozenset[str]) -> Iterator[tuple[Ask, int]]:
    """Every ask of these names, and how many conversations its replies are shared out among."""
    steps = {step.name: step for step in treatment.steps}
    for name in names:
        ask = steps.get(name)
        if isinstance(ask, Ask):
            before = [steps[need] for need in ask.needs if need in steps]
            counts = [each.repeat for each in before if isinstance(each, Converse) and each.repeat < ask.samples]
            yield ask, math.lcm(*counts)
