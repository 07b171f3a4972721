"""Options of the verbs that work on a spec: check, fmt, plan, run."""

from __future__ import annotations

import argparse

from tripos.command.options.common import add_deny, add_junit, add_releases, add_roles, add_spec, add_store
from tripos.command.options.kinds import count, positive, seconds


def add_check(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos check`."""
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a .tripos file, or a folder that holds one")
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help="look for data files here too")
    add_releases(parser)
    add_deny(parser)
    formats = ("text", "json", "sarif", "github")
    parser.add_argument("--format", choices=formats, default="text", help="how mistakes are shown")
    help_ = "an earlier version, a spec or a plan in JSON, of which the version number must say enough"
    parser.add_argument("--against", metavar="PATH", help=help_)
    help_ = "go through the benchmark in so many pairs of worlds that differ in secrets alone (default: 4)"
    parser.add_argument("--worlds", type=positive, metavar="N", nargs="?", const=4, help=help_)


def add_fmt(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos fmt`."""
    help_ = "a .tripos file, or a folder: all of them below it; `-` reads standard input and writes standard output"
    parser.add_argument("paths", metavar="PATH", nargs="+", help=help_)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 and name what would change")
    parser.add_argument("--diff", action="store_true", help="change nothing; show what would change")


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos plan`."""
    add_spec(parser, several="planned")
    add_roles(parser)
    add_store(parser)
    parser.add_argument("--json", action="store_true", help="print the plan itself")


def add_describe(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos describe`."""
    add_spec(parser)
    help_ = "describe these data sets only (default: all that are read from files)"
    parser.add_argument("--dataset", metavar="NAME[,NAME]", action="append", default=[], help=help_)
    parser.add_argument("--together", action="store_true", help="describe the data sets as one")
    help_ = "describe the rows of each value of a field, or of each combination of several, apart"
    parser.add_argument("--by", metavar="FIELD[,FIELD]", action="append", default=[], help=help_)
    help_ = "with --by: count these values under one name; may be repeated"
    parser.add_argument("--group", metavar="NAME=V[,V]", action="append", default=[], help=help_)
    help_ = "describe these fields only"
    parser.add_argument("--field", metavar="NAME[,NAME]", action="append", default=[], help=help_)
    figures = ("rows", "values", "distinct", "mean", "least", "median", "most")
    help_ = "with --by: the figure that the table shows of each field (default: mean)"
    parser.add_argument("--figure", choices=figures, help=help_)
    help_ = "count the length of texts in these (default: characters)"
    parser.add_argument("--unit", choices=("characters", "words"), default="characters", help=help_)
    help_ = "print a table, or all figures as JSON or CSV"
    parser.add_argument("--format", choices=("table", "json", "csv"), default="table", help=help_)


def add_run(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos run`."""
    add_spec(parser, several="run")
    _add_running(parser)


def _add_running(parser: argparse.ArgumentParser) -> None:
    """How a benchmark is run, and who fills its roles."""
    add_roles(parser)
    add_store(parser)
    help_ = "at most so many calls at a time an endpoint (default: 16)"
    parser.add_argument("--max-connections", type=positive, metavar="N", help=help_)
    help_ = "tries after a call that failed in passing (default: 5)"
    parser.add_argument("--max-retries", type=count, metavar="N", help=help_)
    help_ = "spend at most this: 5usd, 200000tokens or 1000calls; may be repeated for other units"
    parser.add_argument("--budget", metavar="AMOUNT", action="append", default=[], help=help_)
    help_ = "longest time of a call, with its retries (default: 600)"
    parser.add_argument("--timeout", type=seconds, metavar="S", help=help_)
    help_ = "how long an endpoint may be silent before its calls fail (default: 900)"
    parser.add_argument("--patience", type=seconds, metavar="S", help=help_)
    help_ = "refuse to run with other data, models, prices or functions than the lock pins (default: tripos.lock)"
    parser.add_argument("--locked", metavar="FILE", nargs="?", const="tripos.lock", help=help_)
    parser.add_argument("--dry-run", action="store_true", help="show what would be asked and reused; ask nothing")
    help_ = "write how the run goes as JSON Lines to a file, or to standard output for `-`"
    parser.add_argument("--events", metavar="FILE", help=help_)
    add_junit(parser)
    help_ = "also show every endpoint: calls under way and waiting, retries"
    parser.add_argument("-v", "--verbose", action="store_true", help=help_)
    parser.add_argument("--json", action="store_true", help="print a summary as JSON instead of the report")


def add_teach(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos teach`: those of `tripos run`, and who teaches."""
    parser.add_argument("--name", metavar="NAME", required=True, help="who you are; your turns will say human/NAME")
    add_spec(parser)
    _add_running(parser)
