"""Which models say how likely texts are, or the tokens of their replies, and take a text in a template of their own,
told by their names."""

from __future__ import annotations

from tripos_compiler.plan import Settings
from tripos_runtime.models.catalog import OPENAI_COMPLETION, completion_name
from tripos_runtime.models.local import find_weights, template_of
from tripos_runtime.models.unopened.refused_settings import refusing

AT_HOME = ("mock/", "local/")
"""Models that begin so give likelihoods on this machine."""


def gives_likelihoods(name: str) -> bool:
    """Return true if a model of that name can be asked for the likelihood of texts: a chat says nothing of the text
    that it is sent.

    >>> names = ("mock/careful", "local/smollm2-135m", "text-completion-openai/ours", "openai/gpt-4o", "baseline/A")
    >>> [gives_likelihoods(name) for name in names]
    [True, True, True, False, False]
    """
    return name.startswith(AT_HOME) or (completion_name(name) or "").startswith(OPENAI_COMPLETION)


SILENT = ("local/", "baseline/", "human/", "reward/")
"""Models that begin so reply without probabilities."""


def gives_token_probabilities(name: str) -> bool:
    """Return true if a model of that name can be asked for the probabilities of the tokens of its replies, as far as it
    is known.

    >>> names = ("mock/careful", "openai/gpt-4o", "openai/o3-mini", "anthropic/claude-sonnet-4-5", "local/mine")
    >>> [gives_token_probabilities(name) for name in names]
    [True, True, False, False, False]
    """
    if name.startswith(SILENT) or completion_name(name) is not None:
        return False
    return not refusing(name)(Settings(top_logprobs=1))


HEARING = ("mock/", "baseline/", "human/", "replay/")
"""Models that begin so reply without a template."""


def has_template(name: str) -> bool:
    """Return true if a model of that name can be asked in the template of a chat that its own file has. A file that is
    not here is told when the model is opened.

    >>> [has_template(name) for name in ("mock/careful", "openai/gpt-4o", "text-completion-openai/ours")]
    [True, False, False]
    """
    if name.startswith("local/"):
        path = find_weights(name.partition("/")[2])
        return path is None or template_of(path) is not None
    return name.startswith(HEARING)
