"""Options of the verbs that bring in what was made elsewhere, and of the store: import, annotate, store."""

from __future__ import annotations

import argparse

from tripos.cli.arguments import (
    add_deny,
    add_programs,
    add_reach,
    add_store_options,
    add_untrusted,
    count,
    duration,
    port,
    positive,
    share,
)
from tripos.cli.parser import Parser


def add_import(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos import`."""
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
    """Options on what an import may read."""
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
    """Options of `tripos approve`."""
    parser.add_argument("file", metavar="FILE", help="the reviewed tree: `NAME.draft.yaml` or `.json`")
    parser.add_argument("--name", metavar="NAME", help="name of the reviewer")
    parser.add_argument("--replace", action="store_true", help="replace another tree of that name")
    parser.add_argument("--json", action="store_true", help="print a summary as JSON")


def add_annotate(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos annotate`."""
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
    """Options of `tripos store`."""
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
    """Options of `tripos judges`."""
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or a prefix of its name (default: the last run)")
    add_store_options(parser)
    help_ = "count the drift of judges from this earlier run, on the same replies"
    parser.add_argument("--since", metavar="RUN", help=help_)
    help_ = "hold the judges against this evaluator instead of people, such as a stronger judge"
    parser.add_argument("--against", metavar="NAME", help=help_)
    help_ = "learn thresholds of cascades that agree with people in this share of replies (default: 0.9)"
    parser.add_argument("--agree", metavar="SHARE", type=share, help=help_)
    parser.add_argument("--json", action="store_true", help="print JSON")
