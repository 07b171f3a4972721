"""The `tripos` command: its verbs and options. Nothing heavy is imported before a verb needs it."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from tripos.command.parser import Parser
from tripos.failure import GOOD, INTERRUPTED, USAGE, Failure
from tripos.secrets import key_values, without_keys

NARROWEST = 20
"""Columns that the words of a message get however narrow a terminal is."""

BUG = "this is a bug of Tripos: please report it with the command you typed and the lines above"

EXAMPLES = """\
examples:
  tripos check specs/edubench
  tripos run specs/edubench --model openai/gpt-4o-mini --role judge=openai/gpt-4o
  tripos report
  tripos sql "select subject, avg(value) from edubench.scores group by all"
"""


VERBS = {
    "check": ("find every mistake that can be found without a model", "specs", "add_check"),
    "fmt": ("lay out spec files in the one way", "specs", "add_fmt"),
    "plan": ("show the contexts, items and model calls of a benchmark", "specs", "add_plan"),
    "describe": ("statistics of the data sets of a benchmark", "specs", "add_describe"),
    "run": ("run a benchmark, or several one after another", "specs", "add_run"),
    "teach": ("teach yourself where a model would, turn by turn", "specs", "add_teach"),
    "release": ("freeze a benchmark in a folder that can be checked, run and cited", "releases", "add_release"),
    "verify": ("whether a release is what it says, and what was tampered with", "releases", "add_verify"),
    "diff": ("what changed between two versions, and what of it can change a score", "releases", "add_diff"),
    "lock": ("pin what a run depends on outside of its spec", "releases", "add_lock"),
    "report": ("the measures of a run, with intervals", "results", "add_report"),
    "compare": ("what differs between two runs, or two models of one, item by item", "results", "add_compare"),
    "leaderboard": ("models over the benchmarks of the store, with tied ranks", "results", "add_leaderboard"),
    "export": ("training data, Every Eval Ever, and tables for other programs", "results", "add_export"),
    "train": ("train a model on what was exported", "training", "add_train"),
    "sql": ("ask the results in SQL; a shell without a query", "results", "add_sql"),
    "import": ("bring in scores by people, or replies produced elsewhere", "bringing", "add_import"),
    "approve": ("stand for a tree that a model has drafted", "bringing", "add_approve"),
    "list": ("the runs in the store", "results", "add_list"),
    "store": ("check, compact and clean the store", "bringing", "add_store_actions"),
    "why": ("everything that went into one result", "results", "add_why"),
    "show": ("one dialogue or reply, to be read, or the last of them", "results", "add_show"),
    "annotate": ("hand a person replies to grade, and take their grades back", "bringing", "add_annotate"),
    "doctor": ("whether settings, keys, endpoints, prices and the store are in order", "tools", "add_doctor"),
    "explain": ("what a diagnostic code means, or a word of the language", "tools", "add_explain"),
    "lsp": ("the language server, which an editor starts by itself", "tools", "add_lsp"),
}
"""Every verb: what it does, and where in `options` its options are added."""

MODULES = {"import": "importing", "run": "several"}
"""The modules of the verbs that are not called like them."""


def build_parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """The parser of the whole command line; or, where `chosen` is a verb, of that one alone, for to make the options of
    all takes a process that only asks something a tenth of its time."""
    from tripos import __version__

    parser = Parser(
        prog="tripos",
        description="Benchmarks for language models: check, plan, run, report, ask in SQL.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tripos {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=Parser)
    for verb in (chosen,) if chosen in VERBS else VERBS:
        help_, module, adder = VERBS[verb]
        options = importlib.import_module(f"tripos.command.options.{module}")
        getattr(options, adder)(verbs.add_parser(verb, help=help_))
    return parser


def run_command(arguments: Sequence[str]) -> int:
    """Runs a command and returns its exit code. Never raises for a mistake of the user's."""
    try:
        options = build_parser(arguments[0] if arguments else None).parse_args(arguments)
        if options.verb is None:
            build_parser().print_help()
            return USAGE
        module = importlib.import_module(f"tripos.command.{MODULES.get(options.verb, options.verb)}")
        return int(module.main(options))
    except Failure as failure:
        show_failure(failure)
        return failure.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone, as `| head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GOOD
    except Exception as error:
        if os.environ.get("TRIPOS_DEBUG"):
            raise
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f"{place.tb_frame.f_globals.get('__name__')}:{place.tb_lineno}" if place is not None else "?"
        shown = without_keys(f"{type(error).__name__}: {error}", key_values(os.environ))
        print(f"internal error: {shown} ({where})", file=sys.stderr)
        print(f"  help: {BUG}; TRIPOS_DEBUG=1 shows the whole trace", file=sys.stderr)
        return 70


def show_failure(failure: Failure) -> None:
    """Prints a failure on standard error, in the form of a diagnostic, without any key and with nothing in it that a
    terminal would obey."""
    from tripos.terminal_text import harmless

    secrets = key_values(os.environ)
    for begin, text in ((f"error[{failure.code}]: ", failure.message), ("  = help: ", failure.hint)):
        if text:
            print(_hung(begin, harmless(without_keys(text, secrets))), file=sys.stderr)
    print(f"  = more: tripos explain {failure.code}", file=sys.stderr)


def _hung(begin: str, text: str) -> str:
    """A text that begins with something, its further lines below its first. For a terminal its words are wrapped too;
    elsewhere a line stays whole, so that a log can be searched for what it says.

    >>> print(_hung("  = help: ", "write\\ninput = ..."))
      = help: write
              input = ...
    """
    lines = text.splitlines()
    if sys.stderr.isatty():
        from tripos.command.terminal import columns
        from tripos_compiler.diagnostics.wrap import wrap

        lines = [part for line in lines for part in wrap(line, max(columns() - len(begin), NARROWEST))]
    return begin + f"\n{' ' * len(begin)}".join(lines)


def main() -> None:
    """The entry point of the `tripos` script."""
    sys.exit(run_command(sys.argv[1:]))
