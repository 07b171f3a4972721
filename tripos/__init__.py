"""Tripos: benchmarks for language models, written as specs, proved before they cost, kept as Parquet, asked in SQL.

`tripos.compile("quiz.tripos").run("openai/gpt-4o-mini")` compiles a benchmark and runs it, and `tripos.open("results")`
gives the results of a store: see `docs/python.md`. The three legs are `tripos_compiler`, `tripos_runtime` and
`tripos_warehouse`; this package is the front door. The public names are those of `tripos.api`, which is imported when
one of them is first used: the command line needs only the version, and at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tripos.api import (
        Progress,
        Released,
        ReleaseError,
        Results,
        Run,
        RunError,
        RunPlan,
        Spec,
        SpecError,
        TriposError,
        compile,  # noqa: A004 - `tripos.compile` is its name
        open,  # noqa: A004 - `tripos.open` is its name
        release,
        verify,
    )
    from tripos.ui import __version__
    from tripos_warehouse.errors import StoreError

HOMES = {"StoreError": "tripos_warehouse.errors", "__version__": "tripos.ui.version"}
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
    if name in __all__:
        return getattr(import_module(HOMES.get(name, "tripos.api")), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
