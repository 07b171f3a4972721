"""Options of the verbs that show results: report, compare, leaderboard, export, sql, list, why, show."""

from __future__ import annotations

import argparse

from tripos.cli.arguments import above_zero, add_deny, add_junit, add_store_options, add_untrusted, length, margin

FORMATS = ("text", "md", "latex", "csv", "json", "html")
SHORT = {"markdown": "md", "tex": "latex"}


def _add_format(parser: argparse.ArgumentParser, *, intervals: bool = True) -> None:
    """Add the format of the output, and where intervals stand in it."""
    help_ = "print tables as text, Markdown, LaTeX (booktabs and siunitx), CSV, JSON or HTML (default: text)"
    parser.add_argument(
        "--format", type=lambda text: SHORT.get(text, text), choices=FORMATS, default="text", help=help_
    )
    if intervals:
        help_ = "in md, latex and html: print intervals as [low, high] (ci), as ± (pm), or not at all (none)"
        parser.add_argument("--interval", choices=("ci", "pm", "none"), help=help_)


def add_report(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos report`."""
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or a prefix of its name (default: the last run)")
    add_store_options(parser)
    help_ = "compute the measures of this spec from the results of the run; make no call"
    parser.add_argument("--spec", metavar="PATH", help=help_)
    parser.add_argument(
        "--data", metavar="DIR", action="append", default=[], help="with --spec: search this folder for data too"
    )
    help_ = "use only items, or treatments, with this value of an axis or arm; may be repeated"
    parser.add_argument("--only", metavar="AXIS=V[,V]", action="append", default=[], help=help_)
    add_untrusted(parser)
    add_deny(parser)
    add_junit(parser)
    _add_format(parser)
    parser.add_argument("--sql", action="store_true", help="print the SQL of every measure")
    help_ = "print the classes that were said for each that is right, and the share of probabilities that came true"
    parser.add_argument("--confusion", action="store_true", help=help_)
    help_ = "print how hard each item is, whether it tells models apart, and which items to look at"
    parser.add_argument("--items", action="store_true", help=help_)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--html", metavar="FILE", help="write the report as one page that needs no server")


def add_view(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos view`."""
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or a prefix of its name (default: all runs)")
    add_store_options(parser)
    where = parser.add_mutually_exclusive_group()
    help_ = "write the page to this folder, for any web server or to open from disk"
    where.add_argument("--to", metavar="FOLDER", help=help_)
    where.add_argument("--port", type=int, default=0, help="serve on this port (default: any that is free)")
    parser.add_argument("--open", action="store_true", help="open the page in the browser")


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos compare`."""
    help_ = "two runs, or one run with two models (default: the last run; if it has one model, with the run before)"
    parser.add_argument("runs", metavar="RUN", nargs="*", help=help_)
    parser.add_argument("--models", metavar="A,B", action="append", default=[], help="the two models to compare")
    help_ = "compare even if the rubric, the judges or the scores changed between the runs"
    parser.add_argument("--anyway", action="store_true", help=help_)
    add_store_options(parser)
    help_ = "say whether A and B are equivalent within this margin, or B not worse; of NAME alone, or of every row"
    parser.add_argument("--within", type=margin, metavar="[NAME=]X", action="append", default=[], help=help_)
    help_ = "write a test for every measure to a file, as JUnit XML for CI; one fails where A is better"
    parser.add_argument("--junit", metavar="FILE", help=help_)
    _add_format(parser)
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")


def add_leaderboard(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos leaderboard`."""
    parser.add_argument("benchmarks", metavar="BENCHMARK", nargs="*", help="benchmarks to show (default: all)")
    help_ = "rank the runs of this board alone, which `tripos promote` names"
    parser.add_argument("--board", metavar="NAME", help=help_)
    help_ = "use this measure of a benchmark instead of its headline; may be repeated"
    parser.add_argument("--measure", metavar="BENCHMARK=NAME", action="append", default=[], help=help_)
    help_ = "add the published figures of this CSV file, marked and without a rank; may be repeated"
    parser.add_argument("--published", metavar="FILE", action="append", default=[], help=help_)
    _add_format(parser)
    add_store_options(parser)
    help_ = "rank models of other major versions too, although their scores have another meaning"
    parser.add_argument("--anyway", action="store_true", help=help_)
    parser.add_argument("--json", action="store_true", help="print JSON, like --format json")


PLOTS = ("leaderboard", "runs", "heatmap", "radar", "gain", "judges", "calibration", "power", "cost")
"""The kinds of pictures, which `tripos.plots` makes: its import would take longer than most commands."""


def add_plot(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos plot`."""
    parser.add_argument("kind", metavar="KIND", choices=PLOTS, help=", ".join(PLOTS))
    help_ = (
        "a run, or a prefix of its name (default: the last run; leaderboard and cost: all models of its benchmark); "
        "runs: several, or all of the benchmark"
    )
    parser.add_argument("run", metavar="RUN", nargs="*", help=help_)
    add_store_options(parser)
    help_ = "write the picture to this file: .svg, .png, .pdf or .vl.json (Vega-Lite)"
    parser.add_argument("--out", metavar="FILE", required=True, help=help_)
    parser.add_argument(
        "--measure", metavar="NAME", help="draw this measure (default: the headline, or the first that fits)"
    )
    parser.add_argument(
        "--models", metavar="A,B", action="append", default=[], help="draw these models only, in this order"
    )
    parser.add_argument(
        "--against", metavar="NAME", help="judges: hold judges against this evaluator (default: people)"
    )
    parser.add_argument("--metric", metavar="NAME", help="judges: draw the grades of this metric only")
    help_ = "cost: USD for 1,000 replies, tokens written per reply, or seconds per reply (default: usd)"
    parser.add_argument("--cost", choices=("usd", "tokens", "seconds"), help=help_)
    sizes = ("column", "page", "slide")
    help_ = "size of the picture: a column or a page of a paper, or a slide (default: page)"
    parser.add_argument("--for", dest="size", choices=sizes, default="page", help=help_)
    parser.add_argument("--width", type=length, metavar="LENGTH", help="width of the picture, such as 8.4cm or 3.3in")
    parser.add_argument("--font", metavar="NAME", help="font of all texts")
    parser.add_argument("--font-size", type=above_zero, metavar="POINTS", help="size of the texts in points")
    parser.add_argument(
        "--language", metavar="CODE", help="language of titles and words, such as en or zh (default: yours)"
    )
    parser.add_argument("--bare", action="store_true", help="leave out the title and the notes, which are printed")


def add_sql(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos sql`."""
    parser.add_argument("query", metavar="QUERY", nargs="?", help="DuckDB SQL")
    add_store_options(parser)
    parser.add_argument(
        "--run", metavar="RUN", help="show this run in the benchmark's views (default: the latest state)"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the answer to a file: .csv, .parquet, .json or .jsonl"
    )
    _add_format(parser, intervals=False)
    parser.add_argument("--json", action="store_true", help="print JSON, like --format json")
    help_ = "print SQL that creates the same views and macros in any DuckDB"
    parser.add_argument("--snippet", action="store_true", help=help_)
    help_ = "write a DuckDB database with the same views and macros"
    parser.add_argument("--duckdb", metavar="FILE", help=help_)


def add_list(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos list`."""
    add_store_options(parser)
    parser.add_argument("--json", action="store_true", help="print the runs as JSON")


def add_why(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos why`."""
    help_ = "a sample_id, judgement_id or score_id, or a prefix of one, of 6 characters or more"
    parser.add_argument("key", metavar="KEY", help=help_)
    add_store_options(parser)
    parser.add_argument("--full", action="store_true", help="print every text in full")
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_show(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos show`."""
    help_ = (
        "a conversation_id, turn_id or sample_id, or a prefix of one, of 6 characters or more "
        "(default: list the last replies)"
    )
    parser.add_argument("key", metavar="KEY", nargs="?", help=help_)
    add_store_options(parser)
    parser.add_argument("--full", action="store_true", help="list all replies that followed")
    parser.add_argument("--json", action="store_true", help="print JSON")
