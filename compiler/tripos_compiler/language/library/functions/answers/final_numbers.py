"""The number at which a worked answer arrives."""

from __future__ import annotations

from tripos_compiler.language.library.functions.numerals import Locale, read_as
from tripos_compiler.language.replies.locales import DEFAULT


def final_number(text: str, numbers: Locale = DEFAULT) -> float | None:
    """Return the number at which a worked answer arrives; missing where there is none.

    Looked for is, in this order: the last explicit final form (`\\boxed{…}`, `####` before a number, `Final answer:`,
    `<answer>…</answer>`); what the last label says (`Answer: …`, `the answer is …`, `答案是…`, `Antwort: …`) with a
    number in its sentence, after the last `=` there; the last number of all. Where a final form or a label says several
    numbers (`3, 4`, `5 or 6`) or one without a value that is written out (`2π`), there is none. A result that is said
    on the way (`as a result`, `the result of step 1 is …`) is no label, nor is one in an explanation behind an answer.
    Every notation of [numbers](numbers.md) is read. A per cent sign changes nothing. The language of the item
    determines the separators, as in `last_number`.

    >>> final_number("18 - 6 = 12, so $1,234.50."), final_number("Answer: -3 degrees, not 5"), final_number("none")
    (1234.5, -3.0, None)
    >>> final_number("Antwort: 2.000 Euro (5 % weniger)", "de"), final_number("As a result, 3 are left: 5 in all.")
    (2000.0, 5.0)
    """
    return read_as("final", text, numbers)
