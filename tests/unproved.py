"""Plans of specs that may leak, compiled without the proof of secrecy, and what a trial of them comes to."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripos_compiler.compile import Compilation, compile_spec
from tripos_compiler.plan import Plan
from tripos_runtime.datasets.data_files import DataFolders
from tripos_runtime.secrecy_trial.trial import WorldTrial, run_trial


@dataclass(frozen=True)
class Unproved:
    """A spec in a folder, compiled without a proof."""

    plan: Plan
    compilation: Compilation

    def tried(self, pairs: int = 4, rows: int = 24) -> WorldTrial:
        """Return what a trial of it comes to."""
        files = tuple(source.path for source in self.compilation.sources)
        return run_trial(self.plan, DataFolders(), files, pairs, rows)


def unproved(spec: Path) -> Unproved:
    """Return the plan of a spec, whatever is shown in it."""
    compilation = compile_spec(
        spec.as_posix(), lambda path: Path(path).read_text("utf-8"), DataFolders(), secrecy=False
    )
    assert compilation.plan is not None, [(item.code, item.message) for item in compilation.diagnostics]
    return Unproved(compilation.plan, compilation)


def written(folder: Path, spec: str, files: Mapping[str, Sequence[Mapping[str, Any]] | str]) -> Path:
    """Write a spec and its data into a folder; the name of a file says its format. The path of the spec."""
    for name, rows in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(rows, str):
            path.write_text(rows, "utf-8")
        elif ".csv" in name:
            path.write_text(_csv(rows), "utf-8")
        else:
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            if name.endswith(".gz"):
                path.write_bytes(gzip.compress(lines.encode()))
            else:
                path.write_text(lines, "utf-8")
    main = folder / "s.tripos"
    main.write_text(spec, "utf-8")
    return main


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    def cell(value: Any) -> str:
        text = value if isinstance(value, str) else json.dumps(value)
        return '"' + text.replace('"', '""') + '"'

    columns = list(rows[0])
    return "\n".join([",".join(columns), *(",".join(cell(row[name]) for name in columns) for row in rows)]) + "\n"
