"""Lowers what an ask says of a text without a chat, `plain`, and of probabilities: `likelihood of`, `top_logprobs`."""

from __future__ import annotations

from dataclasses import replace

from tripos_compiler.constructs import SETTINGS, Statement
from tripos_compiler.plan import Items, ListType, Plain, TextType, Type
from tripos_compiler.resolve import Typed
from tripos_compiler.source import Text
from tripos_compiler.statements.steps.steps import Steps

TEXTS = ListType(of=TextType())
SINGLE = ("bool", "integer", "number", "choice")
"""Types of which the place in a reply is known."""
CHATTING = ("chat", "continue")
"""What an ask has of a chat."""


def lower_plain(steps: Steps, ask: Statement) -> Plain | bool | None:
    """Return how the text of an ask is joined; None where it is a chat, False where it is both, which is reported. A
    likelihood is that of a text."""
    written, likelihood = ask.one_of("plain"), ask.one_of("likelihood")
    if written is None and likelihood is None:
        if (template := ask.one_of("chat_template")) is not None:
            help_ = "write `plain`; any other ask is sent as a chat, and the model's server puts it into its template"
            message = "`chat_template` is for an ask with `plain` or `likelihood`"
            steps.program.diagnostics.error("E0107", message, template.head, help=help_)
            return False
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
        if name not in ("provider", "chat_template") and ask.of(name):
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


BESIDE_TOKENS = ("plain", "tools", "prompts")
"""What an ask with the probabilities of its tokens has not."""


def may_weigh(steps: Steps, ask: Statement, returns: Type | None) -> bool:
    """Return true if an ask may have the probabilities of its tokens, as far as it asks for them; a mistake is
    reported."""
    written = ask.one_of("top_logprobs")
    if written is None or ask.one_of("likelihood") is not None:  # a likelihood takes no setting, which is reported
        return True
    good = True
    for other in (found for construct in BESIDE_TOKENS for found in ask.of(construct)):
        message = f"an ask with `top_logprobs` takes no `{other.construct}`"
        help_ = "remove one of the two: probabilities of tokens are those of one reply of a chat"
        steps.program.diagnostics.error("E0107", message, other.head, help=help_)
        good = False
    if returns is not None and returns.kind not in SINGLE:
        help_ = "ask for one value, such as `returns choice(A, B)`, or for a text"
        message = "an ask with `top_logprobs` returns one value"
        steps.program.diagnostics.error("E0107", message, ask.of("returns")[0].head, help=help_)
        good = False
    return good
