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


MODULES = {"import": "importing"}
"""The modules of the verbs that no module of Python can be called."""


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
    _compare(verbs.add_parser("compare", help="what differs between two runs, or two models of one, item by item"))
    _export(verbs.add_parser("export", help="training data, Every Eval Ever, and tables for other programs"))
    _sql(verbs.add_parser("sql", help="ask the results in SQL; a shell without a query"))
    _import(verbs.add_parser("import", help="bring in scores by people, or replies produced elsewhere"))
    _list(verbs.add_parser("list", help="the runs in the store"))
    _housekeeping(verbs.add_parser("store", help="check, compact and clean the store"))
    _why(verbs.add_parser("why", help="everything that went into one result"))
    _annotate(verbs.add_parser("annotate", help="hand a person replies to grade, and take their grades back"))
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
    parser.add_argument("--subset", metavar="NAME", help="only the items of this `subset` of the spec")
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


def _compare(parser: argparse.ArgumentParser) -> None:
    help_ = "two runs, or one with two models (default: the last; of one model, with the run before it)"
    parser.add_argument("runs", metavar="RUN", nargs="*", help=help_)
    parser.add_argument("--models", metavar="A,B", action="append", default=[], help="the two models to compare")
    help_ = "compare although the rubric, the judges or what is scored changed between the runs"
    parser.add_argument("--anyway", action="store_true", help=help_)
    _store(parser)
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")


def _export(parser: argparse.ArgumentParser) -> None:
    help_ = "distillation, preferences, eee, csv, parquet, xlsx, or the name of an `export` of the spec"
    parser.add_argument("what", metavar="KIND", help=help_)
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or the beginning of its name (default: the last)")
    parser.add_argument("-o", "--output", metavar="PATH", required=True, help="the file, or the folder, to write")
    parser.add_argument("--by", metavar="NAME", help="the measure or score that says what is better")
    help_ = "the model that is best in each of these: scenario, metric, an axis, an arm"
    parser.add_argument("--per", metavar="DIM[,DIM]", action="append", default=[], help=help_)
    parser.add_argument("--margin", type=_amount, metavar="N", help="leave out pairs that are less apart (default: 0)")
    help_ = "the asks whose replies are exported (default: those that are scored)"
    parser.add_argument("--rows", metavar="STEP[,STEP]", action="append", default=[], help=help_)
    parser.add_argument("--format", choices=("chat", "completion"), help="how a line is written (default: chat)")
    help_ = "replies of these models only (default: all that are compared)"
    parser.add_argument("--models", metavar="A[,B]", action="append", default=[], help=help_)
    help_ = "replies in this scenario only; may be repeated"
    parser.add_argument("--scenario", metavar="NAME", action="append", default=[], help=help_)
    help_ = "replies whose axis has this value only; may be repeated"
    parser.add_argument("--only", metavar="AXIS=V[,V]", action="append", default=[], help=help_)
    help_ = "these tables only: items, samples, scores, measures"
    parser.add_argument("--table", metavar="NAME[,NAME]", action="append", default=[], help=help_)
    help_ = "write texts as they are, also those that a spreadsheet would take for formulas"
    parser.add_argument("--raw", action="store_true", help=help_)
    parser.add_argument("--organization", metavar="NAME", help="who ran the benchmark, as it is said in eee")
    help_ = "write also what the spec marks as secret, and what other roles were told"
    parser.add_argument("--secrets", action="store_true", help=help_)
    _store(parser)
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def _junit(parser: argparse.ArgumentParser) -> None:
    help_ = "write what came of every `expect` to a file, as JUnit XML for CI"
    parser.add_argument("--junit", metavar="FILE", help=help_)


