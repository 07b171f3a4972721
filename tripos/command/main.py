"""The `tripos` command: its verbs and options. Nothing heavy is imported before a verb needs it."""

from __future__ import annotations

import argparse
import importlib
import math
import os
import sys
from collections.abc import Sequence

from tripos.failure import GOOD, INTERRUPTED, USAGE, Failure
from tripos.secrets import key_values, without_keys

BUG = "this is a bug of Tripos: please report it with the command you typed and the lines above"

EXAMPLES = """\
examples:
  tripos check specs/edubench
  tripos run specs/edubench --model openai/gpt-4o-mini --role judge=openai/gpt-4o
  tripos report
  tripos sql "select subject, avg(value) from edubench.scores group by all"
"""


class Parser(argparse.ArgumentParser):
    """Says what is wrong with a command in our own form."""

    def error(self, message: str) -> None:  # type: ignore[override]
        raise Failure("R0202", message, f"`{self.prog} --help` shows how it is written")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    from tripos import __version__

    parser = Parser(
        prog="tripos",
        description="Benchmarks for language models: check, plan, run, report, ask in SQL.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tripos {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=Parser)
    _check(verbs.add_parser("check", help="find every mistake that can be found without a model"))
    _fmt(verbs.add_parser("fmt", help="lay out spec files in the one way"))
    _plan(verbs.add_parser("plan", help="show the contexts, items and model calls of a benchmark"))
    _run(verbs.add_parser("run", help="run a benchmark"))
    _report(verbs.add_parser("report", help="the measures of a run, with intervals"))
    _sql(verbs.add_parser("sql", help="ask the results in SQL; a shell without a query"))
    _list(verbs.add_parser("list", help="the runs in the store"))
    _housekeeping(verbs.add_parser("store", help="check, compact and clean the store"))
    _why(verbs.add_parser("why", help="everything that went into one result"))
    _doctor(verbs.add_parser("doctor", help="whether settings, keys, endpoints, prices and the store are in order"))
    _explain(verbs.add_parser("explain", help="what a diagnostic code means and how to mend it"))
    _lsp(verbs.add_parser("lsp", help="the language server, which an editor starts by itself"))
    return parser


def _spec(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a .tripos file, or a folder that holds one")
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help="look for data files here too")
    _deny(parser)


def _deny(parser: argparse.ArgumentParser) -> None:
    help_ = "these warnings count as errors; `warnings` are all of them"
    parser.add_argument("--deny", metavar="CODE[,CODE]", action="append", default=[], help=help_)


def _store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="DIR", help="where results are kept (default: results)")
    parser.add_argument("--profile", metavar="NAME", help="take the settings of [profiles.NAME] in tripos.toml")


def _roles(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="A[,B]", action="append", default=[], help="fills the compared role")
    help_ = "fills another role; without it a role takes the compared model"
    parser.add_argument("--role", metavar="NAME=A[,B]", action="append", default=[], help=help_)
    parser.add_argument("--limit", type=_positive, metavar="N", help="at most N items a scenario")
    help_ = "only items whose axis has this value; may be repeated"
    parser.add_argument("--only", metavar="AXIS=V[,V]", action="append", default=[], help=help_)
    help_ = "run this scenario only; may be repeated"
    parser.add_argument("--scenario", metavar="NAME", action="append", default=[], help=help_)
    parser.add_argument("--seed", type=int, metavar="N", help="with --limit: draw the items with this seed")


def _check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a .tripos file, or a folder that holds one")
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help="look for data files here too")
    _deny(parser)
    formats = ("text", "json", "sarif", "github")
    parser.add_argument("--format", choices=formats, default="text", help="how mistakes are shown")
    help_ = "an earlier version, a spec or a plan in JSON, of which the version number must say enough"
    parser.add_argument("--against", metavar="PATH", help=help_)


def _fmt(parser: argparse.ArgumentParser) -> None:
    help_ = "a .tripos file, or a folder: all of them below it; `-` reads standard input and writes standard output"
    parser.add_argument("paths", metavar="PATH", nargs="+", help=help_)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 and name what would change")
    parser.add_argument("--diff", action="store_true", help="change nothing; show what would change")


def _plan(parser: argparse.ArgumentParser) -> None:
    _spec(parser)
    _roles(parser)
    _store(parser)
    parser.add_argument("--json", action="store_true", help="print the plan itself")


