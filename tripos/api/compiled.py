"""A spec that compiled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tripos_compiler.compile import Compilation
from tripos_compiler.plan import Plan
from tripos_runtime.datasets.data_folders import DataFolders


@dataclass(frozen=True)
class CompiledSpec:
    """A spec that compiled: the path that was given, the compilation with its plan, and the folders of its data."""

    path: str
    compilation: Compilation
    plan: Plan
    folders: DataFolders

    @property
    def main(self) -> Path:
        """The main file."""
        return Path(self.compilation.sources[0].path)
