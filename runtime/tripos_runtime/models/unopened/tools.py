"""Which models can be offered tools, told by their names."""

from __future__ import annotations

from tripos_runtime.models.catalog import allows, completion_name

WITHOUT = ("local/", "ollama/")
"""Models that begin so are not offered tools: they go on with one text."""


def takes_tools(name: str) -> bool:
    """Return true if a model of that name can be offered tools, as far as it is known.

    >>> names = ("mock/careful", "openai/gpt-4o", "local/smollm2-135m", "text-completion-openai/mine")
    >>> [takes_tools(name) for name in names]
    [True, True, False, False]
    """
    provider, _, model = name.partition("/")
    return (
        not name.startswith(WITHOUT)
        and completion_name(name) is None
        and allows(provider, model, "supports_function_calling") is not False
    )
