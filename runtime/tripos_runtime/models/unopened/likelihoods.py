"""Which models say how likely texts are, told by their names."""

from __future__ import annotations

from tripos_runtime.models.catalog import OPENAI_COMPLETION, completion_name

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
