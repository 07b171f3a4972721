"""Options of the verbs about releases: release, verify, diff."""

from __future__ import annotations

import argparse

from tripos.cli.arguments import add_releases, add_spec, add_store_options


def add_release(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos release`."""
    add_spec(parser)
    help_ = "the folder that gets NAME-VERSION (default: releases)"
    add_store_options(parser)
    parser.add_argument("--to", metavar="DIR", default="releases", help=help_)
    help_ = "the release that this one follows (default: the highest version of the benchmark in --to)"
    parser.add_argument("--parent", metavar="DIR", help=help_)
    help_ = "the day that it bears, as 2026-11-21 (default: that of SOURCE_DATE_EPOCH, or none)"
    parser.add_argument("--date", metavar="DAY", help=help_)
    help_ = "sign it with this secret key, of minisign or SSH; a password is taken from TRIPOS_KEY_PASSWORD"
    parser.add_argument("--sign-key", metavar="FILE", help=help_)
    help_ = "the reward model of a role: its folder, which is copied, or its SHA-256"
    parser.add_argument("--artefact", metavar="ROLE=DIR|SHA256", action="append", default=[], help=help_)
    parser.add_argument("--zip", action="store_true", help="write it as a zip too, beside the folder")
    help_ = "copy it there too: s3://bucket/releases, file:///srv/releases, hf://OWNER/NAME"
    parser.add_argument("--push", metavar="URL", help=help_)
    parser.add_argument("--json", action="store_true", help="print what was released as JSON")


def add_verify(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos verify`."""
    parser.add_argument("path", metavar="DIR", help="a release: its folder, its zip, or its URL")
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help="look for its data here too")
    add_releases(parser)
    help_ = "hold a reward model that the release only names against its digest"
    parser.add_argument("--artefact", metavar="ROLE=DIR", action="append", default=[], help=help_)
    parser.add_argument("--digest", metavar="SHA256", help="the digest that it must have, as it was cited")
    help_ = "the public key that it must be signed with: a file of minisign or SSH, or what stands in it"
    parser.add_argument("--key", metavar="KEY", help=help_)
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def add_diff(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos diff`."""
    help_ = "a spec, a release, a plan in JSON, or REVISION:PATH of git"
    parser.add_argument("before", metavar="A", help=help_)
    parser.add_argument("after", metavar="B", help="the later one, given in the same way")
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help="look for data files here too")
    add_releases(parser)
    help_ = "say also what of this store the changes make stale, and what that cost"
    parser.add_argument("--store", metavar="DIR", help=help_)
    parser.add_argument("--profile", metavar="NAME", help="take the settings of [profiles.NAME] in tripos.toml")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text", help="how it is shown")


def add_lock(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos lock`."""
    add_spec(parser)
    parser.add_argument("--model", metavar="A[,B]", action="append", default=[], help="fills the compared role")
    help_ = "fills another role; without it a role takes the compared model"
    parser.add_argument("--role", metavar="NAME=A[,B]", action="append", default=[], help=help_)
    add_store_options(parser)
    help_ = "the file to write (default: tripos.lock)"
    parser.add_argument("-o", "--output", metavar="FILE", default="tripos.lock", help=help_)
