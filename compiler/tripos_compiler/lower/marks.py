"""Warns of public fields that say what a secret field of the same rows says: one mark is missing, or one too many."""

from __future__ import annotations

from tripos_compiler.diagnostics import Label
from tripos_compiler.program import Program
from tripos_compiler.secrecy.contents import unmarked


def check_marks(program: Program) -> None:
    """Looks at every data set that is read from files, those of scenarios too."""
    for copy in unmarked(program.loaded, program.copies):
        spans = program.loaded[copy.field[0]].spans
        if copy.of[1] not in spans or copy.field[1] not in spans:
            continue
        help_ = f"mark it too: `{copy.field[1]} … secret`; or allow this where nothing is given away"
        label = Label(spans[copy.of[1]], "the secret field")
        program.diagnostics.warning("E0505", copy.why, spans[copy.field[1]], label, help=help_)
