"""The settings that hold, and where they come from."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from tripos.config import NAME
from tripos.environment import set_in
from tripos.failure import Failure
from tripos.health.checks import Check, ok, problem, warning
from tripos.settings import UNKNOWN_VARIABLE, Chosen, env_files

SUBJECT = "settings"


def project_checks(chosen: Chosen, folder: Path, environ: Mapping[str, str]) -> Iterator[Check]:
    """Looks at `tripos.toml`, the profile, `.env` and the variables of the environment."""
    if chosen.path is None:
        yield ok(SUBJECT, NAME, "none here or above; what is built in holds")
    else:
        above = "" if chosen.path.parent == folder.absolute() else ", in a folder above"
        yield ok(SUBJECT, NAME, f"{chosen.path}{above}")
    if chosen.profile is not None:
        yield ok(SUBJECT, "profile", chosen.profile)
    elif chosen.config.profiles:
        yield ok(SUBJECT, "profile", f"none of {', '.join(sorted(chosen.config.profiles))}")
    for path in env_files(folder):
        yield from _env_checks(path)
    if found := [name for name, _, _ in set_in(environ)]:
        yield ok(SUBJECT, "environment", ", ".join(found))
    for message, hint in chosen.warnings:
        yield warning(SUBJECT, "environment", f"[{UNKNOWN_VARIABLE}] {message}", hint)
    for data in chosen.config.data:
        if not Path(data).is_dir():
            yield warning(SUBJECT, "data", f"there is no folder {data}", "make it, or mend `data`")
    if chosen.config.budget:
        yield from _budget_checks(chosen.config.budget)


def failed_check(failure: Failure) -> Check:
    """The check of settings that cannot be read."""
    return problem(SUBJECT, NAME, f"[{failure.code}] {failure.message}", failure.hint or "")


def _env_checks(path: Path) -> Iterator[Check]:
    from dotenv import dotenv_values

    names = sorted(name for name, value in dotenv_values(path).items() if value)
    yield ok(SUBJECT, ".env", f"{path} sets {', '.join(names) or 'nothing'}")
    if os.name == "posix" and path.stat().st_mode & 0o004:
        mend = f"chmod 600 {shlex.quote(str(path))}"
        yield warning(SUBJECT, ".env", "every user of this machine can read it", mend)


def _budget_checks(texts: tuple[str, ...]) -> Iterator[Check]:
    from tripos_runtime.scheduling.budget import Budget, BudgetError

    try:
        Budget.parse(texts)
    except BudgetError as error:
        yield problem(SUBJECT, "budget", f"[{error.code}] {error.message}", error.hint)
    else:
        yield ok(SUBJECT, "budget", ", ".join(texts))
