"""Options of the verbs that bring in what was made elsewhere, and of the store: import, annotate, store."""

from __future__ import annotations

import argparse

from tripos.cli.arguments import add_deny, add_store_options, duration, port, positive, share
from tripos.cli.parser import Parser


def add_import(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos import`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    scores = actions.add_parser("scores", help="scores of replies that the store has, by people or other judges")
    samples = actions.add_parser("samples", help="replies to the items of a spec")
    for action in (scores, samples):
        help_ = "CSV, TSV, Excel, JSON Lines, JSON, Parquet or Arrow; a pattern such as `{language}.csv` means several"
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
    scores.add_argument("--round", type=positive, metavar="N", help="which time they gave them (default: 1)")
    scores.add_argument("--run", metavar="RUN", help="the run whose replies are scored (default: the last)")
    scores.add_argument("--replace", action="store_true", help="scores that changed replace those in the store")
    samples.add_argument("--spec", metavar="PATH", dest="path", required=True, help="the spec that the replies are to")
    help_ = "look for data files here too"
    samples.add_argument("--data", metavar="DIR", action="append", default=[], help=help_)
    samples.add_argument("--model", metavar="NAME", help="whose replies they are, where no column says it")
    help_ = "who fills another role that replies; may be repeated"
    samples.add_argument("--role", metavar="NAME=MODEL", action="append", default=[], help=help_)
    add_deny(samples)
    for action in (scores, samples):
        add_store_options(action)
        action.add_argument("--json", action="store_true", help="print what was done as JSON")
    _add_tree(actions.add_parser("tree", help="a tree for a spec, of an outline or of what a run has drafted"))


def _add_tree(action: argparse.ArgumentParser) -> None:
    help_ = "an outline: a point a line, indented, numbered or with bullets; `-` reads it from standard input"
    action.add_argument("file", metavar="FILE", nargs="?", help=help_)
    action.add_argument("-o", "--output", metavar="FILE", help=".yaml or .json (default: YAML on standard output)")
    action.add_argument("--top", metavar="NAME", help="put all of it below a branch of this name")
    help_ = "instead of a file: the run that drafted the outlines, or the beginning of its name; '' means the last"
    action.add_argument("--run", metavar="RUN", help=help_)
    action.add_argument("--step", metavar="NAME", help="with --run: the step whose replies are the outlines")
    help_ = "with --run: only items whose field has this value; may be repeated"
    action.add_argument("--only", metavar="FIELD=VALUE", action="append", default=[], help=help_)
    action.add_argument("--replace", action="store_true", help="write over a file that is there")
    add_store_options(action)


def add_approve(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos approve`."""
    parser.add_argument("file", metavar="FILE", help="the tree that you have read: `NAME.draft.yaml` or `.json`")
    parser.add_argument("--name", metavar="NAME", help="who approves it")
    parser.add_argument("--replace", action="store_true", help="put it in the place of another tree of that name")
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")


def add_annotate(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos annotate`."""
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or the beginning of its name (default: the last)")
    parser.add_argument("--role", metavar="ROLE", help="the role that the person fills (default: the one that grades)")
    parser.add_argument("--name", metavar="NAME", help="who grades; the scores will say human/NAME")
    help_ = "the spreadsheet to write, or with --page the file that keeps the grades (default: NAME.xlsx, NAME.jsonl)"
    parser.add_argument("-o", "--output", metavar="FILE", help=help_)
    parser.add_argument(
        "--page", action="store_true", help="grade on a page in the browser, served to this machine only"
    )
    parser.add_argument("--port", type=port, metavar="N", help="with --page: its port (default: any that is free)")
    help_ = "N replies in all, drawn evenly over scenarios and models"
    parser.add_argument("--sample", type=positive, metavar="N", help=help_)
    help_ = "this share of the sample was handed to somebody else too, the rest to nobody"
    parser.add_argument("--overlap", type=share, metavar="SHARE", help=help_)
    parser.add_argument("--limit", type=positive, metavar="N", help="at most N items a scenario")
    help_ = "only items whose axis, or replies whose arm, has this value; may be repeated"
    parser.add_argument("--only", metavar="AXIS=V[,V]", action="append", default=[], help=help_)
    help_ = "this scenario only; may be repeated"
    parser.add_argument("--scenario", metavar="NAME", action="append", default=[], help=help_)
    parser.add_argument("--subset", metavar="NAME", help="only the items of this `subset` of the spec")
    parser.add_argument("--seed", type=int, metavar="N", help="of the draw and the order (default: 0)")
    help_ = "which time this person grades these replies (default: 1)"
    parser.add_argument("--round", type=positive, metavar="N", help=help_)
    parser.add_argument("--take", metavar="FILE", help="check the grades of a file that came back, and keep them")
    help_ = "with --take: leave out replies that lack a grade"
    parser.add_argument("--partial", action="store_true", help=help_)
    add_store_options(parser)
    parser.add_argument("--json", action="store_true", help="with --take: print what was taken as JSON")


def add_store(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos store`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    gc = actions.add_parser("gc", help="remove files that nobody reads any more")
    help_ = "keep what is younger: seconds, or such as 30m, 12h, 7d (default: 1h)"
    gc.add_argument("--grace", type=duration, metavar="TIME", default=3600.0, help=help_)
    gc.add_argument("--dry-run", action="store_true", help="say what would be removed, and remove nothing")
    compact = actions.add_parser("compact", help="put many small files together, and drop doubles")
    check = actions.add_parser("check", help="find damage, and show a digest of every table")
    for action, told in ((gc, "what was removed"), (compact, "what was done"), (check, "what was found")):
        add_store_options(action)
        action.add_argument("--json", action="store_true", help=f"print {told} as JSON")
