"""Options that several commands have, and the types of their values."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence


def duration(text: str) -> float:
    """Return the seconds of a time such as `30m`."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in "smhd" else (text, "s")
    value = float(number) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[unit]
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a time that has passed")
    return value


def minutes_long(text: str) -> float:
    """Return the seconds of a time such as `4h`. Raises `ArgumentTypeError` if it is less than a minute."""
    value = duration(text)
    if value < 60:
        raise argparse.ArgumentTypeError(f"{text} is less than a minute")
    return value


def positive(text: str) -> int:
    """Return a whole number of at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def share(text: str) -> float:
    """Return a number from 0 to 1."""
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share from 0 to 1")
    return value


def port(text: str) -> int:
    """Return a port number."""
    value = int(text)
    if not 0 <= value <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port")
    return value


def count(text: str) -> int:
    """Return a whole number of at least 0."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return value


def amount(text: str) -> float:
    """Return a number of at least 0."""
    value = float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return value


def above_zero(text: str) -> float:
    """Return a number above 0."""
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return value


def margin(text: str) -> tuple[str | None, float]:
    """Return a number above 0 and the measure it applies to, such as `accuracy=0.02`.

    >>> margin("0.02"), margin("accuracy=0.02")
    ((None, 0.02), ('accuracy', 0.02))
    """
    name, given, number = text.rpartition("=")
    if given and not name:
        raise argparse.ArgumentTypeError(f"a name is missing before `{text}`")
    return (name or None), above_zero(number)


def length(text: str) -> float:
    """Return a length in points: 238.11 for `8.4cm`."""
    from tripos.plots.picture import length_pt

    return length_pt(text)


def seconds(text: str) -> float:
    """Return a number of seconds above 0."""
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a time in seconds")
    return value


def wait(text: str) -> float:
    """Return a time of 0 or more."""
    value = float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a time in seconds")
    return value


# The names of the types in argparse's error messages.
duration.__name__ = minutes_long.__name__ = "time"
positive.__name__ = count.__name__ = port.__name__ = "whole number"
amount.__name__ = share.__name__ = above_zero.__name__ = margin.__name__ = "number"
length.__name__ = "length such as 8.4cm"
seconds.__name__ = wait.__name__ = "number of seconds"


def add_spec(parser: argparse.ArgumentParser, *, several: str = "") -> None:
    """Add the spec, or several of them, and the options for its data. `several` completes the help: what is done with
    the specs, one after another."""
    help_ = "a .tripos file, or a folder that holds one"
    if several:
        parser.add_argument(
            "paths", metavar="PATH", nargs="+", help=f"{help_}; several are {several} one after another"
        )
    else:
        parser.add_argument("path", metavar="PATH", help=help_)
    parser.add_argument(
        "--data", metavar="DIR", action="append", default=[], help="search this folder for data files too"
    )
    add_releases(parser)
    add_allow_outside(parser)
    add_untrusted(parser)
    add_reach(parser)
    add_deny(parser)


def add_untrusted(parser: argparse.ArgumentParser) -> None:
    """Add the option for a benchmark from a stranger."""
    help_ = "do not trust the benchmark: run no Python, open no connection, read no tripos.toml, and read less"
    parser.add_argument("--untrusted", action="store_true", help=f"{help_} (also TRIPOS_UNTRUSTED=1)")


def add_reach(parser: argparse.ArgumentParser) -> None:
    """Add the options for fetching a release from a URL."""
    help_ = "with a URL: allow addresses of this machine and its networks, and there http too"
    parser.add_argument("--allow-private", action="store_true", help=help_)
    help_ = "with a URL: sign requests to object stores and the Hub with your keys"
    parser.add_argument("--signed", action="store_true", help=help_)


def add_allow_outside(parser: argparse.ArgumentParser) -> None:
    """Add the option that lets a spec read any file."""
    help_ = "let the spec read files outside of its folder, its project and the data folders"
    parser.add_argument("--allow-outside", action="store_true", help=help_)


def add_programs(parser: argparse.ArgumentParser) -> None:
    """Add the options for programs that scorers start."""
    help_ = "let scorers start this program, or ask the service NAME at URL; may be repeated"
    parser.add_argument("--allow-program", metavar="NAME[=URL]", action="append", default=[], help=help_)
    help_ = "let this program execute what models write without a sandbox; may be repeated"
    parser.add_argument("--allow-unsandboxed", metavar="NAME", action="append", default=[], help=help_)


def add_releases(parser: argparse.ArgumentParser) -> None:
    """Add the option for folders with releases that the spec extends."""
    help_ = "search this folder too for releases that the spec extends"
    parser.add_argument("--releases", metavar="DIR", action="append", default=[], help=help_)


def add_deny(parser: argparse.ArgumentParser) -> None:
    """Add the option for warnings that count as errors."""
    help_ = "turn these warnings into errors; `warnings`: all of them"
    parser.add_argument("--deny", metavar="CODE[,CODE]", action="append", default=[], help=help_)


def add_store_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the store and the profile of settings."""
    parser.add_argument("--store", metavar="DIR", help="folder of the store, or s3://BUCKET/PREFIX (default: results)")
    parser.add_argument("--profile", metavar="NAME", help="use the settings of [profiles.NAME] in tripos.toml")


def add_models(parser: argparse.ArgumentParser) -> None:
    """Add the options for models and roles."""
    parser.add_argument(
        "--model",
        metavar="A[,B]",
        action="append",
        default=[],
        help="model under test; several are separated by commas",
    )
    help_ = "model for another role (default: the model under test)"
    parser.add_argument("--role", metavar="NAME=A[,B]", action="append", default=[], help=help_)


def add_roles(parser: argparse.ArgumentParser) -> None:
    """Add the options for models, roles and items."""
    add_models(parser)
    parser.add_argument("--limit", type=positive, metavar="N", help="use at most N items for each scenario")
    help_ = "use only items, or treatments, with this value of an axis or arm; may be repeated"
    parser.add_argument("--only", metavar="AXIS=V[,V]", action="append", default=[], help=help_)
    help_ = "run this scenario only; may be repeated"
    parser.add_argument("--scenario", metavar="NAME", action="append", default=[], help=help_)
    parser.add_argument("--subset", metavar="NAME", help="use only the items of this `subset` of the spec")
    parser.add_argument("--seed", type=int, metavar="N", help="with --limit: draw the items with this seed")


def add_junit(parser: argparse.ArgumentParser) -> None:
    """Add the option for the JUnit XML file."""
    help_ = "write the result of every `expect` to a file, as JUnit XML for CI"
    parser.add_argument("--junit", metavar="FILE", help=help_)


def listed_names(given: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct names of an option that may be repeated and takes comma-separated names.

    >>> listed_names(["a,b", "b, c"])
    ('a', 'b', 'c')
    """
    return tuple(dict.fromkeys(name.strip() for each in given for name in each.split(",") if name.strip()))