def _run(parser: argparse.ArgumentParser) -> None:
    _spec(parser)
    _roles(parser)
    _store(parser)
    help_ = "at most so many calls at a time an endpoint (default: 16)"
    parser.add_argument("--max-connections", type=_positive, metavar="N", help=help_)
    help_ = "tries after a call that failed in passing (default: 5)"
    parser.add_argument("--max-retries", type=_count, metavar="N", help=help_)
    help_ = "spend at most this: 5usd, 200000tokens or 1000calls; may be repeated for other units"
    parser.add_argument("--budget", metavar="AMOUNT", action="append", default=[], help=help_)
    help_ = "longest time of a call, with its retries (default: 600)"
    parser.add_argument("--timeout", type=_seconds, metavar="S", help=help_)
    help_ = "how long an endpoint may be silent before its calls fail (default: 900)"
    parser.add_argument("--patience", type=_seconds, metavar="S", help=help_)
    parser.add_argument("--dry-run", action="store_true", help="show what would be asked and reused; ask nothing")
    help_ = "write how the run goes as JSON Lines to a file, or to standard output for `-`"
    parser.add_argument("--events", metavar="FILE", help=help_)
    _junit(parser)
    help_ = "also show every endpoint: calls under way and waiting, retries"
    parser.add_argument("-v", "--verbose", action="store_true", help=help_)
    parser.add_argument("--json", action="store_true", help="print a summary as JSON instead of the report")


def _report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or the beginning of its name (default: the last)")
    _store(parser)
    help_ = "take the measures of this spec, and not those that the run was made with; nothing is asked"
    parser.add_argument("--spec", metavar="PATH", help=help_)
    parser.add_argument(
        "--data", metavar="DIR", action="append", default=[], help="with --spec: look for data here too"
    )
    _deny(parser)
    _junit(parser)
    parser.add_argument("--sql", action="store_true", help="show the SQL of every measure")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def _junit(parser: argparse.ArgumentParser) -> None:
    help_ = "write what came of every `expect` to a file, as JUnit XML for CI"
    parser.add_argument("--junit", metavar="FILE", help=help_)


def _sql(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", nargs="?", help="DuckDB SQL")
    _store(parser)
    parser.add_argument("--run", metavar="RUN", help="show this run in the benchmark's views (default: the last)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write .csv, .parquet, .json or .jsonl")


def _list(parser: argparse.ArgumentParser) -> None:
    _store(parser)
    parser.add_argument("--json", action="store_true", help="print the runs as JSON")


def _why(parser: argparse.ArgumentParser) -> None:
    help_ = "a sample_id, judgement_id or score_id, or the beginning of one, of 6 characters or more"
    parser.add_argument("key", metavar="KEY", help=help_)
    _store(parser)
    parser.add_argument("--full", action="store_true", help="show every text whole")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def _doctor(parser: argparse.ArgumentParser) -> None:
    help_ = "look at this model; may be repeated (default: those of the settings)"
    parser.add_argument("--model", metavar="A[,B]", action="append", default=[], help=help_)
    help_ = "look at the models of a role too; may be repeated"
    parser.add_argument("--role", metavar="NAME=A[,B]", action="append", default=[], help=help_)
    _store(parser)
    parser.add_argument("--ask", action="store_true", help="make one small call to each model, which may cost a little")
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")


def _explain(parser: argparse.ArgumentParser) -> None:
    help_ = "such as E0201, or E02 for what begins so; without one all codes are listed"
    parser.add_argument("codes", metavar="CODE", nargs="*", help=help_)


def _lsp(parser: argparse.ArgumentParser) -> None:
    help_ = "speak over standard input and output; there is no other way, and some editors say it"
    parser.add_argument("--stdio", action="store_true", help=help_)


def _housekeeping(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    gc = actions.add_parser("gc", help="remove files that nobody reads any more")
    help_ = "keep what is younger: seconds, or such as 30m, 12h, 7d (default: 1h)"
    gc.add_argument("--grace", type=_duration, metavar="TIME", default=3600.0, help=help_)
    gc.add_argument("--dry-run", action="store_true", help="say what would be removed, and remove nothing")
    compact = actions.add_parser("compact", help="put many small files together, and drop doubles")
    check = actions.add_parser("check", help="find damage, and show a digest of every table")
    for action, told in ((gc, "what was removed"), (compact, "what was done"), (check, "what was found")):
        _store(action)
        action.add_argument("--json", action="store_true", help=f"print {told} as JSON")


def _duration(text: str) -> float:
    number, unit = (text[:-1], text[-1]) if text[-1:] in "smhd" else (text, "s")
    value = float(number) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[unit]
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a time that has passed")
    return value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a time in seconds")
    return value


_duration.__name__ = "time"
_positive.__name__ = _count.__name__ = "whole number"
_seconds.__name__ = "number of seconds"


def run_command(arguments: Sequence[str]) -> int:
    """Runs a command and returns its exit code. Never raises for a mistake of the user's."""
    try:
        options = build_parser().parse_args(arguments)
        if options.verb is None:
            build_parser().print_help()
            return USAGE
        module = importlib.import_module(f"tripos.command.{options.verb}")
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
    from tripos.command.harmless import harmless

    secrets = key_values(os.environ)
    print(f"error[{failure.code}]: {harmless(without_keys(failure.message, secrets))}", file=sys.stderr)
    if failure.hint:
        print(f"  = help: {harmless(without_keys(failure.hint, secrets))}", file=sys.stderr)
    print(f"  = more: tripos explain {failure.code}", file=sys.stderr)


def main() -> None:
    """The entry point of the `tripos` script."""
    sys.exit(run_command(sys.argv[1:]))
