"""What stands between two tokens of one line: a space or nothing."""

from __future__ import annotations

from tripos_compiler.formatting.scan import Scan, Token

NO_SPACE_AFTER = frozenset("([") | {".", ".."}
NO_SPACE_BEFORE = frozenset(")],:?") | {".", ".."}


def space(scan: Scan, before: Token, after: Token) -> str:
    """The space between two tokens: one, but for brackets, `.`, `..`, the signs of one operand and type arguments.

    A minus before a number keeps its space, since `-1` is one number and `- 1` an operation.
    """
    if before.kind == "sign" and before.text in NO_SPACE_AFTER:
        return ""
    if after.kind == "sign" and after.text in NO_SPACE_BEFORE:
        return ""
    if after.start in scan.tight or after.start in scan.closing:
        return ""
    if before.start in scan.hugging:
        return " " if after.kind == "number" and before.text == "-" else ""
    return " "
