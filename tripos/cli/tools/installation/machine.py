"""Python and the packages that Tripos needs."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from tripos.cli.tools.installation.checks import Finding, ok, problem, warning
from tripos.settings import (
    SETTINGS_FILE,
    UNKNOWN_VARIABLE,
    ChosenSettings,
    Config,
    env_files,
    set_variables,
    split_env,
)
from tripos.ui import Failure
from tripos_compiler.diagnostics import counted, file_size
from tripos_runtime.asking.functions import NO_SANDBOX
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store import Store, address_of, segments
from tripos_warehouse.upkeep import BIG_BYTES, MANY_COMMITS

SETTINGS = "settings"


def project_checks(chosen: ChosenSettings, folder: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Look at `tripos.toml`, the profile, `.env` and the variables of the environment."""
    if chosen.path is None:
        yield ok(SETTINGS, SETTINGS_FILE, "none here or above; what is built in holds")
    else:
        above = "" if chosen.path.parent == folder.absolute() else ", in a folder above"
        yield ok(SETTINGS, SETTINGS_FILE, f"{chosen.path}{above}")
    if chosen.profile is not None:
        yield ok(SETTINGS, "profile", chosen.profile)
    elif chosen.config.profiles:
        yield ok(SETTINGS, "profile", f"none of {', '.join(sorted(chosen.config.profiles))}")
    for path in env_files(folder):
        yield from _env_checks(path, folder)
    if found := [name for name, _, _ in set_variables(environ)]:
        yield ok(SETTINGS, "environment", ", ".join(found))
    for message, hint in chosen.warnings:
        yield warning(SETTINGS, "environment", f"[{UNKNOWN_VARIABLE}] {message}", hint)
    for data in chosen.config.data:
        if not Path(data).is_dir():
            yield warning(SETTINGS, "data", f"there is no folder {data}", "make it, or mend `data`")
    if chosen.config.budget:
        yield from _budget_checks(chosen.config.budget)


def failed_check(failure: Failure) -> Finding:
    """Return the check of settings that cannot be read."""
    return problem(SETTINGS, SETTINGS_FILE, f"[{failure.code}] {failure.message}", failure.hint or "")


def _env_checks(path: Path, folder: Path) -> Iterator[Finding]:
    names = sorted(split_env(path, folder)[0])
    yield ok(SETTINGS, ".env", f"{path} sets {', '.join(names) or 'nothing'}")
    if os.name == "posix" and path.stat().st_mode & 0o004:
        mend = f"chmod 600 {shlex.quote(str(path))}"
        yield warning(SETTINGS, ".env", "every user of this machine can read it", mend)


def _budget_checks(texts: tuple[str, ...]) -> Iterator[Finding]:
    from tripos_runtime.scheduling import Budget, BudgetError

    try:
        Budget.parse(texts)
    except BudgetError as error:
        yield problem(SETTINGS, "budget", f"[{error.code}] {error.message}", error.hint)
    else:
        yield ok(SETTINGS, "budget", ", ".join(texts))


STORE = "store"
LITTLE, TOO_LITTLE = 2**30, 100 * 2**20
"""Bytes of free disk below which a run is warned, and below which it cannot go far."""
MANY_PARTS = 4 * MANY_COMMITS


def _bucket_checks(address: str) -> Iterator[Finding]:
    try:
        commits = Store.open(address, create=False).commits()
    except StoreError as error:
        if error.code == "S0101":
            yield ok(STORE, "place", f"{address}; the first run makes it")
        else:
            yield problem(STORE, "place", f"[{error.code}] {error.message}", error.hint)
        return
    yield ok(STORE, "place", f"{address}: {counted(len(commits), 'commit')}")


