"""Equality of answers by math-verify, which reads LaTeX and asks sympy."""

from math_verify import parse, verify


def same_value(solution: str, reply: str) -> bool:
    """True if the answer that a reply ends with has the value of that of the solution."""
    return bool(verify(gold=parse(solution), target=parse(reply)))
