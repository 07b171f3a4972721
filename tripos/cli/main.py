"""The `tripos` command: its verbs and options. Nothing heavy is imported before a verb needs it."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tripos.cli.failures import show_failure
from tripos.cli.parser import Parser
from tripos.failure import GOOD, INTERRUPTED, USAGE, Failure
from tripos.mishaps import disk_failure, is_interrupt
from tripos.settings import check_language, key_values, time_limit, trust_in, without_keys
from tripos.ui import show_text
from tripos.version import __version__

BUG = "this is a bug of Tripos: please report it with the command you typed and the lines above"

EXAMPLES = """\
examples:
  tripos check specs/edubench
  tripos run specs/edubench --model openai/gpt-4o-mini --role judge=openai/gpt-4o
  tripos report
  tripos sql "select subject, avg(value) from edubench.scores group by all"
"""


class Verb(NamedTuple):
    """A verb of the command line. Its options are added by `add_VERB` in `options` beside its module."""

    help: str
    module: str
    main: str = "main"

    @property
    def options(self) -> str:
        """The module that adds the options."""
        return f"{self.module.rpartition('.')[0]}.options"


VERBS = {
    "init": Verb("begin a benchmark: a folder with a spec that runs at once", "starting.init"),
    "check": Verb("find every error that can be found without a model", "specs.check"),
    "fmt": Verb("format spec files", "specs.fmt"),
    "plan": Verb("show the contexts, items and model calls of a benchmark", "runs.plan"),
    "describe": Verb("print statistics of the data sets of a benchmark", "specs.describe"),
    "run": Verb("run a benchmark, or several one after another", "runs.several"),
    "teach": Verb("run a benchmark with a person in place of the model", "runs.teach"),
    "release": Verb("freeze a benchmark in a folder that can be verified, run and cited", "releases.release"),
    "fetch": Verb("fetch a release, or those that a spec extends", "releases.fetch"),
    "verify": Verb("verify a release, and name files that were tampered with", "releases.release", "verify_main"),
    "diff": Verb("show the changes between two versions, and their effect on scores", "releases.diff"),
    "lock": Verb("pin the dependencies of a run that are outside of its spec", "releases.release", "lock_main"),
    "report": Verb("print the measures of a run, with intervals", "reports.report"),
    "view": Verb("show the results in the browser, or write them as a page", "reports.view"),
    "compare": Verb("compare two runs, or two models of one run, item by item", "reports.compare"),
    "leaderboard": Verb("rank the models of the store, with tied ranks", "reports.leaderboard"),
    "export": Verb("export training data, Every Eval Ever, or tables", "exports.export"),
    "train": Verb("train a model on exported data", "exports.train"),
    "sql": Verb("query the results in SQL; open a shell without a query", "reports.sql"),
    "import": Verb("import scores, replies or trees", "stores.import_data"),
    "approve": Verb("mark a drafted tree as reviewed", "stores.trees", "approve_main"),
    "list": Verb("list the runs in the store", "reports.report", "list_main"),
    "store": Verb("check, compact and clean the store", "stores.store"),
    "why": Verb("show everything that went into one result", "reports.why"),
    "show": Verb("print a conversation or reply, or list the last ones", "reports.show"),
    "annotate": Verb("assign replies to a person for grading, and import the grades", "stores.annotate"),
    "doctor": Verb("check settings, keys, endpoints, prices and the store", "tools.doctor"),
    "explain": Verb("explain a diagnostic code, or a word of the language", "tools.explain"),
    "docs": Verb("open the documentation in the browser", "tools.docs"),
    "lsp": Verb("start the language server; editors do this by themselves", "tools.lsp"),
}
"""Every verb, in the order in which `tripos --help` lists them."""
TIMED = ("check", "plan", "describe", "diff", "verify")
"""The verbs that only read, which may be stopped at any time."""


def build_parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command line. Where `chosen` is a verb, it has that verb alone; where it is any
    other text, it has every verb without options. Adding the options of all verbs takes a tenth of a short command."""
    parser = Parser(
        prog="tripos",
        description="Benchmarks for language models: check, plan, run, report and query.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tripos {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=Parser)
    for verb in (chosen,) if chosen in VERBS else VERBS:
        added = verbs.add_parser(verb, help=VERBS[verb].help)
        if chosen in (None, verb):
            options = importlib.import_module(f"tripos.cli.{VERBS[verb].options}")
            getattr(options, f"add_{verb}")(added)
    return parser


def run_command(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code. Never raises for a mistake of the user's."""
    try:
        check_language(os.environ)
        first = next((each for each in arguments if each != "--"), "")
        parser = build_parser(first)
        options = parser.parse_args(arguments)
        if options.verb is None:
            parser.print_help()
            return USAGE
        options.trust = trust_in(getattr(options, "untrusted", False), os.environ)
        verb = VERBS[options.verb]
        return _main(getattr(importlib.import_module(f"tripos.cli.{verb.module}"), verb.main), options)
    except Failure as failure:
        show_failure(failure)
        return failure.exit_code
    except KeyboardInterrupt:
        show_text("interrupted", stderr=True)
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
        show_text(f"internal error: {shown} ({where})", stderr=True)
        show_text(f"  help: {BUG}; TRIPOS_DEBUG=1 shows the whole trace", stderr=True)
        return 70


def _main(verb: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Run a verb. One that fails over rows of a store that are not sound is run again without them."""
    # A store that an earlier command of this process had open is no reason for a failure of this one.
    if "tripos_warehouse.store.store" in sys.modules:
        sys.modules["tripos_warehouse.store.store"].forget_opened()
    try:
        with time_limit(options.trust.limits.seconds if options.verb in TIMED else None):
            return int(verb(options))
    except Exception as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        if (full := disk_failure(error)) is not None:
            raise full from error
        inputs = sys.modules.get("tripos.cli.inputs")
        damaged = ("S0103",) if options.verb == "sql" else ("S0103", "S0201")  # in SQL a person makes mistakes
        if inputs is not None and (not isinstance(error, Failure) or error.code in damaged) and inputs.found_damage():
            return int(verb(options))
        stores = None if isinstance(error, Failure) else sys.modules.get("tripos_warehouse.store.store")
        if stores is not None and (damage := stores.damage_of_opened()) is not None:
            raise Failure(damage.code, damage.message, damage.hint) from error
        raise
    finally:
        if "tripos.cli.inputs" in sys.modules:
            sys.modules["tripos.cli.inputs"].forget()


def main() -> None:
    """The entry point of the `tripos` script."""
    # Else Arrow keeps what it has freed, and the process is larger for nothing.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    sys.exit(run_command(sys.argv[1:]))
