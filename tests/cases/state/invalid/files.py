"""Functions that read files."""

from pathlib import Path


def read(state, path):
    """Read a file."""
    return Path(path).read_text()