def _sql(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", nargs="?", help="DuckDB SQL")
    _store(parser)
    parser.add_argument("--run", metavar="RUN", help="show this run in the benchmark's views (default: the last)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write .csv, .parquet, .json or .jsonl")
    help_ = "print the SQL that makes the same views and macros in any DuckDB, without Tripos"
    parser.add_argument("--snippet", action="store_true", help=help_)
    help_ = "make a DuckDB database of the same views and macros, for any program that opens one"
    parser.add_argument("--duckdb", metavar="FILE", help=help_)


def _list(parser: argparse.ArgumentParser) -> None:
    _store(parser)
    parser.add_argument("--json", action="store_true", help="print the runs as JSON")


def _why(parser: argparse.ArgumentParser) -> None:
    help_ = "a sample_id, judgement_id or score_id, or the beginning of one, of 6 characters or more"
    parser.add_argument("key", metavar="KEY", help=help_)
    _store(parser)
    parser.add_argument("--full", action="store_true", help="show every text whole")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def _annotate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or the beginning of its name (default: the last)")
    parser.add_argument("--role", metavar="ROLE", help="the role that the person fills (default: the one that grades)")
    parser.add_argument("--name", metavar="NAME", help="who grades; the scores will say human/NAME")
    help_ = "the spreadsheet to write, or with --page the file that keeps the grades (default: NAME.xlsx, NAME.jsonl)"
    parser.add_argument("-o", "--output", metavar="FILE", help=help_)
    parser.add_argument(
        "--page", action="store_true", help="grade on a page in the browser, served to this machine only"
    )
    parser.add_argument("--port", type=_port, metavar="N", help="with --page: its port (default: any that is free)")
    help_ = "N replies in all, drawn evenly over scenarios and models"
    parser.add_argument("--sample", type=_positive, metavar="N", help=help_)
    help_ = "this share of the sample was handed to somebody else too, the rest to nobody"
    parser.add_argument("--overlap", type=_share, metavar="SHARE", help=help_)
    parser.add_argument("--limit", type=_positive, metavar="N", help="at most N items a scenario")
    help_ = "only items whose axis has this value; may be repeated"
    parser.add_argument("--only", metavar="AXIS=V[,V]", action="append", default=[], help=help_)
    help_ = "this scenario only; may be repeated"
    parser.add_argument("--scenario", metavar="NAME", action="append", default=[], help=help_)
    parser.add_argument("--subset", metavar="NAME", help="only the items of this `subset` of the spec")
    parser.add_argument("--seed", type=int, metavar="N", help="of the draw and the order (default: 0)")
    parser.add_argument("--take", metavar="FILE", help="check the grades of a file that came back, and keep them")
    help_ = "with --take: leave out replies that lack a grade"
    parser.add_argument("--partial", action="store_true", help=help_)
    _store(parser)
    parser.add_argument("--json", action="store_true", help="with --take: print what was taken as JSON")


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


def _import(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    scores = actions.add_parser("scores", help="scores of replies that the store has, by people or other judges")
    samples = actions.add_parser("samples", help="replies to the items of a spec")
    for action in (scores, samples):
        help_ = "CSV, TSV, JSON Lines, JSON, Parquet or Arrow; a pattern such as `{language}.csv` means several"
        action.add_argument("file", metavar="FILE", help=help_)
        help_ = "which column holds what, such as value=Score; may be repeated"
        action.add_argument("--column", metavar="FIELD=COLUMN", action="append", default=[], help=help_)
        help_ = "what is the same in every row, such as language=en; may be repeated"
        action.add_argument("--set", metavar="FIELD=VALUE", action="append", default=[], help=help_)
        help_ = "this column holds lists, and every entry of one is a row"
        action.add_argument("--each", metavar="COLUMN", help=help_)
        action.add_argument("--mapping", metavar="TOML", help="all of this in a file")
        action.add_argument("--rejected", metavar="FILE", help="write the rows that do not fit, as .jsonl or .csv")
        action.add_argument("--skip-rejected", action="store_true", help="import the rows that fit without the others")
        action.add_argument("--dry-run", action="store_true", help="say what would be imported, and write nothing")
    scores.add_argument("--evaluator", metavar="NAME", help="who gave the scores, such as human/alice")
    scores.add_argument("--round", type=_positive, metavar="N", help="which time they gave them (default: 1)")
    scores.add_argument("--run", metavar="RUN", help="the run whose replies are scored (default: the last)")
    scores.add_argument("--replace", action="store_true", help="scores that changed replace those in the store")
    samples.add_argument("--spec", metavar="PATH", dest="path", required=True, help="the spec that the replies are to")
    help_ = "look for data files here too"
    samples.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    samples.add_argument("--model", metavar="NAME", help="whose replies they are, where no column says it")
    help_ = "who fills another role that replies; may be repeated"
    samples.add_argument("--role", metavar="NAME=MODEL", action="append", default=[], help=help_)
    _deny(samples)
    for action in (scores, samples):
        _store(action)
        action.add_argument("--json", action="store_true", help="print what was done as JSON")


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


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share from 0 to 1")
    return value


def _port(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return value


def _amount(text: str) -> float:
    value = float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a time in seconds")
    return value


_duration.__name__ = "time"
_positive.__name__ = _count.__name__ = _port.__name__ = "whole number"
_amount.__name__ = _share.__name__ = "number"
_seconds.__name__ = "number of seconds"


def run_command(arguments: Sequence[str]) -> int:
    """Runs a command and returns its exit code. Never raises for a mistake of the user's."""
    try:
        options = build_parser().parse_args(arguments)
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
    from tripos.command.harmless import harmless

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
