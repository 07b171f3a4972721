"""Placeholders that must be gone before Tripos is published: the owner of the repository, and whom to write to.

python -m tests.placeholders    # lists them with their lines; exit code 1 if there are any
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PUBLISHED = (
    "pyproject.toml",
    "README.md",
    "README.zh.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "CITATION.cff",
    ".github/ISSUE_TEMPLATE/config.yml",
    "docs/contributing/releasing.md",
    "docs/how-to/install.md",
)
"""Files that name the repository or a contact. Pages on what a user writes keep `OWNER` as a word of theirs."""
PLACEHOLDER = re.compile(r"\bOWNER/tripos\b|\b[A-Z]+-CONTACT\b")


def placeholders(root: Path = ROOT) -> Iterator[str]:
    """Yield `FILE:LINE: PLACEHOLDER` for each placeholder in a published file."""
    for name in PUBLISHED:
        for number, line in enumerate((root / name).read_text("utf-8").splitlines(), 1):
            for found in PLACEHOLDER.findall(line):
                yield f"{name}:{number}: {found}"


if __name__ == "__main__":
    left = list(placeholders())
    print(*left, sep="\n")
    sys.exit(bool(left))
