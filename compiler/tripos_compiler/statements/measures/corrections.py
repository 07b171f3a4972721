"""`corrected by people`: figures of judges that a sample of people's grades can correct, and those that it cannot."""

from __future__ import annotations

from collections.abc import Iterable

from tripos_compiler.language.figures import aggregates_of
from tripos_compiler.plan import Grade, Judging, Scorer
from tripos_compiler.resolve import Program
from tripos_compiler.source import Span, Syntax
from tripos_compiler.statements.measures.figure_syntax import measures_in
from tripos_compiler.statements.measures.scored_values import Operand
from tripos_compiler.statements.measures.typed_figures import FigureContext, Leaf, TypedFigure

CODE = "E0624"
OF_JUDGES = frozenset(("mean", "share"))
"""Aggregates of a judge's scores that people correct: means, of which a weighted sample has the same expectation."""
EVERYBODY = frozenset(("evaluator", "pair"))
"""Dimensions that set evaluators side by side."""


def is_corrected(reading: FigureContext, value: Syntax, figured: TypedFigure, says_so: bool) -> bool | None:
    """Return true if people correct a figure, false if nobody says so. None where it cannot be, which is reported."""
    named = dict.fromkeys(name for name in measures_in(reading, value) if name in reading.known)
    builds_on = [name for name in named if reading.known[name].measure.corrected]
    if builds_on and not says_so:
        message = f"people correct `{builds_on[0]}`, and this builds on it without them"
        reading.error(CODE, message, value.span, "write `corrected by people` behind the figure")
        return None
    if not says_so:
        return False
    return True if _can_be(reading, value.span, figured) else None


def is_expected_of_people(reading: FigureContext, value: Syntax, figured: TypedFigure) -> bool | None:
    """Return true if an expectation is of measures that people correct, false if of none. None where it mixes them with
    figures of judges alone, which is reported."""
    named = [reading.known[name] for name in measures_in(reading, value) if name in reading.known]
    corrected = [known for known in named if known.measure.corrected]
    if not corrected:
        return False
    ours = sum(_judges(leaf.scored) for known in corrected for leaf in known.figured.leaves)
    if sum(_judges(leaf.scored) for leaf in figured.leaves) > ours:
        message = f"people correct `{corrected[0].measure.name}`, and what stands beside it is of judges alone"
        help_ = "declare `measure NAME = … corrected by people`, and expect that"
        reading.error(CODE, message, value.span, help_)
        return None
    return True if _can_be(reading, value.span, figured) else None


def _can_be(reading: FigureContext, span: Span, figured: TypedFigure) -> bool:
    told = _why_not(reading, figured)
    if told is not None:
        reading.error(CODE, f"people cannot correct this: {told[0]}", span, told[1])
    return told is None


def _why_not(reading: FigureContext, figured: TypedFigure) -> tuple[str, str] | None:
    """Return why people cannot correct a figure, and how to mend it."""
    if reading.across is not None or any(leaf.judged for leaf in figured.leaves):
        return "it is an agreement of evaluators", "correct a mean of grades; agreement needs no correction"
    everybody = sorted(EVERYBODY & {*reading.by, *figured.cells, *figured.fixed, *_fixed(figured.leaves)})
    if everybody:
        told = f"it goes by `{everybody[0]}`, so it has a value for each of them already"
        return told, f"leave out `{everybody[0]}`"
    if reading.missing not in (None, "skip"):
        told = f"`missing: {reading.missing}` counts replies that nobody can grade"
        return told, "leave `missing` out: replies without a grade by the judge are in neither"
    measures = {name: known.measure for name, known in reading.known.items()}
    for aggregate in aggregates_of(figured.figure, measures):
        if aggregate.of is not None and aggregate.function != "mean":
            return f"it takes the `{aggregate.function}` of cells", "take their `mean`, or each cell with `by`"
    for leaf in figured.leaves:
        if not _judges(leaf.scored):
            told = f"no judge gives what {leaf.named} looks at, and it is the same for people"
            return told, "leave it out here, and correct what judges give in a measure of its own"
        if leaf.function not in OF_JUDGES:
            some = " or ".join(f"`{each}`" for each in sorted(OF_JUDGES))
            return f"{leaf.named} is a `{leaf.function}`", f"take a {some} of what people grade"
    return next((why for leaf in figured.leaves if (why := _not_graded(reading.program, leaf)) is not None), None)


def _not_graded(program: Program, leaf: Leaf) -> tuple[str, str] | None:
    """Return why people do not grade what an aggregate looks at, in the place of a judge."""
    joined = {role.name for role in program.roles.values() if role.with_people}
    for operand in leaf.scored:
        if any(not isinstance(step, Grade) for step in operand.steps):
            told = f"a judge is asked inside the expression of {operand.shown}, and people do not grade that"
            return told, "score what the judge gives with a name of its own, and take the mean of that"
        for scorer in _scorers(program, operand):
            if scorer.reward:
                return f"`{scorer.name}` is a reward model, in whose place nobody grades", "take the scores of a judge"
            if scorer.role in joined:
                told = f"`role {scorer.role}` counts people with its models"
                return told, "leave out `with people`: then people are apart and can correct the models"
    return None


def _scorers(program: Program, operand: Operand) -> list[Scorer]:
    names = dict.fromkeys(step.scorer for step in operand.steps if isinstance(step, Grade))
    return [program.scorers[name] for name in names if name in program.scorers]


def _judges(scored: Iterable[Operand]) -> bool:
    """Return true if a judge has a part in what is scored."""
    for each in scored:
        judges = {step.name for scenario in each.scenarios for step in scenario.steps if isinstance(step, Judging)}
        if any(isinstance(step, Judging) or judges & set(step.needs) for step in each.steps):
            return True
    return False


def _fixed(leaves: Iterable[Leaf]) -> frozenset[str]:
    return frozenset(name for leaf in leaves for name in leaf.fixed)
