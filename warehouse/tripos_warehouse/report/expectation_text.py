"""Expectations in words: on how much they stand, and why they decide nothing."""

from __future__ import annotations

from collections.abc import Sequence

from tripos_compiler.diagnostics import localized, percent
from tripos_warehouse.measures import CheckedExpectation, ExpectationOutcome

MOCKED = "mock models took part: no expectation fails this run"


def standing(gate: CheckedExpectation) -> str:
    """Return whether an expectation held, and on how many of its scores."""
    n, total = gate.scores
    if not total:
        return localized("held" if gate.held else "did not hold")
    some = f"{n:,} of {total:,} scores"
    return localized(f"held on {some}" if gate.held else f"did not hold on {some}")


def partial_lines(gates: Sequence[CheckedExpectation]) -> list[str]:
    """Return a line for each expectation that some scores are missing for, with the first figure that has too few."""
    lines = []
    for gate in gates:
        n, total = gate.scores
        if n < total:
            few = next((too_few(gate, outcome) for outcome in gate.outcomes if not outcome.covered), None)
            line = f"{standing(gate)}{localized(': ')}{gate.expectation.shown}"
            lines.append(line if few is None else f"{line} ({localized(few)})")
    return lines


def too_few(gate: CheckedExpectation, outcome: ExpectationOutcome) -> str:
    """Return that a figure stands on fewer of its scores than the expectation asks for."""
    row = outcome.counted
    return f"{row.n:,} of {row.total:,} scores, below {percent(gate.expectation.least_coverage)}"


def why_undecided(outcome: ExpectationOutcome) -> str:
    """Return why a figure has no value, or no interval of which an end is compared."""
    return f"{'no value' if outcome.row.value is None else 'no interval'}: {outcome.row.reason}"
