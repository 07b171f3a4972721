"""Options of the verbs that show results: report, compare, leaderboard, export, sql, list, why, show."""

from __future__ import annotations

import argparse

from tripos.command.options.common import add_deny, add_junit, add_store
from tripos.command.options.kinds import amount


def add_report(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos report`."""
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or the beginning of its name (default: the last)")
    add_store(parser)
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
    add_store(parser)
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
    add_store(parser)
    help_ = "rank models that ran under other major versions too, though their scores mean something else"
    parser.add_argument("--anyway", action="store_true", help=help_)
    parser.add_argument("--json", action="store_true", help="print it as JSON, as --format json does")


def add_export(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos export`."""
    help_ = "distillation, preferences, eee, csv, parquet, xlsx, or the name of an `export` of the spec"
    parser.add_argument("what", metavar="KIND", help=help_)
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or the beginning of its name (default: the last)")
    parser.add_argument("-o", "--output", metavar="PATH", required=True, help="the file, or the folder, to write")
    help_ = "of this spec, not of a run: pairs that an `export` makes of data"
    parser.add_argument("--spec", metavar="PATH", help=help_)
    help_ = "with --spec: look for data here too"
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    parser.add_argument("--by", metavar="NAME", help="the measure or score that says what is better")
    help_ = "the model that is best in each of these: scenario, metric, an axis, an arm"
    parser.add_argument("--per", metavar="DIM[,DIM]", action="append", default=[], help=help_)
    help_ = "all replies of a model that is best in any of these, and not those there alone"
    parser.add_argument("--every", action="store_true", help=help_)
    help_ = "replies of these runs, graded or not; RUN says which models are best"
    parser.add_argument("--replies-of", metavar="RUN[,RUN]", action="append", default=[], help=help_)
    parser.add_argument("--margin", type=amount, metavar="N", help="leave out pairs that are less apart (default: 0)")
    help_ = "the asks whose replies are exported (default: those that are scored)"
    parser.add_argument("--rows", metavar="STEP[,STEP]", action="append", default=[], help=help_)
    parser.add_argument("--format", choices=("chat", "completion"), help="how a line is written (default: chat)")
    help_ = "replies of these models only (default: all that are compared)"
    parser.add_argument("--models", metavar="A[,B]", action="append", default=[], help=help_)
    help_ = "replies in this scenario only; may be repeated"
    parser.add_argument("--scenario", metavar="NAME", action="append", default=[], help=help_)
    help_ = "replies whose axis or arm has this value only; may be repeated"
    parser.add_argument("--only", metavar="AXIS=V[,V]", action="append", default=[], help=help_)
    help_ = "leave out the items of these subsets (default: all of the spec's)"
    parser.add_argument("--hold-out", metavar="NAME[,NAME]", action="append", default=[], help=help_)
    help_ = "leave out the items of these runs, which may be of other benchmarks"
    parser.add_argument("--apart-from", metavar="RUN[,RUN]", action="append", default=[], help=help_)
    help_ = "these tables only: items, samples, scores, measures"
    parser.add_argument("--table", metavar="NAME[,NAME]", action="append", default=[], help=help_)
    help_ = "write texts as they are, also those that a spreadsheet would take for formulas"
    parser.add_argument("--raw", action="store_true", help=help_)
    parser.add_argument("--organization", metavar="NAME", help="who ran the benchmark, as it is said in eee")
    help_ = "write also what the spec marks as secret, and what other roles were told"
    parser.add_argument("--secrets", action="store_true", help=help_)
    add_store(parser)
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def add_sql(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos sql`."""
    parser.add_argument("query", metavar="QUERY", nargs="?", help="DuckDB SQL")
    add_store(parser)
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
    add_store(parser)
    parser.add_argument("--json", action="store_true", help="print the runs as JSON")


def add_why(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos why`."""
    help_ = "a sample_id, judgement_id or score_id, or the beginning of one, of 6 characters or more"
    parser.add_argument("key", metavar="KEY", help=help_)
    add_store(parser)
    parser.add_argument("--full", action="store_true", help="show every text whole")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def add_show(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos show`."""
    help_ = (
        "a conversation_id, turn_id or sample_id, or the beginning of one, of 6 characters or more; without one the "
        "last replies are listed"
    )
    parser.add_argument("key", metavar="KEY", nargs="?", help=help_)
    add_store(parser)
    parser.add_argument("--full", action="store_true", help="list all replies that followed")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