def store_checks(place: str | Path, folder: Path) -> Iterator[Finding]:
    """Look at the store at `place`, which need not be there, seen from `folder`. Like every reader it first commits
    what a process that died had kept."""
    if address_of(place):
        yield from _bucket_checks(str(place))
        return
    root = folder / Path(place).expanduser()
    shown = root.relative_to(folder) if root.is_relative_to(folder) else root
    yield from _disk_checks(root)
    if not root.exists():
        yield ok(STORE, "place", f"{shown}; the first run makes it")
        return
    yield from _write_checks(root)
    left = set(segments(root))
    try:
        store = Store.open(root, create=False)
        commits = store.commits()
        store.files()
    except StoreError as error:
        if error.code == "S0101":
            told = f"{shown} is a folder without a store; the first run makes one in it"
            yield ok(STORE, "place", told)
        else:
            yield problem(STORE, "place", f"[{error.code}] {error.message}", error.hint)
        return
    parts = [part for commit in commits for part in commit.parts]
    size = sum(part.size for part in parts)
    told = f"{shown}: {len(commits):,} commits, {len(parts):,} parts, {file_size(size)}"
    yield ok(STORE, "place", told)
    after = set(segments(root))
    if recovered := left - after:
        yield ok(STORE, "journal", f"what {counted(len(recovered), 'process')} left behind is committed now")
    if alive := left & after:
        others = "process works" if len(alive) == 1 else "processes work"
        yield ok(STORE, "journal", f"{len(alive)} other {others} on this store, or it cannot be written")
    small = [part for part in parts if part.size < BIG_BYTES]
    if len(commits) > MANY_COMMITS or len(small) > MANY_PARTS:
        yield warning(STORE, "parts", f"{len(small):,} small parts in {len(commits):,} commits", "tripos store compact")


def _disk_checks(root: Path) -> Iterator[Finding]:
    place = next(each for each in (root, *root.absolute().parents) if each.exists())
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        yield warning(STORE, "disk", f"cannot be asked: {error.strerror}", "check the disk")
        return
    told = f"{file_size(free)} free"
    if free < TOO_LITTLE:
        yield problem(STORE, "disk", told, "free some space, or choose another place with --store")
    elif free < LITTLE:
        yield warning(STORE, "disk", told, "free some space before a long run")
    else:
        yield ok(STORE, "disk", told)


def _write_checks(root: Path) -> Iterator[Finding]:
    try:
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        mend = "give yourself write access to it, or choose another with --store"
        yield problem(STORE, "writing", f"{root} cannot be written: {error.strerror}", mend)
    else:
        yield ok(STORE, "writing", "a file can be made there")


MACHINE = "machine"
SHOWN = ("litellm", "aiohttp", "duckdb", "pyarrow", "pydantic", "obstore", "rich")
"""Packages whose version is told even where all is well: bugs are reported with it."""
OLDEST = (3, 11)
PACKAGE = re.compile(r"[A-Za-z0-9._-]+")


def machine_checks() -> Iterator[Finding]:
    """Look at Python, Tripos and what it is made with."""
    from tripos.ui import __version__

    version = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.version_info >= OLDEST:
        yield ok(MACHINE, "Python", version)
    else:
        oldest = ".".join(map(str, OLDEST))
        yield problem(MACHINE, "Python", version, f"Tripos needs Python {oldest} or newer")
    yield ok(MACHINE, "Tripos", __version__)
    wrong = list(_wrong_packages())
    for name, told in wrong:
        yield problem(MACHINE, name, told, f'install it again: pip install "{name}" with the version named here')
    if not wrong:
        yield ok(MACHINE, "packages", ", ".join(f"{name} {metadata.version(name)}" for name in SHOWN))


def sandbox_check(config: Config) -> Finding:
    """Look at the sandbox of code that models write, which only runs of such programs need."""
    from tripos_runtime.asking.functions.code import RUNNERS, no_sandbox_hint, sandbox_fault

    fault = sandbox_fault()
    if fault is None:
        return ok(MACHINE, "sandbox", "bubblewrap works")
    executing = {name.partition(" ")[0]: each for name, each in config.programs.items()}
    executing = {name: each for name, each in executing.items() if name in RUNNERS}
    if not executing:
        return ok(MACHINE, "sandbox", f"{fault}; only code that models write needs it")
    if all(each.unsandboxed for each in executing.values()):
        return warning(MACHINE, "sandbox", f"{fault}, and code runs without", "install bubblewrap")
    name = next(name for name, each in executing.items() if not each.unsandboxed)
    return problem(MACHINE, "sandbox", f"[{NO_SANDBOX}] {fault}", no_sandbox_hint(name))


def _wrong_packages() -> Iterator[tuple[str, str]]:
    """Packages that are needed and missing, or of a version that does not fit."""
    needed: list[str] = []
    with contextlib.suppress(metadata.PackageNotFoundError):
        needed = [each for each in metadata.requires("tripos") or () if "extra ==" not in each]
    for requirement in needed or SHOWN:
        found = PACKAGE.match(requirement)
        name = found[0] if found else requirement
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, f"not installed; needed: {requirement}"
            continue
        if not _fits(requirement, version):
            yield name, f"{version}; needed: {requirement}"


def _fits(requirement: str, version: str) -> bool:
    """Return true if a version is one that a requirement allows; where nothing here can tell, it is."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        return True
    return Requirement(requirement).specifier.contains(version, prereleases=True)
