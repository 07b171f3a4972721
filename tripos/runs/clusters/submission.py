"""The programs that a script or a manifest is handed to: `sbatch` and `kubectl`."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from tripos.ui import SOME_FAILED, Failure, first_line

NO_WAY = "R0412"


def submit(program: Sequence[str], text: str) -> str:
    """Hand a text to a program on its standard input, and return what the program says. Raises `Failure` R0412 where it
    is not there or refuses."""
    try:
        done = subprocess.run(program, input=text, capture_output=True, text=True, check=False, encoding="utf-8")
    except OSError as error:
        hint = "submit on a machine that has it; `--write FILE` writes what is submitted"
        raise Failure(NO_WAY, f"`{program[0]}` cannot be started: {error.strerror}", hint, SOME_FAILED) from error
    if done.returncode:
        told = first_line(RuntimeError(done.stderr or done.stdout or f"exit code {done.returncode}"))
        hint = "`--write FILE` writes what is submitted, so that you can submit it with other options"
        raise Failure(NO_WAY, f"`{program[0]}` refused the run: {told}", hint, SOME_FAILED)
    return done.stdout.strip()
