"""Options of the verbs about releases and versions: release, verify, diff, history."""

from __future__ import annotations

import argparse

from tripos.cli.arguments import add_models, add_reach, add_releases, add_spec, add_store_options, add_untrusted

SEARCHED = "search this folder for data files too"


def add_release(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos release`."""
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
    """Options of `tripos fetch`."""
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
    """Options of `tripos verify`."""
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
    """Options of `tripos diff`."""
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
    """Options of `tripos history`."""
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
    """Options of `tripos attest`."""
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run, or a prefix of its name (default: the last run)")
    add_store_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="the file (default: BENCHMARK-RUN.result.json)")
    parser.add_argument("--lock", metavar="FILE", help="put the digest of this lock file into the statement")
    help_ = "sign it with this secret key of minisign or SSH; TRIPOS_KEY_PASSWORD has its password"
    parser.add_argument("--sign-key", metavar="FILE", help=help_)
    parser.add_argument("--json", action="store_true", help="print a summary as JSON")


def add_promote(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos promote`."""
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
    """Options of `tripos lock`."""
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
