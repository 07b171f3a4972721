"""The warnings that count as errors: those that are denied for one command, and those of `tripos.toml`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from tripos.settings.config import SETTINGS_FILE, Config
from tripos.ui import Failure
from tripos_compiler.diagnostics import CODES, EVERY, nearest

OF_A_COMMAND = ("W0824", "W0875", "W1208")
"""Warnings of commands that check no spec, which cannot be denied."""


def chosen_denials(options: Namespace, config: Config) -> dict[str, str]:
    """Return the codes that are denied, or `warnings`, and by what each is. Raises `Failure` for a code that is
    none."""
    flags = [code.strip() for given in options.deny for code in given.split(",") if code.strip()]
    return denied_codes(flags, config, "--deny")


def denied_codes(given: Sequence[str], config: Config, by: str = "deny") -> dict[str, str]:
    """Return the codes that are denied, or `warnings`, each with what denies it. Raises `Failure` for an unknown
    code."""
    by_file = dict.fromkeys(config.check.deny, f"`deny` in {SETTINGS_FILE}")
    return {_known(code, source): source for code, source in (by_file | dict.fromkeys(given, by)).items()}


def _known(code: str, by: str) -> str:
    """Return the code of a warning as the catalogue has it: one of the compiler, or of the models of a run."""
    known = {EVERY, *(each for each in CODES if each.startswith("W") and each not in OF_A_COMMAND)}
    found = next((each for each in known if each.casefold() == code.casefold()), None)
    if found is None:
        close = nearest(code, known)
        hint = f"did you mean `{close}`?" if close else f"give codes such as W0309, or `{EVERY}` for all"
        raise Failure("R0202", f"{by}: there is no code `{code}` of a warning", hint)
    return found
