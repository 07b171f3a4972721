"""The parser of the command line, whose mistakes are worded like ours, and name what a word may have been."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import Any, NoReturn

from tripos.failure import Failure

INVALID = re.compile(r"argument (?P<named>\S+): invalid choice: '(?P<said>.*)' \(choose from (?P<known>.*)\)")
"""What argparse says of a value that is not among those that it may be."""
LACKING = re.compile(r"the following arguments are required: (.*)")
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
        elif lacking := LACKING.fullmatch(message):
            message = f"`{self.prog}` needs {lacking[1]}"
        elif empty := EMPTY.fullmatch(message):
            message = f"`{empty[1]}` needs a value"
        raise Failure("R0202", message, hint)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[argparse.Namespace, list[str]]:  # type: ignore[override]
        """As argparse does, but says of a word that nothing takes what it may have been."""
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            said = rest[0].partition("=")[0]
            hint = f"`{self.prog} --help` shows how it is written"
            if not said.startswith("-"):
                raise Failure("R0202", f"`{said}` is one word more than `{self.prog}` takes", hint)
            hint = _near(said, self._option_string_actions) or hint
            raise Failure("R0202", f"`{self.prog}` has no option `{said}`", hint)
        return found, rest


def _near(said: str, known: Iterable[str]) -> str | None:
    from tripos_compiler.diagnostics import nearest

    close = nearest(said, known)
    return f"did you mean `{close}`?" if close else None
