"""The options of all commands except those that run a benchmark (`run_options`)."""

from __future__ import annotations

import argparse

from tripos.cli.arguments import (
    above_zero,
    add_allow_outside,
    add_deny,
    add_junit,
    add_models,
    add_programs,
    add_reach,
    add_releases,
    add_spec,
    add_store_options,
    add_untrusted,
    amount,
    count,
    duration,
    length,
    margin,
    port,
    positive,
    share,
)
from tripos.cli.parser import Parser


# Commands on a spec
def add_new(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos new`."""
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
    """Add the options of `tripos check`."""
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
    """Add the options of `tripos fmt`."""
    help_ = "a .tripos file, or a folder with such files; `-`: read standard input, write standard output"
    parser.add_argument("paths", metavar="PATH", nargs="+", help=help_)
    parser.add_argument(
        "--check", action="store_true", help="change nothing; name files to format, and exit with 1 if there are any"
    )
    parser.add_argument("--diff", action="store_true", help="change nothing; show the changes as a diff")
    add_untrusted(parser)


def add_describe(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos describe`."""
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
    """Add the options of `tripos init`."""
    from tripos.cli.parser import command_lines
    from tripos.cli.project_files import TEMPLATES

    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    listed = [("templates", [(each.name, each.help) for each in TEMPLATES.values()])]
    parser.epilog = "\n".join(command_lines(listed, max(map(len, TEMPLATES)))).lstrip("\n")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the folder to make; its last part names the benchmark")
    parser.add_argument("--template", choices=tuple(TEMPLATES), help="the benchmark to begin with (default: qa)")
    help_ = "begin with a benchmark that comes with Tripos, such as gallery/simpleqa"
    parser.add_argument("--from", dest="shipped", metavar="PATH", help=help_)
    help_ = "models under test in the settings; several are separated by commas (default: mock models)"
    parser.add_argument("--model", metavar="A[,B]", action="append", default=[], help=help_)
    parser.add_argument("-y", "--yes", action="store_true", help="ask nothing: take the defaults")


FORMATS = ("text", "md", "latex", "csv", "json", "html")
SHORT = {"markdown": "md", "tex": "latex"}


def _add_format(parser: argparse.ArgumentParser, *, intervals: bool = True) -> None:
    """Add the options for the output format and, with `intervals`, for the display of intervals."""
    help_ = "print tables as text, Markdown, LaTeX (booktabs and siunitx), CSV, JSON or HTML (default: text)"
    parser.add_argument(
        "--format", type=lambda text: SHORT.get(text, text), choices=FORMATS, default="text", help=help_
    )
    if intervals:
        help_ = "in md, latex and html: print intervals as [low, high] (ci), as ± (pm), or not at all (none)"
        parser.add_argument("--interval", choices=("ci", "pm", "none"), help=help_)


# Commands that show results
def add_report(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos report`."""
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
    """Add the options of `tripos view`."""
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or a prefix of its name (default: all runs)")
    add_store_options(parser)
    where = parser.add_mutually_exclusive_group()
    help_ = "write the page to this folder, for any web server or to open from disk"
    where.add_argument("--to", metavar="FOLDER", help=help_)
    where.add_argument("--port", type=int, default=0, help="serve on this port (default: any that is free)")
    parser.add_argument("--open", action="store_true", help="open the page in the browser")


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos compare`."""
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
    """Add the options of `tripos leaderboard`."""
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
"""The kinds of plots. They are repeated here because importing `tripos.plots` takes longer than most commands."""


def add_plot(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos plot`."""
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
    """Add the options of `tripos sql`."""
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
    """Add the options of `tripos list`."""
    add_store_options(parser)
    parser.add_argument("--json", action="store_true", help="print the runs as JSON")


def add_why(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos why`."""
    help_ = "a sample_id, judgement_id or score_id, or a prefix of one, of 6 characters or more"
    parser.add_argument("key", metavar="KEY", help=help_)
    add_store_options(parser)
    parser.add_argument("--full", action="store_true", help="print every text in full")
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_show(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos show`."""
    help_ = (
        "a conversation_id, turn_id or sample_id, or a prefix of one, of 6 characters or more "
        "(default: list the last replies)"
    )
    parser.add_argument("key", metavar="KEY", nargs="?", help=help_)
    add_store_options(parser)
    parser.add_argument("--full", action="store_true", help="list all replies that followed")
    parser.add_argument("--json", action="store_true", help="print JSON")


SEARCHED = "search this folder for data files too"


# Commands on releases and versions
def add_release(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos release`."""
    add_spec(parser)
    help_ = "write NAME-VERSION to this folder (default: releases)"
    add_store_options(parser)
    parser.add_argument("--to", metavar="DIR", default="releases", help=help_)
    help_ = "the release that this one follows (default: the highest version of the benchmark in --to)"
    parser.add_argument("--parent", metavar="DIR", help=help_)
    help_ = "date of the release, as 2026-11-21 (default: SOURCE_DATE_EPOCH, or none)"
    parser.add_argument("--date", metavar="DAY", help=help_)
    help_ = "sign the release with this secret key of minisign or SSH; TRIPOS_KEY_PASSWORD has its password"
    parser.add_argument("--sign-key", metavar="FILE", help=help_)
    help_ = "reward model of a role: its folder, which is copied, or its SHA-256"
    parser.add_argument("--artefact", metavar="ROLE=DIR|SHA256", action="append", default=[], help=help_)
    parser.add_argument("--zip", action="store_true", help="write a zip file too, next to the folder")
    help_ = "copy the release to this place too: s3://bucket/releases, file:///srv/releases, hf://OWNER/NAME"
    parser.add_argument("--push", metavar="URL", help=help_)
    parser.add_argument("--json", action="store_true", help="print a summary as JSON")


def add_fetch(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos fetch`."""
    help_ = "the URL of a release, or a spec, whose releases and data are fetched"
    parser.add_argument("path", metavar="URL|PATH", help=help_)
    parser.add_argument("--to", metavar="DIR", help="keep them here (default: releases, beside the spec)")
    parser.add_argument("--digest", metavar="SHA256", help="the digest that the release at the URL must have")
    add_reach(parser)
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help="look for data files here too")
    add_releases(parser)
    add_untrusted(parser)
    parser.add_argument("--json", action="store_true", help="print what was fetched as JSON")


def add_verify(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos verify`."""
    parser.add_argument("path", metavar="DIR", nargs="?", help="a release: its folder, its zip, or its URL")
    help_ = "verify this statement of `tripos attest` instead; with --store against the rows of the store"
    parser.add_argument("--result", metavar="FILE", help=help_)
    parser.add_argument("--store", metavar="DIR", help="with --result: the store that has the run")
    parser.add_argument("--profile", metavar="NAME", help="use the settings of [profiles.NAME] in tripos.toml")
    parser.add_argument(
        "--data", metavar="DIR", action="append", default=[], help="search this folder for its data too"
    )
    add_releases(parser)
    add_untrusted(parser)
    add_reach(parser)
    help_ = "check this reward model against the digest in the release"
    parser.add_argument("--artefact", metavar="ROLE=DIR", action="append", default=[], help=help_)
    parser.add_argument("--digest", metavar="SHA256", help="require this digest, as it was cited")
    help_ = "require a signature by this public key of minisign or SSH: a file, or its content"
    parser.add_argument("--key", metavar="KEY", help=help_)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_diff(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos diff`."""
    help_ = "a spec, a release, a plan in JSON, or REVISION:PATH of git"
    parser.add_argument("before", metavar="A", help=help_)
    parser.add_argument("after", metavar="B", help="the later version, in the same form")
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help=SEARCHED)
    add_releases(parser)
    add_untrusted(parser)
    add_reach(parser)
    help_ = "forecast what the next run asks with this store, as the last run of A was"
    parser.add_argument("--store", metavar="DIR", help=help_)
    add_models(parser)
    parser.add_argument("--profile", metavar="NAME", help="use the settings of [profiles.NAME] in tripos.toml")
    help_ = "set the output format; github: a comment on a pull request, with the figures of --store before and after"
    formats = ("text", "json", "markdown", "github")
    parser.add_argument("--format", choices=formats, default="text", help=help_)


def add_history(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos history`."""
    parser.add_argument("measure", metavar="MEASURE", help="a measure, such as accuracy or parity.accuracy")
    help_ = "a benchmark of the store, or its spec or release (default: the one that has the measure)"
    parser.add_argument("benchmark", metavar="BENCHMARK|SPEC", nargs="?", help=help_)
    parser.add_argument("--models", metavar="A,B", action="append", default=[], help="show these models only")
    add_store_options(parser)
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help=SEARCHED)
    add_releases(parser)
    add_untrusted(parser)
    add_reach(parser)
    parser.add_argument("--json", action="store_true", help="print the history as JSON")


def add_attest(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos attest`."""
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or a prefix of its name (default: the last run)")
    add_store_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="the file (default: BENCHMARK-RUN.result.json)")
    parser.add_argument("--lock", metavar="FILE", help="put the digest of this lock file into the statement")
    help_ = "sign it with this secret key of minisign or SSH; TRIPOS_KEY_PASSWORD has its password"
    parser.add_argument("--sign-key", metavar="FILE", help=help_)
    parser.add_argument("--json", action="store_true", help="print a summary as JSON")


def add_promote(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos promote`."""
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or a prefix of its name")
    parser.add_argument("--as", dest="board", metavar="NAME", help="the board, such as leaderboard")
    parser.add_argument("--withdraw", action="store_true", help="take the run off the board; the history stays")
    parser.add_argument("--reason", metavar="TEXT", help="keep a reason with it")
    parser.add_argument(
        "--list", action="store_true", help="list the runs of every board, or of --as, with the history"
    )
    add_store_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_lock(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos lock`."""
    add_spec(parser)
    parser.add_argument(
        "--model",
        metavar="A[,B]",
        action="append",
        default=[],
        help="model under test; several are separated by commas",
    )
    help_ = "model for another role (default: the model under test)"
    parser.add_argument("--role", metavar="NAME=A[,B]", action="append", default=[], help=help_)
    add_store_options(parser)
    help_ = "the file to write (default: tripos.lock)"
    parser.add_argument("-o", "--output", metavar="FILE", default="tripos.lock", help=help_)


# Commands that import, and the store
def add_import(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos import`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    scores = actions.add_parser("scores", help="import scores of replies in the store, by people or other judges")
    samples = actions.add_parser("samples", help="import replies to the items of a spec")
    for action in (scores, samples):
        help_ = "CSV, TSV, Excel, JSON Lines, JSON, Parquet or Arrow; or a pattern such as `{language}.csv`"
        action.add_argument("file", metavar="FILE", help=help_)
        help_ = "map a field to a column, such as value=Score; may be repeated"
        action.add_argument("--column", metavar="FIELD=COLUMN", action="append", default=[], help=help_)
        help_ = "set a field to the same value in every row, such as language=en; may be repeated"
        action.add_argument("--set", metavar="FIELD=VALUE", action="append", default=[], help=help_)
        help_ = "make a row of every entry of the lists in this column"
        action.add_argument("--each", metavar="COLUMN", help=help_)
        action.add_argument("--mapping", metavar="TOML", help="read the mapping from a file")
        action.add_argument("--rejected", metavar="FILE", help="write the rejected rows to a file, as .jsonl or .csv")
        action.add_argument(
            "--skip-rejected", action="store_true", help="import the valid rows without the rejected ones"
        )
        action.add_argument("--dry-run", action="store_true", help="show the rows to import, and write nothing")
    scores.add_argument("--evaluator", metavar="NAME", help="rater of the scores, such as human/alice")
    scores.add_argument("--round", type=positive, metavar="N", help="round of the scores (default: 1)")
    scores.add_argument("--run", metavar="RUN", help="run with the scored replies (default: the last run)")
    scores.add_argument("--replace", action="store_true", help="replace scores in the store that changed")
    samples.add_argument("--spec", metavar="PATH", dest="path", required=True, help="spec that the replies answer")
    help_ = "search this folder for data files too"
    samples.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    samples.add_argument("--model", metavar="NAME", help="model of the replies, if no column names it")
    help_ = "model of another role that replies; may be repeated"
    samples.add_argument("--role", metavar="NAME=MODEL", action="append", default=[], help=help_)
    add_deny(samples)
    add_programs(samples)
    for action in (scores, samples):
        _add_trust(action)
        add_store_options(action)
        action.add_argument("--json", action="store_true", help="print a summary as JSON")
    _add_logs(actions.add_parser("logs", help="import logs of other evaluation tools, as runs of a spec made of them"))
    _add_tree(actions.add_parser("tree", help="make a tree from an outline, or from the drafts of a run"))
    _add_task(actions.add_parser("task", help="make a spec from a task of lm-eval, Inspect or promptfoo"))
    _add_dataset(actions.add_parser("dataset", help="propose a data set for rows of a file, the Hub or a database"))


def _add_trust(action: argparse.ArgumentParser) -> None:
    """Add the options for what an import may read."""
    add_untrusted(action)
    help_ = "read files outside of the folder and the project of what is imported"
    action.add_argument("--allow-outside", action="store_true", help=help_)


def _add_dataset(action: argparse.ArgumentParser) -> None:
    help_ = "a data file or a pattern; hf://OWNER/NAME[@REVISION][/PATH]; a database, as .sqlite, .db or .duckdb"
    action.add_argument("source", metavar="SOURCE", help=help_)
    help_ = "name of the data set (default: that of the file)"
    action.add_argument("--name", metavar="NAME", help=help_)
    help_ = "add it to this spec: a .tripos file, or a folder that holds one (default: print it)"
    action.add_argument("--in", dest="path", metavar="PATH", help=help_)
    help_ = "search this folder for data files too"
    action.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    action.add_argument("--split", metavar="NAME", help="on the Hub: the files of this split or configuration")
    action.add_argument("--query", metavar="SQL", help="of a database: the rows (default: its only table)")
    help_ = "of a database: file for the rows (default: NAME.jsonl beside the spec)"
    action.add_argument("-o", "--output", metavar="FILE", help=help_)
    action.add_argument("--replace", action="store_true", help="overwrite an existing file")
    action.add_argument("--json", action="store_true", help="print the proposal as JSON")
    _add_trust(action)
    add_reach(action)


def _add_logs(action: argparse.ArgumentParser) -> None:
    action.add_argument("paths", metavar="PATH", nargs="+", help="a log, or a folder with logs")
    help_ = "folder of the specs and their items (default: imported)"
    action.add_argument("-o", "--output", metavar="DIR", help=help_)
    help_ = "name of the benchmark of all logs (default: the task of each log)"
    action.add_argument("--name", metavar="NAME", help=help_)
    action.add_argument("--model", metavar="NAME", help="name of the model of all logs, as a run would name it")
    help_ = "name of a score here, such as exact_match=match; may be repeated"
    action.add_argument("--score", metavar="NAME=HERE", action="append", default=[], help=help_)
    action.add_argument("--replace", action="store_true", help="replace scores in the store that changed")
    action.add_argument("--dry-run", action="store_true", help="show what would be imported, and write no results")
    _add_trust(action)
    add_store_options(action)
    action.add_argument("--json", action="store_true", help="print a summary as JSON")


def _add_tree(action: argparse.ArgumentParser) -> None:
    help_ = "an outline: one point per line, indented, numbered or with bullets; `-` reads standard input"
    action.add_argument("file", metavar="FILE", nargs="?", help=help_)
    action.add_argument("-o", "--output", metavar="FILE", help=".yaml or .json (default: YAML on standard output)")
    action.add_argument("--top", metavar="NAME", help="put everything below a branch of this name")
    help_ = "instead of a file: the run with the drafts, or a prefix of its name; '' means the last run"
    action.add_argument("--run", metavar="RUN", help=help_)
    action.add_argument("--step", metavar="NAME", help="with --run: the step whose replies are the outlines")
    help_ = "with --run: use only items with this value of a field; may be repeated"
    action.add_argument("--only", metavar="FIELD=VALUE", action="append", default=[], help=help_)
    action.add_argument("--replace", action="store_true", help="overwrite an existing file")
    _add_trust(action)
    add_store_options(action)


def _add_task(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "file",
        metavar="PATH",
        help="the YAML of a task of lm-eval, or a folder of them; of promptfoo; or a module of Inspect",
    )
    action.add_argument("--task", metavar="NAME", help="the task to import, of a folder or a module with several")
    action.add_argument("-o", "--output", metavar="DIR", help="folder of the spec (default: the name of the task)")
    help_ = "number of worked examples (default: that of the task)"
    action.add_argument("--shots", metavar="N", type=count, help=help_)
    action.add_argument("--language", metavar="CODE", default="en", help="language of the texts (default: en)")
    help_ = "execute the Python of the task once, to write its rows; needs lm-eval or Inspect"
    action.add_argument("--run-python", action="store_true", help=help_)
    help_ = "with --run-python: the Python of the environment that has them (default: that of Tripos)"
    action.add_argument("--python", metavar="PATH", help=help_)
    help_ = "of Inspect: an argument of the task, as JSON or text; may be repeated"
    action.add_argument("--argument", metavar="NAME=VALUE", action="append", default=[], help=help_)
    help_ = "search this folder for data files, which tell the types of columns; may be repeated"
    action.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    action.add_argument("--replace", action="store_true", help="overwrite existing files")
    _add_trust(action)
    action.add_argument("--json", action="store_true", help="print a summary as JSON")


def add_approve(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos approve`."""
    parser.add_argument("file", metavar="FILE", help="the reviewed tree: `NAME.draft.yaml` or `.json`")
    parser.add_argument("--name", metavar="NAME", help="name of the reviewer")
    parser.add_argument("--replace", action="store_true", help="replace another tree of that name")
    parser.add_argument("--json", action="store_true", help="print a summary as JSON")


def add_annotate(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos annotate`."""
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or a prefix of its name (default: the last run)")
    parser.add_argument("--role", metavar="ROLE", help="role of the person (default: the role that grades)")
    parser.add_argument("--name", metavar="NAME", help="name of the person; the evaluator is human/NAME")
    help_ = "spreadsheet to write, or with --page the file for the grades (default: NAME.xlsx, NAME.jsonl)"
    parser.add_argument("-o", "--output", metavar="FILE", help=help_)
    parser.add_argument(
        "--page", action="store_true", help="grade on a page in the browser, served to this machine only"
    )
    parser.add_argument("--port", type=port, metavar="N", help="with --page: port of the page (default: a free port)")
    help_ = "draw N replies in all, evenly over scenarios and models"
    parser.add_argument("--sample", type=positive, metavar="N", help=help_)
    help_ = "draw this share of the sample from replies of other people, and the rest from new replies"
    parser.add_argument("--overlap", type=share, metavar="SHARE", help=help_)
    help_ = "with --sample: draw items with every reply to them, the same items of each model"
    parser.add_argument("--whole-items", action="store_true", help=help_)
    help_ = "with --sample: draw more where earlier grades varied more, by scenario and model"
    parser.add_argument("--optimal", action="store_true", help=help_)
    help_ = "with --sample: draw each value of this axis, arm or column in its proportion; may be repeated"
    parser.add_argument("--balance", metavar="NAME", action="append", default=[], help=help_)
    parser.add_argument("--limit", type=positive, metavar="N", help="use at most N items for each scenario")
    help_ = "use only items, or replies, with this value of an axis or arm; may be repeated"
    parser.add_argument("--only", metavar="AXIS=V[,V]", action="append", default=[], help=help_)
    help_ = "use this scenario only; may be repeated"
    parser.add_argument("--scenario", metavar="NAME", action="append", default=[], help=help_)
    parser.add_argument("--subset", metavar="NAME", help="use only the items of this `subset` of the spec")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the draw and of the order (default: 0)")
    help_ = "round of this person (default: 1)"
    parser.add_argument("--round", type=positive, metavar="N", help=help_)
    parser.add_argument("--take", metavar="FILE", help="check the grades of a returned file, and import them")
    help_ = "with --take: leave out replies without a grade"
    parser.add_argument("--partial", action="store_true", help=help_)
    add_store_options(parser)
    parser.add_argument("--json", action="store_true", help="with --take: print a summary as JSON")


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos store`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    gc = actions.add_parser("gc", help="remove files that are no longer used")
    help_ = "keep younger files: seconds, or a time such as 30m, 12h, 7d (default: 1h)"
    gc.add_argument("--grace", type=duration, metavar="TIME", default=3600.0, help=help_)
    gc.add_argument("--dry-run", action="store_true", help="list the files to remove, and remove nothing")
    compact = actions.add_parser("compact", help="merge small files, and remove duplicate rows")
    merge = actions.add_parser("merge", help="add the results of other stores to one")
    merge.add_argument("stores", metavar="STORE", nargs="+", help="stores to read; they stay as they are")
    merge.add_argument("--into", metavar="DIR", required=True, help="store that gets the results; made where it is not")
    merge.add_argument("--json", action="store_true", help="print what was added as JSON")
    mirror = actions.add_parser("mirror", help="let other engines read the store, through Iceberg or Delta Lake")
    formats = mirror.add_mutually_exclusive_group(required=True)
    formats.add_argument("--iceberg", metavar="DIR", help="folder for the metadata of Iceberg")
    formats.add_argument("--delta", metavar="DIR", help="folder for the metadata of Delta Lake")
    check = actions.add_parser("check", help="find damage, and show a digest of every table")
    batches = actions.add_parser("batches", help="list batches that are under way at providers, or give one up")
    help_ = "count this batch as lost: its requests are asked again, and may be paid for twice"
    batches.add_argument("--give-up", metavar="BATCH", help=help_)
    done = (
        (batches, "the batches"),
        (gc, "what was removed"),
        (compact, "what was done"),
        (check, "what was found"),
        (mirror, "what was done"),
    )
    for action, told in done:
        add_store_options(action)
        action.add_argument("--json", action="store_true", help=f"print {told} as JSON")


def add_judges(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos judges`."""
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or a prefix of its name (default: the last run)")
    add_store_options(parser)
    help_ = "count the drift of judges from this earlier run, on the same replies"
    parser.add_argument("--since", metavar="RUN", help=help_)
    help_ = "hold the judges against this evaluator instead of people, such as a stronger judge"
    parser.add_argument("--against", metavar="NAME", help=help_)
    help_ = "learn thresholds of cascades that agree with people in this share of replies (default: 0.9)"
    parser.add_argument("--agree", metavar="SHARE", type=share, help=help_)
    parser.add_argument("--json", action="store_true", help="print JSON")


# Commands that export and train
def add_export(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos export`."""
    help_ = (
        "distillation, preferences, eee, inspect, lm-eval, hub, otel, csv, parquet, xlsx, "
        "or the name of an `export` of the spec"
    )
    parser.add_argument("what", metavar="KIND", help=help_)
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or a prefix of its name (default: the last run)")
    parser.add_argument("-o", "--output", metavar="PATH", help="the file, or the folder, to write")
    help_ = "export pairs from the data of this spec, without a run"
    parser.add_argument("--spec", metavar="PATH", help=help_)
    help_ = "with --spec: search this folder for data too"
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    add_untrusted(parser)
    parser.add_argument("--by", metavar="NAME", help="measure or score that ranks models, or replies")
    help_ = "choose the best model in each of these: scenario, metric, an axis, an arm"
    parser.add_argument("--per", metavar="DIM[,DIM]", action="append", default=[], help=help_)
    help_ = "export all replies of a model that is best in any cell, not only those of the cell"
    parser.add_argument("--every", action="store_true", help=help_)
    help_ = "export replies of these runs, graded or not; RUN determines the best models"
    parser.add_argument("--replies-of", metavar="RUN[,RUN]", action="append", default=[], help=help_)
    parser.add_argument(
        "--margin", type=amount, metavar="N", help="leave out pairs with a smaller difference (default: 0)"
    )
    help_ = "export the replies of these asks (default: the scored ones)"
    parser.add_argument("--rows", metavar="STEP[,STEP]", action="append", default=[], help=help_)
    parser.add_argument("--format", choices=("chat", "completion"), help="set the format of a line (default: chat)")
    help_ = "export replies of these models only (default: all models under test)"
    parser.add_argument("--models", metavar="A[,B]", action="append", default=[], help=help_)
    help_ = "export replies of this scenario only; may be repeated"
    parser.add_argument("--scenario", metavar="NAME", action="append", default=[], help=help_)
    help_ = "export replies with this value of an axis or arm only; may be repeated"
    parser.add_argument("--only", metavar="AXIS=V[,V]", action="append", default=[], help=help_)
    help_ = "leave out the items of these subsets (default: all of the spec's)"
    parser.add_argument("--hold-out", metavar="NAME[,NAME]", action="append", default=[], help=help_)
    help_ = "leave out the items of these runs, which may be of other benchmarks"
    parser.add_argument("--apart-from", metavar="RUN[,RUN]", action="append", default=[], help=help_)
    help_ = "export these tables only: items, samples, scores, measures"
    parser.add_argument("--table", metavar="NAME[,NAME]", action="append", default=[], help=help_)
    help_ = "write texts unchanged, also those that a spreadsheet takes for formulas"
    parser.add_argument("--raw", action="store_true", help=help_)
    parser.add_argument("--organization", metavar="NAME", help="organization that ran the benchmark, for eee and hub")
    parser.add_argument("--dataset", metavar="OWNER/NAME", help="data set of the benchmark on the Hub, for hub")
    parser.add_argument("--source", metavar="URL", help="address where the results can be read, for hub")
    parser.add_argument("--to", metavar="URL", help="endpoint of OTLP over HTTP, for otel")
    help_ = "write or send messages and replies of the models under test too, for hub and otel"
    parser.add_argument("--content", action="store_true", help=help_)
    help_ = "write secrets too, and the prompts and replies of other roles"
    parser.add_argument("--secrets", action="store_true", help=help_)
    add_store_options(parser)
    parser.add_argument("--json", action="store_true", help="print a summary as JSON")


def add_emit(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos emit`."""
    forms = ("jsonschema", "lm-eval", "openai-evals", "promptfoo")
    help_ = "the form: jsonschema, lm-eval, openai-evals or promptfoo"
    parser.add_argument("form", choices=forms, metavar="FORM", help=help_)
    parser.add_argument("path", metavar="SPEC", help="a spec, a folder with one, or a release")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the folder to write")
    help_ = "search this folder for data files too"
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    add_untrusted(parser)
    add_deny(parser)
    parser.add_argument("--json", action="store_true", help="print the files and what is lost as JSON")


def add_train(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos train`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    _add_sft(actions)
    _add_reward(actions)


def _add_reward(actions: argparse._SubParsersAction[Parser]) -> None:
    """Add the options of `tripos train reward`."""
    reward = actions.add_parser("reward", help="train a reward model on pairs of a better and a worse reply")
    help_ = "pairs as JSON Lines, or a spec, for the pairs of its exports"
    reward.add_argument("source", metavar="FILE", help=help_)
    help_ = "with a spec: train on these exports (default: those for training, or all that are not tested)"
    reward.add_argument("--export", metavar="NAME[,NAME]", action="append", default=[], help=help_)
    help_ = (
        "test on these pairs: a file, or exports of the spec (default: those for the test, or a fifth of the topics)"
    )
    reward.add_argument("--test", metavar="WHAT", action="append", default=[], help=help_)
    help_ = "leave out pairs with a reply by these authors (see `by`)"
    reward.add_argument("--without", metavar="WHO[,WHO]", action="append", default=[], help=help_)
    reward.add_argument("-o", "--output", metavar="DIR", required=True, help="folder of the new model")
    help_ = "base model: a name of the Hub or a folder (default: all-MiniLM-L6-v2, which comes with the extra)"
    reward.add_argument("--model", metavar="NAME", default="all-MiniLM-L6-v2", help=help_)
    help_ = "train a head on a frozen base, classifiers of criteria, or all weights (default: head)"
    reward.add_argument("--tune", choices=("head", "criteria", "all"), default="head", help=help_)
    help_ = "with --tune all: times through the data (default: 1)"
    reward.add_argument("--epochs", type=positive, default=1, metavar="N", help=help_)
    help_ = "with --tune all: highest learning rate (default: 1e-5)"
    reward.add_argument("--learning-rate", type=above_zero, default=1e-5, metavar="N", help=help_)
    help_ = "with --tune all: pairs in a step (default: 16)"
    reward.add_argument("--batch", type=positive, default=16, metavar="N", help=help_)
    reward.add_argument("--at-once", type=positive, metavar="N", help="replies in a batch (default: 32)")
    help_ = "tokens of context before a reply (default: as many as the base reads, up to 512)"
    reward.add_argument("--context", type=count, metavar="N", help=help_)
    reward.add_argument(
        "--max-tokens", type=positive, default=256, metavar="N", help="tokens of a reply (default: 256)"
    )
    help_ = "text before the reply in a scored text (default: Teacher:)"
    reward.add_argument("--marker", metavar="TEXT", default="Teacher:", help=help_)
    reward.add_argument("--no-margin", action="store_true", help="ignore the margins of the pairs")
    help_ = "share of the topics that choose the recipe (default: 0.1)"
    reward.add_argument("--held-out", type=share, default=0.1, metavar="SHARE", help=help_)
    help_ = "trainings of each variant in the audit (default: 5)"
    reward.add_argument("--seeds", type=positive, default=5, metavar="N", help=help_)
    help_ = "trainings on shuffled labels in the audit (default: 20)"
    reward.add_argument("--shuffled", type=count, default=20, metavar="N", help=help_)
    reward.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the final model (default: 0)")
    help_ = "device (default: a GPU if there is one)"
    reward.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help=help_)
    help_ = "with a spec: search this folder for data files too"
    reward.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    add_deny(reward)
    reward.add_argument("--json", action="store_true", help="print the report as JSON")


def _add_sft(actions: argparse._SubParsersAction[Parser]) -> None:
    """Add the options of `tripos train sft`."""
    sft = actions.add_parser("sft", help="train a model on the replies of chats (supervised fine-tuning)")
    help_ = "chats as JSON Lines, or a spec, for the export of its last run"
    sft.add_argument("source", metavar="FILE", help=help_)
    sft.add_argument("--model", metavar="NAME", required=True, help="a name of the Hub, a folder or a .gguf file")
    sft.add_argument("-o", "--output", metavar="DIR", required=True, help="folder of the new model")
    from tripos.training.recipe import RECIPES

    help_ = "use the recipe of this paper; other options override it"
    sft.add_argument("--recipe", choices=tuple(RECIPES), help=help_)
    sft.add_argument("--epochs", type=above_zero, metavar="N", help="times through the data (default: 1)")
    sft.add_argument("--max-steps", type=positive, metavar="N", help="end after N steps")
    help_ = "highest learning rate (default: 2e-5, with --lora 2e-4)"
    sft.add_argument("--learning-rate", type=above_zero, metavar="N", help=help_)
    sft.add_argument("--batch", type=positive, metavar="N", help="chats in a step (default: 16)")
    help_ = "chats that go through the model together (default: 8 on a GPU, 1 on a CPU)"
    sft.add_argument("--at-once", type=positive, metavar="N", help=help_)
    help_ = "leave out chats of more tokens (default: 2048)"
    sft.add_argument("--max-tokens", type=positive, metavar="N", help=help_)
    help_ = "share of the steps in which the learning rate rises (default: 0.03)"
    sft.add_argument("--warmup", type=share, metavar="SHARE", help=help_)
    sft.add_argument("--weight-decay", type=share, metavar="N", help="decay of the weights (default: 0)")
    help_ = "train adapters of this rank, and merge them, instead of all weights"
    sft.add_argument("--lora", type=count, default=0, metavar="RANK", help=help_)
    help_ = "share of the items to hold out for the evaluation (default: 0.1)"
    sft.add_argument("--held-out", type=share, metavar="SHARE", help=help_)
    sft.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the split, the order and the adapters (default: 0)"
    )
    sft.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="device (default: a GPU if there is one)"
    )
    sft.add_argument("--export", metavar="NAME", help="with a spec: use this export")
    sft.add_argument("--run", metavar="RUN", help="with a spec: use this run (default: the last run)")
    help_ = "with a spec: search this folder for data files too"
    sft.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    add_deny(sft)
    add_store_options(sft)
    sft.add_argument("--json", action="store_true", help="print the report as JSON")


# Commands on Tripos itself
def add_doctor(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos doctor`."""
    help_ = "check this model; may be repeated (default: those of the settings)"
    parser.add_argument("--model", metavar="A[,B]", action="append", default=[], help=help_)
    help_ = "check the models of a role too; may be repeated"
    parser.add_argument("--role", metavar="NAME=A[,B]", action="append", default=[], help=help_)
    add_store_options(parser)
    parser.add_argument("--ask", action="store_true", help="make one small call to each model, which may cost a little")
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")


def add_explain(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos explain`."""
    help_ = (
        "a code such as E0201, a prefix such as E02, or a word of the language such as `scenario`, `shots` or `mean`; "
        "`index` lists all words (default: list all codes)"
    )
    parser.add_argument("codes", metavar="CODE|WORD", nargs="*", help=help_)


def add_docs(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos docs`."""
    help_ = "a page such as `running`, a statement or function, or a code such as E0501 (default: the first page)"
    parser.add_argument("page", metavar="PAGE|CODE", nargs="?", help=help_)
    parser.add_argument("--print", action="store_true", help="print the address and open nothing")


def add_completion(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos completion`."""
    from tripos.cli.completion import SHELLS
    from tripos.cli.parser import command_lines

    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    listed = [("install", [(name, shell.install) for name, shell in SHELLS.items()])]
    parser.epilog = "\n".join(command_lines(listed, max(map(len, SHELLS)))).lstrip("\n")
    parser.add_argument("shell", metavar="SHELL", choices=tuple(SHELLS), help="bash, zsh, fish or powershell")


def add_lsp(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tripos lsp`."""
    help_ = "use standard input and output, which is also the default; some editors need the option"
    parser.add_argument("--stdio", action="store_true", help=help_)
