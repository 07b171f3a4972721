"""The tests that `make test` leaves out, as `long_tests.toml` lists them.

`make test-all` runs them at their full size, and `.ci/run` at their small one after a change of what they guard. As a
script it prints the tests that failed last, which `.ci/run` gives a second try.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = tomllib.loads((ROOT / "tests/long_tests.toml").read_text("utf-8"))
LONG: dict[str, tuple[str, ...]] = {
    test: tuple(path for guard in row["guards"] for path in TABLE["sources"].get(guard, (guard,)))
    for row in TABLE["long"]
    for test in row["tests"]
}
"""By the path of a file, a folder or a test, the sources that it guards, as beginnings of their paths."""
KEPT: dict[str, frozenset[str]] = {path: frozenset(names) for path, names in TABLE["kept"].items()}
"""By the path of a file, the tests of it that the short form has all the same."""


def is_long(node: str) -> bool:
    """Return true if a test, or a file or folder as a whole, is long, by its path from the root."""
    path, _, test = node.partition("::")
    name, _, case = test.partition("[")
    if path in KEPT and (not test or not KEPT[path].isdisjoint((name[5:], f"{name[5:]}[{case}"))):
        return False
    parts = path.split("/")
    return f"{path}::{name}" in LONG or any("/".join(parts[:end]) in LONG for end in range(2, len(parts) + 1))


def failed_last(cache: Path = ROOT / ".pytest_cache") -> list[str]:
    """Return the tests that failed in the last run of pytest, by their names there."""
    return sorted(json.loads((cache / "v/cache/lastfailed").read_text("utf-8")))


if __name__ == "__main__":
    print(*failed_last(), sep="\n")
