"""Options of the verbs that work on a spec: init, new, check, fmt, describe."""

from __future__ import annotations

import argparse

from tripos.cli.arguments import (
    add_allow_outside,
    add_deny,
    add_reach,
    add_releases,
    add_spec,
    add_untrusted,
    positive,
)


def add_new(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos new`."""
    parser.add_argument("kind", metavar="KIND", choices=("scenario", "metric"), help="scenario or metric")
    parser.add_argument("name", metavar="NAME", help="the name that it gets")
    help_ = "add it to this spec: a .tripos file, or a folder that holds one (default: print it)"
    parser.add_argument("--in", dest="path", metavar="PATH", help=help_)
    parser.add_argument("--over", metavar="NAME", help="scenario: the data set that it runs over (default: the first)")
    parser.add_argument(
        "--dimension", metavar="NAME", help="metric: the dimension that it belongs to (default: the only one)"
    )
    help_ = "metric: grade it in this scenario; may be repeated (default: where its dimension is graded)"
    parser.add_argument("--scenario", metavar="NAME", action="append", default=[], help=help_)
    parser.add_argument(
        "--data", metavar="DIR", action="append", default=[], help="search this folder for data files too"
    )


def add_check(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos check`."""
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a .tripos file, or a folder that holds one")
    parser.add_argument(
        "--data", metavar="DIR", action="append", default=[], help="search this folder for data files too"
    )
    add_releases(parser)
    add_allow_outside(parser)
    add_untrusted(parser)
    add_reach(parser)
    add_deny(parser)
    parser.add_argument("--all", action="store_true", help="show every error and warning, not only the first 100")
    formats = ("text", "json", "sarif", "github")
    parser.add_argument("--format", choices=formats, default="text", help="set the format of errors and warnings")
    help_ = "check the version number against an earlier version: a spec, or a plan in JSON"
    parser.add_argument("--against", metavar="PATH", help=help_)
    help_ = "test secrecy in N pairs of worlds that differ in secrets alone (default: 4)"
    parser.add_argument("--worlds", type=positive, metavar="N", nargs="?", const=4, help=help_)


def add_fmt(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos fmt`."""
    help_ = "a .tripos file, or a folder with such files; `-`: read standard input, write standard output"
    parser.add_argument("paths", metavar="PATH", nargs="+", help=help_)
    parser.add_argument(
        "--check", action="store_true", help="change nothing; name files to format, and exit with 1 if there are any"
    )
    parser.add_argument("--diff", action="store_true", help="change nothing; show the changes as a diff")
    add_untrusted(parser)


def add_describe(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos describe`."""
    add_spec(parser)
    help_ = "describe these data sets only (default: all from files)"
    parser.add_argument("--dataset", metavar="NAME[,NAME]", action="append", default=[], help=help_)
    parser.add_argument("--together", action="store_true", help="describe the data sets as one")
    help_ = "describe the rows separately for each value of a field, or each combination of several"
    parser.add_argument("--by", metavar="FIELD[,FIELD]", action="append", default=[], help=help_)
    help_ = "with --by: count these values under one name; may be repeated"
    parser.add_argument("--group", metavar="NAME=V[,V]", action="append", default=[], help=help_)
    help_ = "describe these fields only"
    parser.add_argument("--field", metavar="NAME[,NAME]", action="append", default=[], help=help_)
    figures = ("rows", "values", "distinct", "mean", "least", "median", "most")
    help_ = "with --by: show this figure for each field (default: mean)"
    parser.add_argument("--figure", choices=figures, help=help_)
    help_ = "count the length of texts in this unit (default: characters)"
    parser.add_argument("--unit", choices=("characters", "words"), default="characters", help=help_)
    help_ = "print a table, or all figures as JSON or CSV"
    parser.add_argument("--format", choices=("table", "json", "csv"), default="table", help=help_)


def add_init(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos init`."""
    from tripos.cli.parser import listed_verbs
    from tripos.cli.specs.starts import TEMPLATES

    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    listed = [("templates", [(each.name, each.help) for each in TEMPLATES.values()])]
    parser.epilog = "\n".join(listed_verbs(listed, max(map(len, TEMPLATES)))).lstrip("\n")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the folder to make; its last part names the benchmark")
    parser.add_argument("--template", choices=tuple(TEMPLATES), help="the benchmark to begin with (default: qa)")
    help_ = "begin with a benchmark that comes with Tripos, such as gallery/simpleqa"
    parser.add_argument("--from", dest="shipped", metavar="PATH", help=help_)
    help_ = "models under test in the settings; several are separated by commas (default: mock models)"
    parser.add_argument("--model", metavar="A[,B]", action="append", default=[], help=help_)
    parser.add_argument("-y", "--yes", action="store_true", help="ask nothing: take the defaults")
