"""The parser of the command line, whose mistakes are worded like ours, and name what a word may have been."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import Any, NoReturn

from tripos.failure import Failure
from tripos_warehouse.store import why_no_folder

INVALID = re.compile(r"argument (?P<named>\S+): invalid choice: '(?P<said>.*)' \(choose from (?P<known>.*)\)")
"""What argparse says of a value that is not among those that it may be."""
LACKING = re.compile(r"the following arguments are required: (.*)")
UNFIT = re.compile(r"argument (\S+): invalid (.*?)(?: value)?: '(.*)'")
KINDS = {"int": "whole number", "float": "number"}
BEGIN = "`tripos --help` lists the verbs; `tripos init` begins a benchmark that runs at once"
"""What to say to somebody who looks for a beginning."""
PLACES = ("DIR", "FILE", "TOML")
"""How options call a folder or a file that they take."""
EMPTY = re.compile(r"argument (\S+): expected one argument")


class Parser(argparse.ArgumentParser):
    """Says what is wrong with a command in our own form."""

    def error(self, message: str) -> NoReturn:
        hint = f"`{self.prog} --help` shows how it is written"
        if wrong := INVALID.fullmatch(message):
            named, said, known = wrong["named"], wrong["said"], re.findall(r"'([^']+)'|([\w-]+)", wrong["known"])
            choices = [quoted or bare for quoted, bare in known]
            message = f"there is no {named.lower()} `{said}`" if named.isupper() else f"`{named}` cannot be `{said}`"
            hint = _near(said, choices) or f"choose from {', '.join(choices)}"
            if named.isupper() and said in ("help", "start", "create"):
                hint = BEGIN
        elif lacking := LACKING.fullmatch(message):
            message = f"`{self.prog}` needs {lacking[1]}"
        elif unfit := UNFIT.fullmatch(message):
            message, hint = f"`{unfit[1]}` cannot be `{unfit[3]}`", f"it takes a {KINDS.get(unfit[2], unfit[2])}"
        elif empty := EMPTY.fullmatch(message):
            message = f"`{empty[1]}` needs a value"
        raise Failure("R0202", message, hint)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[argparse.Namespace, list[str]]:  # type: ignore[override]
        """As argparse does, but says of a word that nothing takes what it may have been."""
        found, rest = super().parse_known_args(args, namespace)
        self._check_places(found)
        if rest:
            said = rest[0].partition("=")[0]
            hint = f"`{self.prog} --help` shows how it is written"
            if not said.startswith("-"):
                raise Failure("R0202", f"`{said}` is one word more than `{self.prog}` takes", hint)
            hint = self._without_option(said) or _near_option(said, self._option_string_actions) or hint
            raise Failure("R0202", f"`{self.prog}` has no option `{said}`", hint)
        return found, rest

    def _check_places(self, found: argparse.Namespace) -> None:
        """Refuse an address where a folder or a file of this machine is taken. A release may have an address."""
        for action in self._actions:
            named = action.option_strings and (action.metavar in PLACES or action.dest == "output")
            if not named and action.metavar != "FILE":
                continue
            given = getattr(found, action.dest, None)
            for place in given if isinstance(given, list) else [given]:
                foreign = why_no_folder(place) if isinstance(place, str) else None
                if foreign is not None:
                    raise Failure("S0106", *foreign)

    def _without_option(self, said: str) -> str | None:
        """Return how a word is written that was given as an option, such as `--run` where a run has a place of its
        own."""
        places = [str(action.metavar) for action in self._actions if not action.option_strings and action.metavar]
        place = next((place for place in places if place.casefold() == said.lstrip("-").casefold()), None)
        return place and f"write it without: `{self.prog} {place}`"


def _near_option(said: str, known: Iterable[str]) -> str | None:
    """Return the option that was meant. The dashes, which all have, make none of them any likelier."""
    from tripos_compiler.diagnostics import nearest

    bare = {name.lstrip("-"): name for name in known if name.startswith("--")}
    close = nearest(said.lstrip("-"), bare)
    return f"did you mean `{bare[close]}`?" if close else None


def _near(said: str, known: Iterable[str]) -> str | None:
    from tripos_compiler.diagnostics import nearest

    close = nearest(said, known)
    return f"did you mean `{close}`?" if close else None
