"""Options of `tripos init`."""

from __future__ import annotations

import argparse


def add_init(parser: argparse.ArgumentParser) -> None:
    """Options of `tripos init`."""
    from tripos.cli.parser import listed_verbs
    from tripos.cli.starting.templates import TEMPLATES

    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    listed = [("templates", [(each.name, each.help) for each in TEMPLATES.values()])]
    parser.epilog = "\n".join(listed_verbs(listed, max(map(len, TEMPLATES)))).lstrip("\n")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the folder to make; its last part names the benchmark")
    parser.add_argument("--template", choices=tuple(TEMPLATES), help="the benchmark to begin with (default: qa)")
    help_ = "models under test in the settings; several are separated by commas (default: mock models)"
    parser.add_argument("--model", metavar="A[,B]", action="append", default=[], help=help_)
    parser.add_argument("-y", "--yes", action="store_true", help="ask nothing: take the defaults")
