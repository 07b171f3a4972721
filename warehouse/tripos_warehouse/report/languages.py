"""The language that a reader may choose for titles: one of a benchmark, or one that Tripos has words in."""

from __future__ import annotations

from collections.abc import Iterable

from tripos_compiler.diagnostics.diagnostic import nearest
from tripos_compiler.diagnostics.i18n import LANGUAGES, matching_language
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Plan


def reader_language_in(wanted: str, plans: Iterable[Plan]) -> str:
    """Return the language of the plans, or of Tripos, that a reader names. Raises `TriposError` R0202 if none has
    it."""
    of_titles = list(dict.fromkeys(language for plan in plans for language in plan.title_languages))
    known = [*of_titles, *(language for language in LANGUAGES if language not in of_titles)]
    if (found := matching_language(wanted, known)) is not None:
        return found
    titles = ", ".join(f"`{language}`" for language in of_titles) or "none"
    hint = f"titles are in {titles}; Tripos has words in {', '.join(f'`{language}`' for language in LANGUAGES)}"
    if (close := nearest(wanted, known)) is not None:
        hint = f"did you mean `{close}`? {hint}"
    raise TriposError("R0202", f"nothing here is in the language `{wanted}`", hint)
