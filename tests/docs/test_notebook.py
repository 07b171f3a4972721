"""The notebook of the examples runs in a kernel of its own, and shows the outputs that it is published with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "docs" / "examples" / "notebook.ipynb"


def texts(notebook: Any) -> list[list[str]]:
    """Return the words of the plain outputs of each cell."""
    outputs = [cell.get("outputs", []) for cell in notebook.cells]
    return ["".join(part.get("text") or part["data"]["text/plain"] for part in parts).split() for parts in outputs]


def test_the_notebook_shows_what_it_is_published_with() -> None:
    published = nbformat.read(NOTEBOOK, 4)  # type: ignore[no-untyped-call]
    run = nbformat.read(NOTEBOOK, 4)  # type: ignore[no-untyped-call]
    NotebookClient(run, timeout=300).execute()
    assert texts(run) == texts(published)
    assert any("E0501" in words for words in texts(run))
