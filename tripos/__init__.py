"""Tripos: benchmarks for language models, written as specs, proved before they cost, kept as Parquet, asked in SQL.

`tripos.compile("quiz.tripos").run("openai/gpt-4o-mini")` compiles a benchmark and runs it, and `tripos.open("results")`
gives the results of a store: see `docs/python.md`. The three legs are `tripos_compiler`, `tripos_runtime` and
`tripos_warehouse`; this package is the front door.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tripos.version import __version__

if TYPE_CHECKING:
    from tripos.api.errors import ReleaseError, RunError, SpecError, TriposError
    from tripos.api.progress import Progress
    from tripos.api.release import Released, release, verify
    from tripos.api.results import Results, open  # noqa: A004 - `tripos.open` is its name
    from tripos.api.run import Run
    from tripos.api.run_plan import RunPlan
    from tripos.api.spec import Spec, compile  # noqa: A004 - `tripos.compile` is its name
    from tripos_warehouse.errors import StoreError

_MODULES = {
    "Progress": "tripos.api.progress",
    "ReleaseError": "tripos.api.errors",
    "Released": "tripos.api.release",
    "Results": "tripos.api.results",
    "Run": "tripos.api.run",
    "RunError": "tripos.api.errors",
    "RunPlan": "tripos.api.run_plan",
    "Spec": "tripos.api.spec",
    "SpecError": "tripos.api.errors",
    "StoreError": "tripos_warehouse.errors",
    "TriposError": "tripos.api.errors",
    "compile": "tripos.api.spec",
    "open": "tripos.api.results",
    "release": "tripos.api.release",
    "verify": "tripos.api.release",
}
"""The module of every public name. It is imported when the name is first used: the command line needs only the version,
and at once."""

__all__ = [
    "Progress",
    "ReleaseError",
    "Released",
    "Results",
    "Run",
    "RunError",
    "RunPlan",
    "Spec",
    "SpecError",
    "StoreError",
    "TriposError",
    "__version__",
    "compile",
    "open",
    "release",
    "verify",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
