"""The formats that a spec can be written in, and the function that writes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tripos.cli.exports.emit_json_schema import write_schemas
from tripos.cli.exports.emit_lm_eval import write_lm_eval
from tripos.cli.exports.emit_openai_evals import write_openai_evals
from tripos.cli.exports.emit_promptfoo import write_promptfoo
from tripos.cli.exports.questions import SpecQuestions, Unsupported, collect
from tripos_compiler.plan import Plan
from tripos_runtime.datasets.cases import CaseSource


@dataclass(frozen=True)
class Emitted:
    """The files that were written, the number of questions in them, and what the format cannot express."""

    files: tuple[Path, ...]
    questions: int
    losses: tuple[Unsupported, ...]


FORMS: Mapping[str, Callable[[SpecQuestions, Path], list[Path]]] = MappingProxyType(
    {
        "jsonschema": write_schemas,
        "lm-eval": write_lm_eval,
        "openai-evals": write_openai_evals,
        "promptfoo": write_promptfoo,
    }
)
"""The function that writes each format."""


def emit(form: str, plan: Plan, source: CaseSource, folder: Path) -> Emitted:
    """Write a spec in a format to a folder. Raises `DataError` if a data file has changed since the plan was made, and
    `StoreError` S0604 if a file cannot be written."""
    emission = SpecQuestions(plan) if form == "jsonschema" else collect(plan, source)
    files = FORMS[form](emission, folder)
    return Emitted(tuple(files), len(emission.questions), tuple(emission.losses))
