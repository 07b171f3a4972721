"""The sandbox of code that models write: `bwrap` of bubblewrap, in which nothing can be written or reached."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tripos_runtime.asking.functions.protocol import NO_SANDBOX, Broken

PROGRAM = "bwrap"
PROBE_S = 30.0
ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8", "LC_ALL": "C.UTF-8"}
SET_DUMPABLE = 4
"""The number of `PR_SET_DUMPABLE` of `prctl`."""
NOBODY = "65534"
"""The user and the group that code sees itself as."""
ON_LINUX = "code is executed on Linux alone"
NAMESPACES = ("user", "pid", "net", "ipc", "uts", "mnt")
SYSTEM_PROGRAMS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")


def sandbox_command(*, unsandboxed: bool) -> list[str]:
    """Return the words before a command that put it into a sandbox; none where it may do without. Raises `Broken`,
    R0309, where there is no sandbox."""
    if os.name != "posix":
        raise Broken(NO_SANDBOX, ON_LINUX)
    reason = sandbox_fault()
    if reason is None:
        program = sandbox_program()
        assert program is not None
        return _command(program)
    if unsandboxed:
        return []
    raise Broken(NO_SANDBOX, f"{reason}, and code that models write runs in its sandbox")


def sandbox_fault() -> str | None:
    """Return why there is no sandbox here; None if there is."""
    if os.name != "posix":
        return ON_LINUX
    program = sandbox_program()
    if program is not None:
        return _fault(program)
    strange = shutil.which(PROGRAM)
    if strange is None:
        return "bubblewrap is not installed"
    return f"`{strange}` lies in the current folder or where others may write, so it is not taken for bubblewrap"


def no_sandbox_hint(name: str) -> str:
    """Return what to do where a program of this name has no sandbox."""
    return f"install bubblewrap, or let code reach all that you reach: --allow-unsandboxed {name}"


def sandbox_program() -> str | None:
    """Return the path of bubblewrap among the folders of `PATH`: first those of the system, whatever stands before
    them. A folder that is relative, below the current one, or open to other users says nothing about whose program lies
    in it; one below the home folder does, if that is the current one."""
    places = [place for place in os.get_exec_path() if Path(place).is_absolute()]
    own = [place for place in places if place not in SYSTEM_PROGRAMS and _is_own(place)]
    searched = [*(place for place in places if place in SYSTEM_PROGRAMS), *own]
    return shutil.which(PROGRAM, os.X_OK, os.pathsep.join(searched))


def _is_own(place: str) -> bool:
    """Return true for a folder that the user or the system alone may write, away from the current folder."""
    folder, home = Path(os.path.realpath(place)), Path(os.path.realpath(os.environ.get("HOME", "/")))
    with contextlib.suppress(OSError):  # the current folder may be gone
        here = os.path.realpath(os.curdir)
        if folder.is_relative_to(here) and not home.is_relative_to(here):
            return False
        found = folder.stat()
        return found.st_uid in (0, os.geteuid()) and not found.st_mode & 0o002
    return False


def python_command(text: str) -> list[str]:
    """Return the command of a Python without packages, which runs a text."""
    return [_python(), "-s", "-S", "-P", "-B", "-c", text]


@cache
def hide_memory() -> None:
    """Keep other processes of the user from opening the memory, the environment and the files of this one, through
    `/proc`. It is done where code runs without a sandbox, and holds until the end of the process."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_DUMPABLE, ctypes.c_ulong(0), *(ctypes.c_ulong(0),) * 3)


def _python() -> str:
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def _command(program: str) -> list[str]:
    from tripos_runtime.asking.functions.code.confined import DEVICES  # no such module on Windows

    words = [program, "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    words += ["--uid", NOBODY, "--gid", NOBODY]
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
    words += ["--tmpfs", "/dev"]
    for device in DEVICES:
        words += ["--dev-bind", device, device]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        words += ["--symlink", f"/proc/self/fd/{number}", f"/dev/{name}"]
    words += ["--symlink", "/proc/self/fd", "/dev/fd", "--proc", "/proc"]
    # As root, `/proc/sys` and much beside it belongs to the owner of the sandbox, and bubblewrap covers a part of it.
    for writable in ("/proc", "/dev", "/"):
        words += ["--remount-ro", writable]
    return [*words, "--chdir", "/", "--"]


@cache
def _fault(program: str) -> str | None:
    """Return why a sandbox does not work here; None where it does. What takes the name of bubblewrap and starts Python
    as it is, or in some namespaces of its own, is no sandbox."""
    told = f"import os\nfor name in {NAMESPACES}: print(os.readlink('/proc/self/ns/' + name))"
    command = [*_command(program), *python_command(told)]
    try:
        ended = subprocess.run(
            command, env=ENVIRONMENT, cwd="/", capture_output=True, text=True, timeout=PROBE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not start: {error}"
    inside = ended.stdout.splitlines()
    if ended.returncode != 0 or len(inside) != len(NAMESPACES):
        said = (ended.stderr.strip().splitlines() or ["it said nothing"])[-1]
        if unknown := re.search(r"Unknown option (\S+)", said):
            return f"bubblewrap is too old here: it has no `{unknown[1]}`"
        return f"bubblewrap does not work here: {said}"
    outside = [str(Path("/proc/self/ns", name).readlink()) for name in NAMESPACES]
    shared = set(inside) & set(outside)
    return f"`{program}` is no sandbox: it leaves code among the processes and files of the machine" if shared else None
