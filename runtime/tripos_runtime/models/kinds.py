"""The kinds of models: facts about a model that follow from the prefix of its name.

A model of no kind in `KINDS` is one of a provider; `catalog.py` has the facts about providers."""

from __future__ import annotations

from typing import NamedTuple


class ModelKind(NamedTuple):
    """The facts about models whose names begin with `prefix`. The defaults are the facts about a provider's model; None
    means that the fact depends on the model."""

    prefix: str
    named: bool = False
    """True if the name determines who answers: there is no endpoint."""
    limited: bool = True
    """True if rate limits apply, since another party serves it."""
    free: bool = False
    """True if a call costs nothing."""
    only_writes: bool = False
    """True if it cannot embed. The embedding models with such a prefix (`embeds`) are exceptions."""
    live: bool = False
    """True if it is asked live in a run with batches."""
    file: bool = False
    """True if the name contains the path of a file."""
    likelihoods: bool = False
    """True if it returns likelihoods of texts."""
    token_probabilities: bool | None = None
    """True if it returns the probabilities of its reply's tokens."""
    template: bool | None = False
    """True if it needs no chat template or can apply its own; None if that depends on its file."""
    media: bool | None = None
    """True if it accepts every medium, False if it accepts text only."""
    tools: bool = True
    """True if it may be offered tools."""
    table: bool = False
    """True if it replies from a table of the user, which is read when roles are bound and is its identity."""
    in_process: bool = False
    """True if this process computes the reply by a rule or a table: no weights are loaded, and nobody else is asked."""
    needs_origin: bool = False
    """True if its reply depends on the place in the run that a request is for, too."""


MOCK = ModelKind(
    "mock/",
    named=True,
    limited=False,
    free=True,
    only_writes=True,
    live=True,
    likelihoods=True,
    template=True,
    media=True,
    in_process=True,
)
REPLIES = MOCK._replace(
    prefix="mock/replies:", named=False, file=True, likelihoods=False, token_probabilities=False, table=True,
    needs_origin=True,
)  # fmt: skip
LOCAL = ModelKind(
    "local/", limited=False, free=True, only_writes=True, live=True, file=True, likelihoods=True,
    token_probabilities=False, template=None, media=False, tools=False,
)  # fmt: skip
BASELINE = ModelKind(
    "baseline/", named=True, limited=False, free=True, only_writes=True, live=True, token_probabilities=False,
    template=True, media=False, in_process=True,
)  # fmt: skip
HUMAN = ModelKind("human/", named=True, live=True, token_probabilities=False, template=True, media=True)
REPLAY = ModelKind("replay/", named=True, free=True, only_writes=True, file=True, template=True, media=True)
REWARD = ModelKind("reward/", limited=False, free=True, file=True, token_probabilities=False, media=False)
PROVIDER = ModelKind("")

KINDS: tuple[ModelKind, ...] = (
    REPLIES,
    MOCK,
    LOCAL,
    *(BASELINE._replace(prefix=f"baseline/{name}", media=True) for name in ("constant", "majority")),
    BASELINE,  # an echo needs text; `constant` and `majority` ignore the prompt, and so accept media
    HUMAN,
    REPLAY,
    REWARD,
    PROVIDER._replace(prefix="ollama/", tools=False),
)


def kind_of(name: str) -> ModelKind:
    """Return the kind of a model of that name.

    >>> kind_of("local/smollm2-135m").likelihoods, kind_of("openai/gpt-4o").likelihoods
    (True, False)
    """
    return next((kind for kind in KINDS if name.startswith(kind.prefix)), PROVIDER)
