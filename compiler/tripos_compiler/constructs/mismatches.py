"""Heads that do not fit their statement: what is wrong in them, and how they are written."""

from __future__ import annotations

from tripos_compiler.constructs.construct import Construct
from tripos_compiler.constructs.signature import Mismatch
from tripos_compiler.constructs.table import constructs_in
from tripos_compiler.diagnostics import Diagnostics, nearest
from tripos_compiler.source import BinaryExpr, Entry, Name, Syntax, describe_syntax


def report_mismatch(entry: Entry, miss: Mismatch, construct: Construct, diagnostics: Diagnostics) -> None:
    """Report what is wrong in the head of a statement, and how it is written."""
    expected = [one for some in miss.expected[:3] for one in some.split(" or ")]
    wanted = " or ".join([", ".join(expected[:-1]), expected[-1]] if len(expected) > 1 else expected)
    help_ = f"it is written `{construct.shape.shown}`"
    if construct.name == "speaker":
        others = [f"`{other[0].shape.shown}`" for word, other in constructs_in("converse").items() if word]
        help_ += f"; beside roles there can be {', '.join(others)}"
    moved = _moved_word(entry, construct)
    if moved is not None:
        word, line = moved
        message = f"`{word.text}` stands in the wrong place"
        diagnostics.error("E0106", message, word.span, help=f"write `{line}`; {help_}")
        return
    if miss.index < len(entry.elements):
        element = entry.elements[miss.index]
        words = [one.strip("`") for some in miss.expected for one in some.split(" or ") if one[0] == "`"]
        close = nearest(element.text, words) if isinstance(element, Name) else None
        if close is not None:
            help_ = f"did you mean `{close}`? {help_}"
        if isinstance(element, BinaryExpr) and element.operator == "==":
            help_ = f"a name is given a value by one `=`; {help_}"
        if wanted == "a name" and (joined := joined_names(element, "-")):
            help_ = f"a name has no hyphens: write `{'_'.join(joined)}`; {help_}"
        if "DIMS" in construct.shape.text:
            help_ = with_stars(element, entry.elements[miss.index - 1] if miss.index else None) or help_
        diagnostics.error("E0106", f"expected {wanted}, found {describe_syntax(element)}", element.span, help=help_)
    else:
        last = entry.elements[-1]
        diagnostics.error("E0106", f"expected {wanted} after {describe_syntax(last)}", last.span, help=help_)


def _moved_word(entry: Entry, construct: Construct) -> tuple[Name, str] | None:
    """Return an optional word of a statement that only stands in the wrong place, and the head with it in its own; None
    where that is not what is wrong."""
    for place, word in enumerate(entry.elements):
        if not isinstance(word, Name) or word.text not in construct.shape.flags:
            continue
        others = [*entry.elements[:place], *entry.elements[place + 1 :]]
        for end in range(len(others), 0, -1):
            matched = construct.shape.match([*others[:end], word, *others[end:]])
            fits = not isinstance(matched, Mismatch) and (matched.get(word.text) is True or matched.get("type") is word)
            if fits:  # without a type the word stands where the type would
                written = [_as_written(each) for each in (*others[:end], word, *others[end:])]
                return word, " ".join(written) + (" { … }" if entry.block is not None else "")
    return None


def _as_written(element: Syntax) -> str:
    """Return the text of an element, on one line."""
    span = element.span
    return " ".join(span.source.text[span.start : span.end].split())


def with_stars(element: Syntax, before: Syntax | None) -> str | None:
    """Return how names joined by `*` are written after a word that takes them parted by commas; None for anything
    else."""
    if isinstance(before, Name) and isinstance(element, BinaryExpr) and element.operator == "*":
        names = joined_names(element)
        return f"write `{before.text} {', '.join(names)}`" if names else None
    return None


def joined_names(syntax: Syntax, by: str = "*") -> list[str]:
    """Return the names that an operator joins, or none where something else is joined."""
    match syntax:
        case Name(text=text):
            return [text]
        case BinaryExpr(operator=operator, left=left, right=right) if operator == by:
            some, more = joined_names(left, by), joined_names(right, by)
            return some + more if some and more else []
        case _:
            return []
