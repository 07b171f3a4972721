"""Lowers `distinct VALUE from OTHERS`: what the texts of made rows must not be nearly the same as."""

from __future__ import annotations

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.lower.lookups import looked_up
from tripos_compiler.lower.making import Making
from tripos_compiler.plan import Distinct, TextType
from tripos_compiler.semantics.library.fitting import bare, element
from tripos_compiler.syntax.tree import Number
from tripos_compiler.types import shown

ABOVE = 0.8
"""The overlap from which on two texts are nearly the same, where nothing is said."""


def lower_distinct(making: Making) -> tuple[Distinct, ...]:
    """Every `distinct VALUE from OTHERS [above NUMBER]` of a data set; what is wrong is reported.

    The texts are compared by the run and shown to nobody, so those of others may be secret whoever writes the rows.
    """
    written = making.statement.of("distinct")
    found = [each for each in (_lowered(making, statement) for statement in written) if each is not None]
    making.sound = making.sound and len(found) == len(written)
    return tuple(found)


def _lowered(making: Making, statement: Statement) -> Distinct | None:
    value, others = statement.syntax("value"), statement.syntax("others")
    typed = making.elaborator(making.row(), value.span).expression(value, TextType(), "what is compared")
    above = _above(making, statement)
    if making.too_early(looked_up(others)):
        return None
    # The same for every row, so no row and no axis can be named: `raw.stem` is a column, also of the source.
    among = making.elaborator({}, others.span).any(others)
    if typed is None or among is None or above is None:
        return None
    of = element(among.type)
    if of is None or bare(of).kind != "text":
        help_ = "take a column of a data set: `from raw.stem`"
        making.error("E0301", f"`{shown(among.type)}` holds no texts to compare with", others.span, help=help_)
        return None
    return Distinct(value=typed.expr, others=among.expr, above=above)


def _above(making: Making, statement: Statement) -> float | None:
    written = statement.find("number")
    if not isinstance(written, Number):
        return ABOVE
    if not 0 < written.value <= 1:
        help_ = "write a share of what two texts have in common, such as `above 0.8`"
        making.error("E0301", f"{written.value} is not above 0 and at most 1", written.span, help=help_)
        return None
    return float(written.value)
