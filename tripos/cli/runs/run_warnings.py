"""Warnings about the models of a run, on standard error."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable

from tripos.api.preparation import RunWarning, check_denied
from tripos.settings.config import Config
from tripos.settings.denied_warnings import chosen_denials

MOST_SHOWN = 4
"""The number of places of a warning that are named; the rest are counted."""


def warning_printer(options: Namespace, config: Config) -> Callable[[RunWarning | None], None]:
    """Return a function that prints a warning, where there is one. It raises `Failure` for one that is denied."""

    def warn(warning: RunWarning | None) -> None:
        if warning is None:
            return
        check_denied(warning, chosen_denials(options, config))
        print(f"warning[{warning.code}]: {warning.message}", file=sys.stderr)
        for place in warning.places[:MOST_SHOWN]:
            print(f"  = {place}", file=sys.stderr)
        if len(warning.places) > MOST_SHOWN:
            print(f"  = and {len(warning.places) - MOST_SHOWN} more", file=sys.stderr)
        print(f"  = help: {warning.hint}", file=sys.stderr)

    return warn
