"""The rows that a task's own Python gives, written once by a process in the environment of lm-eval."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from tripos.importing.tasks.lm_eval.configs import TaskFile
from tripos.importing.tasks.lm_eval.forms import PythonName
from tripos.importing.tasks.lm_eval.sources import WrittenRows
from tripos.importing.tasks.shapes import CODE
from tripos.importing.tasks.spec_text import name_of
from tripos.ui import Failure
from tripos_runtime.asking.functions import environment

LONGEST_S = 3600.0
_HUB = ("HF_HOME", "HF_ENDPOINT", "HF_DATASETS_CACHE", "HF_DATASETS_OFFLINE", "HF_HUB_OFFLINE")
"""Variables that say where data sets lie; none is a key."""


def write_rows(
    task: TaskFile, folder: Path, python: str | None = None, shots: int | None = None, changes: Mapping[str, Any] = {}
) -> WrittenRows:
    """Execute the Python of a task, and return the files with its rows in `folder/rows`. `changes` are configuration
    that differs from the file. Raises `Failure` R0246 where it fails."""
    name = name_of(task.name)
    rows = (folder / "rows").resolve()
    count = int(task.get("num_fewshot", 0)) if shots is None else shots
    said = {key: each for key, each in {**task.changes, **changes}.items() if not isinstance(each, PythonName)}
    asked = {"path": str(task.path), "folder": str(rows), "name": name, "shots": count > 0, "changes": said}
    with as_file(files("tripos.importing.tasks.lm_eval").joinpath("row_writer.py")) as program:
        command = [python or sys.executable, "-B", "-P", str(program)]
        try:
            ended = subprocess.run(
                command,
                input=json.dumps(asked),
                cwd=task.path.parent,
                env={**environment(), **{key: os.environ[key] for key in _HUB if key in os.environ}},
                capture_output=True,
                text=True,
                errors="replace",
                timeout=LONGEST_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failure(CODE, f"the Python of `{task.name}` could not run: {error}", "check `--python`") from error
    if ended.returncode != 0:
        lines = [each for each in ended.stderr.strip().splitlines() if each.strip()]
        said_last = (lines or ["it ended"])[-1]
        hint = "give the Python of the environment with lm-eval: `--python ENV/bin/python`"
        raise Failure(CODE, f"the Python of `{task.name}` failed: {said_last}", hint)
    written = {which: rows / f"{name}.{which}.jsonl" for which in ("tested", "shots")}
    return WrittenRows({which: path for which, path in written.items() if path.is_file()})
