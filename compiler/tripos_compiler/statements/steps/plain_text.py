"""Lowers what an ask says of a text without a chat: `plain`, and `likelihood of`."""

from __future__ import annotations

from dataclasses import replace

from tripos_compiler.constructs import SETTINGS, Statement
from tripos_compiler.plan import Items, ListType, Plain, TextType
from tripos_compiler.resolve import Typed
from tripos_compiler.source import Text
from tripos_compiler.statements.steps.steps import Steps

TEXTS = ListType(of=TextType())
CHATTING = ("chat", "continue")
"""What an ask has of a chat."""


def lower_plain(steps: Steps, ask: Statement) -> Plain | bool | None:
    """Return how the text of an ask is joined; None where it is a chat, False where it is both, which is reported. A
    likelihood is that of a text."""
    written, likelihood = ask.one_of("plain"), ask.one_of("likelihood")
    if written is None and likelihood is None:
        return None
    word = "plain" if likelihood is None else "likelihood"
    for construct in (*CHATTING, "returns"):
        if (other := ask.one_of(construct)) is not None:
            message = f"an ask with `{word}` takes no `{construct}`"
            help_ = "remove one of the two: a plain text has no turns, and no form of a reply"
            steps.program.diagnostics.error("E0107", message, other.head, help=help_)
            return False
    slots = {} if written is None else {"parted": written.find("separator"), "link": written.find("link")}
    return Plain(**{name: text.value for name, text in slots.items() if isinstance(text, Text)})


def lower_options(steps: Steps, ask: Statement) -> Typed | bool | None:
    """Return the texts whose likelihood is asked for; None where none is, False where it is wrong, which is
    reported."""
    written = ask.one_of("likelihood")
    if written is None:
        return None
    good = True
    for name in ("samples", *SETTINGS):
        if name != "provider" and ask.of(name):
            message = f"an ask with `likelihood` takes no `{name}`"
            help_ = "remove it: nothing is written, so there is nothing to draw or to end"
            steps.program.diagnostics.error("E0107", message, ask.of(name)[0].head, help=help_)
            good = False
    value, check = written.syntax("options"), steps.elaborator()
    options = check.infer(value)
    if options is not None and options.type.kind in ("text", "choice"):
        options = replace(options, expr=Items(values=(options.expr,)), type=TEXTS)
    elif options is not None:
        options = check.typed_as(options, value, TEXTS, "what the likelihood is of")
    return options if good and options is not None else False
