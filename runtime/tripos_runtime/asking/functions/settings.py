"""The programs that whoever runs a benchmark allows, and how hard they may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tripos_compiler.plan import Plugin
from tripos_compiler.source.data_classes import dataclass

TIMEOUT_S, MEMORY_MB, BATCH = 120.0, 4096, 8


@dataclass(frozen=True)
class ProgramLimits:
    """The limits of a program: the seconds without an answer, the MiB of its memory, the requests at a time, and its
    processes (None: as the machine has cores, at most 8). `url` is where a service is."""

    timeout_s: float = TIMEOUT_S
    memory_mb: int = MEMORY_MB
    batch: int = BATCH
    processes: int | None = None
    url: str | None = None
    unsandboxed: bool = False
    """True where code that models write may run without a sandbox."""


@dataclass(frozen=True)
class AllowedPrograms:
    """The programs that may be started, by the name that a spec gives them: `run_tests.py`, `unit-tests 1.4`."""

    limits: Mapping[str, ProgramLimits] = field(default_factory=dict)

    def of(self, plugin: Plugin) -> ProgramLimits | None:
        """Return the limits of a program that is allowed; None of one that is not."""
        return self.limits.get(program_name(plugin)) or self.limits.get(program_name(plugin).partition(" ")[0])


NO_PROGRAMS = AllowedPrograms()


def program_name(plugin: Plugin) -> str:
    """Return the name of a program: the path of its file as seen from the spec, or its name and version."""
    return plugin.version if plugin.path is None else plugin.path
