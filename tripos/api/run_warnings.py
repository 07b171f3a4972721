"""Warnings about the models of a prepared run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tripos.failure import Failure
from tripos_compiler.diagnostics.deny import EVERY

if TYPE_CHECKING:
    from tripos_runtime.drivers.prepared import PreparedRun


@dataclass(frozen=True)
class RunWarning:
    """A warning about a prepared run: its code, its message, each place where it applies, and a hint that mends it."""

    code: str
    message: str
    places: tuple[str, ...]
    hint: str


def family_warning(prepared: PreparedRun) -> RunWarning | None:
    """Warn of judges that would grade their own model family."""
    return _warning(
        "R0205",
        "a judge would grade its own family, which judges favour",
        [each.shown for each in prepared.judges_of_their_own_family()],
        "give the role another model: --role NAME=PROVIDER/MODEL",
    )


def settings_warning(prepared: PreparedRun) -> RunWarning | None:
    """Warn of settings that a model does not take."""
    return _warning(
        "R0209",
        "a model does not take a setting, and is asked without it",
        [each.shown for each in prepared.settings_not_taken()],
        "take the setting out of the step, or give the role another model: --role NAME=PROVIDER/MODEL",
    )


def check_denied(warning: RunWarning, denied: Mapping[str, str]) -> None:
    """Raise `Failure` where the warning counts as an error."""
    if {warning.code, EVERY} & set(denied):
        raise Failure(warning.code, warning.message, f"{warning.places[0]}; {warning.hint}")


def _warning(code: str, message: str, places: list[str], hint: str) -> RunWarning | None:
    return RunWarning(code, message, tuple(places), hint) if places else None
