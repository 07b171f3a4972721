"""The help of verbs in the reader's language, whose lines fit a terminal also where a character takes two columns."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from tripos_compiler.diagnostics import display_width, localized, wrap


def localized_formatter(formatter: Any) -> type[argparse.HelpFormatter]:
    """Return a formatter of help as `formatter` is, which translates what it lays out."""

    class Localized(formatter):  # type: ignore[misc]
        def start_section(self, heading: str | None) -> None:
            super().start_section(heading and localized(heading))

        def add_usage(
            self, usage: str | None, actions: Iterable[Any], groups: Iterable[Any], prefix: str | None = None
        ) -> None:
            super().add_usage(usage, actions, groups, localized("usage: ") if prefix is None else prefix)

        def add_text(self, text: str | None) -> None:
            super().add_text(text and localized(text))

        def _get_help_string(self, action: argparse.Action) -> str | None:
            return action.help and localized(action.help)

        def _split_lines(self, text: str, width: int) -> list[str]:
            return wrap(text, width)

    return Localized


def listed_verbs(groups: Iterable[tuple[str, Iterable[tuple[str, str]]]], width: int) -> list[str]:
    """Return a heading for each group, and a line for each verb below it."""
    lines: list[str] = []
    for group, verbs in groups:
        lines += ["", localized(group) + localized(":")]
        lines += [f"  {name}{' ' * (width - display_width(name))}  {localized(said)}" for name, said in verbs]
    return lines
