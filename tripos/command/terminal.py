"""What a terminal is like: how wide, and whether it is shown colours."""

from __future__ import annotations

import os
import shutil
from typing import TextIO


def columns() -> int:
    """The width of the terminal, or what `COLUMNS` says; 80 where there is neither."""
    return shutil.get_terminal_size((80, 24)).columns


def is_colored(stream: TextIO) -> bool:
    """Whether to write colours: on a terminal, unless `NO_COLOR` is set, and anywhere where `FORCE_COLOR` is.

    `NO_COLOR` wins; a variable that is set to nothing does not count (https://no-color.org, https://force-color.org).
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")
