"""The tests whose long form a change can break: `.ci/run` runs them after the short form of all.

    python tests/touched.py origin/main    their paths, for the files that differ from that branch

Where the branch is not known, or is this commit, the last commit is the change.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
BENCHMARKS = tuple(
    f"tests/test_{name}.py"
    for name in ("cjeval", "edubench", "edubench_released", "edubench_tables", "mathtutorbench", "teachbench")
)
AREAS: dict[str, tuple[str, ...]] = {
    "compiler/": ("tests/compiler", "tests/reuse", "tests/runtime/test_generated_worlds.py"),
    "docs/": ("tests/docs",),
    "runtime/": ("tests/faults", "tests/kills", "tests/reuse", "tests/runtime", *BENCHMARKS),
    "specs/": ("tests/docs", *BENCHMARKS),
    "tripos/cli/": ("tests/command",),
    "tripos/lsp/": ("tests/language_server",),
    "tripos/plots/": ("tests/plots",),
    "tripos/releases/": ("tests/releases",),
    "tripos/training/": ("tests/training",),
    "warehouse/": ("tests/faults", "tests/kills", "tests/test_oracle.py", "tests/warehouse", *BENCHMARKS),
}
"""By the beginning of a path, the tests with a long form that look at it."""


def touched(changed: Iterable[str]) -> list[str]:
    """Return the tests of changed files: those of their areas, and folders of tests that changed themselves."""
    found: set[str] = set()
    for path in changed:
        for area, tests in AREAS.items():
            if path.startswith(area):
                found.update(tests)
        parts = path.split("/")
        if parts[0] == "tests" and any((ROOT / "/".join(parts[:2])).glob("test_*.py")):
            found.add("/".join(parts[:2]))
    return sorted(each for each in found if not any(each.startswith(f"{other}/") for other in found))


def changed_since(branch: str) -> list[str]:
    """Return the files that differ from a branch, or from the commit before."""
    for base in (branch, "HEAD~1"):
        done = subprocess.run(
            ["git", "diff", "--name-only", f"{base}...HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode == 0 and done.stdout:
            return done.stdout.splitlines()
    return []


if __name__ == "__main__":
    print(*touched(changed_since(sys.argv[1])), sep="\n")
