"""Tasks of Inspect, read in a process of their own with the Python that has Inspect."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tripos.settings import SourceFolder
from tripos.ui import Failure
from tripos_compiler.diagnostics import nearest
from tripos_runtime.asking.functions import environment

CODE = "R0246"
_HINT = "see the module of the task: it is run as a program"
READER = Path(__file__).with_name("task_reader.py")
LONGEST_S = 900.0
PARTS = frozenset({"name", "samples", "solvers", "setup", "scorers", "templates", "config", "calls", "failed"})
"""What a reader says of a task."""


def read_inspect_task(path: Path, task: str | None, python: Path, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Run the module of a task, and return what it says: rows, solvers, scorers, and the messages of some calls.

    The module runs as a program of the user, without the keys of the environment. Raises `Failure` R0246 where it
    fails, or has several tasks and none of that name.
    """
    if not SourceFolder.around(path).file(path).is_there:
        raise Failure(CODE, f"there is no file `{path}`", "give the Python module of the task")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "task.json"
        command = [str(python), "-B", str(READER), str(path.resolve()), task or "", json.dumps(arguments), str(out)]
        try:
            ended = subprocess.run(
                command, cwd=folder, env=environment(), capture_output=True, text=True, errors="replace",
                timeout=LONGEST_S, check=False,
            )  # fmt: skip
        except OSError as error:
            raise Failure(
                CODE, f"`{python}` cannot be run: {error.strerror}", "name a Python: --python PATH"
            ) from error
        except subprocess.TimeoutExpired as error:
            message = f"`{path.name}` took more than {LONGEST_S / 60:.0f} minutes"
            raise Failure(CODE, message, "let it read fewer samples") from error
        if ended.returncode != 0 or not SourceFolder.around(out).file(out).is_there:
            said = (ended.stderr.strip().splitlines() or ["it ended"])[-1]
            hint = "install what it needs into a Python, and name that: --python PATH"
            raise Failure(CODE, f"`{path.name}` cannot be read: {said}", hint)
        try:
            told = SourceFolder.around(out).file(out).json()
        except (OSError, ValueError) as error:
            raise Failure(CODE, f"the task of `{path.name}` cannot be read: {error}", _HINT) from error
    if not isinstance(told, dict) or not ("tasks" in told or set(told) >= PARTS):
        raise Failure(CODE, f"`{path.name}` wrote something else than its task", _HINT)
    if "tasks" in told:
        names = told["tasks"]
        if task is not None and names:
            close = nearest(task, names)
            hint = f"did you mean `{close}`?" if close else f"it has {', '.join(names)}"
            raise Failure(CODE, f"`{path.name}` has no task `{task}`", hint)
        shown = f"tasks: {', '.join(names)}" if names else "no task"
        raise Failure(CODE, f"`{path.name}` has {shown}", "name one: --task NAME" if names else "see its `@task`")
    return told
