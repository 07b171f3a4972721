"""The sandbox of code that models write: `bwrap` of bubblewrap, in which nothing can be written or reached."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tripos_runtime.asking.functions.protocol import NO_SANDBOX, Broken

PROGRAM = "bwrap"
PROBE_S = 30.0
ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8", "LC_ALL": "C.UTF-8"}
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")


def sandbox_command(*, unsandboxed: bool) -> list[str]:
    """Return the words before a command that put it into a sandbox; none where it may do without. Raises `Broken`,
    R0309, where there is no sandbox."""
    if os.name != "posix":
        raise Broken(NO_SANDBOX, "code is executed on Linux alone")
    found = shutil.which(PROGRAM)
    reason = "bubblewrap is not installed" if found is None else _fault(found)
    if found is not None and reason is None:
        return _command(found)
    if unsandboxed:
        return []
    raise Broken(NO_SANDBOX, f"{reason}, and code that models write runs in its sandbox")


def python_command(text: str) -> list[str]:
    """Return the command of a Python without packages, which runs a text."""
    return [_python(), "-s", "-S", "-P", "-B", "-c", text]


def _python() -> str:
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def _command(program: str) -> list[str]:
    words = [program, "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    words += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    for name, value in ENVIRONMENT.items():
        words += ["--setenv", name, value]
    words += ["--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    for place in map(Path, SYSTEM):
        if place.is_symlink():
            words += ["--symlink", str(place.readlink()), str(place)]
        elif place.is_dir():
            words += ["--ro-bind", str(place), str(place)]
    prefix = os.path.realpath(sys.base_prefix)
    if not Path(prefix).is_relative_to("/usr"):
        words += ["--ro-bind", prefix, prefix]
    words += ["--dev", "/dev", "--proc", "/proc", "--chdir", "/", "--remount-ro", "/dev", "--remount-ro", "/", "--"]
    return words


@cache
def _fault(program: str) -> str | None:
    """Return why a sandbox does not work here; None where it does."""
    command = [*_command(program), *python_command("print('it works')")]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not start: {error}"
    if ended.returncode == 0 and ended.stdout == "it works\n":
        return None
    said = (ended.stderr.strip().splitlines() or ["it said nothing"])[-1]
    return f"bubblewrap does not work here: {said}"
