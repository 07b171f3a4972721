"""What the value of an option may be; each raises `ValueError` or `ArgumentTypeError` for anything else."""

from __future__ import annotations

import argparse
import math


def duration(text: str) -> float:
    """Seconds of a time such as `30m`."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in "smhd" else (text, "s")
    value = float(number) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[unit]
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a time that has passed")
    return value


def positive(text: str) -> int:
    """A whole number from 1 on."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def share(text: str) -> float:
    """A number from 0 to 1."""
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share from 0 to 1")
    return value


def port(text: str) -> int:
    """The number of a port."""
    value = int(text)
    if not 0 <= value <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port")
    return value


def count(text: str) -> int:
    """A whole number from 0 on."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return value


def amount(text: str) -> float:
    """A number from 0 on."""
    value = float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return value


def above_zero(text: str) -> float:
    """A number above 0."""
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def seconds(text: str) -> float:
    """A time above 0."""
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a time in seconds")
    return value


# What argparse calls them where a value is none.
duration.__name__ = "time"
positive.__name__ = count.__name__ = port.__name__ = "whole number"
amount.__name__ = share.__name__ = above_zero.__name__ = "number"
seconds.__name__ = "number of seconds"
