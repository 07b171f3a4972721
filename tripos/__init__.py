"""Tripos: benchmarks for language models, written as specs, proved before they cost, kept as Parquet, asked in SQL.

`tripos.compile("quiz.tripos").run("openai/gpt-4o-mini")` compiles a benchmark and runs it, and `tripos.open("results")`
gives the results of a store: see `docs/tutorials/in-a-notebook.md`. The three legs are `tripos_compiler`,
`tripos_runtime` and `tripos_warehouse`; this package is the front door. The public names are those of `tripos.api`,
which is imported when one of them is first used: the command line needs only the version, and at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tripos.api.errors import ReleaseError, RunError, SpecError
    from tripos.api.releases import Released, release, verify
    from tripos.api.results import Results, open  # noqa: A004 - `tripos.open` is its name
    from tripos.api.run import Progress, Run
    from tripos.api.spec import Spec, compile  # noqa: A004 - `tripos.compile` is its name
    from tripos.runs.planning import RunPlan
    from tripos.version import __version__
    from tripos_compiler.errors import TriposError
    from tripos_warehouse.errors import StoreError

HOMES = {
    "Progress": "tripos.api.run",
    "ReleaseError": "tripos.api.errors",
    "Released": "tripos.api.releases",
    "Results": "tripos.api.results",
    "Run": "tripos.api.run",
    "RunError": "tripos.api.errors",
    "RunPlan": "tripos.runs.planning",
    "Spec": "tripos.api.spec",
    "SpecError": "tripos.api.errors",
    "StoreError": "tripos_warehouse.errors",
    "TriposError": "tripos_compiler.errors",
    "__version__": "tripos.version",
    "compile": "tripos.api.spec",
    "open": "tripos.api.results",
    "release": "tripos.api.releases",
    "verify": "tripos.api.releases",
}
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
    if name in HOMES:
        return getattr(import_module(HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
