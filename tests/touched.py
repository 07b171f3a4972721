"""The long tests that a change can break: `.ci/run` runs them after the short form of all.

    python tests/touched.py                what differs from the branch that the remote has as its own
    python tests/touched.py origin/main    what differs from that branch

Where the branch is not known, or nothing differs from it, the last commit is the change. The order is another one for
each commit: where there is time for some of them only (`TESTS_MINUTES`), others come first the next time.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache

from tests.long_tests import LONG, ROOT

REMOTE = "origin/HEAD"
MARK = "pytest.mark.long"
BENCHMARKS = tuple(
    f"tests/test_{name}.py" for name in ("cjeval", "edubench", "edubench_released", "mathtutorbench", "teachbench")
)
AREAS: dict[str, tuple[str, ...]] = {
    "compiler/": ("tests/compiler", "tests/reuse", "tests/runtime/test_generated_worlds.py"),
    "docs/": ("tests/docs",),
    "runtime/": ("tests/batches", "tests/faults", "tests/kills", "tests/reuse", "tests/runtime", *BENCHMARKS),
    "specs/": ("tests/docs", *BENCHMARKS),
    "specs/gallery/": ("tests/gallery",),
    "tripos/annotation/": ("tests/annotation",),
    "tripos/cli/": ("tests/command", "tests/languages"),
    "tripos/runs/clusters.py": ("tests/clusters",),
    "tripos/plots/": ("tests/plots",),
    "tripos/releases/": ("tests/releases",),
    "tripos/training/": ("tests/training",),
    "warehouse/": ("tests/bucket", "tests/faults", "tests/kills", "tests/warehouse", *BENCHMARKS),
}
"""By the beginning of a source, the folders and files of tests of which single cases are marked `long`."""


def touched(changed: Iterable[str]) -> list[str]:
    """Return the long tests of changed files: those that guard them, and those that changed themselves.

    With what the tests of a folder share, all of the folder are changed.
    """
    found: set[str] = set()
    for path in changed:
        found.update(test for test, sources in LONG.items() if path.startswith(sources))
        for area, tests in AREAS.items():
            if path.startswith(area):
                found.update(each for place in tests for each in marked(place))
        if path.startswith("tests/"):
            place = path if is_test(path) or path.count("/") < 2 else "/".join(path.split("/")[:2])
            found.update(test for test in LONG if test == place or test.startswith((f"{place}/", f"{place}::")))
            found.update(marked(place))
    return sorted(each for each in found if each.partition("::")[0] not in found - {each})


@cache
def marked(place: str) -> tuple[str, ...]:
    """Return the files of tests in which something is marked `long`, in a folder or of one file."""
    files = sorted((ROOT / place).rglob("test_*.py")) if (ROOT / place).is_dir() else [ROOT / place]
    return tuple(
        path.relative_to(ROOT).as_posix()
        for path in files
        if is_test(path.as_posix()) and path.is_file() and MARK in path.read_text("utf-8")
    )


def is_test(path: str) -> bool:
    """Return true if a file has tests, by its name."""
    return path.rpartition("/")[2].startswith("test_") and path.endswith(".py")


def changed_since(branch: str | None) -> list[str]:
    """Return the files that differ from a branch, uncommitted ones included, or from the commit before.

    Ends the process where the branch that is named is none, or no earlier commit is known.
    """
    if branch is not None and not _git("rev-parse", "--verify", f"{branch}^{{commit}}"):
        sys.exit(f"there is no commit {branch}")
    bases = [_git("merge-base", base, "HEAD") for base in (branch or REMOTE, "HEAD~1")]
    if not any(bases):
        sys.exit("no commit is known to compare with: fetch more of the history, or name a branch in CI_BASE")
    return next((found for base in bases if base and (found := _git("diff", "--name-only", base[0]))), [])


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def drawn(tests: Sequence[str], seed: str) -> list[str]:
    """Return tests in an order that a seed decides; those of one file stay together.

    >>> drawn(["a.py::x", "b.py", "a.py::y"], "0") == drawn(["b.py", "a.py::x", "a.py::y"], "0")
    True
    """

    def place(test: str) -> tuple[str, str]:
        return hashlib.sha256(f"{seed} {test.partition('::')[0]}".encode()).hexdigest(), test

    return sorted(tests, key=place)


if __name__ == "__main__":
    changed = changed_since(sys.argv[1] if len(sys.argv) > 1 else None)
    print(*drawn(touched(changed), "".join(_git("rev-parse", "HEAD"))), sep="\n")
