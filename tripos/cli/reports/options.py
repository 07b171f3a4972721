"""Options of the verbs that show results: report, compare, leaderboard, export, sql, list, why, show."""

from __future__ import annotations

import argparse

from tripos.cli.arguments import add_deny, add_junit, add_store_options


def add_report(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos report`."""
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or the beginning of its name (default: the last)")
    add_store_options(parser)
    help_ = "take the measures of this spec, and not those that the run was made with; nothing is asked"
    parser.add_argument("--spec", metavar="PATH", help=help_)
    parser.add_argument(
        "--data", metavar="DIR", action="append", default=[], help="with --spec: look for data here too"
    )
    help_ = "only items whose axis, or treatments whose arm, has this value; may be repeated"
    parser.add_argument("--only", metavar="AXIS=V[,V]", action="append", default=[], help=help_)
    add_deny(parser)
    add_junit(parser)
    parser.add_argument("--sql", action="store_true", help="show the SQL of every measure")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos compare`."""
    help_ = "two runs, or one with two models (default: the last; of one model, with the run before it)"
    parser.add_argument("runs", metavar="RUN", nargs="*", help=help_)
    parser.add_argument("--models", metavar="A,B", action="append", default=[], help="the two models to compare")
    help_ = "compare although the rubric, the judges or what is scored changed between the runs"
    parser.add_argument("--anyway", action="store_true", help=help_)
    add_store_options(parser)
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")


def add_leaderboard(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos leaderboard`."""
    parser.add_argument("benchmarks", metavar="BENCHMARK", nargs="*", help="these benchmarks (default: all)")
    help_ = "take this measure of a benchmark in place of the one that stands for it; may be repeated"
    parser.add_argument("--measure", metavar="BENCHMARK=NAME", action="append", default=[], help=help_)
    help_ = "show the figures of this CSV file beside the models, marked and unranked; may be repeated"
    parser.add_argument("--published", metavar="FILE", action="append", default=[], help=help_)
    formats = ("text", "markdown", "csv", "json")
    parser.add_argument("--format", choices=formats, default="text", help="how it is shown")
    add_store_options(parser)
    help_ = "rank models that ran under other major versions too, though their scores mean something else"
    parser.add_argument("--anyway", action="store_true", help=help_)
    parser.add_argument("--json", action="store_true", help="print it as JSON, as --format json does")


def add_sql(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos sql`."""
    parser.add_argument("query", metavar="QUERY", nargs="?", help="DuckDB SQL")
    add_store_options(parser)
    parser.add_argument(
        "--run", metavar="RUN", help="show this run in the benchmark's views (default: what is current)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write .csv, .parquet, .json or .jsonl")
    help_ = "print the SQL that makes the same views and macros in any DuckDB, without Tripos"
    parser.add_argument("--snippet", action="store_true", help=help_)
    help_ = "make a DuckDB database of the same views and macros, for any program that opens one"
    parser.add_argument("--duckdb", metavar="FILE", help=help_)


def add_list(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos list`."""
    add_store_options(parser)
    parser.add_argument("--json", action="store_true", help="print the runs as JSON")


def add_why(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos why`."""
    help_ = "a sample_id, judgement_id or score_id, or the beginning of one, of 6 characters or more"
    parser.add_argument("key", metavar="KEY", help=help_)
    add_store_options(parser)
    parser.add_argument("--full", action="store_true", help="show every text whole")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def add_show(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos show`."""
    help_ = (
        "a conversation_id, turn_id or sample_id, or the beginning of one, of 6 characters or more; without one the "
        "last replies are listed"
    )
    parser.add_argument("key", metavar="KEY", nargs="?", help=help_)
    add_store_options(parser)
    parser.add_argument("--full", action="store_true", help="list all replies that followed")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
