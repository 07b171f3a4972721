"""The programs that the user of a benchmark allows, and their limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tripos_compiler.plan import Plugin
from tripos_compiler.source.data_classes import dataclass

TIMEOUT_S, MEMORY_MB, BATCH = 120.0, 4096, 8


@dataclass(frozen=True)
class ProgramLimits:
    """The limits of a program: seconds without an answer, memory in MiB, requests at a time, and processes (None: the
    number of cores, at most 8). `url` is the address of a service."""

    timeout_s: float = TIMEOUT_S
    memory_mb: int = MEMORY_MB
    batch: int = BATCH
    processes: int | None = None
    url: str | None = None
    unsandboxed: bool = False
    """True if code that models write may run without a sandbox."""


@dataclass(frozen=True)
class AllowedPrograms:
    """The programs that may be started, by their name in the spec: `run_tests.py`, `unit-tests 1.4`."""

    limits: Mapping[str, ProgramLimits] = field(default_factory=dict)

    def of(self, plugin: Plugin) -> ProgramLimits | None:
        """Return the limits of an allowed program; None if it is not allowed."""
        return self.limits.get(program_name(plugin)) or self.limits.get(program_name(plugin).partition(" ")[0])


NO_PROGRAMS = AllowedPrograms()


def program_name(plugin: Plugin) -> str:
    """Return the name of a program: the path of its file relative to the spec, or its name and version."""
    return plugin.version if plugin.path is None else plugin.path
