"""The forms of other tools, and the files that each of them is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tripos.cli.exports.emit_json_schema import write_schemas
from tripos.cli.exports.emit_lm_eval import write_lm_eval
from tripos.cli.exports.emit_openai_evals import write_openai_evals
from tripos.cli.exports.emit_promptfoo import write_promptfoo
from tripos.cli.exports.questions import Emission, Loss, collect
from tripos_compiler.plan import Plan
from tripos_runtime.datasets.cases import CaseSource


@dataclass(frozen=True)
class Emitted:
    """The files of a form, how many questions they ask, and what they cannot say."""

    files: tuple[Path, ...]
    questions: int
    losses: tuple[Loss, ...]


FORMS: Mapping[str, Callable[[Emission, Path], list[Path]]] = MappingProxyType(
    {
        "jsonschema": write_schemas,
        "lm-eval": write_lm_eval,
        "openai-evals": write_openai_evals,
        "promptfoo": write_promptfoo,
    }
)
"""What writes each form."""


def emit(form: str, plan: Plan, source: CaseSource, folder: Path) -> Emitted:
    """Write a spec in a form to a folder. Raises `DataError` where a data file has changed since the plan was made, and
    `StoreError` S0604 where the disk refuses."""
    emission = Emission(plan) if form == "jsonschema" else collect(plan, source)
    files = FORMS[form](emission, folder)
    return Emitted(tuple(files), len(emission.questions), tuple(emission.losses))
