"""The text of Python functions that a task refers to, found without executing anything."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from tripos.importing.tasks.lm_eval.forms import PythonName
from tripos.importing.tasks.spec_text import Untranslated
from tripos.settings import SourceFolder

LIBRARY = {
    ("lm_eval.utils", "weighted_f1_score"): "def weighted_f1_score(items):\n"
    "    unzipped_list = list(zip(*items))\n"
    "    golds, preds = unzipped_list[0], unzipped_list[1]\n"
    '    return f1_score(golds, preds, average="weighted")\n'
}
"""Functions of lm-eval itself that tasks import: what they do, since their files are not beside a task."""


@dataclass(frozen=True)
class FunctionTexts:
    """Finds the text of functions beside the file of a task."""

    folder: Path
    source: SourceFolder

    def __call__(self, function: PythonName) -> str:
        """Return the text of a function. Raises `Untranslated` where it is not beside the task."""
        module, _, name = str(function).rpartition(".")
        path = self.folder / f"{module.replace('.', '/')}.py"
        try:
            text = self.source.file(path).text()
            tree = ast.parse(text)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise Untranslated(f"`{function}`: the file `{module}.py` cannot be read") from error
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return ast.get_source_segment(text, node) or ""
            if isinstance(node, ast.ImportFrom) and any((each.asname or each.name) == name for each in node.names):
                known = LIBRARY.get((node.module or "", name))
                if known is not None:
                    return known
        raise Untranslated(f"`{function}` is not defined in `{module}.py`")
