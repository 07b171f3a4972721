"""git, asked about a folder that a stranger may have made: nothing that its configuration names is executed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

FILTERS = r"^filter\..*\.(clean|smudge|process|required)$"
HARMLESS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "safe.bareRepository": "explicit",
}
"""Settings in place of those of a repository: each of them may name a program, or a folder with programs."""


def run_git(*arguments: str, folder: Path | None = None, seconds: float) -> str:
    """Return what git prints. Raises `OSError` and `subprocess.SubprocessError`."""
    place = () if folder is None else ("-C", str(folder))
    named = _run(*place, "config", "--includes", "--name-only", "--null", "--get-regexp", FILTERS, seconds=seconds)
    filters = {name: "false" if name.endswith(".required") else "" for name in named.split("\0") if name}
    return _run(*place, *arguments, settings=filters, seconds=seconds, check=True)


def _run(*arguments: str, settings: dict[str, str] | None = None, seconds: float, check: bool = False) -> str:
    said = subprocess.run(
        ["git", *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=check,
        stdin=subprocess.DEVNULL,
        env=_environment({**HARMLESS, **(settings or {})}),
    )
    return said.stdout


def _environment(settings: dict[str, str]) -> dict[str, str]:
    """Return the environment of git: with these settings, and without a way to fetch what a repository lacks."""
    kept = dict(os.environ)
    had = kept.get("GIT_CONFIG_COUNT", "")
    first = int(had) if had.isdecimal() else 0  # the user's own come before, and the last one counts
    for number, (name, value) in enumerate(settings.items(), first):
        kept |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    kept["GIT_CONFIG_COUNT"] = str(first + len(settings))
    return kept | {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0"}
