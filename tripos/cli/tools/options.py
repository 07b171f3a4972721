"""Options of the verbs about Tripos itself: docs, doctor, explain, completion, lsp."""

from __future__ import annotations

import argparse

from tripos.cli.arguments import add_store_options


def add_doctor(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos doctor`."""
    help_ = "check this model; may be repeated (default: those of the settings)"
    parser.add_argument("--model", metavar="A[,B]", action="append", default=[], help=help_)
    help_ = "check the models of a role too; may be repeated"
    parser.add_argument("--role", metavar="NAME=A[,B]", action="append", default=[], help=help_)
    add_store_options(parser)
    parser.add_argument("--ask", action="store_true", help="make one small call to each model, which may cost a little")
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")


def add_explain(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos explain`."""
    help_ = (
        "a code such as E0201, a prefix such as E02, or a word of the language such as `scenario`, `shots` or `mean`; "
        "`index` lists all words (default: list all codes)"
    )
    parser.add_argument("codes", metavar="CODE|WORD", nargs="*", help=help_)


def add_docs(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos docs`."""
    help_ = "a page such as `running`, a statement or function, or a code such as E0501 (default: the first page)"
    parser.add_argument("page", metavar="PAGE|CODE", nargs="?", help=help_)
    parser.add_argument("--print", action="store_true", help="print the address and open nothing")


def add_completion(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos completion`."""
    from tripos.cli.parser import listed_verbs
    from tripos.cli.tools.completion import SHELLS

    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    listed = [("install", [(name, shell.install) for name, shell in SHELLS.items()])]
    parser.epilog = "\n".join(listed_verbs(listed, max(map(len, SHELLS)))).lstrip("\n")
    parser.add_argument("shell", metavar="SHELL", choices=tuple(SHELLS), help="bash, zsh, fish or powershell")


def add_lsp(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos lsp`."""
    help_ = "use standard input and output, which is also the default; some editors need the option"
    parser.add_argument("--stdio", action="store_true", help=help_)
